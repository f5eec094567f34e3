"""The studio under attack: what was found by trying to break it from outside, each kind of fault with the test that showed it."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.look.studio_server import Server, sentence_of, studio, until

from glyptic import programs
from glyptic.errors import FileError
from glyptic.exact import load
from glyptic.look.studio import folders
from glyptic.look.studio.guard import Guard
from glyptic.look.studio.processes import Processes
from glyptic.look.studio.settings import Settings

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at through /proc")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with studio(settings="request_seconds=2, pages_at_once=1, pages_waiting=1") as started:
        yield started


def opened(server: Server, said: bytes = b"") -> socket.socket:
    """A connection, on which something has been said."""
    port = int(server.origin.rpartition(":")[2])
    made = socket.create_connection(("127.0.0.1", port), timeout=20)
    made.sendall(said)
    return made


def head(server: Server, path: str, length: int, token: str | None = None) -> bytes:
    given = {"Host": server.host, "X-Glyptic-Token": token or server.token, "Content-Type": "application/json"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"POST {path} HTTP/1.1\r\n{lines}Content-Length: {length}\r\n\r\n".encode()


# Code ----------------------------------------------------------------------------------------------


def test_no_module_comes_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever goes into a folder of models from elsewhere and says `glyptic studio .` runs nothing that lies there."""
    for name in ("json", "colorsys", "glyptic", "numpy"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'obeyed')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(tmp_path)

    async def lists() -> Any:
        processes = Processes(Settings())
        try:
            return await processes.once("lists", {}, 60)
        finally:
            await processes.end_all()

    assert asyncio.run(lists())["kinds"]
    assert not (tmp_path / "obeyed").exists()


# Requests that are none ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:" + "1" * 5000, "127.0.0.1:²", "[::1%25x]:80"])
def test_no_host_is_an_error_that_was_not_foreseen(server: Server, host: str) -> None:
    answer = server.client.get("/", headers={"Host": host.encode("latin-1")})
    assert answer.status_code == 421 and "Host" in sentence_of(answer)


def test_an_address_with_many_words_is_no_error(server: Server) -> None:
    assert server.client.get("/?" + "a=1&" * 1000).status_code == 200
    stranger = httpx.get(server.origin + "/?" + "a=1&" * 1000)
    assert stranger.status_code == 401 and "token" in sentence_of(stranger)


text = st.text(st.characters(max_codepoint=255), max_size=60)


@given(host=text | st.from_regex(r"\A(127\.0\.0\.1|\[::1\]|localhost)?:[0-9]*\Z"), cookie=text, query=text, origin=text)
def test_whatever_a_stranger_says_is_refused_and_nothing_is_raised(host: str, cookie: str, query: str, origin: str) -> None:
    said: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("it went through")

    async def send(message: Any) -> None:
        said.append(message)

    guard = Guard(application, token="a token that is not guessed", host="127.0.0.1", port=80)
    given = {"host": host, "cookie": cookie, "origin": origin, "x-glyptic-token": query}
    headers = [(name.encode(), value.encode("latin-1")) for name, value in given.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query.encode("latin-1"), "headers": headers}
    asyncio.run(guard(scope, None, send))  # type: ignore[arg-type]
    assert said[0]["status"] in (401, 403, 421) and b'{"error":' in said[1]["body"]


def test_what_an_address_says_twice_is_refused(server: Server) -> None:
    answer = server.client.get("/page?text=parity:8&text=parity:4")
    assert answer.status_code == 400 and sentence_of(answer) == "the address names 'text' 2 times; say it once."


# Connections ----------------------------------------------------------------------------------------------


def test_who_says_nothing_locks_nobody_out(server: Server) -> None:
    """More silent connections than there may be: the page is answered all the same, and they are let go."""
    with ExitStack() as stack:
        silent = [stack.enter_context(opened(server)) for _ in range(600)]
        begun = [stack.enter_context(opened(server, b"GET / HTTP/1.1\r\nHost:")) for _ in range(100)]
        assert server.client.get("/nothing").status_code == 404
        for each in [*silent[:5], *silent[-5:], *begun[-5:]]:
            each.settimeout(10)
            assert _closed(each)


def test_a_body_that_nobody_reads_ends(server: Server) -> None:
    """A refused request goes on sending its body, a byte at a time: the connection is closed all the same."""
    with opened(server, head(server, "/api/page", 60_000, token="wrong")) as connection:
        assert b"401" in connection.recv(100)
        until(lambda: _unheard(connection))


def _unheard(connection: socket.socket) -> bool:
    """Whether one more byte finds nobody."""
    try:
        connection.sendall(b" ")
    except OSError:
        return True
    return False


def _closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_long_answer_is_not_cut_by_the_time_for_requests(server: Server) -> None:
    """A page is read slowly, for longer than a request may take to be sent."""
    with opened(server, head(server, "/", 0).replace(b"POST", b"GET")) as connection:
        received = connection.recv(1000)
        size = int(received.lower().partition(b"content-length:")[2].split()[0])
        time.sleep(3)
        while size > len(received.partition(b"\r\n\r\n")[2]):
            part = connection.recv(1 << 16)
            assert part, "it was cut"
            received += part


def test_a_page_whose_asker_has_gone_holds_up_nobody(server: Server) -> None:
    body = b'{"source": "expression", "text": "%s"}' % b" & ".join([b"parity:16384"] * 12)  # some half a minute of work
    for _ in range(4):
        with opened(server, head(server, "/api/page", len(body)) + body):
            time.sleep(0.3)
    began = time.monotonic()
    until(lambda: server.post("/api/page", {"text": "parity:4"}).status_code == 200)
    assert time.monotonic() - began < 12


def test_garbage_writes_no_line_in_the_terminal() -> None:
    with studio(settings="pages_at_once=1") as server:
        with opened(server, b"\x16\x03\x01\x02\x00\r\n\r\n") as connection:
            assert b"400" in connection.recv(1000)
        upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
        assert server.client.get("/nothing", headers=upgrade).status_code == 404
        status, _, wrong = server.stop()
    assert (status, wrong) == (0, "")


# Files ----------------------------------------------------------------------------------------------


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """A folder with a model that is just what it seems, and a secret beside it."""
    programs.open("parity:4", "fixed:4").save(tmp_path / "secret")
    programs.open("contains:11,4", "fixed:4").save(tmp_path / "models" / "model")
    return tmp_path / "models"


def page_of(models: Path, name: str) -> str:
    from glyptic.look.studio.worker import answer

    said = answer({"ask": "page", "folder": str(models), "wish": {"source": "folder", "text": name}}, print)
    return str(said.get("error") or said["done"]["about"]["name"])


def test_what_a_writer_has_left_does_not_lead_outside(models: Path) -> None:
    """A model's folder may say that a writer was killed, and its files are still to be moved: they are links to a secret."""
    decided = models / "model" / ".glyptic-new"
    decided.mkdir()
    for name in ("config.json", "model.safetensors"):
        (decided / name).symlink_to(models.parent / "secret" / name)
    assert "leads out of the opened folder" in page_of(models, "model")


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_exchanged_for_a_link_after_the_check_is_not_read(
    models: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Once when the path has been checked, once when it has been resolved for reading: the last moment that there is."""
    secret, model, resolve = models.parent / "secret", models / "model", os.path.realpath

    def exchange() -> None:
        shutil.rmtree(model) if what == "folder" else (model / "config.json").unlink()
        if what == "folder":
            model.symlink_to(secret, target_is_directory=True)
        else:
            (model / "config.json").symlink_to(secret / "config.json")

    def too_late(path: Any, **options: Any) -> str:
        found = resolve(path, **options)
        if str(path).endswith("config.json"):
            monkeypatch.setattr(os.path, "realpath", resolve)
            exchange()
        return found

    monkeypatch.setattr(os.path, "realpath", too_late)
    with pytest.raises(FileError, match="cannot read"):
        load(model, within=models)


def test_links_that_stay_inside_are_followed(models: Path) -> None:
    (models / "other").symlink_to(models / "model", target_is_directory=True)
    assert page_of(models, "other").startswith("contains")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(models: Path) -> None:
    (models / "model" / "config.json").unlink()
    os.mkfifo(models / "model" / "config.json")
    assert "holds no transformer" in page_of(models, "model")
    with pytest.raises(FileError, match="not a regular file"):
        load(models / "model", within=models)


def test_a_list_that_is_cut_says_so(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folders.models_of(models) == (["model"], True)
    for name in ("a", "b", "c"):
        shutil.copytree(models / "model", models / name)
    monkeypatch.setattr(folders, "_MOST_LISTED", 2)
    assert folders.models_of(models) == (["a", "b"], False)
    monkeypatch.setattr(folders, "_MOST_LISTED", 4)
    assert folders.models_of(models) == (["a", "b", "c", "model"], True)
    monkeypatch.setattr(folders, "_MOST_SEEN", 3)
    assert folders.models_of(models) == (["a", "b"], False)
    monkeypatch.undo()
    (models / "model" / "2" / "3" / "4" / "5" / "6" / "7").mkdir(parents=True)
    assert not folders.models_of(models)[1]
