"""Warnings about single parts: what nothing reads, what writes nothing, flags that stay, flags for inputs of one length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glyptic.exact import Transformer
from glyptic.prove.linting.seen import Seen, Warning


def never_read(seen: Seen) -> Iterator[Warning]:
    """Coordinates whose column is 0 in W_Q, W_K, W_V, W_1 of every layer and in θ_OUTPUT; a norm reads them all."""
    transformer = seen.transformer
    read = np.any(transformer.output != 0, axis=0)
    for layer in transformer.layers:
        for head in layer.heads:
            live = np.any(head.output != 0) and np.any(head.value != 0)
            for matrix in (head.query, head.key, head.value) if live else ():
                read |= np.any(matrix != 0, axis=0)
        if layer.feed_forward is not None:
            read |= np.any(layer.feed_forward.w1 != 0, axis=0)
    if _is_normed(transformer):  # the mean and the variance are over all coordinates
        return
    for name in np.array(transformer.coordinates)[~read]:
        yield Warning(
            "never read", f"coordinate {name}", "no layer and no output reads it; drop it, or it was meant to be read."
        )


def _is_normed(transformer: Transformer) -> bool:
    inside = transformer.options.norm != "none" and any(
        (layer.heads and layer.attention_norm is not None)
        or (layer.feed_forward is not None and layer.feed_forward_norm is not None)
        for layer in transformer.layers
    )
    return inside or transformer.final_norm is not None


def dead_heads(seen: Seen) -> Iterator[Warning]:
    """Heads that write nothing: by their weights, or in every run."""
    for l, layer in enumerate(seen.transformer.layers):
        for h, head in enumerate(layer.heads):
            where = f"layer {l}, head {h}"
            if not head.output.any() or not head.value.any():
                yield Warning("dead head", where, "W_V or W_O is 0: it never writes anything.")
            elif not seen.columns(f"layer.{l}.head.{h}.output").any():
                yield Warning("dead head", where, f"it writes 0 on {seen.chosen}.")


def dead_layers(seen: Seen) -> Iterator[Warning]:
    """Layers that leave the residual as it is, in every run."""
    for l in range(len(seen.transformer.layers)):
        before = seen.columns("embedding" if l == 0 else f"layer.{l - 1}.after_feed_forward")
        if before.size and np.array_equal(before, seen.columns(f"layer.{l}.after_feed_forward")):
            yield Warning("dead layer", f"layer {l}", f"it changes nothing on {seen.chosen}.")


def flags_left_over(seen: Seen) -> Iterator[Warning]:
    """0–1 coordinates of the position embedding that are still in the last residual, where '0 otherwise' is often assumed."""
    transformer = seen.transformer
    if not transformer.layers:
        return
    final = seen.columns(f"layer.{len(transformer.layers) - 1}.after_feed_forward")
    for k, name in enumerate(transformer.coordinates):
        values = set(transformer.position_embedding[:, k].tolist())
        if len(values) != 2 or 0 not in values or transformer.token_embedding[:, k].any():
            continue
        if not _is_written(transformer, k) or (final.size and final[k].any()):
            message = "the position embedding sets it, and the last residual still has it."
            yield Warning("flag left over", f"coordinate {name}", message)


def _is_written(transformer: Transformer, k: int) -> bool:
    heads = any(head.output[k].any() for layer in transformer.layers for head in layer.heads)
    feed_forwards = [layer.feed_forward for layer in transformer.layers if layer.feed_forward is not None]
    return heads or _is_normed(transformer) or any(ff.w2[k].any() or ff.b2[k] for ff in feed_forwards)


def fixed_last_position(seen: Seen) -> Iterator[Warning]:
    """A flag at one position that matters to inputs which end there, and to no others: the last position is not fixed.

    Whether it matters is tried: the inputs are run again without the flag.
    """
    transformer, lengths = seen.transformer, np.array([len(text) for text in seen.texts])
    for k, name in enumerate(transformer.coordinates):
        places = np.flatnonzero(transformer.position_embedding[:, k])
        if len(places) != 1 or places[0] == 0:
            continue
        position = int(places[0])
        without = transformer.position_embedding.copy()
        without[:, k] = 0
        runs = transformer.replace(position_embedding=without).run_batch(seen.texts)
        changed = (runs.logits != seen.runs.logits).any(axis=1) | (runs.numbers != seen.runs.numbers)
        if changed[lengths == position + 1].any() and not changed[lengths != position + 1].any():
            message = f"only position {position} has it, and it matters to inputs of length {position + 1} alone: they end there."
            yield Warning("fixed last position", f"coordinate {name}", message)
