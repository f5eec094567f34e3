"""Language modelling on the user's own text: the next byte, or the next piece of a vocabulary that is learned from the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from glyptic.arguments import Count, checked
from glyptic.errors import FileError, InputError, ModelError
from glyptic.files import quoted_path
from glyptic.nn.config import ModelConfig
from glyptic.train.task import Minibatch, Side, side_asked
from glyptic.train.tasks.finite import digest, places, read_text
from glyptic.train.tasks.tokens import BytePairs, Bytes, Tokens

_EVALUATED = 1 << 15  # tokens at most
_MOST_LETTERS = 1 << 26


@dataclass(frozen=True)
class TextTask:
    """Windows of a text, each token the target of those before it.

    The last tenth of the text is kept from training; evaluations see the first half of it, and the test the second.
    """

    name: str
    digest: str
    context: int
    tokens: Tokens = field(repr=False, compare=False)
    parts: Mapping[Side, NDArray[np.int32]] = field(repr=False, compare=False)
    bytes_a_token: Mapping[Side, float] = field(repr=False, compare=False)
    measure: str = field(default="loss", init=False)
    evaluations_draw: ClassVar[bool] = False

    def config(self) -> ModelConfig:
        return ModelConfig(
            kind="decoder", layers=4, width=128, heads=4, vocabulary=self.tokens.size, context=self.context,
            feed_forward="gelu", positions="rotary", dropout=0.1,
        )  # fmt: skip

    def check(self, config: ModelConfig) -> None:
        if config.kind != "decoder" or config.head != "linear":
            what = f"kind={config.kind!r}, head={config.head!r}"
            raise ModelError(f"{what}: a text is learned by kind='decoder' with head='linear'.")
        if config.vocabulary != self.tokens.size:
            size = self.tokens.size
            raise ModelError(f"vocabulary={config.vocabulary}, and the text has {size} tokens; let it be {size}.")
        if config.positions == "learned" and config.context < self.context:
            raise ModelError(f"context={config.context}, and the windows of {self.name} have {self.context} tokens.")

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        """Every epoch cuts the text anew, at a place of its own, and goes through all windows once."""
        text = self.parts["learned"]
        room = len(text) - 1
        windows = max(1, room // self.context - 1)
        starts = []
        for epoch, which in places(seed, step * size, size, windows):
            spare = room - windows * self.context
            shift = int(np.random.default_rng([seed, epoch, 1]).integers(0, min(spare, self.context) + 1))
            starts.append(shift + which * self.context)
        rows = np.stack([text[start : start + self.context + 1] for start in starts]).astype(np.int64)
        return Minibatch(
            (torch.from_numpy(rows[:, :-1].copy()),), torch.from_numpy(rows[:, 1:].copy()), size * self.context
        )

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        return cross_entropy(model(*batch.inputs).flatten(0, 1), batch.targets.flatten(), label_smoothing=smoothing)

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """The loss in nats a token, on windows of a half of the last tenth, and what it is in bits a byte of that half."""
        side = side_asked(seed)
        held = self.parts[side]
        length = min(self.context, len(held) - 1)
        count = max(1, min(_EVALUATED, len(held) - 1) // length)
        rows = np.stack([held[k * length : (k + 1) * length + 1] for k in range(count)]).astype(np.int64)
        total, device = 0.0, next(model.parameters()).device
        for part in torch.from_numpy(rows).to(device).split(32):
            total += float(
                cross_entropy(model(part[:, :-1]).float().flatten(0, 1), part[:, 1:].flatten(), reduction="sum")
            )
        loss = total / (count * length)
        return {"loss": loss, "bits_per_byte": loss / log(2) / self.bytes_a_token[side], "perplexity": exp(min(loss, 700))}

    def files(self) -> Mapping[str, bytes]:
        return self.tokens.files()


@checked
def text(
    file: str, vocabulary: Annotated[int, Count(0, 1 << 20)] = 0, context: Annotated[int, Count(2, 1 << 16)] = 128
) -> TextTask:
    """A text file in UTF-8: bytes, or with a vocabulary of more than 256 byte pairs, learned from all but the last tenth."""
    if 0 < vocabulary <= 256:
        raise InputError(f"vocabulary is {vocabulary}, and must be 0, for bytes, or above 256, for byte pairs.")
    if "," in file:
        raise InputError(
            f"the file {quoted_path(file)} has a comma in its name, which separates parameters; rename it."
        )
    said = read_text(file, "a text to learn from has some words")
    if vocabulary and len(said) > _MOST_LETTERS:
        raise FileError(
            f"{quoted_path(file)} has {len(said):,} letters, and byte pairs are learned from {_MOST_LETTERS:,} at most: "
            "take bytes (vocabulary=0), or a part of the text."
        )
    cut, half = len(said) - len(said) // 10, len(said) - len(said) // 20
    tokens: Tokens = BytePairs.learned(said[:cut].splitlines(keepends=True), vocabulary) if vocabulary else Bytes()
    texts = dict(zip(get_args(Side), (said[:cut], said[cut:half], said[half:]), strict=True))
    parts = {side: _numbers(tokens, part) for side, part in texts.items()}
    train, *held = (len(part) for part in parts.values())
    if train < 5 or min(held) < 2:  # whatever the context
        raise FileError(
            f"{quoted_path(file)} has {train + sum(held):,} tokens, too few: of its last tenth, which is kept from training, one "
            "half is for evaluations and one for the test; give a longer text."
        )
    if train < 2 * context + 1:
        raise FileError(
            f"{quoted_path(file)} has {train + sum(held):,} tokens, too few for windows of {context}: "
            f"give a longer text, or context={(train - 1) // 2}."
        )
    given = f"file={file}" if "=" in file else file
    name = f"text:{given},vocabulary={vocabulary},context={context}"
    width = {side: len(part.encode()) / len(parts[side]) for side, part in texts.items()}
    return TextTask(name, digest(said.encode()), context, tokens, parts, width)


def _numbers(tokens: Tokens, part: str) -> NDArray[np.int32]:
    if isinstance(tokens, Bytes):  # without a Python number for each
        return np.frombuffer(part.encode(), dtype=np.uint8).astype(np.int32)
    return np.array(tokens.encode(part), dtype=np.int32)
