"""Activations by TransformerLens's names: read, replaced, and never computed by another backend in silence."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glyptic import nn
from glyptic.errors import GlypticError, InputError, ModelError
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


# HookedEncoderDecoder's, of a T5 decoder block; likewise less options and the inside of norms.
TRANSFORMER_LENS_CROSS = [
    *["hook_resid_pre", "ln1.hook_normalized", "attn.hook_pattern", "hook_attn_out", "hook_resid_mid"],
    *["ln2.hook_normalized", "cross_attn.hook_q", "cross_attn.hook_k", "cross_attn.hook_pattern", "cross_attn.hook_z"],
    *["hook_cross_attn_out", "hook_resid_mid_cross", "ln3.hook_normalized", "mlp.hook_pre", "mlp.hook_post"],
    *["hook_mlp_out", "hook_resid_post"],
]


def test_the_names_are_transformer_lens_s() -> None:
    assert set(TRANSFORMER_LENS) <= set(nn.hook_names(small.model()))
    both = set(nn.hook_names(small.model(kind="encoder_decoder")))
    assert {f"decoder.{layer}.{name}" for layer in (0, 1) for name in TRANSFORMER_LENS_CROSS} <= both
    assert {"encoder.0.attn.hook_q", "encoder.0.ln2.hook_normalized", "hook_embed"} <= both
    assert {"encoder_final_ln.hook_normalized", "decoder_final_ln.hook_normalized"} <= both
    assert "encoder.0.ln3.hook_normalized" not in both
    assert "blocks.0.attn.hook_rot_q" in nn.hook_names(small.model(positions="rotary"))


def normalized(x: torch.Tensor) -> torch.Tensor:
    """x̂ of LayerNorm, which is what hook_normalized holds: before γ and β."""
    return torch.layer_norm(x, x.shape[-1:], None, None, 1e-5)


IMAGES = {"kind": "vit", "image_size": 8, "patch_size": 4, "head": "class", "classes": 3}


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "decoder", "positions": "rotary", "parallel": True},
        {"kind": "decoder", "norm_place": "post", "feed_forward": "swiglu", "positions": "alibi"},
        {"kind": "encoder", "norm": "none"},
        {"kind": "encoder", "head": "mlm", "embedding_norm": True, "norm_place": "post"},
        {"kind": "encoder_decoder", "positions": "t5"},
        {"kind": "encoder_decoder", "norm_place": "post", "positions": "sinusoidal"},
        IMAGES,
    ],
    ids=str,
)
def test_every_place_that_is_listed_fires_and_can_be_replaced(fields: dict[str, Any]) -> None:
    model = small.model(backend="reference", **fields)
    inputs = {"vit": [torch.randn(2, 3, 8, 8).double()], "encoder_decoder": [small.tokens(2, 5), TOKENS]}
    inputs = inputs.get(model.config.kind, [TOKENS])
    found = nn.record(model, *inputs, names="*")
    assert list(found.activations) == nn.hook_names(model)
    assert torch.equal(found.output, model(*inputs))
    for name, value in found.activations.items():
        noise = torch.randn(value.shape, dtype=torch.float64)
        with nn.edited(model, {name: lambda x, noise=noise: x + noise}):
            assert not torch.equal(model(*inputs), found.output), name


def test_recorded_parts_of_an_encoder_decoder_add_up() -> None:
    model = small.model(kind="encoder_decoder", backend="reference", positions="t5")
    found = nn.record(model, small.tokens(2, 5), TOKENS, names="*").activations
    block, at = model.decoder.blocks[1], "decoder.1"
    middle, crossed = found[f"{at}.hook_resid_mid"], found[f"{at}.hook_resid_mid_cross"]
    assert torch.equal(found[f"{at}.ln2.hook_normalized"], normalized(middle))
    assert torch.equal(crossed, middle + found[f"{at}.hook_cross_attn_out"])
    assert torch.equal(found[f"{at}.ln3.hook_normalized"], normalized(crossed))
    hidden = block.mlp.into(block.ln2(crossed))
    assert (found[f"{at}.mlp.hook_pre"] - hidden).abs().max() < 1e-13
    assert tuple(found[f"{at}.cross_attn.hook_pattern"].shape) == (2, 3, 6, 5)
    assert tuple(found["hook_embed"].shape) == (2, 5, 12)
    assert tuple(found["decoder.hook_embed"].shape) == (2, 6, 12)
    keys = torch.einsum("bthk,bshk->bhts", found[f"{at}.cross_attn.hook_q"], found[f"{at}.cross_attn.hook_k"]) / 2
    assert (found[f"{at}.cross_attn.hook_attn_scores"] - keys).abs().max() < 1e-13


def test_recorded_parts_of_post_norm_and_parallel_blocks_add_up() -> None:
    post = small.model(norm_place="post")
    found = nn.record(post, TOKENS, names="blocks.0.hook_*").activations
    block = post.stack.blocks[0]
    middle = found["blocks.0.hook_resid_pre"] + found["blocks.0.hook_attn_out"]
    assert torch.equal(found["blocks.0.hook_resid_mid"], middle)
    after = block.ln1(middle) + found["blocks.0.hook_mlp_out"]
    assert torch.equal(found["blocks.0.hook_resid_post"], after)
    assert torch.equal(found["blocks.0.hook_normalized_resid_post"], block.ln2(after))
    parallel = small.model(positions="rotary", parallel=True)
    found = nn.record(parallel, TOKENS, names="blocks.0.hook_*").activations
    before, attended = found["blocks.0.hook_resid_pre"], found["blocks.0.hook_attn_out"]
    assert torch.equal(found["blocks.0.hook_resid_post"], before + attended + found["blocks.0.hook_mlp_out"])


def test_rotated_queries_are_what_scores_are_made_of() -> None:
    model = small.model(positions="rotary", backend="reference", layers=1)
    found = nn.record(model, TOKENS, names="blocks.0.attn.*").activations
    q, k = found["blocks.0.attn.hook_rot_q"], found["blocks.0.attn.hook_rot_k"]
    scores, seen = torch.einsum("bthk,bshk->bhts", q, k) / 2, torch.ones(6, 6, dtype=torch.bool).tril()
    assert (scores - found["blocks.0.attn.hook_attn_scores"])[..., seen].abs().max() < 1e-13
    assert (found["blocks.0.attn.hook_q"] - q)[:, 1:].abs().max() > 0.01


def test_activations_are_what_the_model_computes() -> None:
    model = small.model(backend="reference")
    found = nn.record(model, TOKENS, names=TRANSFORMER_LENS).activations
    assert list(found) == TRANSFORMER_LENS
    for layer in range(2):
        at = f"blocks.{layer}"
        block = model.stack.blocks[layer]
        residual = found[f"{at}.hook_resid_pre"]
        assert torch.equal(found[f"{at}.ln1.hook_normalized"], normalized(residual))
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
        assert torch.equal(found[f"{at}.ln2.hook_normalized"], normalized(found[f"{at}.hook_resid_mid"]))
        hidden = block.mlp.into(block.ln2(found[f"{at}.hook_resid_mid"]))
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
    mean = nn.ablate(heads=[1], value=z.mean((0, 1), keepdim=True))
    averaged = nn.record(model, TOKENS, names=names, edits={"blocks.0.attn.hook_z": mean}).activations[names[0]]
    assert (averaged - whole).abs().max() > 1e-3


@pytest.mark.parametrize("place", ["hook_pattern", "hook_attn_scores"])
def test_heads_and_tokens_of_maps_are_their_own_axes(place: str) -> None:
    """[B, H, T, S]: heads are axis 1 and queries axis 2, unlike in q, k, v and z."""
    model, name = small.model(layers=1, backend="reference"), f"blocks.0.attn.{place}"
    before = nn.record(model, TOKENS, names=name).activations[name]
    without = nn.record(model, TOKENS, names=name, edits={name: nn.ablate(heads=[1])}).activations[name]
    assert (without[:, 1] == 0).all()
    assert torch.equal(without[:, [0, 2]], before[:, [0, 2]])
    source = torch.rand_like(before)
    mixed = nn.record(model, TOKENS, names=name, edits={name: nn.patch(source, tokens=[4], heads=[2])}).activations[
        name
    ]
    assert torch.equal(mixed[:, 2, 4], source[:, 2, 4])
    changed = mixed != before
    changed[:, 2, 4] = False
    assert not changed.any()


def test_patching_some_heads_of_z_at_some_tokens() -> None:
    model, name = small.model(layers=1), "blocks.0.attn.hook_z"
    before = nn.record(model, TOKENS, names=name).activations[name]
    source = torch.rand_like(before)
    edits = {name: nn.patch(source, tokens=[1, 5], heads=[0, 2])}
    mixed = nn.record(model, TOKENS, names=name, edits=edits).activations[name]
    expected = before.clone()
    for token in (1, 5):
        for head in (0, 2):
            expected[:, token, head] = source[:, token, head]
    assert torch.equal(mixed, expected)


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
    with nn.edited(model, {"ln_final.hook_normalized": nn.ablate()}):  # β is all that is left of the norm
        assert torch.equal(model(TOKENS), model.logits(model.stack.ln_final.bias.expand(2, 6, 12)))


@pytest.mark.parametrize("norm", ["layer", "rms", "rms_outside", "group", "batch", "instance"])
@pytest.mark.parametrize("training", [False, True])
def test_reading_inside_a_norm_changes_no_bit_and_no_gradient(norm: str, training: bool) -> None:
    """γ x̂ + β in two steps differs from the fused kernel in the last bit; who only reads must not notice."""
    kind = {"kind": "encoder", "norm": norm, "embedding_norm": True}
    model, twin = (small.model(**kind).train(training) for _ in range(2))
    found, plain = nn.record(model, TOKENS, names="*hook_normalized"), twin(TOKENS)
    assert len(found.activations) == 6
    assert torch.equal(found.output, plain)
    for x in (found.output, plain):
        x.square().sum().backward()
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert (ours.grad - theirs.grad).abs().max() < 1e-10 * (1 + theirs.grad.abs().max())
    for ours, theirs in zip(model.buffers(), twin.buffers(), strict=True):
        assert torch.equal(ours, theirs)  # running statistics have counted the batch once


@pytest.mark.parametrize("norm", ["layer", "rms", "group"])
def test_normalized_values_that_were_kept_are_part_of_the_graph(norm: str) -> None:
    """Attribution patching asks for the gradient of an output by an activation."""
    model, name = small.model(norm=norm), "blocks.1.ln2.hook_normalized"
    found = nn.record(model, TOKENS, names=name)
    (gradient,) = torch.autograd.grad(found.output[0, 0, 0], found.activations[name])
    step = 1e-6 * torch.randn(gradient.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with torch.no_grad(), nn.edited(model, {name: lambda x: x + step}):
        moved = model(TOKENS)[0, 0, 0] - found.output[0, 0, 0]
    assert abs(moved - (gradient * step).sum()) < 1e-4 * abs(moved)


def test_a_listener_may_write_into_what_it_is_shown() -> None:
    def silence(x: torch.Tensor) -> torch.Tensor:
        x[:, 1] = 0
        return x

    for name in ("blocks.1.ln1.hook_normalized", "blocks.1.attn.hook_q"):
        for fields in ({}, {"norm": "rms", "positions": "rotary"}):
            model = small.model(**fields)
            with torch.no_grad(), nn.edited(model, {name: silence}):
                written = model(TOKENS)
            source = nn.record(model, TOKENS, names=name).activations[name]
            with nn.edited(model, {name: nn.patch(torch.zeros_like(source), tokens=[1])}):
                assert torch.equal(written, model(TOKENS))
            assert not torch.equal(written, model(TOKENS))


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
        pytest.raises(InputError, match=r"'hook_embed' has shape \(2, 6, 12\) and what replaces it \(1,\)"),
        nn.edited(model, {"hook_embed": nn.patch(torch.zeros(1))}),
    ):
        model(TOKENS)
    with (
        pytest.raises(InputError, match=r"heads=\[0\] cannot be chosen in 'hook_embed'"),
        nn.edited(model, {"hook_embed": nn.ablate(heads=[0])}),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"tokens=\[6\] are not all in 0 … 5"),
        nn.edited(model, {"hook_embed": nn.patch(torch.zeros(2, 6, 12), tokens=[6])}),
    ):
        model(TOKENS)


def test_tokens_are_an_axis_of_positions_and_of_no_packed_pass() -> None:
    model = small.model(kind="encoder", head="none")
    edits = {"hook_pos_embed": nn.patch(torch.zeros(2, 6, 12), tokens=[1])}
    found = nn.record(model, TOKENS, names=["hook_pos_embed"], edits=edits)
    assert tuple(found.activations["hook_pos_embed"].shape) == (2, 6, 12)
    assert (found.activations["hook_pos_embed"] == 0).all(-1)[0].tolist() == [False, True, False, False, False, False]
    edit = {"blocks.0.hook_resid_post": nn.patch(torch.zeros(1, 12), tokens=[1])}
    with (
        pytest.raises(InputError, match=r"tokens=\[1\] cannot be chosen in a pass with packed=True"),
        nn.edited(model, edit),
    ):
        model(TOKENS, padding_mask=torch.ones(2, 6, dtype=torch.bool), packed=True)


def test_what_a_pass_does_not_compute_is_not_dropped_in_silence() -> None:
    model = small.model(kind="encoder_decoder", backend="reference")
    memory, cache = model.encode(small.tokens(2, 5)), model.new_cache(2, 6)
    model.forward = lambda tokens: model.hidden(tokens, memory=memory, cache=cache)  # the decoder's part of a pass
    nn.record(model, TOKENS[:, :5], names="decoder.*.hook_k")
    with pytest.raises(InputError, match=r"^'decoder.0.cross_attn.hook_k', 'decoder.1.cross_attn.hook_k' were not computed"):
        nn.record(model, TOKENS[:, 5:], names="decoder.*.hook_k")


# Bad calls ------------------------------------------------------------------------------------------------------------

HOSTILE: list[Any] = [
    None,
    3,
    -1,
    2.5,
    float("nan"),
    True,
    "",
    "nope",
    "*\n\x1b[31m",
    b"x",
    [],
    [None],
    [1.5],
    [True],
    {},
]
HOSTILE += [
    {"hook_embed": 3},
    {"nope": nn.ablate()},
    {3: nn.ablate()},
    object(),
    torch.zeros(2),
    torch.ones(2, 2),
    len,
    [-1],
]
HOSTILE += [
    lambda x: None,
    lambda x: x[:1],
    lambda x: x.float(),
    lambda x: 0.0,
    lambda x: x.tolist(),
    lambda x: x.unsqueeze(0),
]
Z = "blocks.0.attn.hook_z"


def with_edit(edit: Any) -> Any:
    with nn.edited(small.model(), {Z: edit}):
        return small.model(), nn.record(small.model(), TOKENS, names=Z, edits={Z: edit})


def with_edits(edits: Any) -> Any:
    with nn.edited(small.model(), edits):
        pass


CALLS: dict[str, tuple[Any, list[Any]]] = {  # what is called with one bad argument, and the values that are not bad
    "hook_names of": (nn.hook_names, []),
    "record of": (lambda bad: nn.record(bad, TOKENS, names=Z), []),
    "names": (lambda bad: nn.record(small.model(), TOKENS, names=bad), []),
    "edits of record": (lambda bad: nn.record(small.model(), TOKENS, names=Z, edits=bad), [None, {}]),
    "edited of": (lambda bad: nn.edited(bad, {}).__enter__(), []),
    "edits": (with_edits, [{}]),
    "edit": (with_edit, []),
    "ablate": (lambda bad: with_edit(nn.ablate(value=bad)), [3, -1, 2.5, float("nan")]),
    "heads of ablate": (lambda bad: with_edit(nn.ablate(heads=bad)), [None, []]),
    "patch": (lambda bad: with_edit(nn.patch(bad)), [3, -1, 2.5, float("nan")]),
    "tokens of patch": (lambda bad: with_edit(nn.patch(torch.zeros(1, 1, 1, 1), tokens=bad)), [None, []]),
}


@pytest.mark.parametrize("what", CALLS)
def test_every_bad_call_is_one_sentence(what: str) -> None:
    call, fine = CALLS[what]
    for bad in HOSTILE:
        if any(type(bad) is type(value) and repr(bad) == repr(value) for value in fine):
            continue
        with pytest.raises(GlypticError) as caught:
            call(bad)
        sentence = str(caught.value)
        assert sentence.isprintable() and sentence.endswith("."), sentence


def test_a_bad_edit_leaves_nothing_behind() -> None:
    model = small.model()
    before = model(TOKENS)
    for edits in ({"hook_embed": nn.ablate(), "nope": nn.ablate()}, {"hook_embed": nn.ablate(), Z: 3}):
        with pytest.raises(GlypticError), nn.edited(model, edits):
            pass
    with pytest.raises(GlypticError, match="it must return a tensor"):
        nn.record(model, TOKENS, names=Z, edits={Z: lambda x: None})
    assert torch.equal(model(TOKENS), before)
