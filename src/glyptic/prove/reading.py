"""Files that nobody vouches for, read as data: a `Part` of a JSON file is asked for what it must be, or refused in one sentence.

What is read has bounds, so that a small file cannot ask for much: bytes of the file, depth, digits, lengths of texts.

>>> part = Part({"name": "x", "position": 1.0}, "the claim")
>>> sorted(part.record("name", "position"))
['name', 'position']
>>> part.record("name", "position")["position"].whole()
Traceback (most recent call last):
...
glyptic.errors.FileError: the claim.position must be a whole number, and is 1.0.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from glyptic.errors import FileError
from glyptic.prove.words import quoted

MOST_BYTES = 1 << 25  # of a file: 32 MB, for its values may take twenty times as much
MOST_DIGITS = 700  # of a number: the widest format that there is has 308 in front of the point
MOST_CHARACTERS = 4096  # of a text that is a name, a number or a sentence

Read = TypeVar("Read")


@dataclass(frozen=True)
class Part:
    """A value in a JSON file, and where it is."""

    value: Any
    place: str

    def record(self, *names: str, optional: Iterable[str] = ()) -> dict[str, Part]:
        """The parts of an object, which has these names and no others."""
        self._need(isinstance(self.value, dict), "an object with named parts")
        for name in names:
            if name not in self.value:
                raise FileError(f"{self.place} has no {quoted(name)}.")
        for name in self.value:
            if name not in names and name not in optional:
                raise FileError(f"{self.place} has {quoted(name)}, which is not a part of it.")
        return self.entries()

    def entries(self, most: int = 1 << 20) -> dict[str, Part]:
        """The parts of an object, whatever their names."""
        self._need(isinstance(self.value, dict), "an object with named parts")
        self._need(len(self.value) <= most, f"at most {most} parts", f"{len(self.value)}")
        return {name: Part(value, f"{self.place}.{name}" if _plain(name) else f"{self.place}[{quoted(name)}]")
                for name, value in self.value.items()}  # fmt: skip

    def items(self, most: int = 1 << 20, exactly: int | None = None) -> list[Part]:
        """The items of a list."""
        self._need(isinstance(self.value, list), "a list")
        self._need(len(self.value) <= most, f"a list of at most {most} items", f"one of {len(self.value)}")
        self._need(exactly in (None, len(self.value)), f"a list of {exactly} items", f"one of {len(self.value)}")
        return [Part(value, f"{self.place}[{number}]") for number, value in enumerate(self.value)]

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
                Part(value, f"{self.place}[{number}]").whole(least, most)
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

    def optional(self, read: Callable[[Part], Read]) -> Read | None:
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
    """What a JSON file holds; `what` names its kind in the sentences that refuse it.

    Beyond JSON's own rules no name is given twice in an object, and there is no NaN, Infinity, or number with very many digits.
    """
    shown = quoted_path(path)
    text = _read_text(Path(path), what, shown)
    try:
        return json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_int=_bounded_whole,
            parse_float=_finite,
        )
    except _Refused as error:
        raise FileError(f"{shown} is not {what}: {error}.") from None
    except RecursionError:
        raise FileError(f"{shown} is not {what}: its brackets are nested too deep.") from None
    except ValueError:
        raise FileError(f"{shown} is not {what}: it is not JSON, or was cut short.") from None


def quoted_path(path: str | os.PathLike[str]) -> str:
    """A path in a sentence: escaped where it has what could mislead or break the line."""
    text = os.fspath(path)
    return text if text.isprintable() and text.isascii() else quoted(text, 500)


class _Refused(ValueError):
    """JSON that is not taken."""


def _read_text(path: Path, what: str, shown: str) -> str:
    """The bytes of a regular file, bounded; a pipe or a device is not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"{shown} is not {what}: it is not a regular file.")
            data = file.read(MOST_BYTES + 1) if status.st_size <= MOST_BYTES else b""
    except FileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        raise FileError(f"cannot read {what} {shown}: {getattr(error, 'strerror', None) or error}.") from None
    if status.st_size > MOST_BYTES or len(data) > MOST_BYTES:
        raise FileError(f"{shown} is not {what}: it is larger than {MOST_BYTES >> 20} MB.")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FileError(f"{shown} is not {what}: it is not JSON, or was cut short.") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise _Refused(f"an object in it names {quoted(twice, 80)} twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"it has {name}, which is no number of JSON")


def _bounded_whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _Refused(f"it has a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    found = float(digits)
    if not math.isfinite(found) or len(digits) > MOST_DIGITS:
        raise _Refused(f"it has a number beyond all bounds, {digits[:20]}…")
    return found


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the digest of everything else in it.

    >>> one = sealed({"says": "x = x"})
    >>> sealed(one) == one, sealed({**one, "says": "x = 0"}) == {**one, "says": "x = 0"}
    (True, False)
    """
    rest = {name: part for name, part in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**rest, "digest": hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()}


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are written alike: 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
