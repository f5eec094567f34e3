"""How far a search may go: states, bytes, and who is told on the way. Over it, an honest refusal."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Annotated

from glyptic.arguments import Count
from glyptic.errors import GlypticError

MOST_STATES = 200_000
MOST_BYTES = 2 << 30  # of the rows of one layer's search
_MANY = 40  # queries whose denominators may have as many states each as the whole search
_EVERY = 0.5  # seconds between two reports

IN_PYTHON = {"states": "states=", "time limit": "seconds="}  # how whoever set a limit can raise it, by what `over` says of it
ON_COMMAND_LINE = {"states": "--states", "time limit": "--seconds"}

StateCount = Annotated[int, Count(1, 1 << 27)]
Report = Callable[["SearchProgress"], object]


class TooManyStates(GlypticError):
    """A search that went over its budget: how far it came, what multiplies the states, and what would shrink it.

    `states` were found, `frontier` of them not yet followed; the `query` of `head` in `layer` has the most different tables.
    """

    def __init__(
        self, message: str, states: int, frontier: int, layer: int, head: int | None = None, query: int | None = None
    ) -> None:
        super().__init__(message)
        self.states, self.frontier, self.layer, self.head, self.query = states, frontier, layer, head, query


@dataclass(frozen=True)
class SearchProgress:
    """Where a search is: the layer, of how many, the states found, and those not yet followed."""

    layer: int
    layers: int
    states: int
    frontier: int


@dataclass
class Budget:
    """What one extraction may use."""

    states: int = MOST_STATES
    megabytes: int = MOST_BYTES >> 20
    seconds: float | None = None
    report: Report | None = None
    layer: int = 0
    layers: int = 0
    names: Mapping[str, str] = field(default_factory=lambda: IN_PYTHON)
    _told: float = field(default_factory=time.monotonic)
    _begun: float = field(default_factory=time.monotonic)

    def nodes(self, found: int, queries: int, head: int) -> None:
        """The denominators of a head's queries have so many states, no query's more than the search that they serve."""
        if found > min(queries, _MANY) * self.states:
            passed = f"the budget of {self.states:,} states"
            told = f"layer {self.layer}, head {head} passed {passed} in its denominators alone: {found:,} were found"
            raise TooManyStates(f"{told} for {queries:,} queries; {self.remedy(passed)}.", found, 0, self.layer, head)
        passed = self.over(0, 0)
        if passed:
            told = f"layer {self.layer}, head {head} passed {passed}: {found:,} states of its denominators were found"
            raise TooManyStates(f"{told}; {self.remedy(passed)}.", found, 0, self.layer, head)
        self._look(found, 0)

    def over(self, states: int, nbytes: int) -> str:
        """Which limit is passed, in words; empty if none is. Whoever set a time is told of it first."""
        if self.seconds is not None and time.monotonic() - self._begun > self.seconds:
            return f"the time limit of {self.seconds:g} s"
        if states > self.states:
            return f"the budget of {self.states:,} states"
        if nbytes > self.megabytes << 20:
            return f"the budget of {self.megabytes:,} MB"
        return ""

    @property
    def left(self) -> float:
        """The seconds that are left; ∞ where there is no limit."""
        return inf if self.seconds is None else max(0.0, self.seconds - (time.monotonic() - self._begun))

    def remedy(self, passed: str) -> str:
        """What helps where a limit is passed."""
        less = "a transformer that was normalized or has fewer coordinates needs fewer"
        return f"take a smaller format{self.raised(passed)}; {less}"

    def raised(self, passed: str) -> str:
        """That a limit may be raised, by the name that it was set by; empty where it cannot be."""
        return "".join(f", or raise {name}" for limit, name in self.names.items() if limit in passed)

    def ask(self, states: int = 0, nbytes: int = 0) -> None:
        """Refuse to go on once the time is over, or more than it may take was found."""
        passed = self.over(states, nbytes)
        if passed:
            raise TooManyStates(f"layer {self.layer} passed {passed}; {self.remedy(passed)}.", states, 0, self.layer)

    def afford(self, nbytes: int, what: str, head: int) -> None:
        """Refuse a table before it is made, if it would not fit into the memory that the search may use."""
        if nbytes > self.megabytes << 20:
            passed = f"the budget of {self.megabytes:,} MB"
            told = f"layer {self.layer}, head {head}: {what} would take {nbytes >> 20:,} MB, over {passed}"
            raise TooManyStates(f"{told}; {self.remedy(passed)}.", 0, 0, self.layer, head)

    def tell(self, states: int, frontier: int) -> None:
        self._look(states, frontier)

    def _look(self, states: int, frontier: int) -> None:
        now = time.monotonic()
        if self.report is not None and now - self._told >= _EVERY:
            self._told = now
            self.report(SearchProgress(self.layer, self.layers, states, frontier))
