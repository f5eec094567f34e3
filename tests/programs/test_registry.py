"""A transformer by its name: what a name gives, hostile spellings of it, names that other rooms add, expressions of names."""

from itertools import product
from pathlib import Path

import pytest

from glyptic import programs
from glyptic.cli import DECIDERS, main
from glyptic.errors import FileError, GlypticError, ModelError
from glyptic.languages import regular
from glyptic.numbers import Fixed
from glyptic.programs import registry
from glyptic.programs.registry import KINDS, usage

TEXTS = ["".join(text) for n in range(1, 7) for text in product("01", repeat=n)]


@pytest.mark.parametrize("name", ["regex:(01)*", "regex:1,8", "regex:~(.*11.*)&(..)*,6", "regex:,4", "tomita:3", "tomita:5,6"])
def test_names_round_trip(name: str) -> None:
    made = programs.open(name)
    assert str(made.format) == "fixed:8" and made.name.startswith(name) and programs.open(made.name).same_as(made)
    assert programs.by_name(made.name, "fixed:3").format == programs.open(made.name, Fixed(3)).format == Fixed(3)


def test_signs_of_names_in_expressions() -> None:
    """A colon is a symbol as any other, = where the parameter is named; a comma never."""
    colon = programs.open("regex:(a:)*,6,a:")
    assert colon.vocabulary == ("a", ":") and colon.answer("a:a:") == "YES" and colon.answer("a::") == "NO"
    equal = programs.open("regex:expression=(a=b)*,max_length=6,vocabulary=ab=")
    assert equal.answer("a=b") == "YES" and programs.open(equal.name).same_as(equal)
    assert programs.open("regex:max_length=5,expression=1*").max_length == 5


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("regex", "the expression is missing; write regex:EXPRESSION,max_length=16,vocabulary=01"),
        ("regex:", "the expression is missing"),
        ("regex:max_length=8", "the expression is missing"),
        ("regex:(0,1)*,8", r"max_length must be a whole number of at most 18 digits, and it is '1\)\*'"),
        ("regex:0,1,8", "'0' at place 0 is not in the alphabet 8"),
        ("regex:a=b,8,ab=", "'a=b' is not one of its parameters"),
        ("regex:0,8,01,", "'' is not one of its parameters"),
        ("regex:0,8,max_length=9", "comes twice"),
        ("regex:0,8,vocabulary=", "the vocabulary '' must be"),
        ("regex:0,8,00", "the vocabulary '00' must be"),
        ("regex:0,8,0\n", r"the vocabulary '0\\n' must be"),
        ("regex:0, 8", "max_length must be a whole number"),
        ("regex:0,0", "max_length is 0, and must be"),
        ("regex:0,10001", "max_length is 10001, and must be"),
        ("regex:(01", r"a \( is not closed"),
        ("regex:0\x00", "'0\\\\x00'"),
        ("regex:" + "01" * 4000, "too long"),
        ("regex:0,8,01,force=True", "'force=True' is not one of its parameters"),
        ("regex:0,format=fixed:4", "'format=fixed:4' is not one of its parameters"),
        ("regex :0", "neither a folder"),
        ("REGEX:0", "neither a folder"),
        ("tomita", "the number is missing; write tomita:NUMBER,max_length=16"),
        ("tomita:8", "number is 8, and must be a whole number from 1 to 7"),
        ("tomita:four", "number must be a whole number"),
        ("", "the MODEL is empty"),
    ],
)
def test_hostile_spellings_are_one_sentence(name: str, says: str) -> None:
    with pytest.raises(GlypticError, match=says) as error:
        programs.open(name)
    assert "\n" not in str(error.value)


def test_a_folder_that_holds_a_model_goes_before_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    programs.open("majority:5").save("tomita:2")
    assert programs.open("tomita:2").name == "majority:5" and programs.by_name("tomita:2", "fixed:4").name == "tomita:2,16"
    assert programs.open("tomita:2", "fixed:5").format == Fixed(5)


def test_further_names_are_registered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in KINDS:
        monkeypatch.setitem(KINDS, name, KINDS[name])  # all as before when this ends
    assert tuple(KINDS) == DECIDERS  # what `glyptic --help` lists
    odd = programs.ModelKind("odd", "glyptic.carve.examples:parity")
    monkeypatch.setitem(KINDS, "odd", odd)
    programs.register(odd)  # the same again is no harm
    assert programs.open("odd:6").answer("0111") == "YES" and "  odd:max_length=" in usage()
    assert main(["run", "odd:6", "0111"]) == 0 and "YES" in capsys.readouterr().out
    with pytest.raises(ModelError, match="the name 'odd' is taken"):
        programs.register(programs.ModelKind("odd", "glyptic.carve.examples:majority"))
    with pytest.raises(ModelError, match="must be a word"):
        programs.register(programs.ModelKind("a:b", "glyptic.carve.examples:majority"))


def test_commands_take_expressions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "regex:(01)*,8", "0101"]) == 0 and "YES" in capsys.readouterr().out
    decided = ["--backend", "sequential", "--format", "fixed:3"]
    assert main(["prove", "regex:(01)*,6", "--language", "(01)*", *decided]) == 0
    assert main(["prove", "regex:(01)*,6", "--language", "~((01)*)&.*", *decided]) == 1


def test_expressions_of_names_are_combined() -> None:
    made = programs.combine("(parity:6 ^ 'regex:.*(11|00).*,6') & ~tomita:1,6", "fixed:4")
    even = regular("(0*10*1)*0*")
    right = [(not even.accepts(t)) != ("11" in t or "00" in t) and "0" in t for t in TEXTS]
    assert made.run_batch(TEXTS).answers == tuple("YES" if yes else "NO" for yes in right)
    assert made.name == "(parity:6 ^ 'regex:.*(11|00).*,6') & ~tomita:1,6"
    with pytest.raises(FileError, match="'nothing' is neither a folder"):
        programs.combine("parity:6 & nothing")
    with pytest.raises(GlypticError, match="yes is 'ja', and must be an answer of a decider; these answer NO, YES"):
        programs.combine("parity:6 & majority:6", yes="ja")


def answers_nothing(fmt, n=3):
    return n


def parity_of(fmt, n=3):
    return programs.open(f"parity:{n}", fmt)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("odd", "kind is 'odd', and must be a ModelKind."),
        (programs.ModelKind(3, "m:f"), "name is 3, and must be a text."),
        (programs.ModelKind("mine", parity_of), "and must be a text."),
        (programs.ModelKind("mine", "parity"), "'parity' must be a module, a colon and a function, as in my.module:decider."),
        (programs.ModelKind("a\x1b", "m:f"), r"the name 'a\x1b' must be a word of letters, digits, _ - and dots."),
        (programs.ModelKind("a&b", "m:f"), "the name 'a&b' must be a word of letters, digits, _ - and dots."),
    ],
)
def test_what_cannot_be_registered(kind, said, monkeypatch):
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    with pytest.raises(GlypticError) as told:
        programs.register(kind)
    assert str(told.value).endswith(said)


@pytest.mark.parametrize(
    ("maker", "said"),
    [
        ("no_such_module:f", "mine: 'no_such_module:f' cannot be loaded: No module named 'no_such_module'."),
        ("os:no_such", "mine: 'os:no_such' cannot be loaded: module 'os' has no attribute 'no_such'."),
        ("os:sep", "mine: 'os:sep' is no function."),
        ("os:getcwd", "mine: 'os:getcwd' must take a format, then parameters that have names."),
        (f"{__name__}:answers_nothing", "made 4, which is no Transformer."),
    ],
)
def test_a_maker_that_is_none_is_told_and_hides_no_other(maker, said, monkeypatch):
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    programs.register(programs.ModelKind("mine", maker))
    with pytest.raises(ModelError) as told:
        programs.open("mine:4")
    assert str(told.value).endswith(said)
    assert "  regex:EXPRESSION,max_length=16,vocabulary=01\n" in registry.usage() and "  mine:" in registry.usage()


def test_the_format_comes_first_whatever_it_is_called(monkeypatch):
    monkeypatch.setattr(registry, "KINDS", dict(registry.KINDS))
    programs.register(programs.ModelKind("mine", f"{__name__}:parity_of"))
    assert programs.open("mine:4").name == "parity:4" and "  mine:n=3" in registry.usage()
