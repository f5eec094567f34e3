"""The studio's page in a browser: a model chosen and changed, proofs watched and cancelled, nothing asked of anyone else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.look.chromium import axe, needs_chromium
from tests.look.studio_server import Server, children, studio, until

from glyptic import programs

pytestmark = needs_chromium
READY = ".view-studio[data-state=ready]"
TOKEN = "<script>window.hit=1</script>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    models = tmp_path_factory.mktemp("models")
    hostile = programs.open("parity:4", "fixed:4").replace(
        vocabulary=(TOKEN, "</script><!--"), name="<img src=x onerror=hit=1>"
    )
    hostile.save(models / "hostile")
    with studio(str(models)) as started:
        yield started


@contextmanager
def opened(browser: Any, server: Server, fragment: str = "", light: str = "light") -> Iterator[Any]:
    """The studio, ready; when it is left, nothing went wrong, and only the studio was asked."""
    context = browser.new_context(viewport={"width": 1366, "height": 900}, color_scheme=light)
    tab = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.goto(server.address + fragment)
    tab.wait_for_selector(READY, timeout=60000)
    yield tab
    assert [url for url in asked if not url.startswith((server.origin + "/", "blob:", "data:"))] == [] and wrong == []
    context.close()


def test_it_opens_on_a_model_and_hides_its_token(browser: Any, server: Server) -> None:
    with opened(browser, server) as tab:
        assert server.token not in tab.url and "parity:16" in tab.inner_text(".status")
        assert tab.query_selector(".inside .view-exact") is not None
        tab.reload()  # by the cookie
        tab.wait_for_selector(READY)


def test_all_that_is_chosen_changes_the_model_and_is_in_the_address(browser: Any, server: Server) -> None:
    with opened(browser, server) as tab:
        tab.select_option("#kind", "contains")
        tab.wait_for_selector("text=contains:101,16 in fixed:8")
        tab.fill("#format", "fixed:4")
        tab.wait_for_selector("text=in fixed:4")
        tab.select_option("#normalize", "infinity")
        tab.wait_for_selector("text=infinity normalization")
        tab.fill("#input", "0101")
        tab.click("text=Combined")
        tab.wait_for_selector("text=parity:8 & ~contains:101,8")
        address = tab.url
    with opened(browser, server, "#" + address.partition("#")[2]) as again:
        assert again.input_value("#input") == "0101" and "contains:101,8" in again.inner_text(".status")


def test_what_cannot_be_built_is_a_sentence_in_its_place(browser: Any, server: Server) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(server.address)
    tab.wait_for_selector(READY)
    tab.fill("#format", "fixed:many")
    tab.wait_for_selector(".view-studio[data-state=error] .status [role=alert]")
    assert tab.is_disabled("#prove")
    tab.fill("#format", "")
    tab.wait_for_selector(READY)
    context.close()


def test_a_proof_and_a_counterexample_that_is_then_looked_at(browser: Any, server: Server) -> None:
    with opened(browser, server) as tab:
        tab.click("#prove")
        tab.wait_for_selector(".result[data-state=done] .good")
        tab.click(".rests summary")
        tab.wait_for_selector(".rests .view-proof")
        tab.select_option("#ask", "against")
        tab.click("#prove")
        tab.wait_for_selector("#show-example")
        tab.click("#show-example")
        tab.wait_for_selector(READY)
        assert "s.input=" in tab.url and tab.input_value("#input")


def test_a_proof_is_watched_outlives_a_change_of_language_and_is_cancelled(browser: Any, server: Server) -> None:
    with opened(browser, server, "#s.parity.max_length=23&s.ask=decisive") as tab:
        tab.click("#prove")
        tab.wait_for_selector("progress[value]", timeout=30000)
        assert "of 16,777,214 inputs" in tab.inner_text(".result")
        tab.click("#language")
        tab.wait_for_selector("text=entradas,")
        tab.click("#prove")
        tab.wait_for_selector(".result[data-state=cancelled]")


def test_a_tab_that_is_closed_cancels_its_proof(browser: Any, server: Server) -> None:
    with opened(browser, server, "#s.parity.max_length=23&s.ask=decisive") as tab:
        before = {*children(server.process.pid)}
        tab.click("#prove")
        tab.wait_for_selector("progress[value]", timeout=30000)
        assert children(server.process.pid)
    until(lambda: len({*children(server.process.pid)} - before) == 0, 8)  # sooner than one that nobody looks at


def test_names_out_of_a_model_stay_text(browser: Any, server: Server) -> None:
    with opened(browser, server, "#s.source=folder") as tab:
        tab.wait_for_selector("text=<img src=x")
        assert TOKEN in tab.inner_text(".status") and tab.evaluate("window.hit") is None
        assert tab.query_selector("img") is None


@pytest.mark.parametrize("fragment", ["#", "#lang=es&light=dark", "#s.source=regex", "#s.source=expression&size=large"])
def test_nothing_serious_is_found_by_axe(browser: Any, server: Server, fragment: str) -> None:
    with opened(browser, server, fragment) as tab:
        assert axe(tab) == []


def test_both_languages_have_every_word() -> None:
    import json

    words = json.loads((Path("src/glyptic/look/page/words/studio.json")).read_text(encoding="utf-8"))
    assert all(len(pair) == 2 and all(pair) for pair in words.values())
