"""Certificates: written, read, checked again, and not believed when touched."""

import json

import pytest
from tests.prove.examples import broken, doubled

from glyptic.errors import FileError
from glyptic.languages import tomita
from glyptic.numbers import Fixed
from glyptic.programs import recogniser
from glyptic.prove import (
    LEAST,
    B,
    Claim,
    Values,
    after,
    before,
    check,
    exists,
    holds,
    inputs,
    layers,
    let,
    load_certificate,
    maximum,
    minimum,
    parameter,
    recheck,
    relu,
    save_certificate,
    score,
    variables,
    where,
)
from glyptic.prove.certificates.saving import sealed
from glyptic.prove.claims.expressions import answer
from glyptic.prove.questions import equivalence, recognition
from glyptic.prove.verdicts.answers import (
    Counterexample,
    Proved,
    Refuted,
    Unknown,
    Vacuous,
    verdict_from_json,
    verdict_to_json,
)

QUIET = {"progress": False, "workers": 1}
(x,) = variables("x")


def claims():
    T = recogniser(tomita(2), Fixed(2), 6)
    yield "a language", recognition(T, tomita(2), 6), Proved
    yield "a broken one", equivalence(T, broken(T, "layers.1.feed_forward.w1"), 6), Refuted
    yield "values", Claim(Values("x", Fixed(4)), x + B + B - B == 0), Proved
    yield "false values", Claim(Values("x", Fixed(1)), x * B * B == B, requires=x > 0), Refuted
    wide = let("d", abs(x) - maximum(x, 1), lambda d: where(d > 0, d, minimum(d, x)) <= LEAST)
    yield "let and choices", Claim(Values("x", Fixed(2)), (wide == (x <= 1)) | (x > 1)), None
    yield "existence", exists(Values("x", Fixed(3)), x * x == x, requires=x > 1), Proved
    yield "nothing exists", exists(Values("x", Fixed(3)), x * x == 2), Refuted
    yield "some input", exists(inputs(T, max_length=4), answer() == "YES"), Proved
    weights = layers(doubled(Fixed(2)), free=["x"], weights=[("layers.0.feed_forward.w1", (0, 0))])
    w = parameter("layers.0.feed_forward.w1", 0, 0)
    yield "free weights", Claim(weights, after("y") == relu(w * before("x")) * 2), None
    yield "scores", Claim(inputs(T, max_length=2), score(0, 0, 0, 0) <= B), None
    yield "nothing", Claim(Values("x", Fixed(2)), x == 0, requires=x < x), Vacuous


@pytest.mark.parametrize(("claim", "kind"), [each[1:] for each in claims()], ids=[each[0] for each in claims()])
def test_written_read_and_confirmed(tmp_path, claim, kind):
    path, verdict = tmp_path / "certificate.json", check(claim, **QUIET)
    assert isinstance(verdict, kind or Proved | Refuted)
    assert verdict_from_json(json.loads(json.dumps(verdict_to_json(verdict)))) == verdict
    save_certificate(path, claim, verdict)
    read_claim, read_verdict = load_certificate(path)
    assert (str(read_claim), read_verdict) == (str(claim), verdict)
    again = recheck(path, **QUIET)
    assert again.agrees
    assert "\nconfirmed: " in str(again)
    assert again.status == (0 if verdict else 1)


def test_a_proof_by_solvers_is_put_to_them_again(tmp_path):
    pytest.importorskip("bitwuzla")
    claim = Claim(Values("x", Fixed(12)), x + B + B - B == 0)
    path, verdict = tmp_path / "certificate.json", check(claim, method="smt")
    assert verdict.method == "smt"
    save_certificate(path, claim, verdict)
    assert recheck(path).agrees


def edited(path, change, seal=False):
    """Change a file; with `seal`, as a forger would who knows how the digest is made."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(sealed(content) if seal else content))


def forged(path, change):
    """Change the verdict, and make anew whatever is made of it."""

    def whole(content):
        change(content["verdict"])
        content["says"] = str(verdict_from_json(content["verdict"]))

    edited(path, whole, seal=True)


def test_every_assumption_is_named(tmp_path):
    T = recogniser(tomita(2), Fixed(2), 4)
    claim = Claim(inputs(T, max_length=4), answer().among("YES", "NO"), requires=holds(lambda text: True, "anything"))
    verdict = check(claim, **QUIET)
    said = " ".join(verdict.assumptions)
    for part in ("ties to the smaller", "kernels", "attention softmax", "exp", "predicate anything"):
        assert part in said
    path = tmp_path / "certificate.json"
    save_certificate(path, claim, verdict)
    with pytest.raises(FileError, match='rests on the Python predicate "anything"'):
        recheck(path)


EDITS = {
    "a weight": lambda c: c["claim"]["subject"]["transformers"][""]["arrays"]["output"]["codes"].__setitem__(0, 1),
    "an assumption less": lambda c: c["verdict"]["assumptions"].pop(),
    "what it ranges over": lambda c: c["verdict"].update(over="all inputs of any length"),
    "how many inputs": lambda c: c["verdict"].update(inputs=10**9),
    "what it says": lambda c: c.update(says="Proved: everything"),
    "something more": lambda c: c.update(note="checked by hand"),
    "the digest": lambda c: c.update(digest=None),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_certificate_is_refused(tmp_path, edit):
    T = recogniser(tomita(2), Fixed(2), 3)
    claim = recognition(T, tomita(2), 3)
    path = tmp_path / "certificate.json"
    save_certificate(path, claim, check(claim, **QUIET))
    assert recheck(path, **QUIET).agrees
    edited(path, edit)
    with pytest.raises(FileError, match="the file was edited"):
        recheck(path)


def test_a_forged_certificate_is_not_believed_either(tmp_path):
    T = recogniser(tomita(2), Fixed(2), 6)
    path = tmp_path / "certificate.json"
    wrong = equivalence(T, broken(T, "layers.1.feed_forward.w1"), 6)
    save_certificate(path, wrong, check(wrong, **QUIET))
    forged(path, lambda verdict: verdict["counterexample"].update(input=["1"]))
    assert not recheck(path).agrees
    forged(path, lambda verdict: verdict["counterexample"].update(input=["7"]))
    with pytest.raises(FileError, match="not an input"):
        recheck(path)
    right = recognition(T, tomita(2), 3)
    save_certificate(path, right, check(right, **QUIET))
    edited(path, lambda content: content["verdict"].update(over="all inputs of any length"), seal=True)
    with pytest.raises(FileError, match="what it says to range over is not what the claim does"):
        recheck(path, **QUIET)
    save_certificate(path, right, check(right, **QUIET))
    edited(path, lambda content: content["verdict"].update(assumptions=[]), seal=True)
    assert recheck(path, **QUIET).assumptions == check(right, **QUIET).assumptions  # those of now, not the file's
    values = Claim(Values("x", Fixed(1)), x * B * B == B, requires=x > 0)
    save_certificate(path, values, check(values, **QUIET))
    forged(path, lambda verdict: verdict["counterexample"].update(values={"y": "1/2"}))
    with pytest.raises(FileError, match="does not give values to x"):
        recheck(path)


def test_another_predicate_is_not_the_one_that_was_decided(tmp_path):
    claim = Claim(
        inputs(recogniser(tomita(2), Fixed(2), 3), max_length=3), answer() == "NO", requires=holds(odd, "odd")
    )
    path = tmp_path / "certificate.json"
    save_certificate(path, claim, check(claim, **QUIET))
    assert recheck(path, odd, **QUIET).agrees
    with pytest.raises(FileError, match="the predicate given is not the one"):
        recheck(path, lambda text: False)


def odd(text):
    return len(text) % 2 == 1


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "Certain"},
        {"answer": None},
        {"inputs": 1.0},
        {"inputs": -1},
        {"smallest": "surely"},
        {"seconds": -1},
        {"counterexample": None},
        {"counterexample": {"input": "01"}},
        {"counterexample": {"values": {"x": 3}}},
        {"counterexample": {"what": {}}},
        {"solvers": 3},
        {"assumptions": [1]},
        {"inputs": "many"},
        {"inputs": True},
        {"seconds": "long"},
        {"claim": None},
        {"wholly": "new"},
    ],
    ids=str,
)
def test_a_verdict_with_wrong_fields_is_one_sentence(change):
    verdict = Refuted("x = 1", "smt", "x", Counterexample(values={"x": "1"}))
    with pytest.raises(FileError, match=r"^the verdict[^ ]* (must be|has) "):
        verdict_from_json({**verdict_to_json(verdict), **change})


def test_a_forged_proof_is_found_out(tmp_path):
    T = recogniser(tomita(2), Fixed(2), 6)
    false = recognition(broken(T, "output"), tomita(2), 6)
    honest = check(recognition(T, tomita(2), 6), **QUIET)
    path = tmp_path / "certificate.json"
    save_certificate(path, false, Proved(str(false), "enumeration", honest.over, honest.inputs, honest.satisfying))
    again = recheck(path, **QUIET)
    assert not again.agrees
    assert "NOT CONFIRMED: Refuted" in str(again)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "not JSON"),
        ("[]", "not a certificate"),
        ('{"kind": "glyptic.prove.certificate", "version": 9}', "version 9"),
        ('{"kind": "glyptic.prove.certificate", "version": 3}', "was edited, or is damaged"),
        (
            '{"kind": "glyptic.prove.certificate", "version": 3, "claim": {}, "verdict": {}}',
            "was edited, or is damaged",
        ),
        (
            json.dumps(sealed({"kind": "glyptic.prove.certificate", "version": 3, "claim": {}, "verdict": {}})),
            'has no "glyptic"',
        ),
    ],
)
def test_what_is_not_a_certificate_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "certificate.json"
    path.write_text(content)
    with pytest.raises(FileError, match=sentence):
        recheck(path)
    with pytest.raises(FileError, match="cannot read"):
        recheck(tmp_path / "none.json")


def test_an_open_claim_stays_open(tmp_path):
    claim = Claim(Values("x", Fixed(2)), x == x)
    path = tmp_path / "certificate.json"
    save_certificate(path, claim, Unknown(str(claim), "smt", "x in fixed:2", "the time limit"))
    again = recheck(path)
    assert "nothing to confirm" in again.found
    assert not again.agrees


def test_a_file_that_is_no_certificate_is_not_overwritten(tmp_path):
    thesis = tmp_path / "thesis.tex"
    claim = Claim(Values("x", Fixed(1)), variables("x")[0] >= -1)
    for content in ("months of work", "{}", '{"kind": "other"}', "[]"):
        thesis.write_text(content)
        with pytest.raises(FileError, match=r"thesis.tex is there, and is not a certificate: remove it"):
            save_certificate(thesis, claim, check(claim, progress=False, workers=1))
        assert thesis.read_text() == content
