"""A construction over formats, languages beyond automata, and the pictures."""

import csv

import pytest

from glyptic import languages, programs
from glyptic.errors import InputError
from glyptic.states import intended
from glyptic.states.intended import balanced, first_difference, majority, of_automaton
from glyptic.states.studies import by_precision


def test_by_precision() -> None:
    found = by_precision(lambda f: programs.open("averaging-majority", f), ["fixed:1", "fixed:2", "fixed:3"], majority("1", "01"))
    assert [(row.states, row.minimal, len(row.first)) for row in found.rows] == [(15, 7, 7), (73, 31, 31), (309, 127, 127)]
    assert all(row.star_free is not False for row in found.rows)
    counts = by_precision(lambda f: programs.open("at-least:5", f), ["fixed:2", "fixed:3"], languages.regular(".*" + "1.*" * 5))
    assert counts.rows[0].states is None and "counts to 5" in counts.rows[0].reason and counts.rows[1].first is None
    assert "never" in str(counts) and "–" in str(counts)


def test_a_format_in_which_no_difference_is_found_keeps_its_row(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(intended, "_MOST_PAIRS", 5000)
    found = by_precision(lambda f: programs.open("averaging-majority", f), ["fixed:1", "fixed:3"], majority("1", "01"))
    assert [row.states for row in found.rows] == [15, 309] and len(found.rows[0].first) == 7 and found.rows[1].first is None
    assert found.rows[1].reason.startswith("no difference up to length ") and found.rows[1].reason in str(found)
    assert "never" not in str(found) and (tmp_path / "p.svg") in found.figure(tmp_path / "p.svg")


def test_brackets_leave_the_language_at_depth_three() -> None:
    wrong = first_difference(programs.open("nested", "fixed:2").machine(), balanced("()"))
    assert wrong == tuple("((()))")


def test_differences_are_shortest() -> None:
    found = programs.open("factor:101", "fixed:2").machine()
    assert first_difference(found, of_automaton(languages.regular(".*101.*"))) is None
    assert first_difference(found, of_automaton(languages.regular(".*1.*0.*1.*"))) == tuple("1001")


def test_pictures_have_their_data_beside_them(tmp_path) -> None:
    files = programs.open("factor:101", "fixed:2").machine().minimal().draw(tmp_path / "m.svg")
    assert [path.name for path in files] == ["m.svg", "m.csv"] and (tmp_path / "m.svg").stat().st_size > 2000
    rows = list(csv.DictReader((tmp_path / "m.csv").open()))
    assert len(rows) == 10 and rows[0]["next"] == "1"
    found = by_precision(lambda f: programs.open("counting-majority", f), ["fixed:1", "fixed:2"], majority("1", "01"))
    assert (tmp_path / "p.svg") in found.figure(tmp_path / "p.svg")
    with pytest.raises(InputError, match="too many to draw"):
        programs.open("averaging-majority", "fixed:3").machine().draw(tmp_path / "n.svg")


def test_pages_show_machines() -> None:
    view = programs.open("occurs", "fixed:2").machine().minimal().look("001").views[0]
    assert view.kind == "automaton" and view.data["outputs"] == ["–", "NO", "YES"]
    bounded = programs.open("first-equals-last:4", "fixed:2").machine().look("01").views[0]
    assert bounded.data["outputs"][-1] == "–"
