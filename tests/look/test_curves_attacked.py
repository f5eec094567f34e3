"""Curves under attack: metrics at the ends of doubles, nearly constant, without a number, of hostile names; their CSV."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from tests.look.chromium import axe, browser, needs_chromium, page_of  # noqa: F401 (browser is a fixture)

from glyptic.errors import FileError, InputError
from glyptic.look import Page
from glyptic.look.values.training import training_view

pytestmark = needs_chromium
HOSTILE = [
    "<script>alert(1)</script>",
    "</title><img src=x onerror=alert(1)>",
    "__proto__",
    "constructor",
    "=1+1",
    "\"'`",
    "שלום \u202eabc",
    "n" * 10_000,
]


def rows(*losses: float, name: str = "loss") -> list[dict[str, Any]]:
    return [{"step": step, name: loss} for step, loss in enumerate(losses)]


def exported(tab: Any) -> list[list[str]]:
    with tab.expect_download() as saved:
        tab.click("#save-csv")
    return list(csv.reader(io.StringIO(Path(saved.value.path()).read_bytes().decode("utf-8-sig"))))


@pytest.mark.parametrize(
    "losses",
    [
        (1.0, 1.0 + 2**-52),
        (1e300, 1e300 * (1 + 2**-52)),
        (1e-20, 3e-20),
        (5e-324, 1e-323),
        (-1.7e308, 1.7e308),
        (1.7e308, 1.7e308),
        (0.0, 0.0),
        (1e-300, 1e300),
        (float("nan"), float("inf")),
        (0.5,),
        (123456.25, 123456.5),
    ],
)
def test_any_curve_is_drawn_at_once(browser: Any, losses: tuple[float, ...]) -> None:  # noqa: F811
    """Ticks are few and told apart, on straight and on logarithmic axes; no number becomes NaN in the picture."""
    for log in ("0", "1"):
        with page_of(browser, Page((training_view({"run": rows(*losses)}),)), f"#logy={log}&logx={log}") as tab:
            marks = tab.eval_on_selector_all(
                "svg.curves text[text-anchor=end]", "all => all.map((each) => each.textContent)"
            )
            assert len(marks) <= 40 and len({*marks}) == len(marks), marks
            assert "NaN" not in tab.eval_on_selector("svg.curves", "each => each.outerHTML")


@pytest.mark.parametrize(
    "values",
    [(1.0, 1.0 + 2**-52), (1e300, 1e300 * (1 + 2**-50)), (-1.7e308, 1.7e308), (0.99981, 0.99985), (1e-20, 3e-20)],
)
def test_any_plot_is_drawn_at_once(browser: Any, values: tuple[float, float]) -> None:  # noqa: F811
    with page_of(browser, Page((training_view({"run": rows(1, 2)}),))) as tab:
        marks, drawn = tab.evaluate(
            """([a, b]) => ["", "y"].map((log) => {
              const made = G.plot({series: [{name: "s", x: [0, 1], y: [a, b]}], logy: log === "y" && a > 0, ylabel: "y"});
              return [[...made.querySelectorAll("text[text-anchor=end]")].map((each) => each.textContent), made.outerHTML];
            }).reduce(([m, d], [n, e]) => [[...m, n], d + e], [[], ""])""",
            list(values),
        )
        assert "NaN" not in drawn
        for labels in marks:
            assert len(labels) <= 40 and len({*labels}) == len(labels), labels


def test_hostile_names_stay_names(browser: Any) -> None:  # noqa: F811
    """Of runs, metrics and lines: text, each with its own numbers, and with no count that nobody counted."""
    metrics = [{"step": step, **{name: step + place for place, name in enumerate(HOSTILE)}} for step in range(3)]
    view = training_view({**dict.fromkeys(HOSTILE, metrics), "plain": rows(1, 2)}, lines={HOSTILE[0]: 1.0})
    for language in ("en", "es"):
        with page_of(browser, Page((view,), title=HOSTILE[1]), f"#lang={language}") as tab:
            for name in view.data["metrics"]:
                tab.select_option("select >> nth=0", name)
                assert "function" not in tab.inner_text("table >> nth=-1")
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
            assert axe(tab) == []


def test_long_names_that_begin_alike_are_two_metrics() -> None:
    view = training_view([{"step": 0, "x" * 200 + "a": 1.0, "x" * 200 + "b": 2.0}])
    assert len(view.data["metrics"]) == 2


def test_the_csv_has_the_very_numbers(browser: Any) -> None:  # noqa: F811
    """Numbers are never quoted as formulas are; a name that begins like a formula is."""
    losses = [-1e30, -1e-7, -0.1, 1e300, 5e-324, 12345678901234567.0]
    with page_of(
        browser, Page((training_view({"=cmd|' /C calc'!A0": rows(*losses), "-2+3": rows(1), "\uff1d1": rows(2)}),))
    ) as tab:
        table = exported(tab)
        assert [float(row[2]) for row in table[1 : 1 + len(losses)]] == losses
        assert {row[0] for row in table[1:]} == {"'=cmd|' /C calc'!A0", "'-2+3", "'\uff1d1"}


def test_sixty_four_runs_and_one_more(browser: Any) -> None:  # noqa: F811
    with page_of(browser, Page((training_view({f"run {i}": rows(i, i + 1) for i in range(64)}),))) as tab:
        assert tab.eval_on_selector_all("button.toggle", "all => all.length") == 64
        tab.keyboard.press("a")
        tab.keyboard.press("a")
    with pytest.raises(InputError, match="64 at most"):
        training_view({f"run {i}": rows(i, i + 1) for i in range(65)})


def test_a_page_holds_any_text(browser: Any) -> None:  # noqa: F811
    """Half a pair of surrogates is no text, a control character no sign in XML: pages and pictures have a sign for them."""
    odd = [{"step": step, "loss\ud800 \U0001f600 e\u0301": 1.5, "\0\x01": 2.5} for step in range(3)]
    with page_of(browser, Page((training_view({"a\ud800\x08\x1b": odd}),), title="\ud800\0")) as tab:
        assert "loss" in tab.inner_text("select >> nth=0")
        for kind in ("svg", "png"):
            with tab.expect_download() as saved:
                tab.click(f"#save-{kind}")
            assert Path(saved.value.path()).stat().st_size > 1000
            if kind == "svg":
                root = ElementTree.parse(saved.value.path()).getroot()
                assert "loss\ufffd \U0001f600 e\u0301" in "".join(root.itertext())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "1",
        "{}",
        "{",
        '{"step": 1}',
        '{"a": {"b": 1}}',
        "[" * 10_000,
        json.dumps({"x" + str(i): 1 for i in range(5000)}),
    ],
)
def test_what_is_no_row_of_training_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text(text)
    with pytest.raises((FileError, InputError)) as told:
        training_view(path)
    assert "\n" not in str(told.value) and len(str(told.value)) < 600
