"""What the names in a claim stand for, in batches of concrete elements: inputs that were walked, or values put into layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from glyptic.exact.answers import UNDEFINED, WORDS_BELOW, decide
from glyptic.exact.forward import forward
from glyptic.exact.parts import parts
from glyptic.exact.running import prepared_for
from glyptic.exact.stages import Watch
from glyptic.exact.transformer import Transformer, map_codes
from glyptic.numbers import Arithmetic, Codes, encode
from glyptic.numbers.hosts import Engine, arithmetic_for
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Entry, Inputs, Layers, Values
from glyptic.prove.claims.evaluation import BatchSetting, NumberedWords, Partial, constant_in, truth
from glyptic.prove.elements.trie import Visit, Walk


def brought(array: Any, source: Arithmetic, target: Arithmetic) -> Any:
    """Values of one arithmetic in another of the same format: two transformers may run in different hosts, one in fractions."""
    alike = type(source) is type(target) and source.products == target.products
    return array if alike else target.values(source.codes(array))


def judge(claim: Claim, setting: BatchSetting) -> tuple[np.ndarray, np.ndarray]:
    """Which elements meet the precondition, and which of those break the claim; of one of existence, which are witnesses.

    What is looked for, and made small, is the same either way: the one element that settles the claim.
    """
    satisfying, holds = truth(claim.requires, setting).true, truth(claim.ensures, setting).true
    return satisfying, satisfying & (holds if claim.quantifier == "some" else ~holds)


# Inputs ---------------------------------------------------------------------------------------------------------------


def walk_of(claim: Claim, engine: Engine = "auto") -> Walk:
    """The walk that a claim on inputs needs: with the stages it reads, and answers only if it speaks of them."""
    subject = claim.subject
    assert isinstance(subject, Inputs)
    nodes = claim.parts()
    stages = {
        name: frozenset(
            node.stage if isinstance(node, e.Coordinate) else node.stage()
            for node in nodes
            if isinstance(node, e.Coordinate | e.Attention) and node.of == name
        )
        for name in subject.transformers
    }
    answers = any(
        isinstance(node, e.Answer | e.Logit | e.SameChains) or (isinstance(node, e.Defined) and not node.attention)
        for node in nodes
    )
    prepared = {name: prepared_for(t, engine) for name, t in subject.transformers.items()}
    return Walk(prepared, subject.min_length, int(subject.max_length), subject.steps, stages, answers)


def setting_of_visit(walk: Walk, visit: Visit) -> BatchSetting:
    """The setting of a batch of inputs."""
    some = next(iter(walk.prepared.values()))
    vocabulary = some.transformer.vocabulary

    def read(node: Any) -> Partial:
        prepared = walk.prepared[node.of]
        if isinstance(node, e.Logit):
            codes, missing = visit.logits[node.of]
            return Partial(some.arithmetic.values(codes[:, prepared.transformer.answers.index(node.answer)]), missing)
        if isinstance(node, e.Parameter):
            return _fixed_entry(prepared.transformer, node, some.arithmetic, visit.tokens.shape[1])
        branch = visit.branches[node.of]
        if isinstance(node, e.Attention):
            array = branch.traced[node.stage()][node.query, node.key]
        else:
            array = branch.traced[node.stage][prepared.transformer.coordinate(node.coordinate), node.position]
        return Partial(brought(array, prepared.arithmetic, some.arithmetic), branch.failed | branch.unsaid)

    def word(node: Any) -> NumberedWords:
        if isinstance(node, e.Token):
            return visit.tokens[node.position].astype(np.intp), (*WORDS_BELOW, *vocabulary)
        return visit.chains[node.of][node.step], (*WORDS_BELOW, *walk.prepared[node.of].transformer.answers)

    def decided(node: Any) -> np.ndarray:
        if isinstance(node, e.Accepted):
            return node.automaton.accepts_all(visit.tokens.astype(np.intp), vocabulary)
        if isinstance(node, e.SameChains):
            return _same_chains(walk, visit, node)
        if isinstance(node, e.Defined):
            return ~visit.branches[node.of].failed if node.attention else visit.chains[node.of][-1] != UNDEFINED
        return np.array([_answer(node, text) for text in texts(visit.tokens, vocabulary)], bool)

    return BatchSetting(some.arithmetic, visit.tokens.shape[1], read, word, decided)


def _fixed_entry(transformer: Transformer, node: e.Parameter, arithmetic: Arithmetic, size: int) -> Partial:
    """An entry of a weight array, the same for every element."""
    code = part_codes(transformer, node.part)[node.index]
    return Partial(arithmetic.values(np.full(size, code)), np.zeros(size, bool))


def part_codes(transformer: Transformer, part: str) -> Codes:
    """The codes of a weight array by its name."""
    return next(codes for name, codes, _ in parts(transformer) if name == part)


def _answer(node: e.Holds, text: Any) -> bool:
    """What a predicate says of an input; None, for which a return is often forgotten, is no answer."""
    said = node.predicate(text)
    if not isinstance(said, bool | np.bool_):
        raise e.ClaimError(f"the predicate {node.name} answers {said!r:.80} to {text!r:.80}; it must say True or False.")
    return bool(said)


def _same_chains(walk: Walk, visit: Visit, node: e.SameChains) -> np.ndarray:
    """Answers are compared by name: two transformers may list them in different orders."""
    names = [(*WORDS_BELOW, *walk.prepared[of].transformer.answers) for of in (node.left, node.right)]
    common = {name: number for number, name in enumerate(dict.fromkeys((*names[0], *names[1])))}
    left, right = (
        np.array([common[name] for name in each])[visit.chains[of] + 2]
        for each, of in zip(names, (node.left, node.right), strict=True)
    )
    return np.asarray((left == right).all(axis=0))


def texts(tokens: np.ndarray, vocabulary: tuple[str, ...]) -> list[Any]:
    """Inputs as people write them: strings if all tokens are single characters, else tuples of tokens."""
    rows = np.array(vocabulary, object)[tokens.T]
    single = all(len(token) == 1 for token in vocabulary)
    return ["".join(row) if single else tuple(row) for row in rows]


# Values ---------------------------------------------------------------------------------------------------------------


def free_names(claim: Claim) -> tuple[str, ...]:
    """What is free in a claim on values, in the order in which codes are listed."""
    subject = claim.subject
    if isinstance(subject, Values):
        return subject.names
    assert isinstance(subject, Layers)
    places = tuple(f"{name}@{position}" for name, position in subject.free)
    return (*places, *(e.entry_name(*entry) for entry in subject.free_weights))


def setting_of_codes(claim: Claim, codes: Codes, engine: Engine = "auto") -> BatchSetting:
    """The setting of a batch of free values, codes of shape (free, batch)."""
    subject, size = claim.subject, codes.shape[1]
    if isinstance(subject, Values):
        assert subject.format is not None
        arithmetic = arithmetic_for(subject.format, engine=engine)
        nowhere = np.zeros(size, bool)
        named = {name: Partial(x, nowhere) for name, x in zip(subject.names, arithmetic.values(codes), strict=True)}
        return BatchSetting(arithmetic, size, lambda node: named[node.name])
    assert isinstance(subject, Layers)
    runs = {name: _run_of_layers(claim, subject, name, codes, engine) for name in subject.transformers}
    some = next(iter(runs.values()))

    def read(node: Any) -> Partial:
        transformer, run = subject.transformers[node.of], runs[node.of]
        everywhere = np.zeros(size, bool)  # nothing missing
        if isinstance(node, e.Parameter):
            number = {entry: k for k, entry in subject.entries_of(node.of)}.get((node.part, node.index))
            if number is None:
                return _fixed_entry(transformer, node, some.arithmetic, size)
            return Partial(some.arithmetic.values(codes[len(subject.free) + number]), everywhere)
        if isinstance(node, e.Logit):
            array = run.logits[transformer.answers.index(node.answer)]
        elif isinstance(node, e.Attention):
            array = run.traced[node.stage()][node.query, node.key]
        else:
            side = run.before if node.stage == "before" else run.after
            array = side[transformer.coordinate(node.coordinate), node.position]
        there = isinstance(node, e.Coordinate) and node.stage == "before"
        return Partial(brought(array, run.arithmetic, some.arithmetic), everywhere if there else run.failed)

    def word(node: Any) -> NumberedWords:
        return runs[node.of].answers, (*WORDS_BELOW, *subject.transformers[node.of].answers)

    return BatchSetting(some.arithmetic, size, read, word, lambda node: ~runs[node.of].failed)  # decides Defined, nothing else


@dataclass(frozen=True)
class _RunOfValues:
    """One transformer's layers run on free values: residuals (d, positions, batch), and what is read off the last column."""

    arithmetic: Arithmetic
    before: Any
    after: Any
    failed: np.ndarray  # (batch,): 0/0 in attention or a norm
    logits: Any  # (answers, batch)
    answers: np.ndarray  # (batch,) of answer numbers, TIED or UNDEFINED
    traced: Mapping[str, Any]  # scores and weights of heads (queries, keys, batch), for those that the claim reads


def _run_of_layers(claim: Claim, subject: Layers, name: str, codes: Codes, engine: Engine) -> _RunOfValues:
    """The runs of a batch; where weights are free, of each of their values with the columns that have it."""
    transformer, entries = subject.transformers[name], subject.entries_of(name)
    before = residual_codes(subject, name, codes[: len(subject.free)])
    if not entries:
        return _run_of_weights(claim, subject, name, transformer, before, engine)
    rows = codes[[len(subject.free) + number for number, _ in entries]]
    values, group = np.unique(rows, axis=1, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(group.ravel(), minlength=values.shape[1]))
    runs = []
    for column, members in zip(values.T, np.split(order, ends[:-1]), strict=True):
        changed = with_entries(transformer, {entry: code for (_, entry), code in zip(entries, column, strict=True)})
        runs.append(_run_of_weights(claim, subject, name, changed, before[:, :, members], engine))
    return _together(runs, np.argsort(order))


def _together(runs: list[_RunOfValues], order: np.ndarray) -> _RunOfValues:
    """Runs side by side, then in another order."""

    def joined(*arrays: Any) -> Any:
        return None if arrays[0] is None else np.ascontiguousarray(np.concatenate(arrays, axis=-1)[..., order])

    names = ("before", "after", "failed", "logits", "answers")
    arrays = {name: joined(*(getattr(run, name) for run in runs)) for name in names}
    traced = {stage: joined(*(run.traced[stage] for run in runs)) for stage in runs[0].traced}
    return _RunOfValues(runs[0].arithmetic, **arrays, traced=traced)


def with_entries(transformer: Transformer, entries: Mapping[Entry, int]) -> Transformer:
    """A transformer with some entries of its weight arrays exchanged for these codes."""

    def change(codes: Codes, name: str) -> Codes:
        mine = {index: code for (part, index), code in entries.items() if part == name}
        if not mine:
            return codes
        changed = codes.copy()
        for index, code in mine.items():
            changed[index] = code
        return changed

    return map_codes(transformer, change)


def _run_of_weights(
    claim: Claim, subject: Layers, name: str, transformer: Transformer, codes: Codes, engine: Engine
) -> _RunOfValues:
    whole, size = prepared_for(transformer, engine), codes.shape[2]
    layers, output = Watch(stages_of_heads(claim, name)), Watch()
    before = whole.arithmetic.values(codes)
    after, _ = forward(whole.part(subject.first, subject.last), before, observer=layers)
    failed, logits, answers = np.zeros(size, bool) | layers.failed, None, np.zeros(size, int)
    if claim.reads_output:
        found, _, answers = decide(whole, after[:, -1:], subject.positions - 1, output)
        logits = whole.arithmetic.values(found.T)
    answers = np.where(failed | output.failed, UNDEFINED, answers)
    return _RunOfValues(whole.arithmetic, before, after, failed, logits, answers, layers.traced)


def stages_of_heads(claim: Claim, name: str) -> frozenset[str]:
    """The scores and weights of heads that a claim reads of a transformer."""
    return frozenset(node.stage() for node in claim.parts() if isinstance(node, e.Attention) and node.of == name)


def residual_codes(subject: Layers, name: str, codes: Codes) -> Codes:
    """The residual that enters the layers, (d, positions, batch): free values, fixed ones, those of the positions, else 0.

    `codes` are those of the free places alone, (places, batch).
    """
    transformer, format = subject.transformers[name], subject.format
    out = np.zeros((transformer.width, subject.positions, codes.shape[1]), np.int64)
    known = {coordinate: k for k, coordinate in enumerate(transformer.coordinates)}
    for coordinate in subject.from_positions:
        if coordinate in known:
            rows = transformer.position_rows(0, subject.positions)
            out[known[coordinate]] = transformer.position_embedding[rows, known[coordinate], None]
    for (coordinate, position), number in subject.fixed.items():
        if coordinate in known:
            given = [constant_in(number, format)]
            out[known[coordinate], position] = encode(given, format, f"fixed {coordinate}@{position}")[0]
    for (coordinate, position), row in zip(subject.free, codes, strict=True):
        if coordinate in known:
            out[known[coordinate], position] = row
    return out
