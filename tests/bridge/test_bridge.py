"""Decoders into formats and exact transformers into PyTorch: agreement, round trips, refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from glyptic import bridge, nn
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.transformer import Norm, map_codes
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
        theirs = model(bridge.ids(transformer, inputs))[:, -1].numpy()
    return theirs[:, : len(transformer.answers)], to_float64(batch.logits, transformer.format)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("format", "tolerance"), [("fp32", 2e-5), ("fixed:16", 2e-2), ("fp16", 0.3)])
def test_logits_agree_to_the_accuracy_of_the_format(kind: str, format: str, tolerance: float) -> None:
    model = decoder(**KINDS[kind])
    ours, exact = both_logits(model, bridge.to_exact(model, parse_format(format)))
    size = np.abs(ours).max()
    error = np.abs(ours - exact).max() / size
    assert error < tolerance
    assert error > 0  # it did round


@pytest.mark.parametrize("kind", ["pre-norm with biases", "post-norm", "no norm"])
def test_30_fraction_bits_in_the_reference_engine_agree_to_1e_7(kind: str) -> None:
    """Finer than any compiled host: fractions, each operation rounded to 2^−30."""
    model = decoder(**KINDS[kind], layers=1)
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
        assert np.allclose(final[:, :8], model.hidden(tokens)[0].numpy(), atol=1e-4)
    assert (final[:, 8] == 1).all()  # the coordinate that carries biases
    residual = np.array(run.trace["layer.1.after_feed_forward"].T, dtype=float)
    assert np.allclose(residual[:, 8], residual[:, :8].mean(axis=1), atol=1e-4)


def test_biases_that_are_zero_cost_no_coordinate() -> None:
    fresh = nn.build(nn.ModelConfig(**DECODER), seed=0)
    assert bridge.to_exact(fresh, Fixed(12)).width == 8
    assert bridge.to_exact(decoder(), Fixed(12)).coordinates[-1] == "one"


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
        ({"feed_forward": "gelu"}, "feed_forward='gelu'"),
        ({"feed_forward": "swiglu"}, "feed_forward='swiglu'"),
        ({"norm": "rms"}, "norm='rms'"),
        ({"query_key_norm": True}, "query_key_norm and embedding_width have no exact version"),
        ({"embedding_width": 3}, "query_key_norm and embedding_width have no exact version"),
        ({"positions": "rotary"}, "positions='rotary'"),
        ({"positions": "alibi"}, "positions='alibi'"),
        ({"parallel": True}, "parallel=True"),
        ({"sliding_window": 3}, "sliding_window=3"),
        ({"norm_place": "post"}, "stack.blocks.0.attn.qkv.bias is not zero"),
        ({"kind": "encoder"}, "kind='encoder'"),
        ({"embedding_norm": True}, "embedding_norm"),
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


def test_an_output_bias_without_the_final_norm_is_refused() -> None:
    """The coordinate `one` is 1 behind a norm, and the mean of the others before it."""
    with pytest.raises(ModelError, match=r"output\.bias is not zero, and without the final norm no coordinate is 1"):
        bridge.to_exact(decoder(final_norm=False, output_bias=True), Fixed(8))
    for changes in ({"final_norm": False}, {"final_norm": False, "output_bias": True, "norm": "none"}):
        model = decoder(**changes)
        ours, exact = both_logits(model, bridge.to_exact(model, parse_format("fp32")))
        assert np.abs(ours - exact).max() < 2e-5 * np.abs(ours).max()


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
