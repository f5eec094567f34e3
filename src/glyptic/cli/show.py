"""`glyptic show`: what a model is, in a page of text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True)
class Show:
    """Print a model's sizes, format, coordinates, sparsity and cost.

    MODEL is a folder, or a built-in decider. A folder of a public model (GPT-2, LLaMA, …) shows its cost a layer.
    """

    model: Positional[str]
    """A folder, or a built-in decider such as parity:8."""
    format: str | None = None
    """Show an exact transformer as it would be in this format."""
    batch: int = 1
    """For a public model: the batch that the cost is reckoned for."""
    length: int | None = None
    """For a public model: the length that the cost is reckoned for; 256 unless told, or the context if that is shorter."""

    def main(self) -> None:
        if _is_public(Path(self.model)):
            from glyptic import nn
            from glyptic.errors import InputError

            if self.format is not None:
                raise InputError(f"--format {self.format}: {self.model} is not an exact transformer and has no format.")
            config = nn.read_config(self.model)
            print(nn.cost(config, batch=self.batch, length=min(256, config.context) if self.length is None else self.length))
            return
        from glyptic.cli.models import open_model

        print(open_model(self.model, self.format).describe())


def _is_public(folder: Path) -> bool:
    """Whether a folder's config is that of a public model rather than of an exact transformer."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and "model_type" in config
