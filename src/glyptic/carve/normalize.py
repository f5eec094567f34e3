"""Normalization: transformers whose last residual *is* the answer, with a projection for an output matrix.

    zero_one      (T_NO, T_SI, 0, …), the logits themselves             1 feed-forward (2 were known)
    infinity      (1, 0, 0, …) for NO, (1, B, 0, …) for YES             2 feed-forwards (3 were known)
    plus_minus    (B, −B, 0, …) for NO, (−B, B, 0, …) for YES           2 feed-forwards (4 were known)

No heads and no flags: every position is normalized, so the last one is, whatever the input's length, and at every step of a chain
of thought. The new coordinates come first, where the result has to be, so that nothing needs to be moved there.

*Logits.* The rows θ and −θ of the output matrix are two hidden units, relu(θ·h) and relu(−θ·h). The inner product is the output's own, term
by term, rounded or fused; negation commutes with rounding, so the second is the first's negative part, and their difference,
one of them being 0, is the logit exactly.

*Their difference* D = [T_SI − T_NO] needs no coordinate for the logits: the row 1, −1, −1, 1 of W_2 over the four units adds up [[T_SI] − T_NO].
D > 0 iff T_SI > T_NO where x ≠ y ⇒ [x − y] ≠ 0.

*Then* u = relu(B·D) is positive iff D > 0, and z = relu(t − B·D) iff D ≤ 0, if t = [B·least], the least that B·D can be. Both are t at
least, and enough copies of B·u and B·z add up to B (see `amplify`). In one sum (one of them is 0):
    ∞:   h_2 = D + Σ B·u + relu(−D),     which is B (saturated) or 0;   b_2 adds the 1
    ±∞:  h_2 = D + Σ B·u − Σ B·z,        which is B or −B (saturated);  h_1 = Σ B·z − Σ B·u
Where T ties (D = 0) the answer is NO.
"""

from __future__ import annotations

import numpy as np

from glyptic.carve.amplify import Plan, enlarge, plan, reaches_top
from glyptic.carve.building import Draft, Unit, rows
from glyptic.carve.coordinates import as_layer, fresh, refuse_norms, widened
from glyptic.carve.facts import ONE, SUBNORMAL, SYMMETRIC, Fact, decides, require
from glyptic.carve.frames import frame_of, reads, writes
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Layer, Transformer
from glyptic.exact.history import Touch
from glyptic.numbers import Codes


def zero_one(transformer: Transformer, *, force: bool = False) -> Transformer:
    """The last residual becomes (T_NO, T_SI, 0, …): one value for each answer, then zeros. Any number of answers.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(4), sizes=Sizes(layers=0))
    >>> run = zero_one(T).run("0110", trace="*after_feed_forward")
    >>> [*run.residual["layer.0.after_feed_forward"][-1].values()] == [*T.run("0110").logits] + [0] * T.width
    True
    """
    require([ONE, SYMMETRIC], transformer.format, "normalize.zero_one", force)
    names = result_names(transformer)
    last = logits_layer(transformer, names, np.eye(len(names), dtype=int))
    touches = [writes([name], f"logit of {answer}") for name, answer in zip(names, transformer.answers, strict=True)]
    return normalized(transformer, names, [last], "normalize.zero_one", touches, [ONE, SYMMETRIC])


def infinity(transformer: Transformer, *, force: bool = False) -> Transformer:
    """The last residual becomes (1, 0, 0, …) where the answer is NO and (1, B, 0, …) where it is YES."""
    facts = decider_facts(transformer, ("1", "0"), ("1", "B"))
    require(facts, transformer.format, "normalize.infinity", force)
    no, yes = names = result_names(transformer)
    steps, draft = plan_of(transformer), Draft(transformer.format, names + transformer.coordinates)
    up = Unit({yes: "B"}, {yes: "B"})
    down = Unit({yes: -1}, {yes: 1})
    last = draft.feed_forward([up] * steps.copies + [down], {no: 1})
    touches = [writes([no], "1"), writes([yes], "B if YES else 0")]
    layers = [difference_layer(transformer, names), *early_layers(draft, [yes], steps), last]
    return normalized(transformer, names, layers, "normalize.infinity", touches, facts)


def plus_minus(transformer: Transformer, *, force: bool = False) -> Transformer:
    """The last residual becomes (B, −B, 0, …) where the answer is NO and (−B, B, 0, …) where it is YES.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(4), sizes=Sizes(layers=0))
    >>> N = plus_minus(T)
    >>> N.answer("0110") == T.answer("0110"), [str(x) for x in N.run("0110").logits]
    (True, ['-255/16', '255/16'])
    """
    facts = decider_facts(transformer, ("B", "-B"), ("-B", "B"))
    require(facts, transformer.format, "normalize.plus_minus", force)
    no, yes = names = result_names(transformer)
    steps, draft = plan_of(transformer), Draft(transformer.format, names + transformer.coordinates)
    last = draft.feed_forward(is_yes(yes, {yes: "B", no: "-B"}, steps) + is_no(yes, {yes: "-B", no: "B"}, steps))
    touches = [writes([no], "−B if YES else B"), writes([yes], "B if YES else −B")]
    layers = [difference_layer(transformer, names), *early_layers(draft, [yes], steps), last]
    return normalized(transformer, names, layers, "normalize.plus_minus", touches, facts)


# The parts, which the closure uses too ------------------------------------------------------------------------------------


def is_yes(difference: str, writes: dict[str, str], steps: Plan) -> list[Unit]:
    """Units that add B (or −B) to coordinates where D > 0, and nothing elsewhere."""
    return [Unit({difference: "B"}, writes)] * steps.copies


def is_no(difference: str, writes: dict[str, str], steps: Plan) -> list[Unit]:
    """Units that add B (or −B) to coordinates where D ≤ 0, and nothing elsewhere."""
    return [Unit({difference: "-B"}, writes, bias=steps.threshold)] * steps.copies


def early_layers(draft: Draft, differences: list[str], steps: Plan) -> list[FeedForward]:
    """The layers, in most formats none, that enlarge D before the last one can take it to B."""
    return [draft.feed_forward([u for d in differences for u in enlarge(d, copies)]) for copies in steps.early]


def difference_layer(transformer: Transformer, names: tuple[str, ...]) -> FeedForward:
    """The second new coordinate becomes [T_SI − T_NO]; all old ones 0."""
    return logits_layer(transformer, names, np.array([[0, 0], [-1, 1]]))


def logits_layer(transformer: Transformer, names: tuple[str, ...], mixes: np.ndarray) -> FeedForward:
    """The new coordinates, which come first, become `mixes` (new, answers; −1, 0, 1) of the logits; all old ones 0.

    A row of mixes adds up its positive terms before its negative ones.
    """
    new, d, theta = len(names), transformer.width, transformer.output
    one = transformer.format.code(1)
    order = [*range(len(theta))][::-1]  # YES first: [T_SI − T_NO] from the left
    units = np.concatenate([sign * theta[[a]] for a in order for sign in (1, -1)])
    signs = np.concatenate([sign * mixes[:, [a]] for a in order for sign in (1, -1)], axis=1)
    identity = one * np.eye(d, dtype=np.int64)
    w1 = np.zeros((len(units) + 2 * d, new + d), np.int64)
    w1[:, new:] = np.concatenate([units, identity, -identity])
    w2 = np.zeros((new + d, len(w1)), np.int64)
    w2[:new, : len(units)] = one * signs
    w2[new:, len(units) :] = np.concatenate([-identity, identity], axis=1)
    return FeedForward(w1, np.zeros(len(w1), np.int64), w2, np.zeros(new + d, np.int64))


def result_names(transformer: Transformer) -> tuple[str, ...]:
    """Names of the new coordinates: those of the answers, where they are free."""
    names: tuple[str, ...] = ()
    for answer in transformer.answers:
        names += (fresh((*transformer.coordinates, *names), answer),)
    return names


def plan_of(transformer: Transformer) -> Plan:
    """How D becomes B in this format; if that was forced where nothing does, as well as one copy can."""
    found = plan(transformer.format, transformer.options.products)
    return found or Plan((), 1, 2, transformer.format.round(transformer.format.least * transformer.format.max))


def decider_facts(transformer: Transformer, *outcomes: tuple[str, str]) -> list[Fact]:
    """What a normalization of deciders rests on, the decisiveness of its outcomes included if softmax chooses the answer."""
    if len(transformer.answers) != 2:
        raise ModelError(
            f"a decider has two answers, NO and YES, and this transformer has {len(transformer.answers)}: "
            f"{', '.join(transformer.answers)}; only zero_one takes any number."
        )
    facts = [ONE, SYMMETRIC, SUBNORMAL, reaches_top(transformer.options.products)]
    return facts + [decides(*logits) for logits in outcomes if transformer.options.answer == "softmax"]


def normalized(
    transformer: Transformer,
    names: tuple[str, ...],
    layers: list[FeedForward],
    construction: str,
    touches: list[Touch],
    facts: list[Fact],
) -> Transformer:
    """The transformer with new coordinates first, the layers at the end, and the output matrix that projects on them."""
    refuse_norms(transformer)
    parts = widened(transformer, names, first=True)
    parts["layers"] += tuple(map(as_layer, layers))
    parts["output"] = projection(transformer, parts["coordinates"], names)
    all_touches = [reads(transformer.coordinates), *touches, writes(transformer.coordinates, "0")]
    frame = frame_of(transformer, parts["coordinates"], parts["layers"], construction, all_touches, facts)
    return transformer.replace(**parts, history=(*transformer.history, frame))


def projection(transformer: Transformer, coordinates: tuple[str, ...], names: tuple[str, ...]) -> Codes:
    """The output matrix whose rows are unit vectors."""
    return rows(transformer.format, coordinates, [{name: 1} for name in names])


__all__ = ["infinity", "plus_minus", "zero_one"]
