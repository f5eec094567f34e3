"""What `icl` commands share: flags of the same name, meaning, values and help in each of them (see `icl.names`); the problem that
they describe; the table that is printed, the figure that is saved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from glyptic.arguments import Count, Number, Seed, Stem, Workers, check_fields, refused
from glyptic.cli.reading import flag
from glyptic.icl.names import MEANING, Deviation, Dimension, Length, PromptCount, Sigma, Steps, Variance
from glyptic.text import table_of

if TYPE_CHECKING:
    from glyptic.figures import Data
    from glyptic.icl.theory.problem import Problem as Problem


def _flag(name: str, note: str = "") -> Any:
    return tyro.conf.arg(help=MEANING[name] + note)


TheDimension = Annotated[Dimension, _flag("d")]
TrainingLength = Annotated[Length, _flag("N")]
TestLength = Annotated[Length, _flag("M")]
Spectrum = Annotated[str, _flag("spectrum")]
Dimensions = Annotated[tuple[Dimension, ...], _flag("d")]
TrainingLengths = Annotated[tuple[Length, ...], _flag("N")]
TestLengths = Annotated[tuple[Length, ...], _flag("M")]
Spectra = Annotated[tuple[str, ...], _flag("spectrum")]
NoiseVariances = Annotated[tuple[Variance, ...], _flag("noise_variance")]
Seeds = Annotated[tuple[Seed, ...], _flag("seed")]
NoiseVariance = Annotated[Variance, _flag("noise_variance")]
Start = Annotated[Sigma | None, _flag("sigma")]
StartDeviation = Annotated[Deviation, _flag("deviation")]
Prompts = Annotated[PromptCount, _flag("prompts")]
PromptsOrNone = Annotated[int, Count(0, 10**8), _flag("prompts", "; 0 for the formulas alone")]
SlowPrompts = Annotated[PromptCount, _flag("slow_prompts")]
TaskNumbers = Annotated[tuple[Annotated[int, Count(1, 10**5)], ...], _flag("tasks")]
Draws = Annotated[int, Count(2, 10**5), _flag("draws")]
Starts = Annotated[int, Count(1, 10**6), _flag("starts")]
Tries = Annotated[int, Count(0, 10**6), _flag("tries")]
OtherLengths = Annotated[tuple[Annotated[int, Count(1, 10**6)], ...], _flag("other_N")]
Every = Annotated[Length, _flag("every")]
TheSeed = Annotated[Seed, _flag("seed")]
TrainingSteps = Annotated[Steps, _flag("steps")]
FigureStem = Annotated[Stem, tyro.conf.arg(help="where the figure (.svg, .png) and its data (.csv) go")]
StepsOrNone = Annotated[int, Count(0, 10**8), _flag("steps", "; 0 for none")]
Batch = Annotated[PromptCount, _flag("batch")]
Rate = Annotated[Annotated[float, Number(above=0, most=1e6)] | None, _flag("rate")]
Curriculum = Annotated[int, Count(0), _flag("curriculum")]
Width = Annotated[int, Count(1, 10**4), _flag("width")]
Heads = Annotated[int, Count(1, 64), _flag("heads")]
Rank = Annotated[int, Count(1, 64), _flag("rank")]
Layers = Annotated[int, Count(1, 1000), _flag("layers")]
Cells = Annotated[Workers | None, _flag("workers")]
Backend = Annotated[Literal["loky", "ray", "dask", "sequential"], _flag("backend")]


def check(command: Any) -> None:
    """Every flag admits what its type says; else one sentence that names the flag, before anything is computed."""
    check_fields(command, flag)
    if command.out.name in ("", ".."):
        raise refused("--out", str(command.out), "a name for what is written")
    from glyptic.figures import refuse_others

    # told before hours of work, and again when they are written
    refuse_others({command.out.with_name(command.out.name + ending): b"" for ending in (".svg", ".png")})


@dataclass(frozen=True)
class TheoryCommand:
    """What the commands of the theory have in common: a law of prompts, of which they study something."""

    d: TheDimension = 5
    N: TrainingLength = 20
    spectrum: Spectrum = "inverse"

    def main(self) -> None:
        from glyptic.icl.theory.problem import Problem, spectrum

        check(self)
        noise_variance = getattr(self, "noise_variance", 0.0)
        self.study(Problem(spectrum(self.spectrum, self.d), self.N, noise_variance=noise_variance))

    def study(self, problem: Problem) -> None:
        raise NotImplementedError


def show(rows: Sequence[Mapping[str, Any]], digits: int = 4) -> None:
    """Print a table."""
    print(table_of(rows, digits))


def save(figure: Any, data: Data, out: Path) -> None:
    """Write the figure and its data, and say where."""
    from glyptic import figures

    for path in figures.save(figure, data, out):
        print(path)
