"""The addresses of the studio, and the application around them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from sqlanon.studio.pages import columns, common, data, hierarchies, promise, release, result
from sqlanon.studio.security import Guard, Keys, Refused
from sqlanon.studio.state import Studio

STATIC = Path(__file__).resolve().parent / "static"
SOURCE = "/t/{slug}"

GETS: dict[str, common.Handler] = {
    "/": data.index,
    f"{SOURCE}/data": data.data,
    f"{SOURCE}/strip": common.show_strip,
    f"{SOURCE}/columns": columns.columns,
    f"{SOURCE}/columns/live": columns.live,
    f"{SOURCE}/hierarchies": hierarchies.hierarchies,
    SOURCE + "/hierarchies/{number:int}": hierarchies.hierarchy,
    f"{SOURCE}/promise": promise.promise,
    SOURCE + "/jobs/{number:int}": promise.progress,
    f"{SOURCE}/result": result.result,
    f"{SOURCE}/result/why": result.reasons,
    f"{SOURCE}/release": release.release,
    f"{SOURCE}/release/ledger": release.ledger,
    "/files/{file}": release.download,
    "/reports/{file}": release.show_report,
}
"""What only looks."""

POSTS: dict[str, common.Handler] = {
    "/demo": data.demo,
    "/again": data.again,
    "/stop": data.stop,
    f"{SOURCE}/values": data.values,
    f"{SOURCE}/person": data.person,
    f"{SOURCE}/columns": columns.change,
    f"{SOURCE}/columns/suggest": columns.suggest,
    f"{SOURCE}/hierarchies/suggest": hierarchies.suggest,
    SOURCE + "/hierarchies/{number:int}": hierarchies.change,
    f"{SOURCE}/promise": promise.change,
    f"{SOURCE}/run": promise.start,
    f"{SOURCE}/key": promise.make_key,
    SOURCE + "/jobs/{number:int}/cancel": promise.cancel,
    f"{SOURCE}/result/attacks": result.attacks,
    f"{SOURCE}/result/use": result.use,
    f"{SOURCE}/release/store": release.store,
    f"{SOURCE}/release/publish": release.publish,
    f"{SOURCE}/release/report": release.report,
    f"{SOURCE}/release/refresh": release.refresh,
    f"{SOURCE}/release/audit": release.audit,
    f"{SOURCE}/release/drop": release.drop,
}
"""What changes something, or shows values."""


def application(studio: Studio, keys: Keys, port: Callable[[], int]) -> Guard:
    """The whole studio, with its guard around it."""
    routes: list[BaseRoute] = []
    for method, handlers in (("GET", GETS), ("POST", POSTS)):
        for path, handler in handlers.items():
            endpoint = common.endpoint(studio, keys.path, handler)
            routes.append(Route(path, endpoint, methods=[method], name=f"{method} {path}"))
    routes.append(Mount("/static", StaticFiles(directory=STATIC)))
    inner = Starlette(
        routes=[Mount(keys.path, routes=routes)],
        exception_handlers={HTTPException: _plain, Refused: _plain, Exception: _plain},
    )
    return Guard(inner, keys, port)


async def _plain(request: Request, problem: Exception) -> Response:
    """An address that is not there, or that is asked in another way."""
    if isinstance(problem, Refused):
        return HTMLResponse(f"{problem}\n", problem.status, media_type="text/plain")
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    said = {404: "There is no such page.", 500: "Something went wrong here. The terminal says where."}
    text = said.get(status, "This page cannot be asked in this way.")
    return HTMLResponse(f"{text}\n", status, media_type="text/plain")
