"""What a model is shown with: its input as tensors, the texts of its tokens, and how to run it on many copies at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.arguments import is_list, refused, shown
from glyptic.errors import InputError
from glyptic.nn.models import Model
from glyptic.text import whole_number

Vocabulary = Mapping[int, str] | Sequence[str] | Callable[[int], str]
_LONGEST_TEXT = 60  # characters of a token that a page shows
MOST_TOKENS = 2048


@dataclass(frozen=True)
class ModelInput:
    """One input, as the model's `forward` takes it, a batch of one."""

    tensors: tuple[Tensor, ...]
    named: str | None = None
    """`vectors` where the model reads these instead of tokens."""

    @property
    def ids(self) -> Tensor | None:
        """The tokens whose next is predicted, [T]; None of vectors and images."""
        last = self.tensors[-1]
        return None if last.is_floating_point() else last[0]

    def run(self, model: Model, copies: int = 1) -> Tensor:
        """Logits, or hidden states where there is no output, of as many copies."""
        tensors = [each.expand(copies, *each.shape[1:]) for each in self.tensors]
        return model(**{self.named: tensors[0]}) if self.named else model(*tensors)


def read_input(model: Model, inputs: Any, vocabulary: Vocabulary | None) -> ModelInput:
    """Tokens, a pair of them, vectors or an image, as this kind of model reads it; refused where it does not fit."""
    config = model.config
    if config.kind == "vit":
        return ModelInput((_image(inputs, (config.channels, config.image_size, config.image_size)).to(next(model.parameters())),))
    if config.kind == "encoder_decoder":
        if not is_list(inputs) or len(inputs) != 2:
            raise refused("inputs", inputs, "a pair: the tokens of the source, and those of the target")
        return ModelInput(tuple(_tokens(model, each, vocabulary) for each in inputs))
    if config.vocabulary is None:
        return ModelInput((_vectors(inputs, config.width).to(next(model.parameters())),), "vectors")
    return ModelInput((_tokens(model, inputs, vocabulary),))


def _tokens(model: Model, inputs: Any, vocabulary: Vocabulary | None) -> Tensor:
    """[1, T] ids, from ids or from texts that the vocabulary has."""
    size = model.config.vocabulary or 0
    if isinstance(inputs, str):
        inputs = inputs.split()
    given = inputs.tolist() if isinstance(inputs, Tensor | np.ndarray) else inputs
    if is_list(given) and len(given) == 1 and is_list(given[0]):
        given = given[0]
    if not is_list(given) or not 1 <= len(given) <= MOST_TOKENS:
        raise refused("inputs", inputs, f"a list of 1 to {MOST_TOKENS} tokens")
    by_text = {name: number for number, name in _listed(vocabulary)} if any(isinstance(t, str) for t in given) else {}
    ids = [_token(each, by_text, size) for each in given]
    if model.config.positions == "learned" and len(ids) > model.config.context:
        raise InputError(f"the input has {len(ids)} tokens, and this model learned {model.config.context} positions; shorten it.")
    return torch.tensor([ids], device=next(model.parameters()).device)


def _token(given: Any, by_text: Mapping[str, int], size: int) -> int:
    if isinstance(given, str):
        found = by_text.get(given, whole_number(given))
        if found is None:
            raise InputError(f"the token {shown(given)} is no number, and is not in the vocabulary; give ids, or vocabulary=.")
        given = found
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given < size:
        raise refused("a token", given, f"a whole number from 0 to {size - 1}")
    return given


def _listed(vocabulary: Vocabulary | None) -> list[tuple[int, str]]:
    if isinstance(vocabulary, Mapping):
        return list(vocabulary.items())
    return list(enumerate(vocabulary)) if isinstance(vocabulary, Sequence) else []


def _vectors(inputs: Any, width: int) -> Tensor:
    vectors = _numbers(inputs)
    vectors = vectors[None] if vectors.dim() == 2 else vectors
    if vectors.dim() != 3 or vectors.shape[0] != 1 or vectors.shape[2] != width or not 1 <= vectors.shape[1] <= MOST_TOKENS:
        raise InputError(f"inputs have shape {tuple(vectors.shape)}, and must be vectors [T, {width}], T up to {MOST_TOKENS}.")
    return vectors


def _image(inputs: Any, wanted: tuple[int, int, int]) -> Tensor:
    image = _numbers(inputs)
    image = image[None] if image.dim() == 3 else image
    if tuple(image.shape) != (1, *wanted):
        raise InputError(f"the image has shape {tuple(image.shape)}; this model reads [C, height, width] = {list(wanted)}.")
    return image


def _numbers(inputs: Any) -> Tensor:
    try:
        found = torch.as_tensor(np.asarray(inputs) if not isinstance(inputs, Tensor) else inputs).detach()
    except (TypeError, ValueError, RuntimeError):
        raise refused("inputs", inputs, "an array of numbers") from None
    found = found if found.is_floating_point() else found.float()
    if not bool(torch.isfinite(found).all()):
        raise InputError("inputs hold ∞ or NaN; give finite numbers.")
    return found


def texts_of(ids: Tensor | Sequence[int], vocabulary: Vocabulary | None) -> list[str]:
    """What tokens are called: by the vocabulary, or by their numbers.

    >>> texts_of([0, 2], ["a", "b", "c"]), texts_of([7], None)
    (['a', 'c'], ['7'])
    """
    return [_text(int(each), vocabulary) for each in ids]


def _text(token: int, vocabulary: Vocabulary | None) -> str:
    if vocabulary is None:
        return str(token)
    if callable(vocabulary):
        found: Any = vocabulary(token)
    elif not isinstance(vocabulary, Mapping | Sequence):
        raise refused("vocabulary", vocabulary, "a list of texts, a dictionary of them by number, or a function of the number")
    elif isinstance(vocabulary, Mapping):
        found = vocabulary.get(token, str(token))
    else:
        found = vocabulary[token] if token < len(vocabulary) else str(token)
    if not isinstance(found, str):
        raise refused(f"the vocabulary's text of token {token}", found, "a text")
    return short(found)


def short(text: str) -> str:
    """A text as long as a page shows one."""
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def names_of(model: Model, given: ModelInput, tokens: Any, vocabulary: Vocabulary | None) -> list[list[str]]:
    """The names of the positions of each sequence: as `tokens` says, else by the vocabulary, else by number."""
    own = [_own_names(model, each, vocabulary) for each in given.tensors]
    if tokens is None:
        return own
    lists = tokens if len(own) > 1 else [tokens]
    if not is_list(lists) or len(lists) != len(own):
        raise refused("tokens", tokens, "a pair of lists: texts of the source, and of the target")
    for said, ours in zip(lists, own, strict=True):
        if not is_list(said) or len(said) != len(ours) or not all(isinstance(text, str) for text in said):
            raise refused("tokens", said, f"a list of {len(ours)} texts, one for each position")
    return [[short(text) for text in said] for said in lists]


def _own_names(model: Model, tensor: Tensor, vocabulary: Vocabulary | None) -> list[str]:
    config = model.config
    if config.kind == "vit":
        side = config.image_size // config.patch_size
        return ["CLS", *(f"{row},{column}" for row in range(side) for column in range(side))]
    if tensor.is_floating_point():
        return [f"x{position}" for position in range(tensor.shape[1])]
    return texts_of(tensor[0], vocabulary)
