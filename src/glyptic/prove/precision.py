"""The least precision: the smallest s, for each e, in which a construction is right at length n.

s(n) is what the classes CoT[T(n), d(n), s(n), e(n)] of Li et al. (2024) speak of; T(n), the steps of chain of thought, and
d(n), the width, are listed beside it. The classes are non-uniform: a construction may depend on n, and is right at n if it
is on all inputs of length n.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm

from glyptic.errors import FormatError, GlypticError, InputError
from glyptic.exact import Transformer
from glyptic.exact.report import table
from glyptic.numbers import Float, Format
from glyptic.prove.answers import Refuted, Unknown
from glyptic.prove.checking import check
from glyptic.prove.claims import Claim, Inputs
from glyptic.prove.languages import Automaton
from glyptic.prove.theorems import recognition

Build = Callable[[Format, int], Transformer | Claim]


@dataclass(frozen=True)
class Need:
    """What a length needs: the least s for an e (None: none up to the largest tried), and why one less is not enough."""

    length: int
    e: int
    s: int | None
    steps: int  # T(n)
    width: int  # d(n)
    layers: int
    short_of_it: str  # what goes wrong at s − 1, or at the largest s tried


@dataclass(frozen=True)
class LeastPrecision:
    """s(n) for each e, as a table and as a figure."""

    name: str
    needs: tuple[Need, ...]
    largest: int

    def s(self, length: int, e: int = 0) -> int | None:
        """The least s at a length."""
        return next(need.s for need in self.needs if (need.length, need.e) == (length, e))

    def __str__(self) -> str:
        exponents = sorted({need.e for need in self.needs})
        header = ["n", *("s, fixed" if e == 0 else f"s, e = {e}" for e in exponents)]
        rows = []
        for length in sorted({need.length for need in self.needs}):
            here = {need.e: need for need in self.needs if need.length == length}
            one = here[exponents[0]]
            cells = [f"> {self.largest}" if here[e].s is None else here[e].s for e in exponents]
            rows.append((length, *cells, one.steps, one.width, one.layers, one.short_of_it))
        header += ["T(n)", "d(n)", "layers", "one less fails by"]
        return f"{self.name}: least precision\n" + table(header, rows, "r" * (len(header) - 1) + "l")

    def figure(self, path: str | os.PathLike[str]) -> None:
        """s(n), with T(n) and d(n) beside it."""
        from glyptic.prove.figures import draw_precision

        draw_precision(self, path)


def least_precision(
    build: Build,
    max_length: int,
    *,
    of: Automaton | Callable[[Any], bool] | None = None,
    lengths: Iterable[int] | None = None,
    exponents: Iterable[int] = (0,),
    largest: int = 12,
    name: str = "",
    progress: bool = True,
    steps: int | Callable[[int], int] = 1,
    **means: Any,
) -> LeastPrecision:
    """The smallest s in which `build(F(e, s), n)` is right on all inputs of length n, for n up to `max_length` and each e.

    `build` gives a transformer, right if it decides the language `of`; or a whole claim. Every s is tried from 1 up, since a
    construction may be right at some s by luck and wrong at a larger one. One that refuses a format is not right there.
    """
    chosen = sorted(set(range(1, max_length + 1) if lengths is None else lengths))
    if not chosen or chosen[0] < 1 or chosen[-1] > max_length:
        raise InputError(f"lengths must lie between 1 and {max_length}.")
    cells = [(length, e) for length in chosen for e in sorted(set(exponents))]
    settings = {"of": of, "steps": steps, "means": {**means, "progress": False}}
    needs = []
    for length, e in tqdm(cells, desc="n, e", delay=1, leave=False, disable=not progress):
        needs.append(_need(build, length, e, largest, settings))
    return LeastPrecision(name or getattr(build, "__name__", "construction"), tuple(needs), largest)


def _need(build: Build, length: int, e: int, largest: int, settings: dict[str, Any]) -> Need:
    wrong = "nothing smaller exists"
    sizes = (0, 0, 0)
    for s in range(1, largest + 1):
        try:
            made = build(Float(e, s), length)
        except GlypticError as error:
            wrong = str(error).partition(";")[0]
            continue
        claim = _claim(made, length, settings)
        sizes = _sizes(claim, length)
        verdict = check(claim, **settings["means"])
        if verdict:
            return Need(length, e, s, *sizes, wrong)
        if isinstance(verdict, Unknown):
            raise FormatError(f"length {length}, {Float(e, s)}: undecided, {verdict.reason}; give more time.")
        wrong = verdict.why if isinstance(verdict, Refuted) else type(verdict).__name__
    return Need(length, e, None, *sizes, wrong)


def _claim(made: Transformer | Claim, length: int, settings: dict[str, Any]) -> Claim:
    if isinstance(made, Claim):
        return made
    if settings["of"] is None:
        raise InputError("least_precision needs to know what is right: say of=an automaton or a predicate.")
    return recognition(made, settings["of"], length, min_length=length, steps=settings["steps"])


def _sizes(claim: Claim, length: int) -> tuple[int, int, int]:
    subject = claim.subject
    transformers = list(getattr(subject, "transformers", {}).values())
    if not transformers:
        return 1, 0, 0
    steps = subject.steps[length - 1] if isinstance(subject, Inputs) else 1
    return steps, transformers[0].width, len(transformers[0].layers)
