"""A claim with free values as a question to a solver: the same evaluation as everywhere, over terms.

Layers run through `glyptic.exact.forward` on `Terms`; the claim's own expressions through `glyptic.prove.evaluation`, whose
`Setting` is here one of conditions: every truth value is a bit of a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from glyptic.exact.forward import Prepared, State, forward, prepare
from glyptic.exact.transformer import TIE, Transformer
from glyptic.numbers import Format
from glyptic.prove import expressions as e
from glyptic.prove.claims import Block, Claim, Inputs, Values
from glyptic.prove.enumeration.settings import free_names, residual_codes
from glyptic.prove.evaluation import truth
from glyptic.prove.smt import bits
from glyptic.prove.smt.attention_terms import Terms
from glyptic.prove.smt.bits import FALSE, TRUE, Bits
from glyptic.prove.smt.plain_terms import PlainTerms
from glyptic.prove.smt.terms import Inexpressible, Number, Scalar

Word = Mapping[str, Bits]  # each word with the condition under which it is the one


@dataclass(frozen=True)
class Question:
    """The claim holds iff domain ∧ given ∧ ¬good has no solution; variables are the codes of `names`."""

    names: tuple[str, ...]
    width: int
    domain: tuple[Bits, ...]
    given: Bits
    good: Bits
    enclosed: bool  # whether some exp is only enclosed, so that a solution may be none

    @property
    def failing(self) -> list[Bits]:
        """What a counterexample satisfies."""
        return [*self.domain, self.given, bits.opposite(self.good)]


def pose(claim: Claim, format: Format) -> Question:
    """The question that decides a claim on values or on a block."""
    subject, names = claim.subject, free_names(claim)
    assert not isinstance(subject, Inputs)
    terms = PlainTerms(format) if isinstance(subject, Values) else Terms(format, _products(subject))
    free = {name: terms.free(name) for name in names}
    if isinstance(subject, Values):
        setting, undefined = TermSetting(terms, lambda node: free[node.name]), FALSE
    else:
        setting, undefined = _setting_of_block(claim, subject, terms, free)
    requires = truth(claim.requires, setting)
    given = bits.both(requires, bits.opposite(setting.undefined))
    good = bits.both(truth(claim.ensures, setting), bits.opposite(setting.undefined))
    if not claim.speaks_of_undefined:
        good = bits.both(good, bits.opposite(undefined))
    return Question(names, terms.circuits.width, tuple(terms.domain), given, good, bool(terms.enclosed))


@dataclass
class TermSetting:
    """Names as terms and truth values as conditions; arrays are of shape (1,)."""

    arithmetic: Any  # Terms
    read_value: Callable[[Any], Scalar]
    words: Mapping[str, Word] = field(default_factory=dict)  # the answer of each transformer
    block_undefined: Bits = FALSE
    undefined: Bits = FALSE  # a division by 0 in the claim itself

    def read(self, node: e.Variable | e.Coordinate | e.Logit) -> np.ndarray:
        return _array(self.read_value(node))

    def divide(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        self.undefined = bits.either(self.undefined, self.arithmetic.equal(y[0], self.arithmetic.zero))
        if isinstance(y[0], Number) or y[0] != 0:
            return self.arithmetic.divide(x, y)
        return _array(self.arithmetic.zero)

    def compare(self, how: str, x: np.ndarray, y: np.ndarray) -> Bits:
        a, b, terms = x[0], y[0], self.arithmetic
        match how:
            case "=":
                return terms.equal(a, b)
            case "≠":
                return bits.opposite(terms.equal(a, b))
            case "<":
                return terms.less(a, b)
            case ">":
                return terms.less(b, a)
            case "≤":
                return bits.opposite(terms.less(b, a))
            case "≥":
                return bits.opposite(terms.less(a, b))
        raise AssertionError(how)

    def same_word(self, left: e.Word, right: e.Word) -> Bits:
        a, b = self._word(left), self._word(right)
        return self.either([bits.both(a[name], b[name]) for name in a if name in b])

    def _word(self, node: e.Word) -> Word:
        if isinstance(node, e.Text):
            return {node.text: TRUE}
        if isinstance(node, e.Answer) and node.of in self.words:
            return self.words[node.of]
        raise Inexpressible(f"{node}: a solver is asked about values, which have no tokens.")

    def both(self, parts: Sequence[Bits]) -> Bits:
        return reduce(bits.both, parts, TRUE)

    def either(self, parts: Sequence[Bits]) -> Bits:
        return reduce(bits.either, parts, FALSE)

    def negation(self, part: Bits) -> Bits:
        return bits.opposite(part)

    def decide(self, node: e.Accepted | e.Holds | e.Defined) -> Bits:
        if isinstance(node, e.Defined):
            return bits.opposite(self.block_undefined)
        raise Inexpressible(f"{node}: a solver is asked about values; inputs are enumerated.")


def _array(scalar: Scalar) -> np.ndarray:
    out = np.empty(1, dtype=object)
    out[0] = scalar
    return out


# Blocks --------------------------------------------------------------------------------------------------------------------


def _products(subject: Block) -> Any:
    kinds = {t.options.products for t in subject.transformers.values()}
    if len(kinds) > 1:
        raise Inexpressible("one transformer rounds its products and the other fuses them.")
    return kinds.pop()


def _setting_of_block(
    claim: Claim, subject: Block, terms: Terms, free: Mapping[str, Number]
) -> tuple[TermSetting, Bits]:
    undefined: list[Bits] = []
    before, after = {}, {}
    logits: dict[str, list[Scalar]] = {}
    shares: dict[str, list[Scalar]] = {}
    reads_output = any(isinstance(n, e.Answer | e.Logit) for n in (*claim.requires.parts(), *claim.ensures.parts()))

    def complain(_: Any, where: np.ndarray) -> None:
        undefined.extend(bits.truth(bool(c)) if isinstance(c, bool | np.bool_) else c for c in np.ravel(where))

    for name, transformer in subject.transformers.items():
        whole = prepare(transformer, terms)
        last = len(transformer.layers) if subject.last is None else subject.last
        norm = whole.final_norm if last == len(transformer.layers) else None
        part = replace(whole, layers=whole.layers[subject.first : last], final_norm=norm)
        before[name] = entering(subject, name, terms, free)
        after[name], _ = forward(part, before[name], State(), lambda *_: None, complain)
        if reads_output:
            logits[name], shares[name] = _contest(whole, after[name][:, -1:], complain)

    met = reduce(bits.either, undefined, FALSE)

    def read(node: Any) -> Scalar:
        transformer = subject.transformers[node.of]
        if isinstance(node, e.Logit):
            return logits[node.of][transformer.answers.index(node.answer)]
        side = before if node.stage == "before" else after
        return side[node.of][transformer.coordinate(node.coordinate), node.position, 0]

    words = {name: answer(subject.transformers[name], terms, of, met) for name, of in shares.items()}
    return TermSetting(terms, read, words, met), met


def entering(subject: Block, name: str, terms: Terms, free: Mapping[str, Number]) -> np.ndarray:
    """The residual that enters a block, (d, positions, 1): terms in the free places, constants elsewhere."""
    transformer = subject.transformers[name]
    out = terms.values(residual_codes(subject, name, np.zeros((len(subject.free), 1), np.int64)))
    for coordinate, position in subject.free:
        if coordinate in transformer.coordinates:
            out[transformer.coordinate(coordinate), position, 0] = free[f"{coordinate}@{position}"]
    return out


def _contest(prepared: Prepared, last: np.ndarray, complain: Any) -> tuple[list[Scalar], list[Scalar]]:
    """The logits, and what the answer is the largest of: their softmax, or they themselves."""
    terms, options = prepared.arithmetic, prepared.transformer.options
    logits = list(terms.linear(prepared.output, last)[:, 0, 0])
    if options.answer == "logits":
        return logits, logits
    kind = "max-subtracted" if options.attention == "max-subtracted" else "softmax"
    shares, zero = terms.distribute(logits, kind)  # type: ignore[attr-defined]
    complain(None, np.array([[zero]], dtype=object))
    return logits, shares


def answer(transformer: Transformer, terms: Terms, contest: list[Scalar], undefined: Bits) -> Word:
    """Each answer with the condition under which it is given, TIE and UNDEFINED among them."""
    defined = bits.opposite(undefined)
    words: dict[str, Bits] = {}
    for i, name in enumerate(transformer.answers):
        wins = defined
        for j, other in enumerate(contest):
            if j != i:
                at_least = j > i and transformer.options.ties == "first"
                beats = bits.opposite(terms.less(contest[i], other)) if at_least else terms.less(other, contest[i])
                wins = bits.both(wins, beats)
        words[name] = wins
    none = bits.opposite(reduce(bits.either, words.values(), FALSE))
    return {**words, TIE: bits.both(defined, none), "UNDEFINED": undefined}
