"""Imports go one way: between rooms as in ARCHITECTURE.md, and inside the rooms that have rooms of their own."""

import ast
from pathlib import Path

import pytest

import glyptic

ROOT = Path(glyptic.__file__).parent
ORDER = [
    *("errors", "extras", "lazy", "showing", "text", "arguments", "files", "figures", "progress", "cores", "parallel"),
    *("numbers", "exact", "languages", "carve", "programs", "states", "prove", "theorems", "lint", "studies", "notes"),
    *("nn", "train", "bridge", "distill", "icl", "look", "cli"),
]
INSIDE = {
    "prove": [
        *("claims", "elements", "portable", "verdicts", "methods", "checking", "questions", "certificates", "exporting"),
    ],
    "look": ["pages", "values", "kinds", "opening", "latex", "studio"],
    "nn": ["shapes", "config", "presets", "speed", "parts", "models", "hooks", "costs", "generation", "checkpoints"],
}
# exact's thin methods (T & U, T.frame(), T.machine()) call carve and states, by a lazy import inside: the only way back.
LAZY_WAYS_BACK = {("exact", "carve"), ("exact", "states")}


def imports_of(path: Path, package: str, names: list[str]) -> list[tuple[str, bool]]:
    """(part, whether at the top of the module) for every import of a part of the package in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            dotted = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        else:
            continue
        inner = [name.removeprefix(f"{package}.").split(".")[0] for name in dotted if name.startswith(f"{package}.")]
        found += [(part, id(node) not in hidden) for part in inner if part in names]
    return found


def files_of(folder: Path, part: str) -> list[Path]:
    return sorted((folder / part).rglob("*.py")) if (folder / part).is_dir() else [folder / f"{part}.py"]


@pytest.mark.parametrize("room", ORDER)
def test_imports_go_one_way(room: str) -> None:
    for path in files_of(ROOT, room):
        for other, at_top in imports_of(path, "glyptic", ORDER):
            upward = ORDER.index(other) <= ORDER.index(room)
            assert upward or (not at_top and (room, other) in LAZY_WAYS_BACK), (
                f"{path.relative_to(ROOT)} imports {other}"
            )


@pytest.mark.parametrize(("room", "part"), [(room, part) for room, parts in INSIDE.items() for part in parts])
def test_imports_go_one_way_inside_a_room(room: str, part: str) -> None:
    """No way back here, not even a lazy one; the methods of proving do not know one another."""
    parts = INSIDE[room]
    for path in files_of(ROOT / room, part):
        for other, _ in imports_of(path, f"glyptic.{room}", parts):
            assert parts.index(other) <= parts.index(part), f"{path.relative_to(ROOT)} imports {other}"


def test_methods_do_not_know_one_another() -> None:
    methods = sorted(path.name for path in (ROOT / "prove" / "methods").iterdir() if (path / "__init__.py").exists())
    assert methods == ["bounds", "enumeration", "smt", "states", "symbolic"]
    for method in methods:
        for path in files_of(ROOT / "prove" / "methods", method):
            others = {other for other, _ in imports_of(path, "glyptic.prove.methods", methods)}
            assert others <= {method}, f"{path.relative_to(ROOT)} imports {others - {method}}"


def there(folder: Path) -> set[str]:
    parts = [path for path in folder.iterdir() if not path.name.startswith("_")]
    return {path.stem for path in parts if path.suffix == ".py" or (path / "__init__.py").exists()}


@pytest.mark.parametrize("room", INSIDE)
def test_every_part_of_a_room_has_its_place(room: str) -> None:
    assert there(ROOT / room) == set(INSIDE[room])


def test_the_table_lists_every_room() -> None:
    table = (ROOT.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for room in ORDER:
        assert f"`{room}/`" in table or f"`{room}.py`" in table, room
    for room, parts in INSIDE.items():
        for part in parts:
            assert f"`{part}`" in table, f"{room}/{part}"
    assert there(ROOT) == set(ORDER)


def test_the_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= {*ORDER}, f"no room has the name of {folders - {*ORDER}}"


# A part of both kinds of transformer, in the word that everybody uses for it.
IN_BOTH = {"FeedForward"}


def test_no_name_stands_for_two_things() -> None:
    """Of classes; what is copied into exported folders shares no line with us, but may share its words."""
    homes: dict[str, list[str]] = {}
    for path in ROOT.rglob("*.py"):
        if "standalone" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in homes.items() if len(places) > 1 and name not in IN_BOTH} == {}
