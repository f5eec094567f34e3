"""Certificates: a verdict with its whole claim, as one JSON file that anyone can check again.

The file holds the claim, weights included, the verdict with every assumption, and a digest of all of it, so that an edit or a
damage is seen. To check it again is not to trust it: a proof is run anew, and a counterexample is run in exact fractions.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyptic import __version__
from glyptic.errors import FileError
from glyptic.exact.files import write_whole
from glyptic.numbers import encode
from glyptic.prove.answers import Proved, Refuted, Unknown, Verdict, verdict_from_json, verdict_to_json
from glyptic.prove.assumptions import of_meaning
from glyptic.prove.checking import Method, check
from glyptic.prove.claims import Claim, Inputs
from glyptic.prove.enumeration.settings import free_names
from glyptic.prove.minimise import fails, input_fails
from glyptic.prove.portable import claim_from_json, claim_to_json, digest

KIND, VERSION = "glyptic.prove.certificate", 2


def save_certificate(path: str | os.PathLike[str], claim: Claim, verdict: Verdict) -> None:
    """Write a certificate; the claim must be in its format already (see `checking.in_format`)."""
    content = {
        "kind": KIND,
        "version": VERSION,
        "glyptic": __version__,
        "says": str(verdict),
        "verdict": verdict_to_json(verdict),
        "claim_digest": digest(claim),  # with the code of a predicate, which the file does not hold
        "claim": claim_to_json(claim),
    }
    try:
        write_whole(Path(path), (json.dumps(sealed(content), ensure_ascii=False, indent=1) + "\n").encode())
    except OSError as error:
        raise FileError(f"cannot write the certificate {path}: {error.strerror or error}.") from None


def sealed(content: dict[str, Any]) -> dict[str, Any]:
    """The content with the digest of everything else in it.

    >>> one = sealed({"says": "x = x"})
    >>> sealed(one) == one, sealed({**one, "says": "x = 0"}) == {**one, "says": "x = 0"}
    (True, False)
    """
    rest = {name: part for name, part in content.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return {**rest, "digest": hashlib.sha256(text.encode()).hexdigest()}


def load_certificate(
    path: str | os.PathLike[str], predicate: Callable[[Any], bool] | None = None
) -> tuple[Claim, Verdict]:
    """Read a certificate; a file that is damaged, edited or of another kind is an error that says so."""
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise FileError(f"cannot read the certificate {path}: {error.strerror or error}.") from None
    except ValueError:
        raise FileError(f"{path} is not a certificate: it is not JSON, or was cut short.") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise FileError(f"{path} is not a certificate of a proof.")
    if content.get("version") != VERSION:
        raise FileError(f"{path} has version {content.get('version')!r}; this Glyptic reads version {VERSION}.")
    if not isinstance(content.get("claim"), dict) or not isinstance(content.get("verdict"), dict):
        raise FileError(f"{path} is damaged: it has no claim or no verdict.")
    if content != sealed(content):
        raise FileError(f"{path}: its digest differs from what it holds: the file was edited, or is damaged.")
    claim = claim_from_json(content["claim"], predicate)
    verdict = verdict_from_json(content["verdict"])
    if verdict.claim != str(claim):
        raise FileError(f"{path}: the verdict is about another claim.")
    if isinstance(verdict, Refuted) and (verdict.counterexample is None) != (claim.quantifier == "some"):
        raise FileError(f"{path}: a claim for all is refuted by a counterexample, one of existence by none.")
    if digest(claim) != content.get("claim_digest"):
        raise FileError(f"{path}: the predicate given is not the one that the claim was decided with.")
    return claim, verdict


@dataclass(frozen=True)
class Recheck:
    """A certificate checked again: what it said, what was found now, whether they agree, and what that rests on."""

    said: Verdict
    found: str
    agrees: bool
    assumptions: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether it is a proof, and was confirmed."""
        return self.agrees and isinstance(self.said, Proved)

    def __str__(self) -> str:
        start = "confirmed" if self.agrees else "NOT CONFIRMED"
        return f"{self.said}\n{start}: {self.found}"


def recheck(path: str | os.PathLike[str], predicate: Callable[[Any], bool] | None = None, **means: Any) -> Recheck:
    """Check a certificate again: a proof anew, by its own method; a counterexample in exact fractions.

    What was left open has nothing to confirm. The assumptions are those of the check now, not what the file says.
    """
    claim, said = load_certificate(path, predicate)
    if isinstance(said, Refuted) and said.counterexample is not None:
        failing = _still_fails(claim, said)
        what = "the counterexample fails the claim" if failing else "the counterexample does not fail the claim"
        return Recheck(said, f"{what}, run in exact fractions", failing, of_meaning(claim))
    if isinstance(said, Unknown):
        return Recheck(said, "there is nothing to confirm: the claim was left open", False)
    method: Method = said.method if said.method in ("smt", "symbolic", "bounds") else "enumerate"  # type: ignore[assignment]
    found = check(claim, method=method, **means)
    same = type(found) is type(said) and all(
        getattr(found, part, None) == getattr(said, part, None) for part in ("over", "inputs", "satisfying")
    )
    return Recheck(said, str(found).split("\n", maxsplit=1)[0], same, getattr(found, "assumptions", ()))


def _still_fails(claim: Claim, said: Refuted) -> bool:
    example, subject = said.counterexample, claim.subject
    assert example is not None
    if isinstance(subject, Inputs):
        words = example.input or ()
        unknown = [word for word in words if word not in subject.vocabulary]
        if unknown or not subject.min_length <= len(words) <= subject.max_length:
            raise FileError("the certificate's counterexample is not an input that the claim is about.")
        return input_fails(claim, [subject.vocabulary.index(word) for word in words])
    assert subject.format is not None
    values = example.values or {}
    if tuple(values) != free_names(claim):
        raise FileError(f"the certificate's counterexample does not give values to {', '.join(free_names(claim))}.")
    return fails(claim, encode(list(values.values()), subject.format, "the certificate's counterexample").tolist())
