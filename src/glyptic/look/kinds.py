"""Which value is shown by which function: one table, by the name of the class; rooms to come add their rows with `register`."""

from __future__ import annotations

import importlib
from typing import Any

from glyptic.arguments import shown
from glyptic.errors import InputError
from glyptic.look.pages import Page, View

# class name -> module:function, which takes the value and what else `page` is given, and returns a View or several
SHOWN_BY: dict[str, str] = {
    "Transformer": "glyptic.look.values.exact:exact_view",
    "Run": "glyptic.look.values.exact:run_view",
    "Model": "glyptic.look.values.model:model_view",
    "Proved": "glyptic.look.values.proof:proof_view",
    "Refuted": "glyptic.look.values.proof:proof_view",
    "Vacuous": "glyptic.look.values.proof:proof_view",
    "Unknown": "glyptic.look.values.proof:proof_view",
    "Automaton": "glyptic.look.values.automaton:automaton_view",
    "Machine": "glyptic.look.values.automaton:moore_view",
    "Sweep": "glyptic.look.values.grid:sweep_view",
    "LeastPrecision": "glyptic.look.values.grid:precision_view",
    **dict.fromkeys(
        ("Problem", "Trajectory", "SeparateFlow", "Blocks", "CriticalPoint", "Basins", "Curve", "Shift", "Risk"),
        "glyptic.look.values.icl:icl_view",
    ),
}


def register(class_name: str, function: str) -> None:
    """A class whose values `page` shows from now on by `module:function`."""
    if SHOWN_BY.get(class_name, function) != function:
        raise InputError(f"values of {shown(class_name)} are shown by {SHOWN_BY[class_name]} already.")
    SHOWN_BY[class_name] = function


def page(value: Any, *arguments: Any, title: str | None = None, language: Any = "en", **options: Any) -> Page:
    """The page that shows a value: a transformer (with an input), a run, a model of `nn`, a verdict, an automaton, results.

    >>> from glyptic import programs
    >>> [view.kind for view in page(programs.open("parity:4", "fixed:4").run("01")).views]
    ['exact']
    """
    module, _, function = _function_of(value).partition(":")
    made = getattr(importlib.import_module(module), function)(value, *arguments, **options)
    views = (made,) if isinstance(made, View) else tuple(made)
    return Page(views, views[0].title if title is None else title, language)


def _function_of(value: Any) -> str:
    for kind in type(value).__mro__:
        if kind.__name__ in SHOWN_BY and kind.__module__.partition(".")[0] == "glyptic":
            return SHOWN_BY[kind.__name__]
    raise InputError(f"there is no page for {shown(value)}; pages show {', '.join(sorted(SHOWN_BY))}.")
