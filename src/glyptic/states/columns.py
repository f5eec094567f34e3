"""Where a head is in a row of a layer's search: its nodes, and a column for each running mixture that may be asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glyptic.numbers import Codes
from glyptic.states.normalisers import HARD, Normaliser
from glyptic.states.scalars import Scalars

NEVER = np.iinfo(np.int32).max  # no 0/0 has been met
STATE, FAILURE, OUTPUT, FIRST = range(4)  # the first columns of a row, and where heads begin


@dataclass(frozen=True)
class HeadColumns:
    """Where a head is in a row: its nodes, its mixtures, and with unrounded first products the first letter."""

    normaliser: Normaliser
    nodes: slice
    mixtures: slice
    first_letter: int  # a column, or −1
    query: np.ndarray  # of each mixture's column: its query with its bound
    divisor: np.ndarray  # and the number of its divisor
    weights: Codes  # (mixtures, letters)
    values: Codes  # (mixtures, letters)
    base: np.ndarray  # (queries · bounds, divisors) -> the first of its mixtures
    coordinates: np.ndarray  # (d_v,) -> which of the kept coordinates holds it, or −1 for 0
    picked: Codes  # (letters, kept): what hard attention gives
    terms: Codes | None  # (letters, mixtures) of products, where they are rounded
    rank: int  # the place of its 0/0


def columns_of(machine: Normaliser, of: Scalars, output: Codes, first: int, rank: int) -> HeadColumns:
    """The columns of a head: for every divisor that is asked for, the coordinates of the values that make a difference."""
    letters = machine.letters
    kept, coordinates = _kept_coordinates(letters.values, output)
    nodes = slice(first, first + len(machine.bound))
    values = letters.values[:, kept].T  # (kept, letters)
    picked = of.sum_of_products(np.full((1, values.size), of.one), values.reshape(1, -1)).reshape(values.shape).T
    query: list[int] = []
    divisor: list[int] = []
    weights: list[Codes] = []
    base = np.full((len(machine.bound), max((len(d) for d in machine.divisors), default=0)), -1)
    hard = machine.kind in HARD
    for u, divisors in enumerate(() if hard or not len(kept) else machine.divisors):
        for number, code in enumerate(divisors):
            if machine.kind == "average":
                share = np.where(letters.scores[u // machine.bounds] == machine.bound[u], code, 0)
            elif code == 0:
                continue  # 0/0 has no mixture
            else:
                share = of.divide(machine.exps[u], np.full(len(letters.values), code))
            base[u, number] = len(query) * len(kept)
            query.append(u)
            divisor.append(number)
            weights.append(share)
    count = len(query) * len(kept)
    mixtures = slice(nodes.stop, nodes.stop + count)
    shares = np.repeat(np.array(weights, np.int64).reshape(len(query), len(letters.values)), len(kept), axis=0)
    spread = np.tile(values, (len(query), 1))
    terms = np.ascontiguousarray(of.multiply(shares, spread).T) if of.products == "rounded" else None
    return HeadColumns(
        machine,
        nodes,
        mixtures,
        mixtures.stop if of.products == "unrounded" and count else -1,
        np.repeat(np.array(query, np.int64), len(kept)),
        np.repeat(np.array(divisor, np.int64), len(kept)),
        shares,
        spread,
        base,
        coordinates,
        picked,
        terms,
        rank,
    )


def _kept_coordinates(values: Codes, output: Codes) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the values that are not always 0 and that the output reads, each of equal ones once.

    And of every coordinate where its mixture is among those, or −1 for 0.
    """
    kept: list[int] = []
    coordinates = np.full(values.shape[1], -1)
    for c in np.flatnonzero(values.any(axis=0) & output.any(axis=0)).tolist():
        same = [k for k, other in enumerate(kept) if np.array_equal(values[:, other], values[:, c])]
        coordinates[c] = same[0] if same else len(kept)
        kept += [] if same else [c]
    return np.array(kept, np.int64), coordinates
