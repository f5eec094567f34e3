"""Certificates that are right, and would be read as saying something else: every one is told apart, or refused."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from tests.prove.examples import doubled

from glyptic import Fixed
from glyptic.cli import main
from glyptic.errors import FileError
from glyptic.languages import regular
from glyptic.programs import by_name
from glyptic.prove import (
    Claim,
    Values,
    accepted,
    after,
    check,
    inputs,
    layers,
    recheck,
    save_certificate,
    token,
    variables,
)
from glyptic.prove.questions import decisiveness


def certified(path: Path, claim: Claim, **means: object) -> Path:
    save_certificate(path, claim, check(claim, progress=False, **means))  # type: ignore[arg-type]
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "c.json"


def test_a_model_with_a_part_that_the_certificates_transformer_lacks_is_another_model(file: Path) -> None:
    model = by_name("parity:3", Fixed(4))
    shorn = model.replace(layers=(*model.layers[:-1], replace(model.layers[-1], feed_forward=None)))
    certified(file, decisiveness(shorn, 3))
    with pytest.raises(FileError, match=r"about another model than the one given: its transformer differs in layers\.1\.feed"):
        recheck(file, models=model)


def test_a_word_that_is_an_expression_over_symbols_that_no_input_has_is_no_name_of_a_language(file: Path) -> None:
    never = regular("palindrome", tuple(dict.fromkeys("01palindrome")))
    certified(file, Claim(inputs(by_name("parity:3", Fixed(4)), max_length=3), ~accepted(never)))
    told = recheck(file)
    assert told.agrees and "input ∈ automaton_" in told.claim
    assert 'the file calls it "palindrome"' in str(told)


def test_a_name_that_says_its_language_is_told_to_be_an_expression(file: Path) -> None:
    ends = regular("(0|1)*1")
    certified(file, Claim(inputs(by_name("parity:3", Fixed(4)), max_length=3), accepted(ends) == (token(-1) == "1")))
    told = str(recheck(file))
    assert "input ∈ (0|1)*1" in told
    assert "(0|1)*1: a regular expression, compared with the automaton of 2 states" in told


@pytest.mark.parametrize("name", ["〇", "xⅠ", "х"])
def test_letters_and_digits_that_look_like_others_are_told(file: Path, name: str) -> None:
    x, other = variables(f"y {name}")
    certified(file, Claim(Values(f"y {name}", Fixed(2)), (x <= other) | (x > other)), method="enumerate")
    assert f"is U+{ord(name[-1]):04X}" in str(recheck(file))


@pytest.mark.parametrize("name", ["x or before.x", "x is 0 and after.x", "x + before.y", "x) / (before.y", "x if true else y"])
def test_a_coordinate_whose_name_looks_like_several_is_refused(file: Path, name: str) -> None:
    model = doubled(Fixed(2)).replace(coordinates=(name, "y"))
    claim = Claim(layers(model, free=[name]), after(name) == after(name))
    with pytest.raises(FileError, match="not be taken for more than a name"):
        certified(file, claim, method="enumerate")


def test_what_enters_a_block_as_0_is_told(file: Path) -> None:
    certified(file, Claim(layers(doubled(Fixed(2)), free=["x"]), after("y") >= 0), method="enumerate")
    assert "0 enters at y@0" in str(recheck(file))


def test_a_device_is_not_replaced_by_a_certificate(tmp_path: Path) -> None:
    """A file is replaced when it is whole; so was /dev/full."""
    x, = variables("x")
    claim = Claim(Values("x", Fixed(1)), x == x)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="it is not a regular file"):
        certified(tmp_path / "pipe", claim)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_is_no_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError) as told:
        recheck(tmp_path / "pipe")
    assert str(told.value).count(".") == 1 and str(told.value).endswith("is not a certificate: it is not a regular file.")


UNASKABLE = [
    ["prove", "parity:3", "--decisive", "--max-length", "9" * 20],
    ["prove", "parity:3", "--decisive", "--steps", "9" * 5000],
    ["prove", "parity:3", "--decisive", "--formats", "fixed:1..99999999"],
    ["prove", "parity:3", "--decisive", "--formats", f"fixed:1..{'9' * 5000}"],
    ["prove", "parity:3", "--decisive", "--formats", "ieee:1..999,1..999"],
    ["prove", "parity:3", "--decisive", "--certificate", "/dev/null"],
    ["prove", "parity:3", "--decisive", "--certificate", "x" * 300],
    ["prove", "parity:3", "--language", "(" * 3000 + ")" * 3000],
    ["prove", "parity:3", "--language", "0" * 5000],
    ["prove", "parity:3", "--language", "(0|1)*1" + "(0|1)" * 40],
    ["prove", "--library", "--theorem", "zero.at", "--formats", "exact"],
    ["precision", "parity", "--max-length", "9" * 14],
]


@pytest.mark.parametrize("words", UNASKABLE, ids=lambda words: " ".join(words)[-40:])
def test_questions_that_ran_for_ever_or_crashed_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"glyptic {words[0]}: ") and told.count("\n") == 1 and len(told) < 600
