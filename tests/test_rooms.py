"""Imports go one way: each room imports only from the rooms above it in ARCHITECTURE.md."""

import ast
from pathlib import Path

import pytest

import glyptic

ROOT = Path(glyptic.__file__).parent
ORDER = [
    *("errors", "extras", "text", "drawing", "arguments", "files", "parallel"),
    *("numbers", "exact", "carve", "prove", "nn", "bridge", "icl", "cli"),
]
# exact's thin methods (T & U, T.frame()) call carve, by a lazy import inside the method: the only way back.
LAZY_WAYS_BACK = {("exact", "carve")}


def imports_of(path: Path) -> list[tuple[str, bool]]:
    """(room, whether at the top of the module) for every import of glyptic in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "glyptic":
            parts = node.module.split(".")
            rooms = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            found += [(room, id(node) not in hidden) for room in rooms]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
            found += [(name[1], id(node) not in hidden) for name in names if name[0] == "glyptic" and len(name) > 1]
    return [(room, top) for room, top in found if room in ORDER]


@pytest.mark.parametrize("room", ORDER)
def test_imports_go_one_way(room: str) -> None:
    folder = ROOT / room
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [ROOT / f"{room}.py"]
    for path in filter(Path.exists, files):
        for other, at_top in imports_of(path):
            upward = ORDER.index(other) <= ORDER.index(room)
            assert upward or (not at_top and (room, other) in LAZY_WAYS_BACK), (
                f"{path.relative_to(ROOT)} imports {other}"
            )


def test_the_table_lists_every_room() -> None:
    table = (ROOT.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for room in ORDER:
        assert f"| `{room}/`" in table or f"| `{room}.py`" in table
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert there <= set(ORDER)
