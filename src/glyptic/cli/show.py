"""`glyptic show`: what a model is, in a page of text."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from glyptic.arguments import Count
from glyptic.cli.reading import FormatName, Model, refuse_idle
from glyptic.files import read_json


@dataclass(frozen=True)
class ShowCommand:
    """Print a model's sizes, format, coordinates, sparsity and cost.

    MODEL is a folder, or a built-in decider. A folder of a public model (GPT-2, LLaMA, …) shows its cost a layer.

    Examples: glyptic show parity:8 --format float:4,3
              glyptic show path/to/gpt2 --batch 8 --length 1024
    """

    model: Model
    """A folder, or a built-in decider such as parity:8."""
    format: FormatName = None
    """Show an exact transformer as it would be in this format."""
    batch: Annotated[int, Count(1, 10**9)] = 1
    """For a public model: the batch that the cost is reckoned for."""
    length: Annotated[int, Count(1, 10**9)] | None = None
    """For a public model: the length that the cost is reckoned for; 256 unless told, or the context if that is shorter."""

    latex: bool = False
    """Print an exact transformer in LaTeX, to paste into a paper: its matrices with the names of coordinates, and its frame."""

    def main(self) -> None:
        if _is_public(Path(self.model)):
            from glyptic import nn

            refuse_idle(self, ("format", "latex"), "on a public model, which is not an exact transformer and has no format")
            config = nn.read_config(self.model)
            print(nn.cost(config, batch=self.batch, length=min(256, config.context) if self.length is None else self.length))
            return
        from glyptic import programs

        refuse_idle(self, ("batch", "length"), "on an exact transformer: the cost of public models is reckoned for them")
        transformer = programs.open(self.model, self.format)
        print(transformer.to_latex() if self.latex else transformer.describe())


def _is_public(folder: Path) -> bool:
    """Whether a folder's config is that of a public model rather than of an exact transformer."""
    path = folder / "config.json"
    if not os.path.lexists(path):
        return False
    config = read_json(path)
    return isinstance(config, dict) and "model_type" in config
