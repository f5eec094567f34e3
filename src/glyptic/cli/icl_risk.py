"""`glyptic icl risk`: the risk of the trained model on labels of any law, in three parts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RiskCommand:
    """How well does linear attention, trained on noiseless linear labels, predict labels of other laws?

    The risk is exact and has three parts: the floor that no linear predictor can pass, the variance of a short test
    context (1/M), and the bias of short training contexts (1/N²). Eight laws, each also sampled as a check.
    Example: glyptic icl risk --d 10 --train-length 100 --test-length 30
    """

    d: int = 5
    """dimension of the inputs"""
    train_length: int = 20
    """N: labelled examples in a training prompt"""
    test_length: int = 20
    """M: labelled examples in a test prompt"""
    spectrum: str = "inverse"
    """eigenvalues of Λ: isotropic, inverse (1/i), kappa:100 (geometric from 1 to 1/100), or d numbers such as 1,0.5"""
    prompts: int = 100_000
    """sampled prompts a law; 0 for the formulas alone"""
    seed: int = 0
    """of the directions and of the sampled prompts"""
    out: Path = Path("icl-risk")
    """where the figure (.svg, .png) and its data (.csv) go"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.theory import pictures, studies
        from glyptic.icl.theory.problem import Problem, spectrum

        problem = Problem(spectrum(self.spectrum, self.d), self.train_length)
        rows = studies.risk_rows(problem, self.test_length, self.prompts, self.seed)
        print(figures.table(rows))
        by_M = studies.risk_by_M(problem, self.prompts, self.seed)
        by_N = studies.risk_by_N(problem, self.seed)
        print(f"slope of the variance in M: {by_M['slope']:.3f};  of the bias in N, last decade: {by_N['slope']:.3f}")
        lengths = f"Trained with N = {self.train_length}, tested with M = {self.test_length}"
        title = f"{lengths}; d = {self.d}, Λ {self.spectrum}"
        figure = pictures.draw_risk(rows, by_M, by_N, title)
        data = [{"panel": "law", **row} for row in rows]
        data += [{"panel": "M", "length": M, "variance": v} for M, v in zip(by_M["length"], by_M["exact"], strict=True)]
        data += [{"panel": "N", "length": N, "bias": b} for N, b in zip(by_N["length"], by_N["exact"], strict=True)]
        for written in figures.save(figure, data, self.out):
            print(written)
