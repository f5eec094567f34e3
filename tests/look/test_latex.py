"""Every kind of fragment is compiled, fits its column, and says what the value says; names stay text, whatever is in them."""

import re
import shutil
import subprocess
import unicodedata
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from glyptic import languages, programs
from glyptic.cli import main
from glyptic.errors import GlypticError, InputError
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Sizes, Transformer, random_transformer
from glyptic.exact.history import Frame, Touch
from glyptic.look.latex import WRITTEN_BY, latex
from glyptic.look.latex.escaping import name, prose, sign, text
from glyptic.look.latex.numerals import number
from glyptic.look.latex.signs import ACCENTS, LETTERS, MATHEMATICS, OBEYED
from glyptic.look.latex.words import WORDS
from glyptic.notes.__main__ import main as notes_main
from glyptic.notes.errata import Erratum, errata_in
from glyptic.prove import check, questions
from glyptic.prove.verdicts.answers import Counterexample, Proved, Refuted, Unknown, Vacuous
from glyptic.studies.precision import LeastPrecision, Need
from glyptic.theorems.page import main as page_main
from glyptic.theorems.page import read_page
from glyptic.theorems.proving import Row

compiled = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is missing: apt-get install texlive-latex-base"
)
DOCS = Path(__file__).parents[2] / "docs"
PREAMBLE = "\\documentclass[{}]{{article}}\n\\usepackage{{{}}}\n{}\\begin{{document}}\n"
HOSTILE = r"""$\input{/etc/passwd} % _^&#{}~\ [x] *y* "q" `p` 'r' -- <a>|b θ∞−≤∧¬∀ ñáéíóúü¿¡ 漢😀 \end{document} \\[2pt]"""


def compile_fragments(
    folder: Path, *fragments: str, columns: str = "twocolumn", runs: int = 1, extra: str = "", fits: bool = True
) -> str:
    """The text of the page that they make, where pdftotext is there to tell; the log is held to what a paper may have."""
    packages = {p for f in fragments for p in re.findall(r"^% packages: (.*)$", f, re.MULTILINE)[0].split(", ")}
    document = PREAMBLE.format(columns, ",".join(sorted(packages)), extra) + "\n\n\\clearpage\n".join(fragments)
    (folder / "paper.tex").write_text(document + "\n\\end{document}\n", encoding="ascii")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(runs):
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
        log = done.stdout.decode(errors="replace")
        assert done.returncode == 0, log[-3000:]
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
    assert not fits or max(too_wide, default=0) <= 10, re.findall("Overfull.*", log)
    assert not fits or "Overfull \\vbox" not in log, re.findall("Overfull.*", log)
    assert "Missing character" not in log, log
    if shutil.which("pdftotext") is None:
        return ""
    told = subprocess.run(["pdftotext", "paper.pdf", "-"], cwd=folder, capture_output=True, timeout=60)
    return told.stdout.decode(errors="replace")


def contains(told: str, *words: str) -> None:
    told = " ".join(unicodedata.normalize("NFKC", told).split())
    for word in words if told else ():
        assert word in told, f"{word!r} is not in\n{told}"


@compiled
def test_a_construction(tmp_path: Path) -> None:
    T = programs.open("parity:8", None)
    told = compile_fragments(tmp_path, latex(T), latex(T, language="es", wide=True, layers=(0,)))
    contains(told, "parity:8", "Layer 2, feed-forward", "complete", "pointer.0", "stretches of 4", "capas", "unidades ocultas")


@compiled
def test_every_built_in_decider(tmp_path: Path) -> None:
    words = ("contains:101,6", "first-equals-last:4", "majority:6", "brackets:4", "palindromes:4", "modular:3", "regex:(01)*,4")
    compile_fragments(tmp_path, *(latex(programs.open(word, None)) for word in words))


@compiled
@pytest.mark.parametrize("format", ["fixed:4", "float:4,3", "bf16", "q:6,4/even", "exact:16"])
def test_formats_with_long_numbers(tmp_path: Path, format: str) -> None:
    T = random_transformer("fixed:4", sizes=Sizes(layers=1, heads=2)).in_format(format)
    if format.startswith("exact"):
        T = T.with_options(attention="leftmost", answer="logits")
    run = T.run([T.vocabulary[k % len(T.vocabulary)] for k in range(6)], trace=True)
    contains(compile_fragments(tmp_path, latex(T), latex(run)), run.answer)


@compiled
def test_a_construction_with_norms_and_biases(tmp_path: Path) -> None:
    F, norm = "fixed:4", Norm.of("fixed:4", [1, 0.5], [0, -1], 0.25)
    head = Head.of(F, [[1, 0]], [[0, 1]], [[1, 1]], [[1], [0]])
    layer = Layer((head,), FeedForward.of(F, [[1, -1]], [0.5], [[0], [2]], [0, 1]), norm, norm)
    options = Options(norm="pre")
    T = Transformer.of(F, "ab", ["x", "y"], [[1, 0], [0, 1]], [[1, 0], [0, 1]], ["NO", "YES"], layers=[layer], options=options,
                       final_norm=norm)  # fmt: skip
    written = latex(T)
    assert all(part in written for part in (r"\gamma", r"b_1^{\top}", r"(W_2\;b_2)", r"\varepsilon = \tfrac{1}{4}"))
    contains(compile_fragments(tmp_path, written), "norm of attention", "final norm", "no construction in its history")


@compiled
def test_frames(tmp_path: Path) -> None:
    T = programs.open("parity:8", None)
    facts = ("[exp(−B)] = 0", "the whole numbers to 2 are values")
    one = Frame("zero.at", 1, 2, 0, 2, ("is_3",), (Touch("writes", ("x",), "all but 1 2", "x − relu(θ·h)"),), facts, (1, 4))
    told = compile_fragments(tmp_path, latex(T, part="frame"), latex(T.history, wide=True), latex(one, language="es"))
    contains(told, "reads", "preserves", "here.0", "capas 1, 4", "todas salvo 1 2", "necesita")


@compiled
def test_a_run(tmp_path: Path) -> None:
    T = programs.open("parity:8", None)
    run = T.run("0110100", trace=True)
    told = compile_fragments(tmp_path, latex(run, label="tab:run"), latex(run, wide=True, language="es"), latex(T.run("01")))
    contains(told, "0110100", "after attention", "pointer.0", "tras la atención", "YES", "∞")


@compiled
def test_a_long_run_goes_over_pages(tmp_path: Path) -> None:
    T = programs.open("parity:64", None)
    run = T.run("01" * 32, trace=["embedding", "*.after_*"])
    compile_fragments(tmp_path, latex(run))
    compile_fragments(tmp_path, latex(run, long=True), columns="", runs=2)


@compiled
def test_theorems(tmp_path: Path) -> None:
    marks = read_page((DOCS / "theorems.md").read_text(encoding="utf-8"))
    rows = [Row("zero.at", "h_1 := 0", "fixed:4 fused", None), Row("zero.at", "h_1 := 0", "fixed:2", Proved("c", "smt", "x"))]
    told = compile_fragments(tmp_path, latex(marks), latex(marks, wide=True, language="es"), latex(rows))
    contains(told, "add.vector", "F (2)", "bf16", "all else preserved", "fused")
    compile_fragments(tmp_path, latex(marks, long=True), columns="", runs=3)


@compiled
@pytest.mark.parametrize(("page", "language"), [("errata.md", "en"), ("errata.es.md", "es")])
def test_errata(tmp_path: Path, page: str, language: str) -> None:
    errata = errata_in((DOCS / page).read_text(encoding="utf-8"))
    assert [one.number for one in errata] == list(range(1, 17))
    told = compile_fragments(tmp_path, latex(errata, language=language), latex(errata[4], wide=True, label="err:5"))
    contains(told, "Errat", "0/0", "F(2, 2)", "normalize.infinity")


@compiled
def test_verdicts(tmp_path: Path) -> None:
    limits: dict[str, Any] = {"backend": "sequential", "progress": False}
    right = check(questions.recognition(programs.open("parity:4", None), languages.regular("(0*10*1)*0*10*"), 4), **limits)
    wrong = check(questions.recognition(programs.open("contains:11,4", None), languages.regular("(0|1)*11"), 4), **limits)
    others = [
        Proved("for some x: x = x", "smt", "x in fixed:2", witness=Counterexample(values={"x": "1/4"}), smallest="locally"),
        Refuted("for some x: x > x", "smt", "x in fixed:2", None, solvers=("bitwuzla 0.9.1: unsat",)),
        Refuted("x = 0", "enumeration", "x", Counterexample(values={"x": "1/4"}), "locally", 4000, 12, 4000),
        Vacuous("x", "enumeration", "all", "x > B", 30),
        Unknown("x = x", "smt", "x in fixed:40", "the time limit of 1 s"),
    ]
    fragments = [latex(one, assumptions=True, language=language) for one in (right, wrong, *others) for language in ("en", "es")]
    told = compile_fragments(tmp_path, *fragments)
    contains(told, "Proved.", "Refuted.", "Vacuous.", "Undecided.", "Demostrado.", "Menor contraejemplo", "parity:4", "exp is")


@compiled
def test_least_precision(tmp_path: Path) -> None:
    why = "forced, input '110': [YES in fixed:12](input) is true, answer is TIE"
    needs = [Need(n, e, 2 if e == 0 else None, 1, 5, 1, why, 1, 1) for n in (1, 2, 3) for e in (0, 2)]
    found = LeastPrecision("majority_of", tuple(needs), 12)
    told = compile_fragments(tmp_path, latex(found), latex(found, wide=True, language="es"))
    contains(told, "forced, input", "refused", "Least precision")


# Names --------------------------------------------------------------------------------------------------------------------


def carrier(*names: str) -> Transformer:
    """A transformer whose coordinates, tokens, answers and frames bear the names."""
    d = len(names)
    one = [[int(i == j) for j in range(d)] for i in range(d)]
    layer = Layer((Head.of("fixed:4", one, one, one, one),), FeedForward.of("fixed:4", one, [0] * d, one, [1] * d))
    history = [Frame(names[0], 0, 1, 1, d, names, (Touch("writes", names, "all", names[0]),), names)]
    return Transformer.of("fixed:4", names, names, one, one, names, layers=[layer], max_length=d, name=names[0], history=history)


def everything(*names: str) -> list[str]:
    """A fragment of every kind, made of the names."""
    T, said = carrier(*names), " ".join(names)
    example = Counterexample(names, {n: n for n in names}, {n: n for n in names}, True)
    values = (
        T,
        T.run(list(names), trace=True),
        T.history[0],
        [Row(n, n, "fixed:2", None) for n in names],
        Erratum(1, names[0], (said, (names, names))),
        Refuted(said, said, said, example, assumptions=names),
        LeastPrecision(names[0], (Need(1, 0, 1, 1, 1, 1, said),), 12),
    )
    return [latex(value, **{"assumptions": True} if isinstance(value, Refuted) else {}) for value in values]


@compiled
def test_hostile_names_stay_text(tmp_path: Path) -> None:
    told = compile_fragments(tmp_path, *everything(HOSTILE, "[", "*", "\\", "a" * 300, " ", "x.1", "x.2"), fits=False)
    contains(told, "/etc/passwd", "U+6F22")
    assert "root:" not in told


TAKEN = ("TIE", "UNDEFINED")
NAMES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp", "Zs"], include_characters=" "), min_size=1, max_size=12)


@compiled
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NAMES.filter(lambda name: name.isprintable() and name not in TAKEN), min_size=2, max_size=6, unique=True))
@example(["--", "''", ",,", "?`", "\u0301", "ǘ"])
def test_any_names_compile(tmp_path: Path, names: list[str]) -> None:
    compile_fragments(tmp_path, *everything(*names), fits=False)


@compiled
@pytest.mark.parametrize("extra", ["", "\\usepackage[T1]{fontenc}\\usepackage{lmodern}"])
def test_every_sign_compiles(tmp_path: Path, extra: str) -> None:
    if extra and not subprocess.run(["kpsewhich", "lmodern.sty"], capture_output=True).stdout:
        pytest.skip("lmodern is missing: apt-get install lmodern")
    signs = [*OBEYED, *MATHEMATICS, *LETTERS, *map(chr, range(33, 127)), *(f"{c}{mark}" for mark in ACCENTS for c in "aio")]
    body = "\n\n".join([f"{text(one)} {name(one)}" for one in signs] + [text(chr(code)) for code in range(0xA1, 0x250)])
    compile_fragments(tmp_path, f"% packages: amsmath, amssymb\n{body}", extra=extra)


@given(st.text())
def test_what_is_written_is_ascii_without_a_command_of_the_text(said: str) -> None:
    written = text(said) + name(said) + prose(said)
    assert written.isascii() and written.isprintable()
    assert written.count("{") - written.count("\\{") == written.count("}") - written.count("\\}")


def test_each_sign_by_its_number_if_by_nothing_else() -> None:
    assert [sign(c) for c in "a%ñ漢"] == ["a", r"\%", r"\~{n}", "{[}U+6F22{]}"]


@given(st.fractions(max_denominator=10**30))
def test_numbers_are_exact_or_say_that_they_are_not(x: Fraction) -> None:
    written, em = number(x)
    assert em > 0
    if "approx" in written:
        assert max(len(str(abs(x.numerator))), len(str(x.denominator))) > 18
        return
    plain = re.sub(r"\\tfrac\{(\d+)\}\{(\d+)\}", r"\1/\2", written)
    if power := re.fullmatch(r"(-?)(?:(\d+)\\cdot)?2\^\{(-?\d+)\}", plain):
        value = Fraction(power[2] or 1) * Fraction(2) ** int(power[3])
        assert x == (-value if power[1] else value)
    else:
        assert Fraction(plain) == x


# Options, commands --------------------------------------------------------------------------------------------------------


def test_captions_and_labels_are_the_authors() -> None:
    T = programs.open("parity:2", "fixed:4")
    written = T.to_latex(part="frame", caption="Mine, $x$.", label="tab:mine")
    assert r"\caption{Mine, $x$.}\label{tab:mine}" in written
    assert r"\caption" not in latex(T, part="frame", caption="")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"label": "a b"}, "label is 'a b'"),
        ({"language": "fr"}, "language is 'fr'"),
        ({"wide": 1}, "wide is 1"),
        ({"wide": True, "long": True}, "wide and long"),
        ({"part": "half"}, "part is 'half'"),
        ({"layers": (7,)}, "layers has 7"),
        ({"layers": 0}, "layers is 0"),
        ({"caption": 3}, "caption is 3"),
        ({"colour": True}, "no option colour"),
    ],
)
def test_bad_options_are_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(GlypticError, match=re.escape(said)):
        latex(programs.open("parity:2", "fixed:4"), **options)


@pytest.mark.parametrize("value", [3, "x", [], (), [1], [programs, 3], None])
def test_other_values_are_refused_with_the_kinds_that_there_are(value: Any) -> None:
    with pytest.raises(InputError, match=r"there is no LaTeX for .*Transformer, Frame, Run, "):
        latex(value)


def test_what_is_too_large_is_refused() -> None:
    T = random_transformer("fixed:4", sizes=Sizes(width=64, layers=4, hidden=64))
    with pytest.raises(InputError, match=r"at most: choose some layers"):
        latex(T)


def test_every_sentence_is_there_in_both_languages() -> None:
    for key, (english, spanish) in WORDS.items():
        fields = [sorted(re.findall(r"\{(.*?)\}", said)) for said in (english, spanish)]
        assert fields[0] == fields[1], key


def test_each_kind_has_its_function() -> None:
    import importlib

    for place, _ in WRITTEN_BY.values():
        module, _, function = place.partition(":")
        assert callable(getattr(importlib.import_module(f"glyptic.look.latex.{module}"), function))


@compiled
@pytest.mark.parametrize(
    "words",
    [
        "frame parity:4 --latex",
        "run parity:4 0110 --trace --latex",
        "run parity:4 0110 --latex",
        "show parity:4 --latex",
        "prove parity:4 --decisive --workers 1 --latex",
        "prove --library --theorem add.vector --formats fixed:2 --workers 1 --latex",
        "precision majority --max-length 2 --backend sequential --latex",
    ],
)
def test_commands_print_fragments(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 0
    compile_fragments(tmp_path, capsys.readouterr().out)


def test_the_pages_print_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    assert page_main([str(DOCS / "theorems.md"), "--latex"]) == 0
    assert r"\checkmark" in capsys.readouterr().out
    assert notes_main([str(DOCS), "--latex", "5", "--language", "es"]) == 0
    assert r"Errata 5. Dos productos por $\infty$" in capsys.readouterr().out
    assert notes_main([str(DOCS), "--latex", "99"]) == 2


@pytest.mark.parametrize("words", ["prove parity:4 --decisive --formats fixed:4 --latex", "prove --recheck README.md --latex"])
def test_a_flag_without_effect_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    assert "--latex has no effect" in capsys.readouterr().err


@compiled
def test_names_that_are_wider_than_they_are_long_fit(tmp_path: Path) -> None:
    """Signs that are given by their numbers, and names of five hundred: no column runs into the next, no line out of the page."""
    compile_fragments(tmp_path, *everything("😀🌈漢字", "ﬁ½№Ⅻ", "n" * 500, "漢" * 40, "x.1", "x.2"))


def test_a_name_may_end_in_more_digits_than_a_number_has() -> None:
    everything("x." + "1" * 5000, "x.1", "x.2")


@compiled
def test_what_is_said_of_a_row_is_indented_in_all_its_lines(tmp_path: Path) -> None:
    """The left edge of every line, as it is on the page: that of the rows, and one em further in."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is missing: apt-get install poppler-utils")
    why = "plus forced, input '110' " + "where many words follow upon each other " * 4
    table = latex(LeastPrecision("majority", (Need(1, 0, 1, 1, 1, 1, why),), 12), caption="")
    compile_fragments(tmp_path, table)
    subprocess.run(["pdftotext", "-bbox", "paper.pdf", "boxes.html"], cwd=tmp_path, check=True, timeout=60)
    words = re.findall(r'xMin="([\d.]+)" yMin="([\d.]+)".*>(\S+)</word>', (tmp_path / "boxes.html").read_text())
    first = {y: (float(x), word) for x, y, word in reversed(words) if word.isalnum()}  # of each line, the word to the left
    lines = [(x, word) for x, word in first.values()]
    edges = {round(x) for x, word in lines if word in {"plus", *why.split()}}
    left = next(x for x, word in lines if word == "n")
    assert len(edges) == 1 and edges.pop() > left + 5, lines


def read_back(tex: str, format: Any) -> Fraction:
    """The number that a cell of a table says."""
    said = tex.strip().strip("$")
    if said == r"\cdot":
        return Fraction(0)
    said, sign = (said[1:], -1) if said.startswith("-") else (said, 1)
    if said == r"\infty":
        return sign * Fraction(format.max)
    if found := re.fullmatch(r"\\tfrac\{(\d+)\}\{(\d+)\}", said):
        return sign * Fraction(int(found[1]), int(found[2]))
    if found := re.fullmatch(r"(?:(\d+)\\cdot)?2\^\{(-?\d+)\}", said):
        return sign * int(found[1] or 1) * Fraction(2) ** int(found[2])
    return sign * Fraction(said)


@pytest.mark.parametrize("format", ["fixed:2", "fixed:8", "fixed:20", "float:4,3", "bf16", "q:3,4"])
def test_the_numbers_of_a_fragment_are_those_of_the_run(format: str) -> None:
    T = random_transformer(format, 3, Sizes(layers=2), Options(attention="max-subtracted"))
    run = T.run("01", trace=True)
    parts = re.split(r"\\multicolumn\{3\}\{[^&\n]*\\emph\{", latex(run, long=True).partition(r"\end{longtable}")[0])[1:]
    before = [dict.fromkeys(T.coordinates, Fraction(0))] * 2
    cells = 0
    for part, now in zip(parts, run.residual.values(), strict=True):
        told = dict(re.findall(r"^  \\texttt\{(.*?)\} & (.*?) \\\\", part, re.MULTILINE))
        for coordinate in T.coordinates:
            values = [position[coordinate] for position in now]
            changed = values != [position[coordinate] for position in before]
            assert (coordinate in told) == changed
            if changed:
                assert [read_back(cell, T.format) for cell in told[coordinate].split(" & ")] == values
                cells += len(values)
        before = now
    assert cells >= 12
