"""`glyptic machine`: tables, languages, figures, and what it says to bad questions."""

import pytest

from glyptic.cli import main


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
