"""Rows followed one after the other in compiled code, and many at once by operations on arrays: the same machine, row by row."""

from itertools import product

import numpy as np
import pytest
from tests.states.sampling import harsh, sampled

from glyptic import programs
from glyptic.exact import Transformer
from glyptic.states import TooManyStates, search, walking
from glyptic.states.budget import Budget
from glyptic.states.extraction import Extracted, extract


def both(transformer: Transformer, budget: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Extracted, Extracted] | None:
    """The machine by compiled steps and by arrays; None where there are too many states, or no compiled steps."""
    made = []
    whole = walking.RowSteps.of

    def watched(*given):
        made.append(whole(*given))
        return made[-1]

    try:
        with monkeypatch.context() as patch:
            patch.setattr(walking.RowSteps, "of", staticmethod(watched))
            compiled = extract(transformer, Budget(budget))
        with monkeypatch.context() as patch:
            patch.setattr(walking.RowSteps, "of", staticmethod(lambda *given: None))
            by_arrays = extract(transformer, Budget(budget))
    except TooManyStates:
        return None
    return (compiled, by_arrays) if all(each is not None for each in made) else None


def same(a: Extracted, b: Extracted) -> None:
    """States in the same order, and at each the same vector, however the vectors are numbered."""
    assert np.array_equal(a.moves, b.moves) and a.sizes == b.sizes
    assert np.array_equal(a.answers, b.answers) and np.array_equal(a.place, b.place)
    said = a.vector >= 0
    assert np.array_equal(said, b.vector >= 0)
    assert np.array_equal(a.vectors[a.vector[said]], b.vectors[b.vector[said]])
    assert len(a.vectors) == len(b.vectors) == len(np.unique(a.vector[said]))


def test_compiled_steps_are_those_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    met: set[str] = set()
    compared = 0
    for seed in range(84):
        kinds = ("softmax", "max-subtracted")[seed % 2], ("none", "pre")[seed // 2 % 2]
        transformer = sampled(seed) if seed < 60 else harsh(seed - 60, *kinds)
        found = both(transformer, 1500, monkeypatch)
        if found is not None:
            same(*found)
            options = transformer.options
            met |= {options.attention, options.mask, options.norm, options.products, str(transformer.format)}
            compared += 1
    assert compared >= 45
    assert met >= {"softmax", "max-subtracted", "leftmost", "rightmost", "average", "causal", "strict", "rounded", "fused"}
    assert met >= {"fixed:1", "float:2,1", "ieee:3,2", "q:0,2"}


@pytest.mark.parametrize(
    ("name", "format"),
    [
        *product(["nested", "same-ends", "exactly:3", "first-equals-last:9"], ["fixed:3", "float:4,3", "fp16"]),
        *(("averaging-majority", "fixed:3"), ("averaging-majority", "float:2,2")),
    ],
)
def test_deciders_and_larger_formats(name: str, format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = both(programs.open(name, format), 20_000, monkeypatch)
    assert found is not None
    same(*found)


@pytest.mark.parametrize("ahead", [1, 3, 1 << 14])
def test_how_far_it_looks_ahead_changes_nothing(ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (1, 6, 14, 22):
        right = extract(sampled(seed), Budget(5000))
        with monkeypatch.context() as patch:
            patch.setattr(search, "_AHEAD", ahead)
            patch.setattr(search, "_FARTHEST", ahead)
            patch.setattr(search, "_CELLS", 100)
            same(extract(sampled(seed), Budget(5000)), right)


def test_a_chain_is_followed_with_few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,261 states, five of each length: the layer is asked a few times, not once a length."""
    asked, whole = [], search.LayerSearch._answer_new
    monkeypatch.setattr(search.LayerSearch, "_answer_new", lambda self: (asked.append(1), whole(self))[1])
    assert extract(programs.open("averaging-majority", "fixed:4"), Budget(5000)).sizes == (1261,)
    assert len(asked) < 20
