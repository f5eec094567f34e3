"""Each erratum: the printed form fails as the document says, what replaces it does not; figures are those of a run."""

from __future__ import annotations

import re
import unicodedata
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from glyptic.carve import FactError, flags, linear, normalize
from glyptic.exact import Sizes, random_transformer
from glyptic.notes import normalization, primitives, values
from glyptic.notes.bench import carrier, push, random_data, rising_pairs, stream
from glyptic.notes.documents import Language, markdown, tables_in, written
from glyptic.notes.failures import coordinates, verdicts
from glyptic.notes.failures.linear import (
    SWAP,
    linear_replacement,
    linear_runs,
    one_hot_is_exact,
    who_is_corrupted,
)
from glyptic.notes.failures.verdicts import answers_kept, printed_infinity, printed_zero_one
from glyptic.notes.tables import TABLES
from glyptic.numbers import NAMED, Fixed, Float, Format, Q

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[Language, str] = {"en": "errata.md", "es": "errata.es.md"}
SMALL = [f.with_ties(t) for f in (Fixed(2), Fixed(3), Float(2, 2)) for t in ("zero", "even")]


def read(language: Language) -> str:
    return (DOCS / PAGES[language]).read_text(encoding="utf-8")


# The documents ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", PAGES)
@pytest.mark.parametrize("name", TABLES)
def test_every_table_in_the_documents_is_what_a_run_gives(name: str, language: Language) -> None:
    assert f"<!-- table: {name} -->\n{markdown(name, language)}\n<!-- end -->" in read(language)


@pytest.mark.parametrize("language", PAGES)
def test_documents_show_every_table_and_sixteen_errata(language: Language) -> None:
    document = read(language)
    assert sorted(tables_in(document)) == sorted(TABLES)
    assert written(document, language) == document
    assert [int(n) for n in re.findall(r"^## (\d+)\. ", document, re.MULTILINE)] == list(range(1, 17))
    headings = {_anchor(line) for line in re.findall(r"^## (.*)$", document, re.MULTILINE)}
    links = re.findall(r"\]\(#([^)]*)\)", document)
    assert len(links) == 16
    assert set(links) <= headings


def _anchor(heading: str) -> str:
    """A heading's anchor as GitHub makes it: letters, digits, _ and -, spaces to -."""
    kept = (c for c in heading.lower() if unicodedata.category(c)[0] in "LN" or c in " _-")
    return "".join(kept).replace(" ", "-")


def test_both_languages_have_the_same_figures() -> None:
    spanish, english = (
        re.findall(r"\d+(?:/\d+)?", "\n".join(markdown(n, lang) for n in TABLES)) for lang in ("es", "en")
    )
    assert spanish == english


def test_a_changed_figure_is_noticed() -> None:
    document = read("en")
    assert written(document.replace("| 465 | 73 | 21 |", "| 465 | 72 | 21 |"), "en") == document
    assert "| 465 | 73 | 21 |" in document


def test_replacements_named_in_the_documents_exist() -> None:
    import importlib

    for language in PAGES:
        for module, name in re.findall(r"`(?:carve\.)?(linear|normalize|zero|ignore|flags)\.(\w+)`", read(language)):
            assert callable(getattr(importlib.import_module(f"glyptic.carve.{module}"), name))


# The errata, one by one ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_1_linear_is_undefined_before_the_source(format: Format) -> None:
    printed, mended = linear_runs(format), linear_runs(format, linear_replacement)
    assert printed.smallest == (1, 1, 2, 0)  # one token, i = 2, j = 3 counted from 1: position 1 is 0/0
    assert (printed.undefined, printed.runs) == (12, 24)
    assert (mended.undefined, mended.wrong, mended.smallest) == (0, 0, None)
    assert mended.reached == 10


def test_1_linear_where_exp_does_not_vanish() -> None:
    printed = linear_runs(Float(1, 1))
    assert printed.undefined == 0
    assert printed.wrong > 0
    with pytest.raises(FactError, match=r"exp"):
        linear_runs(Float(1, 1), linear_replacement)


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_2_in_place(format: Format) -> None:
    printed, mended = (answers_kept(format, of, d=2) for of in (printed_zero_one, normalize.zero_one))
    assert (printed.kept, printed.instead) == (0, "TIE")
    assert mended.kept == mended.decisive == printed.decisive > 0


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_3_the_last_vector_moves(format: Format) -> None:
    rows = verdicts.lengths_with_a_fixed_last(format, last=2, longest=4)
    assert [kept == decisive for _, decisive, kept in rows] == [False, True, False, False]
    assert all(verdicts.kept_at_length(format, n) == decisive for n, decisive, _ in rows)


def test_3_under_chain_of_thought() -> None:
    """A flag at the input's end is right for the first step and not for the next; without flags all steps agree."""
    sizes = Sizes(layers=1, vocabulary="01", answers=("0", "1"), max_length=8)
    texts, differing = ["011", "101", "110"], 0
    for seed in range(20):
        made = random_transformer(Fixed(4), seed, sizes)
        theta = [[made.format.value(int(code)) for code in row] for row in made.output]
        moved = linear.between(made, theta + [[0] * made.width] * (made.width - 2), i=2, j=2)
        flagged = moved.replace(output=verdicts.normalization.projection(moved))
        chain, with_flag, mended = (
            t.run_batch(texts, steps=5).chains for t in (made, flagged, normalize.zero_one(made))
        )
        decided = (chain >= 0).all(axis=1)
        assert (mended[decided] == chain[decided]).all()
        assert (flagged.run_batch(texts).numbers[decided] == chain[decided, 0]).all()
        differing += int((with_flag[decided] != chain[decided]).any())
    assert differing > 0


def test_4_the_comparison_reads_the_wrong_columns() -> None:
    for format, pairs in ((Fixed(2), 465), (Float(2, 2), 3081)):
        for d in (4, 5, 8):
            printed, mended = verdicts.comparison(format, d), verdicts.comparison(format, d, (0, 1))
            assert (printed.pairs, printed.wrong_if_yes, printed.wrong_if_no) == (pairs, pairs, 0)
            assert (mended.wrong_if_yes, mended.wrong_if_no) == (0, 0)
        three = verdicts.comparison(format, 3)
        assert three.wrong_if_yes > 0
        assert three.wrong_if_no > 0


def test_5_products_by_infinity() -> None:
    needed = {
        str(f): values.products_by_b(f).products
        for f in (Fixed(1), Fixed(2), Fixed(6), Float(1, 1), Float(1, 2), Float(4, 2))
    }
    assert needed == {"fixed:1": None, "fixed:2": 2, "fixed:6": 2, "float:1,1": None, "float:1,2": 3, "float:4,2": 3}
    even = [values.products_by_b(f.with_ties("even")).products for f in (Fixed(1), Float(1, 1))]
    assert even == [2, 4]


@pytest.mark.parametrize("format", [Float(2, 2), Float(3, 2), Float(2, 1)], ids=str)
def test_5_the_printed_infinity_stays_short_of_it(format: Format) -> None:
    short, pairs = verdicts.short_of_infinity(format)
    assert 0 < short < pairs
    mended = verdicts.final_vectors(format, partial(normalize.infinity, force=True))
    assert mended == {"NO": {(1, 0, 0, 0)}, "YES": {(1, format.max, 0, 0)}}


def test_6_one_and_infinity_tie_in_the_smallest_formats() -> None:
    tied = [
        f
        for f in (Fixed(1), Float(1, 1), Float(2, 1), Fixed(2), Float(1, 2), Fixed(3))
        if len(set(values.softmax(f, "1", "B"))) == 1
    ]
    assert tied == [Fixed(1), Float(1, 1), Float(2, 1)]
    for format in tied:
        less, more = values.softmax(format, "-B", "B")
        assert less < more
        with pytest.raises(FactError, match=r"softmax\(1, "):
            normalize.infinity(carrier(format, 2))
        kept = answers_kept(format, normalize.plus_minus, d=2)
        assert kept.kept == kept.decisive


@pytest.mark.parametrize(
    ("format", "pairs", "ties", "undefined"),
    [
        (Fixed(2), 465, 73, 21),
        (Fixed(3), 8001, 1154, 820),
        (Fixed(2, "even"), 465, 74, 21),
        (Float(2, 2), 3081, 143, 45),
    ],
    ids=str,
)
def test_7_larger_does_not_mean_yes(format: Format, pairs: int, ties: int, undefined: int) -> None:
    found = values.larger_means_yes(format)
    assert (found.pairs, found.ties, found.undefined, found.reversed) == (pairs, ties, undefined, 0)
    kept = answers_kept(format, normalize.plus_minus, d=2)
    assert kept.kept == kept.decisive == 2 * (pairs - ties - undefined)


def test_7_counted_without_the_engine() -> None:
    """The same counts from fractions and math.exp alone (the values of F(2) are far from ties of exp)."""
    from fractions import Fraction
    from math import exp

    format = Fixed(2)
    exps = {x: format.round(Fraction(exp(x))) for x in format.values()}
    ties = undefined = 0
    for low in format.values():
        for high in format.values():
            if low < high:
                total = format.round(exps[low] + exps[high])
                undefined += total == 0
                ties += total != 0 and format.round(exps[low] / total) == format.round(exps[high] / total)
    assert (ties, undefined) == (73, 21)


def test_8_who_is_corrupted() -> None:
    assert who_is_corrupted(Fixed(2), 1, 2, 4) == ["0/0", "something else", "M h_i", "h + M h_i"]
    assert who_is_corrupted(Fixed(2), 0, 2, 4) == ["h + M h_i", "h + M h_i", "M h_i", "h + M h_i"]
    for source, target in ((1, 2), (0, 2), (2, 2)):
        expected = ["M h_i" if p == target else "h" for p in range(4)]
        assert who_is_corrupted(Fixed(2), source, target, 4, linear_replacement) == expected


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_9_zero_erases_the_flag(format: Format) -> None:
    printed, mended = coordinates.make_zero(format), coordinates.make_zero(format, replaced=True)
    assert (printed.zero, printed.flag_kept, printed.added_after) == (format.size, 0, 0)
    assert (mended.zero, mended.flag_kept, mended.added_after) == (format.size,) * 3


def test_9_twos_complement() -> None:
    assert coordinates.make_zero(Q(2, 2)).zero == 0
    assert values.not_zeroed(Q(2, 2)) == [Q(2, 2).min]
    with pytest.raises(FactError):
        coordinates.make_zero(Q(2, 2), replaced=True)


def test_10_flags_stay() -> None:
    from glyptic import notes

    bench = carrier(Fixed(2), 2, 2)
    assert coordinates.left_over(notes.zero_one(bench, 2)) == {"at_target": 1, "at_source": 1}
    assert coordinates.left_over(notes.linear(bench, SWAP, 0, 1)) == {"at_target": 1, "not_source": 1}
    assert coordinates.left_over(normalize.zero_one(bench)) == {}


def test_11_ignoring_a_coordinate() -> None:
    for format in (Fixed(2), Fixed(5), Float(3, 2)):
        assert coordinates.smallest_ignored(format) == ("W_1[1,2] = W_2[2,1] = 1", 2, 1)
        found = coordinates.ignored_at_random(format, 40)
        assert found.printed_differs > 20
        assert found.replacement_leaks == 0


def test_12_the_token_embedding_is_the_positional_one() -> None:
    assert coordinates.flag_to_the_letter(Fixed(2), 0) == ("1", [0])
    made = flags.position(carrier(Fixed(2), 1, 3), 1)
    assert [int(h[made.coordinates[-1]]) for h in made.run("xxx", trace="embedding").residual["embedding"]] == [0, 1, 0]


def test_13_the_last_bullet() -> None:
    """(1, ∞) and the answer YES come of YES, not of NO."""
    format = Fixed(2)
    assert verdicts.final_vectors(format, normalize.infinity) == {"NO": {(1, 0, 0, 0)}, "YES": {(1, format.max, 0, 0)}}


def test_14_the_comparison_writes_where_the_linear_step_keeps_its_flag() -> None:
    """The flags as printed, the comparison as printed (its columns mended): the flag of all vectors but h_i is lost."""
    format = Fixed(2)
    flagged = primitives.embedding_with_flag(carrier(format, 2, 2), 0, "at_source")
    flagged = primitives.embedding_with_flag(flagged, 0, "not_source", complement=True)
    made = normalization.then(flagged, normalization.comparison(format, flagged.width, (0, 1)))
    pairs = rising_pairs(format)
    out, _ = push(made, stream(made, np.stack([pairs, pairs], axis=1)))
    flag, difference, one = out[-1, 1], pairs[1] - pairs[0], format.code(1)
    assert pairs.shape[1] == 465
    assert (flag != one).all()
    assert (flag == np.minimum(one + np.minimum(difference, format.max_code), format.max_code)).all()
    assert (flag != difference).any()


def test_15_with_the_printed_flags_every_vector_but_the_source_is_zeroed() -> None:
    format = Fixed(2)
    flagged = primitives.embedding_with_flag(carrier(format, 2, 4), 1, "at_source")
    flagged = primitives.embedding_with_flag(flagged, 1, "not_source", complement=True)
    made = primitives.make_zero(flagged, "not_source", ["h1", "h2"])  # the only flag that j = 2 has
    data = random_data(format, 2, 4, 30)
    out, _ = push(made, stream(made, data))
    assert np.array_equal(out[:2, 1], data[:, 1])
    assert not out[:2, [0, 2, 3]].any()
    third = primitives.linear(carrier(format, 2, 4), SWAP, 1, 2)
    assert {"at_source", "not_source", "at_target"} <= set(third.coordinates)


def test_16_the_one_of_the_softmax_is_at_the_source() -> None:
    made = primitives.linear(carrier(Fixed(2), 2, 3), SWAP, 0, 1)
    weights = made.run("xxx", trace="*weights").trace[f"layer.{len(made.layers) - 1}.head.0.weights"]
    assert weights[1].tolist() == [1, 0, 0]  # j = 2 sees itself last, and the 1 is at i = 1


def test_smaller_things_the_second_display_multiplies_by_h_twice_and_its_zero_columns_do_not_fit() -> None:
    theta, h = np.array([[1, 2, 0], [0, 1, 3]]), np.array([2, 1, 1])
    corner = np.zeros((3, 3), int)
    corner[:2, 0] = theta @ h
    assert (corner @ h).tolist() == [*(theta @ h * h[0]), 0]
    assert (corner @ h)[:2].tolist() != (theta @ h).tolist()
    beside = np.hstack([np.vstack([theta, np.zeros((1, 3), int)]), np.zeros((3, 1), int)])
    with pytest.raises(ValueError, match="mismatch"):
        beside @ h


@pytest.mark.parametrize("language", PAGES)
def test_smaller_things_are_listed_in_both_languages(language: Language) -> None:
    """One name for two vectors, the words misspelt in [P], and what is fair to say beside erratum 9."""
    document = read(language)
    smaller = document[document.rindex("\n## ") :]
    for word in ("h_n^L", "n_max", "which", "linear", "through", "Θ_OUTPUT", "2 × d"):
        assert word in smaller, word
    ninth = document.partition("\n## 9. ")[2].partition("\n## ")[0]
    assert "nos interesan" in ninth and "interested" in ninth


# What is right as printed ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "format", [*SMALL, Fixed(6), Float(1, 1), Float(4, 3), NAMED["fp8_e4m3"], NAMED["fp16"].with_ties("zero")], ids=str
)
def test_right_as_printed(format: Format) -> None:
    if format.size < 20_000:
        assert values.not_zeroed(format) == []
    assert one_hot_is_exact(format) == (format != Float(1, 1))


def test_printed_infinity_with_mended_columns_in_fixed_point() -> None:
    """With columns 1, 2 the note's own ∞-normalization is right in F(2) and F(3)."""
    for format in (Fixed(2), Fixed(3)):
        assert verdicts.short_of_infinity(format)[0] == 0
        mended = answers_kept(format, partial(printed_infinity, columns=(0, 1)))
        assert mended.kept == mended.decisive
        assert answers_kept(format, printed_infinity).kept == mended.decisive // 2


def test_overwriting() -> None:
    assert values.not_overwritten(Fixed(2)) == (240, 961)
