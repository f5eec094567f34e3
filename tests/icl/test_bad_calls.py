"""Bad calls, made by a generator: each is one sentence, never a traceback, a hang or an answer."""

import math
import warnings

import numpy as np
import pytest
from tests.icl.test_names import flags

from glyptic import cli, icl
from glyptic.errors import GlypticError
from glyptic.icl.experiments import (
    baselines,
    bayes,
    comparison,
    decoder,
    learners,
    over_flow,
    prompt_shifts,
    prompts,
    sweeps,
    tasks,
    training,
)
from glyptic.icl.theory import isotropic, labels, profile, quartic, simulate

PLANE = icl.Problem([1.0, 0.5], 6)
START = icl.initial_blocks(PLANE, 0.1)
MOMENTS = icl.standard_laws(2)[0].moments(np.eye(2))
SHIFT = icl.standard_shifts(PLANE)[0]
SAMPLER = simulate.law_sampler(icl.standard_laws(2)[0], np.eye(2))
RNG = np.random.default_rng(0)
PROMPTS = prompts.sample(tasks.LinearTask(2), RNG, 3, 4)

COUNTS = (-1, 0, 2.5, math.nan, math.inf, 10**30, "three", None, [3], True)
POSITIVE = (-1.0, 0.0, math.nan, math.inf, -math.inf, 1e300, "much", [1.0])
NOT_NEGATIVE = tuple(value for value in POSITIVE if value != 0.0)
SEEDS = (-1, 2.5, math.nan, 10**30, "x")
MATRICES = (
    [[1.0, 0.5], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [1.0, -1.0], np.ones((2, 3)), [[1.0], [1.0, 2.0]], [1.0, math.nan],
    [[math.inf, 0.0], [0.0, 1.0]], "I", [], np.zeros((0, 0)), np.eye(3), [[[1.0]]], 1.0, {"a": 1}, [1e200, 1e200],
)  # fmt: skip
SINGULAR = ([[1.0, 1.0], [1.0, 1.0]], [1.0, 0.0], [0.0, 0.0])
SPECTRA = ("", "kappa:", "kappa:0", "kappa:-1", "kappa:nan", "1;2", "1,2,3", "1,nan", None, 3)
OFF = icl.Blocks([1.0, 0.0], 1.0, np.eye(2), [0.0, 0.0])  # p1 ≠ 0
THINGS = (None, 3, "problem", [1.0, 0.5], {})

CALLS = {
    "Problem covariance": (lambda v: icl.Problem(v, 5, np.eye(2)), (*MATRICES, *SINGULAR)),
    "Problem N": (lambda v: icl.Problem([1.0, 0.5], v), COUNTS),
    "Problem prior": (lambda v: icl.Problem([1.0, 0.5], 5, v), (*MATRICES, [0.0, 0.0])),
    "Problem noise": (lambda v: icl.Problem([1.0, 0.5], 5, noise_variance=v), NOT_NEGATIVE),
    "isotropic d": (lambda v: icl.Problem.isotropic(v, 5), COUNTS),
    "isotropic variance": (lambda v: icl.Problem.isotropic(2, 5, v), POSITIVE),
    "spectrum name": (lambda v: icl.spectrum(v, 2), SPECTRA),
    "spectrum d": (lambda v: icl.spectrum("inverse", v), COUNTS),
    "Blocks": (lambda v: icl.Blocks([0.0, 0.0], 1.0, v, [0.0, 0.0]), (np.ones((2, 3)), np.eye(3), "K", [1.0, math.nan], 1.0)),
    "loss problem": (lambda v: icl.loss(v, START), THINGS),
    "loss blocks": (lambda v: icl.loss(PLANE, v), THINGS),
    "gradient": (lambda v: icl.gradient(PLANE, v), THINGS),
    "hessian": (lambda v: icl.hessian(v, START), THINGS),
    "gamma": (icl.gamma, THINGS),
    "optimal_map": (icl.optimal_map, THINGS),
    "optimal_blocks": (icl.optimal_blocks, THINGS),
    "minimum_loss": (icl.minimum_loss, THINGS),
    "excess": (lambda v: icl.excess(PLANE, v), THINGS),
    "initial_blocks sigma": (lambda v: icl.initial_blocks(PLANE, v), POSITIVE),
    "initial_blocks theta": (lambda v: icl.initial_blocks(PLANE, 0.1, v), (np.zeros((2, 2)), np.eye(3), "Θ", [[math.nan]])),
    "pl_constant": (lambda v: icl.pl_constant(PLANE, v), POSITIVE),
    "pl_constant theta": (lambda v: icl.pl_constant(PLANE, 0.1, v), (np.zeros((2, 2)), np.eye(3), "Θ")),
    "threshold": (icl.threshold, THINGS),
    "pl_ratio": (lambda v: icl.pl_ratio(PLANE, v), THINGS),
    "reduced_flow problem": (icl.reduced_flow, THINGS),
    "reduced_flow start": (lambda v: icl.reduced_flow(PLANE, v), (3, "start", [1.0], OFF)),
    "reduced_flow times": (lambda v: icl.reduced_flow(PLANE, START, v), ([], [1.0, 0.5], [-1.0], [math.nan], "t", [[0.0]], 3.0)),
    "reduced_flow rtol": (lambda v: icl.reduced_flow(PLANE, START, None, v), (*POSITIVE, 0.5)),
    "full_flow start": (lambda v: icl.full_flow(PLANE, v), (3, "start", icl.Blocks.from_vector(np.zeros(9)))),
    "full_flow times": (lambda v: icl.full_flow(PLANE, START, v), ([], [1.0, 0.5], [-1.0], [math.nan], "t")),
    "full_flow atol": (lambda v: icl.full_flow(PLANE, START, None, 1e-9, v), (*POSITIVE, 0.5)),
    "logistic sigma": (lambda v: icl.logistic(icl.Problem.isotropic(2, 5), v, [0.0]), POSITIVE),
    "logistic times": (lambda v: icl.logistic(icl.Problem.isotropic(2, 5), 0.1, v), ("t", [math.nan])),
    "risk M": (lambda v: icl.risk(PLANE, MOMENTS, v), [v for v in COUNTS if v != math.inf]),
    "risk moments": (lambda v: icl.risk(PLANE, v, 5), THINGS),
    "Moments a": (lambda v: icl.Moments(v, np.eye(2), 0.0), ("a", [math.nan, 0.0], [1.0], np.eye(2))),
    "Moments sigma": (lambda v: icl.Moments([1.0, 0.0], v, 0.0), MATRICES),
    "Moments floor": (lambda v: icl.Moments([1.0, 0.0], np.eye(2), v), NOT_NEGATIVE),
    "estimate_moments": (lambda v: icl.estimate_moments(v, np.ones(3)), ("x", np.ones((2, 2)), np.ones((3, 2)))),
    "standard_laws": (icl.standard_laws, COUNTS),
    "linear law noise": (lambda v: labels.linear([1.0], v), NOT_NEGATIVE),
    "sign law": (labels.sign, ([0.0, 0.0], "w", [math.nan], 1.0)),
    "shifted_risk P": (lambda v: icl.shifted_risk(v, SHIFT, 5), (np.eye(3), "P", np.full((2, 2), np.nan), 1.0)),
    "shifted_risk M": (lambda v: icl.shifted_risk(np.eye(2), SHIFT, v), [v for v in COUNTS if v != math.inf]),
    "shifted_risk shift": (lambda v: icl.shifted_risk(np.eye(2), v, 5), THINGS),
    "Shift": (lambda v: icl.Shift("s", v, np.eye(2), np.eye(2)), MATRICES[:-1]),
    "Shift noise": (lambda v: icl.Shift("s", np.eye(2), np.eye(2), np.eye(2), v), NOT_NEGATIVE),
    "standard_shifts": (lambda v: icl.standard_shifts(PLANE, v), SEEDS),
    "RandomDiagonal d": (icl.RandomDiagonal, COUNTS),
    "RandomDiagonal moments": (lambda v: icl.RandomDiagonal(2, v), ((1.0, 0.5, 1.0), (1.0, 2.0), "m", (math.nan,) * 3)),
    "RandomDiagonal N": (lambda v: icl.RandomDiagonal(2).trained_map(v), COUNTS),
    "RandomDiagonal p": (lambda v: icl.RandomDiagonal(2).risk(v, 5), (math.nan, math.inf, "p", None)),
    "optimal_map_over": (icl.optimal_map_over, ([], [PLANE, icl.Problem([1.0], 5)], [1, 2])),
    "sparse_lsa": (lambda v: icl.sparse_lsa(np.eye(2), [1, 2], [1, 1], v), ([], [np.eye(3)], [[[1, 2], [0, 1]]], ["A"])),
    "preconditioned_gd": (lambda v: icl.preconditioned_gd(np.eye(2), [1, 2], [1, 1], v), ([], [np.eye(3)], ["A"])),
    "predict": (lambda v: icl.predict(START, v, [1.0, 2.0], [1.0, 1.0]), ("x", np.eye(3), [[math.nan, 0.0], [0.0, 1.0]], 1.0)),
    "best_descent": (lambda v: icl.best_descent(*v), [(0, 5, 1), (2, 0, 1), (2, 5, 0), (2, 5, 13), (2, 5, 1, -1.0)]),
    "wishart_moments": (lambda v: icl.wishart_moments(*v), [(0, 5, 1), (2, -1, 1), (2, 5, -1), (2.5, 5, 1)]),
    "isotropic_landscape": (lambda v: isotropic.isotropic_landscape(*v), [(1, 5), (2, 0), (2, 5, -1.0), (math.nan, 5)]),
    "rank_one_point": (lambda v: icl.rank_one_point(PLANE, v), (-1, 2, 1.5, math.nan, "x")),
    "classify": (lambda v: icl.classify(PLANE, v), (*THINGS, START)),
    "classify tolerance": (lambda v: icl.classify(PLANE, icl.optimal_blocks(PLANE), v), POSITIVE),
    "critical_points tries": (lambda v: icl.critical_points(PLANE, v), (-1, 2.5, math.nan, 10**30, "x")),
    "critical_points seed": (lambda v: icl.critical_points(PLANE, 0, v), SEEDS),
    "basins starts": (lambda v: icl.basins(PLANE, v), COUNTS),
    "basins deviation": (lambda v: icl.basins(PLANE, 2, v), (*POSITIVE, 11.0)),
    "basins seed": (lambda v: icl.basins(PLANE, 2, 0.1, v), SEEDS),
    "Quartic": (quartic.Quartic.of, (icl.Problem(np.ones(6), 5),)),
    "Profile": (profile.Profile.of, (icl.Problem(np.ones(6), 5),)),
    "ConvexLoss": (icl.ConvexLoss.of, (icl.Problem(np.ones(5), 5),)),
    "head_flows heads": (lambda v: icl.head_flows(PLANE, v), (*COUNTS, 17)),
    "head_flows deviation": (lambda v: icl.head_flows(PLANE, 2, 2, v), (*POSITIVE, 11.0)),
    "simulated_risk M": (lambda v: simulate.simulated_risk(np.eye(2), SAMPLER, v, 5), COUNTS),
    "simulated_risk prompts": (lambda v: simulate.simulated_risk(np.eye(2), SAMPLER, 5, v), COUNTS),
    "simulated_risk map": (lambda v: simulate.simulated_risk(v, SAMPLER, 5, 5), ("P", [1.0], [[math.nan]], None)),
    "law_sampler": (lambda v: simulate.law_sampler(icl.standard_laws(2)[0], v), (*MATRICES[:9], *SINGULAR)),
    "exponential_sampler": (simulate.exponential_sampler, COUNTS),
    "task d": (lambda v: tasks.task_named("noisy", v), COUNTS),
    "task name": (lambda v: tasks.task_named(v, 3), ("", "Linear", None, 3)),
    "Linear noise": (lambda v: tasks.LinearTask(3, v), NOT_NEGATIVE),
    "SparseLinear": (lambda v: tasks.SparseLinear(3, v), (*COUNTS, 4)),
    "ReluNet": (lambda v: tasks.ReluNet(3, v), COUNTS),
    "DecisionTree": (lambda v: tasks.DecisionTree(3, v), (*COUNTS, 60)),
    "TaskPool": (tasks.TaskPool, ("w", np.zeros((0, 2)), [1.0], [[math.nan]])),
    "draw_pool": (lambda v: tasks.TaskPool.draw_pool(2, v, 0.5, 0), COUNTS),
    "sample prompts": (lambda v: prompts.sample(tasks.LinearTask(2), RNG, v, 3), COUNTS),
    "sample N": (lambda v: prompts.sample(tasks.LinearTask(2), RNG, 3, v), [v for v in COUNTS if v != 0]),
    "sample huge": (lambda v: prompts.sample(tasks.LinearTask(2), RNG, v, v), (10**6,)),
    "shift name": (prompt_shifts.shift_named, ("", "skewed", "noise:", "noise:-1", "scale-x:inf", "scale-y:nan", None, 3)),
    "anisotropic": (prompts.anisotropic, ("s", [-1.0], [math.nan], 1.0)),
    "baseline": (lambda v: baselines.baseline_named(v, 0.0), ("", "OLS", None, 3)),
    "ridge": (baselines.ridge, NOT_NEGATIVE),
    "answers": (lambda v: baselines.answers(baselines.BASELINES["ols"], PROMPTS, v), ([5], [99])),
    "ridge_answers": (lambda v: bayes.ridge_answers(PROMPTS, v, [2]), NOT_NEGATIVE),
    "discrete_answers": (lambda v: bayes.discrete_answers(PROMPTS, np.eye(2), v, [2]), POSITIVE),
    "discrete_answers pool": (lambda v: bayes.discrete_answers(PROMPTS, v, 0.5, [2]), (np.eye(3), "w", [1.0])),
    "ridge_risk": (lambda v: bayes.ridge_risk(v, 0.5, 3), COUNTS),
    "ridge_risk noise": (lambda v: bayes.ridge_risk(2, v, 3), POSITIVE),
    "LinearAttention": (learners.LinearAttention, THINGS),
    "SoftmaxAttention": (lambda v: learners.SoftmaxAttention(2, v), (0, 3, -1, "x", None)),
    "DeepLinearAttention": (lambda v: learners.DeepLinearAttention(2, v), COUNTS),
    "fixed_points": (icl.fixed_points, THINGS),
    "fixed_points most": (lambda v: icl.fixed_points(PLANE, v), [v for v in COUNTS if v not in (0, None)]),
    "staircase": (icl.staircase, THINGS),
    "learnt_shares": (lambda v: icl.learnt_shares(PLANE, v), (np.eye(3), "X", 1.0, [1.0, 2.0], [[math.nan, 0.0], [0.0, 1.0]])),
    "head_time direction": (lambda v: icl.head_time(PLANE, v, 0.1, 0.2), [v for v in COUNTS if v != 0]),
    "head_time first": (lambda v: icl.head_time(PLANE, 0, v, 0.2), POSITIVE),
    "head_time reached": (lambda v: icl.head_time(PLANE, 0, 0.1, v), (*POSITIVE, 0.05, 5.0)),
    "separate_flow": (icl.separate_flow, THINGS),
    "separate_flow heads": (lambda v: icl.separate_flow(PLANE, v), COUNTS),
    "separate_flow rank": (lambda v: icl.separate_flow(PLANE, 1, v), COUNTS),
    "separate_flow deviation": (lambda v: icl.separate_flow(PLANE, deviation=v), POSITIVE),
    "separate_flow seed": (lambda v: icl.separate_flow(PLANE, seed=v), SEEDS),
    "separate_flow times": (lambda v: icl.separate_flow(PLANE, times=v), ([], [1.0, 0.5], [-1.0], [math.nan], "t", 3.0)),
    "pretrained_blocks": (lambda v: icl.pretrained_blocks(PLANE, v), ([], [1.0], [[0.0, 0.0]], np.eye(3), [[math.inf, 0.0]])),
    "pool_risk pool": (lambda v: icl.pool_risk(PLANE, START, v, 5), ([], [1.0], np.eye(3), "w", None, [[1e200, 0.0]])),
    "pool_risk blocks": (lambda v: icl.pool_risk(PLANE, v, np.eye(2), 5), (*THINGS, OFF)),
    "pool_risk M": (lambda v: icl.pool_risk(PLANE, START, np.eye(2), v), [v for v in COUNTS if v != math.inf]),
    "new_task_risk": (lambda v: icl.new_task_risk(PLANE, v, 5), (*THINGS, OFF)),
    "new_task_risk M": (lambda v: icl.new_task_risk(PLANE, START, v), [v for v in COUNTS if v != math.inf]),
    "diversity_limit tasks": (lambda v: icl.diversity_limit(PLANE, v, 5), COUNTS),
    "diversity_limit M": (lambda v: icl.diversity_limit(PLANE, 5, v), [v for v in COUNTS if v != math.inf]),
    "diversity_rows tasks": (lambda v: icl.diversity_rows(PLANE, [v], 5, 2), COUNTS),
    "diversity_rows draws": (lambda v: icl.diversity_rows(PLANE, [3], 5, v), (*COUNTS, 1)),
    "DecoderSize": (lambda v: decoder.DecoderSize(v), (*COUNTS, 30)),
    "decoder_plan": (lambda v: decoder.decoder_plan(2, 0.5, v, 10), COUNTS),
    "Plan steps": (lambda v: training.PromptPlan(steps=v), COUNTS),
    "Plan rate": (lambda v: training.PromptPlan(rate=v), [v for v in POSITIVE if v != 1e300]),
    "Plan clip": (lambda v: training.PromptPlan(clip=v), [v for v in POSITIVE if v != 1e300]),
    "Plan optimizer": (lambda v: training.PromptPlan(optimizer=v), ("lion", None, 3)),
    "Curriculum": (lambda v: training.Curriculum(1, 3, v), COUNTS),
    "Run N": (lambda v: over_flow.TrainingRun(N=v), COUNTS),
    "Run learner": (lambda v: over_flow.TrainingRun(v), ("", "gpt", None, 3)),
    "Run spectrum": (lambda v: over_flow.TrainingRun(spectrum=v), ("", "flat", "1,0,1,1,1", None)),
    "Comparison": (lambda v: comparison.LearnerComparison(N=v), COUNTS),
    "Comparison task": (lambda v: comparison.LearnerComparison(task=v), ("", "Linear", None)),
    "Comparison baselines": (lambda v: comparison.LearnerComparison(baselines=v), (("svm",), ("ols", ""))),
    "Grid N": (lambda v: sweeps.Grid(N=(v,)), COUNTS),
    "Grid noise": (lambda v: sweeps.Grid(noise_variance=(v,)), NOT_NEGATIVE),
    "Grid measure": (lambda v: sweeps.Grid(v).cells(), ("", "Risk", None)),
}  # fmt: skip
CASES = [(name, index) for name, (_, values) in CALLS.items() for index in range(len(values))]


@pytest.mark.parametrize("name", CALLS)
def test_every_bad_value_is_one_sentence(name):
    call, values = CALLS[name]
    for value in values:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(GlypticError) as caught:
                call(value)
        message = str(caught.value)
        assert "\n" not in message, (name, value)
        assert message.rstrip().endswith((".", "?")), (name, value, message)
        assert len(message) < 500


def test_there_are_hundreds_of_them():
    assert len(CASES) > 500


FLAGS = {
    "icl flow": "d N: count, noise-variance: variance, sigma: positive, spectrum: spectrum",
    "icl risk": "d N M: count, prompts: none, seed: seed, spectrum: spectrum",
    "icl shift": "d N M: count, noise-variance: variance, prompts: none, seed: seed, spectrum: spectrum",
    "icl landscape": "d N starts other-N: count, tries: none, deviation: positive, seed: seed, spectrum: spectrum",
    "icl separate": "d N heads rank: count, noise-variance: variance, deviation: positive, seed: seed, spectrum: spectrum",
    "icl diversity": "d N M tasks draws: count, noise-variance: variance, seed: seed, spectrum: spectrum",
    "icl train": "d N steps batch layers width prompts: count, curriculum: none, noise-variance: variance, rate sigma: positive, "
    "seed: seed, learner optimizer: name, spectrum: spectrum",
    "icl compare": "d N every prompts slow-prompts: count, steps: none, seed: seed, shift baselines task: name",
    "icl sweep": "d N M prompts workers: count, noise-variance: variance, seed: seed, backend table measure: name, "
    "spectrum: spectrum",
    "icl reproduce": "workers: count, backend only: name",
}
TRIED = {
    (name, flag): kind.strip()
    for name, text in FLAGS.items()
    for flags_of_kind, _, kind in (part.partition(":") for part in text.split(","))
    for flag in flags_of_kind.split()
}
WORDS = {
    "count": ("-1", "0", "2.5", "nan", "inf", "1000000000000000000000", "x", ""),
    "none": ("-1", "2.5", "nan", "1000000000000000000000", "x"),
    "variance": ("-1", "nan", "inf", "1e300", "x"),
    "positive": ("-1", "0", "nan", "inf", "1e300", "x"),
    "seed": ("-1", "2.5", "nan", "99999999999999999999999", "x"),
    "spectrum": ("", "flat", "kappa:0", "kappa:nan", "1,0", "1,nan", "\x1b[2J"),
    "name": ("", "nobody", "\x1b[2J", "none,none"),
}


@pytest.mark.parametrize(("name", "flag"), TRIED)
def test_every_bad_flag_is_one_sentence_and_status_2(name, flag, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for word in WORDS[TRIED[name, flag]]:
        try:
            status, ours = cli.main([*name.split(), f"--{flag}", word]), True
        except SystemExit as stop:  # tyro's own refusal of what is no number, or no choice
            status, ours = stop.code, False
        captured = capsys.readouterr()
        assert status == 2, (word, captured.err)
        assert "Traceback" not in captured.err
        assert "did not foresee" not in captured.err
        assert not (ours and "\x1b[2J" in captured.err)
    assert list(tmp_path.iterdir()) == []


def test_every_flag_that_takes_a_value_is_tried():
    """A new flag of a command has to be put into the table above."""
    assert set(TRIED) == {(name, flag.replace("_", "-")) for name, flag, _ in flags() if flag not in ("full", "out")}


def test_every_public_name_of_the_theory_is_tried():
    values = {"AboveThreshold", "LabelLaw", "ProblemError", "Risk", "SeparateFlow", "Trajectory"}
    elsewhere = {"linear_attention", "loss_and_gradient", "prompt"}  # test_problem
    tried = {call.split()[0] for call in CALLS}
    parts = {"experiments", "names", "theory"}
    assert set(icl.__all__) - values - elsewhere - parts <= tried
