"""A transformer by what people call it: a folder that holds one, or a name with its parameters, `parity:8`, `regex:(01)*,8`.

A name is a word, a colon, and parameters with commas between them, in order or as `name=value`; no parameter can hold a comma,
and one that holds = is written by name. Further rooms add names of their own with `register`.
"""

from __future__ import annotations

import re
from pathlib import Path

from glyptic.arguments import checked, refused, shown
from glyptic.carve.examples import EXAMPLES, ModelKind, kind_of
from glyptic.errors import FileError, InputError, ModelError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat, as_format
from glyptic.text import printable

DEFAULT_FORMAT = "fixed:8"
KINDS: dict[str, ModelKind] = {
    **EXAMPLES,
    "regex": ModelKind("regex", "glyptic.programs.automata:by_expression"),
    "tomita": ModelKind("tomita", "glyptic.programs.automata:by_number"),
}


@checked
def register(kind: ModelKind) -> None:
    """A name that `open` and every command know from now on: its function takes a format, then what the name gives.

    >>> register(ModelKind("parity", "glyptic.carve.examples:majority"))
    Traceback (most recent call last):
    glyptic.errors.ModelError: the name 'parity' is taken; choose another.
    """
    for field, text in (("name", kind.name), ("maker", kind.maker)):
        if not isinstance(text, str):
            raise refused(field, text, "a text")
    if not re.fullmatch(r"\w[\w.-]*", kind.name) or printable(kind.name) != kind.name:
        raise ModelError(f"the name {shown(kind.name)} must be a word of letters, digits, _ - and dots.")
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", kind.maker):
        raise ModelError(f"{kind.name}: {shown(kind.maker)} must be a module, a colon and a function, as in my.module:decider.")
    if KINDS.get(kind.name, kind) != kind:
        raise ModelError(f"the name {shown(kind.name)} is taken; choose another.")
    KINDS[kind.name] = kind


@checked
def open(name_or_folder: str, format: AnyFormat | str | None = None) -> Transformer:
    """The transformer in a folder, or the one that a name stands for: `parity:8`, `contains:101,16`, `regex:(01)*,8`.

    A format rounds the folder's weights into it; what has a name is made for it (fixed:8 unless told).

    >>> open("parity:8", "fixed:4").answer("0111"), open("regex:~(.*11.*),8").answer("0111")
    ('YES', 'NO')
    """
    if not name_or_folder:  # as a path it would be the working folder
        raise InputError("the MODEL is empty; name a folder, or a built-in decider such as parity:8.")
    folder, is_named = Path(name_or_folder), name_or_folder.partition(":")[0] in KINDS
    if _is_folder(folder) and not (is_named and not (folder / "config.json").is_file()):
        from glyptic.exact import load  # which reads files, and is loaded when there is one

        loaded = load(folder)
        return loaded if format is None else loaded.in_format(as_format(format))
    if is_named:
        return by_name(name_or_folder, DEFAULT_FORMAT if format is None else format)
    raise FileError(
        f"{shown(name_or_folder)} is neither a folder with a transformer nor a built-in decider; these are "
        f"{', '.join(KINDS)}, with parameters as in parity:8 or contains:101,16."
    )


@checked
def by_name(text: str, format: AnyFormat | str, *, force: bool = False) -> Transformer:
    """What a name stands for; `force` builds it in formats that it refuses, where it may be wrong."""
    kind, given = kind_of(text, KINDS)
    return kind.build(given, format, force)


def usage() -> str:
    """How every name is written.

    >>> print(usage().splitlines()[1])
      contains:word=101,max_length=16,vocabulary=01
    """

    def line(kind: ModelKind) -> str:
        try:
            return kind.usage()
        except ModelError as error:  # what somebody registered is no reason to hide the others
            return str(error)

    lines = (f"  {line(kind)}" for kind in KINDS.values())
    return "Built-in deciders, with what they take if it is left out:\n" + "\n".join(lines)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name too long, or with a zero in it
        return False
