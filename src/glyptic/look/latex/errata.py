"""An erratum as paragraphs and tables."""

from __future__ import annotations

from collections.abc import Sequence

from glyptic.look.latex import escaping
from glyptic.look.latex.tables import Fragment, TexCell, TexRow, TexTable
from glyptic.notes.errata import Erratum


def erratum_latex(erratum: Erratum, about: Fragment) -> str:
    """What is said, in its order; tables float, and only they have captions."""
    number = about.word("erratum", number=erratum.number)
    label = f"\\label{{{about.label}}}" if about.label else ""
    title = f"\\noindent\\textbf{{{number}. {escaping.prose(erratum.title)}.}}{label}"
    blocks = [title]
    inner = Fragment(about.caption, None, about.language, about.wide, about.long)
    for block in erratum.blocks:
        if isinstance(block, str):
            blocks.append(f"{{\\sloppy\\noindent {escaping.prose(block)}\\par}}")
        else:
            blocks.append(_table(block, inner).latex(f"{number}: {escaping.prose(erratum.title)}."))
    return "\n\n".join(blocks)


def errata_latex(errata: Sequence[Erratum], about: Fragment) -> str:
    """Several; a label, with the number of each behind it."""
    made = []
    for one in errata:
        label = f"{about.label}:{one.number}" if about.label else None
        made.append(erratum_latex(one, Fragment(about.caption, label, about.language, about.wide, about.long)))
    return "\n\n\\medskip\n".join(made)


def _table(rows: Sequence[Sequence[str]], about: Fragment) -> TexTable:
    header, *body = [TexRow(tuple(map(TexCell.prose, row))) for row in rows]
    align = "l" + "".join("r" if all(_is_count(row[j]) for row in rows[1:]) else "l" for j in range(1, len(rows[0])))
    return TexTable((header,), tuple(body), align, about=about)


def _is_count(cell: str) -> bool:
    return not cell or cell.replace(",", "").isdigit()
