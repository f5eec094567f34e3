"""The same numbers as torch's own nn.Transformer modules with the same weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from glyptic import nn
from tests.nn import small

D, H, F, V = 12, 3, 17, 11


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
    block.load_state_dict({ours: theirs[name] for ours, name in pairs.items()})


def config(kind: str, first: bool, **more: Any) -> nn.ModelConfig:
    fields: dict[str, Any] = {"layers": 2, "width": D, "heads": H, "vocabulary": V, "feed_forward_width": F}
    place = "pre" if first else "post"
    return nn.ModelConfig(kind=kind, norm_place=place, positions="none", head="none", **{**fields, **more})


def real_mask(length: int) -> Tensor:
    mask = torch.ones(3, length, dtype=torch.bool)
    mask[0, 3:] = mask[2, 5:] = False
    return mask


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_transformer_encoder(activation: str, first: bool, causal: bool, padded: bool, training: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(
        D, H, F, dropout=0.0, activation=activation, batch_first=True, norm_first=first, dtype=torch.float64
    )
    theirs = small.scramble(torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)).train(training)
    kind = "decoder" if causal else "encoder"
    ours = nn.build(config(kind, first, feed_forward=activation, final_norm=False)).double().train(training)
    for block, their in zip(ours.stack.blocks, theirs.layers, strict=True):
        copy_layer(block, their)
    x = torch.randn(3, 7, D, dtype=torch.float64)
    real = real_mask(7) if padded else torch.ones(3, 7, dtype=torch.bool)
    future = torch.ones(7, 7, dtype=torch.bool).triu(1) if causal else None
    expected = theirs(x, mask=future, src_key_padding_mask=~real if padded else None)
    found = ours(vectors=x, padding_mask=real if padded else None)
    assert (expected - found)[real].abs().max() < 1e-12


@pytest.mark.parametrize("first", [False, True], ids=["post", "pre"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_transformer(first: bool, padded: bool) -> None:
    """nn.Transformer, with its norms after both stacks, which Vaswani's model does not have."""
    torch.manual_seed(0)
    theirs = torch.nn.Transformer(
        D, H, 2, 2, F, dropout=0.0, batch_first=True, norm_first=first, dtype=torch.float64, activation="relu"
    )
    small.scramble(theirs).eval()
    ours = nn.build(config("encoder_decoder", first, feed_forward="relu", final_norm=True)).double().eval()
    for stack, their in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        for block, layer in zip(stack.blocks, their.layers, strict=True):
            copy_layer(block, layer)
        stack.ln_final.load_state_dict(their.norm.state_dict())
    source, target = torch.randint(0, V, (3, 7)), torch.randint(0, V, (3, 5))
    embed = ours.embedding.token.weight
    real = real_mask(7) if padded else None
    expected = theirs(
        embed[source],
        embed[target],
        tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
        src_key_padding_mask=None if real is None else ~real,
        memory_key_padding_mask=None if real is None else ~real,
    )
    assert (expected - ours(source, target, source_mask=real)).abs().max() < 1e-12


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
