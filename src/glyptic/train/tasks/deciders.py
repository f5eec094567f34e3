"""Is a word in a language? A decoder with two classes, NO and YES, reads it letter by letter and says so at its end.

Every beginning of a word is a word too, and the decoder sees no more than the beginning: so each place of a batch has a target of
its own, which teaches far more than one answer a word. All words of a batch have one length, so that nothing is padded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from glyptic.arguments import Count, checked, shown
from glyptic.errors import InputError, ModelError
from glyptic.languages import Automaton, regular, tomita
from glyptic.nn.config import ModelConfig
from glyptic.train.task import IGNORED, Minibatch, Side, side_asked
from glyptic.train.tasks import held_out
from glyptic.train.tasks.finite import digest
from glyptic.train.tasks.languages import (
    Dyck,
    FormalLanguage,
    Letters,
    Majority,
    Palindromes,
    Regular,
    Tabled,
    classes_to,
    words_of,
)

ANSWERS = ("NO", "YES")
_NEVER_HELD_OUT = 64  # lengths with fewer words are learned whole: nothing would be left to learn from
_ALL_WORDS = 1 << 15  # so many are all looked at
_EVALUATED, _TESTED = 128, 512  # words of a length, where there are more
_LENGTHS = 128  # so many lengths are looked at, at most
_HELD: tuple[Side, ...] = ("evaluated", "tested")
_AT_ONCE = 1 << 13  # words are drawn, to find those that are held out


@dataclass(frozen=True)
class LanguageTask:
    """Decide a language, of words from 1 to max_length letters."""

    name: str
    language: FormalLanguage
    max_length: int
    held_out: int = 8
    """One word in so many is kept from training, half of these for the test; 0: none, and evaluations and the test are on all
    words, or on words that are drawn.
    """
    also: tuple[str, ...] = ()
    """Words that are learned besides, such as those a proof has found answered wrongly."""
    measure: str = field(default="balanced", init=False)

    def config(self) -> ModelConfig:
        return ModelConfig(
            kind="decoder", layers=2, width=16, heads=2, vocabulary=len(self.language.alphabet), context=self.max_length,
            feed_forward="relu", norm="layer", norm_place="pre", positions="learned", head="class", classes=2,
        )  # fmt: skip

    def check(self, config: ModelConfig) -> None:
        letters = len(self.language.alphabet)
        if config.kind != "decoder" or config.head != "class" or config.classes != 2:
            raise ModelError(
                f"kind={config.kind!r}, head={config.head!r}, classes={config.classes}: {self.name} is learned by "
                "kind='decoder' with head='class' and classes=2, NO and YES."
            )
        if config.vocabulary != letters:
            raise ModelError(
                f"vocabulary={config.vocabulary}, and {self.name} has {letters} letters; let it be {letters}."
            )
        if config.positions == "learned" and config.context < self.max_length:
            raise ModelError(
                f"context={config.context} is shorter than the words of {self.name}, which have up to {self.max_length} letters; "
                f"let it be {self.max_length}, or shorten the words."
            )

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        """Words of one length: the longest in every second batch, since they hold all others."""
        rng = np.random.default_rng([seed, step])
        length = self.max_length if rng.random() < 0.5 else int(rng.integers(1, self.max_length + 1))
        again = self._numbers()
        if again and rng.random() < 0.25:
            length = int(rng.choice([len(word) for word in again]))
        words = words_of(rng, self.language, length, size)
        fitting = [word for word in again if len(word) == length]
        if fitting:
            places = rng.integers(0, len(fitting), size // 4)
            words[: size // 4] = np.array(fitting)[places]
        targets = np.where(self.held(words), IGNORED, self.language.beginnings(words))
        return Minibatch((torch.from_numpy(words),), torch.from_numpy(targets.astype(np.int64)), words.size)

    def held(self, words: Letters) -> Any:
        """(B, T) → which beginnings training never has as a target."""
        held = held_out.prefixes(words, self.held_out, _learned_whole(self.language, self.max_length))
        for word in self._numbers():
            if len(word) <= words.shape[1]:
                held[:, len(word) - 1] &= ~(words[:, : len(word)] == np.array(word)).all(axis=1)
        return held

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        logits = at_every_place(model, batch.inputs[0])
        return cross_entropy(
            logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
        )

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """On held-out words; without any, on all words if these are not too many, else on words that are drawn.

        accuracy: of all these words; balanced: the mean of that of members and of that of others, since always NO is nearly
        always right of many languages; wrong: how many words are answered wrongly.
        """
        logits, truth = [], []
        for words in self.evaluated(seed):
            truth.append(torch.from_numpy(self.language.beginnings(words)[:, -1].astype(np.int64)))
            logits += [model(part).float().cpu() for part in torch.from_numpy(words).to(_device(model)).split(4096)]
        said, true = torch.cat(logits), torch.cat(truth)
        right = (said.argmax(-1) == true).double()
        kinds = [k for k in (0, 1) if bool((true == k).any())]
        missing = _not_held_out(self) if self.held_out and len(kinds) == 1 else ""
        if missing:  # always the other would be all right
            raise InputError(_untested(self.name, missing))
        by_class = [float(right[true == k].mean()) for k in kinds]
        return {
            "loss": float(cross_entropy(said, true)),
            "accuracy": float(right.mean()),
            "balanced": sum(by_class) / len(by_class),
            "wrong": len(right) - float(right.sum()),
        }

    def evaluated(self, seed: int) -> list[Letters]:
        """The words that `evaluate` looks at, those of one length together."""
        return _evaluated(self, seed)

    @property
    def evaluations_draw(self) -> bool:
        """Whether the seed of an evaluation has a part in it; of few words all are looked at."""
        return self.number_of_words() > _ALL_WORDS

    def number_of_words(self) -> int:
        size = len(self.language.alphabet)
        return sum(size**n for n in range(1, self.max_length + 1))

    def files(self) -> Mapping[str, bytes]:
        said = {"kind": "symbols", "tokens": [*self.language.alphabet], "answers": [*ANSWERS]}
        return {"vocabulary.json": (json.dumps(said, indent=1) + "\n").encode()}

    def _numbers(self) -> list[list[int]]:
        return [[self.language.alphabet.index(letter) for letter in word] for word in self.also]


def _learned_whole(language: FormalLanguage, max_length: int) -> int:
    """The greatest length of which no word is held out, for there are too few."""
    return next(
        n for n in range(1, max_length + 1) if len(language.alphabet) ** n >= _NEVER_HELD_OUT or n == max_length
    )


def _not_held_out(task: LanguageTask) -> str:
    """What there is and none is held out of, for evaluations or for the test, which then could not tell how it is answered:
    members, or others; or ''.
    """
    rng, found = np.random.default_rng(0), {kind: set[str]() for kind in ("members", "others")}
    there = set[str]()
    for length in range(1, task.max_length + 1):
        for kind, draw in (("members", task.language.members), ("others", task.language.others)):
            words = None if len(found[kind]) == len(_HELD) else draw(rng, length, 4 * _EVALUATED)
            if words is not None:  # others are drawn as any words, of some languages
                words = words[task.language.beginnings(words)[:, -1] == (kind == "members")]
                there |= {kind} if len(words) else set()
                found[kind] |= {side for side in _HELD if len(_of_side(task, words, side))}
        if all(len(sides) == len(_HELD) for sides in found.values()):
            return ""
    return next((kind for kind in found if kind in there and len(found[kind]) < len(_HELD)), "")


def _untested(name: str, missing: str) -> str:
    what = "of the words in the language" if missing == "members" else "of the words outside the language"
    return (
        f"{name}: {what} none is held out for evaluations, or none for the test, so that nothing would tell how they are "
        "answered; say held_out=0."
    )


def at_every_place(model: Any, tokens: Tensor) -> Tensor:
    """What a decider says after every letter, as it would if the word ended there: tokens [B, T] → logits [B, T, 2]."""
    return model.output(model.hidden(tokens), None)


@lru_cache(maxsize=4)
def _evaluated(task: LanguageTask, seed: int) -> list[Letters]:
    size, all_words = len(task.language.alphabet), task.number_of_words() <= _ALL_WORDS
    rng, side = np.random.default_rng([seed, 2**32 - 1]), side_asked(seed)
    found = []
    for length in _lengths(task.max_length):
        if all_words:
            words = np.array(list(product(range(size), repeat=length)), dtype=np.int64)
        else:
            wanted = (_EVALUATED if side == "evaluated" else _TESTED) * max(1, 2 * task.held_out)
            words = np.concatenate([
                _of_side(task, words_of(rng, task.language, length, min(_AT_ONCE, wanted - done)), side)
                for done in range(0, wanted, _AT_ONCE)
            ])  # fmt: skip
        words = _of_side(task, words, side)
        found.append(words if all_words else np.unique(words, axis=0) if task.held_out else words)
    found = [words for words in found if len(words)]
    if not found:
        raise InputError(f"{task.name} has so few words that none is held out; say held_out=0.")
    return found


def _lengths(max_length: int) -> list[int]:
    """All lengths, or of very many some as far from one another, the greatest among them: an evaluation must come to an end."""
    return sorted({round(max_length * k / _LENGTHS) for k in range(1, _LENGTHS + 1)} - {0})


def _of_side(task: LanguageTask, words: Letters, side: Side) -> Letters:
    """Those that are held out for evaluations, or for the test; all, if none is held out."""
    if not task.held_out or not len(words):
        return words
    return words[task.held(words)[:, -1] & (held_out.sides(words, task.held_out) == side)]


def _device(model: Any) -> torch.device:
    return next(model.parameters()).device


# By their names -----------------------------------------------------------------------------------------------------------

WordLength = Annotated[int, Count(1, 1000)]
HeldOut = Annotated[int, Count(0, 1000)]


def _task(
    called: str, given: Mapping[str, Any], language: FormalLanguage, max_length: int, held: int, also: str
) -> LanguageTask:
    """With the name that opens it again: what must be said, and what differs from the usual."""
    words = tuple(also.split("+")) if also else ()
    for word in words:
        if not 1 <= len(word) <= max_length or not set(word) <= set(language.alphabet):
            what = f"a word of 1 to {max_length} of the letters {' '.join(language.alphabet)}"
            raise InputError(
                f"{called}: also has {shown(word)}, which is not {what}; words are written with + between them."
            )
    found = classes_to(language, max_length)
    if len(found) < 2:
        which = "every word" if True in found else "no word"
        raise InputError(
            f"{called}: {which} of up to {max_length} letters is a member, so there is nothing to tell apart; "
            "choose another language, or a greater max_length."
        )
    if held == 1:
        raise InputError(f"{called}: held_out=1 keeps every word from training; say 2 or more, or 0 to hold none out.")
    if held and _learned_whole(language, max_length) == max_length:
        raise InputError(
            f"{called}: of words up to {max_length} letters there are too few to hold some out; say held_out=0."
        )
    said = [*(_by_name(name, value) for name, value in given.items()), f"max_length={max_length}"]
    said += [f"held_out={held}"] if held != 8 else []
    said += [f"also={also}"] if also else []
    task = LanguageTask(f"{called}:{','.join(said)}", language, max_length, held, words)
    if held and (missing := _not_held_out(task)):
        raise InputError(_untested(called, missing))
    if held and task.number_of_words() <= _ALL_WORDS and len(learned := _learned_classes(task)) < 2:
        raise InputError(
            f"{called}: with held_out={held} all words that are {'no ' * (True in learned)}members are kept from training; "
            "say another held_out, or 0 to hold none out."
        )
    return task


def _learned_classes(task: LanguageTask) -> set[bool]:
    """What training has as targets, over all words."""
    longest = np.array(list(product(range(len(task.language.alphabet)), repeat=task.max_length)), dtype=np.int64)
    return set(task.language.beginnings(longest)[~task.held(longest)].tolist())


def _by_name(name: str, value: Any) -> str:
    if "," in str(value):
        raise InputError(f"{name} is {shown(value)}, and no name can hold a comma.")
    return f"{name}={value}"


def _alphabet(called: str, vocabulary: str, letter: str = "") -> tuple[str, ...]:
    if (
        not vocabulary
        or len(set(vocabulary)) < len(vocabulary)
        or not vocabulary.isprintable()
        or set(", =+") & set(vocabulary)
    ):
        raise InputError(
            f"{called}: the vocabulary {shown(vocabulary)} must be letters, each once, and no space, comma, = or +."
        )
    if letter and (letter not in vocabulary or len(letter) != 1):
        raise InputError(f"{called}: {shown(letter)} is not a letter of the vocabulary {shown(vocabulary)}.")
    return tuple(vocabulary)


@checked
def by_number(
    number: Annotated[int, Count(1, 7)], max_length: WordLength = 12, held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """A language of Tomita.

    >>> by_number(4).name
    'tomita:number=4,max_length=12'
    """
    return _task("tomita", {"number": number}, Regular(tomita(number)), max_length, held_out, also)


@checked
def by_expression(
    expression: str, max_length: WordLength = 12, vocabulary: str = "01", held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """The language of a regular expression over single characters.

    >>> by_expression("(01)*", 8, held_out=0).batch(seed=0, step=0, size=4).targets.shape[0]
    4
    """
    language = Regular(regular(expression, _alphabet("regex", vocabulary)))
    return _task("regex", {"expression": expression} | _unusual(vocabulary), language, max_length, held_out, also)


@checked
def of_automaton(
    automaton: Automaton, max_length: WordLength = 12, held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """The language of any automaton whose symbols are single characters; in Python alone, for it has no name to be opened by.

    >>> from glyptic.languages import Automaton
    >>> of_automaton(Automaton(("0", "1"), ((0, 1), (0, 1)), frozenset({1}), name="ends in 1")).config().vocabulary
    2
    """
    _alphabet("automaton", "".join(automaton.alphabet))
    named = {"language": automaton.name.replace(",", ";")}
    return _task("automaton", named, Regular(automaton), max_length, held_out, also)


@checked
def parity(
    max_length: WordLength = 16, letter: str = "1", vocabulary: str = "01", held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """Whether the number of a letter's occurrences is odd.

    >>> parity(8).language.beginnings(np.array([[0, 1, 1, 1]])).tolist()
    [[False, True, False, True]]
    """
    return _counted("parity", {}, 2, 1, max_length, letter, vocabulary, held_out, also)


@checked
def modular(
    modulus: Annotated[int, Count(1, 1000)] = 3,
    residue: Annotated[int, Count(0)] = 0,
    max_length: WordLength = 12,
    letter: str = "1",
    vocabulary: str = "01",
    held_out: HeldOut = 8,
    also: str = "",
) -> LanguageTask:
    """Whether the number of a letter's occurrences is a residue modulo m."""
    if residue >= modulus:
        raise InputError(f"modular: residue {residue} modulo {modulus}; it must be below the modulus.")
    given = {"modulus": modulus, "residue": residue}
    return _counted("modular", given, modulus, residue, max_length, letter, vocabulary, held_out, also)


def _counted(
    called: str, given: dict[str, Any], modulus: int, residue: int, max_length: int, letter: str, vocabulary: str,
    held: int, also: str,
) -> LanguageTask:  # fmt: skip
    alphabet = _alphabet(called, vocabulary, letter)
    moves = tuple(tuple((state + (a == letter)) % modulus for a in alphabet) for state in range(modulus))
    counter = Automaton(alphabet, moves, frozenset({residue}), 0, called)
    given = given | ({"letter": letter} if letter != "1" else {}) | _unusual(vocabulary)
    return _task(called, given, Regular(counter), max_length, held, also)


@checked
def contains(
    word: str = "101", max_length: WordLength = 12, vocabulary: str = "01", held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """Whether a word occurs in the input."""
    alphabet = _alphabet("contains", vocabulary)
    if not word or not set(word) <= set(alphabet):
        raise InputError(f"contains: {shown(word)} is not a word of the vocabulary {shown(vocabulary)}.")
    given = {"word": word} | _unusual(vocabulary)
    return _task("contains", given, Regular(_occurs(word, alphabet)), max_length, held_out, also)


def _occurs(word: str, alphabet: tuple[str, ...]) -> Automaton:
    """Knuth, Morris and Pratt's: the state is how much of the word has just been read."""

    def after(read: int, letter: str) -> int:
        if read == len(word):
            return read
        seen = word[:read] + letter
        return next(n for n in range(min(len(seen), len(word)), -1, -1) if seen.endswith(word[:n]))

    moves = tuple(tuple(after(read, letter) for letter in alphabet) for read in range(len(word) + 1))
    return Automaton(alphabet, moves, frozenset({len(word)}), 0, f"contains {word}")


@checked
def first_equals_last(
    max_length: WordLength = 12, vocabulary: str = "01", held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """Whether the first letter is the last."""
    alphabet = _alphabet("first-equals-last", vocabulary)
    size = len(alphabet)  # state 0: nothing read; 1 + first · size + last
    moves = [tuple(1 + k * size + k for k in range(size))]
    moves += [tuple(1 + first * size + k for k in range(size)) for first in range(size) for _ in range(size)]
    accepting = frozenset(1 + k * size + k for k in range(size))
    language = Regular(Automaton(alphabet, tuple(moves), accepting, 0, "first equals last").minimal())
    return _task("first-equals-last", _unusual(vocabulary), language, max_length, held_out, also)


@checked
def majority(
    max_length: WordLength = 12, letter: str = "1", vocabulary: str = "01", held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """Whether more than half of the letters are one letter."""
    alphabet = _alphabet("majority", vocabulary, letter)
    given = ({"letter": letter} if letter != "1" else {}) | _unusual(vocabulary)
    return _task("majority", given, Majority(alphabet, alphabet.index(letter)), max_length, held_out, also)


@checked
def palindromes(
    max_length: WordLength = 12, vocabulary: str = "01", held_out: HeldOut = 8, also: str = ""
) -> LanguageTask:
    """Whether the input reads the same backwards."""
    language = Palindromes(_alphabet("palindromes", vocabulary))
    return _task("palindromes", _unusual(vocabulary), language, max_length, held_out, also)


@checked
def dyck(
    kinds: Annotated[int, Count(1, 3)] = 2,
    max_length: WordLength = 16,
    depth: Annotated[int, Count(1, 1000)] = 1000,
    held_out: HeldOut = 8,
    also: str = "",
) -> LanguageTask:
    """Whether brackets of some kinds are balanced, and never deeper than `depth`.

    >>> dyck(2).language.beginnings(np.array([[0, 2, 3, 1]])).tolist()
    [[False, False, False, True]]
    """
    deepest = min(depth, max(1, max_length // 2))
    given = {"kinds": kinds} | ({"depth": depth} if depth < max_length // 2 else {})
    return _task("dyck", given, Dyck(tuple("()[]{}"[: 2 * kinds]), deepest), max_length, held_out, also)


@checked
def program(model: str, max_length: WordLength = 8, held_out: HeldOut = 8, also: str = "") -> LanguageTask:
    """What an exact transformer decides, by running it on every word: a folder, or a name as `glyptic run` takes it.

    Commas in its name are written ; here, since commas separate parameters.

    >>> program("contains:101;8", 8).language.beginnings(np.array([[1, 0, 1, 1]])).tolist()
    [[False, False, True, True]]
    """
    from glyptic.programs import open as open_decider

    exact = open_decider(model.replace(";", ","))
    alphabet = _alphabet("program", "".join(exact.vocabulary))
    if exact.answers != ANSWERS or len("".join(exact.vocabulary)) != len(exact.vocabulary):
        raise InputError(
            f"program: {shown(model)} answers {' '.join(exact.answers)} on tokens; NO and YES on letters are learned."
        )
    words = sum(len(alphabet) ** n for n in range(1, max_length + 1))
    if max_length > exact.max_length or words > _ALL_WORDS:
        raise InputError(
            f"program: max_length is {max_length}; {shown(model)} reads {exact.max_length}, and {_ALL_WORDS:,} words are run."
        )
    tables = []
    for length in range(1, max_length + 1):
        said = exact.run_batch(["".join(word) for word in product(alphabet, repeat=length)]).answers
        if not set(said) <= set(ANSWERS):
            undecided = "".join(
                next(w for w, a in zip(product(alphabet, repeat=length), said, strict=True) if a not in ANSWERS)
            )
            raise InputError(
                f"program: {shown(model)} does not decide {shown(undecided)}; only what is decisive can be learned."
            )
        tables.append(np.array([answer == "YES" for answer in said]))
    known = digest(b"".join(table.tobytes() for table in tables))
    return _task("program", {"model": model}, Tabled(alphabet, known, tuple(tables)), max_length, held_out, also)


def _unusual(vocabulary: str) -> dict[str, str]:
    return {"vocabulary": vocabulary} if vocabulary != "01" else {}
