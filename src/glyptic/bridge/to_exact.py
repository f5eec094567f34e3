"""A decoder on PyTorch into a finite format: every weight rounded once, and from then on every operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.bridge.biases import Matrix, Stream
from glyptic.bridge.refusals import refuse
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.exact.transformer import Norm
from glyptic.nn import Decoder, ModelConfig
from glyptic.numbers import AnyFormat, Codes, Exact, encode


def to_exact(
    model: Decoder,
    format: AnyFormat,
    *,
    vocabulary: Sequence[str] | None = None,
    max_length: int | None = None,
    saturate: bool = False,
    **options: Any,
) -> Transformer:
    """The decoder as an exact transformer; `options` are those of `exact.Options`, by default as close to nn as they go.

    vocabulary   a name for each token id; None: "0", "1", …
    max_length   positions to keep; None: the decoder's context
    saturate     let weights beyond the format's largest value B become B; otherwise they are an error

    >>> from glyptic import nn
    >>> from glyptic.numbers import parse_format
    >>> config = nn.ModelConfig(kind="decoder", layers=1, width=4, heads=2, vocabulary=3, context=5, feed_forward="relu")
    >>> T = to_exact(nn.build(config, seed=0), parse_format("fp16"), vocabulary="abc")
    >>> len(T.run("abca").logits), T.options.norm, T.options.scale
    (3, 'pre', True)
    """
    config = model.config
    length = config.context if max_length is None else max_length
    refuse(config, length)
    names = tuple(map(str, range(config.vocabulary or 0))) if vocabulary is None else tuple(vocabulary)
    if len(names) != config.vocabulary:
        raise ModelError(f"vocabulary names {len(names)} tokens; the decoder has vocabulary={config.vocabulary}.")
    rounding = _Rounding(format, saturate)
    stream = Stream(_needs_one(model), config.norm == "layer")
    defaults = {"attention": "max-subtracted", "scale": config.attention_scale is None, "answer": "logits"}
    norm = "none" if config.norm == "none" else config.norm_place
    final = model.stack.ln_final
    return Transformer(
        format,
        names,
        tuple(f"x{i}" for i in range(config.width)) + (("one",) if stream.has_one else ()),
        rounding(stream.embedded(_tokens(model), 1.0), "token_embedding"),
        rounding(stream.embedded(_positions(model, length), 0.0), "position_embedding"),
        tuple(_layer(block, config, stream, rounding, f"layers.{i}") for i, block in enumerate(model.stack.blocks)),
        rounding(_output(model, stream), "output"),
        names,
        Options(norm=norm, **(defaults | options)),  # type: ignore[arg-type]
        _norm(final, stream, rounding, "final_norm") if isinstance(final, torch.nn.LayerNorm) else None,
        "from nn",
    )


class _Rounding:
    """Numbers into codes of a format; what the format cannot reach is an error that names the part."""

    def __init__(self, format: AnyFormat, saturate: bool) -> None:
        self.format, self.saturate = format, saturate

    def __call__(self, numbers: Any, part: str) -> Codes:
        numbers = np.asarray(numbers, np.float64)
        if not isinstance(self.format, Exact) and not self.saturate:
            largest = float(np.abs(numbers).max(initial=0.0))
            if largest > float(self.format.max):
                raise ModelError(
                    f"{part} holds {largest:g}, beyond the largest value {float(self.format.max):g} of {self.format}; "
                    "use a wider format, or saturate=True to make it B."
                )
        return encode(numbers, self.format, part, nearest=True)


def _needs_one(model: Decoder) -> bool:
    """Whether some bias of attention or output is not zero; a post-norm decoder is refused then."""
    blocks: list[Any] = list(model.stack.blocks)
    biases = {f"stack.blocks.{i}.attn.qkv.bias": block.attn.qkv.bias for i, block in enumerate(blocks)}
    biases |= {f"stack.blocks.{i}.attn.out.bias": block.attn.out.bias for i, block in enumerate(blocks)}
    biases["output.bias"] = None if model.output is None else model.output.bias
    used = [name for name, bias in biases.items() if bias is not None and bool(bias.any())]
    if used and model.config.norm == "layer" and model.config.norm_place == "post":
        raise ModelError(
            f"{used[0]} is not zero, and exact attention has no biases; in a post-norm decoder they cannot be carried by a "
            "coordinate: build it with attention_bias=False, attention_output_bias=False."
        )
    return bool(used)


def _array(tensor: Tensor) -> Matrix:
    return tensor.detach().double().cpu().numpy()


def _tokens(model: Decoder) -> Matrix:
    assert model.embedding.token is not None
    return _array(model.embedding.token.weight) * model.embedding.scale


def _positions(model: Decoder, length: int) -> Matrix:
    """(length, d) rows of the learned table or of the sinusoids."""
    if model.embedding.position is None:
        return np.zeros((length, model.config.width))
    with torch.no_grad():
        return _array(model.embedding.position(torch.arange(length), length, torch.float64))


def _output(model: Decoder, stream: Stream) -> Matrix:
    assert model.output is not None and model.embedding.token is not None
    weight = model.embedding.token.weight if model.output.weight is None else model.output.weight
    bias = None if model.output.bias is None else _array(model.output.bias)
    return stream.read(_array(weight) * model.config.output_scale, bias)


def _layer(block: Any, config: ModelConfig, stream: Stream, rounding: _Rounding, name: str) -> Layer:
    w1, w2 = _array(block.mlp.into.weight), stream.written(_array(block.mlp.out.weight))
    b1 = np.zeros(len(w1)) if block.mlp.into.bias is None else _array(block.mlp.into.bias)
    b2 = np.zeros(config.width) if block.mlp.out.bias is None else _array(block.mlp.out.bias)
    arrays = {"w1": stream.read(w1, None), "b1": b1, "w2": w2, "b2": stream.written(b2)}
    feed_forward = FeedForward(**{key: rounding(array, f"{name}.feed_forward.{key}") for key, array in arrays.items()})
    norms = (None, None)
    if config.norm == "layer":
        norms = (_norm(block.ln1, stream, rounding, name), _norm(block.ln2, stream, rounding, name))  # type: ignore[assignment]
    return Layer(tuple(_heads(block.attn, config, stream, rounding, name)), feed_forward, *norms)


def _heads(attention: Any, config: ModelConfig, stream: Stream, rounding: _Rounding, name: str) -> list[Head]:
    """Each head's own matrices; the output's bias rides on head 0, whose weights sum to 1 over a value that is 1."""
    H, G, K = config.heads, config.groups, config.head_size
    weight = _array(attention.qkv.weight).reshape(H + 2 * G, K, config.width)
    bias = np.zeros((H + 2 * G, K)) if attention.qkv.bias is None else _array(attention.qkv.bias).reshape(-1, K)
    out = _array(attention.out.weight).reshape(config.width, H, K)
    factor = 1.0 if config.attention_scale is None else config.attention_scale  # None: exact divides by [√d_k]
    heads = []
    for h in range(H):
        k, v = H + h * G // H, H + G + h * G // H
        matrices = {
            "query": stream.read(weight[h] * factor, bias[h] * factor),
            "key": stream.read(weight[k], bias[k]),
            "value": stream.read(weight[v], bias[v]),
            "output": stream.written(out[:, h]),
        }
        if h == 0 and attention.out.bias is not None and bool(attention.out.bias.any()):
            one = np.zeros((1, config.width + 1))
            one[0, -1] = 1.0
            column = stream.written(_array(attention.out.bias))[:, None]
            matrices["value"] = np.concatenate([matrices["value"], one])
            matrices["output"] = np.concatenate([matrices["output"], column], axis=1)
        heads.append(Head(**{key: rounding(m, f"{name}.heads.{h}.{key}") for key, m in matrices.items()}))
    return heads


def _norm(norm: torch.nn.LayerNorm, stream: Stream, rounding: _Rounding, name: str) -> Norm:
    gain, bias, epsilon = stream.norm(_array(norm.weight), _array(norm.bias), norm.eps)
    return Norm(rounding(gain, f"{name}.gain"), rounding(bias, f"{name}.bias"), rounding(epsilon, f"{name}.epsilon"))
