"""Bad calls by generation, from the signatures: none is a traceback, a hang or an answer; each is one sentence, status 2."""

from __future__ import annotations

import importlib
import inspect
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.cli.bad_values import values_for, words_for

from glyptic import languages, lint, programs, prove, studies, theorems
from glyptic.arguments import _hints
from glyptic.cli import COMMANDS, main
from glyptic.cli.reading import flag
from glyptic.errors import GlypticError
from glyptic.numbers import Fixed
from glyptic.programs import by_name

SECONDS = 120  # after which it is a hang, on a busy machine too: a refusal takes none, but it may load PyTorch first
# What must be given, by the name of its field, and what else makes the flags have an effect.
GOOD = {
    "run": {"model": "parity:4", "input": "01"},
    "show": {"model": "parity:4"},
    "normalize": {"model": "parity:4"},
    "combine": {"expression": "parity:4"},
    "frame": {"model": "parity:4"},
    "prove": {"model": "parity:3", "--language": "0"},
    "precision": {"construction": "majority", "--max-length": "2"},
    "lint": {"model": "parity:4"},
    "train": {"task": "parity"},
    "evaluate": {"run": "."},
    "generate": {"run": "."},
    "translate": {"run": "."},
    "experiment": {"name": "chain"},
    "distill": {"run": "."},
}
# Texts that are as good as any: the empty expression is that of the empty text.
MEANT = {("prove", "language", ""), ("precision", "language", "")}
Call = tuple[str, list[str]]


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """A hang becomes an error."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer in {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def calls() -> list[Call]:
    """Every flag of every command with every bad value of its type."""
    made = []
    for name in COMMANDS:
        module, _, attribute = COMMANDS[name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        hints, good = get_type_hints(command, include_extras=True), GOOD.get(name, {})
        for field in fields(command):
            for bad in words_for(hints[field.name]):
                if (name, field.name, bad) in MEANT:
                    continue
                given = {**good, **({field.name: bad} if field.name in good else {flag(field.name): bad})}
                words = [word for key, value in given.items() for word in ((key, value) if key[:2] == "--" else (value,))]
                made.append((name, [*name.split(), *words]))
    return made


def complaint(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with how a bad call ends; nothing, if it is one sentence and status 2."""
    try:
        with at_most(SECONDS):
            status = main(words)
    except (TimeoutError, SystemExit) as error:
        return f"{words}: {error!r}"
    out, err = capsys.readouterr()
    fine = status == 2 and err.endswith("\n") and err[:-1].isprintable() and not out
    fine &= not any(said in err for said in ("instantiated", "valid parse", "{None}"))  # a parser's own words
    return "" if fine else f"{str(words)[:200]}: status {status}, {err[:300]!r} {out[:200]!r}"


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GLYPTIC_DEBUG", raising=False)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_has_a_type_that_is_checked(name: str) -> None:
    """Also those of a base in another module: a type that cannot be read there is not checked."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), attribute)
    assert _hints(command).keys() >= {field.name for field in fields(command)}


def test_bad_values_of_flags_are_refused_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chosen = random.Random(0).sample(calls(), 150)
    assert not [said for _, words in chosen if (said := complaint(words, capsys))]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_all_bad_values_of_all_flags_are_refused_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    everything = calls()
    assert len(everything) >= 500
    assert not [said for _, words in everything if (said := complaint(words, capsys))]
    assert not list(tmp_path.iterdir())


# Functions ------------------------------------------------------------------------------------------------------------------


def good_arguments() -> dict[str, dict[str, Any]]:
    """A call of each public function of these rooms that would be answered."""
    T, (x,) = by_name("parity:3", Fixed(4)), prove.variables("x")
    claim = prove.Claim(prove.Values("x", Fixed(2)), x * 1 == x)
    verdict = prove.check(claim, progress=False)
    even, at = languages.tomita(1), {"layer": 0, "head": 0, "query": 0, "key": 0}
    return {
        "accepted": {"automaton": even},
        "after": {"coordinate": "a"},
        "answer": {},
        "at": {"stage": "embedding", "coordinate": "a"},
        "attention_weight": at,
        "before": {"coordinate": "a"},
        "by_name": {"text": "parity:3", "format": "fixed:4"},
        "check": {"claim": claim},
        "combine": {"expression": "parity:3"},
        "decisive": {"transformer": T},
        "defined": {},
        "equivalent": {"a": T, "b": T, "max_length": 3},
        "exists": {"subject": claim.subject, "condition": claim.ensures},
        "export": {"folder": "folder", "claim": claim, "verdict": verdict},
        "holds": {"predicate": len},
        "inputs": {"transformer": T, "max_length": 3},
        "language": {"transformer": T, "of": even},
        "layers": {"transformer": T},
        "least_precision": {"build": lambda format, n: T, "max_length": 2, "of": even},
        "lemmas": {"format": "fixed:2"},
        "let": {"name": "z", "bound": x, "body": lambda z: z == z},
        "lint": {"transformer": T},
        "load_certificate": {"path": "certificate"},
        "logit": {"answer": "YES"},
        "never_zero_attention": {"transformer": T},
        "open": {"name_or_folder": "parity:3"},
        "parameter": {"part": "output"},
        "recheck": {"path": "certificate"},
        "recogniser": {"automaton": even, "format": Fixed(3), "max_length": 3},
        "register": {"kind": programs.ModelKind("parity", "glyptic.carve.examples:parity")},
        "regular": {"expression": "0*"},
        "save_certificate": {"path": "certificate", "claim": claim, "verdict": verdict},
        "score": at,
        "sweep": {"claim": claim, "formats": "fixed:1..2"},
        "token": {"position": 0},
        "tomita": {"number": 1},
        "variables": {"names": "x"},
        "where": {"test": x == 0, "then": x, "otherwise": 0},
    }


ROOMS = (languages, lint, programs, prove, studies, theorems)
ANY = {"exp", "maximum", "minimum", "relu", "root", "softmax"}  # of values alone: what is none is a ClaimError of their own


def functions() -> dict[str, Any]:
    """The public functions of these rooms, by name."""
    offered = {name: getattr(room, name) for room in ROOMS for name in room.__all__ if room is not lint or name == "lint"}
    return {name: thing for name, thing in offered.items() if inspect.isfunction(thing) and name not in ANY}


def function_calls() -> list[tuple[str, dict[str, Any]]]:
    made, offered = [], functions()
    for name, good in good_arguments().items():
        function = offered[name]
        hints = get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            made += [(name, {**good, parameter.name: bad}) for bad in values_for(hints[parameter.name])]
    return made


def test_every_public_function_is_called_badly() -> None:
    assert functions().keys() == good_arguments().keys()


def test_bad_arguments_of_functions_are_refused_in_a_sentence(tmp_path: Path) -> None:
    wrong, offered = [], functions()
    for name, given in function_calls():
        try:
            with at_most(SECONDS):
                answer = offered[name](**given)
            wrong.append(f"{name}({str(given)[:200]}): {answer!r}")
        except GlypticError as error:
            if "\n" in str(error):
                wrong.append(f"{name}({str(given)[:200]}): {error}")
        except Exception as error:
            wrong.append(f"{name}({str(given)[:200]}): {error!r}")
    assert not wrong
    assert not list(tmp_path.iterdir())
