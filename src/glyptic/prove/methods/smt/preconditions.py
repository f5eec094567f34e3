"""What a precondition says of single free values: the boxes that claims on layers are mostly about.

|x| ≤ 1 and y > 0 bound x and y. Terms that are made of such values know it (`known_facts.bounded`): they are right where the
precondition is met, and nothing is asked of them elsewhere. The bounds themselves are put to the solvers as they stand.

>>> from glyptic.exact import random_transformer
>>> from glyptic.numbers import Fixed
>>> from glyptic.prove.claims.claim import Claim, layers
>>> from glyptic.prove.claims.expressions import after, before
>>> x, y = before("x0"), before("x1")
>>> requires = (abs(x) <= 1) & (0 < y) & (y != 3) & (x * y < 2)
>>> boxed = box(Claim(layers(random_transformer("fixed:2")), after("x0") == 0, requires), Fixed(2))
>>> boxed.spans, [str(part) for part in boxed.bounds]
({'x0@0': (-4, 4), 'x1@0': (1, 15)}, ['|before.x0@0| ≤ 1', 'before.x1@0 > 0'])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from glyptic.numbers import Format, Reference
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Layers
from glyptic.prove.claims.evaluation import constant

Span = tuple[int, int]
_TURNED = {"<": ">", "≤": "≥", ">": "<", "≥": "≤", "=": "="}


@dataclass(frozen=True)
class Box:
    """Free values by name, each with the least and the greatest code that the bounds allow it; and the rest of a precondition."""

    spans: dict[str, Span]
    bounds: tuple[e.Condition, ...]
    rest: tuple[e.Condition, ...]


def box(claim: Claim, format: Format) -> Box:
    """The box that a claim on layers requires its free values to be in; none where it is empty: that is the solvers' to say."""
    parts = tuple(_conjuncts(claim.requires))
    spans: dict[str, Span] = {}
    bounds = []
    for part in parts:
        found = _bound(part, claim, format)
        if found is not None:
            name, (low, high) = found
            least, most = spans.get(name, (format.min_code, format.max_code))
            spans[name] = max(least, low), min(most, high)
            bounds.append(part)
    if any(low > high for low, high in spans.values()):
        return Box({}, (), parts)
    return Box(spans, tuple(bounds), tuple(part for part in parts if not any(part is bound for bound in bounds)))


def _conjuncts(condition: e.Condition) -> Iterator[e.Condition]:
    if isinstance(condition, e.Junction) and condition.how == "and":
        for part in condition.conditions:
            yield from _conjuncts(part)
    else:
        yield condition


def _bound(part: e.Condition, claim: Claim, format: Format) -> tuple[str, Span] | None:
    """The name of the one free value that a condition bounds, and the codes that meet it."""
    if not isinstance(part, e.Comparison):
        return None
    how, left, right = part.how, part.left, part.right
    if isinstance(left, e.Constant):
        how, left, right = _TURNED.get(how, how), right, left  # type: ignore[assignment]
    absolute = isinstance(left, e.Operation) and left.name == "abs"
    name = free_name(left.arguments[0] if isinstance(left, e.Operation) and absolute else left, claim)
    if name is None or how == "≠" or not isinstance(right, e.Constant):
        return None
    code = format.code(constant(right.number, Reference(format))[0])
    low = {">": code + 1, "≥": code, "=": code}.get(how, format.min_code)
    high = {"<": code - 1, "≤": code, "=": code}.get(how, format.max_code)
    if absolute:
        if how not in ("<", "≤") or -high < -format.max_code or high == format.max_code:
            return None
        low = -high
    return name, (low, high)


def free_name(node: e.Value, claim: Claim) -> str | None:
    """What a node is called among the free values of a claim on layers; None of anything else."""
    subject = claim.subject
    if not isinstance(subject, Layers):
        return None
    if isinstance(node, e.Coordinate) and node.stage == "before":
        place = (node.coordinate, node.position % subject.positions)
        return f"{place[0]}@{place[1]}" if place in subject.free else None
    if isinstance(node, e.Parameter) and (node.part, node.index) in subject.free_weights:
        mine = {entry for _, entry in subject.entries_of(node.of)}
        return e.entry_name(node.part, node.index) if (node.part, node.index) in mine else None
    return None
