"""The page of an exact run, in a real browser: what it shows and computes is what Python computes, cell by cell."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.look.chromium import axe, browser, needs_chromium, page_of  # noqa: F401 (browser is a fixture)

from glyptic import programs
from glyptic.carve.examples.parts import counting
from glyptic.carve.facts import (
    EXP_VANISHES,
    ONE,
    PRODUCTS,
    SATURATES,
    SUBNORMAL,
    SYMMETRIC,
    decides,
    scaled_exp_vanishes,
)
from glyptic.carve.normalize import plus_minus
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.exact.report import show_number
from glyptic.look import Page, page
from glyptic.look.values.exact import carried
from glyptic.numbers import as_format, encode

pytestmark = needs_chromium
CELLS = """() => Object.fromEntries([...document.querySelector("table.stream").querySelectorAll("tr[data-i]")].map((row) =>
    [row.querySelector("th").textContent, [...row.querySelectorAll("td")].map((td) =>
        td.querySelector("[aria-label*='/']")?.getAttribute("aria-label") ?? td.querySelector("[title]")?.title
        ?? td.querySelector(".number").textContent)]))"""


def parity() -> Transformer:
    return programs.open("parity:8", "fixed:4")


def cells(tab: Any) -> dict[str, list[str]]:
    return {name: [text.replace("−", "-") for text in row] for name, row in tab.evaluate(CELLS).items()}


def traced(transformer: Transformer, text: Any, stage: str) -> dict[str, list[str]]:
    array = transformer.run(text, trace=True).trace[stage]
    rows = zip(transformer.coordinates, array, strict=True)
    return {name: [show_number(x, transformer.format) for x in row] for name, row in rows}


def verdict(tab: Any) -> str:
    return str(tab.inner_text("#ex-verdict"))


def last_stage(transformer: Transformer) -> str:
    return f"layer.{len(transformer.layers) - 1}.after_feed_forward"


@pytest.mark.parametrize(
    "made",
    [
        lambda: (parity(), "01101"),
        lambda: (programs.open("regex:(01)*", "fixed:4"), "0101"),
        lambda: (plus_minus(programs.open("parity:4", "fixed:4")), "0111"),
        lambda: (programs.open("brackets:6", "fixed:4"), "(())"),
        lambda: (
            random_transformer("fixed:4", sizes=Sizes(layers=2, heads=2), seed=3).with_options(
                attention="max-subtracted"
            ),
            None,
        ),
        lambda: (random_transformer("float:3,3", sizes=Sizes(layers=1, heads=1), seed=5), None),
    ],
)
def test_every_number_is_pythons(browser: Any, made: Any) -> None:  # noqa: F811
    transformer, text = made()
    shown = page(transformer, text)
    words = shown.views[0].data["sides"][0]["input"]
    with page_of(browser, shown, "#zeros=1") as tab:
        assert verdict(tab) == transformer.run_batch([words]).answers[0]
        for stage in ["embedding", *(f"layer.{l}.after_feed_forward" for l in range(len(transformer.layers)))]:
            tab.select_option("#ex-stage", stage)
            assert cells(tab) == traced(transformer, words, stage)


def test_steps_by_keys_and_links(browser: Any) -> None:  # noqa: F811
    with page_of(browser, page(parity(), "01101")) as tab:
        assert tab.eval_on_selector_all(".check.yes", "all => all.length") >= 3
        tab.keyboard.press("[")
        assert "stretches of 4" in tab.inner_text(".step[aria-current]")
        tab.keyboard.press("]")
        assert "stretches of 8" in tab.inner_text(".step[aria-current]")
        tab.keyboard.press("ArrowUp")
        assert "no" in tab.inner_text(".box-cell h2")
        tab.keyboard.press("Escape")
        assert tab.query_selector("td.pinned") is None
    with page_of(
        browser, page(parity(), "01101"), "#stage=layer.1.after_attention&cell=odd%402&input=0011&format=fixed%3A3"
    ) as tab:
        assert tab.input_value("#ex-stage") == "layer.1.after_attention" and "odd" in tab.inner_text(".box-cell h2")
        assert tab.input_value("#ex-input") == "0011" and tab.input_value("#ex-format") == "fixed:3"


def test_edits_are_pythons(browser: Any) -> None:  # noqa: F811
    transformer = parity()
    with page_of(browser, page(transformer, "01101"), "#zeros=1") as tab:
        tab.fill("#ex-input", "0110")
        assert verdict(tab) == transformer.answer("0110")
        assert cells(tab) == traced(transformer, "0110", last_stage(transformer))
        tab.fill("#ex-input", "012")
        assert "unknown token" in tab.inner_text("#ex-input-problem") and verdict(tab) == transformer.answer("0110")
        tab.fill("#ex-format", "fixed:3/even")
        assert cells(tab) == traced(transformer.in_format("fixed:3/even"), "0110", last_stage(transformer))
        tab.fill("#ex-format", "fixed:nothing")
        assert tab.inner_text("#ex-format-problem") != ""


def test_a_weight_is_changed(browser: Any) -> None:  # noqa: F811
    transformer = parity()
    head = transformer.layers[2].heads[0]
    value = head.value.copy()
    value[0, 0] = encode([[1]], "fixed:4")[0, 0]
    changed = replace(transformer.layers[2], heads=(replace(head, value=value),))
    edited = transformer.replace(layers=(*transformer.layers[:2], changed))
    with page_of(browser, page(transformer, "01101"), "#zeros=1&layer=2&part=head0") as tab:
        tab.click('td[data-weight="layers.2.heads.0.value:0:0"]')
        tab.keyboard.type("1/3")
        tab.keyboard.press("Enter")
        assert "1/3" in tab.inner_text(".weights .problem")
        tab.fill(".weights input", "1")
        tab.keyboard.press("Enter")
        assert "w=" in tab.url and tab.query_selector("td.edited") is not None
        assert cells(tab) == traced(edited, "01101", last_stage(transformer))
        tab.click("#ex-undo")
        assert cells(tab) == traced(transformer, "01101", last_stage(transformer))
    with page_of(browser, page(transformer, "01101"), "#w=layers.2.heads.0.query:0:0:1") as tab:  # 0/0, in Python too
        assert verdict(tab) == "UNDEFINED" and "0/0" in tab.inner_text(".verdictbox") and axe(tab) == []


@pytest.mark.parametrize("parts", [{"activation": "gelu"}, {"biases": True}, {"turned": 1, "distances": 2, "parallel": True}])
def test_parts_that_the_page_does_not_compute_are_a_recording(browser: Any, parts: dict[str, Any]) -> None:  # noqa: F811
    """Never a silently wrong number: what is shown is what the engine in Python gave."""
    transformer = random_transformer("fixed:6", 1, Sizes(layers=1, heads=1, **parts), Options(attention="max-subtracted"))
    with page_of(browser, page(transformer, "0110"), "#zeros=1") as tab:
        assert "is a part that this page does not compute" in tab.inner_text(".recording") and tab.is_disabled("#ex-input")
        assert cells(tab) == traced(transformer, "0110", last_stage(transformer))
        assert axe(tab) == []


def test_a_recording_says_so(browser: Any) -> None:  # noqa: F811
    transformer = programs.open("parity:4", "fixed:30")
    with page_of(browser, page(transformer, "0111"), "#zeros=1") as tab:
        assert "recording" in tab.inner_text(".recording") and tab.is_disabled("#ex-input")
        assert cells(tab) == traced(transformer, "0111", last_stage(transformer))
        assert axe(tab) == []


def test_two_runs_open_where_they_differ(browser: Any) -> None:  # noqa: F811
    transformer = parity()
    with page_of(browser, page(transformer, "01101", against=(transformer, "01111"))) as tab:
        assert tab.eval_on_selector_all(".streambox", "all => all.length") == 2
        assert tab.input_value("#ex-stage") == "embedding" and "position 3" in tab.inner_text(".box-cell h2")
        before = tab.url
        tab.keyboard.press("n")
        assert tab.url != before and axe(tab) == []


def test_derivations_end_in_the_cell(browser: Any) -> None:  # noqa: F811
    with page_of(browser, page(parity(), "01101")) as tab:
        assert tab.evaluate(
            """() => { const {Engine: E} = {Engine}, data = G.page.views[0].data.sides[0], model = E.load(data.transformer);
            const run = E.run(model, E.tokens(model, data.input));
            return [...run.stages].every(([name, stage]) => Array.from({length: stage.rows}, (_, i) => i).every((i) =>
                E.derive(model, run, name, i, stage.columns - 1).at(-1).result === stage.at(i, stage.columns - 1))); }"""
        )
        assert tab.query_selector(".derivation math") is not None


def test_names_stay_text(browser: Any) -> None:  # noqa: F811
    made = random_transformer("fixed:4", sizes=Sizes(layers=1, heads=1, width=3))
    names = ("<script>alert(1)</script>", "\"'&quot;", "<img src=x onerror=alert(2)>")
    hostile = made.replace(
        coordinates=names, vocabulary=tuple(f"<b>{i}" for i in range(len(made.vocabulary))), name="</title><script>"
    )
    with page_of(browser, page(hostile)) as tab:
        assert (
            names[0] in tab.inner_text("table.stream")
            and tab.query_selector("#view b:not(.unlike), #view img, #view script") is None
        )


def test_saved_as_files(browser: Any, tmp_path: Path) -> None:  # noqa: F811
    with page_of(browser, page(parity(), "01101"), "#zeros=1") as tab:
        for kind in ("svg", "png", "csv"):
            with tab.expect_download() as coming:
                tab.click(f"#save-{kind}")
            coming.value.save_as(tmp_path / f"page.{kind}")
        shown = cells(tab)
    root = ElementTree.parse(tmp_path / "page.svg").getroot()
    assert "further.0" in {(each.text or "").strip() for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.reader(io.StringIO((tmp_path / "page.csv").read_text(encoding="utf-8"))))
    assert {row[0]: row[1:] for row in rows[1:]} == shown


@pytest.mark.parametrize(
    "fragment", ["#lang=es", "#lang=es&size=large", "#light=dark", "#light=dark&part=ff&matrices=1&open=1"]
)
def test_languages_lights_and_sizes(browser: Any, fragment: str) -> None:  # noqa: F811
    with page_of(browser, page(parity(), "01101"), fragment) as tab:
        if "es" in fragment.split("&")[0]:
            assert "Flujo residual" in tab.inner_text(".box-stream")
        assert axe(tab) == [] and tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_facts_and_refusals_are_pythons(browser: Any) -> None:  # noqa: F811
    facts = [ONE, SYMMETRIC, SATURATES, SUBNORMAL, EXP_VANISHES, PRODUCTS, scaled_exp_vanishes(4)]
    facts += [decides("1", "B"), decides("-B", "B"), counting(2), counting(16)]
    with page_of(browser, page(parity(), "01101")) as tab:
        names = [*tab.evaluate("G.exact.LADDER.flatMap(([, list]) => list)"), "q:3,2", "q:2,0", "ieee:3,2,normal"]
        ask = "([facts, names]) => facts.map((fact) => names.map((name) => G.exact.factHolds(fact, Engine.parseFormat(name))))"
        found = tab.evaluate(ask, [[fact.statement for fact in facts], names])
        wide = ["fixed:25", "fixed:26", "fixed:30", "fp32", "float:9,8", "float:10,8", "ieee:11,52", "ieee:10,20", "exact"]
        refused = tab.evaluate("(names) => names.map((name) => Engine.refusal(Engine.parseFormat(name)) !== null)", wide)
    assert found == [[fact.broken(as_format(name)) is None for name in names] for fact in facts]
    assert refused == [not carried(as_format(name)) for name in wide]


def test_the_view_is_a_page() -> None:
    assert isinstance(parity().look("01"), Page) and parity().run("01").look().title == "parity:8 in fixed:4 on 01"
