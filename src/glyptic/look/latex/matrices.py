"""Matrices with names in their margins, by \\bordermatrix: rows and columns of zeros left out, what is too wide in pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.look.latex import escaping
from glyptic.look.latex.numerals import number
from glyptic.numbers import AnyFormat, Codes, decode

_EM, _GAP = 8.0, 4.9  # of \scriptsize, and between columns
_BRACKETS = 40.0  # the sign of equality, brackets and what is around them
_ROWS = 48  # of one piece, which must fit a page
_CUT = 28  # letters of a name in a margin
# \quad is what \bordermatrix puts between columns: here it is narrower, inside the group only.
OPENING = r"{\centering\scriptsize\def\quad{\hskip.6em\relax}\lineskip=1ex"
CLOSING = r"\par}\smallskip"


def _em(said: str) -> float:
    return escaping.width(said, typewriter=True)


def _ends(called: str) -> str:
    """The beginning and the end of a name that is too long, or too wide for the signs that it has.

    >>> _ends("a" * 100), _ends("漢" * 9)
    ('aaaaaaaaaaaaa…aaaaaaaaaaaaa', '漢…漢')
    """
    most = (_CUT - 1) * escaping.TYPEWRITER
    half = next(n for n in range(_CUT // 2, 0, -1) if n == 1 or _em(called[:n] + called[-n:]) <= most)
    return f"{called[:half]}…{called[-half:]}"


@dataclass(frozen=True)
class Margin:
    """A name beside a row or above a column, as LaTeX, and its width in em."""

    tex: str
    em: float

    @classmethod
    def name(cls, called: str) -> Margin:
        """A coordinate, a token or an answer."""
        short = called if len(called) <= _CUT and _em(called) <= _CUT * escaping.TYPEWRITER else _ends(called)
        return cls(escaping.name(short), escaping.width(short, typewriter=True))

    @classmethod
    def index(cls, number: int) -> Margin:
        """A number, counted from 0."""
        return cls(f"{{\\scriptscriptstyle {number}}}", 0.45 * len(str(number)))

    @classmethod
    def symbol(cls, tex: str, em: float = 1.0) -> Margin:
        """Mathematics."""
        return cls(tex, em)


@dataclass(frozen=True)
class Matrix:
    """A matrix to print: what it is called, its codes (rows, columns), its margins."""

    called: str  # mathematics, such as W_Q^{\top}
    codes: Codes  # or the values themselves, as fractions
    rows: Sequence[Margin]
    columns: Sequence[Margin]
    whole: bool = False  # with its zeros

    def latex(self, format: AnyFormat, room: float) -> list[str]:
        """Formulas, each of which fits."""
        there = np.ones_like(self.codes, bool) if self.whole else self.codes != 0
        if not there.any():
            return [f"${self.called} = 0$"]
        down, across = (np.flatnonzero(there.any(axis=axis)).tolist() for axis in (1, 0))
        cells = {i: [_entry(x, format) for x in _values(self.codes[i, across], format)] for i in down}
        room -= max(self.rows[i].em for i in down) * _EM + _breadth(self.called) + _BRACKETS
        made: list[str] = []
        for block in self._blocks([*zip(*cells.values(), strict=True)], across, room):
            chosen = [across[j] for j in block]
            used = [i for i in down if there[i, chosen].any()]
            for top in range(0, len(used), _ROWS):
                lines = [(self.rows[i].tex, *(cells[i][j][0] for j in block)) for i in used[top : top + _ROWS]]
                made.append(_bordered(self.called if not made else r"\cdots", [self.columns[k].tex for k in chosen], lines))
        return made

    def _blocks(self, columns: Sequence[Any], across: list[int], room: float) -> list[list[int]]:
        blocks: list[list[int]] = []
        used = room + 1
        for j, column in enumerate(columns):
            wide = max(self.columns[across[j]].em, *(em for _, em in column)) * _EM + _GAP
            used += wide
            if used > room:
                blocks.append([])
                used = wide
            blocks[-1].append(j)
        return blocks


def _values(row: np.ndarray, format: AnyFormat) -> np.ndarray:
    return row if row.dtype == object else decode(row, format)


def _entry(x: Fraction, format: AnyFormat) -> tuple[str, float]:
    return number(x, format) if x != 0 else (r"\cdot", 0.4)


def _breadth(called: str) -> float:
    """How wide a symbol is, about, in points."""
    letters = re.sub(r"\\[a-z]+|[{}^_\\;]", "", re.sub(r"\\begin.*?\\end\{\w+\}", "WW", called))
    return 6.0 + 4.5 * len(letters)


def _bordered(called: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    body = "\n".join("  " + " & ".join(line) + r" \cr" for line in [("", *names), *lines])
    return f"$\\displaystyle {called} =\\;\\bordermatrix{{%\n{body}\n}}$"


def together(formulas: Sequence[str]) -> str:
    """Formulas one beside the other, as many as fit a line."""
    return "\n".join([OPENING, "\n\\hskip 1em plus 1fil\n".join(formulas), CLOSING])
