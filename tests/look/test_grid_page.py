"""The page of grids in Chromium: marks as the verdicts are, tiles that open their counterexample, s(n) as in the table."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic.errors import GlypticError
from glyptic.look.pages import Page
from glyptic.look.values.grid import precision_view, sweep_view, sweeps_view, theorems_view
from glyptic.prove import B, Claim, Refuted, Unknown, Values, variables
from glyptic.studies import LeastPrecision, Sweep, sweep
from glyptic.studies.precision import Need
from glyptic.theorems.proving import Row, prove_all

HOSTILE = '<script>alert(1)</script>"<img src=x>'
(x,) = variables("x")
AMPLIFIED = Claim(Values("x"), x * B * B == B, requires=x > 0, name=HOSTILE)


@pytest.fixture(scope="module")
def swept() -> Sweep:
    return sweep(AMPLIFIED, "fixed:1..4 float:1..2,2..3 fixed:3/even fp8_e4m3", workers=1, progress=False)


@needs_chromium
@pytest.mark.parametrize("light", ["light", "dark"])
def test_tiles_are_the_verdicts(browser: Any, swept: Sweep, light: str) -> None:
    with page_of(browser, Page((sweep_view(swept),)), light=light) as tab:
        tiles = tab.eval_on_selector_all("button.tile", "all => all.map((one) => [one.dataset.format, one.dataset.answer])")
        assert dict(tiles) == {format: type(verdict).__name__ for format, verdict in swept.verdicts.items()}
        assert len(tiles) == len(swept.verdicts)
        assert tab.inner_text("#headline") == f"It holds in {len(swept.holds_in)} of {len(swept.verdicts)} formats"
        assert tab.locator("main script, main img").count() == 0 and HOSTILE in tab.inner_text("main")
        assert axe(tab) == []


@needs_chromium
def test_a_tile_opens_its_counterexample(browser: Any, swept: Sweep) -> None:
    with page_of(browser, Page((sweep_view(swept),))) as tab:
        tab.click("button.tile[data-format='float:1,2']")
        verdict = swept.verdicts["float:1,2"]
        assert isinstance(verdict, Refuted) and verdict.counterexample is not None
        number = tab.get_attribute("#verdict .fraction", "aria-label")
        assert number == (verdict.counterexample.values or {})["x"] and "cell=" in tab.url
        tab.hover("button.tile[data-format='fixed:2']")
        assert "fixed:2" in tab.inner_text("#verdict h2")
        tab.hover("#headline")
        assert "float:1,2" in tab.inner_text("#verdict h2"), "what is pinned stays"
        tab.focus("button.tile[data-format='float:1,2']")
        tab.keyboard.press("ArrowUp")
        assert "fixed:2" in tab.inner_text("#verdict h2")
        tab.keyboard.press("Escape")
        assert "cell=" not in tab.url


@needs_chromium
def test_the_csv_has_every_format(browser: Any, swept: Sweep) -> None:
    with page_of(browser, Page((sweep_view(swept),))) as tab:
        with tab.expect_download() as download:
            tab.click("#save-csv")
        rows = list(csv.reader(io.StringIO(download.value.path().read_text())))
    assert [(row[1], row[2]) for row in rows[1:]] == [(f, type(v).__name__) for f, v in swept.verdicts.items()]


@needs_chromium
def test_theorems_by_formats(browser: Any) -> None:
    rows = prove_all(["fixed:2", "float:1,2"], ["zero.at", "normalize.plus_minus"], workers=1, progress=False)
    rows += [
        Row("zero.at", "h_1 := 0", "fixed:9", None, f"no: {HOSTILE}"),
        Row("zero.at", "h_1 := 0", "fp16", Unknown("x", "smt", "y", "the limit")),
    ]
    with page_of(browser, Page((theorems_view(rows),)), "#lang=es") as tab:
        marks = tab.eval_on_selector_all("button.tile", "all => all.map((one) => one.textContent)")
        assert marks == [row.mark for row in sorted(rows, key=lambda row: row.theorem != "zero.at")]
        tab.click("button.tile[data-format='fixed:9']")
        assert HOSTILE in tab.inner_text("#verdict") and "rechaza" in tab.inner_text("#verdict")
        assert axe(tab) == []


@needs_chromium
def test_sweeps_by_length(browser: Any, swept: Sweep) -> None:
    view = sweeps_view([Sweep("length 1", swept.verdicts), Sweep("length 2", dict(list(swept.verdicts.items())[:3]))])
    with page_of(browser, Page((view,))) as tab:
        assert tab.locator("button.tile").count() == len(swept.verdicts) + 3
        assert tab.locator(".tiles tbody tr").count() == 2


@needs_chromium
@pytest.mark.parametrize("language", ["en", "es"])
def test_least_precision(browser: Any, language: str) -> None:
    least = {(n, e): None if (n, e) == (4, 2) else n + 1 - e // 2 for n in (1, 2, 3, 4) for e in (0, 2)}
    needs = [Need(n, e, s, n, 10 + n, 2, HOSTILE, 1, None) for (n, e), s in least.items()]
    found = LeastPrecision("parity", tuple(needs), 6)
    with page_of(browser, Page((precision_view(found),)), f"#lang={language}") as tab:
        places = "all => all.map((one) => [Number(one.dataset.need), Number(one.dataset.s)])"
        passed = tab.eval_on_selector_all("button.tile.yes", places)
        assert sorted(passed) == [[k, need.s] for k, need in enumerate(needs) if need.e == 0]
        wrong = tab.locator("button.tile.no").count()
        assert wrong == sum((need.s or 7) - 1 for need in needs if need.e == 0)
        tab.click("button.tile.yes >> nth=0")
        assert HOSTILE in tab.inner_text("#verdict") and tab.locator("main script, main img").count() == 0
        tab.select_option("select", "2")
        assert tab.locator("button.tile.yes").count() == 3
        assert tab.inner_text("#headline").endswith({"en": "s = 5 at length 4", "es": "s = 5 con longitud 4"}[language])
        with tab.expect_download() as download:
            tab.click("#save-csv")
        rows = list(csv.reader(io.StringIO(download.value.path().read_text())))
        assert [row[:2] for row in rows[1:]] == [[str(need.length), str(need.e)] for need in needs]
        assert axe(tab) == []


def test_what_is_no_result_is_refused() -> None:
    for wrong in (lambda: sweep_view("x"), lambda: sweeps_view([]), lambda: theorems_view([]), lambda: precision_view(1)):  # type: ignore[arg-type]
        with pytest.raises(GlypticError):
            wrong()
