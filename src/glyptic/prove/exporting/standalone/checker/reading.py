"""Reading JSON, and refusing what is not as it should be.

Two things can go wrong: a file that cannot be read ends the program with one sentence; what cannot be computed is left on trust.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Unreadable(Exception):
    """The input is not what it should be: status 2."""


class Unable(Exception):
    """Something that this program cannot compute, such as a Python predicate: it is then taken on trust, and said so."""


def need(condition: bool, sentence: str) -> None:
    if not condition:
        raise Unreadable(sentence)


def is_list(data: Any, of: type, what: str) -> list[Any]:
    need(isinstance(data, list) and all(type(item) is of for item in data), f"{what} is not a list of {of.__name__}.")
    return list(data)


def is_sentences(data: Any) -> bool:
    """A list of texts, each of which says something."""
    return isinstance(data, list) and all(isinstance(text, str) and text.strip() for text in data)


def is_count(data: Any, what: str, most: int = 1_000_000) -> int:
    need(type(data) is int and 0 <= data <= most, f"{what} is {data!r}, not a number from 0 to {most}.")
    return int(data)


def fields_of(data: Any, what: str, *names: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object with exactly these fields."""
    need(isinstance(data, dict), f"{what} is not an object with the fields {', '.join(names)}.")
    missing, extra = [n for n in names if n not in data], [n for n in data if n not in (*names, *optional)]
    need(not missing, f"{what} has no field {missing[:1]}.")
    need(not extra, f"{what} has a field {extra[:1]} that means nothing.")
    return dict(data)


def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that gives a name twice is refused, for readers would differ on what it says."""
    found = dict(pairs)
    need(len(found) == len(pairs), "an object of the file gives a name twice.")
    return found


def no_constants(text: str) -> Any:
    raise Unreadable(f"the claim holds {text}, and its numbers are whole or fractions.")


def read_json(path: Path) -> Any:
    """A file's JSON; times, which a verdict has, are the only numbers with a point that anyone reads."""
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=no_twins, parse_constant=no_constants)
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise Unreadable(f"{path} is not JSON, or was cut short.") from None


# Names that stand in a printed claim must not look like more than a name: `x = 0 ∨ y` is none.
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
