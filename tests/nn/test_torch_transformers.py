"""The same numbers as torch's own nn.Transformer modules with the same weights."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from glyptic import nn
from tests.nn import small

D, H, F, V = 12, 3, 17, 11
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def copy_layer(block: Any, layer: Any) -> None:
    """torch's encoder or decoder layer → our block."""
    pairs = {"attn.qkv.weight": "self_attn.in_proj_weight", "attn.qkv.bias": "self_attn.in_proj_bias"}
    pairs |= {f"attn.out.{p}": f"self_attn.out_proj.{p}" for p in ("weight", "bias")}
    last = "norm2"
    theirs = layer.state_dict()
    if hasattr(layer, "multihead_attn"):
        last = "norm3"
        for part in ("weight", "bias"):
            q, kv = theirs[f"multihead_attn.in_proj_{part}"].split([D, 2 * D])
            theirs |= {f"q.{part}": q, f"kv.{part}": kv}
            pairs |= {f"cross_attn.q.{part}": f"q.{part}", f"cross_attn.kv.{part}": f"kv.{part}"}
            pairs |= {f"cross_attn.out.{part}": f"multihead_attn.out_proj.{part}", f"ln_cross.{part}": f"norm2.{part}"}
    for ours, name in {"mlp.into": "linear1", "mlp.out": "linear2", "ln1": "norm1", "ln2": last}.items():
        pairs |= {f"{ours}.{part}": f"{name}.{part}" for part in ("weight", "bias")}
    wanted = block.state_dict()
    for ours, name in pairs.items():
        if ours not in wanted:  # a projection without bias: torch's must then be 0
            assert theirs[name].abs().max() == 0, name
    block.load_state_dict({ours: theirs[name] for ours, name in pairs.items() if ours in wanted})


def config(kind: str, first: bool, **more: Any) -> nn.ModelConfig:
    fields: dict[str, Any] = {"layers": 2, "width": D, "heads": H, "vocabulary": V, "feed_forward_width": F}
    place = "pre" if first else "post"
    return nn.ModelConfig(kind=kind, norm_place=place, positions="none", head="none", **{**fields, **more})


def real_mask(length: int) -> Tensor:
    mask = torch.ones(3, length, dtype=torch.bool)
    mask[0, 3:] = mask[2, 5:] = False
    return mask


@DTYPES
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_transformer_encoder(
    activation: str, first: bool, causal: bool, padded: bool, training: bool, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        D, H, F, dropout=0.0, activation=activation, batch_first=True, norm_first=first, dtype=dtype
    )
    theirs = small.scramble(torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)).train(training)
    kind = "decoder" if causal else "encoder"
    ours = nn.build(config(kind, first, feed_forward=activation, final_norm=False)).to(dtype).train(training)
    for block, their in zip(ours.stack.blocks, theirs.layers, strict=True):
        copy_layer(block, their)
    x = torch.randn(3, 7, D, dtype=dtype)
    real = real_mask(7) if padded else torch.ones(3, 7, dtype=torch.bool)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1) if causal else None
    expected = theirs(x, mask=future, src_key_padding_mask=~real if padded else None)
    found = ours(vectors=x, padding_mask=real if padded else None)
    assert (expected - found)[real].abs().max() <= TOLERANCE[dtype]


def copied(theirs: Any, ours: Any) -> Any:
    """Both stacks of an encoder–decoder, with their last norms if they have them."""
    for stack, their in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for block, layer in zip(stack.blocks, their.layers, strict=True):
            copy_layer(block, layer)
        if their.norm is not None:
            stack.ln_final.load_state_dict(their.norm.state_dict())
    return ours


def run_both(theirs: Any, x: Tensor, y: Tensor, source_real: Tensor | None, target_real: Tensor | None) -> Tensor:
    """nn.Transformer on embedded source and target, causal in the target."""
    return theirs(
        x,
        y,
        tgt_mask=torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1),
        src_key_padding_mask=None if source_real is None else ~source_real,
        memory_key_padding_mask=None if source_real is None else ~source_real,
        tgt_key_padding_mask=None if target_real is None else ~target_real,
    )


@DTYPES
@pytest.mark.parametrize("first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_transformer(first: bool, padded: bool, dtype: torch.dtype) -> None:
    """nn.Transformer, with its norms after both stacks, which Vaswani's model does not have."""
    torch.manual_seed(0)
    theirs = torch.nn.Transformer(
        D, H, 2, 2, F, dropout=0.0, batch_first=True, norm_first=first, dtype=dtype, activation="relu"
    )
    small.scramble(theirs).eval()
    ours = nn.build(config("encoder_decoder", first, feed_forward="relu", final_norm=True)).to(dtype).eval()
    copied(theirs, ours)
    source, target = torch.randint(0, V, (3, 7)), torch.randint(0, V, (3, 6))
    embed = ours.embedding.token.weight
    source_real, target_real = (real_mask(7), real_mask(6)) if padded else (None, None)
    expected = run_both(theirs, embed[source], embed[target], source_real, target_real)
    error = (expected - ours(source, target, source_mask=source_real, target_mask=target_real)).abs()
    assert (error if target_real is None else error[target_real]).max() <= TOLERANCE[dtype]


@DTYPES
@pytest.mark.parametrize("name", ["vaswani", "vaswani_big"])
def test_vaswani_is_torch_s_transformer_without_last_norms_and_attention_biases(name: str, dtype: torch.dtype) -> None:
    """The preset from tokens to logits: √D · embedding + sinusoids, two stacks, the embedding again."""
    torch.manual_seed(0)
    sizes = {"layers": 2, "width": D, "heads": H, "feed_forward_width": F, "vocabulary": V}
    ours = small.scramble(nn.build(nn.preset(name, **sizes)).to(dtype)).eval()
    how: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "dtype": dtype, "activation": "relu"}
    encoder = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(D, H, F, **how), 2, norm=None, enable_nested_tensor=False
    )
    decoder = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(D, H, F, **how), 2, norm=None)
    theirs = torch.nn.Transformer(D, H, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    small.scramble(theirs).eval()
    with torch.no_grad():
        for key, parameter in theirs.named_parameters():
            if key.endswith(("in_proj_bias", "out_proj.bias")):
                parameter.zero_()
    copied(theirs, ours)
    source, target = torch.randint(0, V, (3, 7)), torch.randint(0, V, (3, 6))
    embed = ours.embedding.token.weight
    x, y = (D**0.5 * embed[t] + sines(t.shape[1]).to(dtype) for t in (source, target))
    expected = run_both(theirs, x, y, real_mask(7), None) @ embed.T
    assert expected.std() > 0.1
    assert (expected - ours(source, target, source_mask=real_mask(7))).abs().max() <= TOLERANCE[dtype]


def sines(length: int) -> Tensor:
    """§3.5 of the paper, entry by entry."""
    table = torch.zeros(length, D, dtype=torch.float64)
    for t in range(length):
        for i in range(D // 2):
            table[t, 2 * i], table[t, 2 * i + 1] = math.sin(t / 10000 ** (2 * i / D)), math.cos(t / 10000 ** (2 * i / D))
    return table


def test_multihead_attention_and_its_maps() -> None:
    theirs = small.scramble(torch.nn.MultiheadAttention(D, H, batch_first=True).double())
    ours = nn.build(config("encoder", True, backend="reference", layers=1)).double()
    attention = ours.stack.blocks[0].attn
    attention.qkv.load_state_dict({"weight": theirs.in_proj_weight, "bias": theirs.in_proj_bias})
    attention.out.load_state_dict(theirs.out_proj.state_dict())
    x = torch.randn(2, 6, D, dtype=torch.float64)
    with nn.edited(ours, {"blocks.0.ln1.hook_normalized": lambda _: x}):
        names = ["blocks.0.hook_attn_out", "blocks.0.attn.hook_pattern"]
        output, pattern = nn.record(ours, names=names, vectors=x).activations.values()
    expected, maps = theirs(x, x, x, average_attn_weights=False)
    assert (expected - output).abs().max() < 1e-13
    assert (maps - pattern).abs().max() < 1e-14
