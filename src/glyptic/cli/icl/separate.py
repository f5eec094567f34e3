"""`glyptic icl separate`: keys and queries as matrices of their own, learnt down a staircase."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glyptic.arguments import Count
from glyptic.cli.icl import flags


@dataclass(frozen=True)
class SeparateCommand(flags.TheoryCommand):
    """What changes when keys and queries are trained as matrices of their own, not as their product?

    The loss then rests at every set of at most heads × rank eigendirections, its values are known in closed form, and a small
    start visits them one after the other, the largest eigenvalue first. The command solves the flow and puts its plateaus
    beside the closed form; the merged model, from a start of the same size, falls once. d is from 1 to 16 here.
    Example: glyptic icl separate --d 4 --heads 4 --deviation 0.001
    """

    d: flags.TheDimension = 4
    noise_variance: flags.NoiseVariance = 0.0
    heads: flags.Heads = 4
    rank: flags.Rank = 1
    deviation: flags.StartDeviation = 0.01
    seed: flags.TheSeed = 0
    out: flags.FigureStem = Path("icl-separate")

    def study(self, problem: flags.Problem) -> None:
        Count(1, 16)("--d", self.d)
        from glyptic.icl.theory import pictures, studies
        from glyptic.icl.theory.separate import fixed_points, separate_flow

        path = separate_flow(problem, self.heads, self.rank, self.deviation, self.seed)
        rows = studies.stair_rows(path, self.heads * self.rank)
        flags.show(rows, digits=6)
        columns = studies.separate_columns(path)
        merged = studies.merged_columns(problem, self.deviation, self.seed, path.times[-1])
        heads = f"{self.heads} head{'s' if self.heads > 1 else ''} of rank {self.rank}"
        title = f"d = {self.d}, Λ {self.spectrum}, N = {self.N}; {heads}, all weights start as N(0, {self.deviation:g}²)"
        points = fixed_points(problem, min(self.d, self.heads * self.rank)) if self.d <= 8 else []
        figure = pictures.draw_separate(problem, columns, merged, rows, points, title)
        data = [{"panel": "plateau", **row} for row in rows]
        data += studies.as_rows("separate", columns) + studies.as_rows("merged", merged)
        data += [{"panel": "fixed point", "learnt": len(p.directions), "closed form": p.loss} for p in points]
        flags.save(figure, data, self.out)
