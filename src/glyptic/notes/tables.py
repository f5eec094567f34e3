"""The figures of docs/errata.md and docs/errata.es.md: every table there is made here, in both languages.

A table in a document stands between `<!-- table: NAME -->` and `<!-- end -->`; `written` puts it there anew, and the
tests compare. Positions, as in the notes, count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, partial

from glyptic.carve import FactError, normalize
from glyptic.exact.report import show_number
from glyptic.notes import normalization, primitives, values
from glyptic.notes.bench import carrier
from glyptic.notes.failures import coordinates, verdicts
from glyptic.notes.failures.linear import (
    SWAP,
    linear_replacement,
    linear_runs,
    one_hot_is_exact,
    who_is_corrupted,
)
from glyptic.notes.failures.verdicts import answers_kept, printed_infinity, printed_zero_one
from glyptic.numbers import NAMED, Fixed, Float, Format, Q

Table = tuple[Sequence[str], list[Sequence[object]]]

F1, F2, F3 = map(Fixed, (1, 2, 3))
F11, F21, F12, F22, F32 = (Float(e, s) for e, s in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 2)))
TWOS_COMPLEMENT = Q(2, 2)


def both_rules(*formats: Format) -> list[Format]:
    return [format.with_ties(ties) for format in formats for ties in ("zero", "even")]  # type: ignore[arg-type]


def shown(format: Format) -> str:
    """A format in the paper's letters; the paper's tie rule goes without saying."""
    name = re.sub(r"^(?:fixed|float):(.*)$", r"F(\1)", format.name).replace(",", ", ")
    name = re.sub(r"^q:(.*)$", r"Q(\1)", name)
    return name + (", ties to even" if format.ties == "even" else "")


def pair(of: tuple[Fraction, ...] | None, format: Format) -> str:
    return "" if of is None else f"({', '.join(show_number(x, format).replace('-', '−') for x in of)})"


# One function a table ------------------------------------------------------------------------------------------------


def linear() -> Table:
    rows: list[Sequence[object]] = []
    for format in (*both_rules(F2, F22), F3, F11):
        printed = linear_runs(format)
        where = "" if printed.smallest is None else _from_one(*printed.smallest)
        try:
            mended = linear_runs(format, linear_replacement)
            instead: object = f"{mended.undefined} / {mended.wrong}"
        except FactError:
            instead = "refused: [exp(−∞)] ≠ 0"
        wrong = f"{printed.wrong} of {printed.reached}"
        rows.append((shown(format), printed.runs, printed.undefined, where, wrong, instead))
    return ("format", "runs", "0/0", "smallest", "h_j ≠ M h_i", "`linear.between`: 0/0 / wrong"), rows


def _from_one(length: int, source: int, target: int, position: int) -> str:
    return f"n = {length}, i = {source + 1}, j = {target + 1}: position {position + 1}"


def in_place() -> Table:
    rows: list[Sequence[object]] = []
    for format in (F1, F2, F3, F22):
        printed, mended = (answers_kept(format, of, d=2) for of in (printed_zero_one, normalize.zero_one))
        rows.append((shown(format), printed.decisive, printed.kept, printed.instead, mended.kept))
    return ("format", "decisive pairs", "kept as printed", "answer instead", "kept by `normalize.zero_one`"), rows


def last() -> Table:
    rows: list[Sequence[object]] = []
    for n, decisive, kept in verdicts.lengths_with_a_fixed_last(F2, last=2, longest=4):
        rows.append((n, decisive, kept, verdicts.kept_at_length(F2, n)))
    return ("length of the input", "decisive", "kept, flag at 2", "kept by `normalize.zero_one`"), rows


def comparison() -> Table:
    rows: list[Sequence[object]] = []
    for format in (F2, F22):
        for d in (3, 4, 8):
            printed, mended = verdicts.comparison(format, d), verdicts.comparison(format, d, (0, 1))
            wrong = f"{mended.wrong_if_yes} / {mended.wrong_if_no}"
            rows.append((shown(format), d, printed.pairs, printed.wrong_if_yes, printed.wrong_if_no, wrong))
    return ("format", "d", "pairs", "wrong where T_SI > T_NO", "wrong where T_NO > T_SI", "columns 1, 2"), rows


def amplification() -> Table:
    rows: list[Sequence[object]] = []
    named = [NAMED["fp8_e4m3"], NAMED["fp8_e5m2"]]
    for format in (*both_rules(F1, F2), F3, Fixed(4), *both_rules(F11), F21, *both_rules(F12), F22, F32, *named):
        found = values.products_by_b(format)
        smallest = "" if found.smallest is None else found.smallest
        rows.append((
            shown(format), found.positive, found.below_one, found.after_two, smallest,
            "never" if found.products is None else found.products,
        ))  # fmt: skip
    return ("format", "values x > 0", "x < 1/∞", "(x·∞)·∞ ≠ ∞", "smallest", "products needed"), rows


def infinity() -> Table:
    rows: list[Sequence[object]] = []
    mended = partial(printed_infinity, columns=(0, 1))
    for format in (F2, F21, *both_rules(F22)):
        printed, columns = (answers_kept(format, of) for of in (printed_infinity, mended))
        short, pairs = verdicts.short_of_infinity(format)
        try:
            instead: object = answers_kept(format, normalize.infinity).kept
        except FactError:
            instead = "refused: softmax(1, ∞) ties"
        plus_minus = answers_kept(format, normalize.plus_minus).kept
        kept = (printed.decisive, printed.kept, columns.kept)
        rows.append((shown(format), *kept, f"{short} of {pairs}", instead, plus_minus))
    header = (
        "format", "decisive pairs", "kept as printed", "kept with columns 1, 2", "not (1, ∞) in the end",
        "kept by `normalize.infinity`", "kept by `normalize.plus_minus`",
    )  # fmt: skip
    return header, rows


def one_and_infinity() -> Table:
    rows: list[Sequence[object]] = []
    for format in (*both_rules(F1), F11, F21, F2, F12, F22, F3):
        no, yes = values.softmax(format, "1", "B")
        less, more = values.softmax(format, "-B", "B")
        rows.append((
            shown(format), pair((no, yes), format), "TIE" if no == yes else "YES",
            pair((less, more), format), "TIE" if less == more else "YES",
        ))  # fmt: skip
    return ("format", "softmax(1, ∞)", "answer", "softmax(−∞, ∞)", "answer"), rows


def larger() -> Table:
    rows: list[Sequence[object]] = []
    for format in both_rules(F2, F3, F22):
        found = values.larger_means_yes(format)
        rows.append((
            shown(format), found.pairs, found.ties, found.undefined, found.reversed, pair(found.first_tie, format),
            verdicts.yes_after(format, normalize.plus_minus),
        ))  # fmt: skip
    return ("format", "pairs", "ties", "0/0", "NO", "smallest tie", "YES after `normalize.plus_minus`"), rows


def corrupted() -> Table:
    rows: list[Sequence[object]] = []
    for source, target in ((1, 2), (0, 2)):
        printed = who_is_corrupted(F2, source, target, 4)
        mended = who_is_corrupted(F2, source, target, 4, linear_replacement)
        for position, (before, after) in enumerate(zip(printed, mended, strict=True)):
            rows.append((source + 1, target + 1, position + 1, before, after))
    return ("i", "j", "position", "becomes, as printed", "with `linear.between`"), rows


def zero() -> Table:
    rows: list[Sequence[object]] = []
    for format in (F2, F3, F22, TWOS_COMPLEMENT):
        printed = coordinates.make_zero(format)
        try:
            mended = coordinates.make_zero(format, replaced=True)
            instead: object = f"{mended.zero} / {mended.flag_kept} / {mended.added_after}"
        except FactError:
            instead = "refused: (x + ∞) + ∞ ≠ ∞"
        rows.append((shown(format), printed.values, printed.zero, printed.flag_kept, printed.added_after, instead))
    header = ("format", "values", "h = 0", "flag = 1", "next vector added", "`zero.by_saturation`, the same three")
    return header, rows


def left_over() -> Table:
    bench = carrier(F2, 2, 2)
    cases = {
        "h_2 ← M h_1, as printed": primitives.linear(bench, SWAP, 0, 1),
        "0–1 normalization, as printed": normalization.zero_one(bench, 2),
        "`normalize.zero_one`": normalize.zero_one(bench),
    }
    rows: list[Sequence[object]] = []
    for name, made in cases.items():
        left = ", ".join(f"{coordinate} = {value}" for coordinate, value in coordinates.left_over(made).items())
        rows.append((name, left or "nothing"))
    return ("construction", "left in the last vector"), rows


def ignored() -> Table:
    rows: list[Sequence[object]] = []
    for format in (F2, F32):
        smallest = coordinates.smallest_ignored(format)
        assert smallest is not None
        weights, right, printed = smallest
        found = coordinates.ignored_at_random(format, 300)
        differs, leaks = (f"{count} of {found.cases}" for count in (found.printed_differs, found.replacement_leaks))
        rows.append((shown(format), weights, right, printed, differs, leaks))
    header = (
        "format",
        "smallest layer",
        "h_2 = 1 becomes",
        "as printed",
        "random layers changed",
        "`ignore.coordinates`",
    )
    return header, rows


def letter() -> Table:
    rows: list[Sequence[object]] = []
    for position in (0, 1):
        text, flags = coordinates.flag_to_the_letter(F2, position)
        wanted = [int(p == position) for p in range(len(text))]
        rows.append((position + 1, text, " ".join(map(str, wanted)), " ".join(map(str, flags))))
    return ("i", "shortest input flagged wrongly", "flags", "to the letter"), rows


def bullets() -> Table:
    rows: list[Sequence[object]] = []
    for answer, vectors in verdicts.final_vectors(F2, normalize.infinity).items():
        rows.append((answer, " ".join(pair(vector, F2) for vector in sorted(vectors))))
    return ("T answers", "h_n in the end"), rows


def right() -> Table:
    rows: list[Sequence[object]] = []
    for format in (*both_rules(F1, F2, F3, F11, F22), F32, NAMED["fp8_e4m3"], TWOS_COMPLEMENT):
        broken = values.not_zeroed(format)
        wrong = ", ".join(str(x).replace("-", "−") for x in broken)
        exact = one_hot_is_exact(format)
        rows.append(
            (shown(format), format.size, wrong or "none", "yes" if exact else "no", coordinates.vectors_added(format))
        )
    return ("format", "values", "((x + ∞) + ∞) − ∞ ≠ 0", "one-hot softmax exact", "vectors added"), rows


def cost() -> Table:
    rows: list[Sequence[object]] = []
    for format in (F1, F2, F3, Fixed(8), F11, F21, F22, Float(5, 10), NAMED["fp8_e4m3"], NAMED["fp16"]):
        bench = carrier(format, 2)
        layers: list[object] = []
        for build in (normalize.zero_one, normalize.infinity, normalize.plus_minus):
            try:
                layers.append(len(build(bench).layers))
            except FactError as error:
                layers.append("refused: softmax(1, ∞) ties" if error.fact.name == "decides" else "refused")
        rows.append((shown(format), *layers))
    return ("format", "0–1", "∞", "±∞"), rows


def overwriting() -> Table:
    rows: list[Sequence[object]] = []
    for format in both_rules(F2, F12):
        wrong, pairs = values.not_overwritten(format)
        rows.append((shown(format), wrong, pairs))
    return ("format", "h + (t − h) ≠ t", "pairs"), rows


TABLES: dict[str, Callable[[], Table]] = {
    made.__name__.replace("_", "-"): cache(made)
    for made in (
        linear, in_place, last, comparison, amplification, infinity, one_and_infinity, larger, corrupted, zero,
        left_over, ignored, letter, bullets, right, overwriting, cost,
    )
}  # fmt: skip
