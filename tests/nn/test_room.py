"""The room as a user meets it: what importing it loads, and what it offers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from glyptic import nn

LOADED = """
import sys, torch
before = set(sys.modules)
import glyptic.nn
print(*sorted(set(sys.modules) - before))
"""


def test_importing_the_room_after_torch_loads_what_it_needs_and_no_more() -> None:
    where = Path(__file__).parents[2] / "src"
    run = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, cwd=where, check=True)
    packages = {name.partition(".")[0] for name in run.stdout.split()}
    assert packages.isdisjoint({"numba", "scipy", "tqdm", "safetensors", "transformers", "matplotlib", "joblib", "z3"})
    ours = {name for name in run.stdout.split() if name.startswith("glyptic.")}
    assert ours == {"glyptic.errors", "glyptic.lazy", "glyptic.nn", "glyptic.nn.speed", "glyptic.nn.speed.machine"}


def test_all_that_the_room_offers_is_there_and_no_module_takes_its_name() -> None:
    for name in nn.__all__:
        assert getattr(nn, name).__module__.startswith("glyptic.nn."), name
        assert callable(getattr(nn, name)), name
