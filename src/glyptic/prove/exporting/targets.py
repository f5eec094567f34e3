"""Where a folder may be exported to, and the programs that every exported folder holds."""

from __future__ import annotations

import os
from pathlib import Path

from glyptic.errors import FileError
from glyptic.files import quoted_path, recover, sentences

PROGRAMS = ("check.py", "checker/*.py", "blast.py", "drat.py")


def programs() -> dict[str, str]:
    """The programs of a folder by their names there, `checker/` and all."""
    standalone = Path(__file__).parent / "standalone"
    paths = [path for pattern in PROGRAMS for path in sorted(standalone.glob(pattern))]
    return {path.relative_to(standalone).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def check_target(target: Path) -> None:
    """Refuse a place where something is already; what a killed writer has left in it, hidden, is finished or removed."""
    with sentences(target, "the folder"):
        recover(target)
        there = target.is_symlink() or target.exists()
        if there and not (target.is_dir() and not target.is_symlink() and all(n.startswith(".") for n in os.listdir(target))):
            raise FileError(f"{quoted_path(target)} exists and is not an empty folder; export into a new one.")
