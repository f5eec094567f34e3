"""A transformer by what people call it: a folder that holds one, or a name with its parameters, `parity:8`, `regex:(01)*,8`.

A name is a word, a colon, and parameters with commas between them, in order or as `name=value`; no parameter can hold a comma,
and one that holds = is written by name. Further rooms add names of their own with `register`.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyptic.arguments import checked, is_word, refused, shown
from glyptic.errors import FileError, InputError, ModelError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat, as_format
from glyptic.text import printable

DEFAULT_FORMAT = "fixed:8"


@dataclass(frozen=True)
class ModelKind:
    """What a name such as `parity:8` stands for: the word before the colon, and the function that makes it of a format, the
    parameters after the colon, and `force`.

    >>> ModelKind("odd", "glyptic.carve.examples.counting:parity").build("8", "fixed:4").answer("0111")
    'YES'
    """

    name: str
    maker: str  # module:function, loaded when a name asks for it

    def build(self, text: str, format: AnyFormat | str, force: bool = False) -> Transformer:
        """The one with these parameters; `force` builds it in formats that it refuses, where it may be wrong."""
        given = self.parameters(text)
        if force and "force" in inspect.signature(self._make).parameters:
            given["force"] = True
        try:
            made = self._make(as_format(format), **given)
        except InputError as error:  # which names the parameter
            raise error if str(error).startswith(f"{self.name}:") else InputError(f"{self.name}: {error}") from None
        if not isinstance(made, Transformer):
            raise ModelError(f"{self.name}: {shown(self.maker)} made {shown(made)}, which is no Transformer.")
        return made

    def parameters(self, text: str) -> dict[str, Any]:
        """The parameters that a text gives, in order or by name, those left out not among them.

        >>> KINDS["modular"].parameters("5,residue=2")
        {'modulus': 5, 'residue': 2}
        """
        known = self.known()
        found: dict[str, Any] = {}
        for place, item in enumerate(text.split(",") if text else []):
            key, equals, value = item.partition("=")
            if not equals:
                key, value = known[place].name if place < len(known) else "", item
            parameter = next((p for p in known if p.name == key), None)
            if parameter is None or key in found:
                raise ModelError(
                    f"{self.name}: {shown(item)} is not one of its parameters, or comes twice; write {self.usage()}."
                )
            found[key] = self._converted(parameter, value)
        for parameter in known:
            if parameter.default is parameter.empty and parameter.name not in found:
                raise ModelError(f"{self.name}: the {parameter.name} is missing; write {self.usage()}.")
        return found

    def usage(self) -> str:
        """How its names are written: what must be given in capitals, the rest with what it is if it is left out.

        >>> KINDS["modular"].usage()
        'modular:modulus=3,residue=0,max_length=12,letter=1,vocabulary=01'
        """
        given = (p.name.upper() if p.default is p.empty else f"{p.name}={p.default}" for p in self.known())
        return f"{self.name}:{','.join(given)}"

    @property
    def _make(self) -> Callable[..., Transformer]:
        module, _, function = self.maker.partition(":")
        try:
            made = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError, ValueError) as error:
            raise ModelError(f"{self.name}: {shown(self.maker)} cannot be loaded: {printable(str(error))}.") from error
        if not callable(made):
            raise ModelError(f"{self.name}: {shown(self.maker)} is no function.")
        return made

    def known(self) -> list[inspect.Parameter]:
        """What a name can give: all but the format, which comes first, and `force`, which is asked for in Python."""
        make = self._make
        try:
            everything = list(inspect.signature(make, eval_str=False).parameters.values())
        except (TypeError, ValueError):  # a function of C need not tell
            everything = []
        by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        first, rest = everything[:1], everything[1:]
        if not first or first[0].kind is by_name or any(parameter.kind not in (by_place, by_name) for parameter in rest):
            raise ModelError(f"{self.name}: {shown(self.maker)} must take a format, then parameters that have names.")
        return [parameter for parameter in rest if parameter.name != "force"]

    def _converted(self, parameter: inspect.Parameter, value: str) -> int | str:
        if isinstance(parameter.default, str) or parameter.annotation in (str, "str"):
            return value
        if not re.fullmatch(r"-?[0-9]{1,18}", value):
            wanted = f"{parameter.name} must be a whole number of at most 18 digits"
            raise ModelError(f"{self.name}: {wanted}, and it is {shown(value)}.")
        return int(value)


EXAMPLES: Mapping[str, ModelKind] = {
    name: ModelKind(name, f"glyptic.carve.examples:{name.replace('-', '_')}")
    for name in ("contains", "first-equals-last", "majority", "parity", "brackets", "palindromes", "modular", "random")
}
_ENDLESS = (  # without positions, for every length
    *("occurs", "at-least", "exactly", "subsequence", "same-ends", "averaging-majority", "counting-majority"),
    *("starts-with", "ends-with", "factor", "last-of", "nested"),
)
ENDLESS: Mapping[str, ModelKind] = {
    name: ModelKind(name, f"glyptic.carve.examples:{name.replace('-', '_')}") for name in _ENDLESS
}
KINDS: dict[str, ModelKind] = {
    **EXAMPLES,
    **ENDLESS,
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
    kind, given = kind_of(text)
    return kind.build(given, format, force)


def kind_of(text: str) -> tuple[ModelKind, str]:
    """What a name stands for, and its parameters as they are written.

    >>> kind_of("modular:5,residue=2")[1]
    '5,residue=2'
    """
    if not isinstance(text, str):
        raise refused("the name of a decider", text, "a text, such as parity:8")
    name, _, given = text.partition(":")
    if not is_word(name, KINDS):
        raise ModelError(f"no built-in decider {shown(name)}; there are {', '.join(KINDS)}.")
    return KINDS[name], given


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
