"""`glyptic train`: train a transformer on a task; the same words again go on where it was."""

from __future__ import annotations

import os
import sys
import tomllib
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from glyptic.arguments import Count, FolderToFill, Number, Readable, shown
from glyptic.cli.reading import flag
from glyptic.errors import InputError
from glyptic.files import quoted_path
from glyptic.nn.config import AttentionBackend, FeedForwardKind, NormKind, NormPlace, Positions, known
from glyptic.train.metrics import LogName
from glyptic.train.plan import Plan

TaskName = Annotated[Positional[str], arg(metavar="TASK")]


@dataclass(frozen=True)
class ModelFlags:
    """Fields of the model that a run may set; what is left out is as the task has it."""

    layers: Annotated[int, Count(1, 10**4)] | None = None
    """Of the model: its layers. This and the flags down to --backend are as the task has them, unless told."""
    width: Annotated[int, Count(1, 10**6)] | None = None
    """Of the model: width of the residual stream."""
    heads: Annotated[int, Count(1, 10**4)] | None = None
    """Of the model: attention heads."""
    context: Annotated[int, Count(1, 10**7)] | None = None
    """Of the model: longest input."""
    encoder_layers: Annotated[int, Count(1, 10**4)] | None = None
    """Of the model: layers of the encoder, in an encoder–decoder."""
    key_value_heads: Annotated[int, Count(1, 10**4)] | None = None
    """Of the model: heads that keys and values have; fewer than heads are grouped-query attention."""
    feed_forward: FeedForwardKind | None = None
    """Of the model: activation of the feed-forward."""
    feed_forward_width: Annotated[int, Count(1, 10**7)] | None = None
    """Of the model: hidden width of the feed-forward."""
    norm: NormKind | None = None
    """Of the model: kind of norm."""
    norm_place: NormPlace | None = None
    """Of the model: norms before each part (pre), or after its sum with the residual (post)."""
    positions: Positions | None = None
    """Of the model: position encoding."""
    embedding_scale: bool | None = None
    """Of the model: token embeddings × √width (Vaswani)."""
    tied: bool | None = None
    """Of the model: the output matrix is the token embedding."""
    dropout: Annotated[float, Number(least=0, most=0.999999)] | None = None
    """Of the model: share of the residual stream that is dropped while training."""
    attention_dropout: Annotated[float, Number(least=0, most=0.999999)] | None = None
    """Of the model: share of attention weights that is dropped while training."""
    backend: AttentionBackend | None = None
    """Of the model: attention kernel; blocked is fast on CPUs with bfloat16."""
    model: tuple[str, ...] = ()
    """Of the model: further fields of its config, such as final_norm=false rotary_base=500.0."""


@dataclass(frozen=True, kw_only=True)
class TrainRunCommand(ModelFlags, Plan):
    """Train a transformer on a task, into the folder of a run; the same words again go on where it was, bit for bit.

    The folder has best/ and last/, checkpoints that other commands open; metrics.jsonl, which `glyptic look RUN` draws; and
    run.json, which says what it is a run of. Ctrl-C saves and stops. A folder of another run is refused, and stays as it is.

    Examples: glyptic train tomita:4 --steps 500 --out t4
              glyptic train addition:3 --rate 0.002 --schedule inverse_sqrt --patience 5 --out sums
              glyptic train text:book.txt --layers 4 --width 128 --precision bfloat16 --logs tensorboard --out book
              torchrun --nproc-per-node 2 -m glyptic train parity --strategy fsdp --out odd
    """

    task: TaskName
    """What is to be learned: a name with its parameters, as listed above."""
    out: FolderToFill = Path("run")
    """The run's folder."""
    start: Annotated[Path, Readable("folder")] | None = None
    """Begin with the weights of this checkpoint, such as RUN/best, instead of fresh ones."""
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where it runs; auto takes a GPU if there is one."""
    strategy: Literal["ddp", "fsdp"] = "ddp"
    """Under torchrun: every process has all weights (ddp), or a part of them (fsdp)."""
    logs: tuple[LogName, ...] = ()
    """Tell the metrics to tensorboard or wandb as well, whose packages must be installed."""
    recipe: Annotated[Path, Readable()] | None = None
    """A file of recipes/: task, model and plan are as it says, unless a flag says otherwise."""

    def __post_init__(self) -> None:
        """Flags are checked by their names where they are read."""

    @classmethod
    def defaults(cls, words: Sequence[str]) -> TrainRunCommand | None:
        """What flags are if they are left out, where the words name a recipe."""
        place = next((word for before, word in pairwise(words) if before == "--recipe"), None)
        place = next((word.partition("=")[2] for word in words if word.startswith("--recipe=")), place)
        if place is None or not os.path.isfile(place):  # one that is not there is told with the other flags
            return None
        from glyptic.train.recipes import read_recipe

        recipe = read_recipe(Path(place))
        return cls(task=recipe.task, **asdict(recipe.plan), recipe=Path(place))  # of the model, `changes` asks it

    def changes(self) -> dict[str, Any]:
        """The fields of the model that are given, by flags, by --model, or else by the recipe; each once."""
        from glyptic.train.recipes import read_recipe

        named = {field.name: getattr(self, field.name) for field in fields(ModelFlags) if field.name != "model"}
        given = {name: value for name, value in named.items() if value is not None}
        for name, value in map(_field, self.model):
            if name in given:
                by_flag = named.get(name) is not None
                twice = f"{flag(name)} and --model {name}= are both given" if by_flag else f"--model {name}= is given twice"
                raise InputError(f"{twice}, and only one could have an effect; leave one out.")
            given[name] = value
        return {**(read_recipe(self.recipe).model if self.recipe else {}), **given}

    def main(self) -> None:
        from glyptic import nn
        from glyptic.train.metrics import check_logs
        from glyptic.train.tasks import registry
        from glyptic.train.trainer import train

        check_logs(self.logs)
        names = {field.name for field in fields(Plan)}
        plan = Plan(**{name: value for name, value in self.__dict__.items() if name in names})
        task, changes = registry.open(self.task), self.changes()
        if self.start is None:
            source: Any = {"config": task.config().replace(**changes)}
        else:
            source = {"model": nn.load(self.start, **changes)}
        with warnings.catch_warnings():
            warnings.showwarning = _told  # type: ignore[assignment]  # it takes all that it is given
            done = train(task, plan, **source, out=self.out, device=self.device, strategy=self.strategy, logs=self.logs)
        if os.environ.get("RANK", "0") == "0":
            print(_summary(self.out, task.measure, done))


def _told(message: Any, *_: Any) -> None:
    """A warning as a line for people, without the place in our source that it comes from."""
    print(f"glyptic train: {message}", file=sys.stderr, flush=True)


def _summary(out: Path, measure: str, done: Any) -> str:
    why = {"reach": ", where --reach was reached", "patience": ", where --patience ended"}.get(done.ended, "")
    best = "" if done.best is None else f"; best {measure} {done.best:.6g}, in {quoted_path(out / 'best')}"
    return f"{quoted_path(out)}: step {done.step}{why}{best}"


def _field(text: str) -> tuple[str, Any]:
    """A field of the config and its value, as TOML writes it; a bare word is a text."""
    name, equals, value = text.partition("=")
    if name:
        known({name: value})
    if not (name and equals):
        raise InputError(f"--model {shown(text)} must be a field and its value, such as final_norm=false.")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except (tomllib.TOMLDecodeError, KeyError):
        return name, None if value == "none" else value
