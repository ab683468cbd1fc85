"""Stored releases: where each is, what the catalog keeps of it, and how it is dropped with nothing else touched."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.history import archive
from sqlanon.catalog.places import Target, key_of, labels_of, marked, members_of, sensitive_place, unquoted
from sqlanon.engine.session import Session, has_secure_views, now, run
from sqlanon.errors import CatalogError, not_one_of
from sqlanon.pipeline.measures import PARTS
from sqlanon.pipeline.promises import GROUP
from sqlanon.pipeline.proof import Proof
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import literal, names, split_name
from sqlanon.sqltext import name as quoted
from sqlanon.version import __version__


@dataclass(frozen=True)
class Stored:
    """A stored release as the catalog has it."""

    name: str
    schema: str
    table: str
    kind: str
    storage: str
    source: str
    printed: tuple[str, ...]
    policy: Policy
    proof: Proof
    metrics: dict[str, float]
    learned: dict[str, Any]
    version: int
    created_at: datetime
    refreshed_at: datetime | None
    held_new: int
    held_deleted: int


@dataclass(frozen=True)
class Version:
    """What one version of a release printed and held: `added` people's rows are new in it, `withdrawn` ones are gone.

    Held are new people who are not released yet, and deleted ones who still are. `returned` rows are of cohorts that
    had been withdrawn, `parted` and `relabeled` count cohorts, `left_out` people of the source who are never released,
    `blank` rows without sensitive values, and `outdated` people whose sensitive values have changed since. `note` says
    why new people are not added, where that is not because they are too few.
    """

    release: str
    version: int
    rows: int
    added: int = 0
    withdrawn: int = 0
    held_new: int = 0
    held_deleted: int = 0
    returned: int = 0
    parted: int = 0
    relabeled: int = 0
    left_out: int = 0
    blank: int = 0
    outdated: int = 0
    note: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def sql(self) -> str:
        """A query that answers with it as one row."""
        return "select " + ", ".join(f"{literal(value)} as {fact}" for fact, value in asdict(self).items())


def add_version(catalog: Catalog, version: Version) -> None:
    """Write a version into the history."""
    catalog.run(f"insert into {catalog.schema}.release_versions by name {version.sql()}, $1 as made_at", [now()])


def stored_releases(catalog: Catalog, key: str | None = None) -> list[Stored]:
    """All stored releases, or those of this name: one or none."""
    rows = catalog.run(
        "select name, schema_name, table_name, kind, storage, source, printed, policy, proof, metrics, learned, "
        "coalesce(version, 1), created_at, refreshed_at, coalesce(held_new, 0), coalesce(held_deleted, 0) "
        f"from {catalog.schema}.releases where $1 is null or lower(name) = lower($1) order by name",
        [key],
    )
    found = []
    for row in rows:
        name, schema, table, kind, storage, source, printed, policy, proof, metrics, learned, *rest = row
        what = (source, tuple(printed), Policy.of(json.loads(policy)), Proof.of_json(proof))
        found.append(Stored(name, schema, table, kind, storage, *what, json.loads(metrics), json.loads(learned), *rest))
    return found


def stored_release(catalog: Catalog, name: str) -> Stored:
    """The stored release of this name, or an error that lists them."""
    found = stored_releases(catalog, key_of(catalog, name)[2])
    if not found:
        raise CatalogError(not_one_of("release", name, stored_names(catalog)))
    return found[0]


def released_columns(con: Session, place: str) -> tuple[str, ...]:
    """The columns that make the classes of a release that is stored under this name, in any open database; none if
    there is none."""
    *above, table = split_name(place) or [place]
    schema, database = (above[-1] if above else None), (above[0] if len(above) > 1 else None)
    catalogs = run(
        con,
        "select database_name from duckdb_tables() where schema_name = 'anon' and table_name = 'releases' "
        "and ($1 is null or database_name = $1) order by database_name <> current_database(), 1",
        [database],
    )
    for (found,) in catalogs:
        listed = run(
            con,
            f"select printed from {quoted(found)}.anon.releases where lower(table_name) = lower($1) "
            "and lower(schema_name) = lower(coalesce($2, schema_name)) order by schema_name <> 'main' limit 1",
            [table, schema],
        )
        if listed:
            return tuple(listed[0][0])
    return ()


def stored_names(catalog: Catalog) -> list[str]:
    """The names of all stored releases."""
    return [row[0] for row in catalog.run(f"select name from {catalog.schema}.releases order by name")]


def register(
    catalog: Catalog,
    target: Target,
    reading: Reading,
    printed: Sequence[str],
    columns: Sequence[str],
    source: str,
    proof: Proof,
    measured: dict[str, float],
    learned: dict[str, Any],
) -> None:
    """Mark the release, make its view, and write it into the catalog with its first version."""
    mark = f"sqlanon release {uuid.uuid4()}"
    for storage, shown, listed in _tables(reading, columns, target):
        if target.kind == "view":
            secure = "secure " if has_secure_views(catalog.con, unquoted(catalog.database)) else ""
            # Without its database's name where that is the current one: the file may be renamed or attached as another.
            ((current,),) = catalog.run("select current_database()")
            place = storage.removeprefix(f"{quoted(current)}.")
            catalog.run(f"create {secure}view {shown} as select {names(listed)} from {place}")
        catalog.run(f"comment on {target.kind} {shown} is {literal(mark)}")
    catalog.run(
        f"insert into {catalog.schema}.releases by name select $name as name, $schema as schema_name, "
        "$table as table_name, $mark as mark, $kind as kind, "
        "$storage as storage, $source as source, $printed::varchar[] as printed, $k as k, $policy as policy, "
        "$proof as proof, $metrics as metrics, $learned as learned, $rows as rows, $version as sqlanon, "
        "$now as created_at, 1 as version, 0 as held_new, 0 as held_deleted",
        {
            "name": target.name,
            "schema": target.schema,
            "table": target.table,
            "mark": mark,
            "kind": target.kind,
            "storage": target.storage.removeprefix(f"{catalog.database}."),
            "source": source,
            "printed": list(printed),
            "k": reading.policy.k,
            "policy": reading.policy.json(),
            "proof": proof.json(),
            "metrics": json.dumps(measured),
            "learned": json.dumps(learned),
            "rows": proof.rows,
            "version": __version__,
            "now": now(),
        },
    )
    assert target.name is not None
    add_version(catalog, Version(target.name, 1, proof.rows, proof.rows))


def update(catalog: Catalog, version: Version, proof: Proof, measured: dict[str, float]) -> None:
    """Write what a refreshed release has become."""
    catalog.run(
        f"update {catalog.schema}.releases set version = $version, refreshed_at = $now, rows = $rows, proof = $proof, "
        "metrics = $metrics, held_new = $held_new, held_deleted = $held_deleted where name = $name",
        {
            "version": version.version,
            "now": now(),
            "rows": version.rows,
            "proof": proof.json(),
            "metrics": json.dumps(measured),
            "held_new": version.held_new,
            "held_deleted": version.held_deleted,
            "name": version.release,
        },
    )


def labels_without_rows(catalog: Catalog, release: str, rows: int) -> list[str]:
    """The columns of a release with labels that stand for fewer rows than it has: their hierarchies have changed."""
    found = catalog.run(
        f"select attribute from {catalog.schema}.release_labels where release = $1 "
        "group by attribute having sum(rows) < $2 order by attribute",
        [release, rows],
    )
    return [column for (column,) in found]


def column_losses(catalog: Catalog, release: str) -> dict[str, float]:
    """What each column of a stored release lost, the most first."""
    labels = f"(select * from {catalog.schema}.release_labels where release = $1)"
    return dict(catalog.run(losses_sql(labels), [release]))


def losses_sql(labels: str) -> str:
    """What each column lost, over the labels that were released; the most first."""
    return f"select attribute, sum(rows * ncp) / sum(rows) as loss from {labels} group by attribute order by 2 desc, 1"


def keep_measures(catalog: Catalog, release: str, parts: Mapping[str, str]) -> None:
    """Keep the relations that the measures of a release are computed from, for anon.utility. Nothing is kept of it yet,
    or was forgotten."""
    for part, measured in parts.items():
        catalog.run(
            f"insert into {catalog.schema}.release_{part} by name select $1 as release, * from {measured}", [release]
        )


def forget(catalog: Catalog, release: str, parts: Sequence[str]) -> None:
    """Delete what is kept of a release in these tables."""
    for part in parts:
        catalog.run(f"delete from {catalog.schema}.release_{part} where release = $1", [release])


def _tables(reading: Reading, columns: Sequence[str], target: Target) -> list[tuple[str, str, Sequence[str]]]:
    """The tables of a release: where the rows of each are, what its readers name, and its columns."""
    if (sensitive_table := target.sensitive(reading.policy)) is None:
        return [(target.storage, target.shown, columns)]
    (column,) = reading.source.resolve_names(reading.policy.sensitive)
    return [
        (target.storage, target.shown, [each for each in columns if each != column]),
        (sensitive_table, sensitive_place(target.shown), [GROUP, column, "rows"]),
    ]


def _released(places: Sequence[str]) -> str | None:
    """The table or view itself, not the one next to it with the sensitive values."""
    return min(places, key=len, default=None)


def remove(catalog: Catalog, key: str) -> bool:
    """Drop a release of this name if there is one; what somebody else put in its place stays."""
    found = catalog.run(
        f"select name, kind, storage from {catalog.schema}.releases where lower(name) = lower($1)", [key]
    )
    places = marked(catalog, key)
    for stored, kind, storage in found:
        place = f"{catalog.database}.{storage}" if kind == "view" else _released(places)
        archive(catalog, stored, place)
        for place in places:
            catalog.run(f"drop {kind} {place}")
        if kind == "view":
            for place in (storage, sensitive_place(storage), members_of(storage), labels_of(storage)):
                catalog.run(f"drop table if exists {catalog.database}.{place}")
        catalog.run(f"delete from {catalog.schema}.releases where name = $1", [stored])
        forget(catalog, stored, (*PARTS, "members", "versions", "cohorts", "people"))
    return bool(found)
