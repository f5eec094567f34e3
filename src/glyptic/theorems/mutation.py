"""A theorem is worth what its broken versions show: every weight of a construction in turn is made 0, and the theorem must fail.

Weights whose loss changes nothing are told: a part that is not needed at the values the theorem ranges over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from glyptic.exact.parts import parts
from glyptic.exact.transformer import Transformer, map_codes
from glyptic.parallel import gather
from glyptic.prove.claims.claim import Claim, Layers
from glyptic.prove.methods import smt
from glyptic.prove.portable.claims import digest
from glyptic.prove.verdicts.answers import Refuted
from glyptic.theorems.proving import kept_file, read_scope, theorem


@dataclass(frozen=True)
class Mutant:
    """A claim about a construction one of whose weights is 0."""

    weight: str
    claim: Claim


def mutants(claim: Claim) -> Iterator[Mutant]:
    """The claim with each weight in turn, of the layers that the construction added, set to 0.

    Where two transformers are compared, the first is what was there before.
    """
    subject = claim.subject
    assert isinstance(subject, Layers)
    *rest, (label, built) = subject.transformers.items()
    old = len(rest[0][1].layers) if rest else 0
    first = 0 if all(len(t.layers) == len(built.layers) for _, t in rest) else old
    for part, place in _weights(built, first):
        broken = {**subject.transformers, label: _without(built, part, place)}
        where = f"{part}[{', '.join(map(str, place))}]"
        yield Mutant(where, replace(claim, subject=replace(subject, transformers=broken)))


def _weights(built: Transformer, first: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, codes, _ in parts(built):
        inside = name.startswith("layers.") and int(name.split(".")[1]) >= first
        if inside or (name == "output" and not built.layers):
            for place in np.argwhere(codes):
                yield name, tuple(int(i) for i in place)


def _without(built: Transformer, part: str, place: tuple[int, ...]) -> Transformer:
    def change(codes: np.ndarray, name: str) -> np.ndarray:
        if name != part:
            return codes
        out = codes.copy()
        out[place] = 0
        return out

    return map_codes(built, change)


@dataclass(frozen=True)
class Mutations:
    """How many of a construction's weights the theorem misses when they are gone, and which it does not."""

    theorem: str
    scope: str
    weights: int
    refuted: int
    unmissed: tuple[str, ...]


def break_all(name: str, scope: str, seconds: float | None = 60.0) -> Mutations:
    """Break every weight of a construction in turn."""
    format, products = read_scope(scope)
    unmissed, total = [], 0
    for mutant in mutants(theorem(name).claim(format, products)):
        total += 1
        if not isinstance(smt.check(mutant.claim, format, seconds=seconds), Refuted):
            unmissed.append(mutant.weight)
    return Mutations(name, scope, total, total - len(unmissed), tuple(unmissed))


class KeptMutations:
    """What came of broken weights, kept in the file of the rows; it counts again while the theorem's claim is the same."""

    def __init__(self, path: Path) -> None:
        self.file = kept_file(path)

    def find(self, name: str, scope: str) -> Mutations | None:
        """What came of a theorem's broken weights."""

        def read(data: dict[str, Any]) -> Mutations:
            return Mutations(name, scope, data["weights"], data["refuted"], tuple(data["unmissed"]))

        return self.file.find(f"{name} | {scope} | broken", lambda: _claim_digest(name, scope), read)

    def enter(self, name: str, found: Mutations) -> None:
        """Keep it."""
        counts = {"weights": found.weights, "refuted": found.refuted, "unmissed": list(found.unmissed)}
        self.file.enter(f"{name} | {found.scope} | broken", _claim_digest(name, found.scope), counts)


def _claim_digest(name: str, scope: str) -> str:
    """A fingerprint of a theorem with all the weights that it speaks of."""
    return digest(theorem(name).claim(*read_scope(scope)))


def break_each(names: Sequence[str], scope: str, *, kept: Path | None = None, workers: int | None = None) -> list[Mutations]:
    """Every weight of each of these constructions broken in turn; what is kept is not done again."""
    store = None if kept is None else KeptMutations(kept)
    known = {name: one for name in names if store is not None and (one := store.find(name, scope)) is not None}
    about: dict[str, Any] = {"known": known, "keep": store and store.enter}
    done = gather(break_all, {name: (name, scope) for name in names}, workers=workers, **about)
    return [done[name] for name in names]
