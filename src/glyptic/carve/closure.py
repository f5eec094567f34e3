"""Closure of deciders: NOT, AND, OR, XOR, decision lists, majority, threshold, any function of the number of YES.

    ~a                                 the output's two rows exchanged                               no layer
    a & b, a | b, decision_list        side by side, then 2 feed-forwards: as many as ±∞-normalization alone
    a ^ b, majority, threshold, by_count               … then 3

The result is ±∞-normalized: (B, −B, 0, …) or (−B, B, 0, …) at every position, all else cleared. It agrees with the
function of the deciders' answers wherever all of them are decisive; one that ties counts as NO.

*Decision lists in one sum.* Each decider leaves its difference D, of which u = relu(B·D) and z = relu(t − B·D) tell
YES and NO, as in `normalize`. A row of W_2 adds up from left to right and saturates, so units that `swing` it,
enough copies to take it from −B to B, *overwrite* what came before: the last rule that applies decides. AND is
“YES; but NO if a is NO; but NO if b is NO”.

*Functions of the count.* Another feed-forward first makes each D into 0 or B; then Σ w·x, one product each, is s_m,
where m of them are B, if the weight w keeps s_0 < s_1 < … < s_k apart. relu(Σ w·x − s_(m−1)) is positive iff m or
more say YES: swings at each m where the function changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from glyptic.carve.amplify import Plan, copies_to_top
from glyptic.carve.beside import beside, letters, reconciled
from glyptic.carve.building import Unit, clear
from glyptic.carve.deciding import decider_facts, early_units, is_no, is_yes, plan_of
from glyptic.carve.facts import Broken, Fact, require
from glyptic.carve.frames import carved, writes
from glyptic.carve.normalize import Goal, reach
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat, Format, Products

Rule = tuple[int, bool, bool]  # if decider number … answers YES (True) or NO (False), the answer is YES or NO


def negation(a: Transformer) -> Transformer:
    """YES where a says NO: the rows of the output matrix exchanged; ties stay ties."""
    decider_facts(a)
    exchanged = a.replace(output=a.output[::-1].copy(), name=f"~{a.name}" if a.name else "")
    return carved(a, exchanged, "closure.negation", [])


def conjunction(
    *deciders: Transformer, format: AnyFormat | None = None, common: bool = False, force: bool = False
) -> Transformer:
    """YES where all say YES.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> a, b = (random_transformer(Fixed(4), seed, Sizes(layers=0)) for seed in (1, 3))
    >>> (a & b).answer("01") == ("YES" if a.answer("01") == b.answer("01") == "YES" else "NO")
    True
    """
    rules = [(i, False, False) for i in range(len(deciders))]
    return decision_list(deciders, rules, True, "conjunction", format=format, common=common, force=force)


def disjunction(
    *deciders: Transformer, format: AnyFormat | None = None, common: bool = False, force: bool = False
) -> Transformer:
    """YES where one or more say YES."""
    rules = [(i, True, True) for i in range(len(deciders))]
    return decision_list(deciders, rules, False, "disjunction", format=format, common=common, force=force)


def exclusive(
    *deciders: Transformer, format: AnyFormat | None = None, common: bool = False, force: bool = False
) -> Transformer:
    """YES where an odd number say YES; of two, exactly one."""
    odd = range(1, len(deciders) + 1, 2)
    return by_count(deciders, odd, "exclusive", format=format, common=common, force=force)


def majority(
    *deciders: Transformer, format: AnyFormat | None = None, common: bool = False, force: bool = False
) -> Transformer:
    """YES where more than half say YES."""
    most = range(len(deciders) // 2 + 1, len(deciders) + 1)
    return by_count(deciders, most, "majority", format=format, common=common, force=force)


def threshold(
    least: int, *deciders: Transformer, format: AnyFormat | None = None, common: bool = False, force: bool = False
) -> Transformer:
    """YES where `least` or more say YES."""
    accepted = range(least, len(deciders) + 1)
    return by_count(deciders, accepted, f"threshold {least}", format=format, common=common, force=force)


def decision_list(
    deciders: Sequence[Transformer],
    rules: Iterable[Rule],
    default: bool,
    name: str = "decision_list",
    *,
    format: AnyFormat | None = None,
    common: bool = False,
    force: bool = False,
) -> Transformer:
    """The first rule (decider, its answer, the answer) that applies decides, else the default: 2 feed-forwards."""
    joined = _join(deciders, f"closure.{name}", format, common, force)
    steps, units = joined.steps, [Unit({}, joined.yes if default else joined.no, bias=1)]
    for number, if_yes, outcome in reversed(list(rules)):  # what fires last overwrites, so the first rule comes last
        difference, written = joined.differences[number], joined.yes if outcome else joined.no
        units += is_yes(difference, written, steps.swing) if if_yes else is_no(difference, written, steps.swing, steps)
    return joined.finish([units + clear(joined.differences)], f"closure.{name}")


def by_count(
    deciders: Sequence[Transformer],
    accepted: Iterable[int],
    name: str = "by_count",
    *,
    format: AnyFormat | None = None,
    common: bool = False,
    force: bool = False,
) -> Transformer:
    """YES where the number of deciders that say YES is one of the accepted: 3 feed-forwards."""
    joined = _join(deciders, f"closure.{name}", format, common, force)
    form, products, wanted, k = joined.side.format, joined.side.options.products, set(accepted), len(deciders)
    assert isinstance(form, Format)  # _join refuses exact, which has no B
    tells = counts_apart(k, products)
    require([tells], form, f"closure.{name}", force)
    weight, sums = counting_weight(form, products, k) or (Fraction(1), [Fraction(0)] * (k + 1))
    copies = joined.steps.copies
    bits = [unit for d in joined.differences for unit in (*is_yes(d, {d: "B"}, copies), Unit({d: -1}, {d: 1}))]
    units = [Unit({}, joined.yes if 0 in wanted else joined.no, bias=1)]
    for m in range(1, k + 1):
        if (m in wanted) != (m - 1 in wanted):
            at_least_m = dict.fromkeys(joined.differences, weight)
            swing = copies_to_top(form, products, form.round(sums[m] - sums[m - 1]), form.min) or 1
            units += [Unit(at_least_m, joined.yes if m in wanted else joined.no, bias=-sums[m - 1])] * swing
    cleared = [Unit({d: 1}, {d: -1}) for d in joined.differences]  # 0 or B by now, so that one unit each will do
    return joined.finish([bits, units + cleared], f"closure.{name}", [tells])


def counts_apart(k: int, products: Products) -> Fact:
    """Sums of up to k equal terms are told apart in the format."""

    def broken(format: AnyFormat) -> Broken | None:
        if counting_weight(format, products, k) is None:
            return Broken(format.max, f"no weight w tells {k} terms of w·B from {k - 1}")
        return None

    return Fact("counts", f"sums of 0 to {k} equal terms differ", broken)


def counting_weight(format: AnyFormat, products: Products, k: int) -> tuple[Fraction, list[Fraction]] | None:
    """A weight w and the sums s_0 < … < s_k of terms w·B, each step of which products by B can take from −B to B."""
    if not isinstance(format, Format):
        return None
    code = format.code(format.round(Fraction(1, k)))
    while code > 0:
        weight = format.value(code)
        term = weight * format.max if products == "fused" else format.round(weight * format.max)
        sums = [Fraction(0)]
        for _ in range(k):
            sums.append(format.round(sums[-1] + term))
        if all(x < y and copies_to_top(format, products, format.round(y - x), -format.max) for x, y in pairwise(sums)):
            return weight, sums
        code = min(code - 1, code * 15 // 16)
    return None


@dataclass(frozen=True)
class _Joined:
    """Deciders side by side; after the first feed-forward, each one's difference is in a coordinate of its own."""

    side: Transformer
    answers: tuple[str, str]
    differences: list[str]
    steps: Plan
    facts: list[Fact]

    @property
    def yes(self) -> dict[str, str]:
        return {self.answers[0]: "-B", self.answers[1]: "B"}

    @property
    def no(self) -> dict[str, str]:
        return {self.answers[0]: "B", self.answers[1]: "-B"}

    def finish(self, following: list[list[Unit]], construction: str, facts: Sequence[Fact] = ()) -> Transformer:
        """The ±∞-normal form that these feed-forwards make of the differences, which the last one clears."""
        k, (no, yes) = len(self.differences), self.answers
        mixes = np.zeros((2 + k, 2 * k), int)
        for i in range(k):
            mixes[2 + i, 2 * i : 2 * i + 2] = -1, 1
        touches = [writes([no], "−B if YES else B"), writes([yes], "B if YES else −B"), writes(self.differences, "0")]
        units = [*early_units(self.differences, self.steps), *following]
        names, answers, all_facts = (no, yes, *self.differences), {no: no, yes: yes}, [*self.facts, *facts]
        goal = Goal(construction, names, answers, mixes, units, {}, touches, all_facts)
        return reach(self.side, goal, force=True)  # what is not forced was refused in _join


def _join(
    deciders: Sequence[Transformer], construction: str, format: AnyFormat | None, common: bool, force: bool
) -> _Joined:
    if not deciders:
        raise ModelError(f"{construction} of no decider at all; give one or more.")
    alike = reconciled(deciders, format, common)
    facts = decider_facts(alike[0], ("B", "-B"), ("-B", "B"))
    require(facts, alike[0].format, construction, force)
    differences = [f"{label}?" for label in letters(len(alike))]
    title = f"{construction.split('.')[-1]}({', '.join(t.name or '…' for t in deciders)})"
    no, yes = alike[0].answers
    return _Joined(beside(alike).replace(name=title), (no, yes), differences, plan_of(alike[0]), facts)
