"""A regular expression from an automaton, by taking states away one after the other; as `glyptic.languages.regular` reads it."""

from __future__ import annotations

from glyptic.arguments import checked
from glyptic.errors import InputError
from glyptic.languages.automata import Automaton

_LONGEST = 4000  # characters
_SIGNS = ".|&~*+?()"  # of expressions: as symbols they are put in brackets of their own, as are longer ones
NOTHING, EMPTY = None, ""
_Edge = str | None


@checked
def expression_of(automaton: Automaton) -> str:
    """A regular expression of the same language; where it would be very long, that is told.

    >>> from glyptic.languages import regular
    >>> expression_of(regular(".*1"))
    '0*1(1|00*1)*'
    """
    small = automaton.minimal()
    start, end = "start", "end"
    edges: dict[tuple[object, object], str] = {(start, small.start): EMPTY}
    for state, row in enumerate(small.moves):
        for symbol, following in zip(small.alphabet, row, strict=True):
            edges[state, following] = _either(edges.get((state, following)), _quoted(symbol))
    for state in small.accepting:
        edges[state, end] = EMPTY
    left = set(range(len(small.moves)))
    while left:
        chosen = min(left, key=lambda q: _weight(edges, q))
        left.remove(chosen)
        _take_away(edges, chosen, automaton.name)
    found = edges.get((start, end))
    return "~(.*)" if found is None else found or "()"


def _weight(edges: dict[tuple[object, object], str], state: int) -> int:
    into = sum(b == state and a != state for a, b in edges)
    out = sum(a == state and b != state for a, b in edges)
    return into * out * (1 + sum(len(text) for (a, b), text in edges.items() if state in (a, b)))


def _take_away(edges: dict[tuple[object, object], str], state: int, name: str) -> None:
    into = [(a, text) for (a, b), text in edges.items() if b == state and a != state]
    out = [(b, text) for (a, b), text in edges.items() if a == state and b != state]
    loop = edges.get((state, state))
    around = EMPTY if not loop else f"{_grouped(loop)}*"
    for key in [key for key in edges if state in key]:
        del edges[key]
    for a, before in into:
        for b, after in out:
            way = _joined(before, around, after)
            edges[a, b] = _either(edges.get((a, b)), way)
            if len(edges[a, b]) > _LONGEST:
                raise InputError(f"the expression of {name} has more than {_LONGEST:,} characters; take its automaton.")


def _quoted(symbol: str) -> str:
    return symbol if len(symbol) == 1 and symbol not in _SIGNS else f"⟨{symbol}⟩"


def _joined(*parts: str) -> str:
    return "".join(f"({part})" if _is_choice(part) else part for part in parts if part)


def _either(one: str | None, other: str) -> str:
    if one is None or one == other:
        return other
    if EMPTY in (one, other):
        return f"{_grouped(one or other)}?"
    return f"{one}|{other}"


def _grouped(text: str) -> str:
    return text if len(text) == 1 or (text[0] == "⟨" and "⟩" not in text[:-1]) else f"({text})"


def _is_choice(text: str) -> bool:
    """Whether a text has a | outside all parentheses."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            return True
    return False
