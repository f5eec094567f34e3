"""Languages that have names: the seven of Tomita (1982), and whether an automaton's name says its language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from glyptic.arguments import Count, checked
from glyptic.errors import InputError
from glyptic.languages.automata import Automaton, walk
from glyptic.languages.expressions import DEEPEST, Regex, depth, parse, regular

TOMITA_EXPRESSIONS = {
    1: "1*",
    2: "(10)*",
    3: "~(((0|1)*0)?1(11)*0(00)*(1(0|1)*)?)",  # no odd run of 1s with an odd run of 0s right after it
    4: "(1|01|001)*(0|00)?",
    5: "(00|11|(01|10)(00|11)*(01|10))*",
    6: "(0(01)*(1|00)|1(10)*(0|11))*",
    7: "0*1*0*1*",
}


@checked
def tomita(number: Annotated[int, Count(1, 7)]) -> Automaton:
    """Tomita's language of a number from 1 to 7, as its minimal automaton.

    >>> tomita(4).accepts("1001"), tomita(4).accepts("10001"), tomita(4).name
    (True, False, 'Tomita 4')
    """
    return regular(TOMITA_EXPRESSIONS[number], name=f"Tomita {number}")


_LONGEST_NAME, _MOST_PAIRS = 200, 500  # beyond, an expression is not compared: it may have very many states


def named_truly(automaton: Automaton) -> bool | None:
    """Whether a name that says the language says the right one; None if it says none, or one too long to be compared.

    >>> from dataclasses import replace
    >>> even = regular("(0*10*1)*0*")
    >>> named_truly(even), named_truly(even.complement()), named_truly(tomita(3))
    (True, True, True)
    >>> named_truly(replace(even, name="(0|1)*1")), named_truly(replace(even, name="Tomita 1"))
    (False, False)
    >>> named_truly(replace(even, name="an even number of 1s")) is None
    True
    """
    name, swapped = automaton.name, False
    while name.startswith("not "):
        name, swapped = name.removeprefix("not "), not swapped
    meant = automaton if not swapped else automaton.complement()
    if re.fullmatch(r"Tomita [0-9]+", name):
        known = name.removeprefix("Tomita ") in map(str, range(1, 8))
        return known and set(meant.alphabet) == {"0", "1"} and meant.equivalent(tomita(int(name[7:])))
    if len(name) > _LONGEST_NAME or depth(name) > DEEPEST:
        return None
    try:
        return _is_language_of(meant, name)
    except (InputError, RecursionError):
        return None


def _is_language_of(automaton: Automaton, expression: str) -> bool | None:
    """Both read the same texts side by side, the derivatives of the expression as its states; None if there are too many."""

    start, following = parse(expression, automaton.alphabet)

    def after(pair: tuple[int, Regex]) -> Iterator[tuple[int, Regex]]:
        return zip(automaton.moves[pair[0]], following(pair[1]), strict=True)

    for number, (state, regex) in enumerate(walk((automaton.start, start), after)):
        if (state in automaton.accepting) != regex.nullable or number == _MOST_PAIRS:
            return None if number == _MOST_PAIRS else False
    return True


__all__ = ["TOMITA_EXPRESSIONS", "named_truly", "tomita"]
