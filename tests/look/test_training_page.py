"""The page of training curves: what it draws and says is what the rows hold, also where runs were killed or diverged."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic.errors import FileError, InputError
from glyptic.look import Page
from glyptic.look.values.training import read_rows, training_view

STEPS = range(0, 2000, 2)
FALLING = [{"step": step, "loss": 2.0 / (1 + step), "accuracy": step / 2000, "tokens": 64 * step} for step in STEPS]
BROKEN = [*FALLING[:50], {"step": 100, "loss": float("nan")}, {"step": 102, "loss": float("inf"), "note": "<b>text</b>"}]


def shown(runs: Any, **options: Any) -> Page:
    view = training_view(runs, **options)
    return Page((view,), view.title)


def rows_of(tab: Any) -> list[list[str]]:
    with tab.expect_download() as saved:
        tab.click("#save-csv")
    return list(csv.reader(io.StringIO(saved.value.path().read_text(encoding="utf-8"))))


@needs_chromium
def test_what_is_saved_is_what_was_logged(browser: Any) -> None:
    with page_of(browser, shown({"a": FALLING, "b": BROKEN}), "#metric=accuracy") as tab:
        header, *rows = rows_of(tab)
        assert header == ["run", "step", "accuracy"]
        found = [(float(step), float(value)) for name, step, value in rows if name == "a"]
        assert found == [(row["step"], row["accuracy"]) for row in FALLING]


@needs_chromium
def test_runs_metrics_and_axes_are_chosen_by_keys(browser: Any) -> None:
    with page_of(browser, shown({"a": FALLING, "b": BROKEN}, lines={"least": 0.25})) as tab:
        tab.keyboard.press("m")
        tab.keyboard.press("x")
        tab.keyboard.press("2")
        header, *rows = rows_of(tab)
        assert header == ["run", "tokens", "accuracy"] and {row[0] for row in rows} == {"a"}
        assert [float(row[1]) for row in rows] == [row["tokens"] for row in FALLING] and "off=1" in tab.url


@needs_chromium
def test_the_table_has_the_best_the_last_and_what_was_not_finite(browser: Any) -> None:
    with page_of(browser, shown({"whole": FALLING, "broken": BROKEN}), "#metric=loss") as tab:
        found = tab.eval_on_selector_all(
            "#view table tbody tr", "rows => rows.map((row) => [...row.children].map((cell) => cell.textContent.trim()))"
        )
        table = {row[0]: row[1:] for row in found}
        assert table["whole"][3] == "1998" and table["whole"][4] == "0"
        assert table["broken"][3] == "98" and table["broken"][4] == "2"
        assert list(table) == ["whole", "broken"], "the lowest loss first"


@needs_chromium
@pytest.mark.parametrize("fragment", ["#smooth=0.9", "#logx=1&logy=1", "#metric=nothing&axis=x&smooth=9&off=7.x", "#off=0.1"])
def test_smoothing_logarithms_and_broken_links(browser: Any, fragment: str) -> None:
    with page_of(browser, shown({"a": FALLING, "<i>b": BROKEN}), fragment) as tab:
        assert axe(tab) == [] and tab.query_selector("#view i") is None
        if "smooth" in fragment and "metric" not in fragment:
            smoothed = np.array([float(row[3]) for row in rows_of(tab)[1 : 1 + len(FALLING)]])
            assert abs(np.diff(smoothed)).max() < abs(np.diff([row["loss"] for row in FALLING])).max()
        if "logx" in fragment:
            assert "no place" in tab.inner_text(".said") or "logarithm" in tab.inner_text(".said")


def written(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_files_and_folders_of_runs(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in FALLING]
    written(tmp_path / "one" / "metrics.jsonl", lines)
    written(tmp_path / "two" / "metrics.jsonl", [*lines, '{"step": 20'])  # killed as it wrote
    view = training_view(tmp_path)
    assert [run["name"] for run in view.data["runs"]] == ["one", "two"]
    assert len(read_rows(tmp_path / "two" / "metrics.jsonl")) == len(FALLING)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([""], "has no row"),
        (['{"step": 0', '{"step": 1, "loss": 2}'], "line 1"),
        (["[1, 2]"], "is not a row of training"),
        (['{"step": 1, "word": "x"}'], "besides its step"),
    ],
)
def test_hostile_files_are_told(tmp_path: Path, lines: list[str], told: str) -> None:
    with pytest.raises((FileError, InputError), match=told):
        training_view(written(tmp_path / "metrics.jsonl", lines))


def test_too_much_is_told() -> None:
    with pytest.raises(InputError, match="64 at most"):
        training_view({str(i): FALLING for i in range(65)})
    with pytest.raises(InputError, match="at a finite number"):
        training_view({"a": FALLING}, lines={"x": float("nan")})
    with pytest.raises(InputError, match="has no rows"):
        training_view({"a": FALLING, "b": []})
