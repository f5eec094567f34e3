"""Closure of deciders: NOT, AND, OR, XOR, decision lists, majority, threshold, any function of the number of YES.

    ~a                                 its answers' names exchanged                                  no layer
    a & b, a | b, decision_list        side by side, then 2 feed-forwards: as many as ±∞-normalization alone
    a ^ b, majority, threshold, by_count               … then 3

The result is ±∞-normalized: (B, −B, 0, …) or (−B, B, 0, …) at every position, all else cleared. It agrees with the
function of the deciders' answers wherever all of them are decisive; elsewhere a decider counts as YES if its logit of YES
is the larger, else as NO. Which answer is YES goes by its name, in whatever order each decider lists them; of deciders
with other names one says it: `conjunction(a, b, yes="1")`.

*Decision lists in one sum.* Each decider leaves its difference D, of which u = relu(B·D) and z = relu(t − B·D) tell
YES and NO, as in `normalize`. A row of W_2 adds up from left to right and saturates, so units that `swing` it,
enough copies to take it from −B to B, *overwrite* what came before: the last rule that applies decides. AND is
“YES; but NO if a is NO; but NO if b is NO”.

*Functions of the count.* Another feed-forward first makes each D into 0 or B; then Σ w·x, one product each, is s_m,
where m of them are B: s_0 ≤ s_1 ≤ … ≤ s_k. relu(Σ w·x − s_(m−1)) is positive iff m or more say YES, if s_(m−1) < s_m:
swings at each m where the function changes, which are the only sums that the weight w must keep apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, checked, refused
from glyptic.carve.amplify import Amplification, copies_to_top
from glyptic.carve.beside import beside, letters, reconciled
from glyptic.carve.building import Unit, clear
from glyptic.carve.deciding import (
    decider_facts,
    early_units,
    is_no,
    is_yes,
    no_and_yes,
    plan_of,
    result_names,
    two_answers,
)
from glyptic.carve.facts import Broken, Fact, require
from glyptic.carve.frames import carved, writes
from glyptic.carve.names import members
from glyptic.carve.normalize import Goal, reach
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat, Format, Products

_TRIED = 1 << 10  # positive values of a format in which every weight is tried
InFormat = AnyFormat | str | None  # the format that all are rounded to, if not in one already
Rule = tuple[int, bool, bool]  # if decider number … answers YES (True) or NO (False), the answer is YES or NO


@checked
def negation(a: Transformer) -> Transformer:
    """YES where a says NO, and NO where it says YES: the two answers exchange their names. A tie stays a tie; where ties go
    to the first answer, that is the other one now.
    """
    first, second = two_answers(a)
    exchanged = a.replace(answers=(second, first), name=f"~{a.name}" if a.name else "")
    return carved(a, exchanged, "closure.negation", [])


@checked
def conjunction(
    *deciders: Transformer, format: InFormat = None, common: bool = False, yes: str | None = None, force: bool = False
) -> Transformer:
    """YES where all say YES.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> a, b = (random_transformer(Fixed(4), seed, Sizes(layers=0)) for seed in (1, 3))
    >>> (a & b).answer("01") == ("YES" if a.answer("01") == b.answer("01") == "YES" else "NO")
    True
    """
    rules = [(i, False, False) for i in range(len(deciders))]
    return decision_list(deciders, rules, True, "conjunction", format=format, common=common, yes=yes, force=force)


@checked
def disjunction(
    *deciders: Transformer, format: InFormat = None, common: bool = False, yes: str | None = None, force: bool = False
) -> Transformer:
    """YES where one or more say YES."""
    rules = [(i, True, True) for i in range(len(deciders))]
    return decision_list(deciders, rules, False, "disjunction", format=format, common=common, yes=yes, force=force)


@checked
def exclusive(
    *deciders: Transformer, format: InFormat = None, common: bool = False, yes: str | None = None, force: bool = False
) -> Transformer:
    """YES where an odd number say YES; of two, exactly one."""
    odd = range(1, len(deciders) + 1, 2)
    return by_count(deciders, odd, "exclusive", format=format, common=common, yes=yes, force=force)


@checked
def majority(
    *deciders: Transformer, format: InFormat = None, common: bool = False, yes: str | None = None, force: bool = False
) -> Transformer:
    """YES where more than half say YES."""
    most = range(len(deciders) // 2 + 1, len(deciders) + 1)
    return by_count(deciders, most, "majority", format=format, common=common, yes=yes, force=force)


@checked
def threshold(
    deciders: Sequence[Transformer],
    least: Annotated[int, Count(0)],
    *,
    format: InFormat = None,
    common: bool = False,
    yes: str | None = None,
    force: bool = False,
) -> Transformer:
    """YES where `least` or more say YES."""
    accepted = range(least, len(deciders) + 1)
    return by_count(deciders, accepted, f"threshold {least}", format=format, common=common, yes=yes, force=force)


@checked
def decision_list(
    deciders: Sequence[Transformer],
    rules: Iterable[Rule],
    default: bool,
    name: str = "decision_list",
    *,
    format: InFormat = None,
    common: bool = False,
    yes: str | None = None,
    force: bool = False,
) -> Transformer:
    """The first rule (decider, its answer, the answer) that applies decides, else the default: 2 feed-forwards."""
    joined = _join(deciders, f"closure.{name}", format, common, yes, force)
    steps, units = joined.steps, [Unit({}, joined.yes if default else joined.no, bias=1)]
    for number, if_yes, outcome in reversed(_rules(rules, len(deciders))):  # what fires last overwrites: the first rule
        difference, written = joined.differences[number], joined.yes if outcome else joined.no
        units += is_yes(difference, written, steps.swing) if if_yes else is_no(difference, written, steps.swing, steps)
    return joined.finish([units + clear(joined.differences)], f"closure.{name}")


@checked
def by_count(
    deciders: Sequence[Transformer],
    accepted: Iterable[int],
    name: str = "by_count",
    *,
    format: InFormat = None,
    common: bool = False,
    yes: str | None = None,
    force: bool = False,
) -> Transformer:
    """YES where the number of deciders that say YES is one of the accepted: 3 feed-forwards."""
    k, wanted = len(deciders), _counts(accepted, len(deciders))
    joined = _join(deciders, f"closure.{name}", format, common, yes, force)
    form, products = joined.side.format, joined.side.options.products
    assert isinstance(form, Format)  # _join refuses exact, which has no B
    changes = tuple(m for m in range(1, k + 1) if (m in wanted) != (m - 1 in wanted))
    tells = counts_apart(k, products, changes)
    require([tells], form, f"closure.{name}", force)
    weight, sums = counting_weight(form, products, k, changes) or (Fraction(1), [Fraction(0)] * (k + 1))
    copies = joined.steps.copies
    bits = [unit for d in joined.differences for unit in (*is_yes(d, {d: "B"}, copies), Unit({d: -1}, {d: 1}))]
    units = [Unit({}, joined.yes if 0 in wanted else joined.no, bias=1)]
    for m in changes:
        at_least_m = dict.fromkeys(joined.differences, weight)
        swing = copies_to_top(form, products, form.round(sums[m] - sums[m - 1]), form.min) or 1
        units += [Unit(at_least_m, joined.yes if m in wanted else joined.no, bias=-sums[m - 1])] * swing
    cleared = [Unit({d: 1}, {d: -1}) for d in joined.differences]  # 0 or B by now, so that one unit each will do
    return joined.finish([bits, units + cleared], f"closure.{name}", [tells])


def counts_apart(k: int, products: Products, changes: tuple[int, ...]) -> Fact:
    """Sums of m − 1 and of m equal terms, out of k, are told apart in the format at each m where the answer changes."""

    def broken(format: AnyFormat) -> Broken | None:
        if counting_weight(format, products, k, changes) is None:
            happens = f"no weight w tells the sums of w·B at {_shown(changes)} from those of one term less"
            return Broken(format.max, happens)
        return None

    return Fact("counts", f"sums of up to {k} equal terms differ at {_shown(changes)}", broken)


def _shown(changes: tuple[int, ...]) -> str:
    return ", ".join(map(str, changes)) or "no number"


@lru_cache(maxsize=256)
def counting_weight(
    format: AnyFormat, products: Products, k: int, changes: tuple[int, ...]
) -> tuple[Fraction, list[Fraction]] | None:
    """A weight w and the sums s_0 ≤ … ≤ s_k of terms w·B, of which those at the changes grow, by as much as products by B
    can take from −B to B. In small formats every weight is tried, in others those near 1/k and a sixteenth less each time.
    """
    if not isinstance(format, Format):
        return None
    small = format.max_code <= _TRIED
    code = format.max_code if small else format.code(format.round(Fraction(1, k)))
    while code > 0:
        weight = format.value(code)
        term = weight * format.max if products == "fused" else format.round(weight * format.max)
        sums = [Fraction(0)]
        for _ in range(k):
            sums.append(format.round(sums[-1] + term))
        if all(_grows(format, products, sums[m - 1], sums[m]) for m in changes):
            return weight, sums
        code = code - 1 if small else min(code - 1, code * 15 // 16)
    return None


def _grows(format: Format, products: Products, less: Fraction, more: Fraction) -> bool:
    return less < more and copies_to_top(format, products, format.round(more - less), -format.max) > 0


@dataclass(frozen=True)
class _Joined:
    """Deciders side by side; after the first feed-forward, each one's difference is in a coordinate of its own."""

    side: Transformer
    answers: dict[str, str]  # NO, then YES: the coordinate of each
    differences: list[str]
    steps: Amplification
    facts: list[Fact]

    @property
    def yes(self) -> dict[str, str]:
        return dict(zip(self.answers.values(), ("-B", "B"), strict=True))

    @property
    def no(self) -> dict[str, str]:
        return dict(zip(self.answers.values(), ("B", "-B"), strict=True))

    def finish(self, following: list[list[Unit]], construction: str, facts: Sequence[Fact] = ()) -> Transformer:
        """The ±∞-normal form that these feed-forwards make of the differences, which the last one clears."""
        k, (no, yes) = len(self.differences), self.answers.values()
        mixes = np.zeros((2 + k, 2 * k), int)
        for i in range(k):
            mixes[2 + i, 2 * i : 2 * i + 2] = -1, 1  # `_join` has listed NO before YES in each
        touches = [writes([no], "−B if YES else B"), writes([yes], "B if YES else −B"), writes(self.differences, "0")]
        units, all_facts = [*early_units(self.differences, self.steps), *following], [*self.facts, *facts]
        goal = Goal(construction, self.answers, mixes, units, {}, touches, all_facts, tuple(self.differences))
        return reach(self.side, goal, force=True)  # what is not forced was refused in _join


def _join(
    deciders: Sequence[Transformer],
    construction: str,
    format: InFormat,
    common: bool,
    yes: str | None,
    force: bool,
) -> _Joined:
    if not deciders:
        raise ModelError(f"{construction} of no decider at all; give one or more.")
    for number, decider in enumerate(deciders):
        if not isinstance(decider, Transformer):
            raise refused(f"decider {number}", decider, "a Transformer")
    pairs = [no_and_yes(decider, yes) for decider in deciders]
    alike = reconciled(deciders, format, common, answers=pairs[0])
    facts = decider_facts(alike[0], ("B", "-B"), ("-B", "B"))
    require(facts, alike[0].format, construction, force)
    side = beside(alike)
    differences = [f"{label}?" for label in letters(len(alike))]
    title = f"{construction.split('.')[-1]}({', '.join(t.name or '…' for t in deciders)})"
    names = result_names(pairs[0], (*side.coordinates, *differences))
    return _Joined(side.replace(name=title), names, differences, plan_of(alike[0]), facts)


def _rules(rules: Iterable[Rule], count: int) -> list[Rule]:
    """Rules about deciders that there are."""
    wanted = f"rules (decider, its answer, the answer) such as (0, True, False), of {count} deciders"
    listed = [] if isinstance(rules, list | tuple) and not rules else members(rules, "rules", wanted)
    for rule in listed:
        if not isinstance(rule, tuple | list) or len(rule) != 3 or not all(isinstance(said, bool) for said in rule[1:]):
            raise refused("rules", rule, wanted)
        if not isinstance(rule[0], Integral) or isinstance(rule[0], bool) or not 0 <= int(rule[0]) < count:
            raise refused("rules", rule, wanted)
    return list(listed)


def _counts(accepted: Iterable[int], k: int) -> set[int]:
    """Numbers of YES among k; those that cannot occur do not matter."""
    if isinstance(accepted, range):  # however long
        return {m for m in range(k + 1) if m in accepted}
    none = isinstance(accepted, set | frozenset | list | tuple) and not accepted
    listed = () if none else members(accepted, "accepted", "whole numbers")
    for count in listed:
        if not isinstance(count, Integral) or isinstance(count, bool):
            raise refused("accepted", count, "whole numbers")
    return {int(count) for count in listed}


__all__ = [
    "by_count", "conjunction", "decision_list", "disjunction", "exclusive", "majority", "negation", "threshold",
]  # fmt: skip
