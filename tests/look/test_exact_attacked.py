"""The page of an exact run under attack: no number that is wrong without a word, and no fragment that breaks it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.look.chromium import browser, needs_chromium, page_of  # noqa: F401 (browser is a fixture)
from tests.look.test_exact_page import cells, traced, verdict

from glyptic import programs
from glyptic.errors import InputError
from glyptic.exact import FeedForward, Layer, Options, Sizes, Transformer, random_transformer
from glyptic.look import page
from glyptic.numbers import parse_format

pytestmark = needs_chromium


def looking_back(format: str = "fixed:4", vocabulary: Any = "ab") -> Transformer:
    """Without layers: the answer is that of the last token."""
    embedding = [[i + 1, 0] for i in range(len(vocabulary))]
    return Transformer.of(format, vocabulary, ["x", "y"], embedding, [[0, 0], [1, 0]], ["NO", "YES"], max_length=6)


def problems(tab: Any) -> str:
    """Every complaint that can be read on the page just now."""
    seen = "all => all.filter((each) => each.checkVisibility()).map((each) => each.textContent).join(' ')"
    return str(tab.eval_on_selector_all(".problem", seen)).strip()


def test_tokens_with_spaces_are_appended_as_they_are(browser: Any) -> None:  # noqa: F811
    """“a b” is a token of its own, and not a and b: a text cannot say it, so the link has numbers."""
    transformer = looking_back(vocabulary=("a", "a b", "b"))
    with page_of(browser, page(transformer, ["b"])) as tab:
        tab.click("#ex-token-1")
        assert cells(tab)["x"] == traced(transformer, ["b", "a b"], "embedding")["x"]
        tab.reload()
        tab.wait_for_selector("body[data-ready=yes]")
        assert cells(tab)["x"] == ["3", "2"]
        tab.click("#ex-drop")
        assert cells(tab)["x"] == ["3"]
        tab.fill("#ex-input", "a b")
        assert cells(tab)["x"] == ["1", "3"]
        tab.click("#ex-token-0")  # what was typed, and not what was there before
        assert cells(tab)["x"] == ["1", "3", "1"]


def test_the_keyboard_keeps_its_place_when_all_is_computed_anew(browser: Any) -> None:  # noqa: F811
    with page_of(browser, page(programs.open("parity:4", "fixed:4"), "01"), "#open=1") as tab:
        for place, key in (
            ("ex-o-mask", "ArrowDown"),
            ("ex-o-products", "ArrowDown"),
            ("ex-token-1", "Enter"),
            ("ex-drop", "Enter"),
        ):
            tab.focus(f"#{place}")
            before = tab.evaluate("location.hash")
            tab.keyboard.press(key)
            assert tab.evaluate("location.hash") != before
            assert tab.evaluate("document.activeElement.id") == place


def test_the_ladder_says_what_its_rungs_lead_to(browser: Any) -> None:  # noqa: F811
    """Each rung is the given transformer in that format, whatever format is shown."""
    transformer = random_transformer("fixed:8", 4, Sizes(layers=2, heads=1, density=1.0))
    rungs = """all => Object.fromEntries(all.map((each) =>
        [each.dataset.format, each.querySelector(".answer").textContent.replace("≠ ", "")]))"""
    with page_of(browser, page(transformer, "0110")) as tab:
        tab.wait_for_selector(".rung")
        given = tab.eval_on_selector_all(".rung", rungs)
        assert given == {name: transformer.in_format(name).run_batch(["0110"]).answers[0] for name in given}
        tab.fill("#ex-format", "fixed:1")
        tab.wait_for_selector(".rung.now[data-format='fixed:1']")
        assert tab.eval_on_selector_all(".rung", rungs) == given


def test_a_weight_that_the_new_format_has_not_is_told_at_once(browser: Any) -> None:  # noqa: F811
    transformer = programs.open("parity:4", "fixed:8")
    with page_of(browser, page(transformer, "0110"), "#w=output:0:0:1/256") as tab:
        assert problems(tab) == ""
        tab.fill("#ex-format", "fixed:2")
        assert "1/256" in problems(tab)
        tab.fill("#ex-format", "fixed:8")
        assert problems(tab) == ""


def test_steps_that_a_longer_input_leaves_no_room_for_are_told(browser: Any) -> None:  # noqa: F811
    transformer = random_transformer("fixed:4", 1, Sizes(answers=("0", "1"), max_length=6)).with_options(
        ties="first", answer="logits"
    )
    with page_of(browser, page(transformer, "010", steps=3)) as tab:
        assert len(tab.inner_text(".verdictbox").split("Chain of thought:")[1].split()) >= 3
        tab.fill("#ex-input", "010101")
        assert "3" in problems(tab) and tab.input_value("#ex-count") == "1"
        tab.fill("#ex-input", "010")
        assert problems(tab) == "" and tab.input_value("#ex-count") == "3"


def test_a_recording_that_is_brought_to_life_says_so(browser: Any) -> None:  # noqa: F811
    transformer = programs.open("parity:4", "fixed:30")
    with page_of(browser, page(transformer, "0110")) as tab:
        assert tab.is_visible(".recording") and tab.is_disabled("#ex-input")
        tab.fill("#ex-format", "fixed:4")
        assert tab.query_selector(".recording") is None and tab.is_enabled("#ex-input")
        assert tab.evaluate("document.activeElement.id") == "ex-format"
        tab.select_option("#ex-stage", "embedding")
        expected = traced(transformer.in_format("fixed:4"), "0110", "embedding")
        assert cells(tab).items() <= expected.items() and len(cells(tab)) > 3


def test_recorded_numbers_too_small_or_too_near_for_doubles(browser: Any) -> None:  # noqa: F811
    """What is not 0 is not folded away as 0; what has changed is framed, also where doubles see no difference."""
    format = parse_format("float:12,20")
    tiny = Transformer.of(format, "ab", ["x", "y"], [[format.least, 1], [0, 1]], [[1, 0], [0, 1]], ["NO", "YES"])
    with page_of(browser, page(tiny, "a")) as tab:
        assert cells(tab) == traced(tiny, "a", "embedding")
        assert "e−623" in tab.inner_text("table.stream tr[data-i='0'] td")
    add = FeedForward.of("exact:10", [[0, 1]], [0], [["1/10"], [0]], [0, 0])
    near = Transformer.of(
        "exact:10",
        "a",
        ["x", "y"],
        [[10**17, 1]],
        [[1, 0]],
        ["NO"],
        layers=[Layer((), add)],
        options=Options(answer="logits"),
    )
    with page_of(browser, page(near, "a")) as tab:
        assert cells(tab)["x"] == ["1000000000000000001/10"]
        assert tab.eval_on_selector_all("table.stream td.changed", "all => all.length") == 1


def test_numbers_too_long_to_write_are_refused() -> None:
    wide = Transformer.of("float:16,20", "a", ["x"], [["B"]], [[1]], ["NO"], options=Options(answer="logits"))
    assert page(wide, "a").views[0].data["sides"][0]["recorded"]["limits"] == {}
    least = wide.replace(token_embedding=np.array([[1]]))
    with pytest.raises(InputError, match="narrower format"):
        page(least, "a")


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_recorded_0_over_0_is_told_in_the_language_of_the_page(browser: Any, language: str) -> None:  # noqa: F811
    low = Transformer.of("fixed:30", "a", ["x"], [["-B"]], [[1], [1]], ["NO", "YES"])
    with page_of(browser, page(low, "a"), f"#lang={language}") as tab:
        assert ("rounds to 0" if language == "en" else "redondea a 0") in tab.inner_text(".verdictbox"), tab.inner_text(
            ".verdictbox"
        )


FRAGMENTS = [
    *(
        "#view=0.5",
        "#view=-3",
        "#view=1e99",
        "#view=NaN",
        "#step=0.5",
        "#step=-1",
        "#step=1e300",
        "#steps=1e300",
        "#steps=-4",
        "#steps=2.5",
    ),
    *(
        "#stage=constructor",
        "#stage=__proto__",
        "#stage=toString",
        "#stage=layer.99.hidden",
        "#cell=__proto__@0",
        "#cell=@",
        "#cell=odd@1e9",
    ),
    *(
        "#cell=x@-1",
        "#part=head99",
        "#part=constructor",
        "#part=norms",
        "#layer=1.5",
        "#layer=-1",
        "#layer=1e9",
        "#at=1.5",
        "#at=1e9",
        "#at=-2",
    ),
    *(
        "#format=constructor",
        "#format=fixed:512",
        "#format=exact",
        "#format=ieee:15,256",
        "#format=%00",
        "#format=fixed:8/even/even",
    ),
    *(
        "#o.mask=constructor",
        "#o.scale=maybe",
        "#o.norm=pre",
        "#o.ties=",
        "#o.products=unrounded&o.attention=average&o.mask=strict&o.scale=true",
    ),
    *(
        "#w=",
        "#w=;;;",
        "#w=a:b:c:d",
        "#w=output:0:0:1e9999",
        "#w=output:0.5:0:1",
        "#w=output:-1:0:1",
        "#w=output:0:0:",
        "#w=output:NaN:0:1",
    ),
    *(
        "#w=__proto__:0:0:1",
        "#w=layers.0.heads:0:0:1",
        "#w=" + ";".join(["output:0:0:1"] * 2000),
        "#input=",
        "#input=%F0%9F%98%80",
        "#input=%",
    ),
    *(
        "#input=" + "0" * 5000,
        "#input=%20%20",
        "#lang=xx",
        "#lang=__proto__",
        "#light=x",
        "#size=x",
        "#zeros=2&rows=9&whole=x&matrices=7&open=8",
    ),
    *(
        "#" + "&" * 3000,
        "#=%=%=",
        "#" + "a" * 20000,
        "#%E0%A4%A",
        "#stage=" + "x" * 5000,
        "#tokens=0.0.9",
        "#tokens=x",
        "#tokens=" + "0." * 4000,
    ),
]


@pytest.mark.parametrize("recorded", [False, True])
def test_no_fragment_breaks_the_page(browser: Any, recorded: bool) -> None:  # noqa: F811
    """A link may be anything: the page comes up with an answer, and all its panels."""
    shown = page(programs.open("parity:4", "fixed:30" if recorded else "fixed:4"), "0110")
    with page_of(browser, shown) as tab:
        place = tab.url
        for fragment in FRAGMENTS:
            tab.evaluate("document.body.dataset.ready = 'no'")
            tab.goto(place + fragment)
            tab.wait_for_selector("body[data-ready=yes]", timeout=5000)
            assert verdict(tab) in ("YES", "NO", "TIE", "UNDEFINED"), fragment
            filled = tab.eval_on_selector_all("section.panel", "all => all.every((each) => each.children.length > 0)")
            assert filled, fragment
            for key in ("]", "[", ">", "<", "ArrowDown", "ArrowRight", "Escape", "ArrowLeft"):
                tab.keyboard.press(key)


def test_the_forty_first_change_of_a_weight_is_refused(browser: Any) -> None:  # noqa: F811
    """A link carries forty; none is dropped in silence."""
    transformer = random_transformer("fixed:4", 1, Sizes(layers=1, heads=1, width=8, key_width=8))
    many = ";".join(f"layers.0.heads.0.query:{i}:{j}:3" for i in range(8) for j in range(8))
    with page_of(browser, page(transformer, "0110"), f"#w={many}") as tab:
        assert "40" in problems(tab)
    forty = ";".join(f"layers.0.heads.0.query:{i}:{j}:3" for i in range(5) for j in range(8))
    with page_of(browser, page(transformer, "0110"), f"#w={forty}&stage=layer.0.after_attention") as tab:
        assert problems(tab) == ""
        tab.click("[data-weight='layers.0.heads.0.key:0:0']")
        tab.keyboard.type("2")
        tab.keyboard.press("Enter")
        assert "40" in problems(tab) and tab.evaluate("location.hash").count("query") == 40


def test_minus_infinity_of_two_formats_differs(browser: Any) -> None:  # noqa: F811
    """−B of fixed:4 is not −B of fixed:6, though both are written −∞; and a number is itself, however it is written."""

    def plain(format: str, last: Any) -> Transformer:
        return Transformer.of(format, "ab", ["x", "y"], [["-B", last], [0, 1]], [[1, 0], [0, 1]], ["NO", "YES"])

    one, other = plain("fixed:4", "B"), plain("fixed:6", "255/16")
    with page_of(browser, page(one, "a", against=(other, "a")), "#stage=embedding") as tab:
        differs = tab.eval_on_selector_all(
            ".streambox:first-of-type td.differs", "all => all.map((each) => each.dataset.i)"
        )
        assert sorted(set(differs)) == ["0"]
