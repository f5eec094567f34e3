"""A transformer by what a user calls it: a folder that holds one, or a built-in decider's name and parameters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from glyptic.arguments import shown
from glyptic.errors import FileError, InputError

if TYPE_CHECKING:
    from glyptic.exact import Transformer

DEFAULT_FORMAT = "fixed:8"
Model = Annotated[Positional[str], arg(metavar="MODEL")]
Text = Annotated[Positional[str], arg(metavar="INPUT")]
Expression = Annotated[Positional[str], arg(metavar="EXPRESSION")]
FormatName = Annotated[str | None, arg(metavar="FORMAT")]
Yes = Annotated[str | None, arg(metavar="ANSWER")]


def open_model(name_or_folder: str, format: str | None = None) -> Transformer:
    """The transformer in a folder, or a built-in decider: `parity:8`, `contains:101,16`.

    A format rounds the folder's weights into it; a built-in decider is made for it (fixed:8 unless told).

    >>> open_model("parity:8", "fixed:4").answer("0111")
    'YES'
    """
    from glyptic.carve.examples import EXAMPLES, by_name
    from glyptic.numbers import parse_format

    if not name_or_folder:  # as a path it would be the working folder
        raise InputError("the MODEL is empty; name a folder, or a built-in decider such as parity:8.")
    folder = Path(name_or_folder)
    is_built_in = name_or_folder.partition(":")[0] in EXAMPLES
    if _is_folder(folder) and not (is_built_in and not (folder / "config.json").is_file()):
        from glyptic.exact import load

        loaded = load(folder)
        return loaded if format is None else loaded.in_format(parse_format(format))
    if is_built_in:
        return by_name(name_or_folder, parse_format(DEFAULT_FORMAT if format is None else format))
    raise FileError(
        f"{shown(name_or_folder)} is neither a folder with a transformer nor a built-in decider; these are "
        f"{', '.join(EXAMPLES)}, with parameters as in parity:8 or contains:101,16."
    )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name too long, or with a zero in it
        return False


def built_in() -> str:
    """The built-in deciders, for a command's help: how each is written, with its parameters' defaults.

    >>> print(built_in().splitlines()[1])
      contains:word=101,max_length=16,vocabulary=01
    """
    from glyptic.carve.examples import EXAMPLES, usage

    return "Built-in deciders, with what they take if it is left out:\n" + "\n".join(f"  {usage(name)}" for name in EXAMPLES)
