"""Random claims decided by both engines, by the solvers, by z3 alone, and by check.py, which shares no code with them.

A failure names its seed: `python -m tests.prove.fuzz values fixed:2 17`, with PYTHONPATH=src:. , runs that case alone.
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.prove.fuzz import claims, splits
from tests.prove.fuzz.cases import case, findings
from tests.prove.fuzz.deciders import compare

from glyptic.exact import Head, Layer, Options, Transformer
from glyptic.numbers import Fixed, Q
from glyptic.prove import Refuted, check
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Values, inputs
from glyptic.prove.methods.smt import bits, deciding
from glyptic.prove.methods.smt.attention_terms import Terms, _climb
from glyptic.prove.methods.smt.bits import Bits

SHARD = 20  # cases a test


def agree(kind: str, format: str, numbers: range) -> Counter[str]:
    """All ways of deciding agree on the cases of some seeds; what each said is counted."""
    said: Counter[str] = Counter()
    wrong: list[str] = []
    for number in numbers:
        found = findings(kind, format, number)
        wrong += found.wrong
        said += found.said
    assert not wrong, "\n".join(wrong)
    return said


def open_share(said: Counter[str]) -> float:
    """The share of the solvers' verdicts that are Unknown."""
    asked = sum(n for what, n in said.items() if what.startswith(("smt", "z3")))
    return sum(n for what, n in said.items() if what.startswith(("smt", "z3")) and what.endswith("Unknown")) / max(1, asked)


# Small, for every change: some of the ten thousand below, which have these seeds in every format -----------------------------


@pytest.mark.parametrize("format", claims.FORMATS[::2])
def test_a_few_random_claims_on_values_are_decided_alike_in_every_way(format):
    agree("values", format, range(2))


@pytest.mark.parametrize("format", claims.FORMATS[::8])
def test_a_random_block_is_decided_alike_in_every_way(format):
    agree("block", format, range(1))


@pytest.mark.parametrize("format", claims.FORMATS[1::9])
def test_random_claims_on_inputs_are_decided_alike_in_both_engines(format):
    agree("inputs", format, range(2))


@pytest.mark.parametrize("format", ["fixed:10", "q:6,10", "fixed:2"])
def test_splits_masked_scores_and_shared_terms_are_decided_rightly(format):
    agree("splits", format, range(30, 34))


def test_the_claims_say_everything_that_there_is_to_say():
    """Every node, operation, comparison, kind of attention, mask and norm is met, and all verdicts come out."""
    nodes, options = set(), set()
    for number in range(120):
        for kind in ("values", "block", "inputs"):
            claim = case(kind, claims.TABLED[number % len(claims.TABLED)], number)
            for node in (*claim.requires.parts(), *claim.ensures.parts()):
                nodes |= {type(node).__name__, getattr(node, "how", ""), getattr(node, "name", "")}
            for transformer in getattr(claim.subject, "transformers", {}).values():
                options |= set(vars(transformer.options).values())
            nodes.add(claim.quantifier)
    said = "Variable Local Coordinate Logit Constant Operation Choice LetValue Attention Parameter Answer Token Text Comparison"
    said += " SameWord SameChains Junction Negation Implication Equivalence Let Accepted Defined all some and or = ≠ < ≤ > ≥"
    said += " add subtract multiply divide exp relu root abs max min"
    assert set(said.split()) <= nodes
    assert {"softmax", "max-subtracted", "leftmost", "rightmost", "average", "causal", "strict", "full"} <= options
    assert {"none", "pre", "post", "rounded", "fused", "logits", "explicit", "first", True, False} <= options


# The fault that the second fuzzer was made for -------------------------------------------------------------------------------


def unguarded(terms: Terms, function: str, code: Bits, stairs) -> Bits:
    """What was wrong: the stairs of one case, asserted in all of them."""
    if stairs.exact:
        return _climb(code, stairs.starts, stairs.lows)
    image = terms._image(function, code)
    low, high = (_climb(code, stairs.starts, side) for side in (stairs.lows, stairs.highs))
    terms.domain += [bits.opposite(bits.less(image, low)), bits.opposite(bits.less(high, image))]
    return image


# Where it shows first: false proofs, and proofs of what is undefined. If cases change, it is looked for among them all. (Claims
# were called vacuous too, until terms knew the box of their preconditions.)
FAULTY = [("fixed:10", 55), ("q:6,10", 159), ("q:6,10", 160), ("fixed:10", 162)]
FAULTY += [(format, number) for number in range(SHARD * 3) for format in ("fixed:10", "q:6,10")]


def first_wrong(sign: str) -> str:
    """What the second fuzzer finds first that bears a sign."""
    found = (text for format, number in FAULTY for text in findings("splits", format, number).wrong if sign in text)
    return next(found, "nothing")


def test_a_domain_that_leaves_values_out_is_found_by_the_second_fuzzer(monkeypatch):
    monkeypatch.setattr(Terms, "_climbed", unguarded)
    monkeypatch.setattr(deciding, "disagreement", lambda claim, question: None)
    assert "Proved, but at" in first_wrong("False") and "Proved, but at" in first_wrong("None")


def test_and_without_a_fuzzer_by_the_trial_of_terms_before_a_proof(monkeypatch):
    """The same fault with the safeguard in place: nothing is proved, and the verdict says that the terms are at fault."""
    monkeypatch.setattr(Terms, "_climbed", unguarded)
    assert "a fault in the solvers' terms" in first_wrong("smt")


# What the fuzzers have found --------------------------------------------------------------------------------------------------


def test_a_division_by_the_constant_0_is_put_to_solvers_in_a_format_without_1():
    (x,) = e.variables("x")
    assert not compare(Claim(Values("x", Q(0, 3)), (x / 0 == x) | (x >= x))).wrong


def test_after_a_tie_a_full_mask_shows_no_coordinates_for_no_next_token_was_said():
    """It was proved of a run on the first answer, which the transformer had not given."""
    format = Fixed(2)
    head = Head.of(format, [[0, 0]], [[0, 0]], [[1, 0]], [[0], [1]])
    rest = {"max_length": 4, "layers": [Layer((head,), None)], "options": Options(mask="full")}
    transformer = Transformer.of(format, "01", ("x", "o"), [[1, 0], [0, 0]], [[0, 0], [0, 0]], "01", **rest)
    claim = Claim(inputs(transformer, max_length=2, steps=2), e.at("layer.0.after_attention", "o", 0) >= 0)
    assert not compare(claim).wrong and isinstance(check(claim), Refuted)


# Ten thousand, for `make test-all` -------------------------------------------------------------------------------------------

SHARDS = [("values", format, n) for format in claims.FORMATS for n in range(11)]  # 32 formats: 7,040 cases
SHARDS += [("inputs", format, n) for format in claims.FORMATS for n in range(3)]  # 1,920
SHARDS += [("block", format, n) for format in claims.FORMATS for n in range(1 if format in claims.ENCLOSED else 3)]  # 1,600
SHARDS += [("splits", format, n) for format in splits.FORMATS for n in range(3)]  # 600


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "format", "shard"), SHARDS)
def test_ten_thousand_random_claims_are_decided_alike_in_every_way(kind, format, shard, record_property):
    said = agree(kind, format, range(shard * SHARD, (shard + 1) * SHARD))
    record_property("said", dict(said))
    assert open_share(said) <= (0.25 if kind == "values" else 0.75), said


def test_there_are_ten_thousand_in_at_least_twenty_formats():
    assert len(SHARDS) * SHARD >= 10_000 and len({format for _, format, _ in SHARDS}) >= 20
