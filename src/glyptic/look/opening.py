"""What a person names on the command line, as the page that shows it.

A word of its own (`positions`, `norms`, `lab`), a certificate, rows of training, a folder of a public model or of an exact
transformer, or the name of a built-in decider: what it is, is seen from what is there. Files are data, and may be hostile.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from glyptic.arguments import checked, shown
from glyptic.errors import FileError, InputError
from glyptic.files import quoted_path, read_json
from glyptic.look.kinds import page
from glyptic.look.pages import Language, Page, View

# words that stand for themselves -> module:function, which makes the views
LESSONS: dict[str, str] = {
    "positions": "glyptic.look.values.positions:positions_view",
    "norms": "glyptic.look.values.norms:norms_view",
    "lab": "glyptic.look.values.icl:lab_view",
}


@checked
def open_page(
    name: str, input: str | None = None, *, against: str | None = None, format: str | None = None, language: Language = "en"
) -> Page:
    """The page of what is named; `against` is a second transformer, run beside the first on the same input.

    >>> open_page("positions").views[0].kind, open_page("contains:11,6", "0110").title
    ('positions', 'contains:11,6 in fixed:8 on 0110')
    """
    if name in LESSONS:
        _refuse(f"the page {name}", input=input, against=against, format=format)
        module, _, function = LESSONS[name].partition(":")
        return _as_page(getattr(importlib.import_module(module), function)(), language)
    if os.path.isfile(name):
        _refuse(f"the file {quoted_path(name)}", input=input, against=against, format=format)
        return _of_file(Path(name), language)
    if os.path.isdir(name) and not os.path.lexists(Path(name) / "config.json"):
        _refuse(f"the folder {quoted_path(name)}", input=input, against=against, format=format)
        return _of_runs(Path(name), language)
    if _is_public(Path(name)):
        _refuse("a model of PyTorch", against=against, format=format)
        return _of_model(name, input, language)
    from glyptic import programs

    transformer = programs.open(name, format)
    other = None if against is None else programs.open(against, format)
    return page(transformer, input, against=other, language=language)


def _of_file(path: Path, language: Language) -> Page:
    """A certificate, or rows of training."""
    if path.suffix == ".jsonl":
        return _of_rows(path, language)
    from glyptic.look.values.proof import certificate_view

    return _as_page(certificate_view(path), language)


def _of_rows(path: Path, language: Language) -> Page:
    from glyptic.look.values.training import training_view

    return _as_page(training_view(path), language)


def _of_runs(folder: Path, language: Language) -> Page:
    """A folder of runs of training: all its files of rows; what else is in it is left alone."""
    if not any(True for pattern in ("*.jsonl", "*/*.jsonl") for _ in folder.glob(pattern)):
        raise FileError(
            f"{quoted_path(folder)} has neither a transformer (config.json) nor rows of training (.jsonl); name a file in it."
        )
    return _of_rows(folder, language)


def _of_model(folder: str, input: str | None, language: Language) -> Page:
    from glyptic.look.values.model import folder_view

    return _as_page(folder_view(Path(folder), input), language)


def _as_page(made: View | Iterable[View], language: Language) -> Page:
    views = (made,) if isinstance(made, View) else tuple(made)
    return Page(views, views[0].title, language)


def _is_public(folder: Path) -> bool:
    """Whether a folder's config is that of a public model rather than of an exact transformer."""
    path = folder / "config.json"
    if not os.path.lexists(path):
        return False
    config = read_json(path)
    return isinstance(config, dict) and "model_type" in config


def _refuse(what: str, **given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} {shown(value)} has no effect on {what}; leave it out.")
