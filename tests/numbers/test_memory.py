"""Freed memory is kept: large arrays that come and go touch the system's pages once."""

import subprocess
import sys

TOUCHED = """
import resource, sys
import numpy as np
from glyptic.numbers.memory import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(30):
    arrays = [np.ones(1 << 21, np.uint8) for _ in range(6)]
    del arrays
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""


def touched(how: str) -> int:
    """Pages that a process of its own has asked for, with thirty times six arrays of two megabytes."""
    done = subprocess.run([sys.executable, "-c", TOUCHED, how], check=True, capture_output=True, text=True)
    return int(done.stdout)


def test_pages_are_asked_for_once() -> None:
    arrays = 30 * 6
    assert touched("given back") > touched("kept") + arrays  # with pages of any size: each array again asks for one at least
