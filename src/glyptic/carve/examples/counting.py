"""Deciders that count: majority, counting modulo m, parity. The first two count and compare; parity never holds a
number above 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from glyptic.arguments import Count, checked, shown
from glyptic.carve.building import Draft, Row, Unit, clear
from glyptic.carve.examples.parts import (
    NO,
    ONE,
    YES,
    Length,
    Step,
    assemble,
    at_least,
    check_vocabulary,
    exactly,
    look_up,
    move,
    needs,
    total,
    whole_numbers,
)
from glyptic.carve.spaces import Space
from glyptic.errors import FormatError, InputError
from glyptic.exact import Layer, Transformer
from glyptic.numbers import AnyFormat, as_format


@checked
def majority(
    format: AnyFormat | str, max_length: Length = 12, letter: str = "1", vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether more than half of the tokens are a letter; one layer.

    Each such token counts +1, each other −1; the total decides. In any format with the whole numbers to max_length; and beyond,
    as long as saturation leaves the sign of a total right. There totals stop at C, the last whole number after which [C + 1] =
    C, or at B. Then a +1 before a −1 never makes more than after it, so of all inputs with the same votes 1…10…0 has the least
    total and 0…01…1 the greatest; among those that are just YES, or just not, the longest are the worst. These two are run.

    >>> from glyptic.numbers import Fixed
    >>> T = majority(Fixed(4))
    >>> T.answer("01101"), T.answer("0110")
    ('YES', 'NO')
    """
    format = as_format(format)
    counted = min(max_length, max(1, whole_numbers(format)))
    facts = needs("majority", format, max_length, counts_to=counted, force=force)
    check_vocabulary("majority", vocabulary, letter)
    draft = Draft(format, (ONE, "vote", "lead", NO, YES))
    decide = draft.feed_forward(at_least(1, {"lead": 1}, {NO: -1, YES: 1}), {NO: 1})
    steps = [("add up the votes", Layer((total(draft, {"lead": {"vote": 1}}),), decide))]
    tokens: dict[str, Row] = {a: {"vote": 1 if a == letter else -1} for a in vocabulary}
    decider = assemble(f"majority:{max_length}", draft, tokens, [{}] * max_length, steps, facts)
    wrong = _wrong_majority(decider, letter) if max_length > counted else None
    if wrong is not None and not force:
        raise FormatError(
            f"majority of inputs up to {max_length} counts to {max_length}, and {format} has the whole numbers only up to "
            f"{counted}: it would answer {wrong}; choose a wider format or a smaller max_length."
        )
    if max_length > counted:
        survives = f"totals of up to {max_length} votes keep their sign"
        said = survives if wrong is None else f"{survives}, which is false in {format} (forced): it answers {wrong}"
        decider = decider.replace(history=(replace(decider.history[0], facts=(*facts, said)), *decider.history[1:]))
    return decider


def _wrong_majority(decider: Transformer, letter: str) -> str | None:
    """One of the two worst inputs, if it is answered wrongly."""
    other = next((token for token in decider.vocabulary if token != letter), None)
    if other is None:
        return None
    longest = len(decider.position_embedding)
    more, half = (longest - 1) // 2, longest // 2
    worst = {letter * (more + 1) + other * more: "YES", other * half + letter * half: "NO"}
    said = decider.run_batch(worst).answers
    wrong = (f"{shown(text)} with {answer}" for (text, right), answer in zip(worst.items(), said, strict=True) if answer != right)
    return next(wrong, None)


@checked
def modular(
    format: AnyFormat | str,
    modulus: Annotated[int, Count(1)] = 3,
    residue: Annotated[int, Count(0)] = 0,
    max_length: Length = 12,
    letter: str = "1",
    vocabulary: str = "01",
    *,
    force: bool = False,
) -> Transformer:
    """Whether the number of a letter's occurrences is a residue modulo m; 1 + ⌊log2(max_length / m)⌋ + 1 layers.

    Long division: the first layer counts, and each layer asks whether what is left reaches m·2^t, which the next one
    takes away. In any format with the whole numbers to max_length and to residue + 1.

    >>> from glyptic.numbers import Fixed
    >>> T = modular(Fixed(4), modulus=3, residue=2)
    >>> T.answer("0110111"), T.answer("0111")
    ('YES', 'NO')
    """
    check_vocabulary("modular", vocabulary, letter)
    if residue >= modulus:
        raise InputError(f"modular: residue {residue} modulo {modulus}; it must be below the modulus.")
    format = as_format(format)
    facts = needs("modular", format, max_length, counts_to=max(max_length, residue + 1), force=force)
    multiples = [modulus << t for t in range(max_length.bit_length()) if modulus << t <= max_length][::-1]
    reaches = [f"reaches.{multiple}" for multiple in multiples]
    draft = Draft(format, (ONE, "is_letter", "left", *reaches, NO, YES))

    steps: list[Step] = []
    left: dict[str, int] = {"left": 1}  # what is left of the count, as a row: the last subtraction is still to be done
    taken: list[Unit] = []
    for multiple, name in zip(multiples, reaches, strict=True):
        heads = () if steps else (total(draft, {"left": {"is_letter": 1}}),)
        divide = draft.feed_forward([*at_least(multiple, left, {name: 1}), *taken])
        steps.append((f"does {multiple} go into what is left", Layer(heads, divide)))
        left, taken = {"left": 1, name: -multiple}, [Unit({name: 1}, {"left": -multiple})]
    heads = () if steps else (total(draft, {"left": {"is_letter": 1}}),)
    compare = draft.feed_forward([*exactly(residue, left, {NO: -1, YES: 1}), *taken], {NO: 1})
    steps.append((f"is {residue} left", Layer(heads, compare)))
    tokens: dict[str, Row] = {a: {"is_letter": int(a == letter)} for a in vocabulary}
    return assemble(f"modular:{modulus},{residue},{max_length}", draft, tokens, [{}] * max_length, steps, facts)


@checked
def parity(
    format: AnyFormat | str, max_length: Length = 16, letter: str = "1", vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether a letter occurs an odd number of times; ⌈log2 max_length⌉ layers.

    Pointer jumping: each position knows the parity of a stretch that ends at it and points at the position before the
    stretch; a layer looks that one up, adds its parity and takes over its pointer, so stretches double. Nothing is
    ever larger than 1, so any format with [exp(−B)] = 0 and the whole numbers to 2 will do, at any length.

    >>> from glyptic.numbers import Fixed
    >>> T = parity(Fixed(2), max_length=8)
    >>> T.answer("01101"), T.answer("0110")
    ('YES', 'NO')
    """
    format = as_format(format)
    facts = needs("parity", format, max_length, looks_up=True, force=force)
    check_vocabulary("parity", vocabulary, letter)
    here, pointer, further = (Space.binary(name, max_length) for name in ("here", "pointer", "further"))
    draft = Draft(format, (ONE, here, pointer, further, "odd", "complete", "theirs_odd", "theirs_complete", NO, YES))
    fetched = dict(zip(further, pointer, strict=True)) | {"theirs_odd": "odd", "theirs_complete": "complete"}

    def jump(last: bool) -> Layer:
        """odd ← odd xor theirs, unless the stretch is complete; the pointer moves on; a stretch joined to a complete
        one is complete.
        """
        answer = {NO: -1, YES: 1} if last else {}
        opposite = {NO: 1, YES: -1} if last else {}
        units = [
            Unit({"theirs_odd": 1, "odd": -1, "complete": -1}, {"odd": 1, **answer}),
            Unit({ONE: -1, "theirs_odd": 1, "odd": 1, "complete": -1}, {"odd": -1, **opposite}),
            Unit({"theirs_complete": 1, "complete": -1}, {"complete": 1}),
            *clear(["theirs_odd", "theirs_complete"]),
        ]
        if last:
            units.insert(0, Unit({"odd": 1}, answer))
        for new, old in zip(further, pointer, strict=True):
            units += move(new, old)
        bias: Row = {NO: 1} if last else {}
        return Layer((look_up(draft, pointer, here, fetched),), draft.feed_forward(units, bias))

    positions: list[Row] = [
        {**here.signs(i), **pointer.signs(max(i - 1, 0)), "complete": int(i == 0)} for i in range(max_length)
    ]
    tokens: dict[str, Row] = {a: {"odd": int(a == letter)} for a in vocabulary}
    steps = [(f"stretches of {2 << l}", jump(last=l == len(here) - 1)) for l in range(len(here))]
    return assemble(f"parity:{max_length}", draft, tokens, positions, steps, facts)
