"""Chains of thought to their end, against runs of many steps."""

import pytest
from tests.states.sampling import sampled, short_texts

from glyptic import programs
from glyptic.errors import InputError
from glyptic.exact import Transformer
from glyptic.states import closed_loop
from glyptic.states.thoughts import NEVER_STOPS


@pytest.mark.parametrize("seed", range(0, 24))
def test_closed_loops_are_runs(seed: int) -> None:
    transformer = sampled(seed).replace(answers=("0", "1"))
    if seed in (18,):
        return
    found = transformer.machine(100_000)
    loop = closed_loop(found, ["1"])
    texts = short_texts(transformer, 4)
    most = 40
    chains = transformer.run_batch(texts, steps=most).chains
    for text, chain in zip(texts, chains.tolist(), strict=True):
        state, end = found.state(text), loop.end(text)
        stopped = [k for k, number in enumerate(chain) if number in (1, -1)]
        if end == NEVER_STOPS:
            assert set(chain) == {0}, text
        elif end == "UNDEFINED":
            assert -2 in chain or stopped, text
        elif -2 not in chain:  # a run goes on after a stop, and may then meet 0/0
            assert stopped[0] + 1 == loop.steps[state] and {1: "1", -1: "TIE"}[chain[stopped[0]]] == end, text


def test_what_is_asked_of_loops() -> None:
    words = ["a", "b", "."]
    embedding, output = [[1, 0], [0, 1], [0, 0]], [[0, 0], [1, -1], [-1, 1]]
    transformer = Transformer.of("fixed:2", "ab.", ["a", "b"], embedding, output, words, period=1)
    loop = closed_loop(transformer.machine(), ["."])
    assert loop.always_stops and loop.longest == 2 and loop.stops_within(2) is None and loop.stops_within(1) == ("a",)
    assert loop.always_ends_with(".") == (".",) and loop.examples["."] == ("a",)  # after a full stop three are largest: a tie
    assert "every chain stops within 2 steps" in str(loop)
    taking_turns = transformer.replace(output=transformer.output[[2, 1, 0]])  # a says b, b says a
    endless = closed_loop(taking_turns.machine(), ["."])
    assert not endless.always_stops and endless.longest is None and endless.examples[NEVER_STOPS] == ("a",)
    assert endless.cycle[endless.machine.state("a")] == 2 and endless.stops_within(100) == ("a",)


def test_bad_questions() -> None:
    found = programs.open("occurs", "fixed:2").machine()
    with pytest.raises(InputError, match="'NO' is not in the vocabulary"):
        closed_loop(found, ["YES"])
    with pytest.raises(InputError, match="'HALT' is no answer"):
        closed_loop(found, ["NO", "YES", "HALT"])
