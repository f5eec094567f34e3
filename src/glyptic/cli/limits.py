"""Limits as people write them on the command line: refused in one sentence where they cannot be meant, before any work."""

from __future__ import annotations

from math import isfinite
from pathlib import Path

from glyptic.errors import InputError

_PICTURES = (".svg", ".png", ".pdf")


def check_limits(*, seconds: float | None = None, megabytes: int | None = None, workers: int | None = None) -> None:
    """Time and memory that are positive, and at least one worker.

    >>> check_limits(seconds=float("nan"))
    Traceback (most recent call last):
    glyptic.errors.InputError: --seconds nan is no time limit; give a positive number, or leave it out for none.
    """
    if seconds is not None and not (isfinite(seconds) and seconds > 0):
        raise InputError(f"--seconds {seconds:g} is no time limit; give a positive number, or leave it out for none.")
    if megabytes is not None and megabytes < 1:
        raise InputError(f"--megabytes {megabytes} leaves no memory; give a positive number, or leave it out.")
    if workers is not None and workers < 1:
        raise InputError(f"--workers {workers}: nobody does the work; give 1 or more, or leave it out for one a core.")


def check_picture(path: Path | None) -> None:
    """A place where a figure can be drawn."""
    if path is None:
        return
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"--figure {path}: a figure ends in {', '.join(_PICTURES)}.")
    check_written("--figure", path)


def check_written(flag: str, path: Path | None) -> None:
    """A place where a file can be written: in a folder that exists, and not a folder itself."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise InputError(f"{flag} {path} is a folder; name a file.")
        if path.exists() and not path.is_file():  # a file is replaced when it is whole, and so would a device be
            raise InputError(f"{flag} {path} is a device or a pipe; name a file.")
        if not path.parent.is_dir():
            raise InputError(f"{flag} {path}: there is no folder {path.parent}; make it first.")
    except OSError as error:
        raise InputError(f"{flag} {str(path)[:80]!r} cannot be written: {error.strerror or error}.") from None
