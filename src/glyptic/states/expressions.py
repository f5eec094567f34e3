"""A regular expression from an automaton, by taking states away one after the other; as `glyptic.languages.regular` reads it."""

from __future__ import annotations

from glyptic.arguments import checked
from glyptic.errors import InputError
from glyptic.languages.automata import Automaton
from glyptic.states.classes import Asked

_LONGEST = 4000  # characters
_MOST_STATES = 4000
_SIGNS = ".|&~*+?()"  # of expressions: as symbols they are put in brackets of their own, as are longer ones
EMPTY = ""


@checked
def expression_of(automaton: Automaton, asked: Asked | None = None) -> str:
    """A regular expression of the same language; where it would be very long, that is told. `asked` may raise on the way.

    >>> from glyptic.languages import regular
    >>> expression_of(regular(".*1"))
    '0*1(1|00*1)*'
    """
    small = automaton.minimal()
    if len(small.moves) > _MOST_STATES:
        raise _too_long(automaton.name)
    ways = _Ways(len(small.moves))
    ways.add(ways.start, small.start, EMPTY)
    for state, row in enumerate(small.moves):
        for symbol, following in zip(small.alphabet, row, strict=True):
            ways.add(state, following, quoted(symbol))
    for state in small.accepting:
        ways.add(state, ways.end, EMPTY)
    left = set(range(len(small.moves)))
    while left:
        if asked is not None:
            asked()
        chosen = min(left, key=ways.weight)
        left.remove(chosen)
        ways.take_away(chosen, automaton.name)
    found = ways.out[ways.start].get(ways.end)
    return "~(.*)" if found is None else found or "()"


class _Ways:
    """Expressions of the ways between states; two more are before the start and after the end."""

    def __init__(self, states: int) -> None:
        self.start, self.end = states, states + 1
        self.out: list[dict[int, str]] = [{} for _ in range(states + 2)]
        self.into: list[set[int]] = [set() for _ in range(states + 2)]

    def add(self, a: int, b: int, text: str) -> str:
        self.out[a][b] = _either(self.out[a].get(b), text)
        self.into[b].add(a)
        return self.out[a][b]

    def weight(self, state: int) -> int:
        """How much it costs to take a state away."""
        into, out = self.into[state] - {state}, self.out[state].keys() - {state}
        long = sum(len(self.out[a][state]) for a in into) + sum(map(len, self.out[state].values()))
        return len(into) * len(out) * (1 + long)

    def take_away(self, state: int, name: str) -> None:
        """Every way through a state becomes one past it."""
        loop = self.out[state].pop(state, None)
        around = EMPTY if not loop else f"{_grouped(loop)}*"
        into = sorted(self.into[state] - {state})
        for a in into:
            before = self.out[a].pop(state)
            for b, after in self.out[state].items():
                if len(self.add(a, b, _joined(before, around, after))) > _LONGEST:
                    raise _too_long(name)
        for b in self.out[state]:
            self.into[b].discard(state)
        self.out[state], self.into[state] = {}, set()


def _too_long(name: str) -> InputError:
    return InputError(f"the expression of {name} has more than {_LONGEST:,} characters or states; take its automaton.")


def quoted(symbol: str) -> str:
    """A symbol as expressions have it."""
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
