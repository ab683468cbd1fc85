"""Who may ask the studio anything: one pure ASGI middleware around everything.

The studio listens on this machine only, but so does every page that a browser has open, and research environments are
shared servers. So a request must name this machine (DNS rebinding), come from the studio's own pages, live below a path
that nobody can guess, and carry the cookie that a one-time link has set.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from sqlanon.studio.background import in_words

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("sqlanon.studio")

COOKIE = "sqlanon_studio"
LARGEST = 4_000_000
"""Bytes of a request: a pasted hierarchy, not an upload."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
SANDBOX = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'none'; sandbox"
)
"""For a report, which holds its own styles and pictures: it is of no origin, runs no script and sends nothing."""
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
METHODS = ("GET", "HEAD", "POST")


class Keys:
    """The secrets of one studio: its path, its one-time token, its session."""

    def __init__(self) -> None:
        self.path = f"/{secrets.token_urlsafe(24)}"
        self._session = secrets.token_urlsafe(32)
        self.token: str | None = secrets.token_urlsafe(32)

    def spend(self, token: str) -> bool:
        """Is it the token? It is good once."""
        known, is_same = self.token, False
        if known is not None and hmac.compare_digest(known.encode(), token.encode()):
            self.token, is_same = None, True
        return is_same

    def is_session(self, value: str) -> bool:
        return hmac.compare_digest(self._session.encode(), value.encode())

    def cookie(self) -> str:
        """The header that sets the session: for this path only, as cookies ignore ports."""
        return f"{COOKIE}={self._session}; Path={self.path}/; HttpOnly; SameSite=Strict"


class Refused(Exception):
    """A request that is not answered."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Guard:
    """The middleware. `port` is required at each request, as it may be known late."""

    def __init__(self, app: App, keys: Keys, port: Callable[[], int]) -> None:
        self.app, self.keys, self.port = app, keys, port
        self.last_asked = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.close", "code": 1008})
            return
        sending = _Sending(send)
        try:
            is_start = self._check(scope)
            if is_start:
                await self._start(scope, sending)
                return
            self.last_asked = time.monotonic()
            await self.app(scope, _limited(receive), sending)
        except Refused as refused:
            await _say(sending, refused.status, str(refused))
        except Exception as problem:
            said = in_words(problem)
            if not sending.has_begun:
                await _say(sending, 500, said)

    def _check(self, scope: Scope) -> bool:
        """Raise unless the request may be answered; is it the one-time link?"""
        headers = _headers(scope)
        hosts = headers.get("host", [])
        allowed = {f"{host}:{self.port()}" for host in ("127.0.0.1", "localhost", "[::1]")}
        if len(hosts) != 1 or hosts[0].lower() not in allowed:
            raise Refused(421, "This studio answers only to 127.0.0.1 and localhost.")
        if scope["method"] not in METHODS:
            raise Refused(405, "This is not a way to ask the studio.")
        path = scope["path"]
        head = path[: len(self.keys.path) + 1]
        if not hmac.compare_digest(head.encode(), f"{self.keys.path}/".encode()):
            raise Refused(404, "There is nothing here. Use the link that the terminal shows.")
        self._check_site(scope["method"], headers, hosts[0])
        if path == f"{self.keys.path}/start":
            return True
        if not self._has_session(headers):
            raise Refused(403, "This browser does not hold the session. Start the studio again for a new link.")
        return False

    def _check_site(self, method: str, headers: dict[str, list[str]], host: str) -> None:
        """Does the request come from a page of the studio, or from nobody's?

        With no-referrer a browser says Origin: null even of the studio's own forms, so that null counts as unsaid, and
        Sec-Fetch-Site must say it.
        """
        sites = headers.get("sec-fetch-site", [])
        origins = [origin for origin in headers.get("origin", []) if origin != "null"]
        if any(site not in ("same-origin", "none") for site in sites):
            raise Refused(403, "This request comes from another page.")
        if any(origin.lower() != f"http://{host.lower()}" for origin in origins):
            raise Refused(403, "This request comes from another page.")
        if method == "POST" and not (origins or sites == ["same-origin"]):
            raise Refused(403, "This request does not say where it comes from.")

    def _has_session(self, headers: dict[str, list[str]]) -> bool:
        for header in headers.get("cookie", []):
            try:
                found = SimpleCookie(header).get(COOKIE)
            except CookieError:
                continue
            if found is not None and self.keys.is_session(found.value):
                return True
        return False

    async def _start(self, scope: Scope, send: Send) -> None:
        """The one-time link: sets the cookie and leads on."""
        token = scope.get("query_string", b"").decode("latin-1").removeprefix("token=")
        if scope["method"] != "GET" or not self.keys.spend(token):
            raise Refused(403, "This link has been used, and it works once. Start the studio again for a new one.")
        headers = [("location", f"{self.keys.path}/"), ("set-cookie", self.keys.cookie()), ("content-length", "0")]
        await send({"type": "http.response.start", "status": 303, "headers": _encoded(headers)})
        await send({"type": "http.response.body", "body": b""})


class _Sending:
    """Sends, and adds the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            given = message.get("headers", [])
            own = [(name, value) for name, value in given if name.decode() not in HEADERS]
            is_report = (b"content-security-policy", SANDBOX.encode()) in given
            added = HEADERS | ({"content-security-policy": SANDBOX} if is_report else {})
            message = {**message, "headers": [*own, *_encoded(list(added.items()))]}
        await self._send(message)


def _limited(receive: Receive) -> Receive:
    """A body that is no larger than it may be."""
    seen = 0

    async def received() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST:
            raise Refused(413, "This is more than a page can send. Put the file into the folder of the studio.")
        return message

    return received


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope.get("headers", []):
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _encoded(headers: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


async def _say(send: Send, status: int, said: str) -> None:
    """A plain answer that holds nothing of the request."""
    body = f"{said}\n".encode()
    headers = [("content-type", "text/plain; charset=utf-8"), ("content-length", str(len(body)))]
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})
