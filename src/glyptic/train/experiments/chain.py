"""A chain of thought against none, at depth 1: permutations of five things composed, and a number squared again and again.

Both trainings of a pair have the same steps, batches, width and depth; one writes every step down, the other the answer alone.
The modulus matters: modulo 97 one layer learns the answers at once, and modulo 1019 they come slowly with more steps. So squaring
is tried with several budgets of steps too: a gap is one after so many steps, and does not say what one layer cannot do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glyptic import figures
from glyptic.train.experiments.seeds import band, mean, shares, values
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan

CLAIM = (
    "Without a chain of thought a decoder of one layer fails at inherently serial problems, and with one it solves them "
    "(Li, Liu, Zhou and Ma, 2024)."
)
_TASKS = {"S5": "s5:{length},chain={chain}", "iterated squaring": "squaring:1019,{length},chain={chain}"}
_LENGTHS, _STEPS = (4, 8, 16, 24), 1000
_BUDGETED, _LENGTH, _BUDGETS = "iterated squaring", 8, (500, 1000, 2000, 4000)
_CHAINS = {"yes": ("good", "with a chain of thought"), "no": ("bad", "without")}


def trials(small: bool) -> list[Trial]:
    lengths, steps, budgets = ((4, _LENGTH), 4, (2, 4)) if small else (_LENGTHS, _STEPS, _BUDGETS)
    asked = [(problem, length, steps) for problem in _TASKS for length in lengths]
    asked += [(_BUDGETED, _LENGTH, budget) for budget in budgets if budget != steps]
    return [
        Trial(
            {"problem": problem, "length": length, "steps": steps, "chain": chain},
            _TASKS[problem].format(length=length, chain=chain),
            {"layers": 1},
            Plan(steps=steps, batch=8 if small else 64, rate=0.002, warmup=min(100, steps), evaluate=10**9, record=10**9),
        )
        for problem, length, steps in asked
        for chain in _CHAINS
    ]


def measured(trial: Trial) -> Row:
    model, task = trial.trained()
    with torch.no_grad():
        return task.evaluate(model, trial.plan.seed)


def draw(rows: Sequence[Row]) -> Any:
    figure, axes = figures.new(1, 3)
    for place, problem in zip(axes, _TASKS, strict=False):
        _lines(place, rows, "length", problem=problem, steps=_usual(rows))
        place.set_xlabel("steps that the problem takes")
        place.set_title(f"{problem}, {_usual(rows):,} steps of training")
    _lines(axes[2], rows, "steps", problem=_BUDGETED, length=_LENGTH)
    axes[2].set_xlabel("steps of training")
    axes[2].set_title(f"{_BUDGETED}, {_LENGTH} times")
    figures.log_axis(axes[2], "x", sorted({row["steps"] for row in rows}))
    return figure


def _lines(place: Any, rows: Sequence[Row], along: str, **labels: Any) -> None:
    """Right answers along lengths, or along steps of training."""
    own = [row for row in rows if all(row[label] == value for label, value in labels.items())]
    ticks = sorted({row[along] for row in own})
    for chain, (colour, label) in _CHAINS.items():
        found = [values(own, "exact_match", chain=chain, **{along: tick}) for tick in ticks]
        band(place, ticks, found, figures.COLOURS[colour], label)
    place.set_ylabel("right answers, of unseen problems")
    place.set_ylim(-0.03, 1.03)
    figures.plain_ticks(place.xaxis, ticks)
    place.legend()


def _usual(rows: Sequence[Row]) -> int:
    """The steps that all lengths were trained with."""
    return next(row["steps"] for row in rows if row["problem"] != _BUDGETED)


def verdict(rows: Sequence[Row]) -> str:
    """A gap counts if with every seed the chain has 99 % at least and the answers alone a half at most."""
    longest, steps = max(row["length"] for row in rows), _usual(rows)
    pairs = {f"{problem} of {longest} steps": _pair(rows, problem, longest, steps) for problem in _TASKS}
    holds = all(_gap(*pair) for pair in pairs.values())
    said = "; ".join(f"{what}: {shares(w)} with the chain, {shares(without)} without" for what, (w, without) in pairs.items())
    return f"{'confirmed' if holds else 'not confirmed'} after {steps:,} steps of training: {said}. {_by_budget(rows)}"


def _pair(rows: Sequence[Row], problem: str, length: int, steps: int) -> tuple[list[float], list[float]]:
    with_chain, without = (
        values(rows, "exact_match", problem=problem, length=length, steps=steps, chain=chain) for chain in _CHAINS
    )
    return with_chain, without


def _gap(with_chain: Sequence[float], without: Sequence[float]) -> bool:
    return min(with_chain) >= 0.99 and max(without) <= 0.5


def _by_budget(rows: Sequence[Row]) -> str:
    """For how many steps of training the gap of squaring is there."""
    budgets = sorted({row["steps"] for row in rows if (row["problem"], row["length"]) == (_BUDGETED, _LENGTH)})
    pairs = {steps: _pair(rows, _BUDGETED, _LENGTH, steps) for steps in budgets}
    there = [f"{steps:,}" for steps, pair in pairs.items() if _gap(*pair)]
    said = ", ".join(f"{steps:,} steps {100 * mean(w):.1f} % and {shares(without)}" for steps, (w, without) in pairs.items())
    gap = f"is there after {', '.join(there)} steps of training" if there else "is there after no budget"
    return f"The gap of {_BUDGETED} of {_LENGTH} steps {gap}, of {', '.join(f'{steps:,}' for steps in budgets)} tried ({said})"
