"""Types that reach users: what a type checker says of a small program of theirs, and what a misspelt keyword gets at run time."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

import pytest

import glyptic
from glyptic.arguments import UnknownArgument, _hints
from glyptic.prove.checking import Limits, check

ROOT = Path(glyptic.__file__).parent
ROOMS = ("numbers", "exact", "languages", "carve", "programs", "prove", "theorems", "lint", "studies", "notes")
IMPORTED = {"numbers.Codes"}  # numpy's, which tells first what else is missing

CLIENT = """
from glyptic import Fixed, carve, languages, lint, programs, prove, studies

F = Fixed(8)
T = programs.by_name("parity:8", F)
U = carve.normalize.infinity(T)
verdict = prove.equivalent(T, U, 4, seconds=10, workers=1, progress=False)
reveal_type(verdict)                                     # says: answers.Refuted
reveal_type(T.answer("0110"))                            # says: str"
reveal_type(prove.check)                                 # says: seconds
x, y = prove.variables("x y")
claim = prove.Claim(prove.Values("x y"), x + y == y + x)
reveal_type(claim.ensures)                               # says: Condition
reveal_type(studies.sweep(claim, "fixed:1..3", seconds=1.0).holds_in)  # says: str, ...]"
prove.language(T, languages.tomita(1), secnds=10)        # says: "secnds"
prove.language(T, languages.tomita(1), seconds="10")     # says: "seconds"
prove.language("parity:8", languages.tomita(1))          # says: "Transformer"
prove.check(claim, F, engine="fastest")                  # says: "engine"
prove.recheck("certificate.json", method="smt")          # says: "method"
studies.sweep(claim, "fixed:1..3", journal="j")          # says: "journal"
prove.equivalents(T, U, 4)                               # says: "equivalents"
prove.layers(T, fre=["x"])                               # says: "fre"
carve.add.vektor(T, {"x": 1})                            # says: "vektor"
lint.lint(T, runs="many")                                # says: "int"
"""

NN_CLIENT = """
from glyptic import nn

config = nn.preset("gpt2", layers=2)
reveal_type(nn.build(config, kind="decoder"))            # says: models.Decoder"
reveal_type(nn.load("folder", kind="vit"))               # says: models.ViT"
reveal_type(nn.load("folder"))                           # says: models.EncoderDecoder |
nn.load("folder", kind="decodr")                         # says: No overload
nn.preset("gpt2", layrs=2)                               # says: "layrs" for "preset"
nn.generate(nn.build(config, kind="decoder"), [1], 5, temprature=1.0)  # says: "temprature" for "generate"
"""


def said_of(program: str, folder: Path) -> dict[int, str]:
    """What mypy says of the lines of a program, with its strictest rules; in our own files nothing is looked for."""
    pytest.importorskip("mypy")
    (folder / "client.py").write_text(program)
    words = ["--strict", "--follow-imports=silent", "--no-error-summary", "--config-file=", "--ignore-missing-imports"]
    environment = {"MYPYPATH": str(ROOT.parent), "PATH": "", "HOME": str(folder)}
    command = [sys.executable, "-m", "mypy", *words, f"--cache-dir={ROOT.parents[1] / '.mypy_cache' / 'clients'}", "client.py"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert not done.stderr, done.stderr
    found: dict[int, str] = {}
    for line, text in re.findall(r"^client\.py:(\d+): (.*)$", done.stdout, re.MULTILINE):
        found[int(line)] = f"{found.get(int(line), '')} {text}"
    return found


@pytest.mark.parametrize("program", [CLIENT, pytest.param(NN_CLIENT, marks=pytest.mark.slow)], ids=["exact", "nn"])
def test_a_type_checker_sees_our_types_in_a_user_s_program(program: str, tmp_path: Path) -> None:
    found = said_of(program, tmp_path)
    expected = {n: line.split("# says: ")[1] for n, line in enumerate(program.splitlines(), 1) if "# says: " in line}
    assert found.keys() == expected.keys(), found
    assert not {n: (text, found[n]) for n, text in expected.items() if text not in found[n]}
    assert {n for n in found if " note: " in found[n] and " error: " not in found[n]} == {
        n for n, line in enumerate(program.splitlines(), 1) if "reveal_type" in line
    }


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "py.typed").is_file()  # without it, type checkers take everything that is installed for Any


def test_limits_are_what_check_takes() -> None:
    taken = get_type_hints(inspect.unwrap(check), include_extras=True)
    assert get_type_hints(Limits, include_extras=True) == {
        name: hint for name, hint in taken.items() if name not in ("claim", "return")
    }


# Misspelt keywords, at run time -----------------------------------------------------------------------------------------


def callables(room: ModuleType) -> Iterator[tuple[str, Any]]:
    """All that a room offers to be called, and what its modules that are offered have."""
    for name in getattr(room, "__all__", dir(room)):
        thing = getattr(room, name)
        if inspect.ismodule(thing) and thing.__name__.startswith(f"{room.__name__}."):
            inside = {n: f for n, f in vars(thing).items() if inspect.isfunction(f) and f.__module__ == thing.__name__}
            yield from ((f"{name}.{n}", function) for n, function in inside.items() if not n.startswith("_"))
        elif inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception)):
            yield name, thing


@pytest.mark.parametrize("room", ROOMS)
def test_a_misspelt_keyword_is_told_about_the_function_that_was_called(room: str) -> None:
    tried = 0
    for name, function in callables(importlib.import_module(f"glyptic.{room}")):
        if f"{room}.{name}" in IMPORTED or getattr(function, "_is_protocol", False):
            continue
        who = {kind.__name__ for kind in function.__mro__[:-1]} if inspect.isclass(function) else {function.__name__}
        with pytest.raises(TypeError, match=f"({'|'.join(who)}).*(misspelt_keyword|takes no arguments)") as told:
            function(misspelt_keyword=1)
        assert "\n" not in str(told.value), name
        tried += 1
    assert tried


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda T, L: glyptic.prove.language(T, L, secnds=10), "language() has no argument secnds; did you mean seconds?"),
        (lambda T, L: glyptic.prove.decisive(T, worker=1), "decisive() has no argument worker; did you mean workers?"),
        (lambda T, L: glyptic.prove.language(T, L, limits={}), "language() has no argument limits; it has transformer, of, "),
        (lambda T, L: glyptic.prove.recheck("c", cont_all=True), "recheck() has no argument cont_all; did you mean count_all?"),
        (lambda T, L: glyptic.prove.layers(T, fist=1), "layers() has no argument fist; did you mean first?"),
        (lambda T, L: glyptic.studies.sweep(L, "fixed:1", engin="fast"), "sweep() has no argument engin; did you mean engine?"),
        (
            lambda T, L: glyptic.studies.least_precision(T, 3, of=L, second=1),
            "least_precision() has no argument second; did you mean seconds?",
        ),
    ],
)
def test_a_misspelt_limit_gets_one_sentence_with_the_right_word(call: Any, sentence: str) -> None:
    T = glyptic.programs.by_name("parity:3", glyptic.Fixed(4))
    with pytest.raises(UnknownArgument, match=f"^{re.escape(sentence)}"):
        call(T, glyptic.languages.tomita(1))


# What `checked` and `check_fields` look at -------------------------------------------------------------------------------

CHECKED_OTHERWISE = {"Comparison", "SameWord", "Let"}  # of claims: `scopes` looks at every part of these


def test_every_type_that_is_to_be_checked_can_be_read() -> None:
    """A type written with a name that only type checkers know is passed over without a word, and so is what it would refuse."""
    unread = set()
    for module in pkgutil.walk_packages(glyptic.__path__, "glyptic."):
        if "standalone" in module.name or module.name.endswith(("__main__", "solver_apart")):  # scripts
            continue
        for name, thing in vars(importlib.import_module(module.name)).items():
            plain = inspect.isfunction(thing) and hasattr(thing, "__wrapped__")
            if getattr(thing, "__module__", "") == module.name and (plain or (inspect.isclass(thing) and is_dataclass(thing))):
                asked = inspect.get_annotations(inspect.unwrap(thing)) if plain else thing.__dataclass_fields__
                if not asked.keys() - {"return"} <= _hints(inspect.unwrap(thing)).keys():
                    unread.add(name)
    assert unread == CHECKED_OTHERWISE
