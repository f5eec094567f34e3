"""The fast arithmetic: the same operations as the reference, bit for bit, by compiled kernels on whole batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from glyptic.numbers import heads, kernels, maps, micro, products, stacks
from glyptic.numbers.arithmetic import Activation, Attention, Products, check_products
from glyptic.numbers.codes import Codes, encode_plainly, to_float64
from glyptic.numbers.exponential import exp_floats, exp_table
from glyptic.numbers.formats import Format, as_format
from glyptic.numbers.hosts import host_of
from glyptic.numbers.machines import SHAPES, WRAPPERS, Vectors, vectors_here
from glyptic.numbers.maps import TiledMatrix
from glyptic.numbers.memory import keep_freed_memory
from glyptic.numbers.steps import NO_CLAMPS, have_room
from glyptic.numbers.tiles import ROWS


class Variant(NamedTuple):
    """Which of the compiled products run, all of which agree: tests try one after another."""

    vectors: Vectors | None  # None: the loops of `products`
    clamps: int = NO_CLAMPS  # no fewer than these, whatever the bounds show


class Compressed(NamedTuple):
    """A matrix as its nonzero entries, row by row in column order; entries are numbers, not units."""

    starts: np.ndarray
    columns: np.ndarray
    entries: np.ndarray


Weights = Compressed | TiledMatrix


class Fast:
    """Arrays of one host type; see `glyptic.numbers.arithmetic` for what each operation means.

    >>> from glyptic.numbers import Fixed
    >>> A = Fast(Fixed(8))
    >>> x = A.values(np.array([256, -128, 65535]))      # 1, −1/2, B
    >>> A.codes(A.add(x, x)).tolist()
    [512, -256, 65535]
    """

    def __init__(self, format: str | Format, products: Products = "rounded", variant: Variant | None = None) -> None:
        check_products(products)
        keep_freed_memory()
        self.host = host_of(as_format(format), products != "rounded")
        self.format: Format = as_format(format)  # type: ignore[assignment]  # rationals have no host
        self.products = products
        readings = {"fused": kernels.Fused, "unrounded": kernels.Unrounded}
        self._inner = readings[products](self.host.rule) if products in readings else self.host.rule
        self._variant = variant or Variant(vectors_here())
        self._bits = np.finfo(self.host.dtype).nmant + 1
        self._tiled = products == "rounded" and have_room(self.format, self._bits) and self._variant.vectors is not None
        if self._variant.vectors is not None:  # what tiles need at every call
            wrapper = WRAPPERS[self._variant.vectors]
            self._rule = wrapper(self.host.rule)  # in the wrapper of the machine's vectors
            self._lanes = SHAPES[wrapper].bits // (8 * np.dtype(self.host.dtype).itemsize)
        low = getattr(self.host.rule, "low", None)
        self._addresses: tuple[int, int] | None = None
        self._lowest = float(-self.host.rule.high if low is None else low)  # the least value, in units

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_addresses": None}  # they are this process's own

    # Values ------------------------------------------------------------------------------------------------------------

    def values(self, codes: Codes) -> np.ndarray:
        if self.format.is_fixed:
            return np.asarray(codes).astype(self.host.dtype)
        return to_float64(np.asarray(codes), self.format).astype(self.host.dtype)

    def codes(self, values: np.ndarray) -> Codes:
        if self.format.is_fixed:
            return values.astype(np.int64)
        return encode_plainly(values.astype(np.float64), self.format)

    def _number(self, values: np.ndarray) -> np.ndarray:
        """One factor of a product, as numbers: units times 2^−f."""
        return values * self.host.dtype(self.host.unit) if self.format.is_fixed else values

    def _one(self) -> np.ndarray:
        return self.values(encode_plainly(1, self.format, nearest=True))

    def weights(self, codes: Codes) -> Weights:
        codes = np.asarray(codes)
        if self._tiled and np.count_nonzero(codes) * 3 >= codes.size:
            return self._dense(codes)
        rows, columns = np.nonzero(codes)
        starts = np.searchsorted(rows, np.arange(codes.shape[0] + 1)).astype(np.int64)
        entries = self._number(self.values(codes[rows, columns]))
        if not self._tiled:
            return Compressed(starts, columns.astype(np.int64), entries)
        sizes = np.abs(entries).astype(np.float64)
        return maps.sparse(starts, columns.astype(np.int64), *self._lefts(entries), sizes, codes.shape[1])

    def _dense(self, codes: np.ndarray) -> TiledMatrix:
        rows, terms = codes.shape
        blocks = -(-rows // ROWS)
        entries = np.zeros((blocks * ROWS, terms), self.host.dtype)
        entries[:rows] = self._number(self.values(codes))
        panels = np.ascontiguousarray(entries.reshape(blocks, ROWS, terms).swapaxes(1, 2))
        magnitudes = np.ascontiguousarray(np.abs(panels).max(axis=2).T.astype(np.float64))
        return maps.dense(*self._lefts(panels), magnitudes, rows)

    def _lefts(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left factors prepared for steps: see `steps.Left`."""
        scale = 2.0 ** (self._bits - self.format.precision)
        factors = numbers if self.format.is_fixed else np.abs(numbers) * self.host.dtype(scale)
        if self.format.ties == "even" or self._variant.vectors == "unfused":
            return factors, numbers
        return factors, numbers * self.host.dtype(1 - 2.0**-self._bits)

    # Elementwise -------------------------------------------------------------------------------------------------------

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        if x.ndim == 3 and y.shape == (x.shape[0], 1, 1):
            return kernels.add_rows(_matrix(x), y[:, 0, 0].copy(), self.host.rule).reshape(x.shape)
        return kernels.add_arrays(*_spread(x, y), self.host.rule)

    def subtract(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return kernels.add_arrays(*_spread(x, -y), self.host.rule)

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return kernels.multiply_arrays(*_spread(self._number(x), y), self.host.rule)

    def divide(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        left, right = _spread(x.astype(np.float64), y.astype(np.float64))
        return kernels.divide_arrays(left, right, 1 / self.host.unit, self.host.rule64).astype(self.host.dtype)

    def divide_unless_zero(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        zero = y == 0
        return self.divide(x, np.where(zero, self._one(), y)), zero

    def divide_by_count(self, x: np.ndarray, count: int) -> np.ndarray:
        # In fixed point x and the quotient are both in units, so the integer divisor needs no scale.
        left = x.astype(np.float64)
        quotient = kernels.divide_arrays(left, np.full_like(left, count), 1.0, self.host.rule64)
        return quotient.astype(self.host.dtype)

    def root(self, x: np.ndarray) -> np.ndarray:
        return kernels.root_array(x.astype(np.float64), 1 / self.host.unit, self.host.rule64).astype(self.host.dtype)

    def relu(self, x: np.ndarray) -> np.ndarray:
        return np.maximum(x, self.host.dtype(0))

    def exp(self, x: np.ndarray) -> np.ndarray:
        if not self.format.is_fixed:
            return exp_floats(x.astype(np.float64), self.format).astype(self.host.dtype)
        flat = np.ascontiguousarray(x).reshape(1, 1, -1)
        return products.table_exps(
            flat, np.ones((1, 1), bool), *_table(self.format, np.dtype(self.host.dtype))
        ).reshape(x.shape)

    def activate(self, kind: Activation, x: np.ndarray) -> np.ndarray:
        if kind == "relu":
            return self.relu(x)
        if self.format.is_fixed:
            table = _activation_table(kind, self.format, np.dtype(self.host.dtype))
            return products.table_activations(np.ascontiguousarray(x), *table)
        from glyptic.numbers.activations import activate_floats

        return activate_floats(kind, x.astype(np.float64), self.format).astype(self.host.dtype)

    # Sums --------------------------------------------------------------------------------------------------------------

    def linear(self, weights: Weights, x: np.ndarray) -> np.ndarray:
        return self.affine(weights, None, x)

    def affine(self, weights: Weights, bias: np.ndarray | None, x: np.ndarray, relu: bool = False) -> np.ndarray:
        """[W x + b], and the larger of it and 0: the same as step by step, without the arrays in between."""
        flat, rows = _matrix(x), weights.starts.size - 1 if isinstance(weights, Compressed) else weights.rows
        if isinstance(weights, Compressed):
            y = self._linear_by_loops(weights, flat).reshape(rows, *x.shape[1:])
            y = y if bias is None else self.add(y, bias)
            return self.relu(y) if relu else y
        wide = _padded(flat, self._lanes)
        y = np.empty((rows, wide.shape[1]), self.host.dtype)
        floor = self.host.dtype(0 if relu else self._lowest)
        maps.put_map(weights.with_bias(bias), 0, wide, 0, wide.shape[1], y, 0, 0, floor, self._variant.clamps, self._rule)
        return (y if wide is flat else y[:, : flat.shape[1]].copy()).reshape(rows, *x.shape[1:])

    def _linear_by_loops(self, weights: Compressed, flat: np.ndarray) -> np.ndarray:
        largest = np.full(flat.shape[0], self.host.rule.high)
        # Looking for the largest operands pays where each is used many times and has many columns.
        if self.products == "rounded" and flat.shape[1] >= 64 and weights.entries.size >= 12 * flat.shape[0]:
            largest = np.maximum(flat.max(axis=1), -flat.min(axis=1))
        return products.sparse_product(*weights, flat, largest, self._inner)

    def total(self, x: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(x).reshape(1, x.shape[0], -1)
        sums = products.total_visible(columns, np.ones((1, x.shape[0]), bool), self.host.rule)
        return sums.reshape(1, *x.shape[1:])

    def scores(self, queries: np.ndarray, keys: np.ndarray, visible: np.ndarray) -> np.ndarray:
        if not self._tiled:
            return products.attention_scores(self._number(queries), keys, visible, self._inner)
        return self._paired(micro.attention_scores, queries, keys, visible)

    def _paired(self, kernel: Callable[..., np.ndarray], left: np.ndarray, right: np.ndarray, visible: np.ndarray) -> np.ndarray:
        """Scores or mixtures by tiles, over batches of at least a vector."""
        batch, lanes = left.shape[2], self._lanes
        left, right = (np.ascontiguousarray(array) for array in (left, right))
        if batch < lanes:
            left, right = (_padded(x, lanes) for x in (left, right))
        seen = np.ascontiguousarray(visible).view(np.uint8)
        out = kernel(left, right, seen, self.host.dtype(self.host.unit), self._variant.clamps, self._rule)
        return out if batch >= lanes else out[:, :, :batch].copy()

    def attention_weights(
        self, scores: np.ndarray, visible: np.ndarray, kind: Attention
    ) -> tuple[np.ndarray, np.ndarray]:
        if kind in ("leftmost", "rightmost", "average"):
            return self._hard(scores, visible, kind), np.zeros((scores.shape[0], scores.shape[2]), bool)
        if kind == "max-subtracted":
            largest = np.where(visible[:, :, None], scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
            scores = self.subtract(scores, np.where(np.isfinite(largest), largest, 0).astype(scores.dtype))
        if self.format.is_fixed:
            shares = products.table_exps(scores, visible, *_table(self.format, np.dtype(self.host.dtype)))
        else:
            shares = np.zeros_like(scores)
            shares[visible] = self.exp(scores[visible])
        totals = products.divide_by_totals(shares, visible, 1 / self.host.unit, self.host.rule, self.host.rule64)
        return shares, (totals == 0) & np.any(visible, axis=1, keepdims=True)

    def attend(
        self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, visible: np.ndarray, kind: Attention
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores, weights and mixture of a head, of which only the mixture is wanted, and where the denominator is 0.

        One call of compiled code where exp is a table: threads that come back from one often wait for each other.
        """
        if kind != "softmax" or not self._tiled or not self.format.is_fixed:
            weights, zero = self.attention_weights(self.scores(queries, keys, visible), visible, kind)
            return self.mixture(weights, values, visible), zero
        batch = queries.shape[2]
        query, key, value = (_padded(np.ascontiguousarray(x), self._lanes) for x in (queries, keys, values))
        about = self._lanes, self._softmax, self._variant.clamps, self._rule
        mixed, zero = heads.softmax_attention(query, key, value, visible, *about)
        return (mixed, zero) if batch >= self._lanes else (mixed[:, :, :batch].copy(), zero[:, :batch])

    @cached_property
    def _softmax(self) -> heads.Softmax:
        unit = self.host.unit
        return heads.Softmax(*_table(self.format, np.dtype(self.host.dtype)), 1 / unit, self.host.rule64, self.host.dtype(unit))

    # Layers ------------------------------------------------------------------------------------------------------------

    def stack(self, layers: Sequence[tuple[Any, Any, Any, Any]]) -> stacks.LayerStack | None:
        """Layers made ready for `through`, where it is known here: fixed point, by tiles.

        Of each layer: W and b of all projections, the widths of each head, W and b of what each puts out, and those of the
        feed-forward.
        """
        if not self._tiled or not self.format.is_fixed:
            return None

        def affine(weights: Any, bias: np.ndarray | None) -> maps.Maps:
            return weights.with_bias(bias)  # type: ignore[no-any-return]

        return stacks.stacked(
            [
                stacks.LayerMaps(
                    affine(*projections) if projections else None,
                    widths,
                    tuple(affine(*each) for each in outputs),
                    tuple(affine(*each) for each in feed_forward),
                )
                for projections, widths, outputs, feed_forward in layers
            ]
        )

    def through(
        self, stack: stacks.LayerStack, x: np.ndarray, earlier: np.ndarray | None, visible: np.ndarray, keep: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Layers in one call: the residual after them, the keys and values of all positions, and zero denominators.

        These are (heads, n, batch), and None where there is none.
        """
        d, n, batch = x.shape
        host, rule, clamps, keys = self.host.dtype, self._rule, self._variant.clamps, visible.shape[1]
        x = np.require(x[:, :, :1] if x.strides[2] == 0 else x, requirements=["C", "W"])  # one column may stand for all
        earlier = np.empty((stack.kept, 0, batch), host) if earlier is None else np.ascontiguousarray(earlier)
        after, kept = np.empty((d, n, batch), host), np.empty((stack.kept if keep else 0, keys, batch), host)
        zero = np.zeros((len(stack.widths), n, batch), np.bool_)
        room = stacks.room_for(stack, d, n, keys, batch, self._lanes, host)
        seen, desk = heads.SeenKeys.of(visible), heads.Desk.of(keys, self._lanes, host)
        if self._addresses is None:
            self._addresses = stacks.addresses(stack, self._softmax, clamps, rule)
        arrays = room, desk, x, earlier, after, kept, zero, seen
        zeros = stacks.run_stack(self._addresses, stack, *arrays, self._softmax, clamps, host(self._lowest), rule)
        return after, kept, zero if zeros else None

    def _hard(self, scores: np.ndarray, visible: np.ndarray, kind: Attention) -> np.ndarray:
        masked = np.where(visible[:, :, None], scores, -np.inf)
        best = (masked == masked.max(axis=1, keepdims=True, initial=-np.inf)) & visible[:, :, None]
        if kind == "leftmost":
            best &= np.cumsum(best, axis=1) == 1
        elif kind == "rightmost":
            best &= np.cumsum(best[:, ::-1], axis=1)[:, ::-1] == 1
        counts = np.maximum(best.sum(axis=1, keepdims=True), 1)
        one = self._one()
        shares = np.stack([self.divide_by_count(np.atleast_1d(one), n)[0] for n in range(1, counts.max(initial=1) + 1)])
        return np.where(best, shares[counts - 1], self.host.dtype(0))

    def mixture(self, weights: np.ndarray, values: np.ndarray, visible: np.ndarray) -> np.ndarray:
        if not self._tiled:
            return products.attention_mixture(self._number(weights), values, visible, self._inner)
        return self._paired(micro.attention_mixture, weights, values, visible)


def _matrix(x: np.ndarray) -> np.ndarray:
    """All but the first axis in one; spelled out, since there may be no rows."""
    return np.ascontiguousarray(x).reshape(x.shape[0], prod(x.shape[1:]))


def _padded(x: np.ndarray, columns: int) -> np.ndarray:
    """An array with zeros behind its last axis where that is shorter than these columns."""
    if x.shape[-1] >= columns:
        return x
    wide = np.zeros((*x.shape[:-1], columns), x.dtype)
    wide[..., : x.shape[-1]] = x
    return wide


def _spread(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    left, right = (x, y) if x.shape == y.shape else np.broadcast_arrays(x, y)
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


@cache
def _table(format: Format, dtype: np.dtype) -> tuple[int, np.ndarray]:
    first, codes = exp_table(format)
    return first, codes.astype(dtype)


@cache
def _activation_table(kind: Activation, format: Format, dtype: np.dtype) -> tuple[int, np.ndarray]:
    from glyptic.numbers.activations import activation_table

    first, codes = activation_table(kind, format)
    return first, codes.astype(dtype)
