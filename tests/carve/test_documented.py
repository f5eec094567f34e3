"""The figures of docs/constructions.md, read from the page and computed again."""

import re
from pathlib import Path

import pytest

from glyptic.carve.amplify import plan
from glyptic.numbers import NAMED, Fixed, Float

PAGE = (Path(__file__).parents[2] / "docs" / "constructions.md").read_text()


def table_row(start: str) -> list[str]:
    line = next(line for line in PAGE.splitlines() if line.startswith(f"| {start} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("start", "formats"),
    [
        ("fixed F(s), s ≥ 2", [Fixed(s) for s in (2, 3, 5, 8, 16)]),
        ("fixed F(1)", [Fixed(1)]),
        ("floats F(e, s)", [Float(e, s) for e in (1, 2, 3, 5) for s in (2, 3, 8)] + [Float(2, 1)]),
        ("F(1, 1)", [Float(1, 1)]),
        ("fp8 E4M3, E5M2", [NAMED["fp8_e4m3"].with_ties("zero"), NAMED["fp8_e5m2"].with_ties("zero")]),
        ("bf16", [NAMED["bf16"].with_ties("zero")]),
        ("fp16, fp32", [NAMED["fp16"].with_ties("zero"), NAMED["fp32"].with_ties("zero")]),
    ],
)
def test_the_table_of_copies(start: str, formats: list) -> None:
    _, _, copies, swing, before = table_row(start)
    for format in formats:
        found = plan(format)
        assert found is not None
        for text, value in ((copies, found.copies), (swing, found.swing), (before, len(found.early))):
            numbers = [int(n) for n in re.findall(r"\d+", text)]
            assert min(numbers) <= value <= max(numbers), (format, text, value)


def test_overwriting_by_a_difference_fails_as_often_as_the_page_says() -> None:
    values, round_ = list(Fixed(2).values()), Fixed(2).round
    wrong = sum(round_(h + round_(t - h)) != t for h in values for t in values)
    assert f"{wrong} of the {len(values) ** 2} pairs" in PAGE
