"""A distillation in words and numbers: lines for a terminal, JSON, Markdown, and one table of many."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from glyptic import __version__
from glyptic.prove.verdicts.answers import verdict_to_json
from glyptic.text import table

if TYPE_CHECKING:
    from glyptic.distill.distilling import Distillation
    from glyptic.distill.formats import FormatRow

KIND = "glyptic.distill"
VERSION = 1


def summary(found: Distillation) -> str:
    """What a terminal is told."""
    lines = [
        f"{found.name}: {found.task} in {found.transformer.format}",
        f"  words       {found.words}",
        f"  accuracy    {_percent(found.accuracy)} (the float model {_percent(found.float_accuracy)}), "
        f"agreement with the float model {_percent(found.agreement)}",
        f"  weights     {found.weights}; {found.calibration}",
        *(f"  {'rounds' if i == 0 else '':<11} {one}{f', {one.added} words added' if one.added else ''}"
          for i, one in enumerate(found.rounds)),
        f"  language    {_verdict(found.language.verdict)}",
    ]  # fmt: skip
    for form in found.normal:
        said = f"refused: {form.refused}" if form.equal is None else f"equal to it: {_verdict(form.equal.verdict)}"
        lines.append(f"  {form.kind:<11} {said}")
    if found.formats:
        lines.append(f"  formats     {smallest_in_words(found)}")
    lines.append(f"  machine     {found.machine}")
    return "\n".join(lines)


def smallest_in_words(found: Distillation) -> str:
    """Which smaller formats keep the accuracy."""
    from glyptic.distill.formats import smallest_that_keeps

    rounded, tuned = smallest_that_keeps(found.formats, tuned=False), found.smallest
    if rounded is None or tuned is None:
        return "none was looked at"
    if len(found.formats) == 1:
        return f"{rounded.format} alone: there are no smaller ones of its kind that are tried"
    said = f"{_named(rounded)} is the smallest that keeps the accuracy as it is rounded"
    if any(row.tuned_accuracy is not None for row in found.formats):
        said += f", {_named(tuned)} if it is fine-tuned there"
    return said


def _named(row: FormatRow) -> str:
    return f"{row.format} (with --saturate)" if row.saturated else row.format


def _verdict(verdict: Any) -> str:
    """The first word and what it ranges over, or the counterexample."""
    found = getattr(verdict, "counterexample", None)
    said = f"over {verdict.over}" if found is None else f"smallest counterexample: {found}"
    return f"{type(verdict).__name__}, {said}"


def _percent(share: float) -> str:
    """A share; what is not all never looks like it.

    >>> _percent(1.0), _percent(8189 / 8190)
    ('100 %', '99.988 %')
    """
    return "100 %" if share == 1 else f"{100 * share:.3f} %"


def as_json(found: Distillation) -> dict[str, Any]:
    """All of it as plain values; the transformers and certificates are files beside."""
    return {
        "kind": KIND,
        "version": VERSION,
        "glyptic": __version__,
        "name": found.name,
        "task": found.task,
        "format": str(found.transformer.format),
        "words": str(found.words),
        "complete": found.words.complete,
        "max_length": found.words.max_length,
        "accuracy": found.accuracy,
        "float_accuracy": found.float_accuracy,
        "agreement": found.agreement,
        "weights": found.weights,
        "calibration": asdict(found.calibration),
        "rounds": [asdict(one) for one in found.rounds],
        "language": verdict_to_json(found.language.verdict),
        "normal": {
            form.kind: {"refused": form.refused} if form.equal is None else verdict_to_json(form.equal.verdict)
            for form in found.normal
        },
        "formats": [asdict(row) for row in found.formats],
        "smallest": None if found.smallest is None else found.smallest.format,
        "machine": found.machine,
        "seconds": round(found.seconds, 1),
    }


def as_bytes(found: Distillation) -> dict[str, bytes]:
    """report.json and report.md."""
    return {
        "report.json": (json.dumps(as_json(found), indent=1, ensure_ascii=False) + "\n").encode(),
        "report.md": as_markdown(found).encode(),
    }


def as_markdown(found: Distillation) -> str:
    """The summary, and tables of the rounds, the places and the formats."""
    parts = [f"# {found.name}, distilled", "", "```text", summary(found), "```", "", "## Rounds", ""]
    rounds = [(one.number, one.steps, one.added, one.wrong, one.counterexample or "–") for one in found.rounds]
    parts += _markdown(["round", "steps", "words added", "wrong words", "smallest wrong word"], rounds)
    parts += ["", f"## Places, against B = {found.calibration.B:g}", ""]
    places = [(each.stage, f"{each.largest:.4g}", each.saturated, each.numbers) for each in found.calibration.places]
    parts += _markdown(["stage", "largest without rounding", "±B in the format", "of numbers"], places)
    if found.formats:
        parts += ["", "## Smaller formats", "", "![accuracy against the format](formats.svg)", ""]
        shares = [(row.accuracy, row.agreement, row.tuned_accuracy) for row in found.formats]
        cells = [["–" if share is None else _percent(share) for share in row] for row in shares]
        lines = [(row.format, *each) for row, each in zip(found.formats, cells, strict=True)]
        parts += _markdown(["format", "right", "as the float model", "right, fine-tuned"], lines)
    return "\n".join(parts) + "\n"


def _markdown(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]


COLUMNS = ("decider", "float", "wrong as rounded", "smallest", "rounds", "words added", "is its language to", "0-1, ∞, ±∞ equal",
           "least s", "tuned")  # fmt: skip


def row_of(found: Distillation) -> tuple[Any, ...]:
    """A line of the table of many."""
    from glyptic.distill.formats import smallest_that_keeps

    first, least = found.rounds[0], smallest_that_keeps(found.formats, tuned=False)
    wrong = found.language.counterexample
    undecided = f"{found.words.max_length}: not decided" if wrong is None else f"refuted: {wrong}"
    proved = f"{found.words.max_length}: proved" if found.language.proved else undecided
    equal = ", ".join("refused" if form.equal is None else "yes" if form.equal.proved else "no" for form in found.normal)
    return (
        found.task, _percent(found.float_accuracy), first.wrong, first.counterexample or "–", found.rounds[-1].number,
        sum(one.added for one in found.rounds), proved, equal,
        "–" if least is None else least.size, "–" if found.smallest is None else found.smallest.size,
    )  # fmt: skip


def table_of(many: Sequence[Distillation]) -> str:
    """One line a decider."""
    return table(list(COLUMNS), [row_of(found) for found in many], "lrrlrrllrr")
