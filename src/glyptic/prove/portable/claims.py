"""Claims as JSON and back: what certificates hold, and what the digest of a job is made of.

A Python predicate has no JSON form but its name: whoever reads such a claim must bring the predicate. A node of an expression is
{"node": its class, field: …}; `FIELDS` has a row for each class, which says how its fields are read, and nothing else is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from math import inf
from typing import Any

from glyptic.errors import FileError
from glyptic.languages.automata import Automaton
from glyptic.languages.named import named_truly
from glyptic.numbers import Exact
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values
from glyptic.prove.portable.pinning import pinned
from glyptic.prove.portable.reading import JsonPart, is_coordinate, is_token, is_variable, same_json
from glyptic.prove.portable.transformers import format_from_json, transformer_from_json, transformer_to_json
from glyptic.text import quoted

Json = dict[str, Any]
Predicate = Callable[[Any], bool]
Predicates = Predicate | Mapping[str, Predicate] | None

CONSTANTS = ("B", "-B", "least", "-least")
COMPARISONS = ("=", "≠", "<", "≤", ">", "≥")
OPERATIONS = {  # and how many operands each has
    **dict.fromkeys(("add", "subtract", "multiply", "divide", "max", "min"), 2),
    **dict.fromkeys(("exp", "relu", "root", "abs"), 1),
}
MOST_DEPTH = 200  # of an expression: evaluation and printing are recursive
MOST_LENGTH = 512  # of inputs, and positions that layers are fed with
_MOST_BITS = 8192  # of all free values together, so that their number can be written down
_MOST_STATES = 1 << 12


def digest(claim: Claim) -> str:
    """A fingerprint of everything that a claim says, weights included; of a predicate, its source with what it calls."""
    content = json.dumps(claim_to_json(claim), sort_keys=True, ensure_ascii=False)
    for node in predicates_of(claim):
        content += pinned(node.predicate).digest
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()


def doubts(claim: Claim) -> tuple[str, ...]:
    """Why the digest of a claim may miss something: what is not known of its predicates."""
    named = {node.name: pinned(node.predicate).doubts for node in predicates_of(claim)}
    return tuple(f"the predicate {name}: {doubt}" for name, found in named.items() for doubt in found)


def predicates_of(claim: Claim) -> list[e.Holds]:
    return [node for node in claim.parts() if isinstance(node, e.Holds)]


# Writing ----------------------------------------------------------------------------------------------------------------


def claim_to_json(claim: Claim) -> Json:
    """A claim as plain JSON values, its transformers whole."""
    return {
        "name": claim.name,
        "quantifier": claim.quantifier,
        "subject": _subject_to_json(claim.subject),
        "requires": node_to_json(claim.requires),
        "ensures": node_to_json(claim.ensures),
    }


def _subject_to_json(subject: Values | Layers | Inputs) -> Json:
    if isinstance(subject, Values):
        return {"kind": "values", "names": list(subject.names), "format": str(subject.format)}
    shared = {"transformers": {name: transformer_to_json(t) for name, t in subject.transformers.items()}}
    if isinstance(subject, Inputs):
        longest = None if subject.endless else subject.max_length
        lengths = {"max_length": longest, "min_length": subject.min_length, "steps": list(subject.steps)}
        return {"kind": "inputs", **shared, **lengths}
    return {
        "kind": "block",
        **shared,
        "first": subject.first,
        "last": subject.last,
        "positions": subject.positions,
        "free": [list(place) for place in subject.free],
        "fixed": [[name, position, _constant_text(number)] for (name, position), number in subject.fixed.items()],
        "from_positions": list(subject.from_positions),
        "free_weights": [[part, list(index)] for part, index in subject.free_weights],
    }


def _constant_text(number: Any) -> str:
    return number if isinstance(number, str) else str(Fraction(number))


def node_to_json(node: Any) -> Any:
    if isinstance(node, e.Constant):
        named = isinstance(node.number, str)
        return {"node": "Constant", "number": node.number if named else {"fraction": _constant_text(node.number)}}
    if isinstance(node, e.Node):
        return {"node": type(node).__name__, **{f.name: node_to_json(getattr(node, f.name)) for f in fields(node)}}  # type: ignore[arg-type]
    if isinstance(node, Automaton):
        lists = {"alphabet": list(node.alphabet), "moves": [list(row) for row in node.moves]}
        return {**asdict(node), **lists, "accepting": sorted(node.accepting)}
    if isinstance(node, tuple):
        return [node_to_json(item) for item in node]
    return None if callable(node) else node


# Reading: claims and what they range over ---------------------------------------------------------------------------------


def claim_from_json(data: Json, predicate: Predicates = None) -> Claim:
    """The inverse; a claim with a Python predicate needs it given, one with several a mapping from their names."""
    part = JsonPart(data, "the claim")
    given = part.record("name", "quantifier", "subject", "requires", "ensures")
    reading = Reading(predicate)
    subject = _subject_from_json(given["subject"])
    requires, ensures = (reading.condition(given[side]) for side in ("requires", "ensures"))
    quantifier: Any = given["quantifier"].one_of(("all", "some"))
    claim = Claim(subject, ensures, requires, given["name"].text(), quantifier)
    if not same_json(claim_to_json(claim), data):
        raise FileError("the claim is not written as Glyptic writes it; it was edited.")
    return claim


def _subject_from_json(part: JsonPart) -> Values | Layers | Inputs:
    kind = JsonPart(part.entries().get("kind", part).value, f"{part.place}.kind").one_of(("values", "block", "inputs"))
    if kind == "values":
        return _values_from_json(part)
    if kind == "inputs":
        given = part.record("kind", "transformers", "max_length", "min_length", "steps")
        longest = given["max_length"].optional(lambda part: part.whole(1, MOST_LENGTH))
        shortest = given["min_length"].whole(1, MOST_LENGTH)
        steps = tuple(given["steps"].wholes(1, 1 << 16, MOST_LENGTH))
        return Inputs(_transformers(given["transformers"]), inf if longest is None else longest, shortest, steps)
    return _block_from_json(part)


def _values_from_json(part: JsonPart) -> Values:
    given = part.record("kind", "names", "format")
    names = given["names"].items(MOST_LENGTH)
    for each in names:
        if not is_variable(each.text()):
            each.refuse("a variable's name: letters, digits, underscores, and no word that claims are made of")
    subject = Values([each.text() for each in names], format_from_json(given["format"]))
    _check_bits(part, subject, len(names))
    return subject


def _block_from_json(part: JsonPart) -> Layers:
    names = ("kind", "transformers", "first", "last", "positions", "free", "fixed", "from_positions", "free_weights")
    given = part.record(*names)
    fixed: dict[tuple[str, int], Any] = {}
    for item in given["fixed"].items(1 << 16):
        name, position, number = item.items(exactly=3)
        fixed[name.text(), position.whole(0, MOST_LENGTH)] = number.value if number.value in CONSTANTS else number.fraction()
    if len(fixed) < len(given["fixed"].items()):
        given["fixed"].refuse("a list of places, none twice", "not")
    subject = Layers(
        _transformers(given["transformers"]),
        given["first"].whole(0, MOST_LENGTH),
        given["last"].optional(lambda last: last.whole(0, MOST_LENGTH)),
        given["positions"].whole(1, MOST_LENGTH),
        tuple(_place(item) for item in given["free"].items(_MOST_BITS)),
        fixed,
        given["from_positions"].texts(1 << 13),
        tuple(_weight(item) for item in given["free_weights"].items(_MOST_BITS)),
    )
    _check_bits(part, subject, len(subject.free) + len(subject.free_weights))
    return subject


def _place(part: JsonPart) -> tuple[str, int]:
    name, position = part.items(exactly=2)
    return name.text(), position.whole(0, MOST_LENGTH)


def _weight(part: JsonPart) -> tuple[str, tuple[int, ...]]:
    name, index = part.items(exactly=2)
    return name.text(), tuple(index.wholes(0, 1 << 24, 3))


def _transformers(part: JsonPart) -> dict[str, Any]:
    given = part.entries(2)
    if set(given) not in ({""}, {"a", "b"}):
        part.refuse('one transformer, named "", or two, named "a" and "b"', "of other names")
    return {name: transformer_from_json(given[name]) for name in sorted(given)}


def _check_bits(part: JsonPart, subject: Values | Layers, free: int) -> None:
    bits = free * (0 if subject.format is None or isinstance(subject.format, Exact) else subject.format.bits)
    if bits > _MOST_BITS:
        part.refuse(f"about values of at most {_MOST_BITS} bits together", f"about {bits}")


# Reading: expressions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How far down an expression one is, and the predicates that its reader has brought."""

    predicates: Predicates = None
    depth: int = 0

    def node(self, part: JsonPart, kind: type) -> Any:
        """A node of a kind: Value, Word or Condition."""
        if self.depth > MOST_DEPTH:
            raise FileError(f"the claim's expressions are nested more than {MOST_DEPTH} deep.")
        called = part.entries().get("node", JsonPart(None, f"{part.place}.node"))
        chosen = getattr(e, called.one_of(NODES))
        if not issubclass(chosen, kind):
            part.refuse(f"a {kind.__name__.lower()}", f"a {chosen.__name__}")
        row = FIELDS[chosen.__name__]
        given = part.record("node", *row)
        inner = replace(self, depth=self.depth + 1)
        made = {name: read(inner, given[name]) for name, read in row.items()}
        if chosen is e.Holds:
            made["predicate"] = self._predicate(made["name"])
        if chosen is e.Operation and len(made["arguments"]) != OPERATIONS[made["name"]]:
            given["arguments"].refuse(f"{OPERATIONS[made['name']]} operands of {made['name']}", f"{len(made['arguments'])}")
        return chosen(**made)

    def value(self, part: JsonPart) -> e.Value:
        return self.node(part, e.Value)  # type: ignore[no-any-return]

    def word(self, part: JsonPart) -> e.Word:
        return self.node(part, e.Word)  # type: ignore[no-any-return]

    def condition(self, part: JsonPart) -> e.Condition:
        return self.node(part, e.Condition)  # type: ignore[no-any-return]

    def values(self, part: JsonPart) -> tuple[e.Value, ...]:
        return tuple(map(self.value, part.items()))

    def conditions(self, part: JsonPart) -> tuple[e.Condition, ...]:
        return tuple(map(self.condition, part.items()))

    def constant(self, part: JsonPart) -> str | Fraction:
        """A number, or one of the four names of numbers that every format has."""
        if isinstance(part.value, dict):
            return part.record("fraction")["fraction"].fraction()
        return part.one_of(CONSTANTS)

    def automaton(self, part: JsonPart) -> Automaton:
        """An automaton; a name that says a language must say its own."""
        given = part.record("alphabet", "moves", "accepting", "start", "name")
        alphabet, rows = given["alphabet"].texts(256), given["moves"].items(_MOST_STATES)
        last = len(rows) - 1
        if len(set(alphabet)) < len(alphabet) or not all(map(is_token, alphabet)):
            given["alphabet"].refuse("symbols that can be printed, none twice", "not")
        moves = tuple(tuple(row.wholes(0, last)) for row in rows)
        accepting = frozenset(given["accepting"].wholes(0, last))
        made = Automaton(alphabet, moves, accepting, given["start"].whole(0, last), given["name"].text())
        if named_truly(made) is False:
            given["name"].refuse("the language of its automaton, since it names one", f"{quoted(made.name)}, which is another")
        return made

    def _predicate(self, name: str) -> Predicate:
        if isinstance(self.predicates, Mapping) and name in self.predicates:
            return self.predicates[name]
        if self.predicates is None or isinstance(self.predicates, Mapping):
            held = f"the claim rests on the Python predicate {quoted(name)}, which a file cannot hold"
            raise FileError(f"{held}; give it again, as recheck(path, predicate).")
        return self.predicates


Field = Callable[[Reading, JsonPart], Any]


def _text(_: Reading, part: JsonPart) -> str:
    return part.text()


def _name(may_be: Callable[[str], bool], or_else: tuple[str, ...] = ()) -> Field:
    """A name that the claim prints without quotes."""

    def read(_: Reading, part: JsonPart) -> str:
        if not (may_be(part.text()) or part.text() in or_else):
            part.refuse("a name that can be printed in a claim and not be taken for more than a name")
        return part.text()

    return read


def _of(_: Reading, part: JsonPart) -> str:
    return part.one_of(("", "a", "b"))


def _whole(_: Reading, part: JsonPart) -> int:
    return part.whole(-(1 << 16), 1 << 16)


def _index(_: Reading, part: JsonPart) -> tuple[int, ...]:
    return tuple(part.wholes(0, 1 << 24, 3))


def _one_of(*choices: str) -> Field:
    return lambda _, part: part.one_of(choices)


def _nothing(_: Reading, part: JsonPart) -> None:
    return None if part.value is None else part.refuse("null")


_VARIABLE, _WORD = _name(is_variable), _name(is_token)

FIELDS: dict[str, dict[str, Field]] = {
    # values
    "Variable": {"name": _VARIABLE},
    "Coordinate": {"stage": _text, "coordinate": _name(is_coordinate), "position": _whole, "of": _of},
    "Logit": {"answer": _WORD, "of": _of},
    "Constant": {"number": Reading.constant},
    "Operation": {"name": _one_of(*OPERATIONS), "arguments": Reading.values},
    "Choice": {"condition": Reading.condition, "then": Reading.value, "otherwise": Reading.value},
    "LetValue": {"name": _VARIABLE, "value": Reading.value, "body": Reading.value},
    "Local": {"name": _VARIABLE},
    "Attention": {"what": _one_of("score", "weight"), **dict.fromkeys(("layer", "head", "query", "key"), _whole), "of": _of},
    "Parameter": {"part": _text, "index": _index, "of": _of},
    # words
    "Answer": {"of": _of, "step": _whole},
    "Token": {"position": _whole},
    "Text": {"text": _WORD},
    # conditions
    "Comparison": {"how": _one_of(*COMPARISONS), "left": Reading.value, "right": Reading.value},
    "SameWord": {"left": Reading.word, "right": Reading.word},
    "SameChains": {"left": _of, "right": _of},
    "Junction": {"how": _one_of("and", "or"), "conditions": Reading.conditions},
    "Negation": {"part": Reading.condition},
    "Implication": {"premise": Reading.condition, "conclusion": Reading.condition},
    "Equivalence": {"left": Reading.condition, "right": Reading.condition},
    "Let": {"name": _VARIABLE, "value": Reading.value, "body": Reading.condition},
    "Accepted": {"automaton": Reading.automaton},
    "Holds": {"predicate": _nothing, "name": _text},
    "Defined": {"of": _of, "attention": lambda _, part: part.flag()},
}
NODES = tuple(name for name in FIELDS if hasattr(e, name))
