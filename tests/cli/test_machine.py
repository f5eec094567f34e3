"""`glyptic machine`: tables, languages, figures, and what it says to bad questions."""

import pytest

from glyptic import programs
from glyptic.cli import main
from glyptic.prove.exporting.standalone.checker.machine import check_machine
from glyptic.states.machines import Machine
from glyptic.states.search import LayerSearch


def said(capsys, *words: str) -> str:
    assert main(["machine", *words]) == 0
    return capsys.readouterr().out


def test_a_machine_is_printed_with_its_language(capsys) -> None:
    text = said(capsys, "factor:101", "--format", "fixed:2")
    assert "Machine of factor:101 in fixed:2: 5 states over 0 1" in text
    assert "every length; states found by layers: 5 · 7 · 13" in text
    assert "YES: 0*11*0(00*11*0)*1(0|1)*" in text and "star-free           yes" in text


def test_a_language_is_compared(capsys, tmp_path) -> None:
    assert "it decides .*101.*, at every length" in said(capsys, "factor:101", "--language", ".*101.*", "--format", "fixed:2")
    assert main(["machine", "averaging-majority", "--format", "fixed:2", "--language", "majority"]) == 1
    assert "first at length 31, 1111111111111111000000000000000 gets NO" in capsys.readouterr().out


def test_formats_are_a_table_and_a_figure(capsys, tmp_path) -> None:
    picture = tmp_path / "m.svg"
    text = said(
        capsys, "averaging-majority", "--formats", "fixed:1,fixed:2,float:2,1", "--language", "majority", "--figure", str(picture)
    )
    assert "fixed:2        73        31                 31" in text and picture.exists() and (tmp_path / "m.csv").exists()
    said(capsys, "same-ends", "--format", "fixed:2", "--figure", str(tmp_path / "s.png"))
    assert (tmp_path / "s.png").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["random:0,2,12", "--format", "fixed:8", "--states", "100"], "passed the budget of 100 states"),
        (["occurs", "--formats", "fixed:2"], "name it with --language"),
        (["occurs", "--answer", "MAYBE"], "'MAYBE' is no answer of occurs; there are NO, YES, TIE, UNDEFINED"),
        (["occurs", "--formats", "fixed:2", "--format", "fixed:3", "--language", "1*"], "format"),
        (["nothing"], "neither a folder"),
        (["occurs", "--out", ""], "--out"),
        (["occurs", "--language", "(("], "(("),
        (["occurs", "--language", "balanced", "--answer", "MAYBE"], "MAYBE"),
        (["random:0,2,12", "--language", "a*"], "'a'"),
        (["occurs", "--formats", ",", "--language", "1*"], "names no format"),
        (["occurs", "--formats", "fixed:2,fixd:3", "--language", "1*"], "fixd:3"),
    ],
)
def test_bad_questions_are_one_sentence(words: list[str], why: str, capsys) -> None:
    assert main(["machine", *words]) == 2
    error = capsys.readouterr().err
    assert why in error and "Traceback" not in error


def test_refusals_name_flags(capsys) -> None:
    """What is called states= in Python is --states here, and where the time is over it is the time that can be raised."""
    states, seconds = ["--states", "1000"], ["--states", "9999999", "--seconds", "0.3"]
    for words, raised in ((states, "or raise --states"), (seconds, "or raise --seconds")):
        assert main(["machine", "averaging-majority", "--format", "fixed:8", *words]) == 2
        error = capsys.readouterr().err
        assert raised in error and error.count(" raise ") == 1 and "states=" not in error and error.count("\n") == 1
    table = said(capsys, "averaging-majority", "--formats", "fixed:1,fixed:3", "--states", "100", "--language", "majority")
    assert "or raise --states" in table and "states=" not in table


def test_flags_are_checked_before_anything_is_searched(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path) -> None:
    def search(*given, **more):
        raise AssertionError("a search was begun")

    monkeypatch.setattr("glyptic.states.extraction.extract", search)
    monkeypatch.setattr("glyptic.states.machines.extract", search)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    bad = {"--language": "((", "--answer": "MAYBE", "--out": str(tmp_path / "full"), "--states": "0", "--figure": "m.txt"}
    for words in (*bad.items(), ("--out", "")):
        assert main(["machine", "occurs", *words]) == 2
        assert "a search was begun" not in capsys.readouterr().err, words
    main(["machine", "occurs", "--language", "1*"])
    assert "a search was begun" in capsys.readouterr().err


def test_another_answer_is_compared_with_a_language(capsys) -> None:
    text = said(capsys, "occurs", "--format", "fixed:2", "--answer", "NO", "--language", "0*")
    assert "it decides 0* by NO, at every length" in text
    assert main(["machine", "occurs", "--format", "fixed:2", "--answer", "TIE", "--language", "1"]) == 1
    assert "it does not decide 1 by TIE: first at length 1, 1 gets YES" in capsys.readouterr().out
    assert main(["machine", "occurs", "--format", "fixed:2", "--language", ""]) == 1
    assert "it does not decide ε: first at length 1, 1 gets YES" in capsys.readouterr().out


def test_prove_for_every_length(capsys) -> None:
    assert main(["prove", "same-ends", "--format", "fixed:2", "--language", "0|1|0.*0|1.*1"]) == 0
    assert "Proved, for every length" in capsys.readouterr().out
    assert main(["prove", "occurs", "at-least:2", "--format", "fixed:2"]) == 1
    assert "smallest counterexample: input '1'" in capsys.readouterr().out


def test_a_format_that_refuses_may_come_first(capsys) -> None:
    fives = ".*1.*1.*1.*1.*1.*"
    for formats in ("fixed:1,fixed:3", "fixed:3,fixed:1"):
        text = said(capsys, "at-least:5", "--formats", formats, "--language", fives)
        assert "counts to 5, and fixed:1 has" in text and "fixed:3      18         6              never" in text
    assert main(["machine", "at-least:5", "--formats", "fixed:1,float:1,1", "--language", fives]) == 2
    assert capsys.readouterr().err.count("fixed:1") == 1


def test_a_figure_of_too_many_states_is_refused_last(capsys, tmp_path) -> None:
    out, figure = tmp_path / "m", tmp_path / "m.svg"
    words = ["averaging-majority", "--format", "fixed:3", "--language", "majority", "--out", str(out), "--figure", str(figure)]
    assert main(["machine", *words]) == 2
    told = capsys.readouterr()
    assert "128 states are too many to draw" in told.err and "first at length 127" in told.out and not figure.exists()
    assert check_machine(out)[-1].endswith("for every length")


def test_lengths_that_there_are_not_are_refused(capsys, tmp_path) -> None:
    for more in ([], ["--out", str(tmp_path / "m")]):
        assert main(["machine", "first-equals-last:6", "--format", "fixed:2", "--length", "9", *more]) == 2
        assert "length is 9, and " in (error := capsys.readouterr().err) and "has 6 positions" in error
    assert "to the longest input" in said(capsys, "first-equals-last:6", "--format", "fixed:2", "--length", "6")


def test_states_are_searched_once(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path) -> None:
    """With a certificate too; and with a journal of a finished search not at all."""
    runs, search = [], LayerSearch.run
    monkeypatch.setattr(LayerSearch, "run", lambda self, *more: runs.append(self.layer) or search(self, *more))
    journal = ["--journal", str(tmp_path / "journal")]
    words = ["same-ends", "--format", "fixed:2", *journal]
    said(capsys, *words)
    assert runs == [0, 1]
    said(capsys, *words, "--out", str(tmp_path / "a"))  # what the states hold was not kept
    assert runs == [0, 1] * 2
    said(capsys, *words, "--out", str(tmp_path / "b"))
    said(capsys, *words)
    assert runs == [0, 1] * 2
    assert (tmp_path / "a" / "machine.json").read_text() == (tmp_path / "b" / "machine.json").read_text()
    check_machine(tmp_path / "b")


def test_one_clock_for_all(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """A kind that takes too long is left out; what is compared ends with a sentence."""
    from glyptic.states import budget as of_budget

    kind = Machine.kind

    def late(self, answer, asked):
        monkeypatch.setattr(of_budget.Budget, "left", 0.0)
        monkeypatch.setattr(of_budget.Budget, "over", lambda self, *more: "the time limit of 100 s")
        return kind(self, answer, asked)

    monkeypatch.setattr(Machine, "kind", late)
    assert main(["machine", "factor:101", "--format", "fixed:2", "--seconds", "100", "--language", ".*101.*"]) == 2
    told = capsys.readouterr()
    assert "its kind was not told within the time limit" in told.out and "passed the time limit of 100 s" in told.err


def test_names_that_the_font_lacks_are_told_once(tmp_path, capsys, recwarn) -> None:
    """日 and 本 are boxes in the picture, and are in the table beside it; no warning of another's comes through."""
    programs.open("same-ends", "fixed:2").replace(vocabulary=("日", "本")).save(tmp_path / "model")
    said(capsys, "same-ends", "--format", "fixed:2", "--figure", str(tmp_path / "plain.svg"))
    assert main(["machine", str(tmp_path / "model"), "--figure", str(tmp_path / "m.png")]) == 0
    lacking = "the figure's font has no 日 本, and boxes stand in their place; the table beside it has them.\n"
    assert capsys.readouterr().err == lacking and not [each for each in recwarn if "Glyph" in str(each.message)]
    assert "日" in (tmp_path / "m.csv").read_text(encoding="utf-8")
