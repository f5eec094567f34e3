"""docs/constructions.md: its figures and its examples; every construction has its name, row, theorem and frame."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from glyptic import carve
from glyptic.carve.amplify import plan
from glyptic.numbers import NAMED, Fixed, Float
from glyptic.theorems.proving import THEOREMS
from tests.carve.test_public import CASES, start

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


def constructions() -> list[str]:
    """What carve offers: functions that check their arguments and give a Transformer, by the names that they go by."""
    found = []
    for module in (importlib.import_module(f"glyptic.carve.{each.name}") for each in pkgutil.iter_modules(carve.__path__)):
        room = module.__name__.rsplit(".", 1)[-1]
        for name, function in inspect.getmembers(module, inspect.isfunction):
            ours = function.__module__ == module.__name__ and hasattr(function, "__wrapped__")
            if ours and function.__annotations__["return"] == "Transformer" and room != "examples":
                found.append(name if room in ("coordinates", name) else f"{room}.{name}")
    return found


WITHOUT_THEOREM = {
    "rename": "no weight changes, so there is nothing to prove",
    "append": "the layers are those of the caller",
}
WITHOUT_FRAME = {
    **dict.fromkeys(("widen", "rename", "permute", "free"), "coordinates come, go or change places; nothing is computed"),
    "append": "whoever appends layers says what they do, by frames.carved",
    "beside": "the frames of each are kept, under its label",
}


@pytest.mark.parametrize("name", constructions())
def test_every_construction_has_its_name_its_row_its_theorem_and_its_frame(name: str) -> None:
    room = name.split(".")[0]
    assert room in carve.__all__, f"src/glyptic/carve/__init__.py has no import of {room} under `if TYPE_CHECKING`"
    first_cells = [line.split(" | ")[0] for line in PAGE.splitlines() if line.startswith("| `")]
    assert any(f"`{name}`" in cell for cell in first_cells), f"docs/constructions.md has no row of {name}"
    proved = any(theorem.name.split(",")[0] == name for theorem in THEOREMS)
    assert proved != (name in WITHOUT_THEOREM), f"glyptic.theorems has no theorem of {name}"
    assert name in CASES, f"tests/carve/test_public.py, CASES, has no call of {name}"
    build, arguments = CASES[name]
    framed = [frame.construction for frame in build(start(), *arguments).history[-1:]]
    assert (name in WITHOUT_FRAME) or framed[0].startswith(name), f"the frame of {name} is of {framed}; end it with carved(…)"


def test_what_is_without_a_theorem_or_a_frame_is_there() -> None:
    found = constructions()
    assert len(found) > 30 and {*WITHOUT_THEOREM, *WITHOUT_FRAME} <= {*found}


def test_every_example_of_the_page_runs() -> None:
    page = Path(__file__).parents[2] / "docs" / "constructions.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE, encoding="utf-8")
    assert tried > 30 and failed == 0
