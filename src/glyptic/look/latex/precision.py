"""Least precision as a table: a row a length, s(n) for each e, T(n), d(n), and what goes wrong with one less."""

from __future__ import annotations

from glyptic.look.latex import escaping
from glyptic.look.latex.tables import Fragment, TexCell, TexRow, TexTable
from glyptic.studies.precision import LeastPrecision, Need


def precision_latex(found: LeastPrecision, about: Fragment) -> str:
    """The table."""
    exponents = sorted({need.e for need in found.needs})
    firsts = [need for need in found.needs if need.e == exponents[0]] if exponents else []
    refuses = any(need.refused is not None for need in firsts)
    header = [_symbol("n"), *(_exponent(e) for e in exponents), *map(_symbol, "TdL")]
    header += [_word(about, key) for key in ("refused", "refuted")] if refuses else []
    rows: list[TexRow] = []
    for need in firsts:
        cells, why = _cells(found, need, exponents, refuses), TexCell.text(need.short_of_it)
        if about.wide or about.long:
            rows.append(TexRow((*cells, why)))
        else:  # below, where it has the whole column
            rows += [TexRow(tuple(cells)), TexRow(across=TexCell(why.tex, why.em + 1.2), indented=True, joined=True)]
    align = "r" * len(header)
    if about.wide or about.long:
        header, align = [*header, _word(about, "one less")], f"{align}l"
    name = escaping.text(escaping.cut(found.name))
    table = TexTable((TexRow(tuple(header)),), tuple(rows), align, about=about)
    return table.latex(about.word("precision", name=name, **_LETTERS))


_LETTERS = {letter: f"${letter}$" for letter in ("s(n)", "s", "n", "T", "d", "L")} | {"formats": "$F(s)$, $F(e,s)$"}


def _cells(found: LeastPrecision, need: Need, exponents: list[int], refuses: bool) -> list[TexCell]:
    least = [found.s(need.length, e) for e in exponents]
    shown = [f"> {found.largest}" if s is None else str(s) for s in least]
    ends = ["–" if s is None else str(s) for s in (need.refused, need.refuted)] if refuses else []
    numbers = [str(need.length), *shown, str(need.steps), str(need.width), str(need.layers), *ends]
    return [TexCell(escaping.text(one), escaping.width(one)) for one in numbers]


def _exponent(e: int) -> TexCell:
    return _symbol("F(s)" if e == 0 else f"F({e},s)")


def _symbol(tex: str) -> TexCell:
    return TexCell(f"${tex}$", 0.55 * len(tex))


def _word(about: Fragment, key: str) -> TexCell:
    said = about.word(key)
    return TexCell(said, escaping.width(said), 4.0)
