"""Training: tasks, one trainer, runs that can be stopped anywhere, on one device and on many.

    trainer                   the loop: begin there to read
    task, tasks/              what a task is: batches, a loss, an evaluation; those that there are, opened by name (registry)
    plan, schedule            everything that decides a run besides the task and the model; the rate
    stepping, interruption    one step after another, Ctrl-C between two of them; one step
    optimizer, ahead          AdamW; batches drawn a step ahead
    folders, checkpoints      a run as a folder; a small one in a file
    distributed               the processes that torchrun starts
    metrics, evaluation       rows told to others; how well a run's model does
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.train.evaluation import evaluate as evaluate
    from glyptic.train.folders import RunFolder as RunFolder
    from glyptic.train.folders import load_run as load_run
    from glyptic.train.plan import Plan as Plan
    from glyptic.train.task import IGNORED as IGNORED
    from glyptic.train.task import Minibatch as Minibatch
    from glyptic.train.task import Task as Task
    from glyptic.train.trainer import Trained as Trained
    from glyptic.train.trainer import train as train
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
