"""Theorems of the constructions that move values about: add, zero, ignore, linear maps, look-up, loops, coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product

from glyptic.carve import add, flags, free, ignore, linear, lookup, loop, permute, rename, widen, zero
from glyptic.carve.beside import beside
from glyptic.carve.building import Draft, Unit
from glyptic.carve.coordinates import append
from glyptic.carve.spaces import Space
from glyptic.exact import Transformer
from glyptic.numbers import Format, Products
from glyptic.prove.claims.claim import Claim, layers
from glyptic.prove.claims.expressions import B, Constant, Value, after, before, logit, relu
from glyptic.theorems.theorem import MAIN, POSITIONS, Maker, Theorem, become, everything, plain


def matrix(products: Products) -> tuple[tuple[str, str], tuple[str, str]]:
    """M, where one is asked for. Claims round every product, so where products are fused they had better be exact."""
    return ("1", "-1"), ("1/2" if products == "rounded" else "-1", "1")


def image(row: Sequence[str], i: int) -> Value:
    """⟨row, h_i⟩ over the main coordinates, rounded step by step."""
    return reduce(lambda a, b: a + b, [before(name, i) * Fraction(w) for name, w in zip(MAIN, row, strict=True)])


# Adding, copying, clearing ---------------------------------------------------------------------------------------------------


def _vector(format: Format, products: Products) -> Claim:
    built = add.vector(plain(format, products), {"x": 1, "y": "-B"}, at=1)
    return become(built, {("x", 1): before("x", 1) + 1, ("y", 1): before("y", 1) - B})


def _overwrite(format: Format, products: Products) -> Claim:
    return become(add.overwrite(plain(format, products), {"x": 1, "y": -1}, at=1), {("x", 1): 1, ("y", 1): -1})


def _copy(format: Format, products: Products) -> Claim:
    built = add.copy(plain(format, products), {"y": "x"}, at=1)
    return become(built, {("y", 1): before("y", 1) + before("x", 1)})


def _move(format: Format, products: Products) -> Claim:
    return become(add.move(plain(format, products), {"y": "x"}, at=1), {("y", 1): before("x", 1)})


def _zero_at(format: Format, products: Products) -> Claim:
    return become(zero.at(plain(format, products), at=1), {(name, 1): 0 for name in MAIN})


def _zero_everywhere(format: Format, products: Products) -> Claim:
    places = product(MAIN, range(POSITIONS))
    return become(zero.everywhere(plain(format, products)), dict.fromkeys(places, 0))


def _by_saturation(format: Format, products: Products) -> Claim:
    return become(zero.by_saturation(plain(format, products), ["x"], at=1), {("x", 1): 0})


def _ignore(format: Format, products: Products) -> Claim:
    """The layer gives x the same whatever y is (the other transformer has its own y, which holds 0), and keeps y."""
    mixing = Draft(format, MAIN).feed_forward([Unit({"x": 1, "y": 1}, {"x": 1, "y": 1})], {"y": 1})
    blind = ignore.coordinates(append(plain(format, products), mixing), ["y"])
    other = rename(blind, {"y": "z"})
    same = (after("x", of="a") == after("x", of="b")) & (after("y", of="a") == before("y", of="a"))
    return Claim(
        layers(blind, other, free=MAIN), same & (after("x", of="a") == before("x", of="a") + relu(before("x", of="a")))
    )


# Linear maps and look-up -------------------------------------------------------------------------------------------------------


def _into(format: Format, products: Products) -> Claim:
    built = linear.into(plain(format, products), [list(matrix(products)[1])], MAIN, ["z"], bias=[1])
    wanted = {("z", i): image(matrix(products)[1], i) + 1 for i in range(POSITIONS)}
    return become(built, wanted)


def _in_place(format: Format, products: Products) -> Claim:
    built = linear.in_place(plain(format, products), [list(row) for row in matrix(products)])
    return become(
        built,
        {(name, i): image(row, i) for name, row in zip(MAIN, matrix(products), strict=True) for i in range(POSITIONS)},
    )


def _between(i: int, j: int) -> Maker:
    def claim(format: Format, products: Products) -> Claim:
        built = linear.between(plain(format, products), [list(row) for row in matrix(products)], i=i, j=j)
        return become(built, {(name, j): image(row, i) for name, row in zip(MAIN, matrix(products), strict=True)})

    return claim


def _lookup(format: Format, products: Products) -> Claim:
    """From every position to some, so that every bit of a code is told from its opposite."""
    pointed = (0, 0, 1, 2)
    built = lookup.position(plain(format, products, positions=4), ["x"], ["z"], lambda i: pointed[i])
    return become(built, {("z", i): before("x", p) for i, p in enumerate(pointed)}, positions=4)


def _loop(format: Format, products: Products) -> Claim:
    built = loop.block(add.vector(plain(format, products), {"x": 1}), 0, 1, times=3)
    return become(built, {("x", i): before("x", i) + 1 + 1 + 1 for i in range(POSITIONS)})


def _fetch(format: Format, products: Products) -> Claim:
    """Position 1 has a free pointer of one bit: where it is 1 or −1, it fetches x from position 1 or 0."""
    pointing = widen(plain(format, products, positions=2), ["to"])
    built = lookup.fetch(pointing, ["x"], ["z"], ["to"])
    codes = tuple(name for name in built.coordinates if name not in (*MAIN, "to", "z"))
    free = [("x", 0), ("x", 1), ("to", 1)]
    subject = layers(built, free=free, positions=2, from_positions=codes, fixed={("to", 0): -1})
    fetched = ((before("to", 1) == 1) >> (after("z", 1) == before("x", 1))) & (
        (before("to", 1) == -1) >> (after("z", 1) == before("x", 0))
    )
    kept = everything(after(n, i) == before(n, i) for n in ("x", "y", "to", *codes) for i in range(2))
    requires = (before("to", 1) == 1) | (before("to", 1) == -1)
    return Claim(subject, fetched & kept & (after("z", 0) == before("x", 0)), requires=requires)


# Coordinates -----------------------------------------------------------------------------------------------------------------


def _beside(format: Format, products: Products) -> Claim:
    a, b = plain(format, products), plain(format, products)
    both = beside([add.vector(a, {"x": 1}), add.copy(b, {"y": "x"})])
    free = [*Space("a", MAIN), *Space("b", MAIN)]
    wanted = {("a.x", 0): before("a.x") + 1, ("b.y", 0): before("b.y") + before("b.x")}
    return become(both, wanted, positions=1, free=free)


def _same_values(format: Format, products: Products, change: str) -> Claim:
    """A layer that adds relu(x) to y, before and after a change of coordinates that must not matter."""
    layer = Draft(format, MAIN).feed_forward([Unit({"x": 1}, {"y": 1})])
    a = append(plain(format, products).with_options(answer="logits"), layer)
    b = permute(a, ["y", "x"]) if change == "permute" else widen(a, ["z"], first=True)
    if change == "free":
        a, b = b, free(b, ["z"])
    same = everything(after(name, of="a") == after(name, of="b") for name in MAIN)
    logits = everything(logit(answer, of="a") == logit(answer, of="b") for answer in ("NO", "YES"))
    extra = everything(after(name, of="b") == 0 for name in b.coordinates if name not in MAIN)
    return Claim(
        layers(a, b, free=MAIN),
        same & logits & extra & (after("y", of="b") == before("y", of="b") + relu(before("x", of="b"))),
    )


def _flag(format: Format, products: Products) -> Claim:
    """A flag gates: relu(x − B·off) is relu(x) where the complement is 0, and nothing elsewhere."""
    flagged = flags.complement(plain(format, products), {1}, name="off")
    gated = Draft(format, flagged.coordinates).feed_forward([Unit({"x": 1, "off": "-B"}, {"y": 1})])
    return become(append(flagged, gated), {("y", 1): before("y", 1) + relu(before("x", 1))})


def _counting(flagged: Transformer, names: Sequence[str], rings: Sequence[int]) -> Claim:
    """A hidden unit for each flag adds 1 to y where the flag is 1: rings[i] times at position i."""
    units = Draft(flagged.format, flagged.coordinates).feed_forward([Unit({name: 1}, {"y": 1}) for name in names])
    wanted: dict[tuple[str, int], Value | int] = {}
    for i, times in enumerate(rings):
        ones: list[Value] = [Constant(Fraction(1))] * times
        if ones:
            wanted["y", i] = before("y", i) + reduce(lambda a, b: a + b, ones)
    return become(append(flagged, units), wanted, positions=len(rings))


def _position(format: Format, products: Products) -> Claim:
    return _counting(flags.position(plain(format, products), 1), ["is_1"], [0, 1, 0])


def _positions(format: Format, products: Products) -> Claim:
    return _counting(flags.positions(plain(format, products), {0, 2}, name="ends"), ["ends"], [1, 0, 1])


def _codes(format: Format, products: Products) -> Claim:
    """Of the bits of a position's number, ±1 each, a hidden unit sees those that are 1."""
    coded = flags.codes(plain(format, products, positions=4))
    return _counting(coded, ["place.0", "place.1"], [i.bit_count() for i in range(4)])


PRIMITIVES: tuple[Theorem, ...] = (
    Theorem("add.vector", "h_1 += v, all else preserved", _vector),
    Theorem("add.overwrite", "h_1 := v, all else preserved", _overwrite),
    Theorem("add.copy", "y += x at position 1, all else preserved", _copy),
    Theorem("add.move", "y := x at position 1, all else preserved", _move),
    Theorem("zero.at", "h_1 := 0, all else preserved", _zero_at),
    Theorem("zero.everywhere", "h := 0 at every position", _zero_everywhere),
    Theorem("zero.by_saturation", "x := 0 at position 1 by +B, +B, −B, all else preserved", _by_saturation),
    Theorem("ignore.coordinates", "the layer neither reads nor writes y", _ignore),
    Theorem("linear.into", "z := M·h + b, h preserved", _into),
    Theorem("linear.in_place", "h := M·h at every position", _in_place),
    Theorem("linear.between", "h_2 := M·h_0, all else preserved, never 0/0", _between(0, 2)),
    Theorem("linear.between, i = j", "h_1 := M·h_1, all else preserved, never 0/0", _between(1, 1)),
    Theorem("lookup.position", "z := x of the position that a code names, all else preserved, never 0/0", _lookup),
    Theorem("lookup.fetch", "z := x of the position that a free pointer names, all else preserved, never 0/0", _fetch),
    Theorem("loop.block", "x := x + 1 + 1 + 1 by one layer three times", _loop),
    Theorem("flags.position", "a hidden unit fires at that position only", _position),
    Theorem("flags.positions", "a hidden unit fires at those positions only", _positions),
    Theorem("flags.codes", "hidden units see which bits of the position's number are 1", _codes),
    Theorem("flags.complement", "a hidden unit fires where the flag is 0 only", _flag),
    Theorem("beside", "two transformers side by side do what each did", _beside),
    Theorem("permute", "the same values by name", lambda f, p: _same_values(f, p, "permute")),
    Theorem("widen", "the same values, and 0 in what is new", lambda f, p: _same_values(f, p, "widen")),
    Theorem("free", "the same values without a coordinate that nothing reads", lambda f, p: _same_values(f, p, "free")),
)
