"""gradcheck, in float64, of the parts and options that the files of each part do not check beside their formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from glyptic import nn
from glyptic.nn.parts.embeddings import PatchEmbedding
from glyptic.nn.parts.feed_forward import FeedForward
from tests.nn import small

SIZES: dict[str, Any] = {"width": 4, "heads": 2, "layers": 1, "feed_forward_width": 3, "vocabulary": 3}
TOKENS = torch.tensor([[0, 2, 1, 1], [2, 0, 1, 2]])
REAL = torch.tensor([[False, True, True, True], [True, True, False, True]])


def of_parameters(model: Any, run: Callable[[Any], Tensor]) -> bool:
    """gradcheck with respect to every parameter of a model."""
    names = [name for name, _ in model.named_parameters()]

    class Runner(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self) -> Tensor:
            return run(self.model)

    runner = Runner()

    def function(*values: Tensor) -> Tensor:
        replaced = {f"model.{name}": value for name, value in zip(names, values, strict=True)}
        return torch.func.functional_call(runner, replaced, ())

    return gradcheck(function, tuple(model.parameters()), fast_mode=True)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"])
def test_feed_forward_parameters(kind: str, bias: bool) -> None:
    layer = small.scramble(FeedForward(small.config(**SIZES, feed_forward=kind, feed_forward_bias=bias)).double())
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    assert of_parameters(layer, lambda model: model(x))


@pytest.mark.parametrize(
    "fields",
    [
        {"embedding_norm": True, "token_types": 2, "positions": "learned"},
        {"tied": False, "output_bias": True, "output_scale": 0.3},
        {"embedding_scale": True, "positions": "sinusoidal"},
        {"sliding_window": 2, "positions": "rotary", "key_value_heads": 1},
        {"sliding_window": 2, "backend": "reference", "positions": "alibi"},
        {"norm": "group", "norm_groups": 2},
        {"norm": "rms_outside", "norm_place": "post"},
    ],
    ids=str,
)
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_parameters_of_a_decoder(fields: dict[str, Any], padded: bool) -> None:
    model, mask = small.model(**{**SIZES, **fields}), REAL if padded else None
    assert of_parameters(model, lambda m: m(TOKENS, padding_mask=mask) * (REAL[..., None] if padded else 1))


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("positions", ["t5", "shaw", "transformer_xl", "rotary", "alibi"])
def test_parameters_of_an_encoder_s_positions(positions: str, padded: bool) -> None:
    more = {"kind": "encoder", "positions": positions, "relative_buckets": 8}
    model, mask = small.model(**{**SIZES, **more}), REAL if padded else None
    assert of_parameters(model, lambda m: m(TOKENS, padding_mask=mask) * (REAL[..., None] if padded else 1))


@pytest.mark.parametrize("backend", ["reference", "sdpa", "blocked"])
def test_cross_attention_by_its_memory(backend: str) -> None:
    model = small.model(**SIZES, kind="encoder_decoder", backend=backend)
    vectors = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, False], [True, True, True]])[:, None, None]
    assert gradcheck(lambda v: model.hidden(TOKENS, memory=nn.Memory(v, mask)), (vectors,))


def test_patches_by_images_and_parameters() -> None:
    config = small.config(**SIZES | {"vocabulary": None}, kind="vit", image_size=4, patch_size=2, channels=2, head="none")
    patches = small.scramble(PatchEmbedding(config).double())
    images = torch.randn(1, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    assert gradcheck(patches, (images,))
    assert of_parameters(patches, lambda model: model(images.detach()))
