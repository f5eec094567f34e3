"""Batches by any number of threads, and streams of them: the same bits, failures, errors and order."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import time
import weakref
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glyptic import programs
from glyptic.errors import InputError
from glyptic.exact import Options, Sizes, run_batch, run_residual, run_stream, running
from glyptic.exact.numbering import numbered
from glyptic.exact.random import random_transformer
from glyptic.exact.running import prepared_for

TEXTS = ["".join(word) for n in range(1, 8) for word in product("01", repeat=n)]
SIZES = Sizes(layers=2, heads=2, width=6, max_length=12, answers=("0", "1"))


def assert_same(one, other) -> None:
    assert np.array_equal(one.numbers, other.numbers) and np.array_equal(one.logits, other.logits)
    assert np.array_equal(one.chains, other.chains) and one.logits.dtype == other.logits.dtype
    assert {k: (str(e), e.place) for k, e in one.failures.items()} == {k: (str(e), e.place) for k, e in other.failures.items()}
    assert [*one.failures] == [*other.failures]
    assert one.trace.keys() == other.trace.keys()
    for stage, arrays in one.trace.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, other.trace[stage], strict=True))


@pytest.fixture
def small_chunks(monkeypatch) -> None:
    monkeypatch.setattr(running, "_CHUNK_BYTES", 4 * 16 * 12 * 5)
    monkeypatch.setattr(running, "_LANES", 1)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("name", ["fixed:3", "q:3,3", "float:4,3", "fp16/zero", "fixed:12"])
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    failed = 0
    for seed, steps in ((0, 1), (1, 3), (2, 1)):
        transformer = random_transformer(name, seed, SIZES, Options(ties="first"))
        one, *more = (
            run_batch(transformer, TEXTS, steps=steps, trace=["*weights", "logits"], workers=workers) for workers in (1, 2, 3)
        )
        failed += len(one.failures)
        for each in more:
            assert_same(one, each)
        for place in range(0, len(TEXTS), 31):  # and what each input gives by itself
            alone = run_batch(transformer, [TEXTS[place]], steps=steps)
            assert np.array_equal(alone.chains[0], one.chains[place])
    assert failed or name == "fixed:12"


@pytest.mark.usefixtures("small_chunks")
def test_errors_and_progress_are_the_same_with_any_number(monkeypatch) -> None:
    transformer = random_transformer("fixed:4", 0, SIZES)
    wishes = {
        "unknown token '2' at position 1": (["01", "12", ""], 1),
        "the input is empty": (["01", "", "12"], 1),
        "12 tokens and 2 steps need more positions": (["0" * 12, "1" * 12, "01"] * 9, 2),
    }
    for said, (texts, steps) in wishes.items():
        for workers in (1, 2, 3):
            with pytest.raises(InputError, match=said):
                run_batch(transformer, texts, steps=steps, workers=workers)
    for workers in (1, 2, 3):
        seen: list[int] = []
        run_batch(transformer, TEXTS, progress=seen.append, workers=workers)
        assert sum(seen) == len(TEXTS)
    for wrong in (0, -1, 1025, True, 1.0, "2"):
        with pytest.raises(InputError, match=r"workers is .* whole number from 1 to 1,024"):
            run_batch(transformer, TEXTS, workers=wrong)  # type: ignore[arg-type]
    monkeypatch.setenv("GLYPTIC_WORKERS", "none")
    with pytest.raises(InputError, match="GLYPTIC_WORKERS is 'none'"):
        run_batch(transformer, TEXTS)


@given(st.lists(st.text(alphabet="aé中😀", min_size=1, max_size=5), max_size=40))
def test_texts_by_a_table_of_characters_are_the_tokens_read_one_by_one(texts: list[str]) -> None:
    transformer = random_transformer("fixed:4", 0, Sizes(layers=0, max_length=5, vocabulary=("😀", "a", "中", "é")))
    there = {}
    for group in numbered(transformer, texts):
        for place, column in zip(group.places, group.tokens.T, strict=True):
            there[int(place)] = tuple(transformer.vocabulary[number] for number in column)
    assert there == {place: transformer.tokens(text) for place, text in enumerate(texts)}
    assert_same(run_batch(transformer, texts), run_batch(transformer, [list(text) for text in texts]))


@pytest.mark.parametrize("wrong", ["b", "\0", "\ud800", "\U0010ffff"])
def test_a_character_beyond_the_table_is_told_as_ever(wrong: str) -> None:
    transformer = random_transformer("fixed:4", 0, Sizes(layers=0, max_length=5, vocabulary=("a", "c")))
    with pytest.raises(InputError, match=r"unknown token .* at position 1; the vocabulary is a c"):
        run_batch(transformer, ["aa", "a" + wrong])


def test_a_stream_is_its_batches_and_takes_inputs_as_they_are_needed() -> None:
    transformer = random_transformer("fixed:3", 0, SIZES)
    whole, taken = run_batch(transformer, TEXTS, trace="logits"), []

    def texts():
        for text in TEXTS:
            taken.append(text)
            yield text

    batches = run_stream(transformer, texts(), size=50, trace="logits", workers=2)
    first = next(batches)
    assert len(taken) == 50
    rest = [first, *batches]
    assert [len(batch.numbers) for batch in rest] == [50, 50, 50, 50, 50, 4]
    assert np.array_equal(np.concatenate([batch.logits for batch in rest]), whole.logits)
    assert sum((batch.answers for batch in rest), ()) == whole.answers
    assert {k + 50 * n for n, batch in enumerate(rest) for k in batch.failures} == whole.failures.keys()
    for wrong in (0, 1.5, True):
        with pytest.raises(InputError, match="size is"):
            run_stream(transformer, TEXTS, size=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="texts is '01'"):
        run_stream(transformer, "01")


def test_traces_in_a_stream_are_bounded_in_bytes(monkeypatch) -> None:
    """What is reckoned is what arrays take; the batches are those that fit, one input at the least."""
    sizes = Sizes(layers=2, heads=2, width=6, hidden=9, key_width=2, value_width=3, max_length=9)
    transformer = random_transformer("fixed:3", 0, sizes)
    for texts, steps in ((["0110", "1", "01101"], 1), (["01", "1"], 1)):
        traced = run_batch(transformer, texts, steps=steps, trace=True).trace
        for place, text in enumerate(texts):
            held = sum(arrays[place].nbytes for arrays in traced.values())
            assert held == running.traced_bytes(transformer, traced, len(text))
    monkeypatch.setattr(running, "_STREAMED_BYTES", 10 * running.traced_bytes(transformer, traced, 7))
    found = [len(batch.numbers) for batch in run_stream(transformer, TEXTS, trace=True)]
    assert sum(found) == len(TEXTS) and set(found[-5:-1]) == {10} and found[0] > 10
    monkeypatch.setattr(running, "_STREAMED_BYTES", 1)
    assert [len(batch.numbers) for batch in run_stream(transformer, TEXTS[:3], trace=True)] == [1, 1, 1]
    assert [len(batch.numbers) for batch in run_stream(transformer, TEXTS[:3], trace=True, size=2)] == [2, 1]


INTERRUPTED = """
from glyptic import programs
T = programs.open("contains:101101,24", "fixed:8")
T.run_batch(["0"])
print("begun", flush=True)
T.run_batch(("0110" * 6 for _ in range(3_000_000)), workers=2)
print("done", flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_a_batch_promptly() -> None:
    source = str(Path(programs.__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], env={**os.environ, "PYTHONPATH": source},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, error = process.communicate(timeout=60)
    assert "done" not in out and "KeyboardInterrupt" in error
    assert time.monotonic() - started < 15  # of a busy machine; it is a fraction of a second else


def test_chunks_are_cut_by_what_is_there_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of thought keeps what it has computed, and one position is new at each step; under a full mask all are."""
    monkeypatch.setattr(running, "_LANES", 1)
    long = Sizes(layers=1, heads=1, width=6, hidden=64, key_width=2, value_width=2, max_length=600, answers=("0", "1"))
    for mask, arrays in (("causal", 2 * 512), ("full", 512 * 512)):
        transformer = random_transformer("fixed:4", 0, long, Options(mask=mask))  # type: ignore[arg-type]
        assert running.chunk_size(transformer, 1, 512) == running._CHUNK_BYTES // (4 * arrays)
        assert running.chunk_size(transformer, 32) == running._CHUNK_BYTES // (4 * 64 * 32)


def test_what_cannot_be_run_is_refused_before_there_is_room_for_it() -> None:
    transformer = random_transformer("fixed:4", 0, SIZES)
    for steps in (13, 10**8, 10**30):
        with pytest.raises(InputError, match="at most 11 steps"):
            run_batch(transformer, ["0", "01"], steps=steps)
    with pytest.raises(InputError, match="workers is 0"):
        run_stream(transformer, ["0"], workers=0)


@pytest.mark.parametrize("attention", ["softmax", "max-subtracted", "leftmost", "rightmost", "average"])
def test_no_inputs_and_no_positions_give_no_results(attention: str) -> None:
    transformer = random_transformer("fixed:4", 0, SIZES).with_options(attention=attention)
    for shape in ((6, 3, 0), (6, 0, 2)):
        for engine in ("fast", "reference"):
            assert run_residual(transformer, np.zeros(shape, np.int64), engine=engine).shape == shape


def test_transformers_that_were_run_go_when_nobody_has_them() -> None:
    alive = []
    for seed in range(20):
        T = random_transformer("fixed:4", seed)
        T.run_batch(["01", "1"])
        alive.append(weakref.ref(T))
    assert prepared_for(T) is prepared_for(T)
    del T
    gc.collect()
    assert not any(each() for each in alive)


def test_a_copy_and_what_is_sent_leave_behind_what_was_made_to_run_it() -> None:
    T = random_transformer("fixed:4", 3)
    made = prepared_for(T)
    for other in (copy.copy(T), copy.deepcopy(T), pickle.loads(pickle.dumps(T))):
        assert other.same_as(T) and prepared_for(other) is not made and prepared_for(other).transformer is other
    assert len(pickle.dumps(T)) == len(pickle.dumps(random_transformer("fixed:4", 3)))
