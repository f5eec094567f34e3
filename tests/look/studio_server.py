"""A studio of its own for tests: a real server on loopback, and what its processes are."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

SLOW = {"text": "parity:23", "claim": "decisive"}  # some 16 million inputs: half a minute


class Server:
    """A studio that runs: its address, a client that has the token, and its process."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address
        self.origin, _, self.token = address.partition("/?token=")
        self.host = self.origin.removeprefix("http://")
        self.client = httpx.Client(base_url=self.origin, headers={"X-Glyptic-Token": self.token}, timeout=60)

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return self.client.post(path, json=body, **options)

    def refused(self, path: str, body: Any, status: int = 400) -> str:
        """The sentence with which a request is refused."""
        answer = self.post(path, body)
        assert answer.status_code == status, answer.text[:300]
        return sentence_of(answer)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """The status and what was printed, after a signal."""
        self.process.send_signal(number)
        printed, wrong = self.process.communicate(timeout=20)
        return self.process.returncode, printed, wrong


def sentence_of(answer: httpx.Response) -> str:
    said = answer.json()
    assert list(said) == ["error"] and said["error"].endswith(".") and "Traceback" not in said["error"], said
    return str(said["error"])


@contextmanager
def studio(*words: str, settings: str = "") -> Iterator[Server]:
    """A studio on a free port; with `settings`, by Python, else by the command."""
    begun = (
        ["-c", f"from glyptic.look.studio import Settings, serve; serve(Settings(port=0, {settings}), show=False)"]
        if settings
        else ["-m", "glyptic", "studio", *words, "--port", "0", "--no-open"]
    )
    process = subprocess.Popen([sys.executable, *begun], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        yield Server(process, found[0])
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=20)


def children(process: int) -> list[int]:
    """The processes that this one has started and that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                rest = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(rest[1]) == process and rest[0] != "Z":
                found.append(int(folder.name))
    return sorted(found)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"


def until(condition: Callable[[], Any], seconds: float = 15.0) -> Any:
    """What a condition comes to, once it is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.05)
    return found
