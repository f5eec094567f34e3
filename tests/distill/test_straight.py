"""The pass with gradients has the engine's values, bit for bit, and the gradients of the same pass without rounding."""

import numpy as np
import pytest
import torch

from glyptic.distill.straight import StraightThrough, latents_of, logits_everywhere
from glyptic.errors import GlypticError
from glyptic.exact import Sizes, random_transformer
from glyptic.exact.forward import embed, forward
from glyptic.exact.options import Options
from glyptic.exact.running import prepared_for
from glyptic.exact.stages import Watch, stages
from glyptic.numbers import as_format

FORMATS = ("fixed:2", "fixed:4", "fixed:8", "fixed:8/even", "fixed:12", "float:3,4", "q:3,5", "fp16", "fp8_e4m3")
WORDS = np.random.default_rng(1).integers(0, 2, (6, 9))  # (n, batch)


def made(format: str, seed: int = 0, **options):
    return random_transformer(format, seed=seed, sizes=Sizes(layers=2, heads=2, width=5), options=Options(**options))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "options",
    [{}, {"scale": True}, {"norm": "pre"}, {"attention": "softmax", "norm": "post"}, {"mask": "strict"}],
)  # fmt: skip
def test_every_stage_is_the_engines(format: str, options: dict) -> None:
    T = made(format, **{"attention": "max-subtracted", **options})
    prepared = prepared_for(T, "fast")
    wanted = [stage for stage in stages(T) if stage not in ("logits", "probabilities")]
    theirs, ours = Watch(wanted, prepared.arithmetic.codes), Watch(wanted)
    residual, _ = forward(prepared, embed(prepared, WORDS, 0, theirs), observer=theirs)
    logits = logits_everywhere(T, latents_of(T), as_format(format), WORDS, ours)
    expected = prepared.arithmetic.codes(prepared.arithmetic.linear(prepared.output, residual))
    codes = StraightThrough(T, latents_of(T), as_format(format)).codes
    assert np.array_equal(codes(logits), expected)
    for stage in wanted:
        assert np.array_equal(codes(ours.traced[stage]), theirs.traced[stage]), stage


@pytest.mark.parametrize("products", ["fused", "unrounded"])
def test_other_readings_of_products(products: str) -> None:
    T = made("fixed:6", products=products, attention="max-subtracted")
    prepared = prepared_for(T, "fast")
    residual, _ = forward(prepared, embed(prepared, WORDS))
    expected = prepared.arithmetic.codes(prepared.arithmetic.linear(prepared.output, residual))
    logits = logits_everywhere(T, latents_of(T), as_format("fixed:6"), WORDS)
    assert np.array_equal((logits.numpy() * 64).astype(int), expected)


def test_gradients_are_those_of_the_reals_where_rounding_is_fine_enough() -> None:
    """In fixed:17 the straight-through gradient is that of the unrounded pass, but for errors of rounding."""
    T = made("fixed:17", attention="max-subtracted", scale=True).in_format("fixed:4").in_format("fixed:17")
    gradients = []
    for format in (as_format("fixed:17"), None):
        latents = {name: (latent / 8).requires_grad_() for name, latent in latents_of(T).items()}
        (logits_everywhere(T, latents, format, WORDS)[0] ** 2).sum().backward()
        gradients.append({name: latent.grad for name, latent in latents.items()})
    assert all(gradient is not None and bool(gradient.any()) for gradient in gradients[1].values())
    for name, gradient in gradients[1].items():
        assert (gradient - gradients[0][name]).norm() <= 1e-2 * gradient.norm(), name


def test_the_unrounded_pass_has_true_gradients() -> None:
    """An oracle that we did not write: torch's finite differences."""
    T = random_transformer("fixed:4", sizes=Sizes(layers=1, heads=1, width=3), options=Options(attention="max-subtracted"))
    noise = torch.Generator().manual_seed(0)  # so that no hidden unit is at 0, where relu has no slope
    latents = {
        name: (latent / 4 + torch.rand(latent.shape, generator=noise, dtype=torch.float64) / 8).requires_grad_()
        for name, latent in latents_of(T).items()
    }
    names = list(latents)

    def logits(*values: torch.Tensor) -> torch.Tensor:
        return logits_everywhere(T, dict(zip(names, values, strict=True)), None, WORDS[:3, :2])

    assert torch.autograd.gradcheck(logits, tuple(latents.values()))


@pytest.mark.parametrize(
    ("options", "said"), [({"attention": "leftmost"}, "has no gradient to learn by"), ({"mask": "full"}, "mask='full'")]
)
def test_what_cannot_be_learned_is_refused(options: dict, said: str) -> None:
    T = made("fixed:4", **options)
    with pytest.raises(GlypticError, match=said):
        logits_everywhere(T, latents_of(T), as_format("fixed:4"), WORDS)


def test_no_gradient_passes_where_a_value_is_held_at_b() -> None:
    """A sum of products far beyond B, which further input does not move; and one within, which it does."""
    T = random_transformer("fixed:4", sizes=Sizes(layers=0, width=2), options=Options(answer="logits"))
    latents = {name: torch.zeros_like(latent) for name, latent in latents_of(T).items()}
    latents["token_embedding"] += 10.0
    latents["output"] += torch.tensor([[10.0, 10.0], [0.5, 0.0]])
    for latent in latents.values():
        latent.requires_grad_()
    logits = logits_everywhere(T, latents, as_format("fixed:4"), WORDS[:1, :1])
    assert logits.flatten().tolist() == [float(as_format("fixed:4").max), 5.0]
    logits.sum().backward()
    gradient = latents["output"].grad
    assert gradient is not None and gradient[0].tolist() == [0, 0] and gradient[1].tolist() == [10, 10]
