"""Every field of every family's config at random: the public library's numbers, or one sentence that names their field.

The public library reads the very files that we read, so whatever it makes of a field is what we must make of it.
"""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from glyptic import nn
from glyptic.errors import GlypticError
from glyptic.nn.checkpoints.families import FAMILIES
from glyptic.nn.checkpoints.families.fields import COMMON, Read
from tests.nn import oracles

CONFIGS = {
    "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
    "bert": (transformers.BertConfig, transformers.BertForMaskedLM),
    "t5": (transformers.T5Config, transformers.T5ForConditionalGeneration),
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "gpt_neox": (transformers.GPTNeoXConfig, transformers.GPTNeoXForCausalLM),
    "vit": (transformers.ViTConfig, transformers.ViTForImageClassification),
    "marian": (transformers.MarianConfig, transformers.MarianMTModel),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    "gemma": (transformers.GemmaConfig, transformers.GemmaForCausalLM),
    "phi3": (transformers.Phi3Config, transformers.Phi3ForCausalLM),
    "opt": (transformers.OPTConfig, transformers.OPTForCausalLM),
    "roberta": (transformers.RobertaConfig, transformers.RobertaForMaskedLM),
    "distilbert": (transformers.DistilBertConfig, transformers.DistilBertForMaskedLM),
    "deit": (transformers.DeiTConfig, transformers.DeiTForImageClassificationWithTeacher),
}
WORDS = "relu gelu gelu_new silu swish gelu_pytorch_tanh tanh quick_gelu gelu_fast mish relu2 sigmoid".split()  # noqa: SIM905
FLAGS, RATES = (True, False), (0.0, 0.1, 0.5)
EPSILONS = (1e-12, 1e-6, 1e-5, 1e-2, 0.3)
TOKENS = (None, 0, 2)
ROPE = [
    {"rope_type": "default", "rope_theta": 500.0},
    {"rope_type": "default", "rope_theta": 77, "partial_rotary_factor": 0.5},
    {"rope_type": "default", "factor": 9.0, "attention_factor": 3.0},
    {"rope_type": "linear", "rope_theta": 100.0, "factor": 3.0},
    {"rope_type": "dynamic", "factor": 3.0},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 50.0},
    {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 2.0, "high_freq_factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 100.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8, "mscale": 0.7, "mscale_all_dim": 1.9},
    {"rope_type": "yarn", "factor": 2.0, "attention_factor": 0.7, "truncate": False, "beta_fast": 4.0, "beta_slow": 0.5},
    {"rope_type": "linear", "factor": 2.0, "stretch": 3},
]
SIZES: dict[str, dict[str, tuple[Any, ...]]] = {
    "gpt2": {
        "n_layer": (1, 2),
        "n_embd": (12, 20),
        "n_head": (2, 4),
        "vocab_size": (31, 37),
        "n_positions": (16, 23),
        "n_inner": (None, 7, 30),
    },
    "bert": {
        "num_hidden_layers": (1, 2),
        "hidden_size": (12, 18),
        "num_attention_heads": (2, 3),
        "vocab_size": (31, 33),
        "intermediate_size": (7, 29),
        "max_position_embeddings": (16, 19),
        "type_vocab_size": (1, 2, 3),
    },
    "t5": {
        "num_layers": (1, 2),
        "num_decoder_layers": (None, 1, 3),
        "d_model": (12, 22),
        "d_kv": (4, 5),
        "num_heads": (1, 3),
        "d_ff": (9, 31),
        "vocab_size": (31, 35),
        "relative_attention_num_buckets": (2, 4, 7, 8, 32),
        "relative_attention_max_distance": (3, 12, 20, 128),
    },
    "llama": {
        "num_hidden_layers": (1, 2),
        "hidden_size": (24, 48),
        "num_attention_heads": (2, 6),
        "num_key_value_heads": (None, 1, 2),
        "head_dim": (None, 8, 10),
        "intermediate_size": (7, 37),
        "vocab_size": (31, 37),
        "max_position_embeddings": (16, 29),
    },
    "gpt_neox": {
        "num_hidden_layers": (1, 2),
        "hidden_size": (24, 48),
        "num_attention_heads": (2, 3),
        "intermediate_size": (7, 53),
        "vocab_size": (31, 37),
        "max_position_embeddings": (16, 29),
    },
    "vit": {
        "num_hidden_layers": (1, 2),
        "hidden_size": (12, 18),
        "num_attention_heads": (2, 3),
        "intermediate_size": (7, 29),
        "image_size": (10, 15, [10, 15]),
        "patch_size": (5, 5, 5, [5, 5], 4),
        "num_channels": (1, 3),
    },
    "marian": {
        "encoder_layers": (1, 2),
        "decoder_layers": (1, 2),
        "d_model": (12, 20),
        "encoder_attention_heads": (2, 4),
        "decoder_attention_heads": (2, 4),
        "encoder_ffn_dim": (9, 33),
        "decoder_ffn_dim": (9, 33),
        "vocab_size": (35, 36),
        "max_position_embeddings": (16, 21),
    },
}
_LLAMA = {name: values for name, values in SIZES["llama"].items() if name != "head_dim"} | {"num_key_value_heads": (1, 2)}
SIZES |= {
    "mistral": {**_LLAMA, "head_dim": (None, 8, 10), "sliding_window": (None, 3, 4096)},
    "qwen2": _LLAMA,
    "qwen3": {**_LLAMA, "head_dim": (8, 10)},
    "gemma": {**_LLAMA, "head_dim": (8, 10)},
    "phi3": {**_LLAMA, "hidden_size": (24, 48, 96), "pad_token_id": (0, 2), "sliding_window": (None, 3)},
    "opt": {
        "num_hidden_layers": (1, 2),
        "hidden_size": (12, 20),
        "num_attention_heads": (2, 4),
        "vocab_size": (31, 37),
        "max_position_embeddings": (16, 23),
        "ffn_dim": (7, 30),
        "word_embed_proj_dim": (None, None, 12, 5),
    },
    "roberta": SIZES["bert"],
    "distilbert": {
        "n_layers": (1, 2),
        "dim": (12, 18),
        "n_heads": (2, 3),
        "hidden_dim": (7, 29),
        "vocab_size": (31, 33),
        "max_position_embeddings": (16, 19),
    },
    "deit": {**SIZES["vit"], "image_size": (10, 15, 15, 15, [10, 15]), "patch_size": (5, 5, 5, 5, 5, [5, 5], 4)},
}
# What the classes declare besides sizes, each with values that differ in effect if the field has any.
CHOICES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("activation_function", "hidden_act", "activation"), tuple(WORDS)),
    "feed_forward_proj": ("relu", "gated-gelu", "gated-silu", "gelu", "gated-relu", "silu", "gated-gelu_new"),
    **dict.fromkeys(("layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps"), EPSILONS),
    **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop", "summary_first_dropout", "dropout_rate", "dropout"), RATES),
    **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout", "hidden_dropout"), RATES),
    **dict.fromkeys(("attention_dropout", "activation_dropout", "encoder_layerdrop", "decoder_layerdrop"), RATES),
    **dict.fromkeys(("qa_dropout", "seq_classif_dropout", "layerdrop"), RATES),
    **dict.fromkeys(("initializer_range", "init_std"), (0.02, 0.5)),
    "initializer_factor": (1.0, 0.2),
    **dict.fromkeys(("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn"), FLAGS),
    **dict.fromkeys(("add_cross_attention", "tie_word_embeddings", "is_decoder", "use_cache", "scale_embedding"), FLAGS),
    **dict.fromkeys(("attention_bias", "mlp_bias", "use_parallel_residual", "qkv_bias", "is_encoder_decoder"), FLAGS),
    **dict.fromkeys(("share_encoder_decoder_embeddings", "summary_use_proj", "summary_proj_to_labels"), FLAGS),
    **dict.fromkeys(("use_bidirectional_attention", "do_layer_norm_before", "_remove_final_layer_norm", "enable_bias"), FLAGS),
    **dict.fromkeys(("layer_norm_elementwise_affine", "sinusoidal_pos_embds"), FLAGS),
    "use_sliding_window": (False, True, True),
    "sliding_window": (None, 3),
    "max_window_layers": (0, 0, 1, 28),
    "layer_types": (None, ["full_attention"], ["sliding_attention"] * 2, ["sliding_attention", "full_attention"]),
    "original_max_position_embeddings": (4, 4096),
    "summary_type": ("cls_index", "last", "mean"),
    "summary_activation": (None, "tanh"),
    **dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_eos_token_id"), TOKENS),
    "pretraining_tp": (1, 2),
    "rope_parameters": (None, *ROPE),
    "encoder_stride": (5, 16),
    "pooler_output_size": (None, 7),
    "pooler_act": ("tanh", "relu"),
    "decoder_vocab_size": (None, 35, 36),
    "architectures": (None, ["Other"]),
    **dict.fromkeys(("output_hidden_states", "return_dict", "output_attentions"), FLAGS),
    "dtype": (None, "float16"),
    "chunk_size_feed_forward": (0, 3),
    "id2label": (None, {0: "a"}, {0: "a", 1: "b", 2: "c"}),
    "label2id": (None,),
    "problem_type": (None, "regression"),
    "transformers_version": (None,),
}
# What older files hold, or another name of a field, or nothing anybody knows: put into config.json by hand.
OLD: dict[str, tuple[Any, ...]] = {
    "n_ctx": (16, 23),
    **dict.fromkeys(("hidden_size", "num_attention_heads", "num_hidden_layers", "max_position_embeddings", "head_dim"), (2, 12)),
    "position_embedding_type": ("absolute", "relative_key"),
    "pruned_heads": ({}, {"0": [1]}),
    "rope_theta": (10000.0, 300.0),
    "rope_scaling": (None, *ROPE),
    "partial_rotary_factor": (0.5, 1.0),
    "rotary_pct": (0.25, 0.5),
    "rotary_emb_base": (10000, 300),
    "original_max_position_embeddings": (8,),
    "scale_decoder_outputs": FLAGS,
    "dense_act_fn": ("relu", "gelu_new", "silu", "tanh"),
    "is_gated_act": FLAGS,
    "num_labels": (1, 3),
    "max_length": (20,),
    "quantization_config": (None, {"bits": 4}),
    "normalize_before": FLAGS,
    "unheard_of": (1, None, "gelu"),
    "layer_norm_eps": EPSILONS,
    "hidden_act": ("relu", "gelu"),
}


def test_no_field_of_the_public_configs_is_left_out_of_the_tables_and_of_this_test() -> None:
    for name, (config, _) in CONFIGS.items():
        declared = {field.name for field in dataclasses.fields(config) if not field.name.startswith("_")}
        assert declared <= SIZES[name].keys() | CHOICES.keys(), name
        assert declared <= FAMILIES[name].fields.keys() | COMMON.keys(), name
        assert set(config.attribute_map) <= FAMILIES[name].aliases.keys(), name


def draw(name: str, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields for the constructor, and fields to be put into the file."""
    rng = random.Random(f"{name} {seed}")
    declared = sorted({field.name for field in dataclasses.fields(CONFIGS[name][0])} & CHOICES.keys() - SIZES[name].keys())
    fields = {field: rng.choice(values) for field, values in SIZES[name].items()}
    for field in rng.sample(declared, rng.randint(0, 6)):
        fields[field] = rng.choice(CHOICES[field])
    if name == "marian":  # sizes that must agree do so mostly
        for ours, theirs in (("attention_heads", "attention_heads"), ("ffn_dim", "ffn_dim")):
            if rng.random() < 0.8:
                fields[f"encoder_{ours}"] = fields[f"decoder_{theirs}"]
        fields.setdefault("pad_token_id", 34)
        fields.setdefault("decoder_start_token_id", 34)
    if fields.get("pad_token_id", 0) is None and name in ("t5", "marian"):
        fields["pad_token_id"] = 0
    old = {field: rng.choice(OLD[field]) for field in rng.sample(sorted(OLD), rng.choice((0, 0, 1, 2)))}
    return fields, old


def written(name: str, seed: int, folder: Path) -> Any:
    """A folder of a random model as the public library writes it, and the model that it then reads; None: it refuses."""
    fields, old = draw(name, seed)
    make_config, make_model = CONFIGS[name]
    torch.manual_seed(seed)
    try:
        config = make_config(**{field: value for field, value in fields.items() if value is not None or field == "pad_token_id"})
        oracles.scramble(make_model(config), seed).save_pretrained(folder)
    except Exception:  # the public library's own refusals come in all kinds
        return None
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **old}))
    try:
        theirs, report = make_model.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
        if report["missing_keys"] or report["unexpected_keys"] or report["mismatched_keys"]:
            return None
        return theirs.double().eval()
    except Exception:
        return None


@torch.no_grad()
def outputs(theirs: Any, ours: Any, seed: int) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Both models' answers to one random input; None: the public one fails."""
    generator = torch.Generator().manual_seed(seed)

    def tokens(most: int = 30) -> torch.Tensor:
        return torch.randint(3, most, (2, 9), generator=generator)

    if ours.config.kind == "vit":
        config = theirs.config
        inputs = torch.randn(2, config.num_channels, ours.config.image_size, ours.config.image_size, generator=generator)
        call: Any = lambda: theirs(inputs.double()).logits  # noqa: E731
        us: Any = lambda: ours(inputs.double())  # noqa: E731
    elif ours.config.kind == "encoder_decoder":
        source, target = tokens(), tokens()
        call = lambda: theirs(input_ids=source, decoder_input_ids=target, return_dict=True).logits  # noqa: E731
        us = lambda: ours(source, target)  # noqa: E731
    elif getattr(theirs.config, "type_vocab_size", 0):
        source = tokens()
        types = torch.randint(0, ours.config.token_types, (2, 9), generator=generator)
        call = lambda: theirs(source, token_type_ids=types, return_dict=True).logits  # noqa: E731
        us = lambda: ours(source, types=types)  # noqa: E731
    else:
        source = tokens()
        call = lambda: theirs(source, return_dict=True).logits  # noqa: E731
        us = lambda: ours(source)  # noqa: E731
    try:
        with oracles.no_downcast(torch.float64):
            them = call()
    except Exception:
        return None
    return them, us()


def check(name: str, seed: int, folder: Path) -> str:
    """`skipped`: the public library itself does not take it; else `equal` or `refused`."""
    theirs = written(name, seed, folder / "theirs")
    if not (folder / "theirs" / "model.safetensors").is_file():
        return "skipped"
    fields = json.loads((folder / "theirs" / "config.json").read_text())
    try:
        ours = nn.load(folder / "theirs", dtype=torch.float64)
    except GlypticError as error:
        sentence = str(error)
        assert "\n" not in sentence and "config.json" in sentence, sentence
        tensors = "does not hold" in sentence or "differ" in sentence or "shapes" in sentence
        named = any(field in sentence for field in (*fields, "partial_rotary_factor", "head_dim"))
        assert tensors or named, (sentence, fields)
        return "refused"
    if theirs is None:
        return "skipped"
    found = outputs(theirs, ours, seed)
    if found is None:
        return "skipped"
    them, us = found
    assert them.shape == us.shape and them.isfinite().all(), fields
    assert (them - us).abs().max() <= 1e-9 * (1 + them.abs().max()), fields
    _check_saving(name, theirs, folder, seed, them)
    return "equal"


def _check_saving(name: str, theirs: Any, folder: Path, seed: int, them: torch.Tensor) -> None:
    ours = nn.load(folder / "theirs")
    nn.save(ours, folder / "ours", family=name)
    again = type(theirs).from_pretrained(folder / "ours", dtype=torch.float32).double().eval()
    back = outputs(again, ours.double(), seed)
    assert back is not None
    assert (back[0] - them).abs().max() <= 1e-9 * (1 + them.abs().max()), theirs.config


def run(name: str, seeds: range, folder: Path) -> None:
    found = [check(name, seed, folder / str(seed)) for seed in seeds]
    assert found.count("equal") >= len(seeds) // 10, found  # not all is refused


@pytest.mark.parametrize("name", CONFIGS)
def test_a_random_config_gives_the_public_numbers_or_a_sentence(name: str, tmp_path: Path) -> None:
    run(name, range(12), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("name", CONFIGS)
def test_hundreds_of_random_configs_give_the_public_numbers_or_a_sentence(name: str, block: int, tmp_path: Path) -> None:
    run(name, range(100 + 40 * block, 140 + 40 * block), tmp_path)


def test_every_field_that_is_read_becomes_a_field_of_ours_or_is_worked_out() -> None:
    known = nn.ModelConfig.__dataclass_fields__
    for family in FAMILIES.values():
        for name, field in family.fields.items():
            assert not isinstance(field, Read) or set(field.ours) <= known.keys(), (family.model_type, name)
