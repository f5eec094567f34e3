"""An exact transformer into PyTorch: the same weights as floating-point numbers, in an `nn.Decoder`.

Floating point neither saturates nor rounds where the format does, so the two agree where nothing rounds and nothing
reaches B. Heads of different widths are padded with zero rows, layers with fewer heads with zero heads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.arguments import checked, refused
from glyptic.bridge.scale import common_root, root
from glyptic.errors import InputError, ModelError
from glyptic.exact import Layer, Transformer
from glyptic.exact.parts import newer_parts, parts
from glyptic.exact.transformer import Input
from glyptic.exact.weights import FeedForward, Norm
from glyptic.nn import Decoder, ModelConfig, build
from glyptic.nn.config import FeedForwardKind
from glyptic.numbers import Codes, Exact, decode


@checked
def to_nn(
    transformer: Transformer, dtype: torch.dtype = torch.float64, *, infinity: bool = False, fold: bool = False
) -> Decoder:
    """The transformer as a decoder whose logits at the last position are the exact ones, where nothing rounds.

    infinity   let weights that are ±B be the ordinary numbers ±B; otherwise they are an error, since a weight of B counts
               on sums that stop at B, and floating-point sums do not
    fold       with options.scale, let heads of different d_k have their 1/[√d_k] multiplied into W_Q; otherwise that is an
               error, since `to_exact` cannot take it out again

    Answers that are not tokens have logits of their own: row i of the output is answer i; with fewer answers than tokens the
    other rows are −∞. Back again, `to_exact` with the same `products`, `attention`, `answer` and `ties`, which a decoder does
    not hold, gives a transformer with the same logits, code for code; with the same weights too where nothing was padded.

    >>> from glyptic.exact.random import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(8), 0, Sizes(width=6, layers=1))
    >>> tuple(to_nn(T)(ids(T, [T.vocabulary[:2]])).shape) == (1, 2, max(len(T.vocabulary), len(T.answers)))
    True
    """
    if not dtype.is_floating_point:
        raise refused("dtype", dtype, "a floating-point type; use torch.float64")
    _refuse(transformer, infinity, fold)
    config = _config(transformer)
    model = build(config, kind="decoder", seed=0).to(dtype).eval()
    _fill(model, transformer, _Numbers(transformer, dtype))
    return model


@checked
def ids(transformer: Transformer, texts: Iterable[Input]) -> Tensor:
    """Inputs of one length as token numbers [B, T], for the decoder that `to_nn` makes."""
    number = {token: i for i, token in enumerate(transformer.vocabulary)}
    if isinstance(texts, str | Tensor) or not isinstance(texts, Iterable):
        raise refused("texts", texts, "a list of texts")
    texts = list(texts)
    for i, text in enumerate(texts):
        if not isinstance(text, str | list | tuple):
            raise refused(f"texts[{i}]", text, "a text or a list of tokens")
    rows = [[number[token] for token in transformer.tokens(text)] for text in texts]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) != 1:
        raise InputError(f"texts have {lengths or 'no'} tokens; give at least one text, and all of one length.")
    return torch.tensor(rows)


def _refuse(transformer: Transformer, infinity: bool, fold: bool) -> None:
    options, layers = transformer.options, transformer.layers
    if options.attention not in ("softmax", "max-subtracted"):
        raise ModelError(f"options.attention={options.attention!r} is hard attention, which nn does not have.")
    if options.mask != "causal":
        raise ModelError(f"options.mask={options.mask!r}: a decoder on PyTorch is causal; use options.mask='causal'.")
    if transformer.period is not None:
        raise ModelError("positions that repeat have no learned table of one length; bound them first: to_length(64).")
    if options.norm == "none" and transformer.final_norm is not None:
        raise ModelError("final_norm is there without other norms; nn has norms in all places or in none.")
    _refuse_parts(transformer)
    partial = any(not layer.heads or layer.feed_forward is None for layer in layers) or not layers
    if options.norm == "post" and layers and partial:
        raise ModelError("a post-norm layer without heads or feed-forward skips that norm; nn does not.")
    if partial and any(norm.epsilon == 0 for norm in _norms(transformer)):
        raise ModelError(
            "a layer lacks heads or feed-forward, where nn has a norm all the same, and with ε = 0 that norm may be 0/0; "
            "raise ε, or give the layer both."
        )
    if options.scale and not fold:
        _refuse_folding(transformer)
    if not infinity and not isinstance(transformer.format, Exact):
        for name, codes, _ in parts(transformer):
            if bool((np.abs(codes) >= transformer.format.max_code).any()):
                raise ModelError(
                    f"{name} holds B = {float(transformer.format.max):g}, which stands for ∞, and floating point does not "
                    "saturate there; give infinity=True to take it as an ordinary number."
                )


def _refuse_parts(transformer: Transformer) -> None:
    """nn has one kind of everything for all layers, and computes its positions by formulas, of which tables are not all."""
    for name in newer_parts(transformer):
        if name.rpartition(".")[2] in ("cosine", "sine", "distance_scores", "distance_keys", "distance_values"):
            raise ModelError(f"{name} is a table of positions inside attention, which nn computes from a formula, not a table.")
    layers = [layer for layer in transformer.layers if layer.feed_forward is not None]
    kinds = {(layer.feed_forward.activation, layer.feed_forward.gate is not None) for layer in layers}  # type: ignore[union-attr]
    for what, found in (("feed-forwards", kinds), ("norms", {norm.kind for norm in _norms(transformer)})):
        if len(found) > 1:
            raise ModelError(f"the {what} are of different kinds, and nn has one kind for all layers.")
    for activation, gated in kinds:
        if gated and activation not in ("silu", "gelu_tanh"):
            raise ModelError(f"a gated feed-forward with {activation} is not in nn; it has swiglu (silu) and geglu (gelu_tanh).")
    if len({layer.parallel for layer in transformer.layers}) > 1:
        raise ModelError("some layers are parallel and some are not; nn has one order for all layers.")
    for norm in _norms(transformer):
        if norm.kind != "layer" and norm.bias.any():
            raise ModelError("an RMSNorm has a bias, and nn's has none.")
    if transformer.embedding_norm is not None and not (transformer.options.norm != "none" or transformer.final_norm is not None):
        raise ModelError("embedding_norm is there without other norms; nn has norms in all places or in none.")


def _refuse_folding(transformer: Transformer) -> None:
    """One factor serves all heads, unless their queries are 0."""
    heads = [head for layer in transformer.layers for head in layer.heads if head.query.any()]
    roots = {root(len(head.query), transformer.format): len(head.query) for head in heads}
    if len(roots) > 1:
        counts = " and ".join(f"[√{rows}]" for rows in sorted(roots.values()))
        raise ModelError(
            f"options.scale divides scores by {counts} in different heads, and nn has one factor for all; give all heads as "
            "many rows of W_Q, or fold=True to multiply the factors into W_Q, from which to_exact cannot take them again."
        )


def _config(transformer: Transformer) -> ModelConfig:
    """The smallest decoder that has room for every layer; a transformer without layers gets one of zeros."""
    layers, options = transformer.layers, transformer.options
    heads = [head for layer in layers for head in layer.heads]
    norms = _norms(transformer)
    epsilons = {int(norm.epsilon) for norm in norms}
    if len(epsilons) > 1:
        raise ModelError("the norms have different epsilons; nn has one for all.")
    tokens, answers = len(transformer.vocabulary), len(transformer.answers)
    return ModelConfig(
        kind="decoder",
        layers=max(1, len(layers)),
        width=transformer.width,
        heads=max([1, *(len(layer.heads) for layer in layers)]),
        head_width=max([1, *(max(len(head.query), len(head.value)) for head in heads)]),
        vocabulary=max(tokens, answers),
        context=len(transformer.position_embedding),
        attention_scale=float(1 / float(common_root(heads, transformer.format))) if options.scale else 1.0,
        attention_bias=any(getattr(head, name) is not None for head in heads for name in _BIASES),
        attention_output_bias=any(head.output_bias is not None for head in heads),
        feed_forward=_feed_forward_kind(layers),
        feed_forward_width=max([1, *(len(x.feed_forward.w1) for x in layers if x.feed_forward is not None)]),
        norm=norms[0].kind if norms else "none",
        norm_place="post" if options.norm == "post" and layers and norms else "pre",
        norm_eps=float(transformer.format.value(epsilons.pop())) if epsilons else 1e-5,
        final_norm=transformer.final_norm is not None,
        parallel=any(layer.parallel for layer in layers),
        positions="learned",
        embedding_norm=transformer.embedding_norm is not None,
        tied=False,
        output_bias=answers < tokens or transformer.output_bias is not None,
    )


_BIASES = ("query_bias", "key_bias", "value_bias")


def _feed_forward_kind(layers: Iterable[Layer]) -> FeedForwardKind:
    for layer in layers:
        if layer.feed_forward is not None:
            gated: dict[str, FeedForwardKind] = {"silu": "swiglu", "gelu_tanh": "geglu"}
            activation = layer.feed_forward.activation
            return activation if layer.feed_forward.gate is None else gated[activation]
    return "relu"


def _norms(transformer: Transformer) -> list[Norm]:
    every = [norm for layer in transformer.layers for norm in (layer.attention_norm, layer.feed_forward_norm)]
    return [norm for norm in (transformer.embedding_norm, *every, transformer.final_norm) if norm is not None]


class _Numbers:
    """Codes into tensors; a number that the dtype cannot hold is an error that names the part."""

    def __init__(self, transformer: Transformer, dtype: torch.dtype) -> None:
        self.format, self.dtype = transformer.format, dtype

    def __call__(self, codes: Codes, part: str) -> Tensor:
        exact = decode(codes, self.format)
        try:
            tensor = torch.tensor(exact.astype(np.float64), dtype=self.dtype)
        except OverflowError:  # beyond the largest double
            tensor = None
        if tensor is None or any(x != y for x, y in zip(exact.ravel(), tensor.double().ravel().tolist(), strict=True)):
            wider = (
                "use torch.float64" if self.dtype != torch.float64 else "round to another format first, with in_format"
            )
            raise ModelError(f"{part} has numbers of {self.format} that {self.dtype} cannot hold; {wider}.")
        return tensor


@torch.no_grad()
def _fill(model: Any, transformer: Transformer, numbers: _Numbers) -> None:
    for parameter in model.parameters():
        parameter.zero_()
    _place(model.embedding.token.weight, numbers(transformer.token_embedding, "token_embedding"))
    _place(model.embedding.position.weight, numbers(transformer.position_embedding, "position_embedding"))
    for i, (layer, block) in enumerate(zip(transformer.layers, model.stack.blocks, strict=False)):
        _set_layer(block, layer, transformer, numbers, f"layers.{i}")
    _set_norm(model.stack.ln_final, transformer.final_norm, numbers, "final_norm")
    _set_norm(model.embedding.norm, transformer.embedding_norm, numbers, "embedding_norm")
    _place(model.output.weight, numbers(transformer.output, "output"))
    if transformer.output_bias is not None:
        _place(model.output.bias, numbers(transformer.output_bias, "output_bias"))
    if model.output.bias is not None:
        model.output.bias[len(transformer.answers) :] = float("-inf")


def _place(parameter: Tensor, values: Tensor) -> None:
    """Values into the first rows and columns; the rest stays 0."""
    parameter[tuple(slice(size) for size in values.shape)] = values


def _set_layer(block: Any, layer: Layer, transformer: Transformer, numbers: _Numbers, name: str) -> None:
    for h in range(len(layer.heads)):
        _set_head(block.attn, layer, h, transformer, numbers, f"{name}.heads.{h}")
    if layer.feed_forward is not None:
        _set_feed_forward(block.mlp, layer.feed_forward, numbers, f"{name}.feed_forward")
    _set_norm(block.ln1, layer.attention_norm, numbers, f"{name}.attention_norm")
    _set_norm(block.ln2, layer.feed_forward_norm, numbers, f"{name}.feed_forward_norm")


def _set_head(attention: Any, layer: Layer, h: int, transformer: Transformer, numbers: _Numbers, name: str) -> None:
    H, K, D, head = attention.heads, attention.size, transformer.width, layer.heads[h]
    qkv, out = attention.qkv.weight.view(3, H, K, D), attention.out.weight.view(D, H, K)
    common = common_root((head for each in transformer.layers for head in each.heads), transformer.format)
    factor = 1.0  # also with scale, unless it is folded
    if transformer.options.scale:
        factor = float(common / root(len(head.query), transformer.format))
    for i, part in enumerate(("query", "key", "value")):
        scaled = factor if part == "query" else 1.0
        _place(qkv[i, h], numbers(getattr(head, part), f"{name}.{part}") * scaled)
        bias = getattr(head, f"{part}_bias")
        if bias is not None:
            _place(attention.qkv.bias.view(3, H, K)[i, h], numbers(bias, f"{name}.{part}_bias") * scaled)
    _place(out[:, h], numbers(head.output, f"{name}.output"))
    if head.output_bias is not None:
        if h < len(layer.heads) - 1 or (h > 1 and not head.output.any()):
            said = f"{name} has an output_bias, and nn adds one to the sum of all heads"
            raise ModelError(f"{said}; give it to the last head that writes.")
        _place(attention.out.bias, numbers(head.output_bias, f"{name}.output_bias"))


def _set_feed_forward(part: Any, of: FeedForward, numbers: _Numbers, name: str) -> None:
    """nn has W_gate above W₁, in one matrix, each as high as the widest layer needs."""
    into, bias = part.into.weight, part.into.bias
    if of.gate is not None:
        m = len(into) // 2
        _place(into[:m], numbers(of.gate, f"{name}.gate"))
        if of.gate_bias is not None:
            _place(bias[:m], numbers(of.gate_bias, f"{name}.gate_bias"))
        into, bias = into[m:], bias[m:]
    places = {"w1": into, "b1": bias, "w2": part.out.weight, "b2": part.out.bias}
    for key, parameter in places.items():
        _place(parameter, numbers(getattr(of, key), f"{name}.{key}"))


def _set_norm(norm: Any, values: Norm | None, numbers: _Numbers, name: str) -> None:
    if values is not None:
        _place(norm.weight, numbers(values.gain, f"{name}.gain"))
        if values.kind == "layer":
            _place(norm.bias, numbers(values.bias, f"{name}.bias"))
