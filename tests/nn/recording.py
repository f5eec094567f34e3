"""What TransformerLens shows of small public models, and what they say when its hooks change something: recorded once.

TransformerLens brings many packages of its own, so it lives in an environment of its own, from the root of the repository:

    python -m venv lens && lens/bin/pip install torch==2.13.0 && lens/bin/pip install transformer-lens==3.9.0
    lens/bin/python -m tests.nn.recording

This writes `transformer_lens.safetensors` beside this file, which `test_recording.py` compares with ours. 3.9.0 is the last
version that has HookedTransformer, HookedEncoder and HookedEncoderDecoder, whose names ours are; weights are not processed
(no folding, no centring). This file is shared with the tests, so it imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import safetensors.torch
import torch
import transformers
from torch import Tensor

FILE = Path(__file__).parent / "transformer_lens.safetensors"
TOKENS = torch.tensor([[3, 1, 4, 10], [2, 6, 5, 3]])
TARGET = torch.tensor([[7, 8, 2], [1, 0, 9]])
SIZES: dict[str, Any] = {"vocab_size": 11, "max_position_embeddings": 6}


def _model(kind: str, **fields: Any) -> Any:
    return getattr(transformers, f"{kind}{_HEADS[kind]}")(getattr(transformers, f"{kind}Config")(**fields))


_HEADS = {
    "GPT2": "LMHeadModel",
    "Llama": "ForCausalLM",
    "GPTNeoX": "ForCausalLM",
    "Bert": "ForPreTraining",
    "T5": "ForConditionalGeneration",
}


@dataclass(frozen=True)
class Case:
    """A public model, and what TransformerLens must be told of it."""

    make: Callable[[], Any]
    convert: str
    """The function in transformer_lens.pretrained.weight_conversions that reads its weights."""
    lens: str = "HookedTransformer"
    config: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Tensor, ...] = (TOKENS,)


def _gpt2() -> Any:
    more = {"bos_token_id": 1, "eos_token_id": 2}
    return _model("GPT2", n_layer=2, n_embd=8, n_head=2, vocab_size=11, n_positions=6, **more)


def _llama() -> Any:
    more = {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 10, "num_attention_heads": 4}
    return _model("Llama", **SIZES, **more, num_key_value_heads=2, rms_norm_eps=1e-5)


def _neox(parallel: bool) -> Any:
    more = {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 10, "num_attention_heads": 2}
    return _model("GPTNeoX", **SIZES, **more, rotary_pct=0.5, use_parallel_residual=parallel)


def _bert() -> Any:
    more = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": 10, "num_attention_heads": 2}
    return _model("Bert", **SIZES, **more, layer_norm_eps=1e-5)


def _t5() -> Any:
    more = {"num_layers": 2, "d_model": 8, "d_kv": 3, "num_heads": 2, "d_ff": 10, "vocab_size": 11}
    buckets = {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
    return _model("T5", **more, **buckets, layer_norm_epsilon=1e-5, decoder_start_token_id=0)


_ALL = {"n_layers": 2, "n_ctx": 6, "d_vocab": 11, "eps": 1e-5, "dtype": torch.float64}
_ROTARY = {**_ALL, "d_model": 16, "d_mlp": 10, "positional_embedding_type": "rotary"}
_NEOX = {**_ROTARY, "d_head": 8, "n_heads": 2, "rotary_dim": 4, "act_fn": "gelu", "normalization_type": "LN"}
_LLAMA = {**_ROTARY, "d_head": 4, "n_heads": 4, "n_key_value_heads": 2, "rotary_dim": 4, "act_fn": "silu"}
_LLAMA |= {"normalization_type": "RMS", "final_rms": True, "gated_mlp": True}
_GPT2 = {**_ALL, "d_model": 8, "d_head": 4, "n_heads": 2, "act_fn": "gelu_new", "normalization_type": "LN"}
_BERT = {**_GPT2, "d_mlp": 10, "act_fn": "gelu", "attention_dir": "bidirectional"}
_T5 = {**_ALL, "d_model": 8, "d_head": 3, "n_heads": 2, "d_mlp": 10, "act_fn": "relu", "use_attn_scale": False}
_T5 |= {"positional_embedding_type": "relative_positional_bias", "attention_dir": "bidirectional"}
_T5 |= {"relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "tie_word_embeddings": True}

CASES = {
    "gpt2": Case(_gpt2, "convert_gpt2_weights", config=_GPT2),
    "llama": Case(_llama, "convert_llama_weights", config=_LLAMA),
    "gpt_neox": Case(lambda: _neox(True), "convert_neox_weights", config={**_NEOX, "parallel_attn_mlp": True}),
    "gpt_neox in turn": Case(lambda: _neox(False), "convert_neox_weights", config=_NEOX),
    "bert": Case(_bert, "convert_bert_weights", "HookedEncoder", _BERT),
    "t5": Case(_t5, "convert_t5_weights", "HookedEncoderDecoder", _T5, (TOKENS, TARGET)),
}


def public_model(case: Case) -> Any:
    """The Hugging Face model; each weight a multiple of 1/64 by the tensor's name, so the same on every machine."""
    model = case.make().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = np.random.default_rng(zlib.crc32(name.encode())).integers(-64, 65, tuple(parameter.shape)) / 64
            if parameter.dim() == 1:  # biases and gains, these around 1
                numbers = numbers / 2 + name.endswith("weight")
            parameter.copy_(torch.from_numpy(numbers))
    model.tie_weights()
    return model


def digest(model: Any) -> int:
    """Of all weights: a recording speaks of these alone."""
    parts = (f"{name}{parameter.tolist()}" for name, parameter in sorted(model.named_parameters()))
    return zlib.crc32("".join(parts).encode())


def change(x: Tensor) -> Tensor:
    """What patches make of an activation: every entry of the last axis by a factor of its own, so that order matters."""
    return x * (1 + torch.arange(x.shape[-1], dtype=x.dtype) / 8)


def lens_model(case: Case) -> Any:
    """The same model in TransformerLens."""
    import transformer_lens
    from transformer_lens.pretrained import weight_conversions

    lens = getattr(transformer_lens, case.lens)(transformer_lens.HookedTransformerConfig(**case.config, device="cpu"))
    weights = getattr(weight_conversions, case.convert)(public_model(case).double(), lens.cfg)
    missing, unexpected = lens.load_state_dict(weights, strict=False)
    parameters = {name for name, _ in lens.named_parameters()}
    zero = ("b_in", "b_out", "b_Q", "b_K", "b_V", "b_O", "_b_K", "_b_V", "b_U")  # biases that this model does not have
    assert not unexpected and all(name.endswith(zero) for name in missing if name in parameters), (missing, unexpected)
    with torch.no_grad():
        for name in set(missing) & parameters:
            lens.get_parameter(name).zero_()
    return lens.eval()


@dataclass(frozen=True)
class Recording:
    """What TransformerLens says of one case."""

    logits: Tensor
    activations: dict[str, Tensor]
    patched: dict[str, Tensor]
    """Hook → the logits of the last position after `change` there."""


def record(case: Case) -> Recording:
    """From TransformerLens itself."""
    lens = lens_model(case)
    with torch.no_grad():
        logits, cache = lens.run_with_cache(*case.inputs)
        patched = {}
        for name in cache:
            hook = (name, lambda x, hook: change(x))
            patched[name] = lens.run_with_hooks(*case.inputs, fwd_hooks=[hook])[:, -1]
    return Recording(logits, dict(cache), patched)


def recorded(name: str) -> tuple[Recording, int]:
    """From the file, with the digest of the weights."""
    with safetensors.safe_open(FILE, "pt") as file:
        case = json.loads(file.metadata()[name])
        keys = [key for key in file.keys() if key.startswith(f"{name}/")]  # noqa: SIM118  # it is no dictionary
        values = {key.removeprefix(f"{name}/"): file.get_tensor(key).double() for key in keys}
    logits, patched = values.pop("logits"), values.pop("patched")
    return Recording(logits, values, dict(zip(case["patched"], patched, strict=True))), case["digest"]


def main() -> None:
    tensors: dict[str, Tensor] = {}
    cases = {}
    for name, case in CASES.items():
        found = record(case)
        tensors |= {f"{name}/logits": found.logits, f"{name}/patched": torch.stack(list(found.patched.values()))}
        tensors |= {f"{name}/{hook}": value for hook, value in found.activations.items()}
        cases[name] = json.dumps({"digest": digest(public_model(case)), "patched": list(found.patched)})
    single = {name: value.float().contiguous().clone() for name, value in tensors.items()}
    safetensors.torch.save_file(single, FILE, metadata=cases)


if __name__ == "__main__":
    main()
