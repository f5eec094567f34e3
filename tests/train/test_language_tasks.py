"""Deciders as tasks: words and labels against an oracle, balance, and that what is held out is never learned."""

from itertools import product

import numpy as np
import pytest
import torch
from automata.fa.dfa import DFA

from glyptic import nn
from glyptic.errors import GlypticError, InputError, ModelError
from glyptic.languages import tomita
from glyptic.programs import open as open_decider
from glyptic.train.task import IGNORED, Task
from glyptic.train.tasks import deciders, registry
from glyptic.train.tasks.languages import words_of

NAMES = [
    *("tomita:1,held_out=3", "tomita:2,20,held_out=3", *(f"tomita:{number}" for number in range(3, 8))),
    *("parity:10", "modular:3,2", "contains:101", "first-equals-last", "majority", "palindromes", "regex:(01)*|1*,9,held_out=2"),
    *(
        "dyck:1,10",
        "dyck:2,10",
        "dyck:2,12,depth=2",
        "dyck:3,8",
        "majority:7,letter=c,vocabulary=abc",
        "parity:9,letter=b,vocabulary=ab",
    ),
]


def truth(name: str, word: str) -> bool:
    """By a few lines that share nothing with the tasks."""
    kind, _, given = name.partition(":")
    match kind:
        case "parity":
            return word.count("b" if "letter=b" in given else "1") % 2 == 1
        case "modular":
            return word.count("1") % 3 == 2
        case "contains":
            return "101" in word
        case "first-equals-last":
            return word[0] == word[-1]
        case "majority":
            return 2 * word.count("c" if "letter=c" in given else "1") > len(word)
        case "palindromes":
            return word == word[::-1]
        case "regex":
            return word.replace("01", "") == "" or set(word) == {"1"}
        case "tomita":
            return _tomita(int(given[0]))(word)
        case "dyck":
            deep = 2 if "depth=2" in given else 99
            opened = ""
            for letter in word:
                if letter in "([{":
                    opened += letter
                elif not opened or "([{".index(opened[-1]) != ")]}".index(letter):
                    return False
                else:
                    opened = opened[:-1]
                if len(opened) > deep:
                    return False
            return not opened
    raise AssertionError(kind)


def _tomita(number: int):
    machine = tomita(number)
    states = set(range(len(machine.moves)))
    moves = {s: dict(zip(machine.alphabet, row, strict=True)) for s, row in enumerate(machine.moves)}
    oracle = DFA(
        states=states, input_symbols={"0", "1"}, transitions=moves, initial_state=0, final_states=set(machine.accepting)
    )
    return oracle.accepts_input


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_those_of_the_language(name: str) -> None:
    task = registry.open(name)
    letters = task.language.alphabet
    for step in range(6):
        batch = task.batch(seed=3, step=step, size=16)
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True):
            word = "".join(letters[k] for k in row)
            for end, target in enumerate(targets, 1):
                assert target in (IGNORED, truth(name, word[:end])), word[:end]


@pytest.mark.parametrize("name", NAMES)
def test_members_are_members_and_half_of_the_words(name: str) -> None:
    task, rng = registry.open(name), np.random.default_rng(0)
    for length in range(1, task.max_length + 1):
        members = task.language.members(rng, length, 50)
        there = [
            "".join(word)
            for word in product(task.language.alphabet, repeat=length)
            if length <= 6 and truth(name, "".join(word))
        ]
        if length <= 6:
            assert (members is None) == (not there)
        if members is not None:
            assert task.language.beginnings(members)[:, -1].all() and members.shape == (50, length)
        share = task.language.beginnings(words_of(rng, task.language, length, 64))[:, -1].mean()
        few = length <= 6 and len(there) > 0.95 * len(task.language.alphabet) ** length
        assert members is None or few or 0.4 <= share <= 0.65, (length, share)


def test_members_are_drawn_evenly() -> None:
    """All members of a length of Tomita 4, and of balanced brackets, about as often."""
    for name, length in (("tomita:4", 5), ("dyck:2,8", 6)):
        language = registry.open(name).language
        drawn = language.members(np.random.default_rng(1), length, 40_000)
        words, counts = np.unique(drawn, axis=0, return_counts=True)
        letters = "".join(language.alphabet)
        assert len(words) == sum(truth(name, "".join(word)) for word in product(letters, repeat=length))
        assert counts.min() / counts.max() > 0.7 and counts.max() / counts.mean() < 1.25


@pytest.mark.parametrize("name", ["tomita:3", "parity", "dyck:2,12", "palindromes"])
def test_what_is_held_out_is_never_a_target(name: str) -> None:
    task = registry.open(name)
    held = {tuple(word) for words in task.evaluated(0) for word in words.tolist()}
    assert len(held) > 100
    seen = set()
    for step in range(40):
        batch = task.batch(seed=0, step=step, size=64)
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True):
            seen |= {tuple(row[: end + 1]) for end, target in enumerate(targets) if target != IGNORED}
    assert len(seen) > 500 and not held & seen


def test_without_held_out_words_all_are_evaluated() -> None:
    task = registry.open("tomita:1,6,held_out=0")
    assert sum(map(len, task.evaluated(0))) == task.number_of_words() == 126
    assert not (task.batch(0, 0, 16).targets == IGNORED).any()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_batches_may_be_small(name: str, size: int) -> None:
    task = registry.open(name)
    for step in range(8):
        batch = task.batch(0, step, size)
        assert batch.inputs[0].shape == batch.targets.shape and len(batch.targets) == size and batch.inputs[0].max() >= 0


def test_a_batch_is_a_function_of_seed_and_step() -> None:
    task = registry.open("dyck:2")
    first, again, other = (task.batch(seed, 7, 32) for seed in (1, 1, 2))
    assert torch.equal(first.inputs[0], again.inputs[0]) and torch.equal(first.targets, again.targets)
    assert first.inputs[0].shape != other.inputs[0].shape or not torch.equal(first.inputs[0], other.inputs[0])


def test_words_besides_come_again_and_are_not_held_out() -> None:
    task = registry.open("tomita:4,12,also=110100100111+000")
    assert task.also == ("110100100111", "000")
    wanted, plain = [1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1], registry.open("tomita:4")
    found = [
        targets[-1]
        for step in range(40)
        for batch in [task.batch(0, step, 16)]
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True)
        if row == wanted
    ]
    assert len(found) > 20 and set(found) == {1}
    assert isinstance(task, Task) and plain != task


def test_accuracy_and_balance_are_counted_as_they_are_named() -> None:
    """A model that always says NO: nearly always right of 1*, and no better than a coin."""
    task = registry.open("tomita:1,8,held_out=0")
    model = nn.build(task.config(), seed=0).eval()
    with torch.no_grad():
        model.output.weight.zero_()
        model.output.bias.copy_(torch.tensor([1.0, 0.0]))
        found = task.evaluate(model, 0)
    assert found["wrong"] == 8 and found["accuracy"] == pytest.approx(1 - 8 / 510) and found["balanced"] == 0.5


def test_what_is_said_at_every_place_is_what_is_said_of_the_word_that_ends_there() -> None:
    task = registry.open("parity:8")
    model = nn.build(task.config(), seed=1).eval()
    words = torch.tensor([[0, 1, 1, 0, 1, 0, 0, 1]])
    everywhere = deciders.at_every_place(model, words)
    for end in range(1, 9):
        assert torch.allclose(everywhere[:, end - 1], model(words[:, :end]), atol=1e-6)


@pytest.mark.parametrize("decider", ["parity:8", "majority:8", "palindromes:8", "contains:101,8", "tomita:6,8"])
def test_carved_deciders_agree_with_the_tasks_of_their_names(decider: str) -> None:
    """The names stand for one language in both rooms."""
    exact, task = open_decider(decider, "fixed:4"), registry.open(decider.replace("contains:101,8", "contains:101,8"))
    words = ["".join(word) for length in (1, 4, 7) for word in product("01", repeat=length)]
    for word in words:
        numbers = np.array([[int(letter) for letter in word]])
        assert exact.answer(word) == ("YES" if task.language.beginnings(numbers)[0, -1] else "NO"), word


def test_what_an_exact_transformer_decides_can_be_learned(tmp_path) -> None:
    """By name and from a folder, the same answers as its runs."""
    both = open_decider("parity:8", "fixed:4") & ~open_decider("contains:101,8", "fixed:4")
    both.save(tmp_path / "both")
    task = registry.open(f"program:{tmp_path}/both,8")
    assert registry.open(task.name) == task and registry.open("program:parity:8") != task
    for step in range(6):
        batch = task.batch(seed=0, step=step, size=8)
        for row, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True):
            for end, target in enumerate(targets, 1):
                assert target in (IGNORED, both.answer("".join(map(str, row[:end]))) == "YES")
    for bad in ("program:nothing", "program:parity:6,7", "program:parity:16,16", "program:random:3;2;8", "program:"):
        with pytest.raises(GlypticError):
            registry.open(bad)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vocabulary": 3}, "vocabulary=3, and tomita:number=3,max_length=12 has 2 letters; let it be 2"),
        ({"classes": 3}, "classes=3"),
        ({"context": 4}, "context=4 is shorter than the words"),
        ({"head": "linear"}, "head='linear'"),
    ],
)
def test_models_that_cannot_decide_are_refused(changes: dict, said: str) -> None:
    task = registry.open("tomita:3")
    with pytest.raises(ModelError, match=said):
        task.check(task.config().replace(**changes))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "tomita",
        "tomita:8",
        "tomita:0",
        "tomita:x",
        "tomita:3,0",
        "tomita:3,12,13,14,15",
        "tomita:3,number=2",
        "regex",
        "regex:(0",
        "regex:0+1",
        "parity:-1",
        "parity:1e9",
        "parity:nan",
        "parity:vocabulary=00",
        "parity:vocabulary=",
        "parity:letter=7",
        "dyck:4",
        "dyck:0",
        "contains:2",
        "modular:3,3",
        "parity:8,held_out=-1",
        "tomita:3,also=2",
        "tomita:3,also=+",
        "nosuch:1",
        "tomita:3,\n",
        "majority:vocabulary=0 1",
        "tomita:99999999999999999999",
        "tomita:1,6",
    ],
)
def test_names_that_stand_for_nothing_are_one_sentence(name: str) -> None:
    with pytest.raises(GlypticError) as caught:
        registry.open(name)
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 10


@pytest.mark.parametrize("name", ["tomita:1", "tomita:1,16", "regex:(01)*", "regex:01", "contains:1", "tomita:2,7", "tomita:2"])
def test_what_no_evaluation_could_tell_is_refused_at_once(name: str) -> None:
    """Of such a language all held-out words are NO (or YES): a decider that says nothing else would be right on all."""
    with pytest.raises(InputError, match=r"none is held out.*held_out=0"):
        registry.open(name)


def test_an_evaluation_of_one_kind_of_words_is_none() -> None:
    task = deciders.LanguageTask("ones", registry.open("tomita:1,held_out=0").language, 12, held_out=8)
    with pytest.raises(InputError, match="none is held out"):
        task.evaluate(nn.build(task.config()), 0)


@pytest.mark.parametrize("name", NAMES)
def test_both_kinds_of_words_are_evaluated(name: str) -> None:
    task = registry.open(name)
    for seed in (0, 5):
        members = np.concatenate([task.language.beginnings(words)[:, -1] for words in task.evaluated(seed)])
        assert members.any() and not members.all()


@pytest.mark.parametrize("name", ["parity:100,vocabulary=1,held_out=0", "modular:3,1,64,vocabulary=1,held_out=0"])
def test_one_letter_makes_long_words_too(name: str) -> None:
    task = registry.open(name)
    assert not task.held(task.batch(0, 0, 4).inputs[0].numpy()).any()


def test_words_of_very_many_lengths_are_evaluated_at_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciders, "_EVALUATED", 2)
    lengths = [words.shape[1] for words in registry.open("first-equals-last:1000").evaluated(0)]
    assert len(lengths) <= 128 and lengths[-1] == 1000 and lengths == sorted(lengths)
    assert deciders._lengths(100) == [*range(1, 101)]


@pytest.mark.parametrize("name", ["tomita:4,20,held_out=1000000", "addition:3,held_out=1000000"])
def test_words_that_would_hardly_ever_be_found_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="held_out"):
        registry.open(name)


def test_every_name_opens_the_same_task_again() -> None:
    for name in NAMES:
        task = registry.open(name)
        again = registry.open(task.name)
        assert again == task and repr(again) == repr(task)


@pytest.mark.parametrize("name", ["contains:11111111,8", "regex:0101010101,10", "tomita:1", "dyck:1,4", "program:parity:8"])
@pytest.mark.parametrize("held", [0, 2, 3, 8])
def test_training_has_members_and_others_or_is_refused(name: str, held: int) -> None:
    """Over all words, by an enumeration of its own; held_out may take every member."""
    try:
        task = registry.open(f"{name},held_out={held}")
    except InputError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert held and any(why in refused for why in ("kept from training", "too few to hold some out", "none is held out"))
        return
    size = len(task.language.alphabet)
    seen = set()
    for length in range(1, task.max_length + 1):
        words = np.array(list(product(range(size), repeat=length)))
        seen |= set(task.language.beginnings(words)[:, -1][~task.held(words)[:, -1]].tolist())
    assert seen == {False, True}
