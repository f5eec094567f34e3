"""Cases by their seeds: a kind, a format and a number."""

from __future__ import annotations

from tests.prove.fuzz import claims, splits
from tests.prove.fuzz.deciders import SECONDS, WAYS, Findings, compare

from glyptic.prove.claims.claim import Claim

KINDS = ("values", "block", "inputs", "splits")


def case(kind: str, format: str, number: int) -> Claim:
    """The claim of a seed."""
    return splits.random_split(format, number) if kind == "splits" else claims.random_claim(kind, format, number)


def findings(kind: str, format: str, number: int) -> Findings:
    """What deciding it in every way has found; whatever is wrong says how to see it again."""
    hard = kind in ("block", "splits") and format in claims.ENCLOSED  # a solver may need long: it is asked once, and briefly
    found = compare(case(kind, format, number), 1.0 if hard else SECONDS, ways=("smt",) if hard else WAYS)
    again = f"[python -m tests.prove.fuzz {kind} {format} {number}]"
    return Findings([f"{again} {text}" for text in found.wrong], found.said)
