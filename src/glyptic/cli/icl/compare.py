"""`glyptic icl compare`: risk against the number of in-context examples, everybody on the same prompts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glyptic.arguments import Stem, affordable
from glyptic.cli.icl import flags
from glyptic.cli.reading import refuse_idle

ALL = ("ols", "ridge", "lasso", "knn", "average", "cart", "boosting", "net")
SLOW = ("lasso", "boosting", "net")


@dataclass(frozen=True)
class CompareCommand:
    """Compare baselines, exact linear attention and (with --steps) a trained decoder on a task of Garg et al."""

    task: Literal["linear", "noisy", "sparse", "relu", "tree", "quadratic", "classification"] = "noisy"
    """the law of the functions"""
    shift: str = "none"
    """how test prompts differ: none, random-quadrant, opposite-quadrant, subspace, skew, orthogonal-query,
    overlapping-query, scale-x:C, scale-y:C, noise:V (more noise, of variance V)"""
    d: flags.TheDimension = 5
    N: flags.TrainingLength = 20
    every: flags.Every = 2
    baselines: tuple[str, ...] = ALL
    """which: ols ridge lasso knn average cart boosting net"""
    prompts: flags.Prompts = 1000
    slow_prompts: flags.SlowPrompts = 200
    steps: flags.StepsOrNone = 0
    seed: flags.TheSeed = 0
    out: Stem = Path("icl-compare")
    """where the figure (.svg, .png), its data (.csv) and the decoder (.safetensors) go"""

    def main(self) -> None:
        flags.check(self)
        from glyptic import figures
        from glyptic.icl.experiments.comparison import LearnerComparison, compare
        from glyptic.icl.experiments.curves import draw_comparison, legend_beside, table_rows

        if not set(SLOW) & set(self.baselines):
            refuse_idle(self, ("slow_prompts",), "without a slow baseline: lasso, boosting or net")
        affordable("the test prompts", self.prompts, self.N + 1, self.d + 1)
        settings = {name: value for name, value in self.__dict__.items() if name != "out"}
        comparison = LearnerComparison(**settings)
        curves = compare(comparison, self.out.with_name(self.out.name + ".safetensors") if self.steps else None)
        flags.show(table_rows(curves))
        figure, axes = figures.new(size=(8.2, 4.6))
        draw_comparison(axes, curves, self.task, self.d, self.shift)
        legend_beside(figure)
        figures.note(figure, self._note())
        flags.save(figure, [row for one in curves for row in one.rows()], self.out)

    def _note(self) -> str:
        """What the figure does not show by itself: lengths, training, and what the bands are."""
        trained = f"; decoder: {self.steps} steps of Adam, one training" if self.steps else ""
        found = ", ".join(name for name in self.baselines if name in SLOW)
        slow = f" (the first {self.slow_prompts} of them for {found})" if found else ""
        bands = f"Bands: 90 % bootstrap over {self.prompts} prompts{slow}"
        return f"N = {self.N}{trained}.\n{bands}. What is worse than knowing nothing by a third is cut off."
