"""The sixth screen: store, publish, report, and the ledger of what is stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.responses import FileResponse, HTMLResponse, Response

import sqlanon
from sqlanon.studio import runs
from sqlanon.studio.background import Answer, Job
from sqlanon.studio.copying import check_command, check_query
from sqlanon.studio.facade import MAX_UNIQUE, SqlanonError, release_places
from sqlanon.studio.files import PUBLISHED
from sqlanon.studio.pages.common import Ask, NotFoundError, copies, redirect, render
from sqlanon.studio.runs import Result, Wanted
from sqlanon.studio.security import SANDBOX

FRESH = 30
"""Seconds for which the ledger's comparison with the sources is shown again."""


def release(ask: Ask) -> Response:
    """What can be done with a run, and what is stored."""
    return _page(ask)


def ledger(ask: Ask) -> Response:
    """The stored releases alone, once they are compared with their sources."""
    return render(ask, "_ledger.html", ledger=_ledger(ask), confirm=None)


def store(ask: Ask) -> Response:
    """Put the release into its database: the rows of the run as a table, or a view that is made there."""
    found, name = _asked(ask), ask.text("name")
    kind = "view" if ask.text("kind") == "view" else "table"
    if not name or len(name) > 100:
        raise SqlanonError("A stored release needs a name.")
    if not ask.text("confirm") and name.lower() in _stored(ask):
        said = f"A release '{name}' is stored already. It would be replaced."
        return _page(ask, {"action": "store", "said": said, "fields": {"name": name, "kind": kind}})
    wanted = Wanted(name, kind, bool(ask.text("confirm")))
    source, prefix = ask.source, ask.desk.prefix
    return _begin(ask, "Store", lambda job: _done(ask, runs.store(job, source, found, prefix, wanted).name))


def publish(ask: Ask) -> Response:
    """Write a file that holds the release and nothing else."""
    found = _asked(ask)
    path = ask.studio.folder.place(ask.text("file"), PUBLISHED)
    unique = found.facts.unique_with_kept or 0
    doubts = [f"There is a file '{path.name}' already. It would be overwritten."] if path.exists() else []
    if unique > MAX_UNIQUE:
        doubts.append(f"Whoever also knows the kept columns finds {unique:.1%} of the rows unique.")
    if doubts and not ask.text("confirm"):
        return _page(ask, {"action": "publish", "said": " ".join(doubts), "fields": {"file": path.name}})
    source, is_confirmed = ask.source, bool(ask.text("confirm"))

    def work(job: Job) -> str:
        runs.publish(job, source, found, path, is_confirmed)
        ask.studio.published[path.name] = path
        ask.studio.handed[ask.source.slug] = (ask.studio.out / path.name, found.draft)
        return path.name

    return _begin(ask, "Publish", work)


def report(ask: Ask) -> Response:
    """Write the report."""
    found = _asked(ask)
    path = ask.studio.folder.place(ask.text("file"), (".html",))
    if path.exists() and not ask.text("confirm"):
        said = f"There is a file '{path.name}' already. It would be overwritten."
        return _page(ask, {"action": "report", "said": said, "fields": {"file": path.name}})
    source = ask.source

    def work(job: Job) -> str:
        runs.report(job, source, found, path)
        ask.studio.published[path.name] = path
        return path.name

    return _begin(ask, "Report", work)


def refresh(ask: Ask) -> Response:
    """Bring a stored view up to its source."""
    name = _known(ask)

    def work(job: Job) -> str:
        with ask.source.workspace.writing(f"refreshing '{name}'", job.check) as con, job.watch:
            job.connection = con.duckdb
            version = sqlanon.refresh(con, name)
        return str(
            _done(
                ask, f"{name}: version {version.version}, {version.added:,} rows added, {version.withdrawn:,} withdrawn"
            )
        )

    return _begin(ask, "Refresh", work)


def drop(ask: Ask) -> Response:
    """Drop a stored release, after a second click."""
    name = _known(ask)
    if not ask.text("confirm"):
        said = f"'{name}' and its rows would be gone from the database."
        return _page(ask, {"action": "drop", "said": said, "fields": {"name": name}})

    def work(job: Job) -> str:
        with ask.source.workspace.writing(f"dropping '{name}'", job.check) as con:
            sqlanon.drop_release(con, name)
        return str(_done(ask, name))

    return _begin(ask, "Drop", work)


def audit(ask: Ask) -> Response:
    """Put all stored releases of the source together."""
    workspace, stored_as = ask.source.workspace, ask.source.stored_as

    def work(job: Job) -> Any:
        with workspace.ledger() as con:
            if con is None:
                raise SqlanonError("Nothing is stored in this database yet.")
            job.connection = con
            return sqlanon.audit(con, stored_as)

    return _begin(ask, "Audit", work)


def download(ask: Ask) -> Response:
    """A file that this studio has written."""
    path = _written(ask)
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def show_report(ask: Ask) -> Response:
    """A report that this studio has written, as a page that can do nothing but be read."""
    path = _written(ask)
    if path.suffix.lower() != ".html":
        raise NotFoundError("Only reports are shown here.")
    return HTMLResponse(path.read_bytes(), headers={"content-security-policy": SANDBOX})


def _written(ask: Ask) -> Path:
    path = ask.studio.published.get(ask.path["file"])
    if path is None or not path.is_file():
        raise NotFoundError("This studio has not written such a file.")
    return ask.studio.folder.inside(path)


def _page(ask: Ask, confirm: dict[str, Any] | None = None) -> Response:
    profile = ask.profile()
    draft = ask.draft(profile)
    found = ask.desk.runs.find(ask.number("run"))
    number = ask.number("job")
    job = ask.studio.jobs.find(number, ask.source.slug) if number is not None else None
    path, handed = ask.studio.handed.get(ask.source.slug, (None, None))
    name = f"{ask.desk.prefix}_public"
    return render(
        ask,
        "release.html",
        found=found,
        draft=draft,
        job=job,
        confirm=confirm,
        ledger=_ledger(ask),
        name=name,
        files=_files(ask),
        copies=copies(ask, found.draft if found else draft, name),
        command=check_command(path, handed) if path and handed else None,
        query=check_query(str(path), handed, is_file=True) if path and handed and path.suffix != ".duckdb" else None,
        stored_query=check_query(name, found.draft) if found else None,
        is_current=found is not None and found.draft == draft,
        current="release",
    )


def _files(ask: Ask) -> list[tuple[str, int]]:
    """What was written in this session, with its size."""
    return [(name, path.stat().st_size) for name, path in ask.studio.published.items() if path.is_file()]


def _begin(ask: Ask, what: str, work: Callable[[Job], Any]) -> Response:
    job = ask.studio.start(what, ask.source, work)
    job.next_page = f"release?job={job.number}"
    number = ask.number("run")
    run = f"&run={number}" if number is not None else ""
    return redirect(ask, f"{ask.url('release')}?job={job.number}{run}")


def _done(ask: Ask, said: str | None) -> str | None:
    """The ledger has changed."""
    ask.studio.background.drop((ask.source.slug, "ledger"))
    ask.studio.find_sources()
    return said


def _asked(ask: Ask) -> Result:
    found = ask.desk.runs.find(ask.number("run"))
    if found is None:
        raise SqlanonError("There is no run to release yet. Begin one on the screen Promise.")
    return found


def _ledger(ask: Ask) -> Answer:
    """The stored releases of this database, compared with their sources."""
    workspace = ask.source.workspace

    def counted() -> list[Any]:
        with workspace.ledger() as con:
            return [] if con is None else sqlanon.status(con)

    key = (ask.source.slug, "ledger", int(time.monotonic() / FRESH))
    return ask.studio.background.ask(key, counted, wait=0.3)


def _stored(ask: Ask) -> set[str]:
    """The names of the stored releases."""
    with ask.source.workspace.ledger() as con:
        if con is None:
            return set()
        return {name.lower() for name in release_places(con)}


def _known(ask: Ask) -> str:
    name = ask.text("name")
    if name.lower() not in _stored(ask):
        raise NotFoundError("There is no such stored release.")
    return name
