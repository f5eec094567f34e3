"""Fragments to paste into a paper: `latex(value)`, or `value.to_latex()`; ASCII, no preamble, packages that everybody has.

    signs, escaping     text that stays text
    numerals            exact numbers as mathematics
    tables, matrices    what fits a column
    words               English and Spanish
    transformers, frames, runs, theorems, verdicts, precision, errata     one file a kind of value
"""

from __future__ import annotations

import importlib
from typing import Any

from glyptic.arguments import UnknownArgument, fitting, shown
from glyptic.errors import InputError
from glyptic.look.latex.tables import Fragment, LatexOptions

# class name -> module:function of the value and a Fragment; and the options that it has of its own
WRITTEN_BY: dict[str, tuple[str, tuple[str, ...]]] = {
    "Transformer": ("transformers:transformer_latex", ("part", "layers")),
    "Frame": ("frames:frame_latex", ()),
    "Run": ("runs:run_latex", ()),
    "Row": ("theorems:rows_latex", ("statements",)),
    "Marks": ("theorems:marks_latex", ("statements",)),
    "Erratum": ("errata:erratum_latex", ()),
    "Proved": ("verdicts:verdict_latex", ("assumptions",)),
    "Refuted": ("verdicts:verdict_latex", ("assumptions",)),
    "Vacuous": ("verdicts:verdict_latex", ("assumptions",)),
    "Unknown": ("verdicts:verdict_latex", ("assumptions",)),
    "LeastPrecision": ("precision:precision_latex", ()),
}
_SEVERAL = {"Row": "theorems:rows_latex", "Frame": "frames:frames_latex", "Erratum": "errata:errata_latex"}


def latex(value: Any, **options: Any) -> str:
    """A value as a fragment of LaTeX; the first line names the packages that the preamble must load.

    Options: `caption` (LaTeX of your own; "" for none), `label`, `language` ("en" or "es"), `wide` (across both columns of a
    two-column page), `long` (longtable, for one column). A transformer takes `part` ("all", "weights", "frame") and `layers`
    too, theorems take `statements`, verdicts `assumptions`: True or False. Widths are reckoned for 10pt.

    >>> from glyptic import programs
    >>> print(latex(programs.open("parity:2", "fixed:4"), part="frame").splitlines()[0])
    % packages: amsmath, amssymb, array
    """
    kind, module, function, own = _writer(value)
    _check_options(options, kind, own)
    about = Fragment(**{key: given for key, given in options.items() if key not in own})
    write = getattr(importlib.import_module(f"glyptic.look.latex.{module}"), function)
    body = write(value, about, **{key: given for key, given in options.items() if key in own})
    packages = "amsmath, amssymb, array" + (", longtable" if "{longtable}" in body else "")
    return f"% packages: {packages}\n{body}\n"


def _writer(value: Any) -> tuple[str, str, str, tuple[str, ...]]:
    several = isinstance(value, list | tuple) and len(value) > 0
    kinds = {_kind(one) for one in value} if several else {_kind(value)}
    kind = kinds.pop()
    if kinds or kind not in (_SEVERAL if several else WRITTEN_BY):
        known = ", ".join(WRITTEN_BY)
        raise InputError(f"there is no LaTeX for {shown(value)}; it is written for {known}, and lists of {', '.join(_SEVERAL)}.")
    place, own = WRITTEN_BY[kind]
    module, _, function = (_SEVERAL[kind] if several else place).partition(":")
    return kind, module, function, own


def _kind(value: Any) -> str:
    for kind in type(value).__mro__:
        if kind.__name__ in WRITTEN_BY and kind.__module__.partition(".")[0] == "glyptic":
            return kind.__name__
    return ""


_OPTIONS: dict[str, Any] = {
    "caption": str | None, "label": str | None, "wide": bool, "long": bool, "statements": bool, "assumptions": bool,
}  # fmt: skip
_CHOICES = {"language": ("en", "es"), "part": ("all", "weights", "frame")}


def _check_options(options: dict[str, Any], kind: str, own: tuple[str, ...]) -> None:
    known = (*LatexOptions.__annotations__, *own)
    for key, given in options.items():
        if key not in known:
            raise UnknownArgument(f"latex() of a {kind} has no option {shown(key)[1:-1]}; it has {', '.join(known)}.")
        if key in _CHOICES and (not isinstance(given, str) or given not in _CHOICES[key]):
            raise InputError(f"{key} is {shown(given)}, and must be one of {', '.join(map(repr, _CHOICES[key]))}.")
        if key in _OPTIONS:
            fitting(_OPTIONS[key], key, given)
        if key == "layers" and not isinstance(given, list | tuple | range | None):
            raise InputError(f"layers is {shown(given)}, and must be a list of numbers, such as (0, 1).")


__all__ = ["Fragment", "LatexOptions", "latex"]
