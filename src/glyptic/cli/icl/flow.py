"""`glyptic icl flow`: gradient flow of linear attention to its closed-form limit."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from glyptic.cli.icl import flags


@dataclass(frozen=True)
class FlowCommand(flags.TheoryCommand):
    """Train linear attention on in-context regression by exact gradient flow, and compare the end with the theorem.

    No sampling: the population loss is a polynomial, the flow a differential equation in d + 2 unknowns. The figure shows the
    loss, the eigendirections of Λ learnt one after the other, and the Polyak–Łojasiewicz ratio with its bound μ.
    Example: glyptic icl flow --d 20 --spectrum kappa:100
    """

    noise_variance: flags.NoiseVariance = 0.0
    sigma: flags.Start = None
    full: bool = True
    """also solve for all (d+1)² weights and compare (skipped above d = 12)"""
    out: flags.FigureStem = Path("icl-flow")

    def study(self, problem: flags.Problem) -> None:
        from glyptic.icl.theory import pictures, studies
        from glyptic.icl.theory.reduced import reduced_flow
        from glyptic.icl.theory.theorem import initial_blocks, pl_constant, threshold

        sigma = threshold(problem) / 2 if self.sigma is None else self.sigma
        with warnings.catch_warnings(record=True) as caught:
            start = initial_blocks(problem, sigma)
        for warning in caught:
            print(f"glyptic icl flow: {warning.message}", file=sys.stderr)
        path = reduced_flow(problem, start)
        columns = studies.flow_columns(path, sigma)
        flags.show(studies.flow_rows(path, columns, sigma), digits=6)
        check = studies.flow_check(path, start) if self.full and self.d <= 12 else None
        figure = pictures.draw_flow(columns, problem.covariance.diagonal(), pl_constant(problem, sigma), check)
        flags.save(figure, columns, self.out)
