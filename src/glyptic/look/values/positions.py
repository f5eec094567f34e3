"""Positions side by side: what the page computes from.

Everything that has a formula is computed in the page; tables that training would fill are drawn from a seed, and said to be, or
are a given model's own.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from glyptic.arguments import Count, Number, Seed, checked, refused
from glyptic.errors import InputError
from glyptic.look.pages import View, pack

WIDEST, MOST_HEADS, LONGEST_TRAINED, LONGEST, FARTHEST_CLIP, MOST_BUCKETS = 64, 12, 64, 128, 16, 32
MOST_NUMBERS = 2**17  # of one table of a model: half a megabyte
COMPUTED = ("sinusoidal", "rotary", "alibi")  # nothing is learned
LEARNED = ("learned", "t5", "shaw", "transformer_xl")


@checked
def positions_view(
    model: Any = None,
    *,
    width: Annotated[int, Count(4, WIDEST)] = 64,
    heads: Annotated[int, Count(1, MOST_HEADS)] = 4,
    length: Annotated[int, Count(4, LONGEST)] = 64,
    trained: Annotated[int, Count(2, LONGEST_TRAINED)] = 32,
    base: Annotated[float, Number(above=1, most=1e9)] = 10000.0,
    seed: Seed = 0,
) -> View:
    """The page of positions; with a model of `nn`, its own sizes and tables beside what has a formula.

    >>> positions_view(width=32, trained=24).data["trained"]
    24
    >>> positions_view(width=7)
    Traceback (most recent call last):
    glyptic.errors.InputError: width is 7, and must be even: half of the coordinates are sines.
    """
    if model is not None:
        data = _of_model(model, seed)
        return View("positions", f"Positions: {data['own']}", data)
    if width % 2:
        raise refused("width", width, "even: half of the coordinates are sines")
    data = {
        "own": None, "kinds": [*COMPUTED, *LEARNED], "width": width, "heads": heads, "size": None, "length": length,
        "trained": trained, "base": base, "seed": seed, "causal": True, "clip": 8, "buckets": 16, "distance": 64,
        "limits": {"width": WIDEST, "heads": MOST_HEADS, "length": LONGEST, "trained": LONGEST_TRAINED,
                   "clip": FARTHEST_CLIP, "buckets": MOST_BUCKETS},
        "scale": None, "rotary": None, "tables": _stand_ins(seed),
    }  # fmt: skip
    return View("positions", "Positions", data)


def _stand_ins(seed: int) -> dict[str, Any]:
    """Tables as training might leave them, at the largest size: the page takes as many rows and columns as it needs.

    Neighbours are alike in trained tables, so they are here: each column is a sum of slow waves. `q` and `k` are the query and
    the key of every position, the same at all of them, so that what differs is the position.
    """
    random = np.random.default_rng(seed)

    def smooth(rows: int, columns: int, reach: float) -> np.ndarray[Any, Any]:
        waves = 6
        speed, phase = random.normal(0, 1 / reach, (waves, 1, columns)), random.uniform(0, 2 * np.pi, (waves, 1, columns))
        return np.cos(speed * np.arange(rows)[None, :, None] + phase).sum(0) * (2 / waves) ** 0.5

    def rough(*shape: int) -> np.ndarray[Any, Any]:
        return random.normal(0, 1, shape)

    falling = -np.linspace(0, 3, MOST_BUCKETS)[:, None] * random.uniform(0.2, 1.6, MOST_HEADS)
    parts = {
        "q": rough(WIDEST), "k": rough(WIDEST),
        "learned": smooth(LONGEST_TRAINED, WIDEST, 5.0),
        "t5": falling + 0.5 * smooth(MOST_BUCKETS, MOST_HEADS, 3.0),
        "shaw": smooth(2 * FARTHEST_CLIP + 1, WIDEST, 3.0),
        "transformer_xl": {"project": rough(WIDEST, WIDEST) / WIDEST**0.5, "u": rough(WIDEST), "v": rough(WIDEST)},
    }  # fmt: skip
    return _packed(parts)


def _packed(parts: dict[str, Any]) -> dict[str, Any]:
    return {k: _packed(v) if isinstance(v, dict) else pack(np.asarray(v, np.float32)) for k, v in parts.items()}


def _of_model(model: Any, seed: int) -> dict[str, Any]:
    """A model's sizes, and the table of its kind of positions; of what it does not have, only what needs no table."""
    from glyptic.nn.models import Model

    if not isinstance(model, Model):
        raise refused("model", model, "a model of glyptic.nn, or nothing")
    config = model.config
    if config.positions == "none":
        raise InputError("the model has positions='none': there is nothing of its own to show; call positions_view() without it.")
    if config.width % 2 or config.head_size % 2:
        raise InputError(f"width={config.width} and head_width={config.head_size} must be even to be shown beside sinusoids.")
    per_head = config.head_size * config.width
    shown_heads = max(1, min(config.heads, MOST_NUMBERS // per_head)) if config.positions == "transformer_xl" else config.heads
    own, more = _own_tables(model, shown_heads)
    random = np.random.default_rng(seed)
    content = {name: random.normal(0, 1, config.heads * config.head_size) for name in ("q", "k")}
    length = min(LONGEST, 2 * config.context)
    return {
        "own": config.positions, "kinds": list(dict.fromkeys([config.positions, *COMPUTED])), "width": config.width,
        "heads": config.heads, "shown_heads": shown_heads, "size": config.head_size, "length": length, "trained": config.context,
        "base": config.rotary_base, "seed": seed, "causal": config.kind == "decoder", "clip": config.relative_distance,
        "buckets": config.relative_buckets, "distance": config.relative_distance,
        "limits": {"length": max(LONGEST, min(512, 2 * config.context)), "trained": config.context},
        "scale": config.scale, "rotary": None, "tables": _packed(content | own),
    } | more  # fmt: skip


def _own_tables(model: Any, heads: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """(tables, fields that follow from them) of the first module with any: the first layer's, an encoder's before a decoder's."""
    from glyptic.nn.parts.positions import Learned, Rotary, Shaw, T5Bias, TransformerXL

    def plain(tensor: Any) -> np.ndarray[Any, Any]:
        return np.asarray(tensor.detach().float().cpu().numpy())

    for module in model.modules():
        match module:
            case Learned():
                rows = min(module.context, max(1, MOST_NUMBERS // module.embedding_dim))
                shown = module.weight[module.offset : module.offset + rows]
                return {"learned": plain(shown)}, {"rows": rows, "trained": module.context}
            case T5Bias():
                return {"t5": plain(module.table.weight)}, {"causal": not module.bidirectional}
            case Shaw():
                return {"shaw": plain(module.keys)}, {}
            case TransformerXL():
                size = model.config.head_size
                parts = {"project": module.project.weight[: heads * size], "u": module.u[:heads], "v": module.v[:heads]}
                return {"transformer_xl": {name: plain(each.reshape(-1, each.shape[-1])) for name, each in parts.items()}}, {}
            case Rotary():
                return {}, {"rotary": {"frequencies": pack(module.frequencies.double().numpy()), "factor": module.factor}}
    return {}, {}
