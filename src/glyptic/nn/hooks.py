"""Looking into a forward pass and changing it, by TransformerLens's names.

    hook_embed  hook_pos_embed
    blocks.0.hook_resid_pre  .ln1.hook_normalized
    blocks.0.attn.hook_q  .hook_k  .hook_v  .hook_attn_scores  .hook_pattern  .hook_z        blocks.0.hook_attn_out
    blocks.0.hook_resid_mid  .ln2.hook_normalized  .mlp.hook_pre  .mlp.hook_post  .hook_mlp_out  .hook_resid_post
    ln_final.hook_normalized

An encoder–decoder has `encoder.0.…` and `decoder.0.…`, with `decoder.0.cross_attn.…` and `hook_cross_attn_out`. Shapes
are TransformerLens's too: q, k, v, z [B, T, H, K], scores and pattern [B, H, T, S], the rest [B, T, …].

Only what is asked for is kept. Scores and patterns exist in the `reference` backend alone, and asking another one for
them is an error: `nn.with_backend(model, "reference")` gives a twin with the same weights.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from torch import Tensor, nn

from glyptic.errors import InputError, ModelError
from glyptic.nn.hook_point import HookPoint
from glyptic.nn.models import Model

Edit = Callable[[Tensor], Tensor]
NORMS = ("ln1", "ln2", "ln_cross", "ln_final")
NEED_WEIGHTS = ("hook_attn_scores", "hook_pattern")


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
        def keep(x: Tensor) -> Tensor:
            kept[name] = x if edit is None else edit(x)
            return kept[name]

        return keep

    edits = dict(edits or {})
    wanted = _match(model, [names] if isinstance(names, str) else names)
    with edited(model, {**edits, **{name: keeper(name, edits.get(name)) for name in wanted}}):
        output = model(*inputs, **more)
    return Record(output, {name: kept[name] for name in wanted if name in kept})


@contextmanager
def edited(model: Model, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Within this context each named activation x is replaced by edits[name](x)."""
    places = _places(model)
    detach: list[Callable[[], None]] = []
    try:
        for name, edit in edits.items():
            _check(model, name, places)
            detach.append(places[name](edit))
        yield
    finally:
        for undo in detach:
            undo()


def ablate(heads: Sequence[int] | None = None, value: float | Tensor = 0.0) -> Edit:
    """An edit that sets an activation, or some heads of q, k, v or z [B, T, H, K], to zero or to a mean.

    `edited(model, {"blocks.0.attn.hook_z": ablate(heads=[1])})` silences head 1 of layer 0.
    """

    def edit(x: Tensor) -> Tensor:
        if heads is None:
            return x * 0 + value
        _check_heads(x, heads)
        changed = x.clone()
        changed[:, :, list(heads)] = value if not isinstance(value, Tensor) else value[:, :, list(heads)]
        return changed

    return edit


def patch(source: Tensor, *, tokens: Sequence[int] | None = None, heads: Sequence[int] | None = None) -> Edit:
    """An edit that puts in `source`, an activation of another run: whole, at some tokens, or in some heads."""

    def edit(x: Tensor) -> Tensor:
        if source.shape != x.shape:
            raise InputError(f"the patch has shape {tuple(source.shape)} and the activation {tuple(x.shape)}.")
        if heads is not None:
            _check_heads(x, heads)
        changed = x.clone()
        rows = slice(None) if tokens is None else list(tokens)
        for head in [None] if heads is None else heads:
            at = (slice(None), rows) if head is None else (slice(None), rows, head)
            changed[at] = source[at].to(x.dtype)
        return changed

    return edit


def _check_heads(x: Tensor, heads: Sequence[int]) -> None:
    if x.dim() != 4 or any(not 0 <= head < x.shape[2] for head in heads):
        raise InputError(f"heads={list(heads)} do not exist in an activation of shape {tuple(x.shape)} = [B, T, H, K].")


Attach = Callable[[Edit], Callable[[], None]]


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
    path = path.removeprefix("embedding").removeprefix("stack").lstrip(".")
    return path.replace("encoder.blocks.", "encoder.").replace("decoder.blocks.", "decoder.")


def _at_point(point: HookPoint) -> Attach:
    def attach(edit: Edit) -> Callable[[], None]:
        before = point.listener
        point.listener = edit if before is None else lambda x: edit(before(x))

        def undo() -> None:
            point.listener = before

        return undo

    return attach


def _at_module(module: nn.Module) -> Attach:
    def attach(edit: Edit) -> Callable[[], None]:
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
