"""Documents keep their promises: the README's code runs, links lead somewhere, the demo ends."""

import doctest
import os
import re
import subprocess
import sys
import tomllib
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


def test_nothing_advises_a_package_that_no_registry_has() -> None:
    """Glyptic is installed from its folder: `pip install glyptic` would fail, or bring somebody else's."""
    sources = sorted(ROOT.glob("src/**/*.py"))
    assert len(sources) > 200
    for path in (*PAGES, *sources):
        found = re.search(r"pip install [^\n`]*glyptic(?!')|glyptic\[\w+", path.read_text(encoding="utf-8"))
        assert found is None, f"{path.name}: {found[0] if found else ''}"


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_readme_lists_the_extras_that_there_are(page: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in extras if name not in ("test", "lint")] == listed[: len(extras) - 2]


def test_the_demo_ends() -> None:
    done = demo()
    assert done.returncode == 0, done.stderr
    for words in ("Proved, 2,046 inputs", "Refuted", "ZeroAttention", "nothing contradicts the verdict", "in closed form"):
        assert words in done.stdout
    for page in ("README.md", "README.es.md"):
        (excerpt,) = re.findall(r"```text\n\$ make demo\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
        assert missing(excerpt.splitlines(), done.stdout.splitlines()) is None, f"{page}'s excerpt is not what the demo prints"


def demo(**environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "examples.demo"]
    whole = {**os.environ, **environment}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=whole, check=False)


def missing(excerpt: list[str], printed: list[str]) -> str | None:
    """The first line of an excerpt that does not come next in what is printed; … stands for lines, or the rest of one."""
    place, gap = 0, False
    for line in excerpt:
        if line == "…":
            gap = True
            continue
        there = range(place, len(printed)) if gap else range(place, min(place + 1, len(printed)))
        whole, start = not line.endswith("…"), line.removesuffix("…")
        found = next((n for n in there if printed[n].startswith(start) and (not whole or printed[n].rstrip() == line)), None)
        if found is None:
            return line
        place, gap = found + 1, False
    return None


def test_an_excerpt_is_lines_that_follow_each_other() -> None:
    printed = ["a", "b", "c and more", "", "d"]
    assert missing(["…", "b", "c …", "", "d"], printed) is None
    assert missing(["b"], printed) == "b"
    assert missing(["a", "c …"], printed) == "c …"
    assert missing(["a", "…", "d", "…", "b"], printed) == "b"


@pytest.mark.slow
def test_the_demo_ends_in_an_ascii_terminal() -> None:
    done = demo(PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and "\\u2500 8." in done.stdout
