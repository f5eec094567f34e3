"""What is refused, each with one sentence that says what and what to do."""

import numpy as np
import pytest

from glyptic.errors import GlypticError, InputError
from glyptic.icl.experiments.over_flow import TrainingRun
from glyptic.icl.experiments.prompt_shifts import shift_named
from glyptic.icl.theory.flow import full_flow
from glyptic.icl.theory.landscape import basins
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import Blocks, linear_attention, predict, prompt
from glyptic.icl.theory.optimum import excess
from glyptic.icl.theory.problem import Problem, spectrum
from glyptic.icl.theory.reduced import reduced_flow
from glyptic.icl.theory.risk import Moments, estimate_moments
from glyptic.icl.theory.shifts import Shift, shifted_risk

PLANE = Problem([1.0, 0.5], 8)
LINE = Blocks([0.0], 1.0, [[1.0]], [0.0])  # weights of dimension 1
START = Blocks([0.0, 0.0], 0.1, 0.1 * np.eye(2), [0.0, 0.0])
SHIFT = Shift("none", np.eye(2), np.eye(2), np.eye(2))

BAD = {
    "singular Λ": (lambda: Problem([[1.0, 1.0], [1.0, 1.0]], 5), "covariance Λ is singular"),
    "negative Λ": (lambda: Problem([1.0, -1.0], 5), "covariance Λ has a negative eigenvalue"),
    "asymmetric Λ": (lambda: Problem([[1.0, 0.5], [0.0, 1.0]], 5), "Λ is not symmetric"),
    "shape of Λ": (lambda: Problem(np.ones((2, 3)), 5), "has shape 2 × 3"),
    "Λ is NaN": (lambda: Problem([1.0, np.nan], 5), "not finite"),
    "N = 0": (lambda: Problem([1.0], 0), "training length N is 0"),
    "N = 2.5": (lambda: Problem([1.0], 2.5), "whole number"),
    "dimension of Ψ": (lambda: Problem([1.0, 1.0], 5, [1.0]), "prior Ψ has dimension 1, but 2"),
    "Ψ = 0": (lambda: Problem([1.0, 1.0], 5, [0.0, 0.0]), "prior Ψ is zero"),
    "negative noise": (lambda: Problem([1.0], 5, noise_variance=-1.0), "noise variance s² is -1.0"),
    "infinite noise": (lambda: Problem([1.0], 5, noise_variance=np.inf), "finite number"),
    "d = 0": (lambda: Problem.isotropic(0, 5), "d is 0"),
    "unknown spectrum": (lambda: spectrum("flat", 3), "isotropic, inverse, kappa:100"),
    "kappa without number": (lambda: spectrum("kappa", 3), "kappa:100"),
    "too few eigenvalues": (lambda: spectrum("1,0.5", 3), "shape 2"),
    "weights of another d": (lambda: loss(Problem([1.0], 5), Blocks([0, 0], 1.0, np.eye(2), [0, 0])), "dimension 2"),
    "blocks that disagree": (lambda: Blocks([0.0], 1.0, np.eye(2), [0.0, 0.0]), "p1 has shape 1"),
    "a NaN weight": (lambda: Blocks([0.0], np.nan, [[1.0]], [0.0]), "p2 has a number that is not finite"),
    "M = 0": (lambda: prompt(np.zeros((0, 2)), [], [1.0, 1.0]), "M = 0"),
    "prompt's parts": (lambda: prompt(np.eye(2), [1.0], [1.0, 1.0]), "parts disagree"),
    "prompt of another d": (
        lambda: predict(Blocks([0], 1.0, [[1]], [0]), np.eye(2), [1.0, 2.0], [1.0, 1.0]),
        "dimension 2, but the weights have dimension 1",
    ),
    "a ragged list": (lambda: Problem([[1.0, 0.0], [1.0]], 5), "covariance Λ is not an array of numbers"),
    "words": (lambda: Moments(["one"], [[1.0]], 0.0), "a is not an array of numbers"),
    "reduced start of another d": (lambda: reduced_flow(PLANE, LINE), "start has dimension 1, but the covariance Λ has 2"),
    "full start of another d": (lambda: full_flow(PLANE, LINE), "start has dimension 1, but the covariance Λ has 2"),
    "times that fall": (lambda: reduced_flow(PLANE, START, [0.0, 2.0, 1.0]), "times have to begin at 0 or later and rise"),
    "times before 0": (lambda: full_flow(PLANE, START, [-1.0, 1.0]), "times have to begin at 0 or later and rise"),
    "no times": (lambda: full_flow(PLANE, START, []), "give at least one"),
    "excess of another d": (lambda: excess(PLANE, LINE), "weights have dimension 1, but the covariance Λ has 2"),
    "inputs in a line": (
        lambda: estimate_moments(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), [1.0, 2.0, 3.0]),
        "covariance Λ of x is singular",
    ),
    "a singular Λ for moments": (
        lambda: estimate_moments(np.ones((3, 2)), [1.0, 2.0, 3.0], np.diag([1.0, 0.0])),
        "covariance Λ of x is singular",
    ),
    "a NaN map": (lambda: shifted_risk(np.full((2, 2), np.nan), SHIFT, 5), "map P has a number that is not finite"),
    "a map of another d": (lambda: shifted_risk(np.eye(3), SHIFT, 5), "map P has shape 3 × 3"),
    "a layer without examples": (lambda: linear_attention(np.ones((2, 1)), *LINE.matrices()), "divides by ρ = 0"),
    "a layer with ρ < 0": (lambda: linear_attention(np.ones((2, 3)), *LINE.matrices(), rho=-1.0), "divides by ρ = -1.0"),
    "a layer of another d": (lambda: linear_attention(np.ones((3, 3)), *LINE.matrices()), "d + 1 have to agree"),
    "starts of NaN": (lambda: basins(PLANE, 3, deviation=np.nan), "deviation is nan"),
    "starts of deviation 0": (lambda: basins(PLANE, 3, deviation=0.0), "deviation is 0.0"),
    "no starts": (lambda: basins(PLANE, 0), "starts is 0"),
    "noise of NaN": (lambda: shift_named("noise:nan"), "noise variance of the shift noise:nan is nan"),
    "noise below 0": (lambda: shift_named("noise:-1"), "noise variance of the shift noise:-1 is -1.0"),
    "an infinite scale of x": (lambda: shift_named("scale-x:inf"), "factor of the inputs is inf"),
    "a scale of y of NaN": (lambda: shift_named("scale-y:nan"), "factor of the labels is nan"),
    "a run on a singular Λ": (lambda: TrainingRun(d=2, spectrum="1,0"), "covariance Λ is singular"),
    "a run with noise of NaN": (lambda: TrainingRun(noise_variance=np.nan), "noise_variance is nan"),
    "a run with noise below 0": (lambda: TrainingRun(noise_variance=-0.5), "noise_variance is -0.5"),
    "a run with N = 0": (lambda: TrainingRun(N=0), "N is 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name):
    make, words = BAD[name]
    with pytest.raises(InputError) as caught:
        make()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message
    assert isinstance(caught.value, GlypticError)


def test_the_command_line_prints_the_sentence(monkeypatch, capsys, tmp_path):
    from glyptic import cli

    monkeypatch.setitem(cli.COMMANDS, "icl flow", ("glyptic.cli.icl.flow:FlowCommand", "gradient flow"))
    assert cli.main(["icl", "flow", "--spectrum", "1,0", "--d", "2", "--out", str(tmp_path / "flow")]) == 2
    captured = capsys.readouterr()
    assert "covariance Λ is singular" in captured.err
    assert "Traceback" not in captured.err
    assert not list(tmp_path.iterdir())
