"""The map between stages and hooks: whatever it pairs has the same value, and whatever it does not pair is told with a reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.bridge.test_bridge import KINDS, POSITIONS, decoder, texts

from glyptic import bridge, nn
from glyptic.errors import InputError, ModelError
from glyptic.exact import Layer, Sizes, Transformer, random_transformer, stages
from glyptic.numbers import parse_format

WIDE = parse_format("fp32")


def check_values(transformer: Transformer, model: nn.Decoder) -> bridge.PlaceMap:
    """Each place has one value on both sides, to the accuracy of the format; and each name is in the map exactly once a side."""
    model = nn.with_backend(model, "reference")
    here = bridge.places(transformer, model)
    [text] = texts(transformer, 6, 1)
    exact = transformer.run(text, trace=True).trace
    with torch.no_grad():
        kept = nn.record(model, bridge.ids(transformer, [text, text]), names="*").activations
    for place in here.both:
        ours, theirs = place.read(kept, row=1), exact[place.stage].astype(float)
        theirs = theirs if place.size is None else theirs[: place.size]
        assert ours.shape == theirs.shape, place
        assert np.abs(ours - theirs).max() <= 2e-5 * max(1.0, np.abs(theirs).max()), place
        assert place in here.stages(place.hook) and here.hook(place.stage).stage == place.stage
    assert {place.stage for place in here.both} | here.only_exact.keys() == set(stages(transformer))
    assert {place.hook for place in here.both} | here.only_nn.keys() == set(nn.hook_names(model))
    return here


@pytest.mark.parametrize("kind", KINDS)
def test_a_decoder_has_the_values_of_what_it_becomes_and_of_what_is_made_of_that(kind: str) -> None:
    model = decoder(**KINDS[kind])
    transformer = bridge.to_exact(model, WIDE)
    here = check_values(transformer, model)
    assert len(here.both) >= 2 * (6 * model.config.heads + 5 - model.config.parallel) + 1
    check_values(transformer, bridge.to_nn(transformer, fold=True))


@pytest.mark.parametrize("kind", POSITIONS)
def test_positions_inside_attention_have_their_places(kind: str) -> None:
    model = decoder(**POSITIONS[kind])
    here = check_values(bridge.to_exact(model, WIDE), model)
    assert len(here.both) >= 2 * (6 * model.config.heads + 5 - model.config.parallel) + 1


def uneven(transformer: Transformer) -> Transformer:
    """Layer 0 has one head of fewer rows, layer 1 no feed-forward."""
    first, second = transformer.layers
    head = first.heads[1]
    narrow = replace(head, query=head.query[:2], key=head.key[:2], value=head.value[:3], output=head.output[:, :3])
    last = Layer(second.heads, None, second.attention_norm, None)
    return transformer.replace(layers=(replace(first, heads=(narrow,)), last))


@pytest.mark.parametrize("scale", [None, 1.0, 0.3])
def test_padded_heads_and_missing_parts_have_their_places_too(scale: float | None) -> None:
    plain: dict[str, Any] = {"norm": "none", "attention_bias": False, "attention_output_bias": False}
    transformer = uneven(bridge.to_exact(decoder(**plain, attention_scale=scale), WIDE))
    here = check_values(transformer, bridge.to_nn(transformer, fold=True))
    assert here.only_nn["blocks.1.mlp.hook_post"] == "the layer has no such part"
    assert "layer.1.hidden" not in str(here) and "layer.0.head.0.mixed" in str(here)


def test_what_has_no_counterpart_is_told_with_the_reason() -> None:
    model = decoder(norm_place="post", attention_bias=False, attention_output_bias=False)
    here = bridge.places(bridge.to_exact(model, WIDE), model)
    for ask, name, why in (
        (here.hook, "layer.0.head.1.output", "nn has the sum over heads"),
        (here.hook, "logits", "not a hook"),
        (here.hook, "layer.7.attention", "no stage of this transformer"),
        (here.stages, "hook_embed", "the token alone"),
        (here.stages, "blocks.0.hook_resid_mid", "before a post-norm"),
        (here.stages, "blocks.0.mlp.hook_pre", "before the activation"),
        (here.stages, "nope", "no hook of this model"),
    ):
        with pytest.raises(InputError, match=why):
            ask(name)
    with pytest.raises(ModelError, match="neither was made from the other"):
        bridge.places(bridge.to_exact(model, WIDE), decoder(layers=1))


def test_what_was_not_recorded_or_does_not_fit_is_one_sentence() -> None:
    one, three = (random_transformer("fixed:8", 0, Sizes(width=6, layers=1, heads=heads)) for heads in (1, 3))
    model = nn.with_backend(bridge.to_nn(one), "reference")
    with pytest.raises(ModelError, match="up to 3 heads, and the decoder 1 of width 6 with 1: neither was made from the other"):
        bridge.places(three, model)
    kept = nn.record(model, bridge.ids(one, ["01"]), names="blocks.0.hook_resid_pre").activations
    here = bridge.places(one, model)
    with pytest.raises(InputError, match=r"query is read from blocks.0.attn.hook_q, which was not recorded"):
        here.hook("layer.0.head.0.query").read(kept)
    for row in (-1, 5):
        with pytest.raises(InputError, match=rf"row is {row}, and must be the number of a row, of which the batch has 1"):
            here.hook("embedding").read(kept, row)
