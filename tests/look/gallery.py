"""A page of every view, with names that attack: markup, quotes, words of JavaScript, right to left, ten thousand letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from glyptic import icl, languages, programs
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.look.pages import Page, View
from glyptic.look.values.automaton import automaton_view, machine_view
from glyptic.look.values.exact import exact_view
from glyptic.look.values.grid import precision_view, sweep_view, theorems_view
from glyptic.look.values.icl import icl_view, lab_view
from glyptic.look.values.norms import norms_view
from glyptic.look.values.positions import positions_view
from glyptic.look.values.proof import proof_view
from glyptic.look.values.training import training_view
from glyptic.prove import B, Claim, Values, check, variables
from glyptic.prove.questions import recognition
from glyptic.studies import LeastPrecision, sweep
from glyptic.studies.precision import Need
from glyptic.theorems.proving import prove_all

SCRIPT = "<script>alert(1)</script>"
NAMES = [
    *(
        SCRIPT,
        "</title><img src=x onerror=alert(1)>",
        "\"'`&amp;",
        "__proto__",
        "constructor",
        "=cmd|' /C calc'!A0",
        "YES",
    ),
    *(
        "\u05e9\u05dc\u05d5\u05dd",
        "e\u0301\U0001f600",
        "core.close",
        "{name}",
        "n" * 10_000,
        "a b",
        "x@1",
        "w:1;2",
        "-1",
    ),
]


def _exact() -> Transformer:
    head = Head.of("fixed:4", [[1, 0, 0]], [[0, 1, 0]], [[1, 1, "1/16"]], [[0], [1], [-1]])
    norm = Norm.of("fixed:4", [1, 1, 1], [0, "1/2", 0], "1/16")
    feed = FeedForward.of("fixed:4", [[1, -1, 0], [0, "B", 1]], [0, "1/16"], [[1, 0], [0, 1], ["-B", 1]], [0, 0, 1])
    rng = np.random.default_rng(0)
    embedding = rng.integers(-8, 9, (len(NAMES), 3)) / 4
    return Transformer.of(
        *("fixed:4", NAMES, NAMES[:3], embedding, [[1, 0, 0], [0, 1, 0], [0, 0, 1]], ["YES", SCRIPT, "constructor"]),
        max_length=8,
        layers=[Layer((head, head), feed, norm, norm)],
        options=Options(norm="pre"),
        name=NAMES[1],
    )


def _counterexample() -> tuple[View, ...]:
    claim = recognition(programs.open("parity:4", "fixed:4"), languages.tomita(4), 4)
    return proof_view(check(claim, workers=1, progress=False), claim)


def _model(kind: str, length: int = 0) -> View:
    from tests.look.test_model_page import given, small

    from glyptic.look.values.model import model_view

    tokens = [number % 8 for number in range(length)] if length else given(kind)
    return model_view(
        small(kind), tokens, vocabulary=NAMES[:8], classes=NAMES[:3], effort=0 if length else 4e12, title=NAMES[0]
    )


def _proof() -> tuple[View, ...]:
    (x,) = variables("x")
    return proof_view(
        check(Claim(Values("x"), x + B == B, requires=x > 0, name=NAMES[0]), "fixed:2", workers=1, progress=False)
    )


def _sweep() -> View:
    (x,) = variables("x")
    claim = Claim(Values("x"), x * B * B == B, requires=x > 0, name=NAMES[0])
    return sweep_view(sweep(claim, "fixed:1..3 float:1,1 fp8_e4m3", workers=1, progress=False))


def _training() -> View:
    rows = [
        {"step": step, "time": step / 3, **{name: step - place for place, name in enumerate(NAMES)}}
        for step in range(5)
    ]
    rows[2][NAMES[0]] = float("nan")
    return training_view({**dict.fromkeys(NAMES, rows), "one": rows[:1]}, lines={NAMES[0]: 1.0})


MADE: dict[str, Callable[[], View | tuple[View, ...]]] = {
    "exact": lambda: exact_view(_exact(), NAMES[:7]),
    "against": lambda: exact_view(_exact(), NAMES[:4], against=(_exact().in_format("fixed:2"), NAMES[:4])),
    "recorded": lambda: exact_view(_exact().in_format("fixed:30"), NAMES[:3]),
    "counterexample": _counterexample,
    "proof": _proof,
    "decoder": lambda: _model("decoder"),
    "encoder_decoder": lambda: _model("encoder_decoder"),
    "vit": lambda: _model("vit"),
    "long": lambda: _model("decoder", 512),
    "positions": positions_view,
    "norms": norms_view,
    "lab": lab_view,
    "flow": lambda: icl_view(icl.reduced_flow(icl.Problem([1.0, 0.5], 12))),
    "training": _training,
    "sweep": _sweep,
    "theorems": lambda: theorems_view(prove_all(["fixed:2"], ["zero.at"], workers=1, progress=False)),
    "precision": lambda: precision_view(
        LeastPrecision(NAMES[0], (Need(1, 0, 2, 1, 1, 1, NAMES[1]), Need(2, 0, None, 1, 1, 1, NAMES[2])), 6)
    ),
    "automaton": lambda: automaton_view(languages.tomita(4), "0110"),
    "machine": lambda: machine_view(
        NAMES, [[(i + j) % 3 for j in range(len(NAMES))] for i in range(3)], outputs=NAMES[:3], word=NAMES[:5]
    ),
}


@cache
def gallery(name: str) -> Page:
    made: Any = MADE[name]()
    return Page((made,) if isinstance(made, View) else made, NAMES[0])
