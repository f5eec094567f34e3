"""The table of theorems: a row a theorem with what it says, a column a format, one mark a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glyptic.errors import InputError
from glyptic.look.latex import escaping
from glyptic.look.latex.numerals import letters
from glyptic.look.latex.tables import Fragment, TexCell, TexRow, TexTable
from glyptic.theorems.page import TABLES, Marks
from glyptic.theorems.proving import THEOREMS, Row

_MARKS = {
    "✓": r"$\checkmark$",
    "✓s": r"$\checkmark_{\mathrm{s}}$",
    "✓1": r"$\checkmark_{1}$",
    "–": r"\textendash{}",
    "✗": r"$\boldsymbol{\times}$",
    "?": "?",
}


def rows_latex(rows: Row | Sequence[Row], about: Fragment, *, statements: bool = True) -> str:
    """What `prove_all` gave."""
    listed = [rows] if isinstance(rows, Row) else list(rows)
    marks = {(row.theorem, row.scope): row.mark for row in listed}
    says = {row.theorem: row.says for row in listed}
    return _table(says, list(dict.fromkeys(row.scope for row in listed)), marks, about, statements)


def marks_latex(marks: Marks, about: Fragment, *, statements: bool = True) -> str:
    """What a page of theorems tells: a table for each of its tables, the statements in the first."""
    told = {one.name: one.says for one in THEOREMS if any(name == one.name for name, _ in marks.simplified)}
    if not told:
        raise InputError("these marks tell of no theorem; read them from a page, as in read_page of docs/theorems.md.")
    tables: list[str] = []
    for title, scopes in TABLES:
        own = [scope for scope in scopes if any((name, scope) in marks.simplified for name in told)]
        if own:
            tables.append(_table(told, own, marks.simplified, about, statements and not tables, title))
            about = Fragment(about.caption, None, about.language, about.wide, about.long)  # a label is given once
    return "\n\n".join(tables)


def _table(
    says: Mapping[str, str],
    scopes: Sequence[str],
    marks: Mapping[tuple[str, str], str],
    about: Fragment,
    statements: bool,
    title: str = "",
) -> str:
    rows = []
    for name, said in says.items():
        found = [marks.get((name, scope), "") for scope in scopes]
        cells = [TexCell(_MARKS.get(mark, escaping.text(mark)), 1.3) for mark in found]
        rows.append(TexRow((_name(name), *cells)))
        if statements:
            made = TexCell.prose(said)
            rows.append(TexRow(across=TexCell(made.tex, made.em + 1.2), indented=True, joined=True))
    head = [_theorem(about), *(_scope(scope) for scope in scopes)]
    legend = {"proved": "✓", "simplified": "✓s", "alone": "✓1", "refuses": "–", "refuted": "✗"}
    caption = about.word("theorems", **{key: _MARKS[mark] for key, mark in legend.items()})
    table = TexTable((TexRow(tuple(head)),), tuple(rows), "l" + "c" * len(scopes), about=about)
    return table.latex(f"{escaping.text(title)}. {caption}" if title else caption)


def _name(called: str) -> TexCell:
    words = [escaping.width(word, typewriter=True) for word in called.split()]
    return TexCell(escaping.code(called), escaping.width(called, typewriter=True), min(12.0, max([1.0, *words])))


def _theorem(about: Fragment) -> TexCell:
    said = about.word("theorem")
    return TexCell(said, escaping.width(said))


def _scope(scope: str) -> TexCell:
    """A format, above what else is said of it: ties to even, fused products."""
    made = letters(scope)
    first, _, below = made.partition("$/") if "$/" in made else made.partition("$ ")
    if not below:
        return TexCell(made, escaping.width(made.replace("$", "").replace("\\", "")))
    stacked = f"\\begin{{tabular}}[b]{{@{{}}c@{{}}}}{first}$\\\\{below}\\end{{tabular}}"
    return TexCell(stacked, max(escaping.width(first), escaping.width(below)))
