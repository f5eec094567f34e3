"""Normalization: every pair of logits of small formats; random transformers; built-in deciders; every step of a chain."""

import itertools

import numpy as np
import pytest

from glyptic import programs
from glyptic.carve import FactError, normalize
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Layer, Options, Sizes, Transformer, random_transformer
from glyptic.numbers import NAMED, Exact, Fixed, Float, Format, Q
from tests.carve.support import FORMATS, NORMAL, all_codes, all_texts, blank, check_frame, run_added

KINDS = {"zero_one": normalize.zero_one, "infinity": normalize.infinity, "plus_minus": normalize.plus_minus}


def wanted(kind: str, format: Format, no: np.ndarray, yes: np.ndarray) -> np.ndarray:
    """Codes of the first two coordinates, (2, …), from codes of the logits."""
    if kind == "zero_one":
        return np.stack([no, yes])
    says, B = yes > no, format.max_code
    if kind == "infinity":
        return np.stack([np.full_like(no, format.code(1)), np.where(says, B, 0)])
    return np.stack([np.where(says, -B, B), np.where(says, B, -B)])


def pairs_of_logits(format: Format, most: int = 6000) -> np.ndarray:
    codes = all_codes(format)
    if len(codes) ** 2 <= most:
        return np.stack(np.meshgrid(codes, codes)).reshape(2, 1, -1)
    near = np.clip(codes + 1, codes[0], codes[-1])  # neighbours are the hardest to tell apart
    some = np.random.default_rng(1).choice(codes, (2, most - 2 * len(codes)))
    return np.concatenate([np.stack([codes, near]), np.stack([near, codes]), some], axis=1)[:, None]


@pytest.mark.parametrize("one_layer", [False, True], ids=["units", "head"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_every_pair_of_logits(format: Format, kind: str, one_layer: bool) -> None:
    """The residual holds the logits and θ is the identity: all pairs, ties included."""
    T = blank(format, "n y", 3)
    T = T.replace(output=format.code(1) * np.eye(2, dtype=np.int64))
    h = np.repeat(pairs_of_logits(format), 3, axis=1)
    done = KINDS[kind](T, one_layer=one_layer, force=True)
    got = run_added(T, done, h)
    check_frame(T, done, h, got)
    no, yes, *rest = done.coordinates
    assert (np.stack([got[no], got[yes]]) == wanted(kind, format, h[0], h[1])).all()
    assert not any(got[name].any() for name in rest)
    known = {"zero_one": 2, "infinity": 3, "plus_minus": 4}[kind]
    assert len(done.layers) == (1 if one_layer or kind == "zero_one" else 2) < known


@pytest.mark.parametrize(("kind", "layers"), [("zero_one", 1), ("infinity", 3), ("plus_minus", 3)])
@pytest.mark.parametrize("format", [NAMED["fp16"], Float(1, 1)], ids=str)
def test_formats_that_need_a_layer_more(format: Format, kind: str, layers: int) -> None:
    T = blank(format, "n y").replace(output=format.code(1) * np.eye(2, dtype=np.int64))
    done = KINDS[kind](T, force=True)
    h = pairs_of_logits(format) if format.size < 100 else np.random.default_rng(0).integers(-99, 99, (2, 1, 900))
    got = run_added(T, done, h)
    assert (np.stack([got["NO"], got["YES"]]) == wanted(kind, format, h[0], h[1])).all()
    assert len(done.layers) == layers


def check_normalized(T: Transformer, kind: str, texts: list[str], steps: int = 1, **how: object) -> int:
    """Where T is decisive at every step the normalized one answers the same, and all its positions are in normal form."""
    done = KINDS[kind](T, **how)  # type: ignore[operator]
    last = f"layer.{len(done.layers) - 1}.after_feed_forward"
    ours = done.run_batch(texts, steps=steps, trace=[last])
    theirs = T.run_batch(texts, steps=steps, trace=["logits"])
    count = 0
    for i in range(len(texts)):
        decisive = (theirs.chains[i] >= 0).all()
        if not decisive:
            continue
        count += 1
        assert (ours.chains[i] == theirs.chains[i]).all(), texts[i]
        h = ours.trace[last][i]
        assert not h[2:].any()
        answers = h[:, len(texts[i]) - 1 :]  # the positions that answered, one for each step
        assert answers.shape[1] == steps
        if kind == "zero_one":
            assert (answers[:2] == theirs.trace["logits"][i]).all()  # of each step
        else:
            no, yes = np.where(theirs.chains[i] == 0, 1, 0), np.where(theirs.chains[i] == 1, 1, 0)
            assert (answers[:2] == wanted(kind, T.format, no, yes)).all()  # type: ignore[arg-type]
    return count


LARGE = [
    (Fixed(8), Sizes(layers=3, heads=3, width=32, hidden=40, max_length=24)),
    (Float(3, 4), Sizes(layers=2, heads=2, width=16, hidden=20, max_length=24)),
    (Fixed(4).with_ties("even"), Sizes(layers=4, heads=1, width=9, hidden=12, max_length=24)),
    (NAMED["fp8_e4m3"], Sizes(layers=2, heads=4, width=12, hidden=10, max_length=24)),
]


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize(("format", "sizes"), LARGE, ids=lambda x: str(x) if isinstance(x, Format) else "")
def test_random_transformers(format: Format, sizes: Sizes, products: str) -> None:
    rng = np.random.default_rng(5)
    texts = ["".join(rng.choice(list("01"), n)) for n in (1, 2, 3, 7, 13, 24) for _ in range(10)]
    decisive = 0
    for seed, kind in itertools.product(range(2), KINDS):
        T = random_transformer(format, seed, sizes, Options(products=products, attention="max-subtracted"))  # type: ignore[arg-type]
        decisive += check_normalized(T, kind, texts)
        decisive += check_normalized(T, kind, texts, one_layer=True)
    assert decisive > 120


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(mask="strict", attention="average"),
        Options(mask="full", attention="leftmost"),
        Options(scale=True, attention="rightmost"),
        Options(answer="logits"),
        Options(answer="logits", ties="first"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", KINDS)
def test_other_options(options: Options, kind: str) -> None:
    decisive = 0
    for seed in range(6):
        T = random_transformer(Fixed(6), seed, Sizes(layers=2, width=8), options)
        decisive += check_normalized(T, kind, all_texts(5))
        if options.mask != "strict":
            decisive += check_normalized(T, kind, all_texts(5), one_layer=True)
    assert decisive > 100


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", [Fixed(6), Float(3, 4)], ids=str)
def test_sixteen_steps_of_thought(format: Format, kind: str) -> None:
    """At each of 16 steps the same answer, and the position that answers in normal form."""
    count = 0
    for seed in range(4):
        sizes = Sizes(layers=2, width=8, max_length=24, answers=("0", "1"))
        T = random_transformer(format, seed, sizes, Options(attention="max-subtracted"))
        yes = {} if kind == "zero_one" else {"yes": "1"}
        count += check_normalized(T, kind, all_texts(4), steps=16, **yes)
        count += check_normalized(T, kind, all_texts(2), steps=16, one_layer=True, **yes)
    assert count > 30


DECIDERS = ["contains:101,10", "first-equals-last:10", "majority:10", "parity:10", "brackets:10,pairs=01", "palindromes:10"]
DECIDERS += ["modular:3,max_length=10", "random:23,2,10"]


@pytest.mark.parametrize("name", DECIDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_built_in_deciders_on_every_input_up_to_ten(name: str, kind: str) -> None:
    T = programs.by_name(name, Fixed(6))
    texts = all_texts(10)
    decisive = check_normalized(T, kind, texts)
    assert decisive == len(texts) or name.startswith("random")


def test_any_number_of_answers_for_zero_one_and_two_for_the_others() -> None:
    T = random_transformer(Fixed(6), 2, Sizes(layers=1, answers=tuple("abcde")), Options(attention="average"))
    run = normalize.zero_one(T).run("0101", trace=True)
    assert [*run.residual["layer.1.after_feed_forward"][-1].values()] == [*T.run("0101").logits] + [0] * T.width
    assert run.answer == T.run("0101").answer
    with pytest.raises(ModelError, match="a decider has two answers, NO and YES, and this transformer has 5"):
        normalize.plus_minus(T)


def test_refusals_name_the_fact_and_the_value() -> None:
    def T(format: object, **options: object) -> Transformer:
        return random_transformer(format, 0, Sizes(layers=1), Options(**options))  # type: ignore[arg-type]

    with pytest.raises(FactError, match=r"normalize.infinity rests on .softmax\(1, B\).* \(1, 1\)"):
        normalize.infinity(T(Float(2, 1)))
    assert len(normalize.infinity(T(Float(2, 1), answer="logits")).layers) == 3  # the logits themselves do not tie
    with pytest.raises(FactError, match=r"\[5/16 − 1/4\] = 0"):
        normalize.plus_minus(T(NORMAL))
    with pytest.raises(FactError, match="-8 is a value and 8 is not"):
        normalize.zero_one(T(Q(3, 3)))
    with pytest.raises(ModelError, match=r"options\.norm is 'pre'"):
        normalize.zero_one(T(Fixed(4), norm="pre"))
    with pytest.raises(ModelError, match="the strict mask hides"):
        normalize.zero_one(T(Fixed(4), mask="strict"), one_layer=True)
    assert len(normalize.zero_one(T(Exact(), answer="logits", attention="average")).layers) == 2


def test_normalizing_twice_changes_nothing_but_the_names() -> None:
    T = random_transformer(Fixed(6), 4, Sizes(layers=1), Options(attention="average"))
    twice = normalize.plus_minus(normalize.plus_minus(T))
    assert twice.coordinates[:4] == ("NO.2", "YES.2", "NO", "YES")
    texts = all_texts(5)
    assert (twice.run_batch(texts).logits == normalize.plus_minus(T).run_batch(texts).logits).all()
    assert [frame.construction for frame in twice.history] == ["normalize.plus_minus"] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_matters(kind: str) -> None:
    """Zero each weight that a normalization adds, in turn: on all pairs of F(2) something must be wrong."""
    format = Fixed(2)
    T = blank(format, "n y").replace(output=format.code(1) * np.eye(2, dtype=np.int64))
    h, done = pairs_of_logits(format), KINDS[kind](T)
    parts = [(l, part) for l in range(len(done.layers)) for part in ("w1", "b1", "w2", "b2")]
    for l, part in parts:
        for place in map(tuple, np.argwhere(getattr(done.layers[l].feed_forward, part))):
            broken = _without(done, l, part, place)
            got = run_added(T, broken, h)
            result = np.stack([got["NO"], got["YES"]])
            clean = not got["n"].any() and not got["y"].any()
            assert not clean or (result != wanted(kind, format, h[0], h[1])).any(), (l, part, place)


def _without(T: Transformer, l: int, part: str, place: tuple[int, ...]) -> Transformer:
    ff = T.layers[l].feed_forward
    assert ff is not None
    arrays = {name: getattr(ff, name).copy() for name in ("w1", "b1", "w2", "b2")}
    arrays[part][place] = 0
    return T.replace(layers=(*T.layers[:l], Layer((), FeedForward(**arrays)), *T.layers[l + 1 :]))
