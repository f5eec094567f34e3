"""The routes: the studio's page, pages of models, proofs with their progress. Every refusal is a sentence.

GET  /                       the studio
GET  /page?text=parity:8     the page that `glyptic look` writes, whole
GET  /api/lists              built-in kinds, and the models of the opened folder
POST /api/page               a page's views, as data
POST /api/prove              a proof, begun or waiting: its id
GET  /api/jobs/ID/events     what becomes of it, as server-sent events; when nobody looks any more, it is cancelled
POST /api/jobs/ID/cancel     ends it
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from glyptic.arguments import shown
from glyptic.errors import GlypticError
from glyptic.files import parse_json
from glyptic.look.pages import Page, View
from glyptic.look.studio.guard import POLICY, Guard
from glyptic.look.studio.jobs import Jobs
from glyptic.look.studio.processes import Processes, Refusal
from glyptic.look.studio.settings import Settings
from glyptic.look.studio.wishes import PageWish, ProofWish, as_json, wish_of
from glyptic.text import printable

_LONGEST_QUERY = 1 << 14
_ALONE = POLICY.replace("connect-src 'self'", "connect-src 'none'") + "; sandbox allow-scripts allow-downloads"


class Studio:
    """What the routes share: the processes, the proofs, and the queue of pages."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.processes = Processes(settings)
        self.jobs = Jobs(settings, self.processes)
        self.places = asyncio.Semaphore(settings.pages_at_once)
        self.pages = 0  # under way, or waiting

    async def asked(self, request: Request, ask: str, wish: dict[str, Any]) -> Any:
        """What a worker answers, unless who asked has gone: then it is not worked on any more, and nobody waits for it."""
        work, gone = asyncio.create_task(self._worked(ask, wish)), asyncio.create_task(_gone(request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnect
            return await work
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _worked(self, ask: str, wish: dict[str, Any]) -> Any:
        """What a worker answers, after those that came before; beyond a bound nobody waits."""
        if self.pages >= self.settings.pages_at_once + self.settings.pages_waiting:
            raise Refusal(
                f"{self.pages} pages are being made or waiting, and no more are taken: ask again in a moment.", 503
            )
        self.pages += 1
        try:
            async with self.places:
                return await self.processes.once(ask, wish, self.settings.page_seconds)
        finally:
            self.pages -= 1

    async def stop(self) -> None:
        """End every proof and every process: streams then end by themselves."""
        await self.jobs.end_all()
        await self.processes.end_all()

    async def home(self, request: Request) -> Response:
        language = "es" if request.query_params.get("language") == "es" else "en"
        return HTMLResponse(await asyncio.to_thread(_home, language))

    async def lists(self, request: Request) -> Response:
        return JSONResponse(await self.asked(request, "lists", {}))

    async def page(self, request: Request) -> Response:
        """A page of its own, which may ask nobody, not even the studio."""
        if len(request.url.query) > _LONGEST_QUERY:
            raise Refusal(f"the address is longer than {_LONGEST_QUERY:,} characters.", 414)
        words = request.query_params.multi_items()
        (name, often), *_ = Counter(name for name, _ in words).most_common(1) or [("", 0)]
        if often > 1:
            raise Refusal(f"the address names {shown(name)} {often} times; say it once.")
        made = await self.asked(request, "html", as_json(wish_of(PageWish, dict(words))))
        return HTMLResponse(made["html"], headers={"content-security-policy": _ALONE})

    async def views(self, request: Request) -> Response:
        wish = wish_of(PageWish, await self._body(request))
        return JSONResponse(await self.asked(request, "page", as_json(wish)))

    async def prove(self, request: Request) -> Response:
        wish = wish_of(ProofWish, await self._body(request))
        return JSONResponse(self.jobs.start(wish).as_json(), 202)

    async def cancel(self, request: Request) -> Response:
        await self._body(request)
        job = self.jobs.find(request.path_params["id"])
        await self.jobs.cancel(job)
        return JSONResponse(job.as_json())

    async def events(self, request: Request) -> Response:
        job = self.jobs.find(request.path_params["id"])

        async def lines() -> AsyncIterator[bytes]:
            watching = self.jobs.watch(job)
            try:
                async for event in watching:
                    yield b": waiting\n\n" if event is None else b"data: " + json.dumps(event).encode() + b"\n\n"
            finally:
                await watching.aclose()  # type: ignore[attr-defined]

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def _body(self, request: Request) -> Any:
        """What a request says, which is JSON of a bounded size, depth and number of digits."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal("the request must be JSON: send it with Content-Type: application/json.", 415)
        most, seconds = self.settings.body_bytes, self.settings.request_seconds
        too_large = Refusal(f"the request has more than {most:,} bytes, and no more are read.", 413)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length[:20]) > most:
            raise too_large
        body = b""
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise Refusal(f"the request was not sent within {seconds} s.", 408) from None
        return parse_json(body, "the request", "what the studio takes")


async def _gone(request: Request) -> None:
    """Return when the one who asked has closed the connection; the request itself has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@cache
def _home(language: Any) -> str:
    return Page((View("studio", "Glyptic studio", {}),), "Glyptic studio", language).html(connect=True)


async def _said(request: Request, error: Exception) -> Response:
    """Any error as a sentence: of the user's making with 400, a refusal with its own status, anything else with 500."""
    if isinstance(error, Refusal):
        return JSONResponse({"error": printable(str(error))}, error.status)
    if isinstance(error, GlypticError):
        return JSONResponse({"error": printable(str(error))}, 400)
    if isinstance(error, HTTPException):
        sentences = {404: "there is nothing at this address.", 405: "this address does not take such a request."}
        said = sentences.get(error.status_code, "the studio does not take this request.")
        return JSONResponse({"error": said}, error.status_code, headers=error.headers)
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)
    print("glyptic studio: an error that Glyptic did not foresee:", file=sys.stderr)
    traceback.print_exception(error)
    return JSONResponse({"error": "an error that Glyptic did not foresee; the studio's terminal says which."}, 500)


def application(studio: Studio, port: int) -> ASGIApp:
    """The studio as an ASGI application, for a server that listens on a port."""

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncIterator[None]:
        warming = asyncio.create_task(studio.processes.warm())
        try:
            yield
        finally:
            warming.cancel()
            await studio.stop()

    def route(path: str, function: Callable[[Studio, Request], Any], method: str = "GET") -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                answer: Response = await function(studio, request)
                return answer
            except Exception as error:
                return await _said(request, error)

        return Route(path, endpoint, methods=[method])

    routes = [
        route("/", Studio.home),
        route("/page", Studio.page),
        route("/api/lists", Studio.lists),
        route("/api/page", Studio.views, "POST"),
        route("/api/prove", Studio.prove, "POST"),
        route("/api/jobs/{id}/events", Studio.events),
        route("/api/jobs/{id}/cancel", Studio.cancel, "POST"),
    ]
    app = Starlette(routes=routes, lifespan=living, exception_handlers={HTTPException: _said, Exception: _said})
    app.router.redirect_slashes = False
    return Guard(app, token=studio.settings.token, host=studio.settings.host, port=port)
