"""Files that nobody vouches for: regular files only, no pipe and no device, and bounds to all that a small file can ask for."""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

from glyptic.errors import FileError
from glyptic.text import quoted

MOST_BYTES = 1 << 30  # of a file that is read at once: more is not held in memory without being asked
MOST_JSON = 1 << 25  # of a JSON file: 32 MB, for its values may take twenty times as much
MOST_DEPTH = 400  # of brackets in brackets: far from where Python's own stack ends, for those who walk the values too
MOST_DIGITS = 700  # of a number: the widest format that there is has 308 in front of the point
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(
    path: str | os.PathLike[str], most: int = MOST_BYTES, what: str = "", *, within: str | os.PathLike[str] | None = None
) -> bytes:
    """A regular file of at most `most` bytes; `what` names its kind in the sentences that refuse it.

    A file that is not in the folder `within`, or below it, is not opened: neither by a link, nor by one that takes the place of
    what was looked at a moment ago.

    >>> read_bytes(os.devnull)
    Traceback (most recent call last):
    glyptic.errors.FileError: cannot read /dev/null: it is not a regular file.
    """
    shown = quoted_path(path)
    try:
        handle = os.open(path, _READ) if within is None else _open_within(path, within)
        try:
            data = _regular(handle, most)
        finally:
            os.close(handle)
    except _Refused as error:
        raise FileError(f"{shown} is not {what}: {error}." if what else f"cannot read {shown}: {error}.") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        named = f"{what} {shown}" if what else shown
        raise FileError(f"cannot read {named}: {getattr(error, 'strerror', None) or error}.") from None
    return data


def read_json(
    path: str | os.PathLike[str],
    most: int = MOST_JSON,
    what: str = "",
    *,
    nan: bool = False,
    within: str | os.PathLike[str] | None = None,
) -> Any:
    """What a JSON file of at most `most` bytes holds, under the bounds of `parse_json`; `within` as for `read_bytes`."""
    return parse_json(read_bytes(path, most, what, within=within), quoted_path(path), what, nan=nan)


def parse_json(data: bytes, where: str, what: str = "", *, nan: bool = False) -> Any:
    """What JSON says, or one sentence that begins with `where`, a place that is fit to print.

    Beyond JSON's own rules no name is given twice in an object, brackets are not nested without end, numbers have a bounded
    number of digits, and there are no NaN and Infinity unless `nan` admits them.

    >>> parse_json(b'{"d": 2, "d": 3}', "config.json")
    Traceback (most recent call last):
    glyptic.errors.FileError: config.json is not a JSON file: an object in it names "d" twice.
    """
    try:
        if _deeper(data, MOST_DEPTH):
            raise _Refused(f"its brackets are nested more than {MOST_DEPTH} deep")
        found = json.loads(
            data.decode(),
            object_pairs_hook=_once,
            parse_constant=float if nan else _no_constant,
            parse_int=_bounded_whole,
            parse_float=_finite,
        )
        if re.search(rb"\\u[dD][89a-fA-F]", data):
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except _Refused as error:
        why = str(error)
    except json.JSONDecodeError as error:
        why = f"it is not JSON, or was cut short (line {error.lineno})"
    except UnicodeDecodeError:
        why = "it is not JSON, for it is not UTF-8"
    except UnicodeEncodeError:
        why = "a text in it has half a character, a surrogate alone"
    raise FileError(f"{where} is not {what or 'a JSON file'}: {why}.")


def quoted_path(path: str | os.PathLike[str]) -> str:
    """A path in a sentence: escaped where it has what could mislead or break the line, cut where it has no end."""
    text = os.fspath(path)
    return text if text.isprintable() and text.isascii() and len(text) <= 500 else quoted(text, 500)


class _Refused(ValueError):
    """What is not taken, and why."""


def _open_within(path: str | os.PathLike[str], within: str | os.PathLike[str]) -> int:
    """Open what a path leads to if that is in a folder: from there down, name by name, and by no link that came since."""
    root, real = Path(os.path.realpath(within)), Path(os.path.realpath(path))
    if root not in real.parents:
        raise _Refused("it leads out of the opened folder")
    if os.open not in os.supports_dir_fd:  # Windows, where links are for administrators: what was resolved is opened
        return os.open(real, _READ)
    *folders, name = real.relative_to(root).parts
    handle = os.open(root, _READ | os.O_DIRECTORY)
    for step, flags in [*((folder, os.O_DIRECTORY) for folder in folders), (name, 0)]:
        try:
            below = os.open(step, _READ | os.O_NOFOLLOW | flags, dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def _regular(handle: int, most: int) -> bytes:
    """All bytes of an open file; a pipe or a device is not waited for."""
    status = os.fstat(handle)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise _Refused("it is not a regular file")
    with os.fdopen(handle, "rb", closefd=False) as file:
        data = file.read(most + 1) if status.st_size <= most else b""
    if status.st_size > most or len(data) > most:  # it may grow while it is read
        raise _Refused(f"it has more than {most:,} bytes, and no more are read")
    return data


def _deeper(data: bytes, most: int) -> bool:
    """Whether brackets outside of texts are nested deeper than this; counted before anything recursive reads them."""
    if data.count(b"[") + data.count(b"{") <= most:
        return False
    brackets = re.sub(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', b"", data, flags=re.DOTALL).translate(None, _OTHERS)
    return any(depth > most for depth in accumulate(1 if bracket in b"[{" else -1 for bracket in brackets))


_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


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
