"""Certificates: a verdict with its whole claim, as one JSON file that anyone can check again (`rechecking`).

The file holds the claim, weights included, the verdict with every assumption, and a digest of all of it, so that damage is
seen. The digest is no signature: whoever edits a file can make it anew. So nothing in it is believed. Every text that could be
made from the claim is made from it and compared; what is not written as Glyptic writes it is refused in one sentence.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Annotated, Any

from glyptic import __version__
from glyptic.arguments import Writable, checked
from glyptic.errors import FileError, GlypticError
from glyptic.files import parse_json, read_bytes, write_whole
from glyptic.prove.checking import Method
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.elements.counting import count_values, describe
from glyptic.prove.portable.claims import Predicates, claim_from_json, claim_to_json, digest, predicates_of
from glyptic.prove.portable.reading import JsonPart, quoted_path, read_json, sealed
from glyptic.prove.verdicts.answers import (
    Counterexample,
    Proved,
    Refuted,
    Unknown,
    Vacuous,
    Verdict,
    verdict_from_json,
    verdict_to_json,
)
from glyptic.text import printable, quoted

KIND, VERSION = "glyptic.prove.certificate", 3
_FIELDS = ("kind", "version", "glyptic", "says", "verdict", "claim_digest", "claim", "digest")

# A verdict's method: how `check` is asked for it again, and how it words what it ranged over.
METHODS: dict[str, tuple[Method, Callable[[Claim], str]]] = {
    "enumeration": ("enumerate", describe),
    "smt": ("smt", lambda claim: str(claim.subject)),
    "symbolic": ("symbolic", describe),
    "states": ("states", describe),
    "bounds": ("bounds", lambda claim: str(claim.subject)),
}


@checked
def save_certificate(path: Annotated[str | os.PathLike[str], Writable()], claim: Claim, verdict: Verdict) -> None:
    """Write a certificate; the claim must be in its format already (see `checking.in_format`).

    What could not be read again is not written: a name that could be taken for more than a name, say.
    """
    content = {
        "kind": KIND,
        "version": VERSION,
        "glyptic": __version__,
        "says": str(verdict),
        "verdict": verdict_to_json(verdict),
        "claim_digest": digest(claim),  # with the source of a predicate, which the file does not hold
        "claim": claim_to_json(claim),
    }
    whole = json.loads(json.dumps(sealed(content)))
    try:
        _opened(whole, {node.name: node.predicate for node in predicates_of(claim)})
    except GlypticError as error:
        raise FileError(f"no certificate can be written of this: {error}") from None
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in whole.items())
    check_place(path)
    write_whole(path, f"{{\n{lines}\n}}\n".encode(), "the certificate")


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a file that is there and is no certificate: to be called before any work, and again before it is written."""
    if os.path.isfile(path) and not _is_one(path):
        raise FileError(f"{quoted_path(path)} is there, and is not a certificate: remove it, or choose another name.")


def _is_one(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a certificate, of any version: others are not ours to replace."""
    data = read_bytes(path, what="a certificate")  # what cannot be read is not called another's
    try:
        content = parse_json(data, quoted_path(path))
    except FileError:
        return False
    return isinstance(content, dict) and content.get("kind") == KIND


@checked
def load_certificate(path: str | os.PathLike[str], predicate: Predicates = None) -> tuple[Claim, Verdict]:
    """Read a certificate; a file that is damaged, edited or of another kind is an error that says so."""
    shown, content = quoted_path(path), read_json(path, "a certificate")
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise FileError(f"{shown} is not a certificate of a proof.")
    if type(content.get("version")) is not int or content["version"] != VERSION:
        version = quoted(json.dumps(content.get("version")), 40).strip('"')
        raise FileError(f"{shown} has version {version}; this Glyptic reads version {VERSION}: make the certificate anew.")
    try:
        if content != sealed(content):
            raise FileError("its digest differs from what it holds: the file was edited, or is damaged.")
        JsonPart(content, "the certificate").record(*_FIELDS)
        return _opened(content, predicate)
    except RecursionError:
        raise FileError(f"{shown}: its brackets are nested too deep.") from None
    except GlypticError as error:
        raise FileError(f"{shown}: {printable(str(error))}") from None


def _opened(content: dict[str, Any], predicate: Predicates) -> tuple[Claim, Verdict]:
    """The claim and the verdict, each text compared with what the claim says itself."""
    JsonPart(content["glyptic"], "the certificate.glyptic").text(100)
    claim, verdict = claim_from_json(content["claim"], predicate), verdict_from_json(content["verdict"])
    _check_texts(claim, verdict)
    _check_counts(claim, verdict)
    if content["says"] != str(verdict):
        raise FileError("what it says is not what its verdict says: it was edited.")
    if digest(claim) != content["claim_digest"]:
        raise FileError("the predicate given is not the one that the claim was decided with, or the claim was edited.")
    return claim, verdict


def _check_texts(claim: Claim, verdict: Verdict) -> None:
    if verdict.method not in METHODS:
        raise FileError(f"the verdict.method {quoted(verdict.method)} is none of {', '.join(METHODS)}.")
    if isinstance(verdict, Refuted) and (verdict.counterexample is None) != (claim.quantifier == "some"):
        raise FileError("a claim for all is refuted by a counterexample, one of existence by none.")
    if isinstance(verdict, Proved) and (verdict.witness is None) != (claim.quantifier == "all"):
        raise FileError("a claim of existence is proved by a witness, one for all by none.")
    if verdict.claim != str(claim):
        raise FileError("the verdict is about another claim: its text is not that of the claim.")
    if verdict.over != METHODS[verdict.method][1](claim):
        raise FileError("the verdict is about another claim: what it says to range over is not what the claim does.")
    if isinstance(verdict, Vacuous) and verdict.requires != str(claim.requires):
        raise FileError("the verdict is about another claim: its precondition is not that of the claim.")


def _check_counts(claim: Claim, verdict: Verdict) -> None:
    """Counts that cannot be: more than there are, or parts larger than the whole."""
    if isinstance(verdict, Unknown) or verdict.inputs is None:
        inputs = total = size_of_claim(claim) if verdict.method == "symbolic" else 0  # diagrams count without running
        counted = isinstance(verdict, Unknown) or verdict.method != "enumeration"
    else:
        inputs, total = verdict.inputs, size_of_claim(claim)
        whole = example_in(verdict) is None or getattr(verdict, "failures", None) is not None
        counted = verdict.method == "enumeration" and (inputs == total if whole else 0 < inputs <= total)
    satisfying, failures = getattr(verdict, "satisfying", None), getattr(verdict, "failures", None)
    if satisfying is not None:
        counted &= 0 < satisfying <= inputs
    if failures is not None:
        counted &= satisfying is not None and 0 < failures <= satisfying
    if isinstance(verdict, Proved) and verdict.method == "enumeration" and verdict.witness is None:
        counted &= satisfying is not None
    if not counted:
        raise FileError("the verdict's counts cannot be: they do not fit together, or not with the claim.")


def example_in(verdict: Verdict) -> Counterexample | None:
    """What settles a claim by being there: the counterexample of one for all, the witness of one of existence."""
    return getattr(verdict, "counterexample", None) or getattr(verdict, "witness", None)


def size_of_claim(claim: Claim) -> float:
    """How many inputs or combinations of values a claim ranges over."""
    return claim.subject.count if isinstance(claim.subject, Inputs) else count_values(claim)


__all__ = ["KIND", "METHODS", "VERSION", "example_in", "load_certificate", "save_certificate", "sealed", "size_of_claim"]
