"""A chain of thought against none, at depth 1: permutations of five things composed, and a number squared again and again.

Both trainings of a pair have the same steps, batches, width and depth; one writes every step down, the other the answer alone.
The modulus matters: modulo 97 one layer learns the answers at once, and modulo 1019 they come slowly with more steps than here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glyptic import figures
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan

CLAIM = (
    "Without a chain of thought a decoder of one layer fails at inherently serial problems, and with one it solves them "
    "(Li, Liu, Zhou and Ma, 2024)."
)
_TASKS = {"S5": "s5:{length},chain={chain}", "iterated squaring": "squaring:1019,{length},chain={chain}"}


def trials(small: bool) -> list[Trial]:
    lengths = (4, 16) if small else (4, 8, 12, 16, 24)
    plan = Plan(steps=4, batch=8, evaluate=4) if small else Plan(steps=1000, batch=64, rate=0.002, evaluate=1000)
    return [
        Trial(
            {"problem": problem, "length": length, "chain": chain},
            name.format(length=length, chain=chain),
            {"layers": 1},
            plan,
        )
        for problem, name in _TASKS.items()
        for length in lengths
        for chain in ("yes", "no")
    ]


def measured(trial: Trial) -> Row:
    model, task = trial.trained()
    with torch.no_grad():
        return task.evaluate(model, 0)


def draw(rows: Sequence[Row]) -> Any:
    figure, axes = figures.new(1, len(_TASKS))
    for place, problem in zip(axes, _TASKS, strict=True):
        for chain, colour, label in (("yes", "good", "with a chain of thought"), ("no", "bad", "without")):
            line = [
                (row["length"], row["exact_match"])
                for row in rows
                if (row["problem"], row["chain"]) == (problem, chain)
            ]
            place.plot(*zip(*line, strict=True), marker="o", color=figures.COLOURS[colour], label=label)
        place.set_xlabel("steps that the problem takes")
        place.set_ylabel("right answers, of unseen problems")
        place.set_ylim(-0.03, 1.03)
        figures.plain_ticks(place.xaxis, sorted({row["length"] for row in rows}))
        place.set_title(f"{problem}, one layer")
        place.legend()
    return figure


def verdict(rows: Sequence[Row]) -> str:
    longest = max(row["length"] for row in rows)
    said = []
    for problem in _TASKS:
        with_chain, without = (
            next(
                row["exact_match"]
                for row in rows
                if (row["problem"], row["length"], row["chain"]) == (problem, longest, chain)
            )
            for chain in ("yes", "no")
        )
        said.append(
            (
                with_chain,
                without,
                f"{problem} of {longest} steps: {with_chain:.1%} with the chain, {without:.1%} without",
            )
        )
    holds = all(with_chain >= 0.99 and without <= 0.5 for with_chain, without, _ in said)
    return f"{'confirmed' if holds else 'not confirmed'}: {'; '.join(text for *_, text in said)}"
