"""Constructions on transformers with the parts of trained ones: what they were is kept, to the last code, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from glyptic import notes
from glyptic.carve import compose, coordinates, flags, ignore, normalize
from glyptic.carve.beside import beside
from glyptic.errors import ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer

PARTS: dict[str, dict[str, Any]] = {
    "biases": {"biases": True},
    "gelu": {"activation": "gelu", "biases": True},
    "gated silu": {"activation": "silu", "gated": True},
    "rotary": {"turned": 1, "biases": True},
    "distances": {"distances": 3},
    "parallel": {"parallel": True, "biases": True},
}
TEXTS = ["".join(x) for n in range(1, 5) for x in product("01", repeat=n)]


def made(kind: str, seed: int = 0, format: str = "fixed:6", **options: Any) -> Transformer:
    chosen = Options(**{"attention": "max-subtracted", "answer": "logits", **options})
    return random_transformer(format, seed, Sizes(layers=1, heads=2, max_length=5, **PARTS[kind]), chosen)


def logits(transformer: Transformer) -> np.ndarray:
    batch = transformer.run_batch(TEXTS)
    assert not batch.failures
    return batch.logits


@pytest.mark.parametrize("one_layer", [False, True])
@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("kind", PARTS)
def test_normal_forms(kind: str, products: Any, one_layer: bool) -> None:
    transformer = made(kind, products=products)
    before = logits(transformer)
    assert (before[:, 0] != before[:, 1]).any()
    top = transformer.format.max_code
    yes = before[:, 1] > before[:, 0]
    assert np.array_equal(logits(normalize.zero_one(transformer, one_layer=one_layer)), before)
    signs = logits(normalize.plus_minus(transformer, one_layer=one_layer))
    assert np.array_equal(signs, np.where(yes[:, None], [-top, top], [top, -top]))
    infinite = logits(normalize.infinity(transformer, one_layer=one_layer))
    assert np.array_equal(infinite[:, 1], np.where(yes, top, 0))


@pytest.mark.parametrize("kind", PARTS)
def test_side_by_side_widened_and_permuted_they_compute_what_they_did(kind: str) -> None:
    a, b = made(kind, 1), made(kind, 2)
    assert np.array_equal(logits(beside([a, b])), np.concatenate([logits(a), logits(b)], axis=1))
    assert np.array_equal(logits(coordinates.widen(a, ["more"], first=True)), logits(a))
    unread = coordinates.widen(a, ["more"])
    assert np.array_equal(logits(coordinates.free(unread, ["more"])), logits(a))
    moved = coordinates.permute(unread, ["more", *a.coordinates])
    assert np.array_equal(logits(moved), logits(a))
    both = a & ~b
    wanted = (logits(a)[:, 1] > logits(a)[:, 0]) & ~(logits(b)[:, 1] > logits(b)[:, 0])
    assert [answer == "YES" for answer in both.run_batch(TEXTS).answers] == wanted.tolist()


def test_what_a_coordinate_is_ignored_by() -> None:
    """Gates read it no more, and biases write it no more: it stays what it was when it entered."""
    transformer = ignore.coordinates(made("gated silu"), ["x2"])
    biased = ignore.coordinates(made("biases"), ["x2"])
    assert not transformer.layers[0].feed_forward.gate[:, 2].any()
    run = biased.run("0110", trace=["embedding", "*after_*"]).residual
    assert all(run[stage][-1]["x2"] == run["embedding"][-1]["x2"] for stage in run)


def test_a_coordinate_that_a_bias_writes_is_not_free_for_a_flag() -> None:
    clean = random_transformer("fixed:6", 0, Sizes(layers=1, heads=1, biases=True, density=0.0))
    column = {"flag": [1, *[0] * (clean.max_length - 1)]}
    flagged, _ = flags.ensure(clean, column)
    assert flags.ensure(flagged, column)[0] is flagged  # the flag that is there will do
    layer, bias = flagged.layers[0], np.zeros(flagged.width, np.int64)
    bias[flagged.coordinate("flag")] = 1
    written = flagged.replace(layers=(replace(layer, heads=(replace(layer.heads[0], output_bias=bias),)),))
    assert flags.ensure(written, column)[0].width == flagged.width + 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: beside([made("gelu"), made("gated silu")]), "feed-forwards of one layer are gated silu and gelu"),
        (lambda: beside([made("parallel"), made("biases")]), "a layer of one is parallel"),
        (lambda: compose.relay(made("biases"), made("biases")), "compose.relay, a: the transformer has an output_bias"),
        (lambda: compose.sequence(made("gelu"), made("biases")), "compose.sequence, b: the transformer has an output_bias"),
        (lambda: coordinates.widen(normed({"norm_kind": "rms"}), ["x"]), "LayerNorm and RMSNorm go over all coordinates"),
        (lambda: coordinates.widen(normed({"embedding_norm": True}, "none"), ["x"]), "there is embedding_norm"),
        (lambda: notes.primitives.ignoring(made("biases"), "x0"), "is a part that the notes' transformers do not have"),
        (lambda: notes.primitives.ignoring(made("gelu"), "x0"), "is a part that the notes' transformers do not have"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(call: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        call()


def normed(parts: dict[str, Any], norm: Any = "pre") -> Transformer:
    return random_transformer("fixed:6", 0, Sizes(layers=1, heads=1, **parts), Options(norm=norm))

