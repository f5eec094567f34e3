"""`glyptic icl flow|risk|shift|landscape`: a table, a figure as SVG and PNG, its data; and the files' manners."""

import csv

import pytest
import tyro

from glyptic.cli.icl_flow import Flow
from glyptic.cli.icl_landscape import Landscape
from glyptic.cli.icl_risk import RiskCommand
from glyptic.cli.icl_shift import ShiftCommand
from glyptic.errors import FileError
from glyptic.icl import figures

pytest.importorskip("matplotlib")

COMMANDS = {
    "flow": (Flow, "--d 3", "W^PV: p2", "excess"),
    "flow-isotropic": (Flow, "--d 2 --spectrum isotropic --no-full", "balance", "logistic"),
    "risk": (RiskCommand, "--d 2 --prompts 2000", "heteroscedastic", "variance"),
    "risk-exact": (RiskCommand, "--d 2 --prompts 0", "slope of the variance in M: -1.000", "bias"),
    "shift": (ShiftCommand, "--d 2 --prompts 1000", "inputs twice as large", "relative"),
    "shift-exact": (ShiftCommand, "--d 2 --prompts 0 --noise 0.1", "random", "limit"),
    "landscape": (Landscape, "--starts 20 --tries 5", "spurious minimum", "kind"),
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


def test_a_start_above_the_threshold_warns_and_goes_on(tmp_path, capsys):
    Flow(d=2, scale=2.0, full=False, out=tmp_path / "flow").main()
    captured = capsys.readouterr()
    assert "glyptic icl flow: σ = 2 is not below the theorem's threshold" in captured.err
    assert "W^PV: p2" in captured.out
    assert (tmp_path / "flow.svg").exists()


@pytest.mark.parametrize("name", ["flow", "risk", "shift", "landscape"])
def test_help_teaches(name, capsys):
    with pytest.raises(SystemExit):
        tyro.cli(COMMANDS[name][0], args=["--help"])
    text = capsys.readouterr().out
    assert "glyptic icl" in text  # an example
    assert "--train-length" in text


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
