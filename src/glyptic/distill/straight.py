"""The forward pass of an exact transformer with gradients: values are the engine's, bit for bit, slopes those of the reals.

`exact.forward` is written over any arithmetic; this one is over tensors. Each operation is done twice: by the compiled engine,
whose result goes on, and in float64 without rounding, whose gradient goes back (straight through). Where the real result lies
beyond B the gradient is 0, for there the value stays at B. So what training sees is what will run, every rounded product and sum.

Without a format nothing is rounded: the same pass in float64, by which activations are measured against B.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.distill.rounding import rounded
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.exact.forward import Prepared, forward, prepare
from glyptic.exact.parts import parts
from glyptic.exact.stages import UNWATCHED, Observer
from glyptic.nn.parts.feed_forward import activate
from glyptic.numbers import Attention, Codes, Exact, Format, Products, to_float64
from glyptic.numbers.fast import Fast

Latents = dict[str, Tensor]  # by the names of `exact.parts.parts`: numbers that are rounded before they are used
_HARD = ("leftmost", "rightmost", "average")


def latents_of(transformer: Transformer) -> Latents:
    """Every weight as a number, in float64.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> sorted(latents_of(random_transformer("fixed:4", sizes=Sizes(layers=0))))
    ['output', 'position_embedding', 'token_embedding']
    """
    return {name: torch.from_numpy(np.array(to_float64(codes, transformer.format))) for name, codes, _ in parts(transformer)}


class StraightThrough:
    """An `Arithmetic` over float64 tensors (coordinates, positions, batch); see there for what each operation means.

    `latents` stand for the weights of the transformer that is prepared with it; they are rounded as they are read.
    """

    def __init__(self, transformer: Transformer, latents: Mapping[str, Tensor], format: Format | None) -> None:
        refuse_untaught(transformer)
        # prepare() hands over plain arrays; a transformer never moves its own, so that each is known by where it lies.
        self._latents = {_place(codes): latents[name] for name, codes, _ in parts(transformer)}
        self._given = transformer.format
        self._fast = None if format is None else Fast(format, transformer.options.products)
        # Sums of fixed point are values already, and a float64 holds them: they only saturate.
        self._saturates_only = format is not None and format.is_fixed
        self._ends = (0.0, 0.0) if format is None else (float(format.min), float(format.max))
        self.format, self.products = format or transformer.format, transformer.options.products

    products: Products

    # Between tensors and the engine's own arrays -------------------------------------------------------------------------

    def values(self, codes: Codes) -> Tensor:
        latent = self._latents.get(_place(codes))
        # What is no weight is a constant that belongs to the format, such as [√d_k].
        latent = torch.from_numpy(np.array(to_float64(codes, self._given))) if latent is None else latent.reshape(codes.shape)
        return latent if self._fast is None else rounded(latent, self._fast.format)

    weights = values

    def codes(self, values: Tensor) -> Codes:
        assert self._fast is not None, "without a format there are no codes"
        return self._fast.codes(self._hosted(values))

    def _hosted(self, x: Tensor) -> np.ndarray:
        assert self._fast is not None
        host = self._fast.host
        return (x.detach().numpy() / host.unit).astype(host.dtype)  # exact: a value of the format, by a power of two

    def _through(self, real: Tensor, engine: Callable[[Fast], np.ndarray]) -> Tensor:
        """The engine's value with the real one's gradient."""
        if self._fast is None:
            return real
        value = torch.from_numpy(engine(self._fast).astype(np.float64) * self._fast.host.unit)
        return _Through.apply(real, value, *self._ends)  # type: ignore[no-untyped-call]

    # Elementwise ---------------------------------------------------------------------------------------------------------

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        if self._saturates_only:
            return (x + y).clamp(*self._ends)
        return self._through(x + y, lambda fast: fast.add(self._hosted(x), self._hosted(y)))

    def subtract(self, x: Tensor, y: Tensor) -> Tensor:
        if self._saturates_only:
            return (x - y).clamp(*self._ends)
        return self._through(x - y, lambda fast: fast.subtract(self._hosted(x), self._hosted(y)))

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        return self._through(x * y, lambda fast: fast.multiply(self._hosted(x), self._hosted(y)))

    def divide(self, x: Tensor, y: Tensor) -> Tensor:
        return self._through(x / y, lambda fast: fast.divide(self._hosted(x), self._hosted(y)))

    def divide_unless_zero(self, x: Tensor, y: Tensor) -> tuple[Tensor, Any]:
        zero = y == 0
        return self.divide(x, torch.where(zero, torch.ones_like(y), y)), zero.numpy()

    def divide_by_count(self, x: Tensor, count: int) -> Tensor:
        return self._through(x / count, lambda fast: fast.divide_by_count(self._hosted(x), count))

    def root(self, x: Tensor) -> Tensor:
        safe = x.clamp(min=torch.finfo(x.dtype).tiny)  # the slope of a root at 0 has no end
        return self._through(safe.sqrt(), lambda fast: fast.root(self._hosted(x)))

    def relu(self, x: Tensor) -> Tensor:
        return x.relu()

    def activate(self, kind: Any, x: Tensor) -> Tensor:
        if kind == "relu":
            return self.relu(x)
        return self._through(activate(kind, x), lambda fast: fast.activate(kind, self._hosted(x)))

    def exp(self, x: Tensor) -> Tensor:
        return self._through(x.exp(), lambda fast: fast.exp(self._hosted(x)))

    # Sums ----------------------------------------------------------------------------------------------------------------

    def linear(self, weights: Tensor, x: Tensor) -> Tensor:
        real = torch.einsum("mk,knb->mnb", weights, x)
        return self._through(real, lambda fast: fast.linear(fast.weights(self.codes(weights)), self._hosted(x)))

    def total(self, x: Tensor) -> Tensor:
        return self._through(x.sum(0, keepdim=True), lambda fast: fast.total(self._hosted(x)))

    def scores(self, queries: Tensor, keys: Tensor, visible: np.ndarray) -> Tensor:
        seen = torch.from_numpy(visible)[:, :, None]
        real = torch.einsum("cqb,ckb->qkb", queries, keys).where(seen, torch.zeros((), dtype=queries.dtype))
        return self._through(real, lambda fast: fast.scores(self._hosted(queries), self._hosted(keys), visible))

    def attention_weights(self, scores: Tensor, visible: np.ndarray, kind: Attention) -> tuple[Tensor, Any]:
        seen = torch.from_numpy(visible)[:, :, None]
        real = torch.softmax(scores.masked_fill(~seen, -torch.inf), dim=1).where(seen, torch.zeros((), dtype=scores.dtype))
        if self._fast is None:
            return real, np.zeros((scores.shape[0], scores.shape[2]), bool)
        met: list[np.ndarray] = []

        def engine(fast: Fast) -> np.ndarray:
            shares, undefined = fast.attention_weights(self._hosted(scores), visible, kind)
            met.append(undefined)
            return shares

        return self._through(real, engine), met[0]

    def mixture(self, weights: Tensor, values: Tensor, visible: np.ndarray) -> Tensor:
        real = torch.einsum("qkb,ckb->cqb", weights, values)
        return self._through(real, lambda fast: fast.mixture(self._hosted(weights), self._hosted(values), visible))


class _Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, real: Tensor, value: Tensor, low: float, high: float) -> Tensor:
        ctx.save_for_backward((real >= low) & (real <= high))
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (within,) = ctx.saved_tensors
        return gradients[0] * within, None, None, None


def logits_everywhere(
    transformer: Transformer,
    latents: Mapping[str, Tensor],
    format: Format | None,
    tokens: np.ndarray,
    observer: Observer = UNWATCHED,
) -> Tensor:
    """Logits (answers, n, batch) after every token of (n, batch), as if it were the last; in a format, or without rounding."""
    arithmetic: Any = StraightThrough(transformer, latents, format)
    prepared = prepare(transformer, arithmetic)
    residual, _ = forward(prepared, _embedded(prepared, tokens, observer), observer=observer)
    logits = everywhere(prepared, residual)
    observer.record("logits", logits)
    return logits


def everywhere(prepared: Prepared, residual: Any) -> Any:
    """Logits (answers, n, batch) at every place, in any arithmetic."""
    logits = prepared.arithmetic.linear(prepared.output, residual)
    bias = prepared.output_bias
    return logits if bias is None else prepared.arithmetic.add(logits, bias)


def _embedded(prepared: Prepared, tokens: np.ndarray, observer: Observer) -> Tensor:
    """As `exact.forward.embed`, whose numpy does not know tensors."""
    of_tokens = prepared.token_embedding[torch.from_numpy(tokens)].permute(2, 0, 1)
    of_positions = prepared.position_embedding[: len(tokens)].T[:, :, None]
    residual = prepared.arithmetic.add(of_tokens, of_positions)
    observer.record("embedding", residual)
    return residual


def refuse_untaught(transformer: Transformer) -> None:
    """What this pass has no gradient for, by name."""
    if isinstance(transformer.format, Exact):
        raise ModelError("a transformer over the rationals has no rounding to learn with; bring it into a finite format.")
    if transformer.options.attention in _HARD:
        raise ModelError(f"attention={transformer.options.attention!r} has no gradient to learn by; use max-subtracted.")
    if transformer.options.mask == "full":
        raise ModelError("mask='full' lets earlier tokens see later ones, so beginnings are not words; use 'causal'.")
    untaught = [name for name, _, _ in parts(transformer) if name.endswith((".cosine", ".distance_scores", ".distance_keys"))]
    if untaught or transformer.embedding_norm is not None:
        what = untaught[0] if untaught else "embedding_norm"
        raise ModelError(f"{what} is not known here: distill models with positions='learned', 'sinusoidal' or 'none'.")


def _place(codes: Codes) -> int:
    return int(np.asarray(codes).__array_interface__["data"][0])
