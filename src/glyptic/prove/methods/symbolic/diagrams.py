"""Decision diagrams: functions of free tokens, each stored once, so that equal functions are one object.

A diagram is a constant (a code, or a truth value) or a `DiagramNode` that asks for the token at one position and goes on, with
one child for each of the vocabulary; positions are asked in order, and a question that makes no difference is left out. What
depends on few facts of the tokens, such as a state or a count, has few nodes however many inputs there are.

>>> D = Diagrams(2)
>>> odd = False
>>> for i in range(64):
...     odd = D.apply("xor", lambda a, b: a != b, odd, D.token(i, (False, True)))
>>> D.size, D.count(odd, 64) == 2**63, D.first(odd, 64)[-3:]
(4096, True, (0, 0, 1))
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from glyptic.errors import GlypticError

Diagram = Any  # a DiagramNode, or a constant: an int or a bool
MOST_NODES = 500_000
_LOOK_AT_THE_CLOCK = 1024  # every so many nodes


class TooLarge(GlypticError):
    """Diagrams that outgrow what is allowed; the check answers Unknown with this reason."""


class DiagramNode:
    """The token at a position decides; equal nodes of one `Diagrams` are the same object."""

    __slots__ = ("children", "position")

    def __init__(self, position: int, children: tuple[Diagram, ...]) -> None:
        self.position, self.children = position, children


class Diagrams:
    """All diagrams over one vocabulary, and what was computed of them."""

    def __init__(self, vocabulary: int, most: int = MOST_NODES, seconds: float | None = None) -> None:
        self.vocabulary, self.most, self.seconds = vocabulary, most, seconds
        self._start = time.process_time()
        self._nodes: dict[tuple[Any, ...], DiagramNode] = {}
        self._done: dict[tuple[Any, ...], Diagram] = {}

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def token(self, position: int, values: Sequence[Diagram]) -> Diagram:
        """One of some constants (or diagrams of later positions), by the token at a position."""
        first = values[0]
        if all(value is first or (not isinstance(value, DiagramNode) and value == first) for value in values):
            return first
        # Truth values and numbers are kept apart: to Python, True equals 1.
        key = (position, *((type(value), value) for value in values))
        found = self._nodes.get(key)
        if found is None:
            self._check_limits()
            found = self._nodes[key] = DiagramNode(position, tuple(values))
        return found

    def _check_limits(self) -> None:
        if max(len(self._nodes), len(self._done) // 4) >= self.most:
            raise TooLarge(f"the limit of {self.most:,} nodes of decision diagrams")
        if self.seconds is None or len(self._nodes) % _LOOK_AT_THE_CLOCK:
            return
        if time.process_time() - self._start > self.seconds:
            raise TooLarge(f"the limit of {self.seconds:g} s of processor time")

    def apply(self, name: str, operation: Callable[..., Any], *operands: Diagram) -> Diagram:
        """An operation on constants, at every input; `name` tells it from others, its own parameters included."""
        positions = [x.position for x in operands if isinstance(x, DiagramNode)]
        if not positions:
            return operation(*operands)
        key = (name, *operands)
        if key in self._done:
            return self._done[key]
        at = min(positions)
        children = []
        for k in range(self.vocabulary):
            parts = [x.children[k] if isinstance(x, DiagramNode) and x.position == at else x for x in operands]
            children.append(self.apply(name, operation, *parts))
        found = self._done[key] = self.token(at, children)
        return found

    # What is read off a diagram of truth values ------------------------------------------------------------------------------

    def at(self, diagram: Diagram, tokens: Sequence[int]) -> Any:
        """Its value at one input."""
        while isinstance(diagram, DiagramNode):
            diagram = diagram.children[tokens[diagram.position]]
        return diagram

    def count(self, diagram: Diagram, length: int) -> int:
        """Of how many inputs of a length it is true."""
        counts: dict[DiagramNode, int] = {}

        def below(x: Diagram, position: int) -> int:
            """Of how many choices of the tokens from a position on."""
            if not isinstance(x, DiagramNode):
                return self.vocabulary ** (length - position) if x else 0
            if x not in counts:
                counts[x] = sum(below(child, x.position + 1) for child in x.children)
            return counts[x] * self.vocabulary ** (x.position - position)

        return below(diagram, 0)

    def first(self, diagram: Diagram, length: int) -> tuple[int, ...] | None:
        """The first input of a length, in the order of the vocabulary, of which it is true."""
        tokens = [0] * length
        while isinstance(diagram, DiagramNode):
            # Of a node something is true, for it is not the constant False.
            k = next(k for k, child in enumerate(diagram.children) if child is not False)
            tokens[diagram.position], diagram = k, diagram.children[k]
        return tuple(tokens) if diagram else None
