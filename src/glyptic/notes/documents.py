"""The tables in docs/errata.md and docs/errata.es.md: made as Markdown, in either language, and put in their places.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. `python -m glyptic.notes` makes all of them
anew; the tests compare.
"""

from __future__ import annotations

import re
from typing import Literal

from glyptic.notes.tables import TABLES

Language = Literal["en", "es"]

SPANISH = {
    "format": "formato",
    "runs": "corridas",
    "smallest": "menor caso",
    "pairs": "pares",
    "ties": "empates",
    "decisive": "decisivos",
    "decisive pairs": "pares decisivos",
    "kept as printed": "conservados, tal como está",
    "answer instead": "respuesta en su lugar",
    "length of the input": "largo de la entrada",
    "answer": "respuesta",
    "kept, flag at 2": "conservados, flag en 2",
    "columns 1, 2": "columnas 1, 2",
    "values x > 0": "valores x > 0",
    "wrong where T_SI > T_NO": "mal donde T_SI > T_NO",
    "wrong where T_NO > T_SI": "mal donde T_NO > T_SI",
    "products needed": "productos necesarios",
    "kept with columns 1, 2": "conservados con columnas 1, 2",
    "not (1, ∞) in the end": "no terminan en (1, ∞)",
    "smallest tie": "menor empate",
    "position": "posición",
    "becomes, as printed": "pasa a ser, tal como está",
    "values": "valores",
    "next vector added": "suma el vector siguiente",
    "construction": "construcción",
    "left in the last vector": "queda en el último vector",
    "nothing": "nada",
    "smallest layer": "menor capa",
    "h_2 = 1 becomes": "h_2 = 1 pasa a",
    "as printed": "tal como está",
    "random layers changed": "capas al azar alteradas",
    "T answers": "T responde",
    "h_n in the end": "h_n al final",
    "shortest input flagged wrongly": "entrada más corta mal marcada",
    "flags": "flags",
    "to the letter": "al pie de la letra",
    "something else": "otra cosa",
    "vectors added": "vectores sumados",
    "one-hot softmax exact": "softmax one-hot exacto",
    "none": "ninguno",
    "yes": "sí",
    "no": "no",
    "never": "nunca",
    "YES": "SÍ",
    "TIE": "empate",
    "h_2 ← M h_1, as printed": "h_2 ← M h_1, tal como está",
    "0–1 normalization, as printed": "normalización 0–1, tal como está",
}
PHRASES = {
    "ties to even": "empates al par",
    "refused": "rechazada",
    "of": "de",
    "position": "posición",
    "kept by": "conservados por",
    "with": "con",
    "after": "tras",
    "wrong": "mal",
    "the same three": "los mismos tres",
    "ties": "empata",
    "YES": "SÍ",
}


def translated(cell: object, language: Language) -> str:
    """A cell in the language: whole, if it is known, else word by word outside `code`."""
    text = str(cell)
    if language == "en" or text in SPANISH:
        return text if language == "en" else SPANISH[text]
    pieces = text.split("`")
    for phrase, spanish in PHRASES.items():
        pieces[::2] = [re.sub(rf"\b{phrase}\b", spanish, piece) for piece in pieces[::2]]
    return "`".join(pieces)


def markdown(name: str, language: Language) -> str:
    """A table as Markdown."""
    header, rows = TABLES[name]()
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(translated(cell, language) for cell in line) + " |" for line in lines)


_PLACE = re.compile(r"<!-- table: ([a-z-]+) -->\n.*?<!-- end -->", re.DOTALL)


def written(document: str, language: Language) -> str:
    """The document with every table made anew."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n{markdown(match[1], language)}\n<!-- end -->"

    return _PLACE.sub(table, document)


def tables_in(document: str) -> list[str]:
    """The names of the tables that a document shows, in its order."""
    return [match[1] for match in _PLACE.finditer(document)]
