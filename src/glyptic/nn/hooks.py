"""Looking into a forward pass and changing it, by TransformerLens's names.

    hook_embed  hook_pos_embed
    blocks.0.hook_resid_pre  .ln1.hook_normalized
    blocks.0.attn.hook_q  .hook_k  .hook_v  .hook_attn_scores  .hook_pattern  .hook_z        blocks.0.hook_attn_out
    blocks.0.hook_resid_mid  .ln2.hook_normalized  .mlp.hook_pre  .mlp.hook_post  .hook_mlp_out  .hook_resid_post
    ln_final.hook_normalized

Rotary models also have attn.hook_rot_q and .hook_rot_k, models with norms on queries and keys attn.q_norm.hook_normalized and
attn.k_norm.hook_normalized, gated feed-forwards mlp.hook_pre_linear, post-norm layers
hook_normalized_resid_post, BERT embed.ln.hook_normalized and mlm_head.ln.hook_normalized; a parallel block has no
hook_resid_mid. An encoder–decoder has `encoder.0.…` and `decoder.0.…`; in a decoder's block ln2 is the norm of the
cross-attention (`cross_attn.…`, hook_cross_attn_out, hook_resid_mid_cross) and ln3 that of the feed-forward; hook_embed is
the source's, `decoder.hook_embed` the target's; the last norms are encoder_final_ln and decoder_final_ln. Shapes are
TransformerLens's too: q, k, v, z [B, T, H, K], scores and pattern [B, H, T, S], the rest [B, T, …].

What bears TransformerLens's name has its value, as its Hooked… models (the last are in 3.9) show it without processing the
weights; `tests/nn/test_recording.py` compares all of them, read and changed. So hook_normalized is before γ and β; q and k
of a rotary model are in the public order, in which m and m + R/2 are a pair (our matrices have the two side by side:
`positions/rotary.py`); hook_resid_mid and hook_resid_post of a post-norm layer are the sums, not their norms.

Only what is asked for is kept. Scores and patterns exist in the `reference` backend alone, and asking another one for
them is an error: `nn.with_backend(model, "reference")` gives a twin with the same weights.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple, TypedDict, Unpack

import torch
from torch import Tensor

from glyptic.arguments import checked, refused, shown
from glyptic.errors import InputError, ModelError
from glyptic.nn.models import Model
from glyptic.nn.parts.cache import Cache
from glyptic.nn.parts.hook_point import HookPoint

NORMS = {"embedding.norm": "embed.ln", "output.norm": "mlm_head.ln"}  # BERT's two outside its layers
BY_HEAD = ("hook_q", "hook_k", "hook_v", "hook_z", "hook_rot_q", "hook_rot_k")  # [B, T, H, K]
NORMS_BY_HEAD = ("q_norm.hook_normalized", "k_norm.hook_normalized")  # the same
NEED_WEIGHTS = ("hook_attn_scores", "hook_pattern")  # [B, H, T, S]


@dataclass(frozen=True)
class Change:
    """A change of some tokens and some heads (None: all); `edited` tells it which place, and so which axes, it is at."""

    value: float | Tensor
    tokens: Sequence[int] | None = None
    heads: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.value, Tensor | Real) or isinstance(self.value, bool):
            raise refused("what replaces an activation", self.value, "a tensor or a number")
        for what in ("tokens", "heads"):
            chosen = getattr(self, what)
            listed = isinstance(chosen, Sequence | Tensor) and not isinstance(chosen, str | bytes)
            listed = listed and not (isinstance(chosen, Tensor) and chosen.dim() != 1)
            if chosen is not None and not (listed and all(map(_is_index, chosen))):
                raise refused(what, chosen, "a list of whole numbers from 0 on, or None for all")

    def at(self, name: str) -> Callable[[Tensor], Tensor]:
        """The change as a function of the activation `name`."""
        kind = name.rpartition(".")[2]
        by_head = kind in BY_HEAD or name.endswith(NORMS_BY_HEAD)
        token_axis, head_axis = (2, 1) if kind in NEED_WEIGHTS else (1, 2 if by_head else None)
        if self.heads is not None and head_axis is None:
            raise InputError(f"heads={list(self.heads)} cannot be chosen in {name!r}, which has no axis of heads.")

        def change(x: Tensor) -> Tensor:
            new = self.value if isinstance(self.value, Tensor) else torch.full_like(x, float(self.value))
            if new.dim() != x.dim() or any(a not in (1, b) for a, b in zip(new.shape, x.shape, strict=True)):
                raise InputError(f"{name!r} has shape {tuple(x.shape)} and what replaces it {tuple(new.shape)}.")
            if self.tokens is not None and x.dim() == 2:
                raise InputError(f"tokens={list(self.tokens)} cannot be chosen in a pass with packed=True, [N, D].")
            chosen = _chosen(x, token_axis, self.tokens, "tokens") & _chosen(x, head_axis, self.heads, "heads")
            return torch.where(chosen, new.to(x), x)

        return change


Edit = Callable[[Tensor], Tensor] | Change


def _is_index(value: object) -> bool:
    whole = isinstance(value, Integral) or (
        isinstance(value, Tensor) and value.dim() == 0 and not value.is_floating_point()
    )
    return whole and not isinstance(value, bool) and int(value) >= 0  # type: ignore[call-overload]


def _function(name: str, edit: Edit) -> Callable[[Tensor], Tensor]:
    """An edit as a function that gives what can stand in the place of what it is shown, or says why not."""
    if not isinstance(edit, Change) and not callable(edit):
        raise refused(f"the edit of {name!r}", edit, "a function of a tensor, or what nn.ablate or nn.patch gives")
    change = edit.at(name) if isinstance(edit, Change) else edit

    def changed(x: Tensor) -> Tensor:
        new = change(x)
        if not isinstance(new, Tensor):
            raise InputError(
                f"the edit of {name!r} gives {shown(new)}; it must return a tensor, of shape {tuple(x.shape)}."
            )
        if (new.shape, new.dtype, new.device) != (x.shape, x.dtype, x.device):
            told = [f"{tuple(t.shape)}, {t.dtype} on {t.device}" for t in (x, new)]
            raise InputError(f"{name!r} has shape {told[0]}, and its edit gives {told[1]}; they must be the same.")
        return new

    return changed


def _chosen(x: Tensor, axis: int | None, indices: Sequence[int] | None, what: str) -> Tensor:
    """Mask that broadcasts to x: True at these indices of the axis; None: everywhere."""
    if indices is None or axis is None:
        return torch.ones((), dtype=torch.bool, device=x.device)
    size = x.shape[axis]
    if any(not 0 <= int(index) < size for index in indices):
        raise InputError(f"{what}={list(indices)} are not all in 0 … {size - 1}; the shape is {tuple(x.shape)}.")
    mask = torch.zeros(size, dtype=torch.bool, device=x.device)
    mask[[int(index) for index in indices]] = True
    return mask.view([-1 if i == axis else 1 for i in range(x.dim())])


# What the models' `forward` take by name, all of them together.
ModelInputs = TypedDict(  # noqa: UP013
    "ModelInputs",
    {
        "tokens": Tensor | None, "vectors": Tensor | None, "padding_mask": Tensor | None, "cache": Cache | None,
        "types": Tensor | None, "packed": bool, "source": Tensor, "target": Tensor, "source_mask": Tensor | None,
        "target_mask": Tensor | None, "images": Tensor,
    },
    total=False,
)


class Record(NamedTuple):
    """The output of a pass, and the activations that were asked for."""

    output: Any
    activations: dict[str, Tensor]


@checked
def hook_names(model: Model) -> list[str]:
    """Every place that can be read or changed, in the order of the modules.

    >>> from glyptic.nn import ModelConfig, build
    >>> hook_names(build(ModelConfig(kind="decoder", layers=1, width=8, heads=2, vocabulary=5)))[:3]
    ['hook_embed', 'hook_pos_embed', 'blocks.0.hook_resid_pre']
    """
    return list(_places(model))


@checked
def record(
    model: Model, *inputs: Any, names: str | Sequence[str], edits: Mapping[str, Edit] | None = None, **named: Unpack[ModelInputs]
) -> Record:
    """Run `model(*inputs, **named)` and keep the activations whose names match; `*` stands for anything.

    >>> import torch
    >>> from glyptic.nn import ModelConfig, build
    >>> config = ModelConfig(kind="decoder", layers=2, width=8, heads=2, vocabulary=5, backend="reference")
    >>> found = record(build(config, seed=0), torch.tensor([[1, 2, 3]]), names="blocks.*.attn.hook_pattern")
    >>> {name: tuple(value.shape) for name, value in found.activations.items()}
    {'blocks.0.attn.hook_pattern': (1, 2, 3, 3), 'blocks.1.attn.hook_pattern': (1, 2, 3, 3)}
    """
    has = list(signature(model.forward).parameters)
    for name in named.keys() - set(has):
        raise InputError(f"record() was given {name}, and this {type(model).__name__} takes {', '.join(has)}.")
    kept: dict[str, Tensor] = {}

    def keeper(name: str, change: Callable[[Tensor], Tensor] | None) -> Edit:
        def keep(x: Tensor) -> Tensor:
            kept[name] = x if change is None else change(x)
            return kept[name]

        return keep

    wanted = _match(model, [names] if isinstance(names, str) else names)
    changes = _functions(model, {} if edits is None else edits)
    with edited(model, {name: keeper(name, changes.get(name)) for name in [*wanted, *changes]}):
        output = model(*inputs, **named)
    return Record(output, {name: kept[name] for name in wanted})


@contextmanager
@checked
def edited(model: Model, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Within this context each named activation x is replaced by edits[name](x).

    An edit whose place no pass within the context computes changes nothing; when the context ends, that is an error.
    """
    places = _places(model)
    detach: list[Callable[[], None]] = []
    waiting: set[str] = set()
    within = True

    def noting(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def noted(x: Tensor) -> Tensor:
            if not within:  # in a copy of the model that was made within: it does not keep the edit
                return x
            waiting.discard(name)
            return change(x)

        return noted

    try:
        for name, change in _functions(model, edits).items():
            waiting.add(name)
            detach.append(places[name](noting(name, change)))
        yield
    finally:
        within = False
        for undo in detach:
            undo()
    if waiting:
        raise InputError(_not_computed(sorted(waiting)))


def _not_computed(names: Sequence[str]) -> str:
    listed = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return (
        f"{listed} {'was' if len(names) == 1 else 'were'} not computed, so nothing was read or changed there: a pass must run "
        "within, through this very model and not a copy, and a cache keeps what a memory's keys and values are."
    )


def _functions(model: Model, edits: Mapping[str, Edit]) -> dict[str, Callable[[Tensor], Tensor]]:
    """The edits as functions, every name and every edit looked at before anything runs."""
    if not isinstance(edits, Mapping):
        raise refused("edits", edits, "a dictionary from names of hooks to edits")
    places = _places(model)
    for name in edits:
        _check(model, name, places)
    return {name: _function(name, edit) for name, edit in edits.items()}


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
    return places


def _public(path: str) -> str:
    """Module path → TransformerLens's: stack.blocks.0.attn → blocks.0.attn, encoder.blocks.0 → encoder.0."""
    if path in NORMS:
        return NORMS[path]
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


def _match(model: Model, patterns: Sequence[str]) -> list[str]:
    if not isinstance(patterns, Sequence) or not patterns or not all(isinstance(each, str) for each in patterns):
        raise refused("names", patterns, "a name or a list of names, in which * stands for anything")
    places = _places(model)
    wanted: list[str] = []
    for pattern in patterns:
        found = [name for name in places if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise InputError(f"{shown(pattern)} matches no hook of this model; nn.hook_names(model) lists them.")
        wanted += [name for name in found if name not in wanted]
    for name in wanted:
        _check(model, name, places)
    return wanted


def _check(model: Model, name: str, places: Mapping[str, Attach]) -> None:
    if not isinstance(name, str) or name not in places:
        raise InputError(f"{shown(name)} is not a hook of this model; nn.hook_names(model) lists them.")
    if name.endswith(NEED_WEIGHTS) and model.config.backend != "reference":
        raise ModelError(
            f"{name!r} does not exist in backend={model.config.backend!r}; "
            "ask nn.with_backend(model, 'reference') for it."
        )
