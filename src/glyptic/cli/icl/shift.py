"""`glyptic icl shift`: the trained model when the test differs from the training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glyptic.cli.icl import flags


@dataclass(frozen=True)
class ShiftCommand(flags.TheoryCommand):
    """What happens to trained linear attention when tasks, queries, noise or inputs change at test time?

    One formula answers for all. Tasks and queries may change freely; the covariance of the inputs may not, and training
    on random covariances does not cure it. Risks are relative to always answering 0; each is also sampled.
    Example: glyptic icl shift --d 10 --N 200 --M 200
    """

    N: flags.TrainingLength = 40
    M: flags.TestLength = 40
    noise_variance: flags.NoiseVariance = 0.0
    prompts: flags.PromptsOrNone = 50_000
    seed: flags.TheSeed = 0
    out: flags.FigureStem = Path("icl-shift")

    def study(self, problem: flags.Problem) -> None:
        from glyptic.icl.theory import pictures, studies

        rows = studies.shift_rows(problem, self.M, self.prompts, self.seed)
        flags.show(rows)
        scales, random = studies.scale_curves(problem, self.M), studies.random_curves(self.d)
        lengths = f"Trained with N = {self.N}, tested with M = {self.M}"
        title = f"{lengths}; d = {self.d}, Λ {self.spectrum}"
        figure = pictures.draw_shift(rows, scales, random, title)
        data = [{"panel": "shift", **row} for row in rows]
        for index, c in enumerate(scales["c"]):
            data.append({"panel": "scaled inputs", "c": c} | {name: curve[index] for name, curve in scales["curves"].items()})
        triples = zip(random["length"], random["answer"], random["fixed"], strict=True)
        data += [{"panel": "random Λ", "N": N, "trained on Exp(1)": p, "trained on I": q} for N, p, q in triples]
        flags.save(figure, data, self.out)
