"""Text for people: tables in columns, and names from files or users shown without effect on the terminal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def printable(text: str) -> str:
    """A text in which nothing moves the cursor, begins a line, joins a letter or turns the writing: such characters as numbers.

    >>> printable("no model '\\x1b[2J'" + chr(10))
    "no model '\\\\x1b[2J'\\\\n"
    """
    return text if text.isascii() and text.isprintable() else "".join(map(_escaped, text))


def quoted(text: str, most: int = 200) -> str:
    """A text in quotes, as JSON writes it, printable, and no longer than `most`.

    >>> print(quoted('say "x"' + chr(10)), quoted("a" * 300, 3))
    "say \\"x\\"\\n" "aaa…"
    """
    return printable(json.dumps(text if len(text) <= most else text[:most] + "…", ensure_ascii=False))


def whole_number(text: str) -> int | None:
    """The number that a text says in at most eighteen digits of ASCII; None of any other text.

    `isdigit` is true of ², which is no number for `int`, and of more digits than `int` takes.

    >>> whole_number("12"), whole_number("²"), whole_number("-1"), whole_number("1" * 5000)
    (12, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def runs(numbers: Iterable[int], dash: str = "–") -> str:
    """Whole numbers in their order, those that follow each other as one run.

    >>> runs([1, 2, 3, 6])
    '1–3, 6'
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}{dash}{run[-1]}" for run in found)


def _escaped(character: str) -> str:
    """Whatever is of category C (control), Z (space) or M (mark), but for the one space that is a space."""
    if character == " " or unicodedata.category(character)[0] not in "CZM":
        return character
    return character.encode("unicode_escape").decode()


def table(header: Sequence[str], rows: Iterable[Sequence[object]], align: str = "") -> str:
    """Columns of text, numbers to the right; `align` may give l or r for each column.

    >>> print(table(["layer", "heads"], [("a", 1), ("b", 12)]))
    layer  heads
    ─────  ─────
    a          1
    b         12
    """
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    names = [printable(name) for name in header]
    widths = [max(len(row[i]) for row in [names, *cells]) for i in range(len(names))]
    align = align or "l" + "r" * (len(header) - 1)

    def line(row: Sequence[str]) -> str:
        padded = (c.ljust(w) if a == "l" else c.rjust(w) for c, w, a in zip(row, widths, align, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(names), line(["─" * width for width in widths]), *map(line, cells)])


def table_of(rows: Sequence[Mapping[str, Any]], digits: int = 4) -> str:
    """Rows by the names of their columns: text to the left; numbers to the right, fractions to so many digits.

    >>> print(table_of([{"part": "bias", "value": 0.25}, {"part": "variance", "value": 12}]))
    part      value
    ────────  ─────
    bias       0.25
    variance     12
    """
    if not rows:
        return "(nothing)"
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [[row.get(name, "") for row in rows] for name in names]
    align = ["l" if any(isinstance(value, str) and value for value in column) else "r" for column in columns]
    cells = [[_cell(value, digits) for value in column] for column in columns]
    return table(names, zip(*cells, strict=True), "".join(align))


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    return str(value) if isinstance(value, str | int) else f"{float(value):.{digits}g}"
