"""torch.export takes the models with free batch and length; ONNX files run in onnx's own evaluator and agree."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch.export import Dim, export

from glyptic import nn

SMALL: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "vocabulary": 11, "context": 32}
MODELS: dict[str, nn.ModelConfig] = {
    "gpt2": nn.preset("gpt2", **SMALL),
    "llama": nn.preset("llama", **SMALL, feed_forward_width=24),
    "bert": nn.preset("bert", **SMALL),
    "gpt_neox": nn.preset("gpt_neox", **SMALL, rotary_fraction=0.5),
    "alibi": nn.ModelConfig(kind="decoder", **SMALL, positions="alibi"),
    "shaw": nn.ModelConfig(kind="decoder", **SMALL, positions="shaw", backend="reference", relative_distance=4),
    "transformer_xl": nn.preset("transformer_xl", **SMALL, head_width=8, feed_forward_width=24),
    "t5": nn.preset("t5", **SMALL, head_width=8, feed_forward_width=24),
    "vaswani": nn.preset("vaswani", **SMALL, feed_forward_width=24, dropout=0.0),
    "vit": nn.preset("vit", layers=1, width=16, heads=2, image_size=8, patch_size=4, classes=3),
    "qwen3": nn.preset("qwen3", **SMALL, key_value_heads=1, head_width=8, feed_forward_width=24),
    "gemma": nn.preset("gemma", **SMALL, head_width=8, feed_forward_width=24),
    "opt": nn.preset("opt", **SMALL, feed_forward_width=24, embedding_width=6),
    "deit": nn.preset("deit", layers=1, width=16, heads=2, image_size=8, patch_size=4, classes=3),
}


def inputs_of(config: nn.ModelConfig, batch: int, length: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(batch)
    if config.kind == "vit":
        return (torch.randn(batch, 3, 8, 8, generator=generator),)
    tokens = torch.randint(11, (batch, length), generator=generator)
    return (tokens, tokens[:, 1:].contiguous()) if config.kind == "encoder_decoder" else (tokens,)


class OneInput(torch.nn.Module):
    """Export names its inputs; our models take tokens or images first and the rest by keyword."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens)


class Padded(OneInput):
    def forward(self, tokens: torch.Tensor, real: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return self.model(tokens, padding_mask=real)


class TwoInputs(OneInput):
    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return self.model(source, target)


QUICK = ("gpt2", "t5", "vit")
GRID = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODELS]


@pytest.mark.parametrize("name", GRID)
def test_export_with_free_batch_and_length(name: str) -> None:
    model = nn.build(MODELS[name], seed=0).eval()
    both = model.config.kind == "encoder_decoder"
    shortest = 8 if name == "transformer_xl" else 2  # its products are taken in another order below the width of a head
    batch, length = Dim("batch", min=2, max=64), Dim("length", min=shortest, max=32)
    free: dict[int, Any] = {0: batch} if model.config.kind == "vit" else {0: batch, 1: length}
    shapes = (free, {0: batch, 1: Dim("target", min=2, max=32)}) if both else (free,)
    program = export((TwoInputs if both else OneInput)(model), inputs_of(model.config, 5, 14), dynamic_shapes=shapes)
    for batch_size, size in ((5, 14), (2, 17)):
        inputs = inputs_of(model.config, batch_size, size)
        assert torch.allclose(program.module()(*inputs), model(*inputs), atol=1e-5)


@pytest.mark.parametrize("name", ["alibi", *(pytest.param(n, marks=pytest.mark.slow) for n in ("gpt2", "llama", "bert"))])
def test_export_of_padded_batches(name: str) -> None:
    model = nn.build(MODELS[name], seed=0).eval()
    batch, length = Dim("batch", min=2, max=64), Dim("length", min=2, max=32)

    def inputs(rows: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        (tokens,) = inputs_of(model.config, rows, size)
        return tokens, torch.arange(size) >= torch.arange(rows)[:, None]  # row r has r tokens of padding on the left

    program = export(Padded(model), inputs(5, 14), dynamic_shapes=({0: batch, 1: length},) * 2)
    for rows, size in ((5, 14), (2, 17)):
        tokens, real = inputs(rows, size)
        expected = model(tokens, padding_mask=real)
        assert torch.allclose(program.module()(tokens, real)[real], expected[real], atol=1e-5)


def to_onnx(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
    pytest.importorskip("onnxscript")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.onnx.export(model, inputs, dynamo=True, verbose=False)


SLOW_IN_ONNX = ("vaswani", "bert", "vit", "t5", "alibi", "shaw", "transformer_xl")


@pytest.mark.parametrize("name", ["gpt2", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW_IN_ONNX)])
def test_onnx_agrees(name: str, tmp_path: Any) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    model = nn.with_backend(nn.build(MODELS[name], seed=0).eval(), "reference")
    inputs = inputs_of(model.config, 2, 6)
    program = to_onnx(model, inputs)
    path = tmp_path / "model.onnx"
    program.save(path)
    onnx.checker.check_model(path)
    graph = onnx.load(path)
    feed = {entry.name: tensor.numpy() for entry, tensor in zip(graph.graph.input, inputs, strict=True)}
    (logits,) = ReferenceEvaluator(graph).run(None, feed)
    assert torch.allclose(torch.from_numpy(logits), model(*inputs), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt_neox"])
def test_onnx_s_exporter_refuses_rotary_models(name: str) -> None:
    """Their rotation is a product of complex numbers, which the exporter cannot say. When it can, the page must change."""
    model = nn.with_backend(nn.build(MODELS[name], seed=0).eval(), "reference")
    with pytest.raises(torch.onnx.OnnxExporterError):
        to_onnx(model, inputs_of(model.config, 2, 6))
