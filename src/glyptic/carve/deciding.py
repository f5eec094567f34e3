"""From logits to a decision: which answer is YES, and the layers and units that normalization, closure and composition share.

*Which is which* is told by the names of the answers, NO and YES or SÍ, in whatever order they are listed; of answers with
other names one must say which is YES.

*Logits.* A row θ of the output matrix becomes two hidden units, relu(θ·h) and relu(−θ·h). The inner product is the
output's own, term by term, rounded or fused; negation commutes with rounding, so the second is the negative part of
the first; one of them is 0, and their difference is the logit exactly. A bias of the output is the units' own.

*Their difference* D = [T_SI − T_NO] needs no coordinates for the logits: the row 1, −1, −1, 1 of W_2 over the four
units adds it up. D > 0 iff T_SI > T_NO, if x ≠ y ⇒ [x − y] ≠ 0.

*Its sign.* u = relu(B·D) is positive iff D > 0, and z = relu(t − B·D) iff D ≤ 0, for t = [B·least], the least that
B·D can be. Each, where positive, is t at least, and enough copies of B·u, or of B·z, add up to B (see `amplify`).
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

import numpy as np

from glyptic.arguments import refused, shown
from glyptic.carve.amplify import Amplification, enlarge, plan, reaches_top
from glyptic.carve.building import Draft, Row, Unit
from glyptic.carve.coordinates import fresh
from glyptic.carve.facts import ONE, SUBNORMAL, SYMMETRIC, Fact, decides
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Transformer


def logits_layer(transformer: Transformer, names: Sequence[str], mixes: np.ndarray) -> FeedForward:
    """New coordinates, which come first, become `mixes` (new, answers; of −1, 0, 1) of the logits; all old ones 0."""
    new, d, theta = len(names), transformer.width, transformer.output
    one = transformer.format.code(1)
    pairs = [(answer, sign) for answer in reversed(range(len(theta))) for sign in (1, -1)]
    identity = one * np.eye(d, dtype=np.int64)
    w1 = np.zeros((len(pairs) + 2 * d, new + d), np.int64)
    w1[:, new:] = np.concatenate([*(sign * theta[[answer]] for answer, sign in pairs), identity, -identity])
    w2 = np.zeros((new + d, len(w1)), np.int64)
    w2[:new, : len(pairs)] = np.stack([one * sign * mixes[:, answer] for answer, sign in pairs], axis=1)
    w2[new:, len(pairs) :] = np.concatenate([-identity, identity], axis=1)
    b1 = np.zeros(len(w1), np.int64)
    if transformer.output_bias is not None:
        b1[: len(pairs)] = [sign * transformer.output_bias[answer] for answer, sign in pairs]
    return FeedForward(w1, b1, w2, np.zeros(new + d, np.int64))


def logits_head(
    draft: Draft, transformer: Transformer, names: Sequence[str], mixes: np.ndarray, bits: Sequence[str], one: str
) -> Head:
    """The same by a head that attends to its own position alone, told by position codes (see `lookup`).

    W_V takes the logits and the old coordinates; W_O writes the mixes, and takes the old coordinates from themselves.
    """
    by_units = logits_layer(transformer, names, mixes)
    pairs = 2 * len(transformer.answers)
    units = [*range(0, pairs, 2), *range(pairs, pairs + transformer.width)]  # θ without −θ, x without −x: no relu here
    value = np.zeros((len(units), len(draft.coordinates)), np.int64)
    output = np.zeros((len(draft.coordinates), len(units)), np.int64)
    places = [draft.coordinates.index(name) for name in (*names, *transformer.coordinates)]
    value[:, places], output[places] = by_units.w1[units], by_units.w2[:, units]
    matching = draft.matching_head(bits, bits, one, [], [])
    bias = by_units.b1[units] if transformer.output_bias is not None else None
    return Head(matching.query, matching.key, value, output, value_bias=bias)


def is_yes(difference: str, writes: Row, copies: int) -> list[Unit]:
    """Units that add B (or −B) to coordinates where D > 0, and nothing elsewhere."""
    return [Unit({difference: "B"}, writes)] * copies


def is_no(difference: str, writes: Row, copies: int, steps: Amplification) -> list[Unit]:
    """Units that add B (or −B) to coordinates where D ≤ 0, and nothing elsewhere."""
    return [Unit({difference: "-B"}, writes, bias=steps.threshold)] * copies


def early_units(differences: Sequence[str], steps: Amplification) -> list[list[Unit]]:
    """The feed-forwards, in most formats none, that enlarge D before the last one can take it to B."""
    return [[unit for name in differences for unit in enlarge(name, copies)] for copies in steps.early]


def plan_of(transformer: Transformer) -> Amplification:
    """How D becomes B in this format; where nothing does and it was forced, as far as one copy goes."""
    format = transformer.format
    return plan(format, transformer.options.products) or Amplification((), 1, 2, format.round(format.least * format.max))


def two_answers(transformer: Transformer) -> tuple[str, str]:
    """A decider's answers, as it lists them."""
    if len(transformer.answers) != 2:
        raise ModelError(
            f"a decider has two answers, NO and YES, and this transformer has {len(transformer.answers)}: "
            f"{', '.join(transformer.answers)}; only zero_one takes any number."
        )
    first, second = transformer.answers
    return first, second


_NAMES = {"no": False, "yes": True, "sí": True, "si": True}


def no_and_yes(transformer: Transformer, yes: str | None = None) -> tuple[str, str]:
    """A decider's answers as (NO, YES): by their names, or else as `yes` says.

    Their difference must decide as the transformer does. Where ties go to the first answer it does so if the logits
    themselves are compared and NO is the first; a rounded softmax can tie where the logits differ.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> no_and_yes(random_transformer(Fixed(4), sizes=Sizes(answers=("SÍ", "NO"))))
    ('NO', 'SÍ')
    """
    first, second = two_answers(transformer)
    by_name = _named_yes(first, second)
    if yes is not None and yes not in (first, second):
        raise refused("yes", yes, f"one of the answers, {shown(first)} and {shown(second)}")
    if yes is not None and by_name not in (None, yes):
        raise ModelError(f"yes is {shown(yes)}, and the names of the answers, {first} and {second}, say otherwise.")
    if yes is None and by_name is None:
        raise ModelError(
            f"the answers are {shown(first)} and {shown(second)}, and neither name says which means YES; "
            f"name them NO and YES, or pass yes={shown(second)} (the commands: --yes)."
        )
    named = yes or by_name
    pair = (first, second) if named == second else (second, first)
    if transformer.options.ties == "first" and (transformer.options.answer != "logits" or pair[0] != first):
        raise ModelError(
            "options.ties is 'first', and the difference of two logits does not show where a rounded softmax ties, nor "
            "that a tie means YES; choose ties='explicit', or answer='logits' and list NO first."
        )
    return pair


def names_tell(answers: Sequence[str]) -> bool:
    """Whether the names of a decider's answers say which is YES."""
    return len(answers) == 2 and _named_yes(*answers) is not None


def _named_yes(first: str, second: str) -> str | None:
    """Which of two answers is YES by its name, the other being NO by its."""
    known = [_NAMES.get(normalize("NFC", name.casefold())) for name in (first, second)]
    return second if known == [False, True] else first if known == [True, False] else None


def no_first(answers: Sequence[str]) -> tuple[str, ...]:
    """The answers as a normal form has them: NO, YES where they are these by name, else as they are listed."""
    return tuple(answers)[::-1] if len(answers) == 2 and _named_yes(*answers) == answers[0] else tuple(answers)


def difference(transformer: Transformer, no: str, yes: str) -> np.ndarray:
    """A mix of two answers: 1 for YES and −1 for NO, wherever they are listed."""
    mix = np.zeros(2, int)
    mix[transformer.answers.index(yes)], mix[transformer.answers.index(no)] = 1, -1
    return mix


def decider_facts(transformer: Transformer, *outcomes: tuple[str, str]) -> list[Fact]:
    """What a decision rests on, the decisiveness of its outcomes included if softmax chooses the answer."""
    facts = [ONE, SYMMETRIC, SUBNORMAL, reaches_top(transformer.options.products)]
    if transformer.options.answer != "softmax":
        return facts
    return facts + [decides(*logits, subtract=transformer.options.attention == "max-subtracted") for logits in outcomes]


def result_names(answers: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """For each answer the name of a new coordinate: its own, where that is free."""
    names: dict[str, str] = {}
    for answer in answers:
        names[answer] = fresh((*taken, *names.values()), answer)
    return names
