"""`glyptic frame`: what each construction in a transformer reads, writes, preserves, costs and needs."""

from __future__ import annotations

from dataclasses import dataclass

import tyro


@dataclass(frozen=True)
class Frame:
    """Print the frame of a transformer: a block for each construction in its history, then the totals."""

    model: tyro.conf.Positional[str]
    """a folder, or a built-in decider such as parity:8"""
    format: str | None = None
    """the number format, such as fixed:8 or float:4,3"""

    def main(self) -> None:
        from glyptic.cli.models import open_model

        print(open_model(self.model, self.format).frame())
