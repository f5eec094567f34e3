"""Groups of coordinates: a name, and what it tells apart, a coordinate each.

A program speaks of *the letter at this position* or *the number of its partner*; a transformer has coordinates. A space is
the one in terms of the other: `is_a`, `is_b` for a letter, `here.0`, `here.1` for a number in binary, `f0→1` for a pair.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field

from glyptic.arguments import refused, shown
from glyptic.carve.names import members
from glyptic.errors import ModelError


@dataclass(frozen=True, init=False)
class Space:
    """A name and its values; each value has a coordinate, called name, joint, value. A value that is a tuple is written a→b.

    >>> letter, here, f = Space("is", "ab", "_"), Space.binary("here", 6), Space("f", [(0, 1), (1, 0)], "")
    >>> letter.coordinates, here.coordinates, f[0, 1]
    (('is_a', 'is_b'), ('here.0', 'here.1', 'here.2'), 'f0→1')
    >>> letter.one_hot("b"), here.signs(6)
    ({'is_b': 1}, {'here.0': -1, 'here.1': 1, 'here.2': 1})
    """

    name: str
    values: tuple[Hashable, ...]
    joint: str
    _written: dict[Hashable, str] = field(repr=False, compare=False)

    def __init__(self, name: str, values: Iterable[Hashable], joint: str = ".") -> None:
        listed = tuple(values) if isinstance(values, str | range) else members(values, "values", "values, such as [0, 1]")
        written = {value: f"{name}{joint}{'→'.join(map(str, value)) if isinstance(value, tuple) else value}" for value in listed}
        for part, given in (("name", name), ("values", listed), ("joint", joint), ("_written", written)):
            object.__setattr__(self, part, given)
        if len(set(written.values())) < len(listed):
            raise ModelError(f"space {shown(name)}: two values have one coordinate among {shown(list(self.coordinates))}.")

    @classmethod
    def binary(cls, name: str, count: int) -> Space:
        """The binary digits that tell `count` things apart, at least one, the lowest first: name.0, name.1, …"""
        return cls(name, range(max(1, (count - 1).bit_length())))

    @property
    def coordinates(self) -> tuple[str, ...]:
        """All of them, in the order of the values."""
        return tuple(self._written.values())

    def __getitem__(self, value: Hashable) -> str:
        """The coordinate of a value."""
        if value not in self._written:
            raise refused(f"a value of {self.name}", value, f"one of {', '.join(map(str, self.values))}")
        return self._written[value]

    def __iter__(self) -> Iterator[str]:
        return iter(self.coordinates)

    def __len__(self) -> int:
        return len(self.values)

    def one_hot(self, value: Hashable) -> dict[str, int]:
        """1 in the coordinate of the value; the others are 0."""
        return {self[value]: 1}

    def signs(self, number: int) -> dict[str, int]:
        """A number as ±1, in a space of binary digits: 1 where its digit is 1, −1 where it is 0."""
        if self.values != tuple(range(len(self))) or not 0 <= number < 1 << len(self):
            raise refused(f"a number in {self.name}", number, f"one of the {len(self)} binary digits that Space.binary makes")
        return {self._written[digit]: 1 if number >> digit & 1 else -1 for digit in range(len(self))}


__all__ = ["Space"]
