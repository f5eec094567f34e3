"""Reckoning as a text that goes on: a decoder reads a question and writes the answer, at once or after a chain of thought.

    name              question       chain (digit and carry from the right; what comes out so far)     answer
    addition:3        012+989=       1 1 0 1 0 1                                                       1001
    modular-sum:7,4   3 5 5 1 =      3 1 6                                                             0
    squaring:97,3     5 ² ² ² =      25 43                                                             6
    s5:3              three, =       the first; the first and second                                   all three

Only what comes after the question is learned. With a chain all problems are on one side of which one's chain is another's or
its beginning: else held-out chains would stand in what is learned, to be copied. Chains hold what comes out so far, as in Li,
Liu, Zhou and Ma, *Chain of Thought Empowers Transformers to Solve Inherently Serial Problems* (2024): without one a decoder of
one layer must do all steps at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Annotated, Any, Literal, Protocol, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from glyptic.arguments import Count, checked, shown
from glyptic.errors import InputError, ModelError
from glyptic.nn.config import ModelConfig
from glyptic.train.task import IGNORED, Minibatch, Side, side_asked
from glyptic.train.tasks import held_out
from glyptic.train.tasks.tokens import Symbols

Rows = NDArray[np.int64]
Chain = Literal["no", "yes"]
_HELD = {"evaluated": 512, "tested": 2048}  # problems that are drawn
_AT_ONCE = 64


class Reckoning(Protocol):
    """Questions, what is thought, and answers, as numbers of tokens; a frozen dataclass."""

    @property
    def tokens(self) -> tuple[str, ...]: ...

    @property
    def lengths(self) -> tuple[int, int, int]:
        """The most tokens of a question, of a thought and of an answer."""

    def draw(self, rng: np.random.Generator, count: int) -> Rows:
        """Problems, a row each; all rows of one draw are written with the same number of tokens."""

    def written(self, problems: Rows) -> tuple[Rows, Rows, Rows]:
        """Question, thought and answer of each problem."""

    def beginnings(self, problems: Rows) -> Rows:
        """The same for problems of which one's thought and answer begin as the other's thought and answer are."""

    def problem(self, question: Sequence[int]) -> list[int] | None:
        """The problem that a question asks, as `draw` gives it; None if it is not written as questions are."""


@dataclass(frozen=True)
class ReckoningTask:
    """Write the answer of a problem, with its chain of thought before it if `chain`."""

    name: str
    reckoning: Reckoning
    chain: bool
    held_out: int = 8
    """One problem in so many is kept from training, half of these for the test."""
    apart: Literal["problems", "chains"] = "problems"
    """What is on one side; with chains, problems of one step are all learned: of such steps chains are made."""
    measure: str = field(default="exact_match", init=False)

    def config(self) -> ModelConfig:
        return ModelConfig(
            kind="decoder", layers=2, width=64, heads=4, vocabulary=len(self.reckoning.tokens), context=self._length(),
            feed_forward="relu", norm="layer", norm_place="pre", positions="learned", tied=False,
        )  # fmt: skip

    def _length(self) -> int:
        question, thought, answer = self.reckoning.lengths
        return question + thought * self.chain + answer

    def check(self, config: ModelConfig) -> None:
        size, length = len(self.reckoning.tokens), self._length()
        if config.kind != "decoder" or config.head != "linear":
            what = f"kind={config.kind!r}, head={config.head!r}"
            raise ModelError(f"{what}: {self.name} is written by kind='decoder' with head='linear'.")
        if config.vocabulary != size:
            raise ModelError(f"vocabulary={config.vocabulary}, and {self.name} has {size} tokens; let it be {size}.")
        if config.positions == "learned" and config.context < length:
            raise ModelError(
                f"context={config.context}, and {self.name} is written with {length} tokens; let it be {length}."
            )

    def sides(self, problems: Rows) -> NDArray[np.str_]:
        """(B, …) → on which side each problem is, of one draw."""
        if self.apart == "problems":
            return held_out.sides(problems, self.held_out)
        if self._one_step(problems):
            return np.full(len(problems), "learned")
        return held_out.sides(self.reckoning.beginnings(problems), self.held_out)

    def _one_step(self, problems: Rows) -> bool:
        """Whether nothing is thought before the answer."""
        return self.reckoning.written(problems[:1])[1].shape[1] == 0

    def problems(self, rng: np.random.Generator, count: int, side: Side) -> Rows:
        """Problems of one draw, all of one side."""
        first = self.reckoning.draw(rng, 1)
        while self.chain and side != "learned" and self._one_step(first):
            first = self.reckoning.draw(rng, 1)

        def draw(count: int) -> Rows:  # those of the same length
            rows = self.reckoning.draw(rng, count)
            while rows.shape != (count, first.shape[1]):
                rows = self.reckoning.draw(rng, count)
            return rows

        return held_out.drawn(draw, count, self.held_out, side, self.sides)

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        question, written = self._written(self.problems(np.random.default_rng([seed, step]), size, "learned"))
        rows = np.concatenate([question, written], axis=1)
        targets = rows[:, 1:].copy()
        targets[:, : question.shape[1] - 1] = IGNORED
        return Minibatch((torch.from_numpy(rows[:, :-1].copy()),), torch.from_numpy(targets), rows.size)

    def _written(self, problems: Rows) -> tuple[Rows, Rows]:
        question, thought, answer = self.reckoning.written(problems)
        return question, np.concatenate([thought, answer], axis=1) if self.chain else answer

    def remaining(self, numbers: Sequence[int]) -> int:
        """How many tokens are to be written after a question, or after it and the beginning of what comes after it.

        >>> task = squaring(97, 9, chain="yes")
        >>> [task.remaining(Symbols(task.reckoning.tokens).encode(asked)) for asked in ("5 ² =", "5 ² ² ² =", "5 ² ² ² = 25")]
        [1, 3, 2]
        """
        tokens = Symbols(self.reckoning.tokens)
        end = [*numbers, *tokens.encode("=")].index(tokens.tokens.index("=")) + 1
        problem = self.reckoning.problem(numbers[:end])
        if problem is None:
            example = tokens.decode(self._written(self.reckoning.draw(np.random.default_rng(0), 1))[0][0].tolist())
            said = shown(tokens.decode(numbers[:end]))
            raise InputError(f"{said} is not a question of {self.name}; write one such as {shown(example)}.")
        whole, written = self._written(np.array([problem]))[1].shape[1], len(numbers) - end
        if written >= whole:
            raise InputError(f"after {shown(tokens.decode(numbers[:end]))} all {whole} tokens are there; leave the last out.")
        return whole - written

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        logits = model(*batch.inputs)
        return cross_entropy(
            logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
        )

    def evaluated(self, seed: int) -> list[Rows]:
        """The problems that are asked with a seed, each once: those of one length together, 512 for an evaluation and 2,048 for
        a test, or as many as are found in so many draws.
        """
        rng, side = np.random.default_rng([seed, 2**32 - 1]), side_asked(seed)
        by_length: dict[int, list[Rows]] = {}
        for _ in range(_HELD[side] // _AT_ONCE):
            rows = self.problems(rng, _AT_ONCE, side)
            by_length.setdefault(rows.shape[1], []).append(rows)
        return [np.unique(np.concatenate(drawn), axis=0) for _, drawn in sorted(by_length.items())]

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """On held-out problems, which the model writes out itself; its answer is right if all its tokens are."""
        from glyptic.nn import generate

        answer, device = self.reckoning.lengths[2], next(model.parameters()).device
        asked = [part for rows in self.evaluated(seed) for part in np.split(rows, range(256, len(rows), 256))]
        right, losses = 0, 0.0
        for problems in asked:
            question, written = self._written(problems)
            said = generate(model, torch.from_numpy(question).to(device), written.shape[1])[:, -answer:].cpu().numpy()
            right += int((said == written[:, -answer:]).all(axis=1).sum())
            rows = torch.from_numpy(np.concatenate([question, written], axis=1)).to(device)
            logits = model(rows[:, :-1])[:, question.shape[1] - 1 :].float()
            losses += len(rows) * float(cross_entropy(logits.flatten(0, 1), rows[:, question.shape[1] :].flatten()))
        count = sum(map(len, asked))
        return {"loss": losses / count, "exact_match": right / count}

    def files(self) -> Mapping[str, bytes]:
        return Symbols(self.reckoning.tokens).files()


@dataclass(frozen=True)
class Sums:
    """Two numbers of so many digits; rows are their digits."""

    digits: int

    @property
    def tokens(self) -> tuple[str, ...]:
        return tuple("0123456789+=")

    @property
    def lengths(self) -> tuple[int, int, int]:
        return 2 * self.digits + 2, 2 * self.digits, self.digits + 1

    def draw(self, rng: np.random.Generator, count: int) -> Rows:
        return rng.integers(0, 10, (count, 2 * self.digits))

    def written(self, problems: Rows) -> tuple[Rows, Rows, Rows]:
        """
        >>> [row[0].tolist() for row in Sums(2).written(np.array([[0, 7, 9, 5]]))]
        [[0, 7, 10, 9, 5, 11], [2, 1, 0, 1], [1, 0, 2]]
        """
        a, b = problems[:, : self.digits], problems[:, self.digits :]
        sign = np.full((len(problems), 1), 10)
        carry, thought = np.zeros(len(problems), dtype=np.int64), []
        for place in reversed(range(self.digits)):
            total = a[:, place] + b[:, place] + carry
            carry = total // 10
            thought += [total % 10, carry]
        answer = [carry, *reversed(thought[::2])]
        return np.concatenate([a, sign, b, sign + 1], axis=1), np.stack(thought, axis=1), np.stack(answer, axis=1)

    def beginnings(self, problems: Rows) -> Rows:
        """012 + 34 is thought as 034 + 12 is, and as 013 + 33."""
        return self.written(problems)[1]

    def problem(self, question: Sequence[int]) -> list[int] | None:
        found = [number for number in question if number < 10]
        asks = [*found[: self.digits], 10, *found[self.digits :], 11]
        return found if len(found) == 2 * self.digits and [*question] == asks else None


@dataclass(frozen=True)
class ModularSums:
    """`length` numbers below the modulus."""

    modulus: int
    length: int

    @property
    def tokens(self) -> tuple[str, ...]:
        return (*map(str, range(self.modulus)), "=")

    @property
    def lengths(self) -> tuple[int, int, int]:
        return self.length + 1, self.length - 1, 1

    def draw(self, rng: np.random.Generator, count: int) -> Rows:
        return rng.integers(0, self.modulus, (count, self.length))

    def written(self, problems: Rows) -> tuple[Rows, Rows, Rows]:
        sums = problems.cumsum(axis=1) % self.modulus
        return _asked(problems, self.modulus), sums[:, :-1], sums[:, -1:]

    def beginnings(self, problems: Rows) -> Rows:
        """Sums so far say which numbers were added."""
        return problems

    def problem(self, question: Sequence[int]) -> list[int] | None:
        return _listed(question, self.length, range(self.modulus), equals=self.modulus)


@dataclass(frozen=True)
class Squares:
    """A number below the modulus, squared up to `most` times; a row has a place for each squaring, all but the first 0."""

    modulus: int
    most: int

    @property
    def tokens(self) -> tuple[str, ...]:
        return (*map(str, range(self.modulus)), "²", "=")

    @property
    def lengths(self) -> tuple[int, int, int]:
        return self.most + 2, self.most - 1, 1

    def draw(self, rng: np.random.Generator, count: int) -> Rows:
        times = int(rng.integers(1, self.most + 1))
        rows = np.zeros((count, times), dtype=np.int64)
        rows[:, 0] = rng.integers(0, self.modulus, count)
        return rows

    def written(self, problems: Rows) -> tuple[Rows, Rows, Rows]:
        """
        >>> [row[0].tolist() for row in Squares(97, 9).written(np.array([[5, 0, 0]]))]
        [[5, 97, 97, 97, 98], [25, 43], [6]]
        """
        squares = [problems[:, 0] ** 2 % self.modulus]
        for _ in range(problems.shape[1] - 1):
            squares.append(squares[-1] ** 2 % self.modulus)
        found = np.stack(squares, axis=1)
        question = np.concatenate([problems[:, :1], np.full(problems.shape, self.modulus)], axis=1)
        return _asked(question, self.modulus + 1), found[:, :-1], found[:, -1:]

    def beginnings(self, problems: Rows) -> Rows:
        """However often a number is squared, its chain begins with its square, as that of −x does."""
        return problems[:, :1] ** 2 % self.modulus

    def problem(self, question: Sequence[int]) -> list[int] | None:
        times = len(question) - 2
        asks = [*question[:1], *[self.modulus] * times, self.modulus + 1]
        good = 1 <= times <= self.most and question[0] < self.modulus and [*question] == asks
        return [question[0], *[0] * (times - 1)] if good else None


Letters = Literal["all", "swaps"]


@dataclass(frozen=True)
class Permutations:
    """`length` permutations of five things, any of the 120 or exchanges of two neighbours alone, composed from the left.

    The word problem of this group is complete for NC¹ (Barrington, 1989): a decoder of constant depth cannot do it for every
    length, unless NC¹ is TC⁰.
    """

    length: int
    letters: Letters

    @property
    def tokens(self) -> tuple[str, ...]:
        return (*("".join(str(1 + k) for k in row) for row in permutations(range(5))), "=")

    @property
    def lengths(self) -> tuple[int, int, int]:
        return self.length + 1, self.length - 1, 1

    def draw(self, rng: np.random.Generator, count: int) -> Rows:
        chosen = self._chosen()
        return chosen[rng.integers(0, len(chosen), (count, self.length))]

    def _chosen(self) -> Rows:
        return np.arange(120) if self.letters == "all" else _numbers_of(_SWAPS)

    def written(self, problems: Rows) -> tuple[Rows, Rows, Rows]:
        """First the first, then the second: i goes to second[first[i]].

        >>> asked, thought, answer = Permutations(3, "all").written(np.array([[24, 6, 24]]))
        >>> [Permutations(3, "all").tokens[k] for k in (*asked[0], *thought[0], *answer[0])]
        ['21345', '13245', '21345', '=', '21345', '31245', '32145']
        """
        sofar = [_ALL[problems[:, 0]]]
        for place in range(1, problems.shape[1]):
            sofar.append(np.take_along_axis(_ALL[problems[:, place]], sofar[-1], axis=1))
        found = np.stack([_numbers_of(each) for each in sofar], axis=1)
        return _asked(problems, 120), found[:, :-1], found[:, -1:]

    def beginnings(self, problems: Rows) -> Rows:
        """Products so far say which permutations were composed."""
        return problems

    def problem(self, question: Sequence[int]) -> list[int] | None:
        return _listed(question, self.length, self._chosen().tolist(), equals=120)


_ALL = np.array(list(permutations(range(5))), dtype=np.int64)  # in the order of their names
_POWERS = 5 ** np.arange(5)
_SORTED = np.argsort(_ALL @ _POWERS)
_SWAPS = np.array([[1, 0, 2, 3, 4], [0, 2, 1, 3, 4], [0, 1, 3, 2, 4], [0, 1, 2, 4, 3]])


def _numbers_of(rows: Rows) -> Rows:
    """Permutations (B, 5) → their numbers."""
    return _SORTED[np.searchsorted((_ALL @ _POWERS)[_SORTED], rows @ _POWERS)]


def _asked(problems: Rows, equals: int) -> Rows:
    return np.concatenate([problems, np.full((len(problems), 1), equals)], axis=1)


def _listed(question: Sequence[int], length: int, numbers: Collection[int], equals: int) -> list[int] | None:
    """What stands before the sign of equality, if it is so many of these numbers."""
    *problem, last = question
    return problem if len(problem) == length and last == equals and all(number in numbers for number in problem) else None


# By their names -----------------------------------------------------------------------------------------------------------

HeldOut = Annotated[int, Count(2, 1000)]
Steps = Annotated[int, Count(1, 512)]


def _task(called: str, given: Mapping[str, Any], reckoning: Reckoning, chain: str, held: int) -> ReckoningTask:
    said = [f"{name}={value}" for name, value in given.items()] + [f"chain={chain}"]
    said += [f"held_out={held}"] if held != 8 else []
    if chain == "yes" and reckoning.lengths[1] == 0:
        raise InputError(f"{called}: problems of one step have no chain; make them longer, or let chain be no.")
    apart: Literal["problems", "chains"] = "chains" if chain == "yes" else "problems"
    task = ReckoningTask(f"{called}:{','.join(said)}", reckoning, chain == "yes", held, apart)
    if not _on_all_sides(task):
        raise InputError(
            f"{called}: of problems of one length one in {held} is held out, half of these for evaluations, half for the test, "
            "and of either half, or of all others, there is none; make it larger, or choose another held_out."
        )
    return task


def _on_all_sides(task: ReckoningTask) -> bool:
    """Whether there are problems to learn from, to evaluate on and to test on, of every length: told here, not after an hour."""
    reckoning = task.reckoning
    if isinstance(reckoning, Squares):
        rows = np.zeros((reckoning.modulus, reckoning.most), dtype=np.int64)
        rows[:, 0] = np.arange(reckoning.modulus)
        of_each_length = [rows[:, :times] for times in range(1 + task.chain, reckoning.most + 1)]
    else:
        of_each_length = [reckoning.draw(np.random.default_rng(0), 64 * task.held_out)]
    return all(set(task.sides(rows)) == {*get_args(Side)} for rows in of_each_length)


@checked
def addition(digits: Annotated[int, Count(1, 64)] = 3, chain: Chain = "no", held_out: HeldOut = 8) -> ReckoningTask:
    """The sum of two numbers.

    >>> addition(3).name
    'addition:digits=3,chain=no'
    """
    return _task("addition", {"digits": digits}, Sums(digits), chain, held_out)


@checked
def modular_sum(
    modulus: Annotated[int, Count(2, 10_000)] = 7, length: Steps = 16, chain: Chain = "no", held_out: HeldOut = 8
) -> ReckoningTask:
    """The sum of several numbers modulo m."""
    _enough("modular-sum", modulus**length)
    given = {"modulus": modulus, "length": length}
    return _task("modular-sum", given, ModularSums(modulus, length), chain, held_out)


@checked
def squaring(
    modulus: Annotated[int, Count(2, 10_000)] = 1019, times: Steps = 16, chain: Chain = "no", held_out: HeldOut = 8
) -> ReckoningTask:
    """A number squared up to so many times, modulo p.

    Of p = 2q + 1 with q a prime, as 1019 is, squares go round long cycles; modulo 97 a few of them end in one of three numbers.
    """
    _enough("squaring", modulus * times)
    return _task("squaring", {"modulus": modulus, "times": times}, Squares(modulus, times), chain, held_out)


@checked
def s5(length: Steps = 16, chain: Chain = "no", letters: Letters = "swaps", held_out: HeldOut = 8) -> ReckoningTask:
    """The composition of permutations of five things."""
    _enough("s5", (120 if letters == "all" else 4) ** length)
    return _task("s5", {"length": length, "letters": letters}, Permutations(length, letters), chain, held_out)


def _enough(called: str, problems: int) -> None:
    if problems < 64:
        raise InputError(f"{called}: there are {problems} problems, too few to hold some out; make it longer.")
