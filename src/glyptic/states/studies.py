"""A construction over formats: how many states it has in each, and from which length on it leaves the intended language."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glyptic.arguments import checked
from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.extras import matplotlib
from glyptic.figures import COLOURS, drawn, save_as
from glyptic.languages.automata import Automaton
from glyptic.numbers import AnyFormat, as_format
from glyptic.states.budget import IN_PYTHON, MOST_STATES, Budget
from glyptic.states.extraction import extract
from glyptic.states.intended import Intended, NoDifference, first_difference, of_automaton
from glyptic.states.machines import of_extracted, spelt
from glyptic.text import table

Build = Callable[[AnyFormat], Transformer]


@dataclass(frozen=True)
class InFormat:
    """A construction in one format; `first` is the shortest text with a wrong answer.

    `reason` says why there is no machine; or, where there is one, up to which length no wrong answer was found.
    """

    format: str
    states: int | None
    minimal: int | None
    star_free: bool | None
    first: tuple[str, ...] | None
    answer: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ByPrecision:
    """A construction in several formats, as a table and a figure."""

    name: str
    intended: str
    rows: tuple[InFormat, ...]

    def __str__(self) -> str:
        header = ["format", "states", "smallest", "wrong from length", "on"]
        return f"{self.name}, meant to decide: {self.intended}\n\n" + table(header, map(_cells, self.rows), "lrrrl")

    def figure(self, path: str | os.PathLike[str]) -> list[Path]:
        """States and the first wrong length against the formats; gives the picture and its data."""
        figure, (left, right) = drawn(matplotlib(), 1, 2, (9, 3.4))
        there = [row for row in self.rows if row.states is not None]
        names = [row.format for row in there]
        left.plot(names, [row.states for row in there], marker="o", color=COLOURS["measured"], label="found")
        left.plot(names, [row.minimal for row in there], marker="s", color=COLOURS["theory"], label="told apart")
        left.set(title=f"{self.name}: states", yscale="log")
        left.legend(frameon=False)
        wrong = [row for row in there if row.first is not None]
        right.bar([row.format for row in wrong], [len(row.first or ()) for row in wrong], color=COLOURS["bad"])
        right.set(title="first length with a wrong answer")
        for axes in (left, right):
            axes.tick_params(axis="x", rotation=30)
        data = [{**asdict(row), "first": " ".join(row.first or ())} for row in self.rows]
        return save_as(figure, data, path)


@checked
def by_precision(
    build: Build,
    formats: Iterable[str],
    intended: Intended | Automaton,
    *,
    name: str = "",
    states: int = MOST_STATES,
    yes: str = "YES",
    no: str = "NO",
    names: Mapping[str, str] = IN_PYTHON,
) -> ByPrecision:
    """A construction's machine in each format, compared with the language that it is meant to decide.

    `names` says by which name a refusal tells to raise `states`.

    >>> from glyptic import programs
    >>> from glyptic.states.intended import majority
    >>> build = lambda format: programs.open("averaging-majority", format)
    >>> print(by_precision(build, ["fixed:1", "fixed:2"], majority("1", "01"), name="averaging-majority"))
    averaging-majority, meant to decide: more than half are 1
    <BLANKLINE>
    format   states  smallest  wrong from length  on
    ───────  ──────  ────────  ─────────────────  ───────────────────────────────
    fixed:1      15         7                  7  1111000
    fixed:2      73        31                 31  1111111111111111000000000000000
    """
    meant = of_automaton(intended) if isinstance(intended, Automaton) else intended
    rows = tuple(_in_format(build, format, meant, Budget(states, names=names), yes, no) for format in formats)
    return ByPrecision(name or "the construction", meant.name, rows)


def _in_format(build: Build, format: str, meant: Intended, budget: Budget, yes: str, no: str) -> InFormat:
    from glyptic.states.kinds import is_aperiodic

    named = str(as_format(format))
    try:
        transformer = build(as_format(format))
        machine = of_extracted(transformer, extract(transformer, budget))
    except GlypticError as error:
        return InFormat(named, None, None, None, None, reason=str(error))
    language = machine.language(yes)
    sizes = (len(machine), len(language.moves), is_aperiodic(np.array(language.moves), 5000))
    try:
        first = first_difference(machine, meant, yes, no)
    except NoDifference as none:
        return InFormat(named, *sizes, None, reason=f"no difference up to length {none.length}")
    return InFormat(named, *sizes, first, "" if first is None else machine.answer(first))


def _cells(row: InFormat) -> tuple[Any, ...]:
    if row.states is None:
        return row.format, "–", "–", "–", row.reason
    if row.reason:
        return row.format, f"{row.states:,}", f"{row.minimal:,}", "–", row.reason
    wrong = ("never", "") if row.first is None else (len(row.first), spelt(row.first, row.first))
    return (row.format, f"{row.states:,}", f"{row.minimal:,}", *wrong)
