"""What single parts show: what nothing reads, what writes nothing, flags that stay, flags for inputs of one length."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glyptic.exact import Transformer
from glyptic.exact.weights import Head, Layer
from glyptic.lint.findings import Finding
from glyptic.lint.sample import Sample

_ASLEEP = "a part made for any length or any embedding may have nothing to do in this transformer."
_UNREAD = "a construction made for any size may set more than a small size reads; no answer depends on it."
_MARK = "a mark of positions that is never cleared does no harm where no part that is added later takes it for 0."


def never_read(sample: Sample) -> Iterator[Finding]:
    """Coordinates whose column is 0 in W_Q, W_K, W_V, W_1 and gates of every layer and in θ_OUTPUT; a norm reads them all.

    A warning where a layer writes what nobody reads: a reader was forgotten. A note where only the embedding can set it. Nothing
    where the output reads nothing at all: that is a block under construction, and its reader is still to come.
    """
    transformer = sample.transformer
    if _is_normed(transformer) or not transformer.output.any():  # the mean and the variance are over all coordinates
        return
    read = np.any(transformer.output != 0, axis=0)
    for layer in transformer.layers:
        for head in layer.heads:
            for matrix in (head.query, head.key, head.value) if _is_live(head) else ():
                read |= np.any(matrix != 0, axis=0)
        if layer.feed_forward is not None:
            gate = layer.feed_forward.gate
            for matrix in (layer.feed_forward.w1, *(() if gate is None else (gate,))):
                read |= np.any(matrix != 0, axis=0)
    for k in np.flatnonzero(~read):
        where = f"coordinate {transformer.coordinates[k]}"
        if _is_written(transformer, int(k)):
            message = "a layer writes it, and no layer and no output reads it; drop it, or it was meant to be read."
            yield Finding("never read", "warning", where, message)
        else:
            yield Finding("never read", "note", where, "no layer and no output reads it.", _UNREAD)


def _is_live(head: Head) -> bool:
    valued = any(part is not None and part.any() for part in (head.value, head.value_bias, head.distance_values))
    return bool(head.output.any() and valued) or (head.output_bias is not None and bool(head.output_bias.any()))


def _is_normed(transformer: Transformer) -> bool:
    inside = transformer.options.norm != "none" and any(
        (layer.heads and layer.attention_norm is not None)
        or (layer.feed_forward is not None and layer.feed_forward_norm is not None)
        for layer in transformer.layers
    )
    return inside or transformer.final_norm is not None or transformer.embedding_norm is not None


def dead_heads(sample: Sample) -> Iterator[Finding]:
    """Heads that write nothing.

    A warning by their weights, for such a head is superfluous or a matrix was forgotten; a note where only the runs show it.
    """
    for l, layer in enumerate(sample.transformer.layers):
        for h, head in enumerate(layer.heads):
            where, written = f"layer {l}, head {h}", sample.columns(f"layer.{l}.head.{h}.output")
            if not _is_live(head):
                yield Finding("dead head", "warning", where, "W_V or W_O is 0: it never writes anything.")
            elif written.size and not written.any():
                yield Finding("dead head", "note", where, f"it writes 0 on {sample.chosen}.", _ASLEEP)


def dead_layers(sample: Sample) -> Iterator[Finding]:
    """Layers that leave the residual as it is, in every run.

    A warning if their weights alone say so; a note where only the runs show it.
    """
    for l, layer in enumerate(sample.transformer.layers):
        before = sample.columns("embedding" if l == 0 else f"layer.{l - 1}.after_feed_forward")
        if not before.size or not np.array_equal(before, sample.columns(f"layer.{l}.after_feed_forward")):
            continue
        where = f"layer {l}"
        if _can_write(layer):
            yield Finding("dead layer", "note", where, f"it changes nothing on {sample.chosen}.", _ASLEEP)
        else:
            yield Finding("dead layer", "warning", where, "by its weights, it never writes anything.")


def _can_write(layer: Layer) -> bool:
    ff = layer.feed_forward
    return any(map(_is_live, layer.heads)) or (ff is not None and bool(ff.w2.any() or ff.b2.any()))


def flags_left_over(sample: Sample) -> Iterator[Finding]:
    """0–1 coordinates of the position embedding that are still in the last residual, where '0 otherwise' is often assumed.

    A warning if the output reads the flag (it goes into the answer), or if it was changed in some places where it was set and is
    not 0 in all of them (a clearing that fails). Else a note: `carve` marks positions for good, and says so in its frames.
    """
    transformer, still = sample.transformer, "and the last residual still has it."
    for k in _flags(transformer) if transformer.layers else ():
        where = f"coordinate {transformer.coordinates[k]}"
        untouched = not (_is_written(transformer, k) or _is_normed(transformer))
        stays, changes = _sampled_flag(sample, k)
        if not (stays or untouched):
            continue
        if transformer.output[:, k].any():
            yield Finding("flag left over", "warning", where, f"the position embedding sets it, the output reads it, {still}")
        elif changes and not _is_normed(transformer):
            message = f"the position embedding sets it, a layer changes it in some places where it is set, {still}"
            yield Finding("flag left over", "warning", where, message)
        else:
            yield Finding("flag left over", "note", where, f"the position embedding sets it, {still}", _MARK)


def _sampled_flag(sample: Sample, k: int) -> tuple[bool, bool]:
    """Of the places where the embedding sets a flag: whether some have it in the end, and whether some are changed."""
    embedded = sample.columns("embedding")
    if not embedded.size:  # every run met 0/0
        return False, False
    was_set = embedded[k] != 0
    last = sample.columns(f"layer.{len(sample.transformer.layers) - 1}.after_feed_forward")[k, was_set]
    return bool(last.any()), bool((last != embedded[k, was_set]).any())


def _flags(transformer: Transformer) -> Iterator[int]:
    """Coordinates that are 0 at some positions and one other value at the rest, and that no token sets."""
    for k in range(transformer.width):
        values = set(transformer.position_embedding[:, k].tolist())
        if len(values) == 2 and 0 in values and not transformer.token_embedding[:, k].any():
            yield k


def _is_written(transformer: Transformer, k: int) -> bool:
    every = [head for layer in transformer.layers for head in layer.heads]
    heads = any(head.output[k].any() or (head.output_bias is not None and head.output_bias[k]) for head in every)
    feed_forwards = [layer.feed_forward for layer in transformer.layers if layer.feed_forward is not None]
    return heads or any(ff.w2[k].any() or ff.b2[k] for ff in feed_forwards)


def fixed_last_position(sample: Sample) -> Iterator[Finding]:
    """A flag at one position that matters to inputs which end there, and to no others: the last position is not fixed.

    Whether it matters is tried: the inputs are run again without the flag. A warning: inputs of other lengths are treated
    otherwise, which a language of one length alone would want. With two positions, "last" is also "not the first", and nothing is
    said; nor of a flag that matters to longer inputs as well, though these may be wrong by it.
    """
    transformer, lengths = sample.transformer, np.array([len(text) for text in sample.texts])
    for k, name in enumerate(transformer.coordinates if transformer.max_length > 2 else ()):
        places = np.flatnonzero(transformer.position_embedding[:, k])
        if len(places) != 1 or places[0] == 0 or (transformer.period and places[0] >= transformer.beginning):
            continue  # what repeats is at no one position
        position = int(places[0])
        without = transformer.position_embedding.copy()
        without[:, k] = 0
        runs = transformer.replace(position_embedding=without).run_batch(sample.texts)
        changed = (runs.logits != sample.runs.logits).any(axis=1) | (runs.numbers != sample.runs.numbers)
        if changed[lengths == position + 1].any() and not changed[lengths != position + 1].any():
            message = f"only position {position} has it, and it matters to inputs of length {position + 1} alone: they end there."
            yield Finding("fixed last position", "warning", f"coordinate {name}", message)
