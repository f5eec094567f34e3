"""Documents keep their promises: the README's code runs, links lead somewhere, the demo ends."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_code_of_the_readme_runs(page: str) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(compile(code, page, "exec"), names)
    decider = names.get("odd") or names["impar"]
    assert decider.answer("0110100") == "YES" and len(decider.layers) == 4 and decider.width == 19


def test_the_examples_on_finite_precision_run() -> None:
    failures, tried = doctest.testfile(str(ROOT / "docs/finite-precision.md"), module_relative=False)
    assert tried > 15 and failures == 0


def test_the_demo_ends() -> None:
    done = subprocess.run([sys.executable, "-m", "examples.demo"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for words in ("Proved, 2,046 inputs", "Refuted", "ZeroAttention", "nothing contradicts the verdict", "in closed form"):
        assert words in done.stdout
    (excerpt,) = re.findall(r"```text\n\$ make demo\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    for line in excerpt.splitlines():
        assert line.rstrip(" …") in done.stdout, "the README's excerpt is not what the demo prints"
