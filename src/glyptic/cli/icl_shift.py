"""`glyptic icl shift`: the trained model when the test differs from the training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ShiftCommand:
    """What happens to trained linear attention when tasks, queries, noise or inputs change at test time?

    One formula answers for all. Tasks and queries may change freely; the covariance of the inputs may not, and training
    on random covariances does not cure it. Risks are relative to always answering 0; each is also sampled.
    Example: glyptic icl shift --d 10 --train-length 200 --test-length 200
    """

    d: int = 5
    """dimension of the inputs"""
    train_length: int = 40
    """N: labelled examples in a training prompt"""
    test_length: int = 40
    """M: labelled examples in a test prompt"""
    spectrum: str = "inverse"
    """eigenvalues of Λ: isotropic, inverse (1/i), kappa:100 (geometric from 1 to 1/100), or d numbers such as 1,0.5"""
    noise: float = 0.0
    """variance of the label noise in training"""
    prompts: int = 50_000
    """sampled prompts a shift; 0 for the formula alone"""
    seed: int = 0
    """of the shifts' directions and of the sampled prompts"""
    out: Path = Path("icl-shift")
    """where the figure (.svg, .png) and its data (.csv) go"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.theory import pictures, studies
        from glyptic.icl.theory.problem import Problem, spectrum

        problem = Problem(spectrum(self.spectrum, self.d), self.train_length, noise_variance=self.noise)
        rows = studies.shift_rows(problem, self.test_length, self.prompts, self.seed)
        print(figures.table(rows))
        scales, random = studies.scale_curves(problem, self.test_length), studies.random_curves(self.d)
        lengths = f"Trained with N = {self.train_length}, tested with M = {self.test_length}"
        title = f"{lengths}; d = {self.d}, Λ {self.spectrum}"
        figure = pictures.draw_shift(rows, scales, random, title)
        data = [{"panel": "shift", **row} for row in rows]
        for index, scale in enumerate(scales["scale"]):
            data.append({"panel": "scale", "c": scale} | {name: c[index] for name, c in scales["curves"].items()})
        triples = zip(random["length"], random["answer"], random["fixed"], strict=True)
        data += [{"panel": "random Λ", "N": N, "trained on Exp(1)": p, "trained on I": q} for N, p, q in triples]
        for written in figures.save(figure, data, self.out):
            print(written)
