"""`glyptic machine`: the exact automaton of a transformer, for every length that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import arg

from glyptic.arguments import Count, FolderToFill, Picture, Seconds, Writable, shown
from glyptic.cli.reading import FormatName, Model, refuse_idle
from glyptic.errors import GlypticError, InputError

if TYPE_CHECKING:
    from glyptic.exact import Transformer
    from glyptic.states.budget import Budget
    from glyptic.states.extraction import Searched
    from glyptic.states.intended import Intended
    from glyptic.states.machines import Machine


@dataclass(frozen=True)
class MachineCommand:
    """Print the smallest automaton with a transformer's answers, the language of an answer, and what kind of language that is.

    In this arithmetic all that a causal transformer keeps of a prefix is finite: it is an automaton, which is found by a search.
    Where positions repeat, or there are none, it is that of every length; else of all inputs up to the longest.

    Examples: glyptic machine same-ends --format fixed:2
              glyptic machine nested --figure nested.svg
              glyptic machine averaging-majority --formats fixed:1,fixed:2,fixed:3 --language majority

    With --language the machine is compared with what is meant: a regular expression, or the word majority or balanced for
    languages that no automaton has. The exit status is 0 if it is the same, 1 if it is not, and 2 if there is no answer.
    """

    model: Model
    """A folder, or a built-in decider such as same-ends."""
    format: FormatName = None
    """Take it in this format."""
    formats: str | None = None
    """Take it in each of these formats, with commas between them, and print one table."""
    language: str | None = None
    """What it is meant to decide: a regular expression over single characters, majority, or balanced."""
    answer: str = "YES"
    """The answer whose language is told, and compared with --language; TIE and UNDEFINED are answers too."""
    states: Annotated[int, Count(1, 1 << 27)] = 200_000
    """How many states may be found before the search is given up."""
    length: Annotated[int, Count()] | None = None
    """End it at inputs of this length."""
    seconds: Seconds | None = None
    """A time limit for all of it; an expression and a kind that take longer are left out, and that is said."""
    journal: Annotated[str, Writable(), arg(metavar="FILE")] | None = None
    """Keep what was found here: an interrupted search, or one over its budget, goes on from there when it is started again."""
    figure: Picture | None = None
    """Draw the machine, or the table over formats, here (.svg, .png or .pdf); the data go beside it as .csv."""
    out: FolderToFill | None = None
    """Write the machine's certificate into this folder, which is made; its check.py checks it without Glyptic."""

    def main(self) -> int:
        from glyptic import programs
        from glyptic.states.budget import ON_COMMAND_LINE, Budget
        from glyptic.states.extraction import Searched, extract
        from glyptic.states.machines import of_extracted

        if self.formats is not None:
            refuse_idle(self, ("format", "length", "seconds", "answer", "journal", "out"), "with --formats")
            return self._table()
        transformer = programs.open(self.model, self.format)
        intended = self._checked(transformer)
        with progress_bar() as report:
            # one clock for all that follows
            budget = Budget(self.states, seconds=self.seconds, report=report, names=ON_COMMAND_LINE)
            searched = None if self.out is None else Searched()
            found = extract(transformer, budget, length=self.length, journal=self.journal, searched=searched)
            machine = of_extracted(transformer, found)
            small = self._describe(machine, budget)
            if searched is not None:
                self._certify(transformer, searched, budget)
        status = 0 if intended is None else self._compare(machine, intended, budget)
        if self.figure is not None:  # last: what is too large to be drawn is all that may be refused now
            from glyptic.states.pictures import draw_machine

            print("figure:", *draw_machine(small, self.figure))
        return status

    def _certify(self, transformer: Transformer, searched: Searched, budget: Budget) -> None:
        from glyptic.prove.exporting.machines import write_machine

        written = write_machine(Path(str(self.out)), transformer, searched, budget, self.length)
        print(f"certificate: {written}; check it without Glyptic: python {written}/check.py {written}")

    def _checked(self, transformer: Transformer) -> Intended | None:
        """All that was asked for is checked before anything is searched; what is meant, if it was said."""
        from glyptic.exact.answers import WORDS_BELOW

        words = (*transformer.answers, *reversed(WORDS_BELOW))
        if self.answer not in words:
            raise InputError(f"--answer: {shown(self.answer)} is no answer of {self.model}; there are {', '.join(words)}.")
        if self.out is not None:
            from glyptic.prove.exporting.machines import check_exportable

            check_exportable(Path(self.out), transformer)
        return None if self.language is None else self._intended(transformer.vocabulary)

    def _describe(self, machine: Machine, budget: Budget) -> Machine:
        """The smallest machine as a table, and the language of the answer; the smallest machine is returned."""
        small = machine.minimal(budget.ask)
        searched = " · ".join(f"{size:,}" for size in machine.searched)
        print(f"{small}\n\n{'every length' if machine.endless else 'to the longest input'}; states found by layers: {searched}\n")
        print(_described(machine, self.answer, budget))
        return small

    def _compare(self, machine: Machine, intended: Intended, budget: Budget) -> int:
        """0 if the answer is given to the texts that are meant, and, where there are two answers, the other to all others."""
        from glyptic.states.intended import first_difference
        from glyptic.states.machines import spelt

        other = [answer for answer in machine.answers if answer != self.answer]
        two = len(machine.answers) == 2 and self.answer in machine.answers
        wrong = first_difference(machine, intended, self.answer, other[0] if two else None, budget.ask)
        by = "" if self.answer == "YES" else f" by {self.answer}"
        if wrong is None:
            print(f"\nit decides {intended.name}{by}" + (", at every length" if machine.endless else ""))
            return 0
        text = spelt(wrong, machine.vocabulary)
        print(f"\nit does not decide {intended.name}{by}: first at length {len(wrong)}, {text} gets {machine.answer(wrong)}")
        return 1

    def _table(self) -> int:
        from glyptic import programs
        from glyptic.numbers import as_format
        from glyptic.states.budget import ON_COMMAND_LINE
        from glyptic.states.studies import by_precision

        if self.language is None:
            raise InputError("--formats compares with what is meant; name it with --language, or ask for one --format.")
        formats = [str(as_format(name)) for name in _listed(str(self.formats)) if name]
        if not formats:
            raise InputError("--formats names no format; write some with commas between them, such as fixed:1,fixed:2.")
        found = by_precision(
            lambda format: programs.open(self.model, format), formats, self._intended(self._vocabulary(formats)),
            name=self.model, states=self.states, names=ON_COMMAND_LINE,
        )  # fmt: skip
        print(found)
        if self.figure is not None:
            print("figure:", *found.figure(self.figure))
        return 0

    def _vocabulary(self, formats: list[str]) -> tuple[str, ...]:
        """The vocabulary, in the first of the formats in which there is such a transformer."""
        from glyptic import programs

        refused: GlypticError | None = None
        for format in formats:
            try:
                return programs.open(self.model, format).vocabulary
            except GlypticError as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _intended(self, vocabulary: tuple[str, ...]) -> Intended:
        from glyptic.languages import regular
        from glyptic.states.intended import balanced, majority, of_automaton

        if self.language == "majority":
            return majority("1" if "1" in vocabulary else vocabulary[0], vocabulary)
        if self.language == "balanced":
            return balanced(vocabulary)
        return of_automaton(regular(str(self.language), vocabulary, self.language or "ε"))


def _listed(text: str) -> list[str]:
    """Formats with commas between them, of which a name such as float:5,2 has one of its own.

    >>> _listed("fixed:2,float:5,2,fp16")
    ['fixed:2', 'float:5,2', 'fp16']
    """
    names: list[str] = []
    for part in text.split(","):
        if names and part[:1].isdigit():
            names[-1] += f",{part}"
        else:
            names.append(part)
    return names


def _described(machine: Machine, answer: str, budget: Budget) -> str:
    """The language of an answer: as an expression, if that is short, and its kind, as far as the time goes."""
    from glyptic.states.budget import TooManyStates

    try:
        said = machine.expression(answer, budget.ask)
        expression = said if len(said) <= 200 else f"an expression of {len(said):,} characters"
    except TooManyStates:
        expression = "no expression within the time limit"
    except InputError:
        expression = "no short expression"
    try:
        return f"{answer}: {expression}\n{machine.kind(answer, budget.ask)}"
    except TooManyStates:
        return f"{answer}: {expression}\nits kind was not told within the time limit"


@contextmanager
def progress_bar() -> Iterator[Any]:
    """States found and states left, where a search takes longer than a second."""
    from glyptic import progress

    with progress.progress_bar(unit=" states") as bar:

        def report(now: Any) -> None:
            bar.set_description(f"layer {now.layer + 1} of {now.layers}, {now.frontier:,} left", refresh=False)
            bar.update(now.states - bar.n)

        yield report
