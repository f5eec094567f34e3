"""A decoder on PyTorch into a finite format: every weight rounded once, and from then on every operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from glyptic.arguments import Count, checked, refused
from glyptic.bridge.biases import Matrix, Stream
from glyptic.bridge.refusals import options_of, refuse, refuse_weights
from glyptic.bridge.scale import Factor, factor_of
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.exact.options import AnswerPolicy, AnswerTies, Mask, NormPlacement
from glyptic.exact.transformer import Norm
from glyptic.nn import Decoder, ModelConfig
from glyptic.nn.models import Model
from glyptic.numbers import AnyFormat, Attention, Codes, Exact, Format, Products, as_format, encode


@checked
def to_exact(
    model: Model,
    format: Format | Exact | str,
    *,
    vocabulary: Sequence[str] | None = None,
    answers: Sequence[str] | None = None,
    max_length: Annotated[int, Count(1, 10**6)] | None = None,
    saturate: bool = False,
    products: Products = "rounded",
    attention: Attention = "max-subtracted",
    scale: bool | None = None,
    answer: AnswerPolicy = "logits",
    ties: AnswerTies = "explicit",
    norm: NormPlacement | None = None,
    mask: Mask | None = None,
) -> Transformer:
    """The decoder as an exact transformer, read as the options say (`exact.Options`), by default as close to nn as they go.

    vocabulary   a name for each token id; None: "0", "1", …
    answers      a name for each logit, but for those that a bias of −∞ rules out; None: the names of the tokens
    max_length   positions to keep; None: the decoder's context
    saturate     let weights beyond the format's largest value B become B; otherwise they are an error
    scale        None: divide scores where that is nn's factor (`scale.py`), and fold it into W_Q elsewhere
    norm, mask   what the decoder has, or None

    >>> from glyptic import nn
    >>> config = nn.ModelConfig(kind="decoder", layers=1, width=4, heads=2, vocabulary=3, context=5, feed_forward="relu")
    >>> T = to_exact(nn.build(config, seed=0), "fp16", vocabulary="abc")
    >>> len(T.run("abca").logits), T.options.norm, T.options.scale
    (3, 'pre', True)
    """
    config = model.config
    format = as_format(format)
    length = config.context if max_length is None else max_length
    refuse(config, length)
    assert isinstance(model, Decoder)
    refuse_weights(model)
    names = _names(vocabulary, "vocabulary", [str(token) for token in range(config.vocabulary or 0)])
    said = possible(model)
    answer_names = _names(answers, "answers", [names[i] for i in said])
    rounding = _Rounding(format, saturate)
    stream = Stream(_needs_one(model, said), config.norm == "layer")
    factor = factor_of(config, format, used_rows(model), scale)
    chosen = {"products": products, "attention": attention, "answer": answer, "ties": ties}
    options = options_of(config, factor.scale, norm, mask, **chosen)
    final = model.stack.ln_final
    return Transformer(
        format,
        names,
        tuple(f"x{i}" for i in range(config.width)) + (("one",) if stream.has_one else ()),
        rounding(stream.embedded(_tokens(model), 1.0), "token_embedding"),
        rounding(stream.embedded(_positions(model, length), 0.0), "position_embedding"),
        tuple(
            _layer(block, config, stream, factor, rounding, f"layers.{i}") for i, block in enumerate(model.stack.blocks)
        ),
        rounding(_output(model, stream)[said], "output"),
        answer_names,
        options,
        _norm(final, stream, rounding, "final_norm") if isinstance(final, torch.nn.LayerNorm) else None,
        "from nn",
    )


def _names(given: Sequence[str] | None, what: str, defaults: list[str]) -> tuple[str, ...]:
    """A name for each of as many things as there are defaults."""
    if given is None:
        return tuple(defaults)
    try:
        names = tuple(given)
    except TypeError:
        raise refused(what, given, "a name for each token") from None
    if len(names) != len(defaults):
        things = "tokens; the decoder has vocabulary=" if what == "vocabulary" else "logits; the decoder can give "
        raise ModelError(f"{what} names {len(names)} {things}{len(defaults)}.")
    return names


class _Rounding:
    """Numbers into codes of a format; what the format cannot reach is an error that names the part."""

    def __init__(self, format: AnyFormat, saturate: bool) -> None:
        self.format, self.saturate = format, saturate

    def __call__(self, numbers: Any, part: str) -> Codes:
        numbers = np.asarray(numbers, np.float64)
        if not isinstance(self.format, Exact) and not self.saturate:
            low, high = float(self.format.min), float(self.format.max)  # in Q(m, f) −2^m is a value, and 2^m is not
            beyond = numbers[(numbers > high) | (numbers < low)]
            if beyond.size:
                worst = beyond[np.abs(beyond).argmax()]
                end = f"the largest value {high:g}" if worst > 0 else f"the smallest value {low:g}"
                raise ModelError(
                    f"{part} holds {worst:g}, beyond {end} of {self.format}; "
                    "use a wider format, or saturate=True to let it be that."
                )
        return encode(numbers, self.format, part, nearest=True)


def possible(model: Decoder) -> list[int]:
    """The tokens that can be said: those whose logit has no bias of −∞, as `to_nn` gives to what is not an answer."""
    assert model.output is not None and model.config.vocabulary is not None
    bias = model.output.bias
    return [i for i in range(model.config.vocabulary) if bias is None or bias[i] != float("-inf")]


def _needs_one(model: Decoder, said: list[int]) -> bool:
    """Whether some bias of attention or output is not zero; where no coordinate can carry it, it is refused."""
    config = model.config
    blocks: list[Any] = list(model.stack.blocks)
    biases = {f"stack.blocks.{i}.attn.qkv.bias": block.attn.qkv.bias for i, block in enumerate(blocks)}
    biases |= {f"stack.blocks.{i}.attn.out.bias": block.attn.out.bias for i, block in enumerate(blocks)}
    output = None if model.output is None or model.output.bias is None else model.output.bias[said]
    used = [name for name, bias in biases.items() if bias is not None and bool(bias.any())]
    used += ["output.bias"] if output is not None and bool(output.any()) else []
    if used and config.norm == "layer" and config.norm_place == "post":
        raise ModelError(
            f"{used[0]} is not zero, and exact attention has no biases; in a post-norm decoder they cannot be carried by a "
            "coordinate: build it with attention_bias=False, attention_output_bias=False."
        )
    if used[-1:] == ["output.bias"] and config.norm == "layer" and not config.has_final_norm:
        raise ModelError(
            "output.bias is not zero, and without the final norm no coordinate is 1 where the output reads: build the decoder "
            "with final_norm=True, or with output_bias=False."
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


def used_rows(model: Decoder) -> int:
    """How many rows, from the first, of a head's W_Q and W_K hold all that is not 0, in every head and layer."""
    config = model.config
    used = 0
    blocks: list[Any] = list(model.stack.blocks)
    for block in blocks:
        weight, bias = _projections(block.attn, config)
        turned = np.concatenate([weight, bias[..., None]], axis=2)[: config.heads + config.groups].any(axis=(0, 2))
        used = max(used, *(np.flatnonzero(turned) + 1), 0)
    return int(used)


def _projections(attention: Any, config: ModelConfig) -> tuple[Matrix, Matrix]:
    """(H + 2G, K, d) and (H + 2G, K): matrices and biases of queries, keys and values, head by head."""
    count, size = config.heads + 2 * config.groups, config.head_size
    weight = _array(attention.qkv.weight).reshape(count, size, config.width)
    bias = np.zeros((count, size)) if attention.qkv.bias is None else _array(attention.qkv.bias).reshape(count, size)
    return weight, bias


def _layer(block: Any, config: ModelConfig, stream: Stream, factor: Factor, rounding: _Rounding, name: str) -> Layer:
    w1, w2 = _array(block.mlp.into.weight), stream.written(_array(block.mlp.out.weight))
    b1 = np.zeros(len(w1)) if block.mlp.into.bias is None else _array(block.mlp.into.bias)
    b2 = np.zeros(config.width) if block.mlp.out.bias is None else _array(block.mlp.out.bias)
    arrays = {"w1": stream.read(w1, None), "b1": b1, "w2": w2, "b2": stream.written(b2)}
    feed_forward = FeedForward(**{key: rounding(array, f"{name}.feed_forward.{key}") for key, array in arrays.items()})
    norms = (None, None)
    if config.norm == "layer":
        norms = (  # type: ignore[assignment]
            _norm(block.ln1, stream, rounding, f"{name}.attention_norm"),
            _norm(block.ln2, stream, rounding, f"{name}.feed_forward_norm"),
        )
    return Layer(tuple(_heads(block.attn, config, stream, factor, rounding, name)), feed_forward, *norms)


def _heads(
    attention: Any, config: ModelConfig, stream: Stream, factor: Factor, rounding: _Rounding, name: str
) -> list[Head]:
    """Each head's own matrices; the output's bias rides on head 0, whose weights sum to 1 over a value that is 1."""
    H, G, K = config.heads, config.groups, config.head_size
    weight, bias = _projections(attention, config)
    out = _array(attention.out.weight).reshape(config.width, H, K)
    scored, folded = (
        slice(factor.rows),
        factor.folded,
    )  # rows of zeros may be left out of scores, where [√d_k] counts them
    heads = []
    for h in range(H):
        k, v = H + h * G // H, H + G + h * G // H
        matrices = {
            "query": stream.read(weight[h, scored] * folded, bias[h, scored] * folded),
            "key": stream.read(weight[k, scored], bias[k, scored]),
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
