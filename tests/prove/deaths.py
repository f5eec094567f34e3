"""Enumeration on a real pool or cluster, with one worker killed half-way: run as a process of its own, prints what came out.

    python deaths.py BACKEND FOLDER

Workers write their process ids into the folder; once nearly half of the units are in the journal, the first of them is killed.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from glyptic import prove
from glyptic.numbers import Fixed
from glyptic.prove.enumeration import deciding, units
from glyptic.prove.languages import regular
from glyptic.prove.recognisers import recogniser

units.INPUTS_IN_UNIT = 1 << 8  # many small units, so that half-way exists
deciding._ALONE_SECONDS = 0.0  # workers at once
LENGTH = 14
HALF = 28  # of 65 units; the journal lags a little


def odd_number_of_ones(text, folder):
    note = Path(folder) / f"worker-{os.getpid()}"
    if not note.exists():
        note.touch()
    time.sleep(3e-4)  # slow enough for a worker to die in the middle of its work
    return text.count("1") % 2 == 1


def kill_one_half_way(folder: Path, done_at_death: list[int]) -> None:
    journal = folder / "journal.json"
    while True:
        time.sleep(0.05)
        workers = sorted(folder.glob("worker-*"), key=lambda path: path.stat().st_mtime)
        done = len(json.loads(journal.read_text())["done"]) if journal.exists() else 0
        if workers and done >= HALF:
            pid = int(workers[0].name.partition("-")[2])
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
                done_at_death.append(done)
            return


def main(backend: str, folder: Path) -> None:
    transformer = recogniser(regular("0*1(0*10*1)*0*"), Fixed(2), LENGTH)

    def odd(text):
        return odd_number_of_ones(text, str(folder))

    done_at_death: list[int] = []
    threading.Thread(target=kill_one_half_way, args=(folder, done_at_death), daemon=True).start()
    verdict = prove.language(
        transformer, odd, backend=backend, workers=2, journal=folder / "journal.json", progress=False
    )
    workers = len(list(folder.glob("worker-*")))  # more than two: some began after the death, so work was left
    counts = {"inputs": verdict.inputs, "done_at_death": done_at_death, "workers": workers}
    print(json.dumps({"answer": type(verdict).__name__, **counts}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
