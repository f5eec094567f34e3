"""The figures that docs/in-context.md states are those that the code gives."""

import re
import runpy
from pathlib import Path

import pytest

from glyptic.icl.theory.landscape import SADDLE, SPURIOUS, basins, classify, rank_one_point
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem

PAGE = (Path(__file__).parents[2] / "docs" / "in-context.md").read_text(encoding="utf-8")
ROWS = re.findall(r"\| diag\((.*?)\) \| ([\d.]+) \| ([\d.]+) \| (\d+) % \| (.*?) \|", PAGE)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_table_of_the_landscape(row):
    eigenvalues, best, spurious, share, kind = row
    problem = Problem([float(value) for value in eigenvalues.split(",")], 10)
    found = basins(problem, starts=60, scale=0.1, seed=0)
    assert minimum_loss(problem) == pytest.approx(float(best), abs=6e-4)
    assert next(end.loss for end in found.ends if end.kind == SPURIOUS) == pytest.approx(float(spurious), abs=6e-4)
    assert found.share(SPURIOUS) == pytest.approx(int(share) / 100, abs=0.15)
    assert (classify(problem, rank_one_point(problem)).kind == SADDLE) == (kind == "a saddle")


def test_the_table_was_found():
    assert len(ROWS) == 3


def test_the_examples_run(tmp_path):
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)), encoding="utf-8")
    scope = runpy.run_path(str(script))
    assert scope["problem"].d == 5
    assert scope["law"].name == "sign"
