"""The page around the views: nothing is fetched, nothing of a model becomes markup, both languages have every word."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from examples.gallery import PAGES
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic import look, programs
from glyptic.errors import FileError, InputError
from glyptic.look.pages import LANGUAGES, Page, View, as_script, kinds, pack, words

PARTS = Path(look.__file__).parent / "page"
HOSTILE = "</script><script>alert(1)</script><!-- \u2028 '\"&"


def test_every_word_is_in_both_languages() -> None:
    for key, pair in words().items():
        assert len(pair) == len(LANGUAGES) and all(isinstance(word, str) and word for word in pair), key
        places = [sorted(set(re.findall(r"\{(\w+)\}", word))) for word in pair]
        assert places[0] == places[1], f"{key}: the two languages fill in other things"


def test_every_word_that_a_script_says_is_there() -> None:
    """A script says `G.t("grid.length")`, or `t("length")` where it says first that its own words begin with `grid.`."""
    said = 0
    for path in PARTS.rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        begins = re.search(r"\bt = \(key, values\) => G\.t\(`([\w.]+)\$\{key\}`", text)
        for whole, key in re.findall(r"""(\bG\.|(?<![\w.]))t\(\s*["']([\w.]+)["']""", text):
            named = key if whole else f"{begins[1] if begins else ''}{key}"
            assert named in words(), f"{path.name} says {named}"
            said += 1
    assert said > 500


def test_scripts_can_be_read() -> None:
    """As `prettier --print-width 130 --no-bracket-spacing` lays them out; a text may run a little further."""
    for path in PARTS.rglob("*.js"):
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 170, path.name


def test_no_part_of_a_page_names_an_address() -> None:
    for path in PARTS.rglob("*.*"):
        found = re.findall(r"https?://[^\s\"'`)<]+", path.read_text(encoding="utf-8"))
        assert {address for address in found if not address.startswith("http://www.w3.org/")} == set(), path.name


def test_no_script_writes_markup_or_evaluates() -> None:
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setTimeout\(\s*[\"'`]"
    for path in PARTS.rglob("*.js"):
        assert re.findall(ways, path.read_text(encoding="utf-8")) == [], path.name


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


def test_text_cannot_leave_the_data() -> None:
    assert json.loads(as_script({"a": HOSTILE})) == {"a": HOSTILE} and "<" not in as_script({"a": HOSTILE})
    page = Page((View(kinds()[0], HOSTILE, {"tokens": [HOSTILE]}),), HOSTILE)
    reader, plain = Elements(), Elements()
    reader.feed(page.html())
    plain.feed(Page((View(kinds()[0], "a", {}),), "a").html())
    assert reader.found == plain.found
    inner = Elements()
    inner.feed(page._repr_html_())
    assert inner.found == ["iframe"]


def test_arrays_are_packed_or_refused() -> None:
    assert pack(np.zeros((2, 3), np.float32))["packed"] == "f4"
    with pytest.raises(InputError):
        pack(np.zeros(3, complex))
    with pytest.raises(ValueError, match="JSON"):
        as_script({"a": float("nan")})


def test_a_page_is_written_whole_and_replaces_only_its_own(tmp_path: Path) -> None:
    page = look.page(programs.open("parity:4", "fixed:4"), "01")
    place = page.save(tmp_path / "page.html")
    assert place.read_text(encoding="utf-8") == page.html()
    page.save(place)
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    with pytest.raises(FileError, match="not written by Glyptic"):
        page.save(tmp_path / "mine.html")
    with pytest.raises(FileError, match="pages are written as"):
        page.save(tmp_path / "page.txt")
    with pytest.raises(FileError, match="cannot write"):
        page.save(tmp_path / "nowhere" / "page.html")


def test_what_has_no_page_is_told() -> None:
    with pytest.raises(InputError, match="there is no page for 3"):
        look.page(3)
    with pytest.raises(InputError, match="no view is called"):
        View("dance", "", {})


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_every_page_in_both_languages_and_lights(browser: object, name: str, tmp_path: Path) -> None:
    """Opens, is accessible, and gives what is seen as SVG, PNG and CSV, without a request or an error."""
    page = PAGES[name]()
    for language, light in (("en", "light"), ("es", "dark")):
        with page_of(browser, page, f"#lang={language}", light=light) as tab:
            assert tab.get_attribute("html", "lang") == language and tab.get_attribute("html", "data-light") == light
            assert axe(tab) == []
            for kind, begin in (("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"")):
                with tab.expect_download() as download:
                    tab.click(f"#save-{kind}")
                saved = tmp_path / f"{name}.{kind}"
                download.value.save_as(saved)
                assert saved.read_bytes().startswith(begin) and saved.stat().st_size > 20
            wide = tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, "the page is wider than the window"


@needs_chromium
def test_language_light_and_size_turn_and_are_in_the_link(browser: object) -> None:
    with page_of(browser, PAGES["exact"]()) as tab:
        tab.click("#language")
        assert tab.get_attribute("html", "lang") == "es" and "lang=es" in tab.url
        tab.click("#light")
        assert tab.get_attribute("html", "data-light") == "dark" and "light=dark" in tab.url
        tab.click("#size")
        assert tab.get_attribute("html", "data-size") == "large" and "size=large" in tab.url
        tab.keyboard.press("?")
        assert tab.is_visible("dialog.help")
        tab.keyboard.press("Escape")
        assert not tab.is_visible("dialog.help")


@needs_chromium
def test_a_notebook_shows_it_in_a_frame_of_its_own(browser: object, tmp_path: Path) -> None:
    """As Jupyter does: the text of _repr_html_ stands in a page of somebody else's."""
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!DOCTYPE html><title>notebook</title>{programs.open('parity:4', 'fixed:4')._repr_html_()}", "utf-8")
    tab = browser.new_page()  # type: ignore[attr-defined]
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(notebook.as_uri())
    frame = tab.frame_locator("iframe")
    frame.locator("body[data-ready=yes]").wait_for()
    frame.locator("#language").click()
    assert frame.locator("html").get_attribute("lang") == "es" and wrong == []
    tab.close()
