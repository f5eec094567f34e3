"""Levels of the tree of inputs in one pass: every input's logits, traces and 0/0 are those of its own run."""

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from glyptic.exact import Options, Sizes, random_transformer, run_batch
from glyptic.exact.running import prepared_for
from glyptic.numbers import Format, parse_format
from glyptic.prove.elements import trie
from glyptic.prove.elements.levels import beginnings, level, levels_at_once, paths_of
from glyptic.prove.elements.trie import Walk, visits


@cache
def model(words: str, format: str = "fixed:4", mask: str = "causal", undefined: tuple[float, float] = (0, 0.25)):
    """The first random one of whose runs such a share is undefined, and which tells the other inputs apart."""
    found = parse_format(format)
    assert isinstance(found, Format)
    sizes = Sizes(layers=2, heads=2, width=6, key_width=2, value_width=3, hidden=5, max_length=9, vocabulary=tuple(words))
    texts = list(product(words, repeat=4))
    for seed in range(400):
        T = random_transformer(found, seed, sizes, Options(mask=mask, answer="logits"))  # type: ignore[arg-type]
        runs = run_batch(T, texts)
        share, apart = len(runs.failures) / len(texts), len({tuple(logits) for logits in runs.logits}) / len(texts)
        if undefined[0] <= share <= undefined[1] and apart > 0.9 - share:
            return T
    raise AssertionError("no seed")


def differences(T, longest: int, traced: str | None) -> tuple[int, int]:
    """How many visited inputs are not what their runs are, and how many were visited."""
    stages = {"": frozenset([traced])} if traced else {}
    walk = Walk({"": prepared_for(T)}, 1, longest, (1,) * longest, stages)
    differ, seen = 0, set()
    for visit in visits(walk, (), lambda _: True):
        texts = [tuple(T.vocabulary[i] for i in column) for column in visit.tokens.T]
        seen.update(texts)
        runs = run_batch(T, texts, trace=traced or ())
        defined = runs.numbers >= -1  # not UNDEFINED
        defined[list(runs.failures)] = False
        codes, missing = visit.logits[""]
        differ += int((codes != runs.logits)[defined & ~missing].any(axis=1).sum())
        differ += int((visit.chains[""][0] != runs.numbers).sum())
        if traced:
            mine = prepared_for(T).arithmetic.codes(visit.branches[""].traced[traced])
            differ += sum(not np.array_equal(mine[..., i], runs.trace[traced][i]) for i in np.flatnonzero(defined))
    return differ, len(seen)


@pytest.mark.parametrize("traced", [None, "layer.1.after_attention"])
@pytest.mark.parametrize("most", [1, 2, 3, None])
@pytest.mark.parametrize(("words", "longest"), [("ab", 7), ("abc", 5), ("a", 9), ("abcdef", 3)])
def test_every_input_is_what_its_own_run_is(words, longest, most, traced, monkeypatch) -> None:
    if most is not None:
        monkeypatch.setattr(trie, "levels_at_once", lambda _: most)
    monkeypatch.setattr(trie, "_WIDEST", 16)  # so that some passes are in the middle, some fork, some go token by token
    monkeypatch.setattr(trie, "_NARROWEST", 16)
    for mask in ("causal", "strict"):
        differ, visited = differences(model(words, mask=mask), longest, traced)
        assert not differ and visited == sum(len(words) ** n for n in range(1, longest + 1))


@pytest.mark.parametrize("format", ["float:3,3", "fixed:2", "fixed:4"])
def test_floats_small_formats_and_undefined_runs(format, monkeypatch) -> None:
    monkeypatch.setattr(trie, "_WIDEST", 16)
    monkeypatch.setattr(trie, "_NARROWEST", 16)
    for mask in ("causal", "strict"):
        assert differences(model("ab", format, mask, (0.2, 0.8)), 7, None)[0] == 0


def test_a_front_in_another_order_is_seen(monkeypatch) -> None:
    monkeypatch.setattr(trie, "_WIDEST", 16)
    monkeypatch.setattr(trie, "levels_at_once", lambda _: 2)
    right = trie.Levels.front
    monkeypatch.setattr(trie.Levels, "front", lambda self: right(self).select(np.arange(self.residual.shape[2] * 4)[::-1]))
    assert differences(model("ab"), 7, None)[0]


def test_paths_are_in_order_and_know_their_beginnings() -> None:
    for words in (1, 2, 3, 5):
        for levels in range(1, levels_at_once(words) + 1):
            paths = paths_of(words, levels)
            assert list(paths) == sorted(paths, key=lambda path: (len(path), path)) and len(set(paths)) == len(paths)
            for path, own in zip(paths, beginnings(words, levels), strict=True):
                assert [paths[number] for number in own] == [path[:size] for size in range(1, len(path) + 1)]
            for size in range(1, levels + 1):
                assert {len(path) for path in paths[level(words, size)]} == {size}


@pytest.mark.parametrize("format", ["fixed:4", "fp8_e4m3"])
@pytest.mark.parametrize("sizes", [{"heads": 0}, {"key_width": 0}, {"value_width": 0}, {"key_width": 0, "value_width": 0}])
def test_heads_that_keep_nothing(sizes, format, monkeypatch) -> None:
    monkeypatch.setattr(trie, "levels_at_once", lambda _: 2)
    T = random_transformer(format, 1, replace(Sizes(layers=1, heads=1), **sizes), Options(answer="logits"))
    for traced in (None, "layer.0.after_feed_forward"):
        assert differences(T, 5, traced) == (0, 62)
