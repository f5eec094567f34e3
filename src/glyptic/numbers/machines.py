"""Which vectors the machine has, as types: a rule in one of these wrappers is compiled for it (see `steps`).

    Vectors512         AVX-512: 32 registers of 512 bits
    Vectors256         AVX2 with fused operations; also what any other machine that has these runs, in pieces
    VectorsUnfused     no fused operations: products are taken first
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple

from numba.core.registry import cpu_target

from glyptic.numbers.kernels import Rule

Vectors = Literal["512", "256", "unfused"]


class Vectors512(NamedTuple):
    rule: Rule


class Vectors256(NamedTuple):
    rule: Rule


class VectorsUnfused(NamedTuple):
    rule: Rule


WRAPPERS: Mapping[Vectors, type] = {"512": Vectors512, "256": Vectors256, "unfused": VectorsUnfused}


class Shape(NamedTuple):
    """What a machine's registers hold: bits of a vector, whether it has fused operations, vectors side by side in a tile."""

    bits: int
    fused: bool
    across: int


SHAPES: Mapping[type, Shape] = {
    Vectors512: Shape(512, True, 4),
    Vectors256: Shape(256, True, 2),
    VectorsUnfused: Shape(256, False, 2),
}


@cache
def vectors_here() -> Vectors:
    """The widest vectors of the machine for which numba compiles.

    >>> vectors_here() in ("512", "256", "unfused")
    True
    """
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    has = set(features.split(","))
    if {"+avx512f", "+avx512dq", "+avx512vl", "+fma"} <= has:
        return "512"
    return "256" if "+fma" in has or not triple.startswith(("x86_64", "i686", "i386")) else "unfused"
