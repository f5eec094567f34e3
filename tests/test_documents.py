"""Documents keep their promises: code and commands run, links lead somewhere, both languages say the same, the demo ends."""

import ast
import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from glyptic.cli import main

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")])
IN_SPANISH = [page for page in PAGES if page.name.endswith(".es.md")]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def headings(page: Path) -> list[tuple[str, str]]:
    """The marks and words of a page's headings, those in fenced code left out."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^(#+) (.*)$", text, re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What links to parts of a page can name: a heading in small letters, signs left out, a hyphen for each space."""
    return {re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-") for _, words in headings(page)}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    for target, part in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            there = page.parent / target if target else page
            assert there.exists(), target
            assert not part or part in anchors(there), f"{target}#{part}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        links = {(page.parent / target).resolve() for page in new for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())}
        new = {page for page in links if page.suffix == ".md" and page.exists()} - reached
    assert [named(page) for page in PAGES if page not in reached and "results" not in page.parent.parts] == []


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_code_of_the_readme_runs(page: str) -> None:
    (code,) = blocks(ROOT / page, "python")
    names: dict = {}
    exec(compile(code, page, "exec"), names)
    decider = names.get("odd") or names["impar"]
    assert decider.answer("0110100") == "YES" and len(decider.layers) == 4 and decider.width == 19


def commands(page: Path) -> list[str]:
    """The glyptic commands of a page, in blocks and in sentences; … stands for what the reader puts there."""
    found = re.findall(r"^(glyptic .*)$|`(glyptic [^`]*)`", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [line or inline for line, inline in found if "…" not in inline]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_commands_of_the_first_pages_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = commands(ROOT / page)
    assert len(found) > 5
    for command in found:
        try:
            status: object = main(shlex.split(command, comments=True)[1:])
        except SystemExit as end:
            status = end.code
        assert not status, command


def test_the_code_of_the_index_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(ROOT / "docs/index.md", "python")
    exec(compile(code, "docs/index.md", "exec"), {})
    assert "124,439,808" in capsys.readouterr().out


def code(page: Path) -> list[object]:
    """The code of a page, without its comments: examples with what they print, commands, programs."""
    text = page.read_text(encoding="utf-8")
    examples = [(ast.dump(ast.parse(e.source)), e.want, e.exc_msg) for e in doctest.DocTestParser().get_examples(text)]
    programs = [] if page.name.startswith("README") else [ast.dump(ast.parse(block)) for block in blocks(page, "python")]
    return [*examples, *programs, *(shlex.split(block, comments=True) for block in blocks(page, "sh")), *commands(page)]


@pytest.mark.parametrize("page", IN_SPANISH, ids=named)
def test_both_languages_have_the_same_code_and_parts(page: Path) -> None:
    english = page.with_name(page.name.replace(".es.md", ".md"))
    assert code(page) == code(english)
    assert [mark for mark, _ in headings(page)] == [mark for mark, _ in headings(english)]
    assert page.read_text(encoding="utf-8").count("\n|") == english.read_text(encoding="utf-8").count("\n|")  # rows of tables


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
