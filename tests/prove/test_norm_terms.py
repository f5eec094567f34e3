"""LayerNorm over solver terms: the same verdicts and counterexamples as enumeration, variance 0 among them."""

from dataclasses import replace

import numpy as np
import pytest

from glyptic import prove
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.numbers import Fixed, Float, Format, Ieee, Q
from glyptic.prove import Claim, Proved, Refuted
from glyptic.prove.claims.claim import layers
from glyptic.prove.claims.expressions import after, answer, before, defined, logit
from glyptic.prove.methods import smt

SIZES = Sizes(layers=1, heads=1, width=2, key_width=1, value_width=1, hidden=2, max_length=2)


def normed(format: Format, seed: int, options: Options, *, epsilon: int = 0) -> Transformer:
    """A random layer with norms; ε is a code, 0 unless told: then equal coordinates have variance 0."""
    transformer = random_transformer(format, seed, SIZES, options)

    def with_epsilon(norm):
        return None if norm is None else replace(norm, epsilon=np.array(epsilon))

    layers = [
        replace(x, attention_norm=with_epsilon(x.attention_norm), feed_forward_norm=with_epsilon(x.feed_forward_norm))
        for x in transformer.layers
    ]
    return replace(transformer, layers=tuple(layers), final_norm=with_epsilon(transformer.final_norm))


def claims(subject) -> list[Claim]:
    return [
        Claim(subject, defined()),
        Claim(subject, after("x0") <= before("x1") + 1, requires=defined()),
        Claim(subject, (answer() == "UNDEFINED") | (logit("YES") >= logit("NO")) | (answer() != "YES")),
        Claim(subject, after("x0") == after("x1"), requires=before("x0") != before("x1")),
        Claim(subject, defined(), requires=before("x0") - before("x1") >= 1),
    ]


FORMATS = [Fixed(1), Fixed(1, "even"), pytest.param(Q(1, 1), marks=pytest.mark.slow)]


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_normed_layers_by_solvers_and_by_enumeration(format, placement, products) -> None:
    kinds = set()
    for seed in range(2):
        transformer = normed(format, seed, Options(norm=placement, products=products), epsilon=seed)
        for claim in claims(layers(transformer, free=["x0", "x1"])):
            solved = smt.check(claim, format)
            run = prove.check(claim, method="enumerate", workers=1, progress=False)
            assert type(solved) is type(run), (seed, str(claim))
            kinds.add(type(solved))
            if isinstance(solved, Refuted):
                assert solved.counterexample == run.counterexample
    assert {Proved, Refuted} <= kinds


@pytest.mark.parametrize("format", [Float(1, 1), Float(2, 1, "even"), Ieee(3, 1, subnormals=False)], ids=str)
def test_a_norm_in_floats_by_a_solver_and_by_enumeration(format) -> None:
    transformer = random_transformer(format, 0, replace(SIZES, layers=0), Options(norm="pre"))
    transformer = replace(transformer, final_norm=replace(transformer.final_norm, epsilon=np.array(0)))
    for claim in claims(layers(transformer, free=["x0", "x1"]))[:2]:
        solved = smt.check(claim, format, solvers=["bitwuzla"])
        run = prove.check(claim, method="enumerate", workers=1, progress=False)
        assert type(solved) is type(run), str(claim)
        assert getattr(solved, "counterexample", None) == getattr(run, "counterexample", None)


def test_variance_0_refutes_that_a_run_is_defined() -> None:
    """Equal coordinates have variance 0, and nothing else has, with ε = 0, where squares do not vanish."""
    sizes = replace(SIZES, heads=0)
    transformer = random_transformer(Fixed(3), 1, sizes, Options(norm="pre"))
    layer = transformer.layers[0]
    norm = replace(layer.feed_forward_norm, epsilon=np.array(0))
    transformer = replace(transformer, layers=(replace(layer, feed_forward_norm=norm),), final_norm=None)
    subject = layers(transformer, free=["x0", "x1"])
    verdict = smt.check(Claim(subject, defined()), Fixed(3))
    assert str(verdict.counterexample).startswith("x0@0 = 0, x1@0 = 0")
    apart = (before("x0") - before("x1") >= 1) & (before("x0") < 2) & (before("x1") > -2)
    assert isinstance(smt.check(Claim(subject, defined(), requires=apart), Fixed(3)), Proved)
