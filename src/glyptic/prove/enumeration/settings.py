"""What the names in a claim stand for, in batches of concrete elements: inputs that were walked, or values put into a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from glyptic.exact.forward import State, forward
from glyptic.exact.running import UNDEFINED, Engine, decide, prepared_for
from glyptic.numbers import AnyFormat, Arithmetic, Codes, Reference, encode
from glyptic.numbers.hosts import refusal
from glyptic.prove import expressions as e
from glyptic.prove.claims import Block, Claim, Inputs, Values
from glyptic.prove.enumeration.trie import Visit, Walk
from glyptic.prove.evaluation import WORDS_BELOW, Batch, constant_in, truth


def arithmetic_for(format: AnyFormat, engine: Engine = "auto") -> Arithmetic:
    """The arithmetic of an engine, by the rule of `exact.running`: compiled where that is proved exact."""
    if engine == "reference" or (engine == "auto" and refusal(format) is not None):
        return Reference(format)
    from glyptic.numbers.fast import Fast

    return Fast(format)  # type: ignore


def judge(claim: Claim, setting: Batch, undefined: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Which elements meet the precondition, and which of those break the claim."""
    satisfying = truth(claim.requires, setting) & ~setting.undefined  # a precondition that is 0/0 is not met
    good = truth(claim.ensures, setting) & ~setting.undefined
    if undefined is not None and not claim.speaks_of_undefined:
        good &= ~undefined
    return satisfying, satisfying & ~good


# Inputs ---------------------------------------------------------------------------------------------------------------


def walk_of(claim: Claim, engine: Engine = "auto") -> Walk:
    """The walk that a claim on inputs needs: with the stages it reads, and answers only if it speaks of them."""
    subject = claim.subject
    assert isinstance(subject, Inputs)
    nodes = [*claim.requires.parts(), *claim.ensures.parts()]
    stages = {
        name: frozenset(node.stage for node in nodes if isinstance(node, e.Coordinate) and node.of == name)
        for name in subject.transformers
    }
    answers = any(
        isinstance(node, e.Answer | e.Logit) or (isinstance(node, e.Defined) and not node.attention) for node in nodes
    )
    prepared = {name: prepared_for(t, engine) for name, t in subject.transformers.items()}
    return Walk(prepared, subject.min_length, subject.max_length, subject.steps, stages, answers)


def setting_of_visit(walk: Walk, visit: Visit) -> tuple[Batch, np.ndarray]:
    """The setting of a batch of inputs, and where 0/0 was met."""
    size = visit.tokens.shape[1]
    vocabulary = next(iter(walk.prepared.values())).transformer.vocabulary
    undefined = np.zeros(size, bool)
    for name, branch in visit.branches.items():
        undefined |= branch.failed
        if name in visit.chains:
            undefined |= visit.chains[name][-1] == UNDEFINED

    def read(node: Any) -> Any:
        prepared = walk.prepared[node.of]
        if isinstance(node, e.Logit):
            return prepared.arithmetic.values(visit.logits[node.of][:, prepared.transformer.answers.index(node.answer)])
        return visit.branches[node.of].traced[node.stage][
            prepared.transformer.coordinate(node.coordinate), node.position
        ]

    def decided(node: Any) -> np.ndarray:
        if isinstance(node, e.Accepted):
            return node.automaton.accepts_all(visit.tokens, vocabulary)
        if isinstance(node, e.Defined):
            failed = visit.branches[node.of].failed
            return ~failed if node.attention else visit.chains[node.of][-1] != UNDEFINED
        return np.array([bool(node.predicate(text)) for text in texts(visit.tokens, vocabulary)], bool)

    arithmetic = next(iter(walk.prepared.values())).arithmetic
    return Batch(arithmetic, size, read, _Words(walk, visit, vocabulary), decided), undefined


def texts(tokens: np.ndarray, vocabulary: tuple[str, ...]) -> list[Any]:
    """Inputs as people write them: strings if all tokens are single characters, else tuples of tokens."""
    rows = np.array(vocabulary, object)[tokens.T]
    single = all(len(token) == 1 for token in vocabulary)
    return ["".join(row) if single else tuple(row) for row in rows]


class _Words(Mapping[Any, tuple[np.ndarray, tuple[str, ...]]]):
    """Answers and tokens by key, looked up when asked for."""

    def __init__(self, walk: Walk, visit: Visit, vocabulary: tuple[str, ...]) -> None:
        self.walk, self.visit, self.vocabulary = walk, visit, vocabulary

    def __getitem__(self, key: Any) -> tuple[np.ndarray, tuple[str, ...]]:
        if key[0] == "token":
            return self.visit.tokens[key[1]], (*WORDS_BELOW, *self.vocabulary)
        _, of, step = key
        return self.visit.chains[of][step], (*WORDS_BELOW, *self.walk.prepared[of].transformer.answers)

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


# Values ---------------------------------------------------------------------------------------------------------------


def free_names(claim: Claim) -> tuple[str, ...]:
    """What is free in a claim on values, in the order in which codes are listed."""
    subject = claim.subject
    if isinstance(subject, Values):
        return subject.names
    assert isinstance(subject, Block)
    return tuple(f"{name}@{position}" for name, position in subject.free)


def setting_of_codes(claim: Claim, codes: Codes, engine: Engine = "auto") -> tuple[Batch, np.ndarray | None]:
    """The setting of a batch of free values, codes of shape (free, batch); and where 0/0 was met in a block."""
    subject = claim.subject
    if isinstance(subject, Values):
        assert subject.format is not None
        arithmetic = arithmetic_for(subject.format, engine)
        named = dict(zip(subject.names, arithmetic.values(codes), strict=True))
        return Batch(arithmetic, codes.shape[1], lambda node: named[node.name]), None
    assert isinstance(subject, Block)
    return _setting_of_block(claim, subject, codes, engine)


def _setting_of_block(claim: Claim, subject: Block, codes: Codes, engine: Engine) -> tuple[Batch, np.ndarray]:
    size = codes.shape[1]
    undefined = np.zeros(size, bool)
    before, after, logits, words = {}, {}, {}, {}

    def complain(_: Any, where: np.ndarray) -> None:
        np.logical_or(undefined, where.any(axis=0), out=undefined)

    reads_output = any(isinstance(n, e.Answer | e.Logit) for n in (*claim.requires.parts(), *claim.ensures.parts()))
    for name, transformer in subject.transformers.items():
        whole = prepared_for(transformer, engine)
        last = len(transformer.layers) if subject.last is None else subject.last
        norm = whole.final_norm if last == len(transformer.layers) else None
        part = replace(whole, layers=whole.layers[subject.first : last], final_norm=norm)
        before[name] = whole.arithmetic.values(residual_codes(subject, name, codes))
        after[name], _ = forward(part, before[name], State(), lambda *_: None, complain)
        if reads_output:
            found = decide(whole, after[name][:, -1:], subject.positions - 1, lambda *_: None, complain)
            logits[name] = found[0]
            numbers = np.where(undefined, UNDEFINED, found[2])
            words[("answer", name, -1)] = numbers, (*WORDS_BELOW, *transformer.answers)

    def read(node: Any) -> Any:
        transformer = subject.transformers[node.of]
        if isinstance(node, e.Logit):
            return whole.arithmetic.values(logits[node.of][:, transformer.answers.index(node.answer)])
        side = before if node.stage == "before" else after
        return side[node.of][transformer.coordinate(node.coordinate), node.position]

    return Batch(whole.arithmetic, size, read, words, lambda node: ~undefined), undefined


def residual_codes(subject: Block, name: str, codes: Codes) -> Codes:
    """The residual that enters a block, (d, positions, batch): free values, fixed ones, those of the positions, else 0."""
    transformer, format = subject.transformers[name], subject.format
    out = np.zeros((transformer.width, subject.positions, codes.shape[1]), np.int64)
    known = {coordinate: k for k, coordinate in enumerate(transformer.coordinates)}
    for coordinate in subject.from_positions:
        if coordinate in known:
            out[known[coordinate]] = transformer.position_embedding[: subject.positions, known[coordinate], None]
    for (coordinate, position), number in subject.fixed.items():
        if coordinate in known:
            given = [constant_in(number, format)]
            out[known[coordinate], position] = encode(given, format, f"fixed {coordinate}@{position}")[0]
    for (coordinate, position), row in zip(subject.free, codes, strict=True):
        if coordinate in known:
            out[known[coordinate], position] = row
    return out
