"""A decoder on PyTorch into a finite format: every weight rounded once, and from then on every operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import torch

from glyptic.arguments import Count, checked, refused
from glyptic.bridge.positions import Matrix, as_array, attention_of, tables, turned_rows
from glyptic.bridge.refusals import options_of, refuse, refuse_weights
from glyptic.bridge.scale import Factor, factor_of
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.exact.options import AnswerPolicy, AnswerTies, Mask, NormPlacement
from glyptic.exact.weights import Norm
from glyptic.nn import Decoder, ModelConfig
from glyptic.nn.models import Model
from glyptic.nn.parts.feed_forward import GATED
from glyptic.nn.parts.norms import RMSNorm
from glyptic.numbers import Activation, AnyFormat, Attention, Codes, Exact, Format, Products, as_format, encode

ACTIVATION_OF: dict[str, Activation] = {  # geglu is with the approximate gelu, in nn
    **{"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_tanh", "silu": "silu"},
    **{"swiglu": "silu", "geglu": "gelu_tanh"},
}


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
    answers      a name for each logit, but for those that a bias of −∞ rules out; None: the names of the tokens, and for
                 head='class' NO and YES if there are two classes, else "0", "1", …
    max_length   positions to keep; None: the decoder's context
    saturate     let weights beyond the format's largest value B become B; otherwise they are an error
    scale        None: divide scores where that is nn's factor (`scale.py`), and fold it into W_Q elsewhere
    norm, mask   what the decoder has, or None

    >>> from glyptic import nn
    >>> config = nn.ModelConfig(kind="decoder", layers=1, width=4, heads=2, vocabulary=3, context=5, feed_forward="relu")
    >>> T = to_exact(nn.build(config, seed=0), "fp16", vocabulary="abc")
    >>> len(T.run("abca").logits), T.options.norm, T.options.scale
    (3, 'pre', True)
    >>> decider = nn.build(config.replace(head="class", classes=2, feed_forward="gelu"), seed=0)
    >>> to_exact(decider, "fixed:8", vocabulary="abc").answers
    ('NO', 'YES')
    """
    config = model.config
    format = as_format(format)
    length = config.context if max_length is None else max_length
    refuse(config, length)
    assert isinstance(model, Decoder)
    refuse_weights(model)
    names = _names(vocabulary, "vocabulary", [str(token) for token in range(config.vocabulary or 0)])
    said = possible(model)
    answer_names = _names(answers, "answers", _said_by_default(config, names, said))
    rounding = _Rounding(format, saturate)
    factor = factor_of(config, format, used_rows(model, length), scale)
    chosen = {"products": products, "attention": attention, "answer": answer, "ties": ties}
    options = options_of(config, factor.scale, norm, mask, **chosen)
    weight, bias = _output(model)
    return Transformer(
        format,
        names,
        tuple(f"x{i}" for i in range(config.width)),
        rounding(_tokens(model), "token_embedding"),
        rounding(_positions(model, length), "position_embedding"),
        tuple(_layer(model, i, length, factor, rounding) for i in range(config.layers)),
        rounding(weight[said], "output"),
        answer_names,
        options,
        _norm(model.stack.ln_final, config, rounding, "final_norm"),
        "from nn",
        embedding_norm=_norm(model.embedding.norm, config, rounding, "embedding_norm"),
        output_bias=rounding.bias(bias[said], "output_bias"),
    )


def _said_by_default(config: ModelConfig, names: Sequence[str], said: list[int]) -> list[str]:
    if config.head != "class":
        return [names[i] for i in said]
    words = ["NO", "YES"] if config.classes == 2 else [str(i) for i in range(config.classes)]
    return [words[i] for i in said]


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

    def bias(self, numbers: Matrix, part: str) -> Codes | None:
        """A bias, where it is not 0 throughout."""
        return self(numbers, part) if numbers.any() else None


def possible(model: Decoder) -> list[int]:
    """The logits that can be said: those without a bias of −∞, which `to_nn` gives to what is not an answer."""
    _, bias = _output(model)
    return [i for i, number in enumerate(bias) if number != float("-inf")]


def _tokens(model: Decoder) -> Matrix:
    """(vocabulary, d): widened and scaled, and with the first token type, which a decoder adds to every token."""
    embedding = model.embedding
    assert embedding.token is not None
    table = as_array(embedding.token.weight)
    if embedding.widen is not None:
        table = table @ as_array(embedding.widen.weight).T
    table = table * embedding.rounded.get(embedding.token.weight.dtype, embedding.scale)
    return table if embedding.token_type is None else table + as_array(embedding.token_type.weight)[0]


def _positions(model: Decoder, length: int) -> Matrix:
    """(length, d) rows of the learned table or of the sinusoids."""
    if model.embedding.position is None:
        return np.zeros((length, model.config.width))
    with torch.no_grad():
        return as_array(model.embedding.position(torch.arange(length), length, torch.float64))


def _output(model: Decoder) -> tuple[Matrix, Matrix]:
    """The matrix (logits, d) and the bias (logits,) of the output."""
    assert model.output is not None and model.embedding.token is not None
    weight = model.embedding.token.weight if model.output.weight is None else model.output.weight
    bias = np.zeros(len(weight)) if model.output.bias is None else as_array(model.output.bias)
    matrix = as_array(weight) if model.output.narrow is None else as_array(weight) @ as_array(model.output.narrow.weight)
    return matrix * model.config.output_scale, bias


def used_rows(model: Decoder, length: int) -> int:
    """How many rows, from the first, of a head's W_Q and W_K hold all that is not 0, in every head and layer."""
    config, used = model.config, turned_rows(model)
    for layer in range(config.layers):
        weight, bias = _projections(model, layer)
        of_positions = [tables(model, layer, h, length) for h in range(config.heads)]
        extra = [each.get("query_bias", np.zeros(config.head_size)) for each in of_positions]
        queries = np.concatenate([weight[: config.heads], bias[: config.heads, :, None], np.array(extra)[..., None]], axis=2)
        keys = np.concatenate([weight, bias[..., None]], axis=2)[config.heads : config.heads + config.groups]
        by_distance = [each["distance_keys"].T for each in of_positions if "distance_keys" in each]
        turned = [*(rows.any(axis=(0, 2)) for rows in (queries, keys)), *(rows.any(axis=1) for rows in by_distance)]
        used = max(used, *(int(row) + 1 for rows in turned for row in np.flatnonzero(rows)), 0)
    return used


def _projections(model: Decoder, layer: int) -> tuple[Matrix, Matrix]:
    """(H + 2G, K, d) and (H + 2G, K): matrices and biases of queries, keys and values, head by head."""
    config, qkv = model.config, attention_of(model, layer).qkv
    count, size = config.heads + 2 * config.groups, config.head_size
    weight = as_array(qkv.weight).reshape(count, size, config.width)
    bias = np.zeros((count, size)) if qkv.bias is None else as_array(qkv.bias).reshape(count, size)
    return weight, bias


def _layer(model: Decoder, number: int, length: int, factor: Factor, rounding: _Rounding) -> Layer:
    config, name = model.config, f"layers.{number}"
    block: Any = model.stack.blocks[number]
    return Layer(
        tuple(_heads(model, number, length, factor, rounding, name)),
        _feed_forward(block.mlp, config, rounding, f"{name}.feed_forward"),
        _norm(block.ln1, config, rounding, f"{name}.attention_norm"),
        _norm(block.ln2, config, rounding, f"{name}.feed_forward_norm"),
        config.parallel,
    )


def _feed_forward(part: Any, config: ModelConfig, rounding: _Rounding, name: str) -> FeedForward:
    """nn has W_gate above W₁, in one matrix."""
    gated = config.feed_forward in GATED
    inner, out = as_array(part.into.weight), as_array(part.out.weight)
    b1 = np.zeros(len(inner)) if part.into.bias is None else as_array(part.into.bias)
    b2 = np.zeros(config.width) if part.out.bias is None else as_array(part.out.bias)
    m = config.hidden_size if gated else 0
    arrays = {"w1": inner[m:], "b1": b1[m:], "w2": out, "b2": b2}
    made = {key: rounding(array, f"{name}.{key}") for key, array in arrays.items()}
    if gated:
        made |= {"gate": rounding(inner[:m], f"{name}.gate"), "gate_bias": rounding.bias(b1[:m], f"{name}.gate_bias")}  # type: ignore[dict-item]
    return FeedForward(**made, activation=ACTIVATION_OF[config.feed_forward])


def _heads(
    model: Decoder, layer: int, length: int, factor: Factor, rounding: _Rounding, name: str
) -> Iterator[Head]:
    """Each head's own matrices and biases; the bias of the output is that of the last head that writes."""
    config, attention = model.config, attention_of(model, layer)
    H, G, K = config.heads, config.groups, config.head_size
    weight, bias = _projections(model, layer)
    out = as_array(attention.out.weight).reshape(config.width, H, K)
    last = max([0, *np.flatnonzero(out.any(axis=(0, 2))).tolist()])
    scored, folded = slice(factor.rows), factor.folded  # rows of zeros may be left out of scores, where [√d_k] counts them
    for h in range(H):
        k, v = H + h * G // H, H + G + h * G // H
        more = tables(model, layer, h, length)
        query_bias = bias[h] + more.pop("query_bias", 0.0)
        arrays = {"query": weight[h, scored] * folded, "key": weight[k, scored], "value": weight[v], "output": out[:, h]}
        biases = {"query_bias": query_bias[scored] * folded, "key_bias": bias[k, scored], "value_bias": bias[v]}
        if h == last and attention.out.bias is not None:
            biases["output_bias"] = as_array(attention.out.bias)
        if "distance_keys" in more:
            more["distance_keys"] = more["distance_keys"][:, scored]
        made: dict[str, Any] = {key: rounding(array, f"{name}.heads.{h}.{key}") for key, array in (arrays | more).items()}
        made |= {key: rounding.bias(array, f"{name}.heads.{h}.{key}") for key, array in biases.items()}
        yield Head(**made)


def _norm(norm: Any, config: ModelConfig, rounding: _Rounding, name: str) -> Norm | None:
    """LayerNorm or RMSNorm, which has no bias, and whose γ may be 1 + its weight; None where nn has none."""
    if not isinstance(norm, torch.nn.LayerNorm | RMSNorm):
        return None
    bias = as_array(norm.bias) if isinstance(norm, torch.nn.LayerNorm) else np.zeros(config.width)
    plus_one = config.norm == "rms_plus_one"
    arrays = {"gain": as_array(norm.weight) + plus_one, "bias": bias, "epsilon": norm.eps}
    kind: Any = "rms" if plus_one else config.norm
    return Norm(**{key: rounding(array, f"{name}.{key}") for key, array in arrays.items()}, kind=kind)
