"""Translation by an encoder–decoder: number words and dates, between Spanish, English and digits; and the user's own pairs.

Batches are by length: pairs are drawn for eight batches at once, sorted, and cut, so that little is padded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import lru_cache
from typing import Annotated, Any, Literal, Protocol, get_args
from unicodedata import normalize

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from glyptic.arguments import Count, checked, shown
from glyptic.errors import FileError, InputError, ModelError
from glyptic.extras import brought_by
from glyptic.files import quoted_path
from glyptic.nn.config import ModelConfig
from glyptic.train.task import IGNORED, Minibatch, Side, side_asked
from glyptic.train.tasks import held_out
from glyptic.train.tasks.finite import digest, places, read_text
from glyptic.train.tasks.held_out import side_of
from glyptic.train.tasks.tokens import Pieces

Pair = tuple[str, str]
Tongue = Literal["es", "en", "digits"]
_BLOCK = 8  # batches that are sorted by length together
_HELD = {"evaluated": 256, "tested": 2048}  # pairs at most
_LONGEST = 4096  # tokens of a text: attention grows with their square, and a pair is never cut


class Translations(Protocol):
    """Where pairs come from; a frozen dataclass."""

    def training(self, seed: int, first: int, count: int) -> list[Pair]:
        """Pairs `first`, `first` + 1, … that training sees."""

    def testing(self, seed: int, count: int) -> list[Pair]:
        """Up to `count` pairs that it does not, each once; on the side that the seed asks for."""


@dataclass(frozen=True)
class TranslationTask:
    """From a source to a target, both cut into the same kind of tokens."""

    name: str
    pairs: Translations
    tokens: Pieces = field(repr=False, compare=False)
    longest: int = field(repr=False, compare=False)
    """Tokens of the longest text."""
    measure: str = field(default="exact_match", init=False)

    def config(self) -> ModelConfig:
        return ModelConfig(
            kind="encoder_decoder", layers=2, width=64, heads=4, vocabulary=self.tokens.size, context=self.longest + 1,
            feed_forward="relu", positions="sinusoidal", embedding_scale=True, norm_place="pre",
        )  # fmt: skip

    def check(self, config: ModelConfig) -> None:
        size = self.tokens.size
        if config.kind != "encoder_decoder" or config.head != "linear":
            what = f"kind={config.kind!r}, head={config.head!r}"
            raise ModelError(f"{what}: {self.name} is learned by kind='encoder_decoder' with head='linear'.")
        if config.vocabulary != size:
            raise ModelError(f"vocabulary={config.vocabulary}, and {self.name} has {size} tokens; let it be {size}.")
        if config.positions == "learned" and config.context <= self.longest:
            most = self.longest + 1
            raise ModelError(f"context={config.context}, and {self.name} has texts of {most} tokens; let it be {most}.")

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        return _minibatch(_block(self, seed, step // _BLOCK, size)[step % _BLOCK])

    def encoded(self, pair: Pair) -> tuple[list[int], list[int]]:
        return self.tokens.encode(pair[0]), [*self.tokens.encode(pair[1]), Pieces.END]

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        """What is padding in the target sees only what is before it, and nothing that counts sees it."""
        logits = model(*batch.inputs)
        return cross_entropy(
            logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
        )

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """On held-out pairs: the loss, and how many translations (of the most likely token each time) are the target itself."""
        pairs = sorted(self.pairs.testing(seed, _HELD[side_asked(seed)]), key=lambda pair: len(pair[0]))
        losses, weight, right, device = 0.0, 0, 0, next(model.parameters()).device
        for first in range(0, len(pairs), 64):
            part = pairs[first : first + 64]
            rows = [self.encoded(pair) for pair in part]
            batch = _minibatch(rows)
            count = int((batch.targets != IGNORED).sum())
            moved = batch._replace(inputs=tuple(t.to(device) for t in batch.inputs), targets=batch.targets.to(device))
            losses += float(self.loss(model, moved)) * count
            weight += count
            said = translated(model, self.tokens, [pair[0] for pair in part], self.longest + 1)
            right += sum(text == pair[1] for text, pair in zip(said, part, strict=True))
        return {"loss": losses / weight, "exact_match": right / len(pairs)}

    @property
    def evaluations_draw(self) -> bool:
        return not isinstance(self.pairs, OfFile) or len(self.pairs.by_side["evaluated"]) > _HELD["evaluated"]

    def files(self) -> Mapping[str, bytes]:
        return self.tokens.files()


def translated(model: Any, tokens: Pieces, sources: list[str], most: int, beams: int = 1) -> list[str]:
    """What the model makes of some texts, at most so many tokens each."""
    from glyptic.nn import beam_search, generate

    device = next(model.parameters()).device
    rows = [tokens.encode(source) for source in sources]
    if not all(rows):
        raise InputError("there is nothing to translate in an empty text.")
    source, mask = _padded(rows, 0)
    begin = torch.full((len(rows), 1), Pieces.BEGIN, device=device)
    how: dict[str, Any] = {"stop_tokens": (Pieces.END,), "pad_token": Pieces.END}
    how |= {"source": source.to(device), "source_mask": None if bool(mask.all()) else mask.to(device)}
    if beams == 1:
        return [tokens.decode(row) for row in generate(model, begin, most, **how)[:, 1:].tolist()]
    return [tokens.decode(found[0].tokens) for found in beam_search(model, begin, most, beams=beams, **how)]


def _minibatch(rows: list[tuple[list[int], list[int]]]) -> Minibatch:
    source, source_mask = _padded([row[0] for row in rows], 0)
    target, mask = _padded([row[1] for row in rows], IGNORED)
    given = torch.cat([torch.full((len(rows), 1), Pieces.BEGIN), target[:, :-1]], dim=1)
    given = given.masked_fill(given == IGNORED, Pieces.END)
    return Minibatch((source, given, source_mask), target, int(source_mask.sum() + mask.sum()))


def _padded(rows: list[list[int]], filler: int) -> tuple[Tensor, Tensor]:
    """Rows → tokens [B, T] padded on the right, and which are real."""
    longest = max(len(row) for row in rows)
    padded = torch.tensor([row + [filler] * (longest - len(row)) for row in rows])
    return padded, torch.tensor([[True] * len(row) + [False] * (longest - len(row)) for row in rows])


@lru_cache(maxsize=4)
def _block(task: TranslationTask, seed: int, block: int, size: int) -> list[list[tuple[list[int], list[int]]]]:
    """The batches of a block, in an order of its own."""
    pairs = task.pairs.training(seed, block * _BLOCK * size, _BLOCK * size)
    rows = sorted(map(task.encoded, pairs), key=lambda row: (len(row[0]), len(row[1])))
    batches = [rows[k * size : (k + 1) * size] for k in range(_BLOCK)]
    return [batches[k] for k in np.random.default_rng([seed, block, 2]).permutation(_BLOCK)]


# Number words and dates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Generated:
    """Things that are numbered, and how each tongue writes them; a number of digits is drawn first, so that small ones occur."""

    what: Literal["numbers", "dates"]
    source: Tongue
    target: Tongue
    most: int
    """The greatest number."""
    one_in: int = 10
    """Of those from 100 on, one in so many is kept from training, half of these for the test."""

    def write(self, number: int) -> Pair:
        written = _number if self.what == "numbers" else _date
        return written(number, self.source), written(number, self.target)

    def _drawn(self, rng: np.random.Generator, count: int) -> Any:
        if self.what == "dates":
            return rng.integers(0, self.most + 1, (count, 1))
        tops = np.array([10**k for k in range(1, len(str(self.most)))] + [self.most + 1])
        top = tops[rng.integers(0, len(tops), count)]
        return (rng.integers(0, np.iinfo(np.int64).max, count) % top)[:, None]

    def sides(self, numbers: Any) -> Any:
        """(B, 1) → on which side each is."""
        small = (numbers[:, 0] < 100) & (self.what == "numbers")
        return np.where(small, "learned", held_out.sides(numbers, self.one_in))

    def training(self, seed: int, first: int, count: int) -> list[Pair]:
        rng = np.random.default_rng([seed, first])
        found: list[int] = []
        while len(found) < count:
            numbers = self._drawn(rng, count)
            found += numbers[self.sides(numbers) == "learned"][:, 0].tolist()
        return [self.write(number) for number in found[:count]]

    def testing(self, seed: int, count: int) -> list[Pair]:
        rng = np.random.default_rng([seed, 2**32 - 1])
        found: dict[int, None] = {}
        for _ in range(100):
            numbers = self._drawn(rng, count * self.one_in)
            found |= dict.fromkeys(numbers[self.sides(numbers) == side_asked(seed)][:, 0].tolist())
            if len(found) >= count:
                break
        return [self.write(number) for number in list(found)[:count]]


@lru_cache(maxsize=1 << 16)
def _number(number: int, tongue: Tongue) -> str:
    if tongue == "digits":
        return str(number)
    with brought_by("number words"):
        from num2words import num2words
    words = num2words(number, lang=tongue)
    if tongue == "es":  # the package leaves uno before mil, where Spanish says un: veintiún mil, treinta y un mil
        words = re.sub(r"\b(veinti)?uno mil", lambda found: "veintiún mil" if found[1] else "un mil", words)
    return words


_FIRST_DAY = date(1900, 1, 1)
_DAYS = (date(2100, 1, 1) - _FIRST_DAY).days


@lru_cache(maxsize=1 << 16)
def _date(number: int, tongue: Tongue) -> str:
    day = _FIRST_DAY + timedelta(days=number)
    if tongue == "digits":
        return day.isoformat()
    with brought_by("dates in words"):
        from babel.dates import format_date
    return format_date(day, format="long", locale=tongue)


def _some_days() -> set[int]:
    """Every day of a leap year, and the first and last of every year."""
    years = range(_FIRST_DAY.year, _FIRST_DAY.year + 200)
    ends = {(date(year, month, day) - _FIRST_DAY).days for year in years for month, day in ((1, 1), (12, 31))}
    return ends | set(range((date(2000, 1, 1) - _FIRST_DAY).days, (date(2001, 1, 1) - _FIRST_DAY).days))


def _generated(what: Literal["numbers", "dates"], source: Tongue, target: Tongue, most: int) -> TranslationTask:
    if source == target:
        raise InputError(f"source and target are both {source}; choose two of es, en, digits.")
    pairs = Generated(what, source, target, most)
    # every word occurs in these, and so does the longest text: below a thousand, thousands, and both alike, whatever `most` is
    some = {n * times for n in range(1000) for times in (1, 1000, 1001)} if what == "numbers" else _some_days()
    written = [text for number in sorted(some) for text in pairs.write(number)]
    tokens = Pieces.of(written)
    longest = max(map(len, map(tokens.encode, written)))
    named = f"{what}:{source},{target}" + (f",most={most}" if what == "numbers" else "")
    return TranslationTask(named, pairs, tokens, longest)


@checked
def numbers(
    source: Tongue = "es", target: Tongue = "en", most: Annotated[int, Count(999, 999_999)] = 999_999
) -> TranslationTask:
    """Numbers in words, as num2words writes them, or in digits.

    >>> numbers("es", "en").pairs.write(31021)
    ('treinta y un mil veintiuno', 'thirty-one thousand and twenty-one')
    """
    return _generated("numbers", source, target, most)


@checked
def dates(source: Tongue = "es", target: Tongue = "digits") -> TranslationTask:
    """Dates of the twentieth and twenty-first centuries in words, as Babel writes them, or as year-month-day.

    >>> dates("es", "digits").pairs.write(36523)
    ('31 de diciembre de 1999', '1999-12-31')
    """
    return _generated("dates", source, target, _DAYS - 1)


# The user's own -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OfFile:
    """Pairs of a file; of one source, however it is spaced or capitalized, all are on one side."""

    digest: str
    by_side: Mapping[Side, tuple[Pair, ...]] = field(repr=False, compare=False)

    def training(self, seed: int, first: int, count: int) -> list[Pair]:
        learned = self.by_side["learned"]
        return [learned[which] for _, which in places(seed, first, count, len(learned))]

    def testing(self, seed: int, count: int) -> list[Pair]:
        held = self.by_side[side_asked(seed)]
        if not held:
            raise InputError("of the pairs that are held out none is left for a test; give more pairs, or another held_out.")
        return [held[which] for _, which in places(seed, 0, min(count, len(held)), len(held))]


@checked
def pairs(
    file: str, tokens: Literal["characters", "words"] = "characters", held_out: Annotated[int, Count(2, 10**6)] = 10
) -> TranslationTask:
    """Your own pairs: a file in UTF-8, on each line a source, a tab and a target."""
    if "," in file:
        raise InputError(
            f"the file {quoted_path(file)} has a comma in its name, which separates parameters; rename it."
        )
    said = read_text(file, "on each line it has a source, a tab and a target")
    found = list(_pairs_in(said, file))
    sides = [side_of(_likeness(source).encode(), held_out) for source, _ in found]
    by_side = {
        kind: tuple(pair for pair, side in zip(found, sides, strict=True) if side == kind) for kind in get_args(Side)
    }
    if not by_side["learned"] or not by_side["evaluated"]:
        what = "no other" if not by_side["learned"] else "none for evaluations"
        raise FileError(
            f"{quoted_path(file)} has {len(found)} pairs, and one in {held_out} is kept from training, half of these for the "
            f"test, so that there is {what}: give more pairs, or another held_out."
        )
    made = Pieces.of((text for pair in found for text in pair), characters=tokens == "characters")
    lengths = [max(len(made.encode(text)) for text in pair) for pair in found]
    longest = max(lengths)
    if longest > _LONGEST:
        source = found[lengths.index(longest)][0]
        raise FileError(
            f"{quoted_path(file)} has a pair of {longest:,} tokens, that of {shown(source)}, and {_LONGEST:,} are the most, for "
            "pairs are not cut: cut it into shorter ones, or take tokens=words."
        )
    name = f"pairs:{'file=' if '=' in file else ''}{file},tokens={tokens}" + (
        f",held_out={held_out}" if held_out != 10 else ""
    )
    places_of = bytes(get_args(Side).index(side) for side in sides)
    known = digest(said.encode() + places_of)  # with who is held out: a run of another rule is another run
    return TranslationTask(name, OfFile(known, by_side), made, longest)


def _likeness(source: str) -> str:
    """The same for sources that differ in case, in spaces or in how their letters are composed: these are on one side.

    >>> _likeness("  Buenos   DÍAS") == _likeness("buenos di\u0301as")
    True
    """
    return " ".join(normalize("NFKC", normalize("NFKC", source).casefold()).split())


def _pairs_in(said: str, file: str) -> Iterator[Pair]:
    for number, line in enumerate(said.split("\n"), 1):  # as editors count lines; \r is no part of a side
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            what = "no tab" if len(parts) == 1 else f"{len(parts) - 1} tabs" if len(parts) > 2 else "an empty side"
            raise FileError(
                f"line {number} of {quoted_path(file)}, {shown(line)}, has {what}; write a source, one tab and a target."
            )
        yield parts[0], parts[1]
