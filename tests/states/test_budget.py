"""What a search may use: bytes, states, time; and who is told how far it is."""

from __future__ import annotations

import time

import pytest

from glyptic import programs
from glyptic.exact import Transformer
from glyptic.states import TooManyStates
from glyptic.states.budget import Budget, SearchProgress
from glyptic.states.extraction import extract
from glyptic.states.search import LayerSearch


def test_bytes_are_bounded() -> None:
    """The rows of a search outgrow a megabyte: refused, with how far it came; with more memory it goes to the end."""
    transformer = programs.open("random:6,2,9", "fixed:2").replace(period=1)
    with pytest.raises(TooManyStates, match=r"passed the budget of 1 MB: .* states were found") as told:
        extract(transformer, Budget(megabytes=1))
    assert 0 < told.value.states < 200_000 and told.value.frontier > 0
    small = programs.open("averaging-majority", "fixed:2")
    assert len(extract(small, Budget(megabytes=1)).moves) == 73
    with pytest.raises(TooManyStates, match=r"over the budget of 0 MB|passed the budget of 0 MB"):
        extract(small, Budget(megabytes=0))


def test_a_table_that_would_not_fit_is_refused_before_it_is_made() -> None:
    budget = Budget(megabytes=3)
    budget.afford(3 << 20, "a table", 0)
    budget.layer = 2
    said = "layer 2, head 1: a table would take 3 MB, over the budget of 3 MB; take a smaller"
    with pytest.raises(TooManyStates, match=said) as told:
        budget.afford((3 << 20) + 1, "a table", 1)
    assert (told.value.layer, told.value.head) == (2, 1)


def test_what_is_over_is_said_and_what_is_not_is_not() -> None:
    budget = Budget(states=10, megabytes=1, seconds=1e6)
    assert budget.over(10, 1 << 20) == "" and 0 < budget.left <= 1e6
    assert budget.over(11, 0) == "the budget of 10 states"
    assert budget.over(0, (1 << 20) + 1) == "the budget of 1 MB"
    assert Budget(seconds=0.0).over(0, 0) == "the time limit of 0 s" and Budget(seconds=0.0).left == 0
    assert Budget().left == float("inf")
    assert Budget(states=10, seconds=0.0).over(11, 1 << 40) == "the time limit of 0 s"  # whoever set a time is told of it first


def test_a_refusal_itself_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 150,000 rows of many columns the different tables are counted among some of them."""
    taken = []
    refusal = LayerSearch._refusal

    def timed(*given) -> TooManyStates:
        before = time.thread_time()
        refused = refusal(*given)
        taken.append(time.thread_time() - before)
        return refused

    monkeypatch.setattr(LayerSearch, "_refusal", timed)
    with pytest.raises(TooManyStates, match=r"has at least [\d,]+ different tables"):
        programs.open("averaging-majority", "fixed:8").machine(150_000)
    assert taken[0] < 2
    with pytest.raises(TooManyStates, match=r"has 101 different tables"):
        programs.open("averaging-majority", "fixed:3").machine(100)


def test_progress_is_told_with_the_layer_the_states_and_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from glyptic.states import budget

    monkeypatch.setattr(budget, "_EVERY", 0.0)
    told: list[SearchProgress] = []
    transformer = programs.open("factor:101", "fixed:2")
    found = extract(transformer, Budget(report=told.append))
    assert {each.layer for each in told} == {0, 1, 2} and {each.layers for each in told} == {3}
    for layer, size in enumerate(found.sizes):
        of_layer = [each for each in told if each.layer == layer]
        assert of_layer[-1].states == size and of_layer[-1].frontier == 0
        assert all(0 <= each.frontier <= each.states for each in of_layer)
    heard: list[SearchProgress] = []
    transformer.machine(progress=heard.append)
    assert heard == told


def test_progress_is_told_twice_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    from glyptic.states import budget

    now = [0.0]
    monkeypatch.setattr(budget.time, "monotonic", lambda: now[0])
    told: list[SearchProgress] = []
    limit = Budget(report=told.append, _told=0.0)
    for step in range(40):
        now[0] = step / 8
        limit.tell(step, 1)
    assert [each.states for each in told] == [4, 8, 12, 16, 20, 24, 28, 32, 36]


def test_states_are_counted_before_a_table_is_made_of_them() -> None:
    """Positions times tokens, also where there are no layers; and the bytes of all moves."""
    none = Transformer.of("fixed:2", "abc", ["x"], [[0], [1], [2]], [[1], [-1]], ["YES", "NO"], period=1)
    assert len(none.machine(states=4)) == 4
    less = "; give a smaller length or vocabulary"
    for states, length, said in ((1, None, "1 positions of 3 tokens are 4 states"), (200_000, 10**5, "are 300,001 states")):
        with pytest.raises(TooManyStates, match=rf"{said}, which passed the budget of .* states{less}, or raise states=\.$"):
            none.machine(states, length=length)
    tokens = [f"t{k}" for k in range(30_000)]
    many = Transformer.of("fixed:1", tokens, ["x"], [[0]] * len(tokens), [[1], [-1]], ["YES", "NO"], period=1)
    with pytest.raises(TooManyStates, match=rf"30,001 states, which passed the budget of 2,048 MB{less}\."):
        many.machine()
