"""A decider without positions reads words of every length: its exact automaton, where it is small enough to be found."""

from __future__ import annotations

from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.languages import Automaton

_MOST_STATES, _SECONDS = 50_000, 20.0


def machine_of(transformer: Transformer, automaton: Automaton) -> str:
    """In a sentence: the smallest automaton of its answers at every length, and whether it is the language; or why not."""
    if bool(transformer.position_embedding.any()):
        return "none: each position has a vector of its own, so that words end where these do"
    unending = transformer.replace(position_embedding=transformer.position_embedding[:1], period=1)
    try:
        found = unending.machine(states=_MOST_STATES, seconds=_SECONDS).minimal()
        said = found.language("YES")
        word = nonempty(automaton).difference(nonempty(said))
    except GlypticError as error:
        return f"not found: {str(error).partition(';')[0].rstrip('.')}"  # what follows is how to go on, which is not asked here
    if " to length " in automaton.name:
        return f"{len(found):,} states, for every length"
    if word is None:
        return f"{len(found):,} states: it is its language, for every length"
    return f"{len(found):,} states: it is its language to length {len(word) - 1}, and wrong first on {''.join(word)!r}"


def nonempty(automaton: Automaton) -> Automaton:
    """The same words but for the empty one, of which deciders say nothing.

    >>> anything = Automaton(("a",), ((0,),), frozenset({0}))
    >>> nonempty(anything).accepts(""), nonempty(anything).accepts("a")
    (False, True)
    """
    start = len(automaton.moves)
    moves = (*automaton.moves, automaton.moves[automaton.start])
    return Automaton(automaton.alphabet, moves, automaton.accepting, start, automaton.name)
