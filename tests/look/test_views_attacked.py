"""Every view under attack: any link, any name, both languages and lights, large, narrow, on paper; by keys alone; exported."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.look.chromium import axe, browser, needs_chromium, page_of, wait_until  # noqa: F401 (browser is a fixture)
from tests.look.gallery import MADE, gallery

from glyptic import look, programs
from glyptic.look import pages

pytestmark = needs_chromium
QUICK = ("against", "decoder", "machine", "training")
SOME = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MADE]
VALUES = [
    "",
    "-1",
    "0.5",
    "1e99",
    "NaN",
    "constructor",
    "__proto__",
    "Infinity",
    "-0",
    "999999",
    "%F0%9F%98%80",
    "1,2",
    "0.0.0",
]
VALUES += ["x" * 300, "none", "@", "%00", "%ED%A0%80", "%25E0%25A4%25A", "<script>alert(1)</script>"]
TURNED = """async (fragment) => {
  location.hash = fragment;
  for (let k = 0; k < 2; k++) await new Promise((done) => setTimeout(done, 0));
  return [...document.querySelectorAll("main > section > *")].length;
}"""


def keys_of(page: pages.Page) -> list[str]:
    """What the scripts of a page read from its fragment."""
    text = page.html()
    found = {*re.findall(r'state\.get\("([\w.-]+)"', text), *re.findall(r'\bname: "([\w.-]+)"', text), "view"}
    return sorted(found)


@pytest.mark.parametrize("name", SOME)
def test_no_link_breaks_a_view(browser: Any, name: str) -> None:  # noqa: F811
    """Every key of the fragment at once has each value, in each view of the page."""
    page = gallery(name)
    with page_of(browser, page) as tab:
        for view in range(len(page.views)):
            for value in VALUES:
                rest = "&".join(f"{key}={value}" for key in keys_of(page) if key != "view")
                assert tab.evaluate(TURNED, f"#view={view}&{rest}") > 0, value
        for value in VALUES:
            assert tab.evaluate(TURNED, f"#view={value}") > 0, value


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_no_part_of_a_link_breaks_a_view(browser: Any, name: str) -> None:  # noqa: F811
    """Each key alone, with each value."""
    page = gallery(name)
    with page_of(browser, page) as tab:
        for view in range(len(page.views)):
            for key in keys_of(page):
                for value in VALUES:
                    assert tab.evaluate(TURNED, f"#view={view}&{key}={value}") > 0, (key, value)


@pytest.mark.parametrize("name", SOME)
def test_every_view_is_read_by_all(browser: Any, name: str) -> None:  # noqa: F811
    """Both languages, both lights, large and normal: no serious finding of axe, nothing of a name that became markup."""
    page = gallery(name)
    for view in range(len(page.views)):
        for fragment in ("lang=en&light=light", "lang=es&light=dark&size=large"):
            with page_of(browser, page, f"#view={view}&{fragment}") as tab:
                assert axe(tab) == []
                assert tab.locator("main script, main img, header script, header img").count() == 0
                assert "core.close" not in tab.inner_text("header") and "{name}" not in tab.inner_text("header")


@pytest.mark.parametrize("name", SOME)
def test_narrow_windows_and_paper(browser: Any, name: str) -> None:  # noqa: F811
    """What is wide scrolls in its own box: the page itself is never wider than the window, and prints."""
    page = gallery(name)
    for view in range(len(page.views)):
        with page_of(browser, page, f"#view={view}", width=480) as tab:
            wide = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert wide[0] <= wide[1] + 1, wide
            tab.emulate_media(media="print")
            assert len(tab.pdf()) > 1000


@pytest.mark.parametrize("name", SOME)
def test_what_is_seen_is_exported(browser: Any, name: str, tmp_path: Path) -> None:  # noqa: F811
    """SVG is well-formed and has the title, PNG is a picture, CSV has rows of one length, and no field that is a formula."""
    page = gallery(name)
    for view in range(len(page.views)):
        with page_of(browser, page, f"#view={view}") as tab:
            for kind in ("svg", "png", "csv"):
                with tab.expect_download(timeout=20000) as saved:
                    tab.click(f"#save-{kind}")
                assert re.fullmatch(r"[\w.-]+", saved.value.suggested_filename)
                content = Path(saved.value.path()).read_bytes()
                if kind == "svg":
                    assert ElementTree.fromstring(content).tag.endswith("svg")
                elif kind == "png":
                    assert content.startswith(b"\x89PNG") and len(content) > 2000
                else:
                    table = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
                    assert len(table) > 1 and all(row for row in table)
                    formulas = [field for row in table for field in row if re.match(r"[=+@\t\r]|-[^\d∞]", field)]
                    assert formulas == []


def test_the_picture_is_what_is_seen(browser: Any) -> None:  # noqa: F811
    """What has scrolled out of its box, and what is folded away, is not drawn over its neighbours; what sticks stays on top."""
    with page_of(browser, look.page(programs.open("parity:64"), "01" * 32)) as tab:
        wait_until(tab, "!document.getElementById('view').innerText.includes(G.t('exact.ladder_running'))", 60)  # it grows then
        with tab.expect_download() as saved:
            tab.click("#save-png")
        made = Image.open(saved.value.path()).convert("L")
        seen = Image.open(io.BytesIO(tab.locator("#view").screenshot())).convert("L")
        made = made.resize((made.width // 2, made.height // 2)).crop((16, 16, 16 + seen.width, 16 + seen.height))
        coarse = [
            np.asarray(each.resize((seen.width // 8, seen.height // 8), Image.Resampling.BOX), float)
            for each in (made, seen)
        ]
        unlike = abs(coarse[0] - coarse[1])
        assert unlike.mean() < 5 and (unlike > 60).mean() < 0.006, (unlike.mean(), (unlike > 60).mean())
        text = tab.evaluate("G.svgText(document.getElementById('view'))")
        assert "How it is read" in text and "leftmost" not in text and "Products" not in text


def test_a_picture_too_large_for_a_canvas_is_made_smaller(browser: Any) -> None:  # noqa: F811
    with page_of(browser, gallery("norms")) as tab:
        tab.evaluate("document.getElementById('view').style.width = '30000px'")
        with tab.expect_download(timeout=20000) as saved:
            tab.click("#save-png")
        assert 10_000 < Image.open(saved.value.path()).width <= 16_000


@pytest.mark.parametrize("name", SOME)
def test_keys_alone(browser: Any, name: str) -> None:  # noqa: F811
    """`?` shows the keys and Escape closes; Tab reaches what it can and never gets stuck; every key of the list does no harm."""
    page = gallery(name)
    with page_of(browser, page) as tab:
        tab.keyboard.press("?")
        assert tab.is_visible("dialog[open]")
        told = tab.eval_on_selector_all("dialog th", "all => all.map((each) => each.textContent)")
        tab.keyboard.press("Escape")
        tab.wait_for_selector("dialog", state="detached")
        for key in (
            *"[]<>,.nvamxlr0123456789+-?",
            "Escape",
            "Home",
            "End",
            "Enter",
            "ArrowUp",
            "ArrowRight",
            "ArrowDown",
            "ArrowLeft",
            "Escape",
        ):
            tab.keyboard.press(key)
            if tab.query_selector("dialog[open]"):
                tab.keyboard.press("Escape")
        assert len(told) >= 3 and tab.evaluate("document.querySelectorAll('main > section > *').length") > 0
        seen = set()
        for _ in range(12):
            tab.keyboard.press("Tab")
            seen.add(tab.evaluate("document.activeElement.outerHTML.slice(0, 300)"))
        assert len(seen) >= 7


@pytest.mark.parametrize("name", SOME)
def test_the_link_is_the_state(browser: Any, name: str) -> None:  # noqa: F811
    """After keys were pressed and choices made, a reload shows the very same, and so does the way back."""
    seen = "() => document.querySelector('main').innerText"
    with page_of(browser, gallery(name)) as tab:
        first = tab.evaluate(seen)
        for key in ("]", "ArrowDown", "ArrowRight", "v", "2", "m"):
            tab.keyboard.press(key)
        tab.wait_for_timeout(150)
        before = tab.evaluate(seen)
        tab.reload()
        tab.wait_for_selector("body[data-ready=yes]")
        tab.wait_for_timeout(150)
        assert tab.evaluate(seen) == before
        tab.evaluate("location.hash = ''")
        tab.wait_for_timeout(150)
        assert tab.evaluate(seen) == first
