"""What is proved of a distilled decider: that it is its language to a length, and that three normal forms answer as it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from glyptic.carve import normalize
from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.files import make_folder
from glyptic.languages import Automaton
from glyptic.prove.certificates.saving import save_certificate
from glyptic.prove.checking import ENUMERATED, check
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.questions import equivalence, recognition
from glyptic.prove.verdicts.answers import Verdict

KINDS = {"zero-one": normalize.zero_one, "infinity": normalize.infinity, "plus-minus": normalize.plus_minus}
_SECONDS = 600.0


@dataclass(frozen=True)
class Settled:
    """A claim and its verdict."""

    claim: Claim
    verdict: Verdict

    @property
    def proved(self) -> bool:
        return bool(self.verdict)

    @property
    def counterexample(self) -> str | None:
        """The smallest input for which it fails, if it does."""
        found = getattr(self.verdict, "counterexample", None)
        return None if found is None or found.input is None else "".join(found.input)


def settled(claim: Claim) -> Settled:
    """By enumeration where that is cheap; of more inputs than anyone can run, within a time limit."""
    assert isinstance(claim.subject, Inputs)
    seconds = None if claim.subject.count <= ENUMERATED else _SECONDS
    return Settled(claim, check(claim, backend="sequential", progress=False, seconds=seconds))


def is_language(transformer: Transformer, automaton: Automaton, max_length: int) -> Settled:
    """Whether it answers YES on the language's words, and NO on the others, up to a length."""
    return settled(recognition(transformer, automaton, max_length))


@dataclass(frozen=True)
class NormalForm:
    """A normal form, and whether it answers every input as the distilled transformer does; or why there is none."""

    kind: str
    transformer: Transformer | None
    equal: Settled | None
    refused: str = ""


def normal_forms(transformer: Transformer, max_length: int) -> tuple[NormalForm, ...]:
    """All three; where normalization refuses (a norm, a format without the facts that it needs) its reason stands instead."""
    found = []
    for kind, build in KINDS.items():
        try:
            normal = build(transformer).replace(name=f"{transformer.name}, {kind}")
        except GlypticError as error:
            found.append(NormalForm(kind, None, None, str(error)))
        else:
            found.append(NormalForm(kind, normal, settled(equivalence(transformer, normal, max_length))))
    return tuple(found)


def save_certificates(folder: Path, claims: Mapping[str, Settled]) -> None:
    """Each claim with its verdict, as a file that `glyptic prove --recheck` reads."""
    make_folder(folder)
    for name, one in claims.items():
        save_certificate(folder / f"{name}.json", one.claim, one.verdict)
