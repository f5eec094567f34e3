"""The figures that docs/in-context.md states are those that the code gives."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from glyptic.icl.theory.isotropic import isotropic_landscape
from glyptic.icl.theory.landscape import SADDLE, SPURIOUS, basins, classify, rank_one_point
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem
from glyptic.icl.theory.studies import minima_rows

SOURCE = Path(__file__).parents[2] / "src"
DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "in-context.md").read_text(encoding="utf-8")
ROWS = re.findall(r"\| diag\((.*?)\) \| ([\d.]+) \| ([\d.]+) \| (\d+) % \| (.*?) \|", PAGE)
MAP_LENGTHS = (1, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
MAP = re.findall(r"^\| ([\d., ]+) " + r"\| ([RM]+|–) " * len(MAP_LENGTHS) + r"\|$", PAGE, flags=re.MULTILINE)
SHARES = re.findall(r"\| Λ = diag\((.*?)\) \| (\d+) % \| (\d+) % \| (\d+) % \| (\d+) % \|", PAGE)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_table_of_the_landscape(row):
    eigenvalues, best, spurious, share, kind = row
    problem = Problem([float(value) for value in eigenvalues.split(",")], 10)
    found = basins(problem, starts=60, deviation=0.1, seed=0)
    assert minimum_loss(problem) == pytest.approx(float(best), abs=6e-4)
    assert next(end.loss for end in found.ends if end.kind == SPURIOUS) == pytest.approx(float(spurious), abs=6e-4)
    assert found.share(SPURIOUS) == pytest.approx(int(share) / 100, abs=0.15)
    assert (classify(problem, rank_one_point(problem)).kind == SADDLE) == (kind == "a saddle")


@pytest.mark.slow
@pytest.mark.parametrize("row", SHARES, ids=[row[0] for row in SHARES])
def test_table_of_shares_by_size_of_the_start(row):
    """The first 150 of the page's 400 starts: within 10 points."""
    problem = Problem([float(value) for value in row[0].split(",")], 10)
    for scale, share in zip((0.01, 0.1, 0.5, 1.0), row[1:], strict=True):
        found = basins(problem, starts=150, deviation=scale, seed=0).share(SPURIOUS)
        assert found == pytest.approx(int(share) / 100, abs=0.1)


def letters(problem, N):
    (row,) = minima_rows(problem, [N], tries=30, seed=0)
    return "R" * row["rank-one"] + "M" * row["mixed"] or "–"


def check_map(eigenvalues, stated):
    problem = Problem([1 / 3 if part == "0.333" else float(part) for part in eigenvalues.split(",")], 1)
    for N, expected in zip(MAP_LENGTHS, stated, strict=True):
        if expected is not None:
            assert letters(problem, N) == expected, N


def test_the_map_of_minima_where_it_is_quick():
    for eigenvalues, *stated in MAP:
        if eigenvalues.count(",") == 1:
            check_map(eigenvalues, [cell if N in (1, 10, 200) else None for N, cell in zip(MAP_LENGTHS, stated, strict=True)])
        if eigenvalues in ("1, 1, 1", "1, 0.9, 0.8"):
            check_map(eigenvalues, [cell if N in (10, 20) else None for N, cell in zip(MAP_LENGTHS, stated, strict=True)])


@pytest.mark.slow
@pytest.mark.parametrize("row", MAP, ids=[row[0] for row in MAP])
def test_the_whole_map_of_minima(row):
    check_map(row[0], row[1:])


def test_the_thresholds_for_equal_eigenvalues():
    dimensions, ends, begins = (
        [int(number) for number in re.findall(rf"\| {start}(.*)\|\n", PAGE)[0].split("|") if number.strip()]
        for start in (r"d, Λ = I \|", r"the rank-one point is a minimum for N < \|", r"the mixed point is one for N ≥ \|")
    )
    assert dimensions == list(range(2, 11))
    for d, end, begin in zip(dimensions, ends, begins, strict=True):
        assert isotropic_landscape(d, end - 1).rank_one_is_minimum
        assert not isotropic_landscape(d, end).rank_one_is_minimum
        assert isotropic_landscape(d, begin).mixed_minima == 1
        assert isotropic_landscape(d, begin - 1).mixed_minima == 0


def test_the_tables_were_found():
    assert len(ROWS) == 3
    assert len(SHARES) == 3
    assert len(MAP) == 11


def test_every_figure_of_the_pages_is_there():
    for page in ("in-context.md", "in-context-experiments.md"):
        links = re.findall(r"!\[.*?\]\((.*?)\)", (DOCS / page).read_text(encoding="utf-8"))
        assert len(links) >= 4
        for link in links:
            assert (DOCS / link).read_bytes().startswith(b"\x89PNG")
            assert (DOCS / link).with_suffix(".csv").exists()  # its numbers


def test_the_theory_runs_without_torch_and_scikit_learn():
    """Every public name loads, and a flow, a risk, a shift and the basins are computed, where neither can be imported."""
    code = """
import sys
absent = ("torch", "sklearn", "matplotlib", "joblib", "numba")
sys.modules |= {name: None for name in absent}          # importing them now raises ImportError
from glyptic import icl
for name in icl.__all__:
    getattr(icl, name)
problem = icl.Problem([1.0, 0.5], 8)
path = icl.reduced_flow(problem, icl.initial_blocks(problem, 0.1))
assert path.excess()[-1] < 1e-12
icl.risk(problem, icl.standard_laws(2)[3].moments(problem.covariance), 9)
icl.shifted_risk(icl.optimal_map(problem), icl.standard_shifts(problem)[5], 9)
assert icl.basins(problem, starts=4).ends
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=False)
    assert done.returncode == 0


def test_the_examples_run(tmp_path):
    script = tmp_path / "page.py"
    script.write_text("\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)), encoding="utf-8")
    scope = runpy.run_path(str(script))
    assert scope["problem"].d == 5
    assert scope["law"].name == "sign"
