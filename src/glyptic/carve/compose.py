"""One transformer after another: b reads a's answers, in one pass or along a chain of thought.

*sequence(a, b)*: b reads, at each position, the answer that a gives to the input up to there, all in one pass.
Between the two come 3 feed-forwards: D = [T_SI − T_NO]; (B, 0) or (0, B) by its sign; then relu(1 − B) = 0 and
relu(1 − 0) = 1 are exact bits, by which b's token embedding is added to b's position embedding.

*relay(a, b)*: a answers until the last token is a switch (any of its answers, unless told otherwise), then b, which
reads the input and a's whole chain of thought. Side by side, and 1 feed-forward, whose units relu(±θ·h − B·off) are
a's logits while it is a's turn, and b's while it is b's.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from glyptic.arguments import checked, shown
from glyptic.carve.beside import beside, check_alike, of_one_length
from glyptic.carve.building import Draft, Number, Unit, clear
from glyptic.carve.coordinates import as_layer, fresh, refuse_output_bias, widen, widen_layer, widened
from glyptic.carve.deciding import (
    decider_facts,
    difference,
    early_units,
    is_no,
    is_yes,
    logits_layer,
    no_and_yes,
    plan_of,
)
from glyptic.carve.facts import EXP_VANISHES, ONE, SYMMETRIC, require
from glyptic.carve.frames import frame_of, reads, writes
from glyptic.carve.names import members
from glyptic.carve.spaces import Space
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Layer, Transformer
from glyptic.exact.history import moved
from glyptic.numbers import decode


@checked
def sequence(a: Transformer, b: Transformer, *, yes: str | None = None, force: bool = False) -> Transformer:
    """b's answer to the sequence a(x_1), a(x_1 x_2), …, a(x_1 … x_n); a is a decider, and b's tokens include its
    answers. Which of these means YES goes by name, or as `yes` says.

    It is b's exactly wherever a is decisive at every position; elsewhere a counts as YES if its logit of YES is the
    larger, else as NO. Under a full mask a's position i sees the whole input, not x_1 … x_i: that is refused.
    """
    both = no_and_yes(a, yes)
    refuse_output_bias(b, "compose.sequence, b")
    if a.options.mask == "full":
        raise ModelError(
            "options.mask is 'full': position i of a sees what comes after it, so its answer there is not that to the "
            "input up to i; compose.sequence needs a causal or strict mask."
        )
    facts = decider_facts(a)
    require(facts, a.format, "compose.sequence", force)
    check_alike(a, b)
    _check_reads(b, a.answers, "the answers of a")
    a, b = _shortened(a, b)
    steps = plan_of(a)
    between = 3 + len(steps.early)
    before = len(a.layers) + between
    waiting = b.replace(
        vocabulary=a.vocabulary,
        token_embedding=np.zeros((len(a.vocabulary), b.width), np.int64),
        layers=(Layer(),) * before + b.layers,
        history=moved(b.history, lambda layer: (layer + before,)),
    )
    side = beside([a, waiting])
    names = no, yes = f"a says {both[0]}", f"a says {both[1]}"
    draft = Draft(side.format, names + side.coordinates)
    mixes = np.stack([[0, 0], difference(a, *both)])
    first = widen_layer(as_layer(logits_layer(a, names, mixes)), (0, b.width))
    copies = steps.copies
    signs = [*is_yes(yes, {yes: "B"}, copies), Unit({yes: -1}, {yes: 1}), *is_no(yes, {no: "B"}, copies, steps)]
    embed = [Unit({other: -1}, _embedding(b, said), bias=1) for said, other in zip(both, (yes, no), strict=True)]
    later = [draft.feed_forward(units) for units in (*early_units([yes], steps), signs, embed + clear(names))]
    parts = widened(side, names, first=True)
    parts["layers"] = _put(parts["layers"], [first, *map(as_layer, later)], len(a.layers))
    parts |= {"output": parts["output"][len(a.answers) :], "output_bias": None}
    own, theirs = Space("a", a.coordinates), Space("b", b.coordinates)
    touches = [reads(own), writes(theirs, "+ b's embedding of a's answer"), writes([*names, *own], "0")]
    shape = side.replace(layers=side.layers[: len(a.layers)] + side.layers[len(a.layers) + between :])
    frame = frame_of(shape, parts["coordinates"], parts["layers"], "compose.sequence", touches, facts, len(a.layers))
    return side.replace(**parts, answers=b.answers, history=(*side.history, frame), name=f"{b.name} after {a.name}")


@checked
def relay(a: Transformer, b: Transformer, switch: Iterable[str] | None = None, *, force: bool = False) -> Transformer:
    """Where the last token is not a switch, a's answer; where it is, b's: so `relay(a, b).run(x, steps=2)` ends with b(x a(x)).

    The logits are theirs exactly, and −B for answers that the one whose turn it is does not have; where −B could win or
    change a share, that is refused. Both run at every position, so where one meets 0/0 the relay does too. With fewer
    switches a thinks on until it writes one; b then reads x and all that a wrote. The answers are those of both.
    """
    chosen = a.answers if switch is None else tuple(switch) if isinstance(switch, str) else members(switch, "switch", "answers")
    for name, each in (("a", a), ("b", b)):
        refuse_output_bias(each, f"compose.relay, {name}")
    check_alike(a, b)
    padded = _check_absent(a, b)
    facts = [ONE, SYMMETRIC, *([EXP_VANISHES] if padded and a.options.answer == "softmax" else [])]
    require(facts, a.format, "compose.relay", force)
    _check_reads(b, (*a.vocabulary, *a.answers), "what a reads and writes")
    for token in chosen:
        if not isinstance(token, str) or token not in a.answers:
            raise ModelError(f"the switch {shown(token)} is not an answer of a; its answers are {', '.join(a.answers)}.")
    a, b = _shortened(a, b)
    side = _with_turns(beside([_reading(a, b.vocabulary), b]), chosen)
    answers = tuple(dict.fromkeys((*a.answers, *b.answers)))
    names = tuple(fresh(side.coordinates, f"answer {answer}") for answer in answers)
    draft = Draft(side.format, names + side.coordinates)
    last = _relaying(draft, side, dict(zip(answers, names, strict=True)), a, b)
    parts = widened(side, names, first=True)
    parts["layers"] += (as_layer(last),)
    parts["output"] = draft.rows([{name: 1} for name in names])
    old, value = side.coordinates, "the logits of the one whose turn it is, else −B"
    touches = [reads(old), writes(names, value), writes(old, "0")]
    frame = frame_of(side, parts["coordinates"], parts["layers"], "compose.relay", touches, facts)
    return side.replace(**parts, answers=answers, history=(*side.history, frame), name=f"{a.name} then {b.name}")


def _check_absent(a: Transformer, b: Transformer) -> bool:
    """Whether one has answers that the other does not, which then get −B; refused where that is not as good as absent.

    A share of [exp(−B)] = 0 leaves a plain softmax as it was. With the largest logit subtracted, exp([−B − max]) need not
    be 0. Compared as they are, logits of −B are the largest only if all are, which is a tie, unless there was one alone.
    """
    options = a.options
    if options.ties == "first" and a.answers != b.answers:
        raise ModelError(
            f"options.ties is 'first', and the answers of a are {', '.join(a.answers)}, those of b {', '.join(b.answers)}: "
            "the first of all would not be the first of each; list the same, in the same order, or choose ties='explicit'."
        )
    lacking = [t for t in (a, b) if not {*a.answers, *b.answers} <= {*t.answers}]
    if lacking and options.answer == "softmax" and options.attention == "max-subtracted":
        raise ModelError(
            f"{lacking[0]!r} does not have all answers of the other, and a softmax with its maximum subtracted gives an "
            "absent one, whose logit is −B, a share; give both the same answers, or choose answer='logits'."
        )
    if options.answer == "logits" and any(len(t.answers) == 1 for t in lacking):
        raise ModelError("a logit of −B would tie with the one answer that there is; give both the same answers.")
    return bool(lacking)


TURNS = ("a's turn", "b's turn")


def _with_turns(side: Transformer, switch: tuple[str, ...]) -> Transformer:
    """Two coordinates that the last token sets: 1 for whose turn it is."""
    wide = widen(side, TURNS)
    one, embedding = side.format.code(1), wide.token_embedding.copy()
    for row, token in enumerate(wide.vocabulary):
        embedding[row, wide.coordinate(TURNS[token in switch])] = one
    return wide.replace(token_embedding=embedding)


def _relaying(draft: Draft, side: Transformer, names: dict[str, str], a: Transformer, b: Transformer) -> FeedForward:
    """For each answer, the logit of the one whose turn it is, −B if that one does not have it; all else cleared."""
    thetas = decode(side.output, side.format)
    units: list[Unit] = []
    for number, (label, transformer) in enumerate((("a", a), ("b", b))):
        off: dict[str, Number] = {TURNS[1 - number]: "-B"}
        for answer, name in names.items():
            if answer not in transformer.answers:
                units.append(Unit({TURNS[number]: 1}, {name: "-B"}))
                continue
            theta = dict(zip(side.coordinates, thetas[side.answers.index(f"{label}.{answer}")], strict=True))
            units.append(Unit({k: w for k, w in theta.items() if w} | off, {name: 1}))
            units.append(Unit({k: -w for k, w in theta.items() if w} | off, {name: -1}))
    return draft.feed_forward(units + clear(side.coordinates))


def _put(layers: tuple[Layer, ...], new: list[Layer], place: int) -> tuple[Layer, ...]:
    """New layers over empty ones."""
    return (*layers[:place], *new, *layers[place + len(new) :])


def _embedding(b: Transformer, token: str) -> dict[str, Number]:
    row = decode(b.token_embedding[b.vocabulary.index(token)], b.format)
    return {name: x for name, x in zip(Space("b", b.coordinates), row, strict=True) if x}


def _reading(a: Transformer, vocabulary: tuple[str, ...]) -> Transformer:
    """a with a larger vocabulary: tokens that it does not know are 0 to it."""
    embedding = np.zeros((len(vocabulary), a.width), np.int64)
    for row, token in enumerate(vocabulary):
        if token in a.vocabulary:
            embedding[row] = a.token_embedding[a.vocabulary.index(token)]
    return a.replace(vocabulary=vocabulary, token_embedding=embedding)


def _shortened(a: Transformer, b: Transformer) -> tuple[Transformer, Transformer]:
    a, b = of_one_length([a, b])
    return a, b


def _check_reads(b: Transformer, tokens: Iterable[str], what: str) -> None:
    for token in tokens:
        if token not in b.vocabulary:
            raise ModelError(f"b must read {what}, and {token!r} is not in its vocabulary ({' '.join(b.vocabulary)}).")


__all__ = ["relay", "sequence"]
