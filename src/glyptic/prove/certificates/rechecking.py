"""A certificate checked again: a proof is run anew, a counterexample in exact fractions, and nothing is taken from the file.

What is printed is made of what was checked. A name that the file gives to the claim, to a transformer or to an automaton is free
text, which could lie: it is quoted as the file's word, beside the digest of what it names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Unpack

from glyptic.arguments import checked
from glyptic.errors import FileError, FormatError, InputError
from glyptic.exact import Transformer
from glyptic.exact.report import show_number
from glyptic.languages.automata import Automaton
from glyptic.languages.named import named_truly
from glyptic.numbers import Exact, encode, number
from glyptic.prove.certificates.saving import METHODS, example_in, load_certificate, size_of_claim
from glyptic.prove.checking import RunLimits, check
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values
from glyptic.prove.elements.batches import free_names
from glyptic.prove.portable.claims import Predicates, node_to_json
from glyptic.prove.portable.transformers import difference, fingerprint
from glyptic.prove.verdicts.answers import Counterexample, Proved, Unknown, Verdict, searched
from glyptic.prove.verdicts.assumptions import of_meaning
from glyptic.prove.verdicts.minimise import example_of_codes, example_of_input, fails, input_fails
from glyptic.text import printable, quoted

RUN_ANEW = 1 << 16  # elements that are run without being asked, to see that a counterexample is the smallest
Models = Transformer | Iterable[Transformer] | None


@dataclass(frozen=True)
class Recheck:
    """A certificate checked again: what it said, what was found now, whether they agree, and what that rests on."""

    said: Verdict
    claim: str  # made of what was checked
    found: str
    agrees: bool
    notes: tuple[str, ...] = ()  # what the names stand for
    details: tuple[str, ...] = ()  # what else was checked again, and what was not
    assumptions: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether it is a proof, and was confirmed."""
        return self.agrees and isinstance(self.said, Proved)

    @property
    def status(self) -> int:
        """The exit status of `glyptic prove --recheck`: 0 a proof confirmed, 1 another verdict confirmed, 3 not confirmed."""
        return (0 if self.proved else 1) if self.agrees else 3

    def __str__(self) -> str:
        start = "confirmed" if self.agrees else "NOT CONFIRMED"
        head = [f"certificate: {type(self.said).__name__}", f"  claim: {self.claim}", *(f"  {note}" for note in self.notes)]
        lines = [*head, f"{start}: {self.found}", *(f"  {detail}" for detail in self.details)]
        return "\n".join(map(printable, lines))


@checked
def recheck(
    path: str | os.PathLike[str],
    predicate: Predicates = None,
    *,
    models: Models = None,
    **limits: Unpack[RunLimits],
) -> Recheck:
    """Check a certificate again: a proof anew, by its own method; a counterexample in exact fractions.

    With `models`, the transformers of the claim must be these: one, or two in order. Whether a counterexample is the smallest,
    and how many there are, is checked where that is short, or with `count_all`; else it is said that it was not. What was left
    open has nothing to confirm. The assumptions are those of the check now. `limits` are those of `check`.
    """
    claim, said = load_certificate(path, predicate)
    bare, notes = _without_names(claim, _given(claim, models))
    case = _CertifiedClaim(bare, claim, said, limits.pop("count_all", False), limits)
    if isinstance(said, Unknown):
        return Recheck(said, str(bare), "there is nothing to confirm: the claim was left open", False, notes)
    if example_in(said) is not None:
        return replace(case.example(), notes=notes)
    return replace(case.anew(), notes=notes)


# Names ------------------------------------------------------------------------------------------------------------------


def _given(claim: Claim, models: Models) -> list[Transformer] | None:
    """The models, each compared with the transformer of its place."""
    if models is None:
        return None
    listed = [models] if isinstance(models, Transformer) else list(models)
    named = {} if isinstance(claim.subject, Values) else claim.subject.transformers
    if len(listed) != len(named):
        raise InputError(f"the certificate is about {len(named)} transformers, and {len(listed)} models are given to compare.")
    for (key, transformer), model in zip(named.items(), listed, strict=True):
        part = difference(transformer, model)
        if part is not None:
            which = f"its transformer {key}" if key else "its transformer"
            raise FileError(f"the certificate is about another model than the one given: {which} differs in {part}.")
    return listed


def _without_names(claim: Claim, models: Sequence[Transformer] | None) -> tuple[Claim, tuple[str, ...]]:
    """The claim with free text taken out of it, and what the file says those things are called."""
    notes = [f"its name in the file is {quoted(claim.name)}"] if claim.name else []
    subject: Any = claim.subject
    if not isinstance(subject, Values):
        for key, transformer in subject.transformers.items():
            called = "" if not transformer.name else f"; the file calls it {quoted(transformer.name)}"
            same = " (those of the model given)" if models is not None else ""
            notes.append(f"{key or 'T'}: weights, names and options of sha256 {fingerprint(transformer)}{same}{called}")
        subject = replace(subject, transformers={key: t.replace(name="") for key, t in subject.transformers.items()})
    vocabulary = subject.vocabulary if isinstance(subject, Inputs) else ()
    for node in claim.parts():
        if isinstance(node, e.Accepted):
            notes.append(_about(node.automaton, vocabulary))
    notes += [*_zeros(claim), *_foreign_letters(claim)]
    requires, ensures = (_mapped(side, lambda node: _renamed(node, vocabulary)) for side in (claim.requires, claim.ensures))
    bare = replace(claim, subject=subject, requires=requires, ensures=ensures, name="")
    return bare, tuple(dict.fromkeys(notes))


def _renamed(node: Any, vocabulary: Sequence[str]) -> Any:
    if isinstance(node, e.Accepted):
        return e.Accepted(replace(node.automaton, name=_name_of(node.automaton, vocabulary)))
    if isinstance(node, e.Holds):  # by its own name, for it was given anew
        return e.Holds(node.predicate, str(getattr(node.predicate, "__qualname__", type(node.predicate).__qualname__)))
    return node


def _name_of(automaton: Automaton, vocabulary: Sequence[str]) -> str:
    """Its own name if that says its language, which was compared; else a digest.

    An expression with symbols that no input has is a word, such as "palindrome", though it is an expression of something.
    """
    name = automaton.name
    says = re.fullmatch(r"(not )*Tomita [1-7]", name) or set(name.replace("not ", "")) <= {*vocabulary, *"()|&~*+?."}
    if says and named_truly(automaton):
        return name if re.fullmatch(r"[\w()|&~*+?. ]+", name, re.ASCII) else quoted(name)
    content = {**node_to_json(automaton), "name": ""}
    return f"automaton_{hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]}"


def _about(automaton: Automaton, vocabulary: Sequence[str]) -> str:
    """What the name of a language in the claim stands for."""
    name = _name_of(automaton, vocabulary)
    if name not in (automaton.name, quoted(automaton.name)):
        return f"{name}: {len(automaton.moves)} states; the file calls it {quoted(automaton.name)}"
    kind = "a language of Tomita" if "Tomita" in name else "a regular expression"
    return f"{name}: {kind}, compared with the automaton of {len(automaton.moves)} states"


def _zeros(claim: Claim) -> Iterator[str]:
    """What enters layers unsaid: the places that are neither free nor set hold 0."""
    subject = claim.subject
    if isinstance(subject, Layers):
        held = {*subject.free, *subject.fixed, *((c, i) for c in subject.from_positions for i in range(subject.positions))}
        names = dict.fromkeys(c for t in subject.transformers.values() for c in t.coordinates)
        zero = [f"{c}@{i}" for c in names for i in range(subject.positions) if (c, i) not in held]
        if zero:
            yield f"0 enters at {', '.join(zero[:20])}{f' and {len(zero) - 20} more' if len(zero) > 20 else ''}"


def _foreign_letters(claim: Claim) -> Iterator[str]:
    """Letters, digits and signs that may look like others: x and х are two, 0 and 〇 too."""
    nodes = claim.parts()
    texts = {value for node in nodes if not isinstance(node, e.Comparison) for value in _strings(node)}
    texts |= {node.automaton.name for node in nodes if isinstance(node, e.Accepted)}
    texts |= set(free_names(claim)) if not isinstance(claim.subject, Inputs) else set(claim.subject.vocabulary)
    if not isinstance(claim.subject, Values):
        texts |= {name for t in claim.subject.transformers.values() for name in (*t.coordinates, *t.answers)}
    foreign = sorted({c for text in texts for c in text if not c.isascii()})
    if foreign:
        yield f"names in it have letters beyond ASCII: {', '.join(f'{c} is U+{ord(c):04X}' for c in foreign[:20])}"


def _strings(node: Any) -> Iterator[str]:
    yield from (value for field in fields(node) if isinstance(value := getattr(node, field.name), str))


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """An expression with every node changed, from the leaves up."""
    if isinstance(node, tuple):
        return tuple(_mapped(item, change) for item in node)
    if not isinstance(node, e.Node):
        return node
    inner = {field.name: _mapped(getattr(node, field.name), change) for field in fields(node)}  # type: ignore[arg-type]
    return change(type(node)(**inner))


# Running ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CertifiedClaim:
    """A certificate's claim, without the file's names and with them, and what it says."""

    claim: Claim
    named: Claim
    said: Verdict
    count_all: bool
    limits: RunLimits

    def anew(self) -> Recheck:
        """Run by its own method: the same answer and the same counts confirm it."""
        found = self._check(METHODS[self.said.method][0])
        same = type(found) is type(self.said) and all(
            getattr(found, part, None) == getattr(self.said, part, None) for part in ("inputs", "satisfying")
        )
        return Recheck(self.said, str(self.claim), _told(found), same, assumptions=getattr(found, "assumptions", ()))

    def example(self) -> Recheck:
        """Run in exact fractions; what is observed there is compared, and what is said of all others as far as that is short."""
        given = example_in(self.said)
        assert given is not None
        sought, named = searched(self.claim), searched(self.named)
        what = "counterexample" if self._witness is None else "witness"
        does, not_so = ("fails", "does not fail") if self._witness is None else ("meets", "does not meet")
        elements = _elements(self.named, given, what)
        of_inputs = isinstance(self.claim.subject, Inputs)
        rests = of_meaning(self.claim)
        if not (input_fails if of_inputs else fails)(sought, elements):
            said_no = f"the {what} {not_so} the claim, run in exact fractions"
            return Recheck(self.said, str(self.claim), said_no, False, assumptions=rests)
        shown = example_of_input if of_inputs else example_of_codes
        if shown(named, elements) != given:
            raise FileError(f"what the certificate says to be observed at its {what} is not what comes out there.")
        found = f"the {what} {does} the claim, run in exact fractions: {shown(sought, elements)}"
        wrong, details, more = self._others(shown(sought, elements))
        return Recheck(self.said, str(self.claim), wrong or found, not wrong, (), details, _once((*rests, *more)))

    @property
    def _witness(self) -> Counterexample | None:
        return self.said.witness if isinstance(self.said, Proved) else None

    def _others(self, example: Counterexample) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """What contradicts the rest that is said, if anything does; what was checked; and what that rests on."""
        said, subject = self.said, self.claim.subject
        globally = getattr(said, "smallest", "") == "globally"
        if said.method in ("symbolic", "states"):
            return self._compared(self._check(said.method), example, True)
        if not isinstance(subject.format, Exact) and (self.count_all or size_of_claim(self.claim) <= RUN_ANEW):
            return self._compared(self._check("enumerate", count_all=True), example, True)
        if globally and isinstance(subject, Inputs):
            size = len(example.input or ())
            shorter = replace(subject, max_length=size, steps=subject.steps[:size])
            if shorter.count <= RUN_ANEW:
                inside = replace(self, claim=replace(self.claim, subject=shorter))
                return self._compared(inside._check("enumerate"), example, False)
        elif globally and said.method == "smt":
            return self._compared(self._check("smt"), example, False)
        return self._compared(None, example, False)

    def _compared(
        self, found: Verdict | None, example: Counterexample, all_run: bool
    ) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """What a run of all, or of all that are smaller, says of the rest; `found` is None where there was none."""
        said: Any = self.said
        run: Any = found if found is not None and example_in(found) is not None else None
        details = []
        if found is not None and run is None and not isinstance(found, Unknown):
            return f"there is none that is as small; found {_told(found)}", (), ()
        if said.smallest == "globally":
            if run is None or run.smallest != "globally":
                details.append(f"that none is smaller was {_OPEN}")
            elif example_in(run) != example:
                return f"another is the smallest; found {_told(run)}", (), ()
            else:
                how = f"all {run.inputs:,} were run" if all_run and run.inputs is not None else f"by {run.method}"
                details.append(f"that none is smaller is confirmed ({how})")
        if getattr(said, "failures", None) is not None:
            if run is None or run.failures is None or not all_run:
                details.append(f"its counts were {_OPEN}")
            elif (run.failures, run.satisfying) != (said.failures, said.satisfying):
                return f"the counts are others; found {_told(run)}", (), ()
            else:
                details.append(f"its counts are confirmed: {run.failures:,} of {run.satisfying:,} fail")
        return "", tuple(details), () if run is None else run.assumptions

    def _check(self, method: Any, **more: Any) -> Verdict:
        """`check` with those of the limits that the method knows; one that it does not know is refused."""
        known, whom = _LIMITS[method]
        asked = example_in(self.said) is not None  # then several methods may be used, each with what it knows
        for name, value in self.limits.items():
            if name not in known and not asked and name != "progress":
                raise InputError(f"{name} {value!r} has no effect here: the certificate's verdict is by {whom}; leave it out.")
        limits: Any = {name: value for name, value in self.limits.items() if name in known}
        return check(self.claim, method=method, **limits, **more)


_LIMITS: dict[str, tuple[tuple[str, ...], str]] = {  # what `check` can be told of a method, and how that is called
    "enumerate": (("seconds", "engine", "backend", "workers", "progress"), "enumeration"),
    "smt": (("seconds", "megabytes", "terms"), "solvers"),
    "symbolic": (("seconds",), "decision diagrams"),
    "states": (("seconds", "progress"), "states"),
    "bounds": (("seconds",), "bounds"),
}


def _once(sentences: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentences))


_OPEN = "not rechecked (--count-all runs everything)"


def _told(found: Verdict | None) -> str:
    """A verdict in one line, without the claim."""
    return f"{type(found).__name__}, {', '.join(line.strip() for line in str(found).splitlines()[1:])}"


def _elements(claim: Claim, example: Counterexample, what: str) -> list[int]:
    """A counterexample or witness as token numbers or codes; one that the claim is not about is refused."""
    subject = claim.subject
    if isinstance(subject, Inputs):
        words = example.input or ()
        unknown = [word for word in words if word not in subject.vocabulary]
        if unknown or example.values is not None or not subject.min_length <= len(words) <= subject.max_length:
            raise FileError(f"the certificate's {what} is not an input that the claim is about.")
        return [subject.vocabulary.index(word) for word in words]
    assert subject.format is not None
    values, names = example.values or {}, free_names(claim)
    if set(values) != set(names) or example.input is not None:
        raise FileError(f"the certificate's {what} does not give values to {', '.join(names)}.")
    ordered = [values[name] for name in names]
    try:
        codes = encode(ordered, subject.format, f"the certificate's {what}")
        same = [show_number(number(text, subject.format), subject.format) == text for text in ordered]
    except FormatError as error:
        raise FileError(printable(str(error))) from None
    if not all(same):
        raise FileError(f"the certificate's {what} has a number that is not written as Glyptic writes it.")
    return [int(code) for code in codes]


__all__ = ["Recheck", "recheck"]
