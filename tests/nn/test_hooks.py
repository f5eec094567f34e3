"""Activations by TransformerLens's names: read, replaced, and never computed by another backend in silence."""

from __future__ import annotations

import pytest
import torch

from glyptic import nn
from glyptic.errors import InputError, ModelError
from tests.nn import small

TOKENS = small.tokens(2, 6)

# HookedTransformer.hook_dict of TransformerLens for a pre-norm decoder, less those of its options and of the inside of
# LayerNorm (hook_scale), which a fused kernel does not show.
TRANSFORMER_LENS = [
    "hook_embed",
    "hook_pos_embed",
    "ln_final.hook_normalized",
    *[
        f"blocks.{layer}.{name}"
        for layer in range(2)
        for name in (
            "hook_resid_pre",
            "ln1.hook_normalized",
            "attn.hook_q",
            "attn.hook_k",
            "attn.hook_v",
            "attn.hook_attn_scores",
            "attn.hook_pattern",
            "attn.hook_z",
            "hook_attn_out",
            "hook_resid_mid",
            "ln2.hook_normalized",
            "mlp.hook_pre",
            "mlp.hook_post",
            "hook_mlp_out",
            "hook_resid_post",
        )
    ],
]


def test_the_names_are_transformer_lens_s() -> None:
    assert set(TRANSFORMER_LENS) <= set(nn.hook_names(small.model()))
    both = nn.hook_names(small.model(kind="encoder_decoder"))
    assert {"encoder.0.attn.hook_q", "decoder.1.cross_attn.hook_pattern", "decoder.0.hook_cross_attn_out"} <= set(both)


def test_activations_are_what_the_model_computes() -> None:
    model = small.model(backend="reference")
    found = nn.record(model, TOKENS, names=TRANSFORMER_LENS).activations
    assert list(found) == TRANSFORMER_LENS
    for layer in range(2):
        at = f"blocks.{layer}"
        block = model.stack.blocks[layer]
        residual = found[f"{at}.hook_resid_pre"]
        assert torch.equal(found[f"{at}.ln1.hook_normalized"], block.ln1(residual))
        q, k, v = (found[f"{at}.attn.hook_{part}"] for part in "qkv")  # [B, T, H, K]
        assert tuple(q.shape) == (2, 6, 3, 4)
        scores = torch.einsum("bthk,bshk->bhts", q, k) / 2
        visible = torch.ones(6, 6, dtype=torch.bool).tril()
        pattern = scores.masked_fill(~visible, -torch.inf).softmax(-1)
        assert (found[f"{at}.attn.hook_attn_scores"] - scores)[..., visible].abs().max() < 1e-14
        assert (found[f"{at}.attn.hook_pattern"] - pattern).abs().max() < 1e-14
        z = torch.einsum("bhts,bshk->bthk", pattern, v)
        assert (found[f"{at}.attn.hook_z"] - z).abs().max() < 1e-14
        attended = block.attn.out(z.flatten(2))
        assert (found[f"{at}.hook_attn_out"] - attended).abs().max() < 1e-13
        assert (found[f"{at}.hook_resid_mid"] - residual - attended).abs().max() < 1e-13
        hidden = block.mlp.into(found[f"{at}.ln2.hook_normalized"])
        assert (found[f"{at}.mlp.hook_pre"] - hidden).abs().max() < 1e-13
        assert (found[f"{at}.mlp.hook_post"] - torch.nn.functional.gelu(hidden)).abs().max() < 1e-13
        after = found[f"{at}.hook_resid_mid"] + found[f"{at}.hook_mlp_out"]
        assert (found[f"{at}.hook_resid_post"] - after).abs().max() < 1e-13
    assert torch.equal(found["blocks.1.hook_resid_pre"], found["blocks.0.hook_resid_post"])


def test_only_the_chosen_are_kept_and_nothing_stays_behind() -> None:
    model = small.model()
    result = nn.record(model, TOKENS, names=["blocks.*.attn.hook_z", "hook_embed"])
    assert list(result.activations) == ["blocks.0.attn.hook_z", "blocks.1.attn.hook_z", "hook_embed"]
    assert torch.equal(result.output, model(TOKENS))
    with pytest.raises(RuntimeError), nn.edited(model, {"hook_embed": nn.ablate()}):
        raise RuntimeError
    assert torch.equal(result.output, model(TOKENS))


def test_maps_are_refused_by_a_backend_without_them() -> None:
    model = small.model(backend="sdpa")
    with pytest.raises(ModelError, match=r"hook_pattern' does not exist in backend='sdpa'"):
        nn.record(model, TOKENS, names="blocks.0.attn.hook_pattern")
    twin = nn.with_backend(model, "reference")
    assert twin.stack.blocks[0].attn.qkv.weight is model.stack.blocks[0].attn.qkv.weight
    found = nn.record(twin, TOKENS, names="*hook_pattern")
    assert len(found.activations) == 2
    assert (found.output - model(TOKENS)).abs().max() < 1e-13


def test_ablating_a_head_removes_its_term() -> None:
    model = small.model(layers=1)
    z = nn.record(model, TOKENS, names="blocks.0.attn.hook_z").activations["blocks.0.attn.hook_z"]
    names = ["blocks.0.hook_attn_out"]
    whole = nn.record(model, TOKENS, names=names).activations[names[0]]
    edits = {"blocks.0.attn.hook_z": nn.ablate(heads=[1])}
    without = nn.record(model, TOKENS, names=names, edits=edits).activations[names[0]]
    term = z[:, :, 1] @ model.stack.blocks[0].attn.out.weight[:, 4:8].T
    assert (whole - without - term).abs().max() < 1e-13
    mean = nn.ablate(heads=[1], value=z.mean((0, 1), keepdim=True).expand_as(z))
    averaged = nn.record(model, TOKENS, names=names, edits={"blocks.0.attn.hook_z": mean}).activations[names[0]]
    assert (averaged - whole).abs().max() > 1e-3


def test_patching_the_whole_residual_moves_the_output() -> None:
    """Putting run B's residual into run A gives B's output; at one token, B's output there in the last layer."""
    model, other = small.model(), small.tokens(2, 6, seed=9)
    name = "blocks.1.hook_resid_post"
    source = nn.record(model, other, names=name).activations[name]
    with nn.edited(model, {name: nn.patch(source)}):
        assert torch.equal(model(TOKENS), model(other))
    with nn.edited(model, {name: nn.patch(source, tokens=[2])}):
        mixed = model(TOKENS)
    assert torch.equal(mixed[:, 2], model(other)[:, 2])
    assert torch.equal(mixed[:, 3], model(TOKENS)[:, 3])


def test_pattern_edits_take_effect() -> None:
    """Uniform attention over the past, put in by hand."""
    model = small.model(layers=1, backend="reference")
    uniform = (torch.ones(6, 6).tril() / torch.arange(1, 7)[:, None]).double().expand(2, 3, 6, 6)
    names = ["blocks.0.attn.hook_v", "blocks.0.attn.hook_z"]
    found = nn.record(model, TOKENS, names=names, edits={"blocks.0.attn.hook_pattern": lambda _: uniform})
    v, z = found.activations.values()
    assert (z - torch.einsum("bhts,bshk->bthk", uniform, v)).abs().max() < 1e-14


def test_hooks_work_with_caches_and_inside_norms() -> None:
    model = small.model(backend="reference")
    cache = model.new_cache(2, 6)
    model(TOKENS[:, :5], cache=cache)
    found = nn.record(model, TOKENS[:, 5:], names="blocks.1.attn.hook_pattern", cache=cache).activations
    whole = nn.record(model, TOKENS, names="blocks.1.attn.hook_pattern").activations
    (step,), (all_steps,) = found.values(), whole.values()
    assert (step[:, :, 0] - all_steps[:, :, 5]).abs().max() < 1e-13
    with nn.edited(model, {"ln_final.hook_normalized": nn.ablate()}):
        assert model(TOKENS).abs().max() == 0


def test_mistakes_are_named() -> None:
    model = small.model()
    with pytest.raises(InputError, match=r"'blocks.7.hook_resid_pre' matches no hook"):
        nn.record(model, TOKENS, names="blocks.7.hook_resid_pre")
    with (
        pytest.raises(InputError, match="'hook_nothing' is not a hook"),
        nn.edited(model, {"hook_nothing": nn.ablate()}),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"heads=\[9\]"),
        nn.edited(model, {"blocks.0.attn.hook_z": nn.ablate(heads=[9])}),
    ):
        model(TOKENS)
    with (
        pytest.raises(InputError, match="the patch has shape"),
        nn.edited(model, {"hook_embed": nn.patch(torch.zeros(1))}),
    ):
        model(TOKENS)
