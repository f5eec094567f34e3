"""Rescaling changes no function: without rounding to the last bit, as powers of two do; and weights of other sizes lose less."""

from copy import deepcopy

import numpy as np
import pytest
import torch

from glyptic.distill.calibration import calibrated, largest_activations
from glyptic.distill.fine_tuning import in_format
from glyptic.distill.rescaling import rescaled
from glyptic.distill.straight import latents_of, logits_everywhere
from glyptic.distill.words import all_words, exact_answers, float_answers
from glyptic.errors import ModelError
from glyptic.numbers import as_format
from tests.distill.deciders import ends_in_one, untrained

KINDS: list[dict] = [
    {}, {"layers": 2}, {"norm": "layer"}, {"norm": "rms"}, {"feed_forward": "gelu"}, {"feed_forward": "swiglu"},
    {"key_value_heads": 1}, {"positions": "none"}, {"attention_bias": False}, {"norm": "layer", "norm_place": "post"},
]  # fmt: skip


@pytest.mark.parametrize("changes", KINDS)
def test_nothing_changes_but_the_weights(changes: dict) -> None:
    decider = untrained(**changes)
    T, words = decider.unrounded(6), all_words(decider.alphabet, 6)
    before = latents_of(T)
    sizes = largest_activations(T, before, words)
    after = rescaled(T, before, sizes, as_format("fixed:8"))
    said = [logits_everywhere(T, each, None, words.letters.T) for each in (before, after)]
    assert torch.equal(*said), "powers of two lose nothing"
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    assert T.options.norm == "pre" or all(".heads." in name or ".feed_forward." in name for name in changed)
    assert changed and not any(name.endswith((".gain", "norm.bias")) for name in changed)
    for name in changed:
        ratio = (after[name] / before[name])[before[name] != 0]
        assert torch.equal(torch.frexp(ratio).mantissa.abs(), torch.full_like(ratio, 0.5)), name


@pytest.mark.parametrize("changes", [{}, {"layers": 2}, {"norm": "rms"}, {"feed_forward": "swiglu"}, {"attention_bias": False}])
def test_what_would_pass_b_is_made_smaller_and_answers_stay(changes: dict) -> None:
    """In fixed:2 coordinates and logits would saturate: all logits get one factor, a power of two, and nothing else changes."""
    decider, F = untrained(scale=60.0, **changes), as_format("fixed:2")
    T, words = decider.unrounded(6), all_words(decider.alphabet, 6)
    before = latents_of(T)
    sizes = largest_activations(T, before, words)
    assert sizes["logits"].max() > float(F.max)
    after = rescaled(T, before, sizes, F)
    said = [logits_everywhere(T, each, None, words.letters.T) for each in (before, after)]
    c = (said[1] / said[0]).unique()
    assert len(c) == 1 and torch.frexp(c).mantissa.item() == 0.5
    smaller = largest_activations(T, after, words)
    assert smaller["logits"].max() <= float(F.max) / 2 < sizes["logits"].max() * c.item() * 2
    if T.options.norm == "none":
        stream = [stage for stage in smaller if stage.endswith(("embedding", "after_attention", "after_feed_forward"))]
        assert max(smaller[stage].max() for stage in stream) <= float(F.max) / 2


@pytest.mark.parametrize("changes", KINDS)
def test_the_unrounded_pass_is_the_decoder(changes: dict) -> None:
    """An oracle that this room did not write: nn, in float64."""
    decider = untrained(**changes)
    words = all_words(decider.alphabet, 5)
    T = decider.unrounded(6)
    ours = logits_everywhere(T, latents_of(T), None, words.letters.T).permute(2, 1, 0)
    model = deepcopy(decider.model).double()
    with torch.no_grad():
        theirs = model.output(model.hidden(torch.from_numpy(words.letters)), None)
    assert torch.allclose(ours, theirs, atol=1e-9)


def test_badly_scaled_units_are_brought_back() -> None:
    """A unit whose first weights are tiny and whose second are huge vanishes when rounded as it is; rescaled it does not."""
    decider, F = ends_in_one(), as_format("fixed:6")
    words = all_words(decider.alphabet, 6)
    T = decider.unrounded(6)
    bad = latents_of(T)
    for name in [name for name in bad if name.endswith((".w1", ".b1", ".value", ".value_bias"))]:
        bad[name] = bad[name] * 2.0**-7
    for name in [name for name in bad if name.endswith((".w2", "heads.0.output", "heads.1.output"))]:
        bad[name] = bad[name] * 2.0**7
    said = float_answers(decider.model, words)
    good = rescaled(T, bad, largest_activations(T, bad, words), F)
    shares = [words.share(exact_answers(in_format(T, each, F, saturate=True), words) == said) for each in (bad, good)]
    assert shares[1] == 1.0 > shares[0]


def test_what_is_larger_than_the_format_is_told() -> None:
    decider = untrained(scale=200.0)
    words = all_words(decider.alphabet, 6)
    T = decider.unrounded(6)
    latents = latents_of(T)
    said = r"token_embedding\[\d, \d\] is -?\d+\.\d+, and fixed:2 ends at 3.75; choose a wider format"
    with pytest.raises(ModelError, match=said):
        in_format(T, latents, as_format("fixed:2"))
    low = in_format(T, latents, as_format("fixed:2"), saturate=True)
    found = calibrated(low, largest_activations(T, latents, words), words)
    assert found.saturating and "places saturate" in str(found)
    assert {place.stage for place in found.saturating} & {"logits", "embedding"}
    texts = ["".join(words.alphabet[letter] for letter in word) for word in words.letters]
    traced = low.run_batch(texts, trace=["*after_feed_forward", "embedding"]).trace
    for stage, arrays in traced.items():
        (place,) = [place for place in found.places if place.stage == stage]
        met = sum(int((np.abs(array) == low.format.max_code).sum()) for array in arrays)
        assert place.saturated == met > 0 and place.numbers == sum(array.size for array in arrays), stage
