"""The trainer against a plain PyTorch loop; accumulation, precision, schedules, ends."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from glyptic import nn
from glyptic.errors import GlypticError, InputError, ModelError
from glyptic.train import IGNORED, Plan, train, trainer
from glyptic.train.evaluation import evaluate
from glyptic.train.plan import TEST
from glyptic.train.schedule import rate_at
from glyptic.train.stepping import Diverged
from glyptic.train.task import side_asked
from glyptic.train.tasks import registry
from tests.train.small import PLAN, Progressions, same


def plain_loop(task: Progressions, plan: Plan) -> tuple[torch.nn.Module, list[float]]:
    """What the trainer is meant to do, in torch alone: no piece of it is used here."""
    model = nn.build(task.config(), seed=plan.seed)
    matrices = [weight for weight in model.parameters() if weight.dim() >= 2]
    others = [weight for weight in model.parameters() if weight.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": plan.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=1.0,
        betas=(plan.beta1, plan.beta2),
        fused=True,
    )

    def factor(step: int) -> float:
        if step < plan.warmup:
            return plan.rate * ((step + 1) / plan.warmup)
        return plan.rate * (0.5 * (1 + math.cos(math.pi * ((step - plan.warmup) / (plan.steps - plan.warmup)))))

    model.train()
    losses = []
    for step in range(plan.steps):
        (tokens, real), targets, _ = task.batch(plan.seed, step, plan.batch)
        for group in optimizer.param_groups:
            group["lr"] = factor(step)
        optimizer.zero_grad()
        torch.manual_seed(int(np.random.SeedSequence([plan.seed, step, 0, 0]).generate_state(1, np.uint64)[0]))
        logits = model(tokens, padding_mask=real)
        loss = F.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, label_smoothing=plan.smoothing
        )
        loss.backward()
        if plan.clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), plan.clip)
        optimizer.step()
        losses.append(loss.item())
    return model, losses


@pytest.mark.parametrize("changes", [{}, {"smoothing": 0.1, "clip": 0.3, "weight_decay": 0.5}, {"clip": None, "seed": 7}])
def test_the_loss_curve_is_that_of_a_plain_loop_step_by_step(changes: dict[str, Any]) -> None:
    plan = replace(PLAN, record=1, **changes)
    trained = train(Progressions(), plan, progress=False)
    model, losses = plain_loop(Progressions(), plan)
    assert [row["loss"] for row in trained.rows] == losses  # to the last bit
    assert same(trained.model, model)


def test_dropout_is_on_and_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    dropped = train(Progressions(), PLAN, progress=False)
    assert torch.equal(before, torch.random.get_rng_state())
    kept = train(Progressions(), PLAN, config=Progressions().config().replace(dropout=0.0), progress=False)
    assert not same(dropped.model, kept.model)


def test_a_batch_in_pieces_has_the_gradient_of_the_whole() -> None:
    """Pieces have different numbers of targets; without dropout only the order of sums differs."""
    config, task = Progressions().config().replace(dropout=0.0), Progressions()
    whole, pieces = (
        train(task, replace(PLAN, accumulate=count, record=1), config=config, progress=False) for count in (1, 4)
    )
    assert [row["loss"] for row in pieces.rows] == pytest.approx([row["loss"] for row in whole.rows], rel=1e-4)
    first = [row["gradient_norm"] for row in (whole.rows[0], pieces.rows[0])]
    assert first[0] == pytest.approx(first[1], rel=1e-5)


def test_it_learns() -> None:
    config = Progressions(5).config().replace(width=32, dropout=0.0)
    trained = train(Progressions(5), replace(PLAN, steps=150, record=15, evaluate=150, rate=1e-2), config=config, progress=False)
    assert trained.rows[-1]["loss"] < 0.75 * trained.rows[0]["loss"]  # the second term cannot be known


def test_rows_have_the_means_since_the_row_before() -> None:
    every = train(Progressions(), replace(PLAN, record=1), progress=False).rows
    some = train(Progressions(), PLAN, progress=False).rows
    losses = [row["loss"] for row in every]
    assert [row["step"] for row in some] == [5, 8, 10, 15, 16, 20, 24]  # records and evaluations
    means = {step: float(np.mean(losses[step - 5 : step])) for step in (5, 10, 15, 20)} | {24: float(np.mean(losses[20:]))}
    assert {row["step"]: row["loss"] for row in some if "loss" in row} == means
    assert [row["step"] for row in some if "evaluation_accuracy" in row] == [8, 16, 24]
    assert some[-1]["tokens"] == sum(Progressions().batch(0, step, 8).tokens for step in range(24))
    assert [row["rate"] for row in every] == [rate_at(step, 3e-3, 24, 4) for step in range(24)]


def test_bfloat16_is_near_float32_and_not_it(monkeypatch) -> None:
    monkeypatch.setattr(trainer, "is_widened", lambda dtype: False)
    exact, rough = (train(Progressions(), replace(PLAN, precision=p), progress=False) for p in ("float32", "bfloat16"))
    assert not same(exact.model, rough.model)
    assert rough.rows[0]["loss"] == pytest.approx(exact.rows[0]["loss"], rel=0.02)
    assert all(weight.dtype == torch.float32 for weight in rough.model.parameters())


@pytest.mark.parametrize(("wide", "told"), [(True, 1), (False, 0)])
def test_who_gains_nothing_by_bfloat16_is_told(wide, told, monkeypatch, recwarn) -> None:
    monkeypatch.setattr(trainer, "is_widened", lambda dtype: wide)
    plain, half = (train(Progressions(), replace(PLAN, precision=p), progress=False) for p in ("float32", "bfloat16"))
    assert same(plain.model, half.model) == wide  # in float32, bit for bit: never slower than that
    said = [str(warning.message) for warning in recwarn if isinstance(warning.message, trainer.NothingGained)]
    assert len(said) == told and all("so this run is in float32" in text for text in said)


@pytest.mark.slow
def test_compiled_steps_are_near_the_others() -> None:
    config = Progressions().config().replace(dropout=0.0)
    plain, fast = (train(Progressions(), replace(PLAN, compile=c), config=config, progress=False) for c in (False, True))
    losses = [[row["loss"] for row in each.rows if "loss" in row] for each in (fast, plain)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


# Schedules ---------------------------------------------------------------------------------------------------------------------


def test_schedules_are_those_of_transformers() -> None:
    """Theirs begin at rate 0, ours a step later on the same line; after the warm-up cosines are equal."""
    from transformers import get_cosine_schedule_with_warmup, get_inverse_sqrt_schedule

    weight = torch.nn.Parameter(torch.zeros(1))

    def theirs(make: Any, **options: int) -> list[float]:
        optimizer = torch.optim.SGD([weight], lr=0.5)
        schedule, found = make(optimizer, **options), []
        for _ in range(50):
            found.append(schedule.get_last_lr()[0])
            optimizer.step()
            schedule.step()
        return found

    cosine = theirs(get_cosine_schedule_with_warmup, num_warmup_steps=10, num_training_steps=50)
    assert [rate_at(step, 0.5, 50, 10) for step in range(10, 50)] == pytest.approx(cosine[10:], rel=1e-12)
    assert [rate_at(step, 0.5, 50, 10) for step in range(9)] == pytest.approx(cosine[1:10], rel=1e-12)
    root = theirs(get_inverse_sqrt_schedule, num_warmup_steps=10)
    assert [rate_at(step, 0.5, 50, 10, "inverse_sqrt") for step in range(49)] == pytest.approx(root[1:], rel=1e-12)


def test_inverse_sqrt_is_vaswanis() -> None:
    width, warmup = 512, 4000
    for n in (1, 100, 3999, 4000, 4001, 100_000):
        formula = width**-0.5 * min(n**-0.5, n * warmup**-1.5)
        assert rate_at(n - 1, (width * warmup) ** -0.5, 10**6, warmup, "inverse_sqrt") == pytest.approx(formula, rel=1e-12)


# Ends --------------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Told(Progressions):
    """Evaluations as they are told, one after another."""

    accuracies: tuple[float, ...] = ()
    done: list[int] = dataclasses.field(default_factory=list)

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        self.done.append(0)
        return {self.measure: self.accuracies[len(self.done) - 1]}


@pytest.mark.parametrize(
    ("accuracies", "measure", "changes", "end"),
    [
        ((0.5, 0.4, 0.6, 0.6, 0.3, 0.9), "accuracy", {"patience": 2}, (10, "patience", 0.6)),
        ((0.5, 0.4, 0.45, 0.9), "loss", {"patience": 3}, (10, "patience", 0.4)),
        ((0.5, 0.4, 0.8), "accuracy", {"reach": 0.8}, (6, "reach", 0.8)),
        ((0.5, 0.4, 0.8), "loss", {"reach": 0.45}, (4, "reach", 0.4)),
        ((0.1, math.nan, 0.2, 0.1, 0.1), "accuracy", {}, (10, "", 0.2)),
        ((math.nan, 0.1, math.inf, 0.2, 0.1), "accuracy", {}, (10, "", 0.2)),
    ],
)
def test_a_run_ends_when_it_is_good_or_no_longer_better(
    accuracies: tuple[float, ...], measure: str, changes: dict[str, Any], end: tuple[int, str, float]
) -> None:
    plan = replace(PLAN, steps=10, evaluate=2, **changes)
    accuracies = (*accuracies, *[accuracies[-1]] * 5) if measure == "accuracy" else (*accuracies, 9.0, 9.0)
    trained = train(Told(measure=measure, accuracies=accuracies), plan, progress=False)
    assert (trained.step, trained.ended, trained.best) == end


@dataclasses.dataclass(frozen=True)
class Breaks(Progressions):
    """The loss becomes NaN, or only its gradient does, at a step."""

    at: int = 15
    gradient: bool = False
    seen: list[int] = dataclasses.field(default_factory=list)

    def loss(self, model: Any, batch: Any, smoothing: float = 0.0) -> torch.Tensor:
        self.seen.append(0)
        loss = super().loss(model, batch, smoothing)
        if len(self.seen) - 1 != self.at:
            return loss
        return loss + (0.0 * next(model.parameters())).abs().sqrt().sum() if self.gradient else loss * math.nan


@pytest.mark.parametrize("gradient", [False, True])
def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(tmp_path: Any, gradient: bool) -> None:
    plan, said = replace(PLAN, save=5), "norm of the gradient" if gradient else "loss"
    with pytest.raises(Diverged, match=rf"the {said} is nan at step 15: use a smaller rate than 0.003; the last .* is kept\."):
        train(Breaks(gradient=gradient), plan, out=tmp_path / "run", progress=False)
    good = train(Told(accuracies=(0.0, 0.0, 1.0)), replace(PLAN, evaluate=5, reach=1.0), progress=False)
    assert good.step == 15 and same(nn.load(tmp_path / "run" / "last"), good.model)


def test_weights_that_say_nothing_of_held_out_data_are_no_checkpoint(tmp_path: Any) -> None:
    """One of the logits is the "greatest" even if none is a number: there would be an accuracy, and a best checkpoint."""
    from glyptic.train.evaluation import evaluate
    from glyptic.train.tasks import registry

    place, task = tmp_path / "run", registry.open("tomita:4,8")
    plan = replace(PLAN, rate=1e6, warmup=3, clip=None, schedule="constant", evaluate=1, save=1, record=1)
    with pytest.raises(Diverged, match=r"the loss on held-out data is nan: after step 2 .* the last .* is kept\."):
        train(task, plan, out=place, progress=False)
    rows = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1] and math.isfinite(rows[0]["evaluation_loss"])
    assert all(math.isfinite(evaluate(place, which)["loss"]) for which in ("best", "last"))


# Bad input ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Plan)])
def test_every_field_of_a_plan_refuses_what_nobody_can_mean(field: str) -> None:
    for value in (-1, math.nan, math.inf, 10**30, "", "x", [], b"1", {}):
        if field == "reach" and value in (-1, 10**30):
            continue
        with pytest.raises(InputError, match=field):
            Plan(**{field: value})


def test_what_does_not_fit_is_one_sentence(tmp_path: Any) -> None:
    task = Progressions()
    wrong = task.config().replace(vocabulary=12)
    for call, error, says in [
        (lambda: train(task, config=wrong), ModelError, "vocabulary of 11, not 12"),
        (lambda: train(task, config=wrong, model=nn.build(wrong)), InputError, "both given"),
        (lambda: train(task, logs=["tensorboard"]), InputError, "give out as well"),
        (lambda: train(task, device="tpu"), InputError, "device is 'tpu'"),
        (lambda: train(task, device="cuda:99"), InputError, "device is 'cuda:99'"),
        (lambda: train(task, strategy="zero"), InputError, "strategy is 'zero'"),  # type: ignore[arg-type]
        (lambda: train(task, logs=["paper"], out=tmp_path / "r"), InputError, "logs"),  # type: ignore[list-item]
        (lambda: train(task, 3), InputError, "plan is 3"),  # type: ignore[arg-type]
        (lambda: train(task, step=3), InputError, "no argument step"),  # type: ignore[call-arg]
    ]:
        with pytest.raises(error, match=says) as caught:
            call()
        assert isinstance(caught.value, GlypticError)


def test_sequences_without_a_target_are_refused() -> None:
    class Empty(Progressions):
        def batch(self, seed: int, step: int, size: int) -> Any:
            batch = super().batch(seed, step, size)
            return batch._replace(targets=torch.full_like(batch.targets, IGNORED))

    with pytest.raises(InputError, match="without a target, at step 0"):
        train(Empty(), PLAN, progress=False)


def test_what_goes_wrong_in_the_thread_of_batches_is_told() -> None:
    class Unreadable(Progressions):
        def batch(self, seed: int, step: int, size: int) -> Any:
            if step == 3:
                raise InputError("the data end here.")
            return super().batch(seed, step, size)

    with pytest.raises(InputError, match="the data end here"):
        train(Unreadable(), PLAN, progress=False)


def test_no_seed_of_a_run_is_that_of_a_test(tmp_path: Any) -> None:
    """Else the evaluations on the way, by which weights are chosen, would see what only the test may."""
    with pytest.raises(InputError, match="seed is 4611686018427387904, and must be"):
        Plan(seed=TEST)
    train(Progressions(), Plan(steps=1, batch=4, seed=TEST - 1), out=tmp_path / "run", progress=False)
    assert side_asked(TEST - 1) == "evaluated"
    with pytest.raises(InputError, match="seed is 4611686018427387904, and must be"):
        evaluate(tmp_path / "run", seed=TEST)


@dataclasses.dataclass(frozen=True)
class TooLarge(Progressions):
    """Needs more memory than there is, at one of the places where a run takes it."""

    where: str = "batch"
    error: type[Exception] = MemoryError
    says: str = ""

    def _at(self, where: str) -> None:
        if where == self.where:
            raise self.error(self.says)

    def batch(self, seed: int, step: int, size: int) -> Any:
        self._at("batch")
        return super().batch(seed, step, size)

    def loss(self, model: Any, batch: Any, smoothing: float = 0.0) -> torch.Tensor:
        self._at("loss")
        return super().loss(model, batch, smoothing)

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        self._at("evaluate")
        return super().evaluate(model, seed)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("batch", "memory does not hold a batch of 8 sequences of .*: use a smaller batch"),
        ("loss", r"memory does not hold a step on 2 sequences at once: use a smaller batch, or .*\(accumulate\)"),
        ("evaluate", "memory does not hold an evaluation of .*: use a smaller task, or a smaller model"),
    ],
)
def test_what_memory_does_not_hold_is_told_where_it_is_needed(where: str, said: str) -> None:
    plan = replace(PLAN, accumulate=4)
    cpu = "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."
    for error, says in ((MemoryError, ""), (RuntimeError, cpu), (RuntimeError, "CUDA out of memory. Tried to allocate")):
        with pytest.raises(InputError, match=said):
            train(TooLarge(where=where, error=error, says=says), plan, progress=False)
    with pytest.raises(RuntimeError, match="something else"):
        train(TooLarge(where=where, error=RuntimeError, says="something else"), plan, progress=False)


@dataclasses.dataclass(frozen=True)
class Wide(Progressions):
    """So many sequences that no machine holds what a layer says of them; these take no memory."""

    def batch(self, seed: int, step: int, size: int) -> Any:
        rows = torch.zeros(1, 1, dtype=torch.int64).expand(size, 10**7)
        return super().batch(seed, step, 2)._replace(inputs=(rows,), targets=rows)


def test_a_step_that_no_machine_holds_is_refused_before_it_is_tried() -> None:
    with pytest.raises(ModelError, match=r"a step on 1,000,000 sequences at once takes .* GB.*accumulate"):
        train(Wide(), Plan(steps=1, batch=10**6), progress=False)
    with pytest.raises(ModelError, match=r"an evaluation of regression:5,20000000, .* takes .* GB, more than this machine has"):
        registry.open("regression:5,20000000")
