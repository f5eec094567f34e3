"""Journals: what is taken up again is what was left, and one that cannot be right is not believed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.prove.examples import broken, doubled, last_token

from glyptic import prove
from glyptic.errors import FileError
from glyptic.languages import tomita
from glyptic.numbers import Fixed
from glyptic.programs import recogniser
from glyptic.prove import B, Claim, Proved, Refuted, Unknown, Values, answer, holds, inputs, token, variables
from glyptic.prove.methods.enumeration import portions as portions_module
from glyptic.prove.methods.enumeration.journal import Journal
from glyptic.prove.methods.enumeration.portions import Enumeration, Portion, pieces, plan, size_of
from glyptic.prove.portable.reading import sealed
from glyptic.prove.questions import recognition

ROOT = Path(__file__).parents[2]
QUIET = {"progress": False, "workers": 1}
x, y = variables("x y")


def in_pieces(claim, portion):
    """A portion cut up as far as that goes."""
    smaller = pieces(claim, portion)
    return [piece for each in smaller for piece in in_pieces(claim, each)] if smaller else [portion]


def texts_of(claim, portion):
    base, shortest = len(claim.subject.vocabulary), max(1, claim.subject.min_length, len(portion.prefix))
    for length in range(shortest, portion.longest + 1):
        rest = length - len(portion.prefix)
        for number in range(base**rest):
            yield (*portion.prefix, *(number // base**k % base for k in range(rest)))


@pytest.mark.parametrize(("longest", "shortest"), [(12, 1), (12, 11), (11, 4), (3, 1)])
def test_the_pieces_of_a_unit_cover_it_once(longest, shortest, monkeypatch):
    monkeypatch.setattr(portions_module, "_INPUTS_IN_PIECE", 40)
    claim = Claim(inputs(last_token(Fixed(2), 12), max_length=longest, min_length=shortest), answer() != "TIE")
    for portion in plan(claim):
        found = in_pieces(claim, portion)
        assert all(size_of(claim, piece) <= 40 for piece in found)
        counted = Counter(text for piece in found for text in texts_of(claim, piece))
        assert set(counted.values()) <= {1}
        assert counted.keys() == set(texts_of(claim, portion))


def test_the_pieces_of_a_stretch_of_values_cover_it_once(monkeypatch):
    monkeypatch.setattr(portions_module, "_VALUES_AT_ONCE", 7)
    claim = Claim(Values("x y", Fixed(2)), x + y == y + x)
    found = in_pieces(claim, Portion(first=5, last=961))
    assert [number for portion in found for number in range(portion.first, portion.last)] == list(range(5, 961))
    assert max(portion.last - portion.first for portion in found) <= 7


@pytest.mark.parametrize("fails", [False, True])
def test_runs_with_tiny_limits_end_with_the_count_of_one_run(tmp_path, monkeypatch, fails):
    """A portion that a limit cuts is cut finer, and the next run gets further."""
    monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 1 << 7)
    monkeypatch.setattr(portions_module, "_INPUTS_IN_PIECE", 1 << 4)
    T, journal = last_token(Fixed(2), 8), tmp_path / "journal.json"
    claim = Claim(inputs(broken(T, "output") if fails else T, max_length=8), answer() == token(-1))
    whole = prove.check(claim, count_all=True, **QUIET)
    counts = []
    for _ in range(100):
        verdict = prove.check(claim, count_all=True, seconds=1e-6, journal=journal, **QUIET)
        if not journal.exists():
            break
        counts.append(verdict.inputs or 0)
    assert len(counts) > 5
    assert counts == sorted(counts)
    assert type(verdict) is type(whole) is (Refuted if fails else Proved)
    assert (verdict.inputs, verdict.satisfying) == (whole.inputs, whole.satisfying)
    assert getattr(verdict, "failures", 0) == getattr(whole, "failures", 0)


def test_values_too_are_done_in_many_short_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(portions_module, "_VALUES_AT_ONCE", 50)
    claim, journal = Claim(Values("x y", Fixed(2)), x + (y - x) == y), tmp_path / "journal.json"
    whole = prove.check(claim, count_all=True, **QUIET)
    runs = 0
    while runs < 100:
        runs += 1
        verdict = prove.check(claim, count_all=True, seconds=1e-6, journal=journal, **QUIET)
        if not journal.exists():
            break
    assert runs > 10
    assert (verdict.counterexample, verdict.failures) == (whole.counterexample, whole.failures)


# What is sealed -------------------------------------------------------------------------------------------------------------

HELPERS = """
def threshold():
    return {limit}
"""
SCRIPT = """
import sys
from helpers import threshold
from glyptic import languages, programs, prove
from glyptic.numbers import Fixed
from glyptic.prove.methods.enumeration import portions

portions.INPUTS_IN_PORTION = portions._INPUTS_IN_PIECE = 64
T = programs.recogniser(languages.tomita(2), Fixed(2), 8)

def short(text):
    return len(text) < threshold()

claim = prove.Claim(prove.inputs(T, max_length=8), prove.holds(short))
try:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else None
    print(prove.check(claim, seconds=seconds, journal="journal.json", workers=1, progress=False))
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""


def script(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "script.py", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_journal_is_not_taken_up_after_a_function_that_the_predicate_calls_was_edited(tmp_path):
    """It once said Proved over all inputs, those of the portions done before the edit included."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=9))
    assert script(tmp_path, "1e-6").startswith("Unknown")
    kept = (tmp_path / "journal.json").read_text()
    assert json.loads(kept)["done"]
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=1))
    assert "a predicate or what it calls has changed since; delete it" in script(tmp_path)
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=9))
    assert script(tmp_path).startswith("Proved")


def test_no_journal_is_kept_of_a_predicate_that_imports_as_it_runs(tmp_path):
    """What it imports was not looked at: after an edit the run went on, and said Proved."""
    line = "from helpers import threshold\n"
    late = SCRIPT.replace(line, "").replace("    return len", f"    {line}    return len")
    (tmp_path / "script.py").write_text(late)
    (tmp_path / "helpers.py").write_text(HELPERS.format(limit=9))
    assert "it imports helpers when it is called" in script(tmp_path, "1e-6")


SEEN: dict[str, bool] = {}


def remembered(text):
    return SEEN.setdefault(text, True)


@pytest.mark.parametrize("predicate", [remembered, eval("lambda text: True"), SEEN.get], ids=["dict", "no source", "method"])
def test_no_journal_is_kept_of_a_predicate_that_may_change(tmp_path, predicate):
    claim = Claim(inputs(last_token(Fixed(2), 3), max_length=3), answer() != "TIE", requires=holds(predicate, "p"))
    with pytest.raises(FileError, match=r"no journal can be kept.*leave the journal out") as caught:
        prove.check(claim, journal=tmp_path / "journal.json", **QUIET)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def half_done(tmp_path, monkeypatch):
    """A claim on inputs, of which some portions are in a journal: what runs it again, and the file."""
    monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 16)
    T, journal = recogniser(tomita(2), Fixed(2), 6), tmp_path / "journal.json"

    def again(model=T, **means):
        return prove.check(recognition(model, tomita(2), 6), journal=journal, **{**QUIET, **means})

    assert isinstance(again(seconds=1e-6), Unknown)
    return again, journal


def test_what_a_journal_was_made_of_must_be_the_same(half_done, monkeypatch):
    again, journal = half_done
    content = json.loads(journal.read_text())
    with pytest.raises(FileError, match="the journal of another claim or model"):
        again(broken(recogniser(tomita(2), Fixed(2), 6), "output"))
    with pytest.raises(FileError, match="a run in another engine"):
        again(engine="reference")
    with pytest.raises(FileError, match="counted failures otherwise"):
        again(count_all=True)
    for part in ("glyptic", "code"):
        journal.write_text(json.dumps(sealed({**content, part: "other"})))
        with pytest.raises(FileError, match="written by another Glyptic"):
            again()
    journal.write_text(json.dumps(content))
    monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 8)
    with pytest.raises(FileError, match="cut into other portions"):
        again()


# [inputs, satisfying, failures, example, skipped] of the portion "0.0:6", with 31 inputs
WRONG_TALLIES = {
    "too many inputs": ([1098302, 31, 0, None, False], "about the 31 elements"),
    "too few": ([30, 30, 0, None, False], "about the 31 elements"),
    "none, left out": ([0, 0, 0, None, True], "no counterexample is known"),
    "left out, too many": ([32, 32, 0, None, True], "about the 31 elements"),
    "more satisfying": ([31, 32, 0, None, False], "none is larger than its whole"),
    "more failures": ([31, 5, 6, [0, 0], False], "none is larger than its whole"),
    "failures without an example": ([31, 31, 1, None, False], "exactly if something fails"),
    "an example without failures": ([31, 31, 0, [0, 0], False], "exactly if something fails"),
    "an example elsewhere": ([31, 31, 1, [1, 1], False], "lies in its portion"),
    "an example too long": ([31, 31, 1, [0] * 7, False], "lies in its portion"),
    "an example too short": ([31, 31, 1, [0], False], "lies in its portion"),
    "no tokens": ([31, 31, 1, [0, 0, 5], False], "lies in its portion"),
    "negative tokens": ([31, 31, 1, [0, 0, -1], False], "lies in its portion"),
    "an example that does not fail": ([31, 31, 1, [0, 0, 1], False], "does not fail, run in exact fractions"),
    "a float": ([31.0, 31, 0, None, False], "must be a whole number"),
    "a Boolean": ([31, True, 0, None, False], "must be a whole number"),
    "a word": ([31, "31", 0, None, False], "must be a whole number"),
    "a negative count": ([31, -1, 0, None, False], "from 0 up"),
    "a number for a flag": ([31, 31, 0, None, 0], "must be true or false"),
    "an example of floats": ([31, 31, 1, [0.0, 0], False], "must be a whole number"),
    "an example as text": ([31, 31, 1, "00", False], "a list of whole numbers"),
    "huge tokens": ([31, 31, 1, [2**70, 0], False], "a whole number up to"),
    "four items": ([31, 31, 0, None], "a list of 5 items"),
    "no list": ({"inputs": 31}, "a list"),
}


@pytest.mark.parametrize(("tally", "sentence"), WRONG_TALLIES.values(), ids=WRONG_TALLIES)
def test_a_tally_that_cannot_be_is_refused(half_done, tally, sentence):
    again, journal = half_done
    content = json.loads(journal.read_text())
    journal.write_text(json.dumps(sealed({**content, "done": {"0.0:6": tally}})))
    with pytest.raises(FileError, match=sentence) as caught:
        again()
    assert "\n" not in str(caught.value)


WRONG_PARTS = {
    "an unknown portion": lambda c: c["done"].update({"9.9:6": [31, 31, 0, None, False]}),
    "a portion of other numbers": lambda c: c["done"].update({"0-31": [31, 31, 0, None, False]}),
    "cut and done": lambda c: c.update(cut=["0.0:6"], done={"0.0:6": [31, 31, 0, None, False]}),
    "cut what is none": lambda c: c.update(cut=["7"]),
    "cut what is not text": lambda c: c.update(cut=[0]),
    "cut too small": lambda c: c.update(cut=["0.0:6", "0.0.0:6"]),
    "no cuts": lambda c: c.pop("cut"),
    "nothing done": lambda c: c.pop("done"),
    "done as a list": lambda c: c.update(done=[]),
    "something more": lambda c: c.update(note="all is well"),
    "another version": lambda c: c.update(version=1),
    "version as a float": lambda c: c.update(version=2.0),
    "another kind": lambda c: c.update(kind="journal"),
    "another engine": lambda c: c.update(engine="fast"),
    "count_all as a number": lambda c: c.update(count_all=0),
    "no claim": lambda c: c.update(claim=None),
    "another plan": lambda c: c.update(plan="0" * 64),
}


@pytest.mark.parametrize("change", WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_a_journal_with_wrong_parts_is_refused(half_done, change):
    again, journal = half_done
    content = json.loads(journal.read_text())
    change(content)
    journal.write_text(json.dumps(sealed(content)))
    with pytest.raises(FileError, match=r"delete it, or name another\.$") as caught:
        again()
    assert "\n" not in str(caught.value)
    assert isinstance(json.loads(journal.read_text()), dict)  # it is left as it was
    assert not journal.with_name(".journal.json.lock").exists()


def test_what_is_no_file_of_json_is_refused(half_done, tmp_path):
    again, journal = half_done
    for text in ("", "{", "[]", "null", "[" * 50000, '{"kind": NaN}', '{"a": 1, "a": 1}', "1" * 6000):
        journal.write_text(text)
        with pytest.raises(FileError, match="delete it, or name another"):
            again()
    journal.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="delete it, or name another"):
        again()
    journal.unlink()
    journal.mkdir()
    with pytest.raises(FileError, match=r"not a regular file|cannot read"):
        again()
    journal.rmdir()
    os.mkfifo(journal)
    with pytest.raises(FileError, match="not a regular file"):
        again()


def test_examples_among_values_must_lie_in_their_unit(tmp_path, monkeypatch):
    monkeypatch.setattr(portions_module, "VALUES_IN_PORTION", 100)
    claim, journal = Claim(Values("x y", Fixed(2)), x + (y - x) == y), tmp_path / "journal.json"
    assert isinstance(prove.check(claim, count_all=True, seconds=1e-6, journal=journal, **QUIET), Refuted | Unknown)
    content = json.loads(journal.read_text())
    for example, sentence in (
        ([0, 0], "lies in its portion"),
        ([-15, -16], "lies in its portion"),
        ([-15], "lies in its portion"),
        ([-15, -15], "does not fail"),
    ):
        done = {"0-100": [100, 100, 1, example, False]}
        journal.write_text(json.dumps(sealed({**content, "cut": [], "done": done})))
        with pytest.raises(FileError, match=sentence):
            prove.check(claim, count_all=True, journal=journal, **QUIET)


# One process at a time ------------------------------------------------------------------------------------------------------

HOLDING = """
import sys, time
from pathlib import Path
from glyptic.numbers import Fixed
from glyptic.prove import Claim, Values, variables
from glyptic.prove.methods.enumeration.journal import Journal
from glyptic.prove.methods.enumeration.portions import Enumeration, plan

(x,) = variables("x")
claim = Claim(Values("x", Fixed(2)), x == x)
journal = Journal(Enumeration(claim), plan(claim), Path(sys.argv[1]))
print("held", flush=True)
time.sleep(600)
"""


def test_a_journal_is_one_process_s_and_free_when_that_is_killed(tmp_path):
    path = tmp_path / "journal.json"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", HOLDING, str(path)]
    holder = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        claim = Claim(Values("x", Fixed(2)), x == x)
        with pytest.raises(FileError, match="the journal of a run that goes on in another process"):
            prove.check(claim, journal=path, **QUIET)
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            assert prove.check(claim, journal=path, **QUIET)
            break
        except FileError:
            time.sleep(0.05)
    assert not list(tmp_path.iterdir())


def test_a_lock_is_given_back_when_a_journal_is_refused_or_closed(tmp_path):
    path, claim = tmp_path / "journal.json", Claim(Values("x", Fixed(2)), x + B + B - B == 0)
    for _ in range(2):
        path.write_text("{")
        with pytest.raises(FileError, match="not a journal"):
            prove.check(claim, journal=path, **QUIET)
    path.unlink()
    first = Journal(Enumeration(claim), plan(claim), path)
    with pytest.raises(FileError, match="another process"):
        Journal(Enumeration(claim), plan(claim), path)
    first.close()
    Journal(Enumeration(claim), plan(claim), path).close()
    assert prove.check(claim, journal=path, **QUIET)


def test_a_journal_that_a_link_leads_to_has_the_same_lock_and_is_removed_in_its_place(tmp_path):
    """By a link and by its own name a journal is one: what is written through either is the same file."""
    claim = Claim(Values("x", Fixed(2)), x + B + B - B == 0)
    path, folder = tmp_path / "journal.json", tmp_path / "elsewhere"
    folder.mkdir()
    link, through = folder / "link.json", tmp_path / "folder"
    link.symlink_to(path)
    through.symlink_to(tmp_path)
    first = Journal(Enumeration(claim), plan(claim), path)
    for other in (link, through / "journal.json"):
        with pytest.raises(FileError, match="another process"):
            Journal(Enumeration(claim), plan(claim), other)
    first.close()
    assert path.exists() and isinstance(prove.check(claim, journal=link, **QUIET), Proved)
    assert link.is_symlink() and not path.exists()
    assert sorted(place.name for place in tmp_path.rglob("*")) == ["elsewhere", "folder", "link.json"]


def test_a_block_s_journal_too(tmp_path, monkeypatch):
    monkeypatch.setattr(portions_module, "VALUES_IN_PORTION", 5)
    claim = Claim(prove.layers(doubled(Fixed(2)), free=["x"]), prove.after("y") >= 0)
    path = tmp_path / "journal.json"
    assert isinstance(prove.check(claim, seconds=1e-6, journal=path, **QUIET), Unknown)
    assert prove.check(claim, journal=path, **QUIET).inputs == 31
