"""A release: its rows, the proof, what it cost, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.history import is_published, record_publication
from sqlanon.catalog.places import SENSITIVE, key_of, sensitive_place, unquoted
from sqlanon.catalog.releases import Version, column_losses, remove, stored_names, stored_release, stored_releases
from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Relation, Session, is_readonly, run, transaction, translate_errors, unwrap
from sqlanon.errors import CatalogError, SqlanonError, not_one_of
from sqlanon.pipeline.metrics import rounded
from sqlanon.pipeline.promises import Promise, classes_of, groups_apart, promise_of
from sqlanon.pipeline.proof import Proof
from sqlanon.policy.options import MAX_UNIQUE
from sqlanon.policy.policy import Policy
from sqlanon.policy.words import required_text
from sqlanon.privacy.checking import unique_share
from sqlanon.privacy.proof import entity_of, prove, with_sensitive
from sqlanon.releases.combinations import check_publication
from sqlanon.releases.explaining import Explanation, explain
from sqlanon.releases.publishing import publish, refuse_unique
from sqlanon.releases.refresh import refresh
from sqlanon.sqltext import name as quoted
from sqlanon.sqltext import split_name
from sqlanon.version import __version__

if TYPE_CHECKING:
    import ibis
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Release:
    """A verified release: its rows, the proof, and what it cost.

    `proof` holds the property that holds and what was counted on the released values: k, classes, rows, and l for each
    sensitive column. `learned`
    holds what the method learned in addition to the groups, such as the feature weights of wfcmeans.
    """

    con: Session = field(repr=False)
    name: str | None
    source: str
    table: str
    printed: tuple[str, ...]
    policy: Policy
    proof: Proof
    measured: dict[str, float] = field(repr=False)
    learned: dict[str, Any] = field(repr=False)
    sql: str = field(repr=False)
    losses: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """What each quasi-identifier lost, the most first."""
    notes: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Why some of them lost so much, as far as that was seen when the release was made."""
    frame: Any = field(default=None, repr=False, compare=False)
    """The frame that was anonymized, if it was one. A stored release that is opened again does not know it."""

    @property
    def origin(self) -> Any:
        """What was anonymized: the name or query in `source`, or the frame."""
        return self.source if self.frame is None else self.frame

    def relation(self) -> Relation:
        """The release as a DuckDB relation."""
        return self.con.sql(f"from {self.table}")

    def df(self) -> pd.DataFrame:
        """The release as a pandas frame."""
        with translate_errors():
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
        rows = self.proof.rows + (self.proof.left_out or 0)
        return round(self.measured.get("suppressed", 0) * rows)

    @property
    def sensitive_table(self) -> str | None:
        """Where a stored release of anatomy has its sensitive values: group_id, value and rows."""
        is_apart = self.policy.kind.prints_exact and self.name is not None
        return sensitive_place(self.table) if is_apart else None

    def verify(self) -> Proof:
        """Prove what is released again, now; raises BrokenPromiseError if the table no longer keeps its promise.

        Where rows have boxes of their own (nonhomogeneous), that takes the source as it was. Where people were counted
        by an entity that is not released, rows are counted instead: there are never fewer.
        """
        with translate_errors():
            return self._prove(self._tables)

    def discard(self) -> None:
        """Drop the rows of a release that has no name; they would go with the connection anyway."""
        if self.name is not None:
            raise CatalogError(f"Release '{self.name}' is stored: sqlanon.drop_release drops it")
        run(self.con, f"drop table {self.table}")

    def refresh(self, *, key: bytes | None = None) -> Version:
        """Bring a stored view up to its source, see `sqlanon.refresh`; what was added, withdrawn and held.

        This object goes on telling what held when it was opened: `sqlanon.open_release` tells what holds now.
        """
        if self.name is None:
            raise CatalogError("Only a stored view can be refreshed: give it a name, and kind='view'")
        return refresh(self.con, self.name, key=key)

    def unique_with_kept(self) -> float | None:
        """The share of rows that are unique to whoever also knows the kept columns; None if nothing is kept, or rows
        are exact anyway (anatomy)."""
        kept = (*self.policy.keep, *self.policy.unsafe_keep)
        if not kept or self.policy.kind.prints_exact:
            return None
        with translate_errors():
            return unique_share(self.con, self.table, [*self.printed, *kept])

    def publish(
        self,
        path: str | Path,
        *,
        replace: bool = False,
        formulas: bool = False,
        max_unique: float = MAX_UNIQUE,
        strict: bool = False,
    ) -> dict[str, Any]:
        """Write the release to a new .duckdb, .parquet or .csv file that holds nothing else, and verify it there.

        Returns what the file says about it, in its table `about` or its key-value metadata; a csv file says nothing.
        In a csv file, text that a spreadsheet would run as a formula (it begins with =, +, -, @, tab or return) gets an
        apostrophe before it, unless `formulas` is set. The file's SHA-256 is recorded in `anon.publications`.

        It is refused if more than `max_unique` of the rows are unique to whoever also knows the kept columns. A warning
        says if it breaks k together with a release of the same people that was published before, or may; if the policy
        or the publication is `strict`, that is refused.
        """
        refuse_unique(self.unique_with_kept(), (*self.policy.keep, *self.policy.unsafe_keep), max_unique)
        proof = self.verify()
        self._check_published(strict or self.policy.strict)
        properties = [proof.property]
        for model, asked in self.policy.models.items():
            if model != "l":
                properties.append(f"{model} = {required_text(asked)}")
            elif "l-diversity" not in proof.property:
                properties.append("l-diversity")
        about = {
            "property": ", ".join(properties),
            "k": self.policy.k,
            "l": required_text(self.policy.l) if isinstance(self.policy.l, Mapping) else self.policy.l,
            "method": self.policy.method,
            "loss": rounded(self.measured.get("gcp")),
            "rows": proof.rows,
            "classes": proof.classes,
            "suppressed": self.suppressed - (proof.left_out or 0),
            "left_out": proof.left_out or 0,
            "ranges": self.policy.ranges,
            "sqlanon": __version__,
        }
        publish(self.con, self._tables, path, about, proof, self._prove, replace, formulas)
        if self.name is not None:
            self._record(Path(path), proof.rows)
        return about

    def _check_published(self, is_strict: bool) -> None:
        """Warn of releases that were published before, or refuse."""
        with translate_errors(), registered(self.con) as named:
            known = (self.name, self.table, self.source, named(self.origin), self.policy)
            check_publication(Catalog.of(self.con), *known, is_strict)

    def _record(self, file: Path, rows: int) -> None:
        """Remember the file in `anon.publications`, unless the database is open for reading only."""
        catalog = Catalog.of(self.con)
        if self.name is not None and not is_readonly(self.con, unquoted(catalog.database)):
            record_publication(catalog, self.name, file, rows)

    def report(
        self,
        path: str | Path,
        *,
        curve: bool | None = None,
        author: str | None = None,
        purpose: str | None = None,
        recipient: str | None = None,
        source_date: str | date | None = None,
        published: str | Path | None = None,
    ) -> Path:
        """Write all that is to be told of the release to one HTML file, verified again.

        The rest is written above the place to sign: who releases it, for what and to whom, of which day the source is
        (by default that of its file), and the SHA-256 of the published file.
        """
        from sqlanon.reporting.page import report_release

        paper = {"author": author, "purpose": purpose, "recipient": recipient}
        return report_release(self, path, curve, **paper, source_date=source_date, published=published)

    def explain(self) -> Explanation:
        """Why it lost what it lost: by column, and what other requests would save; it takes the source as it was."""
        return explain(self)

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
            resolve(self.con, f"from {table}").resolve_names(self.printed)
        except CatalogError as problem:
            raise CatalogError(f"Release '{self.name}' has changed since it was made: {problem}") from None

    def _prove(self, tables: Mapping[str, str]) -> Proof:
        """What holds of the release as it stands in these tables."""
        self._refuse_changed(next(iter(tables.values())))
        catalog = Catalog.of(self.con)
        if self.policy.kind.reads_source:
            with registered(self.con) as named:
                return self._proved(catalog, tables, promise_of(catalog.read(named(self.origin), self.policy)))
        if self.policy.kind.prints_exact:
            return self._proved(catalog, tables, groups_apart())
        entity = entity_of(self.relation().columns, self.policy)
        return self._proved(catalog, tables, classes_of(self.policy, self.printed, entity))

    def _proved(self, catalog: Catalog, tables: Mapping[str, str], promise: Promise) -> Proof:
        table, *apart = tables.values()
        released = with_sensitive(table, apart[0] if apart else None, self.policy)
        proof = prove(catalog, released, promise, self.policy)
        # What is not released was counted when the source was at hand.
        earlier = self.proof
        linked_k = earlier.linked_k if proof.linked_k is None else proof.linked_k
        return replace(
            proof, left_out=earlier.left_out, outside_population=earlier.outside_population, linked_k=linked_k
        )


def _require(module: str, package: str | None = None) -> Any:
    """A library that is only needed by those who use it."""
    try:
        return import_module(module)
    except ImportError:
        raise SqlanonError(f"This needs {module}: pip install '{package or module}'") from None


def drop_release(con: Any, name: str, *, kind: str | None = None, missing_ok: bool = False) -> None:
    """Drop a stored release: its view or table, its rows, and its entry in `anon.releases`."""
    raw = unwrap(con)
    with translate_errors(), transaction(raw):
        catalog = Catalog.of(raw)
        key = key_of(catalog, name)[2]
        stored = stored_releases(catalog, key)
        if stored and kind not in (None, stored[0].kind):
            found = stored[0].kind
            raise CatalogError(f"Release '{name}' is a {found}: DROP ANONYMIZED {found.upper()} {name}")
        if not remove(catalog, key) and not missing_ok:
            raise CatalogError(not_one_of("release", name, stored_names(catalog)))


def open_release(con: Any, name: str) -> Release:
    """A stored release by its name."""
    raw = unwrap(con)
    with translate_errors(), transaction(raw):
        catalog = Catalog.of(raw)
        found = stored_release(catalog, name)
        losses = column_losses(catalog, found.name)
    return Release(
        con=raw,
        name=found.name,
        source=found.source,
        table=f"{catalog.database}.{quoted(found.schema)}.{quoted(found.table)}",
        printed=found.printed,
        policy=found.policy,
        proof=found.proof,
        measured=found.metrics,
        learned=found.learned,
        sql="",
        losses=losses,
    )


def was_published(con: Any, name: str) -> bool:
    """Is there a stored release of this name that was published?"""
    catalog = Catalog.of(unwrap(con))
    return is_published(catalog, key_of(catalog, name)[2])
