"""Processes that work, from the side of the server: asked, listened to until a deadline, killed with all that they started."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import glyptic
from glyptic.errors import GlypticError
from glyptic.look.studio.settings import Settings

_LONGEST_ANSWER = 1 << 27  # bytes: a page of a large model
_MOST_IDLE = 2

# -P: the working folder, which may be one of models of anybody's, is not where modules come from; `-m` would look there first
_BEGIN = """\
import sys
above = sys.argv.pop(1)
if above not in sys.path:
    sys.path.insert(0, above)
from glyptic.look.studio.worker import begin
begin()
"""
_ABOVE_US = str(Path(glyptic.__file__).resolve().parents[1])


class Refusal(GlypticError):
    """What the studio answers instead of a result: one sentence, and the status that goes with it."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class Process:
    """One worker process, in a session of its own, so that all it starts goes with it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, settings: Settings) -> Process:
        words = (sys.executable, "-P", "-c", _BEGIN, _ABOVE_US, str(settings.megabytes))
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        pipe = asyncio.subprocess.PIPE
        started = await asyncio.create_subprocess_exec(
            *words,
            stdin=pipe,
            stdout=pipe,
            limit=_LONGEST_ANSWER,
            start_new_session=True,
            env={**os.environ, **threads},
        )
        return cls(started)

    async def ask(self, request: dict[str, Any], told: Callable[[int, int], None] = lambda done, total: None) -> Any:
        """The result of a request; what it tells on the way goes to `told`. A refusal is raised."""
        assert self.process.stdin is not None and self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            await self.process.stdin.drain()
            while True:
                line = await self.process.stdout.readline()
                if not line:
                    raise Refusal(
                        "the process that worked on this has died, perhaps for want of memory; ask for less.", 500
                    )
                event = json.loads(line)
                if "progress" not in event:
                    break
                told(*event["progress"])
        except ValueError:  # a line beyond the limit
            raise Refusal("the page would be larger than the studio sends; ask for a smaller model.") from None
        except (ConnectionError, BrokenPipeError):
            raise Refusal("the process that worked on this has died; ask again.", 500) from None
        if "error" in event:
            raise Refusal(event["error"], 400 if event["caused"] else 500)
        return event["done"]

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def kill(self) -> None:
        """End it, and whatever it started, now."""
        with suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()

    async def gone(self) -> None:
        """Wait until a killed one has left."""
        self.kill()
        await self.process.wait()


class Processes:
    """Workers at rest, ready for the next request, and all those that are under way; more than rest are not kept."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.idle: list[Process] = []
        self.all: set[Process] = set()

    async def take(self) -> Process:
        """One that rests, or a new one."""
        while self.idle:
            found = self.idle.pop()
            if found.alive:
                return found
            await self.end(found)
        started = await Process.start(self.settings)
        self.all.add(started)
        return started

    async def warm(self) -> None:
        """One more at rest, if there is none: the next request need not wait for it to start."""
        if not self.idle:
            self.give_back(await Process.start(self.settings))

    def give_back(self, process: Process) -> None:
        self.all.add(process)
        self.idle.append(process)

    async def end(self, process: Process) -> None:
        """Kill it and wait until it is gone."""
        await process.gone()
        self.all.discard(process)

    async def end_all(self) -> None:
        self.idle.clear()
        for process in [*self.all]:
            await self.end(process)

    async def once(self, ask: str, wish: dict[str, Any], seconds: float) -> Any:
        """A request within a deadline; who misses it, or dies, is not asked again."""
        process = await self.take()
        keep = False
        try:
            async with asyncio.timeout(seconds):
                found = await process.ask(request_for(self.settings, ask, wish))
            keep = True
            return found
        except TimeoutError:
            raise Refusal(
                f"this takes longer than the {seconds:g} s that the studio gives to a page; ask for less."
            ) from None
        except Refusal as refusal:
            keep = refusal.status == 400 and process.alive
            raise
        finally:
            if keep and len(self.idle) < _MOST_IDLE:
                self.give_back(process)
            else:
                await asyncio.shield(self.end(process))


def request_for(settings: Settings, ask: str, wish: dict[str, Any]) -> dict[str, Any]:
    """A line for a worker."""
    return {"ask": ask, "folder": None if settings.folder is None else str(settings.folder), "wish": wish}
