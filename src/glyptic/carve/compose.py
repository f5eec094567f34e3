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

from glyptic.carve.beside import beside, check_alike
from glyptic.carve.building import Draft, Number, Unit, clear
from glyptic.carve.coordinates import as_layer, fresh, widen, widen_layer, widened
from glyptic.carve.deciding import decider_facts, early_units, is_no, is_yes, logits_layer, plan_of
from glyptic.carve.facts import EXP_VANISHES, ONE, SYMMETRIC, require
from glyptic.carve.frames import frame_of, reads, writes
from glyptic.carve.normalize import DIFFERENCE
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Layer, Transformer
from glyptic.numbers import decode


def sequence(a: Transformer, b: Transformer, *, force: bool = False) -> Transformer:
    """b's answer to the sequence a(x_1), a(x_1 x_2), …, a(x_1 … x_n); a is a decider, and b's tokens include its
    answers.

    It is b's exactly wherever a is decisive at every position; a tie of a counts as NO.
    """
    facts = decider_facts(a)
    require(facts, a.format, "compose.sequence", force)
    check_alike(a, b)
    _check_reads(b, a.answers, "the answers of a")
    a, b = _shortened(a, b)
    steps = plan_of(a)
    between = 3 + len(steps.early)
    waiting = b.replace(
        vocabulary=a.vocabulary,
        token_embedding=np.zeros((len(a.vocabulary), b.width), np.int64),
        layers=(Layer(),) * (len(a.layers) + between) + b.layers,
    )
    side = beside([a, waiting])
    names = no, yes = f"a says {a.answers[0]}", f"a says {a.answers[1]}"
    draft = Draft(side.format, names + side.coordinates)
    first = widen_layer(as_layer(logits_layer(a, names, DIFFERENCE)), (0, b.width))
    copies = steps.copies
    signs = [*is_yes(yes, {yes: "B"}, copies), Unit({yes: -1}, {yes: 1}), *is_no(yes, {no: "B"}, copies, steps)]
    embed = [Unit({other: -1}, _embedding(b, said), bias=1) for said, other in zip(a.answers, (yes, no), strict=True)]
    later = [draft.feed_forward(units) for units in (*early_units([yes], steps), signs, embed + clear(names))]
    parts = widened(side, names, first=True)
    parts["layers"] = _put(parts["layers"], [first, *map(as_layer, later)], len(a.layers))
    parts["output"] = parts["output"][len(a.answers) :]
    own = [name for name in side.coordinates if name.startswith("a.")]
    theirs = [name for name in side.coordinates if name.startswith("b.")]
    touches = [reads(own), writes(theirs, "+ b's embedding of a's answer"), writes([*names, *own], "0")]
    shape = side.replace(layers=side.layers[: len(a.layers)] + side.layers[len(a.layers) + between :])
    frame = frame_of(shape, parts["coordinates"], parts["layers"], "compose.sequence", touches, facts, len(a.layers))
    return side.replace(**parts, answers=b.answers, history=(*side.history, frame), name=f"{b.name} after {a.name}")


def relay(a: Transformer, b: Transformer, switch: Iterable[str] | None = None, *, force: bool = False) -> Transformer:
    """Where the last token is not a switch, a's answer; where it is, b's: so `relay(a, b).run(x, steps=2)` ends
    with b(x a(x)).

    The logits are theirs exactly, and −B for answers that the one whose turn it is does not have; both run at every
    position, so where one meets 0/0 the relay does too. With fewer switches a thinks on until it writes one; b then
    reads x and all that a wrote. The answers are those of both.
    """
    chosen = tuple(a.answers if switch is None else switch)
    facts = [ONE, SYMMETRIC, *([EXP_VANISHES] if a.options.answer == "softmax" else [])]
    require(facts, a.format, "compose.relay", force)
    check_alike(a, b)
    _check_reads(b, (*a.vocabulary, *a.answers), "what a reads and writes")
    for token in chosen:
        if token not in a.answers:
            raise ModelError(f"the switch {token!r} is not an answer of a; its answers are {', '.join(a.answers)}.")
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
    return {f"b.{name}": x for name, x in zip(b.coordinates, row, strict=True) if x}


def _reading(a: Transformer, vocabulary: tuple[str, ...]) -> Transformer:
    """a with a larger vocabulary: tokens that it does not know are 0 to it."""
    embedding = np.zeros((len(vocabulary), a.width), np.int64)
    for row, token in enumerate(vocabulary):
        if token in a.vocabulary:
            embedding[row] = a.token_embedding[a.vocabulary.index(token)]
    return a.replace(vocabulary=vocabulary, token_embedding=embedding)


def _shortened(a: Transformer, b: Transformer) -> tuple[Transformer, Transformer]:
    length = min(a.max_length, b.max_length)
    a, b = (t.replace(position_embedding=t.position_embedding[:length]) for t in (a, b))
    return a, b


def _check_reads(b: Transformer, tokens: Iterable[str], what: str) -> None:
    for token in tokens:
        if token not in b.vocabulary:
            raise ModelError(f"b must read {what}, and {token!r} is not in its vocabulary ({' '.join(b.vocabulary)}).")


__all__ = ["relay", "sequence"]
