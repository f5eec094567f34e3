"""The finite-precision transformer as a value, and its engines.

transformer   the value: vocabulary, named coordinates, embeddings, layers, output
options       what papers do differently: masks, softmax or hard attention, norms, answers
forward       the pass through the layers, written once over any arithmetic
answers       the rule by which a run answers, written once
numbering     inputs as token numbers, by length
running       one input or many, traces, chain of thought; a residual through some layers
stages        what can be traced, by name; observers of a run
undefined     0/0, told with its place
files         config.json + model.safetensors
report        what a transformer is, in a page of text
random        random transformers by seed
"""

from typing import TYPE_CHECKING

from glyptic.exact.answers import TIE as TIE
from glyptic.exact.answers import TIED as TIED
from glyptic.exact.answers import UNDEFINED as UNDEFINED
from glyptic.exact.options import Options as Options
from glyptic.exact.running import Batch as Batch
from glyptic.exact.running import Run as Run
from glyptic.exact.running import run as run
from glyptic.exact.running import run_batch as run_batch
from glyptic.exact.running import run_residual as run_residual
from glyptic.exact.running import run_stream as run_stream
from glyptic.exact.stages import Observer as Observer
from glyptic.exact.stages import Watch as Watch
from glyptic.exact.stages import stages as stages
from glyptic.exact.transformer import Transformer as Transformer
from glyptic.exact.undefined import Undefined as Undefined
from glyptic.exact.undefined import ZeroAttention as ZeroAttention
from glyptic.exact.undefined import ZeroOutput as ZeroOutput
from glyptic.exact.undefined import ZeroVariance as ZeroVariance
from glyptic.exact.weights import FeedForward as FeedForward
from glyptic.exact.weights import Head as Head
from glyptic.exact.weights import Layer as Layer
from glyptic.exact.weights import Norm as Norm

if TYPE_CHECKING:
    from glyptic.exact.files import load as load
    from glyptic.exact.files import save as save
    from glyptic.exact.random import Sizes as Sizes
    from glyptic.exact.random import random_transformer as random_transformer
    from glyptic.exact.report import describe as describe
    from glyptic.exact.report import show_number as show_number
    from glyptic.exact.report import show_run as show_run
    from glyptic.exact.report import show_trace as show_trace
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
