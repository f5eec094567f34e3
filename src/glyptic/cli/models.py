"""A transformer by what a user calls it: a folder that holds one, or a built-in decider's name and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glyptic.errors import FileError

if TYPE_CHECKING:
    from glyptic.exact import Transformer

DEFAULT_FORMAT = "fixed:8"


def open_model(name_or_folder: str, format: str | None = None) -> Transformer:
    """The transformer in a folder, or a built-in decider: `parity:8`, `contains:101,16`.

    A format rounds the folder's weights into it; a built-in decider is made for it (fixed:8 unless told).

    >>> open_model("parity:8", "fixed:4").answer("0111")
    'YES'
    """
    from glyptic.carve.examples import EXAMPLES, by_name
    from glyptic.exact import load
    from glyptic.numbers import parse_format

    folder = Path(name_or_folder)
    is_built_in = name_or_folder.partition(":")[0] in EXAMPLES
    if folder.is_dir() and not (is_built_in and not (folder / "config.json").is_file()):
        loaded = load(folder)
        return loaded if format is None else loaded.in_format(parse_format(format))
    if is_built_in:
        return by_name(name_or_folder, parse_format(format or DEFAULT_FORMAT))
    raise FileError(
        f"{name_or_folder!r} is neither a folder with a transformer nor a built-in decider; these are "
        f"{', '.join(EXAMPLES)}, with parameters as in parity:8 or contains:101,16."
    )
