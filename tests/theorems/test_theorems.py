"""The constructions' theorems: proved, refuted when a weight is broken, and the page that tells of them."""

import json
import re
from pathlib import Path

import pytest

from glyptic.errors import FileError, InputError
from glyptic.files import sealed
from glyptic.numbers import Fixed
from glyptic.prove import Proved, Refuted
from glyptic.prove.methods import smt
from glyptic.theorems import primitives, proving
from glyptic.theorems.mutation import break_all, mutants
from glyptic.theorems.page import PLAIN, Marks, main, page, read_page
from glyptic.theorems.proving import (
    FLOATS,
    SCOPES,
    THEOREMS,
    Row,
    TheoremJob,
    main_table,
    prove,
    prove_all,
    read_scope,
    table,
    theorem,
)

NAMES = [one.name for one in THEOREMS]
QUICK = ("fixed:2", "fixed:8", "float:2,2", "fp8_e4m3", "fixed:4/even", "fixed:4 fused")
# Theorems that do not miss every weight, and the page says which.
BY_A_HEAD = tuple(f"normalize.{form}, one layer" for form in ("zero_one", "infinity", "plus_minus"))
UNMISSED = ("lookup.position", "lookup.fetch", *BY_A_HEAD, "compose.sequence")
DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "theorems.md"


@pytest.mark.parametrize("name", NAMES)
def test_theorems(name: str) -> None:
    """A subset of the table: fixed point small and large, two floats, the other tie rule, fused products."""
    for scope in QUICK if name not in BY_A_HEAD else ("fixed:2", "fixed:4/even", "fixed:4 fused", "float:2,2"):
        row = prove(TheoremJob(name, scope))
        assert isinstance(row.verdict, Proved), f"{name} in {scope}: {row.verdict or row.refusal}"


def speaking_of_it(name: str) -> list[str]:
    """A theorem, or, where a construction takes turns and each theorem speaks of one, those of all turns."""
    return [other for other in NAMES if other.endswith(" turn")] if name.endswith(" turn") else [name]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "compose.relay, b's turn"])
def test_a_broken_weight_is_refuted(name: str) -> None:
    """Nine weights of each construction, from its first to its last: most of them are missed."""
    format, products = read_scope("fixed:2")
    broken = [list(mutants(theorem(one).claim(format, products))) for one in speaking_of_it(name)]
    some = sorted({round(k * (len(broken[0]) - 1) / 8) for k in range(9)})
    unmissed = [
        broken[0][k].weight
        for k in some
        if not any(isinstance(smt.check(claims[k].claim, format), Refuted) for claims in broken)
    ]
    assert len(unmissed) < len(some) / 2, unmissed


def test_the_whole_plus_minus_normalization_of_a_one_layer_decider() -> None:
    """s = 8, a head and a feed-forward, a mixing output matrix, two positions of free values."""
    row = prove(TheoremJob("normalize.plus_minus", "fixed:8", seconds=60))
    assert row.mark == "✓"
    claim = theorem("normalize.plus_minus").claim(Fixed(8), "rounded")
    base, built = claim.subject.transformers.values()
    assert len(base.layers) == 1
    assert base.layers[0].heads
    assert base.layers[0].feed_forward is not None
    assert len(built.layers) > len(base.layers)


def test_a_format_that_a_construction_refuses_is_told() -> None:
    row = prove(TheoremJob("zero.at", "q:3,3"))
    assert row.verdict is None
    assert row.mark == "–"
    assert "−x is a value" in row.refusal


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    rows = prove_all(["fixed:2", "float:2,2"], ["zero.at", "add.vector"], workers=1, progress=False)
    assert [row.mark for row in rows] == ["✓s"] * 4
    assert table(rows).splitlines()[2].split() == ["zero.at", "✓s", "✓s"]
    assert main_table(rows[:2]) == 0
    assert "proved for all values" in capsys.readouterr().out


def test_the_page_has_every_theorem_and_scope() -> None:
    text = PAGE.read_text()
    for name in NAMES:
        assert f"| {name} |" in text, f"docs/theorems.md has no row of {name}; run make theorems THEOREM='{name}'"
    for scope in SCOPES:
        assert f" {scope} " in text
    assert "✗" not in text.split("## Fixed point")[1]
    assert len(FLOATS) >= 4
    assert page(read_page(text)) == text
    assert read_page(text).plain["lookup.fetch", "fixed:4 fused"] == "✓"


def test_the_page_is_made_for_one_theorem_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted, the page is as it was; then only what is missing is run, and all other rows stay."""
    asked: list[tuple[str, str]] = []
    made, says, right = tmp_path / "theorems.md", "h_1 += v, all else preserved", PAGE.read_text()
    text = right.replace(f"| add.vector | {says} | ✓s | ✓s", f"| add.vector | {says} | ? | ?").replace("| 3 of 3", "| 2 of 3")
    made.write_text(text)
    command = [str(made), str(tmp_path / "rows.json"), "--theorem", "zero.at", "--theorem", "add.vector", "--workers", "1"]

    def interrupted(job: TheoremJob) -> Row:
        if (job.theorem, job.terms) == ("add.vector", "plain") and len(asked) == 3:
            asked.append(("and", "again"))
            raise KeyboardInterrupt
        asked.append((job.theorem, job.terms))
        return prove(job)

    monkeypatch.setattr(proving, "prove", interrupted)
    assert main([*command, "--format", "fixed:2"]) == 130
    assert made.read_text() == text
    assert main([*command, "--format", "fixed:2"]) == 0
    assert asked[2:] == [("zero.at", "plain"), ("and", "again"), ("add.vector", "plain")]
    told = read_page(made.read_text())
    assert [told.simplified["add.vector", scope] for scope in ("fixed:2", "fixed:3")] == ["✓s", "?"]
    assert told.found["add.vector"] == "2 of 3", "weights are broken in fixed:3, which was not asked for"
    assert main([*command, "--format", "fixed:3"]) == 0
    row = next(line for line in right.splitlines() if line.startswith("| add.vector |"))
    assert row in made.read_text() and right.replace("| 3 of 3", "| 2 of 3") == made.read_text().replace("| 3 of 3", "| 2 of 3")
    monkeypatch.setattr("glyptic.theorems.mutation.break_all", None)  # what came of broken weights is kept too
    assert main([*command, "--format", "fixed:3"]) == 0


def test_a_theorem_that_is_gone_leaves_the_whole_page() -> None:
    at = {("gone", "fixed:2"): "–", ("zero.at", "fixed:2"): "–"}
    text = page(Marks(at, refused=dict.fromkeys(at, "no"), found={"gone": "1 of 2"}, unmissed={"gone": "w"}))
    assert "gone" not in text and "- zero.at in fixed:2: no" in text
    assert page(read_page(text)) == text


def test_what_the_page_does_not_have_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in ((["--theorem", "zero"], "no theorem 'zero'"), (["--format", "fixed:9"], "no column 'fixed:9'")):
        assert main([str(tmp_path / "theorems.md"), *words]) == 2
        assert says in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_how_to_page_tells_what_its_example_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (DOCS / "how-to" / "add-a-theorem.md").read_text()
    claim, entry = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    names = dict(vars(primitives))
    exec(compile(f"{claim}\n(added,) = ({entry})", "add-a-theorem.md", "exec"), names)
    added = names["added"]
    monkeypatch.setattr(proving, "THEOREMS", (*THEOREMS, added))
    assert table(prove_all(["fixed:2", "fixed:3", "fixed:4"], [added.name], workers=1, progress=False)) in text
    assert f"`{break_all(added.name, 'fixed:3')}`" in text
    assert f"{len(SCOPES)} formats" in text and f"{len(PLAIN)} without" in text
    assert f": {len(SCOPES) + len(PLAIN)} rows renewed" in text


def test_a_run_of_the_library_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, names = tmp_path / "rows.json", ["zero.at", "lookup.fetch"]
    first = prove_all(["fixed:2"], names[:1], workers=1, kept=kept, progress=False)
    asked: list[str] = []
    monkeypatch.setattr(proving, "prove", lambda job: asked.append(job.theorem) or prove(job))
    again = prove_all(["fixed:2"], names, workers=1, kept=kept, progress=False)
    assert asked == ["lookup.fetch"] and again[0].verdict == first[0].verdict
    rows = json.loads(kept.read_text())
    rows["rows"]["zero.at | fixed:2 | simplified"]["question"] = "another"  # as after a change of the construction
    kept.write_text(json.dumps(sealed(rows)))
    prove_all(["fixed:2"], names, workers=1, kept=kept, progress=False)
    assert asked == ["lookup.fetch", "zero.at"]


def test_rows_that_somebody_edited_are_refused(tmp_path: Path) -> None:
    kept = tmp_path / "rows.json"
    prove_all(["fixed:2"], ["zero.at"], workers=1, kept=kept, progress=False)
    edited = kept.read_text().replace("Proved", "Refuted")
    kept.write_text(edited)
    with pytest.raises(FileError, match="was edited, or written by another Glyptic; delete it, or name another"):
        prove_all(["fixed:2"], ["zero.at"], workers=1, kept=kept, progress=False)
    assert kept.read_text() == edited


def test_rows_that_are_none_are_refused(tmp_path: Path) -> None:
    kept = tmp_path / "rows.json"
    for text in ("", "[]", "{}", '{"kind": "glyptic.prove.library", "version": 1, "rows": {"a": 1}}', "[" * 100_000):
        kept.write_text(text)
        with pytest.raises(FileError, match="delete it, or name another"):
            prove_all(["fixed:2"], ["zero.at"], kept=kept, progress=False)


def test_no_theorem_of_that_name() -> None:
    with pytest.raises(InputError, match=r"no theorem 'zero'; there are add.vector"):
        prove_all(["fixed:2"], ["zero"], progress=False)


@pytest.mark.slow
def test_every_theorem_in_every_scope() -> None:
    rows = prove_all(progress=False, seconds=120)  # bf16 takes the first solver most of a minute
    assert all(row.good for row in rows), table(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("turn")])
def test_every_weight_broken(name: str) -> None:
    found = break_all(name, "fixed:3")
    assert found.refuted >= 0.66 * found.weights, found.unmissed
    if name not in UNMISSED:
        assert found.unmissed == ()


@pytest.mark.slow
def test_each_turn_misses_its_own_weights() -> None:
    """Of compose.relay each theorem speaks of one turn: together they miss all but what clears flags of known sign."""
    turns = [break_all(f"compose.relay, {letter}'s turn", "fixed:3") for letter in "ab"]
    together = set(turns[0].unmissed) & set(turns[1].unmissed)
    assert len(together) <= 4 < turns[0].weights / 10, together
