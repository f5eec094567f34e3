"""Text to numbers of tokens and back, and the file of it that lies beside the weights: whoever opens a run needs nothing else.

    Symbols     tokens of a list: characters, or words with spaces between them where a token is longer than one character
    Bytes       the 256 bytes of UTF-8
    Pieces      words with the space before them, digits and signs one by one; for translation, with a begin and an end
    BytePairs   pieces of bytes learned from a text (BPE), by Hugging Face's tokenizers

vocabulary.json holds the first three, tokenizer.json the last, in the layout that its library reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

from glyptic.arguments import shown
from glyptic.errors import FileError, InputError
from glyptic.extras import brought_by
from glyptic.files import quoted_path, read_bytes, read_json

VOCABULARY, TOKENIZER = "vocabulary.json", "tokenizer.json"
_MOST_TOKENS = 1 << 20
_LONGEST_PIECE = 64  # bytes: every pair that is joined costs the length of the pieces it is in, and a text may have no spaces


class Tokens(Protocol):
    """What the commands need to know of any of them."""

    @property
    def size(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, numbers: Sequence[int]) -> str: ...

    def files(self) -> Mapping[str, bytes]: ...


def _numbered(tokens: Sequence[str], words: Iterable[str]) -> list[int]:
    numbers, found = _places(tuple(tokens)), []
    for place, word in enumerate(words):
        if word not in numbers:
            raise InputError(f"{shown(word)} at place {place} is not in the vocabulary {_some(tokens)}.")
        found.append(numbers[word])
    return found


@lru_cache(maxsize=8)
def _places(tokens: tuple[str, ...]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _some(tokens: Sequence[str]) -> str:
    listed = " ".join(tokens[:16])
    return listed if len(tokens) <= 16 else f"{listed} … ({len(tokens)} tokens)"


def _json(said: Mapping[str, Any]) -> dict[str, bytes]:
    return {VOCABULARY: (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode()}


@dataclass(frozen=True)
class Symbols:
    """
    >>> Symbols(("0", "1", "=")).encode("01="), Symbols(("10", "11")).decode([1, 0])
    ([0, 1, 2], '11 10')
    >>> Symbols(("0", "1")).encode("012")
    Traceback (most recent call last):
    glyptic.errors.InputError: '2' at place 2 is not in the vocabulary 0 1.
    """

    kind: ClassVar[str] = "symbols"
    tokens: tuple[str, ...]
    answers: tuple[str, ...] = ()
    """Of a model that decides: its classes."""

    @property
    def size(self) -> int:
        return len(self.tokens)

    @property
    def between(self) -> str:
        return "" if all(len(token) == 1 for token in self.tokens) else " "

    def encode(self, text: str) -> list[int]:
        return _numbered(self.tokens, text if not self.between else text.split())

    def decode(self, numbers: Sequence[int]) -> str:
        return self.between.join(self.tokens[number] for number in numbers)

    def files(self) -> Mapping[str, bytes]:
        return _json({"kind": self.kind, "tokens": [*self.tokens], "answers": [*self.answers]})


@dataclass(frozen=True)
class Bytes:
    """
    >>> Bytes().encode("año"), Bytes().decode([97, 195])
    ([97, 195, 177, 111], 'a�')
    """

    kind: ClassVar[str] = "bytes"

    @property
    def size(self) -> int:
        return 256

    def encode(self, text: str) -> list[int]:
        return [*text.encode("utf-8", "surrogateescape")]

    def decode(self, numbers: Sequence[int]) -> str:
        return bytes(numbers).decode("utf-8", "replace")

    def files(self) -> Mapping[str, bytes]:
        return _json({"kind": self.kind})


_PIECE = re.compile(r" ?[^\W\d_]+|.", re.DOTALL)


def pieces(text: str) -> list[str]:
    """A text cut so that it is the pieces put together.

    >>> pieces("treinta y dos, 1984")
    ['treinta', ' y', ' dos', ',', ' ', '1', '9', '8', '4']
    """
    return _PIECE.findall(text)


@dataclass(frozen=True)
class Pieces:
    """The number 0 begins a text, 1 ends it, the others are pieces, or single characters if `characters`.

    >>> both = Pieces.of(["dos y dos", "two"])
    >>> both.tokens, both.encode("dos dos")
    ((' dos', ' y', 'dos', 'two'), [4, 2])
    """

    kind: ClassVar[str] = "pieces"
    BEGIN: ClassVar[int] = 0
    END: ClassVar[int] = 1
    tokens: tuple[str, ...]
    characters: bool = False

    @classmethod
    def of(cls, texts: Iterable[str], characters: bool = False) -> Pieces:
        """All pieces that occur in some texts."""
        return cls(
            tuple(sorted({piece for text in texts for piece in (text if characters else pieces(text))})), characters
        )

    @property
    def size(self) -> int:
        return len(self.tokens) + 2

    def encode(self, text: str) -> list[int]:
        return [2 + number for number in _numbered(self.tokens, text if self.characters else pieces(text))]

    def decode(self, numbers: Sequence[int]) -> str:
        """Up to the end; the begin says nothing."""
        ends = [*numbers, self.END].index(self.END)
        return "".join(self.tokens[number - 2] for number in numbers[:ends] if number != self.BEGIN)

    def files(self) -> Mapping[str, bytes]:
        return _json({"kind": self.kind, "tokens": [*self.tokens], "characters": self.characters})


@dataclass(frozen=True)
class BytePairs:
    """A tokenizer of Hugging Face's `tokenizers` over bytes, as its own file describes it; any text can be encoded."""

    kind: ClassVar[str] = "byte pairs"
    described: str

    @classmethod
    def learned(cls, texts: Iterable[str], size: int) -> BytePairs:
        """The pairs that occur most often, joined until there are `size` tokens, the 256 bytes among them.

        >>> learned = BytePairs.learned(["to be or not to be"] * 9, 260)
        >>> learned.decode(learned.encode("to bé")), learned.size
        ('to bé', 260)
        """
        with brought_by("a vocabulary of byte pairs"):
            from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
        made = Tokenizer(models.BPE())
        short = pre_tokenizers.Split(Regex(f".{{1,{_LONGEST_PIECE}}}"), "isolated")
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=False), short])
        made.decoder = decoders.ByteLevel()
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
        made.train_from_iterator(texts, trainer)
        return cls(made.to_str())

    @property
    def _tokenizer(self) -> Any:
        found = _OPENED.get(self.described)
        if found is None:
            found = _OPENED[self.described] = _opened_tokenizer(self.described)
        return found

    @property
    def size(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids

    def decode(self, numbers: Sequence[int]) -> str:
        return self._tokenizer.decode([*numbers], skip_special_tokens=False)

    def files(self) -> Mapping[str, bytes]:
        return {TOKENIZER: self.described.encode()}


_OPENED: dict[str, Any] = {}


def _opened_tokenizer(described: str) -> Any:
    with brought_by("a vocabulary of byte pairs"):
        from tokenizers import Tokenizer
    try:
        return Tokenizer.from_str(described)
    except BaseException as error:  # what a file makes Rust panic with is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise InputError(f"it cannot be read: {str(error)[:200]}") from None


def of_folder(folder: Path) -> Tokens | None:
    """What lies beside the weights in a folder; None if nothing does."""
    if (folder / TOKENIZER).is_file():
        data = read_bytes(folder / TOKENIZER, 1 << 27, "a tokenizer")
        try:
            found = BytePairs(data.decode())
            found.size  # noqa: B018  # opens it
            return found
        except (UnicodeDecodeError, InputError) as error:
            raise FileError(f"{quoted_path(folder / TOKENIZER)} is not a tokenizer: {error}.") from None
    if not (folder / VOCABULARY).is_file():
        return None
    return _described(read_json(folder / VOCABULARY, what="a vocabulary"), quoted_path(folder / VOCABULARY))


def _described(said: Any, where: str) -> Tokens | None:
    kind = said.get("kind") if isinstance(said, dict) else None
    if kind == Bytes.kind:
        return Bytes()
    if kind == "images":
        return None
    if kind not in (Symbols.kind, Pieces.kind):
        raise FileError(f"{where} is not a vocabulary: its kind is {shown(kind)}.")
    tokens, answers = said.get("tokens"), said.get("answers", [])
    if not _texts(tokens) or not tokens or len(set(tokens)) < len(tokens) or not _texts(answers):
        raise FileError(f"{where} is not a vocabulary: its tokens must be texts, each once.")
    if kind == Symbols.kind:
        return Symbols(tuple(tokens), tuple(answers))
    return Pieces(tuple(tokens), said.get("characters") is True)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_TOKENS and all(isinstance(text, str) for text in value)
