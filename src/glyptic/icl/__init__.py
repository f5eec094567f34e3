"""In-context linear regression: what a linear transformer learns, exactly, and trained models beside it.

The theory (`icl.theory`) needs numpy and scipy only:

| module | its one idea |
|---|---|
| `problem` | the law of the prompts: Λ, N, Ψ, s² |
| `lsa` | linear self-attention, and the weights that its prediction reads |
| `loss` | the population loss, its gradient and Hessian, exact |
| `optimum` | Γ, the global minimum and L*, in closed form |
| `theorem`, `flow`, `reduced` | the start, gradient flow by (d+1)² equations, and by d + 2 |
| `risk`, `labels`, `simulate` | the risk on any law of (x, y) in three parts; laws to try it on; the same by sampling |
| `shifts`, `random_covariance` | one formula for every shift between training and test |
| `wishart`, `depth` | L layers are L steps of preconditioned gradient descent; the best steps, exactly |
| `quartic`, `profile`, `isotropic`, `landscape` | critical points, spurious minima, where random starts end |
| `heads` | several heads: one convex quadratic, and which minima they lose |
| `separate` | keys and queries as matrices of their own: fixed points, and the staircase of a small start |
| `diversity` | pretraining on T fixed tasks to its limit: risks on these and on new ones |
| `studies`, `pictures` | what the commands of the theory compute and draw |

`names` says what every name means, in commands, functions and files alike. What trains or compares (`icl.experiments`: tasks,
baselines, learners, training, comparisons, sweeps, headline figures) imports torch and scikit-learn, and is loaded only when its
name is used. `figures` holds what both halves use to show results.

>>> from glyptic import icl
>>> problem = icl.Problem(icl.spectrum("inverse", 5), 20)
>>> path = icl.reduced_flow(problem)
>>> bool(path.excess()[-1] < 1e-12)                     # the flow reaches the closed-form minimum
True
"""

from __future__ import annotations

import importlib
from typing import Any

# The theory's names are lifted: icl.loss is the function.
_NAMES = {
    "problem": ("Problem", "ProblemError", "spectrum"),
    "lsa": ("Blocks", "linear_attention", "predict", "prompt"),
    "loss": ("gradient", "hessian", "loss", "loss_and_gradient"),
    "optimum": ("excess", "gamma", "minimum_loss", "optimal_blocks", "optimal_map"),
    "theorem": ("AboveThreshold", "initial_blocks", "pl_constant", "pl_ratio", "threshold"),
    "flow": ("Trajectory", "full_flow"),
    "reduced": ("logistic", "reduced_flow"),
    "risk": ("Moments", "Risk", "estimate_moments", "risk"),
    "labels": ("LabelLaw", "standard_laws"),
    "shifts": ("Shift", "shifted_risk", "standard_shifts"),
    "random_covariance": ("RandomDiagonal", "optimal_map_over"),
    "depth": ("best_descent", "preconditioned_gd", "sparse_lsa"),
    "wishart": ("wishart_moments",),
    "quartic": ("Quartic",),
    "profile": ("Profile",),
    "isotropic": ("isotropic_landscape",),
    "heads": ("ConvexLoss", "head_flows"),
    "separate": ("SeparateFlow", "fixed_points", "head_time", "learnt_shares", "separate_flow", "staircase"),
    "diversity": ("diversity_limit", "diversity_rows", "new_task_risk", "pool_risk", "pretrained_blocks"),
    "landscape": ("basins", "classify", "critical_points", "rank_one_point"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_PARTS = ("theory", "experiments", "figures", "names")

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Load a part of this room, or the module that a public name lives in, at its first use."""
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.theory.{_HOME[name]}"), name)
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_PARTS]
