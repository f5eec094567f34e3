"""Layers in one call are the same layers one after another: for all vectors and clamps, shapes, batches and earlier positions."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from glyptic.exact import Layer, Options, Sizes, Transformer, Watch, random_transformer, run, run_batch
from glyptic.exact.forward import Prepared, Seen, _layer_by_layer, forward, prepare, visible_pairs
from glyptic.exact.kept import State, Together
from glyptic.exact.stages import UNWATCHED
from glyptic.numbers import Format, stacks
from glyptic.numbers.fast import Fast, Variant
from glyptic.numbers.steps import CLAMP_ALL, CLAMP_SUMS, NO_CLAMPS

FORMATS = ["fixed:2", "fixed:8", "fixed:8/even", "q:4,4", "fixed:12", "q:20,0/even"]
SHAPES = [
    Sizes(layers=1, heads=1, width=3, key_width=2, value_width=3, hidden=0),
    Sizes(layers=2, heads=3, width=5, key_width=1, value_width=5, hidden=9, density=0.6),
    Sizes(layers=3, heads=2, width=13, key_width=4, value_width=2, hidden=37, density=0.1),
    Sizes(layers=2, heads=0, width=6, hidden=4),
]


def model(format: str, sizes: Sizes, mask: str = "causal", seed: int = 5) -> Transformer:
    found = random_transformer(format, seed, replace(sizes, max_length=48), Options(mask=mask, answer="logits"))  # type: ignore[arg-type]
    unlike = Layer(heads=found.layers[0].heads) if found.layers[0].heads else Layer(feed_forward=found.layers[0].feed_forward)
    return found.replace(layers=(*found.layers, unlike))  # layers need not be alike


def prepared(transformer: Transformer, variant: Variant | None = None) -> Prepared:
    format = transformer.format
    assert isinstance(format, Format)
    return prepare(transformer, Fast(format, variant=variant))


def apart(state: State | Together) -> State:
    return state.apart() if isinstance(state, Together) else state


def by_layers(of: Prepared, residual, state: State, visible: np.ndarray):
    watch = Watch()
    after, state = _layer_by_layer(of, residual, state, Seen(visible, np.arange(visible.shape[1])), watch)
    return after, apart(state), watch


def at_once(of: Prepared, residual, state: State | Together, visible: np.ndarray, last: bool = False):
    watch = Watch()
    assert of.stack is not None
    after, state = forward(of, residual, state, watch, visible, last=last)
    return after, state, watch


def zeros(watch: Watch) -> dict[str, np.ndarray]:
    return {str(error_at(0)): where for error_at, where in watch.met if np.any(where)}


def differences(of: Prepared, new: int, later: int, batch: int, seed: int = 0) -> int:
    """New positions, and later ones that read what was kept: results, keys and values, places of 0/0."""
    rng, found = np.random.default_rng([new, later, batch, seed]), 0
    codes = of.arithmetic.codes(of.token_embedding)
    span = int(np.abs(codes).max()) or 1
    mask, mine, theirs = of.transformer.options.mask, State(), State()
    for first, count in ((0, new), (new, later)):
        if not count or (mask == "full" and first):
            continue
        residual = of.arithmetic.values(rng.integers(-span, span + 1, (of.transformer.width, count, batch)))
        visible = visible_pairs(mask, first, count)
        one, mine, met = at_once(of, residual, mine, visible)  # type: ignore[assignment]
        other, theirs, known = by_layers(of, residual, theirs, visible)
        found += not np.array_equal(one, other) or one.dtype != other.dtype
        for side in ("keys", "values"):
            for a, b in zip(getattr(apart(mine), side), getattr(theirs, side), strict=True):
                found += not all(map(np.array_equal, a, b))
        mine_zeros, their_zeros = zeros(met), zeros(known)
        found += mine_zeros.keys() != their_zeros.keys()
        found += not all(np.array_equal(mine_zeros[k], their_zeros[k]) for k in mine_zeros.keys() & their_zeros.keys())
    return found


@pytest.mark.parametrize("vectors", ["512", "256", "unfused"])
@pytest.mark.parametrize("name", FORMATS[:3] + [pytest.param(name, marks=pytest.mark.slow) for name in FORMATS[3:]])
def test_one_call_is_layer_by_layer_in_every_variant(name: str, vectors) -> None:
    for clamps in (NO_CLAMPS, CLAMP_SUMS, CLAMP_ALL):
        for sizes in SHAPES[1:3]:
            of = prepared(model(name, sizes), Variant(vectors, clamps))
            for new, later, batch in ((1, 1, 1), (3, 2, 17), (5, 0, 40)):
                assert not differences(of, new, later, batch), (clamps, sizes, new, later, batch)


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("mask", ["causal", "strict", "full"])
def test_all_shapes_and_batches(sizes: Sizes, mask: str) -> None:
    of = prepared(model("fixed:8", sizes, mask))
    for new, later, batch in product((1, 2, 7, 33), (0, 1, 6), (1, 15, 16, 100)):
        assert not differences(of, new, later, batch), (new, later, batch)
    assert not differences(of, 2, 1, 3000)  # several parts, the last not full
    assert not differences(of, 1, 1, 0)
    visible, nothing = np.zeros((0, 0), bool), of.arithmetic.values(np.zeros((sizes.width, 0, 20), int))
    assert at_once(of, nothing, State(), visible)[0].shape == nothing.shape


def test_places_of_zero_are_met_and_told_alike() -> None:
    """Weights so large that many exps are 0: the same heads, positions and members of the batch."""
    met = 0
    for seed in range(6):
        of = prepared(model("fixed:3", SHAPES[1], seed=seed))
        residual = of.arithmetic.values(np.random.default_rng(seed).integers(-60, 61, (5, 9, 70)))
        visible = visible_pairs("strict", 0, 9)
        ours, theirs = zeros(at_once(of, residual, State(), visible)[2]), zeros(by_layers(of, residual, State(), visible)[2])
        assert ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k]) for k in ours)
        met += len(ours)
    assert met > 6


def test_a_column_stands_for_the_whole_batch() -> None:
    of, visible = prepared(model("fixed:8", SHAPES[2])), visible_pairs("causal", 0, 4)
    column = of.arithmetic.values(np.random.default_rng(1).integers(-300, 300, (13, 4, 1)))
    spread = np.broadcast_to(column, (13, 4, 50))
    assert np.array_equal(at_once(of, spread, State(), visible)[0], at_once(of, spread.copy(), State(), visible)[0])


def test_behind_the_last_positions_only_the_length_is_kept() -> None:
    of, visible = prepared(model("fixed:8", SHAPES[2])), visible_pairs("causal", 0, 4)
    residual = of.arithmetic.values(np.random.default_rng(2).integers(-300, 300, (13, 4, 20)))
    one, state, _ = at_once(of, residual, State(), visible, last=True)
    assert state == State(4) and np.array_equal(one, at_once(of, residual, State(), visible)[0])


def test_states_select_go_along_paths_and_come_apart() -> None:
    of = prepared(model("fixed:8", SHAPES[1]))
    residual = of.arithmetic.values(np.random.default_rng(3).integers(-300, 300, (5, 6, 8)))
    _, together, _ = at_once(of, residual, State(), visible_pairs("causal", 0, 6))
    assert isinstance(together, Together) and together.length == 6
    plain, items, places = together.apart(), np.array([3, 3, 0]), np.array([[0, 0], [2, 1]])
    for mine, theirs in (
        (together.select(items), plain.select(items)),
        (together.along(places), plain.along(places)),
        (Together.of(plain, together.widths), plain),
    ):
        for side in ("keys", "values"):
            for one, other in zip(getattr(mine.apart(), side), getattr(theirs, side), strict=True):
                assert len(one) == len(other) and all(map(np.array_equal, one, other))


@pytest.mark.parametrize("sizes", SHAPES)
def test_what_one_way_kept_the_other_goes_on_with(sizes: Sizes) -> None:
    of, rng = prepared(model("fixed:8", sizes)), np.random.default_rng(4)
    plain, turns = State(), State()
    for step in range(6):
        residual = of.arithmetic.values(rng.integers(-300, 300, (sizes.width, 2, 20)))
        watch = Watch(("layer.0.after_attention",) if step % 2 else ())
        one, turns = forward(of, residual, turns, watch)  # type: ignore[assignment]
        other, plain, _ = by_layers(of, residual, plain, visible_pairs("causal", 2 * step, 2))
        assert np.array_equal(one, other) and turns.length == plain.length == 2 * step + 2


def test_who_looks_in_between_is_shown_it() -> None:
    """A watched run goes layer by layer, and has the same answers, whichever stages it looks at."""
    T = model("fixed:8", SHAPES[2])
    texts = ["".join(word) for word in product("01", repeat=5)]
    plain = run_batch(T, texts)
    for trace in (True, "layer.1.hidden", "embedding", "logits"):
        assert np.array_equal(run_batch(T, texts, trace=trace).logits, plain.logits)
    assert run(T, texts[7], trace=True).trace.keys() >= {"embedding", "layer.1.head.0.scores", "layer.2.after_feed_forward"}


def test_what_is_no_such_stack_goes_layer_by_layer() -> None:
    sizes = SHAPES[2]
    assert prepared(model("float:3,3", sizes)).stack is None
    for options in (Options(attention="leftmost"), Options(scale=True), Options(norm="pre")):
        assert prepared(random_transformer("fixed:8", 1, sizes, options)).stack is None
    assert prepared(random_transformer("fixed:8", 1, sizes), Variant(None)).stack is None
    nothing = random_transformer("fixed:8", 1, Sizes(layers=1, heads=0, hidden=4)).replace(layers=())
    assert prepared(nothing).stack is None
    assert UNWATCHED.looks_at("layer.0.hidden") is False


def test_a_wrong_sum_of_heads_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second head's output stands in for the sum: every comparison above would see it."""
    right = stacks.stacked

    def wrong(layers):
        found = right(layers)
        found.layers[:, 2] += (found.layers[:, 0] > 1).astype(int)
        return found

    assert not differences(prepared(model("fixed:8", SHAPES[1])), 3, 2, 17)
    monkeypatch.setattr(stacks, "stacked", wrong)
    assert differences(prepared(model("fixed:8", SHAPES[1])), 3, 2, 17)
