"""What `import glyptic.nn` costs after torch, in a fresh process: alone, and with every name that it offers."""

from __future__ import annotations

import subprocess
import sys
from statistics import median

from benchmarks.timing import row

RUNS = 7
CODE = """
import time, torch
start = time.process_time()
import glyptic.nn
alone = time.process_time()
for name in glyptic.nn.__all__:
    getattr(glyptic.nn, name)
print(alone - start, time.process_time() - start)
"""


def rows() -> list[dict[str, object]]:
    printed = [subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True) for _ in range(RUNS)]
    alone, whole = zip(*(map(float, run.stdout.split()) for run in printed), strict=True)
    note = f"median of {RUNS} processes, CPU time"
    return [
        row("import glyptic.nn after torch", median(alone), "<= 0.3", note, "s"),
        row("the same, and every name of it used", median(whole), "<= 0.3", note, "s"),
    ]
