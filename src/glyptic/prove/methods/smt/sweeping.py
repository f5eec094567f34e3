"""Questions in plain terms that are too hard as one, decided by lemmas that a solver proves first: sweeping.

Plain terms know nothing: [[y + x⁺] − x⁻] = [y + x] is three adders to a solver, and in 16-bit floats too much for it. But
results that are equal at some hundred points are mostly equal everywhere. So the results of a question are walked through in
the order of their making, and each that looks like an earlier one, its negative, or a constant is put to the solver: "are they
ever different?" If not, the earlier takes its place in all that follows. To make such lemmas small,

cut     what both sides are made of stands for any value of the format: what holds of all values holds of these;
split   a value that is positive, 0 or negative is three questions, in each of which everything is swept: in the case x > 0 the
        solver sees that x⁺ is x and x⁻ is 0, and what remains of the lemma above is [z − 0] = z.

What is cut is split first; what is not cut, only by a sweep that is `thorough`, for which there must be time.

Values that refute a lemma are a point more. Nothing is assumed: points only say what is worth asking, and every lemma is a
solver's `unsat`. What is left open is left open.

Why it is right. Of one `LemmaSweep` two things are true at all times, wherever everything that is `given` holds:

instead   every node has the value of what has taken its place;
ranged    every result of which it is noted lies between the ends.

They speak of what is given alone, never of the question that was being asked: so one sweep serves several questions, and what
one part of a claim has settled is right for every other. Nothing is noted but by `_impossible` or by `_in_range`, that is by an
`unsat`; and that is enough. Take values at which the given and the conditions hold, and give every variable of a cut the
value of the result that it stands for. Then all that was asked holds as well: the conditions, for equals stand for equals; the
given, and the same as it is now, by the first (a condition that was itself settled has become `true`, and is asked as it was);
the ranges of cut results, by the second. So where there is no solution of what was asked there are no such values. To leave out
something given only asks for more. The range of a result is proved from the ranges of results below it, never from its own.

The three cases of a sign are all that there are. Each has a sweep of its own, to which its case is given; nothing comes back
from there but yes or no. Variables of a cut are called by the depth of their sweep, so that those of a case are not taken for
those that it was handed. A node that is known by its id is kept (`_alive`, `_settled`): no other gets the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import BOOLEAN, Bits, constant
from glyptic.prove.methods.smt.solvers import Reply

Ask = Callable[[Sequence[Bits], float], Reply]  # what a solver says of conditions within some seconds
FIRST, QUICK, IN_A_CASE, LAST = 4.0, 1.0, 0.6, 20.0  # seconds for a lemma, one in haste, one in a case, and the question itself
_TRIED = 512  # points at random in a case
DEEPEST = 3  # how many values are split by sign at once
LITTLE = 8  # nodes between a result and those that it is made of: a rounded operation has more, a sign or a choice fewer


@dataclass
class LemmaSweep:
    """One walk: over all values, or in one case of some."""

    results: Sequence[Bits]  # in the order of their making: what lemmas are about
    given: Sequence[Bits]  # what holds of the variables
    points: Mapping[str, np.ndarray]  # of every variable, some values for which that holds
    ends: tuple[int, int]  # the codes between which every value is
    ask: Ask
    over: Callable[[], bool] = lambda: False  # whether the time for all of this has passed: then nothing more is tried
    depth: int = 0
    thorough: bool = True
    _instead: dict[int, Bits] = field(default_factory=dict)  # by the id of a node, what has taken its place
    _values: dict[int, Any] = field(default_factory=dict)  # of nodes at the points
    _behaviours: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    _representatives: dict[tuple[int, bytes], Bits] = field(default_factory=dict)  # the first of each width and behaviour
    _settled: dict[int, Bits] = field(default_factory=dict)  # the results as they are now, by their ids
    _ranged: dict[int, bool] = field(default_factory=dict)  # which of them are proved to be codes of the format
    _alive: list[Bits] = field(default_factory=list)  # an id is only as good as what it belongs to

    def refutes(self, conditions: Sequence[Bits]) -> bool:
        """Whether no values meet the conditions, as far as lemmas and the solver can tell."""
        self._walk(conditions)
        left = [self._now(condition) for condition in conditions]
        seconds = self._patience if self.depth else LAST
        return bits.FALSE in left or self._impossible(left, seconds, seconds)

    # Walking -----------------------------------------------------------------------------------------------------------------

    def _walk(self, roots: Sequence[Bits]) -> None:
        """Give every result below the roots its place, and in a case every node: its own, an earlier one's, a constant's."""
        wanted = bits.in_order([*roots, *(() if self.depth else self.given)])
        below = {id(node) for node in wanted}
        results = [node for node in self.results if id(node) in below]
        known = {id(node) for node in results}
        for node in wanted if self.depth else results:
            if id(node) not in self._instead:
                now = self._settle(node)
                if id(node) in known and not now.is_constant:
                    self._settled[id(now)] = now

    def _settle(self, node: Bits) -> Bits:
        now = self._now(node)
        found = self._like(now)
        if found is not None and found is not now and self._impossible([_different(now, found)], self._patience, self._haste):
            now = found
        elif not now.is_constant:
            self._representatives.setdefault(self._behaviour(now), now)
        self._keep(node, now)
        return now

    def _like(self, node: Bits) -> Bits | None:
        """What a node may be instead: a constant, an earlier node, or the negative of one."""
        if node.is_constant:
            return None
        values = self._at_points(node)
        if (values == values[0]).all():
            return bits.truth(bool(values[0])) if node.width == BOOLEAN else constant(int(values[0]), node.width)
        found = self._representatives.get(self._behaviour(node))
        if found is None and node.width == self._width:
            found = self._representatives.get(self._behaviour(bits.negate(node)))
            return None if found is None else bits.negate(found)
        return found

    def _now(self, node: Bits) -> Bits:
        """A node with all that has been settled put in its place; what is below it is settled for good."""
        order = bits.in_order([node], self._instead)
        for inner, now in zip(order, bits.replaced(order, self._instead), strict=True):
            if inner is node:
                return now
            self._keep(inner, now)
        return self._instead[id(node)]

    def _keep(self, node: Bits, instead: Bits) -> None:
        self._alive += [node, instead]
        self._instead[id(node)] = instead

    def _at_points(self, node: Bits) -> np.ndarray:
        self._alive.append(node)
        (values,) = bits.compute([node], self.points, self._values)
        return np.broadcast_to(np.asarray(values), self._size)

    def _behaviour(self, node: Bits) -> tuple[int, bytes]:
        if id(node) not in self._behaviours:
            self._behaviours[id(node)] = node.width, np.asarray(self._at_points(node), np.int64).tobytes()
        return self._behaviours[id(node)]

    @property
    def _patience(self) -> float:
        return IN_A_CASE if self.depth else FIRST

    @property
    def _haste(self) -> float:
        """The patience with a lemma that had to be asked whole."""
        return self._patience if self.thorough else QUICK

    @property
    def _width(self) -> int:
        return self.results[0].width

    @property
    def _size(self) -> int:
        return len(next(iter(self.points.values())))

    # Lemmas ----------------------------------------------------------------------------------------------------------------

    def _impossible(self, conditions: Sequence[Bits], seconds: float, whole: float) -> bool:
        """Whether no values meet the conditions: with what they share cut, or, if that asks too much of all values, whole."""
        if self.over():  # the cases of cases are many, and each takes time even where no solver is asked
            return False
        shared = self._shared(conditions)
        for stops in (shared, []) if shared else ([],):
            cut = self._cut(conditions, stops)
            reply = self.ask([*cut.given, *cut.conditions], seconds if stops or not shared else whole)
            split = bool(stops) or self.thorough
            if reply.status == "unsat" or (reply.status == "unknown" and split and self._in_cases(cut)):
                return True
        if reply.status == "sat":
            self._learn(reply.model)
        return False

    def _learn(self, model: Mapping[str, int]) -> None:
        """Values that tell apart what looked alike are a point more, so that the like is not asked again."""
        point = {name: np.array([model.get(name, int(values[0]))]) for name, values in self.points.items()}
        if not all(np.all(met) for met in bits.compute(self.given, point)):  # of what was not asked about, it may be none
            return
        self.points = {name: np.concatenate([values, point[name]]) for name, values in self.points.items()}
        self._values.clear()
        self._behaviours.clear()
        known = list(self._representatives.values())
        self._representatives = {}
        for node in known:
            self._representatives.setdefault(self._behaviour(node), node)

    def _shared(self, conditions: Sequence[Bits]) -> list[Bits]:
        """Results that occur in more than one of the parts of which the conditions are made.

        Not those that are made of others by little, such as −x and relu(x) of x: cut apart they would be strangers.
        """
        sides = [side for condition in conditions for side in _sides(condition)]
        cones = [{id(node) for node in bits.in_order([side])} for side in sides]
        shared = {
            number: result
            for number, result in self._settled.items()
            if result.operation != "variable" and sum(number in cone for cone in cones) > 1
        }
        return [result for result in shared.values() if len(bits.in_order(result.arguments, shared)) > LITTLE]

    def _cut(self, conditions: Sequence[Bits], shared: Sequence[Bits]) -> Cut:
        """The conditions with some results made variables."""
        fresh = {id(node): bits.variable(f"cut.{self.depth}.{k}", node.width) for k, node in enumerate(shared)}
        left = bits.replaced(conditions, fresh)
        order = bits.in_order(left)
        variables = [node for node in order if node.operation == "variable" and node.width != BOOLEAN]
        names = {node.detail for node in variables}
        used = [node for node in shared if fresh[id(node)].detail in names]
        # as it is too: x < 0 is true where it is given, and so may have become `true` itself
        given = bits.replaced([*self.given, *bits.replaced(self.given, self._instead)], fresh)
        given = [one for one in dict.fromkeys(given) if one is not bits.TRUE and names >= _names(one)]
        given += [part for node in used if self._in_range(node) for part in self._between(fresh[id(node)])]
        points = {name: self.points[name] for name in names if name in self.points}
        points |= {fresh[id(node)].detail: np.asarray(self._at_points(node)) for node in used}
        met, below = {id(node) for node in bits.in_order(conditions)}, {id(node) for node in order}
        results = bits.replaced([node for number, node in self._settled.items() if number in met], fresh)
        return Cut(left, given, variables, points, [node for node in results if id(node) in below])

    def _in_range(self, result: Bits) -> bool:
        """Whether a result is proved to be a code of the format, whatever codes it is made of."""
        if id(result) not in self._ranged:
            if self.over():
                return False
            self._ranged[id(result)] = False  # while it is being asked
            asked = [bits.opposite(part) for part in self._between(result)]
            met = {id(node) for node in bits.in_order([result])}
            below = [node for number, node in self._settled.items() if number in met and node is not result]
            cut = self._cut(asked, [node for node in below if node.operation != "variable"])
            self._ranged[id(result)] = all(
                self.ask([*cut.given, one], IN_A_CASE).status == "unsat" for one in cut.conditions
            )
        return self._ranged[id(result)]

    def _between(self, code: Bits) -> list[Bits]:
        low, high = (constant(end, code.width) for end in self.ends)
        return [bits.opposite(bits.less(code, low)), bits.opposite(bits.less(high, code))]

    # Cases -----------------------------------------------------------------------------------------------------------------

    def _in_cases(self, cut: Cut) -> bool:
        """The same, one value after the other split by sign, and swept in each case."""
        return self.depth < DEEPEST and any(
            all(self._in_case(cut, value, sign) for sign in (1, 0, -1))
            for value in cut.variables
            if not self.over() and value.width == self._width and self._changes_sign(cut.points[value.detail])
        )

    def _changes_sign(self, values: np.ndarray) -> bool:
        negative = values & (1 << (self._width - 1)) != 0
        return bool(negative.any() and not negative.all())

    def _in_case(self, cut: Cut, value: Bits, sign: int) -> bool:
        """Where a value is positive, 0 or negative."""
        zero = constant(0, value.width)
        case = {1: bits.less(zero, value), 0: bits.equal(value, zero), -1: bits.less(value, zero)}[sign]
        met = np.asarray(bits.compute([case], cut.points)[0], bool)
        instead = {id(value): zero} if sign == 0 else {}
        given, conditions, results = (bits.replaced(x, instead) for x in (cut.given, cut.conditions, cut.results))
        given += [] if sign == 0 else [case]
        if not met.any() or not results:
            return self.ask([*given, *conditions], IN_A_CASE).status == "unsat"
        points = self._more({name: values[met] for name, values in cut.points.items()}, given)
        return LemmaSweep(results, given, points, self.ends, self.ask, self.over, self.depth + 1).refutes(conditions)

    def _more(self, points: Mapping[str, np.ndarray], given: Sequence[Bits]) -> dict[str, np.ndarray]:
        """Points of a case, and others at random that meet what is given: a value that was cut may be any."""
        chance, mask = np.random.default_rng(len(given)), (1 << self._width) - 1
        low, high = self.ends
        codes = {name: chance.integers(low, high, _TRIED, endpoint=True) & mask for name in points}
        held = [np.ones(_TRIED, bool), *(np.broadcast_to(np.asarray(x, bool), _TRIED) for x in bits.compute(given, codes))]
        met = np.logical_and.reduce(held)  # of nothing given, everywhere
        return {name: np.concatenate([np.asarray(values) & mask, codes[name][met]]) for name, values in points.items()}


@dataclass(frozen=True)
class Cut:
    """Conditions in which some results have become variables, with what is known of these."""

    conditions: list[Bits]
    given: list[Bits]
    variables: list[Bits]
    points: dict[str, np.ndarray]
    results: list[Bits]


def _different(a: Bits, b: Bits) -> Bits:
    if a.width == BOOLEAN:
        return bits.either(bits.both(a, bits.opposite(b)), bits.both(bits.opposite(a), b))
    return bits.opposite(bits.equal(a, b))


def _sides(condition: Bits) -> Iterable[Bits]:
    inner = condition.arguments[0] if condition.operation == "not" else condition
    return inner.arguments or (inner,)


def _names(condition: Bits) -> set[str]:
    return {node.detail for node in bits.in_order([condition]) if node.operation == "variable"}
