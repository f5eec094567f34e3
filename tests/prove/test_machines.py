"""Machines as folders that are checked without Glyptic: all of them are accepted, and none that was changed."""

import copy
import hashlib
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.states.sampling import harsh, sampled
from tests.states.test_newer_parts import KNOWN, SMALL

from glyptic import programs
from glyptic.errors import GlypticError, InputError
from glyptic.exact import Head, Layer, Norm, Options, Sizes, Transformer, random_transformer
from glyptic.exact.answers import UNDEFINED
from glyptic.exact.transformer import map_codes
from glyptic.numbers import encode
from glyptic.prove.exporting.machines import export_machine
from glyptic.prove.exporting.standalone.checker.command import main as check_command
from glyptic.prove.exporting.standalone.checker.machine import Wrong, check_machine
from glyptic.prove.exporting.standalone.checker.reading import Unreadable
from glyptic.prove.portable.transformers import transformer_to_json
from glyptic.states import TooManyStates

NAMES = (
    *("occurs", "at-least:2", "subsequence:01", "same-ends", "factor:11", "last-of", "nested", "averaging-majority"),
    "starts-with",
)


def run_apart(folder: Path) -> subprocess.CompletedProcess:
    """In an interpreter that has no site-packages, and so no Glyptic."""
    words = [sys.executable, "-I", "-S", str(folder / "check.py"), str(folder)]
    return subprocess.run(words, capture_output=True, text=True, env={}, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_machines_of_deciders_are_accepted(name: str, tmp_path) -> None:
    export_machine(tmp_path / "m", programs.open(name, "fixed:2"))
    lines = check_machine(tmp_path / "m")
    assert lines[-1].endswith("for every length")


def test_the_checker_runs_where_there_is_no_glyptic(tmp_path) -> None:
    export_machine(tmp_path / "m", programs.open("same-ends", "fixed:2"))
    done = run_apart(tmp_path / "m")
    assert done.returncode == 0 and "nothing contradicts the machine" in done.stdout, done.stderr
    data = json.loads((tmp_path / "m" / "machine.json").read_text())
    data["answers"][1] = "NO" if data["answers"][1] == "YES" else "YES"
    (tmp_path / "m" / "machine.json").write_text(json.dumps(data))
    done = run_apart(tmp_path / "m")
    assert done.returncode == 1 and "CONTRADICTED: an answer of the machine is another" in done.stdout


def random_machine(seed: int) -> Transformer:
    return sampled(seed) if seed < 45 else harsh(seed, "softmax", ("none", "pre", "post")[seed % 3])


def test_machines_of_random_transformers_are_accepted(tmp_path) -> None:
    """Every kind of attention, mask, norm and reading of products that the checker knows; undefined runs too."""
    accepted, met = 0, set()
    for seed in range(60):
        transformer = random_machine(seed)
        try:
            folder = export_machine(tmp_path / str(seed), transformer, states=150)
        except (TooManyStates, InputError):
            continue
        check_machine(folder)
        met |= {transformer.options.attention, transformer.options.mask, transformer.options.norm, transformer.options.products}
        accepted += 1
    assert accepted >= 22
    assert met >= {"softmax", "max-subtracted", "leftmost", "rightmost", "average", "causal", "strict", "pre", "post", "fused"}


def test_a_table_of_positions_is_accepted(tmp_path) -> None:
    folder = export_machine(tmp_path / "m", programs.open("first-equals-last:5", "fixed:2"))
    assert check_machine(folder)[-1].endswith("to the longest input")
    export_machine(tmp_path / "n", programs.open("same-ends", "fixed:2"), length=4)
    assert check_machine(tmp_path / "n")[-1].endswith("to the longest input")


def changed(model: dict, machine: dict, rng: random.Random) -> str:
    """One change, in place; what it was."""
    what = rng.choice(["state", "transition", "weight", "output", "entry", "small move", "class"])
    layer = rng.choice(machine["layers"])
    if what == "state":
        layer["states"].pop()
        layer["moves"].pop()
        layer["classes"].pop()
    elif what == "transition":
        row = rng.choice(layer["moves"])
        place = rng.randrange(len(row))
        old = layer["states"][row[place]]
        others = [s for s, state in enumerate(layer["states"]) if s and s != row[place] and state["vector"] != old["vector"]]
        row[place] = rng.choice(others) if others else 0
    elif what == "weight":
        array = rng.choice([a for a in model["arrays"].values() if a["codes"]])
        place = rng.randrange(len(array["codes"]))
        array["codes"][place] += 1 if array["codes"][place] < 0 else -1
        if array["codes"][place] == 0:
            array["codes"][place] = -1 if array["codes"][place] >= 0 else 1
    elif what == "output":
        place = rng.randrange(1, len(machine["answers"]))
        machine["answers"][place] = rng.choice([a for a in ("YES", "NO", "TIE", "UNDEFINED") if a != machine["answers"][place]])
    elif what == "entry":
        state = rng.choice([s for s in layer["states"][1:] if s["vector"]])
        state["vector"][rng.randrange(len(state["vector"]))] += 1
    elif what == "small move":
        row = rng.choice(machine["moves"])
        place = rng.randrange(len(row))
        row[place] = (row[place] + 1) % len(machine["moves"])
    else:
        classes = machine["classes"]
        place = rng.randrange(1, len(classes))
        classes[place] = (classes[place] + 1) % (max(classes) + 1)
    return what


def changed_folders(tmp_path: Path, count: int) -> list[tuple[str, Path]]:
    """Whole exported folders, each with one change; what it was."""
    rng, made = random.Random(0), []
    for number in range(count):
        name = NAMES[number % len(NAMES)]
        folder = tmp_path / name.replace(":", "-")
        if not folder.exists():
            export_machine(folder, programs.open(name, "fixed:2"))
        model, machine = (json.loads((folder / f"{part}.json").read_text()) for part in ("model", "machine"))
        before = copy.deepcopy((model, machine))
        what = changed(model, machine, rng)
        assert (model, machine) != before
        other = tmp_path / f"changed{number}"
        shutil.copytree(folder, other)
        (other / "machine.json").write_text(json.dumps(machine))
        if what == "weight":
            (other / "model.json").write_text(json.dumps(model))
        made.append((what, other))
    return made


KINDS = {"state", "transition", "weight", "output", "entry", "small move", "class"}


def test_a_hundred_changed_machines_are_refused(tmp_path) -> None:
    made = changed_folders(tmp_path, 100)
    for _, folder in made:
        with pytest.raises((Wrong, Unreadable)):
            check_machine(folder)
    assert {what for what, _ in made} == KINDS


def refused_apart(made: list[tuple[str, Path]]) -> None:
    """Each is refused by its own check.py, in a process that has the standard library alone, with a sentence."""
    for what, folder in made:
        done = run_apart(folder)
        assert done.returncode in (1, 2) and "Traceback" not in done.stderr, (folder.name, what, done)
        assert "CONTRADICTED: " in done.stdout or done.stderr.startswith("check.py: "), (folder.name, what, done)
        assert "nothing contradicts" not in done.stdout


def test_changed_machines_are_refused_where_there_is_no_glyptic(tmp_path) -> None:
    refused_apart(changed_folders(tmp_path, 12))


def newer(name: str, seed: int) -> Transformer:
    """A transformer with biases, gates, another activation or another norm."""
    changes, options = KNOWN[name]
    return random_transformer("fixed:1", seed, Sizes(**{**SMALL, **changes}), options).replace(period=1)


def test_a_machine_with_newer_parts_is_accepted_where_there_is_no_glyptic(tmp_path) -> None:
    done = run_apart(export_machine(tmp_path / "m", newer("gelu", 0)))
    assert done.returncode == 0 and "nothing contradicts the machine" in done.stdout, done


@pytest.mark.slow
def test_without_glyptic_every_machine_is_accepted_and_a_hundred_changed_ones_refused(tmp_path) -> None:
    """All exported machines of these tests in their own processes, and a hundred with one change."""
    refused_apart(changed_folders(tmp_path, 100))
    accepted = [tmp_path / name.replace(":", "-") for name in NAMES]
    for seed in range(60):
        try:
            accepted.append(export_machine(tmp_path / str(seed), random_machine(seed), states=150))
        except (TooManyStates, InputError):
            continue
    for name in KNOWN:
        accepted += [export_machine(tmp_path / f"{name}-{seed}", newer(name, seed)) for seed in (0, 1)]
    for seed in (0, 1):
        gelu = random_transformer("fixed:3", seed, Sizes(**{**SMALL, "activation": "gelu"})).replace(period=1)
        accepted.append(export_machine(tmp_path / f"gelu{seed}", gelu))
    accepted.append(export_machine(tmp_path / "factor", programs.open("factor:101", "fixed:2")))
    accepted.append(export_machine(tmp_path / "table", programs.open("first-equals-last:5", "fixed:2")))
    accepted.append(export_machine(tmp_path / "ended", programs.open("same-ends", "fixed:2"), length=4))
    assert len(accepted) >= 50
    for folder in accepted:
        done = run_apart(folder)
        assert done.returncode == 0 and "nothing contradicts the machine" in done.stdout, (folder, done)


def test_weights_changed_together_with_their_digest_are_refused_by_the_states(tmp_path) -> None:
    """Whoever changes a weight can change the digest; then it is the states that are wrong, where the weight matters."""
    refused = 0
    for seed in range(30):
        folder = tmp_path / str(seed)
        export_machine(folder, programs.open(NAMES[seed % len(NAMES)], "fixed:2"))
        model, machine = (json.loads((folder / f"{part}.json").read_text()) for part in ("model", "machine"))
        array = random.Random(seed).choice([a for a in model["arrays"].values() if a["codes"]])
        array["codes"][0] = -array["codes"][0]
        text = json.dumps(model).encode()
        machine["model_sha256"] = hashlib.sha256(text).hexdigest()
        (folder / "model.json").write_bytes(text)
        (folder / "machine.json").write_text(json.dumps(machine))
        try:
            check_machine(folder)
        except Wrong:
            refused += 1
    assert refused >= 20


def test_what_cannot_be_exported_is_told(tmp_path) -> None:
    transformer = programs.open("same-ends", "fixed:2")
    with pytest.raises(InputError, match="unrounded"):
        export_machine(tmp_path / "a", transformer.with_options(products="unrounded"))
    with pytest.raises(GlypticError, match="full mask"):
        export_machine(tmp_path / "b", transformer.with_options(mask="full"))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "x").write_text("")
    with pytest.raises(GlypticError, match="not an empty folder"):
        export_machine(tmp_path / "c", transformer)


def test_a_final_norm_that_is_never_undefined_is_exported(tmp_path) -> None:
    sizes = Sizes(layers=1, heads=1, width=2, key_width=1, value_width=1, hidden=2, max_length=1)
    transformer = random_transformer("fixed:2", 3, sizes, Options(norm="pre")).replace(period=1)
    assert UNDEFINED not in transformer.machine().numbers
    assert check_machine(export_machine(tmp_path / "m", transformer))[-1].endswith("for every length")


def test_a_machine_whose_inputs_are_all_undefined_is_exported(tmp_path) -> None:
    """0/0 in the first layer's norm, and a second layer that nothing comes to."""
    one, head = encode([1], "fixed:1"), Head.of("fixed:1", [[1]], [[1]], [[1]], [[1]])
    layer = Layer((head,), None, Norm(one, encode([0], "fixed:1"), encode(0, "fixed:1"), "layer"), None)
    parts = ("fixed:1", "01", ["x"], [[1], [1]], [[1], [-1]], ["YES", "NO"])
    for kind in ("softmax", "max-subtracted", "leftmost", "rightmost", "average"):
        options = Options(norm="post", attention=kind)  # type: ignore[arg-type]
        transformer = Transformer.of(*parts, layers=[layer, layer], period=1, options=options)
        assert set(transformer.machine().numbers[1:]) == {UNDEFINED}
        check_machine(export_machine(tmp_path / kind, transformer))


def test_names_that_the_checker_would_refuse_are_not_exported(tmp_path) -> None:
    transformer = programs.open("same-ends", "fixed:2")
    for tokens in (("x y", "1"), ("0", "a=b")):
        with pytest.raises(GlypticError, match=r"not exported.*vocabulary"):
            export_machine(tmp_path / "m", transformer.replace(vocabulary=tokens))
    assert not (tmp_path / "m").exists()


WRONG_TYPES = {
    "a move that is a fraction": lambda machine: machine["moves"][1].__setitem__(0, float(machine["moves"][1][0])),
    "a move that is true": lambda machine: machine["layers"][0]["moves"][0].__setitem__(0, True),
    "a version that is true": lambda machine: machine.update(version=True),
    "lost that is nothing": lambda machine: machine["layers"][0]["states"][1].update(lost=None),
    "met that is a word": lambda machine: machine["layers"][0]["states"][1]["kept"][0].__setitem__(3, "x"),
    "a field more": lambda machine: machine["layers"][0]["heads"][0].update(more=1),
    "an entry twice": lambda machine: machine["layers"][0]["states"][1]["kept"].append(
        machine["layers"][0]["states"][1]["kept"][0]
    ),
    "no classes": lambda machine: machine["layers"][-1].update(classes=None),
    "classes of nothing": lambda machine: machine["layers"][-1].update(classes=[0] * len(machine["layers"][-1]["classes"])),
}


@pytest.mark.parametrize("wrong", WRONG_TYPES)
def test_what_has_another_type_is_refused(wrong: str, tmp_path) -> None:
    folder = export_machine(tmp_path / "m", programs.open("same-ends", "fixed:2"))
    machine = json.loads((folder / "machine.json").read_text())
    WRONG_TYPES[wrong](machine)
    (folder / "machine.json").write_text(json.dumps(machine))
    assert check_command([str(folder)]) in (1, 2)


@pytest.mark.parametrize("name", KNOWN)
def test_machines_with_newer_parts_are_accepted(name: str, tmp_path: Path) -> None:
    changes, _ = KNOWN[name]
    biases = ("output_bias", "layers.0.heads.0.output_bias") if changes.get("biases") else ()
    noticed = dict.fromkeys(biases, 0)  # a bias may change no answer
    for seed in range(12):
        transformer = newer(name, seed)
        try:
            folder = export_machine(tmp_path / str(seed), transformer)
        except InputError:  # a final norm that is 0/0 now and then: refused, as other tests show
            continue
        check_machine(folder)
        for part in biases:
            noticed[part] += _sees_another(folder, transformer, part)
    assert sum(noticed.values()) or not biases, noticed


def test_another_activation_than_the_machine_was_made_with_is_seen(tmp_path: Path) -> None:
    seen = 0
    for seed in range(12):
        transformer = random_transformer("fixed:3", seed, Sizes(**{**SMALL, "activation": "gelu"})).replace(period=1)
        folder = export_machine(tmp_path / str(seed), transformer)
        check_machine(folder)
        text = (folder / "model.json").read_bytes().replace(b'"gelu"', b'"silu"')
        machine = json.loads((folder / "machine.json").read_text()) | {"model_sha256": hashlib.sha256(text).hexdigest()}
        (folder / "model.json").write_bytes(text)
        (folder / "machine.json").write_text(json.dumps(machine))
        try:
            check_machine(folder)
        except Wrong:
            seen += 1
    assert seen


def _sees_another(folder: Path, transformer: Transformer, part: str) -> bool:
    """Whether the checker notices that an array has another first entry than the machine was made with."""

    def other(array: np.ndarray, name: str) -> np.ndarray:
        changed = np.array(array)
        if name == part:
            changed[0] = -3 if changed[0] > 0 else 3
        return changed

    text = json.dumps(transformer_to_json(map_codes(transformer, other))).encode()
    machine = json.loads((folder / "machine.json").read_text()) | {"model_sha256": hashlib.sha256(text).hexdigest()}
    place = folder.parent / f"{folder.name}-{part}"
    place.mkdir()
    (place / "model.json").write_bytes(text)
    (place / "machine.json").write_text(json.dumps(machine))
    try:
        check_machine(place)
    except Wrong:
        return True
    return False


def places(data: object, here: tuple = ()) -> list[tuple]:
    """Where something is in a file, and the way there."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [here, *(place for key, part in inside for place in places(part, (*here, key)))]


def test_values_that_cannot_be_are_refused_or_change_nothing(tmp_path, capsys) -> None:
    """One value of machine.json is another, of any type, anywhere: refused in a sentence; if not, the machine is the same."""
    rng, accepted = random.Random(1), 0
    hostile = [-1, -2, 0, 1, 10**30, -(10**30), None, True, False, 1.5, "", [], {}, "NaN", [[]], "YES"]
    for name in ("occurs", "same-ends", "nested", "first-equals-last:3"):
        folder = export_machine(tmp_path / name.replace(":", "-"), programs.open(name, "fixed:2"))
        text = (folder / "machine.json").read_text()
        for _ in range(120):
            machine = json.loads(text)
            right = copy.deepcopy((machine["moves"], machine["answers"]))
            *way, last = rng.choice(places(machine)[1:])
            part = machine
            for key in way:
                part = part[key]
            part[last] = copy.deepcopy(rng.choice(hostile))
            (folder / "machine.json").write_text(json.dumps(machine))
            status = check_command([str(folder)])
            said = capsys.readouterr()
            assert status in (0, 1, 2) and (status == 0 or "CONTRADICTED: " in said.out or said.err.startswith("check.py: "))
            if status == 0:
                assert (machine["moves"], machine["answers"]) == right, (name, way, last)
                accepted += 1
    assert accepted < 120
