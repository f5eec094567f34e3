"""Flags, add, set, copy, zero: all values at all positions of small formats, by their properties; then random transformers."""

from fractions import Fraction

import numpy as np
import pytest

from glyptic import carve
from glyptic.carve import add, flags, zero
from glyptic.errors import ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.numbers import Exact, Fixed, Format, encode
from tests.carve.support import FORMATS, NORMAL, all_codes, all_texts, blank, check_frame, laid_out, run_added, through

LENGTH = 3


def every_value(format: Format) -> np.ndarray:
    """Residuals (2, LENGTH, batch): x takes every value at every position, with a different y beside it."""
    codes = all_codes(format)
    x = np.stack([np.roll(codes, 7 * p) for p in range(LENGTH)])
    return np.stack([x, np.roll(x, 3, axis=1)])


def plus(format: Format, codes: np.ndarray, by: Fraction) -> np.ndarray:
    known = {c: format.code(format.round(format.value(c) + by)) for c in np.unique(codes).tolist()}
    return np.vectorize(known.get, otypes=[np.int64])(codes)


@pytest.mark.parametrize("at", [0, 2, {0, 2}, None], ids=str)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_a_vector_is_added_where_it_should_and_nowhere_else(format: Format, at: object) -> None:
    T, h = blank(format, "x y", LENGTH), every_value(format)
    added = add.vector(T, {"x": "B"}, at)  # type: ignore[arg-type]
    got = run_added(T, added, h)
    check_frame(T, added, h, got)
    places = {0, 1, 2} if at is None else at if isinstance(at, set) else {at}
    for p in range(LENGTH):
        assert (got["x"][p] == (plus(format, h[0, p], format.max) if p in places else h[0, p])).all()
    assert [len(added.layers), len(added.layers[0].feed_forward.w1)] == [1, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_a_vector_is_set(format: Format) -> None:
    T, h = blank(format, "x y", LENGTH), every_value(format)
    for at in (1, None):
        done = add.overwrite(T, {"x": "-B", "y": 1}, at)
        got = run_added(T, done, h)
        check_frame(T, done, h, got)
        places = slice(None) if at is None else at
        assert (got["x"][places] == -format.max_code).all()
        assert (got["y"][places] == format.code(1)).all()
        assert len(done.layers) == 2


@pytest.mark.parametrize("at", [1, None], ids=str)
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_coordinates_are_copied_and_moved(format: Format, at: object) -> None:
    T, h = blank(format, "x y", LENGTH), every_value(format)
    copied, moved = add.copy(T, {"y": "x"}, at), add.move(T, {"y": "x"}, at)  # type: ignore[arg-type]
    places = [0, 1, 2] if at is None else [at]
    for done in (copied, moved):
        got = run_added(T, done, h)
        check_frame(T, done, h, got)
        if done is moved:
            assert (got["y"][places] == h[0][places]).all()
        else:
            pairs = zip(h[0][places].ravel().tolist(), h[1][places].ravel().tolist(), strict=True)
            want = [format.code(format.round(format.value(c) + format.value(d))) for c, d in pairs]
            assert (got["y"][places].ravel() == want).all()
    assert [len(copied.layers), len(moved.layers)] == [1, 2]


@pytest.mark.parametrize("way", [zero.at, zero.by_saturation], ids=["one layer", "saturation"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_zero_at_chosen_positions_and_everywhere(format: Format, way: object) -> None:
    T, h = blank(format, "x y", LENGTH), every_value(format)
    for at in (0, 1, 2, {0, 2}, None):
        for names in (None, ["y"]):
            done = way(T, names, at)  # type: ignore[operator]
            got = run_added(T, done, h)
            check_frame(T, done, h, got)  # what the frame calls 0 is 0, the rest as it was
            written = [t for t in done.history[-1].touches if t.action == "writes"]
            assert written[0].coordinates == (("x", "y") if names is None else ("y",))
            assert len(done.layers) == (1 if way is zero.at else 3)


def final_residuals(T: Transformer, texts: list[str]) -> list[np.ndarray | None]:
    """Codes after the last layer by input; None where it met 0/0."""
    name = f"layer.{len(T.layers) - 1}.after_feed_forward"
    batch = T.run_batch(texts, trace=[name])
    return [None if i in batch.failures else batch.trace[name][i] for i in range(len(texts))]


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", [Fixed(4), Fixed(8), FORMATS[8], FORMATS[17]], ids=str)
def test_on_random_transformers_everything_else_is_preserved(format: Format, products: str) -> None:
    texts = all_texts(4)
    for seed in range(4):
        options = Options(products=products, attention="max-subtracted")  # type: ignore[arg-type]
        T = random_transformer(format, seed, Sizes(layers=2, width=7), options)
        steps = [
            add.vector(T, {"x1": 1, "x5": "-B"}, 2),
            add.overwrite(T, {"x0": 1}, {1, 3}),
            add.copy(T, {"x3": "x2"}, 1),
            zero.at(T, ["x4", "x6"], 2),
            zero.by_saturation(T, at=0),
            zero.everywhere(T, ["x2"]),
        ]
        old = final_residuals(T, texts)
        for done in steps:
            frame, places = done.history[-1], range(4)
            for before, after in zip(old, final_residuals(done, texts), strict=True):
                assert (before is None) == (after is None)
                if before is None or after is None:
                    continue
                for touch in frame.touches:
                    if touch.action == "preserves":
                        rows = [T.coordinate(name) for name in touch.coordinates]
                        columns = [p for p in places if p < before.shape[1] and touch.covers(p)]
                        assert (after[np.ix_(rows, columns)] == before[np.ix_(rows, columns)]).all()


def test_flags_are_in_the_embedding_and_reused() -> None:
    T = blank(Fixed(2), "x", 4)
    wide = flags.complement(flags.positions(flags.position(T, 2), {0, 3}), {1})
    columns = dict(zip(wide.coordinates, (wide.position_embedding.T // 4).tolist(), strict=True))
    assert columns == {"x": [0] * 4, "is_2": [0, 0, 1, 0], "is_0_3": [1, 0, 0, 1], "not_1": [1, 0, 1, 1]}
    assert add.vector(wide, {"x": 1}, 2).width == wide.width  # is_2 is there, and nothing writes it
    spoilt = add.vector(wide, {"is_2": 1})
    assert add.vector(spoilt, {"x": 1}, 2).coordinates[-1] == "is_2.2"
    numbers = flags.codes(T, lambda i: 3 - i, "n", constant="one")
    bits = numbers.position_embedding[:, 1:] // 4
    assert [sum((b > 0) << k for k, b in enumerate(row[:2])) for row in bits.tolist()] == [3, 2, 1, 0]
    assert (bits[:, 2] == 1).all()
    with pytest.raises(ModelError, match="position 4 does not exist"):
        flags.position(T, 4)


def test_without_subnormals_a_vector_still_becomes_zero() -> None:
    T, h = blank(NORMAL, "x y", LENGTH), every_value(NORMAL)
    done = zero.at(T, at=1)
    out, _ = through(done, laid_out(T, done, h), engine="reference")
    assert not out[:2, 1].any()
    assert (out[:2, [0, 2]] == h[:, [0, 2]]).all()


def test_zero_and_add_work_without_a_largest_value_where_no_gate_is_needed() -> None:
    T = random_transformer(Exact(), 1, Sizes(layers=0, width=3), Options(answer="logits"))
    run = add.overwrite(T, {"x1": 2}).run("01", trace=True)
    assert [h["x1"] for h in run.residual["layer.1.after_feed_forward"]] == [2, 2]


def test_layers_can_go_before_others() -> None:
    T = random_transformer(Fixed(4), 3, Sizes(layers=2, width=3), Options(attention="average"))
    first = zero.everywhere(T, place=0)
    run = first.run("01", trace="layer.0.*")
    assert all(v == 0 for h in run.residual["layer.0.after_feed_forward"] for v in h.values())
    assert first.history[-1].first_layer == 0
    with pytest.raises(ModelError, match="place 7 is not one between layers"):
        zero.everywhere(T, place=7)


def test_unknown_coordinates_and_loops_of_names_are_refused() -> None:
    T = blank(Fixed(2), "x y")
    with pytest.raises(ModelError, match="no coordinate 'q'"):
        zero.at(T, ["q"], 0)
    with pytest.raises(ModelError, match="'y' is a target and a source"):
        add.move(T, {"y": "x", "x": "y"})


@pytest.mark.parametrize("weight", range(6))
def test_a_changed_weight_is_noticed(weight: int) -> None:
    """Zero each weight of `zero.at` in turn: some value at some position must show it."""
    format = Fixed(2)
    T, h = blank(format, "x y", LENGTH), every_value(format)
    done = zero.at(T, ["x"], 1)
    ff = done.layers[0].feed_forward
    assert ff is not None
    w1, w2 = ff.w1.copy(), ff.w2.copy()
    flat = [(m, place) for m in (w1, w2) for place in map(tuple, np.argwhere(m))]
    assert len(flat) == 6
    matrix, place = flat[weight]
    matrix[place] = 0
    broken = done.replace(layers=(carve.coordinates.as_layer(type(ff)(w1, ff.b1, w2, ff.b2)),))
    with pytest.raises(AssertionError):
        check_frame(T, broken, h, run_added(T, broken, h))


def test_encode_agrees_with_the_names_of_ends() -> None:
    done = add.vector(blank(Fixed(2), "x"), {"x": "-B"})
    assert done.layers[0].feed_forward.b2.tolist() == encode(["-B"], Fixed(2)).tolist()  # type: ignore[union-attr]
