"""Making a release: plan, run, verify on the printed values, measure and store, in one transaction or not at all."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from sqlanon.catalog.catalog import anon_schema
from sqlanon.catalog.hierarchies import hierarchies
from sqlanon.catalog.places import SENSITIVE, beside, database_of, key_of
from sqlanon.catalog.releases import Version, remove, stored_names, stored_release
from sqlanon.engine.frames import naming
from sqlanon.engine.names import resolve
from sqlanon.engine.session import our_errors, run, transaction, unwrap
from sqlanon.errors import CatalogError, SqlanonError, not_one_of
from sqlanon.pipeline.attribute import attributes_of
from sqlanon.pipeline.promises import Promise, equal_rows, groups_apart, promise_of
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import entity_of, prove, whole
from sqlanon.releases.publishing import publish
from sqlanon.releases.refresh import refresh
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import split_name
from sqlanon.udfs.methods import METHODS
from sqlanon.version import __version__

if TYPE_CHECKING:
    import ibis
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

log = logging.getLogger("sqlanon")
UNPRINTED = ("left_out", "outside_population")
"""What the proof counts of the source beside what is printed."""


@dataclass(frozen=True)
class Release:
    """A verified release: its rows, the proof, and what it cost.

    `proof` holds the property that holds and what was counted on the printed values: k, classes, rows, and l for each
    sensitive column. `learned`
    holds what the method found out beside the groups, such as the feature weights of wfcmeans.
    """

    con: duckdb.DuckDBPyConnection = field(repr=False)
    name: str | None
    source: str
    table: str
    printed: tuple[str, ...]
    policy: Policy
    proof: dict[str, Any]
    measured: dict[str, float] = field(repr=False)
    learned: dict[str, Any] = field(repr=False)
    sql: str = field(repr=False)
    frame: Any = field(default=None, repr=False, compare=False)
    """The frame that was anonymized, if it was one. A stored release that is opened again does not know it."""

    @property
    def origin(self) -> Any:
        """What was anonymized: the name or query in `source`, or the frame."""
        return self.source if self.frame is None else self.frame

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The release as a DuckDB relation."""
        return self.con.sql(f"from {self.table}")

    def df(self) -> pd.DataFrame:
        """The release as a pandas frame."""
        with our_errors():
            self._refuse_changed(self.table)
            frame: pd.DataFrame = self.relation().df()
        return frame

    def pl(self) -> pl.DataFrame:
        """The release as a polars frame."""
        _require("polars")
        frame: pl.DataFrame = self.relation().pl()
        return frame

    def arrow(self) -> pa.Table:
        """The release as an Arrow table."""
        return self.relation().to_arrow_table()

    def ibis(self) -> ibis.Table:
        """The release as an ibis table in memory, for expressions on any backend.

        A stored release is also a table of its database: `backend.table("patients_public")`.
        """
        return _require("ibis", "ibis-framework[duckdb]").memtable(self.arrow())

    def metrics(self) -> dict[str, float]:
        """What the release lost, as measured when it was made: gcp, lm, precision and so on.

        Measures of a sensitive column go by their name, or as cm(diagnosis) where there are several such columns.
        """
        return dict(self.measured)

    @property
    def suppressed(self) -> int:
        """How many rows of the source lost everything: printed as * in every quasi-identifier, or left out."""
        rows: int = self.proof["rows"] + self.proof.get("left_out", 0)
        return round(self.measured.get("suppressed", 0) * rows)

    @property
    def sensitive_table(self) -> str | None:
        """Where a stored release of anatomy has its sensitive values: group_id, value and rows."""
        return beside(self.table) if METHODS[self.policy.method].is_exact and self.name is not None else None

    def verify(self) -> dict[str, Any]:
        """Prove what is printed again, now; raises BrokenPromiseError if the table no longer keeps its promise.

        Where rows have boxes of their own (nonhomogeneous), that takes the source as it was. Where people were counted
        by an entity that is not released, rows are counted instead: there are never fewer.
        """
        with our_errors():
            return self._prove(self._tables)

    def refresh(self, *, key: bytes | None = None) -> Version:
        """Bring a stored view up to its source, see `sqlanon.refresh`; what was added, withdrawn and held.

        This object goes on telling what held when it was opened: `sqlanon.open_release` tells what holds now.
        """
        if self.name is None:
            raise CatalogError("Only a stored view can be refreshed: give it a name, and kind='view'")
        return refresh(self.con, self.name, key=key)

    def publish(self, path: str | Path, *, replace: bool = False) -> dict[str, Any]:
        """Write the release to a new .duckdb, .parquet or .csv file that holds nothing else, and verify it there.

        Returns what the file says about it, in its table `about` or its key-value metadata; a csv file says nothing.
        """
        proof = self.verify()
        properties = [proof["property"]]
        for model, asked in self.policy.models.items():
            if model != "l":
                properties.append(f"{model} = {asked:g}")
            elif "l-diversity" not in proof["property"]:
                properties.append("l-diversity")
        about = {
            "property": ", ".join(properties),
            "k": self.policy.k,
            "l": self.policy.l,
            "method": self.policy.method,
            "loss": self.measured.get("gcp"),
            "rows": proof["rows"],
            "classes": proof["classes"],
            "suppressed": self.suppressed - proof.get("left_out", 0),
            "left_out": proof.get("left_out", 0),
            "ranges": self.policy.ranges,
            "sqlanon": __version__,
        }
        publish(self.con, self._tables, path, about, proof, self._prove, replace)
        return about

    def report(self, path: str | Path, *, curve: bool | None = None) -> Path:
        """Write all that is to be told of the release to one HTML file, verified again; see sqlanon/reports.py."""
        from sqlanon.reporting.page import report_release

        return report_release(self, path, curve)

    def plot(self, *, dark: bool = False) -> Figure:
        """The main figure of the report: class sizes and what became of each column."""
        from sqlanon.reporting.facts import facts_of_release
        from sqlanon.reporting.figures import main_figure

        return main_figure(facts_of_release(self, curve=False), dark)

    def __repr__(self) -> str:
        from sqlanon.reporting.displays import release_text

        return release_text(self)

    def _repr_html_(self) -> str:
        from sqlanon.reporting.displays import release_html

        return release_html(self)

    @property
    def _tables(self) -> dict[str, str]:
        """The tables of the release by their names: one, or two where sensitive values stand apart."""
        own = (split_name(self.name) or [self.name])[-1] if self.name is not None else "release"
        tables = {own: self.table}
        return tables if self.sensitive_table is None else tables | {f"{own}{SENSITIVE}": self.sensitive_table}

    def _refuse_changed(self, table: str) -> None:
        """An error in words where the release's table or view is gone or has other columns."""
        try:
            resolve(self.con, f"from {table}").spelt(self.printed)
        except CatalogError as problem:
            raise CatalogError(f"Release '{self.name}' is not as it was made: {problem}") from None

    def _prove(self, tables: Mapping[str, str]) -> dict[str, Any]:
        """What holds of the release as it stands in these tables."""
        self._refuse_changed(next(iter(tables.values())))
        method = METHODS[self.policy.method]
        if method.is_exact:
            promise = groups_apart()
        elif method.is_homogeneous and self.policy.population is None:
            promise = equal_rows(self.printed, entity_of(self.relation().columns, self.policy))
        else:
            with naming(self.con) as named:
                source, anon = resolve(self.con, named(self.origin)), anon_schema(self.con)
                if self.policy.population is not None:
                    source = source.among(resolve(self.con, self.policy.population), self.policy.quasi)
                attributes = attributes_of(source, self.policy, hierarchies(self.con, anon), anon)
                return self._proved(tables, promise_of(self.policy, attributes, source))
        return self._proved(tables, promise)

    def _proved(self, tables: Mapping[str, str], promise: Promise) -> dict[str, Any]:
        table, *beside = tables.values()
        proof = prove(self.con, whole(table, beside[0] if beside else None, self.policy), promise, self.policy)
        # What is not printed was counted when the source was at hand.
        return proof | {fact: self.proof[fact] for fact in UNPRINTED if fact in self.proof}


def _require(module: str, package: str | None = None) -> Any:
    """A library that is only needed by those who use it."""
    try:
        return import_module(module)
    except ImportError:
        raise SqlanonError(f"This needs {module}: pip install '{package or module}'") from None


def drop_release(con: Any, name: str, *, kind: str | None = None, missing_ok: bool = False) -> None:
    """Drop a stored release: its view or table, its rows, and its entry in `anon.releases`."""
    raw = unwrap(con)
    with our_errors(), transaction(raw):
        anon = anon_schema(raw)
        key = key_of(raw, anon, name)[2]
        stored = run(raw, f"select kind from {anon}.releases where lower(name) = lower($1)", [key])
        if stored and kind not in (None, stored[0][0]):
            raise CatalogError(f"Release '{name}' is a {stored[0][0]}: DROP ANONYMIZED {stored[0][0].upper()} {name}")
        if not remove(raw, anon, key) and not missing_ok:
            raise CatalogError(not_one_of("release", name, stored_names(raw, anon)))


def open_release(con: Any, name: str) -> Release:
    """A stored release by its name."""
    raw = unwrap(con)
    with our_errors(), transaction(raw):
        anon = anon_schema(raw)
        found = stored_release(raw, anon, name)
    return Release(
        raw,
        found.name,
        found.source,
        f"{database_of(anon)}.{quoted(found.schema)}.{quoted(found.table)}",
        found.printed,
        found.policy,
        found.proof,
        found.metrics,
        found.learned,
        sql="",
    )
