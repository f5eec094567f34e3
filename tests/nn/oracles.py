"""Public implementations with random weights, made from configs; nothing is downloaded."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

transformers.logging.set_verbosity_error()


class _Torch:
    """torch, in which float32 means float64."""

    float32 = torch.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


@contextmanager
def no_downcast(dtype: torch.dtype) -> Iterator[None]:
    """transformers' RMSNorms compute in float32 even in a float64 model; within this they do not."""
    with _gemma_norm(dtype), _others(dtype):
        yield


@contextmanager
def _gemma_norm(dtype: torch.dtype) -> Iterator[None]:
    """Gemma's calls `float()`, which is written out of it."""
    norm = transformers.models.gemma.modeling_gemma.GemmaRMSNorm
    before = norm.forward
    if dtype == torch.float64:
        norm.forward = lambda self, x: self._norm(x) * (1.0 + self.weight)
    try:
        yield
    finally:
        norm.forward = before


@contextmanager
def _others(dtype: torch.dtype) -> Iterator[None]:
    modeling = [module for name, module in sys.modules.items() if re.match(r"transformers\.models\..*\.modeling_", name)]
    modules = [each for each in modeling if dtype == torch.float64 and vars(each).get("torch") is torch]
    try:
        for module in modules:
            module.torch = _Torch()
        yield
    finally:
        for module in modules:
            module.torch = torch


def gpt2(**more: Any) -> Any:
    config = transformers.GPT2Config(n_layer=3, n_embd=20, n_head=5, vocab_size=37, n_positions=23, **_ids(), **more)
    return transformers.GPT2LMHeadModel(config)


def llama(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 3, "hidden_size": 24, "intermediate_size": 37, "vocab_size": 31}
    sizes |= {"num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 29}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**sizes, **_ids(), **more}))


def _like_llama(kind: str, more: dict[str, Any], **sizes: Any) -> Any:
    sizes = {"num_hidden_layers": 3, "hidden_size": 24, "intermediate_size": 37, "vocab_size": 31, **sizes}
    sizes |= {"num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 29}
    config = getattr(transformers, f"{kind}Config")(**{**sizes, **_ids(), **more})
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def qwen2(**more: Any) -> Any:
    return _like_llama("Qwen2", more)


def qwen3(**more: Any) -> Any:
    return _like_llama("Qwen3", more, head_dim=10)


def mistral(**more: Any) -> Any:
    return _like_llama("Mistral", more, sliding_window=4)


def gemma(**more: Any) -> Any:
    return _like_llama("Gemma", more, head_dim=10)


def phi3(**more: Any) -> Any:
    return _like_llama("Phi3", more)


def opt(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 3, "hidden_size": 20, "num_attention_heads": 5, "vocab_size": 37}
    sizes |= {"ffn_dim": 31, "max_position_embeddings": 23}
    return transformers.OPTForCausalLM(transformers.OPTConfig(**{**sizes, **_ids(), **more}))


def gpt_neox(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 48, "intermediate_size": 53, "vocab_size": 31}
    sizes |= {"num_attention_heads": 3, "max_position_embeddings": 29}
    return transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**{**sizes, **_ids(), **more}))


def bert(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 3, "hidden_size": 21, "num_attention_heads": 3, "vocab_size": 33}
    sizes |= {"intermediate_size": 29, "max_position_embeddings": 19}
    return transformers.BertForMaskedLM(transformers.BertConfig(**{**sizes, **more}))


def roberta(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 3, "hidden_size": 21, "num_attention_heads": 3, "vocab_size": 33}
    sizes |= {"intermediate_size": 29, "max_position_embeddings": 19}
    return transformers.RobertaForMaskedLM(transformers.RobertaConfig(**{**sizes, **more}))


def distilbert(**more: Any) -> Any:
    sizes: dict[str, Any] = {"n_layers": 3, "dim": 21, "n_heads": 3, "vocab_size": 33, "hidden_dim": 29}
    sizes |= {"max_position_embeddings": 19}
    return transformers.DistilBertForMaskedLM(transformers.DistilBertConfig(**{**sizes, **more}))


def deit(teacher: bool = True, **more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 18, "num_attention_heads": 3, "image_size": 15}
    sizes |= {"intermediate_size": 29, "patch_size": 5, "num_labels": 7}
    kind = transformers.DeiTForImageClassificationWithTeacher if teacher else transformers.DeiTForImageClassification
    return kind(transformers.DeiTConfig(**{**sizes, **more}))


def vit(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 18, "num_attention_heads": 3, "image_size": 15}
    sizes |= {"intermediate_size": 29, "patch_size": 5, "num_labels": 7}
    return transformers.ViTForImageClassification(transformers.ViTConfig(**{**sizes, **more}))


def t5(**more: Any) -> Any:
    sizes: dict[str, Any] = {"num_layers": 2, "num_decoder_layers": 3, "d_model": 22, "d_kv": 5, "num_heads": 3}
    sizes |= {"d_ff": 31, "vocab_size": 35, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12}
    sizes |= {"decoder_start_token_id": 0, "dropout_rate": 0.0}
    untied = more.pop("untied", False)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(**{**sizes, **more}))
    if untied:  # T5Config forces tie_word_embeddings=True, so v1.1's own output matrix is put in by hand
        model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
        model.tie_weights = lambda *_, **__: None
        model.config.tie_word_embeddings = False
        model.config.scale_decoder_outputs = False
    return model


def marian(**more: Any) -> Any:
    sizes: dict[str, Any] = {"encoder_layers": 3, "decoder_layers": 2, "d_model": 20, "vocab_size": 35}
    sizes |= {"encoder_attention_heads": 5, "decoder_attention_heads": 5, "max_position_embeddings": 21}
    sizes |= {"encoder_ffn_dim": 33, "decoder_ffn_dim": 33, "pad_token_id": 34, "decoder_start_token_id": 34}
    sizes |= {"activation_function": "swish", "scale_embedding": True, "eos_token_id": 0, "forced_eos_token_id": None}
    return transformers.MarianMTModel(transformers.MarianConfig(**{**sizes, **more}))


def _ids() -> dict[str, Any]:
    return {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


DECODERS: dict[str, Callable[..., Any]] = {"gpt2": gpt2, "opt": opt, "llama": llama, "mistral": mistral, "qwen2": qwen2}
DECODERS |= {"qwen3": qwen3, "gemma": gemma, "phi3": phi3, "gpt_neox": gpt_neox}
ENCODERS: dict[str, Callable[..., Any]] = {"bert": bert, "roberta": roberta, "distilbert": distilbert}
FAMILIES: dict[str, Callable[..., Any]] = {**DECODERS, **ENCODERS, "t5": t5, "marian": marian, "vit": vit, "deit": deit}


def scramble(model: Any, seed: int = 0) -> Any:
    """Weights far from their initial values, biases and norms included, so that no term is near 0 by chance."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                spread = 0.3 if parameter.dim() == 1 else parameter.shape[-1] ** -0.5
                parameter.add_((spread * noise).to(parameter.dtype))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(torch.randn(model.final_logits_bias.shape, generator=generator))
        if getattr(model.config, "share_encoder_decoder_embeddings", False):  # even where the output is not tied
            for side in (model.model.encoder, model.model.decoder):
                side.embed_tokens.weight.copy_(model.model.shared.weight)
    model.tie_weights()
    return model.eval()
