"""The flags that `icl` commands share: the same name, meaning, values and help in each of them (see `icl.names`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import tyro

from glyptic.arguments import Count, Seed, Workers, check_fields, refused
from glyptic.errors import FileError
from glyptic.files import quoted_path, taken
from glyptic.icl.names import MEANING, Deviation, Dimension, Length, PromptCount, Sigma, Steps, Variance


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
TheSeed = Annotated[Seed, _flag("seed")]
TrainingSteps = Annotated[Steps, _flag("steps")]
StepsOrNone = Annotated[int, Count(0, 10**8), _flag("steps", "; 0 for none")]
Batch = Annotated[PromptCount, _flag("batch")]
Layers = Annotated[int, Count(1, 1000), _flag("layers")]
Cells = Annotated[Workers, _flag("workers")]
Backend = Annotated[Literal["loky", "ray", "dask", "sequential"], _flag("backend")]


def check(command: Any) -> None:
    """Every flag admits what its type says; else one sentence that names the flag, before anything is computed."""
    check_fields(command, lambda field: "--" + field.replace("_", "-"))
    if command.out.name in ("", ".."):
        raise refused("--out", str(command.out), "a name for what is written")
    for ending in (".svg", ".png"):  # told before hours of work, and again when they are written
        picture = command.out.with_name(command.out.name + ending)
        if taken(picture):
            raise FileError(f"{quoted_path(picture)} is there, and was not drawn by Glyptic: remove it, or choose another name.")
