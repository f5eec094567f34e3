"""Files that nobody vouches for, read as data: a `JsonPart` of a JSON file is asked for what it must be, or refused.

What is read has bounds, so that a small file cannot ask for much: bytes of the file, depth, digits, lengths of texts.

>>> part = JsonPart({"name": "x", "position": 1.0}, "the claim")
>>> sorted(part.record("name", "position"))
['name', 'position']
>>> part.record("name", "position")["position"].whole()
Traceback (most recent call last):
...
glyptic.errors.FileError: the claim.position must be a whole number, and is 1.0.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from glyptic import files
from glyptic.errors import FileError
from glyptic.files import MOST_DIGITS
from glyptic.files import quoted_path as quoted_path
from glyptic.files import sealed as sealed
from glyptic.text import printable, quoted

MOST_BYTES = 1 << 25  # of a file: 32 MB, for its values may take twenty times as much
MOST_CHARACTERS = 4096  # of a text that is a name, a number or a sentence

Read = TypeVar("Read")


@dataclass(frozen=True)
class JsonPart:
    """A value in a JSON file, and where it is."""

    value: Any
    place: str

    def record(self, *names: str, optional: Iterable[str] = ()) -> dict[str, JsonPart]:
        """The parts of an object, which has these names and no others."""
        self._need(isinstance(self.value, dict), "an object with named parts")
        for name in names:
            if name not in self.value:
                raise FileError(f"{self.place} has no {quoted(name)}.")
        for name in self.value:
            if name not in names and name not in optional:
                raise FileError(f"{self.place} has {quoted(name)}, which is not a part of it.")
        return self.entries()

    def entries(self, most: int = 1 << 20) -> dict[str, JsonPart]:
        """The parts of an object, whatever their names."""
        self._need(isinstance(self.value, dict), "an object with named parts")
        self._need(len(self.value) <= most, f"at most {most} parts", f"{len(self.value)}")
        return {name: JsonPart(value, f"{self.place}.{name}" if _plain(name) else f"{self.place}[{quoted(name)}]")
                for name, value in self.value.items()}  # fmt: skip

    def items(self, most: int = 1 << 20, exactly: int | None = None) -> list[JsonPart]:
        """The items of a list."""
        self._need(isinstance(self.value, list), "a list")
        self._need(len(self.value) <= most, f"a list of at most {most} items", f"one of {len(self.value)}")
        self._need(exactly in (None, len(self.value)), f"a list of {exactly} items", f"one of {len(self.value)}")
        return [JsonPart(value, f"{self.place}[{number}]") for number, value in enumerate(self.value)]

    def text(self, most: int = MOST_CHARACTERS) -> str:
        """A text."""
        self._need(isinstance(self.value, str), "a text")
        self._need(len(self.value) <= most, f"a text of at most {most} characters", f"one of {len(self.value)}")
        self._need(not any("\ud800" <= c <= "\udfff" for c in self.value), "a text of whole characters")
        return str(self.value)

    def texts(self, most: int = 1 << 20) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(part.text() for part in self.items(most))

    def whole(self, least: int | None = None, most: int | None = None) -> int:
        """A whole number: no Boolean, and no 1.0."""
        self._need(type(self.value) is int, "a whole number")
        self._need(least is None or self.value >= least, f"a whole number from {least} up")
        self._need(most is None or self.value <= most, f"a whole number up to {most}")
        return int(self.value)

    def wholes(self, least: int | None = None, most: int | None = None, count: int = 1 << 26) -> list[int]:
        """A list of whole numbers."""
        self._need(isinstance(self.value, list), "a list of whole numbers")
        self._need(len(self.value) <= count, f"a list of at most {count} whole numbers", f"one of {len(self.value)}")
        for number, value in enumerate(self.value):
            if type(value) is not int or (least is not None and value < least) or (most is not None and value > most):
                JsonPart(value, f"{self.place}[{number}]").whole(least, most)
        return list(self.value)

    def flag(self) -> bool:
        """true or false."""
        self._need(isinstance(self.value, bool), "true or false")
        return bool(self.value)

    def seconds(self) -> float:
        """A time, in seconds."""
        self._need(type(self.value) in (int, float) and 0 <= self.value < 1e12, "a number of seconds")
        return float(self.value)

    def one_of(self, choices: Iterable[str]) -> str:
        """One of some words."""
        known = list(choices)
        self._need(isinstance(self.value, str) and self.value in known, f"one of {', '.join(known)}")
        return str(self.value)

    def fraction(self) -> Fraction:
        """A fraction in lowest terms, as text."""
        text = self.text(2 * MOST_DIGITS)
        self._need(re.fullmatch(r"-?(0|[1-9][0-9]*)(/[1-9][0-9]*)?", text) is not None, "a fraction such as 3/4")
        found = Fraction(text)
        self._need(str(found) == text, "a fraction in lowest terms")
        return found

    def optional(self, read: Callable[[JsonPart], Read]) -> Read | None:
        """null, or what `read` makes of it."""
        return None if self.value is None else read(self)

    def refuse(self, must: str, found: str | None = None) -> NoReturn:
        """The sentence that says what must be here, and what is."""
        raise FileError(f"{self.place} must be {must}, and is {_shown(self.value) if found is None else found}.")

    def _need(self, met: bool, must: str, found: str | None = None) -> None:
        if not met:
            self.refuse(must, found)


def _plain(name: str) -> bool:
    return re.fullmatch(r"\w{1,60}", name) is not None


def _shown(value: Any) -> str:
    """A value as far as one line has room for it."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else f"a number of {value.bit_length()} bits"
    return quoted(value, 80) if isinstance(value, str) else repr(value)


# Files ----------------------------------------------------------------------------------------------------------------


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """What a JSON file holds; `what` names its kind in the sentences that refuse it."""
    return files.read_json(path, MOST_BYTES, what)


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are written alike: 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# Names that stand in a printed claim without quotes, and so must not look like more than a name -----------------------------

_MOST = 64
# What stands for something else where claims are printed, though it looks like a name.
_TAKEN = frozenset(
    ("B", "least", "true", "false", "answer", "input", "relu", "exp", "root", "abs", "max", "min", "let", "if", "else")
)
# Words between which a name would end: "before.x or before.y@0" is one coordinate, and looks like two.
_JOINING = frozenset(
    ("and", "or", "not", "if", "then", "else", "iff", "implies", "is", "in", "of", "at", "from", "with", "for", "all", "some")
)


def is_variable(name: str) -> bool:
    """Letters, digits and underscores, and no word that means something in a claim.

    >>> [is_variable(name) for name in ("x", "h_1", "B", "x = 0", "")]
    [True, True, False, False, False]
    """
    return re.fullmatch(rf"[^\W\d]\w{{0,{_MOST - 1}}}", name) is not None and name not in _TAKEN and _visible(name)


def is_coordinate(name: str) -> bool:
    """Words without any sign or word that claims are built of; in a claim it stands between a point and an @.

    >>> [is_coordinate(name) for name in ("a's turn", "f0→1", "x@0 = 0 ∨ before.x", "x or before.y", "x\\n")]
    [True, True, False, False, False]
    """
    signs = re.search(r'[@=≠<≤>≥∧∨¬⇒⇔\[\]{}(),:;|·−+*/"\\]|\s\s', name)
    joins = " " in name and not _JOINING.isdisjoint(name.lower().split())
    return 0 < len(name) <= _MOST and signs is None and not joins and name == name.strip() and _visible(name)


def is_token(name: str) -> bool:
    """One visible character, or a word of letters, digits and a few signs."""
    return ((len(name) == 1 and name != " ") or re.fullmatch(rf"[\w.+'#$-]{{1,{_MOST}}}", name) is not None) and _visible(name)


def _visible(name: str) -> bool:
    return printable(name) == name
