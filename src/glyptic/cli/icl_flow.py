"""`glyptic icl flow`: gradient flow of linear attention to its closed-form limit."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Flow:
    """Train linear attention on in-context regression by exact gradient flow, and compare the end with the theorem.

    No sampling: the population loss is a polynomial, the flow a differential equation in d + 2 unknowns. The figure
    shows the loss, the eigendirections of Λ learnt one after the other, and the Polyak–Łojasiewicz ratio with its
    bound μ.
    Example: glyptic icl flow --d 20 --spectrum kappa:100
    """

    d: int = 5
    """dimension of the inputs"""
    train_length: int = 20
    """N: labelled examples in a training prompt"""
    spectrum: str = "inverse"
    """eigenvalues of Λ: isotropic, inverse (1/i), kappa:100 (geometric from 1 to 1/100), or d numbers such as 1,0.5"""
    noise: float = 0.0
    """variance of the label noise"""
    scale: float | None = None
    """σ: size of the start; by default half of the theorem's threshold, above which it warns and goes on"""
    full: bool = True
    """also solve for all (d+1)² weights and compare (skipped above d = 12)"""
    out: Path = Path("icl-flow")
    """where the figure (.svg, .png) and its data (.csv) go"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.theory import pictures, studies
        from glyptic.icl.theory.problem import Problem, spectrum
        from glyptic.icl.theory.reduced import reduced_flow
        from glyptic.icl.theory.theorem import initial_blocks, pl_constant, threshold

        eigenvalues = spectrum(self.spectrum, self.d)
        problem = Problem(eigenvalues, self.train_length, noise_variance=self.noise)
        scale = threshold(problem) / 2 if self.scale is None else self.scale
        with warnings.catch_warnings(record=True) as caught:
            start = initial_blocks(problem, scale)
        for warning in caught:
            print(f"glyptic icl flow: {warning.message}", file=sys.stderr)
        path = reduced_flow(problem, start)
        columns = studies.flow_columns(path, scale)
        print(figures.table(studies.flow_rows(path, columns, scale), digits=6))
        check = studies.flow_check(path, start) if self.full and self.d <= 12 else None
        figure = pictures.draw_flow(columns, eigenvalues, pl_constant(problem, scale), check)
        for written in figures.save(figure, columns, self.out):
            print(written)
