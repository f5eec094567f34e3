"""`glyptic icl landscape`: critical points of the full loss, and where random starts end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glyptic.arguments import Count
from glyptic.cli.icl import flags


@dataclass(frozen=True)
class LandscapeCommand(flags.TheoryCommand):
    """Which minima does the loss of linear attention have, and how often does gradient flow miss the global one?

    The convergence theorem starts with two blocks of the weights at zero. Off that start there may be minima that are not global:
    none, one or more, by d, N and --spectrum. The command lists critical points by the signs of their exact Hessians and follows
    flows from Gaussian starts; the share that ends in a spurious minimum is counted, and was found anywhere from 0 to above
    90 %. The list is proved to be complete for --spectrum isotropic, and searched for otherwise. d is from 2 to 5 here; d = 2
    takes seconds, d = 3 a minute.
    Example: glyptic icl landscape --spectrum 1,0.9 --starts 1000 --other-N 1 3 5 20 100
    """

    d: flags.TheDimension = 2
    N: flags.TrainingLength = 10
    deviation: flags.StartDeviation = 0.1
    starts: flags.Starts = 400
    tries: flags.Tries = 100
    other_N: flags.OtherLengths = ()
    seed: flags.TheSeed = 0
    out: flags.FigureStem = Path("icl-landscape")

    def study(self, problem: flags.Problem) -> None:
        Count(2, 5)("--d", self.d)
        from glyptic.icl.theory import pictures, studies
        from glyptic.icl.theory.landscape import basins, critical_points

        points = critical_points(problem, self.tries, self.seed)
        found = basins(problem, self.starts, self.deviation, self.seed)
        rows = [
            {
                "kind": point.kind, "loss": point.loss, "falls along": point.descending, "flat": point.flat,
                "softest": point.softest, "signal through": point.path,
                "starts that end here": f"{found.share_at(point):.1%}",
            }
            for point in points
        ]  # fmt: skip
        flags.show(rows, digits=6)
        others = studies.minima_rows(problem, self.other_N, self.tries, self.seed)
        if others:
            flags.show(others, digits=6)
        title = f"d = {self.d}, Λ {self.spectrum}, N = {self.N}; all weights start as N(0, {self.deviation:g}²)"
        figure = pictures.draw_landscape(problem, found, points, title)
        data = [{"panel": "critical point", **row} for row in rows]
        data += [{"panel": "other N", **row} for row in others]
        for flow, end in enumerate(found.end_of):
            data.append({"panel": "flow", "start": flow, "kind": found.ends[end].kind, "loss": found.losses[-1, flow]})
        flags.save(figure, data, self.out)
