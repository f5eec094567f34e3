"""A claim with free values as a question to a solver: the same evaluation as everywhere, over terms.

Layers run through `glyptic.exact.forward` on `Terms`; the claim's own expressions through `claims.evaluation`, whose
`Setting` is here one of conditions: every truth value is a bit of a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, Literal

import numpy as np

from glyptic.exact.answers import contest, given
from glyptic.exact.forward import Prepared, forward, prepare
from glyptic.exact.stages import Watch, stages
from glyptic.numbers import Format, Products
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Entry, Inputs, Layers, Values
from glyptic.prove.claims.evaluation import ConditionSetting, Partial, Read, alone, truth
from glyptic.prove.elements.batches import free_names, part_codes, residual_codes
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.attention_terms import Enclosed, Terms
from glyptic.prove.methods.smt.bits import FALSE, TRUE, Bits
from glyptic.prove.methods.smt.plain_terms import PlainTerms
from glyptic.prove.methods.smt.preconditions import Box, box, free_name
from glyptic.prove.methods.smt.terms import Inexpressible, Scalar, Term

Rules = Literal["simplified", "plain"]  # terms that know of themselves what proofs on paper use, or terms that know nothing
Word = Mapping[str, Bits]  # each word with the condition under which it is the one


@dataclass(frozen=True)
class Question:
    """The claim holds iff domain ∧ given ∧ ¬good has no solution; `names` are the codes in the script."""

    names: tuple[str, ...]
    width: int
    domain: tuple[Bits, ...]
    given: Bits
    good: Bits
    rules: Rules
    setting: TermSetting  # what the claim's names stand for
    exps: tuple[Enclosed, ...] = ()  # codes of x and [exp x] where exp is only enclosed, so that a solution may be none
    conditions: tuple[Bits, ...] = ()  # what values were split by
    results: tuple[Bits, ...] = ()  # of plain terms: what every operation gives, in the order of their making
    spans: tuple[tuple[int, int], ...] = ()  # of each name, the codes between which the terms are right: a part of `given`

    @property
    def fails(self) -> Bits:
        """What breaks the claim where its precondition is met."""
        return bits.opposite(self.good)

    @property
    def failing(self) -> list[Bits]:
        """What a counterexample satisfies."""
        return [*self.domain, self.given, self.fails]

    @property
    def failing_parts(self) -> list[list[Bits]]:
        """The same for each condition that the claim is made of: a counterexample breaks one, and one is easier to prove."""
        return [[*self.domain, self.given, bits.opposite(part)] for part in bits.conjuncts(self.good)]


def pose(
    claim: Claim, format: Format, rules: Rules = "simplified", plainly: type[PlainTerms] = PlainTerms
) -> Question:
    """The question that decides a claim on values or on layers; its variables are called v0, v1, … whatever the claim says.

    A claim on values is always put in plain terms, for the rules by which terms are simplified are such claims themselves.
    `plainly` is the kind of these: an exported file has its own.
    """
    subject, names = claim.subject, tuple(f"v{k}" for k in range(len(free_names(claim))))
    assert not isinstance(subject, Inputs)
    products: Products = "rounded" if isinstance(subject, Values) else _products(subject)
    plain = rules == "plain" or isinstance(subject, Values)
    terms = plainly(format, products) if plain else Terms(format, products)
    free = {name: terms.free(variable) for name, variable in zip(free_names(claim), names, strict=True)}
    if isinstance(subject, Values):
        setting = TermSetting(terms, lambda node: (free[node.name], FALSE))
        given, inside = truth(claim.requires, setting).true, Box({}, (), ())
    else:
        inside = Box({}, (), (claim.requires,)) if plain else box(claim, format)
        within = inside.spans
        known = {name: terms.bounded(x, *within[name]) if name in within else x for name, x in free.items()}
        setting = _setting_of_layers(claim, subject, terms, known)
        whole = TermSetting(terms, lambda node: (free[free_name(node, claim) or ""], FALSE))
        parts = [*(truth(part, whole).true for part in inside.bounds), *(truth(part, setting).true for part in inside.rest)]
        given = setting.both(parts)
    good = truth(claim.ensures, setting).true
    if claim.quantifier == "some":  # what is looked for is a witness: "failing" is what it satisfies
        good = bits.opposite(good)
    results = tuple(terms.results.values()) if isinstance(terms, PlainTerms) else ()
    about = ("plain" if plain else "simplified", setting, tuple(terms.exps), tuple(terms.conditions.values()), results)
    ends = format.min_code, format.max_code
    spans = tuple(inside.spans.get(name, ends) for name in free)
    return Question(names, terms.circuits.width, tuple(terms.domain), given, good, *about, spans)  # type: ignore[arg-type]


@dataclass
class TermSetting(ConditionSetting):
    """Names as terms and truth values as conditions; arrays are of shape (1,)."""

    arithmetic: Any  # Terms
    read_value: Callable[[Any], tuple[Scalar, Bits]]  # with the condition under which it does not exist
    runs: Mapping[str, _RunOfTerms] = field(default_factory=dict)  # of each transformer

    def read(self, node: Read) -> Partial:
        number, missing = self.read_value(node)
        return Partial(alone(number), missing)

    def replaced(self, x: np.ndarray, where: Bits, number: int) -> np.ndarray:
        stand_in = alone(self.arithmetic.format.round(Fraction(number)))  # not every format has a 1
        return stand_in if where is TRUE else x  # a term may mean nothing where it is not read

    def word(self, node: e.Word) -> Word:
        if isinstance(node, e.Text):
            return {node.text: TRUE}
        if isinstance(node, e.Answer) and node.of in self.runs:
            return self.runs[node.of].answer
        raise Inexpressible(f"{node}: a solver is asked about values, which have no tokens.")

    def both(self, parts: Sequence[Bits]) -> Bits:
        return reduce(bits.both, parts, TRUE)

    def either(self, parts: Sequence[Bits]) -> Bits:
        return reduce(bits.either, parts, FALSE)

    def negation(self, part: Bits) -> Bits:
        return bits.opposite(part)

    def decide(self, node: e.Accepted | e.Holds | e.Defined | e.SameChains) -> Bits:
        if isinstance(node, e.Defined):
            return bits.opposite(self.runs[node.of].failed)
        raise Inexpressible(f"{node}: a solver is asked about values; inputs are enumerated.")


# Layers --------------------------------------------------------------------------------------------------------------------


def _products(subject: Layers) -> Products:
    kinds = {t.options.products for t in subject.transformers.values()}
    if len(kinds) > 1:
        raise Inexpressible("one transformer rounds its products and the other fuses them.")
    if "unrounded" in kinds:
        raise Inexpressible("options.products is 'unrounded', which terms do not have; products may be rounded or fused.")
    return kinds.pop()


def _setting_of_layers(claim: Claim, subject: Layers, terms: Terms, free: Mapping[str, Term]) -> TermSetting:
    runs: dict[str, _RunOfTerms] = {}

    def read(node: Any) -> tuple[Scalar, Bits]:
        transformer, run = subject.transformers[node.of], runs[node.of]
        if isinstance(node, e.Parameter):
            entries = free_entries(subject, node.of, free)
            fixed = terms.values(part_codes(transformer, node.part)[node.index][None])[0]
            return entries.get((node.part, node.index), fixed), FALSE
        if isinstance(node, e.Attention):
            return run.traced[node.stage()][node.query, node.key, 0], run.failed
        if isinstance(node, e.Logit):
            return run.logits[transformer.answers.index(node.answer), 0, 0], run.failed
        row = transformer.coordinate(node.coordinate)
        if node.stage == "before":
            return run.before[row, node.position, 0], FALSE
        return run.after[row, node.position, 0], run.failed

    setting = TermSetting(terms, read, runs)
    for name in subject.transformers:
        runs[name] = _run_of_layers(claim, subject, name, setting, free)
    return setting


@dataclass(frozen=True)
class _RunOfTerms:
    """One transformer's layers run on terms: residuals (d, positions, 1), and what is read off the last column."""

    before: np.ndarray
    after: np.ndarray
    failed: Bits  # 0/0 in attention
    logits: np.ndarray  # (answers, 1, 1)
    answer: Word
    traced: Mapping[str, np.ndarray]


def _run_of_layers(
    claim: Claim, subject: Layers, name: str, setting: TermSetting, free: Mapping[str, Term]
) -> _RunOfTerms:
    terms = setting.arithmetic
    whole = with_terms(prepare(subject.transformers[name], terms), free_entries(subject, name, free))
    before, watch, output = entering(subject, name, terms, free), Watch(stages(whole.transformer)), Watch()
    after, _ = forward(whole.part(subject.first, subject.last), before, observer=watch)
    for stage, array in watch.traced.items():
        terms.record(name, stage, whole.transformer.coordinates, array)
    failed, none = _met(watch), np.empty((0, 1, 1), object)
    if not claim.reads_output:
        return _RunOfTerms(before, after, failed, none, {}, watch.traced)
    logits, shares = contest(whole, after[:, -1:], subject.positions - 1, output)
    said = given(whole.transformer, list(shares[:, 0]), bits.either(failed, _met(output)), setting)
    return _RunOfTerms(before, after, failed, logits, said, watch.traced)


def _met(watch: Watch) -> Bits:
    """The condition under which 0/0 is met."""
    met = (c for _, where in watch.met for c in np.ravel(where))
    return reduce(bits.either, (bits.truth(bool(c)) if isinstance(c, bool | np.bool_) else c for c in met), FALSE)


def free_entries(subject: Layers, name: str, free: Mapping[str, Term]) -> dict[Entry, Scalar]:
    """The terms of the free weights that a transformer has."""
    return {entry: free[e.entry_name(*entry)] for _, entry in subject.entries_of(name)}


def entering(subject: Layers, name: str, terms: Terms, free: Mapping[str, Term]) -> np.ndarray:
    """The residual that enters the layers, (d, positions, 1): terms in the free places, constants elsewhere."""
    transformer = subject.transformers[name]
    out = terms.values(residual_codes(subject, name, np.zeros((len(subject.free), 1), np.int64)))
    for coordinate, position in subject.free:
        if coordinate in transformer.coordinates:
            out[transformer.coordinate(coordinate), position, 0] = free[f"{coordinate}@{position}"]
    return out


# Free weights ---------------------------------------------------------------------------------------------------------------

def with_terms(prepared: Prepared, entries: Mapping[Entry, Scalar]) -> Prepared:
    """The same weights, but for these entries, zero or not: arrays are prepared without their zeros (`Scalarwise.weights`)."""
    for (part, index), term in entries.items():
        path = part.split(".")
        prepared = _changed(prepared, path, lambda array, i=index, t=term: _put(array, i, t))  # type: ignore[misc]
    return prepared


def _changed(whole: Any, path: list[str], change: Any) -> Any:
    """A prepared part with one of its arrays, at the end of a path of names and numbers, changed."""
    name, *rest = path
    if is_dataclass(whole) and not isinstance(whole, type):
        assert name in {field.name for field in fields(whole)}
        inner = getattr(whole, name)
        return replace(whole, **{name: _changed(inner, rest, change) if rest else change(inner)})
    number = int(name)
    inner = _changed(whole[number], rest, change) if rest else change(whole[number])
    return (*whole[:number], inner, *whole[number + 1 :])


def _put(array: Any, index: tuple[int, ...], term: Scalar) -> Any:
    """An entry exchanged: of a matrix, kept as the (column, value) pairs of its rows; or of a vector or table, (…, 1, 1)."""
    if isinstance(array, list):
        row, column = index
        pairs = sorted([*((k, w) for k, w in array[row] if k != column), (column, term)], key=lambda pair: pair[0])
        return [*array[:row], pairs, *array[row + 1 :]]
    changed = np.array(array, dtype=object)
    changed[(*index, 0, 0)] = term
    return changed
