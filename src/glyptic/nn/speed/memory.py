"""What cannot fit into this machine is refused in a sentence before anything is allocated."""

from __future__ import annotations

import os

from glyptic.errors import ModelError


def check_memory(size: int, what: str) -> None:
    """Refuse what takes more bytes than the machine has; where it does not say how many, nothing is refused.

    >>> check_memory(10**18, "a cache of capacity=10**12")
    Traceback (most recent call last):
    glyptic.errors.ModelError: a cache of capacity=10**12 takes 1000000000.0 GB, more than this machine has; make it smaller.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if size > there > 0:
        raise ModelError(f"{what} takes {size / 1e9:.1f} GB, more than this machine has; make it smaller.")
