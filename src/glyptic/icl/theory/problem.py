"""In-context linear regression as a value: who draws the inputs, the tasks and the labels, and how many are shown.

    x_i, x_q ~ N(0, Λ),   w ~ N(0, Ψ),   y_i = ⟨w, x_i⟩ + N(0, s²),   i = 1 … N

The model reads (x_1, y_1), …, (x_N, y_N), x_q and predicts ⟨w, x_q⟩. Everything else in this room is a function of a
`Problem`, so what cannot be answered (a singular Λ, N = 0, a NaN) is refused here, in one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from glyptic.arguments import Count, Number, shown
from glyptic.errors import InputError
from glyptic.showing import Showing

Array = NDArray[np.float64]


class ProblemError(InputError):
    """A regression problem, weight or shift that does not make sense; says which and what to do."""


@dataclass(frozen=True, eq=False)
class Problem(Showing):
    """The law of the prompts: Λ, N, Ψ and s².

    >>> problem = Problem([1.0, 0.5], N=8)         # a vector is read as a diagonal
    >>> problem.d, problem.covariance.shape, problem.label_power
    (2, (2, 2), 1.5)
    >>> Problem([1.0, 0.0], N=8)
    Traceback (most recent call last):
    glyptic.icl.theory.problem.ProblemError: the covariance Λ is singular (smallest eigenvalue 0, largest 1): drop the
    directions that carry no data, or add a small multiple of I.
    """

    covariance: Array
    """Λ, (d, d): of every input x, in the context and at the query. Symmetric, positive definite."""
    N: int
    """N, the training length: labelled examples in a prompt that the model is trained on."""
    prior: Array = None  # type: ignore[assignment]
    """Ψ, (d, d): covariance of the task vector w; the identity by default. Positive semidefinite, not zero."""
    noise_variance: float = 0.0
    """s²: variance of the noise on context labels (the target of the loss, ⟨w, x_q⟩, has none)."""

    def __post_init__(self) -> None:
        covariance = as_square("covariance Λ", self.covariance)
        require_definite("covariance Λ", covariance)
        d = len(covariance)
        prior = np.eye(d) if self.prior is None else as_square("prior Ψ", self.prior, d)
        require_semidefinite("prior Ψ", prior)
        if not np.any(prior):
            raise ProblemError("the prior Ψ is zero, so every task is w = 0: give it at least one positive variance.")
        object.__setattr__(self, "covariance", covariance)
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "N", positive_count("training length N", self.N))
        object.__setattr__(self, "noise_variance", non_negative("noise variance s²", self.noise_variance))
        for name, matrix in (("covariance Λ", covariance), ("prior Ψ", prior)):
            if not 1e-60 < np.abs(matrix).max() < 1e60:  # the loss has its sixth powers
                raise ProblemError(f"the {name} is of size {np.abs(matrix).max():.3g}: change the units, so that it is near 1.")

    @property
    def d(self) -> int:
        """The dimension of the inputs."""
        return len(self.covariance)

    @cached_property
    def label_power(self) -> float:
        """E y² = tr(ΛΨ) + s²: what the label adds to the spread of the context's sample moments."""
        return float(np.sum(self.covariance * self.prior) + self.noise_variance)

    @cached_property
    def signal_power(self) -> float:
        """E⟨w, x_q⟩² = tr(ΛΨ): the risk of always answering 0."""
        return float(np.sum(self.covariance * self.prior))

    @classmethod
    def isotropic(cls, d: int, N: int, variance: float = 1.0, noise_variance: float = 0.0) -> Problem:
        """Λ = variance · I, Ψ = I.

        >>> Problem.isotropic(3, 10).covariance.diagonal()
        array([1., 1., 1.])
        """
        diagonal = np.full(_dimension(d), finite("variance of the inputs", variance))
        return cls(diagonal, N, noise_variance=noise_variance)


def spectrum(name: str, d: int) -> Array:
    """The eigenvalues of Λ by name: "isotropic", "inverse" (1/i), "kappa:100" (geometric, 1 … 1/100), or numbers.

    >>> spectrum("inverse", 3), spectrum("kappa:100", 3), spectrum("2,1", 2)
    (array([1.        , 0.5       , 0.33333333]), array([1.  , 0.1 , 0.01]), array([2., 1.]))
    """
    d = _dimension(d)
    if not isinstance(name, str):
        raise ProblemError(f"the spectrum is {shown(name)}: use isotropic, inverse, kappa:100, or {d} numbers such as 1,0.5.")
    kind, _, argument = name.partition(":")
    try:
        if kind == "isotropic":
            return np.ones(d)
        if kind == "inverse":
            return 1.0 / np.arange(1, d + 1)
        if kind == "kappa":
            return np.geomspace(1.0, 1.0 / Number(least=1, most=1e12)("kappa", float(argument)), d)
        return as_finite("spectrum", [float(part) for part in name.split(",")], (d,))
    except (ValueError, ZeroDivisionError) as error:
        if isinstance(error, InputError):
            raise
        raise ProblemError(
            f"the spectrum {shown(name)} is not known: use isotropic, inverse, kappa:100, or {d} numbers such as 1,0.5."
        ) from None


# ---------------------------------------------------------------- what is refused, each with its sentence


def as_finite(name: str, value: ArrayLike, shape: tuple[int | None, ...] | None = None) -> Array:
    """`value` as float64, every number finite, of this shape (None: any length along that axis).

    >>> as_finite("w", [1.0, float("nan")])
    Traceback (most recent call last):
    glyptic.icl.theory.problem.ProblemError: w has a number that is not finite (nan at index [1]): replace it.
    """
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(f"{name} is not an array of numbers: give numbers, in rows of equal length.") from None
    if shape is not None:
        fits = array.ndim == len(shape) and all(s is None or s == n for s, n in zip(shape, array.shape, strict=False))
        if not fits:
            wanted = " × ".join("any" if s is None else str(s) for s in shape) or "a single number"
            got = " × ".join(map(str, array.shape)) or "a single number"
            raise ProblemError(f"{name} has shape {got}, but the problem's dimensions ask for {wanted}.")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0]
        raise ProblemError(
            f"{name} has a number that is not finite ({array[tuple(where)]} at index {where.tolist()}): replace it."
        )
    return array


def as_square(name: str, value: ArrayLike, d: int | None = None) -> Array:
    """A symmetric (d, d) matrix; a vector is read as its diagonal."""
    array = as_finite(name, value)
    if array.ndim == 1:
        array = np.diag(array)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not 0 < array.shape[0] <= 1000:
        shape = " × ".join(map(str, array.shape)) or "a single number"
        raise ProblemError(f"the {name} has shape {shape}: give a d × d matrix or a vector of d variances, d from 1 to 1000.")
    if d is not None and len(array) != d:
        raise ProblemError(f"the {name} has dimension {len(array)}, but {d} is asked for.")
    if not np.allclose(array, array.T, rtol=1e-10, atol=1e-12 * np.abs(array).max()):
        raise ProblemError(f"the {name} is not symmetric: a covariance equals its transpose.")
    return (array + array.T) / 2


def require_semidefinite(name: str, matrix: Array) -> None:
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -1e-12 * max(abs(eigenvalues[-1]), abs(eigenvalues[0])):
        raise ProblemError(f"the {name} has a negative eigenvalue ({eigenvalues[0]:.3g}): no random vector has it.")


def require_definite(name: str, matrix: Array) -> None:
    require_semidefinite(name, matrix)
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] <= len(matrix) * np.finfo(float).eps * eigenvalues[-1]:
        smallest = max(eigenvalues[0], 0.0)
        raise ProblemError(
            f"the {name} is singular (smallest eigenvalue {smallest:.3g}, largest {eigenvalues[-1]:.3g}): "
            "drop the directions that carry no data, or add a small multiple of I."
        )


def positive_count(name: str, value: Any) -> int:
    """A whole number of at least one: N, M, d."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 1 <= float(value) <= 1e12 or not float(value).is_integer():
        raise ProblemError(f"the {name} is {shown(value)}: it has to be a whole number of at least 1, at most 10¹².")
    return int(float(value))


def length_or_limit(name: str, value: Any) -> float:
    """A length, or infinity: the limit of long prompts."""
    return float("inf") if isinstance(value, float) and value == float("inf") else positive_count(name, value)


def _dimension(value: Any) -> int:
    return Count(1, 1000)("d", value)


def finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not abs(float(value)) <= 1e100:
        raise ProblemError(f"the {name} is {shown(value)}: it has to be a finite number.")
    return float(value)


def non_negative(name: str, value: Any) -> float:
    if finite(name, value) < 0:
        raise ProblemError(f"the {name} is {shown(value)}: it has to be a finite number, 0 or more.")
    return float(value)
