"""Linear maps against the reference arithmetic's own inner product: into others, in place, from position to position."""

from fractions import Fraction

import numpy as np
import pytest

from glyptic.carve import FactError, linear
from glyptic.errors import ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.exact.transformer import map_codes
from glyptic.numbers import Fixed, Float, Format, Q, Reference, decode
from tests.carve.support import FORMATS, all_codes, blank, check_frame, run_added


def rounded_product(format: Format, products: str, matrix: np.ndarray, h: np.ndarray, bias: object = None) -> np.ndarray:
    """[M·h + b] by fractions; matrix of codes (m, k), h of codes (k, …)."""
    R = Reference(format, products)  # type: ignore[arg-type]
    flat = h.reshape(len(h), 1, -1)
    out = R.linear(R.weights(matrix), R.values(flat))
    if bias is not None:
        out = R.add(out, R.values(np.asarray(bias))[:, None, None])
    return R.codes(out).reshape(len(matrix), *h.shape[1:])


def pairs(format: Format, most: int = 3000) -> np.ndarray:
    """Residuals (2, 1, batch): all pairs of values, or as many at random."""
    codes = all_codes(format)
    if len(codes) ** 2 <= most:
        return np.stack(np.meshgrid(codes, codes)).reshape(2, 1, -1)
    return np.random.default_rng(0).choice(codes, (2, 1, most // 3))


def random_matrix(format: Format, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(all_codes(format), shape)


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_into_and_in_place_are_the_rounded_product(format: Format, products: str) -> None:
    T, h = blank(format, "x y", options=Options(products=products)), pairs(format, 1000)  # type: ignore[arg-type]
    codes, bias = random_matrix(format, (2, 2), 1), random_matrix(format, (2,), 2)
    want = rounded_product(format, products, codes, h, bias)
    matrix, b = decode(codes, format), decode(bias, format).tolist()
    there = linear.into(T, matrix, ["x", "y"], ["u", "v"], b)
    cleared = linear.into(T, matrix, ["x", "y"], ["u", "v"], b, clear_source=True)
    here = linear.in_place(T, matrix, ["x", "y"], b)
    for done, names in ((there, "uv"), (cleared, "uv"), (here, "xy")):
        got = run_added(T, done, h)
        check_frame(T, done, h, got)
        assert (np.stack([got[name] for name in names]) == want).all()
    assert [len(t.layers) for t in (there, cleared, here)] == [1, 1, 2]


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_from_one_position_to_another_and_nothing_else(format: Format, products: str) -> None:
    n = 4
    T = blank(format, "x y z", n, options=Options(products=products))  # type: ignore[arg-type]
    h = np.random.default_rng(3).choice(all_codes(format), (3, n, 60))
    codes = random_matrix(format, (2, 2), 4)
    mapped = rounded_product(format, products, codes, h[[0, 2]])
    for j in range(n):
        for i in range(j + 1):
            done = linear.between(T, decode(codes, format), ["x", "z"], i=i, j=j)
            got = run_added(T, done, h)  # which also says that nothing is 0/0, before i neither
            check_frame(T, done, h, got)
            assert (np.stack([got["x"][j], got["z"][j]]) == mapped[:, i]).all()
            assert [len(done.layers), done.history[-1].heads, done.history[-1].layers] == [2, 1, 2]


@pytest.mark.parametrize(
    "options",
    [
        Options(attention="max-subtracted"),
        Options(attention="leftmost"),
        Options(attention="rightmost"),
        Options(attention="average"),
        Options(scale=True),
        Options(mask="full"),
        Options(mask="strict"),
    ],
    ids=str,
)
def test_between_under_other_options(options: Options) -> None:
    format, n = Fixed(4), 5
    T = blank(format, "x y", n, options=options)
    h = np.random.default_rng(5).choice(all_codes(format), (2, n, 100))
    for i, j in [(1, 3), (0, 4), (3, 1)]:
        if j < i and options.mask != "full":
            with pytest.raises(ModelError, match=r"position 1 cannot look up position 3: the .* mask hides it"):
                linear.between(T, np.eye(2, dtype=int), i=i, j=j)
            continue
        done = linear.between(T, [[0, 2], [1, 1]], i=i, j=j)
        got = run_added(T, done, h)
        check_frame(T, done, h, got)
        want = rounded_product(format, "rounded", np.array([[0, 32], [16, 16]]), h[:, i])
        assert (np.stack([got["x"][j], got["y"][j]]) == want).all()


@pytest.mark.parametrize("products", ["rounded", "fused"])
def test_wide_maps_on_random_transformers(products: str) -> None:
    """In place on d = 12 coordinates after two layers of attention: the residual before, mapped by fractions."""
    format = Float(3, 4)
    options = Options(products=products, attention="max-subtracted")  # type: ignore[arg-type]
    T = random_transformer(format, 5, Sizes(layers=2, width=12), options)
    codes = random_matrix(format, (12, 12), 6)
    done = linear.in_place(T, decode(codes, format))
    texts = ["0", "01", "1101", "00101"]
    before = T.run_batch(texts, trace=["layer.1.after_feed_forward"]).trace["layer.1.after_feed_forward"]
    after = done.run_batch(texts, trace=["layer.3.after_feed_forward"]).trace["layer.3.after_feed_forward"]
    for x, y in zip(before, after, strict=True):
        assert (y[:12] == rounded_product(format, products, codes, x)).all()
        assert not y[12:].any()


def test_shapes_names_and_facts_are_checked() -> None:
    T = blank(Fixed(2), "x y", 3)
    with pytest.raises(ModelError, match="the matrix has 1 rows, and must have 2, of 2 numbers each"):
        linear.in_place(T, [[1, 2]])
    with pytest.raises(ModelError, match="'x' is a source and a target"):
        linear.into(T, [[1]], ["x"], ["x"])
    with pytest.raises(ModelError, match="the bias has 2 entries; it must have 1"):
        linear.into(T, [[1]], ["x"], ["y"], [1, 2])
    with pytest.raises(FactError, match=r"\[exp\(−B\)\] = 0.*rounds to 1/4"):
        linear.between(blank(Float(1, 1), "x", 3), [[1]], i=0, j=1)
    with pytest.raises(FactError, match="−x is a value"):
        linear.in_place(blank(Q(2, 2), "x"), [[1]])
    assert linear.in_place(blank(Q(2, 2), "x"), [[Fraction(1, 2)]], force=True).layers


@pytest.mark.parametrize("sublayer", ["head", "first", "second"])
def test_every_weight_of_between_matters(sublayer: str) -> None:
    """Zero each weight in turn: some residual must show it."""
    format, n = Fixed(2), 3
    T = blank(format, "x y", n)
    done = linear.between(T, [[1, 1], [2, -1]], i=0, j=1)
    h = np.random.default_rng(7).choice(all_codes(format), (2, n, 400))
    want = rounded_product(format, "rounded", np.array([[4, 4], [8, -4]]), h[:, 0])
    prefix = {"head": "layers.0.heads.", "first": "layers.0.feed_forward.", "second": "layers.1.feed_forward."}[sublayer]
    places: list[tuple[str, tuple[int, ...]]] = []
    map_codes(done, lambda a, name: places.extend((name, tuple(p)) for p in np.argwhere(a)) or a)
    tried = [place for place in places if place[0].startswith(prefix)]
    assert tried
    assert _right(T, done, h, want)
    for name, place in tried:

        def without(array: np.ndarray, at: str, name: str = name, place: tuple[int, ...] = place) -> np.ndarray:
            if at == name:
                array = array.copy()
                array[place] = 0
            return array

        assert not _right(T, map_codes(done, without), h, want), (name, place)


def _right(T: Transformer, done: Transformer, h: np.ndarray, want: np.ndarray) -> bool:
    try:
        got = run_added(T, done, h)
        check_frame(T, done, h, got)
    except AssertionError:
        return False
    return bool((np.stack([got["x"][1], got["y"][1]]) == want).all())
