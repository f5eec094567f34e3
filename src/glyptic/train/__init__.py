"""Training: tasks, one trainer, runs that can be stopped anywhere, on one device and on many.

    task          what a task is: batches, a loss, an evaluation
    plan          everything that decides a run besides the task and the model
    tasks/        the tasks themselves, opened by name: registry
    schedule, optimizer, stepping   the rate, AdamW, one step
    trainer       the loop: begin there to read
    folders       a run as a folder: run.json, metrics.jsonl, best/, last/
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glyptic.train.plan import Plan as Plan
    from glyptic.train.task import IGNORED as IGNORED
    from glyptic.train.task import Minibatch as Minibatch
    from glyptic.train.task import Task as Task
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
