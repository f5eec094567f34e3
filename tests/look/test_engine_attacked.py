"""The page's engine against the definitions themselves, at the edges of formats, under every option, with any weights."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.look.chromium import browser, needs_chromium  # noqa: F401 (browser is a fixture)
from tests.look.engine_in_page import EngineInPage
from tests.look.from_the_definitions import Machine, Undefined
from tests.look.test_engine import all_options

from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.numbers import parse_format

pytestmark = needs_chromium
FORMATS = [
    *(
        "fixed:1",
        "fixed:1/even",
        "fixed:2",
        "fixed:2/even",
        "fixed:5",
        "float:1,1",
        "float:1,1/even",
        "float:3,3",
        "float:3,3/even",
    ),
    *(
        "float:0,2",
        "float:1,2",
        "q:0,1",
        "q:0,3",
        "q:3,0",
        "q:2,2/even",
        "q:1,1",
        "ieee:2,1",
        "ieee:2,2/zero",
        "ieee:3,1",
    ),
    *(
        "fp8_e4m3",
        "fp8_e4m3/zero",
        "fp8_e5m2",
        "fp8_e5m2/zero",
        "fp6_e3m2/zero",
        "fp4_e2m1",
        "bf16",
        "bf16/zero",
        "fp16",
    ),
]


def any_transformer(name: str, rng: np.random.Generator, options: Options) -> Transformer:
    """Weights from anywhere: all codes alike, or near 0, or only the ends of the format; sizes from nothing to a few."""
    format, mode = parse_format(name), int(rng.integers(3))
    ends = [
        format.min_code,
        -format.max_code,
        -1,
        0,
        0,
        0,
        1,
        format.max_code,
        *(format.code(format.round(x)) for x in (1, -1)),
    ]

    def weights(*shape: int) -> np.ndarray:
        if mode == 0:
            codes = rng.integers(format.min_code, format.max_code + 1, shape)
        elif mode == 1:
            near = [format.code(format.round(Fraction(int(x), 16))) for x in rng.integers(-40, 41, int(np.prod(shape)))]
            codes = np.array(near, np.int64).reshape(shape)
        else:
            codes = rng.choice(ends, shape)
        return np.where(rng.random(shape) < 0.75, codes, 0).astype(np.int64)

    def norm() -> Norm | None:
        if options.norm == "none":
            return None
        epsilon = min(abs(int(weights(1)[0])), format.max_code) if rng.integers(2) else 0
        return Norm(weights(d), weights(d), np.array(epsilon, np.int64))

    d, layers = int(rng.integers(1, 5)), []
    for _ in range(int(rng.integers(0, 3))):
        k, v, m = int(rng.integers(int(options.scale), 4)), int(rng.integers(0, 3)), int(rng.integers(0, 4))
        heads = tuple(
            Head(weights(k, d), weights(k, d), weights(v, d), weights(d, v)) for _ in range(int(rng.integers(0, 3)))
        )
        feed = FeedForward(weights(m, d), weights(m), weights(d, m), weights(d)) if rng.integers(2) else None
        layers.append(Layer(heads, feed, norm() if heads else None, norm() if feed else None))
    answers = ("NO", "YES", "OTHER")[: int(rng.integers(1, 4))]
    names = tuple(f"x{i}" for i in range(d))
    last = norm() if rng.integers(2) else None
    embedding, positions, output = weights(3, d), weights(6, d), weights(len(answers), d)
    return Transformer(
        format, ("a", "b", "c"), names, embedding, positions, tuple(layers), output, answers, options, last
    )


def held_against(engine: EngineInPage, name: str, seed: int) -> tuple[int, str | None]:
    """How many cells were compared, and what 0/0 was met; every cell is what the definitions say."""
    rng = np.random.default_rng(seed)
    options = all_options(rng)
    transformer = any_transformer(name, rng, options)
    text = "".join(rng.choice(["a", "b", "c"], int(rng.integers(1, 7))))
    found = engine.call("(job) => shown(job)", {"model": engine.load(transformer), "text": text, "steps": 1})
    machine, met, place, answer = Machine(transformer, name), None, -1, "UNDEFINED"
    try:
        answer = machine.answer(list(text))
    except Undefined as undefined:
        met, _, _, place = undefined.args
    assert found["answer"] == answer, (name, seed)
    if met is None:
        assert found["stages"].keys() == machine.stages.keys()
    else:
        assert f"position {place}" in found["message"], (name, seed)
    cells = 0
    for stage, (rows, columns, codes) in found["stages"].items():
        if stage not in machine.stages:
            continue  # of the layer in which 0/0 was met
        got = [codes[i * columns : (i + 1) * columns] for i in range(rows)]
        if stage.endswith((".scores", ".weights")):
            got = [[row[j] for j in machine.visible(i, len(text))] for i, row in enumerate(got)]
        assert got == [[machine.numbers.code(x) for x in row] for row in machine.stages[stage]], (name, seed, stage)
        cells += len(codes)
    return cells, met


@pytest.fixture(scope="module")
def engine(browser: Any) -> EngineInPage:  # noqa: F811
    return EngineInPage(browser)


@pytest.mark.parametrize("seeds", [range(4 * len(FORMATS)), pytest.param(range(1000, 5000), marks=pytest.mark.slow)])
def test_every_cell_is_what_the_definitions_say(engine: EngineInPage, seeds: range) -> None:
    cells, met = 0, set()
    for seed in seeds:
        compared, undefined = held_against(engine, FORMATS[seed % len(FORMATS)], seed)
        cells += compared
        met.add(undefined)
    assert cells > 80 * len(seeds) and met >= {None, "variance", "output"}
