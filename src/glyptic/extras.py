"""What Glyptic can do without, and what brings it: each package that is not always there belongs to an extra.

>>> with brought_by("it"):
...     raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
Traceback (most recent call last):
glyptic.errors.MissingExtra: it needs matplotlib, which is not installed: pip install '.[plot]' in Glyptic's folder brings it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

from glyptic.errors import MissingExtra

# the name by which a package is imported -> (what it is called, the extra of pyproject.toml that brings it)
PACKAGES: dict[str, tuple[str, str]] = {
    "torch": ("PyTorch", "nn"),
    "matplotlib": ("matplotlib", "plot"),
    "bitwuzla": ("Bitwuzla", "prove"),
    "z3": ("Z3", "prove"),
    "cvc5": ("cvc5", "prove"),
    "pysat": ("PySAT", "prove"),
    "num2words": ("num2words", "train"),
    "babel": ("Babel", "train"),
    "tokenizers": ("tokenizers", "train"),
    "PIL": ("Pillow", "train"),
    "sklearn": ("scikit-learn", "icl"),
    "pyarrow": ("pyarrow", "icl"),
    "starlette": ("Starlette", "studio"),
    "uvicorn": ("uvicorn", "studio"),
    "ray": ("Ray", "cluster"),
    "dask": ("Dask", "cluster"),
    "distributed": ("Dask", "cluster"),
}


def advice(*extras: str) -> str:
    """How an extra is installed; Glyptic is in no registry, so from its folder.

    >>> advice("nn", "icl")
    "pip install '.[nn,icl]' in Glyptic's folder"
    """
    return f"pip install '.[{','.join(extras)}]' in Glyptic's folder"


def sentence(error: ModuleNotFoundError, what: str) -> MissingExtra | None:
    """What to say of a module that was not found: nothing, if it belongs to no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in PACKAGES:
        return None
    called, extra = PACKAGES[package]
    return MissingExtra(f"{what} needs {called}, which is not installed: {advice(extra)} brings it.")


@contextmanager
def brought_by(what: str) -> Iterator[None]:
    """Around imports that `what` needs: one that is missing is a sentence with the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        said = sentence(error, what)
        if said is None:
            raise
        raise said from None


def matplotlib() -> ModuleType:
    """matplotlib, which draws figures into files: a backend that MPLBACKEND names and nobody knows does not stop it."""
    named = None if "matplotlib" in sys.modules else os.environ.pop("MPLBACKEND", None)
    try:
        with brought_by("drawing"):
            import matplotlib
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named
    if named:  # as matplotlib would have done; without a window it does not matter
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = named
    return matplotlib
