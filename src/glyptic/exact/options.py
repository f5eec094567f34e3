"""The choices that papers make differently, gathered in one value. The defaults are those of Li et al. (2024)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, TypedDict, get_args, get_type_hints

from glyptic.arguments import is_word, shown
from glyptic.errors import ModelError
from glyptic.numbers import Attention, Products

Mask = Literal["causal", "strict", "full"]
NormPlacement = Literal["none", "pre", "post"]
AnswerPolicy = Literal["softmax", "logits"]
AnswerTies = Literal["explicit", "first"]


@dataclass(frozen=True)
class Options:
    """How a transformer is to be read.

    >>> Options(mask="strict").mask
    'strict'
    """

    products: Products = "rounded"
    """`rounded`: every product is rounded. `fused`: products enter the running sum unrounded, and since it begins at 0 the first
    is rounded, [0 + x_1·y_1]. `unrounded`: the first is not either, [x_1·y_1 + x_2·y_2], as in Li et al. to the letter."""
    attention: Attention = "softmax"
    """`softmax`, without subtracting the maximum; `max-subtracted`; or hard: `leftmost`, `rightmost`, `average`."""
    scale: bool = False
    """Divide each score by [√d_k], d_k the number of rows of W_Q."""
    mask: Mask = "causal"
    """`causal`: positions up to one's own; `strict`: before one's own (the first sees nothing, and gets 0); `full`."""
    norm: NormPlacement = "none"
    """LayerNorm, every step rounded: `none`; `pre`, before each sublayer; `post`, after each residual sum."""
    answer: AnswerPolicy = "softmax"
    """The answer is the argmax of `softmax`(θ_OUTPUT h_n), rounded, or of the `logits` themselves."""
    ties: AnswerTies = "explicit"
    """Two largest: `explicit` answers TIE; `first` takes the first."""

    def __post_init__(self) -> None:
        hints = get_type_hints(Options)
        for field in fields(self):
            value, allowed = getattr(self, field.name), get_args(hints[field.name]) or (True, False)
            if not is_word(value, allowed):
                choices = ", ".join(map(str, allowed))
                raise ModelError(f"options.{field.name}: {shown(value)} is not one of {choices}.")


class OptionChanges(TypedDict, total=False):
    """What `Transformer.with_options` exchanges."""

    products: Products
    attention: Attention
    scale: bool
    mask: Mask
    norm: NormPlacement
    answer: AnswerPolicy
    ties: AnswerTies
