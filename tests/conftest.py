"""Compiled kernels are cached beside their source; a cache older than any part of that source is thrown away.

numba looks only at the file of the function itself, and our loops take their rounding from another file.
"""

from pathlib import Path

import glyptic.numbers


def pytest_configure() -> None:
    folder = Path(glyptic.numbers.__file__).parent
    changed = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for cached in (folder / "__pycache__").glob("*.nb[ic]"):
        if cached.stat().st_mtime < changed:
            cached.unlink(missing_ok=True)
