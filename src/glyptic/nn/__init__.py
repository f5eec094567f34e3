"""Transformers on PyTorch, one file a part.

config.py       one frozen description of every model           presets.py      gpt2, bert, t5, llama, …
attention.py    one function, three explicit backends            blocked.py      the one for bfloat16 training
multi_head.py   self- and cross-attention                        masks.py        who sees whom
positions/      seven kinds and none                             norms.py        six kinds and none
feed_forward.py block.py  stack.py  embeddings.py  models.py     from parts to encoder, decoder, both, ViT
cache.py        static, ring, fixed                              generate.py     sampling.py, beam.py, session.py
hooks.py        activations by name, ablation, patching          lecture.py      attention as the lectures build it
checkpoints.py  folders of config.json and safetensors           families/       the public ones, one file each
cost.py         parameters, FLOPs and memory as a table          linear.py       products, half precision included
few_rows.py     products of the few rows of a step               packing.py      encoders without work on padding
stored.py       tensors in files, believed only when checked     memory.py       what cannot fit is refused
processor.py    before torch's first product                     shapes.py       axes and kinds of tensors that enter
"""

import glyptic.nn.speed.processor  # noqa: F401

# isort: split
from glyptic.nn.checkpoints.folders import load, read_config, save
from glyptic.nn.config import ModelConfig, RotaryScaling
from glyptic.nn.cost import Cost, cost
from glyptic.nn.generation.beam import Hypothesis, beam_search
from glyptic.nn.generation.generate import generate, pad_left, stream
from glyptic.nn.generation.sampling import Sampling
from glyptic.nn.generation.session import CompiledSession, Session
from glyptic.nn.hooks import Record, ablate, edited, hook_names, patch, record
from glyptic.nn.models import Decoder, Encoder, EncoderDecoder, Model, ViT, build, with_backend
from glyptic.nn.parts.attention import attention
from glyptic.nn.parts.cache import Cache, FixedCache, RingCache, StaticCache
from glyptic.nn.parts.multi_head import Memory
from glyptic.nn.presets import preset

__all__ = [
    "Cache",
    "CompiledSession",
    "Cost",
    "Decoder",
    "Encoder",
    "EncoderDecoder",
    "FixedCache",
    "Hypothesis",
    "Memory",
    "Model",
    "ModelConfig",
    "Record",
    "RingCache",
    "RotaryScaling",
    "Sampling",
    "Session",
    "StaticCache",
    "ViT",
    "ablate",
    "attention",
    "beam_search",
    "build",
    "cost",
    "edited",
    "generate",
    "hook_names",
    "load",
    "pad_left",
    "patch",
    "preset",
    "read_config",
    "record",
    "save",
    "stream",
    "with_backend",
]
