"""The third screen: how each quasi-identifier may become coarser."""

from __future__ import annotations

from starlette.responses import Response

from sqlanon.studio.background import Answer
from sqlanon.studio.draft import Draft
from sqlanon.studio.facade import SqlanonError
from sqlanon.studio.looking import Looked, Profile
from sqlanon.studio.pages.common import Ask, NotFoundError, copies, redirect, render
from sqlanon.studio.specs import MOST_ROWS, Spec, number_of, numbers_of, rows_of
from sqlanon.studio.trees import editable, imported, suggested
from sqlanon.studio.workspace import Source

WAYS = {
    "none": "Automatic",
    "intervals": "Intervals",
    "prefix": "Prefixes of a code",
    "dates": "Parts of a date",
    "rows": "Table of levels",
    "file": "ARX file",
    "table": "Table of the database",
    "stored": "Stored hierarchy",
}
GAPS = 20
"""Values without a place that are listed."""


def hierarchies(ask: Ask) -> Response:
    """All quasi-identifiers, and whether their hierarchies cover them."""
    profile = ask.profile()
    draft = ask.draft(profile)
    listed = []
    for name in draft.quasi:
        column = profile.column(name)
        spec = draft.spec(name)
        found = ask.studio.previewed(ask.source, name, spec, wait=0.1)
        guess = suggested(column, profile)
        listed.append((column, spec, found, guess if guess.kind != "none" and spec.kind == "none" else None))
    is_waiting = any(not found.is_ready for _, _, found, _ in listed)
    page = "_hierarchies.html" if ask.is_fragment else "hierarchies.html"
    return render(
        ask,
        page,
        listed=listed,
        ways=WAYS,
        is_waiting=is_waiting,
        draft=draft,
        copies=copies(ask, draft),
        current="hierarchies",
    )


def suggest(ask: Ask) -> Response:
    """Take the suggestion for all columns that have none."""
    profile = ask.profile()
    draft = ask.draft(profile)
    found = {name: suggested(profile.column(name), profile) for name in draft.quasi if draft.spec(name).kind == "none"}
    ask.desk.change(lambda draft: draft.with_specs(found))
    return redirect(ask, ask.url("hierarchies"))


def hierarchy(ask: Ask) -> Response:
    """The hierarchy of one column, to look at and to change."""
    profile, column = _column(ask)
    draft = ask.draft(profile)
    spec = draft.spec(column.name)
    if "edit" in ask.query:
        spec = _opened(ask, column, spec, ask.query["edit"] == "gaps")
    elif ask.query.get("try") == "suggestion":
        spec = suggested(column, profile)
    return _page(ask, profile, column, spec, None)


def change(ask: Ask) -> Response:
    """Keep the hierarchy that the form describes, or show what it does."""
    profile, column = _column(ask)
    ask.draft(profile)
    is_preview = bool(ask.text("preview")) or ask.is_fragment
    try:
        spec = _spec(ask)
    except SqlanonError as problem:
        if ask.is_fragment:
            return render(ask, "_problem.html", problem=str(problem))
        return _page(ask, profile, column, Spec(ask.text("way", "none")), str(problem))
    found = ask.studio.previewed(ask.source, column.name, spec, wait=0.4)
    if ask.is_fragment:
        return render(ask, "_preview.html", column=column, found=found, spec=spec, gaps=GAPS, is_draft=True)
    if is_preview or found.problem is not None:
        return _page(ask, profile, column, spec, found.problem)
    ask.desk.change(lambda draft: draft.with_specs({column.name: spec}))
    return redirect(ask, ask.url("hierarchies"))


def _column(ask: Ask) -> tuple[Profile, Looked]:
    profile = ask.profile()
    number = ask.path["number"]
    if number >= len(profile.columns):
        raise NotFoundError("There is no such column.")
    return profile, profile.columns[number]


def _page(ask: Ask, profile: Profile, column: Looked, spec: Spec, problem: str | None) -> Response:
    found = Answer(is_ready=True, problem=problem)
    if problem is None:
        found = ask.studio.previewed(ask.source, column.name, spec, wait=0.4)
    draft: Draft = ask.draft(profile)
    return render(
        ask,
        "hierarchy.html",
        column=column,
        spec=spec,
        found=found,
        ways=_ways(ask, column),
        files=_files(ask),
        tables=_tables(ask),
        stored=ask.studio.known_hierarchies(ask.source),
        is_saved=spec == draft.spec(column.name),
        guess=suggested(column, profile),
        gaps=GAPS,
        most=MOST_ROWS,
        draft=draft,
        current="hierarchies",
    )


def _ways(ask: Ask, column: Looked) -> dict[str, str]:
    """What fits the column."""
    fits = {
        "none": True,
        "intervals": column.is_number,
        "prefix": not column.is_date and column.type not in ("DOUBLE", "FLOAT"),
        "dates": column.is_date,
        "rows": True,
        "file": bool(_files(ask)),
        "table": bool(_tables(ask)),
        "stored": bool(ask.studio.known_hierarchies(ask.source)),
    }
    return {way: said for way, said in WAYS.items() if fits[way]}


def _files(ask: Ask) -> list[str]:
    """The files that may be a hierarchy: those named at the start, and those in the folder."""
    return list(dict.fromkeys([*ask.studio.hierarchy_files, *ask.studio.folder.listed((".csv",))]))


def _tables(ask: Ask) -> list[Source]:
    """The other tables of the same database."""
    return [
        desk.source
        for desk in ask.studio.desks.values()
        if desk.source.workspace is ask.source.workspace and desk.source is not ask.source
    ]


def _spec(ask: Ask) -> Spec:
    """What the form describes."""
    way = ask.text("way", "none")
    if way == "intervals":
        widths = numbers_of(ask.text("widths"))
        if not widths:
            raise SqlanonError("Intervals need at least one width, such as 5, 10, 20.")
        anchor, below, above = (
            number_of(text) if (text := ask.text(key)) else None for key in ("anchor", "below", "above")
        )
        return Spec("intervals", widths, anchor, below, above)
    if way == "rows":
        return Spec("rows", rows=rows_of(ask.form.get("rows", [""])[-1]))
    if way == "stored":
        if ask.text("stored") not in ask.studio.known_hierarchies(ask.source):
            raise SqlanonError("There is no such hierarchy in the database.")
        return Spec("stored", name=ask.text("stored"))
    if way in ("file", "table"):
        return _imported(ask, way)
    return Spec(way if way in ("prefix", "dates") else "none")


def _imported(ask: Ask, way: str) -> Spec:
    with ask.source.workspace.cursor() as con:
        if way == "file":
            name = ask.text("file")
            path = ask.studio.hierarchy_files.get(name) or ask.studio.folder.found(name)
            return imported(con, csv=path)
        table = ask.studio.desks.get(ask.text("table"))
        if table is None or table.source not in _tables(ask):
            raise SqlanonError("There is no such table in the database.")
        return imported(con, table=table.source.asked, edges=ask.text("shape") == "edges")


def _opened(ask: Ask, column: Looked, spec: Spec, with_gaps: bool) -> Spec:
    """A hierarchy as a table of levels, to be edited."""
    found = ask.studio.previewed(ask.source, column.name, spec, wait=2.0)
    if not found.is_ready or found.problem is not None:
        raise SqlanonError(found.problem or "The hierarchy is still counted. Try again in a moment.")
    if found.value.is_partial and spec.kind != "rows":
        raise SqlanonError("The column has too many values for a table that can be edited on a page.")
    if spec.kind == "none":
        return Spec("rows", rows=())
    return editable(found.value, with_gaps)
