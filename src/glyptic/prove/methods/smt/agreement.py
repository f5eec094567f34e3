"""Terms tried against the reference before anything is proved of them: whatever a solver says, these points must come out right.

A proof from terms is void if they are wrong, or if what is taken to hold of the free values leaves some of them out: then
everything can be proved. So points of the claimed domain are put into the terms (corners, neighbours of 0, of 1 and of the
subnormals, both sides of every case, values at random), with the true exp wherever it is only enclosed. All that was assumed
must hold there, and every residual, every 0/0, the precondition and the claim must be what a run of the engines gives.

>>> from glyptic.numbers import Fixed
>>> from glyptic.prove.claims.claim import Claim, Values
>>> from glyptic.prove.claims.expressions import B, variables
>>> from glyptic.prove.methods.smt.questions import pose
>>> x, = variables("x")
>>> claim = Claim(Values("x", Fixed(4)), x + B + B - B == 0)
>>> disagreement(claim, pose(claim, Fixed(4))) is None
True
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from glyptic.exact.report import show_number
from glyptic.exact.running import Engine
from glyptic.numbers import Codes, Format
from glyptic.numbers.hosts import refusal
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Layers
from glyptic.prove.claims.evaluation import BatchSetting
from glyptic.prove.elements.batches import free_names, judge, setting_of_codes
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.exp_staircase import exp_code
from glyptic.prove.methods.smt.questions import Question

POINTS = 192
_IN_FRACTIONS = 16  # of them, by the reference; the others by the compiled engine, where the format has one
_MOST_CONDITIONS = 48
_WIDEST_MACHINE_INTEGER = 62


def disagreement(claim: Claim, question: Question) -> str | None:
    """Where the terms of a question differ from a run, in one sentence; None if they do nowhere."""
    format = claim.subject.format
    assert isinstance(format, Format)
    trial = _Trial(claim, question, format)
    points = trial.points()
    fast = refusal(format) is None
    engines: list[tuple[Engine, Codes]] = [("reference", points[:, :_IN_FRACTIONS] if fast else points[:, : POINTS // 4])]
    if fast:
        engines.append(("auto", points[:, _IN_FRACTIONS:]))
    return next((wrong for engine, some in engines for wrong in trial.wrongs(some, engine)), None)


def points(claim: Claim, question: Question) -> dict[str, np.ndarray] | None:
    """Values of all variables of a question at points of its domain, exps among them; None if machine integers are too narrow."""
    format = claim.subject.format
    assert isinstance(format, Format)
    trial = _Trial(claim, question, format)
    roots = [*question.domain, question.given, question.good]
    return None if trial.is_wide(roots) else trial.inputs(trial.points(), roots, {})


@dataclass(frozen=True)
class _Trial:
    """A claim with its question, at points: codes of the free values, (free, points)."""

    claim: Claim
    question: Question
    format: Format

    # What the terms come to ------------------------------------------------------------------------------------------------

    def computed(self, codes: Codes, roots: list[Bits]) -> list[Any]:
        """The roots' values at points, with the true exp for every enclosed one."""
        values: dict[int, Any] = {}
        return bits.compute(roots, self.inputs(codes, roots, values), values)

    def is_wide(self, roots: list[Bits]) -> bool:
        """Whether a node has more bits than machine integers, so that Python's are taken."""
        nodes = bits.in_order([*roots, *(code for code, _, _ in self.question.exps)])
        return max((node.width for node in nodes), default=0) > _WIDEST_MACHINE_INTEGER

    def inputs(self, codes: Codes, roots: list[Bits], values: dict[int, Any]) -> dict[str, np.ndarray]:
        """What the variables below the roots are at points, every enclosed exp the true one; `values` keeps what was computed."""
        wide = self.is_wide(roots)
        inputs = {
            name: row.astype(object if wide else np.int64) for name, row in zip(self.question.names, codes, strict=True)
        }
        for code, image, function in self.question.exps:  # in the order of their making: an exp may stand inside a later one
            (argument,) = bits.compute([code], inputs, values)
            inputs[image.detail] = self._images(function, self._signed(argument, code.width), codes.shape[1], wide)
        return inputs

    def _signed(self, unsigned: Any, width: int) -> Any:
        return unsigned - ((unsigned >> (width - 1)) << width)

    def _images(self, function: Any, arguments: Any, size: int, wide: bool) -> np.ndarray:
        """The true values of exp, or of an activation."""
        spread = np.broadcast_to(np.asarray(arguments), (size,))
        inside = [min(max(int(code), self.format.min_code), self.format.max_code) for code in spread]
        of: Any = exp_code
        if function != "exp":
            from glyptic.prove.methods.smt.activation_staircase import activation_code

            of = partial(activation_code, function)
        table = {code: of(code, self.format) for code in set(inside)}
        return np.array([table[code] for code in inside], object if wide else np.int64)

    # What it should be -----------------------------------------------------------------------------------------------------

    def wrongs(self, codes: Codes, engine: Engine) -> Iterator[str]:
        """Every difference at some points between the terms and a run of an engine."""
        size = codes.shape[1]
        run = setting_of_codes(self.claim, codes, engine)
        satisfying, failing = judge(self.claim, run)
        expected: list[tuple[str, Bits, np.ndarray]] = [
            *(("what is assumed of the free values", one, np.ones(size, bool)) for one in self.question.domain),
            ("the precondition", self.question.given, satisfying),
        ]
        values = list(self._values(run))
        roots = [*(root for _, root, _ in expected), self.question.fails, *(root for _, root, _, _ in values)]
        missing = [x.missing for _, _, x, _ in values]
        found = self.computed(codes, [*roots, *missing])
        for (what, _, wanted), got in zip(expected, found, strict=False):
            yield from self._differences(what, np.broadcast_to(np.asarray(got, bool), (size,)) != wanted, codes)
        fails = np.broadcast_to(np.asarray(found[len(expected)], bool), (size,))
        yield from self._differences("the claim", satisfying & (fails != failing), codes)
        inside = self._inside(codes)
        of_values, of_missing = found[len(expected) + 1 : len(roots)], found[len(roots) :]
        for (node, root, _, real), got, gone in zip(values, of_values, of_missing, strict=True):
            absent = np.broadcast_to(np.asarray(gone, bool), (size,))
            wanted = np.broadcast_to(np.atleast_1d(run.arithmetic.codes(real.numbers)), (size,))
            other = np.broadcast_to(self._signed(np.asarray(got), root.width), (size,)) != wanted
            yield from self._differences(str(node), inside & ((absent != real.missing) | (other & ~absent)), codes)

    def _inside(self, codes: Codes) -> np.ndarray:
        """The points at which terms must be right: those within the bounds that the precondition sets."""
        low, high = (np.array(side)[:, None] for side in zip(*self.question.spans, strict=True))
        return np.asarray(((low <= codes) & (codes <= high)).all(axis=0))

    def _values(self, run: BatchSetting) -> Iterator[tuple[e.Coordinate, Bits, Any, Any]]:
        """Every coordinate that leaves the layers: its term's code, its term, and what it is in a run."""
        subject, terms = self.claim.subject, self.question.setting.arithmetic
        if not isinstance(subject, Layers):
            return
        for of, transformer in subject.transformers.items():
            for name, i in product(transformer.coordinates, range(subject.positions)):
                node = e.after(name, i, of)
                term = self.question.setting.read(node)
                yield node, terms.code(term.numbers[0]), term, run.read(node)

    def _differences(self, what: str, where: np.ndarray, codes: Codes) -> Iterator[str]:
        if where.any():
            point = codes[:, int(np.argmax(where))]
            numbers = (show_number(self.format.value(int(code)), self.format) for code in point)
            place = ", ".join(f"{name} = {number}" for name, number in zip(free_names(self.claim), numbers, strict=True))
            yield f"{what} is not what a run gives at {place}"

    # Points ----------------------------------------------------------------------------------------------------------------

    def points(self) -> Codes:
        """Points of the domain: mixtures of codes that are special, both sides of each case, codes at random."""
        chance, free = random.Random(20), len(self.question.names)
        special, low, high = self._special(), self.format.min_code, self.format.max_code
        alike = [[code] * free for code in special]
        mixed = [[chance.choice(special) for _ in range(free)] for _ in range(POINTS // 2)]
        anywhere = [[chance.randint(low, high) for _ in range(free)] for _ in range(POINTS // 2)]
        near = [[max(low, min(high, round(chance.gauss(0, 8)))) for _ in range(free)] for _ in range(POINTS // 4)]
        rows = [*alike, *mixed, *near, *anywhere]
        chance.shuffle(rows)
        found = self._moved(np.array(rows, np.int64).T[:, : 2 * POINTS])
        return np.concatenate([self._sides(found), found], axis=1)

    def _moved(self, points: Codes) -> Codes:
        """Three of four points brought into the bounds of the precondition, on their ends or around them to the other side."""
        low, high = (np.array(side)[:, None] for side in zip(*self.question.spans, strict=True))
        turned, clipped = low + (points - low) % (high - low + 1), np.clip(points, low, high)
        which = np.arange(points.shape[1]) % 4
        return np.where(which == 0, points, np.where(which == 1, clipped, turned))

    def _special(self) -> list[int]:
        """Codes next to which something changes: 0, the ends, 1, powers of two, the last subnormal."""
        format = self.format
        numbers = [Fraction(2) ** k for k in (-2, -1, 0, 1, 2)] + [format.max / 2, format.max / 4, Fraction(3, 2)]
        centres = {0, format.min_code, format.max_code, *(format.code(format.round(x)) for x in numbers)}
        if not format.is_fixed:
            centres.add(1 << (format.precision - 1))
        beside = {code + step for code in centres | {-code for code in centres} for step in (-2, -1, 0, 1, 2)}
        return sorted(code for code in beside if format.min_code <= code <= format.max_code)

    def _sides(self, points: Codes) -> Codes:
        """For each condition that cases are made by, two points next to each other of which it tells one from the other."""
        conditions = list(self.question.conditions)[:_MOST_CONDITIONS]
        met = [np.broadcast_to(np.asarray(x, bool), points.shape[1]) for x in self.computed(points, conditions)]
        split = [k for k, holds in enumerate(met) if holds.any() and not holds.all()]
        if not split:
            return points[:, :0]
        true = points[:, [int(np.argmax(met[k])) for k in split]]
        false = points[:, [int(np.argmin(met[k])) for k in split]]
        for _ in range(self.question.width + 1):
            middle = (true + false) // 2
            holds = self.computed(middle, [conditions[k] for k in split])
            here = np.array([np.broadcast_to(np.asarray(x, bool), len(split))[n] for n, x in enumerate(holds)])
            true, false = np.where(here, middle, true), np.where(here, false, middle)
        return np.concatenate([true, false], axis=1)



