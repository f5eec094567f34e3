"""`glyptic icl landscape`: critical points of the full loss, and where random starts end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Landscape:
    """Which minima does the loss of linear attention have, and how often does gradient flow miss the global one?

    The convergence theorem starts with two blocks of the weights at zero. From generic starts many flows (a fifth to
    three quarters, by --scale and --spectrum) end in a minimum that is not global. The command finds critical points,
    classifies them by their exact Hessians, and follows flows from Gaussian starts. d is at most 5 here; d = 2 takes
    seconds, d = 3 a minute.
    Example: glyptic icl landscape --spectrum 1,0.9 --starts 1000
    """

    d: int = 2
    """dimension of the inputs, at most 5"""
    train_length: int = 10
    """N: labelled examples in a training prompt"""
    spectrum: str = "inverse"
    """eigenvalues of Λ: isotropic, inverse (1/i), kappa:100 (geometric from 1 to 1/100), or d numbers such as 1,0.5"""
    scale: float = 0.1
    """standard deviation of every weight at the start"""
    starts: int = 400
    """random starts"""
    tries: int = 100
    """random points from which critical points are searched"""
    seed: int = 0
    """of the starts and of the search"""
    out: Path = Path("icl-landscape")
    """where the figure (.svg, .png) and its data (.csv) go"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.theory import pictures
        from glyptic.icl.theory.landscape import basins, critical_points
        from glyptic.icl.theory.problem import Problem, spectrum

        problem = Problem(spectrum(self.spectrum, self.d), self.train_length)
        points = critical_points(problem, self.tries, self.seed)
        found = basins(problem, self.starts, self.scale, self.seed)
        ended = {end.key: float((found.end_of == index).mean()) for index, end in enumerate(found.ends)}
        rows = [
            {
                "kind": point.kind, "loss": point.loss, "falls along": point.descending, "flat": point.flat,
                "softest": point.softest, "signal through": point.path,
                "starts that end here": f"{ended.get(point.key, 0.0):.1%}",
            }
            for point in points
        ]  # fmt: skip
        print(figures.table(rows, digits=6))
        title = f"d = {self.d}, Λ {self.spectrum}, N = {self.train_length}; all weights start as N(0, {self.scale:g}²)"
        figure = pictures.draw_landscape(problem, found, points, title)
        data = [{"panel": "critical point", **row} for row in rows]
        for flow, end in enumerate(found.end_of):
            data.append({"panel": "flow", "start": flow, "kind": found.ends[end].kind, "loss": found.losses[-1, flow]})
        for written in figures.save(figure, data, self.out):
            print(written)
