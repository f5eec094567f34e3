"""`glyptic combine`: one decider from several, by an expression such as `parity:8 & ~contains:11,8`.

either = odd ("|" odd)*       odd = both ("^" both)*       both = one ("&" one)*
one    = "~" one | "(" either ")" | name | 'quoted name'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_, invert, or_, xor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glyptic.arguments import FolderToFill, refused, shown
from glyptic.cli.models import Expression, FormatName, Yes
from glyptic.errors import InputError

if TYPE_CHECKING:
    from glyptic.exact import Transformer

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


@dataclass(frozen=True)
class Combine:
    """Combine deciders: & and, | or, ^ exclusive or, ~ not, parentheses.

    Operands are built-in deciders or folders, in quotes if their names hold such signs. Prints the frame and writes
    the result to a folder.

    Example: glyptic combine "parity:8 & ~(contains:11,8 | majority:8)" --out both
    """

    expression: Expression
    """such as "parity:8 & ~contains:11,8" """
    yes: Yes = None
    """the answer that means yes, of deciders whose answers are not named NO and YES (SÍ): 1 where they are 0 and 1; in the
    result they are named NO and YES"""
    out: FolderToFill = Path("combined")
    """the folder to write: a new one, or one that holds an exact transformer and nothing else"""
    overwrite: bool = False
    """replace the config.json and model.safetensors of anyone, and keep other files"""
    format: FormatName = None
    """the number format, such as fixed:8 or float:4,3"""

    def main(self) -> None:
        from glyptic.carve import closure
        from glyptic.exact.files import check_place

        check_place(self.out, overwrite=self.overwrite)
        parse(self.expression, lambda name: 0)  # a slip of the pen is told before any file is opened
        joins = {"|": closure.disjunction, "^": closure.exclusive, "&": closure.conjunction}
        made = parse(self.expression, self._deciders().__getitem__, joins)
        made = made.replace(name=" ".join(self.expression.split()))
        made.save(self.out, overwrite=self.overwrite)
        print(f"{made.frame()}\n\nwritten to {self.out}")

    def _deciders(self) -> dict[str, Transformer]:
        """The deciders by their names in the expression; where --yes tells which answer is which, these are named NO and YES."""
        from glyptic.carve.deciding import names_tell, no_and_yes
        from glyptic.cli.models import open_model

        models = {token.text: open_model(token.text, self.format) for token in _tokens(self.expression) if token.is_name}
        answers = {answer for model in models.values() for answer in model.answers}
        if self.yes is None:
            return models
        if self.yes not in answers:
            raise refused("--yes", self.yes, f"an answer of a decider; these answer {', '.join(sorted(answers))}")
        for name, model in models.items():
            if self.yes in model.answers or not names_tell(model.answers):
                no, _ = no_and_yes(model, self.yes)
                models[name] = model.replace(answers=tuple("NO" if answer == no else "YES" for answer in model.answers))
        return models
