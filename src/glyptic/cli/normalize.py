"""`glyptic normalize`: a decider whose last residual is its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from glyptic.arguments import FolderToFill
from glyptic.cli.reading import FormatName, Model, Yes, refuse_idle

Kind = Literal["zero_one", "infinity", "plus_minus"]


@dataclass(frozen=True)
class NormalizeCommand:
    """Normalize a transformer: its last residual becomes its answer, and its output matrix a projection.

    zero_one leaves (T_NO, T_YES, 0, …); infinity (1, 0, 0, …) or (1, ∞, 0, …); plus_minus (∞, −∞, 0, …) or (−∞, ∞, 0, …).
    Prints the frame of what was added and writes the result to a folder.

    Example: glyptic normalize parity:8 --kind infinity --format fixed:4 --out normal
    """

    model: Model
    """a folder, or a built-in decider such as parity:8"""
    kind: Kind = "plus_minus"
    """which normalization"""
    yes: Yes = None
    """the answer that means yes, of a model whose answers are not named NO and YES (SÍ): 1 where they are 0 and 1"""
    out: FolderToFill = Path("normalized")
    """the folder to write: a new one, or one that holds an exact transformer and nothing else"""
    overwrite: bool = False
    """replace the config.json and model.safetensors of anyone, and keep other files"""
    format: FormatName = None
    """the number format, such as fixed:8 or float:4,3"""
    force: bool = False
    """build it even in a format where it is known to fail"""

    def main(self) -> None:
        from glyptic import programs
        from glyptic.carve import normalize
        from glyptic.exact.files import check_place
        from glyptic.text import printable

        if self.kind == "zero_one":
            refuse_idle(self, ("yes",), "with --kind zero_one, which keeps the logit of every answer")
        check_place(self.out, overwrite=self.overwrite)
        build = getattr(normalize, self.kind)  # each kind is the name of its function
        model = programs.open(self.model, self.format)
        told: dict[str, Any] = {} if self.yes is None else {"yes": self.yes}
        made = build(model, force=self.force, **told)
        made = made.replace(name=printable(f"{self.kind} normalization of {model.name or self.model}"))
        made.save(self.out, overwrite=self.overwrite)
        print(f"{made.frame()}\n\nwritten to {self.out}")
