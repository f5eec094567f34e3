"""The risk theorem on eight laws of the labels, against sampling; moments estimated; slopes in M and N."""

import numpy as np
import pytest
from tests.icl.theory import random_problem

from glyptic.icl.theory.labels import standard_laws
from glyptic.icl.theory.optimum import optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum
from glyptic.icl.theory.reduced import reduced_flow
from glyptic.icl.theory.risk import Moments, estimate_moments, risk, slope, theorem_bias
from glyptic.icl.theory.simulate import law_sampler, simulated_risk
from glyptic.icl.theory.theorem import initial_blocks

LAWS = [law.name for law in standard_laws(3)]


def check(index, prompts, seed):
    problem, M = random_problem(np.random.default_rng(7), 3, 12), 8
    law = standard_laws(3)[index]
    exact = risk(problem, law.moments(problem.covariance), M).total
    # Sampled from the transformer itself, `predict` on all blocks, not from bᵀPx_q.
    found = simulated_risk(optimal_blocks(problem), law_sampler(law, problem.covariance), M, prompts, seed)
    assert abs(found.sigmas(exact)) < 3


@pytest.mark.parametrize(("prompts", "seed"), [(100_000, 50), pytest.param(1_000_000, 0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("index", range(len(LAWS)), ids=LAWS)
def test_theorem_against_sampling(index, prompts, seed):
    check(index, prompts, index + seed)


def test_every_part_is_needed():
    """Without the variance or the bias the sampled risk is off by far more than the tolerance."""
    problem, law = Problem(spectrum("inverse", 3), 6), standard_laws(3)[1]
    parts = risk(problem, law.moments(problem.covariance), 8)
    found = simulated_risk(optimal_map(problem), law_sampler(law, problem.covariance), 8, 100_000, seed=1)
    assert abs(found.sigmas(parts.total)) < 3
    assert abs(found.sigmas(parts.total - parts.bias)) > 5
    assert abs(found.sigmas(parts.total - parts.variance)) > 5


@pytest.mark.parametrize("index", range(len(LAWS)), ids=LAWS)
def test_moments_against_a_sample(index):
    problem = random_problem(np.random.default_rng(7), 3, 12)
    law, rng = standard_laws(3)[index], np.random.default_rng(index)
    x = rng.standard_normal((400_000, 3)) @ np.linalg.cholesky(problem.covariance).T
    exact, found = law.moments(problem.covariance), estimate_moments(x, law.sample(rng, x), problem.covariance)
    size = np.linalg.norm(exact.xy_covariance)
    np.testing.assert_allclose(found.a, exact.a, atol=0.02 * np.sqrt(size))
    np.testing.assert_allclose(found.xy_covariance, exact.xy_covariance, atol=0.06 * size)
    # Estimated moments are good enough to put in the theorem; a sample counts the noise in its floor.
    assert risk(problem, found, 8).with_noise == pytest.approx(risk(problem, exact, 8).with_noise, rel=0.03, abs=0)


@pytest.mark.parametrize("index", range(len(LAWS)), ids=LAWS)
def test_the_noise_is_what_is_left_of_the_label_beyond_its_mean(index):
    """A risk never counts it: E(ŷ − y)² is the risk and the noise."""
    law, rng = standard_laws(3)[index], np.random.default_rng(index)
    x = rng.standard_normal((200_000, 3))
    rest = (law.sample(rng, x) - law.mean(x)) ** 2
    assert abs(rest.mean() - law.moments(np.eye(3)).noise_variance) <= 4 * rest.std() / np.sqrt(len(rest))


def test_the_three_norms_of_the_paper_are_the_bias():
    rng = np.random.default_rng(0)
    problem, a = random_problem(rng, 4, 9), rng.standard_normal(4)
    # Γ and Λ commute, so the paper's weighted norms are well defined.
    bias = risk(problem, Moments(a, np.eye(4), 0.0), 5).bias
    assert theorem_bias(problem, a) == pytest.approx(bias, rel=1e-10, abs=0)
    with pytest.raises(ProblemError, match="Ψ = I"):
        theorem_bias(Problem([1.0, 0.5], 5, [2.0, 1.0]), [1.0, 1.0])


def test_bias_of_the_trained_model_falls_as_N_squared():
    """The weights come from the flow, not from the closed form."""
    lengths, w = [40, 80, 160, 320, 640], np.array([1.0, -1.0, 0.5])
    biases = []
    for N in lengths:
        problem = Problem(spectrum("inverse", 3), N)
        end = reduced_flow(problem, initial_blocks(problem, 0.3)).end
        lack = end.p2 * end.K.T @ problem.covariance @ w - w
        biases.append(lack @ problem.covariance @ lack)
    assert slope(lengths, biases) == pytest.approx(-2, abs=0.1)


def test_variance_falls_as_one_over_M():
    """The slope of what is sampled, above the floor and the bias."""
    problem, law, lengths = Problem(spectrum("inverse", 3), 30), standard_laws(3)[1], [4, 8, 16, 32, 64]
    moments, P = law.moments(problem.covariance), optimal_map(problem)
    rest = risk(problem, moments, np.inf).total
    sampler = law_sampler(law, problem.covariance)
    sampled = [simulated_risk(P, sampler, M, 200_000 if M > 16 else 50_000, seed=M).mean - rest for M in lengths]
    assert slope(lengths, sampled) == pytest.approx(-1, abs=0.05)


def test_refusals():
    problem, moments = Problem([1.0, 0.5], 8), Moments([1.0, 0.0], np.eye(2), 0.0)
    with pytest.raises(ProblemError, match="test length M is 0"):
        risk(problem, moments, 0)
    with pytest.raises(ProblemError, match="dimension 3"):
        risk(problem, Moments([1.0, 0.0, 0.0], np.eye(3), 0.0), 5)
    with pytest.raises(ProblemError, match="not finite"):
        Moments([1.0, np.inf], np.eye(2), 0.0)
    with pytest.raises(ProblemError, match="more than d"):
        estimate_moments(np.eye(2), [1.0, 2.0])
