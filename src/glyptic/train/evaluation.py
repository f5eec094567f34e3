"""How well the model of a run does on data that it was not trained on."""

from __future__ import annotations

import os

import torch

from glyptic.arguments import checked, shown
from glyptic.errors import InputError
from glyptic.train.folders import Which, load_run
from glyptic.train.memory import held_by_memory
from glyptic.train.plan import RunSeed
from glyptic.train.task import check_metrics
from glyptic.train.tasks import registry


@checked
def evaluate(run: str | os.PathLike[str], which: Which = "best", *, seed: RunSeed | None = None) -> dict[str, float]:
    """The metrics of a run's weights on its task's held-out data, drawn from the run's own seed unless told.

    >>> import tempfile
    >>> from glyptic.train import Plan, train
    >>> folder = tempfile.mkdtemp()
    >>> trained = train(registry.open("parity"), Plan(steps=2, batch=8, evaluate=2), out=folder, progress=False)
    >>> evaluate(folder)["balanced"] == trained.best
    True
    """
    folder = load_run(run)
    task, model = registry.open(folder.task), folder.model(which)
    folder.check_data(task)
    task.check(model.config)
    if seed is not None and not getattr(task, "evaluations_draw", True):
        raise InputError(f"seed has no effect on {shown(task.name)}, of which all that is held out is asked; leave it out.")
    with torch.no_grad(), held_by_memory(f"an evaluation of {task.name}", "use another machine, or a smaller task or model"):
        found = task.evaluate(model, folder.plan.seed if seed is None else seed)
    return dict(check_metrics(task, {name: float(value) for name, value in found.items()}))
