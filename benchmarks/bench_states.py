"""States: the search of a transformer's automaton, against the same search over fractions, a state at a time.

Both find the same machine (tests/states/test_plainly.py): of random transformers, and of averaging majority, one long chain of
five states of each length. How states and seconds grow with the precision, the width, the layers and the heads of random
transformers is drawn into docs/figures/states.svg; a trained decider over formats into docs/figures/trained-states.svg.
"""

from __future__ import annotations

import time
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.timing import contest, row
from glyptic import programs
from glyptic.cli import main
from glyptic.exact import Sizes, Transformer, random_transformer
from glyptic.extras import matplotlib
from glyptic.figures import SERIES, drawn, save_as
from glyptic.languages import regular
from glyptic.prove.methods import states
from glyptic.prove.questions import decisiveness
from glyptic.states import TooManyStates
from glyptic.states.budget import Budget
from glyptic.states.extraction import extract
from glyptic.states.plainly import plain_machine
from glyptic.states.studies import by_precision

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "states.svg"
TRAINED = FIGURE.with_name("trained-states.svg")
MOST, FEW = 100_000, 20_000  # states, of a search that is timed and of those that are drawn


def sampled(format: str, seed: int, layers: int = 1, heads: int = 1, width: int = 3) -> Transformer:
    """A random transformer without positions."""
    sizes = Sizes(layers=layers, heads=heads, width=width, key_width=2, value_width=2, hidden=3, max_length=1)
    return random_transformer(format, seed, sizes).replace(period=1)


def compared(name: str, transformer: Transformer, target: str) -> dict[str, object]:
    """One machine by both searches."""
    contestants = {"search": partial(extract, transformer, Budget(MOST)), "fractions": partial(plain_machine, transformer)}
    found = contestants["search"]()
    contestants["fractions"]()
    timings = contest(contestants, rounds=3)
    sizes = " and ".join(f"{size:,}" for size in found.sizes)  # type: ignore[union-attr]
    return row(f"fractions / search: {name}", timings.speed("search", "fractions"), target, f"{sizes} states")


def rate() -> dict[str, object]:
    """States a second of a wide search."""
    transformer = sampled("fixed:2", 2, layers=2, heads=2)
    extract(transformer, Budget(MOST))
    start = time.process_time()
    found = extract(transformer, Budget(MOST))
    took, count = time.process_time() - start, sum(found.sizes)
    return row("states a second, two layers of two heads", count / took, "", f"{count:,} states in {took:.2f} s", "/s")


def claims() -> list[dict[str, object]]:
    """Seconds of claims that enumeration cannot reach."""
    made = []
    for name, format in (("contains:101,64", "fixed:6"), ("first-equals-last:256", "fixed:8"), ("averaging-majority", "fixed:6")):
        claim = decisiveness(programs.open(name, format))
        start = time.process_time()
        verdict = states.check(claim)
        note = f"{type(verdict).__name__}, {verdict.solvers[0]}" if hasattr(verdict, "solvers") else str(verdict)
        made.append(row(f"decisive: {name} in {format}", time.process_time() - start, "<= 60", note, "s"))
    return made


def growth() -> list[dict[str, Any]]:
    """States and seconds against s, d, layers and heads: medians over seeds; what went over the budget counts as the budget."""
    axes: dict[str, list[tuple[float, dict[str, Any]]]] = {
        "s of F(s)": [(s, {"format": f"fixed:{s}"}) for s in (1, 2, 3, 4)],
        "width d": [(d, {"width": d}) for d in (2, 3, 4, 6)],
        "layers": [(n, {"layers": n}) for n in (1, 2, 3)],
        "heads": [(n, {"heads": n}) for n in (1, 2, 3)],
    }
    data = []
    for axis, points in axes.items():
        for x, changes in points:
            counts, seconds = [], []
            for seed in range(7):
                start, transformer = time.process_time(), sampled(**{"format": "fixed:2", "seed": seed, **changes})
                try:
                    counts.append(len(extract(transformer, Budget(FEW)).moves))
                except TooManyStates:
                    counts.append(FEW)
                seconds.append(time.process_time() - start)
            data.append({"axis": axis, "x": x, "states": float(np.median(counts)), "seconds": float(np.median(seconds))})
    return data


def draw(data: list[dict[str, Any]]) -> None:
    figure, panels = drawn(matplotlib(), 1, 4, (13, 3.2))
    for axes, axis in zip(panels, dict.fromkeys(each["axis"] for each in data), strict=True):
        points = [each for each in data if each["axis"] == axis]
        for colour, what in zip(SERIES, ("states", "seconds"), strict=False):
            axes.plot([p["x"] for p in points], [p[what] for p in points], marker="o", color=colour, label=what)
        axes.set(xlabel=axis, yscale="log")
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].set_title("states and seconds, random transformers")
    panels[0].legend(frameon=False)
    save_as(figure, data, FIGURE)


def trained(folder: Path) -> Transformer:
    """A decider of 1*, trained without positions on all words to length 12 and carried over; it reads every length."""
    size = ("--layers", "1", "--width", "4", "--heads", "1", "--norm", "none", "--positions", "none")
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        train = ["train", "tomita:1,12,held_out=0", *size, "--steps", "600", "--rate", "0.01", "--out", str(folder / "run")]
        assert main(train) == main(["distill", str(folder / "run"), "--format", "fixed:6", "--out", str(folder / "exact")]) == 0
    made = programs.open(str(folder / "exact"))
    assert not made.position_embedding.any()
    return made.replace(position_embedding=made.position_embedding[:1], period=1, name="trained on 1*")


def trained_by_precision() -> list[dict[str, object]]:
    """The trained decider over formats, drawn; what is told is the first length that it gets wrong."""
    with TemporaryDirectory() as folder:
        decider = trained(Path(folder))
    formats = ["fixed:1", "fixed:2", "fixed:3", "fixed:4"]
    table = by_precision(decider.in_format, formats, regular("1*"), name="trained on 1*", states=150_000)
    print(table)
    table.figure(TRAINED)
    last = table.rows[-1]
    length = len(last.first or ())
    return [row("the trained decider in F(4): first wrong length", length, "", f"{last.states or 0:,} states", "")]


def rows() -> list[dict[str, object]]:
    draw(growth())
    return [
        compared("two layers, F(2)", sampled("fixed:2", 1, layers=2), ">= 50"),
        compared("three layers, F(2)", sampled("fixed:2", 2, layers=3), ">= 50"),
        compared("averaging majority, F(4): one long chain", programs.open("averaging-majority", "fixed:4"), ">= 50"),
        rate(),
        *trained_by_precision(),
        *claims(),
    ]
