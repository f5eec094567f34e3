"""What is known of a predicate: a change in it or in what it calls is seen, and what cannot be known is said."""

import functools
import importlib
import linecache
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from time import time as now

import numpy as np
import pytest

import glyptic
from glyptic.languages import tomita
from glyptic.prove.portable import pinning
from glyptic.prove.portable.pinning import pinned

LIMIT = 3
SEEN: dict[str, int] = {}


def many(text):
    return len(text) > LIMIT


def helped(text):
    return many(text) and text.isdigit() and Fraction(1, 2) < 1 and re.match("0", text) is not None


def recursive(text):
    return not text or recursive(text[1:])


@functools.cache
def cached(text):
    return many(text)


@dataclass(frozen=True)
class Longer:
    than: int

    def __call__(self, text):
        return len(text) > self.than


class Counting:
    def __init__(self):
        self.count = 0

    def __call__(self, text):
        self.count += 1
        return self.count < 100


def with_dict(text):
    return text in SEEN


def with_module(text):
    return math.gcd(len(text), 2) == 1 and np.bool_(True)


class Limit(Enum):
    MOST = 3

    def above(self, text):
        return len(text) > self.value


MOST = Limit.MOST


def with_member(text):
    return MOST.above(text)


def importing_module(text):
    return importlib.import_module("os") is os


def with_environment(text):
    return text in os.environ


def with_path(text):
    return text in Path("words.txt").read_text()


def with_file(text):
    with open("words.txt") as words:
        return text in words.read()


def importing(text):
    from tests.prove import examples

    return examples is not None


def by_name(text):
    return globals()["many"](text)


def evaluating(text):
    return (lambda: eval("LIMIT"))() < len(text)


def with_clock(text):
    return now() > len(text)


def with_attribute(text):
    return len(text) > with_attribute.most


with_attribute.most = 3


@pytest.mark.parametrize(
    "predicate",
    [
        many,
        helped,
        recursive,
        cached,
        Longer(2),
        Longer(2).__call__,
        tomita(3).accepts,
        functools.partial(pow, 2),
        str.isdigit,
        "0101".startswith,
        with_module,
        with_member,
        lambda text: "1" in text,
    ],
    ids=lambda predicate: f"{type(predicate).__name__} {getattr(predicate, '__qualname__', '')}",
)
def test_what_is_known_whole(predicate):
    assert pinned(predicate).doubts == ()
    assert pinned(predicate) == pinned(predicate)


@pytest.mark.parametrize(
    ("predicate", "doubt"),
    [
        (with_dict, "it uses SEEN, a dict, which may change"),
        (Counting(), "a Counting, of which not all is known"),
        (Counting().__call__, "a Counting, of which not all is known"),
        (eval("lambda text: True"), "the source of <lambda> is not there"),
        (functools.partial(lambda words, text: text in words, ["0"]), "a list, which may change"),
        (importing_module, "it uses importlib, which may read what is outside of it"),
        (with_environment, "it uses os, which may read"),
        (with_path, "it uses Path, which may read"),
        (with_file, "it calls open, which may read"),
        (importing, "it imports tests.prove when it is called"),
        (by_name, "it calls globals, which may read"),
        (evaluating, "it calls eval, which may read"),
        (with_clock, "it uses now, which may read"),
        (with_attribute, "the function with_attribute has an attribute most, which may change"),
    ],
)
def test_what_cannot_be_known_is_a_doubt(predicate, doubt):
    assert any(doubt in each for each in pinned(predicate).doubts)


def test_what_it_was_made_with_is_part_of_it():
    def longer(than, *, strictly=True):
        return lambda text, least=0: (len(text) > than) is strictly and len(text) >= least

    made = [longer(3), longer(4), longer(3, strictly=False), Longer(3), Longer(4), lambda text: True, lambda text: False]
    assert len({pinned(each).digest for each in made}) == len(made)
    assert pinned(longer(3)).digest == pinned(longer(3)).digest
    members = [Enum("Limit", {"MOST": most}).MOST for most in (3, 4)]
    assert len({pinned(functools.partial(max, member)).digest for member in members}) == 2
    kinds = [type("Kind", (type,), {"most": most})("Made", (), {}) for most in (3, 4)]
    assert len({pinned(functools.partial(isinstance, kind)).digest for kind in kinds}) == 2
    two = (lambda text: text > "0", lambda text: text > "1")  # in one line
    assert pinned(two[0]).digest != pinned(two[1]).digest
    assert '"1"' in pinned(two[1]).text


HELPERS = """
def threshold():
    return {limit}
"""
JUDGING = """
import sys
from helpers import threshold
from glyptic.prove.portable.pinning import pinned

def long(text):
    return len(text) > threshold()

if __name__ == "__main__":
    print(pinned(long).digest, pinned(long).doubts)
"""


def of_script(folder, python=sys.executable, source=Path(__file__).parents[2] / "src"):
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [python, str(folder / "judging.py")]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout


def test_an_edit_of_a_function_that_it_calls_is_seen(tmp_path):
    """The predicate's own text is the same; the function is in another file."""
    (tmp_path / "judging.py").write_text(JUDGING)
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=3))
    first = of_script(tmp_path)
    assert first.rstrip().endswith("()")
    assert of_script(tmp_path) == first
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=4))
    assert of_script(tmp_path) != first


def other_pythons() -> list[str]:
    """The other versions on this machine, as `python3.12` or side by side under a version manager; there may be none."""
    here = Path(sys.base_prefix)
    beside = [str(folder / "bin" / "python3") for folder in here.parent.glob("3.*") if folder != here]
    named = [shutil.which(f"python3.{minor}") for minor in range(11, 20) if minor != sys.version_info.minor]
    asked = [(path, _version(path)) for path in [*beside, *named] if path is not None and Path(path).exists()]
    return sorted({version: path for path, version in asked if version >= (3, 11)}.values())


def _version(python: str) -> tuple[int, ...]:
    said = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False)
    return tuple(map(int, said.stdout.split()))


def test_every_python_on_this_machine_gives_the_same_digest(tmp_path):
    """The module alone, in a package of its own: other versions have no numpy here."""
    (tmp_path / "glyptic" / "prove" / "portable").mkdir(parents=True)
    (tmp_path / "glyptic" / "__init__.py").write_text(f"__version__ = {glyptic.__version__!r}\n")
    for room in ("prove", "prove/portable"):
        (tmp_path / "glyptic" / room / "__init__.py").write_text("")
    shutil.copy(pinning.__file__, tmp_path / "glyptic" / "prove" / "portable" / "pinning.py")
    (tmp_path / "judging.py").write_text(JUDGING)
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=3))
    said = {of_script(tmp_path, python, tmp_path) for python in (sys.executable, *other_pythons())}
    assert len(said) == 1, said


def test_an_edit_after_the_function_was_loaded_is_seen(tmp_path, monkeypatch):
    """The source on the disk is then not what runs."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "edited_later.py").write_text("def long(text):\n    return len(text) > 3\n")
    module = importlib.import_module("edited_later")
    assert pinned(module.long).doubts == ()
    (tmp_path / "edited_later.py").write_text("def long(text):\n    return len(text) > 4444\n")
    linecache.clearcache()
    assert "not what was loaded" in pinned(module.long).doubts[0]
    uses = eval("lambda text: module.long(text)", {"module": module})
    assert any("the module module" in each for each in pinned(uses).doubts)


def test_nothing_of_a_version_of_python_is_in_it():
    """Neither bytecode nor a dump of a tree: only names, values and source."""
    text = pinned(helped).text
    assert repr("def many(text):\n    return len(text) > LIMIT") in text
    assert not re.search(r"co_|bytecode|Load\(", text)
