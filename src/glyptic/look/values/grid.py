"""Answers by format as the data of a grid: a claim swept over formats, theorems over formats, and least precision by length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from glyptic.arguments import refused
from glyptic.look.pages import View
from glyptic.look.values.proof import verdict_data
from glyptic.text import printable

if TYPE_CHECKING:
    from glyptic.prove import Verdict
    from glyptic.studies.precision import LeastPrecision
    from glyptic.studies.sweeps import Sweep
    from glyptic.theorems.proving import Row

MARKS = {"Proved": "✓", "Refuted": "✗", "Vacuous": "∅", "Unknown": "?", "Refused": "–"}


def sweep_view(found: Sweep) -> View:
    """A claim over formats: F(e, s) and fixed point by e and s, other formats in a row of their own.

    >>> from glyptic.prove import B, Claim, Values, variables
    >>> from glyptic.studies import sweep
    >>> x, = variables("x")
    >>> found = sweep(Claim(Values("x"), x * B * B == B, requires=x > 0), "fixed:1..3", workers=1, progress=False)
    >>> view = sweep_view(found)
    >>> view.kind, view.data["columns"], [cell["mark"] for cell in view.data["cells"]]
    ('grid', ['1', '2', '3'], ['✗', '✓', '✓'])
    """
    from glyptic.studies.sweeps import Sweep

    if not isinstance(found, Sweep):
        raise refused("found", found, "a Sweep")
    rows: list[dict[str, Any]] = []
    places = [(format, *_place(format)) for format in found.verdicts]
    columns = sorted({s for _, _, s in places if s is not None})
    cells = []
    for format, row, s in places:
        if row not in rows:
            rows.append(row)
        column = columns.index(s) if s is not None else 0
        cells.append({"row": rows.index(row), "column": column, "format": format, **_cell(found.verdicts[format])})
    rows_sorted = sorted(rows, key=lambda row: (row["kind"] == "format", row.get("ties", ""), row.get("e", 0)))
    for cell in cells:
        cell["row"] = rows_sorted.index(rows[cell["row"]])
    data = {"what": "sweep", "rows": rows_sorted, "columns": [str(s) for s in columns] or [""], "cells": cells}
    return _view(found.name, data, found.conclusion)


def sweeps_view(found: Iterable[Sweep], title: str = "formats") -> View:
    """Several sweeps, one a length say: a row each, by their names, and a column a format."""
    from glyptic.studies.sweeps import Sweep

    listed = list(found)
    if not listed or not all(isinstance(one, Sweep) for one in listed):
        raise refused("found", found, "a list of Sweeps")
    formats = list(dict.fromkeys(format for one in listed for format in one.verdicts))
    cells = [
        {"row": k, "column": formats.index(format), "format": format, **_cell(verdict)}
        for k, one in enumerate(listed)
        for format, verdict in one.verdicts.items()
    ]
    rows = [{"kind": "named", "name": printable(one.name)} for one in listed]
    return _view(title, {"what": "sweeps", "rows": rows, "columns": formats, "cells": cells})


def theorems_view(rows: Sequence[Row], title: str = "Theorems of the constructions") -> View:
    """What `glyptic.theorems.proving.prove_all` gives: theorems down, formats across.

    >>> from glyptic.theorems.proving import prove_all
    >>> view = theorems_view(prove_all(["fixed:2"], ["zero.at"], workers=1, progress=False))
    >>> view.data["rows"][0]["name"], view.data["cells"][0]["mark"]
    ('zero.at', '✓s')
    """
    from glyptic.theorems.proving import Row

    listed = list(rows)
    if not listed or not all(isinstance(row, Row) for row in listed):
        raise refused("rows", rows, "a list of rows, as theorems.proving.prove_all gives them")
    names = list(dict.fromkeys(row.theorem for row in listed))
    scopes = list(dict.fromkeys(row.scope for row in listed))
    says = {row.theorem: row.says for row in listed}
    cells = [
        {"row": names.index(row.theorem), "column": scopes.index(row.scope), "format": row.scope, **_theorem(row)}
        for row in listed
    ]
    named = [{"kind": "named", "name": name, "says": says[name]} for name in names]
    return _view(title, {"what": "theorems", "rows": named, "columns": scopes, "cells": cells})


def precision_view(found: LeastPrecision) -> View:
    """s(n), the least precision by length, for each e; with the steps T(n), the width d(n), and what fails with one less."""
    from glyptic.studies.precision import LeastPrecision

    if not isinstance(found, LeastPrecision):
        raise refused("found", found, "a LeastPrecision")
    needs = [{**asdict(need), "short_of_it": printable(need.short_of_it)} for need in found.needs]
    return _view(found.name, {"what": "precision", "needs": needs, "largest": found.largest})


def _view(name: str, data: dict[str, Any], conclusion: str | None = None) -> View:
    said = None if conclusion is None else printable(conclusion)
    return View("grid", printable(name), {"name": printable(name), "conclusion": said, **data})


def _place(format: str) -> tuple[dict[str, Any], int | None]:
    """The row of a format and its s; a format without them has a row of its own."""
    found = re.fullmatch(r"(fixed|float):(?:(\d+),)?(\d+)(/even)?", format)
    if found is None:
        return {"kind": "format", "name": format}, None
    about: dict[str, Any] = {"kind": found[1], "e": int(found[2] or 0)}
    return {**about, **({"ties": "even"} if found[4] else {})}, int(found[3])


def _cell(verdict: Verdict) -> dict[str, Any]:
    data = verdict_data(verdict)
    return {"mark": MARKS[data["answer"]], **data}


def _theorem(row: Row) -> dict[str, Any]:
    """A theorem in a scope; where the construction refuses the format, its reason."""
    if row.verdict is None:
        return {"mark": row.mark, "answer": "Refused", "reason": printable(row.refusal), "seconds": 0.0}
    return {**_cell(row.verdict), "mark": row.mark}


__all__ = ["precision_view", "sweep_view", "sweeps_view", "theorems_view"]
