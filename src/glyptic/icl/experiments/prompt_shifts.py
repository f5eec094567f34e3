"""Prompts that leave the training law: the shifts of Garg et al., each a `PromptShift` that `prompts.sample` takes.

Scales are the paper's: subspace and skew keep E‖x‖² = d, so that only the *shape* of the inputs changes.
"""

from __future__ import annotations

import numpy as np

from glyptic.arguments import shown
from glyptic.icl.experiments.prompts import ORDINARY, Array, PromptShift, gaussian_inputs
from glyptic.icl.theory.problem import ProblemError, finite


def _random_quadrant(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """All examples of a prompt in one random orthant; queries anywhere."""
    signs = rng.choice([-1.0, 1.0], (prompts, 1, d))
    context, query = gaussian_inputs(rng, prompts, N, d)
    return np.abs(context) * signs, query


def _opposite_quadrant(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """All examples of a prompt in one random orthant, all queries in the opposite one."""
    signs = rng.choice([-1.0, 1.0], (prompts, 1, d))
    context, query = gaussian_inputs(rng, prompts, N, d)
    return np.abs(context) * signs, -np.abs(query) * signs


def _transformed(rng: np.random.Generator, context: Array, query: Array, scales: Array) -> tuple[Array, Array]:
    """x ↦ U diag(scales) Uᵀ x with a random rotation U for each prompt, scaled so that E‖x‖² = d."""
    d = len(scales)
    rotation = np.linalg.qr(rng.standard_normal((len(context), d, d)))[0]
    scales = scales * np.sqrt(d / np.sum(scales**2))
    transform = (rotation * scales) @ rotation.transpose(0, 2, 1)
    return context @ transform, query @ transform


def _half_subspace(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """Examples and queries in a random subspace of half the dimensions (rounded up)."""
    scales = (np.arange(d) < (d + 1) // 2).astype(float)
    return _transformed(rng, *gaussian_inputs(rng, prompts, N, d), scales)


def _skewed(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """Covariance with eigenvalues ∝ 1/i² in a random basis."""
    return _transformed(rng, *gaussian_inputs(rng, prompts, N, d), 1.0 / np.arange(1, d + 1))


def _orthogonal_queries(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """Query k is orthogonal to the first k examples; there is none for k ≥ d, and then it is NaN and drops out."""
    context, query = gaussian_inputs(rng, prompts, N, d)
    basis = np.linalg.qr(context[:, : d - 1].transpose(0, 2, 1))[0]  # (B, d, ≤ d−1): column k spans with those before
    query = query.copy()
    for k in range(1, min(N, d - 1) + 1):
        seen = basis[:, :, :k]
        query[:, k] -= np.einsum("bdk,bek,be->bd", seen, seen, query[:, k])
    query[:, d:] = np.nan
    return context, query


def _overlapping_queries(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """Query k repeats one of the first k examples; there is none for k = 0, and then it is NaN and drops out."""
    context, query = gaussian_inputs(rng, prompts, N, d)
    query = query.copy()
    query[:, 0] = np.nan
    for k in range(1, N + 1):
        query[:, k] = context[np.arange(prompts), rng.integers(0, k, prompts)]
    return context, query


def scaled_inputs(factor: float) -> PromptShift:
    """x ~ N(0, factor²·I), examples and queries."""
    finite("factor of the inputs", factor)

    def inputs(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
        context, query = gaussian_inputs(rng, prompts, N, d)
        return factor * context, factor * query

    return PromptShift(f"scale-x:{factor:g}", f"inputs times {factor:g}", inputs)


def scaled_labels(factor: float) -> PromptShift:
    """f ↦ factor·f."""
    finite("factor of the labels", factor)
    return PromptShift(f"scale-y:{factor:g}", f"labels times {factor:g}", label_scale=factor)


def noisy_labels(variance: float) -> PromptShift:
    """N(0, variance) added to the labels of the examples."""
    return PromptShift(f"noise:{variance:g}", f"label noise of variance {variance:g}", extra_noise_variance=variance)


SHIFTS: dict[str, PromptShift] = {
    shift.name: shift
    for shift in (
        ORDINARY,
        PromptShift("random-quadrant", "examples in one orthant", _random_quadrant),
        PromptShift("opposite-quadrant", "queries in the opposite orthant", _opposite_quadrant),
        PromptShift("subspace", "inputs in a half-dimensional subspace", _half_subspace),
        PromptShift("skew", "covariance eigenvalues ∝ 1/i²", _skewed),
        PromptShift("orthogonal-query", "queries orthogonal to the examples", _orthogonal_queries),
        PromptShift("overlapping-query", "queries repeat an example", _overlapping_queries),
        scaled_inputs(0.5),
        scaled_inputs(2.0),
        scaled_labels(0.5),
        scaled_labels(2.0),
        noisy_labels(1.0),
    )
}


def shift_named(name: str) -> PromptShift:
    """The shift of that name; `scale-x:C`, `scale-y:C` and `noise:V` (a variance) take any number.

    >>> shift_named("scale-x:3").explanation
    'inputs times 3'
    """
    if not isinstance(name, str):
        raise ProblemError(f"no shift {shown(name)}; there are {', '.join(SHIFTS)}.")
    if name in SHIFTS:
        return SHIFTS[name]
    kind, _, number = name.partition(":")
    makers = {"scale-x": scaled_inputs, "scale-y": scaled_labels, "noise": noisy_labels}
    try:
        make, value = makers[kind], float(number)
    except (KeyError, ValueError):
        raise ProblemError(f"no shift {shown(name)}; there are {', '.join(SHIFTS)}.") from None
    return make(value)
