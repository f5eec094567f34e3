"""The folder that was opened: the models in it and below, and nothing outside of it, whatever a path says.

A path is resolved, links and all, and so are the two files that are read; what leaves the folder is refused before it is opened.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from glyptic.arguments import shown
from glyptic.errors import FileError
from glyptic.exact.files import CONFIG, WEIGHTS

_DEEPEST = 6  # folders in folders that are looked into
_MOST_SEEN = 5000  # folders that are looked into
_MOST_LISTED = 500


def model_in(root: Path | None, name: str) -> Path:
    """The model's folder that a path relative to the opened folder names.

    >>> model_in(Path("."), "../secret")
    Traceback (most recent call last):
    glyptic.errors.FileError: '../secret' is not in the opened folder: name a folder of a model in it or below, as the list does.
    """
    if root is None:
        raise FileError("no folder was opened: start the studio with one, as in `glyptic studio my-models`.")
    outside = FileError(
        f"{shown(name)} is not in the opened folder: name a folder of a model in it or below, as the list does."
    )
    parts = name.replace("\\", "/").split("/")
    if not name or not name.isprintable() or name.startswith(("/", "\\", "~")) or ".." in parts or ":" in parts[0]:
        raise outside
    try:
        real = Path(os.path.realpath(root))
        folder = Path(os.path.realpath(real / name))
        found = [Path(os.path.realpath(folder / file)) for file in (CONFIG, WEIGHTS)]
        if any(path != real and real not in path.parents for path in (folder, *found)):
            raise outside
        if not all(path.is_file() for path in found):
            raise FileError(f"{shown(name)} holds no transformer: a model is a folder with {CONFIG} and {WEIGHTS}.")
    except FileError:
        raise
    except (OSError, ValueError):  # a name too long, a loop of links
        raise outside from None
    return folder


def models_of(root: Path | None) -> tuple[list[str], bool]:
    """The folders that hold a model, as paths relative to the opened one, and whether these are all.

    Links are not followed, hidden folders left out, and of very many folders only the first are looked into.
    """
    if root is None:
        return [], True
    found: list[str] = []
    whole, real = True, os.path.realpath(root)
    for seen, (folder, below, files) in enumerate(os.walk(real), 1):
        path = Path(os.path.relpath(folder, real))
        if seen > _MOST_SEEN or len(found) >= _MOST_LISTED:
            whole = False
            break
        if {CONFIG, WEIGHTS} <= {*files}:
            with suppress(FileError):  # what could not be opened is not offered
                model_in(root, path.as_posix())
                found.append(path.as_posix())
        visible = sorted(name for name in below if not name.startswith("."))
        deep = len(path.parts) >= _DEEPEST
        whole = whole and not (deep and visible)
        below[:] = [] if deep else visible
    return sorted(found), whole
