"""A verdict, or a certificate, as the data of its view: the answer, the claim, what it rests on, and what was checked again.

Certificates are read through `glyptic.prove.certificates` alone. What the page says is made anew from what was checked there;
what only the file says is quoted, and called the file's word.
"""

from __future__ import annotations

import os
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

from glyptic.arguments import refused
from glyptic.errors import GlypticError, InputError
from glyptic.look.pages import View
from glyptic.text import printable, quoted

if TYPE_CHECKING:
    from glyptic.exact import Transformer
    from glyptic.prove import Claim, Counterexample, Verdict
    from glyptic.prove.certificates.rechecking import Models, Recheck
    from glyptic.prove.portable.claims import Predicates

RUN_AGAIN = 1 << 16  # inputs or values that are run again, unasked, while a page is made
SECONDS = 20.0  # that this may take
_LONGEST_RUN = 64  # symbols of a counterexample whose run is shown too
_TRIED = 64  # inputs near a counterexample that are run, to find one where the claim holds


def proof_view(verdict: Verdict, claim: Claim | None = None) -> tuple[View, ...]:
    """A verdict; with its claim, the run of the counterexample beside the run that it contradicts comes as a second view.

    >>> from glyptic import languages, programs
    >>> from glyptic.prove import check
    >>> from glyptic.prove.questions import recognition
    >>> claim = recognition(programs.open("parity:4", "fixed:4"), languages.tomita(4), 3)
    >>> view = proof_view(check(claim, workers=1, progress=False))[0]
    >>> view.kind, view.data["answer"], view.data["example"]["input"]
    ('proof', 'Refuted', ['0'])
    """
    from glyptic.prove import Claim, Proved, Refuted, Unknown, Vacuous

    if not isinstance(verdict, Proved | Refuted | Vacuous | Unknown):
        raise refused("verdict", verdict, "a verdict: Proved, Refuted, Vacuous or Unknown")
    if claim is not None and not isinstance(claim, Claim):
        raise refused("claim", claim, "a Claim, the one that was decided")
    if claim is not None and str(claim) != verdict.claim:
        raise InputError("the verdict is about another claim than the one given; give the one that was decided, in its format.")
    data = verdict_data(verdict, claim)
    trust = [{"state": "open", "key": "trust_given"}]
    if claim is not None and data["example"] is not None:
        trust.append(_example_again(claim, verdict))
    data["standing"], data["trust"] = "decided", [*trust, {"state": "open", "key": "trust_write"}]
    title = claim.name if claim is not None and claim.name else type(verdict).__name__
    return _with_runs(View("proof", printable(title), data), claim, verdict)


def certificate_view(
    path: str | os.PathLike[str], *, predicate: Predicates = None, models: Models = None, again: bool | None = None
) -> tuple[View, ...]:
    """A certificate's file. `again`: check it again while the page is made; None: where that is short, or with models.

    With `models`, the transformers of the claim must be these, as for `recheck`.
    """
    from glyptic.look.values.proof_words import sentence
    from glyptic.prove.certificates.rechecking import _without_names
    from glyptic.prove.certificates.saving import load_certificate

    claim, verdict = load_certificate(path, predicate)
    bare, notes = _without_names(claim, None)
    result = _checked_again(path, claim, verdict, predicate, models, again)
    data = verdict_data(replace(verdict, claim=str(bare), over=str(bare.subject), seconds=0.0), bare)
    data |= _standing(data, verdict, result)
    data["assumptions"] = _rests(bare, result)
    data["names"] = [note for note in map(sentence, notes) if note.get("key") != "note_weights"]
    data["file"] = _about_file(path, claim)
    data["trust"] = _chain(result, models is not None and result is not None)
    return _with_runs(View("proof", printable(os.path.basename(os.fspath(path))), data), bare, verdict)


# The verdict ------------------------------------------------------------------------------------------------------------


def verdict_data(verdict: Verdict, claim: Claim | None = None) -> dict[str, Any]:
    """Everything that a verdict says, as JSON; with its claim, in parts that can be said in either language."""
    from glyptic.look.values.proof_words import in_words, ranges_over, sentences
    from glyptic.prove.certificates.saving import example_in

    given: Any = verdict
    reason = getattr(given, "reason", None)
    counted = None if claim is None else _count(claim)
    return {
        "answer": type(verdict).__name__,
        "formula": printable(verdict.claim if claim is None else str(claim.ensures)),
        "requires": _requires(verdict, claim),
        "words": None if claim is None else in_words(claim),
        "over": printable(verdict.over),
        "ranges": None if claim is None else ranges_over(claim, counted),
        "method": printable(verdict.method),
        "solvers": [printable(text) for text in verdict_solvers(verdict)],
        "tried": [printable(text) for text in getattr(given, "tried", ())],
        "reason": None if reason is None else printable(reason),
        "inputs": _whole(verdict.inputs),
        "satisfying": _whole(getattr(given, "satisfying", None)),
        "failures": _whole(getattr(given, "failures", None)),
        "seconds": verdict.seconds,
        "smallest": getattr(given, "smallest", None),
        "assumptions": sentences(getattr(given, "assumptions", ())),
        "example": _example(example_in(verdict), "witness" if getattr(given, "witness", None) else "counterexample"),
    }


def verdict_solvers(verdict: Verdict) -> tuple[str, ...]:
    return tuple(getattr(verdict, "solvers", ()))


def _whole(number: int | None) -> str | None:
    """A count as text, for JavaScript's numbers end at 2^53."""
    return None if number is None else str(number)


def _requires(verdict: Verdict, claim: Claim | None) -> str | None:
    from glyptic.prove.claims.conditions import Junction

    if claim is None:
        needed = getattr(verdict, "requires", None)
        return None if needed is None else printable(needed)
    nothing = isinstance(claim.requires, Junction) and not claim.requires.conditions
    return None if nothing else printable(str(claim.requires))


def _count(claim: Claim) -> int | None:
    from glyptic.prove.certificates.saving import size_of_claim

    try:
        count = size_of_claim(claim)
    except GlypticError:  # of exact rationals there is no number
        return None
    return int(count) if count < inf else None  # nor of inputs of every length


def _example(example: Counterexample | None, kind: str) -> dict[str, Any] | None:
    if example is None:
        return None
    return {
        "kind": kind,
        "input": None if example.input is None else [printable(token) for token in example.input],
        "values": [[printable(name), printable(number)] for name, number in (example.values or {}).items()],
        "observed": [[printable(name), printable(seen)] for name, seen in (example.observed or {}).items()],
    }


# What was checked again ---------------------------------------------------------------------------------------------------


def _example_again(claim: Claim, verdict: Verdict) -> dict[str, Any]:
    """Whether the example does what it is said to do, run now in exact fractions."""
    from glyptic.prove.claims.claim import Inputs
    from glyptic.prove.verdicts.answers import searched
    from glyptic.prove.verdicts.minimise import input_fails

    tokens = _tokens(claim, verdict)
    if tokens is None or not isinstance(claim.subject, Inputs):
        return {"state": "open", "key": "trust_example_open"}
    return {"state": "yes" if input_fails(searched(claim), tokens) else "no", "key": "trust_example"}


def _tokens(claim: Claim, verdict: Verdict) -> list[int] | None:
    """The example's input as token numbers, if it has one that the claim is about."""
    from glyptic.prove.certificates.saving import example_in
    from glyptic.prove.claims.claim import Inputs

    example, subject = example_in(verdict), claim.subject
    if example is None or not example.input or not isinstance(subject, Inputs):
        return None
    if not {*example.input} <= {*subject.vocabulary} or len(example.input) > subject.max_length:
        return None
    return [subject.vocabulary.index(token) for token in example.input]


def _checked_again(
    path: str | os.PathLike[str], claim: Claim, verdict: Verdict, predicate: Predicates, models: Models, again: bool | None
) -> Recheck | None:
    """A recheck, if it is asked for; unasked if it is short: a counterexample, or few enough inputs. None: it was not done."""
    from glyptic.prove import Unknown
    from glyptic.prove.certificates.rechecking import recheck
    from glyptic.prove.certificates.saving import example_in

    size = _count(claim)
    short = example_in(verdict) is not None or (verdict.method == "enumeration" and size is not None and size <= RUN_AGAIN)
    if isinstance(verdict, Unknown) or again is False or not (again or short or models is not None):
        return None
    limits: Any = {} if again else {"seconds": SECONDS}
    progress: Any = {"progress": False} if verdict.method == "enumeration" else {}
    return recheck(path, predicate, models=models, **limits, **progress)


def _standing(data: dict[str, Any], verdict: Verdict, result: Recheck | None) -> dict[str, Any]:
    """How far the file's answer may be said: confirmed now, or not; what was not confirmed is quoted as the file's word."""
    said = [*verdict_solvers(verdict), *getattr(verdict, "tried", ())]
    if result is not None and result.agrees:
        kept: dict[str, Any] = {"standing": "confirmed"}
    else:
        from glyptic.prove.certificates.saving import example_in

        example = example_in(verdict)
        said += [str(example)] if example is not None else []
        said += [verdict.reason] if data["reason"] is not None else []  # type: ignore[union-attr]
        nothing = dict.fromkeys(("example", "inputs", "satisfying", "failures", "smallest", "reason"))
        kept = {"standing": "unchecked" if result is None else "contradicted", **nothing}
    return {**kept, "solvers": [], "tried": [], "file_says": [quoted(text) for text in said][:20]}


def _rests(bare: Claim, result: Recheck | None) -> list[dict[str, Any]]:
    """What the check now rests on; without one, what the claim is taken to mean: the file's own list is not believed."""
    from glyptic.look.values.proof_words import sentences
    from glyptic.prove.verdicts.assumptions import of_meaning

    return sentences(of_meaning(bare) if result is None else result.assumptions)


def _chain(result: Recheck | None, compared: bool) -> list[dict[str, Any]]:
    """The chain of trust: what was compared or run now, what was not, and what contradicts the file."""
    from glyptic.look.values.proof_words import sentence

    chain: list[dict[str, Any]] = [{"state": "yes", "key": "trust_whole"}, {"state": "yes", "key": "trust_texts"}]
    chain.append({"state": "yes", "key": "trust_models"} if compared else {"state": "open", "key": "trust_models_open"})
    if result is None:
        chain.append({"state": "open", "key": "trust_again_open"})
    else:
        by_example = result.found.startswith(("the counterexample", "the witness"))
        good = "trust_again_example" if by_example else "trust_again_run"
        found = {"state": "yes", "key": good} if result.agrees else {"state": "no", "key": "trust_again_not"}
        chain.append({**found, "found": printable(result.found)})
        for detail in map(sentence, result.details):
            chain.append({"state": "open" if str(detail.get("key", "")).endswith("_open") else "yes", **detail})
    return [*chain, {"state": "open", "key": "trust_apart"}]


def _about_file(path: str | os.PathLike[str], claim: Claim) -> dict[str, Any]:
    from glyptic.prove.portable.claims import digest
    from glyptic.prove.portable.reading import read_json

    content = read_json(path, "a certificate")
    sealed = content.get("digest") if isinstance(content, dict) else None  # compared already, when it was loaded
    name = printable(os.path.basename(os.fspath(path)))
    return {"name": name, "digest": str(sealed), "claim": digest(claim), "models": _fingerprints(claim)}


def _fingerprints(claim: Claim) -> list[list[str]]:
    """Each transformer of a claim, with the digest of everything that it computes with."""
    from glyptic.prove.portable.transformers import fingerprint

    named: dict[str, Transformer] = getattr(claim.subject, "transformers", {})
    return [[key or "T", fingerprint(transformer)] for key, transformer in named.items()]


# The run of a counterexample, beside the one that it contradicts ----------------------------------------------------------


def _with_runs(view: View, claim: Claim | None, verdict: Verdict) -> tuple[View, ...]:
    """The view of the proof, which knows the number of the view of the run, if there is one."""
    runs = _runs(claim, verdict)
    return replace(view, data={**view.data, "run": 1 if runs else None}), *runs


def _runs(claim: Claim | None, verdict: Verdict) -> tuple[View, ...]:
    """The example as an exact run: beside the other transformer's, or beside the nearest input for which the claim holds."""
    from glyptic.prove.claims.claim import Inputs

    tokens = None if claim is None else _tokens(claim, verdict)
    if claim is None or tokens is None or len(tokens) > _LONGEST_RUN or not isinstance(claim.subject, Inputs):
        return ()
    from glyptic.look.values.exact import exact_view

    transformers = list(claim.subject.transformers.values())
    words = tuple(claim.subject.vocabulary[token] for token in tokens)
    against: Any = (transformers[1], words) if len(transformers) > 1 else None
    if against is None:
        other = _nearest_right(claim, tokens)
        against = None if other is None else (transformers[0], tuple(claim.subject.vocabulary[token] for token in other))
    try:
        view = exact_view(transformers[0], words, steps=claim.subject.steps[len(words) - 1], against=against)
    except GlypticError:  # a run that the page cannot compute: the verdict is shown all the same
        return ()
    return (replace(view, title="The run" if against is None else "The run, beside the one it contradicts"),)


def _nearest_right(claim: Claim, tokens: list[int]) -> list[int] | None:
    """An input next to a counterexample, one token changed, for which the claim does not fail; None if none was found."""
    from glyptic.prove.claims.claim import Inputs
    from glyptic.prove.verdicts.minimise import input_fails

    assert isinstance(claim.subject, Inputs)
    size = len(claim.subject.vocabulary)
    changed = [
        [*tokens[:place], other, *tokens[place + 1 :]]
        for place in reversed(range(len(tokens)))
        for other in range(size)
        if other != tokens[place]
    ]
    return next((near for near in changed[:_TRIED] if not input_fails(claim, near)), None)


__all__ = ["certificate_view", "proof_view", "verdict_data"]
