"""Bad calls of the parts that models are made of: masks, positions, norms, caches, sampling, the lectures' functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from glyptic import bridge, nn
from glyptic.errors import GlypticError, InputError, ModelError
from glyptic.exact.random import random_transformer
from glyptic.nn.generation import sampling
from glyptic.nn.parts import lecture, masks, norms
from glyptic.nn.parts.feed_forward import FeedForward, activate
from glyptic.nn.parts.positions import (
    Alibi,
    Learned,
    Rotary,
    Shaw,
    Sinusoidal,
    T5Bias,
    TransformerXL,
    alibi,
    rotary,
    sinusoidal,
    t5,
)
from tests.nn import small

CONFIG = small.config(sliding_window=4)
MODEL = small.model(backend="reference").float()
SIZE = MODEL.config.head_size
MASK = torch.tensor([[True, True, True], [False, True, True]])
X, U = torch.randn(4, 8), torch.randn(2, 3, 8)
PLACES, KEYS = torch.arange(3), torch.arange(4)

BAD: list[Any] = [
    *(-1, 1.5, float("nan"), float("inf"), 10**30, -(10**30), "x", "", b"ab", [], [1, "a"], {}, object(), torch.int8),
    *(torch.zeros(0), torch.zeros(2, 3, dtype=torch.complex64), torch.zeros(1, 1, 1, 1, 1), torch.tensor(3.0)),
    np.array([[1, 2]]),
    *(torch.full((2, 7), float("nan")), lambda *given: None, [[1, 2], [3]], True, None, 0),
]


def _cache(method: str, kind: str = "static") -> Callable[..., Any]:
    def call(**given: Any) -> Any:
        model = small.model(sliding_window=4).float()
        cache = model.new_cache(2, None if kind == "ring" else 8, kind)
        model(small.tokens(2, 3), cache=cache)
        if method == "update":
            cache.open(1)
        return getattr(cache, method)(**given)

    return call


GROUPS = CONFIG.groups
KV = torch.ones(2, GROUPS, 1, CONFIG.head_size)
NONE, ZERO, BOOL = (None,), (0,), (True,)
Target = tuple[Callable[..., Any], dict[str, Any], dict[str, tuple[Any, ...]]]
TARGETS: dict[str, Target] = {  # the call, its right arguments, and which bad values are right for some of them
    "causal": (masks.causal, {"queries": 3, "keys": 4, "device": None}, {"queries": ZERO, "keys": NONE, "device": NONE}),
    "visible": (
        masks.visible,
        {"queries": PLACES, "keys": KEYS, "causal": True, "window": 2},
        {"causal": BOOL, "window": NONE},
    ),
    "distances": (masks.distances, {"queries": PLACES, "keys": KEYS}, {}),
    "additive": (masks.additive, {"mask": MASK, "dtype": torch.float32}, {}),
    "merge": (masks.merge, {"mask": MASK, "bias": torch.randn(2, 3)}, {"mask": NONE, "bias": NONE}),
    "positions_of": (masks.positions_of, {"real": MASK}, {}),
    "slopes": (alibi.slopes, {"heads": 2}, {}),
    "frequencies": (
        rotary.inverse_frequencies,
        {"width": 4, "base": 100.0, "scaling": None, "dtype": torch.float64},
        {"width": ZERO, "base": (1.5, 10**30), "scaling": NONE},
    ),
    "temperature": (
        rotary.temperature,
        {"factor": 2.0, "weight": 1.0},
        {"factor": (1.5, 10**30), "weight": (0, -1, 1.5, 10**30, -(10**30))},
    ),
    "attention_factor": (rotary.attention_factor, {"scaling": None}, {"scaling": NONE}),
    "rotate": (
        rotary.rotate,
        {"x": torch.randn(2, 3, 2, 4), "rotation": torch.randn(3, 1, 2, dtype=torch.complex64)},
        {},
    ),
    "halves": (rotary.halves, {"head_size": 4, "rotated": 4}, {"rotated": ZERO}),
    "sinusoids": (sinusoidal.sinusoids, {"positions": PLACES, "width": 4, "layout": "halves"}, {}),
    "bucket": (t5.bucket, {"ahead": PLACES, "buckets": 8, "distance": 16, "bidirectional": True}, {"bidirectional": BOOL}),
    "T5Bias": (T5Bias, {"config": CONFIG, "bidirectional": True}, {"bidirectional": BOOL}),
    "RMSNorm": (norms.RMSNorm, {"width": 4, "eps": 1e-6, "outside": False}, {"eps": (0, 1.5, 10**30), "outside": BOOL}),
    "BatchNorm": (norms.BatchNorm, {"width": 4, "eps": 1e-6, "causal": False}, {"eps": (0, 1.5, 10**30), "causal": BOOL}),
    "InstanceNorm": (norms.InstanceNorm, {"width": 4, "eps": 1e-6}, {"eps": (0, 1.5, 10**30)}),
    "make_norm": (norms.make_norm, {"config": CONFIG}, {}),
    "plain": (lecture.plain_weights, {"x": X}, {}),
    "symmetric": (lecture.symmetric_weights, {"x": X, "u": U[0]}, {}),
    "query_key": (lecture.query_key_weights, {"x": X, "u_q": U[0], "u_k": U[1]}, {}),
    "attend": (lecture.attend, {"weights": torch.eye(4), "x": X}, {}),
    "by_sum": (lecture.heads_by_sum, {"x": X, "u_q": U, "u_k": U, "u_v": U, "u_p": U.mT}, {}),
    "by_concatenation": (lecture.heads_by_concatenation, {"x": X, "u_q": U, "u_k": U, "u_v": U, "u_p": U.mT}, {}),
    "additive_mask": (lecture.additive_mask, {"q": X, "k": X, "mask": torch.ones(4, 4, dtype=torch.bool)}, {}),
    "multiplicative_mask": (lecture.multiplicative_mask, {"q": X, "k": X, "mask": torch.ones(4, 4, dtype=torch.bool)}, {}),
    "linear_attention": (
        lecture.linear_self_attention,
        {"x": X, "w_pv": torch.eye(8), "w_kq": torch.eye(8), "length": 3},
        {"length": (None, 10**30)},
    ),
    "lecture.cost": (
        lecture.cost,
        {"stage": "plain", "tokens": 3, "width": 4, "size": 2},
        dict.fromkeys(("tokens", "width", "size"), (10**30,)),
    ),
    "filtered": (sampling.filtered, {"logits": torch.randn(2, 5), "sampling": nn.Sampling(temperature=1.0)}, {}),
    "choose": (
        sampling.choose,
        {"logits": torch.randn(2, 5), "sampling": nn.Sampling(temperature=1.0), "generator": None},
        {"generator": NONE},
    ),
    "activate": (activate, {"kind": "gelu", "x": X}, {}),
    "logits": (MODEL.logits, {"hidden": torch.randn(2, 3, MODEL.config.width), "padding_mask": MASK}, {"padding_mask": NONE}),
    "StaticCache": (
        nn.StaticCache,
        {"config": CONFIG, "batch": 2, "capacity": 4, "dtype": torch.float32, "device": None},
        {"capacity": NONE, "device": NONE},
    ),
    "advance": (_cache("advance"), {"new": 1}, {"new": ZERO}),
    "advance fixed": (_cache("advance", "fixed"), {"new": 1}, {"new": ZERO}),
    "check_room": (_cache("check_room"), {"new": 1}, {"new": ZERO}),
    "open": (_cache("open"), {"new": 1, "real": None}, {"new": ZERO, "real": NONE}),
    "open ring": (_cache("open", "ring"), {"new": 1, "real": None}, {"new": ZERO, "real": NONE}),
    **{
        f"update {kind}": (_cache("update", kind), {"layer": 0, "k": KV, "v": KV}, {"layer": ZERO})
        for kind in ("static", "ring", "fixed")
    },
    "attention": (
        nn.attention,
        {"q": KV, "k": KV, "v": KV, "causal": True, "need_weights": False, "scale": 1.0},
        {"causal": BOOL, "scale": (None, 0, -1, 1.5, 10**30, -(10**30))},
    ),
    "attention reference": (nn.attention, {"q": KV, "k": KV, "v": KV, "backend": "reference", "scale": -(10**30)}, {
        "scale": (None, 0, -1, 1.5, 10**30, -(10**30)),
    }),
    "ids": (bridge.ids, {"transformer": random_transformer("fixed:4"), "texts": ["01"]}, {}),
    "Session": (nn.Session, {"model": MODEL, "batch": 2, "cache": "static", "packed": False}, {"packed": BOOL}),
    "packed": (small.model(kind="encoder").float(), {"tokens": small.tokens(2, 3), "packed": False}, {"packed": BOOL}),
    **{
        part.__name__: (part, {"config": CONFIG}, {})
        for part in (Alibi, Learned, Rotary, Shaw, Sinusoidal, TransformerXL, FeedForward)
    },
}
SKIPPED = {("activate", "x")}  # what layers call with what they made


def _right(value: Any, good: tuple[Any, ...]) -> bool:
    return any(type(value) is type(other) and value == other for other in good)


def _answer(call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What a call gives, or the sentence by which it refuses."""
    try:
        return call(**given)
    except GlypticError as error:
        sentence = str(error)
    assert sentence.isprintable()
    assert len(sentence) < 500
    return GlypticError


@pytest.mark.parametrize("name", TARGETS)
def test_a_right_call_with_one_bad_argument_is_a_sentence(name: str) -> None:
    call, right, others = TARGETS[name]
    call(**right)
    for argument in right.keys() - {skipped for of, skipped in SKIPPED if of == name}:
        for value in BAD:
            if _right(value, others.get(argument, ())):
                continue
            found = _answer(call, {**right, argument: value})
            fits = isinstance(value, torch.Tensor) and isinstance(found, torch.Tensor)  # a tensor that happens to fit
            assert fits or found is GlypticError, f"{name}({argument}={value!r}) gives {found!r}"


def test_tensors_that_do_not_go_together() -> None:
    with pytest.raises(InputError, match="u_k has shape"):
        lecture.query_key_weights(X, U[0], torch.randn(5, 8))
    with pytest.raises(InputError, match="x float32 and u float64"):
        lecture.symmetric_weights(X, U[0].double())
    with pytest.raises(InputError, match="do not go together"):
        masks.distances(torch.zeros(2, 3).long(), torch.zeros(3, 3).long())
    with pytest.raises(InputError, match="rotation has shape"):
        rotary.rotate(torch.randn(2, 3, 2, 4), torch.ones(3, 1, 4, dtype=torch.complex64))
    with pytest.raises(InputError, match="queries is 5, and must be at most keys=4"):
        masks.causal(5, 4)
    with pytest.raises(InputError, match="must be even"):
        sinusoidal.sinusoids(PLACES, 5)
    with pytest.raises(InputError, match="distance is 2"):
        t5.bucket(PLACES, 8, 2, bidirectional=True)
    with pytest.raises(InputError, match="rotated is 3"):
        rotary.halves(4, 3)


def test_what_is_not_true_or_false_overwrites_nothing(tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="overwrite is 'no', and must be True or False"):
        nn.save(MODEL, tmp_path, overwrite="no")  # type: ignore[arg-type]
    assert (tmp_path / "config.json").read_text() == "{}"


def test_an_edit_that_no_pass_reaches_is_told() -> None:
    z = "blocks.0.attn.hook_z"
    with pytest.raises(InputError, match=r"^'blocks.0.attn.hook_z' was not computed"), nn.edited(MODEL, {z: nn.ablate()}):
        pass
    with nn.edited(MODEL, {z: nn.ablate()}):
        MODEL(small.tokens(1, 3))
    twin = nn.with_backend(MODEL, "sdpa")
    with pytest.raises(InputError, match="through this very model"), nn.edited(MODEL, {"hook_embed": nn.ablate()}):
        twin(small.tokens(2, 3))
    with nn.edited(MODEL, {"hook_embed": nn.ablate()}):
        nn.generate(MODEL, small.tokens(2, 3), 2)
    with pytest.raises(ValueError, match="theirs"), nn.edited(MODEL, {z: nn.ablate()}):
        raise ValueError("theirs")


def test_a_copy_made_within_does_not_keep_an_edit() -> None:
    tokens = small.tokens(1, 3)
    with nn.edited(MODEL, {"hook_embed": nn.ablate()}):
        twin, changed = nn.with_backend(MODEL, "sdpa"), MODEL(tokens)
        assert torch.allclose(twin(tokens), changed, atol=1e-5)
    assert torch.allclose(twin(tokens), MODEL(tokens), atol=1e-5)
    assert not torch.allclose(MODEL(tokens), changed, atol=1e-2)


def test_a_step_is_not_compiled_with_an_edit_in_it() -> None:
    model = small.model(positions="rotary").float()
    session = nn.CompiledSession(model, 1, 4)
    with pytest.raises(ModelError, match="would keep that for good"), nn.edited(model, {"hook_embed": nn.ablate()}):
        session.feed(torch.tensor([[1]]))


@pytest.mark.parametrize("field", ["token_types", "classes", "image_size", "patch_size", "channels", "norm_eps"])
def test_no_size_is_negative_whatever_the_kind(field: str) -> None:
    with pytest.raises(ModelError, match=f"^{field}=-1 must not be negative"):
        small.config(**{field: -1})


def test_what_would_be_left_out_of_a_model_is_refused() -> None:
    with pytest.raises(ModelError, match="rotary_scaling stretches rotary positions, and positions='learned'"):
        small.config(positions="learned", rotary_scaling=nn.RotaryScaling("linear", 2.0))
    with pytest.raises(ModelError, match="encoder_layers is of kind='encoder_decoder'"):
        small.config(encoder_layers=3)


def test_a_capacity_that_a_ring_does_not_have_is_not_ignored() -> None:
    model = small.model(sliding_window=4)
    nn.Session(model, 2, cache="ring")
    with pytest.raises(ModelError, match="leave capacity out"):
        nn.Session(model, 2, 8, cache="ring")
