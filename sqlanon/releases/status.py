"""Which stored releases are behind their sources, and by how many people."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import recall
from sqlanon.catalog.places import is_still_there, members_of, unrefreshable
from sqlanon.catalog.releases import Stored, stored_release, stored_releases
from sqlanon.catalog.versions import cohorts_of
from sqlanon.engine.instances import key_named
from sqlanon.engine.names import resolve
from sqlanon.engine.session import translate_errors, unwrap
from sqlanon.errors import SqlanonError
from sqlanon.pipeline.digests import COHORT, DIGEST, STATE
from sqlanon.sqltext import answer_sql, render


@dataclass(frozen=True)
class Status:
    """A stored release and how far its source has gone on: `new_rows` of people whom it has not looked at,
    `deleted_rows` of people whom the source no longer has, and `changed_rows` of people whose labels would follow them.
    None where that cannot be told, and `note` says why."""

    release: str
    source: str
    kind: str
    version: int
    made_at: datetime
    refreshed_at: datetime | None
    rows: int
    new_rows: int | None
    deleted_rows: int | None
    changed_rows: int | None
    is_stale: bool | None
    note: str | None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        moments = {"made_at": self.made_at.isoformat(), "refreshed_at": None}
        if self.refreshed_at is not None:
            moments["refreshed_at"] = self.refreshed_at.isoformat()
        return asdict(self) | moments


TYPES = {
    "release": "varchar",
    "rows": "bigint",
    "new_rows": "bigint",
    "deleted_rows": "bigint",
    "changed_rows": "bigint",
    "is_stale": "boolean",
    "version": "integer",
    "kind": "varchar",
    "source": "varchar",
    "made_at": "timestamp",
    "refreshed_at": "timestamp",
    "note": "varchar",
}


def status(con: Any, release: str | None = None, *, key: bytes | None = None) -> list[Status]:
    """Every stored release, or the one that is named, and how far its source has gone on.

    Views are compared with their sources person by person; `key` is for those with pseudonyms.
    """
    raw = unwrap(con)
    with translate_errors():
        catalog = Catalog.of(raw)
        found = stored_releases(catalog) if release is None else [stored_release(catalog, release)]
        return [_status(catalog, stored, key) for stored in found]


def status_sql(found: list[Status]) -> str:
    """A query that answers with a row per release."""
    return f"{answer_sql(TYPES, ([one.as_dict()[column] for column in TYPES] for one in found))} order by release"


def _status(catalog: Catalog, stored: Stored, key: bytes | None) -> Status:
    try:
        found, note = _compared(catalog, stored, key), None
    except SqlanonError as problem:
        found, note = None, str(problem)
    new, deleted, changed = found or (None, None, None)
    return Status(
        stored.name,
        stored.source,
        stored.kind,
        stored.version,
        stored.created_at,
        stored.refreshed_at,
        stored.proof.rows,
        new,
        deleted,
        changed,
        None if found is None else any(found),
        note,
    )


def _compared(catalog: Catalog, stored: Stored, key: bytes | None) -> tuple[int, int, int]:
    """How many people of the source the view has not looked at, how many of it are gone, and how many have changed."""
    if stored.kind != "view":
        resolve(catalog.con, stored.source)  # is it still there?
        raise SqlanonError("A table is a snapshot")
    if (reason := unrefreshable(stored.policy, stored.source)) is not None:
        raise SqlanonError(f"It cannot be refreshed, because {reason}")
    source = resolve(catalog.con, stored.source)
    if not is_still_there(catalog, stored.name):
        raise SqlanonError("The object of this name is not the release")
    with key_named(catalog.con, bool(stored.policy.pseudonymize), key) as token:
        digests = recall(catalog, stored, token)
        if digests is None:
            raise SqlanonError("Made by a version of sqlanon that could not refresh: make it again")
        digests.check(source, stored.name)
        people = digests.of(source, stored.policy, token).relation
        members = members_of(f"{catalog.database}.{stored.storage}")
        is_known = COHORT in resolve(catalog.con, f"from {members}").columns
        listed = f"select cohort from ({cohorts_of(catalog, stored.name)}) where is_shown"
        compared = render(
            "steps/refresh/compared.sql",
            people=people,
            members=members,
            digest=DIGEST,
            state=STATE if is_known else "null",
            is_shown=f"{COHORT} in ({listed})" if is_known else "true",
        )
        ((new, deleted, changed),) = catalog.run(compared)
    follows = stored.policy.identity and stored.policy.changed == "follow"
    return int(new), int(deleted), int(changed) if follows else 0
