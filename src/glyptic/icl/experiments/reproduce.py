"""The headline figures of the literature, in minutes on two cores; each says on itself what was scaled down.

A headline is a list of cells (computed once, on all workers, surviving Ctrl-C) and a function that draws their rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.icl.experiments import covariate, curves, descent, diversity
from glyptic.icl.experiments.cells import Cell, Row, run
from glyptic.icl.experiments.decoder import DecoderSize
from glyptic.icl.experiments.tasks import DecisionTree, ReluNet
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.problem import ProblemError

Drawn = tuple[Any, list[Row]]  # the figure and its data
DECODER = DecoderSize()


def without_constants(rows: Sequence[Row]) -> list[Row]:
    """The rows without the columns in which nothing changes: what is worth printing.

    >>> without_constants([{"d": 5, "N": 10, "risk": 2.0}, {"d": 5, "N": 20, "risk": 1.0}])
    [{'N': 10, 'risk': 2.0}, {'N': 20, 'risk': 1.0}]
    """
    changing = [name for name in rows[0] if any(row[name] != rows[0][name] for row in rows)]
    return [{name: row[name] for name in changing} for row in rows]


@dataclass(frozen=True)
class Headline:
    """One figure to reproduce."""

    title: str
    scaled_down: str
    cells: tuple[Cell, ...]
    draw: Callable[[Sequence[Row]], Drawn]
    table: Callable[[Sequence[Row]], list[Row]] = without_constants  # from the data of the figure to what is printed


def covariate_shift(steps: int = 1500, d: int = 5, N: int = 40) -> Headline:
    """Zhang, Frei, Bartlett 2024: what linear attention tends to when the covariates change."""
    lengths, scales = (5, 10, 20, 40, 80, 160, 320, 640, 1280), (0.5, 0.8, 1.0, 1.25, 2.0)

    def trained(N: int, random_covariance: bool) -> Cell:
        return Cell.of("covariate", {"d": d, "N": N, "random_covariance": random_covariance, "steps": steps, "seed": 0})

    random = {n: trained(n, True) for n in (10, 20, 40, 80)}

    def draw(rows: Sequence[Row]) -> Drawn:
        models = {(row["random_covariance"], row["N"]): Blocks.from_vector(np.array(row["weights"])) for row in rows}
        figure, axes = figures.new(1, 3, size=(14.5, 4.6))
        fixed = models[False, N]
        data = covariate.draw_risk(axes[0], fixed, N, scales, lengths)
        data += covariate.draw_scale(axes[1], fixed, N, (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0), lengths[-1])
        data += covariate.draw_random(axes[2], d, {n: models[True, n] for n in random}, lengths[-1])
        return figure, data

    note = (
        f"Scaled down: d = {d}, N = {N}; trained by {steps} steps of Adam, not to the limit; one training each. "
        "Bars: ± 2 s.e. over test prompts."
    )
    return Headline("Covariate shift (Zhang, Frei, Bartlett 2024)", note, (*random.values(), trained(N, False)), draw)


def depth_and_descent(steps: int = 1500, d: int = 5) -> Headline:
    """Ahn et al. 2023, von Oswald et al. 2023: L layers of linear attention are L steps of gradient descent."""

    def trained(N: int, layers: int, sparse: bool) -> Cell:
        # Four layers see far rarer prompts in their risk (degree 16 in x): the noise of the batches asks for more of them.
        sizes = {"d": d, "N": N, "layers": layers, "sparse": sparse, "steps": steps * (4 if layers == 4 else 1), "seed": 0}
        return Cell.of("depth", sizes)

    cells = [trained(N, layers, True) for N in (10, 20, 40) for layers in (1, 2, 3, 4)]
    cells += [trained(20, layers, False) for layers in (1, 2, 3)]

    def draw(rows: Sequence[Row]) -> Drawn:
        figure, axes = figures.new(size=(7.6, 5.2))
        descent.draw(axes, rows, d)
        return figure, list(rows)

    note = (
        f"Scaled down: {steps} steps of Adam of 256 prompts, {4 * steps} for L = 4; one training each. "
        f"d = {d}, N = 20 are Ahn et al.'s."
    )
    return Headline("Depth is gradient descent (Ahn et al., von Oswald et al. 2023)", note, tuple(cells), draw)


def baselines_of_garg(
    steps: int = 1200, d: int = 5, sparse_d: int = 10, N: int = 15, prompts: int = 2000, slow_prompts: int = 300
) -> Headline:
    """Garg et al. 2022: a decoder against the learner that suits each task.

    The sparse task has more dimensions: at d = 5 least squares is exact before Lasso can win.
    """
    dimensions = {"noisy": d, "sparse": sparse_d, "tree": d, "relu": d}
    sizes = {"N": N, "steps": steps, "prompts": prompts, "slow_prompts": slow_prompts}
    cells = tuple(Cell.of("comparison", {"task": task, "d": d, "seed": 0, **sizes}) for task, d in dimensions.items())

    def curves_of(rows: Sequence[Row], task: str) -> list[curves.Curve]:
        return curves.from_rows([row for row in rows if row["task"] == task])

    def draw(rows: Sequence[Row]) -> Drawn:
        figure, axes = figures.new(2, 2, size=(12.5, 9.0))
        for one, task in zip(np.ravel(axes), dimensions, strict=True):
            curves.draw_comparison(one, curves_of(rows, task), task, dimensions[task])
        curves.legend_beside(figure)
        return figure, list(rows)

    def table(rows: Sequence[Row]) -> list[Row]:
        return [{"task": task, **row} for task in dimensions for row in curves.table_rows(curves_of(rows, task))]

    note = (
        f"Scaled down: d = {d}, sparse {sparse_d} (paper: 20); {max(1, sparse_d // 4)} nonzero weights (3); trees of "
        f"depth {DecisionTree().depth} (4); nets of width {ReluNet().width} (100); {N} examples (40 to 100);\n"
        f"decoder of {DECODER.layers} layers × {DECODER.width} (12 × 256); {steps} steps of 64 prompts, no curriculum "
        "(500,000, with one). "
        f"Bands: 90 % bootstrap over {prompts} prompts,\nthe first {slow_prompts} of them for Lasso, boosting and the net. "
        "What is worse than knowing nothing by a third is cut off."
    )
    return Headline("In-context learning against the right learner (Garg et al. 2022)", note, cells, draw, table)


def task_diversity(steps: int = 1500, d: int = 4, N: int = 8, noise_variance: float = 0.25) -> Headline:
    """Raventós et al. 2023: from memorising the training tasks to ridge regression."""
    sizes = {"noise_variance": noise_variance, "N": N, "steps": steps, "seed": 0}
    cells = tuple(Cell.of("diversity", {"d": d, "tasks": tasks, **sizes}) for tasks in (1, 4, 16, 64, 256, 1024))

    def draw(rows: Sequence[Row]) -> Drawn:
        figure, axes = figures.new(1, 2, size=(11.5, 4.8))
        diversity.draw(axes[0], axes[1], rows)
        return figure, list(rows)

    note = (
        f"Scaled down: d = {d}, {N} examples (paper: 8 and 15), "
        f"decoder of {DECODER.layers} layers × {DECODER.width} (paper: 8 × 128), "
        f"{steps} steps of 64 prompts (paper: 500,000 of 256), T up to 1024 (paper: 2²⁰). "
        "One training for each T; bars: ± 2 s.e. over 10,000 test prompts."
    )
    return Headline("Task diversity (Raventós et al. 2023)", note, cells, draw)


HEADLINES: dict[str, Callable[[], Headline]] = {
    "covariate": covariate_shift,
    "depth": depth_and_descent,
    "baselines": baselines_of_garg,
    "diversity": task_diversity,
}


@dataclass(frozen=True)
class Rendered:
    """A headline that was drawn: the rows of its figure and the files that hold them."""

    title: str
    rows: list[Row]
    paths: list[Path]


def reproduce(
    folder: Path,
    names: Sequence[str] = tuple(HEADLINES),
    backend: str = "auto",
    workers: int | None = None,
    progress: bool = True,
) -> list[Rendered]:
    """Compute the cells of the named headlines that are not in the folder yet, and draw the figures."""
    for name in names:
        if name not in HEADLINES:
            raise ProblemError(f"no headline {name!r}; there are {', '.join(HEADLINES)}.")
    return render({name: HEADLINES[name]() for name in names}, folder, backend, workers, progress)


def render(headlines: dict[str, Headline], folder: Path, backend: str, workers: int | None, progress: bool) -> list[Rendered]:
    """All cells on all workers, the long ones first; then a figure, its data and its note for each headline."""
    cells = [cell for headline in headlines.values() for cell in headline.cells]
    run(sorted(cells, key=lambda cell: cell.measure not in _LONG), folder, backend, workers, progress)
    rendered = []
    for name, headline in headlines.items():
        figure, data = headline.draw(run(headline.cells, folder, backend, workers, progress=False))
        figure.suptitle(headline.title)
        figures.note(figure, headline.scaled_down)
        paths = figures.save(figure, data, Path(folder) / name)
        rendered.append(Rendered(headline.title, headline.table(data), paths))
    return rendered


_LONG = ("comparison", "diversity")  # start with them, so that no worker is left with one at the end
