"""`python -m glyptic.notes docs`: make the tables of errata.md and errata.es.md in a folder anew; `--latex 5` prints one erratum.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from glyptic.errors import GlypticError
from glyptic.files import write_whole
from glyptic.files.reading import read_bytes
from glyptic.notes.documents import written
from glyptic.notes.errata import erratum
from glyptic.notes.tables import TABLES
from glyptic.progress import progress_bar

PAGES = {"en": "errata.md", "es": "errata.es.md"}


def renew(folder: Path) -> None:
    """Both pages with every table made anew."""
    for make in progress_bar(TABLES.values(), desc="tables"):
        make()  # kept: both documents show the same ones
    for language, name in PAGES.items():
        document = (folder / name).read_text(encoding="utf-8")
        write_whole(folder / name, written(document, language).encode())  # type: ignore[arg-type]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser("python -m glyptic.notes", description="Make the tables of the errata pages anew.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs"), help="where errata.md and errata.es.md are")
    parser.add_argument("--latex", type=int, metavar="NUMBER", help="print this erratum in LaTeX, to paste into a paper; no more")
    parser.add_argument("--language", choices=PAGES, default="en", help="with --latex: of which page")
    given = parser.parse_args(arguments)
    if given.latex is None:
        renew(given.folder)
        return 0
    try:
        document = read_bytes(given.folder / PAGES[given.language]).decode(errors="replace")
        print(erratum(document, given.latex).to_latex(language=given.language))
    except GlypticError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
