"""The code of docs/every-length.md runs, and says what the page says."""

import re
from pathlib import Path

import pytest

from glyptic.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "every-length.md"


def test_the_code_of_the_page_runs(capsys) -> None:
    names: dict = {}
    for code in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        exec(compile(code, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "5 states" in said and "Proved, for every length" in said
    even, loop = names["even"], names["loop"]
    assert (even.answer("ab" * 500), even.answer("a" * 1001)) == ("YES", "NO")
    assert (loop.end("a"), loop.always_stops, loop.longest, loop.stops_within(1)) == (".", True, 2, ("a",))


def test_its_commands_run(capsys, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["machine", "factor:101", "--format", "fixed:2", "--figure", "factor.svg", "--out", "certificate"]) == 0
    assert "python certificate/check.py certificate" in capsys.readouterr().out
    assert main(["machine", "averaging-majority", "--formats", "fixed:1,fixed:2,fixed:3,fixed:4", "--language", "majority"]) == 0
    table = re.search(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert table is not None and capsys.readouterr().out.strip() == table[1].strip()
