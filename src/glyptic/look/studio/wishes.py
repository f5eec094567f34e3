"""What a page may ask for: a model with an input, or a question about a model; every word checked, none that is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any, Literal, TypeVar

from glyptic.arguments import Count, Number, check_fields, refused, shown
from glyptic.errors import InputError
from glyptic.numbers import Attention

Source = Literal["name", "expression", "folder"]
Normal = Literal["", "zero_one", "infinity", "plus_minus"]
Asked = TypeVar("Asked", bound="ModelWish")
LONGEST = 4000  # characters of one text
LONGEST_INPUT = 20000


@dataclass(frozen=True)
class ModelWish:
    """A model: by a name such as parity:8, by an expression of such names, or by a path in the opened folder."""

    source: Source = "name"
    text: str = "parity:8"
    format: str = ""  # the model's own, or fixed:8
    normalize: Normal = ""
    attention: Literal["", Attention] = ""

    def __post_init__(self) -> None:
        check_fields(self)
        for each in fields(self):
            value = getattr(self, each.name)
            most = LONGEST_INPUT if each.name == "input" else LONGEST
            if isinstance(value, str) and len(value) > most:
                raise refused(each.name, value, f"at most {most:,} characters")


@dataclass(frozen=True)
class PageWish(ModelWish):
    """A page: the model, an input that it is first shown with, and the page's language."""

    input: str = ""
    language: Literal["en", "es"] = "en"


@dataclass(frozen=True)
class ProofWish(ModelWish):
    """A question about a model: the same answers as another, a language, or a claim by name.

    >>> ProofWish(text="parity:8", against="parity:8", language="(0|1)*")
    Traceback (most recent call last):
    glyptic.errors.InputError: ask one thing: against another model, or a language, or a claim.
    """

    against: str = ""  # an expression
    language: str = ""  # a regular expression
    claim: Literal["", "decisive", "never_zero_attention"] = ""
    max_length: Annotated[int, Count(1, 10**6)] | None = None
    seconds: Annotated[float, Number(above=0)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if sum(map(bool, (self.against, self.language, self.claim))) != 1:
            raise InputError("ask one thing: against another model, or a language, or a claim.")


def wish_of(kind: type[Asked], given: Any) -> Asked:
    """The wish that a request says, whose names are all known.

    >>> wish_of(PageWish, {"text": "parity:8", "inputs": "01"})
    Traceback (most recent call last):
    glyptic.errors.InputError: 'inputs' is not known here; known are source, text, format, normalize, attention, input, language.
    """
    if not isinstance(given, Mapping):
        raise refused("the request", given, "an object with names and values")
    known = [each.name for each in fields(kind)]
    for name in given:
        if name not in known:
            raise InputError(f"{shown(name)} is not known here; known are {', '.join(known)}.")
    return kind(**given)


def as_json(wish: ModelWish) -> dict[str, Any]:
    """A wish as plain values, of which `wish_of` makes it again."""
    return asdict(wish)
