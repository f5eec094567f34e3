"""A command loads what it uses: of the modules behind `glyptic prove MODEL --language …` each has a function that is called."""

import json
import subprocess
import sys
from pathlib import Path

import glyptic

# Runs a command, and says which modules of Glyptic were loaded, and in which a function was called when their bodies were done.
WATCHED = """
import json, os, sys

called, inside = set(), 0

def watch(frame, event, _):
    global inside
    code = frame.f_code
    if "glyptic" + os.sep in code.co_filename or "glyptic/" in code.co_filename:
        if code.co_name == "<module>":
            inside += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not inside:
            called.add(code.co_filename)

sys.setprofile(watch)
from glyptic.cli import main
status = main(sys.argv[1:])
sys.setprofile(None)
ours = {name: module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "glyptic"}
print(json.dumps({"status": status, "loaded": sorted(ours), "called": sorted(n for n, f in ours.items() if f in called),
                  "bars": [name for name in sys.modules if name.startswith("tqdm")]}))
"""
WITHOUT_CALLS = {
    "glyptic.numbers.micro": "pieces of kernels, and kernels that are called by others",
    "glyptic.numbers.tiles": "writes kernels, when they are compiled",
    "glyptic.numbers.vectors": "writes kernels, too",
    "glyptic.errors": "classes of errors, which must be there to be caught",
    "glyptic.exact.undefined": "classes of errors, too: 0/0 with its place",
    "glyptic.showing": "a class of methods that notebooks call",
}


def watched(*words: str) -> dict[str, list[str]]:
    done = subprocess.run([sys.executable, "-c", WATCHED, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def is_package(name: str) -> bool:
    return (Path(glyptic.__file__).parents[1] / name.replace(".", "/") / "__init__.py").is_file()


def test_no_module_is_loaded_that_has_nothing_to_do() -> None:
    words = ("prove", "parity:6", "--language", "(0*10*1)*0*10*", "--workers", "1")
    watched(*words)  # after which every kernel that it needs is compiled, and what compiles has nothing to do
    found = watched(*words)
    assert found["status"] == 0
    idle = {name for name in found["loaded"] if name not in found["called"] and not is_package(name)}
    assert idle == WITHOUT_CALLS.keys()
    assert len(found["loaded"]) <= 83
    assert not found["bars"]  # a log has none: tqdm and what it brings stay where they are


def test_the_list_of_commands_loads_next_to_nothing() -> None:
    rooms = {name.split(".")[1] for name in watched("--help")["loaded"] if "." in name}
    assert rooms == {"cli", "errors", "extras", "lazy", "text"}
