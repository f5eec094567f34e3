"""The bridge over all that it admits: random decoders into doubles, random transformers there and back, random bad calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from glyptic import bridge, nn
from glyptic.errors import GlypticError, ModelError
from glyptic.exact import Layer, Options, Transformer
from glyptic.exact.parts import parts
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.transformer import map_codes
from glyptic.numbers import Fixed, Format, Ieee, parse_format

DOUBLES = Ieee(11, 52)  # the numbers of float64, every operation rounded as there, but saturating
FORMATS = ("fixed:1", "fixed:3", "fixed:4/even", "fixed:8", "q:3,5", "float:3,3", "fp16", "bf16", "fp8_e4m3")


class Choices:
    """Random choices by seed."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, *values: Any) -> Any:
        return values[self.rng.integers(len(values))]


def random_decoder(seed: int) -> nn.Decoder:
    """Any decoder of a kind that is admitted; sixteenths, and some biases 0."""
    pick = Choices(seed)
    heads = pick(1, 2, 4)
    positions = pick("learned", "sinusoidal", "none", "rotary", "rotary", "alibi", "t5", "shaw", "transformer_xl")
    fields = {
        "kind": "decoder",
        "layers": pick(1, 2),
        "width": pick(4, 6),
        "heads": heads,
        "head_width": pick(1, 2, 3) if positions != "rotary" else pick(2, 4),
        "key_value_heads": pick(None, 1, heads),
        "vocabulary": pick(2, 3),
        "context": 3,
        "feed_forward": pick("relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"),
        "feed_forward_width": pick(1, 5),
        "feed_forward_bias": pick(True, False),
        "attention_bias": pick(True, False),
        "attention_output_bias": pick(True, False),
        "attention_scale": pick(None, None, 1.0, 0.5, 0.7, -1.0),
        "sliding_window": pick(None, None, 3, 7),
        "norm_eps": pick(1e-5, 0.25, 1.0),
        "final_norm": pick(None, True, False),
        "positions": positions,
        "rotary_fraction": pick(1.0, 0.5) if positions == "rotary" else 1.0,
        "relative_buckets": 4,
        "relative_distance": pick(3, 8),
        "backend": "reference",
        "norm": pick("layer", "layer", "rms", "rms_outside", "rms_plus_one"),
        "embedding_scale_rounded": False,
        "embedding_norm": pick(False, False, True),
        "token_types": pick(0, 0, 2),
        **pick({}, {}, {"head": "class", "classes": 2}),
        "sinusoidal_layout": pick("interleaved", "halves"),
        "embedding_scale": pick(True, False),
        "tied": pick(True, False),
        "output_bias": pick(True, False),
        "output_scale": pick(1.0, 0.5, 0.3),
    }
    fields |= pick({"norm": "none"}, {"norm_place": "pre"}, {"parallel": True}, {"norm_place": "post"})
    if positions == "rotary" and fields["head_width"] == 2:
        fields["rotary_fraction"] = 1.0
    model = nn.build(nn.ModelConfig(**fields)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            zero = parameter.dim() == 1 and pick(True, False, False)
            parameter.copy_(torch.from_numpy((not zero) * pick.rng.integers(-16, 17, tuple(parameter.shape)) / 16))
    return model


def agree(model: nn.Decoder, transformer: Transformer, seed: int) -> None:
    """The reference engine in doubles and nn in float64 give the same logits, but for the last few bits."""
    rng = np.random.default_rng(seed)
    for length in (1, 3):
        text = list(rng.choice(transformer.vocabulary, length))
        exact = np.array([float(x) for x in transformer.run(text, engine="reference").logits])
        with torch.no_grad():
            ours = model(bridge.ids(transformer, [text]))[0].numpy()
        ours = (ours if ours.ndim == 1 else ours[-1])[: len(exact)]
        assert np.abs(ours - exact).max() < 1e-9 * (1 + np.abs(exact).max()), (seed, model.config)


def check_decoders(seeds: range) -> Counter[str]:
    """Every one becomes exact, and where no norm is 0/0 it agrees; how many there were of each kind."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        model = random_decoder(seed)
        config = model.config
        agree(model, bridge.to_exact(model, DOUBLES), seed)
        seen.update([config.positions, config.feed_forward, config.norm, config.norm_place, config.head])
        seen.update(["parallel"] * config.parallel + ["embedding_norm"] * config.embedding_norm)
    return seen


def test_decoders_in_doubles_give_the_logits_of_nn() -> None:
    assert len(check_decoders(range(24))) >= 20


@pytest.mark.slow
def test_many_decoders_in_doubles_give_the_logits_of_nn() -> None:
    assert min(check_decoders(range(24, 400)).values()) > 15


def random_exact(seed: int, format: Format | None = None) -> Transformer:
    """Any transformer that nn can be: heads of other widths in layer 0, layers without a part, none at all; no weight is B."""
    pick = Choices(seed)
    format = parse_format(pick(*FORMATS)) if format is None else format  # type: ignore[assignment]
    assert isinstance(format, Format)
    sizes = Sizes(
        layers=pick(0, 1, 2, 2),
        heads=pick(1, 2),
        width=pick(3, 5),
        key_width=pick(1, 2, 3, 4),
        value_width=pick(1, 3, 4),
        hidden=pick(0, 3, 3),
        max_length=4,
        vocabulary=pick("01", "abc"),
        answers=pick(("NO", "YES"), ("A", "B", "C"), ("Z",)),
        **pick({}, {"activation": "gelu"}, {"activation": "silu", "gated": True}),
        **pick({}, {"biases": True}),
        **pick({}, {}, {"norm_kind": "rms"}),
        parallel=pick(False, False, True),
    )
    norms = ("none", "pre") if sizes.parallel else ("none", "pre", "post")
    options = Options(
        products=pick("rounded", "fused"),
        attention=pick("softmax", "max-subtracted"),
        scale=pick(True, False),
        norm=pick(*norms),
        answer=pick("softmax", "logits"),
        ties=pick("explicit", "first"),
    )
    first = replace(sizes, key_width=pick(sizes.key_width, sizes.key_width, 1, 2), layers=1, heads=pick(0, 1, 2, 2))
    transformer, other = (random_transformer(format, seed + 7 * i, s, options) for i, s in enumerate((sizes, first)))
    if transformer.layers:
        transformer = transformer.replace(layers=tuple(map(as_nn_has_it, (*other.layers, *transformer.layers[1:]))))
    if transformer.options.norm != "none" and pick(False, True):
        transformer = transformer.replace(embedding_norm=transformer.final_norm)

    def change(codes: Any, name: str) -> Any:
        none = name.endswith("norm.bias") and sizes.norm_kind != "layer"  # nn's RMSNorm has none
        return np.where((np.abs(codes) >= format.max_code) | none, 0, codes)

    return map_codes(transformer, change)


def as_nn_has_it(layer: Layer) -> Layer:
    """One bias of the output, which is that of the last head."""
    heads = [replace(head, output_bias=None) for head in layer.heads[:-1]]
    return replace(layer, heads=(*heads, *layer.heads[-1:]))


def there_and_back(transformer: Transformer) -> Transformer:
    model, options = bridge.to_nn(transformer), transformer.options
    spare = [f"spare {i}" for i in range(model.config.vocabulary - len(transformer.vocabulary))]
    kept = {name: getattr(options, name) for name in ("products", "attention", "answer", "ties")}
    names = {"vocabulary": [*transformer.vocabulary, *spare], "answers": transformer.answers}
    return bridge.to_exact(model, transformer.format, **names, **kept)


REASONS = ("options.scale divides", "a post-norm layer without", "a layer lacks heads", "the norms have different")


def same_codes(a: Transformer, b: Transformer) -> bool:
    own, other = ({name: codes for name, codes, _ in parts(t)} for t in (a, b))
    return own.keys() == other.keys() and all(np.array_equal(own[name], other[name]) for name in own)


def check_trips(seeds: range) -> tuple[int, int]:
    """How many went, and how many of these came back with the very same weights; all of them with the same logits."""
    went = same = 0
    for seed in seeds:
        transformer = random_exact(seed)
        try:
            again = there_and_back(transformer)
        except ModelError as error:
            if not str(error).startswith(REASONS):
                raise
            continue
        rng = np.random.default_rng(seed)
        texts = [list(rng.choice(transformer.vocabulary, length)) for length in (1, 2, 3, 4, 4)]
        before, after = transformer.run_batch(texts), again.run_batch(texts)
        assert before.failures.keys() == after.failures.keys(), seed
        defined = [i for i in range(len(texts)) if i not in before.failures]
        assert np.array_equal(before.logits[defined], after.logits[defined]), seed
        assert [before.answers[i] for i in defined] == [after.answers[i] for i in defined], seed
        went, same = went + 1, same + same_codes(transformer, again)
    return went, same


def test_there_and_back_gives_the_same_logits_code_for_code() -> None:
    went, same = check_trips(range(40))
    assert went > 22
    assert same > 0


@pytest.mark.slow
def test_many_go_there_and_back_and_give_the_same_logits_code_for_code() -> None:
    went, same = check_trips(range(40, 800))
    assert went > 480
    assert same > 12


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("norm", ["none", "pre", "post"])
@pytest.mark.parametrize("format", ["fixed:1", "fixed:8", "q:3,5", "float:3,3", "fp16"])
def test_there_and_back_gives_the_same_weights_where_nothing_is_padded(format: str, norm: Any, scale: bool) -> None:
    for seed, rows in enumerate((1, 2, 3, 5)):
        sizes = Sizes(key_width=rows, value_width=rows, max_length=4)
        some_b = random_transformer(parse_format(format), seed, sizes, Options(norm=norm, scale=scale))
        top = some_b.format.max_code
        transformer = map_codes(some_b, lambda codes, _, top=top: np.where(np.abs(codes) >= top, 0, codes))
        model = bridge.to_nn(transformer)
        again = bridge.to_exact(model, transformer.format, vocabulary=transformer.vocabulary)
        assert same_codes(transformer, again)
        assert again.options.scale == scale or rows == 1  # by [√1] nothing is divided
        twice = bridge.to_nn(again)  # and from nn to nn
        assert twice.config == model.config
        pairs = zip(model.parameters(), twice.parameters(), strict=True)
        assert all(torch.equal(before, after) for before, after in pairs)


def check_into_nn(seeds: range) -> int:
    went = 0
    for seed in seeds:
        transformer = random_exact(seed, Fixed(4)).in_format(DOUBLES)
        try:
            model = bridge.to_nn(transformer, fold=True)
        except ModelError as error:
            if not str(error).startswith(REASONS[1:]):
                raise
            continue
        agree(model, transformer, seed)
        went += 1
    return went


def test_transformers_in_doubles_give_the_logits_of_nn_or_a_refusal() -> None:
    assert check_into_nn(range(16)) > 8


@pytest.mark.slow
def test_many_transformers_in_doubles_give_the_logits_of_nn_or_a_refusal() -> None:
    assert check_into_nn(range(16, 250)) > 140


# Bad calls ------------------------------------------------------------------------------------------------------------

HOSTILE: list[Any] = [
    None,
    3,
    0,
    -1,
    10**9,
    2.5,
    float("nan"),
    True,
    "",
    "nope",
    "\n\x1b[31m",
    "fixed:0",
    b"x",
    [],
    [3],
    {},
]
HOSTILE += [
    object(),
    torch.zeros(2),
    torch.int64,
    torch.complex64,
    len,
    ["a", "a", "b"],
    ["a", "", "b"],
    ["TIE", "b", "c"],
]


def small_decoder(**changes: Any) -> Any:
    fields = {"layers": 1, "width": 4, "heads": 2, "vocabulary": 3, "context": 4, "feed_forward": "relu"}
    return nn.build(nn.ModelConfig(kind="decoder", **{**fields, **changes}), seed=0)


def damaged(name: str, value: float) -> Any:
    model = small_decoder(output_bias=True)
    with torch.no_grad():
        model.get_parameter(name).flatten()[0] = value
    return model


def exact_one(format: str = "fixed:8") -> Transformer:
    sizes = Sizes(max_length=3, layers=1)
    return map_codes(random_transformer(parse_format(format), 0, sizes), lambda codes, _: np.clip(codes, -9, 9))


CALLS: dict[str, tuple[Any, list[Any]]] = {  # what is called with one bad argument, and the values that are not bad
    "to_exact of": (lambda bad: bridge.to_exact(bad, "fixed:8"), []),
    "format": (lambda bad: bridge.to_exact(small_decoder(), bad), []),
    "vocabulary": (lambda bad: bridge.to_exact(small_decoder(), "fixed:8", vocabulary=bad), [None]),
    "answers": (lambda bad: bridge.to_exact(small_decoder(), "fixed:8", answers=bad), [None]),
    "max_length": (lambda bad: bridge.to_exact(small_decoder(), "fixed:8", max_length=bad), [None, 3]),
    "saturate": (lambda bad: bridge.to_exact(small_decoder(), "fixed:8", saturate=bad), [True]),
    **{
        option: (lambda bad, option=option: bridge.to_exact(small_decoder(), "fixed:8", **{option: bad}), good)
        for option, good in {"attention": [], "products": [], "mask": [None], "norm": [None], "answer": [], "ties": []}.items()
    },
    "scale": (lambda bad: bridge.to_exact(small_decoder(), "fixed:8", scale=bad), [True, None]),
    "to_nn of": (lambda bad: bridge.to_nn(bad), []),
    "dtype": (lambda bad: bridge.to_nn(exact_one(), bad), []),
    "infinity": (lambda bad: bridge.to_nn(exact_one(), infinity=bad), [True]),
    "fold": (lambda bad: bridge.to_nn(exact_one(), fold=bad), [True]),
    "ids of": (lambda bad: bridge.ids(bad, ["01"]), []),
    "texts": (lambda bad: bridge.ids(exact_one(), bad), []),
    "a text": (lambda bad: bridge.ids(exact_one(), [bad]), []),
}


def refusal(call: Any) -> str:
    """The sentence; whatever else happens fails the test."""
    with pytest.raises(GlypticError) as caught:
        call()
    sentence = str(caught.value)
    assert sentence.isprintable() and sentence.endswith("."), sentence
    return sentence


@pytest.mark.parametrize("what", CALLS)
def test_every_bad_call_is_one_sentence(what: str) -> None:
    call, fine = CALLS[what]
    for bad in HOSTILE:
        if not any(type(bad) is type(value) and bad == value for value in fine):
            refusal(lambda bad=bad: call(bad))


@pytest.mark.parametrize("format", ["fixed:8", "fp16", "exact:64"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_numbers_are_refused_by_name(format: str, value: float) -> None:
    for name, _ in small_decoder(output_bias=True).named_parameters():
        if name == "output.bias" and value == float("-inf"):
            assert bridge.to_exact(damaged(name, value).float(), "fp16").answers == (
                "1",
                "2",
            )  # a token that is ruled out
        else:
            for saturate in (False, True):
                sentence = refusal(
                    lambda name=name, s=saturate: bridge.to_exact(damaged(name, value), format, saturate=s)
                )
                assert sentence.startswith(f"{name}[0"), sentence


def test_weights_that_a_format_or_a_dtype_cannot_hold_are_refused_by_name() -> None:
    for name, _ in small_decoder(norm="none").named_parameters():
        model = small_decoder(norm="none")
        with torch.no_grad():
            model.get_parameter(name).flatten()[0] = 1e7
        assert "holds 1e+07" in refusal(lambda model=model: bridge.to_exact(model, "fixed:8"))
    assert "is not a multiple of" in refusal(lambda: bridge.to_exact(small_decoder(), "exact:64"))
    with torch.device("meta"):
        bare = nn.Decoder(small_decoder().config)
    assert "device 'meta'" in refusal(lambda: bridge.to_exact(bare, "fixed:8"))
    long = exact_one("fixed:16").replace(output=np.full((2, 6), 1001))  # ten bits
    assert "output has numbers of fixed:16 that torch.bfloat16 cannot" in refusal(
        lambda: bridge.to_nn(long, torch.bfloat16)
    )
    wide = exact_one("float:12,8")
    for code in (10**6, wide.format.max_code - 1):  # below and beyond all doubles
        extreme = map_codes(wide, lambda codes, _: 0 * codes).replace(output=np.full((2, 6), code))
        assert "output has numbers of float:12,8 that torch.float64 cannot" in refusal(
            lambda T=extreme: bridge.to_nn(T)
        )
    assert "of exact:3 that torch.float64 cannot" in refusal(lambda: bridge.to_nn(exact_one("exact:3")))


def test_texts_of_different_lengths_and_none_at_all_are_refused() -> None:
    assert "all of one length" in refusal(lambda: bridge.ids(exact_one(), ["01", "011"]))
    assert "at least one text" in refusal(lambda: bridge.ids(exact_one(), []))


@pytest.mark.parametrize("name", ["q:3,5", "q:6,2/even", "q:4,0"])
def test_the_least_value_of_a_format_comes_back(name: str) -> None:
    """−2^m is a value of Q(m, f), though 2^m is not."""
    transformer = random_transformer(name, 0, Sizes(layers=1, width=4))
    codes = transformer.token_embedding.copy()
    codes[0, 0] = transformer.format.min_code
    transformer = transformer.replace(token_embedding=codes)
    model = bridge.to_nn(transformer, infinity=True)
    assert model.embedding.token.weight.min() == float(transformer.format.min)
    again = bridge.to_exact(model, transformer.format, vocabulary=[*map(str, range(model.config.vocabulary))])
    assert int(again.token_embedding.min()) == transformer.format.min_code
    with torch.no_grad():
        model.embedding.token.weight.neg_()
    with pytest.raises(ModelError, match="beyond the largest value"):
        bridge.to_exact(model, transformer.format)
    with torch.no_grad():
        model.embedding.token.weight.mul_(-2)
    with pytest.raises(ModelError, match=r"holds -.*, beyond the smallest value -"):
        bridge.to_exact(model, transformer.format)
