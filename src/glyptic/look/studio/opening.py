"""The transformer that a wish names: built in, by an expression, or from the opened folder; then normalized, read as wished.

Unlike `programs.open`, a text never becomes a path by itself: built-in names come first, and all else is looked for in the folder
that was opened (`folders`), nowhere else. Write ./parity for a folder that has the name of a built-in decider.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from glyptic.carve import closure, normalize
from glyptic.exact import Transformer, load
from glyptic.look.studio.folders import model_in
from glyptic.look.studio.wishes import ModelWish
from glyptic.numbers import as_format
from glyptic.programs.combining import parse
from glyptic.programs.registry import DEFAULT_FORMAT, KINDS, ModelKind, by_name

_JOINS = {"|": closure.disjunction, "^": closure.exclusive, "&": closure.conjunction}


def opened(wish: ModelWish, root: Path | None) -> Transformer:
    """The transformer.

    >>> opened(ModelWish("expression", "parity:4 & ~contains:11,4", normalize="infinity"), None).answer("0111")
    'NO'
    """
    made = _found(wish, root)
    if wish.normalize:
        made = getattr(normalize, wish.normalize)(made).replace(name=f"{wish.normalize} normalization of {made.name}")
    return made.with_options(attention=wish.attention) if wish.attention else made


def combined(expression: str, format: str, root: Path | None) -> Transformer:
    """The decider that an expression says; its names are built in, or folders in the opened one."""
    parse(expression, lambda name: 0)  # a slip of the pen is told before anything is built
    made: Transformer = parse(expression, lambda name: _named(name, format, root), _JOINS)
    return made.replace(name=" ".join(expression.split()))


def _found(wish: ModelWish, root: Path | None) -> Transformer:
    if wish.source == "expression":
        return combined(wish.text, wish.format, root)
    if wish.source == "folder":
        return _loaded(wish.text, wish.format, root)
    return by_name(wish.text, wish.format or DEFAULT_FORMAT)


def _named(name: str, format: str, root: Path | None) -> Transformer:
    is_built_in = name.partition(":")[0] in KINDS
    return by_name(name, format or DEFAULT_FORMAT) if is_built_in else _loaded(name, format, root)


def _loaded(name: str, format: str, root: Path | None) -> Transformer:
    made = load(model_in(root, name.removeprefix("./")), within=root)
    return made.in_format(as_format(format)) if format else made


def built_in() -> list[dict[str, Any]]:
    """The built-in kinds with their parameters, for a form: name, whole number or text, and what it is if left out.

    >>> built_in()[0]["name"], built_in()[0]["parameters"][0]
    ('contains', {'name': 'word', 'whole': False, 'default': '101'})
    """
    return [{"name": kind.name, "parameters": _parameters(kind)} for kind in KINDS.values()]


def _parameters(kind: ModelKind) -> list[dict[str, Any]]:
    def described(parameter: inspect.Parameter) -> dict[str, Any]:
        given = None if parameter.default is parameter.empty else parameter.default
        whole = not (isinstance(given, str) or parameter.annotation in (str, "str"))
        return {"name": parameter.name, "whole": whole, "default": given}

    return [described(parameter) for parameter in kind.known()]


def about(transformer: Transformer) -> dict[str, Any]:
    """What a form has to know of a transformer: sizes, symbols, answers, the longest input."""
    return {
        "name": transformer.name,
        "format": str(transformer.format),
        "layers": len(transformer.layers),
        "heads": sum(len(layer.heads) for layer in transformer.layers),
        "width": transformer.width,
        "max_length": transformer.max_length if transformer.period is None else "∞",
        "vocabulary": list(transformer.vocabulary),
        "answers": list(transformer.answers),
    }
