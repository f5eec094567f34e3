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

from glyptic.errors import ModelError
from glyptic.exact import Layer, Transformer
from glyptic.exact.transformer import Input, Norm, parts
from glyptic.nn import Decoder, ModelConfig, build
from glyptic.numbers import Codes, Exact, Reference, decode, encode


def to_nn(transformer: Transformer, dtype: torch.dtype = torch.float64, *, infinity: bool = False) -> Decoder:
    """The transformer as a decoder whose logits at the last position are the exact ones, where nothing rounds.

    infinity   let weights that are ±B be the ordinary numbers ±B; otherwise they are an error, since a weight of B counts
               on sums that stop at B, and floating-point sums do not

    Answers that are not tokens have logits of their own: row i of the output is answer i; with fewer answers than tokens
    the other rows are −∞.

    >>> from glyptic.exact.random import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(8), 0, Sizes(width=6, layers=1))
    >>> tuple(to_nn(T)(ids(T, [T.vocabulary[:2]])).shape) == (1, 2, max(len(T.vocabulary), len(T.answers)))
    True
    """
    _refuse(transformer, infinity)
    config = _config(transformer)
    model = build(config, seed=0).to(dtype).eval()
    numbers = _Numbers(transformer, dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        _place(model.embedding.token.weight, numbers(transformer.token_embedding, "token_embedding"))
        _place(model.embedding.position.weight, numbers(transformer.position_embedding, "position_embedding"))
        for i, (layer, block) in enumerate(zip(transformer.layers, model.stack.blocks, strict=False)):
            _set_layer(block, layer, transformer, numbers, f"layers.{i}")
        _set_norm(model.stack.ln_final, transformer.final_norm, numbers, "final_norm")
        _place(model.output.weight, numbers(transformer.output, "output"))
        if model.output.bias is not None:
            model.output.bias[len(transformer.answers) :] = float("-inf")
    return model


def ids(transformer: Transformer, texts: Iterable[Input]) -> Tensor:
    """Inputs of one length as token numbers [B, T], for the decoder that `to_nn` makes."""
    number = {token: i for i, token in enumerate(transformer.vocabulary)}
    return torch.tensor([[number[token] for token in transformer.tokens(text)] for text in texts])


def _refuse(transformer: Transformer, infinity: bool) -> None:
    options = transformer.options
    if options.attention not in ("softmax", "max-subtracted"):
        raise ModelError(f"options.attention={options.attention!r} is hard attention, which nn does not have.")
    if options.mask != "causal":
        raise ModelError(f"options.mask={options.mask!r}: a decoder on PyTorch is causal; use options.mask='causal'.")
    if options.norm == "none" and transformer.final_norm is not None:
        raise ModelError("final_norm is there without other norms; nn has norms in all places or in none.")
    if options.norm == "post" and any(not x.heads or x.feed_forward is None for x in transformer.layers):
        raise ModelError("a post-norm layer without heads or feed-forward skips that norm; nn does not.")
    if not infinity and not isinstance(transformer.format, Exact):
        for name, codes, _ in parts(transformer):
            if bool((np.abs(codes) >= transformer.format.max_code).any()):
                raise ModelError(
                    f"{name} holds B = {float(transformer.format.max):g}, which stands for ∞, and floating point does not "
                    "saturate there; give infinity=True to take it as an ordinary number."
                )


def _config(transformer: Transformer) -> ModelConfig:
    """The smallest decoder that has room for every layer; a transformer without layers gets one of zeros."""
    layers, options = transformer.layers, transformer.options
    heads = [head for layer in layers for head in layer.heads]
    epsilons = {int(norm.epsilon) for norm in _norms(transformer)}
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
        context=transformer.max_length,
        attention_scale=1.0,
        attention_bias=False,
        attention_output_bias=False,
        feed_forward="relu",
        feed_forward_width=max([1, *(len(x.feed_forward.w1) for x in layers if x.feed_forward is not None)]),
        norm="none" if options.norm == "none" else "layer",
        norm_place="post" if options.norm == "post" else "pre",
        norm_eps=float(transformer.format.value(epsilons.pop())) if epsilons else 1e-5,
        final_norm=transformer.final_norm is not None,
        positions="learned",
        tied=False,
        output_bias=answers < tokens,
    )


def _norms(transformer: Transformer) -> list[Norm]:
    every = [norm for layer in transformer.layers for norm in (layer.attention_norm, layer.feed_forward_norm)]
    return [norm for norm in (*every, transformer.final_norm) if norm is not None]


class _Numbers:
    """Codes into tensors; a number that the dtype cannot hold is an error that names the part."""

    def __init__(self, transformer: Transformer, dtype: torch.dtype) -> None:
        self.format, self.dtype = transformer.format, dtype

    def __call__(self, codes: Codes, part: str) -> Tensor:
        exact = decode(codes, self.format)
        tensor = torch.tensor(exact.astype(np.float64), dtype=self.dtype)
        if any(x != y for x, y in zip(exact.ravel().tolist(), tensor.double().ravel().tolist(), strict=True)):
            raise ModelError(f"{part} has numbers of {self.format} that {self.dtype} cannot hold; use torch.float64.")
        return tensor

    def root(self, count: int) -> float:
        """[√d_k], as the exact transformer rounds it."""
        arithmetic = Reference(self.format)
        return float(arithmetic.root(arithmetic.values(encode([count], self.format, nearest=True)))[0])


def _place(parameter: Tensor, values: Tensor) -> None:
    """Values into the first rows and columns; the rest stays 0."""
    parameter[tuple(slice(size) for size in values.shape)] = values


def _set_layer(block: Any, layer: Layer, transformer: Transformer, numbers: _Numbers, name: str) -> None:
    attention = block.attn
    H, K, D = attention.heads, attention.size, transformer.width
    qkv, out = attention.qkv.weight.view(3, H, K, D), attention.out.weight.view(D, H, K)
    for h, head in enumerate(layer.heads):
        query = numbers(head.query, f"{name}.heads.{h}.query")
        if transformer.options.scale:
            query = query / numbers.root(len(head.query))
        _place(qkv[0, h], query)
        _place(qkv[1, h], numbers(head.key, f"{name}.heads.{h}.key"))
        _place(qkv[2, h], numbers(head.value, f"{name}.heads.{h}.value"))
        _place(out[:, h], numbers(head.output, f"{name}.heads.{h}.output"))
    if layer.feed_forward is not None:
        places = {"w1": block.mlp.into.weight, "b1": block.mlp.into.bias}
        places |= {"w2": block.mlp.out.weight, "b2": block.mlp.out.bias}
        for part, parameter in places.items():
            _place(parameter, numbers(getattr(layer.feed_forward, part), f"{name}.feed_forward.{part}"))
    _set_norm(block.ln1, layer.attention_norm, numbers, f"{name}.attention_norm")
    _set_norm(block.ln2, layer.feed_forward_norm, numbers, f"{name}.feed_forward_norm")


def _set_norm(norm: Any, values: Norm | None, numbers: _Numbers, name: str) -> None:
    if values is not None:
        _place(norm.weight, numbers(values.gain, f"{name}.gain"))
        _place(norm.bias, numbers(values.bias, f"{name}.bias"))
