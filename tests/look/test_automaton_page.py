"""The page of automata in Chromium: words run as in Python, steps, zoom, keys, names that stay text, the table as CSV."""

from __future__ import annotations

import csv
import io
import random
from itertools import product
from typing import Any

import pytest
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic import languages
from glyptic.errors import GlypticError
from glyptic.languages.automata import Automaton
from glyptic.look.pages import Page
from glyptic.look.values.automaton import automaton_view, machine_view

HOSTILE = '<script>alert(1)</script>"\'&<img src=x>'


def shown(automaton: Automaton, word: Any = (), language: Any = "en") -> Page:
    return Page((automaton_view(automaton, word),), language=language)


@needs_chromium
@pytest.mark.parametrize("number", range(1, 8))
def test_words_are_run_as_in_python(browser: Any, number: int) -> None:
    automaton = languages.tomita(number)
    words = ["".join(word) for length in range(6) for word in product("01", repeat=length)]
    with page_of(browser, shown(automaton)) as tab:
        for word in words:
            tab.fill("#word", word)
            path = [automaton.start]
            for symbol in word:
                path.append(automaton.moves[path[-1]][automaton.alphabet.index(symbol)])
            seen = tab.evaluate(
                "() => [document.getElementById('verdict').dataset.accepted, document.querySelector('.tape').dataset.path]"
            )
            assert seen == [str(automaton.accepts(word)).lower(), " ".join(map(str, path))], word


@needs_chromium
def test_long_words_of_a_random_machine(browser: Any) -> None:
    choose = random.Random(4)
    moves = [[choose.randrange(120) for _ in range(3)] for _ in range(120)]
    automaton = Automaton(("go", "stop", "<b>"), moves, frozenset(range(0, 120, 3)), 5, "random")
    with page_of(browser, shown(automaton)) as tab:
        for length in (0, 1, 17, 300, 1500):
            word = [choose.choice(automaton.alphabet) for _ in range(length)]
            tab.fill("#word", " ".join(word))
            assert tab.get_attribute("#verdict", "data-accepted") == str(automaton.accepts(word)).lower()
        assert tab.locator(".state").count() == 120


@needs_chromium
def test_steps_pins_zoom_and_the_fragment(browser: Any) -> None:
    with page_of(browser, shown(languages.tomita(5), "0110")) as tab:
        current = "() => document.querySelector('.place[aria-current]').textContent"
        assert tab.evaluate(current) == "0"
        tab.keyboard.press("[")
        tab.keyboard.press("[")
        assert tab.evaluate(current) == "3" and "at=2" in tab.url
        tab.click("#first")
        tab.keyboard.press("]")
        assert tab.evaluate(current) == "1"
        box = tab.get_attribute(".graph", "viewBox")
        tab.keyboard.press("+")
        assert tab.get_attribute(".graph", "viewBox") != box and "zoom=" in tab.url
        tab.keyboard.press("0")
        assert tab.get_attribute(".graph", "viewBox") == box
        tab.click(".state[data-state='2']")
        assert "state=2" in tab.url
        tab.focus(".graph")
        tab.keyboard.press("ArrowLeft")
        assert "state=0" in tab.url
        tab.keyboard.press("Escape")
        assert "state=" not in tab.url
        area = tab.locator(".graph").bounding_box()
        tab.mouse.move(area["x"] + 20, area["y"] + 20)
        tab.mouse.down()
        tab.mouse.move(area["x"] + 120, area["y"] + 60, steps=4)
        tab.mouse.up()
        assert tab.get_attribute(".graph", "viewBox") != box


@needs_chromium
def test_a_link_opens_what_was_seen(browser: Any) -> None:
    with page_of(browser, shown(languages.tomita(5)), "#word=011&at=1&state=2&lang=es") as tab:
        assert tab.input_value("#word") == "011"
        assert tab.inner_text(".place[aria-current]") == "1"
        assert tab.get_attribute("html", "lang") == "es" and "no se acepta" in tab.inner_text("#verdict")


@needs_chromium
def test_a_symbol_that_is_none(browser: Any) -> None:
    with page_of(browser, shown(languages.tomita(4))) as tab:
        tab.fill("#word", "01<0")
        assert "“<”, at place 3" in tab.inner_text("#verdict")
        assert tab.get_attribute("#verdict", "data-accepted") is None


@needs_chromium
@pytest.mark.parametrize("light", ["light", "dark"])
def test_hostile_names_stay_text_and_axe_has_no_finding(browser: Any, light: str) -> None:
    view = machine_view(
        ["a", HOSTILE.replace(" ", "")], [[1, 0], [0, 1]], outputs=[HOSTILE, "x"], names=[HOSTILE, "y"], title=HOSTILE
    )
    with page_of(browser, Page((view,), title=HOSTILE), light=light) as tab:
        assert tab.locator("main script, main img, main b").count() == 0
        assert HOSTILE in tab.inner_text("#verdict")
        assert axe(tab) == []
    with page_of(browser, shown(languages.tomita(3), "0110"), light=light) as tab:
        assert axe(tab) == []


@needs_chromium
def test_csv_is_the_transition_table(browser: Any) -> None:
    automaton = languages.regular("(0|1)*101(0|1)", "01")
    with page_of(browser, shown(automaton)) as tab:
        with tab.expect_download() as download:
            tab.click("#save-csv")
        rows = list(csv.reader(io.StringIO(download.value.path().read_text())))
        assert [[int(cell) for cell in row[:3]] for row in rows[1:]] == [[k, *m] for k, m in enumerate(automaton.moves)]
        assert [row[3] for row in rows[1:]] == ["yes" if k in automaton.accepting else "no" for k in range(len(rows) - 1)]
        reached = ["" if row[4] == "ε" else row[4] for row in rows[1:]]
        ends = []
        for word in reached:
            state = automaton.start
            for symbol in word:
                state = automaton.moves[state][automaton.alphabet.index(symbol)]
            ends.append(state)
        assert ends == list(range(len(reached)))


@needs_chromium
def test_thousands_of_states_show_a_neighbourhood(browser: Any) -> None:
    moves = [[(7 * k + s * 13 + 1) % 5000 for s in range(3)] for k in range(5000)]
    with page_of(browser, Page((machine_view("abc", moves, accepting=[1], word="abc"),))) as tab:
        assert tab.locator(".state").count() < 60
        assert "5000" in tab.inner_text(".stage")
        tab.click("text=The transition table")
        tab.wait_for_selector(".behind tbody tr")
        assert tab.locator(".behind tbody tr").count() == 200
        tab.keyboard.press("[")
        tab.wait_for_selector(".behind[open] tbody tr")


@needs_chromium
def test_counts_are_those_of_the_language(browser: Any) -> None:
    automaton = languages.tomita(7)
    with page_of(browser, shown(automaton)) as tab:
        rows = tab.eval_on_selector_all(".bar-row", "rows => rows.map((row) => row.lastChild.textContent)")
    for length, text in enumerate(rows[:9]):
        some = sum(automaton.accepts(word) for word in product("01", repeat=length))
        assert text == f"{some} of {2**length}"


def test_what_is_no_machine_is_refused_in_a_sentence() -> None:
    for wrong in (
        lambda: machine_view("ab", []),
        lambda: machine_view("ab", [[0]]),
        lambda: machine_view("ab", [[0, 1]]),
        lambda: machine_view("a", [[0]], start=1),
        lambda: machine_view("a", [[0]], outputs=["x", "y"]),
        lambda: machine_view("a", [[0]], names=[1]),  # type: ignore[list-item]
        lambda: automaton_view(languages.tomita(1), "2"),
        lambda: automaton_view("parity"),  # type: ignore[arg-type]
        lambda: automaton_view(languages.tomita(1), "1" * 5000),
    ):
        with pytest.raises(GlypticError) as told:
            wrong()
        assert str(told.value).endswith(".") and "\n" not in str(told.value)
