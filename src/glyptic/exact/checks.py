"""What a transformer must be: parts of their kinds, names that can be told apart, one format, shapes that fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from glyptic.arguments import Count, shown
from glyptic.errors import ModelError
from glyptic.exact.answers import WORDS_BELOW
from glyptic.exact.history import Frame, texts
from glyptic.exact.options import Options
from glyptic.exact.parts import parts, weights_of
from glyptic.exact.weights import Head, Layer, Norm, Weights, belong, columns_of, of_another_format, rows_of, tuple_of
from glyptic.numbers import as_format, check_codes, check_width, same_numbers, written, written_in

if TYPE_CHECKING:
    from glyptic.exact.transformer import Transformer

_MEANINGS = dict(zip(WORDS_BELOW, ("a run that met 0/0", "a tie"), strict=True))
_ARRAYS = ("token_embedding", "position_embedding", "output")


def check(transformer: Transformer) -> None:
    """Refuse what is no transformer, with the part and the reason; what is given in other words is put in its place."""
    object.__setattr__(transformer, "format", as_format(transformer.format))
    check_width(transformer.format)
    _check_kinds(transformer)
    _check_names(transformer)
    _check_formats(transformer)
    _check_arrays(transformer)
    _check_norms(transformer)
    _check_scale(transformer)
    if transformer.period is not None:
        period = Count(1, len(transformer.position_embedding))("period", transformer.period)
        object.__setattr__(transformer, "period", period)
    _check_positions(transformer)


def _check_arrays(transformer: Transformer) -> None:
    for part, array, shape in parts(transformer):
        if array.dtype != np.int64:
            raise ModelError(f"{part} holds {array.dtype}, not int64 codes; encode numbers with glyptic.numbers.encode.")
        if array.shape != shape:
            raise ModelError(f"{part} has shape {array.shape}; it must be {shape}.")
        check_codes(array, transformer.format, part)


def names_of(given: Any, what: str) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise ModelError(f"{what} is {shown(given)}, and must be a list of names.") from None


def _check_kinds(transformer: Transformer) -> None:
    """Each part is of its kind, and what holds several is a tuple."""
    for name in ("vocabulary", "coordinates", "answers"):
        object.__setattr__(transformer, name, names_of(getattr(transformer, name), name))
    object.__setattr__(transformer, "history", tuple_of(Frame, transformer.history, "history"))
    if isinstance(transformer.layers, Weights | Layer):
        raise ModelError(f"layers is one {type(transformer.layers).__name__}, and must be a tuple: layers=[Layer((head,))].")
    object.__setattr__(transformer, "layers", tuple_of(Layer, transformer.layers, "layers"))
    codes = (np.ndarray | np.generic, "an array of codes; Transformer.of makes one from numbers")
    kinds: dict[str, tuple[Any, str]] = dict.fromkeys(_ARRAYS, codes)
    kinds |= {"options": (Options, "Options"), "name": (str, "a text")}
    kinds |= dict.fromkeys(("final_norm", "embedding_norm"), (Norm | None, "a Norm or None"))
    kinds["output_bias"] = (np.ndarray | None, codes[1])
    for name, (kind, wanted) in kinds.items():
        given = getattr(transformer, name)
        if not isinstance(given, kind):
            raise ModelError(f"{name} is {shown(given)}, and must be {wanted}.")


def _check_formats(transformer: Transformer) -> None:
    """What was written in another format is refused; what did not know its format is of this one from now on."""
    format = transformer.format
    for name in (*_ARRAYS, *(["output_bias"] if transformer.output_bias is not None else [])):
        array = getattr(transformer, name)
        own = written_in(array)
        if own is not None and not same_numbers(own, format):
            raise of_another_format(name, own, format)
        object.__setattr__(transformer, name, written(array, own or format))
    for name, part in weights_of(transformer):
        belong(part, format, name)


def _check_names(transformer: Transformer) -> None:
    for what in ("vocabulary", "coordinates", "answers"):
        names = getattr(transformer, what)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ModelError(f"{what} must be at least one name, and no name empty; it is {shown(names)}.")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ModelError(f"{what} has {shown(twice[0])} twice; names must differ.")
        _check_texts(what, names)
    _check_texts("name", [transformer.name])
    for number, frame in enumerate(transformer.history):
        _check_texts(f"history.{number}", texts(frame))
    for word, meaning in _MEANINGS.items():
        if word in transformer.answers:
            raise ModelError(f"answers has {word!r}, which is the word for {meaning}; choose another name.")
    if rows_of(transformer.position_embedding) == 0:
        raise ModelError("position_embedding has no rows; it needs one for each position that may occur.")


def _check_texts(what: str, given: Iterable[str]) -> None:
    """Names are printed in tables, sentences and verdicts: none begins a line of its own, or moves a terminal's cursor."""
    for text in given:
        if not isinstance(text, str) or not text.isprintable():
            raise ModelError(f"{what} has {shown(text)}; names are texts without line breaks, control and direction characters.")


def _check_scale(transformer: Transformer) -> None:
    if transformer.options.scale:
        for l, layer in enumerate(transformer.layers):
            for h, head in enumerate(layer.heads):
                if len(head.query) == 0:
                    raise ModelError(f"layers.{l}.heads.{h}.query has no rows, so scores cannot be divided by √0; unset scale.")


def _check_norms(transformer: Transformer) -> None:
    wanted = transformer.options.norm != "none"
    for name, codes, _ in parts(transformer):
        if name.endswith(".epsilon") and codes < 0:
            raise ModelError(f"{name} is {transformer.format.value(int(codes))}; under a root it must not be negative.")
    for l, layer in enumerate(transformer.layers):
        needs = {"attention_norm": bool(layer.heads), "feed_forward_norm": layer.feed_forward is not None}
        for name, used in needs.items():
            there = getattr(layer, name) is not None
            if wanted and used and not there:
                raise ModelError(f"layers.{l}.{name} is missing, and options.norm is {transformer.options.norm!r}.")
            if there and not wanted:
                raise ModelError(f"layers.{l}.{name} is there, but options.norm is 'none'; choose 'pre' or 'post'.")
        if layer.parallel and transformer.options.norm == "post":
            raise ModelError(f"layers.{l} is parallel, and options.norm is 'post', which goes between its parts; choose 'pre'.")


def _check_positions(transformer: Transformer) -> None:
    """Angles for every position and within the head; tables by distance have rows, and speak of earlier positions only."""
    for prefix, part in weights_of(transformer):
        if not isinstance(part, Head):
            continue
        turned = 2 * columns_of(part.cosine)
        if part.cosine is not None and (len(part.cosine) < transformer.max_length or turned > len(part.query)):
            raise ModelError(
                f"{prefix}.cosine has shape {part.cosine.shape}; it needs a row for each of the {transformer.max_length} "
                f"positions, and at most half as many columns as query has rows, {len(part.query)}."
            )
        for name in ("distance_scores", "distance_keys", "distance_values"):
            table = getattr(part, name)
            if table is not None and not len(table):
                raise ModelError(f"{prefix}.{name} has no rows; it needs one for distance 0, and its last is for all beyond.")
            if table is not None and transformer.options.mask == "full":
                said = f"{prefix}.{name} is by the distance to an earlier position, and options.mask is 'full'"
                raise ModelError(f"{said}; choose 'causal' or 'strict'.")
