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
"""

from glyptic.nn.parts.positions.alibi import Alibi
from glyptic.nn.parts.positions.learned import Learned
from glyptic.nn.parts.positions.rotary import Rotary, halves, rotate
from glyptic.nn.parts.positions.shaw import Shaw
from glyptic.nn.parts.positions.sinusoidal import Sinusoidal, sinusoids
from glyptic.nn.parts.positions.t5 import T5Bias
from glyptic.nn.parts.positions.transformer_xl import TransformerXL

__all__ = [
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
