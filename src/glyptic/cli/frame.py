"""`glyptic frame`: what each construction in a transformer reads, writes, preserves, costs and needs."""

from __future__ import annotations

from dataclasses import dataclass

from glyptic.cli.reading import FormatName, Model


@dataclass(frozen=True)
class FrameCommand:
    """Print the frame of a transformer: a block for each construction in its history, then the totals.

    Example: glyptic frame parity:8
    """

    model: Model
    """a folder, or a built-in decider such as parity:8"""
    format: FormatName = None
    """the number format, such as fixed:8 or float:4,3"""

    latex: bool = False
    """print it as a table in LaTeX, to paste into a paper"""

    def main(self) -> None:
        from glyptic import programs

        transformer = programs.open(self.model, self.format)
        print(transformer.to_latex(part="frame") if self.latex else transformer.frame())
