"""The code of docs/every-length.md runs, and says what the page says."""

import csv
import re
import shlex
from pathlib import Path

import pytest

from glyptic.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "every-length.md"
FIGURES = PAGE.with_name("figures")


def test_the_code_of_the_page_runs(capsys) -> None:
    names: dict = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "5 states" in said and "Proved, for every length" in said
    even, loop = names["even"], names["loop"]
    assert (even.answer("ab" * 500), even.answer("a" * 1001)) == ("YES", "NO")
    assert (loop.end("a"), loop.always_stops, loop.longest, loop.stops_within(1)) == (".", True, 2, ("a",))


def commands() -> list[list[str]]:
    """What the page calls `glyptic` with."""
    shells = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [shlex.split(line)[1:] for line in "".join(shells).splitlines() if line.startswith("glyptic ")]


def tables() -> dict[str, str]:
    """The tables of the page by what they are about."""
    found = re.findall(r"^```text\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return {table.partition(",")[0]: table.strip() for table in found}


def test_its_commands_run(capsys, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with formats print its tables, all but that of the trained decider; the figure is that of the page."""
    monkeypatch.chdir(tmp_path)
    printed = {}
    for command in commands():
        assert main(command) == 0, command
        said = capsys.readouterr().out
        if "--formats" in command:
            printed[command[1]] = said.partition("figure:")[0].strip()
    assert printed == {name: table for name, table in tables().items() if not name.startswith("trained")}
    assert len(printed) == 3 and Path("factor.svg").exists()
    assert Path("majority-states.csv").read_text() == (FIGURES / "majority-states.csv").read_text()
    assert main(["machine", "factor:101", "--format", "fixed:2", "--out", "certificate"]) == 0
    assert "python certificate/check.py certificate" in capsys.readouterr().out


def test_the_trained_decider_is_that_of_the_measurement() -> None:
    """Its table says what `make bench` wrote beside the figure."""
    with (FIGURES / "trained-states.csv").open() as file:
        measured = list(csv.DictReader(file))
    rows = [line.split() for line in tables()["trained on 1*"].splitlines()[4:]]
    assert len(rows) == len(measured) == 4
    for row, of in zip(rows, measured, strict=True):
        first = of["first"].replace(" ", "")
        assert row == [of["format"], f"{int(of['states']):,}", f"{int(of['minimal']):,}", str(len(first)), first]
