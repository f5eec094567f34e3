"""Bad fields: one sentence that names field and value."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glyptic import nn
from glyptic.errors import InputError, ModelError
from tests.nn import small


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "rnn"}, "kind='rnn' is not one of decoder, encoder, encoder_decoder, vit."),
        ({"layers": 0}, "layers=0 must be a whole number of at least 1."),
        ({"width": 12.0}, "width=12.0 must be a whole number"),
        ({"heads": 5}, "heads=5 does not divide width=12"),
        ({"key_value_heads": 2}, "key_value_heads=2 does not divide heads=3."),
        ({"norm": "weight"}, "norm='weight' is not one of layer, rms"),
        ({"norm_place": "both"}, "norm_place='both'"),
        ({"norm": "group", "norm_groups": 5}, "norm_groups=5 does not divide width=12."),
        ({"norm_eps": -1.0}, "norm_eps=-1.0"),
        ({"positions": "absolute"}, "positions='absolute' is not one of"),
        ({"positions": "rotary", "rotary_fraction": 0.25}, "rotary_fraction=0.25 rotates 1 of head_width=4"),
        ({"positions": "sinusoidal", "width": 9}, "needs an even width, not width=9"),
        ({"positions": "shaw", "backend": "sdpa"}, "use backend='reference'"),
        ({"positions": "t5", "relative_buckets": 2}, "relative_buckets=2"),
        ({"positions": "t5", "relative_distance": 16}, "relative_distance=16"),
        ({"backend": "flash"}, "backend='flash'"),
        ({"feed_forward": "maxout"}, "feed_forward='maxout'"),
        ({"dropout": 1.0}, "dropout=1.0 must be at least 0 and below 1."),
        ({"attention_dropout": 0.1, "backend": "blocked"}, "attention_dropout=0.1"),
        ({"vocabulary": None}, "head='linear' needs a vocabulary"),
        ({"head": "class"}, "classes=0"),
        (
            {"kind": "vit", "image_size": 10, "patch_size": 3, "head": "none"},
            "patch_size=3 does not divide image_size=10.",
        ),
        ({"parallel": True, "norm_place": "post"}, "parallel=True needs norm_place='pre'"),
        ({"parallel": True, "kind": "encoder_decoder"}, "parallel=True has no place for cross-attention"),
        ({"rotary_scaling": {"kind": "stretch", "factor": 2}}, "rotary_scaling.kind='stretch'"),
        ({"rotary_scaling": {"kind": "linear", "factor": 0.5}}, "rotary_scaling.factor=0.5"),
        ({"rotary_scaling": {"kind": "yarn", "factor": 2}}, "needs original_context"),
        ({"position_offset": -1}, "position_offset=-1 must not be negative."),
        ({"position_offset": 2, "positions": "alibi"}, "position_offset is of positions='learned', not of positions='alibi'"),
        ({"embedding_scale_rounded": True}, "embedding_scale_rounded=True rounds what embedding_scale=False leaves out"),
        ({"embedding_width": 0}, "embedding_width=0 must be a whole number of at least 1."),
        ({"embedding_width": 5, "kind": "encoder", "head": "mlm"}, "embedding_width is of a vocabulary and of head='linear'"),
        ({"embedding_width": 5, "vocabulary": None, "head": "none"}, "embedding_width is of a vocabulary"),
        ({"distillation_token": True}, "distillation_token is of kind='vit', not of kind='decoder'"),
        ({"head": "distilled", "classes": 3}, "head='distilled' reads a distillation token"),
        ({"query_key_norm": 1}, "query_key_norm=1 must be true or false."),
        ({"colour": "red"}, "colour='red' is not a field of ModelConfig."),
    ],
)
def test_one_sentence(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        nn.ModelConfig.from_dict({**small.config().to_dict(), **fields})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_configs_survive_a_dictionary_and_refuse_unknown_changes() -> None:
    config = small.config(positions="rotary", rotary_scaling=nn.RotaryScaling("llama3", 8.0, 64))
    assert nn.ModelConfig.from_dict(config.to_dict()) == config
    assert config.replace(layers=5).layers == 5
    with pytest.raises(ModelError, match="depth=5 is not a field"):
        config.replace(depth=5)
    with pytest.raises(ModelError, match="'gpt5' is not a preset; there are bert, deit, distilbert, gemma, gpt2"):
        nn.preset("gpt5")
    with pytest.raises(ModelError, match="depth=5 is not a field"):
        nn.preset("gpt2", depth=5)
    with pytest.raises(AttributeError):
        config.layers = 3  # type: ignore[misc]


def test_bad_shapes_are_named() -> None:
    model, tokens = small.model(), small.tokens(2, 5)
    with pytest.raises(InputError, match=r"tokens have shape \(5,\)"):
        model(tokens[0])
    with pytest.raises(InputError, match=r"dtype torch.float32; give integers"):
        model(tokens.float())
    with pytest.raises(InputError, match=r"vectors have shape \(2, 5, 7\); they must be \[B, T, width=12\]"):
        model(vectors=torch.zeros(2, 5, 7))
    for wrong in (11, -1):
        with pytest.raises(InputError, match=rf"tokens hold {wrong}; they must be in 0 … 10\."):
            model(torch.tensor([[1, wrong]]))
    with pytest.raises(InputError, match=r"types hold 2; they must be in 0 … 1\."):
        small.model(kind="encoder", token_types=2)(tokens, types=torch.full_like(tokens, 2))
    with pytest.raises(InputError, match="either tokens or vectors"):
        model()
    with pytest.raises(InputError, match=r"padding_mask has shape \(2, 4\)"):
        model(tokens, padding_mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(InputError, match="the cache was made for batch=3, not for 2 rows"):
        model(tokens, cache=model.new_cache(3))
    with pytest.raises(ModelError, match="kind='encoder' sees the whole input at once"):
        small.model(kind="encoder").new_cache(1)
    with pytest.raises(ModelError, match="kind='encoder' is not what Decoder is built from"):
        nn.Decoder(small.config(kind="encoder"))
    both = small.model(kind="encoder_decoder")
    with pytest.raises(InputError, match=r"needs memory=model.encode\(source\)"):
        both.hidden(tokens)
    with pytest.raises(InputError, match="the memory has 2 rows and the target 1"):
        both.hidden(tokens[:1], memory=both.encode(tokens))
    vit = small.model(kind="vit", image_size=6, patch_size=3, head="class", classes=4, vocabulary=None)
    with pytest.raises(InputError, match=r"images have shape \(1, 3, 5, 6\)"):
        vit(torch.zeros(1, 3, 5, 6))
