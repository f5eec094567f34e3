"""Small deciders for the tests of this room, trained in a moment or made by hand."""

from functools import lru_cache

import torch

from glyptic import nn
from glyptic.distill.decider import TrainedDecider, language_task
from glyptic.train import Plan, train

TASK = "regex:(0|1)*1,6,held_out=0"  # ends in 1


def config(**changes):
    task = language_task(TASK)
    return task.config().replace(**{"layers": 1, "width": 6, "heads": 2, "context": 8, "norm": "none", **changes})


@lru_cache(maxsize=1)
def ends_in_one() -> TrainedDecider:
    """Right on every word to length 6 after a few steps; the weights are those of the last one."""
    task = language_task(TASK)
    plan = Plan(steps=300, batch=32, rate=0.01, warmup=10, evaluate=100, reach=1.0)
    trained = train(task, plan, config=config(), progress=False)
    assert trained.rows[-1]["evaluation_wrong"] == 0
    return TrainedDecider("ends-in-1", trained.model, task)  # type: ignore[arg-type]


def untrained(task: str = TASK, seed: int = 0, scale: float = 20.0, **changes) -> TrainedDecider:
    """A decider with random weights, large enough to say different things of different words."""
    found = language_task(task)
    made = config(**changes).replace(vocabulary=len(found.language.alphabet))
    model = nn.build(made, kind="decoder", seed=seed).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter *= scale if parameter.dim() >= 2 else 1.0
            if name.endswith("bias"):
                parameter.normal_(0, 0.3, generator=torch.Generator().manual_seed(seed))
    return TrainedDecider("untrained", model, found)
