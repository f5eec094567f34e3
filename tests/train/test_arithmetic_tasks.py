"""Arithmetic: questions, chains and answers against Python's own and sympy's; what is learned and what is held out."""

import numpy as np
import pytest
import torch
from sympy.combinatorics import Permutation

from glyptic import nn
from glyptic.errors import GlypticError, ModelError
from glyptic.train.plan import TEST
from glyptic.train.task import IGNORED, Side
from glyptic.train.tasks import arithmetic, registry
from glyptic.train.tasks.tokens import Symbols

NAMES = [
    "addition:3",
    "addition:2,yes",
    "modular-sum:7,5",
    "modular-sum:11,6,yes",
    "squaring:97,9",
    "squaring:1019,16,yes",
]
NAMES += ["s5:5", "s5:7,yes", "s5:3,yes,all"]


def texts(
    task: arithmetic.ReckoningTask, count: int, side: Side = "learned"
) -> list[tuple[list[str], list[str], list[str]]]:
    """Questions, thoughts and answers as tokens."""
    problems = task.problems(np.random.default_rng(5), count, side)
    parts = task.reckoning.written(problems)
    return [tuple([task.reckoning.tokens[k] for k in part[row]] for part in parts) for row in range(count)]  # type: ignore[misc]


def test_sums_are_sums() -> None:
    for question, thought, answer in texts(registry.open("addition:4,chain=yes"), 200):
        a, b = "".join(question).rstrip("=").split("+")
        assert int("".join(answer)) == int(a) + int(b) and len(answer) == 5
        assert "".join(thought[::2][::-1]) == "".join(answer[1:]) and thought[-1] == answer[0]
        carries = [int((int(a[-k:]) + int(b[-k:])) >= 10**k) for k in range(1, 5)]
        assert [*map(int, thought[1::2])] == carries


def test_sums_modulo_m_are_so() -> None:
    for question, thought, answer in texts(registry.open("modular-sum:7,5,yes"), 100):
        numbers = [*map(int, question[:-1])]
        assert [*map(int, thought + answer)] == [sum(numbers[: k + 1]) % 7 for k in range(5)] and question[-1] == "="


def test_squares_are_powers() -> None:
    for seed in range(12):
        task = registry.open("squaring:1019,16,yes")
        problems = task.problems(np.random.default_rng(seed), 20, "learned")
        question, thought, answer = task.reckoning.written(problems)
        times = question.shape[1] - 2
        for row in range(20):
            said = [*thought[row].tolist(), *answer[row].tolist()]
            assert said == [pow(int(question[row, 0]), 2 ** (k + 1), 1019) for k in range(times)]


@pytest.mark.parametrize("letters", ["all", "swaps"])
def test_permutations_compose_as_sympy_composes_them(letters: str) -> None:
    for question, thought, answer in texts(registry.open(f"s5:6,yes,{letters}"), 60):
        given = [Permutation([int(k) - 1 for k in token]) for token in question[:-1]]
        sofar = Permutation(4)
        for permutation, said in zip(given, thought + answer, strict=True):
            sofar = sofar * permutation  # sympy: the left one first
            assert [int(k) - 1 for k in said] == sofar.array_form
        if letters == "swaps":
            assert all(permutation.length() == 2 for permutation in given)


@pytest.mark.parametrize("name", NAMES)
def test_only_what_comes_after_the_question_is_learned(name: str) -> None:
    task = registry.open(name)
    for step in range(3):
        batch = task.batch(seed=1, step=step, size=8)
        tokens, targets = batch.inputs[0], batch.targets
        equals = task.reckoning.tokens.index("=")
        place = int((tokens[0] == equals).nonzero()[0])
        assert (targets[:, :place] == IGNORED).all() and (targets[:, place:] != IGNORED).all()
        assert torch.equal(targets[:, place:-1], tokens[:, place + 1 :])
        _, thought, answer = task.reckoning.lengths
        assert targets.shape[1] - place <= answer + thought * task.chain
        assert tokens.max() < task.config().vocabulary and tokens.shape[1] <= task.config().context
    assert torch.equal(task.batch(1, 0, 8).targets, task.batch(1, 0, 8).targets) and registry.open(task.name) == task


@pytest.mark.parametrize("name", NAMES)
def test_held_out_problems_are_never_drawn(name: str) -> None:
    task = registry.open(name)
    rng = np.random.default_rng(0)
    held = {
        tuple(row) for side in ("evaluated", "tested") for _ in range(10) for row in task.problems(rng, 40, side).tolist()
    }
    seen = {tuple(row) for _ in range(40) for row in task.problems(rng, 100, "learned").tolist()}
    assert held and seen and not held & seen


def every_squaring(task: arithmetic.ReckoningTask, side: Side) -> list[list[int]]:
    """Thought and answer of all problems on one side."""
    reckoning, found = task.reckoning, []
    assert isinstance(reckoning, arithmetic.Squares)
    for times in range(1, reckoning.most + 1):
        problems = np.zeros((reckoning.modulus, times), dtype=np.int64)
        problems[:, 0] = np.arange(reckoning.modulus)
        _, thought, answer = reckoning.written(problems[task.sides(problems) == side])
        found += np.concatenate([thought, answer], axis=1).tolist()
    return found


@pytest.mark.parametrize("name", ["squaring:1019,16,yes", "squaring:97,9,yes", "squaring:1000,5,yes"])
def test_no_chain_of_squares_that_is_held_out_begins_one_that_is_learned(name: str) -> None:
    """However often a number is squared, and of whichever number it is the square."""
    task = registry.open(name)
    learned = {tuple(row[:end]) for row in every_squaring(task, "learned") for end in range(1, len(row) + 1)}
    tested = {tuple(row[:end]) for row in every_squaring(task, "tested") for end in range(1, len(row) + 1)}
    for side in ("evaluated", "tested"):
        held = {tuple(row) for row in every_squaring(task, side)}
        assert len(held) > 10 and not {row for row in held if row in learned}
        assert side == "tested" or not held & tested


@pytest.mark.parametrize("name", ["addition:3,yes", "addition:2,yes", "modular-sum:7,5,yes", "s5:5,yes", "squaring:1019,16,yes"])
def test_no_chain_that_is_held_out_is_learned_of_another_problem(name: str) -> None:
    task = registry.open(name)

    def written(side: Side, draws: int, count: int) -> set[str]:
        rng = np.random.default_rng(1)
        rows = [row for _ in range(draws) for row in task._written(task.problems(rng, count, side))[1].tolist()]
        return {f"{row}"[:-1] + "," for row in rows}

    learned = written("learned", 100, 400)
    for held in (written("evaluated", 4, 100), written("tested", 4, 100)):
        assert len(held) > 10 and not held & learned


def test_steps_that_chains_are_made_of_are_all_learned() -> None:
    task = registry.open("squaring:1019,16,yes")
    assert (task.sides(np.arange(1019)[:, None]) == "learned").all()
    assert all(rows.shape[1] > 1 for seed in (0, TEST) for rows in task.evaluated(seed))


def test_what_is_held_out_is_about_one_in_so_many() -> None:
    rows = np.random.default_rng(0).integers(0, 10, (20_000, 6))
    assert 0.115 < arithmetic.held_out.prefixes(rows, 8)[:, -1].mean() < 0.135
    assert 0.055 < (arithmetic.held_out.sides(rows, 8) == "tested").mean() < 0.07


def test_an_answer_counts_only_when_the_model_writes_it_itself() -> None:
    """A model that is made to be right: the answer of 0+0 alone is known to one that always writes 0."""
    task = registry.open("addition:1,held_out=2")
    model = nn.build(task.config().replace(layers=1, width=8, heads=1), seed=0).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.stack.ln_final.bias.fill_(1.0)  # then the output matrix alone decides
        model.output.weight[0] = 1.0
        found = task.evaluate(model, 0)
    zeros = np.mean([(row == 0).all() for row in np.concatenate(task.evaluated(0))])
    assert found["exact_match"] == zeros < 0.2


def test_vocabularies_lie_beside_the_weights() -> None:
    import json

    task = registry.open("s5:4")
    said = json.loads(task.files()["vocabulary.json"])
    assert said["tokens"][0] == "12345" and len(said["tokens"]) == 121 == task.config().vocabulary
    assert Symbols(tuple(said["tokens"])).encode("21345 =") == [24, 120]


@pytest.mark.parametrize(
    "name",
    [
        "addition:0",
        "addition:65",
        "addition:3,maybe",
        "addition:3,chain=",
        "modular-sum:1",
        "modular-sum:2,3",
        "squaring:2,2",
        "squaring:0",
        "s5:1",
        "s5:0",
        "s5:4,yes,some",
        "s5:4,held_out=1",
        "addition:3,no,8,9",
        "addition:-3",
        "addition:3.5",
        "addition:1,held_out=1000",
        "modular-sum:2,6,held_out=50",
        "squaring:7,16",
        "squaring:2,32",
        "squaring:1019,1,yes",
        "modular-sum:64,1,yes",
    ],
)
def test_bad_names_are_one_sentence(name: str) -> None:
    with pytest.raises(GlypticError) as caught:
        registry.open(name)
    assert "\n" not in str(caught.value)


def test_models_that_cannot_write_are_refused() -> None:
    task = registry.open("addition:3")
    for changes, said in (
        ({"vocabulary": 13}, "has 12 tokens"),
        ({"context": 5}, "12 tokens"),
        ({"head": "class", "classes": 2}, "head"),
    ):
        with pytest.raises(ModelError, match=said):
            task.check(task.config().replace(**changes))
