"""The learners that in-context learning is measured against, from scikit-learn, each fitted to exactly k examples.

A baseline answers query k from examples 0 … k−1: all of them, and no other. (An off-by-one is easy and flatters the
transformer: with d = 5 and N = 20 the best linear attention has risk 30/26 = 1.154, but 30/25 = 1.200 is what one
example too few gives; `one_example_too_few` shows it.) With no example every baseline answers 0, the prior mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from glyptic.arguments import checked, shown
from glyptic.errors import MissingExtra
from glyptic.icl.experiments.prompts import Array, Prompts, PromptShift, PromptTask
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.names import Variance
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, ProblemError
from glyptic.progress import progress_bar

try:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LassoCV, LinearRegression, Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.tree import DecisionTreeRegressor
except ImportError as error:
    raise MissingExtra("the baselines need scikit-learn: pip install '.[icl]' in Glyptic's folder.") from error

Predict = Callable[[Array, Array, Array], Array]  # x (k, d), y (k,), queries (q, d) -> (q,), for k ≥ least


@dataclass(frozen=True)
class Baseline:
    """A learner that is fitted anew to every prompt."""

    name: str
    label: str
    predict: Predict
    least: int = 1  # fewest examples it can be fitted to; its curve has no point between 0 and this
    slow: bool = False  # tens of milliseconds a fit


def least_squares(x: Array, y: Array, queries: Array) -> Array:
    """The interpolant of least norm while k < d, ordinary least squares from then on."""
    return LinearRegression(fit_intercept=False).fit(x, y).predict(queries)


def averaging(x: Array, y: Array, queries: Array) -> Array:
    """ŵ = 1/k Σ y_i x_i: one step of gradient descent from zero, consistent when x ~ N(0, I)."""
    return queries @ (x.T @ y / len(y))


def nearest_neighbours(x: Array, y: Array, queries: Array) -> Array:
    """The mean label of the 3 nearest examples, or of all while there are fewer."""
    return KNeighborsRegressor(min(3, len(y))).fit(x, y).predict(queries)


def lasso(x: Array, y: Array, queries: Array) -> Array:
    """Penalty by 5-fold cross-validation; leave-one-out while there are fewer than 5 examples."""
    model = LassoCV(alphas=np.logspace(-4, 1, 26), cv=min(5, len(y)), fit_intercept=False, max_iter=20_000)
    return model.fit(x, y).predict(queries)


def tree(x: Array, y: Array, queries: Array) -> Array:
    """CART, grown until its leaves are pure."""
    return DecisionTreeRegressor(random_state=0).fit(x, y).predict(queries)


def boosting(x: Array, y: Array, queries: Array) -> Array:
    """50 boosted trees of depth 4."""
    return GradientBoostingRegressor(n_estimators=50, max_depth=4, random_state=0).fit(x, y).predict(queries)


def network(x: Array, y: Array, queries: Array) -> Array:
    """A two-layer ReLU net of width 100, trained on the prompt by Adam for 300 full-batch steps."""
    settings = {"learning_rate_init": 5e-3, "alpha": 0.0, "max_iter": 300, "random_state": 0}
    return MLPRegressor(hidden_layer_sizes=(100,), batch_size=len(y), **settings).fit(x, y).predict(queries)


@checked
def ridge(penalty: Variance, optimal: bool = False) -> Baseline:
    """Ridge; with penalty s² it is the posterior mean for w ~ N(0, I) and label noise of variance s²: where the labels follow
    that law, and only there, it is Bayes-optimal, whatever the inputs, and `optimal` says so in its label.

    With penalty 0 it is least squares of least norm.
    """

    def predict(x: Array, y: Array, queries: Array) -> Array:
        if penalty == 0.0:
            return least_squares(x, y, queries)
        return Ridge(alpha=penalty, fit_intercept=False).fit(x, y).predict(queries)

    called = f"Bayes-optimal (s² = {penalty:g})" if optimal else f"penalty {penalty:g}"
    return Baseline("ridge", f"ridge, {called}", predict)


BASELINES: dict[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        Baseline("ols", "least squares", least_squares),
        ridge(0.25),
        Baseline("lasso", "Lasso, cross-validated", lasso, least=2, slow=True),
        Baseline("knn", "3 nearest neighbours", nearest_neighbours),
        Baseline("average", "averaging", averaging),
        Baseline("cart", "CART", tree),
        Baseline("boosting", "gradient boosting", boosting, least=2, slow=True),
        Baseline("net", "net trained by Adam", network, slow=True),
    )
}


def baseline_named(name: str, noise_variance: float, optimal: bool = False) -> Baseline:
    """The baseline of that name; ridge gets the task's noise as its penalty, and is called Bayes-optimal if it is."""
    if not isinstance(name, str) or name not in BASELINES:
        raise ProblemError(f"no baseline {shown(name)}; there are {', '.join(BASELINES)}.")
    return ridge(noise_variance, optimal) if name == "ridge" else BASELINES[name]


def ridge_is_optimal(task: PromptTask, shift: PromptShift) -> bool:
    """Whether labels are ⟨w, x⟩ + N(0, s²) with w ~ N(0, I) and the s² that ridge is given, whatever the inputs are.

    >>> from glyptic.icl.experiments.prompt_shifts import shift_named
    >>> [ridge_is_optimal(LinearTask(5), shift_named(name)) for name in ("none", "skew", "scale-y:2", "noise:1")]
    [True, True, False, False]
    """
    return isinstance(task, LinearTask) and shift.label_scale in (1.0, -1.0) and shift.extra_noise_variance == 0


def answers(baseline: Baseline, prompts: Prompts, counts: Sequence[int], progress: bool = False) -> Array:
    """ŷ for every prompt and every number of examples in `counts`: (B, len(counts)); NaN where it cannot be fitted.

    >>> from glyptic.icl.experiments.prompts import sample
    >>> from glyptic.icl.experiments.tasks import LinearTask
    >>> prompts = sample(LinearTask(d=3), np.random.default_rng(0), prompts=4, N=6)
    >>> error = answers(BASELINES["ols"], prompts, [0, 3, 6]) - prompts.target[:, [0, 3, 6]]
    >>> bool(abs(error[:, 1:]).max() < 1e-9)                    # d examples determine a noiseless linear function
    True
    """
    out = np.full((prompts.count, len(counts)), np.nan)
    rows = progress_bar(range(prompts.count), desc=baseline.name, disable=not progress)
    with _without_convergence_warnings():
        for row in rows:
            for column, k in enumerate(counts):
                out[row, column] = _answer(baseline, prompts, row, k)
    return out


def _answer(baseline: Baseline, prompts: Prompts, row: int, k: int) -> float:
    query = prompts.query_x[row, k : k + 1]
    if k > prompts.N:
        raise ProblemError(f"query {k} needs {k} examples, the prompts hold {prompts.N}: draw longer ones.")
    if not np.isfinite(query).all() or 0 < k < baseline.least:
        return np.nan
    if k == 0:
        return 0.0
    return float(baseline.predict(prompts.context_x[row, :k], prompts.context_y[row, :k], query)[0])


def one_example_too_few(problem: Problem) -> dict[str, float]:
    """The risk of the best linear attention with N examples, and what a baseline that drops one of them reports.

    >>> {name: round(risk, 3) for name, risk in one_example_too_few(Problem.isotropic(5, 20)).items()}
    {'N': 1.154, 'N - 1': 1.2}
    """
    if problem.N < 2:
        raise ProblemError("with N = 1 a baseline that drops one example has none left: use N ≥ 2.")
    fewer = Problem(problem.covariance, problem.N - 1, problem.prior, problem.noise_variance)
    return {"N": 2.0 * minimum_loss(problem), "N - 1": 2.0 * minimum_loss(fewer)}


@contextmanager
def _without_convergence_warnings() -> Iterator[None]:
    """Nets and Lasso on a handful of points warn at every fit; what they reach is what the curve shows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
