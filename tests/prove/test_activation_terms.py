"""gelu, gelu_tanh and silu over solver terms: every code's image is the reference's, or lies within what encloses it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from glyptic import prove
from glyptic.exact import FeedForward, Layer, Options, Sizes, Transformer, random_transformer
from glyptic.numbers import Fixed, Format, parse_format
from glyptic.prove import Claim, Proved, Refuted
from glyptic.prove.claims.claim import layers
from glyptic.prove.claims.expressions import after, before
from glyptic.prove.methods import smt
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.activation_staircase import activation_code, activation_steps
from glyptic.prove.methods.smt.attention_terms import Terms
from glyptic.prove.methods.smt.plain_terms import PlainTerms
from glyptic.prove.methods.smt.terms import Term

KINDS: list[Any] = ["gelu", "gelu_tanh", "silu"]


def images(terms: Terms, term: Any, codes: np.ndarray) -> np.ndarray:
    """The codes of a term at all values of its one variable x."""
    if not isinstance(term, Term):
        return np.full(len(codes), terms.format.code(term))
    (found,) = bits.compute([term.code], {"x": codes})
    width = term.code.width
    found = np.broadcast_to(np.asarray(found), codes.shape)
    return found - ((found >> (width - 1)) << width)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", ["fixed:1", "fixed:3", "fixed:4/even", "q:3,3", "q:0,4", "float:2,2", "fp8_e4m3", "fp8_e5m2"])
def test_every_code_has_the_image_of_the_reference(kind: Any, plain: bool, name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    low, high = format.min_code, format.max_code
    ranges = [(low, high), (low, 0), (0, high), (high // 2, high), (low, low // 2), (-3, 5), (high - 1, high), (low, low + 1)]
    for first, last in ranges:
        first, last = max(first, low), min(last, high)
        terms = (PlainTerms if plain else Terms)(format)
        codes = np.arange(first, last + 1)
        term = terms.scalar_activation(kind, terms.fresh("x", first, last))
        wanted = np.array([activation_code(kind, int(code), format) for code in codes])
        assert np.array_equal(images(terms, term, codes), wanted)
        if isinstance(term, Term):
            assert term.low <= wanted.min() and wanted.max() <= term.high
        assert not terms.exps  # a table


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["fixed:8", "fixed:16", "fp16", "bf16", "fp32", "float:5,12", "ieee:11,52"])
def test_what_encloses_a_wide_format_holds_the_true_value(kind: Any, name: str) -> None:
    format, rng = parse_format(name), np.random.default_rng(0)
    assert isinstance(format, Format)
    near = [format.code(format.round(x)) for x in (*np.linspace(-9, 9, 60), -0.7517916, -0.7524615, -1.2784646)]
    ends = [format.min_code, format.max_code, -1, 0, 1, *rng.integers(format.min_code, format.max_code, 30).tolist()]
    for low, high in ((format.min_code, format.max_code), (-(10**4), 10**4), (near[5], near[25])):
        steps = activation_steps(kind, format, low, high)
        starts = [] if steps.stairs is None else [*steps.stairs.starts, steps.stairs.end + 1]
        assert all(a < b for a, b in pairwise(starts))
        for code in (code for code in (*near, *ends) if low <= code <= high):
            true = activation_code(kind, code, format)
            if code < steps.first or code >= steps.identity:
                assert true == (0 if code < steps.first else code)
                continue
            assert steps.stairs is not None and starts[0] <= code < starts[-1]
            k = int(np.searchsorted(starts, code, side="right")) - 1
            assert steps.stairs.lows[k] <= true <= steps.stairs.highs[k]


def test_a_step_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from glyptic.prove.methods.smt import activation_staircase as module

    true = module._table

    def wrong(kind: Any, format: Format, low: int, high: int) -> Any:
        found = true(kind, format, low, high)
        values = (*found.lows[:-1], found.lows[-1] + 1)
        return type(found)(found.starts, values, values, found.end)

    monkeypatch.setattr(module, "_table", wrong)
    module.activation_steps.cache_clear()
    with pytest.raises(AssertionError):
        test_every_code_has_the_image_of_the_reference("gelu", False, "fixed:3")
    module.activation_steps.cache_clear()


@pytest.mark.parametrize(("kind", "gated"), [("gelu", False), ("gelu_tanh", True), ("silu", False), ("silu", True)])
def test_layers_by_solvers_and_by_enumeration(kind: Any, gated: bool) -> None:
    sizes = Sizes(layers=1, heads=0, width=2, hidden=2, max_length=2, activation=kind, gated=gated, biases=True)
    kinds = set()
    for format in (Fixed(2), parse_format("fp6_e2m3")):
        transformer = random_transformer(format, 1, sizes, Options())
        subject = layers(transformer, free=["x0", "x1"])
        for claim in (
            Claim(subject, after("x0") <= before("x1") + 1),
            Claim(subject, after("x0") >= -format.max),  # type: ignore[union-attr]
            Claim(subject, after("x0") == after("x1"), requires=before("x0") != before("x1")),
        ):
            solved = smt.check(claim, format)
            run = prove.check(claim, method="enumerate", workers=1, progress=False)
            assert type(solved) is type(run), str(claim)
            kinds.add(type(solved))
            if isinstance(solved, Refuted):
                assert solved.counterexample == run.counterexample
    assert {Proved, Refuted} <= kinds


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_format_is_proved_by_what_encloses_it(kind: Any) -> None:
    """gelu, gelu_tanh and silu are nowhere below −0.3: too many codes to run, and their staircases show it."""
    format = parse_format("fixed:15")
    ff = FeedForward.of(format, [[1, 0], [0, 0]], [0, 0], [[0, 0], [1, 0]], [0, 0], activation=kind)
    T = Transformer.of(format, "a", ["x", "y"], [[1, 0]], [[1, 0]], ["Z"], max_length=1, layers=[Layer((), ff)])
    subject = layers(T, free=["x"])
    proved = smt.check(Claim(subject, after("y") >= parse_format("fixed:15").round(-0.3)), format)
    assert isinstance(proved, Proved) and any(f"{kind} lies within the staircases" in each for each in proved.assumptions)
    false = smt.check(Claim(subject, after("y") >= parse_format("fixed:15").round(-0.1)), format)
    assert isinstance(false, Refuted) or f"is none to {kind} itself" in false.reason  # a staircase's own counterexample is none
