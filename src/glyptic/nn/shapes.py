"""Tensors where they enter: `shaped` says their axes and kinds, beside what `glyptic.arguments` checks of all else.

Layers call the same functions thousands of times with what they made themselves: `function.plain` is the one that does not
look, and a graph that is being compiled looks at nothing either.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import torch
from torch import Tensor

from glyptic.arguments import checked, refused
from glyptic.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

KINDS: Mapping[str, tuple[str, Callable[[Tensor], bool]]] = {
    "real": ("floating-point numbers", Tensor.is_floating_point),
    "complex": ("complex numbers", Tensor.is_complex),
    "bool": ("Booleans", lambda t: t.dtype == torch.bool),
    "whole": ("whole numbers", lambda t: not (t.is_floating_point() or t.is_complex() or t.dtype == torch.bool)),
    "number": ("numbers", lambda t: not (t.is_complex() or t.dtype == torch.bool)),
    "mask": ("Booleans, or of numbers to add", lambda t: t.dtype == torch.bool or t.is_floating_point()),
}


class Shaped(Protocol[P, R]):
    """A function that looks at what it is given, and the one within that does not."""

    plain: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


def shaped(**wanted: str) -> Callable[[Callable[P, R]], Shaped[P, R]]:
    """Refuse tensors of other axes or kinds, and whatever else the signature does not admit.

    An axis is a letter, of one size wherever it stands; `...` are any axes before. A word in front says the kind:
    floating-point numbers, all of one dtype, unless it is one of `KINDS`.

    >>> @shaped(x="N D", seen="bool N")
    ... def total(x: Tensor, seen: Tensor, times: int = 1) -> Tensor:
    ...     return x[seen].sum() * times
    >>> total(torch.ones(3, 2), torch.tensor([True, True]))
    Traceback (most recent call last):
    glyptic.errors.InputError: seen has shape (2), and must be [N] with N = 3.
    >>> total(torch.ones(3, 2).long(), torch.ones(3).bool())
    Traceback (most recent call last):
    glyptic.errors.InputError: x is a tensor of int64, and must be one of floating-point numbers.
    """
    axes = {name: _parsed(spec) for name, spec in wanted.items()}

    def decorated(function: Callable[P, R]) -> Shaped[P, R]:
        signature, within = inspect.signature(function), checked(function)

        @wraps(function)
        def looking(*args: P.args, **kwargs: P.kwargs) -> R:
            if torch.compiler.is_compiling():
                return function(*args, **kwargs)
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                return function(*args, **kwargs)  # Python's own sentence, which names the function
            _look(axes, given)
            return within(*args, **kwargs)

        found = cast(Shaped[P, R], looking)
        found.plain = function
        return found

    return decorated


def _parsed(spec: str) -> tuple[str, list[str]]:
    first, *rest = spec.split()
    return (first, rest) if first in KINDS else ("real", [first, *rest])


def _look(wanted: Mapping[str, tuple[str, list[str]]], given: Mapping[str, Any]) -> None:
    sizes: dict[str, int] = {}
    dtypes: dict[torch.dtype, str] = {}
    before: dict[str, tuple[int, ...]] = {}
    for name, (kind, axes) in wanted.items():
        value = given.get(name)
        if not isinstance(value, Tensor):
            continue  # the signature says whether there may be none
        said, holds = KINDS[kind]
        if not holds(value):
            raise InputError(f"{name} is a tensor of {_short(value.dtype)}, and must be one of {said}.")
        _measure(name, value, axes, sizes)
        if axes[0] == "...":
            before[name] = tuple(value.shape[: value.dim() - len(axes) + 1])
        if kind == "real":
            dtypes.setdefault(value.dtype, name)
    if len(before) > 1 and not _broadcast(before.values()):
        each = " and ".join(f"{name} {tuple(given[name].shape)}" for name in before)
        raise InputError(f"{each} have axes before the last that do not go together." if sizes else f"{each} do not go together.")
    if len(dtypes) > 1:
        each = " and ".join(f"{name} {_short(dtype)}" for dtype, name in dtypes.items())
        raise InputError(f"{each} are tensors of different kinds of numbers; give all in one.")


def _broadcast(shapes: Iterable[tuple[int, ...]]) -> bool:
    try:
        torch.broadcast_shapes(*shapes)
    except RuntimeError:
        return False
    return True


def _measure(name: str, value: Tensor, axes: list[str], sizes: dict[str, int]) -> None:
    """Note the size of each letter, or find it as it was noted."""
    named = axes[1:] if axes[:1] == ["..."] else axes
    sides = tuple(value.shape)
    fits = len(sides) >= len(named) if named is not axes else len(sides) == len(named)
    known = {letter: sizes[letter] for letter in named if letter in sizes}
    if fits:
        for letter, side in zip(reversed(named), reversed(sides), strict=False):
            fits = fits and sizes.setdefault(letter, side) == side
    if not fits:
        where = " and ".join(f"{letter} = {size}" for letter, size in known.items())
        shape = f"({', '.join(map(str, sides))})"
        raise InputError(f"{name} has shape {shape}, and must be [{', '.join(axes)}]" + (f" with {where}." if where else "."))


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def device(name: str, value: Any) -> torch.device:
    """A device that tensors can be made on; None: torch's default."""
    try:
        return torch.empty(0, device=value).device
    except (RuntimeError, TypeError, AssertionError, NotImplementedError, ValueError, OverflowError):
        raise refused(name, value, "a device that torch has here, such as 'cpu', or None") from None
