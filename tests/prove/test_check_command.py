"""check.py as a referee uses it: alone, in an environment without Glyptic, on verdicts that are right and on others."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import pytest
from tests.prove.examples import averaging_majority, doubled

from glyptic.languages import regular
from glyptic.numbers import Fixed, Q
from glyptic.prove import B, Claim, Values, answer, check, exists, exp, inputs, layers, variables
from glyptic.prove.claims.expressions import accepted, after, before, defined, let, where
from glyptic.prove.exporting.standalone.checker.command import main
from glyptic.prove.exporting.targets import programs
from glyptic.prove.portable.claims import claim_to_json
from glyptic.prove.verdicts.answers import verdict_to_json

x, y = variables("x y")
MAJORITY = averaging_majority(Fixed(2), 5)
LAST = accepted(regular("(0|1)*1")) >> (answer() == "YES")
NAMED = let("d", x - y, lambda d: where(d > 0, d, -d) == abs(d))


def file_of(claim, **means):
    """A claim and its verdict, as plain JSON."""
    verdict = verdict_to_json(check(claim, progress=False, **means))
    return json.loads(json.dumps({"claim": claim_to_json(claim), "verdict": verdict}))


def status(tmp_path, content, *flags):
    path = tmp_path / "claim.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return main([str(path), *flags])


GOOD = {
    "refuted on values": lambda: file_of(Claim(Values("x y", Fixed(2)), x + (y - x) == y, name="undone"), count_all=True),
    "proved on values": lambda: file_of(Claim(Values("x", Fixed(3)), (x > 0) >> (x * B * B == B)), method="smt"),
    "the lowest of a Q format": lambda: file_of(Claim(Values("x", Q(2, 2)), x >= -B)),
    "vacuous": lambda: file_of(Claim(Values("x", Fixed(2)), x == 0, requires=x > B)),
    "a witness": lambda: file_of(exists(Values("x", Fixed(2)), x * x == x, requires=x > 1)),
    "nothing of the kind": lambda: file_of(exists(Values("x", Fixed(2)), exp(x) < 0)),
    "locals and choices": lambda: file_of(Claim(Values("x y", Fixed(2)), NAMED)),
    "a block": lambda: file_of(Claim(layers(doubled(Fixed(2)), free=["x", "y"]), (after("y") >= before("y")) & defined())),
    "inputs": lambda: file_of(Claim(inputs(MAJORITY, max_length=5), LAST), count_all=True),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_right_verdict_is_not_contradicted(name, tmp_path, capsys):
    assert status(tmp_path, GOOD[name]()) == 0, capsys.readouterr().out
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "nothing contradicts the verdict" and any(line.startswith("verified") for line in lines)


def test_it_runs_where_glyptic_is_not(tmp_path):
    """Isolated from the environment and from site-packages, in a folder of its own."""
    (tmp_path / "checker").mkdir()
    for name, text in programs().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "claim.json").write_text(json.dumps(GOOD["inputs"]()), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(tmp_path / "check.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the smallest" not in done.stdout and "input ∈ (0|1)*1 ⇒ answer = YES" in done.stdout


def changed(name, *path_and_value):
    """A right file with one thing in it changed."""
    content = copy.deepcopy(GOOD[name]())
    *path, last, new = path_and_value
    place = content
    for step in path:
        place = place[step]
    place[last] = new
    return content


def example(part, new):
    return changed("refuted on values", "verdict", "counterexample", part, new)


def constant(new):
    return changed("proved on values", "claim", "ensures", "premise", "right", {"node": "Constant", "number": new})


def renamed():
    content = GOOD["inputs"]()
    text = json.dumps(content, ensure_ascii=False).replace("(0|1)*1", "(0|1)*0")
    return json.loads(text)


WRONG = {
    "a count of failures": lambda: changed("refuted on values", "verdict", "failures", 239),
    "a count of inputs": lambda: changed("refuted on values", "verdict", "inputs", 960),
    "a count of what meets the precondition": lambda: changed("inputs", "verdict", "satisfying", 7),
    "a counterexample that is not the smallest": lambda: example("values", {"x": "1/4", "y": "-7/2"}),
    "a counterexample that is none": lambda: example("values", {"x": "0", "y": "0"}),
    "what was observed": lambda: example("observed", {"[x + [y − x]]": "0"}),
    "something observed that is not in the claim": lambda: example("observed", {"[x·y]": "0"}),
    "the sentence": lambda: changed("refuted on values", "verdict", "claim", "undone: for all x, y in fixed:2: x = x"),
    "the name": lambda: changed("refuted on values", "claim", "name", "proved at last"),
    "the answer": lambda: changed("proved on values", "verdict", "answer", "Vacuous"),
    "what is claimed": lambda: changed("proved on values", "claim", "ensures", "conclusion", "how", "≠"),
    "how many there are": lambda: changed("refuted on values", "verdict", "over", "all 31 values of x, y in fixed:2"),
    "no witness": lambda: changed("a witness", "verdict", "witness", None),
    "the quantifier": lambda: changed("a witness", "claim", "quantifier", "all"),
    "an automaton renamed": renamed,
    "a weight": lambda: changed("inputs", "claim", "subject", "transformers", "", "arrays", "token_embedding", "codes", [4, -4]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_verdict_is_contradicted(name, tmp_path, capsys):
    assert status(tmp_path, WRONG[name]()) == 1
    assert "CONTRADICTED" in capsys.readouterr().out


def deep(levels):
    node = {"node": "Junction", "how": "and", "conditions": []}
    for _ in range(levels):
        node = {"node": "Negation", "part": node}
    return node


T0 = ("inputs", "claim", "subject", "transformers", "")
UNREADABLE = {
    "not JSON": lambda: "{",
    "not an object": lambda: "[]",
    "a name twice": lambda: '{"claim": {}, "claim": {}}',
    "a constant that is a word": lambda: constant("1000"),
    "a constant that the format does not have": lambda: constant({"fraction": "1000"}),
    "an operation that there is not": lambda: changed("refuted on values", "claim", "ensures", "left", "name", "__class__"),
    "a node that there is not": lambda: changed("refuted on values", "claim", "ensures", "node", "Import"),
    "a field too many": lambda: changed("refuted on values", "claim", "ensures", "text", "x = x"),
    "nested too deep": lambda: changed("proved on values", "claim", "ensures", deep(300)),
    "a huge shape": lambda: changed(*T0, "arrays", "output", "shape", [2**40, 2**40]),
    "a code of 2^70": lambda: changed(*T0, "arrays", "output", "codes", [2**70]),
    "a place outside": lambda: changed(*T0, "arrays", "output", "places", [99]),
    "a wrong shape": lambda: changed(*T0, "arrays", "output", "shape", [4, 1]),
    "an option that there is not": lambda: changed(*T0, "options", "mask", "none"),
    "a head that is not there": lambda: changed(*T0, "heads", [2]),
    "a format that there is not": lambda: changed("refuted on values", "claim", "subject", "format", "fixed:0"),
    "an answer that is never given": lambda: changed("inputs", "claim", "ensures", "conclusion", "right", "text", "MAYBE"),
    "an input of other tokens": lambda: changed("inputs", "verdict", "counterexample", "input", ["2"]),
    "a count that is a text": lambda: changed("refuted on values", "verdict", "failures", "240"),
    "a verdict of another kind": lambda: changed("refuted on values", "verdict", "answer", "Certain"),
    "a number with a point": lambda: changed("inputs", "claim", "subject", "max_length", 5.0),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_told_in_one_sentence(name, tmp_path, capsys):
    assert status(tmp_path, UNREADABLE[name]()) == 2
    told = capsys.readouterr()
    assert told.err.startswith("check.py: ") and told.err.count("\n") == 1 and "CLAIM" not in told.out.replace("THE CLAIM", "")


@pytest.mark.parametrize("limit", ["1" * 5000, "-1", "²", "1e3", ""])
def test_a_limit_that_is_none_is_named(limit, tmp_path, capsys):
    assert status(tmp_path, GOOD["proved on values"](), "--limit", limit) == 2
    assert capsys.readouterr().err == "check.py: --limit needs a number after it, of at most 18 digits.\n"


def test_a_limit_leaves_the_rest_on_trust_and_says_so(tmp_path, capsys):
    assert status(tmp_path, GOOD["proved on values"](), "--limit", "20") == 0
    told = capsys.readouterr().out
    assert "the smallest 20 of 127 elements agree" in told and "too many here" in told
    assert main(["--limit"]) == 2 and main(["no/such/folder"]) == 2
