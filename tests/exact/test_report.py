"""What people see of a transformer."""

import pytest
from tests.numbers.families import small_formats

from glyptic.errors import ModelError
from glyptic.exact import Sizes, Transformer, random_transformer, show_number, show_trace
from glyptic.numbers import Exact, Fixed, Q, number, parse_format


@pytest.mark.parametrize("format", small_formats(), ids=str)
def test_what_is_shown_of_a_number_is_read_as_that_number(format) -> None:
    """In two's complement too, where −∞ once stood for two values."""
    shown = [show_number(value, format) for value in format.values()]
    assert len(set(shown)) == format.size
    assert [number(text, format) for text in shown] == list(format.values())


def test_infinity_is_the_largest_value_and_its_opposite_where_that_is_the_smallest() -> None:
    assert [show_number(x, Q(2, 0)) for x in (Q(2, 0).max, -Q(2, 0).max, Q(2, 0).min)] == ["∞", "-3", "-4"]
    assert [show_number(x, Fixed(1)) for x in (Fixed(1).max, Fixed(1).min)] == ["∞", "-∞"]


def test_describe() -> None:
    text = random_transformer(Fixed(4), 1, Sizes(layers=3)).describe()
    for words in (
        "fixed:4: 511 values, B = 255/16",
        "engine         fast",
        "6 coordinates: x0 x1",
        "multiply-adds a position",
    ):
        assert words in text
    assert [line.split()[:3] for line in text.splitlines() if "%" in line] == [[str(l), "2", "8"] for l in range(3)]
    assert "reference only: fixed:20 needs 60 bits" in random_transformer(parse_format("fixed:20"), 1).describe()
    assert "rationals" in random_transformer(Exact(), 1, Sizes(layers=0, heads=0)).describe()
    headless = random_transformer(Fixed(4), 1, Sizes(heads=0)).describe()
    assert "a pair" not in headless and "no layers" not in headless
    assert "no layers" in random_transformer(Fixed(4), 1, Sizes(layers=0)).describe()


def test_cost_counts_what_is_not_zero() -> None:
    dense = random_transformer(Fixed(4), 1, Sizes(layers=1, heads=1, density=1.1))
    per_position = 6 * 3 * 4 + 2 * 6 * 8
    zeros = sum(int((a == 0).sum()) for _, a in dense.layers[0].heads[0].arrays())
    zeros += sum(int((a == 0).sum()) for a in (dense.layers[0].feed_forward.w1, dense.layers[0].feed_forward.w2))
    assert f"cost: {per_position - zeros} multiply-adds a position, 6 a pair" in dense.describe()


def test_trace_is_legible() -> None:
    transformer = random_transformer(Fixed(2), 4, Sizes(layers=1))
    text = show_trace(transformer.with_options(attention="leftmost").run("011", trace=True))
    assert "layer.0.after_feed_forward\nposition" in text
    assert "layer.0.head.1.weights\nquery \\ key" in text
    assert "\n2 1" in text and "/" in text


def test_a_run_is_printed_as_tables() -> None:
    transformer = Transformer.of(
        "fixed:8", "ab", ["x", "spare", "y"], [[1, 0, 0], [0, 0, 1]], [["-B", 0, 0], ["B", 0, 0]], ["a", "b"], max_length=4
    )
    plain = str(transformer.run("ba"))
    assert plain == (
        "answer  logit  probability\n"
        "──────  ─────  ───────────\n"
        "a          -∞            0\n"
        "b           ∞            1\n"
        "\n"
        "answer after b a: b"
    )
    traced = str(transformer.run("ba", steps=2, trace=True))
    assert traced.startswith("embedding\nposition  x  y\n") and "chain: b TIE\nanswer after b a b: TIE" in traced
    logits = transformer.with_options(answer="logits").run("ba")
    assert "probability" not in str(logits) and "a          -∞" in str(logits)


def test_a_trace_says_what_it_leaves_out_and_from_where_it_counts() -> None:
    transformer = Transformer.of("fixed:8", "ab", ["x", "spare", "y"], [[1, 0, 0], [0, 0, 1]], [[1, 0, 0]], ["A"], max_length=4)
    text = show_trace(transformer.run("ab", trace="embedding"))
    assert "0 at every position: spare" in text and "count from 0" in text
    whole = random_transformer("fixed:4", 1, Sizes(layers=0, density=1))
    assert "0 at every position" not in show_trace(whole.run("01", trace="embedding"))
    with pytest.raises(ModelError, match="names are texts without line breaks"):
        transformer.replace(coordinates=("x", "\x1b[2J", "y"))
