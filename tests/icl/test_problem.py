"""What is refused, each with one sentence that says what and what to do."""

import numpy as np
import pytest

from glyptic.errors import GlypticError
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import Blocks, predict, prompt
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum

BAD = {
    "singular Λ": (lambda: Problem([[1.0, 1.0], [1.0, 1.0]], 5), "covariance Λ is singular"),
    "negative Λ": (lambda: Problem([1.0, -1.0], 5), "covariance Λ has a negative eigenvalue"),
    "asymmetric Λ": (lambda: Problem([[1.0, 0.5], [0.0, 1.0]], 5), "Λ is not symmetric"),
    "shape of Λ": (lambda: Problem(np.ones((2, 3)), 5), "has shape 2 × 3"),
    "Λ is NaN": (lambda: Problem([1.0, np.nan], 5), "not finite"),
    "N = 0": (lambda: Problem([1.0], 0), "training context length N is 0"),
    "N = 2.5": (lambda: Problem([1.0], 2.5), "whole number"),
    "dimension of Ψ": (lambda: Problem([1.0, 1.0], 5, [1.0]), "prior Ψ has dimension 1, but 2"),
    "Ψ = 0": (lambda: Problem([1.0, 1.0], 5, [0.0, 0.0]), "prior Ψ is zero"),
    "negative noise": (lambda: Problem([1.0], 5, noise_variance=-1.0), "noise variance s² is -1.0"),
    "infinite noise": (lambda: Problem([1.0], 5, noise_variance=np.inf), "finite number"),
    "d = 0": (lambda: Problem.isotropic(0, 5), "dimension d is 0"),
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
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence(name):
    make, words = BAD[name]
    with pytest.raises(ProblemError) as caught:
        make()
    message = str(caught.value)
    assert words in message
    assert message.endswith(".")
    assert "\n" not in message
    assert isinstance(caught.value, GlypticError)


def test_the_command_line_prints_the_sentence(monkeypatch, capsys, tmp_path):
    from glyptic import cli

    monkeypatch.setitem(cli.COMMANDS, "icl flow", ("glyptic.cli.icl_flow:Flow", "gradient flow"))
    assert cli.main(["icl", "flow", "--spectrum", "1,0", "--d", "2", "--out", str(tmp_path / "flow")]) == 2
    captured = capsys.readouterr()
    assert "covariance Λ is singular" in captured.err
    assert "Traceback" not in captured.err
    assert not list(tmp_path.iterdir())
