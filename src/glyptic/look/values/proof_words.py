"""Claims and the sentences of verdicts as keys of the page's dictionary, so that a page says them in either language.

The engine writes English; a sentence that is none of those known here is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import Any

from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values
from glyptic.prove.claims.conditions import Accepted, Defined, Holds, Junction, SameChains
from glyptic.text import printable

_SENTENCES: dict[str, str] = {  # key of the dictionary -> the sentence, its parts named as there
    "rests_rounding": r"the rounding of (?P<format>\S+) is the one meant: nearest, ties to the smaller, saturating",
    "rests_even": r"the rounding of (?P<format>\S+) is the one meant: nearest, ties to even, saturating",
    "rests_options": r"the transformer is read with the options (?P<options>.*)",
    "rests_options_of": r"the transformer (?P<name>.*?) is read with the options (?P<options>.*)",
    "rests_exp": r"exp is correctly rounded \(enclosures by mpmath\)",
    "rests_predicate": r"the Python predicate (?P<name>.*) says what is meant, and answers the same each time",
    "rests_kernels": r"compiled kernels compute in IEEE 754 hosts what fractions do \(.*\)",
    "rests_circuits": r"the solvers' circuits compute what the reference arithmetic does \(.*\)",
    "rests_monotone": r"rounding is monotone and commutes with negation; with subnormals, differences tell apart \(.*\)",
    "rests_stairs": r"exp is monotone and lies within the staircases computed for it",
    "rests_simplified": r"terms are simplified rightly by what is known of rounding \(.*\): no solver was asked",
    "rests_folded": r"constants and equal parts are folded rightly: no solver was asked",
    "rests_one": r"one solver's word, (?P<name>\w+): no second agreed",
    "rests_diagrams": r"the diagrams' operations do at every input what the reference does at one",
    "rests_ends": r"rounding is monotone, so ends lead to ends",
    "rests_journal": r"(?P<some>[\d,]+) of (?P<all>[\d,]+) portions were taken from the journal, which holds .*",
    "detail_smallest_run": r"that none is smaller is confirmed \(all (?P<n>[\d,]+) were run\)",
    "detail_smallest": r"that none is smaller is confirmed \(by (?P<method>\w+)\)",
    "detail_smallest_open": r"that none is smaller was not rechecked .*",
    "detail_counts": r"its counts are confirmed: (?P<some>[\d,]+) of (?P<all>[\d,]+) fail",
    "detail_counts_open": r"its counts were not rechecked .*",
    "note_name": r"its name in the file is (?P<name>\".*\")",
    "note_called": r"(?P<name>\w+): weights, names and options of sha256 [0-9a-f]+.*; the file calls it (?P<called>\".*\")",
    "note_weights": r"\w+: weights, names and options of sha256 [0-9a-f]+.*",
    "note_states": r"(?P<name>.*): (?P<n>\d+) states; the file calls it (?P<called>\".*\")",
    "note_tomita": r"(?P<name>.*): a language of Tomita, compared with the automaton of (?P<n>\d+) states",
    "note_expression": r"(?P<name>.*): a regular expression, compared with the automaton of (?P<n>\d+) states",
    "note_zeros": r"0 enters at (?P<places>.*)",
    "note_letters": r"names in it have letters beyond ASCII: (?P<letters>.*)",
}


def sentence(text: str) -> dict[str, Any]:
    """A sentence of the engine as {"key", parts…}, or {"text"} if it is not one that is known.

    >>> sentence("one solver's word, z3: no second agreed")
    {'key': 'rests_one', 'name': 'z3'}
    """
    for key, pattern in _SENTENCES.items():
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found:
            return {"key": key, **{name: printable(part) for name, part in found.groupdict().items()}}
    return {"text": printable(text)}


def sentences(texts: Iterable[str]) -> list[dict[str, Any]]:
    return [sentence(text) for text in texts]


def in_words(claim: Claim) -> dict[str, Any]:
    """What a claim says, as a key and its parts: one of the common questions, or that its formula holds.

    >>> from glyptic import programs
    >>> from glyptic.prove.questions import decisiveness
    >>> in_words(decisiveness(programs.open("parity:4", "fixed:4")))["key"]
    'says_decisive'
    """
    subject = claim.subject
    general = {"key": "says_all" if claim.quantifier == "all" else "says_some"}
    plain = isinstance(claim.requires, Junction) and not claim.requires.conditions
    if not isinstance(subject, Inputs) or claim.quantifier != "all" or not plain:
        return general
    names = [name_of(key, transformer) for key, transformer in subject.transformers.items()]
    endless = subject.max_length == inf
    found = {**general, **_common(claim, {"name": names[0], "other": names[-1]})}
    if found["key"] in ("says_all", "says_some"):
        return found
    return {**found, "key": f"{found['key']}_endless"} if endless else {**found, "max": subject.max_length}


def _common(claim: Claim, parts: dict[str, Any]) -> dict[str, Any]:
    """One of the questions of `glyptic.prove.questions`, recognised by its formula."""
    formula, subject = str(claim.ensures), claim.subject
    assert isinstance(subject, Inputs)
    if isinstance(claim.ensures, SameChains) or formula == str(e.answer("a") == e.answer("b")):
        return {"key": "says_same", **parts}
    if isinstance(claim.ensures, Defined):
        return {"key": "says_defined" if claim.ensures.attention else "says_all", **parts}
    if formula == str((e.answer() != "TIE") & (e.answer() != "UNDEFINED")):
        return {"key": "says_decisive", **parts}
    inside = next((node for node in claim.parts() if isinstance(node, Accepted | Holds)), None)
    if inside is None:
        return {}
    answers = next(iter(subject.transformers.values())).answers
    for yes in answers:
        for no in answers:
            if formula == str((inside >> (e.answer() == yes)) & (~inside >> (e.answer() == no))):
                of = inside.automaton.name if isinstance(inside, Accepted) else f"{inside.name}(input)"
                return {"key": "says_language", "language": printable(of), "yes": yes, "no": no, **parts}
    return {}


def name_of(key: str, transformer: Any) -> str:
    return printable(transformer.name or key or "T")


def ranges_over(claim: Claim, count: int | None) -> dict[str, Any]:
    """What a claim ranges over, in parts; `count` is how many that is, if it can be counted."""
    subject = claim.subject
    about: dict[str, Any] = {"format": str(subject.format), "count": None if count is None else str(count)}
    if isinstance(subject, Values):
        return {"key": "over_values", "names": ", ".join(subject.names), **about}
    named = [name_of(key, transformer) for key, transformer in subject.transformers.items()]
    about["transformers"] = ", ".join(named)
    if isinstance(subject, Layers):
        free = [f"{name}@{position}" for name, position in subject.free]
        free += [e.entry_name(*entry) for entry in subject.free_weights]
        return {"key": "over_layers", "names": printable(", ".join(free)), "positions": subject.positions, **about}
    symbols = printable(" ".join(subject.vocabulary))
    about |= {"min": subject.min_length, "symbols": symbols}
    if subject.max_length == inf:
        return {"key": "over_inputs_endless", **about}
    return {"key": "over_inputs", "max": subject.max_length, **about}


__all__ = ["in_words", "name_of", "ranges_over", "sentence", "sentences"]
