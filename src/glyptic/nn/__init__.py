"""Transformers on PyTorch.

    config, presets    one frozen description of every model; gpt2, bert, t5, llama, …
    parts/             what a transformer is made of, from masks to a stack of blocks: begin there to read
    models             encoder, decoder, both, ViT, each from one config
    hooks, costs       activations by name, ablation, patching; parameters, FLOPs and memory as a table
    generation/        sampling, beams, streams, sessions
    checkpoints/       folders of config.json and safetensors: ours, and the public families, one file each
    speed/             what makes the parts fast, and nothing else
    shapes             axes and kinds of tensors that enter

`build(config)`, `load(folder)` and `preset(name)` are the ways in. Whoever says `kind="decoder"` to the first two is given a
`Decoder`, for a type checker as well, or an error if it is none.
"""

from typing import TYPE_CHECKING

import glyptic.nn.speed.machine  # noqa: F401  # before torch's first product

if TYPE_CHECKING:
    from glyptic.nn.checkpoints.folders import load as load
    from glyptic.nn.checkpoints.folders import read_config as read_config
    from glyptic.nn.checkpoints.folders import save as save
    from glyptic.nn.config import ModelConfig as ModelConfig
    from glyptic.nn.config import RotaryScaling as RotaryScaling
    from glyptic.nn.costs import Cost as Cost
    from glyptic.nn.costs import cost as cost
    from glyptic.nn.generation.beam import Hypothesis as Hypothesis
    from glyptic.nn.generation.beam import beam_search as beam_search
    from glyptic.nn.generation.generate import generate as generate
    from glyptic.nn.generation.generate import pad_left as pad_left
    from glyptic.nn.generation.generate import stream as stream
    from glyptic.nn.generation.sampling import Sampling as Sampling
    from glyptic.nn.generation.session import CompiledSession as CompiledSession
    from glyptic.nn.generation.session import Session as Session
    from glyptic.nn.hooks import Record as Record
    from glyptic.nn.hooks import ablate as ablate
    from glyptic.nn.hooks import edited as edited
    from glyptic.nn.hooks import hook_names as hook_names
    from glyptic.nn.hooks import patch as patch
    from glyptic.nn.hooks import record as record
    from glyptic.nn.models import Decoder as Decoder
    from glyptic.nn.models import Encoder as Encoder
    from glyptic.nn.models import EncoderDecoder as EncoderDecoder
    from glyptic.nn.models import Model as Model
    from glyptic.nn.models import ViT as ViT
    from glyptic.nn.models import build as build
    from glyptic.nn.models import with_backend as with_backend
    from glyptic.nn.parts.attention import attention as attention
    from glyptic.nn.parts.cache import Cache as Cache
    from glyptic.nn.parts.cache import FixedCache as FixedCache
    from glyptic.nn.parts.cache import RingCache as RingCache
    from glyptic.nn.parts.cache import StaticCache as StaticCache
    from glyptic.nn.parts.multi_head import Memory as Memory
    from glyptic.nn.presets import preset as preset
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
