"""Tables that fit a column: widths reckoned beforehand, long text wrapped, what is too wide or too long in several pieces.

Only `tabular`, `array` and, if it is asked for, `longtable`; sizes are those of a document in 10pt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil
from typing import Any, TypedDict

from glyptic.errors import InputError
from glyptic.look.latex import escaping
from glyptic.look.latex.numerals import number
from glyptic.look.latex.words import Language, word
from glyptic.text import whole_number

COLUMN, BOTH, PAGE = 219.0, 455.0, 345.0  # points: a column, and both, of the narrowest usual style; a page of one column
_EM, _GAP = 8.5, 6.0  # of \footnotesize, and between columns
_NARROWEST = 44.0  # a column of text
_NOTE = 170.0  # what is said below a row of numbers: a table that is narrower has room for that beside them
_LINES = 46  # of one float
MOST_CELLS = 20_000


class LatexOptions(TypedDict, total=False):
    """What every kind of value takes."""

    caption: str | None  # LaTeX of the author's own; None: ours; "": none
    label: str | None
    language: Language
    wide: bool  # across both columns
    long: bool  # longtable, over pages, for documents of one column


@dataclass(frozen=True)
class Fragment:
    """How a fragment is wanted; `options` as they came, with what they are unless told."""

    caption: str | None = None
    label: str | None = None
    language: Language = "en"
    wide: bool = False
    long: bool = False

    def __post_init__(self) -> None:
        if self.label is not None and not all(c.isascii() and (c.isalnum() or c in ":._-+/") for c in self.label):
            raise InputError(f"label is {self.label!r}; a label has letters, digits and : . _ - + / only, such as tab:parity.")
        if self.wide and self.long:
            raise InputError("wide and long are both set: longtable is for documents of one column; leave one of them out.")

    @property
    def room(self) -> float:
        """How wide a table may be, in points."""
        return BOTH if self.wide else self.column

    @property
    def column(self) -> float:
        """How wide what stands in the text may be."""
        return PAGE if self.long else COLUMN

    def word(self, key: str, **filled: object) -> str:
        """A word in its language."""
        return word(key, self.language, **filled)


@dataclass(frozen=True)
class TexCell:
    """What stands in a table: LaTeX, its width in em, and that of its longest word, if it may be wrapped."""

    tex: str = ""
    em: float = 0.0
    longest: float | None = None
    tall: bool = False

    @classmethod
    def text(cls, said: str) -> TexCell:
        """A sentence."""
        return cls(escaping.text(said), escaping.width(said), _longest(said))

    @classmethod
    def prose(cls, said: str) -> TexCell:
        """A sentence in Markdown."""
        plain = said.replace("`", "").replace("*", "")
        return cls(escaping.prose(said), escaping.width(plain) + 0.1 * said.count("`") * 2, _longest(plain))

    @classmethod
    def name(cls, called: str) -> TexCell:
        """A token or a coordinate."""
        wide = escaping.width(escaping.cut(called), typewriter=True)
        return cls(escaping.name(called, breaks=wide > 12), wide, min(wide, 7.0) if wide > 12 else None)

    @classmethod
    def names(cls, called: Sequence[str]) -> TexCell:
        """Several, those that are numbered in a row as one."""
        made = [cls.name(first) if first == last else cls.numbered(first, last) for first, last in runs_of(called)]
        longest = max([1.0, *(one.longest or one.em for one in made)])
        return cls(" ".join(one.tex for one in made), sum(one.em + 0.5 for one in made), longest)

    @classmethod
    def numbered(cls, first: str, last: str) -> TexCell:
        """here.0 to here.2, as here.0–2."""
        end = last.rpartition(".")[2]
        wide = escaping.width(escaping.cut(first) + end, typewriter=True) + 0.5
        shown = escaping.name(first, breaks=wide > 12)
        return cls(f"{shown}\\textendash{{}}{escaping.name(end)}", wide, min(wide, 7.0) if wide > 12 else None)

    @classmethod
    def number(cls, x: Fraction, format: Any) -> TexCell:
        """An exact number; 0 as a dot."""
        tex, em = number(x, format) if x != 0 else (r"\cdot", 0.4)
        return cls(f"${tex}$", em, tall="frac" in tex)


def _longest(said: str) -> float:
    """The widest of what is not broken: words of more than sixteen letters are."""
    return min(9.0, max([1.0, *(escaping.width(word) for word in said.split())]))


def runs_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """The first and last of those whose numbers follow one another.

    >>> runs_of(["one", "here.0", "here.1", "here.2", "x.7"])
    [('one', 'one'), ('here.0', 'here.2'), ('x.7', 'x.7')]
    """
    found: list[tuple[str, str]] = []
    for name in names:
        stem, dot, digits = name.rpartition(".")
        before = found[-1][1] if found else ""
        count = whole_number(digits) if dot else None
        if count and digits == str(count) and before == f"{stem}.{count - 1}":
            found[-1] = (found[-1][0], name)
        else:
            found.append((name, name))
    return found


@dataclass(frozen=True)
class TexRow:
    """A line of a table: cells, or one that goes across (a heading, if it is strong)."""

    cells: tuple[TexCell, ...] = ()
    across: TexCell | None = None
    key: TexCell | None = None  # then what goes across begins in the second column
    strong: bool = False
    rule: bool = False  # a line above
    indented: bool = False  # every line of it
    joined: bool = False  # says more of the row above: stays with it, and is not repeated where the table goes on beside


@dataclass(frozen=True)
class TexTable:
    """A table before it is laid out: the first `keys` columns are repeated where it goes on beside or below."""

    header: tuple[TexRow, ...]
    rows: tuple[TexRow, ...]
    align: str
    keys: int = 1
    about: Fragment = field(default_factory=Fragment)

    def latex(self, caption: str) -> str:
        """The table with its caption, in as many pieces as it needs."""
        about = self.about
        cells = sum(len(row.cells) for row in self.rows)
        if cells > MOST_CELLS:
            raise InputError(f"the table would have {cells:,} cells; LaTeX is written for {MOST_CELLS:,} at most: show less.")
        blocks = [self._block(chosen) for chosen in self._columns()]
        blocks[1:] = [block.without_joined() for block in blocks[1:]]
        told = caption if about.caption is None else about.caption
        if about.long:
            return "\n\n".join(block.longtable(told, about.label if first else None) for first, block in _firsts(blocks))
        floats = list(_floats([piece for block in blocks for piece in block.pieces()]))
        made = []
        for first, pieces in _firsts(floats):
            label = f"\\label{{{about.label}}}" if about.label else ""
            below = f"\\caption{{{told}}}{label}" if told else ""  # a label without a caption would name the section
            made.append(_float(pieces, below if first else f"\\par\\smallskip({about.word('continued')})", about.wide))
        return "\n\n".join(made)

    def _columns(self) -> list[list[int]]:
        """Which columns go together: all, if their least widths fit; else blocks behind the keys."""
        least = [self._least(j) for j in range(len(self.align))]
        keys = list(range(self.keys))
        start = sum(least[j] + _GAP for j in keys)
        blocks: list[list[int]] = []
        used = self.about.room + 1
        for j in range(self.keys, len(self.align)):
            used += least[j] + _GAP
            if used - _GAP > self.about.room:
                blocks.append([*keys])
                used = start + least[j] + _GAP
            blocks[-1].append(j)
        return blocks or [keys]

    def _column(self, j: int) -> list[TexCell]:
        keys = [row.key for row in self.rows if row.key is not None] if j == 0 else []
        return [*keys, *(row.cells[j] for row in (*self.header, *self.rows) if row.across is None)]

    def _natural(self, j: int) -> float:
        return max([1.0, *(cell.em * _EM for cell in self._column(j))])

    def _least(self, j: int) -> float:
        column = self._column(j)
        if not any(cell.longest is not None and cell.em * _EM > _NARROWEST for cell in column):
            return self._natural(j)
        words = max((cell.em if cell.longest is None else cell.longest) * _EM for cell in column)
        return min(self._natural(j), max(_NARROWEST, words))

    def _block(self, chosen: list[int]) -> TexBlock:
        natural = {j: self._natural(j) for j in chosen}
        least = {j: self._least(j) for j in chosen}
        room = self.about.room - _GAP * (len(chosen) - 1)
        widths = _shared(natural, least, room)
        spec = [self.align[j] if widths[j] >= natural[j] else _wrapped(widths[j], self.align[j]) for j in chosen]
        total = min(self.about.room, sum(widths.values()) + _GAP * (len(chosen) - 1))
        return TexBlock(self, tuple(chosen), spec, widths, total)


def _wrapped(points: float, align: str = "l") -> str:
    return f">{{\\ragged{'left' if align == 'r' else 'right'}\\arraybackslash}}p{{{points:.0f}pt}}"


def _shared(natural: dict[int, float], least: dict[int, float], room: float) -> dict[int, float]:
    """Room for each column: what it would like, unless that is too much; then those that can give way share what is left."""
    if sum(natural.values()) <= room:
        return natural
    widths = dict(natural)
    yielding = sorted((j for j in natural if least[j] < natural[j]), key=lambda j: natural[j])
    rest = room - sum(natural[j] for j in natural if j not in yielding)
    for place, j in enumerate(yielding):
        others = sum(least[k] for k in yielding[place + 1 :])
        share = max(least[j], min(rest / (len(yielding) - place), rest - others))
        widths[j] = min(natural[j], share)
        rest -= widths[j]
    return widths


@dataclass(frozen=True)
class TexBlock:
    """Some columns of a table, laid out."""

    table: TexTable
    chosen: tuple[int, ...]
    spec: list[str]
    widths: dict[int, float]
    total: float

    @property
    def grows(self) -> bool:
        """Whether an empty column is added, for what is said below rows of few numbers."""
        said = [row.across for row in self.table.rows if row.indented and row.across is not None]
        return self.total < _NOTE and any(one.em * _EM > self.total for one in said)

    def without_joined(self) -> TexBlock:
        """Without what was said beside."""
        rows = tuple(row for row in self.table.rows if not row.joined)
        return replace(self, table=replace(self.table, rows=rows))

    def pieces(self) -> Iterator[tuple[int, str]]:
        """Tabulars that are not higher than a float, and how many lines each has."""
        head = sum(self._height(row) for row in self.table.header) + 1
        held: list[TexRow] = []
        lines = head
        for group in self._groups():
            height = sum(self._height(row) for row in group)
            if held and lines + height > _LINES:
                yield lines, self._tabular(held)
                held, lines = [], head
            held += group
            lines += height
        if held:
            yield lines, self._tabular(held)

    def _groups(self) -> list[list[TexRow]]:
        """Rows that stay together: a heading with what follows, a row with what more is said of it."""
        groups: list[list[TexRow]] = []
        for row in self.table.rows:
            section = bool(groups) and groups[-1][0].strong and not row.strong
            short = section and sum(map(self._height, groups[-1])) < _LINES // 2  # a part is not torn, unless it is long
            if groups and (row.joined or groups[-1][-1].strong or short):
                groups[-1].append(row)
            else:
                groups.append([row])
        return groups

    def _height(self, row: TexRow) -> int:
        if row.across is not None:
            return max(1, ceil(row.across.em * _EM / max(_EM, self._across(row)[1] - row.indented * _EM)))
        wrapped = [j for j, spec in zip(self.chosen, self.spec, strict=True) if "p{" in spec]
        return max([1, *(ceil(row.cells[j].em * _EM * 1.1 / self.widths[j]) for j in wrapped)])

    def _tabular(self, rows: Sequence[TexRow]) -> str:
        body = [*_ruled(self.lines(self.table.header)), *self.lines(rows), r"\hline"]
        spec = "@{}" + "".join(self.spec) + "l" * self.grows + "@{}"
        return "\n".join([f"\\begin{{tabular}}{{{spec}}}", *body, r"\end{tabular}"])

    def lines(self, rows: Sequence[TexRow]) -> list[str]:
        """Rows as LaTeX."""
        return [line for row in rows for line in self._line(row)]

    def _line(self, row: TexRow) -> list[str]:
        above = [r"\hline\noalign{\vskip.4ex}"] if row.rule else []
        if row.across is None:
            end = r" \\[.5ex]" if any(row.cells[j].tall for j in self.chosen) else r" \\"
            return [*above, "  " + " & ".join(row.cells[j].tex for j in self.chosen) + end]
        columns, room = self._across(row)
        said = f"\\emph{{{row.across.tex}}}" if row.strong else row.across.tex
        if row.across.em * _EM > room:
            spec = f"{_wrapped(0.95 * room)}@{{}}"
            said = f"\\leftskip1em\\relax {said}" if row.indented else said
        else:  # takes no room, so that no column grows
            indent = r"\quad " if row.indented else ""
            spec, said = "l@{}", f"\\makebox[0pt][l]{{{indent}{said}}}"
        spec = f"@{{}}{spec}" if row.key is None else spec
        key = f"{row.key.tex} & " if row.key is not None else ""
        return [*above, f"  {key}\\multicolumn{{{columns}}}{{{spec}}}{{{said}}} \\\\"]

    def _across(self, row: TexRow) -> tuple[int, float]:
        """How many columns a cell goes across, and how much room it has there."""
        if row.key is None:
            if row.indented and self.grows:
                return len(self.chosen) + 1, min(self.table.about.room, _NOTE)
            return len(self.chosen), self.total
        return len(self.chosen) - 1, self.total - self.widths[self.chosen[0]] - _GAP

    def longtable(self, caption: str, label: str | None) -> str:
        """The same over pages."""
        named = f"\\label{{{label}}}" if label else ""
        told = [f"\\caption{{{caption}}}{named} \\\\"] if caption else []
        head = _ruled(self.lines(self.table.header))
        spec = "@{}" + "".join(self.spec) + "l" * self.grows + "@{}"
        return "\n".join([
            r"{\footnotesize\setlength{\tabcolsep}{3pt}%", f"\\begin{{longtable}}{{{spec}}}", *told, *head, r"\endfirsthead",
            *head, r"\endhead", *self.lines(self.table.rows), r"\hline", r"\end{longtable}}",
        ])  # fmt: skip


def _ruled(header: list[str]) -> list[str]:
    gap = r"\noalign{\vskip.4ex}"
    return [rf"\hline{gap}", *header, rf"{gap}\hline{gap}"] if header else [rf"\hline{gap}"]


def _firsts(items: Sequence[Any]) -> Iterator[tuple[bool, Any]]:
    return ((k == 0, item) for k, item in enumerate(items))


def _floats(pieces: Sequence[tuple[int, str]]) -> Iterator[list[str]]:
    """Tabulars that go into one float together."""
    held: list[str] = []
    lines = 0
    for height, tabular in pieces:
        if held and lines + height > _LINES:
            yield held
            held, lines = [], 0
        held.append(tabular)
        lines += height + 1
    if held:
        yield held


def _float(tabulars: Sequence[str], caption: str, wide: bool) -> str:
    kind = "table*" if wide else "table"
    body = "\n\\par\\medskip\n".join(tabulars)
    told = [caption] if caption else []
    return "\n".join([
        f"\\begin{{{kind}}}[tbp]", r"\centering\footnotesize\setlength{\tabcolsep}{3pt}%", body, *told, f"\\end{{{kind}}}",
    ])  # fmt: skip
