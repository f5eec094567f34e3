"""Rescaling that changes no answer: a factor out of one matrix and into the next, so that both lose least when rounded.

    relu's units           w1[j], b1[j] · c      w2[:, j] / c           relu(c·x) = c·relu(x) for c > 0
    values of a head       W_V[r], b_V[r] · c    W_O[:, r] / c
    queries and keys       W_Q[r], b_Q[r] · c    W_K[r], b_K[r] / c     ⟨q, k⟩ stays
    a coordinate           all that writes · c   all that reads / c     without norms, and only where it would pass B/2
    the residual, pre-norm all that writes · c   ε of the norms · c²    all coordinates alike, Σx² within B/2: norms see no scale
    the logits             θ_OUTPUT, bias · c                           all alike, so that the answer stays; only beyond B/2

c is a power of two, so that in floating point nothing is lost at all. Which one: rounding moves a weight by up to half a unit,
and so what comes out by A/c from the first matrix (whatever goes wrong there passes through the second) and by C·c from the
second. The sum is least at c = √(A/C). With x the inputs, d their number, h what the unit becomes at most on the data:

    relu, values     A = |second column| (Σ|x| + d)    C = |h|          queries and keys     A = |k|    C = |q|

The term d is for the products, each of which is rounded too. Sizes are the largest on the data (`calibration`). c stays so
small that neither the unit nor a weight passes B/2. In floating point, where every size is rounded alike, little is gained.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from glyptic.distill.calibration import Sizes
from glyptic.distill.straight import Latents
from glyptic.exact import Transformer
from glyptic.exact.parts import weights_of
from glyptic.exact.weights import Norm
from glyptic.numbers import Format


def rescaled(
    transformer: Transformer, latents: Mapping[str, Tensor], sizes: Sizes, format: Format, *, shrink: bool = True
) -> Latents:
    """The same function with weights that suit the format better; `sizes` are the activations that `latents` give.

    Without `shrink` the residual and the logits keep their sizes: what saturates there may do no harm, and the rest is finer.
    """
    new = {name: latent.detach().clone() for name, latent in latents.items()}
    bound = float(format.max) / 2
    if transformer.options.norm == "none" and shrink:
        sizes = _shrink_coordinates(new, sizes, bound)
    elif transformer.options.norm == "pre" and transformer.final_norm is not None:
        sizes = _scale_stream(transformer, new, sizes, bound)
    if transformer.options.answer == "logits" and shrink:
        _shrink_logits(new, sizes, bound)
    for l, layer in enumerate(transformer.layers):
        entering = _entering(transformer, sizes, l)
        for h in range(len(layer.heads)):
            _balance_head(new, f"layers.{l}.heads.{h}", f"layer.{l}.head.{h}", sizes, entering, bound)
        units = layer.feed_forward
        if units is not None and units.activation == "relu" and units.gate is None:
            _balance_units(new, f"layers.{l}.feed_forward", sizes[f"layer.{l}.hidden"], _between(transformer, sizes, l), bound)
    return new


def _entering(transformer: Transformer, sizes: Sizes, layer: int) -> float:
    """Σ|x| of what a layer's heads read, at most; through a norm, √d times the largest gain would bound it: d does."""
    if transformer.options.norm != "none":
        return float(transformer.width)
    return float(sizes["embedding" if layer == 0 else f"layer.{layer - 1}.after_feed_forward"].sum())


def _between(transformer: Transformer, sizes: Sizes, layer: int) -> float:
    """The same of its feed-forward."""
    if transformer.options.norm != "none":
        return float(transformer.width)
    return float(sizes[f"layer.{layer}.after_attention"].sum())


_WRITES = ("token_embedding", "position_embedding", ".output", ".output_bias", ".w2", ".b2")
_READS = (".query", ".key", ".value", ".w1", ".gate")
_NORMED = ("embedding", ".after_attention", ".after_feed_forward")
_STREAM = ("embedding", ".attention", ".after_attention", ".feed_forward", ".after_feed_forward")


def _shrink_coordinates(new: Latents, sizes: Sizes, bound: float) -> Sizes:
    """Coordinates of the residual that would pass the bound are made smaller; the sizes, as they are then."""
    stream = {stage: size for stage, size in sizes.items() if stage.endswith(_STREAM)}
    c = _at_most_one(np.max(list(stream.values()), axis=0), bound)
    for name, latent in new.items():
        if name.endswith(_WRITES):  # coordinates are columns of the embeddings, rows of what layers write
            latent *= c if name.endswith("embedding") or latent.dim() == 1 else c[:, None]
        elif name.endswith(_READS) or name == "output":
            latent /= c
    return sizes | {stage: size * c.numpy() for stage, size in stream.items()}


def _scale_stream(transformer: Transformer, new: Latents, sizes: Sizes, bound: float) -> Sizes:
    """Everything that is read is read through a norm, so that the residual may have any size: that at which squares still fit."""
    stream = {stage: size for stage, size in sizes.items() if stage.endswith(_STREAM)}
    squares = max(float((size**2).sum()) for stage, size in stream.items() if stage.endswith(_NORMED))
    c = 2.0 ** np.floor(np.log2(bound / squares) / 2) if squares else 1.0
    for name, latent in new.items():
        if name.endswith(_WRITES):
            latent *= c
    for name, part in weights_of(transformer):
        if isinstance(part, Norm):
            new[f"{name}.epsilon"] *= c if part.kind == "rms_outside" else c**2
    return sizes | {stage: size * c for stage, size in stream.items()}


def _shrink_logits(new: Latents, sizes: Sizes, bound: float) -> None:
    c = _at_most_one(sizes["logits"].max(), bound)
    for name in {"output", "output_bias"} & new.keys():
        new[name] *= c


def _at_most_one(largest: np.ndarray, bound: float) -> Tensor:
    """The powers of two that bring sizes within the bound; 1 where they are."""
    safe = np.where(largest > 0, largest, bound)
    return torch.as_tensor(np.exp2(np.minimum(0.0, np.floor(np.log2(bound / safe)))))


def _balance_units(new: Latents, name: str, hidden: np.ndarray, entering: float, bound: float) -> None:
    w1, w2 = new[f"{name}.w1"], new[f"{name}.w2"]
    loss_before = w2.abs().amax(0).numpy() * (entering + w1.shape[1])
    own = torch.cat([w1, new[f"{name}.b1"][:, None]], dim=1).abs().amax(1).numpy()
    c = _factors(loss_before, hidden, np.maximum(own, hidden), w2.abs().amax(0).numpy(), bound)
    w1 *= c[:, None]
    new[f"{name}.b1"] *= c
    w2 /= c[None, :]


def _balance_head(new: Latents, name: str, stage: str, sizes: Sizes, entering: float, bound: float) -> None:
    value, output = new[f"{name}.value"], new[f"{name}.output"]
    mixed, column = sizes[f"{stage}.value"], output.abs().amax(0).numpy()
    own = np.maximum(_rows(new, name, "value"), mixed)
    c = _factors(column * (entering + value.shape[1]), mixed, own, column, bound)
    _scale_rows(new, name, "value", c)
    output /= c[None, :]
    q, k = sizes[f"{stage}.query"], sizes[f"{stage}.key"]
    c = _factors(k, q, np.maximum(_rows(new, name, "query"), q), np.maximum(_rows(new, name, "key"), k), bound)
    _scale_rows(new, name, "query", c)
    _scale_rows(new, name, "key", 1 / c)


def _rows(new: Latents, name: str, part: str) -> np.ndarray:
    """The largest weight of each row, its bias included."""
    rows = new[f"{name}.{part}"].abs().amax(1)
    bias = new.get(f"{name}.{part}_bias")
    return (rows if bias is None else torch.maximum(rows, bias.abs())).numpy()


def _scale_rows(new: Latents, name: str, part: str, c: Tensor) -> None:
    new[f"{name}.{part}"] *= c[:, None]
    if f"{name}.{part}_bias" in new:
        new[f"{name}.{part}_bias"] *= c


def _factors(before: np.ndarray, after: np.ndarray, grows: np.ndarray, shrinks: np.ndarray, bound: float) -> Tensor:
    """Powers of two near √(A/C), such that c·grows and shrinks/c stay within the bound; 1 where a unit does nothing."""
    live = (before > 0) & (after > 0) & (grows > 0) & (shrinks > 0)
    safe = [np.where(live, each, 1.0) for each in (before, after, grows, shrinks)]
    wish = np.round(np.log2(safe[0] / safe[1]) / 2)
    most, least = np.floor(np.log2(bound / safe[2])), np.ceil(np.log2(safe[3] / bound))
    exponent = np.where(least <= most, np.clip(wish, least, most), np.round((least + most) / 2))
    return torch.from_numpy(np.where(live, np.exp2(exponent), 1.0))
