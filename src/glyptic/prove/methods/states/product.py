"""The machines of a claim side by side: of its transformers, and of the automata that it names, read the same tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from glyptic.exact.answers import TIED, UNDEFINED, as_tokens
from glyptic.exact.transformer import Transformer
from glyptic.languages.automata import Automaton
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.claims.evaluation import Inexpressible
from glyptic.states.budget import Budget, TooManyStates
from glyptic.states.extraction import Extracted, extract
from glyptic.states.tables import RowTable


@dataclass(frozen=True)
class Machines:
    """What a claim is about, as machines: of each transformer, and the moves and accepting states of each automaton."""

    subject: Inputs
    steps: int  # of chain of thought
    found: Mapping[str, Extracted]
    automata: Mapping[int, tuple[np.ndarray, np.ndarray]]  # by the node's identity: moves (states, tokens), accepting (states,)

    @property
    def size(self) -> int:
        """How many states the machines have together."""
        return sum(len(each.moves) for each in self.found.values())


@dataclass(frozen=True)
class Level:
    """States that are reached first by words of one length: rows of the states of each machine, in their order; last tokens."""

    length: int
    rows: np.ndarray  # (n, transformers + automata)
    last: np.ndarray  # (n,) the last token
    numbers: np.ndarray  # (n,) of the states


def machines_of(claim: Claim, budget: Budget) -> Machines:
    """The machines of a claim; what it speaks of that no state holds is refused."""
    subject = claim.subject
    assert isinstance(subject, Inputs)
    steps = set(subject.steps_taken)
    if len(steps) > 1:
        raise Inexpressible("a number of steps that depends on the length")
    many = steps.pop()
    length = None if subject.endless else int(subject.max_length) + many - 1
    nodes = list(claim.parts())
    found = {}
    for name, transformer in subject.transformers.items():
        stages = sorted({node.stage for node in nodes if isinstance(node, e.Coordinate) and node.of == name})
        found[name] = extract(transformer, budget, length=length, stages=stages)
    automata = {id(node): _moves(node.automaton, subject) for node in nodes if isinstance(node, e.Accepted)}
    return Machines(subject, many, found, automata)


def refuse_unreadable(claim: Claim, steps: int) -> None:
    """What a state does not hold: earlier positions, pairs of positions, what Python says of a whole input."""
    for node in claim.parts():
        if isinstance(node, e.Holds):
            raise Inexpressible(f"the Python predicate {node.name}, which reads whole inputs; give an automaton")
        if isinstance(node, e.Attention):
            raise Inexpressible("scores and weights of attention, of which a state keeps sums")
        if isinstance(node, e.Coordinate | e.Token) and node.position != -1:
            raise Inexpressible("a position other than the last, −1")
        if isinstance(node, e.Logit) and steps > 1:
            raise Inexpressible("logits after several steps")


def _moves(automaton: Automaton, subject: Inputs) -> tuple[np.ndarray, np.ndarray]:
    columns = [automaton.alphabet.index(token) for token in subject.vocabulary]
    order = [automaton.start, *(s for s in range(len(automaton.moves)) if s != automaton.start)]  # the start is state 0
    number = np.argsort(order)
    moves = number[np.array(automaton.moves)[order][:, columns]]
    return moves, np.isin(order, list(automaton.accepting))


@dataclass
class Walked:
    """All states of the machines side by side; filled as they are walked."""

    machines: Machines
    table: RowTable
    parents: list[np.ndarray]
    tokens: list[np.ndarray]

    def word(self, number: int) -> tuple[int, ...]:
        """The first word, among the shortest, that leads to a state."""
        parents, tokens = np.concatenate(self.parents), np.concatenate(self.tokens)
        word: list[int] = []
        while number:
            word.append(int(tokens[number]))
            number = int(parents[number])
        return tuple(reversed(word))


def walked(machines: Machines) -> Walked:
    """The walk before its first step."""
    columns = len(machines.found) + len(machines.automata) + 1
    table = RowTable(columns + 1)
    table.add(np.zeros((1, columns + 1), np.int64))
    return Walked(machines, table, [np.array([-1])], [np.array([-1])])


def levels(walk: Walked, budget: Budget, last_token: bool) -> Iterator[Level]:
    """The states by the length of their shortest words, words of one length in the order of the vocabulary.

    A row ends with the length, as far as the claim tells lengths apart, and the last token, where it reads that.
    """
    machines = walk.machines
    every = [each.moves for each in machines.found.values()] + [moves for moves, _ in machines.automata.values()]
    subject, tokens = machines.subject, len(machines.subject.vocabulary)
    most = min(subject.min_length if subject.endless else int(subject.max_length), 1 << 62)  # no walk is as long
    done, length = 0, 0
    while done < len(walk.table) and length < subject.max_length:
        rows, first = walk.table.rows[done:].copy(), done
        done, length = len(walk.table), length + 1
        following = np.empty((len(rows), tokens, rows.shape[1]), np.int64)
        for k, moves in enumerate(every):
            following[:, :, k] = moves[rows[:, k]]
        following[:, :, -2] = np.minimum(rows[:, -2:-1] + 1, most)
        following[:, :, -1] = np.arange(tokens)[None] if last_token else 0
        flat = following.reshape(-1, rows.shape[1])
        numbers = walk.table.add(flat)
        new, at = np.unique(numbers, return_index=True)
        at = at[new >= done]
        walk.parents.append(first + at // tokens)
        walk.tokens.append(at % tokens)
        budget.tell(len(walk.table), len(walk.table) - done)
        passed = budget.over(len(walk.table), walk.table.nbytes)
        if passed:
            said = f"the machines side by side passed {passed}: {len(walk.table):,} states were found"
            raise TooManyStates(f"{said}; {budget.remedy(passed)}.", len(walk.table), len(at), len(machines.found))
        yield Level(length, walk.table.rows[done:], at % tokens, np.arange(done, len(walk.table)))


def chains(found: Extracted, transformer: Transformer, state: np.ndarray, steps: int) -> np.ndarray:
    """The numbers of the answers of each step of a chain of thought, (steps, n); as runs have them, ties and 0/0 included."""
    undefined, tied = np.zeros(len(state), bool), np.zeros(len(state), bool)
    said = []
    for step in range(steps):
        numbers = found.answers[state]
        undefined |= (numbers == UNDEFINED) & ~tied
        said.append(np.where(tied, TIED, numbers))
        tied = said[-1] == TIED
        if step + 1 < steps:
            state = found.moves[state, as_tokens(transformer, numbers)]
    return np.where(undefined, UNDEFINED, np.stack(said))
