"""The same semantics as people write it in numpy today: dense matrices, a loop over the inner index, whole arrays rounded.

A contestant, not an oracle; but its answers are compared with ours before anything is timed.
"""

from __future__ import annotations

import numpy as np

from glyptic.exact import Transformer
from glyptic.numbers import Format, Reference, to_float64


class NumpyLoop:
    """A fixed-point transformer, softmax attention, causal mask; values as numbers in float32 or float64."""

    def __init__(self, transformer: Transformer, dtype: type = np.float32) -> None:
        format = transformer.format
        assert isinstance(format, Format)
        assert format.is_fixed
        self.transformer, self.format, self.dtype = transformer, format, dtype
        self.unit, self.top = 2.0**format.least_exponent, float(format.max)
        codes = np.arange(format.min_code, format.max_code + 1)
        reference = Reference(format)
        limit = int(12 / self.unit)
        near = codes[np.abs(codes) <= limit]
        self.first = int(near[0])
        self.exps = to_float64(reference.codes(reference.exp(reference.values(near))), format).astype(dtype)

    def round(self, x: np.ndarray) -> np.ndarray:
        scaled = np.minimum(np.abs(x), self.top) / self.unit
        if self.format.ties == "even":
            return np.copysign(np.rint(scaled) * self.unit, x)
        return np.copysign(np.ceil(scaled - 0.5) * self.unit, x)

    def clamp(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, -self.top, self.top)

    def product(self, w: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(m, k) @ (k, …), rounded: the loop over k."""
        columns = (w.shape[0],) + (1,) * (x.ndim - 1)
        total = np.zeros((w.shape[0], *x.shape[1:]), self.dtype)
        for k in range(w.shape[1]):
            total = self.clamp(total + self.round(w[:, k].reshape(columns) * x[k]))
        return total

    def exp(self, x: np.ndarray) -> np.ndarray:
        index = np.clip((x / self.unit).astype(np.int64) - self.first, 0, len(self.exps) - 1)
        return self.exps[index]

    def weights(self, codes: np.ndarray) -> np.ndarray:
        return to_float64(codes, self.format).astype(self.dtype)

    def logits(self, tokens: np.ndarray) -> np.ndarray:
        """Token numbers (n, batch) -> codes of the logits (batch, answers)."""
        model, n = self.transformer, tokens.shape[0]
        te, pe = self.weights(model.token_embedding), self.weights(model.position_embedding)
        h = self.clamp(np.moveaxis(te[tokens], -1, 0) + pe[:n].T[:, :, None])
        for layer in model.layers:
            outs = [self.head(head, h) for head in layer.heads]
            total = outs[0]
            for out in outs[1:]:
                total = self.clamp(total + out)
            h = self.clamp(h + total)
            ff = layer.feed_forward
            assert ff is not None
            hidden = self.clamp(self.product(self.weights(ff.w1), h) + self.weights(ff.b1)[:, None, None])
            out = self.product(self.weights(ff.w2), np.maximum(hidden, 0))
            h = self.clamp(h + self.clamp(out + self.weights(ff.b2)[:, None, None]))
        return np.rint(self.product(self.weights(model.output), h[:, -1]).T / self.unit).astype(np.int64)

    def head(self, head, h: np.ndarray) -> np.ndarray:
        q, k, v = (self.product(self.weights(w), h) for w in (head.query, head.key, head.value))
        n, batch = h.shape[1:]
        scores = np.zeros((n, n, batch), self.dtype)
        for c in range(q.shape[0]):
            scores = self.clamp(scores + self.round(q[c][:, None] * k[c][None]))
        e = np.where(np.tril(np.ones((n, n), bool))[:, :, None], self.exp(scores), self.dtype(0))
        denominator = np.zeros((n, batch), self.dtype)
        for j in range(n):
            denominator = self.clamp(denominator + e[:, j])
        # Quotients in double: their distance from a tie is far above its error for s ≤ 8.
        s = self.round(e.astype(np.float64) / denominator[:, None].astype(np.float64)).astype(self.dtype)
        mixed = np.zeros((v.shape[0], n, batch), self.dtype)
        for j in range(n):
            mixed = self.clamp(mixed + self.round(s[None, :, j] * v[:, None, j]))
        return self.product(self.weights(head.output), mixed)
