"""What all screens share: a request in plain values, an answer from a template, the rail and the strip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sqlanon.studio import charts, telling
from sqlanon.studio.copying import Copies
from sqlanon.studio.draft import Draft
from sqlanon.studio.facade import PAGE, SqlanonError, read_in, required_text
from sqlanon.studio.gate import BusyError
from sqlanon.studio.looking import Profile
from sqlanon.studio.state import Desk, Studio
from sqlanon.studio.workspace import Source
from sqlanon.version import __version__

STEPS = {
    "data": "Data",
    "columns": "Columns",
    "hierarchies": "Hierarchies",
    "promise": "Promise",
    "result": "Result",
    "release": "Release",
}
_templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).resolve().parent.parent / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {
    "place": telling.place,
    "percent": charts.percent,
    "listed": telling.listed,
    "seconds": telling.seconds,
}
_templates.globals |= {
    "plural": telling.plural,
    "charts": charts,
    "steps": STEPS,
    "roles": telling.ROLES,
    "one_in": telling.one_in,
    "required": lambda asked: "–" if asked is None else required_text(asked),
    "version": __version__,
}


class NotFoundError(SqlanonError):
    """There is no such page."""


class NotYetError(SqlanonError):
    """The table is still looked at: the page comes back by itself."""


@dataclass(frozen=True)
class Ask:
    """A request: who is asked, and what for."""

    studio: Studio
    base: str
    path: dict[str, Any]
    query: dict[str, str]
    form: dict[str, list[str]] = field(default_factory=dict)
    is_fragment: bool = False
    """Does the page ask for a part of itself?"""

    @property
    def desk(self) -> Desk:
        desk = self.studio.desks.get(self.path["slug"])
        if desk is None:
            raise NotFoundError("There is no such table here. The screen Data lists all that there are.")
        return desk

    @property
    def source(self) -> Source:
        return self.desk.source

    def url(self, step: str) -> str:
        """The address of a screen of this source."""
        return f"{self.base}/t/{self.path['slug']}/{step}"

    def profile(self) -> Profile:
        """The columns of the source; raises while they are still looked at."""
        answer = self.studio.profile(self.source)
        if answer.problem is not None:
            raise SqlanonError(answer.problem)
        if not answer.is_ready:
            raise NotYetError("Looking at the table")
        profile: Profile = answer.value
        return profile

    def draft(self, profile: Profile | None = None) -> Draft:
        """The draft of the source."""
        names = (profile or self.profile()).names
        return self.desk.draft(names, self.studio.known_hierarchies(self.source))

    def text(self, field: str, default: str = "") -> str:
        """A field of the form."""
        return self.form.get(field, [default])[-1].strip()

    def number(self, field: str) -> int | None:
        """A whole number of the address or the form; None where there is none."""
        text = self.query.get(field) or self.text(field)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


Handler = Callable[[Ask], Response]


def endpoint(studio: Studio, base: str, handler: Handler) -> Callable[[Request], Any]:
    """The handler as Starlette calls it: in a thread, with errors as pages."""

    async def answer(request: Request) -> Response:
        form: dict[str, list[str]] = {}
        if request.method == "POST":
            body = await request.body()
            kind = request.headers.get("content-type", "").partition(";")[0]
            if body and kind != "application/x-www-form-urlencoded":
                return HTMLResponse("This studio takes forms only.\n", 415, media_type="text/plain")
            for name, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=5000):
                form.setdefault(name, []).append(value)
        is_fragment = request.headers.get("hx-request") == "true"
        ask = Ask(studio, base, dict(request.path_params), dict(request.query_params), form, is_fragment)
        return await run_in_threadpool(_answered, handler, ask)

    return answer


def _answered(handler: Handler, ask: Ask) -> Response:
    try:
        with read_in(PAGE):
            return handler(ask)
    except NotYetError as waiting:
        return render(ask, "waiting.html", status=202, step=str(waiting))
    except SqlanonError as problem:
        status = 404 if isinstance(problem, NotFoundError) else 503 if isinstance(problem, BusyError) else 400
        if ask.is_fragment:  # htmx shows what answers with 200 only
            return render(ask, "_problem.html", problem=str(problem))
        return render(ask, "error.html", status=status, problem=str(problem))


def render(ask: Ask, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page or a part of one."""
    desk = ask.studio.desks.get(ask.path.get("slug", ""))
    common = {
        "base": ask.base,
        "here": f"{ask.base}/t/{desk.source.slug}" if desk else ask.base,
        "desk": desk,
        "studio": ask.studio,
        "current": context.pop("current", ""),
        "strip": strip(ask, desk) if desk and not template.startswith("_") else None,
    }
    return HTMLResponse(_templates.get_template(template).render(common | context), status)


def redirect(ask: Ask, url: str) -> Response:
    """On to another page: by the browser, or by htmx where a part was requested."""
    if ask.is_fragment:
        return Response(status_code=200, headers={"hx-redirect": url})
    return RedirectResponse(url, 303)


@dataclass(frozen=True)
class Strip:
    """What the top of each screen says: rows, people who are alone now, k, loss, state."""

    rows: str
    alone: str
    k: str
    loss: str
    state: str
    tone: str
    is_waiting: bool


def strip(ask: Ask, desk: Desk) -> Strip:
    """What is known at once; the rest is required again."""
    studio, source = ask.studio, desk.source
    profile = studio.profile(source, wait=0)
    rows = f"{profile.value.rows:,}" if profile.is_ready and profile.problem is None else "…"
    if not profile.is_ready or profile.problem is not None:
        is_waiting = not profile.is_ready
        return Strip(
            rows, "…" if is_waiting else "–", "–", "–", "looking" if is_waiting else "unread", "soft", is_waiting
        )
    draft = ask.draft(profile.value)
    alone = studio.alone(source, draft.quasi, draft.person) if draft.quasi else None
    shown = "–" if alone is None else charts.percent(alone.value.share) if alone.is_ready and alone.value else "…"
    result, running = desk.runs.find(None), studio.jobs.running(source.slug)
    k = f"{result.facts.k}" if result else "–"
    loss = charts.percent(result.facts.loss) if result else "–"
    if running:
        state, tone = f"running, {running[-1].share:.0%}", "busy"
    elif result is None:
        state, tone = "draft", "soft"
    elif result.draft == draft:
        state, tone = "verified", "good"
    else:
        state, tone = "changed since run", "warn"
    return Strip(rows, shown, k, loss, state, tone, bool(running) or (alone is not None and not alone.is_ready))


def show_strip(ask: Ask) -> Response:
    """The strip alone, while something is counted."""
    return render(ask, "_strip.html", strip=strip(ask, ask.desk))


def copies(ask: Ask, draft: Draft, name: str | None = None) -> Copies:
    """What to copy of a draft. The file is named as it was when the studio was started, for a short command."""
    return Copies(ask.source, draft, ask.desk.prefix, ask.studio.out / ask.desk.path.name, name)
