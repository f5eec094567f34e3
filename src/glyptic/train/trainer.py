"""The trainer: one loop for every task, on one device or many, that can be stopped anywhere and goes on bit for bit.

    for step in …:
        batch   ← task.batch(seed, step)                    drawn a step ahead, in a thread
        loss    ← task.loss(model, piece)                   for each piece of it; the pieces' shares of the targets add up to 1
        weights ← AdamW(gradient, clipped)                  at the rate of the step
        rows, evaluations, checkpoints                      every so many steps

Nothing else has a state: batches and dropout are functions of (seed, step), so weights, moments and the number of the step are
the whole of a run. With the same plan on one device, a run that was killed ends at the same weights as one that never was.
"""

from __future__ import annotations

import math
import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from glyptic.arguments import FolderToFill, checked
from glyptic.errors import FileError, InputError
from glyptic.files import Content, quoted_path
from glyptic.nn import Model, ModelConfig, build
from glyptic.nn.speed.halves import is_widened
from glyptic.nn.speed.machine import check_memory
from glyptic.progress import progress_bar, tell
from glyptic.train.ahead import Ahead
from glyptic.train.checkpoints import fingerprint
from glyptic.train.distributed import STAGING, NothingSharded, Strategy, Team, joined
from glyptic.train.folders import MOMENTS, STATE, Row, RunFolder, RunProgress, identity_of, refuse_lost, state_file
from glyptic.train.memory import held_by_memory
from glyptic.train.metrics import LogName, MetricsLog, check_logs, open_logs
from glyptic.train.optimizer import adamw, moments
from glyptic.train.plan import Plan
from glyptic.train.schedule import rate_at
from glyptic.train.stepping import run_steps, update
from glyptic.train.task import Minibatch, Task, check_metrics, good_enough, rows_of, targets_in


@dataclass(frozen=True)
class Trained:
    """What a run has come to."""

    model: Model
    """With the weights of the last step, in inference mode; those of the best evaluation are in the run's folder."""
    rows: list[Row]
    """Its metrics, as in metrics.jsonl."""
    step: int
    best: float | None
    """The best value of the task's measure."""
    ended: str
    """patience or reach, if one of these ended it before the last step."""


@checked
def train(
    task: Task,
    plan: Plan | None = None,
    *,
    model: Model | None = None,
    config: ModelConfig | None = None,
    out: FolderToFill | None = None,
    device: str = "auto",
    strategy: Strategy = "ddp",
    logs: Sequence[LogName] = (),
    progress: bool = True,
) -> Trained:
    """Train a model on a task: a given one, in place, or a fresh one of a config, or else of the task's own.

    With `out` it is a run in a folder: what is there already of the same run goes on, another is refused. Under `torchrun` all
    processes call this alike, with an `out` that all of them see; `strategy` says how they share the work.

    >>> from glyptic.train.tasks import registry
    >>> trained = train(registry.open("parity"), Plan(steps=3, batch=8, record=1, evaluate=3), progress=False)
    >>> [row["step"] for row in trained.rows], "evaluation_accuracy" in trained.rows[-1]
    ([1, 2, 3], True)
    """
    plan = plan or Plan()
    if model is not None and config is not None:
        raise InputError("model and config are both given, and only one could have an effect; leave one out.")
    if logs and out is None:
        raise InputError("logs are written into the folder of a run; give out as well.")
    check_logs(logs)
    with joined(strategy, device) as team:
        if team.size < 2 and strategy == "fsdp":
            warnings.warn(NothingSharded(), stacklevel=3)
        if plan.precision == "bfloat16" and team.leads and gains_nothing(team.device):
            warnings.warn(NothingGained(), stacklevel=3)
        if model is None:
            model = build(config or task.config(), seed=plan.seed)
        task.check(model.config)
        folder = None if out is None else RunFolder(Path(out))
        with ExitStack() as held:
            return _Trainer(task, plan, model, folder, team, held).run(logs, progress)


def gains_nothing(device: torch.device) -> bool:
    """Whether bfloat16 is measured to be no faster than float32 there: then products stay in float32, which is never slower."""
    return device.type == "cpu" and is_widened(torch.bfloat16)


class NothingGained(UserWarning):
    """A precision that is no faster on this processor."""

    def __str__(self) -> str:
        return "precision is bfloat16, which this processor multiplies no faster than float32, so this run is in float32."


class Objective(nn.Module):
    """The loss as a module, so that those who wrap modules (DDP, FSDP, torch.compile) wrap all that a task does with a model."""

    def __init__(self, model: Model, task: Task, smoothing: float) -> None:
        super().__init__()
        self.model, self.task, self.smoothing = model, task, smoothing

    def forward(self, inputs: tuple[Tensor, ...] = (), targets: Tensor | None = None, evaluate: int | None = None) -> Any:
        """The loss of a piece; or, of a seed to evaluate with, metrics: then too the weights are gathered by who wraps this."""
        if evaluate is not None or targets is None:
            return self.task.evaluate(self.model, evaluate or 0)
        return self.task.loss(self.model, Minibatch(inputs, targets, 0), self.smoothing)


class _Trainer:
    """A run while it runs."""

    def __init__(
        self, task: Task, plan: Plan, model: Model, folder: RunFolder | None, team: Team, held: ExitStack
    ) -> None:
        self.task, self.plan, self.model, self.folder, self.team = task, plan, model, folder, team
        self.places = team.rows(plan.batch, plan.accumulate)
        self.halves = plan.precision == "bfloat16" and not team.leaders(gains_nothing(team.device))  # one answer for all
        self.rows: list[Row] = []
        self.told = False  # whether the file of metrics holds all rows but those to come
        self.progress = self._open(held)
        model.to(team.device)
        self.objective = Objective(model, task, plan.smoothing)
        self.wrapped = team.wrap(self.objective, _blocks(model))
        self.step = torch.compile(self.wrapped) if plan.compile else self.wrapped
        self.optimizer = adamw(model, plan)
        if folder is not None and self.progress.step:
            self._restore_moments(folder)
        self.logs: list[MetricsLog] = []
        self.norm, self.since = 0.0, (time.perf_counter(), self.progress.tokens)

    def run(self, logs: Sequence[LogName], shown: bool) -> Trained:
        first, steps = self.progress.step, self.plan.steps
        if first < steps and not self.progress.ended:
            self.bar = progress_bar(total=steps, initial=first, desc="training", disable=not (shown and self.team.leads))
            with ExitStack() as stack:
                stack.enter_context(torch.random.fork_rng(devices=[]))
                self.batches = stack.enter_context(Ahead(self._draw, steps))
                if self.folder is not None and self.team.leads:
                    self.logs = open_logs(logs, self.folder.place, first)
                for log in self.logs:
                    stack.callback(log.close)
                self.model.train()
                self.clock = time.perf_counter()
                run_steps(first, steps, self._advance, self._after, self.bar)
        done = self.progress
        return Trained(self._whole(), self.rows, done.step, done.best, done.ended)

    # ------------------------------------------------------------------ a step

    def _draw(self, step: int) -> Minibatch:
        with held_by_memory(f"a batch of {self.plan.batch:,} sequences of {self.task.name}", "use a smaller batch"):
            return self.task.batch(self.plan.seed, step, self.plan.batch)

    def _advance(self, step: int, interrupted: Callable[[], bool]) -> bool:
        """One step of the optimizer; whether anybody has interrupted the run."""
        plan, batch = self.plan, self.batches.take(step)
        rate = rate_at(step, plan.rate, plan.steps, plan.warmup, plan.schedule)
        stop = False

        def backward() -> float:
            nonlocal stop
            own = self._backward(batch, step)
            loss, asked = self.team.total(own, float(interrupted()))
            stop = asked > 0
            return loss

        what, remedy = self._size_of_a_step(batch)
        with held_by_memory(what, remedy):
            loss, self.norm = update(
                self.model.parameters(), self.optimizer, rate, plan.clip, backward, step, self._remedy()
            )
        now = time.perf_counter()
        seconds, self.clock = self.progress.seconds + now - self.clock, now
        losses, tokens = [*self.progress.losses, loss], self.progress.tokens + batch.tokens
        self.progress = replace(self.progress, step=step + 1, losses=losses, tokens=tokens, seconds=seconds)
        return stop

    def _size_of_a_step(self, batch: Minibatch) -> tuple[str, str]:
        """How large a step is, in words, and what makes it smaller; what no memory of this machine holds is refused before."""
        config, first = self.model.config, batch.inputs[0]
        rows = max(rows.stop - rows.start for rows in self.places)
        what = f"a step on {rows:,} sequences at once"
        remedy = "use a smaller batch, or cut it into more pieces (accumulate)"
        if self.team.device.type == "cpu" and first.dim() in (2, 3):  # of tokens or vectors; each layer keeps its residual stream
            check_memory(4 * config.layers * config.width * rows * first.shape[1], what, remedy)
        return what, remedy

    def _backward(self, batch: Minibatch, step: int) -> float:
        """Gradients of the mean over all targets of the batch; this process's share of the loss."""
        targets, loss = targets_in(batch), 0.0
        for index, rows in enumerate(self.places):
            piece = rows_of(batch, rows)
            share = targets_in(piece) / max(1, targets)
            if not share:
                raise InputError(f"the task {self.task.name} gives sequences without a target, at step {step}.")
            torch.manual_seed(_seed_of(self.plan.seed, step, index, self.team.rank))  # dropout's
            with self.team.exchanging(self.wrapped, gradients=index + 1 == len(self.places)):
                with self._autocast():
                    part = share * self.step(*self._on_device(piece))
                (self.team.size * part).backward()  # processes average their gradients
            loss += part.item()
        return loss

    def _on_device(self, piece: Minibatch) -> tuple[tuple[Tensor, ...], Tensor]:
        device = self.team.device
        return tuple(tensor.to(device, non_blocking=True) for tensor in piece.inputs), piece.targets.to(device)

    def _autocast(self) -> Any:
        if not self.halves:
            return nullcontext()
        return torch.autocast(self.team.device.type, torch.bfloat16)

    # ------------------------------------------------------------------ after a step

    def _after(self, step: int, stop: bool) -> bool:
        """Rows, evaluation and checkpoints that are due; whether the run is to end."""
        plan = self.plan

        def due(every: int) -> bool:
            return step % every == 0 or step == plan.steps

        row: Row = self._row(step) if due(plan.record) else {}
        begun = time.perf_counter()
        if due(plan.evaluate):
            row |= self._evaluate()
        if row:
            self.rows.append({"step": step, **row})
            self._tell()
        if due(plan.save) or stop or self.progress.ended:
            self._save()
        since, before = self.since  # tokens/s is that of the steps alone
        self.since = since + time.perf_counter() - begun, before
        return bool(self.progress.ended)

    def _row(self, step: int) -> Row:
        done, (since, before) = self.progress, self.since
        loss, now = float(np.mean(done.losses)), time.perf_counter()
        speed = (done.tokens - before) / (now - since)
        self.progress, self.since = replace(done, losses=[]), (now, done.tokens)
        self.bar.set_postfix_str(f"loss {loss:.4g}, {speed:,.0f} tokens/s", refresh=False)
        rate = rate_at(step - 1, self.plan.rate, self.plan.steps, self.plan.warmup, self.plan.schedule)
        return {
            "loss": loss,
            "rate": rate,
            "gradient_norm": self.norm,
            "tokens": done.tokens,
            "seconds": round(done.seconds, 3),
            "tokens_per_second": round(speed, 1),
        }

    def _evaluate(self) -> Row:
        """Metrics on held-out data; the best weights are saved, and what ends a run early is noted."""
        remedy = f"after step {self.progress.step} the weights are of no use; {self._remedy()}"
        with held_by_memory(f"an evaluation of {self.task.name}", "use a smaller task, or a smaller model"):
            evaluated = _evaluated(self.objective, self.task, self.plan.seed, remedy)
        found = self.team.leaders(evaluated)
        if self.team.sharded:
            self.wrapped.reshard()
        measure, done = self.task.measure, self.progress
        value = found[measure]
        better = math.isfinite(value) and (done.best is None or not good_enough(measure, done.best, value))
        stale = 0 if better else done.stale + 1
        best = value if better else done.best
        reached = self.plan.reach is not None and good_enough(measure, value, self.plan.reach)
        impatient = self.plan.patience is not None and stale >= self.plan.patience
        ended = "reach" if reached else "patience" if impatient else ""
        self.progress = replace(done, best=best, stale=stale, ended=ended)
        if better and self.folder is not None:
            self._write("best")
        tell(self.bar, "evaluation: " + ", ".join(f"{name} {number:.4g}" for name, number in found.items()))
        return {f"evaluation_{name}": number for name, number in found.items()}

    # ------------------------------------------------------------------ files

    def _open(self, held: ExitStack) -> RunProgress:
        """Where the run stands: at its beginning, or at its last checkpoint, whose weights the model is given."""
        if self.folder is None:
            return RunProgress()
        if self.team.leads:
            self.folder.begin(identity_of(self.task, fingerprint(self.model), self.model.config, self.plan))
            held.enter_context(self.folder.held())
        self.team.wait()
        progress = self.folder.progress()
        if progress is None:
            return RunProgress()
        if progress.step > self.plan.steps:
            place = quoted_path(self.folder.place / "last")
            raise FileError(f"{place} is at step {progress.step}, and the run has {self.plan.steps}; remove it to start anew.")
        if self.team.leads:
            self.folder.tidy(path.name for path in self.folder.moments())
        self.team.wait()
        self.folder.restore_weights(self.model)
        self.rows = [row for row in self.folder.rows() if row["step"] <= progress.step]
        return progress

    def _restore_moments(self, folder: RunFolder) -> None:
        folder.check_moments()
        try:
            self.team.restore(self.model, self.optimizer, folder.moments(), folder.read_moments)
        except (KeyError, ValueError, RuntimeError, TypeError) as error:
            if isinstance(error, FileError):
                raise
            place = quoted_path(folder.place / "last")
            said = f"the optimizer's moments in {place} are not those of its weights: remove that folder to start anew."
            raise FileError(said) from None
        refuse_lost(_own_moments(self.model, self.optimizer), folder.place / "last")
        self.team.wait()  # nobody writes before all have read

    def _write(self, which: Any) -> None:
        """A checkpoint: all processes take part, one writes."""
        assert self.folder is not None
        weights = self.team.weights(self.model)
        beside: dict[str, Content] = dict(self.task.files())
        if which == "last":
            moments = self.team.moments(self.model, self.optimizer, self.folder.place, MOMENTS)
            beside |= {**moments, STATE: state_file(self.progress, moments)}
        if self.team.leads:
            self.folder.check_there()
            self.folder.save(which, self.model.config, weights, beside)
            shutil.rmtree(self.folder.place / STAGING, ignore_errors=True)

    def _save(self) -> None:
        if self.folder is not None:
            self._write("last")

    def _tell(self) -> None:
        if self.folder is not None and self.team.leads:
            self.folder.check_there()
            if not (self.told and self.folder.add_row(self.rows[-1])):  # what is there first may be of steps done again
                self.folder.write_rows(self.rows)
            self.told = True
        for log in self.logs:
            log.write(self.rows[-1])

    def _remedy(self) -> str:
        """For the sentence of a run that has diverged: what helps, and what is left of it."""
        place = None if self.folder is None else self.folder.place / "last"
        kept = f"; the last checkpoint, in {quoted_path(place)}, is kept" if place is not None and place.exists() else ""
        return f"use a smaller rate than {self.plan.rate:g}{kept}"

    def _whole(self) -> Model:
        """The model with all of its weights, on the CPU; where they are in shards, on the first process."""
        if not self.team.sharded:
            return self.model.cpu().eval()
        weights, model = self.team.weights(self.model), build(self.model.config)
        if weights:
            model.load_state_dict(weights)
        return model.eval()


def _evaluated(objective: Objective, task: Task, seed: int, remedy: str) -> Mapping[str, float]:
    """Metrics of the weights as they are."""
    before = objective.training
    objective.eval()
    with torch.no_grad():
        found = objective(evaluate=seed)
    objective.train(before)
    return check_metrics(task, {name: float(value) for name, value in found.items()}, remedy)


def _own_moments(model: Model, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments, as far as this process has them."""
    return {name: value.to_local() if hasattr(value, "to_local") else value for name, value in moments(model, optimizer).items()}


def _blocks(model: Model) -> list[nn.Module]:
    """What is gathered at a time where weights are in shards: the blocks of each stack."""
    from glyptic.nn.parts.block import Block

    return [module for module in model.modules() if isinstance(module, Block)]


def _seed_of(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
