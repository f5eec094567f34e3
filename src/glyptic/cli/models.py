"""The arguments that commands share, and a MODEL by what a user calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

if TYPE_CHECKING:
    from glyptic.exact import Transformer

Model = Annotated[Positional[str], arg(metavar="MODEL")]
Text = Annotated[Positional[str], arg(metavar="INPUT")]
Expression = Annotated[Positional[str], arg(metavar="EXPRESSION")]
FormatName = Annotated[str | None, arg(metavar="FORMAT")]
Yes = Annotated[str | None, arg(metavar="ANSWER")]


def open_model(name_or_folder: str, format: str | None = None) -> Transformer:
    """The transformer in a folder, or the one that a name stands for, as `programs.open` finds it.

    >>> open_model("parity:8", "fixed:4").answer("0111")
    'YES'
    """
    from glyptic.programs.registry import open

    return open(name_or_folder, format)
