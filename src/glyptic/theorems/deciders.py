"""Theorems of the constructions on deciders: normalization, closure, composition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

from glyptic.carve import Draft, Space, Unit, closure, compose, normalize
from glyptic.carve.beside import letters
from glyptic.exact import Layer, Transformer
from glyptic.numbers import Format, Products, encode
from glyptic.prove.claims.claim import Claim, layers
from glyptic.prove.claims.expressions import B, Condition, after, answer, before, logit
from glyptic.theorems.theorem import MAIN, Maker, Theorem, everything, plain

THETA = [["1", "-1"], ["1/2", "1"]]  # an output matrix that mixes
VOTE = ("n", "y")  # the logits of a decider that is combined with others
BOTH = (Space("a", VOTE), Space("b", VOTE))  # two of them side by side


def decider(format: Format, products: Products) -> Transformer:
    """One layer, a head and a feed-forward, and an output matrix that mixes: what normalization is tried on.

    The head averages x over the positions seen, the feed-forward folds y; nothing of it is easy to undo.
    """
    draft = Draft(format, MAIN)
    head = draft.head(query=[{}], key=[{}], value=[{"x": 1}], output=[{"y": 1}])
    folding = draft.feed_forward([Unit({"x": 1, "y": -1}, {"y": 1}), Unit({"y": 1}, {"x": -1}, bias=1)])
    base = plain(format, products, output=THETA)
    return base.replace(layers=(Layer((head,), folding),))


NO_A, YES_A, NO_B, YES_B = logit("NO", "a"), logit("YES", "a"), logit("NO", "b"), logit("YES", "b")
_SAYS_YES = YES_A > NO_A
ZERO_ONE = (NO_B == NO_A) & (YES_B == YES_A)
INFINITY = (NO_B == 1) & (_SAYS_YES >> (YES_B == B)) & (~_SAYS_YES >> (YES_B == 0))
PLUS_MINUS = (_SAYS_YES >> ((NO_B == -B) & (YES_B == B))) & (~_SAYS_YES >> ((NO_B == B) & (YES_B == -B)))
DECISIVE = (_SAYS_YES >> (answer("b") == "YES")) & (~_SAYS_YES >> (answer("b") == "NO"))


def _normalization(construct: Callable[..., Transformer], says: Condition, *, one_layer: bool = False) -> Maker:
    """The decider and its normalization, fed with the same free values; old coordinates end at 0.

    The decider's own softmax may be 0/0, so it is read by its logits; so is what only copies them.
    """

    def claim(format: Format, products: Products) -> Claim:
        base = decider(format, products)
        built = construct(base, one_layer=one_layer)
        base = base.with_options(answer="logits")
        if says is ZERO_ONE:
            built = built.with_options(answer="logits")
        codes = tuple(name for name in built.coordinates if name not in (*base.coordinates, "NO", "YES"))
        cleared = [after(name, i, of="b") == 0 for name in (*MAIN, *codes) for i in range(2)]
        subject = layers(base, built, free=MAIN, positions=2)
        return Claim(replace(subject, from_positions=codes), says & everything(cleared))

    return claim


# Closure -----------------------------------------------------------------------------------------------------------------------


def _closure(combine: Callable[..., Transformer], count: int, accepts: Callable[[int], bool]) -> Maker:
    """Deciders whose logits are free: the answer is YES exactly when an accepted number of them say YES."""

    def claim(format: Format, products: Products) -> Claim:
        built = combine(*[plain(format, products, VOTE)] * count)
        voters = [Space(letter, VOTE) for letter in letters(count)]
        votes = [before(voter["y"]) > before(voter["n"]) for voter in voters]
        cases = []
        for pattern in product((True, False), repeat=count):
            case = everything(vote if said else ~vote for vote, said in zip(votes, pattern, strict=True))
            yes, no = (B, -B) if accepts(sum(pattern)) else (-B, B)
            cases.append(case >> ((logit("YES") == yes) & (logit("NO") == no)))
        return Claim(layers(built, free=_all(voters)), everything(cases) & _cleared(built))

    return claim


def _all(spaces: Iterable[Space]) -> list[str]:
    """Their coordinates."""
    return [name for space in spaces for name in space]


def _cleared(built: Transformer) -> Condition:
    """Nothing is left but the answer."""
    return everything(after(name) == 0 for name in built.coordinates if name not in ("NO", "YES"))


def _negation(format: Format, products: Products) -> Claim:
    a = plain(format, products).with_options(answer="logits")
    flipped = (NO_A == YES_B) & (YES_A == NO_B)
    return Claim(layers(a, closure.negation(a), free=MAIN), flipped)


def _decision_list(format: Format, products: Products) -> Claim:
    """If a says YES, then NO; else if b says NO, then YES; else NO."""
    built = closure.decision_list([plain(format, products, VOTE)] * 2, [(0, True, False), (1, False, True)], default=False)
    a, b = (before(voter["y"]) > before(voter["n"]) for voter in BOTH)
    yes = (~a & ~b) >> ((logit("YES") == B) & (logit("NO") == -B))
    no = (a | b) >> ((logit("YES") == -B) & (logit("NO") == B))
    return Claim(layers(built, free=_all(BOTH)), yes & no & _cleared(built))


# Composition -------------------------------------------------------------------------------------------------------------------


def _reader(format: Format, products: Products) -> Transformer:
    """A decider that reads answers: NO is (1, 0) to it, YES is (−1, 1)."""
    base = plain(format, products, VOTE)
    embedding = encode([[0, 0], [0, 0], [1, 0], [-1, 1]], format)
    return base.replace(vocabulary=("0", "1", "NO", "YES"), token_embedding=embedding)


def _sequence(format: Format, products: Products) -> Claim:
    """b's residual gets the embedding of a's answer; a's is cleared."""
    built = compose.sequence(plain(format, products, VOTE), _reader(format, products))
    said = before("a.y") > before("a.n")
    yes = (after("b.n") == before("b.n") - 1) & (after("b.y") == before("b.y") + 1)
    no = (after("b.n") == before("b.n") + 1) & (after("b.y") == before("b.y"))
    cleared = everything(after(name) == 0 for name in built.coordinates if name not in BOTH[1].coordinates)
    subject = layers(built.with_options(answer="logits"), free=_all(BOTH))
    return Claim(subject, (said >> yes) & (~said >> no) & cleared)


def _relay(turn: str) -> Maker:
    """The logits are those of the one whose turn it is; all else is cleared."""

    def claim(format: Format, products: Products) -> Claim:
        built = compose.relay(plain(format, products, VOTE), _reader(format, products))
        answers = Space("answer", built.answers, " ").coordinates
        subject = layers(built.with_options(answer="logits"), free=_all(BOTH), fixed={(f"{turn}'s turn", 0): 1})
        theirs = (logit("NO") == before(f"{turn}.n")) & (logit("YES") == before(f"{turn}.y"))
        cleared = everything(after(name) == 0 for name in built.coordinates if name not in answers)
        return Claim(subject, theirs & cleared)

    return claim


_ZERO_ONE = _normalization(normalize.zero_one, ZERO_ONE)
_INFINITY = _normalization(normalize.infinity, INFINITY)
_PLUS_MINUS = _normalization(normalize.plus_minus, PLUS_MINUS & DECISIVE)
_ZERO_ONE_BY_HEAD = _normalization(normalize.zero_one, ZERO_ONE, one_layer=True)
_INFINITY_BY_HEAD = _normalization(normalize.infinity, INFINITY, one_layer=True)
_TWO_OR_MORE = _closure(lambda *deciders: closure.threshold(deciders, 2), 3, lambda n: n >= 2)
_NONE_OR_TWO = _closure(lambda *deciders: closure.by_count(deciders, {0, 2}), 3, lambda n: n in (0, 2))
_PLUS_MINUS_BY_HEAD = _normalization(normalize.plus_minus, PLUS_MINUS & DECISIVE, one_layer=True)


DECIDERS: tuple[Theorem, ...] = (
    Theorem("normalize.zero_one", "the residual is (T_NO, T_SI, 0, …)", _ZERO_ONE),
    Theorem("normalize.infinity", "the residual is (1, B, 0, …) if T_SI > T_NO, else (1, 0, 0, …)", _INFINITY),
    Theorem(
        "normalize.plus_minus", "it is (−B, B, 0, …) if T_SI > T_NO, else (B, −B, 0, …), and decisive", _PLUS_MINUS
    ),
    Theorem("normalize.zero_one, one layer", "the same as zero_one by a head and a feed-forward", _ZERO_ONE_BY_HEAD),
    Theorem("normalize.infinity, one layer", "the same as infinity by a head and a feed-forward", _INFINITY_BY_HEAD),
    Theorem("normalize.plus_minus, one layer", "the same by a head and a feed-forward", _PLUS_MINUS_BY_HEAD),
    Theorem("closure.negation", "the logits exchanged", _negation),
    Theorem("closure.conjunction", "a & b, ±∞-normalized", _closure(closure.conjunction, 2, lambda n: n == 2)),
    Theorem("closure.disjunction", "a | b, ±∞-normalized", _closure(closure.disjunction, 2, lambda n: n > 0)),
    Theorem("closure.exclusive", "a ^ b, ±∞-normalized", _closure(closure.exclusive, 2, lambda n: n == 1)),
    Theorem("closure.majority", "most of three, ±∞-normalized", _closure(closure.majority, 3, lambda n: n >= 2)),
    Theorem("closure.threshold", "two or more of three, ±∞-normalized", _TWO_OR_MORE),
    Theorem("closure.by_count", "none or two of three, ±∞-normalized", _NONE_OR_TWO),
    Theorem("closure.decision_list", "the first rule that applies, ±∞-normalized", _decision_list),
    Theorem("compose.sequence", "b gets the embedding of a's answer, a is cleared", _sequence),
    Theorem("compose.relay, a's turn", "a's logits, all else cleared", _relay("a")),
    Theorem("compose.relay, b's turn", "b's logits, all else cleared", _relay("b")),
)
