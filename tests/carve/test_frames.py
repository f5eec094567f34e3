"""Frames: counted costs, the printed table, the history in files, and every module of the room by name."""

import json
from pathlib import Path

import pytest

from glyptic import carve
from glyptic.carve import add, linear, normalize, zero
from glyptic.errors import FileError
from glyptic.exact import Options, Sizes, Transformer, load, random_transformer
from glyptic.exact.history import Frame, Touch
from glyptic.numbers import Fixed


def carved() -> Transformer:
    T = random_transformer(Fixed(4), 0, Sizes(layers=1, width=3), Options(attention="average"))
    return normalize.plus_minus(linear.between(zero.at(add.vector(T, {"x0": 1}, 2), ["x1"], {1, 3}), [[1]], ["x2"], i=0, j=2))


def test_costs_are_counted() -> None:
    T = carved()
    costs = [(f.construction, f.first_layer, f.layers, f.heads, f.hidden, len(f.new_coordinates)) for f in T.history]
    assert costs == [
        ("add.vector", 1, 1, 0, 1, 1),
        ("zero.at", 2, 1, 0, 2, 1),
        ("linear.between", 3, 2, 1, 2 + 2 + 2, 3),  # is_2 is there already; not_0, not_2 and scratch are new
        ("normalize.plus_minus", 5, 2, 0, 4 + 2 * 8 + 2, 2),
    ]
    assert sum(f.layers for f in T.history) + 1 == len(T.layers)


def test_the_table_says_what_is_touched() -> None:
    text = carved().frame()
    assert "1. add.vector: layer 1; costs 1 layer, 0 heads, 1 hidden unit, 1 coordinate\n   adds is_2" in text
    lines = [line.split() for line in text.splitlines()]
    for said in ("reads not_1_3 all", "writes x1 1 3 0", "writes x2 2 M·h_0"):
        assert said.split() in lines
    for said in ("preserves x0 x2 is_2 all", "preserves x1 all but 1 3"):
        assert said.split() in lines
    assert "needs [exp(−B)] = 0" not in text  # attention is hard here
    assert text.endswith("random-0, fixed:4: 7 layers, 3 heads, 39 hidden units, 10 coordinates")
    assert random_transformer(Fixed(4)).frame().startswith("no construction in its history")


def test_the_history_is_saved_and_checked(tmp_path: Path) -> None:
    T = carved()
    T.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.history == T.history
    assert again.frame() == T.frame()
    config = tmp_path / "model" / "config.json"
    good = json.loads(config.read_text())
    for change, message in {
        "history": (lambda c: c.update(history=3), "history must be a list"),
        "frame": (lambda c: c["history"][0].pop("heads"), "history.0 must have exactly"),
        "count": (lambda c: c["history"][1].update(layers=-1), "history.1.layers must be a count"),
        "text": (lambda c: c["history"][0].update(construction=None), "history.0.construction must be a text"),
        "names": (lambda c: c["history"][0].update(new_coordinates=[1]), "new_coordinates must be a list of texts"),
        "action": (lambda c: c["history"][0]["touches"][0].update(action="eats"), "action must be one of reads"),
    }.values():
        bad = json.loads(json.dumps(good))
        change(bad)  # type: ignore[operator]
        config.write_text(json.dumps(bad))
        with pytest.raises(FileError, match=message):
            load(tmp_path / "model")
    del good["history"]  # as files were before there was a history
    config.write_text(json.dumps(good))
    assert load(tmp_path / "model").history == ()


def test_what_changes_the_layers_themselves_says_so() -> None:
    T = random_transformer(Fixed(4), 0, Sizes(layers=2, width=3))
    looped, ignored = carve.loop.block(T, 0, 1, 3), carve.ignore.coordinates(T, ["x1"])
    assert [(t.action, t.coordinates) for t in looped.history[0].touches] == [("clobbers", ("x0", "x1", "x2"))]
    assert [(t.action, t.coordinates) for t in ignored.history[0].touches] == [("clobbers", ("x0", "x2")), ("preserves", ("x1",))]
    assert [t.action for t in (~T).history[0].touches] == ["preserves"]


def test_renaming_renames_the_history_too() -> None:
    T = carve.rename(carved(), {"x1": "tape", "is_2": "here"})
    assert "tape" in T.frame()
    assert "x1" not in T.frame()
    assert T.history[0].new_coordinates == ("here",)


def test_flags_have_frames() -> None:
    T = carve.flags.codes(carve.flags.position(random_transformer(Fixed(4)), 2), name="n")
    assert [(f.construction, f.layers, f.new_coordinates) for f in T.history] == [
        ("flags.position", 0, ("is_2",)),
        ("flags.codes", 0, ("n.0", "n.1", "n.2")),
    ]


def test_positions_of_a_touch() -> None:
    assert [Touch("reads", ("x",), p).covers(3) for p in ("all", "3", "1 3", "2", "all but 3", "all but 2")] == [1, 1, 1, 0, 0, 1]
    assert Frame("x", 0, 0, 0, 0, (), ()) == Frame("x", 0, 0, 0, 0, (), ())


def test_the_room_has_what_it_lists() -> None:
    for name in carve.__all__:
        assert getattr(carve, name) is not None
        assert name in dir(carve)
    with pytest.raises(AttributeError, match="no attribute 'sculpt'"):
        _ = carve.sculpt
