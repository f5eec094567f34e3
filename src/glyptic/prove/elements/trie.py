"""All inputs of a vocabulary, each prefix computed once: a walk over the tree of inputs, many branches at a time.

A *front* is a batch of inputs of one length with the state (keys and values) of their positions. It grows breadth-first,
by forking states, until it is as wide as the machine likes; from there the walk goes depth-first, one token at a time, with
no fork and no copy: all members of the front read the same next token. Where a front grows, and at the end of inputs, some levels
go in one pass (`levels`). Memory is bounded by the front's width times the longest input.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glyptic.exact.answers import TIED, UNDEFINED, as_tokens, decide
from glyptic.exact.forward import Prepared, embed, forward
from glyptic.exact.kept import State, Together
from glyptic.exact.running import extended, run_chunk
from glyptic.exact.stages import Watch
from glyptic.exact.undefined import ZeroOutput
from glyptic.numbers import Codes
from glyptic.prove.elements.levels import Levels, beginnings, level, levels_at_once, paths_of, run_levels

_FRONT_BYTES = 1 << 24  # of keys and values in a front, about what stays in the caches of a processor
_WIDEST, _NARROWEST = 4096, 64


@dataclass(frozen=True)
class Branch:
    """One transformer's side of a front."""

    state: State | Together
    last: Any  # the residual of the last position (d, 1, batch), where it is asked for answers
    failed: np.ndarray  # (batch,): 0/0 has been met, in attention or a norm
    traced: Mapping[str, Any]  # stage -> (d, length, batch), for the stages that the claim reads
    unsaid: np.ndarray | bool = False  # (batch,): what is traced has read a stand-in for a token that a tie left out


Logits = tuple[Codes, np.ndarray]  # (batch, answers) of the last step, and where there are none (batch,)


@dataclass(frozen=True)
class Visit:
    """A batch of inputs of one length, and what each transformer makes of them."""

    tokens: np.ndarray  # (length, batch) of token numbers, in whole numbers that may be narrow
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
    def narrow(self) -> np.dtype[Any]:
        """The narrowest type of token numbers: there are many of them."""
        return np.min_scalar_type(self.vocabulary)

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
    tokens = np.array(prefix, walk.narrow)[:, None].reshape(len(prefix), 1)
    branches = {name: _root(prepared) for name, prepared in walk.prepared.items()}
    if prefix:
        branches = {name: _extend(walk, name, branch, tokens) for name, branch in branches.items()}
    yield from _below(walk, tokens, branches, front_width(walk), deeper)


def _below(
    walk: Walk,
    tokens: np.ndarray,
    branches: Mapping[str, Branch],
    width: int,
    deeper: Callable[[int], bool],
    visited: bool = False,
) -> Iterator[Visit]:
    length, batch = tokens.shape
    if length >= walk.min_length and length and not visited and deeper(length):
        yield _visit(walk, tokens, branches)
    if length == walk.max_length or not deeper(length + 1):
        return
    levels = _levels_from(walk, length, batch, width)
    if levels:
        tokens, branches = yield from _level_visits(walk, tokens, branches, levels, deeper)
        if length + levels < walk.max_length:
            yield from _below(walk, tokens, branches, width, deeper, visited=True)
        return
    if batch * walk.vocabulary <= width:  # fork: parents repeated, children in the order of the vocabulary
        items = np.repeat(np.arange(batch), walk.vocabulary)
        added = np.tile(np.arange(walk.vocabulary, dtype=walk.narrow), batch)[None]
        grown = np.concatenate([tokens[:, items], added])
        forked = {name: _extend(walk, name, _select(branch, items), added) for name, branch in branches.items()}
        yield from _below(walk, grown, forked, width, deeper)
        return
    for token in range(walk.vocabulary):
        added = np.full((1, batch), token, walk.narrow)
        grown = np.concatenate([tokens, added])
        children = {name: _extend(walk, name, branch, added) for name, branch in branches.items()}
        yield from _below(walk, grown, children, width, deeper)


def _levels_from(walk: Walk, length: int, batch: int, width: int) -> int:
    """How many levels go in one pass from here: all that are left, or as many as a front may grow by; 0, if it is one or none."""
    rest, most = walk.max_length - length, levels_at_once(walk.vocabulary)
    if rest > most:
        while most and batch * walk.vocabulary**most > width:
            most -= 1
        rest = most if most > 1 else 0
    return rest if all(step == 1 for step in walk.steps[length : length + rest]) else 0


def _level_visits(
    walk: Walk, tokens: np.ndarray, branches: Mapping[str, Branch], levels: int, deeper: Callable[[int], bool]
) -> Generator[Visit, None, tuple[np.ndarray, Mapping[str, Branch]]]:
    """Some levels, from one pass for each transformer; members of a visit are in the order of the vocabulary.

    What comes back is the front of the longest; behind the last level of all it has no state.
    """
    length, batch = tokens.shape
    last = length + levels == walk.max_length
    runs = {
        name: run_levels(walk.prepared[name], branch.state, batch, levels, walk.stages.get(name, frozenset()), last)
        for name, branch in branches.items()
    }
    decided = {name: _all_decided(walk.prepared[name], run, batch) for name, run in runs.items()} if walk.answers else {}
    longer, grown = tokens, branches
    for size in range(1, levels + 1):
        wanted = length + size >= walk.min_length and deeper(length + size)
        if not wanted and (size < levels or last):
            continue
        paths = np.array(paths_of(walk.vocabulary, levels)[level(walk.vocabulary, size)], walk.narrow)
        longer = np.concatenate([np.repeat(tokens, len(paths), axis=1), np.tile(paths.T, batch)])
        grown = {name: _level_branch(branches[name], run, length, size) for name, run in runs.items()}
        chains: dict[str, np.ndarray] = {}
        logits: dict[str, Logits] = {}
        for name, (codes, numbers, failed) in decided.items():
            these, missing = level(walk.vocabulary, size), grown[name].failed
            own, undefined = _side_by_side(codes[these]), missing | _side_by_side(failed[these])
            chains[name] = np.where(undefined, UNDEFINED, _side_by_side(numbers[these]))[None]
            logits[name] = own, missing
        if wanted:
            yield Visit(longer, grown, chains, logits)
    if not last:
        grown = {name: replace(branch, state=runs[name].front()) for name, branch in grown.items()}
    return longer, grown


def _all_decided(prepared: Prepared, run: Levels, batch: int) -> tuple[Codes, np.ndarray, np.ndarray]:
    """Of all paths the logits (paths, batch, answers), the answers' numbers, and where these are 0/0, (paths, batch)."""
    shape, watch = (run.residual.shape[1], batch), Watch()
    codes, _, numbers = decide(prepared, run.residual.reshape(len(run.residual), 1, -1), 0, watch)
    failed = np.broadcast_to(watch.failed, numbers.shape).reshape(shape)
    return codes.reshape(*shape, -1), numbers.reshape(shape), failed


def _side_by_side(of_paths: np.ndarray) -> np.ndarray:
    """(paths, batch, …) as a visit has it: the paths of a member of the front one after another, (batch · paths, …)."""
    return of_paths.swapaxes(0, 1).reshape(-1, *of_paths.shape[2:])


def _level_branch(branch: Branch, run: Levels, length: int, size: int) -> Branch:
    """The paths of one size as a branch, (…, batch · paths): the paths of a member of the front side by side."""
    own = [list(along) for along in beginnings(run.vocabulary, run.levels)[level(run.vocabulary, size)]]
    failed = np.stack([branch.failed | run.failed[along].any(axis=0) for along in own], axis=1).ravel()
    traced = {}
    for stage, array in run.traced.items():
        new = np.stack([array[:, along] for along in own], axis=-1)  # (d, size, batch, paths)
        new = new.reshape(*new.shape[:2], -1)
        before = branch.traced.get(stage)
        traced[stage] = new if before is None else np.concatenate([before.repeat(len(own), axis=2), new], axis=1)
    return Branch(State(length + size), None, failed, traced)


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
