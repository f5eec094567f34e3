"""A claim on inputs over decision diagrams: tokens are free in the vocabulary, and the forward pass runs as it is.

The residual that enters at a position is what the vocabulary's embeddings are there. Where no position sees later ones, one pass
serves all lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from glyptic.errors import InputError
from glyptic.exact.answers import contest, given
from glyptic.exact.forward import Prepared, embed, forward, prepare
from glyptic.exact.stages import Watch, stages
from glyptic.exact.transformer import Transformer
from glyptic.languages.automata import Automaton
from glyptic.numbers import Format
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.claims.evaluation import ConditionSetting, Inexpressible, Partial, alone, truth
from glyptic.prove.elements.batches import part_codes
from glyptic.prove.methods.symbolic.arithmetic import DiagramArithmetic
from glyptic.prove.methods.symbolic.diagrams import Diagram, Diagrams

Word = Mapping[str, Diagram]  # each word with the condition under which it is the one
Output = tuple[np.ndarray, np.ndarray, Diagram]  # logits, what the answer is the largest of, (answers, 1); where that is 0/0


@dataclass(frozen=True)
class OfLength:
    """The inputs of one length: which meet the precondition, and which of those break the claim (or are what it says exists)."""

    length: int
    given: Diagram
    failing: Diagram


def conditions(claim: Claim, diagrams: Diagrams) -> list[OfLength]:
    """What a claim says of the inputs of each length, the shortest first."""
    subject = claim.subject
    assert isinstance(subject, Inputs)
    lengths = subject.lengths
    if any(subject.steps[n - 1] > 1 for n in lengths):
        raise Inexpressible("chains of thought of several steps")
    free = FreeTokens(subject.vocabulary, diagrams)
    runs = {name: Runs(t, free, int(subject.max_length)) for name, t in subject.transformers.items()}
    found = []
    for n in lengths:
        setting = InputSetting(free, n, runs)
        given, good = truth(claim.requires, setting).true, truth(claim.ensures, setting).true
        sought = good if claim.quantifier == "some" else setting.negation(good)
        found.append(OfLength(n, given, setting.both([given, sought])))
    return found


class FreeTokens:
    """Free tokens, and the languages that they run through."""

    def __init__(self, vocabulary: tuple[str, ...], diagrams: Diagrams) -> None:
        self.vocabulary, self.diagrams = vocabulary, diagrams
        self._states: dict[int, tuple[Automaton, list[Diagram]]] = {}

    def word(self, position: int) -> Word:
        """Which token is at a position."""
        each = range(len(self.vocabulary))
        return {token: self.diagrams.token(position, [j == k for j in each]) for k, token in enumerate(self.vocabulary)}

    def accepted(self, automaton: Automaton, length: int) -> Diagram:
        """Whether the first tokens are in a language."""
        missing = [token for token in self.vocabulary if token not in automaton.alphabet]
        if missing:
            shown = " ".join(automaton.alphabet)
            raise InputError(f"{automaton.name}: the token {missing[0]!r} is not in the alphabet {shown}.")
        symbols = [automaton.alphabet.index(token) for token in self.vocabulary]
        _, states = self._states.setdefault(id(automaton), (automaton, [automaton.start]))
        while len(states) <= length:
            symbol = self.diagrams.token(len(states) - 1, symbols)
            moved = lambda state, read: automaton.moves[state][read]  # noqa: E731
            states.append(self.diagrams.apply(f"move {id(automaton)}", moved, states[-1], symbol))
        accepting = automaton.accepting
        return self.diagrams.apply(f"accept {id(automaton)}", lambda state: state in accepting, states[length])


# Runs ------------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TokenRun:
    """One pass over free tokens: what was traced, (d, positions, 1), the last residual, and where 0/0 was met."""

    prepared: Prepared
    traced: Mapping[str, np.ndarray]
    after: np.ndarray
    failed_at: list[Diagram]  # by position


@dataclass
class Runs:
    """A transformer over free tokens, for any length; passes and what is read off them are made when they are asked for."""

    transformer: Transformer
    tokens: FreeTokens
    longest: int
    _passes: dict[int, TokenRun] = field(default_factory=dict)
    _outputs: dict[int, Output] = field(default_factory=dict)

    def __post_init__(self) -> None:
        format = self.transformer.format
        assert isinstance(format, Format)
        self.arithmetic = DiagramArithmetic(format, self.tokens.diagrams, self.transformer.options.products)

    def of_length(self, length: int) -> TokenRun:
        """A pass whose first positions are those of an input of this length."""
        positions = length if self.transformer.options.mask == "full" else self.longest
        if positions not in self._passes:
            self._passes[positions] = self._pass(positions)
        return self._passes[positions]

    def _pass(self, positions: int) -> TokenRun:
        prepared, size = prepare(self.transformer, self.arithmetic), len(self.tokens.vocabulary)
        watch, of_each = Watch(stages(self.transformer)), Watch(("embedding", "embedding_norm"))
        embedded = embed(prepared, np.tile(np.arange(size), (positions, 1)), observer=of_each)  # (d, positions, vocabulary)
        for stage, array in of_each.traced.items():
            watch.record(stage, self._chosen(array))
        after, _ = forward(prepared, self._chosen(embedded), observer=watch)
        met = [self._chosen(where[None])[0] for _, where in of_each.met] + [where for _, where in watch.met]
        failed_at = [self._either(c for where in met for c in where[i]) for i in range(positions)]
        return TokenRun(prepared, watch.traced, after, failed_at)

    def _chosen(self, of_tokens: np.ndarray) -> np.ndarray:
        """What is known for each token of the vocabulary, (rows, positions, vocabulary), as diagrams (rows, positions, 1)."""
        out = np.empty((*of_tokens.shape[:2], 1), dtype=object)
        for c, i in np.ndindex(out.shape[:2]):
            out[c, i, 0] = self.tokens.diagrams.token(i, list(of_tokens[c, i]))
        return out

    def _either(self, conditions: Iterable[Diagram]) -> Diagram:
        return reduce(self.arithmetic.either, conditions, False)

    def failed(self, length: int) -> Diagram:
        """Whether 0/0 is met in the layers."""
        return self._either(self.of_length(length).failed_at[:length])

    def output(self, length: int) -> Output:
        """Logits, and what decides the answer."""
        if length not in self._outputs:
            run, watch = self.of_length(length), Watch()
            logits, shares = contest(run.prepared, run.after[:, length - 1 : length], length - 1, watch)
            met = [self.failed(length), *(c for _, where in watch.met for c in np.ravel(where))]
            self._outputs[length] = logits[:, 0], shares[:, 0], self._either(met)
        return self._outputs[length]


# The claim's names -----------------------------------------------------------------------------------------------------------


class InputSetting(ConditionSetting):
    """What a claim's names stand for, at the inputs of one length; arrays are of shape (1,)."""

    def __init__(self, tokens: FreeTokens, length: int, runs: Mapping[str, Runs]) -> None:
        self.tokens, self.length, self.runs = tokens, length, runs
        self.arithmetic: Any = next(iter(runs.values())).arithmetic

    def read(self, node: Any) -> Partial:
        runs = self.runs[node.of]
        match node:
            case e.Parameter():
                return Partial(alone(int(part_codes(runs.transformer, node.part)[node.index])), False)
            case e.Logit():
                number = runs.output(self.length)[0][runs.transformer.answers.index(node.answer), 0]
            case e.Attention():
                traced = runs.of_length(self.length).traced[node.stage()]
                number = traced[self._position(node.query), self._position(node.key), 0]
            case _:
                traced = runs.of_length(self.length).traced[node.stage]
                number = traced[runs.transformer.coordinate(node.coordinate), self._position(node.position), 0]
        return Partial(alone(number), runs.failed(self.length))

    def _position(self, position: int) -> int:
        return position if position >= 0 else self.length + position

    def replaced(self, x: np.ndarray, where: Diagram, number: int) -> np.ndarray:
        stand_in = self.arithmetic.format.code(self.arithmetic.format.round(number))
        return alone(self.arithmetic.choose(where, stand_in, x[0]))

    def word(self, node: e.Word) -> Word:
        if isinstance(node, e.Token):
            return self.tokens.word(self._position(node.position))
        if isinstance(node, e.Answer):
            runs = self.runs[node.of]
            _, shares, undefined = runs.output(self.length)
            return given(runs.transformer, list(shares), undefined, self)
        assert isinstance(node, e.Text)
        return {node.text: True}

    def both(self, parts: Sequence[Diagram]) -> Diagram:
        return reduce(self.arithmetic.both, parts, True)

    def either(self, parts: Sequence[Diagram]) -> Diagram:
        return reduce(self.arithmetic.either, parts, False)

    def negation(self, part: Diagram) -> Diagram:
        return self.arithmetic.negation(part)

    def decide(self, node: e.Accepted | e.Holds | e.Defined | e.SameChains) -> Diagram:
        if isinstance(node, e.Accepted):
            return self.tokens.accepted(node.automaton, self.length)
        if isinstance(node, e.SameChains):  # of one step
            return self.same_word(e.Answer(node.left), e.Answer(node.right))
        if isinstance(node, e.Defined):
            runs = self.runs[node.of]
            failed = runs.failed(self.length) if node.attention else runs.output(self.length)[2]
            return self.negation(failed)
        raise Inexpressible(f"the Python predicate {node}")
