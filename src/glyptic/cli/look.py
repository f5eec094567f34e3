"""`glyptic look`: a page to look at, written as one HTML file, and opened."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from glyptic.arguments import Writable
from glyptic.cli.reading import FormatName
from glyptic.look.pages import Language


@dataclass(frozen=True)
class LookCommand:
    """Write a page that shows a transformer at work, a proof, a trained model or a lesson: one HTML file that computes, offline.

    SUBJECT is a folder, or the name of a built-in decider (run on INPUT, in the page too: change the input, a weight or the
    format there); a certificate of `glyptic prove`; the folder of a public model, such as GPT-2; metrics of training, .jsonl, or
    a folder of runs; or a lesson: positions (encodings side by side), norms (BatchNorm, LayerNorm, RMSNorm), lab (in-context
    learning).

    Examples: glyptic look parity:8 0110 -o parity.html
              glyptic look parity:8 0110 --against folder -o both.html
              glyptic look certificate.json -o proof.html
              glyptic look positions -o positions.html --language es
    """

    subject: Annotated[Positional[str], arg(metavar="SUBJECT")]
    """What is to be looked at."""
    input: Annotated[Positional[str | None], arg(metavar="[INPUT]")] = None
    """The input: characters if all tokens are single characters, else words; for a trained model text, or token numbers."""
    out: Annotated[Path, Writable(), arg(aliases=["-o"])] = Path("page.html")
    """Where the page is written."""
    against: Annotated[str | None, arg(metavar="MODEL")] = None
    """A second exact transformer beside the first, on the same input, at the first cell that differs."""
    format: FormatName = None
    """Round every weight of an exact transformer to this format first."""
    language: Language = "en"
    """The language in which the page opens; it speaks both."""
    open: bool = True
    """Show the page in the browser, where there is a screen."""

    def main(self) -> None:
        from glyptic.look.opening import open_page

        page = open_page(self.subject, self.input, against=self.against, format=self.format, language=self.language)
        shown = self.open and _has_screen()
        place = page.open(self.out) if shown else page.save(self.out)
        print(f"{place}: {place.stat().st_size / 1000:,.0f} kB{', opened in the browser' if shown else ''}")


def _has_screen() -> bool:
    """Whether a browser would come up in a window; one in this terminal would stop the command."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
