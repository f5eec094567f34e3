"""One page of every kind: `python -m examples.gallery FOLDER` writes them; `make demo` ends with it, the tests open them all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from glyptic import Fixed, languages, look, programs, prove
from glyptic.look import Page
from glyptic.prove.questions import equivalence, recognition


def exact_run() -> Page:
    return look.page(programs.open("parity:8", Fixed(8)), "0110100")


def counterexample() -> Page:
    """Two deciders that should agree, and do not."""
    one, other = programs.open("contains:11,6", "fixed:6"), programs.open("contains:101,6", "fixed:6")
    claim = equivalence(one, other, max_length=6)
    return look.page(prove.check(claim), claim)


def proof() -> Page:
    odd = programs.open("parity:8", "fixed:6")
    claim = recognition(odd, languages.regular("0*1(0*10*1)*0*"), max_length=8)
    return look.page(prove.check(claim), claim)


def automaton() -> Page:
    return look.page(languages.regular("0*1(0*10*1)*0*"), "0110100")


def positions() -> Page:
    from glyptic.look.opening import open_page

    return open_page("positions")


def norms() -> Page:
    from glyptic.look.opening import open_page

    return open_page("norms")


def lab() -> Page:
    from glyptic.look.opening import open_page

    return open_page("lab")


PAGES: dict[str, Callable[[], Page]] = {
    "exact": exact_run,
    "counterexample": counterexample,
    "proof": proof,
    "automaton": automaton,
    "positions": positions,
    "norms": norms,
    "lab": lab,
}


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [make().save(folder / f"{name}.html") for name, make in PAGES.items()]


if __name__ == "__main__":
    for path in write(Path(sys.argv[1] if len(sys.argv) > 1 else "pages")):
        print(f"{path}: {path.stat().st_size / 1000:,.0f} kB")
