"""Built-in deciders, to play with and to test on: each `name(format, …) -> Transformer`, right on every input up to
its length.

    tokens      contains, first_equals_last, palindromes
    counting    majority, modular, parity
    nesting     balanced brackets, of several kinds, up to a depth
    parts       what they are made of: look-up, total, position codes

>>> by_name("parity:8", "fixed:4").answer("0111")
'YES'
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from glyptic.arguments import Count, Seed, checked, is_word, refused, shown
from glyptic.carve.building import format_of
from glyptic.carve.examples.parts import Length, whole_numbers
from glyptic.errors import InputError, ModelError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat

if TYPE_CHECKING:
    from glyptic.carve.examples.counting import majority as majority
    from glyptic.carve.examples.counting import modular as modular
    from glyptic.carve.examples.counting import parity as parity
    from glyptic.carve.examples.nesting import brackets as brackets
    from glyptic.carve.examples.tokens import contains as contains
    from glyptic.carve.examples.tokens import first_equals_last as first_equals_last
    from glyptic.carve.examples.tokens import palindromes as palindromes
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
    __all__ += ["EXAMPLES", "by_name", "parameters", "random", "usage", "whole_numbers"]

EXAMPLES = ("contains", "first-equals-last", "majority", "parity", "brackets", "palindromes", "modular", "random")


@checked
def random(
    format: AnyFormat | str, seed: Seed = 0, layers: Annotated[int, Count(0, 1000)] = 2, max_length: Length = 12
) -> Transformer:
    """A random transformer by seed; it decides nothing in particular, and need not be decisive.

    >>> from glyptic.numbers import Fixed
    >>> random(Fixed(4), seed=7).same_as(random(Fixed(4), seed=7))
    True
    """
    from glyptic.exact.random import Sizes, random_transformer

    made = random_transformer(format_of(format), seed, Sizes(layers=layers, max_length=max_length))
    return made.replace(name=f"random:{seed},{layers},{max_length}")


@checked
def by_name(text: str, format: AnyFormat | str, *, force: bool = False) -> Transformer:
    """A decider from its name and parameters, in order or by name: `parity:8`, `contains:101,16`,
    `modular:5,residue=2`. `force` builds it in formats that it refuses, where it may be wrong.
    """
    given, name = parameters(text), text.partition(":")[0]  # which refuses other names
    forced = {"force": True} if force and name != "random" else {}  # `random` refuses nothing
    try:
        return _decider(name)(format_of(format), **given, **forced)
    except InputError as error:  # which names the parameter
        raise error if str(error).startswith(f"{name}:") else InputError(f"{name}: {error}") from None


def parameters(text: str) -> dict[str, Any]:
    """The parameters that a decider's name gives, those left out not among them.

    >>> parameters("modular:5,residue=2")
    {'modulus': 5, 'residue': 2}
    """
    if not isinstance(text, str):
        raise refused("the name of a decider", text, "a text, such as parity:8")
    name, _, rest = text.partition(":")
    return _parameters(name, rest)


def usage(name: str) -> str:
    """How a decider's name is written, with its parameters' defaults.

    >>> usage("modular")
    'modular:modulus=3,residue=0,max_length=12,letter=1,vocabulary=01'
    """
    given = ",".join(f"{p.name}={p.default}" for p in _signature(name))
    return f"{name}:{given}"


def _decider(name: str) -> Callable[..., Transformer]:
    """The function of that name; its module, and no other, is loaded now."""
    return getattr(sys.modules[__name__], name.replace("-", "_"))  # type: ignore[no-any-return]


def _signature(name: str) -> list[inspect.Parameter]:
    """What the name can give: all but the format, and `force`, which is asked for in Python."""
    if not is_word(name, EXAMPLES):
        raise ModelError(f"no built-in decider {shown(name)}; there are {', '.join(EXAMPLES)}.")
    everything = inspect.signature(_decider(name), eval_str=False).parameters.values()
    return [parameter for parameter in everything if parameter.name not in ("format", "force")]


def _parameters(name: str, text: str) -> dict[str, Any]:
    known = _signature(name)
    found: dict[str, Any] = {}
    for place, item in enumerate(text.split(",") if text else []):
        key, equals, value = item.partition("=")
        if not equals:
            key, value = known[place].name if place < len(known) else "", item
        parameter = next((p for p in known if p.name == key), None)
        if parameter is None or key in found:
            raise ModelError(f"{name}: {shown(item)} is not one of its parameters, or comes twice; write {usage(name)}.")
        found[key] = _converted(name, parameter, value)
    return found


def _converted(name: str, parameter: inspect.Parameter, value: str) -> int | str:
    if isinstance(parameter.default, str):
        return value
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise ModelError(f"{name}: {parameter.name} must be a whole number of at most 18 digits, and it is {shown(value)}.")
    return int(value)
