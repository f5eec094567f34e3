"""Errata as values: each section of docs/errata.md or docs/errata.es.md, with its paragraphs and tables.

`python -m glyptic.notes docs --latex 5` prints one for a paper.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

from glyptic.errors import InputError

_TITLE = re.compile(r"## (\d+)\. (.+)")
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Erratum:
    """One point: its number, its title, and what is said of it in Markdown: paragraphs, and tables, header first.

    >>> said = ("## 3. The last", "", "*Printed.* Here", "and there.", "", "| n | kept |", "| --- | --- |", "| 1 | 0 |")
    >>> (one,) = errata_in(chr(10).join(said))
    >>> one.number, one.title, one.blocks[0]
    (3, 'The last', '*Printed.* Here and there.')
    >>> one.blocks[1]
    (('n', 'kept'), ('1', '0'))
    """

    number: int
    title: str
    blocks: tuple[str | tuple[tuple[str, ...], ...], ...]

    def to_latex(self, **options: Any) -> str:
        """A fragment to paste into a paper; `glyptic.look.latex` says what it takes."""
        return str(importlib.import_module("glyptic.look.latex").latex(self, **options))  # which stands below this room


def errata_in(document: str) -> tuple[Erratum, ...]:
    """All numbered sections of a document."""
    found = []
    for section in re.split(r"^(?=## )", document, flags=re.MULTILINE):
        title, _, body = section.partition("\n")
        if said := _TITLE.fullmatch(title.strip()):
            found.append(Erratum(int(said[1]), said[2], tuple(_blocks(body))))
    return tuple(found)


def erratum(document: str, number: int) -> Erratum:
    """The one of a number."""
    known = {one.number: one for one in errata_in(document)}
    if number not in known:
        raise InputError(f"there is no erratum {number}; the document has {', '.join(map(str, known)) or 'none'}.")
    return known[number]


def _blocks(body: str) -> list[str | tuple[tuple[str, ...], ...]]:
    body = re.sub(r"<!--.*?-->", "\n", body, flags=re.DOTALL)
    blocks: list[str | tuple[tuple[str, ...], ...]] = []
    for paragraph in re.split(r"\n\s*\n", body):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        if lines and lines[0].startswith("|"):
            rows = [tuple(cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1]) for line in lines]
            blocks.append(tuple(row for k, row in enumerate(rows) if k != 1))  # the second is of dashes
        elif lines:
            blocks.append(" ".join(lines))
    return blocks
