"""Bad calls by generation: a right call with one argument replaced is a sentence, never a traceback or an answer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from glyptic import nn
from glyptic.errors import GlypticError, InputError, ModelError
from tests.nn import small

NAN, INFINITY = math.nan, math.inf
NUMBERS: list[Any] = [-1, 0, 1, 3, 1.5, -0.5, NAN, INFINITY, -INFINITY, 10**9, 10**30, -(10**18), 2**63, True, False]
OTHERS: list[Any] = [None, "", "x", "\x1b[2J\n", b"", [], [[]], {}, (), [None], ["a"], [1.5], [[1, "a"]], object(), int, Ellipsis]
TENSORS: list[Any] = [
    *(torch.zeros(0), torch.zeros(2, 0), torch.zeros(0, 2).long(), torch.zeros(2, 0).long(), torch.tensor(1.5)),
    *(torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.uint8), torch.zeros(2, 3, dtype=torch.complex64)),
    *(torch.full((2, 3), -1), torch.full((2, 3), 10**9), torch.zeros(2, 3, 4, 5, 6), torch.zeros(2, 3, 12).half()),
]
VALUES = [*NUMBERS, *OTHERS, *TENSORS]


def said(call: Callable[[], Any]) -> str | None:
    try:
        call()
    except GlypticError as error:
        sentence = str(error)
        assert sentence.isprintable() and len(sentence) < 1000, sentence
        return sentence
    return None


DECODER = small.model(positions="rotary", sliding_window=4).float()
ENCODER = small.model(kind="encoder", token_types=2, head="mlm").float()
BOTH = small.model(kind="encoder_decoder").float()
VIT = small.model(kind="vit", image_size=4, patch_size=2, head="class", classes=3).float()
TOKENS = small.tokens(2, 3)
MASK = torch.tensor([[False, True, True], [True, True, True]])
Q = torch.randn(2, 3, 4, 5)


def whole(least: int, most: float = 10**6) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def number(test: Callable[[float], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308 and test(value)


def none(value: Any) -> bool:
    return value is None


def either(*tests: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


def never(value: Any) -> bool:
    return False


def is_scalar(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dim() == 0


def empty(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


# name: (the call, its right arguments, and for each argument what else is right)
Target = tuple[Callable[..., Any], dict[str, Any], dict[str, Callable[[Any], bool]]]
TARGETS: dict[str, Target] = {
    "build": (nn.build, {"config": small.config(), "seed": 3}, {"config": never, "seed": either(none, whole(0, 2**63 - 1))}),
    "Decoder": (nn.Decoder, {"config": small.config()}, {"config": never}),
    "ViT": (nn.ViT, {"config": VIT.config}, {"config": never}),
    "preset": (nn.preset, {"name": "gpt2"}, {"name": never}),
    "with_backend": (nn.with_backend, {"model": DECODER, "backend": "reference"}, {"model": never, "backend": never}),
    "cost": (
        nn.cost,
        {"of": small.config(), "batch": 2, "length": 5, "source_length": 7},
        {"of": never, "batch": whole(1), "length": either(none, whole(1)), "source_length": either(none, whole(1))},
    ),
    "decoder": (DECODER, {"tokens": TOKENS}, {"tokens": never, "padding_mask": none, "cache": none, "vectors": none}),
    "decoder of vectors": (DECODER, {"vectors": torch.randn(2, 3, 12)}, {"vectors": never}),
    "encoder": (ENCODER, {"tokens": TOKENS}, {"tokens": never, "types": none, "padding_mask": none}),
    "both": (
        BOTH,
        {"source": TOKENS, "target": TOKENS},
        {"source": never, "target": never, "source_mask": none, "target_mask": none},
    ),
    "hidden": (BOTH.hidden, {"tokens": TOKENS, "memory": BOTH.encode(TOKENS)}, {"memory": never, "cache": none}),
    "vit": (VIT, {"images": torch.randn(2, 3, 4, 4)}, {"images": never}),
    "new_cache": (
        DECODER.new_cache,
        {"batch": 2, "capacity": 5, "kind": "static"},
        {"batch": whole(1), "capacity": either(none, whole(1)), "kind": never},
    ),
    "StaticCache": (
        nn.StaticCache,
        {"config": DECODER.config, "batch": 2, "capacity": 5, "dtype": torch.float32},
        {"config": never, "batch": whole(1), "capacity": either(none, whole(1)), "dtype": never},
    ),
    "RingCache": (nn.RingCache, {"config": DECODER.config, "batch": 2}, {"config": never, "batch": whole(1)}),
    "rewind": (lambda length: DECODER.new_cache(2, 5).rewind(length), {"length": 0}, {"length": whole(0, 0)}),
    "reorder": (lambda rows: DECODER.new_cache(2, 5).reorder(rows), {"rows": torch.tensor([1, 0])}, {"rows": never}),
    "Session": (
        nn.Session,
        {"model": DECODER, "batch": 2, "capacity": 5},
        {"model": never, "batch": whole(1), "capacity": either(none, whole(1)), "cache": never, "source": none},
    ),
    "feed": (
        lambda **inputs: nn.Session(DECODER, 2, 5).feed(**inputs),
        {"tokens": TOKENS},
        {"tokens": never, "padding_mask": none},
    ),
    "generate": (
        nn.generate,
        {"model": DECODER, "prompt": TOKENS, "max_new_tokens": 2},
        {
            **{"model": never, "prompt": never, "max_new_tokens": whole(0, 100), "sampling": never, "stop_tokens": empty},
            **{"pad_token": whole(0, 10), "padding_mask": none, "seed": either(none, whole(0, 2**63 - 1))},
            **{"source": none, "source_mask": none, "cache": never, "session": none},
        },
    ),
    "stream": (
        lambda **how: list(nn.stream(**how)),
        {"model": DECODER, "prompt": [1, 2], "max_new_tokens": 2},
        {"model": never, "prompt": never, "max_new_tokens": whole(0, 100)},
    ),
    "beam_search": (
        nn.beam_search,
        {"model": DECODER, "prompt": TOKENS, "max_new_tokens": 2, "beams": 2},
        {
            **{"model": never, "prompt": never, "max_new_tokens": whole(1, 100), "beams": whole(1, 100)},
            **{"length_penalty": number(lambda x: abs(x) <= 20), "stop_tokens": empty, "pad_token": whole(0, 10)},
            **{"padding_mask": none, "source": none, "source_mask": none},
        },
    ),
    "pad_left": (nn.pad_left, {"prompts": [[1, 2], [3]]}, {"prompts": never, "pad_token": whole(0, 2**62)}),
    "Sampling": (
        nn.Sampling,
        {"temperature": 1.0},
        {
            **{"temperature": number(lambda x: x >= 0), "top_k": either(none, whole(1, 10**31))},
            **{name: either(none, number(lambda x: 0 < x <= 1)) for name in ("top_p", "min_p")},
        },
    ),
    "attention": (
        nn.attention,
        {"q": Q, "k": Q, "v": Q, "backend": "reference"},
        {
            **{"q": never, "k": never, "v": never, "mask": either(none, is_scalar), "window": either(none, whole(1, 10**31))},
            **{"scale": either(none, number(lambda x: True)), "dropout": number(lambda x: 0 <= x <= 1), "backend": never},
        },
    ),
}


@pytest.mark.parametrize("name", TARGETS)
def test_an_argument_of_any_other_kind_is_a_sentence(name: str) -> None:
    call, right, arguments = TARGETS[name]
    assert said(lambda: call(**right)) is None
    for argument, accepts in arguments.items():
        for value in VALUES:
            if accepts(value):
                continue
            sentence = said(lambda value=value, argument=argument: call(**{**right, argument: value}))
            assert sentence is not None, (argument, value)


def test_every_field_of_a_config_is_what_its_annotation_says_or_a_sentence() -> None:
    kinds = {"int": int, "float": (int, float), "bool": bool, "str": str, "RotaryScaling": nn.RotaryScaling}
    for field in dataclasses.fields(nn.ModelConfig):
        kind, _, optional = str(field.type).partition(" | ")
        for value in VALUES:
            if said(lambda field=field, value=value: small.config(**{field.name: value})) is not None:
                continue
            assert (value is None and optional) or isinstance(value, kinds[kind]), (field.name, value)
            assert not isinstance(value, float) or math.isfinite(value)
            assert kind == "bool" or not isinstance(value, bool)


def test_every_field_of_a_rotary_scaling_is_finite_or_a_sentence() -> None:
    for field in dataclasses.fields(nn.RotaryScaling):
        for value in VALUES:
            fields = {"kind": "yarn", "factor": 2.0, "original_context": 8, field.name: value}
            if said(lambda fields=fields: nn.RotaryScaling(**fields)) is None:
                model = nn.build(small.config(positions="rotary", rotary_scaling=nn.RotaryScaling(**fields)), seed=0)
                assert model(TOKENS).isfinite().all(), (field.name, value)


@pytest.mark.parametrize("value", [[], 3, None, "x", {"kind": "decoder"}, {1: 2}, {"kind": [], "layers": {}}], ids=repr)
def test_a_dictionary_that_is_no_config_is_a_sentence(value: Any) -> None:
    assert said(lambda: nn.ModelConfig.from_dict(value)) is not None


def test_a_model_or_a_cache_that_cannot_fit_is_a_sentence() -> None:
    with pytest.raises(ModelError, match="more than this machine has"):
        nn.build(nn.preset("llama", layers=10**6))
    with pytest.raises(ModelError, match=r"a cache of batch=1000000 and capacity=1000000 takes .* more than this machine has"):
        DECODER.new_cache(10**6, 10**6)
    with pytest.raises(ModelError, match="more than this machine has"):
        nn.generate(DECODER, TOKENS, 10**9)


def test_a_cache_of_another_model_is_refused() -> None:
    cache = DECODER.new_cache(2, 6)
    DECODER(TOKENS, cache=cache)
    twin = small.model(seed=1, positions="rotary", sliding_window=4).float()  # the same shapes, other weights
    with pytest.raises(InputError, match="the cache was filled by another model"):
        twin(TOKENS, cache=cache)
    with pytest.raises(InputError, match="made for a model of another shape"):
        small.model(positions="rotary", sliding_window=4, layers=3).float()(TOKENS, cache=cache)
    with pytest.raises(InputError, match="sliding_window=4, not for None"):
        small.model(positions="rotary").float()(TOKENS, cache=cache)
    with pytest.raises(InputError, match=r"holds torch.float32 .* computes in torch.float64"):
        small.model(positions="rotary", sliding_window=4)(TOKENS, cache=cache)
    again = nn.with_backend(DECODER, "reference")  # the same weights
    cache.rewind(0)
    assert torch.equal(again(TOKENS, cache=cache), again(TOKENS))


def test_a_second_memory_is_not_ignored_by_a_cache_that_has_seen_the_first() -> None:
    first, second, cache = BOTH.encode(TOKENS), BOTH.encode(10 - TOKENS), BOTH.new_cache(2, 6)
    BOTH.hidden(TOKENS, memory=first, cache=cache)
    with pytest.raises(InputError, match="the cache was filled with another memory"):
        BOTH.hidden(TOKENS[:, :1], memory=second, cache=cache)
    BOTH.hidden(TOKENS[:, :1], memory=nn.Memory(first.vectors.clone()), cache=cache)  # the same numbers
    cache.rewind(0)
    alone = BOTH.hidden(TOKENS, memory=second)
    assert (BOTH.hidden(TOKENS, memory=second, cache=cache) - alone).abs().max() < 1e-5


def test_a_session_of_another_model_and_what_it_would_ignore_are_refused() -> None:
    session = nn.Session(DECODER, 2, 8)
    with pytest.raises(InputError, match="session is of another model"):
        nn.generate(small.model().float(), TOKENS, 2, session=session)
    with pytest.raises(InputError, match="leave out cache, source and source_mask"):
        nn.generate(DECODER, TOKENS, 2, session=session, cache="ring")


def test_generate_works_as_people_type_it() -> None:
    named = nn.generate(DECODER, TOKENS, max_new_tokens=3)
    assert torch.equal(nn.generate(DECODER, TOKENS, 3), named)
    assert torch.equal(nn.generate(DECODER, TOKENS[0], 3), named[:1])
    assert torch.equal(nn.generate(DECODER, TOKENS[0].tolist(), 3), named[:1])
    assert torch.equal(nn.generate(DECODER, [TOKENS[0], TOKENS[1]], 3), named)
    assert torch.equal(torch.stack(list(nn.stream(DECODER, TOKENS, 3)), 1), named[:, 3:])
    assert nn.beam_search(DECODER, TOKENS, 3, beams=1)[0][0].tokens == tuple(named[0, 3:].tolist())


def test_a_count_below_zero_is_refused_when_asked_not_when_used() -> None:
    with pytest.raises(InputError, match="max_new_tokens is -1, and must be a whole number from 0"):
        nn.stream(DECODER, TOKENS, -1)


def test_a_temperature_near_zero_is_the_most_likely_token() -> None:
    for temperature in (1e-9, 1e-300, 5e-324):
        sampling = nn.Sampling(temperature)
        assert torch.equal(nn.generate(DECODER, TOKENS, 3, sampling=sampling, seed=0), nn.generate(DECODER, TOKENS, 3))


def test_logits_that_are_not_numbers_are_no_answer() -> None:
    model = small.model().float()
    model.embedding.token.weight.data[0, 0] = NAN
    for call in (lambda: nn.generate(model, TOKENS, 2), lambda: nn.beam_search(model, TOKENS, 2, beams=2)):
        with pytest.raises(ModelError, match=r"logits are not numbers \(NaN\)"):
            call()


def test_types_are_not_ignored_by_a_model_without_them() -> None:
    with pytest.raises(InputError, match="token_types=0"):
        small.model(kind="encoder")(TOKENS, types=torch.zeros_like(TOKENS))
