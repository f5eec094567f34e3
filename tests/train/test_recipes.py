"""Recipes and experiments: each runs in small, says what it should reach and did; files that are none are refused."""

import re
import subprocess
from pathlib import Path

import pytest

from glyptic.cli import main
from glyptic.errors import FileError
from glyptic.train import recipes
from glyptic.train.experiments import chain, norms, places, positions, study

ROOT = Path(__file__).parent.parent.parent
RECIPES = recipes.recipes_in(ROOT / "recipes")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_runs_in_small(path: Path) -> None:
    recipe = recipes.read_recipe(path)
    done = recipes.run_recipe(recipe, small=True, progress=False)
    assert done.steps == 4 and set(recipe.reach) <= set(done.metrics) and not done.missed


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_has_reached_what_it_should(path: Path) -> None:
    """What is written of each of three seeds is as good as [reach], with its cost, below five minutes of one core."""
    recipe = recipes.read_recipe(path)
    assert recipe.about and recipe.reach and recipe.reached["processor"] and {*recipe.seeds} == {"1", "2"}
    for reached in (recipe.reached, *recipe.seeds.values()):
        measured = {name: value for name, value in reached.items() if isinstance(value, int | float)}
        assert not recipes._missed(recipe, measured)
        assert 0 < reached["seconds"] < 300 and reached["steps"] <= recipe.plan.steps


@pytest.mark.parametrize("page", ["tasks.md", "tasks.es.md"])
def test_the_page_says_what_the_recipes_say(page: str) -> None:
    said = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for row in recipes.listed([recipes.read_recipe(path) for path in RECIPES]).splitlines()[2:]:
        assert row in said, row


def test_five_deciders_can_be_exact_transformers() -> None:
    """Decoders of one or two layers, no wider than 16, relu, without what acts inside attention; three of Tomita's at least."""
    found = []
    for recipe in map(recipes.read_recipe, RECIPES):
        if recipe.task.endswith("held_out=0"):
            _, config = recipe.open()
            assert (
                config.layers <= 2
                and config.width <= 16
                and config.feed_forward == "relu"
                and config.norm in ("none", "layer")
            )
            assert config.positions in ("none", "learned") and config.context == 16 and config.norm_place == "pre"
            found.append(recipe.name)
    assert len(found) >= 5 and sum(name.startswith("tomita") for name in found) >= 3


def test_a_recipe_that_misses_says_what() -> None:
    recipe = recipes.read_recipe(ROOT / "recipes" / "tomita-1.toml")
    assert recipes._missed(recipe, {"balanced": 0.5, "wrong": 0}) == "balanced is 0.5 instead of 0.999"
    assert recipes._missed(recipe, {"balanced": 1.0, "wrong": 9}) == "wrong is 9 instead of 8"
    assert "does not give" in recipes._missed(recipe, {"loss": 1.0})
    assert recipes._missed(recipe, {"balanced": 1.0, "wrong": 0}) == ""


@pytest.mark.parametrize("metric", ["loss", "wrong", "bits_per_byte", "perplexity", "after_all"])
def test_of_what_is_better_when_less_the_most_is_meant(metric: str, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f'task = "parity"\n[reach]\n{metric} = 2.0\n')
    recipe = recipes.read_recipe(tmp_path / "r.toml")
    assert recipes._missed(recipe, {metric: 1.9}) == ""
    assert recipes._missed(recipe, {metric: 7.9}) == f"{metric} is 7.9 instead of 2"


def test_recipes_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A small recipe that reaches its aim, and one that cannot: status 0 and 1, runs in folders, which train goes on with."""
    easy = 'task = "tomita:1,4,held_out=0"\n[model]\nlayers = 1\nwidth = 8\nheads = 1\n'
    easy += "[plan]\nsteps = 120\nbatch = 32\nrate = 0.01\nwarmup = 5\n"
    (tmp_path / "easy.toml").write_text(easy + "[reach]\naccuracy = 0.9\n")
    (tmp_path / "hard.toml").write_text(easy + "[reach]\nloss = 0.0\n")
    assert main(["recipes", str(tmp_path / "easy.toml"), "--out", str(tmp_path / "runs")]) == 0
    assert re.search(
        r"^easy: loss .*; 120 steps, \d+ s of processor time; reached$", capsys.readouterr().out, re.MULTILINE
    )
    assert (tmp_path / "runs" / "easy" / "best" / "model.safetensors").exists()
    assert main(["recipes", str(tmp_path)]) == 1
    assert "MISSED: loss is" in capsys.readouterr().out
    assert main(["train", "--recipe", str(tmp_path / "easy.toml"), "--out", str(tmp_path / "runs" / "easy")]) == 0
    assert (
        main(
            [
                "train",
                "--recipe",
                str(tmp_path / "easy.toml"),
                "--rate",
                "0.02",
                "--out",
                str(tmp_path / "runs" / "easy"),
            ]
        )
        == 2
    )
    assert "holds another training run" in capsys.readouterr().err


def result(loss: float) -> recipes.RecipeResult:
    return recipes.RecipeResult("r", {"loss": loss, "top 5": 0.25}, steps=2, seconds=0.5, missed="")


def test_results_are_written_in_their_place_and_comments_stay(tmp_path: Path) -> None:
    """What stood there of a seed goes; what somebody wrote beside it, and below it of the next part, does not."""
    path = tmp_path / "r.toml"
    path.write_text(
        '# mine\ntask = "tomita:4"\n[plan]\nsteps = 2\n\n[reached]\n# measured at night\nloss = 1.0\nold = 3\n\n'
        "# chosen by hand\n[model]\nlayers = 1\n\n[seeds.1]\nloss = 0.5\n# the last word\n"
    )
    recipes.record(path, {0: result(0.125), 1: result(0.25), 2: result(0.75)})
    rows = 'loss = {}\n"top 5" = 0.25\nsteps = 2\nseconds = 1\n'
    assert path.read_text() == (
        f'# mine\ntask = "tomita:4"\n\n[plan]\nsteps = 2\n\n[reached]\n# measured at night\n{rows.format(0.125)}\n'
        f"# chosen by hand\n\n[model]\nlayers = 1\n\n[seeds.1]\n{rows.format(0.25)}# the last word\n\n"
        f"[seeds.2]\n{rows.format(0.75)}"
    )
    recipe = recipes.read_recipe(path)
    assert (recipe.reached["loss"], recipe.seeds["1"]["loss"], recipe.seeds["2"]["loss"]) == (0.125, 0.25, 0.75)
    written = path.read_bytes()
    recipes.record(path, {0: result(0.125), 2: result(0.75)})
    assert path.read_bytes() == written


@pytest.mark.parametrize(
    "part",
    [
        "[seeds]\n1 = {loss = 0.5}\n",
        "seeds.1.loss = 0.5\n",
        '[seeds."1"]\nloss = 0.5\n',
        "[ seeds.1 ]\nloss = 0.5\n",
        'about = """\n[seeds.1]\nis not this"""\n',
    ],
)
def test_what_would_not_be_read_again_is_told_before_training_and_not_written(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.toml"
    path.write_text(f'task = "tomita:4"\n{part}')
    recipes.read_recipe(path)
    before = path.read_bytes()
    with pytest.raises(FileError, match=re.escape("as tables, [seeds.1], each once")):
        recipes.record(path, {1: result(0.5)})
    monkeypatch.setattr(recipes, "run_recipe", None)
    assert main(["recipes", str(path), "--seeds", "1", "--record"]) == 2
    assert "results cannot be written into it" in capsys.readouterr().err and path.read_bytes() == before


@pytest.mark.parametrize(
    ("statuses", "commands", "status"),
    [((0, 0), 2, 0), ((1, 0), 2, 1), ((0, 1), 2, 1), ((2, 0), 2, 2), ((130, 0), 1, 130)],
)
def test_make_recipes_runs_both_folders(statuses: tuple[int, int], commands: int, status: int, tmp_path: Path) -> None:
    """With a command that only says what it is given: distill comes after a failure too, and not after Ctrl-C."""
    fake = f'#!/bin/sh\necho "$@" >> {tmp_path}/said\ntest $1 = recipes && exit {statuses[0]}\nexit {statuses[1]}\n'
    (tmp_path / "glyptic").write_text(fake)
    (tmp_path / "glyptic").chmod(0o755)
    (tmp_path / "installed").touch()
    made = subprocess.run(
        ["make", "recipes", f"BIN={tmp_path}", f"STAMP={tmp_path}/installed"], cwd=ROOT, capture_output=True, text=True
    )
    said = ["recipes recipes --out runs", "distill recipes/distill --format-steps 400 --out runs/distill"]
    assert (tmp_path / "said").read_text().splitlines() == said[:commands]
    assert (made.returncode == 0) == (status == 0) and (status == 0 or f"Error {status}" in made.stderr), made.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the task is missing"),
        ("task = 3", "'task' is not a part of a recipe, or not of its kind"),
        ("task = ", "is not a recipe"),
        ('task = "parity"\nsteps = 3', "'steps' is not a part"),
        ('task = "parity"\n[plan]\nstep = 3', "is it steps"),
        ('task = "parity"\n[plan]\nsteps = -3', "steps is -3"),
        ('task = "parity"\n[model]\nlayer = 3', "is it layers"),
        ('task = "parity"\n[reach]\nloss = nan', "must be a number"),
        ('task = "parity"\n[reach]\nloss = "low"', "must be a number"),
        ('task = "parity"\n[reach]\nacuracy = 0.9', "[reach] 'acuracy' is not a metric"),
    ],
)
def test_files_that_are_no_recipes(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(content)
    with pytest.raises(FileError, match=re.escape(said)):
        recipes.read_recipe(tmp_path / "bad.toml")


def test_places_without_recipes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "latin.toml").write_bytes(b'about = "\xe9"')
    for place in (tmp_path / "none", tmp_path / "latin.toml", Path("/dev/zero")):
        assert main(["recipes", str(place)]) == 2
    (tmp_path / "latin.toml").unlink()
    assert main(["recipes", str(tmp_path)]) == 2
    assert "has no recipes" in capsys.readouterr().err


@pytest.mark.parametrize("name", study.STUDIES)
def test_an_experiment_runs_in_small_and_goes_on(
    name: study.StudyName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = study.experiment(name, tmp_path, small=True, progress=False)
    assert {path.suffix for path in done.paths} == {".svg", ".png", ".csv"} and all(
        path.exists() for path in done.paths
    )

    def never(*_: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(study, "train", never)
    again = study.experiment(name, tmp_path, small=True, progress=False)
    assert again.rows == done.rows and again.verdict == done.verdict


def test_verdicts_follow_the_numbers() -> None:
    """Rows that are made up, for and against each claim."""
    good = [
        {"problem": p, "length": n, "steps": steps, "chain": c, "seed": seed, "exact_match": float(c == "yes")}
        for p, n, steps in (("S5", 8, 1000), *(("iterated squaring", 8, steps) for steps in (500, 1000, 4000)))
        for c in ("yes", "no")
        for seed in (0, 1)
    ]
    assert chain.verdict(good).startswith("confirmed") and "after 500, 1,000, 4,000 steps of training" in chain.verdict(good)
    assert chain.verdict([{**row, "exact_match": 1.0} for row in good]).startswith("not confirmed")
    late = [{**row, "exact_match": 1.0} if (row["steps"], row["seed"]) == (4000, 1) else row for row in good]
    assert chain.verdict(late).startswith("confirmed") and "is there after 500, 1,000 steps of training" in chain.verdict(late)
    one_fails = [{**row, "exact_match": 0.9} if row["seed"] == 1 and row["chain"] == "yes" else row for row in good]
    assert chain.verdict(one_fails).startswith("not confirmed") and "after no budget" in chain.verdict(one_fails)

    def norm(kind: str, accuracy: float, gap: float, seed: int = 0) -> dict:
        return {
            "norm": kind,
            "seed": seed,
            "batch": 1,
            "accuracy": accuracy,
            "loss in inference": 0.1 + gap,
            "loss as in training": 0.1,
        }

    assert norms.verdict([norm("layer", 0.98, 0), norm("batch", 0.3, 2)]).count("confirmed") == 2
    assert norms.verdict([norm("layer", 0.98, 0), norm("batch", 0.98, 0)]).count("refuted") == 2
    seeds = [norm("layer", 0.98, 0), norm("batch", 0.3, 2), norm("layer", 0.98, 0, 1), norm("batch", 0.97, 2, 1)]
    assert norms.verdict(seeds).startswith("batch size 1: refuted, BatchNorm reaches 63.5 % (30.0 to 97.0)")
    rows = [
        {"place": p, "warmup": w, "rate": 1e-3, "seed": seed, "balanced": 0.5 if (p, w) == ("post", 0) else 1.0}
        for p in places._PLACES
        for w in places._WARMUPS
        for seed in (0, 1)
    ]
    assert places.verdict(rows).count("confirmed") == 3
    assert places.verdict([{**row, "balanced": 1.0} for row in rows]).count("refuted") == 2
    far = [
        {"language": name, "positions": kind, "seed": seed, "32": 1.0, "64": 1.0}
        for name in positions._TASKS
        for kind in positions.KINDS
        for seed in (0, 1)
    ]
    assert positions.verdict(far).startswith("confirmed")
    assert positions.verdict([{**row, "64": 0.9} for row in far]).startswith("refuted")
    assert positions.verdict([{**row, "64": 1.0 - 0.1 * row["seed"]} for row in far]).startswith("refuted")
