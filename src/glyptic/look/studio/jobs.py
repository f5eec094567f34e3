"""Proofs: each in a process of its own, a few at once, a few waiting, and no more; cancelled when nobody looks any more."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Literal

from glyptic.look.studio.processes import Processes, Refusal, request_for
from glyptic.look.studio.settings import Settings
from glyptic.look.studio.wishes import ProofWish, as_json

State = Literal["waiting", "running", "done", "failed", "cancelled"]
_ENDED = ("done", "failed", "cancelled")
_REMEMBERED = 32  # of those that have ended
_HEARTBEAT = 5.0  # seconds: so often is something sent, so that one who has gone is noticed


class Job:
    """One proof: what is known of it now, and who looks at it."""

    def __init__(self, wish: ProofWish) -> None:
        self.id = secrets.token_urlsafe(12)
        self.wish = wish
        self.state: State = "waiting"
        self.said: dict[str, Any] = {}  # progress, verdict, or error
        self.watchers = 0
        self.began = time.monotonic()
        self.changed = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    @property
    def ended(self) -> bool:
        return self.state in _ENDED

    def tell(self, state: State, **said: Any) -> None:
        self.state, self.said = state, said
        self.changed.set()
        self.changed = asyncio.Event()

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "state": self.state, "seconds": round(time.monotonic() - self.began, 2), **self.said}


class Jobs:
    """The queue of proofs."""

    def __init__(self, settings: Settings, processes: Processes) -> None:
        self.settings, self.processes = settings, processes
        self.places = asyncio.Semaphore(settings.proofs_at_once)
        self.jobs: OrderedDict[str, Job] = OrderedDict()

    def start(self, wish: ProofWish) -> Job:
        """A proof, begun or waiting; refused if too many wait already."""
        open_ones = sum(not job.ended for job in self.jobs.values())
        if open_ones >= self.settings.proofs_at_once + self.settings.proofs_waiting:
            many = f"{open_ones} proofs are running or waiting, and no more are taken"
            raise Refusal(f"{many}: cancel one, or ask again later.", 503)
        job = Job(wish)
        self.jobs[job.id] = job
        job.task = asyncio.create_task(self._run(job))
        self._forget()
        return job

    def find(self, name: str) -> Job:
        if name not in self.jobs:
            raise Refusal("there is no such proof, or it is long over; start it again.", 404)
        return self.jobs[name]

    async def cancel(self, job: Job) -> None:
        """End a proof: when this returns, its process is gone."""
        if job.task is not None and not job.task.done():
            job.task.cancel()
            with suppress(asyncio.CancelledError):
                await job.task

    async def watch(self, job: Job) -> AsyncIterator[dict[str, Any] | None]:
        """What is known of a proof, now and at each change; None where nothing has changed for a while.

        When the last one who watches goes before the end, so does the proof.
        """
        job.watchers += 1
        try:
            while True:
                changed = job.changed
                yield job.as_json()
                if job.ended:
                    return
                while True:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), _HEARTBEAT)
                        break
                    yield None
        finally:
            job.watchers -= 1
            if not job.watchers and not job.ended:
                await asyncio.shield(self.cancel(job))

    async def end_all(self) -> None:
        for job in [*self.jobs.values()]:
            await self.cancel(job)

    async def _run(self, job: Job) -> None:
        """Wait for a place, prove, and tell; what is cancelled on the way leaves no process."""
        unwatched = asyncio.create_task(self._end_if_unwatched(job))
        try:
            async with self.places:
                await self._prove(job)
        except asyncio.CancelledError:
            job.tell("cancelled")
        except Refusal as refusal:
            job.tell("failed", error=str(refusal))
        finally:
            unwatched.cancel()
            if not job.ended:
                job.tell("failed", error="an error that Glyptic did not foresee; the studio's terminal says which.")

    async def _prove(self, job: Job) -> None:
        process = await self.processes.take()
        try:
            job.tell("running")
            limit = self.settings.proof_seconds
            wish = {**as_json(job.wish), "seconds": min(job.wish.seconds or limit, limit)}
            request = request_for(self.settings, "prove", wish)
            async with asyncio.timeout(wish["seconds"] + 30):
                verdict = await process.ask(request, lambda done, total: job.tell("running", done=done, total=total))
            job.tell("done", verdict=verdict)
        except TimeoutError:
            raise Refusal(f"the proof did not end within its {wish['seconds']:g} s; ask for shorter inputs.") from None
        finally:
            await asyncio.shield(self.processes.end(process))

    async def _end_if_unwatched(self, job: Job) -> None:
        """A proof that no page has looked at for a while was started by one that has gone."""
        await asyncio.sleep(self.settings.unwatched_seconds)
        if not job.watchers and job.task is not None:
            job.task.cancel()

    def _forget(self) -> None:
        ended = [name for name, job in self.jobs.items() if job.ended]
        for name in ended[: max(0, len(ended) - _REMEMBERED)]:
            del self.jobs[name]
