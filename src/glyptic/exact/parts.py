"""Every array of a transformer by its name, as its files have it; and what is chosen beside the arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from glyptic.exact.weights import PARTS_OF_A_LAYER, SHAPES, Weights, rows_of
from glyptic.numbers import Codes

if TYPE_CHECKING:
    from glyptic.exact.transformer import Transformer


def parts(transformer: Transformer) -> Iterator[tuple[str, Codes, tuple[int, ...]]]:
    """Every array with its name and the shape it must have; names are those of the files."""
    d = transformer.width
    yield "token_embedding", transformer.token_embedding, (len(transformer.vocabulary), d)
    yield "position_embedding", transformer.position_embedding, (rows_of(transformer.position_embedding), d)
    for prefix, part in weights_of(transformer):
        shapes = SHAPES[type(part)](part, d)
        for name, array in part.arrays():
            yield f"{prefix}.{name}", array, shapes[name]
    yield "output", transformer.output, (len(transformer.answers), d)
    if transformer.output_bias is not None:
        yield "output_bias", transformer.output_bias, (len(transformer.answers),)


def weights_of(transformer: Transformer) -> Iterator[tuple[str, Weights]]:
    """Every head, feed-forward and norm with its name, in the order of the files."""
    if transformer.embedding_norm is not None:
        yield "embedding_norm", transformer.embedding_norm
    for l, layer in enumerate(transformer.layers):
        yield from ((f"layers.{l}.heads.{h}", head) for h, head in enumerate(layer.heads))
        named = ((f"layers.{l}.{name}", getattr(layer, name)) for name in PARTS_OF_A_LAYER)
        yield from ((name, part) for name, part in named if part is not None)
    if transformer.final_norm is not None:
        yield "final_norm", transformer.final_norm


def choices(transformer: Transformer) -> dict[str, str | bool]:
    """What is chosen beside the arrays, by name, where it is not the default: {"layers.0.feed_forward.activation": "gelu"}."""
    found: dict[str, str | bool] = {}
    for prefix, part in weights_of(transformer):
        for each in fields(part):  # type: ignore[arg-type]  # of a subclass
            if each.name in part.words and getattr(part, each.name) != each.default:
                found[f"{prefix}.{each.name}"] = getattr(part, each.name)
    found |= {f"layers.{l}.parallel": True for l, layer in enumerate(transformer.layers) if layer.parallel}
    return found


_OF_THE_PAPER = ("query", "key", "value", "output", "w1", "b1", "w2", "b2", "gain", "bias", "epsilon")


def newer_parts(transformer: Transformer) -> list[str]:
    """The parts and choices beyond the paper's matrices, relu and LayerNorm, by name: what older readers would not know."""
    found = [name for name in ("embedding_norm", "output_bias") if getattr(transformer, name) is not None]
    for prefix, part in weights_of(transformer):
        found += [f"{prefix}.{name}" for name, _ in part.arrays() if name not in _OF_THE_PAPER]
    return [*found, *choices(transformer)]
