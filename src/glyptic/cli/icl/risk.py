"""`glyptic icl risk`: the risk of the trained model on labels of any law, in three parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glyptic.cli.icl import flags


@dataclass(frozen=True)
class RiskCommand(flags.TheoryCommand):
    """How well does linear attention, trained on noiseless linear labels, predict labels of other laws?

    The risk is exact and has three parts: the floor that no linear predictor can pass, the variance of a short test
    context (1/M), and the bias of short training contexts (1/N²). Eight laws, each also sampled as a check.
    Example: glyptic icl risk --d 10 --N 100 --M 30
    """

    M: flags.TestLength = 20
    prompts: flags.PromptsOrNone = 100_000
    seed: flags.TheSeed = 0
    out: flags.FigureStem = Path("icl-risk")

    def study(self, problem: flags.Problem) -> None:
        from glyptic.icl.theory import pictures, studies

        rows = studies.risk_rows(problem, self.M, self.prompts, self.seed)
        flags.show(rows)
        by_M = studies.risk_by_M(problem, self.prompts, self.seed)
        by_N = studies.risk_by_N(problem, self.seed)
        print(f"slope of the variance in M: {by_M['slope']:.3f};  of the bias in N, last decade: {by_N['slope']:.3f}")
        lengths = f"Trained with N = {self.N}, tested with M = {self.M}"
        title = f"{lengths}; d = {self.d}, Λ {self.spectrum}"
        figure = pictures.draw_risk(rows, by_M, by_N, title)
        data = [{"panel": "law", **row} for row in rows]
        data += [{"panel": "M", "M": M, "variance": v} for M, v in zip(by_M["length"], by_M["exact"], strict=True)]
        data += [{"panel": "N", "N": N, "bias": b} for N, b in zip(by_N["length"], by_N["exact"], strict=True)]
        flags.save(figure, data, self.out)
