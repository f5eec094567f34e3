"""A run on several processes, as `torchrun` starts them: who is there, who has which rows, what all of them together say.

    ddp    every process has all weights; gradients are averaged (DistributedDataParallel)
    fsdp   every process has a part of the weights, gradients and moments (fully_shard), gathered a block at a time, as needed

All draw the same batch and take their own rows of it, so that the mean over its targets needs no talk. Processes talk by nccl
where there are GPUs, by gloo elsewhere. Torch's own messages between the processes of a run are trusted; files are not: weights
are written whole by the first process, and shards of moments through torch.distributed.checkpoint in its safetensors storage.
The other storage that it has writes pickles, and would unpickle them.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from glyptic.errors import GlypticError, InputError
from glyptic.files import Content
from glyptic.train.optimizer import moments, restore_moments

Strategy = Literal["ddp", "fsdp"]
STAGING = ".staging"
_MEETINGS = count()  # of the processes of this attempt: each run is one
_UNDER_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class ProcessLost(GlypticError, RuntimeError):
    """A process of the run that the others do not hear any more."""


class NothingSharded(UserWarning):
    """A strategy that has no effect on one process."""

    def __str__(self) -> str:
        return "strategy is fsdp, and this is one process, so nothing is sharded; torchrun --nproc-per-node 2 starts two."


@dataclass(frozen=True)
class Team:
    """The processes of a run; mostly one."""

    device: torch.device
    strategy: Strategy = "ddp"
    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    @property
    def sharded(self) -> bool:
        return self.strategy == "fsdp" and self.size > 1

    def rows(self, size: int, pieces: int) -> list[slice]:
        """The rows of a batch that are this process's, in so many pieces.

        >>> Team(torch.device("cpu"), rank=1, size=2).rows(8, pieces=2)
        [slice(4, 6, None), slice(6, 8, None)]
        """
        if size % (self.size * pieces):
            raise InputError(
                f"a batch of {size} cannot be dealt out to {self.size} processes in {pieces} equal pieces each; "
                f"use a batch that {self.size * pieces} divides."
            )
        rows, first = size // (self.size * pieces), self.rank * pieces
        return [slice(rows * piece, rows * (piece + 1)) for piece in range(first, first + pieces)]

    def wrap(self, objective: nn.Module, blocks: list[nn.Module]) -> Any:
        """The module by which all processes compute together; shards are made in place."""
        if self.size == 1:
            return objective
        if self.strategy == "ddp":
            ids = [self.device.index] if self.device.type == "cuda" else None
            # Gradients live in the buckets that are sent, so nothing is copied; buffers are those of the first process anyway.
            return nn.parallel.DistributedDataParallel(
                objective, device_ids=ids, gradient_as_bucket_view=True, broadcast_buffers=False
            )
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh(self.device.type, (self.size,))
        for block in blocks:
            fully_shard(block, mesh=mesh)
        return fully_shard(objective, mesh=mesh)

    @contextmanager
    def exchanging(self, wrapped: Any, gradients: bool) -> Iterator[None]:
        """Around forward and backward of a piece: gradients are exchanged with the last piece of a step only."""
        if self.sharded:
            wrapped.set_requires_gradient_sync(gradients)
        if self.size > 1 and not self.sharded and not gradients:
            with wrapped.no_sync():
                yield
        else:
            yield

    def total(self, *values: float) -> list[float]:
        """The sums over all processes."""
        if self.size == 1:
            return list(values)
        numbers = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(numbers)
        return [float(number) for number in numbers.tolist()]

    def leaders(self, value: Any) -> Any:
        """What the first process says."""
        if self.size == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def wait(self) -> None:
        """Until all are here."""
        if self.size > 1:
            dist.barrier(device_ids=[self.device.index] if self.device.type == "cuda" else None)

    # ------------------------------------------------------------------ checkpoints

    def weights(self, model: nn.Module) -> dict[str, Tensor]:
        """All weights, whole, on the CPU of the process that writes them; others have none."""
        if self.sharded:
            from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

            whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
            state: dict[str, Any] = get_model_state_dict(model, options=whole)
        else:
            state = model.state_dict() if self.leads else {}
        return {name: weight.detach().cpu().contiguous() for name, weight in state.items()} if self.leads else {}

    def moments(self, model: nn.Module, optimizer: torch.optim.Optimizer, folder: Path, single: str) -> dict[str, Content]:
        """The optimizer's moments as files for `write_folder`: one, or a shard of each process, which is staged in the folder."""
        from safetensors.torch import save

        if not self.sharded:
            if not self.leads:
                return {}
            tensors = {name: value.detach().cpu().contiguous() for name, value in moments(model, optimizer).items()}
            return {single: save(tensors, {"format": "pt"})}
        from torch.distributed.checkpoint import HuggingFaceStorageWriter
        from torch.distributed.checkpoint import save as save_shards

        staging = folder / STAGING
        if self.leads:
            shutil.rmtree(staging, ignore_errors=True)
        self.wait()
        writer = HuggingFaceStorageWriter(str(staging), save_distributed=True)
        save_shards(_sharded_moments(model, optimizer), storage_writer=writer)
        self.wait()
        return {path.name: _moved(path) for path in sorted(staging.glob("*.safetensors"))} if self.leads else {}

    def restore(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, files: Sequence[Path], read: Callable[[], Any]
    ) -> None:
        """Give the optimizer its moments back, from one file (`read`) or from the shards of however many processes."""
        whole = not any(file.name.startswith("shard-") for file in files)
        if whole and not self.sharded:
            return restore_moments(model, optimizer, read())
        from torch.distributed.checkpoint import CheckpointException, HuggingFaceStorageReader
        from torch.distributed.checkpoint import load as load_shards
        from torch.distributed.checkpoint.state_dict import StateDictOptions, set_optimizer_state_dict

        found = _sharded_moments(model, optimizer)
        with warnings.catch_warnings(), TemporaryDirectory() as links:
            warnings.simplefilter("ignore", UserWarning)  # that one process alone is what is meant
            for file in files:  # the reader takes all that is in a folder, and in last/ the user may keep files too
                os.symlink(file.resolve(), Path(links) / file.name)
            try:
                load_shards(found, storage_reader=HuggingFaceStorageReader(links), no_dist=self.size == 1)
            except CheckpointException as error:  # which is no Exception, so that nobody would tell it
                raise ValueError(str(error)) from None
        flat = StateDictOptions(flatten_optimizer_state_dict=True)
        set_optimizer_state_dict(model, optimizer, _with_groups(model, optimizer, found), options=flat)


def _sharded_moments(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """state.WEIGHT.exp_avg and its like, each a shard; empty ones are made if there was no step yet."""
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    found = get_optimizer_state_dict(model, optimizer, options=flat)
    return {name: value for name, value in found.items() if name.startswith("state.")}


def _with_groups(model: nn.Module, optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> dict[str, Any]:
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    return {**get_optimizer_state_dict(model, optimizer, options=flat), **state}


def _moved(path: Path) -> Callable[[Path], object]:
    return lambda place: os.replace(path, place)


@contextmanager
def joined(strategy: Strategy, device: str = "auto") -> Iterator[Team]:
    """The team that this process belongs to, by what `torchrun` has put into the environment; alone without that."""
    under = all(name in os.environ for name in _UNDER_TORCHRUN)
    local = int(os.environ.get("LOCAL_RANK", "0")) if under else 0
    place = _device(device, local)
    if not under:
        yield Team(place, strategy)
        return
    ours = not dist.is_initialized()
    if ours:
        if place.type == "cuda":
            torch.cuda.set_device(place)
        _meet("nccl" if place.type == "cuda" else "gloo")
    try:
        yield Team(place, strategy, dist.get_rank(), dist.get_world_size())
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise ProcessLost(
                "another process of this run is gone, or cannot be heard; started again, it goes on from the last checkpoint."
            ) from None
        raise
    finally:
        if ours:
            dist.destroy_process_group()


def _meet(backend: str) -> None:
    """Find the others. On one machine, under a name of this attempt: torchrun keeps its store when it starts processes again,
    and the addresses of those that have died are still there. (Agents of several machines count attempts each for itself.)
    """
    store, rank, size = next(iter(dist.rendezvous("env://")))
    if os.environ.get("GROUP_WORLD_SIZE") == "1":
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = dist.PrefixStore(f"attempt {attempt}, meeting {next(_MEETINGS)}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)


def _device(name: str, local: int) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise InputError(f"device is {name!r}, which this machine or this PyTorch does not have; use cpu, or auto.") from None
    return torch.device(device.type, local) if device.type == "cuda" and device.index is None else device
