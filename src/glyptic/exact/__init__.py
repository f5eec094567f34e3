"""The finite-precision transformer as a value, and its engines.

transformer   the value: vocabulary, named coordinates, embeddings, layers, output
options       what papers do differently: masks, softmax or hard attention, norms, answers
forward       the pass through the layers, written once over any arithmetic
answers       the rule by which a run answers, written once
running       one input or many, traces, chain of thought; a residual through some layers
stages        what can be traced, by name; observers of a run
undefined     0/0, told with its place
files         config.json + model.safetensors
report        what a transformer is, in a page of text
random        random transformers by seed
"""

from glyptic.exact.answers import TIE, TIED, UNDEFINED
from glyptic.exact.files import load, save
from glyptic.exact.options import Options
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.report import describe, show_number, show_run, show_trace
from glyptic.exact.running import Batch, Run, run, run_batch, run_residual
from glyptic.exact.stages import Observer, Watch, stages
from glyptic.exact.transformer import FeedForward, Head, Layer, Norm, Transformer
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
    "Observer",
    "Options",
    "Run",
    "Sizes",
    "Transformer",
    "Undefined",
    "Watch",
    "ZeroAttention",
    "ZeroOutput",
    "ZeroVariance",
    "describe",
    "load",
    "random_transformer",
    "run",
    "run_batch",
    "run_residual",
    "save",
    "show_number",
    "show_run",
    "show_trace",
    "stages",
]
