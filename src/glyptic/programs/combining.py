"""One decider from several, by an expression such as `parity:8 & ~contains:11,8`.

either = odd ("|" odd)*       odd = both ("^" both)*       both = one ("&" one)*
one    = "~" one | "(" either ")" | name | 'quoted name'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, invert, or_, xor
from typing import Any

from glyptic.arguments import checked, refused, shown
from glyptic.errors import InputError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat

Leaf = Callable[[str], Any]
Join = Callable[..., Any]  # of all the operands of a chain at once: a & b & c is one conjunction of three
_TOKEN = re.compile(r"""\s*(?:([&|^~()])|'([^']*)'|"([^"]*)"|([^\s&|^~()'"]+))""")
_DEEPEST = 100  # of parentheses and negations: an expression beyond that is a mistake, not a decider
_MOST = 100  # deciders: side by side they are as wide as all of them together
_BY_TWOS: Mapping[str, Join] = {
    sign: lambda *operands, by=by: reduce(by, operands) for sign, by in {"|": or_, "^": xor, "&": and_}.items()
}


def parse(text: str, leaf: Leaf, joins: Mapping[str, Join] = _BY_TWOS) -> Any:
    """Read an expression; names become values by `leaf`, which then meet by the operators &, ^, | and ~.

    >>> parse("a & ~(b | c)", {"a": 0b1100, "b": 0b1010, "c": 0b0001}.__getitem__)
    4
    """
    tokens = _tokens(text)
    names = sum(token.is_name for token in tokens)
    if names > _MOST:
        raise InputError(f"the expression {shown(text)} joins {names:,} deciders; {_MOST} are the most.")
    reader = _Reader(text, tokens, leaf, joins)
    value = reader.chain(0, 0)
    if not reader.at_end:
        raise reader.error("an operator &, | or ^ is missing")
    return value


@dataclass(frozen=True)
class _Token:
    text: str
    column: int
    is_name: bool


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            column = place + len(text[place:]) - len(text[place:].lstrip()) + 1
            raise InputError(f"the expression {shown(text)} has a quotation mark at column {column} that is never closed.")
        group = match.lastindex or 1
        found.append(_Token(match[group], match.start(group) + 1, group != 1))
        place = match.end()
    return found


class _Reader:
    """Recursive descent over the tokens of one expression."""

    chains = ("|", "^", "&")  # what comes later binds closer

    def __init__(self, text: str, tokens: list[_Token], leaf: Leaf, joins: Mapping[str, Join]) -> None:
        self.text, self.tokens, self.leaf, self.joins, self.place = text, tokens, leaf, joins, 0

    @property
    def at_end(self) -> bool:
        return self.place == len(self.tokens)

    def error(self, what: str) -> InputError:
        where = "at its end" if self.at_end else f"before column {self.tokens[self.place].column}"
        return InputError(f"the expression {shown(self.text)}: {what} {where}.")

    def take(self, symbol: str) -> bool:
        there = not self.at_end and not self.tokens[self.place].is_name and self.tokens[self.place].text == symbol
        self.place += there
        return there

    def chain(self, level: int, depth: int) -> Any:
        """Operands of one operator, joined all at once; the next level binds closer."""
        if level == len(self.chains):
            return self.one(depth)
        symbol = self.chains[level]
        operands = [self.chain(level + 1, depth)]
        while self.take(symbol):
            operands.append(self.chain(level + 1, depth))
        return operands[0] if len(operands) == 1 else self.joins[symbol](*operands)

    def one(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.error(f"more than {_DEEPEST} parentheses and negations inside each other")
        if self.take("~"):
            return invert(self.one(depth + 1))
        if self.take("("):
            value = self.chain(0, depth + 1)
            if not self.take(")"):
                raise self.error("a closing parenthesis is missing")
            return value
        if self.at_end or not self.tokens[self.place].is_name:
            raise self.error("a decider's name is missing")
        self.place += 1
        return self.leaf(self.tokens[self.place - 1].text)


@checked
def combine(expression: str, format: AnyFormat | str | None = None, *, yes: str | None = None) -> Transformer:
    """The decider that an expression of deciders says: & and, | or, ^ exclusive or, ~ not, parentheses.

    Operands are named as `programs.open` takes them, in quotes if their names hold such signs. `yes` is the answer that means
    yes, of deciders whose answers are not named NO and YES; in the result they are named so.

    >>> combine("parity:8 & ~'regex:.*11.*,8'", "fixed:4").answer("0101101")
    'NO'
    """
    from glyptic.carve import closure

    parse(expression, lambda name: 0)  # a slip of the pen is told before any file is opened
    joins = {"|": closure.disjunction, "^": closure.exclusive, "&": closure.conjunction}
    made = parse(expression, _deciders(expression, format, yes).__getitem__, joins)
    return made.replace(name=" ".join(expression.split()))


def _deciders(expression: str, format: AnyFormat | str | None, yes: str | None) -> dict[str, Transformer]:
    """The deciders by their names in the expression; where `yes` tells which answer is which, these are named NO and YES."""
    from glyptic.carve.deciding import names_tell, no_and_yes
    from glyptic.programs.registry import open

    models = {token.text: open(token.text, format) for token in _tokens(expression) if token.is_name}
    answers = {answer for model in models.values() for answer in model.answers}
    if yes is None:
        return models
    if yes not in answers:
        raise refused("yes", yes, f"an answer of a decider; these answer {', '.join(sorted(answers))}")
    for name, model in models.items():
        if yes in model.answers or not names_tell(model.answers):
            no, _ = no_and_yes(model, yes)
            models[name] = model.replace(answers=tuple("NO" if answer == no else "YES" for answer in model.answers))
    return models
