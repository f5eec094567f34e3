"""Reading JSON, and refusing what is not as it should be.

Two things can go wrong: a file that cannot be read ends the program with one sentence; what cannot be computed is left on trust.
"""

from __future__ import annotations

import json
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
