"""Claims and transformers as JSON and back: what certificates hold, and what the digest of a job is made of.

A Python predicate has no JSON form but its name: whoever reads such a claim must bring the predicate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from functools import partial
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from glyptic.errors import FileError, GlypticError
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.exact.transformer import parts
from glyptic.numbers import parse_format
from glyptic.prove import expressions as e
from glyptic.prove.claims import Block, Claim, Inputs, Values
from glyptic.prove.languages import Automaton

Json = dict[str, Any]

_NODES = {
    kind.__name__: kind
    for kind in (
        *(e.Variable, e.Coordinate, e.Logit, e.Attention, e.Parameter, e.Constant, e.Operation),
        *(e.Choice, e.Local, e.LetValue),
        *(e.Answer, e.Token, e.Text),
        *(e.Comparison, e.SameWord, e.SameChains, e.Junction, e.Negation, e.Implication, e.Equivalence, e.Let),
        *(e.Accepted, e.Holds, e.Defined),
    )
}


def digest(claim: Claim) -> str:
    """A fingerprint of everything a claim says, weights included; of a predicate, its name, code, and what it was made with."""
    content = json.dumps(claim_to_json(claim), sort_keys=True, ensure_ascii=False)
    for node in (*claim.requires.parts(), *claim.ensures.parts()):
        if isinstance(node, e.Holds):
            content += _of_predicate(node.predicate)
    return hashlib.sha256(content.encode()).hexdigest()


def _of_predicate(value: Any, inside: tuple[Any, ...] = ()) -> str:
    """A function by its code, defaults and the plain values it closes over; dicts and objects, which may change, by their type.

    >>> def longer_than(n):
    ...     return lambda text: len(text) > n
    >>> three, again, four = (_of_predicate(longer_than(n)) for n in (3, 3, 4))
    >>> three == again, three == four
    (True, False)
    """
    if value is None or isinstance(value, str | bytes | int | float | Fraction):
        return repr(value)
    if isinstance(value, tuple | list | set | frozenset):
        parts = [_of_predicate(part, inside) for part in value]
        return f"{type(value).__name__} {parts if isinstance(value, tuple | list) else sorted(parts)}"
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()} {value.co_names} {_of_predicate(value.co_consts, inside)}"
    if isinstance(value, partial):
        return _of_predicate((value.func, value.args, tuple(sorted(value.keywords.items()))), inside)
    if isinstance(value, FunctionType) and not any(value is each for each in inside):  # it may close over itself
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return _of_predicate((value.__code__, value.__defaults__, tuple(cells)), (*inside, value))
    return f"{type(value).__module__}.{type(value).__qualname__}"


# Claims ---------------------------------------------------------------------------------------------------------------


def claim_to_json(claim: Claim) -> Json:
    """A claim as plain JSON values, its transformers whole."""
    return {
        "name": claim.name,
        "quantifier": claim.quantifier,
        "subject": _subject_to_json(claim.subject),
        "requires": _node_to_json(claim.requires),
        "ensures": _node_to_json(claim.ensures),
    }


def claim_from_json(data: Json, predicate: Callable[[Any], bool] | None = None) -> Claim:
    """The inverse; a claim with a Python predicate needs it given."""
    try:
        subject = _subject_from_json(data["subject"])
        requires, ensures = (_node_from_json(data[side], predicate) for side in ("requires", "ensures"))
        return Claim(subject, ensures, requires, data["name"], data.get("quantifier", "all"))
    except GlypticError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"the claim is damaged: {type(error).__name__}: {error}.") from None


def _subject_to_json(subject: Values | Block | Inputs) -> Json:
    if isinstance(subject, Values):
        return {"kind": "values", "names": list(subject.names), "format": str(subject.format)}
    shared = {"transformers": {name: transformer_to_json(t) for name, t in subject.transformers.items()}}
    if isinstance(subject, Inputs):
        lengths = {"max_length": subject.max_length, "min_length": subject.min_length, "steps": list(subject.steps)}
        return {"kind": "inputs", **shared, **lengths}
    return {
        "kind": "block",
        **shared,
        "first": subject.first,
        "last": subject.last,
        "positions": subject.positions,
        "free": [list(place) for place in subject.free],
        "fixed": [[name, position, str(number)] for (name, position), number in subject.fixed.items()],
        "from_positions": list(subject.from_positions),
        "free_weights": [[part, list(index)] for part, index in subject.free_weights],
    }


def _subject_from_json(data: Json) -> Values | Block | Inputs:
    if data["kind"] == "values":
        return Values(data["names"], None if data["format"] == "None" else parse_format(data["format"]))
    transformers = {name: transformer_from_json(t) for name, t in data["transformers"].items()}
    if data["kind"] == "inputs":
        return Inputs(transformers, data["max_length"], data["min_length"], tuple(data["steps"]))
    fixed = {(name, position): _number(text) for name, position, text in data["fixed"]}
    free = tuple((name, position) for name, position in data["free"])
    sizes = data["first"], data["last"], data["positions"]
    weights = tuple((part, tuple(index)) for part, index in data.get("free_weights", ()))
    return Block(transformers, *sizes, free, fixed, tuple(data["from_positions"]), weights)


def _node_to_json(node: Any) -> Any:
    if isinstance(node, e.Node):
        return {"node": type(node).__name__, **{f.name: _node_to_json(getattr(node, f.name)) for f in fields(node)}}  # type: ignore[arg-type]
    if isinstance(node, Automaton):
        accepting = sorted(node.accepting)
        return {**asdict(node), "accepting": accepting, "moves": [list(row) for row in node.moves]}
    if isinstance(node, tuple):
        return [_node_to_json(item) for item in node]
    if isinstance(node, Fraction):
        return {"fraction": str(node)}
    return None if callable(node) else node


def _node_from_json(data: Any, predicate: Callable[[Any], bool] | None) -> Any:
    if isinstance(data, list):
        return tuple(_node_from_json(item, predicate) for item in data)
    if not isinstance(data, dict):
        return data
    if "fraction" in data:
        return Fraction(data["fraction"])
    if "moves" in data:
        moves = tuple(map(tuple, data["moves"]))
        alphabet = tuple(data["alphabet"])
        return Automaton(alphabet, moves, frozenset(data["accepting"]), data["start"], data["name"])
    kind = _NODES[data["node"]]
    if kind is e.Holds and predicate is None:
        raise FileError(
            f"the claim rests on the Python predicate {data['name']!r}, which a file cannot hold; give it again."
        )
    inner = {name: _node_from_json(item, predicate) for name, item in data.items() if name != "node"}
    return kind(**{**inner, "predicate": predicate}) if kind is e.Holds else kind(**inner)


def _number(text: str) -> Any:
    return text if text.lstrip("-") in ("B", "least") else Fraction(text)


# Transformers ---------------------------------------------------------------------------------------------------------


def transformer_to_json(transformer: Transformer) -> Json:
    """A transformer whole: names, options, and every array as its shape and its nonzero codes."""
    return {
        "name": transformer.name,
        "format": str(transformer.format),
        "vocabulary": list(transformer.vocabulary),
        "coordinates": list(transformer.coordinates),
        "answers": list(transformer.answers),
        "options": asdict(transformer.options),
        "heads": [len(layer.heads) for layer in transformer.layers],
        "arrays": {name: _array_to_json(array) for name, array, _ in parts(transformer)},
    }


def _array_to_json(array: np.ndarray) -> Json:
    flat = array.ravel()
    places = np.flatnonzero(flat)
    return {"shape": list(array.shape), "places": places.tolist(), "codes": flat[places].tolist()}


def _array_from_json(data: Json) -> np.ndarray:
    array = np.zeros(int(np.prod(data["shape"])), np.int64)
    array[data["places"]] = data["codes"]
    return array.reshape(data["shape"])


def transformer_from_json(data: Json) -> Transformer:
    """The inverse; the transformer's own checks refuse what does not fit together."""
    arrays: Mapping[str, np.ndarray] = {name: _array_from_json(array) for name, array in data["arrays"].items()}

    def gathered(kind: type, prefix: str) -> Any:
        return kind(**{field.name: arrays[f"{prefix}.{field.name}"] for field in fields(kind)})

    def optional(kind: type, prefix: str) -> Any:
        return gathered(kind, prefix) if any(name.startswith(prefix + ".") for name in arrays) else None

    layers = tuple(
        Layer(
            tuple(gathered(Head, f"layers.{l}.heads.{h}") for h in range(count)),
            optional(FeedForward, f"layers.{l}.feed_forward"),
            optional(Norm, f"layers.{l}.attention_norm"),
            optional(Norm, f"layers.{l}.feed_forward_norm"),
        )
        for l, count in enumerate(data["heads"])
    )
    return Transformer(
        parse_format(data["format"]),
        tuple(data["vocabulary"]),
        tuple(data["coordinates"]),
        arrays["token_embedding"],
        arrays["position_embedding"],
        layers,
        arrays["output"],
        tuple(data["answers"]),
        Options(**data["options"]),
        optional(Norm, "final_norm"),
        data["name"],
    )
