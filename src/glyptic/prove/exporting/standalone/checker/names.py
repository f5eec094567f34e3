"""Names that stand in a printed claim must not look like more than a name: `x = 0 ∨ y` is none."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from .reading import need

TAKEN = ("B", "least", "true", "false", "answer", "input", "relu", "exp", "root", "abs", "max", "min", "let", "if", "else")
JOINING = {"and", "or", "not", "if", "then", "else", "iff", "implies", "is", "in", "of", "at", "from", "with", "for", "all"}


def printable(text: str) -> str:
    """A text in which nothing moves the cursor, begins a line, or turns the direction of writing: such characters as numbers."""
    plain = (c == " " or unicodedata.category(c)[0] not in "CZM" for c in text)
    return "".join(c if good else f"\\u{ord(c):04x}" for c, good in zip(text, plain, strict=True))


def is_variable(name: str) -> bool:
    return name.isidentifier() and len(name) <= 64 and name not in TAKEN and printable(name) == name


def is_coordinate(name: str) -> bool:
    signs = re.search(r'[@=≠<≤>≥∧∨¬⇒⇔\[\]{}(),:;|·−+*/"\\]|\s\s', name)
    joins = " " in name and not JOINING.isdisjoint(name.lower().split())
    return 0 < len(name) <= 64 and not signs and not joins and name == name.strip() and printable(name) == name


def is_token(name: str) -> bool:
    one = len(name) == 1 and name != " "
    return (one or re.fullmatch(r"[\w.+'#$-]{1,64}", name) is not None) and printable(name) == name


def need_names(names: list[str], good: Callable[[str], bool], what: str) -> None:
    for name in names:
        need(good(name), f"{what}: {name[:100]!r} could be taken for more than a name.")


def is_expression(name: str, symbols: list[str]) -> bool:
    """Whether a name is a regular expression over some symbols, none of which is a sign of expressions.

    Two signs of repetition in a row mean something else to Python, so they are left out; so is (?, which begins an extension.
    """
    plain = all(len(a) == 1 for a in symbols) and not set(symbols) & set("()|*+?.") and name != ""
    return plain and set(name) <= {*symbols, *"()|*+?."} and not re.search(r"[*+?][*+?]|\(\?", name)
