"""Rows of whole numbers, each kept once and known by its number: the states of a search. A hash table, compiled."""

from __future__ import annotations

import numpy as np

from glyptic.numbers.kernels import compiled


class RowTable:
    """Rows of one width in the order in which they were added.

    >>> table = RowTable(2)
    >>> table.add(np.array([[1, 2], [3, 4], [1, 2]])).tolist(), len(table)
    ([0, 1, 0], 2)
    """

    def __init__(self, width: int, dtype: type[np.signedinteger] = np.int64) -> None:
        self._rows = np.zeros((64, width), dtype)
        self._slots = np.full(256, -1, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> np.ndarray:
        """All rows, (count, width)."""
        return self._rows[: self._count]

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + self._slots.nbytes

    def add(self, rows: np.ndarray) -> np.ndarray:
        """The number of each row; what was not there is added in order."""
        self.reserve(len(rows))
        wanted = np.ascontiguousarray(rows, self._rows.dtype)
        numbers, self._count = insert(wanted, self._rows, self._slots, self._count)
        return numbers

    def reserve(self, more: int) -> None:
        """Make room for so many rows more."""
        most = self._count + more
        if most > len(self._rows):
            grown = np.zeros((max(most, 2 * len(self._rows)), self._rows.shape[1]), self._rows.dtype)
            grown[: self._count] = self.rows
            self._rows = grown
        if 2 * most > len(self._slots):
            self._slots = np.full(1 << int(4 * most).bit_length(), -1, np.int64)
            place(self.rows, self._slots)

    @property
    def room(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays that compiled code enters rows into: `entered` gives numbers, and `grown_to` is told how many there are."""
        return self._rows, self._slots

    def grown_to(self, count: int) -> None:
        self._count = count


@compiled
def hashed(row):
    """A number that depends on every bit of a row."""
    total = np.uint64(1469598103934665603)
    for x in row:
        total = (total ^ np.uint64(x)) * np.uint64(0x9E3779B97F4A7C15)
        total ^= total >> np.uint64(29)
    return total


@compiled
def same(a, b):
    for k in range(len(a)):  # noqa: SIM110 (compiled)
        if a[k] != b[k]:
            return False
    return True


@compiled
def entered(row, kept, slots, count):
    """The number of a row among the `count` that are kept; if it is none of them it is appended, and its number is `count`."""
    mask = np.uint64(len(slots) - 1)
    slot = hashed(row) & mask
    while slots[slot] >= 0 and not same(kept[slots[slot]], row):
        slot = (slot + np.uint64(1)) & mask
    if slots[slot] < 0:
        slots[slot] = count
        kept[count] = row
    return slots[slot]


@compiled
def insert(rows, kept, slots, count):
    """The numbers of rows among those kept, new ones appended; and how many there are then."""
    numbers = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        numbers[i] = entered(rows[i], kept, slots, count)
        count = max(count, numbers[i] + 1)
    return numbers, count


@compiled
def place(rows, slots):
    """Slots for rows that differ from each other."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(rows)):
        slot = hashed(rows[i]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i
