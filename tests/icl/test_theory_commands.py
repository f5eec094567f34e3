"""`glyptic icl flow|risk|shift|landscape|separate|diversity`: a table, a figure, its data; and the files' manners."""

import csv

import numpy as np
import pytest
import tyro

from glyptic import figures
from glyptic.cli.icl.diversity import DiversityCommand
from glyptic.cli.icl.flow import FlowCommand
from glyptic.cli.icl.landscape import LandscapeCommand
from glyptic.cli.icl.risk import RiskCommand
from glyptic.cli.icl.separate import SeparateCommand
from glyptic.cli.icl.shift import ShiftCommand
from glyptic.errors import FileError
from glyptic.icl.theory import pictures
from glyptic.icl.theory.landscape import basins, critical_points
from glyptic.icl.theory.problem import Problem, ProblemError
from glyptic.icl.theory.simulate import Estimate

pytest.importorskip("matplotlib")

COMMANDS = {
    "flow": (FlowCommand, "--d 3", "W^PV: p2", "excess"),
    "flow-isotropic": (FlowCommand, "--d 2 --spectrum isotropic --no-full", "balance", "logistic"),
    "risk": (RiskCommand, "--d 2 --prompts 2000", "heteroscedastic", "variance"),
    "risk-exact": (RiskCommand, "--d 2 --prompts 0", "slope of the variance in M: -1.000", "bias"),
    "shift": (ShiftCommand, "--d 2 --prompts 1000", "inputs twice as large", "relative"),
    "shift-exact": (ShiftCommand, "--d 2 --prompts 0 --noise-variance 0.1", "random", "limit"),
    "landscape": (LandscapeCommand, "--starts 20 --tries 5", "spurious minimum", "kind"),
    "separate": (SeparateCommand, "--d 2 --heads 2", "closed form", "learnt_1"),
    "separate-one": (SeparateCommand, "--d 1 --heads 1 --N 1", "closed form", "loss"),
    "separate-wide": (SeparateCommand, "--d 3 --heads 1 --rank 2 --deviation 0.05 --noise-variance 0.1", "difference", "panel"),
    "diversity": (DiversityCommand, "--d 3 --N 6 --M 5 --draws 10", "K and k", "new_standard_error"),
    "diversity-one": (DiversityCommand, "--d 1 --N 1 --M 1 --tasks 1 2 --draws 2 --spectrum 2", "pool_limit", "best"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name, tmp_path, capsys):
    command, words, printed, column = COMMANDS[name]
    tyro.cli(command, args=[*words.split(), "--out", str(tmp_path / "new" / name)]).main()
    output = capsys.readouterr().out
    assert printed in output
    files = {path.suffix: path for path in (tmp_path / "new").iterdir()}
    assert sorted(files) == [".csv", ".png", ".svg"]
    assert all(str(path) in output for path in files.values())
    assert files[".png"].read_bytes().startswith(b"\x89PNG")
    assert "<svg" in files[".svg"].read_text()[:600]
    with files[".csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 5
    assert column in rows[0]


def test_shift_in_one_dimension(tmp_path, capsys):
    """It was a division by zero: in one dimension there is no half of the space to ask in."""
    ShiftCommand(d=1, prompts=200, out=tmp_path / "shift").main()
    printed = capsys.readouterr().out
    assert "inputs twice as large" in printed
    assert "half the space" not in printed


@pytest.mark.parametrize("words", ["--d 1 --N 1 --noise-variance 1e50", "--d 2 --spectrum 1e-59,1e-59", "--d 2 --N 9"])
def test_flow_in_any_units(words, tmp_path, capsys):
    """What is above rounding was told by 1e-16, and with a small Λ nothing was: a crash."""
    tyro.cli(FlowCommand, args=[*words.split(), "--out", str(tmp_path / "flow")]).main()
    assert "PL ratio" in capsys.readouterr().out


@pytest.mark.parametrize("command", [RiskCommand, ShiftCommand])
def test_one_prompt_has_no_standard_error(command, tmp_path):
    """It was a division by zero."""
    with pytest.raises(ProblemError, match="at least 2"):
        command(d=2, prompts=1, out=tmp_path / "one").main()
    assert Estimate(1.0, 0.0).sigmas(1.0) == 0.0
    assert Estimate(1.0, 0.0).sigmas(2.0) == -np.inf


def test_separate_from_a_large_start(tmp_path, capsys):
    """The merged flow beside it is drawn as far as it comes, and does not ask for another σ."""
    SeparateCommand(d=2, heads=2, deviation=3.0, out=tmp_path / "separate").main()
    assert "closed form" in capsys.readouterr().out


def test_other_training_lengths_list_their_minima(tmp_path, capsys):
    LandscapeCommand(d=3, spectrum="isotropic", starts=2, tries=2, other_N=(3, 10, 20), out=tmp_path / "landscape").main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    listed = [" ".join(row[:3]) for row in rows if row[:1] in (["3"], ["10"], ["20"])]
    assert listed == ["3 1 0", "10 0 0", "20 0 1"]


def test_the_landscape_draws_flows_where_they_are(tmp_path):
    """A marker stood at L = 0.525 on a background of 1.11. Now both coordinates of every flow are its own: none below the least
    loss at its angle, and each ends at a critical point that is drawn."""
    problem = Problem([1.0, 0.9], 10)
    found, points = basins(problem, starts=30, seed=0), critical_points(problem, tries=10)
    axes = pictures.draw_landscape(problem, found, points, "").axes[0]
    lines = [np.array(line.get_xydata(), float) for line in axes.lines]
    steps = [np.diff(line[:, 0]) for line in lines]  # a curve is drawn at angles that are evenly spaced
    is_curve = [len(step) == 180 and step[0] > 0 and np.allclose(step, step[0]) for step in steps]
    curves = [line for line, one in zip(lines, is_curve, strict=True) if one]
    markers = np.array([line[0] for line in lines if len(line) == 1])
    paths = [line for line, one in zip(lines, is_curve, strict=True) if not one and len(line) == len(found.times)]
    assert (len(curves), len(paths)) == (2, 30)
    floor = np.min([curve[:, 1] for curve in curves], axis=0)
    for path in paths:
        assert np.all(path[:, 1] >= np.interp(path[:, 0], curves[0][:, 0], floor) - 2e-3)
        assert np.min(np.abs(markers[:, 1] - path[-1, 1])) < 1e-6


def test_a_start_above_the_threshold_warns_and_goes_on(tmp_path, capsys):
    FlowCommand(d=2, sigma=2.0, full=False, out=tmp_path / "flow").main()
    captured = capsys.readouterr()
    assert "glyptic icl flow: σ = 2 is not below the theorem's threshold" in captured.err
    assert "W^PV: p2" in captured.out
    assert (tmp_path / "flow.svg").exists()


@pytest.mark.parametrize("name", ["flow", "risk", "shift", "landscape", "separate", "diversity"])
def test_help_teaches(name, capsys):
    with pytest.raises(SystemExit):
        tyro.cli(COMMANDS[name][0], args=["--help"])
    text = capsys.readouterr().out
    assert "glyptic icl" in text  # an example
    assert "--N INT" in text


def test_files_are_written_whole_and_deterministic(tmp_path):
    for folder in ("a", "b"):
        figure, axes = figures.new()
        axes.plot([0, 1], [0, 1])
        figures.save(figure, {"x": [0, 1], "y": [0, 1]}, tmp_path / folder / "line")
    for suffix in (".svg", ".csv"):
        assert (tmp_path / "a" / f"line{suffix}").read_bytes() == (tmp_path / "b" / f"line{suffix}").read_bytes()
    figure, _ = figures.new()
    with pytest.raises(FileError, match="different lengths"):
        figures.save(figure, {"x": [0, 1], "y": [0]}, tmp_path / "c" / "line")
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(FileError, match="cannot write"):
        figures.save(figure, {"x": [0]}, tmp_path / "taken" / "line")
    assert not list(tmp_path.rglob(".*"))


def test_figures_and_tables_of_others_are_not_overwritten(tmp_path):
    figure, axes = figures.new()
    axes.plot([0, 1], [0, 1])
    for ending, content in {".svg": b"<svg/>", ".png": b"\x89PNG", ".csv": b"my,data\r\n1,2\r\n"}.items():
        stem = tmp_path / ending[1:] / "line"
        stem.parent.mkdir()
        stem.with_suffix(ending).write_bytes(content)
        with pytest.raises(FileError, match=f"line{ending} is there, and was not written by Glyptic"):
            figures.save(figure, {"x": [0, 1]}, stem)
        assert [path.read_bytes() for path in stem.parent.iterdir()] == [content]


def test_what_we_drew_is_drawn_anew(tmp_path):
    figure, axes = figures.new()
    axes.plot([0, 1], [0, 1])
    for table in ({"x": [0, 1]}, {"x": [0, 1]}, {"other": [1], "columns": [2]}):
        figures.save(figure, table, tmp_path / "line")
    assert (tmp_path / "line.csv").read_text() == "other,columns\n1,2\n"
    (tmp_path / "line.svg").unlink()  # a table alone, as where there is no matplotlib
    (tmp_path / "line.png").unlink()
    figures.save(figure, {"other": [3], "columns": [4]}, tmp_path / "line")
