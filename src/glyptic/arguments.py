"""What may be passed in, said once in the signature and checked where it enters: counts, numbers, seeds, paths, words.

A public function writes its types as ever, with a rule where a type says too little, and bears `@checked`; a command is a
dataclass whose fields are written the same way. Whatever does not fit is one sentence that names the argument.

>>> @checked
... def sample(
...     prompts: Annotated[int, Count(most=10**6)],
...     noise: Annotated[float, Number(least=0)] = 0.0,
...     how: Literal["all", "one"] = "all",
... ) -> int:
...     return prompts
>>> sample(-3)
Traceback (most recent call last):
glyptic.errors.InputError: prompts is -3, and must be a whole number from 1 to 1000000.
>>> sample(3, float("nan"))
Traceback (most recent call last):
glyptic.errors.InputError: noise is nan, and must be a number of at least 0.
>>> sample(3, how="some")
Traceback (most recent call last):
glyptic.errors.InputError: how is 'some', and must be one of 'all', 'one'.
>>> sample(3, nois=0.5)
Traceback (most recent call last):
glyptic.arguments.UnknownArgument: sample() has no argument nois; did you mean noise?
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import wraps
from math import isfinite, isinf, prod
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from glyptic.errors import FileError, GlypticError, InputError
from glyptic.text import printable

_Kinds = inspect.Parameter
Function = TypeVar("Function", bound=Callable[..., Any])
_SHOWN, _SHOWN_OF_PATHS = 60, 200  # characters of a value that a sentence repeats
_LONGEST_PATH = 4000  # characters
_LONGEST_WRITTEN = 200  # bytes of a name, to which temporary names add some


class UnknownArgument(InputError, TypeError):
    """A keyword that the function which was called does not have."""


class Rule(Protocol):
    """What a type alone does not say: gives the value as it is meant, or raises an error that begins with its name."""

    def __call__(self, name: str, value: Any) -> Any: ...


@dataclass(frozen=True)
class Count:
    """A whole number between two bounds."""

    least: int = 1
    most: int | None = None

    def __call__(self, name: str, value: Any) -> int:
        if isinstance(value, Integral) and not isinstance(value, bool) and self._holds(int(value)):
            return int(value)
        bounds = f"of at least {self.least}" if self.most is None else f"from {self.least} to {self.most}"
        raise refused(name, value, f"a whole number {bounds}")

    def _holds(self, value: int) -> bool:
        return self.least <= value and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class Number:
    """A finite number: at least or above one bound, at most another."""

    least: float | None = None
    above: float | None = None
    most: float | None = None

    def __call__(self, name: str, value: Any) -> float:
        if isinstance(value, Real) and not isinstance(value, bool) and self._holds(value):
            return value  # type: ignore[return-value]  # a fraction stays one
        said = {"of at least": self.least, "above": self.above, "at most": self.most}
        bounds = " and ".join(f"{how} {bound:g}" for how, bound in said.items() if bound is not None)
        endless = isinstance(value, float) and isinf(value)
        number = "a finite number" if not bounds or endless else "a number"
        raise refused(name, value, f"{number} {bounds}".rstrip())

    def _holds(self, value: Real) -> bool:
        try:
            number = float(value)
        except OverflowError:
            return False
        return (
            isfinite(number)
            and (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
        )


@dataclass(frozen=True)
class Readable:
    """A path that can be read: a file, or a folder; no pipe and no device, which may never end."""

    kind: Literal["file", "folder", "either"] = "file"

    def __call__(self, name: str, value: Any) -> Path:
        path = _path(name, value)
        try:
            file, folder, there = path.is_file(), path.is_dir(), path.exists()
        except (OSError, ValueError) as error:
            raise _refused_path(name, path, f"a path that can be read ({_why(error)})") from None
        if (file and self.kind != "folder") or (folder and self.kind != "file"):
            return path
        wanted = {"file": "a file", "folder": "a folder", "either": "a file or a folder"}[self.kind]
        what = "a folder" if folder else "a file" if file else "a device or a pipe" if there else "nothing"
        raise _refused_path(name, path, f"{wanted}; there is {what}")


@dataclass(frozen=True)
class Writable:
    """A path at which a file can be written: in a folder that exists; with some endings, one of these."""

    endings: tuple[str, ...] = ()

    def __call__(self, name: str, value: Any) -> Path:
        path = _path(name, value, _LONGEST_WRITTEN)
        if self.endings and path.suffix.lower() not in self.endings:
            raise _refused_path(name, path, f"a file that ends in {', '.join(self.endings)}")
        try:
            if path.is_dir():
                raise _refused_path(name, path, "a file, and it is not a regular file but a folder")
            if path.exists() and not path.is_file():  # a file is replaced when it is whole, and so would a device be
                raise _refused_path(name, path, "a file, and it is not a regular file but a device or a pipe")
            if not path.parent.is_dir():
                raise FileError(f"{name} is {shown(path)}, and there is no folder {shown(path.parent)}; make it first.")
        except (OSError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise _refused_path(name, path, f"a path that can be written ({_why(error)})") from None
        return path


@dataclass(frozen=True)
class Folder:
    """A path at which a folder is, or can be made; or, for a `stem`, what the names of several files begin with."""

    stem: bool = False

    def __call__(self, name: str, value: Any) -> Path:
        path = _path(name, value, _LONGEST_WRITTEN)
        wanted = "the beginning of the files' names" if self.stem else "a folder"
        try:
            if path.is_dir() and self.stem:
                raise _refused_path(name, path, f"{wanted}, such as {shown(path / 'result')}, and it is a folder")
            if path.exists() and not path.is_dir() and not (self.stem and path.is_file()):
                raise _refused_path(name, path, f"{wanted}, and it is a {'file' if path.is_file() else 'device or a pipe'}")
            absolute = path.absolute()  # the root is above itself
            above = next(folder for folder in (*absolute.parents, absolute) if folder.exists())
            if not above.is_dir():
                raise _refused_path(name, path, f"{wanted}, and {shown(above)} is no folder")
        except (OSError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise _refused_path(name, path, f"a path that can be written ({_why(error)})") from None
        return path


PLACES = (Readable, Writable, Folder)
RULES = (Count, Number, *PLACES)
SEED = Count(0, 2**63 - 1)  # what numpy and torch both take
SECONDS = Number(above=0)
Seed = Annotated[int, SEED]
Seconds = Annotated[float, SECONDS]
Megabytes = Annotated[int, Count(1, 2**40)]
Workers = Annotated[int, Count(1, 1024)]
Picture = Annotated[Path, Writable((".svg", ".png", ".pdf"))]
FileToWrite = Annotated[Path, Writable()]
FileToRead = Annotated[Path, Readable()]
FolderToFill = Annotated[Path, Folder()]
Stem = Annotated[Path, Folder(stem=True)]
Backend = Literal["auto", "threads", "loky", "ray", "dask", "sequential"]


def checked(function: Function) -> Function:
    """The function, which now refuses what its signature does not admit before anything is done.

    `**limits: Unpack[Limits]`, for a TypedDict, is read as the keywords of that dictionary.
    """
    signature = inspect.signature(function)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    named_ones = [name for name, kind in kinds.items() if kind in (_Kinds.POSITIONAL_OR_KEYWORD, _Kinds.KEYWORD_ONLY)]
    rest = next((name for name, kind in kinds.items() if kind is _Kinds.VAR_KEYWORD), "")
    hints: dict[str, Any] = {}
    unpacked: dict[str, Any] = {}

    @wraps(function)
    def checking(*positional: Any, **named: Any) -> Any:
        if not hints:  # at the first call, when every name that they are written with is there
            hints.update(_hints(function))
            unpacked.update(_unpacked(hints.get(rest)))
        for name in named if unpacked or not rest else ():
            if name not in named_ones and name not in unpacked:
                raise _unknown(function, name, [*named_ones, *unpacked])
        try:
            bound = signature.bind(*positional, **named)
        except TypeError:
            return function(*positional, **named)  # Python's own sentence, which names the function
        for name, value in bound.arguments.items():
            if name == rest:
                bound.arguments[name] = {key: fitting(unpacked.get(key), key, one) for key, one in value.items()}
            elif name in hints and kinds[name] is not _Kinds.VAR_POSITIONAL:
                bound.arguments[name] = fitting(hints[name], name, value)
        return function(*bound.args, **bound.kwargs)

    return checking  # type: ignore[return-value]


def _unpacked(hint: Any) -> dict[str, Any]:
    """The keywords that `Unpack` of a TypedDict stands for; of anything else, none."""
    return get_type_hints(get_args(hint)[0], include_extras=True) if get_origin(hint) is Unpack else {}


def _unknown(function: Callable[..., Any], name: str, names: Sequence[str]) -> UnknownArgument:
    near = get_close_matches(name, names, 1)
    remedy = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}."
    return UnknownArgument(f"{function.__qualname__}() has no argument {shown(name)[1:-1]}; {remedy}")


def rules_in(hint: Any) -> Iterator[Rule]:
    """All rules that are written in a type, of what may be left out as well."""
    for part in get_args(hint):
        if isinstance(part, RULES):
            yield part
        yield from rules_in(part)


def check_fields(values: Any, naming: Callable[[str], str] = str) -> None:
    """The same for the fields of a dataclass, such as a command with its flags."""
    assert is_dataclass(values)
    hints = _hints(type(values))
    for field in fields(values):
        if field.name in hints:
            fitting(hints[field.name], naming(field.name), getattr(values, field.name))


def fitting(hint: Any, name: str, value: Any) -> Any:
    """The value as its type admits it; of types that are not ours to check, as it is."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        rules = [rule for rule in arguments[1:] if isinstance(rule, RULES)]
        for rule in rules:
            value = rule(name, value)
        return value if rules else fitting(arguments[0], name, value)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, name, value)
    if origin is Literal:
        if not any(type(value) is type(word) and value == word for word in arguments):
            raise refused(name, value, f"one of {', '.join(map(repr, arguments))}")
        return value
    if isinstance(origin, type):  # list[…], Callable[…], Iterable[…], Mapping[…] and their like
        return _of_kind(origin, arguments, name, value)
    if isinstance(hint, type):
        return _of_class(hint, name, value)
    return value


_PLAIN: Mapping[type, tuple[tuple[type, ...], str]] = {
    int: ((Integral,), "a whole number"),
    float: ((Real,), "a number"),
    str: ((str,), "a text"),
    bool: ((bool,), "True or False"),
    Path: ((Path, str), "a path"),
}


def _of_kind(kind: type, items: tuple[Any, ...], name: str, value: Any) -> Any:
    """A collection whose items can be looked at twice has items that fit; a list does for a tuple, and the other way."""
    alike = (list, tuple) if kind in (list, tuple) else (kind,)
    if not isinstance(value, alike) or (isinstance(value, str) and items[:1] != (str,)):
        raise refused(name, value, _KINDS.get(kind, f"a {kind.__name__}"))
    if items and isinstance(value, list | tuple) and items[1:] in ((), (...,)):
        return type(value)(fitting(items[0], f"{name}[{k}]", item) for k, item in enumerate(value))
    return value


_KINDS: Mapping[type, str] = {
    Callable: "a function",  # type: ignore[dict-item]
    os.PathLike: "a path",
    **dict.fromkeys((list, tuple, Iterable, Sequence), "a list"),
    Mapping: "a dictionary",
}


def _of_class(hint: type, name: str, value: Any) -> Any:
    if getattr(hint, "_is_protocol", False) or hint in (Any, object):
        return value
    article = "an" if hint.__name__[0] in "AEIOU" else "a"
    accepted, wanted = _PLAIN.get(hint, ((hint,), f"{article} {hint.__name__}"))
    if not isinstance(value, accepted) or (isinstance(value, bool) and hint in (int, float)):
        raise refused(name, value, wanted)
    # A number of 8 bits would overflow where it is reckoned with.
    return int(value) if hint is int else value  # type: ignore[call-overload]


def _one_of(hints: tuple[Any, ...], name: str, value: Any) -> Any:
    """Fits if it fits one; else what the first of them says."""
    said: list[GlypticError] = []
    for hint in hints:
        if hint is type(None):
            if value is None:
                return None
            continue
        try:
            return fitting(hint, name, value)
        except GlypticError as error:
            said.append(error)
    raise said[0]


def _hints(of: Any) -> dict[str, Any]:
    """The types in a signature, those that can be read; a name that only type checkers know is not checked."""
    found: dict[str, Any] = {}
    for kind in reversed(of.__mro__) if isinstance(of, type) else (of,):  # a base's are written with the names of its own module
        names = {**getattr(inspect.getmodule(kind), "__dict__", {}), **getattr(kind, "__globals__", {})}
        for name, hint in inspect.get_annotations(kind).items():
            try:
                found[name] = eval(hint, names) if isinstance(hint, str) else hint  # our own source, not a user's
            except (NameError, AttributeError, TypeError):
                found.pop(name, None)
    found.pop("return", None)
    return found


_MOST_NUMBERS = 1 << 28  # two gigabytes of them


def is_word(value: Any, words: Iterable[Any]) -> bool:
    """Whether a value is one of some words (or of True and False), and no number, array or object that compares with them.

    >>> is_word("all", ("all", "one")), is_word(1, (True, False)), is_word([1, 2], ("all",))
    (True, False, False)
    """
    return any(isinstance(value, type(word)) and bool(value == word) for word in words)


def is_list(value: Any) -> bool:
    """Whether a value can be gone through: no text, which is one thing, and no array without axes, which says that it can.

    >>> is_list(["x"]), is_list("x"), is_list(3)
    (True, False, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) != 0


def affordable(what: str, *sizes: int) -> None:
    """Refuse what would not fit into memory before any of it is there.

    >>> affordable("a batch of prompts", 10**6, 10**4, 10)
    Traceback (most recent call last):
    glyptic.errors.InputError: a batch of prompts would have 100,000,000,000 numbers; 268,435,456 are the most: ask for less.
    """
    if prod(sizes) > _MOST_NUMBERS:
        raise InputError(f"{what} would have {prod(sizes):,} numbers; {_MOST_NUMBERS:,} are the most: ask for less.")


def refused(name: str, value: Any, wanted: str) -> InputError:
    """The sentence."""
    return InputError(f"{name} is {shown(value)}, and must be {wanted}.")


def shown(value: Any) -> str:
    """A value as a sentence repeats it: short, on one line.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"
    """
    try:
        text = repr(str(value) if isinstance(value, Path) else value)
    except Exception:
        text = f"a {type(value).__name__}"
    line, most = printable(text), _SHOWN_OF_PATHS if isinstance(value, Path) else _SHOWN
    return line if len(line) <= most else line[:most] + "…"


def _refused_path(name: str, value: Any, wanted: str) -> FileError:
    return FileError(f"{name} is {shown(value)}, and must be {wanted}.")


def _path(name: str, value: Any, longest: int = 255) -> Path:
    text = str(value) if isinstance(value, str | os.PathLike) else ""
    if not text.strip() or not text.isprintable():  # who writes an escape into a name does not mean a file
        raise _refused_path(name, value, "a path")
    if len(text) > _LONGEST_PATH or any(len(os.fsencode(part)) > longest for part in Path(text).parts):
        raise _refused_path(name, value, f"a path, whose names have at most {longest} bytes each")
    return Path(value)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
