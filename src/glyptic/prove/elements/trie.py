"""All inputs of a vocabulary, each prefix computed once: a walk over the tree of inputs, many branches at a time.

A *front* is a batch of inputs of one length with the state (keys and values) of their positions. It grows breadth-first,
by forking states, until it is as wide as the machine likes; from there the walk goes depth-first, one token at a time, with
no fork and no copy: all members of the front read the same next token; the last levels go in one pass (`last_levels`). Memory
is bounded by the front's width times the longest input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from glyptic.exact.answers import TIED, UNDEFINED, as_tokens, decide
from glyptic.exact.forward import Prepared, State, embed, forward
from glyptic.exact.running import extended, run_chunk
from glyptic.exact.stages import Watch
from glyptic.exact.undefined import ZeroOutput
from glyptic.numbers import Codes
from glyptic.prove.elements.last_levels import LastLevels, levels_at_once, run_last_levels

_FRONT_BYTES = 1 << 24  # of keys and values in a front, about what stays in the caches of a processor
_WIDEST, _NARROWEST = 4096, 64


@dataclass(frozen=True)
class Branch:
    """One transformer's side of a front."""

    state: State
    last: Any  # the residual of the last position (d, 1, batch)
    failed: np.ndarray  # (batch,): 0/0 has been met, in attention or a norm
    traced: Mapping[str, Any]  # stage -> (d, length, batch), for the stages that the claim reads
    unsaid: np.ndarray | bool = False  # (batch,): what is traced has read a stand-in for a token that a tie left out


Logits = tuple[Codes, np.ndarray]  # (batch, answers) of the last step, and where there are none (batch,)


@dataclass(frozen=True)
class Visit:
    """A batch of inputs of one length, and what each transformer makes of them."""

    tokens: np.ndarray  # (length, batch) of token numbers
    branches: Mapping[str, Branch]
    chains: Mapping[str, np.ndarray]  # (steps, batch) of answer numbers, TIED or UNDEFINED
    logits: Mapping[str, Logits]


@dataclass(frozen=True)
class Walk:
    """What is walked: transformers made ready, lengths, steps of chain of thought, and which stages to trace."""

    prepared: Mapping[str, Prepared]
    min_length: int
    max_length: int
    steps: tuple[int, ...]
    stages: Mapping[str, frozenset[str]] = field(default_factory=dict)  # of each transformer
    answers: bool = True  # whether answers and logits are needed at all

    @property
    def vocabulary(self) -> int:
        return len(next(iter(self.prepared.values())).transformer.vocabulary)

    @property
    def shares_prefixes(self) -> bool:
        """A full mask lets earlier positions see later ones: then nothing can be shared; and pairs of positions are not."""
        full = any(p.transformer.options.mask == "full" for p in self.prepared.values())
        return not full and not any(of_pairs(stage) for stages in self.stages.values() for stage in stages)


def of_pairs(stage: str) -> bool:
    """Whether a traced part has an entry for each query and key."""
    return stage.endswith((".scores", ".weights"))


def front_width(walk: Walk) -> int:
    """How many inputs go through at once, so that their keys and values stay within the caches."""
    a_position = 1
    for prepared in walk.prepared.values():
        transformer = prepared.transformer
        a_position += sum(len(head.query) + len(head.value) for layer in transformer.layers for head in layer.heads)
        a_position += transformer.width
    width = _FRONT_BYTES // (4 * a_position * (walk.max_length + max(walk.steps) - 1))
    return min(_WIDEST, max(_NARROWEST, width))


def visits(walk: Walk, prefix: tuple[int, ...], deeper: Callable[[int], bool]) -> Iterator[Visit]:
    """The prefix and everything below it, shorter inputs early; `deeper(length)` says whether that length is still wanted."""
    if not walk.shares_prefixes:
        yield from _whole_visits(walk, prefix, deeper)
        return
    tokens = np.array(prefix, int)[:, None].reshape(len(prefix), 1)
    branches = {name: _root(prepared) for name, prepared in walk.prepared.items()}
    if prefix:
        branches = {name: _extend(walk, name, branch, tokens) for name, branch in branches.items()}
    yield from _below(walk, tokens, branches, front_width(walk), deeper)


def _below(
    walk: Walk, tokens: np.ndarray, branches: Mapping[str, Branch], width: int, deeper: Callable[[int], bool]
) -> Iterator[Visit]:
    length, batch = tokens.shape
    if length >= walk.min_length and length and deeper(length):
        yield _visit(walk, tokens, branches)
    if length == walk.max_length or not deeper(length + 1):
        return
    rest = walk.max_length - length
    if rest <= levels_at_once(walk.vocabulary) and all(step == 1 for step in walk.steps[length : walk.max_length]):
        yield from _last_visits(walk, tokens, branches, rest)
        return
    if batch * walk.vocabulary <= width:  # fork: parents repeated, children in the order of the vocabulary
        items = np.repeat(np.arange(batch), walk.vocabulary)
        added = np.tile(np.arange(walk.vocabulary), batch)[None]
        grown = np.concatenate([tokens[:, items], added])
        forked = {name: _extend(walk, name, _select(branch, items), added) for name, branch in branches.items()}
        yield from _below(walk, grown, forked, width, deeper)
        return
    for token in range(walk.vocabulary):
        added = np.full((1, batch), token)
        grown = np.concatenate([tokens, added])
        children = {name: _extend(walk, name, branch, added) for name, branch in branches.items()}
        yield from _below(walk, grown, children, width, deeper)


def _last_visits(walk: Walk, tokens: np.ndarray, branches: Mapping[str, Branch], levels: int) -> Iterator[Visit]:
    """The last levels, from one pass for each transformer; members of a visit are in the order of the vocabulary."""
    length, batch = tokens.shape
    runs = {
        name: run_last_levels(walk.prepared[name], branch.state, batch, levels, walk.stages.get(name, frozenset()))
        for name, branch in branches.items()
    }
    for size in range(max(1, walk.min_length - length), levels + 1):
        paths = np.array(list(product(range(walk.vocabulary), repeat=size)))
        longer = np.concatenate([np.repeat(tokens, len(paths), axis=1), np.tile(paths.T, batch)])
        grown = {name: _last_branch(branches[name], run, length, size) for name, run in runs.items()}
        yield _visit(walk, longer, grown)


def _last_branch(branch: Branch, run: LastLevels, length: int, size: int) -> Branch:
    """The paths of one size as a branch, (…, batch · paths): the paths of a member of the front side by side."""
    level = run.level(size)
    beginnings = [run.along(path) for path in run.paths[level]]
    failed = np.stack([branch.failed | run.failed[along].any(axis=0) for along in beginnings], axis=1).ravel()
    last = np.moveaxis(run.residual[:, level], 1, 2)
    traced = {}
    for stage, array in run.traced.items():
        new = np.stack([array[:, along] for along in beginnings], axis=-1)  # (d, size, batch, paths)
        new = new.reshape(*new.shape[:2], -1)
        before = branch.traced.get(stage)
        traced[stage] = new if before is None else np.concatenate([before.repeat(len(beginnings), axis=2), new], axis=1)
    return Branch(State(length + size), np.ascontiguousarray(last).reshape(len(last), 1, -1), failed, traced)


def _root(prepared: Prepared) -> Branch:
    return Branch(State(), None, np.zeros(1, bool), {})


def _select(branch: Branch, items: np.ndarray) -> Branch:
    if not branch.state.length:
        return Branch(State(), None, branch.failed[items], {})
    traced = {stage: array[:, :, items] for stage, array in branch.traced.items()}
    return Branch(branch.state.select(items), None, branch.failed[items], traced)


def _extend(walk: Walk, name: str, branch: Branch, added: np.ndarray) -> Branch:
    """New tokens (new, batch) read after those of a branch."""
    prepared, first = walk.prepared[name], branch.state.length
    watch = Watch(walk.stages.get(name, ()))
    residual, state = forward(prepared, embed(prepared, added, first, watch), branch.state, watch)
    traced = {stage: extended(stage, branch.traced.get(stage), new, first) for stage, new in watch.traced.items()}
    return Branch(state, residual[:, -1:], branch.failed | watch.failed, traced)


def _visit(walk: Walk, tokens: np.ndarray, branches: Mapping[str, Branch]) -> Visit:
    chains: dict[str, np.ndarray] = {}
    logits: dict[str, Logits] = {}
    if walk.answers:
        for name, branch in branches.items():
            chains[name], logits[name] = _chain(walk, name, branch, walk.steps[len(tokens) - 1])
    return Visit(tokens, branches, chains, logits)


def _chain(walk: Walk, name: str, branch: Branch, steps: int) -> tuple[np.ndarray, Logits]:
    """The answers of `steps` steps of chain of thought from a branch, as `exact.running.run_chunk` gives them.

    A chain that has tied has no next token: it stays tied, and what its stand-in would go on to meet does not count.
    """
    prepared = walk.prepared[name]
    answers: list[np.ndarray] = []
    undefined, tied = branch.failed, np.zeros_like(branch.failed)
    for step in range(steps):
        watch = Watch()
        logits, _, numbers = decide(prepared, branch.last, branch.state.length - 1, watch)
        missing = undefined | branch.failed | tied
        undefined = undefined | (branch.failed | watch.failed) & ~tied
        answers.append(np.where(tied, TIED, numbers))
        tied = answers[-1] == TIED
        if step + 1 < steps:
            branch = _extend(walk, name, branch, as_tokens(prepared.transformer, numbers)[None])
    return np.where(undefined, UNDEFINED, np.stack(answers)), (logits, missing)


# Without sharing: full masks ------------------------------------------------------------------------------------------


def _whole_visits(walk: Walk, prefix: tuple[int, ...], deeper: Callable[[int], bool]) -> Iterator[Visit]:
    """Every input from the start: for full masks, and as the rival in the benchmark of sharing."""
    width = front_width(walk)
    for length in range(max(len(prefix), walk.min_length, 1), walk.max_length + 1):
        count = walk.vocabulary ** (length - len(prefix))
        for first in range(0, count, width):
            if not deeper(length):
                return
            yield whole_visit(walk, numbered(prefix, length, walk.vocabulary, first, min(count, first + width)))


def numbered(prefix: tuple[int, ...], length: int, base: int, first: int, last: int) -> np.ndarray:
    """The inputs number first … last − 1, in the order of the vocabulary, among those of a length with a prefix."""
    digits = np.arange(first, last)[None] // (base ** np.arange(length - len(prefix) - 1, -1, -1))[:, None] % base
    return np.concatenate([np.repeat(np.array(prefix, int)[:, None], last - first, axis=1), digits])


def visit_in_pieces(walk: Walk, tokens: np.ndarray, size: int, asked: Callable[[], object]) -> Visit:
    """What is made of inputs (length, batch), so many positions at a time; `asked` is called between, and may raise.

    No array has more than `size` rows of queries, so that long inputs fit into memory; under a full mask there are no pieces.
    """
    if not walk.shares_prefixes:
        asked()
        return whole_visit(walk, tokens)
    branches = {}
    for name, prepared in walk.prepared.items():
        branch = _root(prepared)
        for first in range(0, len(tokens), size):
            asked()
            branch = _extend(walk, name, branch, tokens[first : first + size])
        branches[name] = branch
    return _visit(walk, tokens, branches)


def whole_visit(walk: Walk, tokens: np.ndarray) -> Visit:
    """A batch of inputs run from the start, nothing shared."""
    length, batch = tokens.shape
    steps = walk.steps[length - 1]
    branches, chains, logits = {}, {}, {}
    for name, prepared in walk.prepared.items():
        done = run_chunk(prepared, tokens, steps, sorted(walk.stages.get(name, ())))
        traced = {
            stage: prepared.arithmetic.values(codes)[: length if of_pairs(stage) else None, :length]
            for stage, codes in done.trace.items()
        }
        # With a full mask the trace is that of the last step, which later tokens had a part in.
        last = length - 1 if prepared.transformer.options.mask != "full" else length + steps - 2
        missing_by_tie = (done.chains[:, :-1] == TIED).any(axis=1)
        failed, missing = np.zeros(batch, bool), missing_by_tie.copy()
        for item, error in done.failures.items():
            in_output = isinstance(error, ZeroOutput)
            failed[item] = error.position <= last and not (in_output and error.position == last)
            missing[item] = not (in_output and error.position == length + steps - 2)
        full = prepared.transformer.options.mask == "full"
        branches[name] = Branch(State(length), None, failed, traced, unsaid=missing_by_tie if full else False)
        chains[name], logits[name] = done.chains.T, (done.logits, missing)
    return Visit(tokens, branches, chains, logits)
