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
| `depth` | L layers are L steps of preconditioned gradient descent; the best steps, exactly |
| `quartic`, `profile`, `isotropic`, `landscape` | critical points, spurious minima, where random starts end |
| `heads` | several heads: one convex quadratic, and which minima they lose |
| `separate` | keys and queries as matrices of their own: fixed points, and the staircase of a small start |
| `diversity` | pretraining on T fixed tasks to its limit: risks on these and on new ones |
| `studies`, `pictures` | what the commands of the theory compute and draw |

`names` says what every name means, in commands, functions and files alike. What trains or compares (`icl.experiments`: tasks,
baselines, learners, training, comparisons, sweeps, headline figures) imports torch and scikit-learn, and is loaded only when its
name is used.

>>> from glyptic import icl
>>> problem = icl.Problem(icl.spectrum("inverse", 5), 20)
>>> path = icl.reduced_flow(problem)
>>> bool(path.excess()[-1] < 1e-12)                     # the flow reaches the closed-form minimum
True
"""

from typing import TYPE_CHECKING

# The theory's names are lifted: icl.loss is the function.
if TYPE_CHECKING:
    from glyptic.icl import experiments as experiments
    from glyptic.icl import names as names
    from glyptic.icl import theory as theory
    from glyptic.icl.theory.depth import best_descent as best_descent
    from glyptic.icl.theory.depth import preconditioned_gd as preconditioned_gd
    from glyptic.icl.theory.depth import sparse_lsa as sparse_lsa
    from glyptic.icl.theory.depth import wishart_moments as wishart_moments
    from glyptic.icl.theory.diversity import diversity_limit as diversity_limit
    from glyptic.icl.theory.diversity import diversity_rows as diversity_rows
    from glyptic.icl.theory.diversity import new_task_risk as new_task_risk
    from glyptic.icl.theory.diversity import pool_risk as pool_risk
    from glyptic.icl.theory.diversity import pretrained_blocks as pretrained_blocks
    from glyptic.icl.theory.flow import Trajectory as Trajectory
    from glyptic.icl.theory.flow import full_flow as full_flow
    from glyptic.icl.theory.heads import ConvexLoss as ConvexLoss
    from glyptic.icl.theory.heads import head_flows as head_flows
    from glyptic.icl.theory.isotropic import isotropic_landscape as isotropic_landscape
    from glyptic.icl.theory.labels import LabelLaw as LabelLaw
    from glyptic.icl.theory.labels import standard_laws as standard_laws
    from glyptic.icl.theory.landscape import basins as basins
    from glyptic.icl.theory.landscape import classify as classify
    from glyptic.icl.theory.landscape import critical_points as critical_points
    from glyptic.icl.theory.landscape import rank_one_point as rank_one_point
    from glyptic.icl.theory.loss import gradient as gradient
    from glyptic.icl.theory.loss import hessian as hessian
    from glyptic.icl.theory.loss import loss as loss
    from glyptic.icl.theory.loss import loss_and_gradient as loss_and_gradient
    from glyptic.icl.theory.lsa import Blocks as Blocks
    from glyptic.icl.theory.lsa import linear_attention as linear_attention
    from glyptic.icl.theory.lsa import predict as predict
    from glyptic.icl.theory.lsa import prompt as prompt
    from glyptic.icl.theory.optimum import excess as excess
    from glyptic.icl.theory.optimum import gamma as gamma
    from glyptic.icl.theory.optimum import minimum_loss as minimum_loss
    from glyptic.icl.theory.optimum import optimal_blocks as optimal_blocks
    from glyptic.icl.theory.optimum import optimal_map as optimal_map
    from glyptic.icl.theory.problem import Problem as Problem
    from glyptic.icl.theory.problem import ProblemError as ProblemError
    from glyptic.icl.theory.problem import spectrum as spectrum
    from glyptic.icl.theory.profile import Profile as Profile
    from glyptic.icl.theory.quartic import Quartic as Quartic
    from glyptic.icl.theory.random_covariance import RandomDiagonal as RandomDiagonal
    from glyptic.icl.theory.random_covariance import optimal_map_over as optimal_map_over
    from glyptic.icl.theory.reduced import logistic as logistic
    from glyptic.icl.theory.reduced import reduced_flow as reduced_flow
    from glyptic.icl.theory.risk import Moments as Moments
    from glyptic.icl.theory.risk import Risk as Risk
    from glyptic.icl.theory.risk import estimate_moments as estimate_moments
    from glyptic.icl.theory.risk import risk as risk
    from glyptic.icl.theory.separate import SeparateFlow as SeparateFlow
    from glyptic.icl.theory.separate import fixed_points as fixed_points
    from glyptic.icl.theory.separate import head_time as head_time
    from glyptic.icl.theory.separate import learnt_shares as learnt_shares
    from glyptic.icl.theory.separate import separate_flow as separate_flow
    from glyptic.icl.theory.separate import staircase as staircase
    from glyptic.icl.theory.shifts import Shift as Shift
    from glyptic.icl.theory.shifts import shifted_risk as shifted_risk
    from glyptic.icl.theory.shifts import standard_shifts as standard_shifts
    from glyptic.icl.theory.theorem import AboveThreshold as AboveThreshold
    from glyptic.icl.theory.theorem import initial_blocks as initial_blocks
    from glyptic.icl.theory.theorem import pl_constant as pl_constant
    from glyptic.icl.theory.theorem import pl_ratio as pl_ratio
    from glyptic.icl.theory.theorem import threshold as threshold
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
