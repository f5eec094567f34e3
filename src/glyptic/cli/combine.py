"""`glyptic combine`: one decider from several, by an expression such as `parity:8 & ~contains:11,8`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from glyptic.arguments import FolderToFill
from glyptic.cli.reading import Expression, FormatName, Yes


@dataclass(frozen=True)
class CombineCommand:
    """Combine deciders: & and, | or, ^ exclusive or, ~ not, parentheses.

    Operands are built-in deciders or folders, in quotes if their names hold such signs. Prints the frame and writes
    the result to a folder.

    Example: glyptic combine "parity:8 & ~(contains:11,8 | majority:8)" --out both
    """

    expression: Expression
    """such as "parity:8 & ~contains:11,8" """
    yes: Yes = None
    """the answer that means yes, of deciders whose answers are not named NO and YES (SÍ): 1 where they are 0 and 1; in the
    result they are named NO and YES"""
    out: FolderToFill = Path("combined")
    """the folder to write: a new one, or one that holds an exact transformer and nothing else"""
    overwrite: bool = False
    """replace the config.json and model.safetensors of anyone, and keep other files"""
    format: FormatName = None
    """the number format, such as fixed:8 or float:4,3"""

    def main(self) -> None:
        from glyptic.exact.files import check_place
        from glyptic.programs import combine

        check_place(self.out, overwrite=self.overwrite)
        made = combine(self.expression, self.format, yes=self.yes)
        made.save(self.out, overwrite=self.overwrite)
        print(f"{made.frame()}\n\nwritten to {self.out}")
