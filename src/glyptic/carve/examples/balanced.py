"""Balanced brackets of one or several kinds, up to a depth: six layers, at any length that the format can count."""

from __future__ import annotations

from typing import Annotated

from glyptic.arguments import Count, checked, shown
from glyptic.carve.building import Draft, Row, Unit
from glyptic.carve.examples.parts import (
    NO,
    ONE,
    YES,
    ShortLength,
    assemble,
    at_least,
    both,
    check_vocabulary,
    exactly,
    needs,
    total,
)
from glyptic.carve.spaces import Space
from glyptic.errors import InputError
from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.numbers import AnyFormat, as_format

VALID, DEPTH, CLOSES, ORDINAL, BAD, ALL_BAD = "valid", "depth", "closes", "ordinal", "bad", "all_bad"
CLEAN, CLOSED = "clean", "closed"
Depth = Annotated[int, Count(1)]


@checked
def brackets(
    format: AnyFormat | str, max_length: ShortLength = 12, depth: Depth = 3, pairs: str = "()", *, force: bool = False
) -> Transformer:
    """Whether the brackets are balanced, and never deeper than `depth`; `pairs` lists opening and closing ones: "()[]".

        0  depth: openings less closings so far         FF: the level that this bracket opens or closes; bad if outside
        1  how many brackets of each level so far       FF: of its own level, which one it is
        2                                               FF: the number of its pair in its level, as a code of ±1
        3  look up the opening one of level and pair    FF: bad if of another kind
        4  whether anything was bad so far              FF: clean; closed
        5                                               FF: both: YES

    At each level openings and closings alternate, so the pair's number and the level find the partner; where the
    depth has been out of bounds the query is 0 and attention uniform, never 0/0. In any format with [exp(−B)] = 0 and
    the whole numbers to max_length.

    >>> from glyptic.numbers import Fixed
    >>> T = brackets(Fixed(4), depth=2, pairs="()[]")
    >>> T.answer("([])[]"), T.answer("([)]"), T.answer("((()))")
    ('YES', 'NO', 'NO')
    """
    format = as_format(format)
    facts = needs("brackets", format, max_length, counts_to=max(2, max_length), looks_up=True, force=force)
    check_vocabulary("brackets", pairs)
    if len(pairs) % 2:
        raise InputError(f"brackets: pairs is {shown(pairs)}, and its characters must come in pairs, such as ()[].")
    levels_needed = min(depth, max(1, max_length // 2))  # deeper than that, there is no room left to close
    couples = [pairs[k : k + 2] for k in range(0, len(pairs), 2)]
    kinds, partners = Space("kind", couples), Space("partner", couples)
    levels, seen = (Space(name, range(1, levels_needed + 1)) for name in ("level", "seen"))
    pair = Space.binary("pair", (max_length + 1) // 2 + 1)
    brackets_own = (ONE, "turn", CLOSES, kinds, DEPTH, levels, VALID, seen, ORDINAL, pair, partners)
    draft = Draft(format, (*brackets_own, BAD, ALL_BAD, CLEAN, CLOSED, NO, YES))
    count_levels = total(draft, {s: {l: 1} for s, l in zip(seen, levels, strict=True)})
    partner = _find_partner(draft, levels, pair, kinds, partners)
    steps = [
        ("depth and level", Layer((total(draft, {DEPTH: {"turn": 1}}),), _levels(draft, levels))),
        ("which bracket of its level", Layer((count_levels,), _ordinals(draft, levels, seen))),
        ("the number of its pair", Layer((), _pair_codes(draft, pair, max_length))),
        ("look up the partner", Layer((partner,), _compare_kinds(draft, kinds, partners))),
        ("was anything bad", Layer((total(draft, {ALL_BAD: {BAD: 1}}),), _verdicts(draft))),
        ("clean and closed", Layer((), draft.feed_forward([both(CLEAN, CLOSED, {NO: -1, YES: 1})], {NO: 1}))),
    ]
    tokens: dict[str, Row] = {
        token: {"turn": -1 if k % 2 else 1, CLOSES: k % 2, kinds[couples[k // 2]]: 1} for k, token in enumerate(pairs)
    }
    return assemble(f"brackets:{max_length},{depth},{pairs}", draft, tokens, [{}] * max_length, steps, facts)


def _levels(draft: Draft, levels: Space) -> FeedForward:
    """A bracket's level is the depth inside it: the depth after an opening one, one more after a closing one."""
    inside = {CLOSES: 1, DEPTH: 1}
    units = [unit for l, name in enumerate(levels, 1) for unit in exactly(l, inside, {name: 1, VALID: 1})]
    return draft.feed_forward([*units, Unit({DEPTH: -1}, {BAD: 1}), Unit({DEPTH: 1}, {BAD: 1}, bias=-len(levels))])


def _ordinals(draft: Draft, levels: Space, seen: Space) -> FeedForward:
    """Of the brackets seen at its level, which one this is: relu(−B + B·level + seen) is `seen` at its level, 0 at others."""
    own = [Unit({ONE: "-B", level: "B", count: 1}, {ORDINAL: 1}) for level, count in zip(levels, seen, strict=True)]
    return draft.feed_forward(own)


def _pair_codes(draft: Draft, pair: Space, max_length: int) -> FeedForward:
    """Brackets 1, 2 of a level are pair 1, brackets 3, 4 pair 2, …: digit b changes when the pair's number passes a
    multiple of 2^b.

    A change is ±2, made of two steps of ±1, so that no sum outgrows the whole numbers. Where the level is not valid all is 0.
    """
    units = []
    for b, name in enumerate(pair):
        units.append(Unit({VALID: 1}, {name: -1}))
        for t, number in enumerate(range(1 << b, (max_length + 1) // 2 + 1, 1 << b)):
            change = -1 if t % 2 else 1
            units += 2 * at_least(2 * number - 1, {ORDINAL: 1}, {name: change})
    return draft.feed_forward(units)


def _find_partner(draft: Draft, levels: Space, pair: Space, kinds: Space, partners: Space) -> Head:
    """Score 0 at the opening bracket of the same level and pair, −B elsewhere; all 0 without a valid level."""
    query: list[Row] = [*({level: 1} for level in levels), {VALID: 1}]
    key: list[Row] = [*({level: "B"} for level in levels), {ONE: "-B"}]
    for digit in pair:
        query += [{digit: 1}, {VALID: 1}]
        key += [{digit: "B"}, {ONE: "-B"}]
    query.append({VALID: 1})
    key.append({CLOSES: "-B"})
    return draft.head(query, key, [{kind: 1} for kind in kinds], [{partner: 1} for partner in partners])


def _compare_kinds(draft: Draft, kinds: Space, partners: Space) -> FeedForward:
    return draft.feed_forward(
        [Unit({kind: 1, partner: -1}, {BAD: 1}) for kind, partner in zip(kinds, partners, strict=True)]
    )


def _verdicts(draft: Draft) -> FeedForward:
    """clean: nothing was bad; closed: the depth is at most 0 (below 0 it is not clean)."""
    return draft.feed_forward([Unit({ALL_BAD: -1}, {CLEAN: 1}, bias=1), *at_least(0, {DEPTH: -1}, {CLOSED: 1})])
