"""Connections that wait for nobody: who opens one and does not say what it wants is let go, and makes room for who does.

uvicorn waits for the first request of a connection, and for the rest of a head that has begun, without end; so whoever can reach
the port could hold every connection that there may be, without the token, and lock the page out.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 512  # connections at once: half of the files that a process may commonly have open


class Connection(H11Protocol):
    """uvicorn's connection, with the time that it gives to the next request for all else that it waits for, too.

    That is the first request, the rest of a head, and a body that nobody reads.
    """

    let_go: asyncio.TimerHandle | None = None
    waits_since: float | None = None  # None while a request is being answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            self._longest_waiting().transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answers():
            self._wait_no_more()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # which may begin with the next request, if it is here already
        if not self._answers():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def _answers(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._wait_no_more()
        self.waits_since = self.loop.time()
        self.let_go = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _wait_no_more(self) -> None:
        if self.let_go is not None:
            self.let_go.cancel()
        self.let_go, self.waits_since = None, None

    def _longest_waiting(self) -> Connection:
        """Who has waited longest, which is us if all others are being answered."""
        waiting: list[Any] = [each for each in self.connections if getattr(each, "waits_since", None) is not None]
        return min(waiting, key=lambda each: each.waits_since, default=self)
