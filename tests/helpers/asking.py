"""Asks a studio in process, with a browser's headers and cookies."""

import asyncio
import re
import time
from html import unescape
from typing import Any

import httpx

from sqlanon.studio.serving import Server


class Client:
    """Asks the application without a socket, with a browser's headers and cookies."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.base = server.keys.path
        self.origin = f"http://127.0.0.1:{server.port}"
        self.cookies: dict[str, str] = {}

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None, **how: Any) -> Any:
        """One request, without following where it leads."""

        async def asked() -> Any:
            transport = httpx.ASGITransport(app=self.server.guard, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url=self.origin, cookies=self.cookies) as client:
                return await client.request(method, path, headers=headers, **how)

        return asyncio.run(asked())

    def enter(self) -> "Client":
        """Use the link that works once."""
        answer = self.ask("GET", f"{self.base}/start?token={self.server.keys.token}")
        assert answer.status_code == 303
        name, value = answer.headers["set-cookie"].split(";")[0].split("=", 1)
        self.cookies = {name: value}
        return self

    def get(self, path: str, **how: Any) -> Any:
        """A page, once the table has been looked at."""
        for _ in range(200):
            answer = self.ask("GET", f"{self.base}{path}", **how)
            if answer.status_code != 202:
                return answer
            time.sleep(0.05)
        raise AssertionError(f"{path} is never there")

    def post(self, path: str, data: dict[str, str] | None = None, is_fragment: bool = False) -> Any:
        """Send a form; the page that it leads to."""
        headers = {"origin": self.origin, "sec-fetch-site": "same-origin"}
        headers |= {"hx-request": "true"} if is_fragment else {}
        answer = self.ask("POST", f"{self.base}{path}", headers, data=data or {})
        return self.get(answer.headers["location"].removeprefix(self.base)) if answer.status_code == 303 else answer

    def wait(self, seconds: float = 60) -> Any:
        """Wait until no job runs; the last one."""
        jobs = self.server.studio.jobs
        end = time.monotonic() + seconds
        while jobs.running() and time.monotonic() < end:
            time.sleep(0.02)
        assert not jobs.running()
        return list(jobs._jobs.values())[-1]


def said(answer: Any) -> str:
    """The text of a page, without markup."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))
