"""Deciders by recipe: every file opens, and each decider that it trains is proved to be its language."""

import re
from pathlib import Path

import pytest

from glyptic.distill import distill
from glyptic.distill.recipes import deciders_in, trained
from glyptic.train.recipes import read_recipe, recipes_in

FOLDER = Path(__file__).parents[2] / "recipes" / "distill"
RECIPES = recipes_in(FOLDER)


def test_there_are_enough_of_them() -> None:
    tasks = [read_recipe(path).task for path in RECIPES]
    assert len(tasks) >= 5 and sum(task.startswith("tomita:") for task in tasks) >= 3


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_makes_a_decider_without_norms(path: Path) -> None:
    _, config = read_recipe(path).open()
    assert config.norm == "none" and config.layers <= 2 and config.width <= 16


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_in_small_goes_all_the_way(path: Path, tmp_path: Path) -> None:
    """Three steps, and words of five letters: whatever it then decides is proved to be the same in all three normal forms."""
    small = tmp_path / "small.toml"
    text = re.sub(r"(?m)^(steps|evaluate) = \d+$", r"\1 = 3", path.read_text())
    small.write_text(text.replace(",12,held_out=0", ",5,held_out=0").replace(":12,held_out=0", ":5,held_out=0"))
    ((decider, out),) = deciders_in(small, tmp_path / "out", None, progress=False)
    found = distill(decider, max_length=5, rounds=0, sweep=False, out=out, progress=False)
    assert decider.name == "small" and decider.task.max_length == 5
    assert len(found.normal) == 3 and all(form.equal is not None and form.equal.proved for form in found.normal)


QUICK = ("tomita-1",)  # in seconds, so it is not left out


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=() if path.stem in QUICK else pytest.mark.slow) for path in RECIPES]
)
def test_each_is_proved_to_be_its_language_to_length_12(path: Path, tmp_path: Path) -> None:
    """In fixed point, normalized three ways, equal on all inputs; what was wrong is trained away in ten rounds at most."""
    found = distill(trained(path, tmp_path, progress=False), "fixed:8", sweep=False, out=tmp_path, progress=False)
    assert found.words.complete and found.words.max_length == 12
    assert found.language.proved and [form.kind for form in found.normal if form.equal and form.equal.proved] == [
        "zero-one", "infinity", "plus-minus",
    ]  # fmt: skip
    assert found.rounds[-1].wrong == 0 and found.rounds[-1].number <= 10
