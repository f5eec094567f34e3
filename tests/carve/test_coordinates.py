"""Names to weights; widening, renaming, permuting, freeing and ignoring coordinates, on random transformers, bit for bit."""

from fractions import Fraction

import numpy as np
import pytest

from glyptic import carve
from glyptic.carve import ignore
from glyptic.carve.building import Draft, Unit, carry, negated
from glyptic.errors import FormatError, ModelError
from glyptic.exact import Head, Layer, Options, Sizes, Transformer, random_transformer
from glyptic.numbers import NAMED, Fixed, Float, Format
from tests.carve.support import FORMATS, all_texts

OPTIONS = [Options(attention="max-subtracted"), Options(products="fused", attention="average", scale=True)]


def logits(T: Transformer, texts: list[str] | None = None) -> np.ndarray:
    batch = T.run_batch(texts or all_texts(4))
    return np.where(batch.numbers[:, None] == -2, 10**9, batch.logits)


@pytest.mark.parametrize("options", OPTIONS, ids=["rounded", "fused"])
@pytest.mark.parametrize("format", FORMATS[::3], ids=str)
def test_new_coordinates_change_no_bit(format: Format, options: Options) -> None:
    for seed in range(3):
        T = random_transformer(format, seed, Sizes(width=7), options)
        for first in (False, True):
            wide = carve.widen(T, ["new", "newer"], first=first, positions={"new": [1] * T.max_length})
            assert (logits(wide) == logits(T)).all()
            assert wide.coordinates.index("new") == (0 if first else T.width)
    with pytest.raises(ModelError, match="there is a coordinate 'x0' already"):
        carve.widen(T, ["x0"])


def test_names_can_change() -> None:
    T = random_transformer(Fixed(4), 0)
    renamed = carve.rename(T, {"x0": "first", "x1": "x0"})
    assert renamed.coordinates[:3] == ("first", "x0", "x2")
    assert (logits(renamed) == logits(T)).all()
    with pytest.raises(ModelError, match="no coordinate 'y'"):
        carve.rename(T, {"y": "z"})


def sparse(seed: int, options: Options) -> Transformer:
    """Rows that read two coordinates at most: their sums commute, if rounded."""
    return random_transformer(Fixed(4), seed, Sizes(width=6, density=0.12), options)


def test_an_order_that_keeps_sums_is_allowed_and_any_other_named() -> None:
    T = random_transformer(Float(2, 2), 1, Sizes(width=4), OPTIONS[0])
    order = ("x3", "x1", "x2", "x0")
    with pytest.raises(ModelError, match=r"layers\.0\.heads\.0\.query\[1\] adds up its coordinates in their order"):
        carve.permute(T, order)
    forced = carve.permute(T, order, force=True)
    assert forced.coordinates == order
    assert (logits(forced) != logits(T)).any()  # rounded sums do depend on it
    swapped = carve.permute(T, ("x1", "x0", "x2", "x3"))  # [x + y] = [y + x]: the first two may change places
    assert (logits(swapped) == logits(T)).all()
    with pytest.raises(ModelError, match="must name each of"):
        carve.permute(T, ("x0", "x1"))
    with pytest.raises(ModelError, match="adds up its coordinates"):
        carve.permute(T.with_options(products="fused"), ("x1", "x0", "x2", "x3"))


def test_permutations_that_pass_the_check_change_no_bit() -> None:
    rng, passed = np.random.default_rng(0), 0
    for seed in range(40):
        T = sparse(seed, OPTIONS[0])
        order = [T.coordinates[k] for k in rng.permutation(T.width)]
        try:
            permuted = carve.permute(T, order)
        except ModelError:
            continue
        passed += 1
        assert (logits(permuted) == logits(T)).all()
    assert passed > 10


def test_a_free_coordinate_goes_and_one_that_is_read_does_not() -> None:
    T = random_transformer(Fixed(4), 2, Sizes(width=5), OPTIONS[0])
    with pytest.raises(ModelError, match=r"coordinate 'x3' is read by layers\.0\.heads\.0\."):
        carve.free(T, ["x3"])
    wide = carve.widen(T, ["a", "b"], first=True, positions={"a": [1] * T.max_length})
    assert carve.free(wide, ["a", "b"]).same_as(T)


@pytest.mark.parametrize("seed", range(6))
def test_ignored_coordinates_are_neither_read_nor_written(seed: int) -> None:
    """The layers without a coordinate are the layers of a transformer that never had it; the coordinate stays as embedded."""
    T = random_transformer(Float(3, 4), seed, Sizes(width=6), OPTIONS[0])
    done = ignore.coordinates(T, ["x1", "x4"])
    texts, name = all_texts(4), "layer.1.after_feed_forward"
    batch = done.run_batch(texts, trace=["embedding", name])
    other = done.replace(token_embedding=_changed(done, 2), position_embedding=done.position_embedding)
    changed = other.run_batch(texts, trace=[name])
    kept, ignored = [0, 2, 3, 5], [1, 4]
    for i in range(len(texts)):
        if i in batch.failures:
            assert i in changed.failures
            continue
        after = batch.trace[name][i]
        assert (after[ignored] == batch.trace["embedding"][i][ignored]).all()  # not written
        assert (after[kept] == changed.trace[name][i][kept]).all()  # not read: another value there changes nothing
    only_first = ignore.coordinates(T, ["x1"], layers=[0])
    assert only_first.layers[1] is T.layers[1]


def _changed(T: Transformer, by: int) -> np.ndarray:
    embedding = T.token_embedding.copy()
    embedding[:, [1, 4]] = np.clip(embedding[:, [1, 4]] + by, T.format.min_code, T.format.max_code)
    return embedding


def test_norms_are_refused_with_the_reason() -> None:
    for norm in ("pre", "post"):
        T = random_transformer(Fixed(6), 0, options=Options(norm=norm))  # type: ignore[arg-type]
        for build in (
            lambda T=T: carve.widen(T, ["y"]),
            lambda T=T: carve.permute(T, T.coordinates[::-1]),
            lambda T=T: ignore.coordinates(T, ["x0"]),
            lambda T=T: carve.zero.everywhere(T),
            lambda T=T: carve.normalize.zero_one(T),
            lambda T=T: T & T,
        ):
            with pytest.raises(ModelError, match=f"options.norm is '{norm}'.*carve transformers whose options.norm is 'none'"):
                build()


def test_weights_by_name() -> None:
    names, format = ("a", "b", "c"), Fixed(2)
    ff = Draft(format, names).feed_forward([Unit({"b": "1/2", "a": -1}, {"c": "B"}, bias=Fraction(1, 4))], {"a": 3})
    assert [ff.w1.tolist(), ff.b1.tolist(), ff.w2.tolist(), ff.b2.tolist()] == [
        [[-4, 2, 0]],
        [1],
        [[0], [0], [15]],
        [12, 0, 0],
    ]
    two = Draft(format, names).head([{"a": 1}], [{"b": "-B"}], [{"c": 1}, {"a": 2}], [{"a": 1}, {"b": -1}])
    assert isinstance(two, Head)
    assert two.output.tolist() == [[4, 0], [0, -4], [0, 0]]
    with pytest.raises(ModelError, match="w1: no coordinate 'q'; there are a, b, c"):
        Draft(format, names).feed_forward([Unit({"q": 1}, {})])
    with pytest.raises(FormatError, match="b1: 1/8 is not a value of fixed:2"):
        Draft(format, names).feed_forward([Unit({}, {}, bias="1/8")])
    with pytest.raises(ModelError, match="1 rows of query and 0 of key"):
        Draft(format, names).head([{"a": 1}], [], [], [])
    with pytest.raises(ModelError, match="1 rows of value and 0 of output"):
        Draft(format, names).head([], [], [{"a": 1}], [])
    assert [negated(w) for w in ("B", "-B", "+1/2", 3, Fraction(1, 2))] == ["-B", "B", "-1/2", -3, Fraction(-1, 2)]
    assert [u.writes for u in carry("a", {"b": "B"})] == [{"b": "B"}, {"b": "-B"}]


def test_layers_of_any_kind_are_appended() -> None:
    T = random_transformer(NAMED["fp8_e4m3"], 0, Sizes(layers=1, heads=1))
    one = T.layers[0]
    more = carve.append(T, one, one.feed_forward, one.heads[0])  # type: ignore[arg-type]
    assert [(len(l.heads), l.feed_forward is not None) for l in more.layers] == [(1, True), (1, True), (0, True), (1, False)]
    assert isinstance(more.layers[-1], Layer)
