"""Least precision and sweeps against what is known by other means."""

import csv
import json
from fractions import Fraction
from itertools import product

import pytest
from tests.prove.examples import averaging_majority, broken, last_token

from glyptic.carve.examples import majority, modular
from glyptic.cli import main
from glyptic.errors import FileError, FormatError, InputError, ModelError
from glyptic.languages import tomita
from glyptic.numbers import Fixed
from glyptic.programs import recogniser
from glyptic.prove import B, Claim, Unknown, Values, inputs, variables
from glyptic.prove.claims.expressions import answer, token
from glyptic.prove.questions import recognition
from glyptic.studies import least_precision, sweep
from glyptic.studies.sweeps import format_grid

QUIET = {"progress": False, "workers": 1}
(x,) = variables("x")


def more_ones(text):
    return 2 * text.count("1") > len(text)


def averaged(text, format):
    """The averaging majority computed by hand: the weight [1/n], n itself saturating, and the running sum."""
    count = Fraction(0)
    for _ in text:
        count = format.round(count + 1)
    total = Fraction(0)
    for symbol in text:
        total = format.round(total + format.round(format.round(1 / count) * (1 if symbol == "1" else -1)))
    return total > 0


def test_least_precision_of_averaging_is_what_a_hand_computation_finds():
    found = least_precision(averaging_majority, 9, of=more_ones, lengths=[1, 3, 5, 7, 9], largest=4, **QUIET)
    for n in (1, 3, 5, 7, 9):
        texts = ["".join(t) for t in product("01", repeat=n)]
        right = [s for s in range(1, 5) if all(averaged(t, Fixed(s)) == more_ones(t) for t in texts)]
        assert found.s(n) == right[0]
    assert found.s(5) == 1 < found.s(7)


def test_the_table_has_steps_and_width_beside_it(tmp_path):
    def repeats(format, n):
        subject = inputs(last_token(format, 2 * n), max_length=n, min_length=n, steps=lambda n: n)
        return Claim(subject, answer() == token(-1))

    found = least_precision(repeats, 3, exponents=(0, 2), **QUIET)
    assert [need.steps for need in found.needs if need.e == 0] == [1, 2, 3]
    table = str(found)
    assert "s, fixed" in table
    assert "s, e = 2" in table
    assert "T(n)" in table
    grown = least_precision(lambda F, n: recogniser(tomita(2), F, n), 5, of=tomita(2), name="automaton", **QUIET)
    widths = [need.width for need in grown.needs]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]
    for name in ("s.svg", "s.png"):
        grown.figure(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 2000
    with pytest.raises(FileError, match=r"svg, \.png or \.pdf"):
        grown.figure(tmp_path / "s.what")


def test_precision_that_is_never_enough_and_questions_that_are_none():
    never = least_precision(averaging_majority, 3, of=lambda text: text[0] == "1", lengths=[3], largest=2, **QUIET)
    assert never.s(3) is None
    assert "> 2" in str(never)
    with pytest.raises(InputError, match="say of="):
        least_precision(averaging_majority, 3, **QUIET)
    with pytest.raises(InputError, match="lengths must lie between 1 and 3"):
        least_precision(averaging_majority, 3, of=more_ones, lengths=[4], **QUIET)


def test_one_less_fails_by_a_counterexample_though_the_construction_refuses_it():
    """Majority refuses where saturation loses the sign of a total; forced, it is wrong where a hand computation says so."""

    def build(format, n, force=False):
        return majority(format, n, force=force)

    found = least_precision(build, 4, of=more_ones, **QUIET)
    assert [found.s(n) for n in (1, 2, 3, 4)] == [1, 1, 2, 2]  # 1 + 1 saturates to 3/2, and 4 to 15/4: still majorities
    third = found.needs[2]
    assert (third.refused, third.refuted) == (1, 1)
    assert third.short_of_it == "forced, input '110': more_ones(input) is true, answer is TIE"
    assert majority(Fixed(1), 3, force=True).answer("110") == "TIE"
    assert "refused  refuted  one less fails by" in str(found)

    def by_threes(format, n, force=False):
        return modular(format, 3, max_length=n, force=force)

    # At length 4 the refusal of s = 2 is careful: 4 saturates to 15/4, and all is right.
    (fourth,) = least_precision(by_threes, 4, of=lambda text: text.count("1") % 3 == 0, lengths=[4], **QUIET).needs
    assert (fourth.s, fourth.refused) == (3, 2)
    assert fourth.short_of_it.startswith("refused: modular of inputs up to 4 counts to 4")
    assert "; forced, it is right" in fourth.short_of_it


def test_a_refusal_that_cannot_be_forced_is_marked_as_one():
    found = least_precision(lambda format, n: majority(format, n), 3, of=more_ones, lengths=[3], **QUIET)
    (need,) = found.needs
    assert (need.s, need.refused, need.refuted) == (2, 1, None)
    assert need.short_of_it.startswith("refused: majority of inputs up to 3 counts to 3")
    assert found.name == "construction"  # not <lambda>

    def five(format, n, force=False):  # −5 is a weight, and no value of fixed:2: nothing can be built
        return modular(format, 5, max_length=n, force=force)

    (need,) = least_precision(five, 5, of=lambda text: text.count("1") % 5 == 0, lengths=[5], **QUIET).needs
    assert (need.s, need.refused, need.refuted) == (3, 2, None)
    assert need.short_of_it.startswith("refused: ")


def test_only_the_refusal_of_a_format_counts_as_not_right_there():
    def fails_with(error):
        def build(format, n):
            raise error

        return build

    found = least_precision(fails_with(FormatError("too small; choose another")), 1, largest=2, of=more_ones, **QUIET)
    assert found.s(1) is None
    assert found.needs[0].short_of_it == "refused: too small"
    for error in (ModelError("no such model"), InputError("no such input"), FileError("gone"), KeyError("x")):
        with pytest.raises(type(error)):
            least_precision(fails_with(error), 1, largest=2, of=more_ones, **QUIET)

    def fails_when_small(format, n):
        if format.precision < 3:
            raise ModelError("no such model")
        return averaging_majority(format, n)

    with pytest.raises(ModelError):
        least_precision(fails_when_small, 1, of=more_ones, **QUIET)


def test_what_cannot_be_asked_is_said_beforehand(monkeypatch):
    monkeypatch.setattr("glyptic.studies.precision.check", None)  # nothing is run
    with pytest.raises(InputError, match=r"exponents\[0\] is -1, and must be"):
        least_precision(averaging_majority, 3, of=more_ones, exponents=[-1], **QUIET)
    with pytest.raises(InputError, match="largest is 0, and must be"):
        least_precision(averaging_majority, 3, of=more_ones, largest=0, **QUIET)
    with pytest.raises(InputError, match="max_length is 0"):
        least_precision(averaging_majority, 0, of=more_ones, **QUIET)
    with pytest.raises(InputError, match=r"1,099,511,627,776 inputs of length 40.*--max-length.*--seconds"):
        least_precision(averaging_majority, 40, of=more_ones, **QUIET)


AMPLIFIED = Claim(Values("x"), x * B * B == B, requires=x > 0, name="two products amplify")


def test_a_sweep_is_the_notes_table(tmp_path):
    """'x·∞·∞ = ∞': true in fixed F(s) from s = 2, false in every float F(e, s) with e ≥ 1, and in F(1)."""
    found = sweep(AMPLIFIED, "fixed:1..6 float:1..3,1..3 q:3,3", **QUIET)
    assert found.holds_in == (*(f"fixed:{s}" for s in range(2, 7)), "q:3,3")  # Q(3, 3) has the positive values of F(3)
    assert "Refuted" in str(found)
    found.figure(tmp_path / "sweep.svg")
    picture = (tmp_path / "sweep.svg").read_text()
    assert picture.startswith("<?xml")
    assert len(found.verdicts) == 16


def test_a_sweep_goes_on_where_it_was(tmp_path, monkeypatch):
    kept = tmp_path / "sweep.json"
    sweep(AMPLIFIED, "fixed:1..3", kept=kept, **QUIET)

    def refuse(*_, **__):
        raise AssertionError("it was checked again")

    monkeypatch.setattr("glyptic.studies.sweeps.check", refuse)
    assert len(sweep(AMPLIFIED, "fixed:1..3", kept=kept, **QUIET).verdicts) == 3
    with pytest.raises(FileError, match="is not a file of the sweep 'another', as this version writes it; delete it"):
        sweep(AMPLIFIED, "fixed:1..3", kept=kept, name="another", **QUIET)
    changed = Claim(Values("x"), x * B * B >= B, requires=x > 0, name=AMPLIFIED.name)  # of the same name, and another
    with pytest.raises(AssertionError, match="checked again"):
        sweep(changed, "fixed:1..3", kept=kept, **QUIET)
    for old, new in (("Proved", "Refuted"), ('"inputs": 31', '"inputs": 32')):
        edited = tmp_path / "edited.json"
        edited.write_text(kept.read_text().replace(old, new))
        with pytest.raises(FileError, match="was edited, or written by another Glyptic; delete it"):
            sweep(AMPLIFIED, "fixed:1..3", kept=edited, **QUIET)
    kept.write_text("x")
    with pytest.raises(FileError, match="is not a file of the sweep 'two products amplify': it is not JSON"):
        sweep(AMPLIFIED, "fixed:1..3", kept=kept, **QUIET)


def test_other_formats_do_not_push_out_what_is_kept(tmp_path):
    kept = tmp_path / "sweep.json"
    for formats in ("fixed:1..2", "fixed:3", "fixed:2"):
        sweep(AMPLIFIED, formats, kept=kept, **QUIET)
    assert [*json.loads(kept.read_text())["cells"]] == ["fixed:1", "fixed:2", "fixed:3"]


def test_a_kept_sweep_forgets_what_changed(tmp_path):
    kept = tmp_path / "sweep.json"
    T, U = recogniser(tomita(4), Fixed(2), 6), broken(recogniser(tomita(4), Fixed(2), 6), "output")
    for model, holds in ((T, True), (U, False), (T, True)):  # the same question of a model that was changed
        found = sweep(
            lambda _, model=model: recognition(model, tomita(4), 6), "fixed:2", kept=kept, name="Tomita 4", **QUIET
        )
        assert bool(found.verdicts["fixed:2"]) is holds


def test_what_was_left_open_is_tried_again(tmp_path, monkeypatch):
    kept = tmp_path / "sweep.json"
    with monkeypatch.context() as patch:
        patch.setattr(
            "glyptic.studies.sweeps.check", lambda claim, **_: Unknown(str(claim), "smt", "x", "the time limit")
        )
        assert isinstance(sweep(AMPLIFIED, "fixed:2", kept=kept, **QUIET).verdicts["fixed:2"], Unknown)
    assert sweep(AMPLIFIED, "fixed:2", kept=kept, **QUIET).holds_in == ("fixed:2",)


def test_a_construction_that_refuses_a_format_is_in_the_table():
    def build(format):
        if format.size < 10:
            raise FormatError("too small")
        return AMPLIFIED

    found = sweep(build, "fixed:1..2", **QUIET)
    assert [type(v).__name__ for v in found.verdicts.values()] == ["Unknown", "Proved"]


def test_an_error_that_is_not_about_the_format_is_no_cell_of_the_table():
    def build(format):
        raise ModelError("no such model")

    with pytest.raises(ModelError, match="no such model"):
        sweep(build, "fixed:1..2", **QUIET)


def test_grids():
    assert len(format_grid("fixed:2..16")) == 15
    assert [str(f) for f in format_grid("float:1..2,3..4/even")] == [
        f"float:{e},{s}/even" for e in (1, 2) for s in (3, 4)
    ]
    for text in ("", "fixed:5..2", "fixed:x"):
        with pytest.raises(FormatError):
            format_grid(text)


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_a_picture_of_others_is_not_drawn_over(kind, tmp_path):
    from matplotlib.figure import Figure

    from glyptic.figures import check_place, save_as

    theirs, ours = tmp_path / f"theirs.{kind}", tmp_path / f"ours.{kind}"
    Figure().savefig(theirs)
    before = theirs.read_bytes()
    for refused in (lambda: save_as(Figure(), {"s": [1]}, theirs), lambda: check_place(theirs, ["s"])):
        with pytest.raises(FileError, match=rf"theirs\.{kind} is there, and was not written by Glyptic: remove it"):
            refused()
    assert theirs.read_bytes() == before
    assert not (tmp_path / "theirs.csv").exists()
    whole = set()
    for _ in range(2):
        check_place(ours, ["s"])
        assert save_as(Figure(), {"s": [1]}, ours) == [ours, tmp_path / "ours.csv"]
        whole.add(ours.read_bytes())
    assert len(whole) == 1  # the same data give the same bytes
    assert (tmp_path / "ours.csv").read_text() == "s\n1\n"


def test_a_table_of_others_beside_a_figure_is_told_before_the_work(tmp_path):
    from glyptic.figures import check_place

    table = tmp_path / "sweep.csv"
    table.write_text("mine\n1\n")
    with pytest.raises(FileError, match=r"sweep\.csv is there, and was not written by Glyptic"):
        check_place(tmp_path / "sweep.svg", ["format", "answer"])
    words = ["prove", "parity:2", "--never-zero-attention", "--formats", "fixed:2", "--figure", str(tmp_path / "sweep.svg")]
    assert main(words) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["sweep.csv"]
    assert table.read_text() == "mine\n1\n"


def test_a_figure_has_its_data_beside_it(tmp_path):
    found = sweep(AMPLIFIED, "fixed:1..2", **QUIET)
    assert found.figure(tmp_path / "sweep.png") == [tmp_path / "sweep.png", tmp_path / "sweep.csv"]
    rows = list(csv.DictReader((tmp_path / "sweep.csv").open()))
    assert [*rows[0].values()] == ["fixed:1", "Refuted", "7", "x = 1/2: [[x·B]·B] is 1/2"]
    assert [*rows[1].values()] == ["fixed:2", "Proved", "31", ""]
    needs = least_precision(averaging_majority, 2, of=more_ones, **QUIET)
    assert needs.figure(tmp_path / "s.svg")[1] == tmp_path / "s.csv"
    assert [row["s"] for row in csv.DictReader((tmp_path / "s.csv").open())] == [str(need.s) for need in needs.needs]


def test_figures_are_in_the_style_of_all_others(monkeypatch):
    """They were in matplotlib's own: a frame on four sides, its colours, and lengths of 1.5."""
    from glyptic import figures as others
    from glyptic.figures import SERIES
    from glyptic.studies import pictures as figures

    drawn = []
    monkeypatch.setattr(figures, "save_as", lambda figure, data, path: drawn.append(figure))
    figures.draw_precision(least_precision(averaging_majority, 2, of=more_ones, **QUIET), "s.svg")
    figures.draw_sweep(sweep(AMPLIFIED, "fixed:1..2", **QUIET), "s.svg")
    (_, usual), (precision, tiles) = others.new(), drawn
    for axes in (*precision.axes, *tiles.axes):
        assert [side for side, spine in axes.spines.items() if spine.get_visible()] == ["left", "bottom"]
        assert axes.xaxis.label.get_size() == usual.xaxis.label.get_size()
    for axes in precision.axes:
        assert {line.get_color() for line in axes.lines} <= set(SERIES)
        assert all(float(tick).is_integer() for tick in axes.get_xticks())


ASKED = [{"method": "smt"}, {"engine": "reference"}, {"count_all": True}, {"method": "smt", "terms": "plain"}]


@pytest.mark.parametrize("how", ASKED)
def test_a_kept_sweep_answers_for_how_it_was_asked(tmp_path, how):
    """Another method or engine rests on other assumptions: what is kept is no answer to that."""
    if "method" in how:
        pytest.importorskip("bitwuzla")
    kept = tmp_path / "sweep.json"
    sweep(AMPLIFIED, "fixed:2", kept=kept, **QUIET)
    plain = json.loads(kept.read_text())["cells"]["fixed:2"]["digest"]
    asked, fresh = (sweep(AMPLIFIED, "fixed:2", kept=file, **how, **QUIET).verdicts["fixed:2"] for file in (kept, None))
    assert (asked.method, asked.assumptions) == (fresh.method, fresh.assumptions)
    assert json.loads(kept.read_text())["cells"]["fixed:2"]["digest"] != plain
