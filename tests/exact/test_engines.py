"""Random transformers in fifteen formats and every option: the compiled engine equals the reference on every traced value."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.numbers.families import VARIED

from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.exact.running import Batch, run_batch
from glyptic.numbers import Exact, Format, parse_format

CHOICES = [
    {},
    {"products": "fused"},
    {"attention": "max-subtracted"},
    {"attention": "leftmost"},
    {"attention": "rightmost", "mask": "strict"},
    {"attention": "average", "answer": "logits"},
    {"scale": True},
    {"mask": "strict"},
    {"mask": "full", "ties": "first"},
    {"norm": "pre"},
    {"norm": "post", "scale": True},
    {"answer": "logits"},
]
# Rows of more than four and eight terms: the products take four at a time, by bounds on what came before.
SIZES = Sizes(layers=2, heads=2, width=10, key_width=2, value_width=3, hidden=11, max_length=3, density=0.9)
TEXTS = ["0", "101", "11"]


def assert_same_runs(transformer: Transformer, texts: list[str], steps: int = 1) -> int:
    """Both engines on every traced value; returns how many runs were defined."""
    fast, reference = (run_batch(transformer, texts, engine=e, trace=["*"], steps=steps) for e in ("fast", "reference"))  # type: ignore[arg-type]
    assert {i: (type(f), f.place) for i, f in fast.failures.items()} == {
        i: (type(f), f.place) for i, f in reference.failures.items()
    }
    defined = [i for i in range(len(texts)) if i not in fast.failures]
    assert fast.trace.keys() == reference.trace.keys() != set()
    for name, i in itertools.product(fast.trace, defined):
        assert np.array_equal(fast.trace[name][i], reference.trace[name][i]), (name, texts[i])
    assert np.array_equal(fast.chains, reference.chains)
    assert np.array_equal(fast.logits[defined], reference.logits[defined])
    assert_unwatched(transformer, texts, steps, fast)
    return len(defined)


def assert_unwatched(transformer: Transformer, texts: list[str], steps: int, watched: Batch) -> None:
    """What nobody looks at is computed otherwise, a head in one call; and comes to the same, 0/0 included."""
    mixed = ["*.mixed"] if any(layer.heads for layer in transformer.layers) else []
    unwatched = run_batch(transformer, texts, engine="fast", steps=steps, trace=mixed)
    assert np.array_equal(unwatched.chains, watched.chains)
    assert np.array_equal(unwatched.logits, watched.logits)
    assert {i: (type(f), f.place) for i, f in unwatched.failures.items()} == {
        i: (type(f), f.place) for i, f in watched.failures.items()
    }
    for name, arrays in unwatched.trace.items():
        assert all(np.array_equal(one, other) for one, other in zip(arrays, watched.trace[name], strict=True)), name


def pairs() -> Iterator[Any]:
    """Every format with every option. Quick are both products, and of the rest every second pair, as on a chessboard."""
    for (i, name), (j, choice) in itertools.product(enumerate(VARIED), enumerate(CHOICES)):
        quick = j < 2 or (i + j) % 2 == 0
        yield pytest.param(name, choice, id=f"{name}-{choice}", marks=() if quick else pytest.mark.slow)


@pytest.mark.parametrize(("name", "choice"), pairs())
def test_fast_equals_reference(name: str, choice: dict) -> None:
    format = parse_format(name)
    seed = 10 * VARIED.index(name) + CHOICES.index(choice)
    transformer = random_transformer(format, seed, SIZES, Options(**choice))
    assert_same_runs(transformer, TEXTS)


@pytest.mark.parametrize("name", ["fixed:8", "fp16", "float:3,3"])
def test_most_random_runs_are_defined(name: str) -> None:
    """So that the comparison above is about numbers, not about failures."""
    format = parse_format(name)
    runs = sum(assert_same_runs(random_transformer(format, seed, SIZES), TEXTS) for seed in range(4))
    assert runs >= 2 * len(TEXTS)  # of 4


@pytest.mark.parametrize("name", ["fixed:4", "bf16/zero"])
def test_chain_of_thought_agrees(name: str) -> None:
    sizes = Sizes(layers=1, heads=1, width=4, max_length=9, answers=("0", "1"))
    for seed in range(3):
        transformer = random_transformer(parse_format(name), seed, sizes, Options(ties="first"))
        assert_same_runs(transformer, ["0", "011", "10"], steps=6)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_a_long_input_in_pieces_is_the_whole(choice: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = Sizes(layers=2, heads=2, width=6, max_length=12, answers=("0", "1"))
    for seed in range(3):
        transformer = random_transformer("fixed:3", seed, sizes, Options(**choice))
        runs = []
        for scores in (1 << 22, 25):
            monkeypatch.setattr("glyptic.exact.running._BLOCK_SCORES", scores)
            runs.append(run_batch(transformer, ["0110100", "11", "0101011101"], trace=["*"], steps=3))
        whole, pieces = runs
        assert whole.failures.keys() == pieces.failures.keys() and np.array_equal(whole.chains, pieces.chains)
        assert whole.trace.keys() == pieces.trace.keys()
        for name, i in itertools.product(whole.trace, set(range(3)) - whole.failures.keys()):
            assert np.array_equal(whole.trace[name][i], pieces.trace[name][i]), (name, i)


def test_no_layers_no_heads_no_feed_forward() -> None:
    format = parse_format("fixed:4")
    for sizes in (Sizes(layers=0), Sizes(heads=0), Sizes(hidden=0), Sizes(heads=3, hidden=1, answers=("A", "B", "C"))):
        assert_same_runs(random_transformer(format, 1, sizes), ["0", "101"])


def test_a_feed_forward_without_hidden_units_adds_its_bias() -> None:
    from glyptic.exact import FeedForward, Layer

    transformer = random_transformer(parse_format("fixed:4"), 1, Sizes(layers=0))
    nothing = FeedForward.of(transformer.format, np.zeros((0, 6)), [], np.zeros((6, 0)), [1, 0, 0, 0, 0, 0])
    assert_same_runs(transformer.replace(layers=(Layer((), nothing),)), ["01"])


def test_exact_rationals_run_with_hard_attention() -> None:
    transformer = random_transformer(Exact(4), 2, SIZES, Options(attention="leftmost", answer="logits"))
    run = transformer.run("011", trace=True)
    assert run.answer in ("YES", "NO", "TIE")
    assert max(x.denominator for x in run.trace["layer.1.after_feed_forward"].ravel()) > 4  # nothing was rounded


def test_a_format_beyond_the_fast_engine_runs_in_the_reference() -> None:
    from glyptic.errors import FormatError

    transformer = random_transformer(parse_format("fixed:20"), 0, SIZES, Options(attention="max-subtracted"))
    assert transformer.answer("01") == transformer.answer("01", engine="reference")
    with pytest.raises(FormatError, match="refuses fixed:20"):
        transformer.answer("01", engine="fast")


def test_a_batch_is_its_members() -> None:
    """Lengths mixed and chunks cut anywhere: each input fares as it does alone."""
    from glyptic.exact import running

    format = parse_format("fixed:6")
    assert isinstance(format, Format)
    transformer = random_transformer(format, 5, Sizes(max_length=7))
    texts = ["".join(w) for n in range(1, 8) for w in itertools.product("01", repeat=n)]
    whole = transformer.run_batch(texts)
    seen: list[int] = []
    small, lanes = running._CHUNK_BYTES, running._LANES
    try:
        running._CHUNK_BYTES, running._LANES = 4 * 8 * 7 * 3, 1  # three at a time
        cut = transformer.run_batch(texts, progress=seen.append)
    finally:
        running._CHUNK_BYTES, running._LANES = small, lanes
    assert sum(seen) == len(texts) and max(seen) < 40
    assert np.array_equal(whole.numbers, cut.numbers) and np.array_equal(whole.logits, cut.logits)
    for i in range(0, len(texts), 17):
        alone = transformer.run_batch([texts[i]])
        assert alone.numbers[0] == whole.numbers[i]


@pytest.mark.parametrize("name", ["fixed:2", "q:4,4", "float:3,3", "fp16"])
def test_the_engines_agree_where_the_first_product_is_not_rounded(name: str) -> None:
    """Under every mask: with one key, and with several."""
    differ = 0
    for seed, mask in enumerate(["causal", "strict", "full"]):
        options = Options(products="unrounded", mask=mask, attention="max-subtracted", answer="logits")  # type: ignore[arg-type]
        transformer = random_transformer(name, seed, SIZES, options)
        assert_same_runs(transformer, TEXTS)
        other = transformer.with_options(products="fused").run_batch(TEXTS)
        differ += not np.array_equal(transformer.run_batch(TEXTS).logits, other.logits)
    assert differ  # it is another function


def test_long_inputs_go_through_together_as_far_as_memory_is_bounded() -> None:
    from glyptic.exact import running

    transformer = random_transformer("fixed:2", 1).replace(period=1)
    sizes = {length: running.chunk_size(transformer, length) for length in (10, 64, 200, 400, 1000, 3000)}
    assert sizes[10] > sizes[64] > sizes[200] == 32 > sizes[400] > sizes[1000] >= 2 and sizes[3000] == 1
    assert all(4 * length * length * size <= 1 << 23 for length, size in sizes.items() if size > 1)
