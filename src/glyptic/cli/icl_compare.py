"""`glyptic icl compare`: error against the number of in-context examples, everybody on the same prompts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ALL = ("ols", "ridge", "lasso", "knn", "average", "cart", "boosting", "net")


@dataclass(frozen=True)
class Compare:
    """Compare baselines, exact linear attention and (with --steps) a trained decoder on a task of Garg et al."""

    task: Literal["linear", "noisy", "sparse", "relu", "tree", "quadratic", "classification"] = "noisy"
    """the law of the functions"""
    shift: str = "none"
    """how test prompts differ: none, random-quadrant, opposite-quadrant, subspace, skew, orthogonal-query,
    overlapping-query, scale-x:C, scale-y:C, noise:S"""
    d: int = 5
    """dimension of the inputs"""
    examples: int = 20
    """longest context"""
    every: int = 2
    """a point of the curve at each so many examples"""
    baselines: tuple[str, ...] = ALL
    """which: ols ridge lasso knn average cart boosting net"""
    prompts: int = 500
    """test prompts; the slow baselines get --slow-prompts of them"""
    slow_prompts: int = 60
    """test prompts of lasso, boosting and net"""
    steps: int = 0
    """training steps of the decoder; 0 leaves it out"""
    seed: int = 0
    """of the prompts and of the training"""
    out: Path = Path("icl-compare")
    """where the figure (.svg, .png), its data (.csv) and the decoder (.safetensors) go"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.experiments.comparison import Comparison, compare
        from glyptic.icl.experiments.curves import draw_comparison, legend_beside, table_rows

        settings = {name: value for name, value in self.__dict__.items() if name != "out"}
        comparison = Comparison(**settings)
        curves = compare(comparison, self.out.with_name(self.out.name + ".safetensors") if self.steps else None)
        print(figures.table(table_rows(curves)))
        figure, axes = figures.new(size=(8.2, 4.6))
        draw_comparison(axes, curves, self.task, self.d, self.shift)
        legend_beside(figure)
        for path in figures.save(figure, [row for one in curves for row in one.rows()], self.out):
            print(path)
