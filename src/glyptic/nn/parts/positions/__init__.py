"""How a model learns of order: one file a kind.

kind             acts on                  learned   beyond the trained length
sinusoidal       input                    no        computed for any position; quality is another matter
learned          input                    yes       refused: the table has no such row
rotary           queries and keys         no        computed for any position; `RotaryScaling` stretches it
alibi            scores                   no        defined, by construction linear in distance
t5               scores                   yes       defined: one bucket for all large distances
shaw             scores and values        yes       defined: distances are clipped
transformer_xl   scores                   yes       defined: sinusoids of the distance
none             nothing                  –         the model is blind to order (an encoder) or sees only causality

A kind that acts on the input or on the scores has one line in a table here, and the rest of the room asks the table; the
three others are part of attention (`multi_head.py`). docs/how-to/add-a-position-encoding.md goes through all of it.
"""

from collections.abc import Callable, Mapping

from torch import nn

from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.positions.alibi import Alibi
from glyptic.nn.parts.positions.learned import Learned
from glyptic.nn.parts.positions.rotary import Rotary, halves, rotate
from glyptic.nn.parts.positions.shaw import Shaw
from glyptic.nn.parts.positions.sinusoidal import Sinusoidal, sinusoids
from glyptic.nn.parts.positions.t5 import T5Bias
from glyptic.nn.parts.positions.transformer_xl import TransformerXL

# (positions [T] or [B, T], end, dtype) → [..., T, D], added to the embedded tokens
TO_INPUT: Mapping[str, Callable[[ModelConfig], nn.Module]] = {
    "learned": Learned,
    "sinusoidal": Sinusoidal,
}

# (distances i − j [..., T, S], dtype) → [..., H, T, S], added to the scores of all layers; `causal`: no key is ahead
TO_SCORES: Mapping[str, Callable[[ModelConfig, bool], nn.Module]] = {
    "alibi": lambda config, causal: Alibi(config),
    "t5": lambda config, causal: T5Bias(config, bidirectional=not causal),
}

__all__ = [
    "TO_INPUT",
    "TO_SCORES",
    "Alibi",
    "Learned",
    "Rotary",
    "Shaw",
    "Sinusoidal",
    "T5Bias",
    "TransformerXL",
    "halves",
    "rotate",
    "sinusoids",
]
