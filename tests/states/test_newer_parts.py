"""Machines of transformers with biases, gates, other activations and norms: equal to the forward pass, or refused by name."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from glyptic.errors import ModelError
from glyptic.exact import Options, Sizes, random_transformer

SMALL = {"layers": 1, "heads": 1, "width": 2, "key_width": 1, "value_width": 1, "hidden": 2, "max_length": 1, "density": 0.6}
KNOWN: dict[str, tuple[dict[str, Any], Options]] = {
    "biases": ({"biases": True}, Options()),
    "silu, gated": ({"activation": "silu", "gated": True}, Options()),
    "gelu": ({"activation": "gelu", "biases": True}, Options(attention="average")),
    "gelu_tanh": ({"activation": "gelu_tanh"}, Options(attention="max-subtracted", mask="strict")),
    "rms": ({"norm_kind": "rms", "biases": True}, Options(norm="pre")),
    "rms_outside": ({"norm_kind": "rms_outside"}, Options(norm="post", attention="leftmost")),
    "parallel": ({"parallel": True, "biases": True}, Options(norm="pre", attention="rightmost")),
}


@pytest.mark.parametrize("name", KNOWN)
def test_machines_are_the_forward_pass(name: str) -> None:
    changes, options = KNOWN[name]
    texts = [text for n in range(1, 9) for text in product("01", repeat=n)]
    for seed in range(4):
        transformer = random_transformer("fixed:1", seed, Sizes(**{**SMALL, **changes}), options)
        endless = transformer.replace(period=1)
        found = endless.machine(states=20_000)
        assert [found.answer(text) for text in texts] == list(endless.run_batch(texts).answers), seed


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"turned": 1, "key_width": 2}, "cosine"),
        ({"distances": 2}, "distance_scores"),
        ({"embedding_norm": True}, "embedding_norm"),
    ],
)
def test_what_states_do_not_hold_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    transformer = random_transformer("fixed:2", 0, Sizes(**{**SMALL, "max_length": 3, **changes}), Options(norm="pre"))
    place = "" if named == "embedding_norm" else "layer 0, head 0: "
    said = rf"^{place}what a state holds is not known where there is an? [a-z ]+ \({named}\); [^;]*\.$"
    with pytest.raises(ModelError, match=said):
        transformer.machine()
