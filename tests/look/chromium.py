"""Pages in a real Chromium, Debian's: opened as files, with every request and every error watched.

Without the browser the tests that need it are left out, and one line at the end of the run says so (`conftest.py`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glyptic.look import Page

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MISSING = "Chromium is missing: apt-get install chromium (or name it in CHROMIUM)"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=MISSING)
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--force-color-profile=srgb"),
]
OWN = ("file:", "data:", "blob:")  # the page itself, and what it makes


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a window."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@contextmanager
def page_of(
    browser: Any, page: Page, fragment: str = "", *, light: str = "light", width: int = 1366, height: int = 900
) -> Iterator[Any]:
    """The page, ready; when it is left, nothing was asked of anyone and nothing went wrong in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = page.save(Path(folder) / "page.html")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=light, accept_downloads=True)
        tab = context.new_page()
        asked: list[str] = []
        wrong: list[str] = []
        tab.on("request", lambda request: None if request.url.startswith(OWN) else asked.append(request.url))
        tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.goto(path.as_uri() + fragment)
        tab.wait_for_selector("body[data-ready=yes]", timeout=30000)
        yield tab
        assert (asked, wrong) == ([], [])
        context.close()


def wait_until(tab: Any, expression: str, seconds: float = 10.0) -> None:
    """Until an expression is true in the page. Playwright's own `wait_for_function` evaluates text in it, which pages forbid."""
    for _ in range(int(seconds / 0.05)):
        if tab.evaluate(expression):
            return
        tab.wait_for_timeout(50)
    raise AssertionError(f"not within {seconds:g} s: {expression}")


def axe(tab: Any) -> list[str]:
    """Serious and critical findings of axe-core, a line each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab).response["violations"]
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:160]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
