"""What is remembered of releases that are gone, and of files that were published: labels and counts, no values."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.session import now
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import split_name

CHUNK = 1 << 20
"""How much of a file is read at a time."""


def archive(catalog: Catalog, key: str, place: str | None) -> None:
    """Put a stored release into the history, with the labels of its classes if its table is still there."""
    entry = uuid.uuid4().hex
    found = catalog.run(
        f"insert into {catalog.schema}.release_history select $id, name, kind, source, printed, k, policy, rows, "
        f"version, created_at, $now, {_PUBLISHED.format(schema=catalog.schema)} from {catalog.schema}.releases as made "
        "where lower(made.name) = lower($key) returning printed",
        {"id": entry, "now": now(), "key": key},
    )
    if place is None or not found or not _has_columns(catalog, place, found[0][0]):
        return
    labels = ", ".join(f"cast({quoted(column)} as varchar)" for column in found[0][0])
    catalog.run(
        f"insert into {catalog.schema}.release_history_classes "
        f"select $1, [{labels}], count(*) from {place} group by [{labels}]",
        [entry],
    )


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


def published_before(catalog: Catalog) -> list[tuple[str, int, str, datetime]]:
    """The published releases that were dropped or replaced: their names, k, sources, and when they ended."""
    return catalog.run(
        f"select release, k, source, ended_at from {catalog.schema}.release_history "
        "where was_published order by ended_at"
    )


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
