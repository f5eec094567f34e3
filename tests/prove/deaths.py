"""Work on a real pool or cluster, with one worker killed half-way: run as a process of its own, prints what came out.

    python deaths.py language|sweep BACKEND FOLDER

Workers leave notes in the folder; once about half of the work is in the file of what is done, the first of them is killed.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from glyptic import prove, studies
from glyptic.languages import regular
from glyptic.numbers import Fixed
from glyptic.programs.automata import recogniser
from glyptic.prove.methods.enumeration import deciding, journal, portions

portions.INPUTS_IN_PORTION = 1 << 8  # many small portions, so that half-way exists
deciding._ALONE_SECONDS = 0.0  # workers at once
LENGTH = 14
HALF = {"language": 28, "sweep": 4}  # of 65 portions (the journal lags a little); of 10 formats


def note(folder: str) -> None:
    path = Path(folder) / f"worker-{os.getpid()}"
    if not path.exists():
        path.touch()


def kill_one_half_way(folder: Path, half: int, done_now: Callable[[], list[str]], at_death: list[list[str]]) -> None:
    while True:
        time.sleep(0.02)
        workers = sorted(folder.glob("worker-*"), key=lambda path: path.stat().st_mtime)
        done = done_now()
        if workers and len(done) >= half:
            pid = int(workers[0].name.partition("-")[2])
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
                at_death.append(done)
            return


def kept_in(path: Path, part: str) -> Callable[[], list[str]]:
    """What the file says is done; it is renamed into place whole, so it can be read at any time."""
    return lambda: list(json.loads(path.read_text())[part]) if path.exists() else []


def language(backend: str, folder: Path) -> dict[str, object]:
    transformer = recogniser(regular("0*1(0*10*1)*0*"), Fixed(2), LENGTH)
    where = str(folder)
    journal._refuse_doubts = lambda claim: None  # of a predicate that writes down who runs it, which no journal is kept of else

    def odd(text):
        note(where)
        time.sleep(3e-4)  # slow enough for a worker to die in the middle of its work
        return text.count("1") % 2 == 1

    limits = {"backend": backend, "workers": 2, "journal": folder / "journal.json", "progress": False}
    verdict = prove.language(transformer, odd, **limits)
    return {"answer": type(verdict).__name__, "inputs": verdict.inputs}


def sweep(backend: str, folder: Path) -> dict[str, object]:
    (x,) = prove.variables("x")
    where = str(folder)

    def claim(format):
        note(where)
        (Path(where) / f"made-{format}-{os.getpid()}-{time.time_ns()}".replace(":", "_")).touch()
        time.sleep(0.1)  # long enough to die in
        return prove.Claim(prove.Values("x", format), x + prove.B + prove.B - prove.B == 0)

    found = studies.sweep(claim, "fixed:1..10", backend=backend, workers=2, kept=folder / "sweep.json", progress=False)
    made = [path.name.split("-")[1].replace("_", ":") for path in folder.glob("made-*")]
    return {"holds_in": found.holds_in, "inputs": [v.inputs for v in found.verdicts.values()], "made": made}


def main(what: str, backend: str, folder: Path) -> None:
    done = kept_in(folder / "journal.json", "done") if what == "language" else kept_in(folder / "sweep.json", "cells")
    at_death: list[list[str]] = []
    threading.Thread(target=kill_one_half_way, args=(folder, HALF[what], done, at_death), daemon=True).start()
    result = {"language": language, "sweep": sweep}[what](backend, folder)
    workers = len(list(folder.glob("worker-*")))  # more than two: some began after the death, so work was left
    print(json.dumps({**result, "done_at_death": at_death, "workers": workers}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
