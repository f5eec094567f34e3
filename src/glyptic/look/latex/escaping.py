"""Text that stays text: names, sentences and claims as LaTeX, in ASCII, whatever is in them; and how wide they come out.

    text     a sentence in the running font; mathematical signs become mathematics
    name     a token or a coordinate, in typewriter, its spaces visible
    prose    a sentence in which h_j, T_SI, `code`, *emphasis* and **strength** are what they look like

Widths are in em of the font: of Computer Modern, on the safe side.
"""

from __future__ import annotations

import re
import unicodedata

from glyptic.look.latex.signs import ACCENTS, LETTERS, MATHEMATICS, OBEYED

_LONG = 16  # letters of a word that a narrow column may have to break
_EVERY = 10
_MOST = 160  # signs of a name; no paper has room for more
TYPEWRITER = 0.535
_UNBROKEN = 5.4  # em: ten signs in typewriter, or one that is given by its number


def sign(character: str) -> str:
    """One sign as LaTeX; what LaTeX has no letter for, by its number.

    >>> [sign(c) for c in ("a", "%", "θ", "ñ", "í", "漢")]
    ['a', '\\\\%', '$\\\\theta$', '\\\\~{n}', "\\\\'{\\\\i}", '{[}U+6F22{]}']
    """
    if character in OBEYED:
        return OBEYED[character]
    if character.isascii() and character.isprintable():
        return character
    if character in MATHEMATICS:
        return f"${MATHEMATICS[character]}$"
    if character in LETTERS:
        return LETTERS[character]
    letter, *marks = list(unicodedata.normalize("NFD", character))
    if len(marks) == 1 and marks[0] in ACCENTS and letter.isascii() and letter.isalpha():
        above = marks[0] not in "\u0323\u0327\u0331"  # then the dot of an i goes
        return f"\\{ACCENTS[marks[0]]}{{{f'{chr(92)}{letter}' if above and letter in 'ij' else letter}}}"
    return f"{{[}}U+{ord(character):04X}{{]}}"


def _signs(text: str) -> list[str]:
    """All signs of a text; two hyphens or quotes or commas in a row are kept from becoming one."""
    found: list[str] = []
    for before, character in zip(f" {text}", text, strict=False):
        joined = character == before and character in "-',"
        found.append(f"{{}}{character}" if joined else sign(character))
    return found


def text(said: str, *, breaks: bool = True) -> str:
    """A sentence; long words may be broken, after what is no letter or, if need be, between letters.

    >>> print(text("100 % of θ_TE ≤ ∞ & more, -- say"))
    100 \\% of $\\theta$\\_TE $\\leq$ $\\infty$ \\& more, -{}- say
    """
    words = unicodedata.normalize("NFC", said).split(" ")
    return " ".join(_broken(word) if breaks and _is_long(word) else "".join(_signs(word)) for word in words)


def name(called: str, *, breaks: bool = False) -> str:
    """A token or a coordinate, in typewriter.

    >>> print(name("is_a"), name("a b"))
    \\texttt{is\\_a} \\texttt{a\\textvisiblespace{}b}
    """
    shown = unicodedata.normalize("NFC", cut(called).replace(" ", "␣"))
    return f"\\texttt{{{_broken(shown) if breaks and width(shown, typewriter=True) > _UNBROKEN else ''.join(_signs(shown))}}}"


def code(said: str) -> str:
    """Something in typewriter whose spaces are spaces; long words may be broken.

    >>> print(code("linear.between, i = j"))
    \\texttt{linear.between, i = j}
    """
    return f"\\texttt{{{text(cut(said))}}}"


def cut(called: str) -> str:
    """A name, the middle left out of one that no page has room for."""
    return called if len(called) <= _MOST else f"{called[: _MOST // 2]}…{called[-_MOST // 2 + 1 :]}"


def _is_long(word: str) -> bool:
    return len(word) > _LONG or (not word.isascii() and width(word) > _LONG / 2)


def _broken(word: str) -> str:
    pieces, since = [], 0
    for character, piece in zip(word, _signs(word), strict=True):
        pieces.append(piece)
        since += _EVERY if "U+" in piece else 1
        if since >= 2 and (not character.isalnum() or since >= _EVERY):
            pieces.append(r"\allowbreak{}")
            since = 0
    return "".join(pieces)


_MARKED = re.compile(r"`([^`]+)`|\[([^\]]+)\]\((?:#|https?://)[^)]*\)|\*\*([^*]+)\*\*|(?<![\w*])\*([^*\s][^*]*)\*(?!\w)")
_INDEXED = re.compile(r"(?<![A-Za-zθΘ_\\])([A-Za-zθΘ])('?)_([A-Za-z0-9]+('?))(?![A-Za-z0-9_])|\b([2e])\^(−?[a-z0-9∞]+)")


def prose(said: str) -> str:
    """A sentence of a document in Markdown, with indices as in papers.

    >>> print(prose("*Instead.* Let `linear.at` make h_j := T_SI **now**"))
    \\emph{Instead.} Let \\texttt{linear.at} make $h_{j}$ := $T_{\\mathrm{SI}}$ \\textbf{now}
    """
    pieces, end = [], 0
    said = re.sub(r'"([^"`]*)"', r"“\1”", said)
    for found in _MARKED.finditer(said):
        pieces.append(_indexed(said[end : found.start()]))
        typed, link, strong, slanted = found.groups()
        if typed is not None:
            pieces.append(code(typed))
        elif link is not None:
            pieces.append(prose(link))
        else:
            pieces.append(f"\\textbf{{{prose(strong)}}}" if strong is not None else f"\\emph{{{prose(slanted)}}}")
        end = found.end()
    return "".join([*pieces, _indexed(said[end:])])


def _indexed(said: str) -> str:
    pieces, end = [], 0
    for found in _INDEXED.finditer(said):
        pieces.append(text(said[end : found.start()]))
        letter, prime, index, _, base, power = found.groups()
        if power is not None:
            pieces.append(f"${base}^{{{''.join(MATHEMATICS.get(one, one) for one in power)}}}$")
        else:
            below = index if len(index) == 1 or index.isdigit() else f"\\mathrm{{{index}}}"
            letter = MATHEMATICS.get(letter, letter)
            pieces.append(f"${letter}{prime}_{{{below}}}$")
        end = found.end()
    return "".join([*pieces, text(said[end:])])


_WIDTHS = {**dict.fromkeys("mwMW@%", 0.95), **dict.fromkeys("iljtfrI.,;:'!()[]| /-", 0.36), **dict.fromkeys("∞⇒→←✓✗…—", 1.0)}


def width(said: str, *, typewriter: bool = False) -> float:
    """How wide a text comes out.

    >>> width("ab", typewriter=True), round(width("∞ il"), 2)
    (1.07, 2.2)
    """
    return sum(map(_typewritten if typewriter else _running, unicodedata.normalize("NFC", said)))


def _typewritten(character: str) -> float:
    return _unknown(character) or TYPEWRITER * (1.9 if not character.isascii() and not character.isalpha() else 1)


def _running(character: str) -> float:
    if character in _WIDTHS:
        return _WIDTHS[character] * 1.06  # of the smaller sizes
    return _unknown(character) or (0.78 if character.isupper() or character in MATHEMATICS else 0.56)


def _unknown(character: str) -> float:
    """The width of a sign that is given by its number, U+1F600 in brackets; 0 of others."""
    return 4.6 if not character.isascii() and "U+" in sign(character) else 0.0
