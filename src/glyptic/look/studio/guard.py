"""Who may ask: every request names an allowed Host, comes from no other origin, and has the token; what every answer says.

A page of another site has no token: the cookie is SameSite=Strict, and it cannot set a header of its own. A name that is made to
point here (DNS rebinding) is no allowed Host. They get one sentence, and no cookie.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glyptic.look.studio.settings import is_loopback

HEADER = "x-glyptic-token"
_AT_ONCE = 256  # requests that are answered at the same time
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_SAID = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """The application behind these checks."""

    def __init__(self, app: ASGIApp, *, token: str, host: str, port: int) -> None:
        self.app, self.token, self.host, self.port = app, token, host, port
        self.cookie = f"glyptic_studio_{port}"  # cookies do not tell ports apart
        self.under_way = 0  # requests that are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope, Headers(scope=scope))
        if refusal is None and self.under_way >= _AT_ONCE:
            refusal = 503, f"{_AT_ONCE} requests are being answered, and no more are taken: ask again in a moment."
        if refusal is not None:
            status, sentence = refusal
            await JSONResponse({"error": sentence}, status)(scope, receive, self._saying(scope, send, welcome=False))
            return
        self.under_way += 1
        try:
            await self.app(scope, receive, self._saying(scope, send))
        finally:
            self.under_way -= 1

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        if len(headers.getlist("host")) != 1 or not self.is_allowed(headers["host"]):
            return 421, "this Host is not the studio's; open the address that the studio printed."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        is_page = scope["method"] in ("GET", "HEAD") and scope["path"] == "/"
        foreign = origin is not None and origin.lower() != f"http://{headers['host'].lower()}"
        if foreign or (site not in (None, "same-origin", "none") and not is_page):
            return 403, "the studio answers only its own pages, and this request comes from another origin."
        if not self._has_token(scope, headers):
            return 401, "the token is missing or wrong; open the address that the studio printed, which has it."
        by_header = self._is_token(headers.get(HEADER))  # which no page of another site can set
        if scope["method"] not in ("GET", "HEAD") and origin is None and not by_header:
            return (
                403,
                "the request does not say which origin it comes from; send the token in the header X-Glyptic-Token.",
            )
        return None

    def is_allowed(self, host: str) -> bool:
        """Whether a Host is one of the studio's own names. An address is never rebound; a name must be known here."""
        name, _, port = host.lower().rpartition(":") if _has_port(host) else (host.lower(), ":", "80")
        if not re.fullmatch("[0-9]{1,5}", port) or int(port) != self.port:
            return False
        if is_loopback(name):
            return is_loopback(self.host) or _is_every(self.host)
        return name.strip("[]") == self.host.lower() or (
            _is_every(self.host) and (_is_address(name) or name == _own_name())
        )

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        given = [headers.get(HEADER), _cookie(headers.get("cookie", ""), self.cookie)]
        if scope["path"] == "/":
            given += parse_qs(scope["query_string"].decode("latin-1")).get("token", [])[:1]  # a head has at most 64 kB
        return any(self._is_token(each) for each in given)

    def _is_token(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def _saying(self, scope: Scope, send: Send, welcome: bool = True) -> Send:
        """Answers with the headers that every one has; the first page brings the cookie."""

        async def saying(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SAID.items():
                    headers.setdefault(name, value)
                headers.setdefault("content-security-policy", POLICY)
                if welcome and scope["path"] == "/":
                    headers.append("set-cookie", f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict")
            await send(message)

        return saying


def _has_port(host: str) -> bool:
    return (
        host.rpartition(":")[2].isdigit() and not host.endswith("]") and (host.startswith("[") or host.count(":") == 1)
    )


def _cookie(text: str, name: str) -> str | None:
    try:
        found = SimpleCookie(text).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _is_every(host: str) -> bool:
    """Whether a host to listen on means every address of the machine."""
    return _is_address(host) and ipaddress.ip_address(host.strip("[]")).is_unspecified


def _own_name() -> str:
    return socket.gethostname().lower()
