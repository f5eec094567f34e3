"""What a claim is about: values of a format, a block of layers, or inputs. Here it is read; `elements` goes through it."""

from __future__ import annotations

import json
from typing import Any

from .models import first_with, has_entry
from .numbers import Format, constant
from .reading import is_count, is_list, need
from .transformer import Model

SUBJECTS = {
    "values": ("names", "format"),
    "block": ("transformers", "first", "last", "positions", "free", "fixed", "from_positions"),
    "inputs": ("transformers", "max_length", "min_length", "steps"),
}


def check_inputs(subject: dict[str, Any], models: dict[str, Model], format: Format) -> None:
    least, most = is_count(subject["min_length"], "min_length"), is_count(subject["max_length"], "max_length")
    steps = is_list(subject["steps"], int, "steps")
    need(1 <= least <= most and len(steps) == most and min(steps) >= 1, "the lengths or the steps of the inputs make no sense.")
    need(len({tuple(model.vocabulary) for model in models.values()}) == 1, "the transformers read different vocabularies.")
    longest = max(n + steps[n - 1] - 1 for n in range(least, most + 1))
    for model in models.values():
        enough = model.period is not None or longest <= len(model.arrays["position_embedding"])
        need(enough, f"{model.name!r} has fewer positions than the inputs need.")
        reads = set(model.answers) <= set(model.vocabulary) or max(steps[least - 1 :]) == 1
        need(reads, f"{model.name!r} does not read all of its answers, so it has no chain of thought.")


def check_block(subject: dict[str, Any], models: dict[str, Model], format: Format) -> None:
    positions = is_count(subject["positions"], "positions", 10_000)
    need(positions >= 1, "the block has no position.")
    known = {name for model in models.values() for name in model.coordinates}
    need(all(isinstance(subject[p], list) for p in ("free", "fixed")), "the block's places are no lists.")
    places = [tuple(place[:2]) if isinstance(place, list) else () for place in (*subject["free"], *subject["fixed"])]
    for place in places:
        there = len(place) == 2 and isinstance(place[0], str) and place[0] in known and type(place[1]) is int
        need(there and 0 <= place[1] < positions, f"{place!r} is not a place of the block.")
    need(all(len(p) == 2 for p in subject["free"]) and len(set(places)) == len(places), "a place of the block is named twice.")
    for entry in subject["fixed"]:
        need(len(entry) == 3, f"{entry!r} does not give a place its number.")
        constant(entry[2], format)
    from_positions = is_list(subject["from_positions"], str, "from_positions")
    need(set(from_positions) <= known, "from_positions names a coordinate that does not exist.")
    for model in models.values():
        last = len(model.heads) if subject["last"] is None else is_count(subject["last"], "last")
        need(is_count(subject["first"], "first") <= last <= len(model.heads), "the block's layers do not exist.")
        enough = not from_positions or model.period is not None or positions <= len(model.arrays["position_embedding"])
        need(enough, f"{model.name!r} has fewer positions than the block.")
    weights = subject.setdefault("free_weights", [])
    need(isinstance(weights, list), "free_weights is no list.")
    for entry in weights:
        need(isinstance(entry, list) and len(entry) == 2, f"{entry!r} is not a weight.")
        owner = first_with(models, entry[0])
        need(owner is not None and has_entry(owner, *entry), f"no transformer has the weight {entry!r}.")
    need(len({json.dumps(entry) for entry in weights}) == len(weights), "a free weight is named twice.")
    need(bool(subject["free"] or weights), "nothing is free in the block.")
