"""Freed memory stays with the process: a run makes and frees large arrays at every step.

glibc takes what is larger than a threshold from the system, which gives it page by page, zeroed, as it is touched, and hands it
back when it is freed: for arrays of megabytes that costs as much as the arithmetic in them. The threshold follows the largest
block that was handed back, up to 32 MiB, and what is kept free at the end of the heap is twice as much. So one such block sets
both, and nothing of it is ever touched. With another allocator this does nothing.
"""

from __future__ import annotations

from functools import cache

import numpy as np

_KEPT_BYTES = 31 << 20


@cache
def keep_freed_memory() -> None:
    """Let arrays of up to 31 MiB be made of what others left, from now on; once in a process.

    >>> keep_freed_memory()
    """
    np.empty(_KEPT_BYTES, np.uint8)
