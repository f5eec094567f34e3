"""The finite-precision transformer as a value, and its engines.

transformer   the value: vocabulary, named coordinates, embeddings, layers, output
options       what papers do differently: masks, softmax or hard attention, norms, answers
forward       the pass through the layers, written once over any arithmetic
running       one input or many, traces, chain of thought
stages        what can be traced, by name
undefined     0/0, told with its place
files         config.json + model.safetensors
report        what a transformer is, in a page of text
random        random transformers by seed
"""

from glyptic.exact.files import load, save
from glyptic.exact.options import Options
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.report import describe, show_number, show_run, show_trace
from glyptic.exact.running import TIED, UNDEFINED, Batch, Run, run, run_batch
from glyptic.exact.stages import stages
from glyptic.exact.transformer import TIE, FeedForward, Head, Layer, Norm, Transformer
from glyptic.exact.undefined import Undefined, ZeroAttention, ZeroOutput, ZeroVariance

__all__ = [
    "TIE",
    "TIED",
    "UNDEFINED",
    "Batch",
    "FeedForward",
    "Head",
    "Layer",
    "Norm",
    "Options",
    "Run",
    "Sizes",
    "Transformer",
    "Undefined",
    "ZeroAttention",
    "ZeroOutput",
    "ZeroVariance",
    "describe",
    "load",
    "random_transformer",
    "run",
    "run_batch",
    "save",
    "show_number",
    "show_run",
    "show_trace",
    "stages",
]
