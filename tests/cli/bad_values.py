"""Values that nobody can mean, made from a type: for every flag of every command, and every argument of a function."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from glyptic.arguments import Count, Folder, Number, Readable, Writable

LONG = "x" * 3000
HOSTILE = ("\x1b[31mred\n", "☃", LONG, "a\0b")
NO_PLACE = ("/nowhere/at/all/file", "/dev/null", "/dev/zero", LONG, "\x1b[31m", "", "a\0b")


def words_for(hint: Any) -> list[str]:
    """Words of a command line that a flag of this type should refuse."""
    if get_origin(hint) is Annotated:
        rules = [rule for rule in get_args(hint)[1:] if isinstance(rule, Count | Number | Readable | Writable | Folder)]
        return list(_breaking(rules[0])) if rules else words_for(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return words_for(next(each for each in get_args(hint) if each is not type(None)))
    if get_origin(hint) is Literal:
        return ["nothing of the kind", "", "-1", *HOSTILE]
    if get_origin(hint) is tuple:
        return words_for(get_args(hint)[0])
    return {int: ["nan", "1.5", "", *HOSTILE], float: ["x", "", *HOSTILE], str: ["", *HOSTILE], bool: []}[hint]


def _breaking(rule: Any) -> Iterator[str]:
    match rule:
        case Count(least=least, most=most):
            yield from (str(least - 1), "-1", "-99999999999999999999", "nan", "inf", "1.5", "1e3", "", "seven", *HOSTILE)
            yield from () if most is None else (str(most + 1), "9" * 30, "9" * 5000)
        case Number(least=least, above=above, most=most):
            yield from ("nan", "inf", "-inf", "1e999", "", "much", *HOSTILE)
            yield from (str(bound) for bound in (above,) if bound is not None)
            yield from (str(bound - 1) for bound in (least, above) if bound is not None)
            yield from () if most is None else ("1e300",)
        case Readable():
            yield from (*NO_PLACE, "/")
        case Writable():
            yield from (*NO_PLACE, "/", "/nowhere/at/all/picture.svg")
        case Folder():
            yield from ("/dev/null", "/dev/null/inside", LONG, "\x1b[31m", "", "a\0b", *(["/"] if rule.stem else []))


def values_for(hint: Any) -> list[Any]:
    """Python values that an argument of this type should refuse."""
    if get_origin(hint) is Annotated:
        rule = next((r for r in get_args(hint)[1:] if isinstance(r, Count | Number | Readable | Writable | Folder)), None)
        return _against(rule) if rule is not None else values_for(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        choices = [values_for(each) for each in get_args(hint)]
        return [value for value in choices[0] if all(any(_same(value, other) for other in each) for each in choices[1:])]
    if hint is Any:
        return []
    wrong: list[Any] = [-1.5, math.nan, b"bytes", object(), {"a": 1}, 3 + 4j]
    if hint is type(None):
        return [*wrong, "", LONG, -1, 0, [object()], 10**30, True, len]
    if get_origin(hint) is Literal:
        return [*wrong, "", LONG, "\x1b[31m", 7, None]
    if hint is str:
        return [*wrong, None, 7, [object()]]
    if hint is bool:
        return [*wrong, None, "yes", 7]
    if hint is int:
        return [*wrong, None, "3", [object()], True]
    if hint is float:
        return [b"bytes", object(), {"a": 1}, None, "3", [object()], True]
    if get_origin(hint) is Callable or getattr(get_origin(hint), "__name__", "") == "Callable":
        return [*wrong, None, "", LONG, -1, 0, [object()], 10**30, True]
    if isinstance(get_origin(hint), type):
        return [-1.5, math.nan, object(), None, 7, [object()], 3 + 4j]
    return [*wrong, None, "", LONG, -1, 0, [object()], 10**30, True, len]


def _against(rule: Any) -> list[Any]:
    match rule:
        case Count(least=least, most=most):
            over = [] if most is None else [most + 1, 10**30]
            return [least - 1, -(10**30), math.nan, math.inf, 1.5, "3", "", None, True, object(), [1], *over]
        case Number():
            return [math.nan, math.inf, -math.inf, -1, "3", "", None, True, object(), 3 + 4j, [1]]
    nowhere = [place for place in NO_PLACE if not (isinstance(rule, Folder) and place.startswith("/nowhere"))]  # it would be made
    return [*nowhere, 7, None, b"bytes", object(), math.nan, []]


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or type(a) in (object, dict, list) or a != a)
