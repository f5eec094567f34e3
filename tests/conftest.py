"""Compiled kernels are cached beside their source; a cache older than any part of that source is thrown away.

numba looks only at the file of the function itself, and our loops take their rounding from another file.
"""

import os
from contextlib import suppress
from pathlib import Path

import pytest

import glyptic.numbers


def pytest_configure(config: pytest.Config) -> None:
    os.environ["PYTHONIOENCODING"] = "utf-8"  # what tests start speaks so, whatever the terminal
    if hasattr(config, "workerinput"):
        return  # the process that started this one has done it
    folder = Path(glyptic.numbers.__file__).parent
    changed = max(source.stat().st_mtime for source in folder.glob("*.py"))
    for cached in (folder / "__pycache__").glob("*.nb[ic]"):
        with suppress(FileNotFoundError):
            if cached.stat().st_mtime < changed:
                cached.unlink()
