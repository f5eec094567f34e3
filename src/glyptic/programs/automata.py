"""A transformer for any automaton: the states of a whole prefix in ⌈log₂ n⌉ layers, in formats as small as F(2).

Position i begins with the function δ(x_i, ·): Q → Q as a 0–1 table f. Layer k looks up the table g at position i − 2^k and
composes, f ← f ∘ g, so that after layer k position i holds the function of the 2^(k+1) tokens that end in i. Positions below 2^k
look at themselves, and their composition is switched off. The answer reads the row of the start state.
"""

from __future__ import annotations

from itertools import product
from typing import Annotated

from glyptic.arguments import Count, checked, shown
from glyptic.carve.building import MOST_WEIGHTS, Draft, Row, Unit
from glyptic.carve.examples.parts import ONE, check_vocabulary, look_up, needs
from glyptic.carve.spaces import Space
from glyptic.errors import ModelError
from glyptic.exact import Layer, Transformer
from glyptic.languages import Automaton, regular, tomita
from glyptic.numbers import AnyFormat, Format, as_format

InputLength = Annotated[int, Count(1, 10_000)]


@checked
def recogniser(automaton: Automaton, format: Format, max_length: InputLength) -> Transformer:
    """A decider of the automaton's language, with the answers NO and YES, for inputs up to a length.

    It is right wherever [exp(−B)] = 0 and 0, 1, 2 are values, and made in other formats too, where the answers may be wrong.

    >>> from glyptic.numbers import Fixed
    >>> T = recogniser(tomita(4), Fixed(2), 8)
    >>> T.answer("1001"), T.answer("10001")
    ('YES', 'NO')
    """
    _refuse_huge(automaton, max_length)
    states, here = range(len(automaton.moves)), Space.binary("code", max_length)
    levels = range(len(here))
    f, g = (Space(table, product(states, states), "") for table in "fg")
    stay, back = Space("stay", levels, ""), [Space.binary(f"back{k}", max_length) for k in levels]
    draft = Draft(format, (ONE, stay, f, g, here, *back))

    def position(i: int) -> Row:
        row: Row = {ONE: 1, **here.signs(i)}
        for k in levels:
            stays = i < 1 << k
            row = {**row, stay[k]: int(stays), **back[k].signs(i if stays else i - (1 << k))}
        return row

    tokens = {
        token: {f[a, moves[number]]: 1 for a, moves in enumerate(automaton.moves)}
        for number, token in enumerate(automaton.alphabet)
    }
    start, accepting = automaton.start, automaton.accepting
    answers = {name: {f[start, q]: 1 for q in states if (q in accepting) == yes} for name, yes in (("NO", False), ("YES", True))}
    looked_up = dict(zip(g, f, strict=True))
    composed = [draft.feed_forward(_composition(states, f, g, stay[k])) for k in levels]
    layers = [Layer((look_up(draft, back[k], here, looked_up),), composed[k]) for k in levels]
    name = f"recogniser of {automaton.name}"
    return draft.transformer(tokens, answers, [position(i) for i in range(max_length)], layers, name=name)


def _composition(states: range, f: Space, g: Space, stay: str) -> list[Unit]:
    """f ← f ∘ g unless the position stays; g ← 0. Hidden units relu(g(a→b) + f(b→c) − 1 − stay), and f, g themselves."""
    units: list[Unit] = []
    for a, c in product(states, states):
        units += [Unit({g[a, b]: 1, f[b, c]: 1, ONE: -1, stay: -1}, {f[a, c]: 1}) for b in states]
        units += [Unit({f[a, c]: 1, stay: -1}, {f[a, c]: -1}), Unit({g[a, c]: 1}, {g[a, c]: -1})]
    return units


def _refuse_huge(automaton: Automaton, max_length: int) -> None:
    """Before anything is built: the hidden units are as many as triples of states."""
    states, levels = len(automaton.moves), len(Space.binary("code", max_length))
    width, hidden = 1 + 2 * states**2 + levels * (levels + 2), states**3 + 2 * states**2
    weights = width * (max_length + levels * 2 * (hidden + states**2 + 2 * levels))
    if weights > MOST_WEIGHTS:
        raise ModelError(
            f"the recogniser of {shown(automaton.name)}, of {states} states and inputs up to {max_length}, would "
            f"have {weights:,} weights, more than the {MOST_WEIGHTS:,} that are built; choose a smaller automaton or max_length."
        )


# By their names -----------------------------------------------------------------------------------------------------------


@checked
def by_expression(
    format: AnyFormat | str, expression: str, max_length: InputLength = 16, vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """The recogniser of a regular expression over single characters, as `regex:EXPRESSION` names it.

    >>> by_expression("fixed:4", "(01)*", 8).name
    'regex:(01)*,8'
    """
    check_vocabulary("regex", vocabulary)
    given = f"expression={expression}" if "=" in expression else expression
    name = f"regex:{given},{max_length}" + (f",vocabulary={vocabulary}" if vocabulary != "01" else "")
    return _named(name, regular(expression, vocabulary), format, max_length, force)


@checked
def by_number(
    format: AnyFormat | str, number: Annotated[int, Count(1, 7)], max_length: InputLength = 16, *, force: bool = False
) -> Transformer:
    """The recogniser of a language of Tomita, as `tomita:NUMBER` names it."""
    return _named(f"tomita:{number},{max_length}", tomita(number), format, max_length, force)


def _named(name: str, automaton: Automaton, format: AnyFormat | str, max_length: int, force: bool) -> Transformer:
    """Refused, unless forced, in formats where it may be wrong."""
    made_in = as_format(format)
    needs(name.partition(":")[0], made_in, max_length, looks_up=True, force=force)
    return recogniser(automaton, made_in, max_length).replace(name=name)  # type: ignore[arg-type]
