"""The theorems of the constructions: for each, a claim about all values of a format, made from what `glyptic.carve` builds.

Residuals enter with every main coordinate free at every position; flags and codes hold what the position embedding writes,
scratch holds 0. A claim says what the coordinates are afterwards, all of them: what is written, and that the rest is preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import Any

from glyptic.carve import add, closure, ignore, linear, lookup, loop, normalize, rename, zero
from glyptic.carve.building import Draft, Unit
from glyptic.carve.coordinates import append
from glyptic.exact import Layer, Options, Transformer
from glyptic.numbers import Format, Products
from glyptic.prove.claims import Claim, block
from glyptic.prove.expressions import TRUE, B, Condition, Value, after, answer, before, logit, relu

MAIN = ("x", "y")
MATRIX = (("1", "-1"), ("1/2", "1"))  # M, where a matrix is asked for
POSITIONS = 3


Maker = Callable[[Format, Products], Claim]


@dataclass(frozen=True)
class Theorem:
    """A construction, what it does in words, and the claim that says so in a format."""

    name: str
    says: str
    claim: Maker


def plain(
    format: Format, products: Products, names: Sequence[str] = MAIN, output: Any = None, positions: int = POSITIONS
) -> Transformer:
    """A decider without layers whose logits are `output` times its coordinates: the first two, unless said."""
    d = len(names)
    theta = output or [[int(k == i) for k in range(d)] for i in range(2)]
    zeros, options = [[0] * d] * 2, Options(products=products)
    return Transformer.of(format, "01", names, zeros, theta, ["NO", "YES"], max_length=positions, options=options)


# Saying things -----------------------------------------------------------------------------------------------------------


def everything(conditions: Iterable[Condition]) -> Condition:
    always: Condition = TRUE
    return reduce(lambda a, b: a & b, conditions, always)


def about(built: Transformer, ensures: Condition, positions: int = POSITIONS, free: Sequence[str] = MAIN) -> Claim:
    """A claim about the layers of what was built, flags and codes coming from the position embedding."""
    flags = tuple(n for k, n in enumerate(built.coordinates) if n not in free and built.position_embedding[:, k].any())
    return Claim(block(built, free=free, positions=positions, from_positions=flags), ensures)


def become(built: Transformer, wanted: Mapping[tuple[str, int], Value | int], positions: int = POSITIONS) -> Claim:
    """After the layers, the places named hold the values named; all others hold what they held before."""
    conditions = [
        after(name, i) == wanted.get((name, i), before(name, i))
        for name, i in product(built.coordinates, range(positions))
    ]
    return about(built, everything(conditions), positions)


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
    return become(zero.at(plain(format, products), 1), {(name, 1): 0 for name in MAIN})


def _zero_everywhere(format: Format, products: Products) -> Claim:
    places = product(MAIN, range(POSITIONS))
    return become(zero.everywhere(plain(format, products)), dict.fromkeys(places, 0))


def _by_saturation(format: Format, products: Products) -> Claim:
    return become(zero.by_saturation(plain(format, products), 1, ["x"]), {("x", 1): 0})


def _ignore(format: Format, products: Products) -> Claim:
    """The layer gives x the same whatever y is (the other transformer has its own y, which holds 0), and keeps y."""
    mixing = Draft(format, MAIN).feed_forward([Unit({"x": 1, "y": 1}, {"x": 1, "y": 1})], {"y": 1})
    blind = ignore.coordinates(append(plain(format, products), mixing), ["y"])
    other = rename(blind, {"y": "z"})
    same = (after("x", of="a") == after("x", of="b")) & (after("y", of="a") == before("y", of="a"))
    return Claim(
        block(blind, other, free=MAIN), same & (after("x", of="a") == before("x", of="a") + relu(before("x", of="a")))
    )


# Linear maps and look-up -------------------------------------------------------------------------------------------------------


def _into(format: Format, products: Products) -> Claim:
    built = linear.into(plain(format, products), [list(MATRIX[1])], MAIN, ["z"], bias=[1])
    wanted = {("z", i): image(MATRIX[1], i) + 1 for i in range(POSITIONS)}
    return become(built, wanted)


def _in_place(format: Format, products: Products) -> Claim:
    built = linear.in_place(plain(format, products), [list(row) for row in MATRIX])
    return become(
        built, {(name, i): image(row, i) for name, row in zip(MAIN, MATRIX, strict=True) for i in range(POSITIONS)}
    )


def _between(i: int, j: int) -> Maker:
    def claim(format: Format, products: Products) -> Claim:
        built = linear.between(plain(format, products), [list(row) for row in MATRIX], i, j)
        return become(built, {(name, j): image(row, i) for name, row in zip(MAIN, MATRIX, strict=True)})

    return claim


def _lookup(format: Format, products: Products) -> Claim:
    """From every position to some, so that every bit of a code is told from its opposite."""
    pointed = (0, 0, 1, 2)
    built = lookup.position(plain(format, products, positions=4), lambda i: pointed[i], ["x"], ["z"])
    return become(built, {("z", i): before("x", p) for i, p in enumerate(pointed)}, positions=4)


def _loop(format: Format, products: Products) -> Claim:
    built = loop.block(add.vector(plain(format, products), {"x": 1}), 0, 1, times=3)
    return become(built, {("x", i): before("x", i) + 1 + 1 + 1 for i in range(POSITIONS)})


# Normalization -----------------------------------------------------------------------------------------------------------------


def decider(format: Format, products: Products) -> Transformer:
    """One layer, a head and a feed-forward, and an output matrix that mixes: what normalization is tried on.

    The head averages x over the positions seen, the feed-forward folds y; nothing of it is easy to undo.
    """
    draft = Draft(format, MAIN)
    head = draft.head(query=[{}], key=[{}], value=[{"x": 1}], output=[{"y": 1}])
    folding = draft.feed_forward([Unit({"x": 1, "y": -1}, {"y": 1}), Unit({"y": 1}, {"x": -1}, bias=1)])
    base = plain(format, products, output=[list(row) for row in MATRIX])
    return base.replace(layers=(Layer((head,), folding),))


def _normalized(
    format: Format, products: Products, construct: Callable[..., Transformer], says: Condition, **settings: Any
) -> Claim:
    """The decider and its normalization, fed with the same free values; old coordinates end at 0.

    The decider's own softmax may be 0/0, so it is read by its logits; so is what only copies them.
    """
    base = decider(format, products)
    built = construct(base, **settings)
    base = base.with_options(answer="logits")
    if says is ZERO_ONE:
        built = built.with_options(answer="logits")
    codes = tuple(name for name in built.coordinates if name not in (*base.coordinates, "NO", "YES"))
    cleared = [after(name, i, of="b") == 0 for name in (*MAIN, *codes) for i in range(2)]
    subject = block(base, built, free=MAIN, positions=2)
    return Claim(replace(subject, from_positions=codes), says & everything(cleared))


NO_A, YES_A, NO_B, YES_B = logit("NO", "a"), logit("YES", "a"), logit("NO", "b"), logit("YES", "b")
_SAYS_YES = YES_A > NO_A
ZERO_ONE = (NO_B == NO_A) & (YES_B == YES_A)
INFINITY = (NO_B == 1) & (_SAYS_YES >> (YES_B == B)) & (~_SAYS_YES >> (YES_B == 0))
PLUS_MINUS = (_SAYS_YES >> ((NO_B == -B) & (YES_B == B))) & (~_SAYS_YES >> ((NO_B == B) & (YES_B == -B)))
DECISIVE = (_SAYS_YES >> (answer("b") == "YES")) & (~_SAYS_YES >> (answer("b") == "NO"))


def _normalization(
    construct: Callable[..., Transformer], says: Condition, **settings: Any
) -> Callable[[Format, Products], Claim]:
    return lambda format, products: _normalized(format, products, construct, says, **settings)


# Closure -----------------------------------------------------------------------------------------------------------------------


def _closure(
    combine: Callable[..., Transformer], count: int, accepts: Callable[[int], bool]
) -> Callable[[Format, Products], Claim]:
    """Deciders whose logits are free: the answer is YES exactly when an accepted number of them say YES."""

    def claim(format: Format, products: Products) -> Claim:
        built = combine(*[plain(format, products, ("n", "y"))] * count)
        letters = "abcdefgh"[:count]
        votes = [before(f"{letter}.y") > before(f"{letter}.n") for letter in letters]
        cases = []
        for pattern in product((True, False), repeat=count):
            case = everything(vote if said else ~vote for vote, said in zip(votes, pattern, strict=True))
            yes, no = (B, -B) if accepts(sum(pattern)) else (-B, B)
            cases.append(case >> ((logit("YES") == yes) & (logit("NO") == no)))
        free = [name for name in built.coordinates if "." in name]
        cleared = everything(after(name) == 0 for name in built.coordinates if name not in ("NO", "YES"))
        return Claim(block(built, free=free), everything(cases) & cleared)

    return claim


def _negation(format: Format, products: Products) -> Claim:
    a = plain(format, products).with_options(answer="logits")
    flipped = (NO_A == YES_B) & (YES_A == NO_B)
    return Claim(block(a, closure.negation(a), free=MAIN), flipped)


_ZERO_ONE = _normalization(normalize.zero_one, ZERO_ONE)
_INFINITY = _normalization(normalize.infinity, INFINITY)
_PLUS_MINUS = _normalization(normalize.plus_minus, PLUS_MINUS & DECISIVE)
_IN_ONE_LAYER = _normalization(normalize.plus_minus, PLUS_MINUS & DECISIVE, one_layer=True)

THEOREMS: tuple[Theorem, ...] = (
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
    Theorem("loop.block", "x := x + 1 + 1 + 1 by one layer three times", _loop),
    Theorem("normalize.zero_one", "the residual is (T_NO, T_SI, 0, …)", _ZERO_ONE),
    Theorem("normalize.infinity", "the residual is (1, B, 0, …) if T_SI > T_NO, else (1, 0, 0, …)", _INFINITY),
    Theorem("normalize.plus_minus", "it is (−B, B, 0, …) if T_SI > T_NO, else (B, −B, 0, …), and decisive", _PLUS_MINUS),
    Theorem("normalize.plus_minus, one layer", "the same by a head and a feed-forward", _IN_ONE_LAYER),
    Theorem("closure.negation", "the logits exchanged", _negation),
    Theorem("closure.conjunction", "a & b, ±∞-normalized", _closure(closure.conjunction, 2, lambda n: n == 2)),
    Theorem("closure.disjunction", "a | b, ±∞-normalized", _closure(closure.disjunction, 2, lambda n: n > 0)),
    Theorem("closure.exclusive", "a ^ b, ±∞-normalized", _closure(closure.exclusive, 2, lambda n: n == 1)),
    Theorem("closure.majority", "two or three of three, ±∞-normalized", _closure(closure.majority, 3, lambda n: n >= 2)),
)
