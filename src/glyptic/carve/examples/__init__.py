"""Built-in deciders, to play with and to test on: each `name(format, …) -> Transformer`, right on every input up to
its length.

    tokens      contains, first_equals_last, palindromes
    counting    majority, modular, parity
    balanced    brackets, of several kinds, up to a depth
    parts       what they are made of: look-up, total, position codes

>>> by_name("parity:8", "fixed:4").answer("0111")
'YES'
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from glyptic.arguments import Count, Seed, checked, is_word, refused, shown
from glyptic.carve.examples.parts import Length
from glyptic.carve.examples.parts import whole_numbers as whole_numbers
from glyptic.errors import InputError, ModelError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat, as_format
from glyptic.text import printable

if TYPE_CHECKING:
    from glyptic.carve.examples.balanced import brackets as brackets
    from glyptic.carve.examples.counting import majority as majority
    from glyptic.carve.examples.counting import modular as modular
    from glyptic.carve.examples.counting import parity as parity
    from glyptic.carve.examples.tokens import contains as contains
    from glyptic.carve.examples.tokens import first_equals_last as first_equals_last
    from glyptic.carve.examples.tokens import palindromes as palindromes
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, _ = lazily(__name__)


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

        >>> EXAMPLES["modular"].parameters("5,residue=2")
        {'modulus': 5, 'residue': 2}
        """
        known = self._known()
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

        >>> EXAMPLES["modular"].usage()
        'modular:modulus=3,residue=0,max_length=12,letter=1,vocabulary=01'
        """
        given = (p.name.upper() if p.default is p.empty else f"{p.name}={p.default}" for p in self._known())
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

    def _known(self) -> list[inspect.Parameter]:
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


@checked
def random(
    format: AnyFormat | str, seed: Seed = 0, layers: Annotated[int, Count(0, 1000)] = 2, max_length: Length = 12
) -> Transformer:
    """A random transformer by seed; it decides nothing in particular, and need not be decisive.

    >>> from glyptic.numbers import Fixed
    >>> random(Fixed(4), seed=7).same_as(random(Fixed(4), seed=7))
    True
    """
    from glyptic.exact import Sizes, random_transformer  # when it is asked for

    made = random_transformer(as_format(format), seed, Sizes(layers=layers, max_length=max_length))
    return made.replace(name=f"random:{seed},{layers},{max_length}")


EXAMPLES: Mapping[str, ModelKind] = {
    name: ModelKind(name, f"{__name__}{maker}")
    for name, maker in {
        "contains": ".tokens:contains",
        "first-equals-last": ".tokens:first_equals_last",
        "majority": ".counting:majority",
        "parity": ".counting:parity",
        "brackets": ".balanced:brackets",
        "palindromes": ".tokens:palindromes",
        "modular": ".counting:modular",
        "random": ":random",
    }.items()
}


@checked
def by_name(text: str, format: AnyFormat | str, *, force: bool = False) -> Transformer:
    """A decider from its name and parameters, in order or by name: `parity:8`, `contains:101,16`,
    `modular:5,residue=2`. `force` builds it in formats that it refuses, where it may be wrong.
    """
    kind, given = kind_of(text)
    return kind.build(given, format, force)


def kind_of(text: str, kinds: Mapping[str, ModelKind] = EXAMPLES) -> tuple[ModelKind, str]:
    """What a name stands for, and its parameters as they are written.

    >>> kind_of("modular:5,residue=2")[1]
    '5,residue=2'
    """
    if not isinstance(text, str):
        raise refused("the name of a decider", text, "a text, such as parity:8")
    name, _, given = text.partition(":")
    if not is_word(name, kinds):
        raise ModelError(f"no built-in decider {shown(name)}; there are {', '.join(kinds)}.")
    return kinds[name], given
