"""Normalization: transformers whose last residual *is* the answer, with a projection for an output matrix.

                                                                    layers     known before
    zero_one      (T_NO, T_SI, 0, …), the logits themselves            1            2
    infinity      (1, 0, 0, …) for NO, (1, B, 0, …) for YES            2            3
    plus_minus    (B, −B, 0, …) for NO, (−B, B, 0, …) for YES          2            4

Feed-forwards only, and no flags: every position is normalized, so the last one is, whatever the input's length, and at every
step of a chain of thought. The new coordinates come first, where the result has to be: nothing needs to be moved there. With
`one_layer=True` a head does the first step, and one layer is all (fp16 and its like take one more, see `amplify`).

With D, u and z of `deciding`, of which u or z is 0, the last feed-forward leaves
    ∞:   h_2 = D + Σ B·u + relu(−D),     which is B (saturated) or 0;   b_2 adds the 1
    ±∞:  h_2 = D + Σ B·u − Σ B·z,        which is B or −B (saturated);  h_1 = Σ B·z − Σ B·u
So the answer is YES where T_SI > T_NO and NO elsewhere: that of T wherever T is decisive. Where T's rounded softmax ties
or is 0/0 though the logits differ, as (0, 1/4) in F(2), the larger logit decides; equal logits are NO.

Which answer is NO and which YES goes by their names (see `deciding.no_and_yes`): the form is (NO, YES), in whatever order
T lists them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from glyptic.arguments import checked
from glyptic.carve.beside import weights_of
from glyptic.carve.building import Draft, Row, Unit, clear, refuse_huge
from glyptic.carve.coordinates import as_layer, refuse_norms, widened
from glyptic.carve.deciding import (
    decider_facts,
    difference,
    early_units,
    is_no,
    is_yes,
    logits_head,
    logits_layer,
    no_and_yes,
    no_first,
    plan_of,
    result_names,
)
from glyptic.carve.facts import ONE, SYMMETRIC, Fact, require
from glyptic.carve.frames import frame_of, reads, writes
from glyptic.carve.lookup import matching_facts, with_codes
from glyptic.errors import ModelError
from glyptic.exact import Layer, Transformer
from glyptic.exact.history import Touch


@checked
def zero_one(transformer: Transformer, *, one_layer: bool = False, force: bool = False) -> Transformer:
    """The last residual becomes (T_NO, T_SI, 0, …): one value for each answer, then zeros. Any number of answers.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(4), sizes=Sizes(layers=0))
    >>> run = zero_one(T).run("0110", trace="*after_feed_forward")
    >>> [*run.residual["layer.0.after_feed_forward"][-1].values()] == [*T.run("0110").logits] + [0] * T.width
    True
    """
    answers = result_names(no_first(transformer.answers), transformer.coordinates)
    touches = [writes([name], f"logit of {answer}") for answer, name in answers.items()]
    mixes = np.array([[int(answer == of) for of in transformer.answers] for answer in answers])
    goal = Goal("normalize.zero_one", answers, mixes, [], {}, touches, [ONE, SYMMETRIC])
    return reach(transformer, goal, one_layer, force)


@checked
def infinity(
    transformer: Transformer, *, one_layer: bool = False, yes: str | None = None, force: bool = False
) -> Transformer:
    """The last residual becomes (1, 0, 0, …) where the answer is NO and (1, B, 0, …) where it is YES."""
    both = no_and_yes(transformer, yes)
    facts = decider_facts(transformer, ("1", "0"), ("1", "B"))
    answers = result_names(both, transformer.coordinates)
    first, second = answers.values()
    steps, mixes = plan_of(transformer), np.stack([[0, 0], difference(transformer, *both)])
    last = [*is_yes(second, {second: "B"}, steps.copies), Unit({second: -1}, {second: 1})]
    touches = [writes([first], "1"), writes([second], "B if YES else 0")]
    following = [*early_units([second], steps), last]
    goal = Goal("normalize.infinity", answers, mixes, following, {first: 1}, touches, facts)
    return reach(transformer, goal, one_layer, force)


@checked
def plus_minus(
    transformer: Transformer, *, one_layer: bool = False, yes: str | None = None, force: bool = False
) -> Transformer:
    """The last residual becomes (B, −B, 0, …) where the answer is NO and (−B, B, 0, …) where it is YES.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(4), sizes=Sizes(layers=0))
    >>> N = plus_minus(T)
    >>> N.answer("0110") == T.answer("0110"), [str(x) for x in N.run("0110").logits]
    (True, ['-255/16', '255/16'])
    """
    both = no_and_yes(transformer, yes)
    facts = decider_facts(transformer, ("B", "-B"), ("-B", "B"))
    answers = result_names(both, transformer.coordinates)
    first, second = answers.values()
    steps, mixes = plan_of(transformer), np.stack([[0, 0], difference(transformer, *both)])
    last = is_yes(second, {second: "B", first: "-B"}, steps.copies)
    last += is_no(second, {second: "-B", first: "B"}, steps.copies, steps)
    touches = [writes([first], "−B if YES else B"), writes([second], "B if YES else −B")]
    following = [*early_units([second], steps), last]
    goal = Goal("normalize.plus_minus", answers, mixes, following, {}, touches, facts)
    return reach(transformer, goal, one_layer, force)


@dataclass(frozen=True)
class Goal:
    """A normal form: the mixes of logits that the new coordinates get first, and the feed-forwards that follow."""

    construction: str
    answers: Mapping[str, str]  # each answer's new coordinate, in the order of the form
    mixes: np.ndarray  # (new coordinates, old answers in their order), of −1, 0, 1
    following: Sequence[list[Unit]]
    bias: Row  # b_2 of the last
    touches: Sequence[Touch]
    facts: Sequence[Fact]
    scratch: tuple[str, ...] = ()  # new coordinates after those of the answers

    @property
    def names(self) -> tuple[str, ...]:
        """All new coordinates."""
        return (*self.answers.values(), *self.scratch)


def reach(transformer: Transformer, goal: Goal, one_layer: bool = False, force: bool = False) -> Transformer:
    """The transformer in the normal form; all coordinates but the new ones are 0 at the end. Answers stay listed as they
    were, if they are the same.
    """
    refuse_norms(transformer)
    facts = [*goal.facts, *(matching_facts(transformer)[1:] if one_layer else ())]
    require(facts, transformer.format, goal.construction, force)
    cleared = len(goal.names) + transformer.width
    refuse_huge(goal.construction, weights_of([transformer]) + 4 * cleared**2)
    wide, layers = _by_head(transformer, goal) if one_layer else (transformer, _by_units(transformer, goal))
    parts = widened(wide, goal.names, first=True)
    parts["layers"] += tuple(layers)
    answers = transformer.answers if set(transformer.answers) == set(goal.answers) else tuple(goal.answers)
    parts["output"] = Draft(wide.format, parts["coordinates"]).rows({goal.answers[answer]: 1} for answer in answers)
    touches = [reads(wide.coordinates), *goal.touches, writes(wide.coordinates, "0")]
    frame = frame_of(transformer, parts["coordinates"], parts["layers"], goal.construction, touches, facts)
    return wide.replace(**parts, output_bias=None, answers=answers, history=(*transformer.history, frame))


def _by_units(transformer: Transformer, goal: Goal) -> list[Layer]:
    draft = Draft(transformer.format, goal.names + transformer.coordinates)
    first = logits_layer(transformer, goal.names, goal.mixes)
    last = len(goal.following) - 1
    later = (draft.feed_forward(units, goal.bias if i == last else {}) for i, units in enumerate(goal.following))
    return [as_layer(ff) for ff in (first, *later)]


def _by_head(transformer: Transformer, goal: Goal) -> tuple[Transformer, list[Layer]]:
    """The first step in the attention of the layer whose feed-forward is the second; the last also clears the codes."""
    if transformer.options.mask == "strict":
        raise ModelError("one_layer needs positions that see themselves, which the strict mask hides; leave it out.")
    wide, bits, one = with_codes(transformer)
    draft = Draft(wide.format, goal.names + wide.coordinates)
    head = logits_head(draft, transformer, goal.names, goal.mixes, bits, one)
    *early, last = goal.following or [[]]
    feed_forwards = [*map(draft.feed_forward, early), draft.feed_forward(last + clear([*bits, one]), goal.bias)]
    return wide, [Layer((head,), feed_forwards[0]), *map(as_layer, feed_forwards[1:])]


__all__ = ["infinity", "plus_minus", "zero_one"]
