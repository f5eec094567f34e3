"""One claim over many formats: where it holds, where it fails, and by what; as text and as a picture.

>>> from glyptic.prove import B, Claim, Values, variables
>>> x, = variables("x")
>>> amplified = Claim(Values("x"), x * B * B == B, requires=x > 0, name="two products amplify")
>>> print(sweep(amplified, "fixed:1..3 float:1..2,2", workers=1, progress=False))
two products amplify
format     answer   inputs  smallest counterexample
─────────  ───────  ──────  ───────────────────────────
fixed:1    Refuted       7  x = 1/2: [[x·B]·B] is 1/2
fixed:2    Proved       31
fixed:3    Proved      127
float:1,2  Refuted      47  x = 1/8: [[x·B]·B] is 15/8
float:2,2  Refuted      79  x = 1/16: [[x·B]·B] is 13/4
>>> print(sweep(amplified, "fixed:2..4", workers=1, progress=False).verdict)
Proved: two products amplify, in each of the formats
  over formats fixed:2 fixed:3 fixed:4
  by sweep: 669 inputs run
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import inf, prod
from pathlib import Path
from typing import Annotated, Any, Unpack

from glyptic.arguments import Backend, Workers, Writable, checked
from glyptic.carve import FactError
from glyptic.errors import FormatError
from glyptic.files import KeptFile
from glyptic.numbers import AnyFormat, Exact, as_format, parse_format
from glyptic.parallel import gather
from glyptic.prove.checking import Method, OneLimits, check, in_format
from glyptic.prove.claims.claim import Claim
from glyptic.prove.claims.expressions import ClaimError
from glyptic.prove.portable.claims import digest, doubts
from glyptic.prove.portable.pinning import code_of_glyptic
from glyptic.prove.verdicts.answers import (
    Proved,
    Refuted,
    Unknown,
    Vacuous,
    Verdict,
    verdict_from_json,
    verdict_to_json,
)
from glyptic.showing import Showing
from glyptic.text import table

KIND, VERSION = "glyptic.prove.sweep", 3
METHOD = "sweep"
COLUMNS = ("format", "answer", "inputs", "seen")
MOST_FORMATS = 10_000
ClaimOf = Claim | Callable[[AnyFormat], Claim]


@dataclass(frozen=True)
class Sweep(Showing):
    """Verdicts by format, in the order of the formats."""

    name: str
    verdicts: dict[str, Verdict]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row a format, as they are printed and saved beside a figure."""
        rows = [(format, type(one).__name__, one.inputs, _beside(one)) for format, one in self.verdicts.items()]
        return [dict(zip(COLUMNS, row, strict=True)) for row in rows]

    def __str__(self) -> str:
        rows = [["" if cell is None else cell for cell in row.values()] for row in self.rows]
        of_existence = any(isinstance(verdict, Proved) and verdict.witness for verdict in self.verdicts.values())
        shown = "smallest witness" if of_existence else "smallest counterexample"
        return f"{self.name}\n" + table(["format", "answer", "inputs", shown], rows, "llrl")

    @property
    def holds_in(self) -> tuple[str, ...]:
        """The formats in which the claim is proved."""
        return tuple(format for format, verdict in self.verdicts.items() if verdict)

    @property
    def verdict(self) -> Verdict:
        """One verdict for all the formats: proved if it is in each, refuted by the smallest in which it is, else open.

        Where nothing meets the precondition in some format, and it is proved in all others, it is vacuous: there it says nothing.
        """
        said = f"{self.name}, in each of the formats"
        over = f"formats {' '.join(self.verdicts)}"
        about = {"method": METHOD, "over": over, "seconds": sum(one.seconds for one in self.verdicts.values())}
        first = min(self.verdicts, key=self._rank)
        found = self.verdicts[first]
        rests = tuple(dict.fromkeys(text for one in self.verdicts.values() for text in getattr(one, "assumptions", ())))
        match found:
            case Refuted():
                return replace(found, claim=f"{said}: not in {first}", **about)  # type: ignore[arg-type]
            case Unknown(reason=reason):
                open_ones = [name for name, one in self.verdicts.items() if isinstance(one, Unknown)]
                return Unknown(said, reason=f"{first}: {reason}", tried=(f"open in {' '.join(open_ones)}",), **about)  # type: ignore[arg-type]
            case Vacuous(requires=requires):
                return Vacuous(said, requires=f"{requires} in {first}", assumptions=rests, **about)  # type: ignore[arg-type]
        counts = [one.inputs for one in self.verdicts.values()]
        inputs = sum(count for count in counts if count is not None) if None not in counts else None
        solvers = tuple(f"{name} by {one.method}" for name, one in self.verdicts.items())
        return Proved(said, inputs=inputs, solvers=solvers, assumptions=rests, **about)  # type: ignore[arg-type]

    def _rank(self, format: str) -> tuple[int, float]:
        """Refutations before what is open, that before what says nothing, and proofs last; small formats first."""
        read = parse_format(format)
        kinds = (Refuted, Unknown, Vacuous, Proved)
        return kinds.index(type(self.verdicts[format])), inf if isinstance(read, Exact) else read.size

    @property
    def conclusion(self) -> str:
        """The one verdict in a line."""
        verdict = self.verdict
        why = verdict.why if isinstance(verdict, Refuted) else verdict.reason if isinstance(verdict, Unknown) else ""
        why = f"nothing meets {verdict.requires}" if isinstance(verdict, Vacuous) else why
        return f"{type(verdict).__name__}: {verdict.claim}{f'; {why}' if why else ''}"

    def figure(self, path: str | os.PathLike[str]) -> list[Path]:
        """The picture (.svg, .png or .pdf): floats by e and s, everything else in a row each; and the rows as CSV."""
        from glyptic.studies.pictures import draw_sweep

        return draw_sweep(self, path)


def _beside(verdict: Verdict) -> str:
    """What a row shows beside the answer: the counterexample, the witness, or why it is open."""
    match verdict:
        case Refuted():
            return verdict.why
        case Unknown(reason=reason):
            return reason
        case Proved(witness=witness) if witness is not None:
            return str(witness)
    return ""


@checked
def sweep(
    claim: ClaimOf,
    formats: str | Iterable[AnyFormat | str],
    *,
    backend: Backend = "auto",
    workers: Workers | None = None,
    kept: Annotated[str | os.PathLike[str], Writable()] | None = None,
    name: str = "",
    progress: bool = True,
    method: Method = "auto",
    **limits: Unpack[OneLimits],
) -> Sweep:
    """Check a claim, or the claim that a function builds for each format, in every format of a grid.

    With `kept`, finished formats are kept in that file, and a sweep started again goes on from there: with those formats whose
    claim, weights included, is the same as then, was decided, and by the same method, engine, count_all and terms.
    """
    wanted = format_grid(formats) if isinstance(formats, str) else [*map(as_format, formats)]
    if not wanted:
        raise FormatError("no formats are given to sweep over; name some, such as fixed:1..8.")
    title = name or (claim.name or str(claim) if isinstance(claim, Claim) else getattr(claim, "__name__", "sweep"))
    store = None if kept is None else _KeptSweep(kept, title)
    known = {str(f): cell for f in wanted if store is not None and (cell := store.cell(claim, f, method, limits)) is not None}
    about: dict[str, Any] = {"known": known, "keep": store and store.enter, "progress": "formats" if progress else None}
    work = {str(format): (claim, format, method, limits) for format in wanted}
    cells = gather(_check, work, backend, workers, **about)
    return Sweep(title, {format: cell.verdict for format, cell in cells.items()})


@dataclass(frozen=True)
class _Cell:
    """One format's verdict, with the digest of what was asked ("" if the construction refuses the format)."""

    digest: str
    verdict: Verdict


_NOT_FOR_IT = (FormatError, FactError, ClaimError)


def _made(claim: ClaimOf, format: AnyFormat) -> Claim:
    return in_format(claim if isinstance(claim, Claim) else claim(format), format)


def _question(made: Claim, method: Method, limits: OneLimits) -> str:
    """The digest of a claim and of how it is to be checked, on which a verdict's method, counts and assumptions rest."""
    how = {"method": method, **{name: limits.get(name) for name in ("engine", "count_all", "terms") if limits.get(name)}}
    return hashlib.sha256(json.dumps([digest(made), how], sort_keys=True).encode()).hexdigest()


def _check(claim: ClaimOf, format: AnyFormat, method: Method, limits: OneLimits) -> _Cell:
    """One format, in one worker; a construction or a claim that is not for the format is an answer too, any other error one."""
    try:
        made = _made(claim, format)
        known = "" if doubts(made) else _question(made, method, limits)  # of a predicate that may change nothing is kept
        return _Cell(known, check(made, method=method, workers=1, progress=False, **limits))
    except _NOT_FOR_IT as error:
        said = str(claim) if isinstance(claim, Claim) else getattr(claim, "__name__", "the construction")
        return _Cell("", Unknown(said, "construction", str(format), f"{type(error).__name__}: {error}"))


class _KeptSweep:
    """Finished formats in a file: they count again if they were decided, and claim, weights and way of checking are the same."""

    def __init__(self, path: str | os.PathLike[str], title: str) -> None:
        about = {"kind": KIND, "version": VERSION, "name": title}
        code = code_of_glyptic()
        self.file = KeptFile(path, f"the sweep {title!r}", about, code=code, rows="cells", question="digest")

    def cell(self, claim: ClaimOf, format: AnyFormat, method: Method, limits: OneLimits) -> _Cell | None:
        def question() -> str:
            try:
                return _question(_made(claim, format), method, limits)
            except _NOT_FOR_IT:
                return ""

        verdict = self.file.find(str(format), question, verdict_from_json)
        return None if verdict is None or isinstance(verdict, Unknown) else _Cell("", verdict)  # its digest is in the file

    def enter(self, format: str, cell: _Cell) -> None:
        if not isinstance(cell.verdict, Unknown):
            self.file.enter(format, cell.digest, verdict_to_json(cell.verdict))


def format_grid(text: str) -> list[AnyFormat]:
    """All formats that a text names, ranges written with two dots.

    >>> [str(f) for f in format_grid("fixed:1..3 float:1..2,2 fp16")]
    ['fixed:1', 'fixed:2', 'fixed:3', 'float:1,2', 'float:2,2', 'fp16']
    """
    found: list[AnyFormat] = []
    for word in text.split():
        pieces = re.split(r"(\d+\.\.\d+)", word)
        choices = []
        for piece in pieces:
            ends = re.fullmatch(r"(\d+)\.\.(\d+)", piece)
            if ends and max(len(ends[1]), len(ends[2])) > 4:
                raise FormatError(f"{word[:80]!r}: no format has numbers of so many digits.")
            if ends and int(ends[1]) > int(ends[2]):
                raise FormatError(f"{word!r}: the range {piece} is empty; write the smaller end first.")
            choices.append([str(n) for n in range(int(ends[1]), int(ends[2]) + 1)] if ends else [piece])
        size = prod(map(len, choices))
        if size > MOST_FORMATS:
            raise FormatError(f"{word!r} names {size:,} formats; at most {MOST_FORMATS:,} are taken together.")
        found += [parse_format("".join(chosen)) for chosen in product(*choices)]
    if not found:
        raise FormatError("no formats are named; write, for example, fixed:1..8 float:1..3,1..4.")
    return found
