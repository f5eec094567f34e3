"""Certificates that an attacker has made: digests are right, contents are not. Each is refused in one sentence, quickly.

`MUTATIONS` change a real certificate; the verdict's own text is made anew where it can be, and the digests always are.
"""

import copy
import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest
from tests.prove.examples import doubled

from glyptic.errors import FileError, GlypticError
from glyptic.languages import tomita
from glyptic.numbers import Fixed, Q
from glyptic.programs import recogniser
from glyptic.prove import B, Claim, Values, after, answer, check, exists, exp, inputs, layers, recheck, variables
from glyptic.prove.certificates.saving import save_certificate
from glyptic.prove.claims import conditions, expressions
from glyptic.prove.elements.counting import describe
from glyptic.prove.portable.claims import FIELDS, NODES, claim_from_json, digest
from glyptic.prove.portable.reading import sealed
from glyptic.prove.questions import recognition
from glyptic.prove.verdicts.answers import verdict_from_json

ROOT = Path(__file__).parents[2]
QUIET = {"progress": False, "workers": 1}
x, y = variables("x y")


@cache
def _real(kind, folder):
    claim = {
        "language": lambda: recognition(recogniser(tomita(2), Fixed(2), 3), tomita(2), 3),
        "values": lambda: Claim(Values("x", Fixed(2)), x >= 0.25, requires=x > 0),
        "refuted": lambda: Claim(Values("x y", Q(1, 1)), x + (y - x) == y, requires=exp(x) < B),
        "block": lambda: Claim(layers(doubled(Fixed(2)), free=["x"], fixed={("y", 0): -1}), after("y") >= -B),
        "inputs": lambda: Claim(inputs(recogniser(tomita(2), Fixed(2), 3), max_length=3), answer() == "YES", name="yes"),
        "existence": lambda: exists(Values("x", Fixed(2)), x * x == x, requires=x > 0),
        "nothing": lambda: exists(Values("x", Fixed(2)), x * x == 2),
        "vacuous": lambda: Claim(Values("x", Fixed(1)), x == x, requires=x < x),
    }[kind]()
    path = Path(folder) / f"{kind}.json"
    save_certificate(path, claim, check(claim, count_all=True, **QUIET))
    return json.loads(path.read_text())


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return lambda kind: copy.deepcopy(_real(kind, str(folder)))


def set_at(*path):
    """A mutation: the value at a path becomes another; the last item is the value, or a function of the old one."""
    *way, last, new = path

    def change(content):
        part = content
        for step in way:
            part = part[step]
        part[last] = new(part[last]) if callable(new) else new

    return change


def drop(*path):
    *way, last = path

    def change(content):
        part = content
        for step in way:
            part = part[step]
        del part[last]

    return change


def resealed(content):
    """Everything that is made of something else made anew, as far as that is possible."""
    with suppress(Exception):  # whatever the mutation has broken
        claim = claim_from_json(content["claim"])
        content["claim_digest"] = digest(claim)
        content["verdict"]["claim"] = str(claim)
        content["verdict"]["over"] = describe(claim)
    with suppress(Exception):
        content["says"] = str(verdict_from_json(content["verdict"]))
    return sealed(content)


T = ("claim", "subject", "transformers", "")
ARRAY = (*T, "arrays", "output")
AUTOMATON = ("claim", "ensures", "conditions", 0, "premise", "automaton")
ENSURES = ("claim", "ensures")
EXAMPLE = ("verdict", "counterexample")


def nested(depth):
    node = {"node": "Variable", "name": "x"}
    for _ in range(depth):
        node = {"node": "Operation", "name": "relu", "arguments": [node]}
    return node


def both(*changes):
    def change(content):
        for each in changes:
            each(content)

    return change


MUTATIONS = {
    "language": {
        "an automaton named (0|1)*1": both(
            set_at(*AUTOMATON, "name", "(0|1)*1"),
            set_at("claim", "ensures", "conditions", 1, "premise", "part", "automaton", "name", "(0|1)*1"),
        ),
        "an automaton named Tomita 1": set_at(*AUTOMATON, "name", "Tomita 1"),
        "an automaton named Tomita 9": set_at(*AUTOMATON, "name", "Tomita 9"),
        "an automaton named not (10)*": set_at(*AUTOMATON, "name", "not (10)*"),
        "accepting otherwise": set_at(*AUTOMATON, "accepting", [1]),
        "accepting twice": set_at(*AUTOMATON, "accepting", lambda old: old * 2),
        "states as Booleans": set_at(*AUTOMATON, "start", False),
        "states as floats": set_at(*AUTOMATON, "start", 0.0),
        "a state that is none": set_at(*AUTOMATON, "moves", 0, 0, 99),
        "a negative state": set_at(*AUTOMATON, "moves", 0, 0, -1),
        "a row too short": set_at(*AUTOMATON, "moves", 0, [0]),
        "an alphabet twice": set_at(*AUTOMATON, "alphabet", ["0", "0"]),
        "another alphabet": set_at(*AUTOMATON, "alphabet", ["a", "b"]),
        "no moves": set_at(*AUTOMATON, "moves", []),
        "a huge shape": set_at(*ARRAY, "shape", [2**40, 2**40]),
        "a shape of 2^24": set_at(*ARRAY, "shape", [1 << 12, (1 << 12) + 1]),
        "a negative shape": set_at(*ARRAY, "shape", [-1, -2]),
        "another shape": set_at(*ARRAY, "shape", lambda old: old[::-1]),
        "three dimensions": set_at(*ARRAY, "shape", lambda old: [*old, 1]),
        "a shape of floats": set_at(*ARRAY, "shape", lambda old: [float(n) for n in old]),
        "codes of 2^70": set_at(*ARRAY, "codes", 0, 2**70),
        "codes of 2^63": set_at(*ARRAY, "codes", 0, 2**63),
        "a code beyond the format": set_at(*ARRAY, "codes", 0, 16),
        "a code as a float": set_at(*ARRAY, "codes", 0, lambda old: old + 0.9),
        "a code as a whole float": set_at(*ARRAY, "codes", 0, float),
        "a code as a Boolean": set_at(*ARRAY, "codes", 0, True),
        "a code as a text": set_at(*ARRAY, "codes", 0, str),
        "a code of 0": set_at(*ARRAY, "codes", 0, 0),
        "a code of null": set_at(*ARRAY, "codes", 0, None),
        "a code too few": set_at(*ARRAY, "codes", lambda old: old[1:]),
        "a place out of range": set_at(*ARRAY, "places", -1, 10**6),
        "a place of 2^70": set_at(*ARRAY, "places", -1, 2**70),
        "a negative place": set_at(*ARRAY, "places", 0, -1),
        "a place twice": set_at(*ARRAY, "places", lambda old: [old[0], *old[:-1]]),
        "places in another order": both(
            set_at(*ARRAY, "places", lambda old: old[::-1]), set_at(*ARRAY, "codes", lambda old: old[::-1])
        ),
        "a place as a float": set_at(*ARRAY, "places", 0, float),
        "codes as a text": set_at(*ARRAY, "codes", "1"),
        "an array less": drop(*ARRAY),
        "an array more": set_at(*T, "arrays", lambda old: {**old, "layers.99.heads.0.query": old["output"]}),
        "an array as a list": set_at(*ARRAY[:-1], "output", []),
        "a million heads": set_at(*T, "heads", 0, 10**6),
        "heads of 10^18": set_at(*T, "heads", 0, 10**18),
        "heads of -1": set_at(*T, "heads", 0, -1),
        "a head less": set_at(*T, "heads", 0, 0),
        "another format": set_at(*T, "format", "fixed:3/even/even"),
        "a format of many digits": set_at(*T, "format", "fixed:" + "9" * 5000),
        "a format in other words": set_at(*T, "format", "fixed:2/zero"),
        "a format that is none": set_at(*T, "format", "double"),
        "an option that is none": set_at(*T, "options", "mask", "none"),
        "an option as a number": set_at(*T, "options", "scale", 0),
        "an option more": set_at(*T, "options", "dropout", 0),
        "an option less": drop(*T, "options", "mask"),
        "a token twice": set_at(*T, "vocabulary", ["0", "0"]),
        "a token of two lines": set_at(*T, "vocabulary", ["0", "1\n2"]),
        "a token that escapes": set_at(*T, "vocabulary", ["0", "\x1b[2J"]),
        "a token that turns": set_at(*T, "vocabulary", ["0", "1\u202e"]),
        "an answer with a sentence": set_at(*T, "answers", ["NO", "YES ∨ answer = NO"]),
        "an answer UNDEFINED": set_at(*T, "answers", ["UNDEFINED", "YES"]),
        "a coordinate with a sign": set_at(*T, "coordinates", 0, "x@0 = 0 ∨ before.x"),
        "a coordinate with NUL": set_at(*T, "coordinates", 0, "x\x00"),
        "no transformer": set_at(*T[:-1], {}),
        "a transformer by another name": set_at(*T[:-1], lambda old: {"c": old[""]}),
        "a thousand positions": set_at("claim", "subject", "max_length", 1000),
        "lengths of 10^9": set_at("claim", "subject", "max_length", 10**9),
        "a length as a Boolean": set_at("claim", "subject", "min_length", True),
        "a length as a float": set_at("claim", "subject", "min_length", 1.0),
        "steps of 0": set_at("claim", "subject", "steps", [0, 1, 1]),
        "steps as text": set_at("claim", "subject", "steps", "111"),
        "other counts": both(set_at("verdict", "inputs", 10**9), set_at("verdict", "satisfying", 10**9)),
        "no counts": both(set_at("verdict", "inputs", None), set_at("verdict", "satisfying", None)),
        "satisfying nothing": set_at("verdict", "satisfying", 0),
        "proved by nobody": set_at("verdict", "method", "induction"),
        "by solvers": set_at("verdict", "method", "smt"),
        "a verdict that is none": set_at("verdict", "answer", "True"),
        "a verdict's field more": set_at("verdict", "certain", True),
        "a verdict's field less": drop("verdict", "assumptions"),
        "another part": set_at("note", "verified by hand"),
        "no glyptic": drop("glyptic"),
        "a list for the claim": set_at("claim", []),
        "null for the verdict": set_at("verdict", None),
        "version as a float": set_at("version", 3.0),
        "version 2": set_at("version", 2),
        "version as a text": set_at("version", "3\x1b[2J"),
    },
    "values": {
        "a constant named 1000": set_at(*ENSURES, "right", "number", "1000"),
        "a constant named b": set_at(*ENSURES, "right", "number", "b"),
        "a constant as a number": set_at(*ENSURES, "right", "number", 1),
        "a constant as a float": set_at(*ENSURES, "right", "number", 0.25),
        "a constant not in lowest terms": set_at(*ENSURES, "right", "number", {"fraction": "2/8"}),
        "a constant over 0": set_at(*ENSURES, "right", "number", {"fraction": "1/0"}),
        "a constant with an exponent": set_at(*ENSURES, "right", "number", {"fraction": "1e400000"}),
        "a constant of 6,000 digits": set_at(*ENSURES, "right", "number", {"fraction": "9" * 6000}),
        "a constant beyond the format": set_at(*ENSURES, "right", "number", {"fraction": "1/3"}),
        "a constant more": set_at(*ENSURES, "right", "number", {"fraction": "1/4", "shown": "1000"}),
        "an operation of getattr": set_at(*ENSURES, "left", {"node": "Operation", "name": "values", "arguments": [nested(0)]}),
        "an operation __class__": set_at(*ENSURES, "left", {"node": "Operation", "name": "__class__", "arguments": []}),
        "an operation as a list": set_at(*ENSURES, "left", {"node": "Operation", "name": ["add"], "arguments": [nested(0)]}),
        "exp of two": set_at(*ENSURES, "left", {"node": "Operation", "name": "exp", "arguments": [nested(0)] * 2}),
        "add of none": set_at(*ENSURES, "left", {"node": "Operation", "name": "add", "arguments": []}),
        "a comparison that is none": set_at(*ENSURES, "how", "∈"),
        "a node that is none": set_at(*ENSURES, "node", "Node"),
        "a node of another kind": set_at(*ENSURES, "left", {"node": "Text", "text": "x"}),
        "a node without a name": drop(*ENSURES, "node"),
        "a class of Python": set_at(*ENSURES, "node", "ClassVar"),
        "a node's field more": set_at(*ENSURES, "note", 1),
        "a value for a condition": set_at(*ENSURES, nested(1)),
        "a list for a condition": set_at(*ENSURES, []),
        "300 deep": set_at(*ENSURES, "left", nested(300)),
        "a variable that is none": set_at(*ENSURES, "left", "name", "z"),
        "a variable named B": both(set_at("claim", "subject", "names", ["B"]), set_at(*ENSURES, "left", "name", "B")),
        "a variable with a sentence": set_at("claim", "subject", "names", ["x", "x = x ∨ y"]),
        "a variable twice": set_at("claim", "subject", "names", ["x", "x"]),
        "names as a text": set_at("claim", "subject", "names", "x"),
        "no format": set_at("claim", "subject", "format", "None"),
        "exact": set_at("claim", "subject", "format", "exact"),
        "another kind of subject": set_at("claim", "subject", "kind", "everything"),
        "no kind of subject": drop("claim", "subject", "kind"),
        "very many variables": set_at("claim", "subject", "names", [f"x{n}" for n in range(5000)]),
        "another precondition's verdict": set_at("verdict", "satisfying", 32),
        "a time of NaN": set_at("verdict", "seconds", float("nan")),
        "a time before the beginning": set_at("verdict", "seconds", -1),
        "text with half a character": set_at("claim", "name", "\ud800"),
    },
    "refuted": {
        "observed otherwise": set_at(*EXAMPLE, "observed", lambda old: dict.fromkeys(old, "1000")),
        "observed something else": set_at(*EXAMPLE, "observed", {"x": "1"}),
        "nothing observed": set_at(*EXAMPLE, "observed", None),
        "values of others": set_at(*EXAMPLE, "values", {"x": "0", "z": "0"}),
        "a value less": drop(*EXAMPLE, "values", "y"),
        "values beyond the format": set_at(*EXAMPLE, "values", "y", "1/3"),
        "values in other words": set_at(*EXAMPLE, "values", "y", "-4/2"),
        "values that are none": set_at(*EXAMPLE, "values", "y", "much"),
        "an input besides": set_at(*EXAMPLE, "input", ["0"]),
        "no counterexample": set_at("verdict", "counterexample", None),
        "of existence": set_at("claim", "quantifier", "some"),
        "another quantifier": set_at("claim", "quantifier", "most"),
        "no quantifier": drop("claim", "quantifier"),
        "more failures than there are": set_at("verdict", "failures", 10**6),
        "failures of nothing": set_at("verdict", "satisfying", None),
        "smallest of all": set_at("verdict", "smallest", "of all"),
    },
    "existence": {
        "no witness": set_at("verdict", "witness", None),
        "a witness of others": set_at("verdict", "witness", "values", {"y": "1"}),
        "observed at the witness otherwise": set_at("verdict", "witness", "observed", lambda old: dict.fromkeys(old, "3")),
        "for all": set_at("claim", "quantifier", "all"),
        "more inputs than there are": set_at("verdict", "inputs", 10**6),
    },
    "nothing": {
        "for all": set_at("claim", "quantifier", "all"),
        "fewer inputs": set_at("verdict", "inputs", 3),
    },
    "block": {
        "a free weight that is none": set_at("claim", "subject", "free_weights", [["layers.9.feed_forward.w1", [0, 0]]]),
        "a free weight out of range": set_at("claim", "subject", "free_weights", [["layers.0.feed_forward.w1", [9, 9]]]),
        "a free weight as text": set_at("claim", "subject", "free_weights", ["layers.0.feed_forward.w1"]),
        "fixed as a word": set_at("claim", "subject", "fixed", 0, 2, "1000"),
        "fixed twice": set_at("claim", "subject", "fixed", lambda old: old * 2),
        "fixed and free": set_at("claim", "subject", "fixed", 0, 0, "x"),
        "fixed elsewhere": set_at("claim", "subject", "fixed", 0, 1, 1),
        "fixed beyond the format": set_at("claim", "subject", "fixed", 0, 2, "1/3"),
        "fixed as a number": set_at("claim", "subject", "fixed", 0, 2, -1),
        "fixed as a list": set_at("claim", "subject", "fixed", 0, 2, [-1]),
        "many positions": set_at("claim", "subject", "positions", 10**9),
        "no positions": set_at("claim", "subject", "positions", 0),
        "a position as a float": set_at("claim", "subject", "positions", 1.0),
        "free twice": set_at("claim", "subject", "free", lambda old: old * 2),
        "free without a position": set_at("claim", "subject", "free", ["x"]),
        "nothing free": set_at("claim", "subject", "free", []),
        "layers that are none": set_at("claim", "subject", "last", 7),
        "layers backwards": set_at("claim", "subject", "first", -1),
        "from positions that are none": set_at("claim", "subject", "from_positions", ["z"]),
        "a stage that is none": set_at(*ENSURES, "left", "stage", "beneath"),
        "of another transformer": set_at(*ENSURES, "left", "of", "b"),
        "a position of 10^30": set_at(*ENSURES, "left", "position", 10**30),
    },
}
CASES = [(kind, name) for kind, changes in MUTATIONS.items() for name in changes]


def test_there_are_more_than_a_hundred():
    assert len(CASES) > 100


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}: {name}" for kind, name in CASES])
def test_a_hostile_certificate_is_refused_in_one_sentence(kind, name, certificates, tmp_path):
    content = certificates(kind)
    MUTATIONS[kind][name](content)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(resealed(content)))
    with pytest.raises(GlypticError) as caught:
        recheck(path, **QUIET)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700
    assert "digest differs" not in str(caught.value)  # it was refused for what it holds


def test_the_real_ones_are_confirmed(certificates, tmp_path):
    """So that the mutations are what is refused."""
    for kind in (*MUTATIONS, "inputs", "vacuous"):
        path = tmp_path / "certificate.json"
        path.write_text(json.dumps(resealed(certificates(kind))))
        assert recheck(path, **QUIET).agrees, kind


# What reads well, and is not so -----------------------------------------------------------------------------------------------

UNTRUE = {
    "a proof of what is false": ("values", set_at(*ENSURES, "right", "number", {"fraction": "1/2"})),
    "a proof with other weights": ("language", set_at(*ARRAY, "codes", lambda old: [-code for code in old])),
    "fewer that meet the precondition": ("values", set_at("verdict", "satisfying", 3)),
    "an empty precondition that is met": ("vacuous", set_at("claim", "requires", "how", "≤")),
    "a counterexample that does not fail": ("inputs", set_at(*EXAMPLE, "input", ["1", "0"])),
    "a witness that is none": ("existence", set_at("verdict", "witness", "values", "x", "1/4")),
    "a witness that is not the smallest": ("existence", both(
        set_at("verdict", "witness", "values", "x", "∞"),
        set_at("verdict", "witness", "observed", lambda old: dict.fromkeys(old, "∞")),
    )),
    "nothing, where there is something": ("nothing", set_at(*ENSURES, "right", "number", {"fraction": "1"})),
    "other counts of failures": ("inputs", set_at("verdict", "failures", 3)),
    "other counts of satisfying": ("refuted", set_at("verdict", "satisfying", lambda old: old - 1)),
}


@pytest.mark.parametrize(("kind", "change"), UNTRUE.values(), ids=UNTRUE)
def test_what_is_untrue_is_not_confirmed(kind, change, certificates, tmp_path):
    content = certificates(kind)
    change(content)
    if kind == "vacuous":
        content["verdict"]["requires"] = "x ≤ x"
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(resealed(content)))
    again = recheck(path, **QUIET)
    assert not again.agrees
    assert again.status == 3
    assert "NOT CONFIRMED" in str(again)


def test_a_counterexample_that_is_not_the_smallest_is_not_confirmed(certificates, tmp_path):
    content, path = certificates("inputs"), tmp_path / "certificate.json"
    assert content["verdict"]["counterexample"]["input"] == ["0"]
    content["verdict"]["counterexample"]["input"] = ["0", "0"]
    path.write_text(json.dumps(resealed(content)))
    again = recheck(path, **QUIET)
    assert again.status == 3
    assert "another is the smallest" in again.found
    content["verdict"]["smallest"] = "locally"  # then it claims no more than it is
    path.write_text(json.dumps(resealed(content)))
    assert recheck(path, **QUIET).status == 1


def test_what_was_not_rechecked_is_said(certificates, tmp_path, monkeypatch):
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(resealed(certificates("inputs"))))
    monkeypatch.setattr("glyptic.prove.certificates.rechecking.RUN_ANEW", 1)
    said = str(recheck(path, **QUIET))
    assert "that none is smaller was not rechecked (--count-all runs everything)" in said
    assert "its counts were not rechecked (--count-all runs everything)" in said
    whole = str(recheck(path, count_all=True, **QUIET))
    assert "that none is smaller is confirmed (all 14 were run)" in whole
    assert "its counts are confirmed" in whole
    monkeypatch.setattr("glyptic.prove.certificates.rechecking.RUN_ANEW", 2)  # both inputs of length 1
    assert "that none is smaller is confirmed (by enumeration)" in str(recheck(path, **QUIET))


NAMES = ["parity:8", "x\nconfirmed: Proved", "\x1b[2J\x1b[H", "\u202edevorP", "a" * 4000, "(" * 4000, "((0*1*)*" * 500]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_are_the_file_s_words_and_break_nothing(name, certificates, tmp_path):
    """A model, a claim and an automaton may be called anything that is printed: it is quoted, and beside a digest."""
    content, path = certificates("language"), tmp_path / "certificate.json"
    content["claim"]["name"] = content["claim"]["subject"]["transformers"][""]["name"] = name
    conditions_of = content["claim"]["ensures"]["conditions"]
    for automaton in (conditions_of[0]["premise"]["automaton"], conditions_of[1]["premise"]["part"]["automaton"]):
        automaton["name"] = name
    path.write_text(json.dumps(resealed(content)))
    if not name.isprintable():
        with pytest.raises(FileError, match="names are texts without line breaks") as refused:
            recheck(path, **QUIET)
        assert str(refused.value).isprintable()
        return
    again = recheck(path, **QUIET)
    assert again.agrees
    text = str(again)
    assert name not in text.replace(json.dumps(name), "") if len(name) < 100 else name not in text
    assert all(line.isprintable() for line in text.splitlines())
    assert sum(line.startswith("confirmed") for line in text.splitlines()) == 1
    assert text.count("the file calls it") == 2
    assert "input ∈ automaton_" in text
    assert "sha256" in text


def test_letters_that_look_like_others_are_named(tmp_path):
    one, other = variables("x х")  # the second is Cyrillic
    claim = Claim(Values("x х", Fixed(1)), one * other == other * one)
    save_certificate(tmp_path / "c.json", claim, check(claim, **QUIET))
    assert "х is U+0445" in str(recheck(tmp_path / "c.json", **QUIET))


def test_what_could_not_be_read_is_not_written(tmp_path):
    claim = Claim(Values(["B"], Fixed(1)), variables("B")[0] == B)
    with pytest.raises(GlypticError, match=r"no certificate can be written of this: .* must be a variable's name"):
        save_certificate(tmp_path / "c.json", claim, check(claim, **QUIET))
    assert not (tmp_path / "c.json").exists()


# Files ------------------------------------------------------------------------------------------------------------------------


def files(folder):
    """Files that hold no certificate at all."""
    texts = {
        "empty": "",
        "deep": "[" * 50_000,
        "deep objects": '{"claim":' * 50_000,
        "deep and closed": "[" * 50_000 + "]" * 50_000,
        "digits": '{"kind": "glyptic.prove.certificate", "version": ' + "9" * 6000 + "}",
        "NaN": '{"kind": NaN}',
        "infinite": '{"kind": 1e999}',
        "twice": '{"kind": 1, "kind": "glyptic.prove.certificate"}',
        "a list": "[1]",
        "a text": '"glyptic.prove.certificate"',
        "two": "{}{}",
    }
    for name, text in texts.items():
        path = folder / f"{name}.json"
        path.write_text(text)
        yield path
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    yield folder / "binary.json"
    (folder / "folder.json").mkdir()
    yield folder / "folder.json"
    os.mkfifo(folder / "pipe.json")
    yield folder / "pipe.json"
    with (folder / "large.json").open("wb") as large:
        large.truncate(300_000_000)  # of no blocks on the disk
    yield folder / "large.json"
    (folder / "link.json").symlink_to("/dev/zero")
    yield folder / "link.json"
    yield folder / "nowhere.json"
    yield folder / "new\nline\x1b[2J.json"


def test_files_that_are_no_certificates_are_refused_in_one_sentence(tmp_path):
    for path in files(tmp_path):
        with pytest.raises(GlypticError) as caught:
            recheck(path)
        assert str(caught.value).isprintable(), path.name


def test_a_certificate_nested_too_deep_for_its_digest(certificates, tmp_path):
    content, path = certificates("values"), tmp_path / "certificate.json"
    text = json.dumps(content).replace('"glyptic": ', '"deep": ' + "[" * 950 + "]" * 950 + ', "glyptic": ', 1)
    path.write_text(text)
    with pytest.raises(GlypticError) as caught:
        recheck(path, **QUIET)
    assert "\n" not in str(caught.value)


def test_the_command_refuses_with_status_2_and_no_traceback(certificates, tmp_path):
    """A sample through the command itself."""
    sample = ["a huge shape", "codes of 2^70", "a token that escapes", "an automaton named (0|1)*1", "heads of 10^18"]
    paths = []
    for name in sample:
        content = certificates("language")
        MUTATIONS["language"][name](content)
        paths.append(tmp_path / f"{len(paths)}.json")
        paths[-1].write_text(json.dumps(resealed(content)))
    paths += [path for path in files(tmp_path) if path.name in ("deep.json", "pipe.json", "large.json", "new\nline\x1b[2J.json")]
    script = (
        "import sys, resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)); from glyptic.cli import main\n"
        "for path in sys.argv[1:]: print(main(['prove', '--recheck', path]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", script, *map(str, paths)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["2"] * len(paths)
    lines = done.stderr.splitlines()
    assert len(lines) == len(paths)
    assert all(line.startswith("glyptic prove: FileError: ") and line.isprintable() for line in lines)


# The reader ---------------------------------------------------------------------------------------------------------------------


def test_every_kind_of_node_can_be_read_field_by_field():
    """A new kind without a row in `FIELDS` could not be read back from a certificate."""
    kinds = {
        kind.__name__: kind
        for module in (expressions, conditions)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, conditions.Node) and "__dataclass_fields__" in vars(kind)
    }
    assert set(kinds) == set(NODES)
    for name, kind in kinds.items():
        assert set(FIELDS[name]) == {field.name for field in fields(kind)}, name


def test_a_two_s_complement_counterexample_is_confirmed(tmp_path):
    """−2^m and −B once printed alike, and a true refutation was not confirmed."""
    claim = Claim(Values("x", Q(2, 0)), x >= -3)
    verdict = check(claim, **QUIET)
    assert verdict.counterexample.values == {"x": "-4"}
    save_certificate(tmp_path / "c.json", claim, verdict)
    assert recheck(tmp_path / "c.json", **QUIET).status == 1
