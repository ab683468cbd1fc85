"""The first screen: which tables there are, and whether a row is a person."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from sqlanon.studio import looking
from sqlanon.studio.facade import SqlanonError
from sqlanon.studio.pages.common import Ask, NotFoundError, copies, redirect, render


def index(ask: Ask) -> Response:
    """All tables of the databases, and the files."""
    listed = []
    for desk in ask.studio.desks.values():
        rows = ask.studio.rows(desk.source, wait=0.02)
        columns = ask.studio.width(desk.source)
        draft = "there is a draft" if desk.path.is_file() else ""
        listed.append((desk, rows, columns, draft))
    is_waiting = any(not rows.is_ready for _, rows, _, _ in listed)
    page = "_tables.html" if ask.is_fragment else "index.html"
    return render(ask, page, listed=listed, is_waiting=is_waiting, current="data")


def data(ask: Ask) -> Response:
    """One table: rows, columns, whose rows they are."""
    return _data(ask)


def values(ask: Ask) -> Response:
    """Ten rows, because somebody asked for them; they are on no page that is kept."""
    with ask.source.workspace.cursor() as con:
        sample = looking.some_rows(con, ask.source)
    return render(ask, "_values.html", sample=sample) if ask.is_fragment else _data(ask, sample)


def _data(ask: Ask, sample: Any = None) -> Response:
    """The page of a table, with a sample of its rows if one was asked for."""
    profile = ask.profile()
    draft = ask.draft(profile)
    people = ask.studio.ask(
        ask.source, ("people", draft.person), lambda con: looking.people_of(con, ask.source, draft.person)
    )
    return render(
        ask,
        "data.html",
        profile=profile,
        draft=draft,
        people=people,
        sample=sample,
        copies=copies(ask, draft),
        current="data",
    )


def person(ask: Ask) -> Response:
    """Whose rows they are: a row each, or distinguished by a column."""
    profile = ask.profile()
    draft = ask.draft(profile)
    chosen = ask.text("person")
    number = ask.number("column")
    roles = {draft.person: "out"} if draft.person is not None else {}
    if chosen == "several":
        if number is None or number >= len(profile.columns):
            raise SqlanonError("Choose the column that says whom a row is about.")
        roles[profile.columns[number].name] = "person"
    ask.desk.change(lambda draft: draft.with_roles(roles, profile.names))
    return redirect(ask, ask.url("columns" if ask.text("next") else "data"))


def demo(ask: Ask) -> Response:
    """Add the sample tables."""
    ask.studio.add_demo()
    ask.studio.find_sources()
    return redirect(ask, f"{ask.base}/")


def again(ask: Ask) -> Response:
    """Try to open a database again."""
    number = ask.number("workspace")
    if number is None or number >= len(ask.studio.workspaces):
        raise NotFoundError("There is no such database here.")
    workspace = ask.studio.workspaces[number]
    if workspace.problem is not None:
        workspace.attach()
    ask.studio.find_sources()
    return redirect(ask, f"{ask.base}/")


def stop(ask: Ask) -> Response:
    """Stop the studio."""
    answer = render(ask, "stopped.html")
    ask.studio.stop()
    return answer
