"""Tiles of inner products in registers: what `products` puts results together from.

A tile is a few sums times a few vectors, whose running sums stay in registers over all terms. There is one function of compiled
code for each way in which terms lie in memory; it takes a rule in a machine's wrapper, and both, as types, choose the code
(`steps`, `machines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from glyptic.numbers.machines import SHAPES
from glyptic.numbers.steps import CLAMP_ALL, CLAMP_SUMS, NO_CLAMPS, Left, RuleSteps, steps_for
from glyptic.numbers.vectors import Emitter, Vector

ROWS = 4  # sums of a tile, in each of its columns
TERMS = 32  # that share what is known of their bound; even, for steps come in pairs

WIDE = 8  # vectors of the one row of a sparse tile: its few terms must pay for its beginning and its end

_INDEX = ir.IntType(64)


class Operands(NamedTuple):
    """What one term of all sums of a tile needs: of each sum a left factor, or one for every vector; and a right one."""

    lefts: Sequence[Sequence[Left]]  # (sums, vectors)
    rights: Sequence[Sequence[Vector]]


class _Code:
    """The common beginning of all tiles: an emitter, its steps, and pointers into arrays."""

    def __init__(self, context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value], names: str) -> None:
        self.builder, self.given = builder, dict(zip(names.split(), args, strict=True))
        kinds = dict(zip(names.split(), signature.args, strict=True))
        wrapper = kinds["rule"]
        self.shape = SHAPES[wrapper.instance_class]
        self.emitter = Emitter(builder, kinds["x"].dtype, self.shape.bits, self.shape.fused)
        self.steps: RuleSteps = steps_for(self.emitter, wrapper.types[0], builder.extract_value(self.given["rule"], 0))
        self.arrays = {
            name: context.make_array(kind)(context, builder, self.given[name])
            for name, kind in kinds.items()
            if isinstance(kind, types.Array)
        }

    def number(self, value: int) -> ir.Constant:
        return ir.Constant(_INDEX, value)

    def length(self, name: str, axis: int) -> ir.Value:
        return self.builder.extract_value(self.arrays[name].shape, axis)

    def place(self, name: str, *path: tuple[ir.Value, ir.Value] | ir.Value) -> ir.Value:
        """A pointer into a contiguous array, at the sum of indices and of (index, stride) pairs."""
        at: ir.Value = self.number(0)
        for part in path:
            at = self.builder.add(at, self.builder.mul(*part) if isinstance(part, tuple) else part)
        return self.builder.gep(self.arrays[name].data, [at])

    def vectors(self, pointer: ir.Value, count: int) -> list[Vector]:
        lanes = self.emitter.lanes
        return [self.emitter.load(self.builder.gep(pointer, [self.number(v * lanes)])) for v in range(count)]

    def sums(self, sums: int, across: int, begin: ir.Value, end: ir.Value, level: Callable[[ir.Value], ir.Value],
             term: Callable[[ir.Value], Operands]) -> list[list[Vector]]:  # fmt: skip
        """All terms of a tile, in order, in stretches that `level` gives their clamps: the sums, (sums, across)."""
        builder, totals = self.builder, [[self.emitter.variable(self.steps.start()) for _ in range(across)] for _ in range(sums)]

        def add(at: ir.Value, clamps: int, odd: bool) -> None:
            of = term(at)
            for s, of_sum in enumerate(totals):
                for v, total in enumerate(of_sum):
                    total.set(self.steps.step(total.get(), of.lefts[s][v], of.rights[s][v], clamps, odd))

        one, two = self.number(1), self.number(2)
        with cgutils.for_range_slice(builder, begin, end, self.number(TERMS), _INDEX) as (first, _):
            beyond = builder.add(first, self.number(TERMS))
            last = builder.select(builder.icmp_signed("<", beyond, end), beyond, end)
            paired = builder.sub(last, builder.and_(builder.sub(last, first), one))
            asked = level(first)
            for clamps in (NO_CLAMPS, CLAMP_SUMS, CLAMP_ALL):
                with builder.if_then(builder.icmp_signed("==", asked, self.number(clamps))):
                    with cgutils.for_range_slice(builder, first, paired, two, _INDEX) as (at, _):
                        add(at, clamps, odd=False)
                        add(builder.add(at, one), clamps, odd=True)
                    with builder.if_then(builder.icmp_signed("<", paired, last)):  # the last term of all, there being so many
                        add(paired, clamps, odd=False)
                        for total in (total for of_sum in totals for total in of_sum):
                            total.set(self.steps.settle(total.get()))
        return [[self.steps.finish(total.get()) for total in of_sum] for of_sum in totals]

    def put_row(self, vectors: Sequence[Vector], row: ir.Value, when: ir.Value) -> None:
        """Sums of a row of a matrix, with its bias, no smaller than `floor`: into y, or, with `onto`, added to what is there."""
        bias = self.emitter.everywhere(self.builder.load(self.place("bias", row)))
        floor = self.emitter.everywhere(self.given["floor"])
        biased = [self.steps.summed(vector, bias).at_least(floor) for vector in vectors]
        pointer = self.place("y", (row, self.length("y", 1)), self.given["place"])
        added = self.builder.icmp_signed("!=", self.given["onto"], self.number(0))
        self.put(biased, pointer, self.builder.and_(when, self.builder.not_(added)))
        with self.builder.if_then(self.builder.and_(when, added)):
            there = self.vectors(pointer, len(biased))
            yes = ir.Constant(ir.IntType(1), 1)
            self.put([self.steps.summed(x, vector) for x, vector in zip(there, biased, strict=True)], pointer, yes)

    def put(self, vectors: Sequence[Vector], pointer: ir.Value, when: ir.Value) -> None:
        with self.builder.if_then(when):
            for v, vector in enumerate(vectors):
                self.emitter.store(vector, self.builder.gep(pointer, [self.number(v * self.emitter.lanes)]))


def _emitted(names: str, emit: Callable[[_Code, int], None], across: int = 0) -> Any:
    """What an intrinsic hands to numba: code for arguments of these names, so many vectors across, or as the machine has."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Sequence[ir.Value]) -> ir.Value:
        code = _Code(context, builder, signature, args, names)
        emit(code, across or code.shape.across)
        return context.get_dummy_value()

    return generate


# A dense matrix: four rows of it, whose weights lie side by side, by some columns of x ------------------------------------

_DENSE = "factors nudged levels x column bias y place onto block floor rule"


@intrinsic
def dense_tile(context, factors, nudged, levels, x, column, bias, y, place, onto, block, floor, rule):
    """Rows 4·block … of y, in the columns from `place` on that a tile is wide, of those of x from `column` on.

    factors, nudged: (blocks, k, 4), flat; levels: (stretches of terms, blocks), int64; x: (k, width); bias: (4·blocks,);
    y: (rows, its own width). What is stored is the larger of `floor` and [sum + bias]; or, if `onto` is not 0, [y + that].
    """
    signature = types.void(factors, nudged, levels, x, column, bias, y, place, onto, block, floor, rule)
    return signature, _emitted(_DENSE, _dense)


@intrinsic
def narrow_dense_tile(context, factors, nudged, levels, x, column, bias, y, place, onto, block, floor, rule):
    """The same, one vector wide."""
    signature = types.void(factors, nudged, levels, x, column, bias, y, place, onto, block, floor, rule)
    return signature, _emitted(_DENSE, _dense, across=1)


def _dense(code: _Code, across: int) -> None:
    builder, block, column = code.builder, code.given["block"], code.given["column"]
    terms, width, rows = code.length("x", 0), code.length("x", 1), code.number(ROWS)
    panel = builder.mul(block, builder.mul(terms, rows))

    def level(first: ir.Value) -> ir.Value:
        stretch = builder.sdiv(first, code.number(TERMS))
        return builder.load(code.place("levels", (stretch, code.length("levels", 1)), block))

    def term(at: ir.Value) -> Operands:
        rights = code.vectors(code.place("x", (at, width), column), across)
        lefts = []
        for r in range(ROWS):
            where = (panel, (at, rows), code.number(r))
            both = (code.emitter.everywhere(builder.load(code.place(name, *where))) for name in ("factors", "nudged"))
            lefts.append([Left(*both)] * across)
        return Operands(lefts, [rights] * ROWS)

    first = builder.mul(block, rows)
    for r, vectors in enumerate(code.sums(ROWS, across, code.number(0), terms, level, term)):
        row = builder.add(first, code.number(r))
        code.put_row(vectors, row, builder.icmp_signed("<", row, code.length("y", 0)))


# A sparse matrix: one row, by some columns of x ---------------------------------------------------------------------------

_SPARSE = "starts columns factors nudged levels x column bias y place onto row floor rule"


@intrinsic
def sparse_tile(context, starts, columns, factors, nudged, levels, x, column, bias, y, place, onto, row, floor, rule):
    """One row of y, as in `dense_tile`; the row's terms are those from starts[row] to starts[row + 1]."""
    signature = types.void(starts, columns, factors, nudged, levels, x, column, bias, y, place, onto, row, floor, rule)
    return signature, _emitted(_SPARSE, _sparse, across=WIDE)


@intrinsic
def narrow_sparse_tile(context, starts, columns, factors, nudged, levels, x, column, bias, y, place, onto, row, floor, rule):
    """The same, one vector wide."""
    signature = types.void(starts, columns, factors, nudged, levels, x, column, bias, y, place, onto, row, floor, rule)
    return signature, _emitted(_SPARSE, _sparse, across=1)


def _sparse(code: _Code, across: int) -> None:
    builder, row, column = code.builder, code.given["row"], code.given["column"]
    width = code.length("x", 1)
    begin, end = (builder.load(code.place("starts", at)) for at in (row, builder.add(row, code.number(1))))
    asked = builder.load(code.place("levels", row))

    def term(at: ir.Value) -> Operands:
        of = builder.load(code.place("columns", at))
        both = (code.emitter.everywhere(builder.load(code.place(name, at))) for name in ("factors", "nudged"))
        return Operands([[Left(*both)] * across], [code.vectors(code.place("x", (of, width), column), across)])

    (vectors,) = code.sums(1, across, begin, end, lambda _: asked, term)
    code.put_row(vectors, row, ir.Constant(ir.IntType(1), 1))


# Attention: both factors vary along the batch -----------------------------------------------------------------------------

_SCORES = "x keys seen rows unit out query first column place level rule"


@intrinsic
def score_tile(context, x, keys, seen, rows, unit, out, query, first, column, place, level, rule):
    """⟨q_i, k_j⟩ of one query and four of the keys that it sees, seen[first] …, in a vector of the batch from `column` on.

    x: queries (c, n_q, batch), in units; keys: (c, n_k, batch); seen: keys' numbers; rows: where in out (rows, its own width) the
    scores of each of them go, from column `place` on.
    """
    signature = types.void(x, keys, seen, rows, unit, out, query, first, column, place, level, rule)
    return signature, _emitted(_SCORES, _scores, across=1)


def _scores(code: _Code, across: int) -> None:
    builder, query, column = code.builder, code.given["query"], code.given["column"]
    terms, n_q, batch = (code.length("x", axis) for axis in range(3))
    n_k = code.length("keys", 1)
    unit, last = code.emitter.everywhere(code.given["unit"]), builder.sub(code.length("seen", 0), code.number(1))
    own = [builder.add(code.given["first"], code.number(s)) for s in range(ROWS)]
    inside = [builder.icmp_signed("<=", s, last) for s in own]
    chosen = [builder.select(there, s, last) for there, s in zip(inside, own, strict=True)]
    keys = [builder.load(code.place("seen", s)) for s in chosen]

    def term(at: ir.Value) -> Operands:
        (number,) = code.vectors(code.place("x", (builder.add(builder.mul(at, n_q), query), batch), column), across)
        row = builder.mul(at, n_k)
        rights = [code.vectors(code.place("keys", (builder.add(row, j), batch), column), across) for j in keys]
        return Operands([[code.steps.left(number * unit)]] * ROWS, rights)

    sums = code.sums(ROWS, across, code.number(0), terms, lambda _: code.given["level"], term)
    for s, there, vectors in zip(chosen, inside, sums, strict=True):
        row = builder.load(code.place("rows", s))
        code.put(vectors, code.place("out", (row, code.length("out", 1)), code.given["place"]), there)


_MIXTURE = "x values rows seen unit out query first column place level rule"


@intrinsic
def mixture_tile(context, x, values, rows, seen, unit, out, query, first, column, place, level, rule):
    """Σ_j s_ij v_j of one query, four coordinates of the values from `first` on, and a vector of the batch from `place` on.

    x: weights (rows, its own width), in units, from `column` on; rows: which of them are this query's, in order; seen: the keys
    that they are of; values: (c, n_k, batch); out: (c, n_q, batch).
    """
    signature = types.void(x, values, rows, seen, unit, out, query, first, column, place, level, rule)
    return signature, _emitted(_MIXTURE, _mixture, across=1)


def _mixture(code: _Code, across: int) -> None:
    builder, query, place = code.builder, code.given["query"], code.given["place"]
    width, n_k, batch = code.length("x", 1), code.length("values", 1), code.length("values", 2)
    unit, last = code.emitter.everywhere(code.given["unit"]), builder.sub(code.length("values", 0), code.number(1))
    own = [builder.add(code.given["first"], code.number(s)) for s in range(ROWS)]
    inside = [builder.icmp_signed("<=", c, last) for c in own]
    chosen = [builder.select(there, c, last) for there, c in zip(inside, own, strict=True)]

    def term(at: ir.Value) -> Operands:
        row, j = (builder.load(code.place(name, at)) for name in ("rows", "seen"))
        (number,) = code.vectors(code.place("x", (row, width), code.given["column"]), across)
        places = (code.place("values", (builder.add(builder.mul(c, n_k), j), batch), place) for c in chosen)
        return Operands([[code.steps.left(number * unit)]] * ROWS, [code.vectors(place, across) for place in places])

    sums = code.sums(ROWS, across, code.number(0), code.length("seen", 0), lambda _: code.given["level"], term)
    for c, there, vectors in zip(chosen, inside, sums, strict=True):
        code.put(vectors, code.place("out", (builder.add(builder.mul(c, code.length("out", 1)), query), batch), place), there)
