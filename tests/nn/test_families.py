"""Same logits as the public implementations, with the same random weights, through files on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from glyptic import nn
from tests.nn import oracles

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
DTYPES = [torch.float32, torch.float64]
YARN: dict[str, Any] = {"rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 16}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in oracles.FAMILIES],
    ("gpt2", {"n_inner": 13, "activation_function": "relu", "tie_word_embeddings": False}),
    ("llama", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True, "head_dim": 10}),
    (
        "llama",
        {"num_key_value_heads": 1, "rope_parameters": {"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0}},
    ),
    (
        "llama",
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 50.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            }
        },
    ),
    ("llama", {"head_dim": 16, "rope_parameters": YARN}),
    ("llama", {"head_dim": 16, "rope_parameters": YARN | {"attention_factor": 0.7, "truncate": False}}),
    ("llama", {"head_dim": 16, "rope_parameters": YARN | {"mscale": 0.7, "mscale_all_dim": 1.9, "beta_fast": 4.0}}),
    ("llama", {"head_dim": 16, "rope_parameters": YARN | {"factor": None, "mscale": 0.7}}),
    ("llama", {"head_dim": 16, "rope_parameters": YARN | {"original_max_position_embeddings": 4}}),
    ("gpt_neox", {"use_parallel_residual": False}),
    ("gpt_neox", {"tie_word_embeddings": True}),
    ("bert", {"tie_word_embeddings": False}),
    ("t5", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "initializer_factor": 0.2}),
    ("t5", {"feed_forward_proj": "gated-silu", "initializer_factor": 0.2, "untied": True}),
    ("marian", {"tie_word_embeddings": False}),
    ("marian", {"activation_function": "relu", "scale_embedding": False}),
    ("vit", {"qkv_bias": False}),
    ("deit", {"teacher": False, "qkv_bias": False}),
    ("opt", {"do_layer_norm_before": False, "word_embed_proj_dim": 8}),
    ("opt", {"enable_bias": False, "tie_word_embeddings": False, "activation_function": "gelu"}),
    ("opt", {"word_embed_proj_dim": 25, "tie_word_embeddings": False}),
    ("mistral", {"tie_word_embeddings": True, "head_dim": 10, "hidden_act": "gelu_new"}),
    ("mistral", {"sliding_window": None, "num_key_value_heads": 6}),
    ("qwen2", {"tie_word_embeddings": True, "num_key_value_heads": 6}),
    ("qwen2", {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0}),
    ("qwen3", {"attention_bias": True, "tie_word_embeddings": True, "rms_norm_eps": 0.3}),
    ("qwen3", {"head_dim": 16, "rope_parameters": YARN}),
    ("qwen3", {"use_sliding_window": True, "sliding_window": 5, "layer_types": ["sliding_attention"] * 3}),
    ("gemma", {"attention_bias": True, "tie_word_embeddings": False, "hidden_act": "gelu", "num_key_value_heads": 1}),
    ("phi3", {"sliding_window": 4, "tie_word_embeddings": True, "num_key_value_heads": None}),
    ("phi3", {"hidden_size": 48, "rope_parameters": {"rope_type": "default", "rope_theta": 77.0, "partial_rotary_factor": 0.75}}),
    ("roberta", {"tie_word_embeddings": False, "type_vocab_size": 1}),
    ("roberta", {"pad_token_id": 2, "layer_norm_eps": 1e-2}),
    ("distilbert", {"tie_word_embeddings": False, "activation": "relu", "sinusoidal_pos_embds": True, "dim": 18}),
]


# biases that the public models have and, with an output of their own, do not add
UNUSED = {"bert": {"cls.predictions.bias"}, "roberta": {"lm_head.bias"}}


def pair(name: str, more: dict[str, Any], dtype: torch.dtype, folder: Path) -> tuple[Any, Any]:
    """(theirs, ours): ours is loaded from the folder that theirs was saved to."""
    torch.manual_seed(0)
    theirs = oracles.scramble(oracles.FAMILIES[name](**more))
    theirs.save_pretrained(folder)
    return theirs.to(dtype), nn.load(folder, dtype=dtype)


def difference(theirs: torch.Tensor, ours: torch.Tensor, real: torch.Tensor | None = None) -> float:
    assert theirs.shape == ours.shape
    assert theirs.std() > 0.1  # logits that say something
    error = (theirs - ours).abs()
    return (error if real is None else error[real]).max().item()


@torch.no_grad()
def logits(theirs: Any, ours: Any, padded: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    torch.manual_seed(1)
    if ours.config.kind == "vit":
        images = torch.randn(3, 3, 15, 15, dtype=ours.patches.class_token.dtype)
        return theirs(images).logits, ours(images), None
    tokens = torch.randint(3, 30, (3, 11))
    real = torch.ones(3, 11, dtype=torch.bool)
    if padded:
        real[0, 7:] = real[1, 4:] = False
    mask = real if padded else None
    attention_mask = real.long() if padded else None
    if ours.config.kind == "encoder_decoder":
        target = torch.randint(3, 30, (3, 9))
        them = theirs(input_ids=tokens, attention_mask=attention_mask, decoder_input_ids=target).logits
        return them, ours(tokens, target, source_mask=mask), None
    if segments := getattr(theirs.config, "type_vocab_size", 0):
        types = torch.randint(0, segments, (3, 11))
        them = theirs(tokens, attention_mask=attention_mask, token_type_ids=types).logits
        return them, ours(tokens, padding_mask=mask, types=types), mask
    return theirs(tokens, attention_mask=attention_mask).logits, ours(tokens, padding_mask=mask), mask


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize(("name", "more"), VARIANTS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(VARIANTS)])
def test_logits_equal_the_public_implementation(
    name: str, more: dict[str, Any], padded: bool, dtype: torch.dtype, tmp_path: Path
) -> None:
    theirs, ours = pair(name, more, dtype, tmp_path)
    with oracles.no_downcast(dtype):
        them, us, real = logits(theirs, ours, padded)
    assert difference(them, us, real) <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*oracles.DECODERS, *oracles.ENCODERS])
@torch.no_grad()
def test_left_padding_equals_the_public_one(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    theirs, ours = pair(name, {}, dtype, tmp_path)
    tokens, real = torch.randint(3, 30, (3, 11)), torch.arange(11) >= torch.tensor([[4], [0], [7]])
    positions = (real.long().cumsum(-1) - 1).clamp_min(0)
    positions += ours.config.position_offset * (name == "roberta")  # OPT adds its own
    with oracles.no_downcast(dtype):
        them = theirs(tokens, attention_mask=real.long(), position_ids=positions).logits
        assert difference(them, ours(tokens, padding_mask=real), real) <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "side"), [("t5", "left"), ("t5", "right"), ("marian", "right")])
@torch.no_grad()
def test_padded_targets_equal_the_public_ones(name: str, side: str, dtype: torch.dtype, tmp_path: Path) -> None:
    """transformers counts Marian's positions from the first slot, so it is compared on the right only."""
    theirs, ours = pair(name, {}, dtype, tmp_path)
    source, target = torch.randint(3, 30, (3, 8)), torch.randint(3, 30, (3, 9))
    source_real, real = torch.arange(8) < torch.tensor([[8], [3], [5]]), torch.arange(9) < torch.tensor([[2], [9], [6]])
    real = real.flip(1) if side == "left" else real
    with oracles.no_downcast(dtype):
        them = theirs(
            input_ids=source,
            attention_mask=source_real.long(),
            decoder_input_ids=target,
            decoder_attention_mask=real.long(),
        ).logits
        us = ours(source, target, source_mask=source_real, target_mask=real)
    assert difference(them, us, real) <= TOLERANCE[dtype]


@pytest.mark.parametrize(("name", "more"), VARIANTS, ids=[f"{n}-{i}" for i, (n, _) in enumerate(VARIANTS)])
def test_saving_in_the_family_layout_is_read_by_the_public_implementation(
    name: str, more: dict[str, Any], tmp_path: Path
) -> None:
    theirs, ours = pair(name, more, torch.float32, tmp_path / "theirs")
    nn.save(ours, tmp_path / "ours", family=name)
    again, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    unused = UNUSED.get(name, set()) if not theirs.config.to_dict().get("tie_word_embeddings", True) else set()
    assert report["missing_keys"] == unused
    if more.get("untied"):  # transformers ties every T5 that it reads
        assert load_file(tmp_path / "ours" / "model.safetensors")["lm_head.weight"].equal(theirs.lm_head.weight)
        return
    assert not report["unexpected_keys"]
    before = theirs.state_dict()
    for key, value in again.state_dict().items():
        assert key in unused or torch.equal(value, before[key]), key
    them, us, real = logits(again.eval(), ours, False)
    assert difference(them, us, real) <= 1e-5


@pytest.mark.parametrize("name", oracles.FAMILIES)
def test_our_own_layout_comes_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    _, ours = pair(name, {}, torch.float32, tmp_path / "theirs")
    nn.save(ours, tmp_path / "ours")
    again = nn.load(tmp_path / "ours")
    assert again.config == ours.config
    for key, value in again.state_dict().items():
        assert torch.equal(value, ours.state_dict()[key])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", oracles.DECODERS)
@torch.no_grad()
def test_cached_steps_equal_the_public_cache(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    theirs, ours = pair(name, {}, dtype, tmp_path)
    tokens = torch.randint(3, 30, (2, 12))
    cache, past, step = ours.new_cache(2, 12), None, 0
    with oracles.no_downcast(dtype):
        for size in (5, 1, 1, 3, 2):
            chunk = tokens[:, step : step + size]
            out = theirs(chunk, past_key_values=past, use_cache=True)
            past, step = out.past_key_values, step + size
            assert difference(out.logits, ours(chunk, cache=cache)) <= TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", oracles.DECODERS)
@torch.no_grad()
def test_left_padded_cached_steps_equal_the_public_cache(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    theirs, ours = pair(name, {}, dtype, tmp_path)
    tokens, real = torch.randint(3, 30, (3, 12)), torch.arange(12) >= torch.tensor([[3], [0], [4]])
    positions = (real.long().cumsum(-1) - 1).clamp_min(0)
    cache, past, step = ours.new_cache(3, 12), None, 0
    with oracles.no_downcast(dtype):
        for size in (5, 1, 1, 3, 2):
            new = slice(step, step + size)
            more = {"attention_mask": real[:, : step + size].long(), "position_ids": positions[:, new]}
            out = theirs(tokens[:, new], past_key_values=past, use_cache=True, **more)
            past, step = out.past_key_values, step + size
            mask = real[:, new] if step == size else None  # later tokens are real: nothing to say
            assert difference(out.logits, ours(tokens[:, new], padding_mask=mask, cache=cache), real[:, new]) <= (
                TOLERANCE[dtype]
            )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["t5", "marian"])
@torch.no_grad()
def test_cached_steps_of_an_encoder_decoder_equal_the_public_cache(
    name: str, dtype: torch.dtype, tmp_path: Path
) -> None:
    # a public cache fails for a T5 whose decoder is deeper than its encoder
    theirs, ours = pair(name, {"num_decoder_layers": 2} if name == "t5" else {}, dtype, tmp_path)
    source, target = torch.randint(3, 30, (3, 8)), torch.randint(3, 30, (3, 12))
    real = torch.arange(8) < torch.tensor([[8], [3], [5]])
    with oracles.no_downcast(dtype):
        encoded = theirs.get_encoder()(source, attention_mask=real.long())
        memory, cache, past, step = ours.encode(source, real), ours.new_cache(3, 12), None, 0
        assert difference(encoded.last_hidden_state, memory.vectors, real) <= TOLERANCE[dtype]
        for size in (5, 1, 1, 1, 3, 1):
            chunk = target[:, step : step + size]
            out = theirs(
                encoder_outputs=encoded,
                attention_mask=real.long(),
                decoder_input_ids=chunk,
                past_key_values=past,
                use_cache=True,
            )
            past, step = out.past_key_values, step + size
            us = ours.logits(ours.hidden(chunk, memory=memory, cache=cache))
            assert difference(out.logits, us) <= TOLERANCE[dtype], step


def test_bert_and_gpt2_base_models_load_without_prefix_and_head(tmp_path: Path) -> None:
    bert = oracles.scramble(oracles.bert())
    bert.bert.save_pretrained(tmp_path / "bert")
    tokens = torch.randint(0, 30, (2, 7))
    with torch.no_grad():
        ours = nn.load(tmp_path / "bert")
        assert difference(bert.bert(tokens).last_hidden_state, ours(tokens)) <= 1e-5
        gpt2 = oracles.scramble(oracles.gpt2())
        gpt2.transformer.save_pretrained(tmp_path / "gpt2")
        assert difference(gpt2(tokens).logits, nn.load(tmp_path / "gpt2")(tokens)) <= 1e-5


def test_sharded_checkpoints_load(tmp_path: Path) -> None:
    theirs = oracles.scramble(oracles.llama())
    theirs.save_pretrained(tmp_path, max_shard_size="8KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    tokens = torch.randint(0, 30, (2, 7))
    with torch.no_grad():
        assert difference(theirs(tokens).logits, nn.load(tmp_path)(tokens)) <= 1e-5


BASES = {"opt": "model", "roberta": "roberta", "distilbert": "distilbert", "deit": "deit"}


@pytest.mark.parametrize("name", BASES)
@torch.no_grad()
def test_the_base_models_of_other_families_load_without_prefix_and_head(name: str, tmp_path: Path) -> None:
    whole = oracles.scramble(oracles.FAMILIES[name]())
    getattr(whole, BASES[name]).save_pretrained(tmp_path)
    ours = nn.load(tmp_path)
    inputs = torch.randn(2, 3, 15, 15) if name == "deit" else torch.randint(3, 30, (2, 7))
    if name == "opt":  # whose output is tied, and so is there
        assert difference(whole(inputs).logits, ours(inputs)) <= 1e-5
    else:
        assert difference(getattr(whole, BASES[name])(inputs).last_hidden_state, ours(inputs)) <= 1e-5


@pytest.mark.parametrize("name", sorted(oracles.FAMILIES.keys() - {"llama"}))
def test_shards_of_every_family_hold_the_same_model(name: str, tmp_path: Path) -> None:
    theirs = oracles.scramble(oracles.FAMILIES[name]())
    theirs.save_pretrained(tmp_path / "one")
    theirs.save_pretrained(tmp_path / "many", max_shard_size="8KB")
    assert len(list((tmp_path / "many").glob("*.safetensors"))) > 1
    one, many = nn.load(tmp_path / "one").state_dict(), nn.load(tmp_path / "many").state_dict()
    assert one.keys() == many.keys() and all(torch.equal(one[key], many[key]) for key in one)


@torch.no_grad()
def test_gemma_in_bfloat16_rounds_what_the_public_one_rounds(tmp_path: Path) -> None:
    """√D in bfloat16 (55.5 for 3072, and not 55.43), and γ = 1 + weight in float32: the norm of the embeddings to the bit."""
    theirs, ours = pair("gemma", {}, torch.bfloat16, tmp_path)
    tokens = torch.randint(3, 30, (3, 11))
    embedded = ours.embedding.look_up(tokens, None)
    assert torch.equal(theirs.model.embed_tokens(tokens), embedded)
    assert not torch.equal(embedded, ours.embedding.token(tokens) * 24**0.5)  # what Vaswani's would be
    theirs_normed, ours_normed = theirs.model.layers[0].input_layernorm(embedded), ours.stack.blocks[0].ln1(embedded)
    assert (theirs_normed - ours_normed).abs().max() <= 2**-7 * theirs_normed.abs().max()
    assert (theirs_normed != ours_normed).float().mean() < 0.01  # sums in another order may round otherwise


@torch.no_grad()
def test_queries_and_keys_are_shown_in_the_public_order_around_their_norm(tmp_path: Path) -> None:
    theirs, ours = pair("qwen3", {}, torch.float64, tmp_path)
    tokens, attention = torch.randint(3, 30, (2, 5)), theirs.model.layers[0].self_attn
    ours = nn.with_backend(ours, "reference")
    found = nn.record(ours, tokens, names=["blocks.0.ln1.hook_normalized", "blocks.0.attn.*"]).activations
    x = found["blocks.0.ln1.hook_normalized"] * theirs.model.layers[0].input_layernorm.weight
    for part, project, norm in (("q", attention.q_proj, attention.q_norm), ("k", attention.k_proj, attention.k_norm)):
        before = project(x).unflatten(-1, (-1, 10))
        assert (found[f"blocks.0.attn.hook_{part}"] - before).abs().max() < 1e-12
        scaled = before / (before.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        assert (found[f"blocks.0.attn.{part}_norm.hook_normalized"] - scaled).abs().max() < 1e-12
        turned = found[f"blocks.0.attn.hook_rot_{part}"][:, 0]  # position 0 turns by no angle
        assert (turned - (scaled * norm.weight)[:, 0]).abs().max() < 1e-12
    name = "blocks.0.attn.q_norm.hook_normalized"
    with nn.edited(ours, {name: nn.ablate(heads=[2])}):
        silent = nn.record(ours, tokens, names="blocks.0.attn.hook_rot_q").activations["blocks.0.attn.hook_rot_q"]
    assert silent[:, :, 2].abs().max() == 0 and silent[:, :, 1].abs().min() > 0
