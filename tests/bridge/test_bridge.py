"""Decoders into formats and exact transformers into PyTorch: agreement, round trips, refusals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from glyptic import bridge, nn
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.exact.parts import newer_parts
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.transformer import map_codes
from glyptic.exact.weights import Norm
from glyptic.nn.presets import PRESETS
from glyptic.numbers import Exact, Fixed, decode, parse_format, to_float64

DECODER: dict[str, Any] = {
    "kind": "decoder",
    "layers": 2,
    "width": 8,
    "heads": 2,
    "vocabulary": 5,
    "context": 9,
    "feed_forward": "relu",
    "feed_forward_width": 12,
}
KINDS: dict[str, dict[str, Any]] = {
    "pre-norm with biases": {},
    "pre-norm without": {"attention_bias": False, "attention_output_bias": False},
    "post-norm": {"norm_place": "post", "attention_bias": False, "attention_output_bias": False},
    "no norm": {"norm": "none"},
    "no norm, no bias": {"norm": "none", "attention_bias": False, "attention_output_bias": False},
    "sinusoidal, scaled embedding": {"positions": "sinusoidal", "embedding_scale": True},
    "no positions, output bias": {"positions": "none", "output_bias": True, "tied": False},
    "grouped heads, wide": {"heads": 4, "key_value_heads": 2, "head_width": 3, "output_scale": 0.5},
    "own scale": {"attention_scale": 0.7},
    "no bias in the feed-forward": {"feed_forward_bias": False},
    "post-norm with biases": {"norm_place": "post"},
    "gelu": {"feed_forward": "gelu"},
    "gelu_tanh": {"feed_forward": "gelu_tanh"},
    "silu": {"feed_forward": "silu", "norm": "none"},
    "swiglu": {"feed_forward": "swiglu", "norm": "rms"},
    "geglu without biases": {"feed_forward": "geglu", "feed_forward_bias": False},
    "rms": {"norm": "rms"},
    "rms, outside, post-norm": {"norm": "rms_outside", "norm_place": "post"},
    "parallel": {"parallel": True},
    "embedding norm": {"embedding_norm": True, "token_types": 2},
    "output bias without final norm": {"final_norm": False, "output_bias": True},
    "as Gemma and OPT": {"norm": "rms_plus_one", "embedding_scale": True, "embedding_scale_rounded": True,
                         "embedding_width": 4, "position_offset": 2},
}
POSITIONS: dict[str, dict[str, Any]] = {  # what to_nn has no way back from
    "rotary": {"positions": "rotary"},
    "rotary, in part, parallel": {"positions": "rotary", "rotary_fraction": 0.5, "parallel": True},
    "yarn": {"positions": "rotary", "rotary_scaling": nn.RotaryScaling("yarn", 4.0, original_context=8)},
    "alibi": {"positions": "alibi"},
    "t5": {"positions": "t5", "relative_buckets": 4, "relative_distance": 5},
    "shaw": {"positions": "shaw", "backend": "reference", "relative_distance": 3},
    "shaw, folded": {"positions": "shaw", "backend": "reference", "attention_scale": 0.7},
    "transformer_xl": {"positions": "transformer_xl", "norm_place": "post"},
    "transformer_xl, folded": {"positions": "transformer_xl", "attention_scale": 0.7},
}


def decoder(**changes: Any) -> nn.Decoder:
    """Weights, biases and norms all far from their initial values, so that each one matters."""
    model = nn.build(nn.ModelConfig(**{**DECODER, **changes}), seed=0).double().eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return model


def texts(transformer: Transformer, length: int, count: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    return [list(rng.choice(transformer.vocabulary, length)) for _ in range(count)]


def both_logits(model: Any, transformer: Transformer, length: int = 7, count: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Logits at the last position: nn's in float64, and the exact transformer's."""
    inputs = texts(transformer, length, count)
    batch = transformer.run_batch(inputs)
    assert not batch.failures
    with torch.no_grad():
        theirs = model(bridge.ids(transformer, inputs)).numpy()
        theirs = theirs if model.config.head == "class" else theirs[:, -1]
    return theirs[:, : len(transformer.answers)], to_float64(batch.logits, transformer.format)


@pytest.mark.parametrize("kind", [*KINDS, *POSITIONS])
@pytest.mark.parametrize(("format", "tolerance"), [("fp32", 2e-5), ("fixed:16", 2e-2), ("fp16", 0.3)])
def test_logits_agree_to_the_accuracy_of_the_format(kind: str, format: str, tolerance: float) -> None:
    model = decoder(**(KINDS | POSITIONS)[kind])
    ours, exact = both_logits(model, bridge.to_exact(model, parse_format(format)))
    size = np.abs(ours).max()
    error = np.abs(ours - exact).max() / size
    assert error < tolerance
    assert error > 0  # it did round


@pytest.mark.parametrize("kind", ["pre-norm with biases", "post-norm", "no norm", "swiglu", "rotary", "shaw", "transformer_xl"])
def test_30_fraction_bits_in_the_reference_engine_agree_to_1e_7(kind: str) -> None:
    """Finer than any compiled host: fractions, each operation rounded to 2^−30."""
    model = decoder(**(KINDS | POSITIONS)[kind], layers=1)
    transformer = bridge.to_exact(model, Fixed(30))
    text = texts(transformer, 3, 1)[0]
    exact = [float(x) for x in transformer.run(text, engine="reference").logits]
    with torch.no_grad():
        ours = model(bridge.ids(transformer, [text]))[0, -1].numpy()
    assert np.abs(ours - exact).max() < 1e-7 * max(1.0, np.abs(ours).max())


def test_every_position_and_residual_agrees() -> None:
    model = decoder()
    transformer = bridge.to_exact(model, parse_format("fp32"))
    text = texts(transformer, 6, 1)[0]
    run = transformer.run(text, trace=["layer.1.after_feed_forward", "final_norm"])
    tokens = bridge.ids(transformer, [text])
    final = np.array(run.trace["final_norm"].T, dtype=float)
    with torch.no_grad():
        assert np.allclose(final, model.hidden(tokens)[0].numpy(), atol=1e-4)


def test_biases_are_weights_of_their_own_and_those_of_zero_are_left_out() -> None:
    fresh, moved = (bridge.to_exact(m, Fixed(12)) for m in (nn.build(nn.ModelConfig(**DECODER), seed=0), decoder()))
    assert fresh.width == moved.width == 8
    assert newer_parts(fresh) == []
    names = {f"layers.{l}.heads.{h}.{part}_bias" for l in (0, 1) for h in (0, 1) for part in ("query", "key", "value")}
    assert {*newer_parts(moved)} == names | {"layers.0.heads.1.output_bias", "layers.1.heads.1.output_bias"}


def test_rationals_give_the_very_logits_where_nothing_is_irrational() -> None:
    """Queries of 0 make attention uniform, and exp 0 is 1: with relu and without norms all is rational, and nothing rounds."""
    model = decoder(norm="none", parallel=True, output_bias=True, embedding_scale=False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_((parameter * 16).round() / 16)
        for block in model.stack.blocks:
            block.attn.qkv.weight[:8] = 0
            block.attn.qkv.bias[:8] = 0
    transformer = bridge.to_exact(model, Exact(16), scale=False)
    text = texts(transformer, 3, 1)[0]
    with torch.no_grad():
        ours = model(bridge.ids(transformer, [text]))[0, -1].numpy()
    assert np.abs(ours - np.array(transformer.run(text).logits, float)).max() < 1e-12


@pytest.mark.parametrize("classes", [2, 3])
def test_a_decider_is_what_its_class_says_at_the_last_position(classes: int) -> None:
    model = decoder(head="class", classes=classes, feed_forward="gelu", norm_place="post")
    transformer = bridge.to_exact(model, "fp32")
    assert transformer.answers == (("NO", "YES") if classes == 2 else ("0", "1", "2"))
    ours, exact = both_logits(model, transformer)
    assert np.abs(ours - exact).max() < 1e-5 * np.abs(ours).max()
    said = transformer.run_batch(texts(transformer, 7, 6)).numbers
    assert said.tolist() == ours.argmax(axis=1).tolist()
    named = bridge.to_exact(model, "fp32", answers=["even", "odd", "neither"][:classes])
    assert named.answers[0] == "even" and np.array_equal(named.output, transformer.output)
    with pytest.raises(ModelError, match="answers names 1 logits"):
        bridge.to_exact(model, "fp32", answers=["odd"])


SMALL: dict[str, Any] = {"layers": 2, "width": 8, "heads": 2, "vocabulary": 5, "context": 9, "feed_forward_width": 12}


DECODERS = sorted(name for name, fields in PRESETS.items() if fields["kind"] == "decoder")


def test_the_presets_are_told_apart() -> None:
    assert {"gpt2", "llama", "gpt_neox", "transformer_xl", "mistral", "qwen2", "gemma", "phi3", "opt"} <= {*DECODERS}


@pytest.mark.parametrize("name", [name for name in DECODERS if not PRESETS[name].get("query_key_norm")])
def test_presets_of_decoders_become_exact(name: str) -> None:
    changes: dict[str, Any] = {"rotary_fraction": 0.5} if name == "gpt_neox" else {}
    changes |= {"key_value_heads": 1} if PRESETS[name].get("key_value_heads") else {}
    changes |= {"sliding_window": None} if PRESETS[name].get("sliding_window") else {}
    config = nn.preset(name, **SMALL, head_width=4, **changes)
    model = decoder(**{**config.to_dict(), "rotary_scaling": config.rotary_scaling})
    ours, exact = both_logits(model, bridge.to_exact(model, "fp32"))
    assert np.abs(ours - exact).max() < 1e-4 * np.abs(ours).max()


@pytest.mark.parametrize(
    ("name", "reason"),
    [("qwen3", "query_key_norm=True"), ("vaswani", "no cross-attention"), ("vaswani_big", "no cross-attention"),
     ("t5", "no cross-attention"), ("bert", "its first decides"), ("vit", "not pixels")],
)  # fmt: skip
def test_presets_that_are_no_decoders_are_refused_with_the_reason(name: str, reason: str) -> None:
    changes: dict[str, Any] = {"layers": 1, "width": 8, "heads": 2, "key_value_heads": 1, "feed_forward_width": 8}
    changes |= {"image_size": 4, "patch_size": 2} if name == "vit" else {"vocabulary": 5, "context": 9}
    with pytest.raises(ModelError, match=reason):
        bridge.to_exact(nn.build(nn.preset(name, **changes), seed=0), "fixed:8")


def test_names_lengths_and_chain_of_thought() -> None:
    transformer = bridge.to_exact(decoder(), Fixed(14), vocabulary="abcde", max_length=6)
    assert transformer.max_length == 6
    chain = transformer.run("abc", steps=4).chain
    assert len(chain) == 4
    with pytest.raises(ModelError, match="names 2 tokens"):
        bridge.to_exact(decoder(), Fixed(14), vocabulary="ab")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"norm": "batch"}, "norm='batch'"),
        ({"norm": "group"}, "norm='group'"),
        ({"query_key_norm": True}, "query_key_norm=True norms each head's queries and keys"),
        ({"sliding_window": 3}, "sliding_window=3"),
        ({"kind": "encoder"}, "kind='encoder'"),
        ({"head": "none"}, "head='none'"),
    ],
)
def test_what_has_no_exact_version_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelError, match=named):
        bridge.to_exact(decoder(**changes), Fixed(8))


def test_weights_beyond_b_are_refused_or_saturate() -> None:
    model = decoder(norm="none")
    with torch.no_grad():
        model.stack.blocks[1].mlp.into.weight[0, 0] = 5.0
    with pytest.raises(ModelError, match=r"layers.1.feed_forward.w1 holds 5, beyond the largest value 3.75 of fixed:2"):
        bridge.to_exact(model, Fixed(2))
    saturated = bridge.to_exact(model, Fixed(2), saturate=True)
    assert decode(saturated.layers[1].feed_forward.w1, Fixed(2))[0, 0] == Fixed(2).max


@pytest.mark.parametrize("kind", POSITIONS)
def test_tables_of_positions_have_no_way_back(kind: str) -> None:
    with pytest.raises(ModelError, match="is a table of positions inside attention"):
        bridge.to_nn(bridge.to_exact(decoder(**POSITIONS[kind]), "fp32"), fold=True)


def test_what_nn_has_one_of_is_refused_where_layers_differ() -> None:
    sizes = Sizes(layers=1, heads=1, width=4)
    made = [random_transformer("fp32", 0, replace(sizes, **c)) for c in ({}, {"activation": "gelu"}, {"parallel": True})]
    for other, message in ((made[1], "feed-forwards are of different kinds"), (made[2], "some layers are parallel")):
        with pytest.raises(ModelError, match=message):
            bridge.to_nn(made[0].replace(layers=made[0].layers + other.layers), infinity=True)
    gated = random_transformer("fp32", 0, replace(sizes, gated=True))
    with pytest.raises(ModelError, match="gated feed-forward with relu is not in nn"):
        bridge.to_nn(gated, infinity=True)


def test_tokens_that_a_bias_of_minus_infinity_rules_out_are_no_answers() -> None:
    model = decoder(output_bias=True, norm="none")
    with torch.no_grad():
        model.output.bias[:] = torch.tensor([0.5, -np.inf, 0, -np.inf, 1])
    transformer = bridge.to_exact(model, parse_format("fp32"), answers=["P", "Q", "R"])
    assert transformer.answers == ("P", "Q", "R")
    with torch.no_grad():
        ours = model(bridge.ids(transformer, [["0", "1", "4"]]))[0, -1, [0, 2, 4]].numpy()
    assert np.abs(ours - np.array(transformer.run(["0", "1", "4"]).logits, float)).max() < 1e-4 * np.abs(ours).max()


@pytest.mark.parametrize("scale", [True, False])
def test_whoever_divides_by_the_root_the_scores_are_the_same(scale: bool) -> None:
    model = decoder(attention_scale=0.7)
    ours, exact = both_logits(model, bridge.to_exact(model, parse_format("fp32"), scale=scale))
    assert np.abs(ours - exact).max() < 2e-5 * np.abs(ours).max()


# From exact to nn -----------------------------------------------------------------------------------------------------


def small_integers(options: Options, seed: int = 0, lengths: int = 8) -> Transformer:
    """Heads of different widths, a layer without feed-forward, one without heads; small integers and uniform attention."""
    rng, format = np.random.default_rng(seed), Fixed(12)
    d = 5

    def whole(*shape: int) -> Any:
        return rng.integers(-1, 2, shape)

    wide = Head.of(format, np.zeros((4, d)), whole(4, d), whole(2, d), whole(d, 2))
    narrow = Head.of(format, np.zeros((1, d)), whole(1, d), whole(3, d), whole(d, 3))
    feed_forward = FeedForward.of(format, whole(6, d), whole(6), whole(d, 6), whole(d))
    layers = [Layer((wide, narrow)), Layer((), feed_forward), Layer((narrow,), feed_forward)]
    return Transformer.of(
        format,
        "abc",
        [f"c{i}" for i in range(d)],
        whole(3, d),
        whole(2, d),
        ["NO", "YES"],
        position_embedding=whole(lengths, d),
        layers=layers,
        options=options,
    )


@pytest.mark.parametrize("scale", [False, True])
def test_where_nothing_rounds_nn_gives_the_same_logits(scale: bool) -> None:
    """Equal scores over one or two keys, and small integers: no operation of the format rounds."""
    transformer = small_integers(Options(scale=scale))
    model = bridge.to_nn(transformer)
    for length in (1, 2):
        ours, exact = both_logits(model, transformer, length)
        assert np.array_equal(ours, exact)


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_random_transformers_agree_up_to_rounding(norm: Any) -> None:
    sizes = Sizes(layers=2, heads=3, width=5, key_width=2, value_width=4, hidden=7)
    options = Options(norm=norm, scale=True, attention="max-subtracted", answer="logits")
    format = parse_format("fp32")
    some_b = random_transformer(format, 3, sizes, options)
    transformer = map_codes(some_b, lambda codes, _: np.where(np.abs(codes) == format.max_code, 0, codes))
    model = bridge.to_nn(transformer)
    ours, exact = both_logits(model, transformer)
    assert np.abs(ours - exact).max() < 1e-4 * max(1.0, np.abs(exact).max())


def test_answers_that_are_not_tokens_have_their_own_rows() -> None:
    model = bridge.to_nn(small_integers(Options()))
    logits = model(torch.tensor([[0, 1, 2]]))
    assert logits.shape[-1] == 3
    assert torch.isneginf(logits[..., 2]).all()  # two answers, three tokens
    assert torch.isfinite(logits[..., :2]).all()


def test_there_and_back_is_the_same_function() -> None:
    transformer = small_integers(Options(attention="max-subtracted", answer="logits"))
    square = transformer.replace(output=transformer.token_embedding, answers=transformer.vocabulary)
    again = bridge.to_exact(bridge.to_nn(square), square.format, vocabulary=square.vocabulary)
    inputs = texts(square, 5, 20)
    assert np.array_equal(square.run_batch(inputs).logits, again.run_batch(inputs).logits)


def test_scores_are_divided_by_the_root_that_the_engine_uses() -> None:
    """In fixed:1 [√3] is 3/2, and the root of [3] = 3/2 would be 1."""
    sizes = Sizes(key_width=3, value_width=3, density=0.5)
    transformer = map_codes(random_transformer(Fixed(1), 0, sizes, Options(scale=True)), lambda c, _: np.clip(c, -2, 2))
    assert bridge.to_nn(transformer).config.attention_scale == 2 / 3


def test_heads_of_different_d_k_share_no_factor_unless_it_is_folded() -> None:
    """Folded, the logits are the same; but W_Q / [√d_k] is not in the format, so what comes back is not what went."""
    options = Options(scale=True, attention="max-subtracted", answer="logits")
    first, second = (
        map_codes(
            random_transformer(parse_format("fp32"), 5, Sizes(key_width=rows), options),
            lambda c, _: np.where(abs(c) > 2**30, 0, c),
        )
        for rows in (2, 3)
    )
    mixed = first.replace(layers=(*first.layers, *second.layers))
    with pytest.raises(ModelError, match=r"divides scores by \[√2\] and \[√3\] in different heads"):
        bridge.to_nn(mixed)
    ours, exact = both_logits(bridge.to_nn(mixed, fold=True), mixed)
    assert np.abs(ours - exact).max() < 1e-4 * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_norm_that_nn_would_add_changes_nothing_or_is_refused(norm: Any) -> None:
    """A layer of zeros stands for none: after it a post-norm would have put zeros, and at ε = 0 a norm may be 0/0."""
    options = Options(norm=norm, answer="logits")
    bare = random_transformer(parse_format("fp32"), 1, Sizes(layers=0), options)
    normed = random_transformer(parse_format("fp32"), 1, Sizes(layers=1), Options(norm="pre"))
    for transformer in (bare.replace(final_norm=None), bare.replace(final_norm=normed.final_norm)):
        ours, exact = both_logits(bridge.to_nn(transformer), transformer)
        assert np.abs(ours - exact).max() < 1e-5 * max(1.0, np.abs(exact).max())
    assert normed.final_norm is not None
    zero = Norm(normed.final_norm.gain, normed.final_norm.bias, np.array(0))
    with pytest.raises(ModelError, match="with ε = 0 that norm may be 0/0"):
        bridge.to_nn(bare.replace(final_norm=zero))


def test_weights_of_b_are_refused_unless_taken_as_numbers() -> None:
    transformer = small_integers(Options())
    infinite = np.array(transformer.output)
    infinite[0, 0] = transformer.format.max_code
    saturating = transformer.replace(output=infinite)
    with pytest.raises(ModelError, match="output holds B"):
        bridge.to_nn(saturating)
    taken = bridge.to_nn(saturating, infinity=True)
    assert taken.output.weight[0, 0] == float(transformer.format.max)


def test_saturation_is_where_the_two_part() -> None:
    """B + 1 stays B in the format and grows in floating point: the reason for the refusal."""
    format = Fixed(4)
    T = Transformer.of(
        format, "a", ["x"], [["B"]], [[1]], ["YES"], position_embedding=[[1]], options=Options(answer="logits")
    )
    assert T.run("a").logits == (format.max,)
    with torch.no_grad():
        assert float(bridge.to_nn(T, infinity=True)(torch.tensor([[0]]))) == float(format.max) + 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"attention": "leftmost"}, "hard attention"),
        ({"mask": "strict"}, "options.mask='strict'"),
        ({"mask": "full"}, "options.mask='full'"),
    ],
)
def test_what_nn_does_not_have_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelError, match=named):
        bridge.to_nn(small_integers(Options(**options)))


def test_a_dtype_that_cannot_hold_the_weights_is_refused() -> None:
    format = Exact(3)
    third = Transformer.of(format, "a", ["x"], [[Fraction(1, 3)]], [[1]], ["YES"], max_length=2)
    with pytest.raises(ModelError, match=r"token_embedding has numbers of exact:3 that torch.float64 cannot hold"):
        bridge.to_nn(third)
