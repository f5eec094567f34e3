"""`make bench` begins and writes what it measures; what it measures is not a matter for tests."""

import ast
import importlib
import json
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import benchmarks
import pytest
from benchmarks import __main__ as bench

FILES = sorted(Path(benchmarks.__file__).parent.glob("*.py"))


def test_what_the_benchmarks_import_of_ours_is_there() -> None:
    """It moves, and nothing else would notice; what they import of others takes long, and is not ours."""
    asked = 0
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "glyptic":
                module = importlib.import_module(node.module or "")
                for alias in node.names:
                    inside = hasattr(module, "__path__") and find_spec(f"{node.module}.{alias.name}") is not None
                    there = inside or hasattr(module, alias.name)
                    assert there, f"{path.name}: {node.module} has no {alias.name}"
                    asked += 1
    assert asked > 30


def test_rows_are_written_as_a_table_and_as_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    module = ModuleType("quick", "A quick one.\n")
    rows = [{"name": "ours over theirs", "value": 3.0, "unit": "×", "target": ">= 2"}, {"name": "seconds", "value": 0.5}]
    monkeypatch.setattr(module, "rows", lambda: rows, raising=False)
    monkeypatch.setattr(bench, "RESULTS", tmp_path)
    monkeypatch.setattr(bench.importlib, "import_module", lambda name: module)
    for _ in range(2):  # what an earlier run wrote is written anew
        assert bench.main(["exact"]) == 0
    text = (tmp_path / "exact.md").read_text()
    assert "| ours over theirs | 3 × | >= 2 | ✓ |" in text and text in capsys.readouterr().out
    assert json.loads((tmp_path / "exact.json").read_text()) == rows
    assert bench.main(["nope"]) == 2
    assert "no benchmark 'nope'; there are carve, cores, exact" in capsys.readouterr().err
