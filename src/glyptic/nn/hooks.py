"""Looking into a forward pass and changing it, by TransformerLens's names.

    hook_embed  hook_pos_embed
    blocks.0.hook_resid_pre  .ln1.hook_normalized
    blocks.0.attn.hook_q  .hook_k  .hook_v  .hook_attn_scores  .hook_pattern  .hook_z        blocks.0.hook_attn_out
    blocks.0.hook_resid_mid  .ln2.hook_normalized  .mlp.hook_pre  .mlp.hook_post  .hook_mlp_out  .hook_resid_post
    ln_final.hook_normalized

Rotary models also have attn.hook_rot_q and .hook_rot_k, gated feed-forwards mlp.hook_pre_linear; a parallel block has no
hook_resid_mid. An encoder–decoder has `encoder.0.…` and `decoder.0.…`; in a decoder's block ln2 is the norm of the
cross-attention (`cross_attn.…`, hook_cross_attn_out, hook_resid_mid_cross) and ln3 that of the feed-forward; hook_embed is
the source's, `decoder.hook_embed` the target's; the last norms are encoder_final_ln and decoder_final_ln. Shapes are
TransformerLens's too: q, k, v, z [B, T, H, K], scores and pattern [B, H, T, S], the rest [B, T, …].

Only what is asked for is kept. Scores and patterns exist in the `reference` backend alone, and asking another one for
them is an error: `nn.with_backend(model, "reference")` gives a twin with the same weights.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from glyptic.errors import InputError, ModelError
from glyptic.nn.hook_point import HookPoint
from glyptic.nn.models import Model

NORMS = ("ln1", "ln2", "ln3", "ln_final", "encoder_final_ln", "decoder_final_ln")
BY_HEAD = ("hook_q", "hook_k", "hook_v", "hook_z", "hook_rot_q", "hook_rot_k")  # [B, T, H, K]
NEED_WEIGHTS = ("hook_attn_scores", "hook_pattern")  # [B, H, T, S]


@dataclass(frozen=True)
class Change:
    """A change of some tokens and some heads (None: all); `edited` tells it which place, and so which axes, it is at."""

    value: float | Tensor
    tokens: Sequence[int] | None = None
    heads: Sequence[int] | None = None

    def at(self, name: str) -> Callable[[Tensor], Tensor]:
        """The change as a function of the activation `name`."""
        kind = name.rpartition(".")[2]
        token_axis, head_axis = (2, 1) if kind in NEED_WEIGHTS else (1, 2 if kind in BY_HEAD else None)
        if self.heads is not None and head_axis is None:
            raise InputError(f"heads={list(self.heads)} cannot be chosen in {name!r}, which has no axis of heads.")

        def change(x: Tensor) -> Tensor:
            new = self.value if isinstance(self.value, Tensor) else torch.full_like(x, self.value)
            if new.dim() != x.dim() or any(a not in (1, b) for a, b in zip(new.shape, x.shape, strict=True)):
                raise InputError(f"{name!r} has shape {tuple(x.shape)} and what replaces it {tuple(new.shape)}.")
            if self.tokens is not None and x.dim() == 2:
                raise InputError(f"tokens={list(self.tokens)} cannot be chosen in a pass with packed=True, [N, D].")
            chosen = _chosen(x, token_axis, self.tokens, "tokens") & _chosen(x, head_axis, self.heads, "heads")
            return torch.where(chosen, new.to(x.dtype), x)

        return change


Edit = Callable[[Tensor], Tensor] | Change


def _chosen(x: Tensor, axis: int | None, indices: Sequence[int] | None, what: str) -> Tensor:
    """Mask that broadcasts to x: True at these indices of the axis; None: everywhere."""
    if indices is None or axis is None:
        return torch.ones((), dtype=torch.bool, device=x.device)
    size = x.shape[axis]
    if any(not 0 <= index < size for index in indices):
        raise InputError(f"{what}={list(indices)} are not all in 0 … {size - 1}; the shape is {tuple(x.shape)}.")
    mask = torch.zeros(size, dtype=torch.bool, device=x.device)
    mask[list(indices)] = True
    return mask.view([-1 if i == axis else 1 for i in range(x.dim())])


class Record(NamedTuple):
    """The output of a pass, and the activations that were asked for."""

    output: Any
    activations: dict[str, Tensor]


def hook_names(model: Model) -> list[str]:
    """Every place that can be read or changed, in the order of the modules.

    >>> from glyptic.nn import ModelConfig, build
    >>> hook_names(build(ModelConfig(kind="decoder", layers=1, width=8, heads=2, vocabulary=5)))[:3]
    ['hook_embed', 'hook_pos_embed', 'blocks.0.hook_resid_pre']
    """
    return list(_places(model))


def record(
    model: Model, *inputs: Any, names: str | Sequence[str], edits: Mapping[str, Edit] | None = None, **more: Any
) -> Record:
    """Run `model(*inputs, **more)` and keep the activations whose names match; `*` stands for anything.

    >>> import torch
    >>> from glyptic.nn import ModelConfig, build
    >>> config = ModelConfig(kind="decoder", layers=2, width=8, heads=2, vocabulary=5, backend="reference")
    >>> found = record(build(config, seed=0), torch.tensor([[1, 2, 3]]), names="blocks.*.attn.hook_pattern")
    >>> {name: tuple(value.shape) for name, value in found.activations.items()}
    {'blocks.0.attn.hook_pattern': (1, 2, 3, 3), 'blocks.1.attn.hook_pattern': (1, 2, 3, 3)}
    """
    kept: dict[str, Tensor] = {}

    def keeper(name: str, edit: Edit | None) -> Edit:
        change = edit.at(name) if isinstance(edit, Change) else edit

        def keep(x: Tensor) -> Tensor:
            kept[name] = x if change is None else change(x)
            return kept[name]

        return keep

    edits = dict(edits or {})
    wanted = _match(model, [names] if isinstance(names, str) else names)
    with edited(model, {name: keeper(name, edits.get(name)) for name in [*wanted, *edits]}):
        output = model(*inputs, **more)
    for name in [*wanted, *edits]:
        if name not in kept:
            raise InputError(f"{name!r} was not computed in this pass (a cache keeps what a memory's keys and values are).")
    return Record(output, {name: kept[name] for name in wanted})


@contextmanager
def edited(model: Model, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Within this context each named activation x is replaced by edits[name](x)."""
    places = _places(model)
    detach: list[Callable[[], None]] = []
    try:
        for name, edit in edits.items():
            _check(model, name, places)
            detach.append(places[name](edit.at(name) if isinstance(edit, Change) else edit))
        yield
    finally:
        for undo in detach:
            undo()


def ablate(heads: Sequence[int] | None = None, value: float | Tensor = 0.0) -> Change:
    """An edit that sets an activation, or some of its heads, to zero or to a mean over axes that were kept.

    `edited(model, {"blocks.0.attn.hook_z": ablate(heads=[1])})` silences head 1 of layer 0.
    """
    return Change(value, heads=heads)


def patch(source: Tensor, *, tokens: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> Change:
    """An edit that puts in `source`, an activation of another run: whole, at some tokens (queries), or in some heads."""
    return Change(source, tokens, heads)


Attach = Callable[[Callable[[Tensor], Tensor]], Callable[[], None]]


def _places(model: Model) -> dict[str, Attach]:
    """Name → how to attach an edit there; attaching gives the way to detach."""
    places: dict[str, Attach] = {}
    for path, module in model.named_modules():
        path = _public(path)
        for attribute, point in vars(module).items():
            if isinstance(point, HookPoint):
                places[f"{path}.{attribute}".lstrip(".")] = _at_point(point)
        if path.rpartition(".")[2] in NORMS and not isinstance(module, nn.Identity):
            places[f"{path}.hook_normalized"] = _at_module(module)
    return places


def _public(path: str) -> str:
    """Module path → TransformerLens's: stack.blocks.0.attn → blocks.0.attn, encoder.blocks.0 → encoder.0."""
    path = path.removeprefix("stack").lstrip(".")
    path = path.replace("encoder.ln_final", "encoder_final_ln").replace("decoder.ln_final", "decoder_final_ln")
    if path.startswith("decoder.blocks."):
        path = path.replace(".ln2", ".ln3").replace(".ln_cross", ".ln2")
    return "" if path == "encoder" else path.replace("coder.blocks.", "coder.")


def _at_point(point: HookPoint) -> Attach:
    def attach(edit: Callable[[Tensor], Tensor]) -> Callable[[], None]:
        before = point.listener
        point.listener = edit if before is None else lambda x: edit(before(x))

        def undo() -> None:
            point.listener = before

        return undo

    return attach


def _at_module(module: nn.Module) -> Attach:
    def attach(edit: Callable[[Tensor], Tensor]) -> Callable[[], None]:
        return module.register_forward_hook(lambda _, __, output: edit(output)).remove

    return attach


def _match(model: Model, patterns: Sequence[str]) -> list[str]:
    places = _places(model)
    wanted: list[str] = []
    for pattern in patterns:
        found = [name for name in places if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise InputError(f"{pattern!r} matches no hook of this model; nn.hook_names(model) lists them.")
        wanted += [name for name in found if name not in wanted]
    for name in wanted:
        _check(model, name, places)
    return wanted


def _check(model: Model, name: str, places: Mapping[str, Attach]) -> None:
    if name not in places:
        raise InputError(f"{name!r} is not a hook of this model; nn.hook_names(model) lists them.")
    if name.endswith(NEED_WEIGHTS) and model.config.backend != "reference":
        raise ModelError(
            f"{name!r} does not exist in backend={model.config.backend!r}; "
            "ask nn.with_backend(model, 'reference') for it."
        )
