"""One self-contained HTML file: views, and all that shows them, put together. Nothing in it is fetched.

A `View` is the data of one view and the name of the JavaScript that shows it (`page/views/KIND.js`). What comes from a model goes
in as JSON, with every `<` escaped, and reaches the page only as text; a content security policy inside the page keeps it from
asking anyone for anything.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import webbrowser
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from glyptic.arguments import is_word, refused, shown
from glyptic.errors import FileError, InputError
from glyptic.files import MARK, quoted_path, taken, write_whole

Language = Literal["en", "es"]
LANGUAGES = ("en", "es")
_KINDS_OF_ARRAYS = {"u1": np.uint8, "u2": np.uint16, "i4": np.int32, "f4": np.float32, "f8": np.float64}
_NOTEBOOK_HEIGHT = 620
_NO_TEXT = re.compile("[\ud800-\udfff\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class View:
    """One view of a page: the kind names the JavaScript that shows it, the data are JSON, arrays made by `pack`."""

    kind: str
    title: str
    data: Any

    def __post_init__(self) -> None:
        if not is_word(self.kind, kinds()):
            raise InputError(f"no view is called {shown(self.kind)}; there are {', '.join(kinds())}.")


@dataclass(frozen=True)
class Page:
    """Views that belong together, as one HTML file.

    >>> from glyptic import look, programs
    >>> page = look.page(programs.open("parity:4", "fixed:4"), "0111")
    >>> page.views[0].kind, page.html().startswith("<!DOCTYPE html>"), "http://" in page.html().replace("http://www.w3.org/", "")
    ('exact', True, False)
    """

    views: tuple[View, ...]
    title: str = "Glyptic"
    language: Language = "en"

    def __post_init__(self) -> None:
        if not self.views or not all(isinstance(view, View) for view in self.views):
            raise refused("views", self.views, "a tuple of at least one View")
        if not is_word(self.language, LANGUAGES):
            raise refused("language", self.language, "en or es")

    def html(self, connect: bool = False) -> str:
        """The whole page; only the studio's pages may `connect`, and only to where they came from."""
        views = [{"kind": view.kind, "title": view.title, "data": view.data} for view in self.views]
        used = tuple(sorted({view.kind for view in self.views}))
        data = {"title": self.title, "language": self.language, "words": _words(used), "views": views}
        filled = {
            "language": self.language,
            "connect": "'self'" if connect else "'none'",
            "mark": html.escape(MARK),
            "title": html.escape(_as_text(self.title)),
            "style": _styles(used),
            "data": as_script(data),
            "script": _scripts(used),
        }
        parts = _shell().split("{{")  # one pass: what is filled in is never searched for places to fill
        return parts[0] + "".join(filled[name] + rest for name, _, rest in (part.partition("}}") for part in parts[1:]))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all; a file that Glyptic has not written is not replaced."""
        place = Path(path)
        if place.suffix.lower() not in (".html", ".htm"):
            raise FileError(f"{quoted_path(place)}: pages are written as .html.")
        if taken(place):
            raise FileError(f"{quoted_path(place)} is there, and was not written by Glyptic: remove it, or choose another name.")
        write_whole(place, self.html().encode(), "the page")
        return place

    def open(self, path: str | os.PathLike[str]) -> Path:
        """Write the page and show it in the browser, where there is one."""
        place = self.save(path)
        webbrowser.open(place.resolve().as_uri())
        return place

    def _repr_html_(self) -> str:
        """In a notebook: a frame of its own, so that neither page changes the other; it may run scripts and save files."""
        return (
            f'<iframe srcdoc="{html.escape(self.html())}" title="{html.escape(_as_text(self.title))}" '
            f'sandbox="allow-scripts allow-downloads" style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:0"></iframe>'
        )


def pack(array: Any) -> dict[str, Any]:
    """An array as JSON: its bytes deflated, then base64; in the page it is a typed array again, with its shape.

    >>> pack(np.array([[1, 2], [3, 4]], np.uint8))["shape"]
    [2, 2]
    """
    given = np.ascontiguousarray(array)
    code = next((code for code, kind in _KINDS_OF_ARRAYS.items() if given.dtype == kind), None)
    if code is None:
        raise refused("array", array, f"an array of {', '.join(kind.__name__ for kind in _KINDS_OF_ARRAYS.values())}")
    little = given.astype(given.dtype.newbyteorder("<"), copy=False)
    return {"packed": code, "shape": list(given.shape), "data": base64.b64encode(zlib.compress(little.tobytes(), 9)).decode()}


def as_script(data: Any) -> str:
    """JSON that can stand in a script element: no text in it can end the element or begin a comment.

    >>> as_script({"token": "</script><!--"})
    '{"token":"\\\\u003c/script>\\\\u003c!--"}'
    """
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise InputError("the data of a page hold NaN or ∞ where a number stands, and JSON has neither; leave it out.") from None
    return _as_text(text).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _as_text(given: str) -> str:
    """Half a pair of surrogates, or a control character, is no text, and no file in UTF-8 or HTML can hold it."""
    return _NO_TEXT.sub("\ufffd", given)


def _page() -> Traversable:
    return files("glyptic.look") / "page"


def _texts(folder: str, ending: str) -> list[tuple[str, str]]:
    """(stem, text) of the files of a folder of the page, in alphabetical order."""
    found = sorted((each for each in (_page() / folder).iterdir() if each.name.endswith(ending)), key=lambda each: each.name)
    return [(each.name.removesuffix(ending), each.read_text(encoding="utf-8")) for each in found]


@cache
def _shell() -> str:
    return (_page() / "shell.html").read_text(encoding="utf-8")


@cache
def kinds() -> tuple[str, ...]:
    """The kinds of views that there are: a file of words each."""
    return tuple(stem for stem, _ in _texts("words", ".json") if stem not in ("core", "engine"))


@cache
def words() -> dict[str, list[str]]:
    """The dictionary: every word that a page shows, `kind.key` to [English, Spanish]."""
    return {f"{stem}.{key}": pair for stem, text in _texts("words", ".json") for key, pair in json.loads(text).items()}


def _is_used(stem: str, used: tuple[str, ...]) -> bool:
    """Whether a page of these kinds of views needs a part; the studio shows all kinds."""
    if stem == "engine":
        return bool({"exact", "studio"} & {*used})
    return "studio" in used or stem == "core" or any(stem == kind or stem.startswith(f"{kind}_") for kind in used)


def _words(used: tuple[str, ...]) -> dict[str, list[str]]:
    return {key: pair for key, pair in words().items() if _is_used(key.partition(".")[0], used)}


@cache
def _styles(used: tuple[str, ...]) -> str:
    of_views = [each for each in _texts("styles", ".css") if _is_used(each[0], used)]
    return "\n".join(text for _, text in (*_texts("core", ".css"), *of_views))


@cache
def _scripts(used: tuple[str, ...]) -> str:
    """The core, the engine where a view computes exactly, and the views that the page has."""
    engine = _texts("engine", ".js") if _is_used("engine", used) else []
    views = [each for each in _texts("views", ".js") if _is_used(each[0], used)]
    return "\n".join(text for _, text in (*_texts("core", ".js"), *engine, *views))
