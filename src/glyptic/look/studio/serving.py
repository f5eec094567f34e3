"""The socket, the address that is printed, the signals, and the end, after which no process is left."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn

from glyptic.errors import InputError
from glyptic.look.studio.app import Studio, application
from glyptic.look.studio.connections import Connection
from glyptic.look.studio.settings import Settings, is_loopback
from glyptic.text import printable

_SECONDS_TO_END = 1  # for answers under way when the studio is stopped


def serve(settings: Settings, *, show: bool = True) -> None:
    """Listen until a signal says to stop; `show` opens the page in the browser, where there is one."""
    with _listening(settings) as listener:
        port = listener.getsockname()[1]
        address = address_of(settings, port)
        if not is_loopback(settings.host):
            reached = (
                f"warning: other machines reach {printable(settings.host)}: whoever has the address can use this studio"
            )
            print(f"{reached}, and what is sent is not encrypted.", file=sys.stderr, flush=True)
        studio = Studio(settings)
        config = uvicorn.Config(
            application(studio, port),
            http=Connection,
            log_config=None,
            log_level="critical",  # what others send wrongly is theirs to know: no line for each in our terminal
            access_log=False,
            server_header=False,
            date_header=False,
            lifespan="on",
            ws="none",
            timeout_keep_alive=settings.request_seconds,
            timeout_graceful_shutdown=_SECONDS_TO_END,
            proxy_headers=False,
        )
        server = uvicorn.Server(config)
        with _signals_ignored(), _shown(address, show):
            asyncio.run(_run(server, listener, address, studio))


async def _run(server: uvicorn.Server, listener: socket.socket, address: str, studio: Studio) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if not serving.done():
        folder = studio.settings.folder
        opened = "no folder is opened" if folder is None else f"models in {printable(str(folder))} can be opened"
        print(f"Glyptic studio: {address}\n  {opened}; Ctrl-C ends it", flush=True)
    while not server.should_exit and not serving.done():
        await asyncio.sleep(0.1)
    await studio.stop()
    await serving


def address_of(settings: Settings, port: int) -> str:
    """What to open: the address with the token.

    >>> address_of(Settings(token="secret"), 8787)
    'http://127.0.0.1:8787/?token=secret'
    """
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)
    named = f"[{host.strip('[]')}]" if ":" in host else host
    return f"http://{named}:{port}/?token={settings.token}"


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """A socket that listens where the settings say; what is taken, or not ours, is one sentence."""
    host, port = settings.host.strip("[]"), settings.port
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = found[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"--host is {printable(host)!r}, and must be an address of this machine: {_why(error)}."
        ) from None
    with listener:
        try:
            if os.name == "posix":  # a studio that has just ended does not keep the port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(place)
            listener.listen(128)
        except OSError as error:
            place_said = f"port {port} of {printable(host)}"
            if error.errno == errno.EADDRINUSE:
                raise InputError(f"{place_said} is taken; name another with --port, or 0 for any free one.") from None
            raise InputError(
                f"cannot listen on {place_said}: {_why(error)}; name another with --host or --port."
            ) from None
        listener.setblocking(False)
        yield listener


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """uvicorn ends at SIGINT and SIGTERM, then raises them again: by then all is done, and they mean nothing more."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _shown(address: str, show: bool) -> Iterator[None]:
    """The page in the browser, by a file that only we can read: in the words of a process, all could read the token."""
    if not show:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="glyptic-studio-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        page.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={address}">\n', encoding="ascii")
        with suppress(webbrowser.Error):
            webbrowser.open(page.as_uri())
        yield
