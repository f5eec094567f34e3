"""`glyptic icl diversity`: pretraining on a fixed set of tasks, to the limit; risks on these and on new tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glyptic.arguments import Count
from glyptic.cli.icl import flags


@dataclass(frozen=True)
class DiversityCommand(flags.TheoryCommand):
    """With how many pretraining tasks does linear attention learn to learn, and not the tasks?

    T tasks are drawn once, linear attention is trained on them to the minimum of its loss, in closed form, and its
    risk on new tasks is set beside that on its own: exact for every draw, averaged over draws, with the limit of
    large dimensions as a line. New tasks are answered once T passes d.
    Example: glyptic icl diversity --d 20 --N 100 --M 100 --draws 200
    """

    d: flags.TheDimension = 20
    N: flags.TrainingLength = 40
    M: flags.TestLength = 40
    spectrum: flags.Spectrum = "isotropic"
    noise_variance: flags.NoiseVariance = 0.0
    tasks: flags.TaskNumbers = ()
    draws: flags.Draws = 100
    seed: flags.TheSeed = 0
    out: flags.FigureStem = Path("icl-diversity")

    def study(self, problem: flags.Problem) -> None:
        Count(1, 200)("--d", self.d)
        from glyptic.icl.theory import pictures, studies

        counts = sorted(set(self.tasks)) or studies.task_counts(self.d)
        rows = studies.diversity_study(problem, counts, self.draws, self.M, self.seed)
        flags.show(rows, digits=5)
        curves = studies.diversity_curves(problem)
        title = (
            f"d = {self.d}, Λ {self.spectrum}, s² = {self.noise_variance:g}; trained with N = {self.N} to the minimum, "
            f"asked after M = {self.M}; {self.draws} draws of the T tasks, bars: ± 2 s.e."
        )
        figure = pictures.draw_diversity(problem, rows, curves, title)
        data = [{"panel": "risk", **row} for row in rows] + [{"panel": "limit", **row} for row in curves]
        flags.save(figure, data, self.out)
