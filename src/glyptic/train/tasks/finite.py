"""Data that have an end: every epoch goes through all of them once, in an order that is a function of seed and epoch."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from glyptic.errors import FileError
from glyptic.files import quoted_path, read_bytes

_MOST_BYTES = 1 << 29


def places(seed: int, first: int, count: int, size: int) -> list[tuple[int, int]]:
    """Places `first`, `first` + 1, … of an endless walk through `size` data, as (epoch, which datum).

    >>> walk = places(seed=0, first=0, count=6, size=3)
    >>> [epoch for epoch, _ in walk], sorted(which for _, which in walk[:3]), sorted(which for _, which in walk[3:])
    ([0, 0, 0, 1, 1, 1], [0, 1, 2], [0, 1, 2])
    >>> places(0, 4, 2, 3) == walk[4:]
    True
    """
    return [
        (place // size, int(_order(seed, place // size, size)[place % size])) for place in range(first, first + count)
    ]


@lru_cache(maxsize=4)
def _order(seed: int, epoch: int, size: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, epoch]).permutation(size)


def digest(data: bytes) -> str:
    """Sixteen letters that tell data apart.

    >>> digest(b"") == digest(b"a"), len(digest(b""))
    (False, 16)
    """
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def is_text(name: str) -> bool:
    r"""Whether a name can be written down: the system gives names of files that are no UTF-8 with halves of characters in them.

    >>> is_text("año"), is_text("a\udcf1o")
    (True, False)
    """
    try:
        return bool(name.encode())
    except UnicodeEncodeError:
        return False


def read_text(path: str, what: str) -> str:
    """The text of a user's file; one that is empty or no UTF-8 is refused."""
    data = read_bytes(path, _MOST_BYTES)
    if not data.strip():
        raise FileError(f"{quoted_path(path)} is empty: {what}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"{quoted_path(path)} is not UTF-8: byte {error.start} (line {line}) is 0x{data[error.start]:02x}; convert it first."
        ) from None
