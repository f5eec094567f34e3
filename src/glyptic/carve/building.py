"""Weights written by the names of coordinates: hidden units, heads and rows as small dictionaries.

    Unit(reads={"x": 1, "off": "-B"}, writes={"y": -1}, bias=0)        relu(x − B·off) goes to −y

A `Draft` makes layers and transformers of them, in one format and with one list of coordinates. A matrix row is a sum from
left to right in the order of the coordinates, and a coordinate gets the sum of its units in the order in which the units are
listed: both orders matter, since every step rounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from glyptic.arguments import shown
from glyptic.carve.names import members
from glyptic.carve.spaces import Space
from glyptic.errors import FormatError, ModelError
from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.exact.history import Frame
from glyptic.numbers import AnyFormat, Codes, as_format, check_width, number, written

Number = int | float | Fraction | str  # "B" and "-B" for the ends of the format, as in glyptic.numbers.encode
Row = Mapping[str, Number]


@dataclass(frozen=True)
class Unit:
    """One hidden unit: relu(Σ weight · coordinate + bias), added to coordinates with weights.

    Weights are numbers of the format, or "B" and "-B" for its ends. `both` is 1 where x and y, each 0 or 1, are 1:

    >>> both = Unit(reads={"x": 1, "y": 1}, writes={"z": 1}, bias=-1)
    >>> Draft("fixed:4", ("x", "y", "z")).feed_forward([both]).w1.tolist()
    [[16, 16, 0]]
    """

    reads: Row
    writes: Row
    bias: Number = 0


def carry(source: str, writes: Row, off: str = "") -> list[Unit]:
    """Two units, x⁺ = relu(x) and x⁻ = relu(−x), that add weight · x to coordinates: one of them is 0, so nothing is rounded.

    `off` names a coordinate that is 1 where the units must do nothing: relu(±x − B) is 0 for every x.
    """
    gate: Row = {off: "-B"} if off else {}
    opposite = {name: negated(weight) for name, weight in writes.items()}
    return [Unit({source: 1, **gate}, writes), Unit({source: -1, **gate}, opposite)]


def clear(names: Iterable[str], off: str = "") -> list[Unit]:
    """Units that make coordinates 0: x − x⁺ + x⁻ = [x − x]."""
    return [unit for name in names for unit in carry(name, {name: -1}, off)]


def negated(weight: Number) -> Number:
    """−weight, of a number as people write it."""
    if isinstance(weight, str):
        return weight.strip()[1:] if weight.strip()[:1] in ("-", "−") else "-" + weight.strip().lstrip("+")
    if isinstance(weight, np.generic):
        weight = weight.item()  # whose own −1 is 255 where it has 8 bits and no sign
    if not isinstance(weight, Real):
        raise FormatError(f"{shown(weight)} is not a number; write 3, 0.25, 1/2, B or -B.")
    return -weight  # type: ignore[return-value]


_KNOWN: dict[tuple[AnyFormat, Number], int] = {}
_LONGEST = 60  # characters of a number


def _code(weight: Number, format: AnyFormat, part: str) -> int:
    if isinstance(weight, int) and weight == 0:
        return 0
    if isinstance(weight, bool) or not isinstance(weight, str | Real | np.number) or _is_long(weight):
        raise FormatError(f"{part}: {shown(weight)} is not a number; write 3, 0.25, 1/2, B or -B.")
    key = (format, weight)
    if key not in _KNOWN:
        try:
            _KNOWN[key] = format.code(number(weight, format))
        except FormatError as error:
            raise FormatError(f"{part}: {error}") from None
        if len(_KNOWN) > 1 << 14:
            _KNOWN.clear()
            return _code(weight, format, part)
    return _KNOWN[key]


def _is_long(weight: Any) -> bool:
    """Of texts alone: 1e999999999 is short, and its digits would fill the machine."""
    return isinstance(weight, str) and (len(weight) > _LONGEST or bool(re.search(r"e[+-]?\d{5}", weight, re.IGNORECASE)))


MOST_WEIGHTS = 1 << 26  # half a gigabyte of codes


def refuse_huge(construction: str, weights: int) -> None:
    """Before anything is built: no transformer of more weights than a machine has room for."""
    if weights > MOST_WEIGHTS:
        raise ModelError(
            f"{construction} would have {weights} weights, more than the {MOST_WEIGHTS} that are built; combine fewer, or "
            "all at once, as in closure.conjunction(a, b, c), which is smaller than (a & b) & c."
        )


@dataclass(frozen=True, init=False)
class Draft:
    """A format and a list of coordinates, single or as spaces, in which weights are written by name.

    Whether the first token is the last: a head, whose scores are −B but at position 0, fetches the first letter.

    >>> own, first = Space("is", "ab", "_"), Space("first", "ab", "_")
    >>> draft = Draft("fixed:4", ["one", "later", own, first, "no", "yes"])
    >>> fetch = draft.head([{"one": 1}], [{"later": "-B"}], value=[{x: 1} for x in own], output=[{x: 1} for x in first])
    >>> same = [Unit({own[x]: 1, first[x]: 1, "one": -1}, {"yes": 1, "no": -1}) for x in "ab"]
    >>> T = draft.transformer(
    ...     tokens={x: own.one_hot(x) for x in "ab"},
    ...     positions=[{"one": 1, "no": 1, "later": int(i > 0)} for i in range(8)],
    ...     layers=[Layer((fetch,), draft.feed_forward(same))],
    ...     answers={"NO": {"no": 1}, "YES": {"yes": 1}},
    ... )
    >>> T.answer("abba"), T.answer("abab")
    ('YES', 'NO')
    """

    format: AnyFormat
    coordinates: tuple[str, ...] = field(repr=False)

    def __init__(self, format: AnyFormat | str, coordinates: Iterable[str | Space]) -> None:
        listed = members(coordinates, "coordinates", "names of coordinates and spaces")
        spread = (of.coordinates if isinstance(of, Space) else (of,) for of in listed)
        object.__setattr__(self, "format", as_format(format))
        object.__setattr__(self, "coordinates", tuple(chain.from_iterable(spread)))

    def feed_forward(self, units: Sequence[Unit], bias: Row | None = None) -> FeedForward:
        """Hidden units, in this order; `bias` is b_2, by coordinate.

        >>> units = [Unit({"x": 1}, {"y": "B"}), Unit({"x": -1}, {"y": "-B"}, bias=1)]
        >>> ff = Draft("fixed:2", ["x", "y"]).feed_forward(units)
        >>> ff.w1.tolist(), ff.b1.tolist(), ff.w2.tolist()
        ([[4, 0], [-4, 0]], [0, 4], [[0, 0], [15, -15]])
        """
        units = list(units) or [Unit({}, {})]  # a bias alone: engines want a hidden unit, so one that does nothing
        w1, w2 = self.rows((u.reads for u in units), "w1"), self.rows((u.writes for u in units), "w2").T.copy()
        b1 = np.array([_code(unit.bias, self.format, "b1") for unit in units], np.int64)
        return FeedForward(w1, b1, w2, self.rows([bias or {}], "b2")[0])

    def head(self, query: Sequence[Row], key: Sequence[Row], value: Sequence[Row], output: Sequence[Row]) -> Head:
        """A head from rows of W_Q, W_K and W_V and, for each row of W_V, what W_O makes of it: {coordinate: weight}.

        >>> h = Draft("fixed:2", ["x", "y"]).head([{"x": 1}], [{"x": "B"}], value=[{"x": 1}], output=[{"y": 2}])
        >>> h.key.tolist(), h.output.tolist()
        ([[15, 0]], [[0], [8]])
        """
        for (one, rows), (other, others) in ((("query", query), ("key", key)), (("value", value), ("output", output))):
            if len(rows) != len(others):
                raise ModelError(f"a head with {len(rows)} rows of {one} and {len(others)} of {other}; they must be as many.")
        w_q, w_k, w_v = self.rows(query, "query"), self.rows(key, "key"), self.rows(value, "value")
        return Head(w_q, w_k, w_v, self.rows(output, "output").T.copy())

    def rows(self, of: Iterable[Row], part: str = "row") -> Codes:
        """A matrix of codes, such as an embedding; columns that a row does not name are 0. It knows its format."""
        check_width(self.format)
        place = {name: k for k, name in enumerate(self.coordinates)}
        if len(place) != len(self.coordinates):
            raise ModelError(f"{part}: a coordinate comes twice among {shown(list(self.coordinates))}; names must differ.")
        listed = list(of)
        out = np.zeros((len(listed), len(place)), np.int64)
        for i, row in enumerate(listed):
            for name, weight in row.items():
                if name not in place:
                    raise ModelError(f"{part}: no coordinate {name!r}; there are {', '.join(self.coordinates)}.")
                out[i, place[name]] = _code(weight, self.format, f"{part}, {name}")
        return written(out, self.format)

    def matching_head(
        self, pointer: Sequence[str], code: Sequence[str], one: str, values: Sequence[Row], outputs: Sequence[Row]
    ) -> Head:
        """A head whose weight is 1 where the code, of ±1, is the pointer, and 0 elsewhere (`carve.lookup` says why)."""
        query: list[Row] = [row for bit in pointer for row in ({bit: 1}, {one: 1})]
        key: list[Row] = [row for bit in code for row in ({bit: "B"}, {one: "-B"})]
        return self.head(query, key, values, outputs)

    def transformer(
        self,
        tokens: Mapping[str, Row],
        answers: Mapping[str, Row],
        positions: Sequence[Row],
        layers: Iterable[Layer] = (),
        *,
        options: Options | None = None,
        name: str = "",
        history: tuple[Frame, ...] = (),
    ) -> Transformer:
        """The whole: what each token and each position adds to the residual, the layers, and each answer's row of θ."""
        embeddings = self.rows(tokens.values()), self.rows(positions)
        parts = (*embeddings, tuple(layers), self.rows(answers.values()), tuple(answers), options or Options())
        return Transformer(self.format, tuple(tokens), self.coordinates, *parts, name=name, history=history)


__all__ = ["Draft", "Number", "Row", "Unit", "carry", "clear", "negated"]
