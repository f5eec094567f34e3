"""`python -m glyptic.notes docs`: make the tables of errata.md and errata.es.md in a folder anew."""

import sys
from pathlib import Path

from tqdm import tqdm

from glyptic.files import write_whole
from glyptic.notes.documents import written
from glyptic.notes.tables import TABLES

if __name__ == "__main__":
    for make in tqdm(TABLES.values(), desc="tables", leave=False):
        make()  # kept: both documents show the same ones
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for language, name in (("en", "errata.md"), ("es", "errata.es.md")):
        document = (folder / name).read_text(encoding="utf-8")
        write_whole(folder / name, written(document, language).encode())  # type: ignore[arg-type]
