"""The studio's server: who may ask, what is refused and how, proofs with their progress, and that no process is left."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.look.studio_server import SLOW, Server, alive, children, sentence_of, studio, until

from glyptic import programs
from glyptic.look.studio import worker
from glyptic.look.studio.guard import Guard
from glyptic.look.studio.processes import Processes, Refusal
from glyptic.look.studio.settings import Settings

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at through /proc")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, and a secret beside it that links point to."""
    outside = tmp_path_factory.mktemp("outside")
    programs.open("parity:4", "fixed:4").save(outside / "secret")
    inside = tmp_path_factory.mktemp("models")
    programs.open("contains:11,4", "fixed:4").save(inside / "deep" / "contains")
    hostile = programs.open("parity:4", "fixed:4")
    hostile.replace(
        vocabulary=("<script>alert(1)</script>", "</script><!--"), name="<img src=x onerror=alert(1)>"
    ).save(inside / "hostile")
    (inside / "link").symlink_to(outside / "secret", target_is_directory=True)
    (inside / "linked-files").mkdir()
    for name in ("config.json", "model.safetensors"):
        (inside / "linked-files" / name).symlink_to(outside / "secret" / name)
    (inside / "empty").mkdir()
    pickled = inside / "pickled"
    shutil.copytree(inside / "deep" / "contains", pickled)
    (pickled / "model.safetensors").write_bytes(
        b"\x80\x04\x95\x1e\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93."
    )
    return inside


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Server]:
    with studio(str(models)) as started:
        yield started


# Who may ask ----------------------------------------------------------------------------------------------------------------


def test_the_address_has_a_token_and_the_first_page_brings_it_as_a_cookie(server: Server) -> None:
    with httpx.Client() as visitor:
        first = visitor.get(server.address)
        assert first.status_code == 200 and first.text.startswith("<!DOCTYPE html>")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and server.token in cookie
        assert visitor.get(server.origin + "/api/lists").status_code == 200


@pytest.mark.parametrize("path", ["/", "/page", "/api/lists", "/api/jobs/x/events", "/nothing"])
@pytest.mark.parametrize("token", [None, "", "wrong", "ñ"])
def test_without_the_token_nothing_is_answered(server: Server, path: str, token: str | None) -> None:
    said = (token or "").encode()
    headers = (
        {} if token is None else {"X-Glyptic-Token": said, "Cookie": b"glyptic_studio_%d=%s" % (_port(server), said)}
    )
    answer = httpx.get(server.origin + path, headers=headers)
    assert answer.status_code == 401 and "token" in sentence_of(answer) and "set-cookie" not in answer.headers


def test_the_token_in_an_address_counts_for_the_first_page_only(server: Server) -> None:
    assert httpx.get(f"{server.origin}/api/lists?token={server.token}").status_code == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:{port}",
        "",
        "[::1",
        "127.0.0.1:{port}x",
        "0.0.0.0:{port}",
        "192.168.0.1:{port}",
    ],
)
def test_another_host_is_refused(server: Server, host: str) -> None:
    answer = server.client.get("/", headers={"Host": host.format(port=_port(server))})
    assert answer.status_code in (400, 421) and "set-cookie" not in answer.headers
    assert answer.status_code == 400 or "Host" in sentence_of(answer)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_the_names_of_loopback_are_its_hosts(server: Server, host: str) -> None:
    assert server.client.get("/", headers={"Host": host.format(port=_port(server))}).status_code == 200


def test_a_studio_on_every_address_takes_addresses_and_its_own_name() -> None:
    guard = Guard(lambda *_: None, token="t", host="0.0.0.0", port=80)  # type: ignore[arg-type, return-value]
    allowed = ["192.168.0.1", "10.0.0.1:80", "[fe80::1]:80", "127.0.0.1", socket.gethostname()]
    assert [host for host in [*allowed, "evil.example", "10.0.0.1:81", "a b", ":"] if guard.is_allowed(host)] == allowed


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1",
        "http://127.0.0.1:1",
        "http://localhost:{port}.evil.example",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/api/page", "/api/prove", "/api/jobs/x/cancel"])
def test_another_origin_is_refused(server: Server, origin: str, path: str) -> None:
    answer = server.post(path, {}, headers={"Origin": origin.format(port=_port(server))})
    assert answer.status_code == 403 and "origin" in sentence_of(answer)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/page", "/api/lists", "/api/jobs/x/events"])
def test_another_site_is_refused(server: Server, site: str, path: str) -> None:
    assert server.client.get(path, headers={"Sec-Fetch-Site": site}).status_code == 403


def test_a_cookie_alone_does_not_start_anything(server: Server) -> None:
    """A form of another site, in a browser that sends cookies to whoever asks, would come so."""
    cookie = {"Cookie": f"glyptic_studio_{_port(server)}={server.token}"}
    assert httpx.post(f"{server.origin}/api/prove", json=SLOW, headers=cookie).status_code == 403
    own = {**cookie, "Origin": server.origin}
    assert httpx.post(f"{server.origin}/api/prove", json={}, headers=own).status_code == 400


def test_a_preflight_gets_nothing(server: Server) -> None:
    asked = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-glyptic-token",
    }
    answer = httpx.options(f"{server.origin}/api/prove", headers=asked)
    assert answer.status_code == 403 and not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/api/lists", "/nothing"])
def test_what_every_answer_says(server: Server, path: str) -> None:
    headers = server.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert headers["cache-control"] == "no-store" and "server" not in headers


# What may be said ------------------------------------------------------------------------------------------------------------

BODIES = {
    b"": "not JSON",
    b"{": "not JSON",
    b"\xff\xfe": "UTF-8",
    b'{"text": NaN}': "NaN",
    b'{"text": "a", "text": "b"}': "twice",
    b'{"text": "\\ud800"}': "surrogate",
    b"[" * 5000 + b"]" * 5000: "nested",
    b'{"max_length": 1' + b"0" * 1000 + b"}": "digits",
    b"[]": "an object",
    b"3": "an object",
    b"null": "an object",
    b'{"text": 3}': "text is 3",
    b'{"source": "file"}': "source is 'file'",
    b'{"no": 1}': "not known",
    b'{"__class__": 1}': "not known",
    json.dumps({"text": "a" * 5000}).encode(): "4,000 characters",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("path", ["/api/page", "/api/prove"])
def test_a_bad_body_is_a_sentence(server: Server, path: str, body: bytes) -> None:
    answer = server.client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and BODIES[body] in sentence_of(answer)


@pytest.mark.parametrize(
    "kind",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"],
)
def test_only_json_is_taken(server: Server, kind: str | None) -> None:
    answer = server.client.post("/api/prove", content=b"{}", headers={} if kind is None else {"Content-Type": kind})
    assert answer.status_code == 415 and "application/json" in sentence_of(answer)


def test_a_huge_body_is_refused_whether_it_tells_its_length_or_not(server: Server) -> None:
    kind = {"Content-Type": "application/json"}
    assert server.client.post("/api/page", content=b" " * (1 << 20), headers=kind).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" " * 4096

    try:
        answer = server.client.post("/api/page", content=endless(), headers=kind)
    except httpx.WriteError:  # the answer came, and the connection went, before all was sent
        pass
    else:
        assert answer.status_code == 413 and "65,536 bytes" in sentence_of(answer)
    assert server.client.get("/api/lists").status_code == 200


def test_what_is_not_there(server: Server) -> None:
    assert server.client.get("/nothing").status_code == 404
    assert server.client.get("/api/page").status_code == 405
    assert server.client.get("/api/jobs/none/events").status_code == 404
    assert server.client.get("/page?" + "x" * 20000).status_code == 414
    for path in (
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/static/x",
        "/api/jobs/..%2f..%2fx/events",
    ):
        assert server.client.get(path).status_code == 404


def test_what_is_no_http(server: Server) -> None:
    for said in (
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"x" * 70000 + b"\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", _port(server)), timeout=10) as line:
            line.sendall(said)
            assert b"200 OK" not in line.recv(4096)
    assert server.client.get("/api/lists").status_code == 200


# Models ------------------------------------------------------------------------------------------------------------------------

UNKNOWN = {
    ("name", "party:8"): "no built-in decider 'party'",
    ("name", "parity:100000"): "16384",
    ("name", "parity:-1"): "max_length is -1",
    ("name", "parity:x"): "whole number",
    ("name", ""): "no built-in decider ''",
    ("name", "/etc/passwd"): "no built-in decider",
    ("name", "deep/contains"): "no built-in decider",
    ("name", "regex:(((,8"): "regex",
    ("expression", "parity:8 & "): "missing",
    ("expression", "(" * 300): "parentheses",
    ("expression", " & ".join(["parity:2"] * 101)): "101 deciders",
    ("expression", "parity:8 & /etc"): "not in the opened folder",
    ("expression", "'../outside'"): "not in the opened folder",
    ("folder", "nothing"): "holds no transformer",
    ("folder", "empty"): "holds no transformer",
    ("folder", "pickled"): "digest",
    ("folder", ""): "not in the opened folder",
}


@pytest.mark.parametrize("asked", UNKNOWN)
def test_a_model_that_is_not_there_is_a_sentence(server: Server, asked: tuple[str, str]) -> None:
    source, text = asked
    assert UNKNOWN[asked] in server.refused("/api/page", {"source": source, "text": text})
    assert server.client.get("/page", params={"source": source, "text": text}).status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../secret",
        "deep/../../secret",
        "/etc",
        "//etc",
        "~",
        "~root",
        "link",
        "link/",
        "linked-files",
        "deep/contains/../../../x",
        "%2e%2e/secret",
        "..\\secret",
        "\\etc",
        "C:\\Windows",
        "file:///etc",
        "deep\x00",
        "deep\n",
        "./..",
        "a" * 3000,
        "/proc/self/root",
    ],
)
@pytest.mark.parametrize("source", ["folder", "expression"])
def test_nothing_outside_the_folder_is_opened(server: Server, models: Path, source: str, path: str) -> None:
    text = f"'{path}'" if source == "expression" else path
    said = server.refused("/api/page", {"source": source, "text": text})
    assert "secret" not in said.replace("'../secret'", "").replace("secret'", "") and str(models.parent) not in said
    assert "not in the opened folder" in said or "holds no transformer" in said
    inside = str(models / "deep" / "contains")  # an absolute path is refused even where it leads inside
    assert "not in the opened folder" in server.refused("/api/page", {"source": "folder", "text": inside})


def test_the_list_has_what_is_inside_and_no_link_out(server: Server) -> None:
    lists = server.client.get("/api/lists").json()
    assert lists["models"] == ["deep/contains", "hostile", "pickled"]
    assert {kind["name"] for kind in lists["kinds"]} >= {"parity", "contains", "regex"}


def test_without_a_folder_no_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs.open("parity:4", "fixed:4").save(tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    with studio() as server:
        assert server.client.get("/api/lists").json()["models"] == []
        for text in ("model", "./model", str(tmp_path / "model")):
            assert "no folder was opened" in server.refused("/api/page", {"source": "folder", "text": text})


def test_a_model_that_takes_too_long_is_a_sentence_and_its_process_is_gone() -> None:
    async def late() -> tuple[str, int, bool]:
        processes = Processes(Settings())
        process = await processes.take()
        processes.give_back(process)
        with pytest.raises(Refusal) as refused:
            await processes.once("page", {"text": "palindromes:300"}, 0.05)
        return str(refused.value), len(processes.all), alive(process.process.pid)

    said, left, still = asyncio.run(late())
    assert "longer than the 0.05 s" in said and left == 0 and not still


@pytest.mark.parametrize("text", ["regex:(0|1)*1" + "(0|1)" * 12 + ",16", "palindromes:100000"])
def test_a_model_that_would_be_huge_is_a_sentence(server: Server, text: str) -> None:
    server.refused("/api/page", {"text": text})


# Pages -------------------------------------------------------------------------------------------------------------------------


def test_a_page_as_data(server: Server) -> None:
    wish = {"text": "parity:8", "format": "fixed:4", "input": "0111", "normalize": "infinity"}
    made = server.post("/api/page", wish).json()
    assert (
        made["views"][0]["kind"] == "exact"
        and made["about"]["max_length"] == 8
        and made["about"]["format"] == "fixed:4"
    )
    folder = server.post("/api/page", {"source": "folder", "text": "deep/contains", "input": "0111"}).json()
    assert folder["about"]["name"].startswith("contains")
    both = server.post(
        "/api/page", {"source": "expression", "text": "parity:4 & ~deep/contains", "format": "fixed:4"}
    ).json()
    assert both["about"]["name"] == "parity:4 & ~deep/contains"


def test_a_page_of_its_own_asks_nobody(server: Server) -> None:
    answer = server.client.get("/page", params={"text": "parity:8", "input": "0111", "language": "es"})
    assert answer.status_code == 200 and '<html lang="es">' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "connect-src 'none'" in policy and "sandbox allow-scripts allow-downloads" in policy
    assert server.token not in answer.text


def test_an_input_that_cannot_be_read_is_a_sentence(server: Server) -> None:
    assert "2" in server.refused("/api/page", {"text": "parity:8", "input": "0120"})
    assert server.refused("/api/page", {"text": "parity:8", "input": "0" * 50})
    assert "20,000" in server.refused("/api/page", {"text": "parity:8", "input": "0" * 30000})
    assert "fixed" in server.refused("/api/page", {"text": "parity:8", "format": "fixed:99999"})


def test_what_a_model_is_called_stays_text(server: Server) -> None:
    answer = server.client.get("/page", params={"source": "folder", "text": "hostile"})
    assert answer.status_code == 200
    assert (
        "<script>alert(1)" not in answer.text and "<img src=x" not in answer.text and "</script><!--" not in answer.text
    )
    assert "hostile" in server.client.get("/api/lists").text


# Proofs ------------------------------------------------------------------------------------------------------------------------


def watch(server: Server, job: str) -> list[dict[str, Any]]:
    """All events of a proof, to its end."""
    with server.client.stream("GET", f"/api/jobs/{job}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        return [json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line.startswith("data: ")]


def begin(server: Server, wish: dict[str, Any]) -> str:
    answer = server.post("/api/prove", wish)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_a_proof_with_its_progress(server: Server) -> None:
    events = watch(server, begin(server, {"text": "parity:18", "language": "0*10*(10*10*)*"}))
    counts = [event["done"] for event in events if "done" in event]
    assert len(counts) >= 2 and counts == sorted(counts) and counts[-1] <= 2**19 - 2
    assert events[-1]["state"] == "done" and events[-1]["verdict"]["answer"] == "Proved"
    assert events[-1]["verdict"]["inputs"] == 2**19 - 2


def test_a_counterexample(server: Server) -> None:
    events = watch(server, begin(server, {"text": "parity:8", "against": "majority:8"}))
    verdict = events[-1]["verdict"]
    assert verdict["answer"] == "Refuted"
    example = "".join(verdict["counterexample"]["input"])
    assert programs.open("parity:8").answer(example) != programs.open("majority:8").answer(example)


@pytest.mark.parametrize("claim", ["decisive", "never_zero_attention"])
def test_claims_by_name(server: Server, claim: str) -> None:
    events = watch(server, begin(server, {"source": "folder", "text": "deep/contains", "claim": claim}))
    assert events[-1]["verdict"]["answer"] == "Proved"


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"text": "party"}, "no built-in decider"),
        ({"text": "parity:8", "max_length": 9}, "8"),
        ({"source": "folder", "text": "../secret"}, "not in the opened folder"),
        ({"text": "parity:8", "claim": "", "language": "((("}, "("),
        ({"text": "parity:8", "claim": "", "against": "../secret"}, "not in the opened folder"),
    ],
)
def test_a_question_that_cannot_be_asked_ends_with_a_sentence(server: Server, wish: dict[str, Any], said: str) -> None:
    last = watch(server, begin(server, {"claim": "decisive", **wish}))[-1]
    assert last["state"] == "failed" and said in last["error"] and last["error"].endswith(".")


@pytest.mark.parametrize(
    "wish",
    [{}, {"claim": "true"}, {"claim": "decisive", "language": "0"}, {**SLOW, "max_length": 0}, {**SLOW, "seconds": -1}],
)
def test_a_question_that_is_none_is_refused_at_once(server: Server, wish: dict[str, Any]) -> None:
    server.refused("/api/prove", wish)


def test_a_proof_has_a_time(server: Server) -> None:
    last = watch(server, begin(server, {**SLOW, "seconds": 0.5}))[-1]
    assert last["verdict"]["answer"] == "Unknown" and "time limit" in last["verdict"]["reason"]


def test_cancel_ends_the_process(server: Server) -> None:
    before = children(server.process.pid)
    job = begin(server, SLOW)
    with server.client.stream("GET", f"/api/jobs/{job}/events") as answer:
        lines = answer.iter_lines()
        until(lambda: '"done"' in next(lines))
        assert server.post(f"/api/jobs/{job}/cancel", {}).json()["state"] == "cancelled"
        assert '"cancelled"' in [line for line in lines if line][-1]
    assert not {*children(server.process.pid)} - {*before}
    assert server.post(f"/api/jobs/{job}/cancel", {}).json()["state"] == "cancelled"  # again: nothing more


def test_a_proof_whose_page_goes_is_cancelled() -> None:
    with studio(settings="unwatched_seconds=600.0") as server:  # so that nothing else ends it
        job = begin(server, SLOW)
        with server.client.stream("GET", f"/api/jobs/{job}/events") as answer:
            lines = answer.iter_lines()
            until(lambda: '"done"' in next(lines))
            working = busiest(server.process.pid)
        until(lambda: not alive(working), 8)
        assert watch(server, job)[-1]["state"] == "cancelled"


def test_a_proof_that_no_page_looks_at_is_cancelled() -> None:
    with studio(settings="unwatched_seconds=3.0") as server:
        job = begin(server, SLOW)
        time.sleep(1.5)
        working = busiest(server.process.pid)
        assert alive(working)
        until(lambda: not alive(working))  # far sooner than the proof would end
        assert watch(server, job)[-1]["state"] == "cancelled"


def test_memory_is_limited_and_the_want_of_it_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from glyptic.look.studio.worker import limit_memory; limit_memory(1024); bytearray(2 << 30)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1 and "MemoryError" in ended.stderr

    def greedy(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(worker, "_page", greedy)
    said = worker.answer({"ask": "page", "folder": None, "wish": {}}, print)
    assert said["caused"] and "more memory" in said["error"]


def test_what_was_not_foreseen_is_a_sentence_without_its_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("/home/somebody/secret")

    monkeypatch.delenv("GLYPTIC_DEBUG", raising=False)
    monkeypatch.setattr(worker, "_page", broken)
    said = worker.answer({"ask": "page", "folder": None, "wish": {}}, print)
    assert not said["caused"] and "secret" not in said["error"] and said["error"].endswith(".")


def test_a_full_queue_says_so() -> None:
    with studio(settings="proofs_at_once=1, proofs_waiting=2") as server:
        jobs = [begin(server, SLOW) for _ in range(3)]
        assert "3 proofs" in server.refused("/api/prove", SLOW, 503)
        assert len(children(server.process.pid)) <= 2
        server.post(f"/api/jobs/{jobs[1]}/cancel", {})  # one that waits
        jobs.append(begin(server, SLOW))
        for job in jobs:
            server.post(f"/api/jobs/{job}/cancel", {})
        assert watch(server, begin(server, {"text": "parity:4", "claim": "decisive"}))[-1]["state"] == "done"


def test_many_clients_at_once(server: Server) -> None:
    async def all_at_once() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=None)
        token = {"X-Glyptic-Token": server.token}
        async with httpx.AsyncClient(base_url=server.origin, headers=token, timeout=120, limits=limits) as client:
            pages = [client.post("/api/page", json={"text": "party"}) for _ in range(20)]
            bad = [client.post("/api/page", content=b"{") for _ in range(15)]
            rest = [client.get(path) for path in ("/", "/api/lists", "/nothing") for _ in range(5)]
            return list(await asyncio.gather(*pages, *bad, *rest))

    answers = asyncio.run(all_at_once())
    assert len(answers) == 50 and {answer.status_code for answer in answers} <= {200, 400, 404, 415}
    assert len(children(server.process.pid)) <= 6


def test_pages_beyond_the_queue_are_refused() -> None:
    async def all_at_once(server: Server) -> list[int]:
        async with httpx.AsyncClient(
            base_url=server.origin, headers={"X-Glyptic-Token": server.token}, timeout=120
        ) as client:
            return [
                answer.status_code for answer in await asyncio.gather(*(client.get("/api/lists") for _ in range(20)))
            ]

    with studio(settings="pages_at_once=1, pages_waiting=3") as server:
        answers = asyncio.run(all_at_once(server))
        assert {*answers} == {200, 503} and answers.count(200) >= 4
        assert server.client.get("/api/lists").status_code == 200


# The end -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_all_its_processes(number: int) -> None:
    with studio() as server:
        with server.client.stream("GET", f"/api/jobs/{begin(server, SLOW)}/events") as answer:
            lines = answer.iter_lines()
            until(lambda: '"running"' in next(lines))
            started = children(server.process.pid)
            assert started
            status, _, wrong = server.stop(number)
        assert status == 0 and "Traceback" not in wrong and wrong == ""
        until(lambda: not any(map(alive, started)))


def test_a_kill_leaves_no_process() -> None:
    with studio() as server:
        job = begin(server, SLOW)
        with server.client.stream("GET", f"/api/jobs/{job}/events") as answer:
            lines = answer.iter_lines()
            until(lambda: '"done"' in next(lines))
            started = children(server.process.pid)
            server.process.kill()
            server.process.communicate()
        until(lambda: not any(map(alive, started)))


def test_a_worker_ends_when_its_input_does() -> None:
    """Even where it has nothing to tell: what it could write to is still there."""
    command = [sys.executable, "-m", "glyptic.look.studio.worker", "4096"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"ask": "prove", "folder": None, "wish": SLOW}).encode() + b"\n")
        process.stdin.flush()
        assert b"progress" in process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=8) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "-1"], "--port is -1"),
        (["--port", "99999"], "--port is 99999"),
        (["--port", "many"], "--port: 'many'"),
        (["--host", ""], "host"),
        (["--host", "8.8.8.8"], "cannot listen"),
        (["--host", "nowhere.invalid"], "nowhere.invalid"),
        (["no-such-folder"], "FOLDER"),
        (["--port", "{busy}"], "is taken"),
    ],
)
def test_bad_words_are_one_sentence(words: list[str], said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        given = [word.format(busy=busy.getsockname()[1]) for word in words]
        command = [sys.executable, "-m", "glyptic", "studio", "--no-open", *given]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2 and ended.stdout == ""
    assert said in ended.stderr and ended.stderr.count("\n") == 1, ended.stderr


def test_a_host_that_others_reach_is_warned_of() -> None:
    with studio("--host", "0.0.0.0") as server:
        assert server.client.get("/").status_code == 200
        _, _, wrong = server.stop()
    assert wrong.startswith("warning: other machines reach 0.0.0.0") and wrong.count("\n") == 1


def test_settings_do_not_show_their_token() -> None:
    assert Settings().token not in repr(Settings()) and Settings().token != Settings().token


def _port(server: Server) -> int:
    return int(server.origin.rpartition(":")[2])


def busiest(process: int) -> int:
    """The child that has worked most."""

    def worked(child: int) -> int:
        return int((Path("/proc") / str(child) / "stat").read_text().rpartition(")")[2].split()[11])

    return max(children(process), key=worked)
