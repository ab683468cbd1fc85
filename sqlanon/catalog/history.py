"""What is remembered of releases that are gone, and of files that were published: labels and counts, no values."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.versions import has_versions, versions_sql
from sqlanon.engine.session import now
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import literal, render, split_name
from sqlanon.sqltext import name as quoted

CHUNK = 1 << 20
"""How much of a file is read at a time."""


def archive(catalog: Catalog, key: str, place: str | None) -> None:
    """Put a stored release into the history, with the labels of its classes if its table is still there, and with the
    sample of its people if it was published."""
    entry = uuid.uuid4().hex
    found = catalog.run(
        f"insert into {catalog.schema}.release_history select $id, name, kind, source, printed, k, policy, rows, "
        f"version, created_at, $now, {_PUBLISHED.format(schema=catalog.schema)} from {catalog.schema}.releases as made "
        "where lower(made.name) = lower($key) returning release, printed, version, created_at, was_published",
        {"id": entry, "now": now(), "key": key},
    )
    if not found:
        return
    release, printed, version, created_at, was_published = found[0]
    if was_published:
        catalog.run(f"update {catalog.schema}.release_people set release = $1 where release = $2", [entry, release])
    if place is None or not _has_columns(catalog, place, printed):
        return
    classes = f"insert into {catalog.schema}.release_history_classes by name select $1 as id, * from"
    if has_versions(catalog, place):
        published = f"{catalog.schema}.publications where lower(release) = lower($2) and created_at = $3"
        kept = f"version = $4 or version in (select version from {published})"
        parts = versions_sql(catalog, release, place, printed, is_erased=True)
        sql = render("steps/refresh/version_classes.sql", **parts, is_kept=kept)
        catalog.run(f"{classes} ({sql})", [entry, release, created_at, version])
        return
    labels = ", ".join(f"cast({quoted(column)} as varchar)" for column in printed)
    counted = f"select [{labels}] as labels, count(*) as rows, $2::integer as version from {place} group by 1"
    catalog.run(f"{classes} ({counted})", [entry, version])


def _has_columns(catalog: Catalog, place: str, columns: Sequence[str]) -> bool:
    """Is the table still there with these columns? Somebody may have dropped or changed it."""
    there = catalog.run(
        "select column_name from duckdb_columns() where (database_name, schema_name, table_name) = ($1, $2, $3)",
        split_name(place),
    )
    return set(columns) <= {column for (column,) in there}


_PUBLISHED = (
    "exists (from {schema}.publications as file where lower(file.release) = lower(made.name) "
    "and file.created_at = made.created_at)"
)


def is_published(catalog: Catalog, key: str) -> bool:
    """Was the release that is stored under this name ever published?"""
    return bool(
        catalog.run(
            f"select 1 from {catalog.schema}.releases as made where lower(made.name) = lower($1) "
            f"and {_PUBLISHED.format(schema=catalog.schema)}",
            [key],
        )
    )


def any_publication(catalog: Catalog) -> bool:
    """Was any release of this database ever published?"""
    return bool(catalog.run(f"select 1 from {catalog.schema}.publications limit 1"))


@dataclass(frozen=True)
class Gone:
    """A version of a release that was published, and then dropped or replaced: its labels and counts are known."""

    id: str
    release: str
    source: str
    printed: tuple[str, ...]
    policy: Policy
    version: int
    created_at: datetime
    ended_at: datetime
    relation: str
    """Its rows, as far as they are known: the query for their labels, behind FROM."""

    @property
    def called(self) -> str:
        """The name by which it is told from the release that has its name now."""
        return f"{self.release} (version {self.version}, until {self.ended_at:%Y-%m-%d %H:%M:%S})"


def published_before(catalog: Catalog) -> list[Gone]:
    """The published versions of releases that were dropped or replaced."""
    published = (
        f"select distinct made.id, coalesce(file.version, made.version, 1) as version from {catalog.schema}."
        f"release_history as made left join {catalog.schema}.publications as file "
        "on lower(file.release) = lower(made.release) and file.created_at = made.created_at where was_published"
    )
    found = catalog.run(
        f"select id, release, source, printed, policy, listed.version, created_at, ended_at from {catalog.schema}."
        f"release_history join ({published}) as listed using (id) order by ended_at, listed.version"
    )
    gone = []
    for entry, release, source, printed, policy, version, created_at, ended_at in found:
        labels = ", ".join(f"labels[{place}] as {quoted(column)}" for place, column in enumerate(printed, 1))
        classes = f"{catalog.schema}.release_history_classes where id = {literal(entry)}"
        rows = f"(select {labels} from (select labels, unnest(range(rows)) from {classes} "
        rows += f"and coalesce(version, {version}) = {version}))"
        what = (entry, release, source, tuple(printed), Policy.of(json.loads(policy)))
        gone.append(Gone(*what, version, created_at, ended_at, rows))
    return gone


def record_publication(catalog: Catalog, key: str, file: Path, rows: int) -> str:
    """Remember that a release was written to a file; the file's SHA-256."""
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while part := content.read(CHUNK):
            digest.update(part)
    catalog.run(
        f"insert into {catalog.schema}.publications select name, version, $file, $sha, k, $rows, created_at, $now "
        f"from {catalog.schema}.releases where lower(name) = lower($key)",
        {"file": file.name, "sha": digest.hexdigest(), "rows": rows, "now": now(), "key": key},
    )
    return digest.hexdigest()
