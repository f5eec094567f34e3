"""Values that show themselves: in a notebook, as a page, as LaTeX. `glyptic.look` knows how, and is loaded when it is asked.

Rooms give their values this class; what it calls is named by text, since `look` stands below all of them.
"""

from __future__ import annotations

import importlib
from typing import Any

from glyptic.errors import GlypticError


class Showing:
    """What a value that can be looked at has."""

    def look(self, *arguments: Any, **options: Any) -> Any:
        """The page that shows this value, a `glyptic.look.Page`: `.save("page.html")`, `.open("page.html")`.

        >>> from glyptic import programs
        >>> programs.open("parity:4", "fixed:4").look("0111").title
        'parity:4 in fixed:4 on 0111'
        """
        return importlib.import_module("glyptic.look").page(self, *arguments, **options)

    def _repr_html_(self) -> str:
        """What a notebook shows: the same page, in a frame; where a page needs more than the value, its text."""
        try:
            return str(self.look()._repr_html_())
        except GlypticError as error:
            raise NotImplementedError(str(error)) from None  # by which notebooks know that there is nothing

    def to_latex(self, **options: Any) -> str:
        """A fragment to paste into a paper; `glyptic.look.latex` says what it takes."""
        return str(importlib.import_module("glyptic.look.latex").latex(self, **options))
