"""`glyptic studio`: the pages of `glyptic look`, live, in the browser of this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from glyptic.arguments import Count, Readable


@dataclass(frozen=True)
class StudioCommand:
    """Open the studio in the browser: choose a model, change its input, format and construction, and prove what it computes.

    FOLDER is what may be opened: the models in it and below, and nothing else; without one, only built-in models. The server
    listens on this machine alone, and answers only whoever has the address that it prints. Ctrl-C ends it.

    Examples: glyptic studio
              glyptic studio my-models --port 0 --no-open
    """

    folder: Annotated[Positional[Annotated[Path, Readable("folder")] | None], arg(metavar="FOLDER")] = None
    """The folder whose models may be opened."""
    host: str = "127.0.0.1"
    """The address to listen on. Any other than this machine's own can be reached by other machines."""
    port: Annotated[int, Count(0, 65535)] = 8787
    """The port; 0 takes any that is free."""
    open: bool = True
    """Open the page in the browser."""

    def main(self) -> None:
        from glyptic.look.studio import Settings, serve

        serve(Settings(self.host, self.port, None if self.folder is None else self.folder.resolve()), show=self.open)
