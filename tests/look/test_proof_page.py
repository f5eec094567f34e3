"""The page of proofs in Chromium: answers, claims, examples, the chain of trust; what a file says is never taken for checked."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic import languages, look, programs, prove
from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.languages.automata import Automaton
from glyptic.look.pages import Page, words
from glyptic.look.values import proof
from glyptic.look.values.proof import certificate_view, proof_view
from glyptic.look.values.proof_words import _SENTENCES, in_words
from glyptic.prove import (
    B,
    Claim,
    Proved,
    Refuted,
    Unknown,
    Vacuous,
    Values,
    Verdict,
    check,
    exists,
    save_certificate,
    variables,
)
from glyptic.prove.portable.reading import sealed
from glyptic.prove.questions import decisiveness, defined_attention, equivalence, recognition

HOSTILE = '<script>alert(1)</script>"<img src=x>'


@pytest.fixture(scope="module")
def parity() -> Transformer:
    return programs.open("parity:4", "fixed:4")


@pytest.fixture(scope="module")
def odd() -> Automaton:
    return ~languages.regular("(0*10*1)*0*", "01")


def decided(claim: Claim, **limits: Any) -> Verdict:
    return check(claim, workers=1, progress=False, **limits)


@needs_chromium
def test_a_refutation_opens_on_its_answer(browser: Any, parity: Transformer) -> None:
    claim = recognition(parity, languages.tomita(4), 4)
    verdict = decided(claim, count_all=True)
    assert isinstance(verdict, Refuted) and verdict.counterexample is not None
    with page_of(browser, Page(proof_view(verdict, claim)[:1])) as tab:
        assert tab.get_attribute("#answer", "data-answer") == "Refuted" and "Refuted" in tab.inner_text("#answer")
        tokens = tab.eval_on_selector_all(".token", "all => all.map((one) => one.firstChild.textContent)")
        assert tuple(tokens) == verdict.counterexample.input
        seen = tab.eval_on_selector_all("#example tbody tr", "all => all.map((row) => [...row.cells].map((c) => c.textContent))")
        assert dict(seen) == verdict.counterexample.observed
        text = tab.inner_text("main")
        assert "parity:4 answers YES to those in the language Tomita 4" in text
        assert all(str(number) in text for number in (verdict.inputs, verdict.failures))
        assert [one.get_attribute("data-state") for one in tab.locator("#trust li").all()] == ["open", "yes", "open"]


@needs_chromium
@pytest.mark.parametrize("light", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "es"])
def test_a_confirmed_certificate(
    browser: Any, parity: Transformer, odd: Automaton, tmp_path: Path, light: str, language: str
) -> None:
    claim = recognition(parity, odd, 4)
    save_certificate(tmp_path / "it's a proof.json", claim, decided(claim))
    with page_of(browser, Page(certificate_view(tmp_path / "it's a proof.json")), f"#lang={language}", light=light) as tab:
        assert tab.get_attribute("#answer", "data-standing") == "confirmed"
        assert {"en": "Proved", "es": "Demostrado"}[language] in tab.inner_text("#answer h2")
        assert tab.inner_text("#command") == "glyptic prove --recheck 'it'\\''s a proof.json'"
        text = tab.inner_text("main")
        assert json.loads((tmp_path / "it's a proof.json").read_text())["digest"] in text
        assert "parity:4" not in tab.inner_text(".parts"), "a name that the file gives is quoted as such, and nowhere else"
        assert axe(tab) == []


@needs_chromium
def test_a_false_certificate_is_not_confirmed(browser: Any, parity: Transformer, odd: Automaton, tmp_path: Path) -> None:
    right, wrong = recognition(parity, odd, 4), recognition(parity, languages.tomita(4), 4)
    proved = decided(right)
    assert isinstance(proved, Proved)
    lie = Proved(str(wrong), proved.method, proved.over, proved.inputs, proved.satisfying)
    save_certificate(tmp_path / "lie.json", wrong, lie)  # every text and count fits, and the digest
    with page_of(browser, Page(certificate_view(tmp_path / "lie.json"))) as tab:
        assert tab.get_attribute("#answer", "data-standing") == "contradicted"
        assert "Not confirmed" in tab.inner_text("#answer h2") and tab.locator("#trust [data-state=no]").count() == 1
    with page_of(browser, Page(certificate_view(tmp_path / "lie.json", again=False))) as tab:
        assert tab.get_attribute("#answer", "data-standing") == "unchecked"
        assert tab.inner_text("#answer h2") == "Said to be: Proved"


@needs_chromium
def test_what_a_file_says_is_quoted(browser: Any, tmp_path: Path) -> None:
    (x,) = variables("x")
    claim = Claim(Values("x", "fixed:40"), x == x)
    verdict = Proved(str(claim), "smt", str(claim.subject), solvers=(HOSTILE,), assumptions=(HOSTILE,))
    save_certificate(tmp_path / "c.json", claim, verdict)
    (view,) = certificate_view(tmp_path / "c.json")
    assert view.data["standing"] == "unchecked" and view.data["solvers"] == []
    assert HOSTILE not in json.dumps([view.data["assumptions"], view.data["trust"]])
    with page_of(browser, Page((view,))) as tab:
        assert tab.locator("main script, main img").count() == 0
        assert json.dumps(HOSTILE) in tab.inner_text("main")


def test_an_edited_file_has_no_page(parity: Transformer, odd: Automaton, tmp_path: Path) -> None:
    claim = recognition(parity, odd, 3)
    save_certificate(tmp_path / "c.json", claim, decided(claim))
    content = json.loads((tmp_path / "c.json").read_text())
    content["verdict"]["inputs"] = 13
    for text in (json.dumps(content), json.dumps(sealed(content)), "{}", "["):
        (tmp_path / "d.json").write_text(text)
        with pytest.raises(GlypticError):
            certificate_view(tmp_path / "d.json")


@needs_chromium
def test_every_kind_of_verdict_has_its_words(browser: Any) -> None:
    (x,) = variables("x")
    some = decided(exists(Values("x", "fixed:2"), x * x == 1))
    none = decided(exists(Values("x", "fixed:2"), x * x == 2))
    vacuous = decided(Claim(Values("x", "fixed:2"), x == 0, requires=x > B))
    unknown = Unknown("x = x <b>", "smt", "x in fixed:40", "the time limit of 1 s", ("bitwuzla: 1 s",))
    assert isinstance(vacuous, Vacuous)
    told = {}
    for verdict in (some, none, vacuous, unknown):
        for language in ("en", "es"):
            with page_of(browser, Page(proof_view(verdict)), f"#lang={language}") as tab:
                told[type(verdict).__name__, language] = tab.inner_text(".means")
    assert len(set(told.values())) == 8 and "there is an example" in told["Proved", "en"]


@needs_chromium
def test_the_csv_has_the_verdict(browser: Any, parity: Transformer) -> None:
    claim = recognition(parity, languages.tomita(4), 3)
    verdict = decided(claim)
    with page_of(browser, Page(proof_view(verdict, claim)[:1])) as tab:
        with tab.expect_download() as download:
            tab.click("#save-csv")
        rows = dict(row[:2] for row in csv.reader(io.StringIO(download.value.path().read_text())))
    assert rows["verdict"] == "Refuted" and rows["As a formula"] == str(claim.ensures)


def test_the_run_is_held_against_the_one_that_it_contradicts(monkeypatch: Any, parity: Transformer) -> None:
    from glyptic.look.values import exact

    asked: list[Any] = []

    def shown(transformer: Transformer, input: Any, *, steps: int, against: Any) -> Any:
        asked.append((transformer, input, against))
        return proof.View("proof", "run", {})

    monkeypatch.setattr(exact, "exact_view", shown)
    claim = recognition(parity, languages.tomita(4), 4)
    views = proof_view(decided(claim), claim)
    assert len(views) == 2 and views[0].data["run"] == 1
    other = parity.replace(name="b")
    same = equivalence(parity, other, 3)
    verdict = Refuted(str(same), "enumeration", "all", decided(claim).counterexample)  # type: ignore[union-attr]
    proof_view(verdict, same)
    (first, word, against), (second, _, beside) = asked
    assert first is parity and word == ("0",) and against == (parity, ("1",))
    assert second is parity and beside == (other, ("0",))


def test_common_questions_are_said_in_words(parity: Transformer, odd: Automaton) -> None:
    (x,) = variables("x")
    claims = (equivalence(parity, parity, 3), recognition(parity, odd, 3), decisiveness(parity, 3), defined_attention(parity, 3))
    assert [in_words(claim)["key"] for claim in claims] == ["says_same", "says_language", "says_decisive", "says_defined"]
    assert in_words(Claim(Values("x"), x == x))["key"] == "says_all"
    assert in_words(exists(Values("x"), x == 1))["key"] == "says_some"


def test_every_assumption_that_is_made_is_known_in_both_languages(parity: Transformer, odd: Automaton) -> None:
    (x,) = variables("x")
    verdicts = [
        decided(recognition(parity, odd, 3)),
        decided(recognition(parity, lambda text: text.count("1") % 2 == 1, 2)),
        decided(recognition(parity, odd, 3), method="symbolic"),
        decided(Claim(Values("x", "fixed:2"), x == x), method="smt"),
        decided(Claim(Values("x", "fp16"), x + 0 == x), method="bounds"),
    ]
    for verdict in verdicts:
        data = proof_view(verdict)[0].data
        assert data["assumptions"] and all("key" in one for one in data["assumptions"]), data["assumptions"]
    assert {f"proof.{key}" for key in _SENTENCES if key != "note_weights"} <= {*words()}


def test_what_is_no_verdict_is_refused() -> None:
    with pytest.raises(GlypticError, match="a verdict"):
        proof_view("Proved")  # type: ignore[arg-type]
    (x,) = variables("x")
    with pytest.raises(GlypticError, match="another claim"):
        proof_view(decided(Claim(Values("x", "fixed:2"), x == x)), Claim(Values("x", "fixed:2"), x == 0))


@pytest.mark.parametrize("language", ["en", "es"])
def test_claims_of_every_length(browser: Any, language: str) -> None:
    """∞ is no number of JSON: the page has words for it."""
    endless = programs.open("occurs", "fixed:2")
    claims = [
        recognition(endless, languages.regular("0*1.*")),
        equivalence(endless, programs.open("at-least:1", "fixed:2")),
        decisiveness(endless),
        recognition(endless, languages.regular("0*11.*")),
    ]
    for claim in claims:
        verdict = prove.check(claim)
        assert verdict.method == "states"
        with page_of(browser, look.page(verdict, claim), f"#lang={language}") as tab:
            text = tab.inner_text("#view")
            assert ("whatever length" if language == "en" else "de cualquier longitud") in text
            assert ("By states" if language == "en" else "Por estados") in text and "∞ sy" not in text
