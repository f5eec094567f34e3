"""`glyptic normalize`: a decider whose last residual is its answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from glyptic.arguments import FolderToFill
from glyptic.cli.idle import refuse_idle
from glyptic.cli.models import FormatName, Model, Yes

Kind = Literal["01", "inf", "plus-minus"]


@dataclass(frozen=True)
class NormalizeCommand:
    """Normalize a transformer: its last residual becomes its answer, and its output matrix a projection.

    01 leaves (T_NO, T_YES, 0, …); inf (1, 0, 0, …) or (1, ∞, 0, …); plus-minus (∞, −∞, 0, …) or (−∞, ∞, 0, …). Prints
    the frame of what was added and writes the result to a folder.

    Example: glyptic normalize parity:8 --kind inf --format fixed:4 --out normal
    """

    model: Model
    """a folder, or a built-in decider such as parity:8"""
    kind: Kind = "plus-minus"
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
        from glyptic.carve import normalize
        from glyptic.cli.models import open_model
        from glyptic.exact.files import check_place
        from glyptic.text import printable

        if self.kind == "01":
            refuse_idle(self, ("yes",), "with --kind 01, which keeps the logit of every answer")
        check_place(self.out, overwrite=self.overwrite)
        build = {"01": normalize.zero_one, "inf": normalize.infinity, "plus-minus": normalize.plus_minus}[self.kind]
        model = open_model(self.model, self.format)
        told: dict[str, Any] = {} if self.yes is None else {"yes": self.yes}
        made = build(model, force=self.force, **told)
        made = made.replace(name=printable(f"{self.kind} normalization of {model.name or self.model}"))
        made.save(self.out, overwrite=self.overwrite)
        print(f"{made.frame()}\n\nwritten to {self.out}")
