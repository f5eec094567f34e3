"""One name, one meaning: what flags of `icl` commands, arguments of their functions and columns of their files say.

Every quantity has its name from the papers, the values that it admits, and a sentence; commands, functions and tables take them
from here, and a test goes over all of them. A risk is always E(ŷ − E[y|x_q])², without the noise of the query's own label.

>>> MEANING["N"]
'training length: labelled examples in a prompt that the model is trained on'
"""

from __future__ import annotations

from typing import Annotated

from glyptic.arguments import Count, Number

RISK = r"risk  $E(\hat y - \langle w, x_q\rangle)^2$"  # on the axis of a figure
MEANING = {
    "d": "dimension of the inputs",
    "N": "training length: labelled examples in a prompt that the model is trained on",
    "M": "test length: labelled examples in a prompt that the model is asked on",
    "spectrum": "eigenvalues of Λ: isotropic, inverse (1/i), kappa:100 (geometric from 1 to 1/100), or d numbers such as 1,0.5",
    "noise_variance": "s²: variance of the noise on the labels of the examples; targets have none",
    "sigma": "σ of Zhang et al.'s start, W^PV = σ diag(0, 1), W^KQ = σ diag(ΘΘᵀ, 0); by default half of the theorem's threshold",
    "deviation": "standard deviation of every weight of a Gaussian start",
    "prompts": "sampled prompts for each estimate",
    "slow_prompts": "prompts for lasso, boosting and net, the first of the others'",
    "seed": "of everything that is drawn",
    "tasks": "numbers T of pretraining tasks; by default from 1 to 16 d",
    "draws": "draws of the T tasks over which risks are averaged",
    "starts": "random starts",
    "tries": "random points from which critical points are searched",
    "other_N": "training lengths for which the spurious minima are listed as well, without flows",
    "every": "a point of the curve at each so many examples",
    "steps": "training steps",
    "batch": "prompts in a training step",
    "rate": "learning rate; by default 0.03 (adam), 0.02 (sgd), 0.002 (decoder)",
    "curriculum": "raise the active dimensions by 1 and the examples by 2 every so many steps; 0 for no curriculum",
    "layers": "layers of a deep learner",
    "width": "width of `decoder`",
    "heads": "heads, each with a key, a query and a value of its own",
    "rank": "rows of every head's key and query matrix",
    "workers": "how many cells are computed at a time; by default one a core, or as many as GLYPTIC_WORKERS says",
    "backend": "where cells are computed: loky, processes of this machine; ray and dask, the cluster that RAY_ADDRESS or "
    "DASK_SCHEDULER_ADDRESS names, or one of this machine; sequential, here",
}  # fmt: skip
"""What each name means wherever it is a flag, an argument or a column."""

COLUMNS = {
    "risk": "E(ŷ − E[y|x_q])², exact unless `learner` says that it is sampled",
    "sampled": "the same quantity, estimated from sampled prompts",
    "standard_error": "of the estimate in the row",
    "sigmas": "standard errors by which the estimate lies above the exact value",
    "k": "examples that were seen before the query",
    "mean": "of the quantity that the row names, over prompts",
    "low": "lower end of its 90 % bootstrap interval",
    "high": "upper end of it",
    "c": "factor by which every input is scaled at test",
}
"""What a column of a file means, besides the names above."""

Dimension = Annotated[int, Count(1, 1000)]
Length = Annotated[int, Count(1, 10**9)]
Variance = Annotated[float, Number(least=0, most=1e100)]
Sigma = Annotated[float, Number(above=0, most=1e100)]
Deviation = Annotated[float, Number(least=1e-100, most=10)]  # beyond 10 flows are too stiff; below, cubes of it are not numbers
PromptCount = Annotated[int, Count(1, 10**8)]
Steps = Annotated[int, Count(1, 10**8)]
