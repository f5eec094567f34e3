"""How many cores, by one setting; threads whose results and errors come in order, and which stop when nobody waits."""

import threading
import time
from pathlib import Path

import pytest

from glyptic import cores as cores_module
from glyptic.cores import SETTING, as_worker, cores, in_order, stop_if_unwanted
from glyptic.errors import InputError
from glyptic.parallel import gather, stream


def test_the_setting_is_obeyed_by_whoever_asks(monkeypatch) -> None:
    monkeypatch.setenv(SETTING, "3")
    assert cores() == 3
    assert as_worker(cores) == 1
    assert cores() == 3
    for backend in ("threads", "loky"):
        assert list(stream(cores, [()] * 3, backend)) == [1, 1, 1]  # work that was given out is spread no further


@pytest.mark.parametrize("wrong", ["0", "-1", "two", "1.5", "1025", "٣", "9" * 5000])
def test_a_setting_that_is_no_number_is_refused(wrong, monkeypatch) -> None:
    monkeypatch.setenv(SETTING, wrong)
    said = r"^GLYPTIC_WORKERS is .{1,44}; it must be a whole number from 1 to 1024, or be unset\.$"
    with pytest.raises(InputError, match=said):
        cores()


def test_without_it_affinity_and_control_group_count(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setattr(cores_module, "_allowed", lambda: 8)
    monkeypatch.setattr(cores_module, "_quota", lambda: 3)
    assert cores() == 3
    monkeypatch.undo()
    (tmp_path / "new").mkdir()
    (tmp_path / "old" / "cpu").mkdir(parents=True)
    for text, expected in (("max 100000", 1024), ("150000 100000", 2), ("50000 100000", 1), ("nonsense", 1024)):
        (tmp_path / "new" / "cpu.max").write_text(text)
        assert cores_module._quota.__wrapped__(tmp_path / "new") == expected
    for quota, expected in (("-1", 1024), ("400000", 4)):
        (tmp_path / "old" / "cpu" / "cpu.cfs_quota_us").write_text(quota + "\n")
        (tmp_path / "old" / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
        assert cores_module._quota.__wrapped__(tmp_path / "old") == expected
    assert cores_module._quota.__wrapped__(tmp_path) == 1024


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_order_and_few_wait(workers: int) -> None:
    taken = []

    def pieces():
        for n in range(20):
            taken.append(n)
            yield n

    def slow_first(n: int) -> int:
        time.sleep(0.02 if n % 5 == 0 else 0)
        return n * n

    for k, result in enumerate(in_order(slow_first, pieces(), workers)):
        assert result == k * k
        assert len(taken) <= k + 2 * workers


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_first_error_in_order_is_the_one_that_is_told(workers: int) -> None:
    def fail(n: int) -> int:
        if n == 3:
            time.sleep(0.05)  # met last, and still the first
        if n >= 3:
            raise ValueError(n)
        return n

    results = in_order(fail, range(10), workers)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="3"):
        next(results)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_an_error_of_the_pieces_comes_after_what_was_there_before_it(workers: int) -> None:
    def pieces():
        yield from range(3)
        raise KeyError("the pieces' own")

    results = in_order(abs, pieces(), workers)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="the pieces' own"):
        next(results)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_end_of_iteration_in_a_piece_is_no_end_of_the_results(workers: int) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(in_order(lambda n: next(iter([n][n:])), range(4), workers))


def test_who_stops_asking_stops_the_workers() -> None:
    begun, stopped = threading.Event(), []

    def endless(n: int) -> int:
        if n == 0:
            return n
        if threading.current_thread() is threading.main_thread():
            begun.wait(10)
            return n
        begun.set()
        try:
            while True:
                stop_if_unwanted()
                time.sleep(0.001)
        finally:
            stopped.append(n)

    results = in_order(endless, range(3), 2)
    assert next(results) == 0
    assert begun.wait(10)
    results.close()
    assert stopped
    stop_if_unwanted()  # which concerns workers only


def test_threads_do_cells_by_name() -> None:
    assert gather(pow, {"a": (2, 3), "b": (3, 2)}, "threads", 2) == {"a": 8, "b": 9}


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), True, "2", 1.5, 10**9])
def test_workers_are_checked_wherever_work_is_spread(wrong) -> None:
    for backend in ("threads", "loky", "sequential"):
        with pytest.raises(InputError, match=r"workers is .*must be a whole number from 1 to 1024"):
            list(stream(pow, [(2, 3)], backend, wrong))
