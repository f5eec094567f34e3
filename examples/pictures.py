"""`make pictures`: each page of the gallery as people see it, in both languages and both lights, into docs/look/."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.gallery import PAGES

FRAGMENTS = {"exact": "#position=6", "counterexample": "#view=1"}  # where a page opens


def main(folder: Path) -> None:
    from tests.look.chromium import chromium, page_of

    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for name, make in PAGES.items():
            page = make()
            for language in ("en", "es"):
                for light in ("light", "dark"):
                    fragment = FRAGMENTS.get(name, "#") + f"&lang={language}"
                    with page_of(browser, page, fragment, light=light) as tab:
                        tab.screenshot(path=folder / f"{name}-{language}-{light}.png")
            print(name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
