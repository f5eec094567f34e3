"""From the words after a command's name to the command: every word is understood and fits, or one sentence says which does not.

tyro reads the words by the types of the command's fields; `glyptic.arguments` then holds the values against their rules, so that
a command's body begins where all that it was given is good.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import fields
from itertools import dropwhile, takewhile
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro
from tyro.conf import Positional, UseAppendAction, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from glyptic.arguments import PLACES, Folder, check_fields, rules_in, shown
from glyptic.errors import InputError
from glyptic.text import printable

Command = TypeVar("Command")
Model = Annotated[Positional[str], arg(metavar="MODEL")]
Text = Annotated[Positional[str], arg(metavar="INPUT")]
Expression = Annotated[Positional[str], arg(metavar="EXPRESSION")]
FormatName = Annotated[str | None, arg(metavar="FORMAT")]
Yes = Annotated[str | None, arg(metavar="ANSWER")]
_FRAME = re.compile(r"^[│|+╭╰]\s?|\s*[│|+╮╯]$")
_READ = {int: "a whole number", float: "a number", Path: "a path"}


def read(command: type[Command], words: Sequence[str], called: str = "glyptic", description: str | None = None) -> Command:
    """The command that the words ask for.

    >>> from glyptic.cli.run import RunCommand
    >>> read(RunCommand, ["parity:8", "0111", "--steps", "2"]).steps
    2
    >>> read(RunCommand, ["parity:8", "0111", "--steps", "nan"])
    Traceback (most recent call last):
    glyptic.errors.InputError: --steps: 'nan' is not a whole number; `glyptic --help` explains.
    >>> read(RunCommand, ["parity:8", "0111", "--steps", "0"])
    Traceback (most recent call last):
    glyptic.errors.InputError: --steps is 0, and must be a whole number from 1 to 1000000.
    """
    _refuse_doubled(command, words)
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            left_out = _left_out(command, words)
            made = tyro.cli(command, args=list(words), prog=called, description=description, registry=_registry(), **left_out)
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
        raise InputError(f"{_one_sentence(said.getvalue())}; `{called} --help` explains.") from None
    check_fields(made, lambda name: _called(command, name))
    _refuse_one_place_for_two(made)
    return made


def _left_out(command: Any, words: Sequence[str]) -> dict[str, Any]:
    """What flags are that the words leave out, where a command has that of a file which the words name."""
    made = command.defaults(words) if hasattr(command, "defaults") else None
    return {} if made is None else {"default": made}


def flag(field: str) -> str:
    """How a field is written on the command line.

    >>> flag("max_length")
    '--max-length'
    """
    return f"--{field.replace('_', '-')}"


def _marked(command: type, marker: Any) -> set[str]:
    """The fields whose types bear a marker of tyro's."""
    (wanted,) = get_args(marker[int])[1:]
    hints = get_type_hints(command, include_extras=True)
    return {field.name for field in fields(command) if wanted in get_args(hints[field.name])[1:]}  # type: ignore[arg-type]


def _positional(command: type) -> set[str]:
    return _marked(command, Positional)


def _called(command: type, name: str) -> str:
    """How a sentence calls a field: as its flag, or as help writes what has none."""
    return name.upper() if name in _positional(command) else flag(name)


def _refuse_doubled(command: type, words: Sequence[str]) -> None:
    """Of a flag that is given twice one value would have no effect, unless it gathers them."""
    gathered = {flag(name) for name in _marked(command, UseAppendAction)}
    seen: set[str] = set()
    for word in words[: words.index("--") if "--" in words else len(words)]:
        name = word.partition("=")[0].replace("_", "-")
        if not name.startswith("--") or name in gathered:
            continue
        name = name.replace("--no-", "--", 1)
        if name in seen:
            raise InputError(f"{printable(name)[:80]} is given twice, and only one could have an effect; leave one out.")
        seen.add(name)


def _refuse_one_place_for_two(made: Any) -> None:
    """Of two files at one place, or of one in a folder that is written whole, the later would be the end of the earlier."""
    hints = get_type_hints(type(made), include_extras=True)
    places: dict[str, tuple[Path, bool]] = {}
    for field in fields(made):
        given = getattr(made, field.name)
        rule = next((rule for rule in rules_in(hints[field.name]) if isinstance(rule, PLACES)), None)
        if rule is not None and given is not None:
            place, whole = Path(os.path.realpath(given)), isinstance(rule, Folder) and not rule.stem
            for other, (theirs, theirs_whole) in places.items():
                if place == theirs or (whole and place in theirs.parents) or (theirs_whole and theirs in place.parents):
                    both = " and ".join(_called(type(made), name) for name in (other, field.name))
                    raise InputError(f"{both} are at one place, {shown(given)}; give each its own.")
            places[field.name] = place, whole


def _registry() -> ConstructorRegistry:
    """How numbers and paths are read: what is none is told in the words of everybody, not of Python; nothing is no path."""
    registry = ConstructorRegistry()

    @registry.primitive_rule
    def by_kind(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
        many = get_origin(info.type) is tuple and get_args(info.type)[1:] == (...,)
        kind, optional = _read_as(get_args(info.type)[0] if many else info.type)
        none = {"None": None} if optional else {}
        words = none | {str(word): word for word in ((True, False) if kind is bool else get_args(kind))}
        if kind not in _READ and get_origin(kind) is not Literal and not (kind is bool and optional):
            return None
        wanted = _READ.get(kind) or f"one of {', '.join(words)}"
        if optional and kind in (int, float):
            wanted += ", and not None"

        def one(said: str) -> Any:
            if said in words:
                return words[said]
            if kind in _READ and said.strip():
                with suppress(ValueError):
                    return kind(said)
            raise ValueError(f"{shown(said)} is not {wanted}")

        def fits(value: Any) -> bool:
            return value in words.values() or (kind in _READ and isinstance(value, kind))

        called = "{None}|" * optional + kind.__name__.upper() if kind in _READ else "{" + ",".join(words) + "}"
        return PrimitiveConstructorSpec(
            nargs="*" if many else 1,
            metavar=f"[{called} [{called} ...]]" if many else called,
            instance_from_str=lambda given: tuple(map(one, given)) if many else one(given[0]),
            is_instance=lambda value: isinstance(value, tuple) and all(map(fits, value)) if many else fits(value),
            str_from_instance=lambda value: [*map(str, value)] if many else [str(value)],
        )

    return registry


def _read_as(hint: Any) -> tuple[Any, bool]:
    """What a word is read as, and whether None will do.

    >>> _read_as(Annotated[int, "a rule"] | None), _read_as(str), _read_as(int | str)[1]
    ((<class 'int'>, True), (<class 'str'>, False), False)
    """
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [get_args(part)[0] if get_origin(part) is Annotated else part for part in parts]
    plain = [kind for kind in kinds if kind is not NoneType]
    return (plain[0], len(kinds) == 2) if len(plain) == 1 else (hint, False)


def _one_sentence(box: str) -> str:
    """What tyro says, out of its frame, which an ASCII terminal shows otherwise: what is below the title, down to the next rule.

    >>> _one_sentence("╭─ Value error ─╮\\n│ Error parsing --steps: 'x' is │\\n│ no whole number │\\n│ ─── │\\n│ More │\\n╰───╯")
    "--steps: 'x' is no whole number"
    >>> _one_sentence(" Value error \\n ------ \\n  Error parsing --steps: 'x' is \\n  no whole number \\n  ----- \\n More")
    "--steps: 'x' is no whole number"
    """
    lines = [_FRAME.sub("", line.strip()).strip() for line in box.strip().splitlines()][1:]
    below = list(dropwhile(_is_rule, lines))
    said = " ".join(" ".join(takewhile(lambda line: not _is_rule(line), below)).split())
    return said.rstrip(".:").removeprefix("Error parsing ")


def _is_rule(line: str) -> bool:
    return set(line) <= set("─-")


def refuse_twice(called: str, values: Iterable[str]) -> None:
    """Of two that are the same one would do again what the other does, or write over it."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise InputError(f"{called} has {shown(value)} twice; leave one out, or rename it.")
        seen.add(value)


def refuse_idle(command: Any, names: Iterable[str], where: str) -> None:
    """Refuse those of a command's fields that differ from their defaults, and `where` they have no effect.

    >>> from glyptic.cli.show import ShowCommand
    >>> refuse_idle(ShowCommand("parity:8", batch=4), ["batch", "length"], "on an exact transformer")
    Traceback (most recent call last):
    glyptic.errors.InputError: --batch has no effect on an exact transformer; leave it out.
    """
    usual = {field.name: field.default for field in fields(command)}
    for name in names:
        given = getattr(command, name)
        if given != usual[name]:
            called = f"the model {shown(given)}" if name in ("model", "other") else flag(name)
            raise InputError(f"{called} has no effect {where}; leave it out.")


def refuse_idle_workers(command: Any) -> None:
    """One after the other is done by nobody else."""
    if command.backend == "sequential":
        refuse_idle(command, ("workers",), "with --backend sequential, which has no workers")
