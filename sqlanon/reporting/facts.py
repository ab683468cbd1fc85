"""All that a report tells of a release, or of any table: counted and verified when the report is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import duckdb

from sqlanon.catalog.catalog import anon_schema
from sqlanon.catalog.hierarchies import hierarchies
from sqlanon.comparison.compare import Comparison, stored_comparison
from sqlanon.disclosure.risk import risk
from sqlanon.engine.frames import FRAME, PREFIX, naming
from sqlanon.engine.names import resolve
from sqlanon.engine.session import our_errors, run, unwrap
from sqlanon.errors import CatalogError
from sqlanon.pipeline.attribute import attributes_of
from sqlanon.pipeline.models import Asked, Sensitive, sensitive_of
from sqlanon.pipeline.promises import GROUP
from sqlanon.pipeline.source import Source
from sqlanon.policy import words
from sqlanon.policy.options import ASKED
from sqlanon.policy.policy import Policy
from sqlanon.privacy.check_sql import Proof, check_k, check_model, plain_names
from sqlanon.privacy.checking import check
from sqlanon.releases.making import anonymize
from sqlanon.releases.release import Release
from sqlanon.reporting.columns import Column, column_of
from sqlanon.sqltext import fold, literal, name, names, query_or_none, render
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import MODELS

COUNTED = "k-anonymity of entities"
"""The property that holds where people were counted."""
SAMPLE = 8
"""Released rows that are shown."""
CURVE = (2, 3, 5, 10, 20, 50, 100)
"""The k at which the loss of a table is drawn."""
CURVE_ROWS = 50_000
"""Rows up to which that is done without being asked for."""


@dataclass(frozen=True)
class Private:
    """A sensitive column within the classes: how many have a most frequent value of this share, and how many are this
    far from the table. `overall` is the share of the table's most frequent value."""

    column: str
    overall: float
    largest: tuple[tuple[float, int], ...]
    distances: tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class Facts:
    """What a report tells."""

    title: str
    is_release: bool
    source: str | None
    policy: Policy
    claim: str
    proofs: tuple[Proof, ...]
    rows: int
    rows_in: int | None
    suppressed: int
    """Rows that print nothing but *."""
    classes: int | None
    sizes: tuple[tuple[int, int], ...]
    risks: Mapping[str, float | None]
    columns: tuple[Column, ...]
    private: tuple[Private, ...]
    loss: float | None
    lower_bound: float | None
    metrics: Mapping[str, float] = field(default_factory=dict)
    left_out: int = 0
    """Rows of the source that are not in the release at all."""
    entity: str | None = None
    """The column by which people are counted, where rows are not."""
    curve: tuple[tuple[int, float, float | None], ...] = ()
    comparison: Comparison | None = None
    sample: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def holds(self) -> bool:
        """Is everything kept that was asked for?"""
        return all(proof.holds for proof in self.proofs)

    @property
    def k(self) -> int:
        """The smallest class as verified; 0 in a table without rows."""
        return int(self.proofs[0].reached or 0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the sample."""
        plain = (
            "title",
            "is_release",
            "source",
            "claim",
            "holds",
            "k",
            "rows",
            "rows_in",
            "suppressed",
            "left_out",
            "classes",
        )
        told: dict[str, Any] = {fact: getattr(self, fact) for fact in plain}
        told |= {"loss": self.loss, "lower_bound": self.lower_bound, "policy": self.policy.options()}
        told |= {fact: [asdict(each) for each in getattr(self, fact)] for fact in ("proofs", "columns", "private")}
        told |= {"class_sizes": [list(size) for size in self.sizes], "risks": dict(self.risks)}
        told |= {"metrics": dict(self.metrics), "loss_by_k": [list(point) for point in self.curve]}
        return told | {"notes": list(self.notes), "made_at": self.made_at.isoformat()}


def facts_of_release(release: Release, curve: bool | None = None) -> Facts:
    """What there is to tell of a release. It is verified again: BrokenPromiseError if it no longer holds."""
    con, policy, method = release.con, release.policy, METHODS[release.policy.method]
    proof = release.verify()
    with our_errors(), naming(con) as named:
        left_out = proof.get("left_out", 0)
        origin = named(release.origin)
        source, notes = _source(con, origin, policy, proof["rows"] + left_out)
        entity = _entity(release) if proof["property"] == COUNTED else None
        if policy.entity is not None and entity is None:
            notes.append(
                f"Here rows are counted, as {policy.entity}, which tells whom a row is about, is not released. When "
                f"the release was made, people were counted: every class had those of {release.proof['k']} or more."
            )
        counted = _people(release.table, release.printed, entity)
        shown = release.name if release.name is not None else "release"
        has_classes = method.is_homogeneous or method.is_exact
        printed = (GROUP,) if method.is_exact else release.printed
        proofs = _proofs_of_release(release, proof, printed, shown if release.name else "your_table", entity)
        columns = _columns(con, release, source) if policy.represent == "closure" else ()
        if policy.represent == "center":
            notes.append("Classes print their centres, which do not tell what they cover: no loss per column is known.")
        risks = _risks(con, counted, printed, policy, proof)
        rows = proof["rows"]
        return Facts(
            title=shown,
            is_release=True,
            source=_shown(release.source),
            policy=policy,
            claim=words.property_of(policy, proof["k"], entity is not None),
            entity=entity,
            proofs=proofs,
            rows=rows,
            rows_in=_count(con, source) if source is not None else None,
            suppressed=_suppressed(con, release.table, release.printed, policy) if not method.is_exact else 0,
            left_out=left_out,
            classes=proof["classes"] if has_classes else None,
            sizes=_sizes(con, counted, printed) if has_classes else (),
            risks=risks,
            columns=columns,
            private=_private(con, release.table, printed, policy, entity)
            if method.is_homogeneous and not method.is_exact
            else (),
            loss=release.measured.get("gcp"),
            lower_bound=release.measured.get("lower_bound"),
            metrics=release.metrics(),
            curve=_curve(con, origin, policy, rows + left_out, curve) if source is not None else (),
            comparison=stored_comparison(con, release.source, policy, rows + left_out),
            sample=_sample(con, release.table),
            notes=tuple(notes),
        )


def facts_of_table(
    con: Any,
    table: str,
    quasi: Sequence[str],
    k: int = 5,
    *,
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    source: str | None = None,
    shown: str | None = None,
    **options: Any,
) -> Facts:
    """What there is to tell of a table, file or query, whoever made it; with its source also what it lost."""
    raw = unwrap(con)
    policy = Policy.of({"quasi": quasi, "k": k, "sensitive": sensitive, "entity": entity, **options})
    models = {option.name: getattr(policy, option.name) for option in ASKED}
    with our_errors():
        found = resolve(raw, table)
        printed = found.spelt(quasi)
        counted = check(raw, table, quasi, k, sensitive=sensitive, entity=entity, **models)
        (person,) = found.spelt([entity]) if entity is not None else (None,)
        people = _people(found.relation, printed, person)
        title = shown or _shown(table) or "a query"
        kept = _sensitive(raw, found.relation, policy)
        is_file = query_or_none(table) is None and not found.is_table
        relation = literal(title) if is_file else plain_names([title])
        proofs = [
            Proof("k", None, counted.k, k, counted.k is None or counted.k >= k, check_k(relation, printed, person))
        ]
        for model, by_column in counted.reached.items():
            for column, reached in by_column.items():
                asked = counted.asked.get(model)
                sql = check_model(relation, title, printed, model, kept[column], policy, person)
                proofs.append(Proof(model, column, reached, asked, Asked(model, asked).holds(reached), sql))
        origin = resolve(raw, source) if source is not None else None
        read = origin or found
        anon = anon_schema(raw)
        attributes = attributes_of(read, policy, hierarchies(raw, anon) if origin else (), anon)
        columns = tuple(column_of(raw, read, a, found.relation if origin else None, k) for a in attributes)
        weights = sum(a.weight for a in attributes)
        losses = [a.weight * c.loss for a, c in zip(attributes, columns, strict=True) if c.loss is not None]
        return Facts(
            title=title,
            is_release=False,
            source=_shown(source) if source else None,
            policy=policy,
            claim=words.property_of(policy, counted.k or 0, person is not None),
            entity=person,
            proofs=tuple(proofs),
            rows=counted.rows,
            rows_in=_count(raw, origin) if origin else None,
            suppressed=_suppressed(raw, found.relation, printed, policy),
            classes=counted.classes,
            sizes=_sizes(raw, people, printed),
            risks=risk(raw, f"from {people}", printed),
            columns=columns,
            private=_private(raw, found.relation, printed, policy, person),
            loss=sum(losses) / weights if losses else None,
            lower_bound=_lower_bound(raw, source, policy) if source is not None else None,
            notes=("No source was named, so nothing is said of what was lost.",) if origin is None else (),
        )


def _source(con: duckdb.DuckDBPyConnection, asked: str, policy: Policy, rows: int) -> tuple[Source | None, list[str]]:
    """The source of a release if it is as it was, as far as can be seen, and what to say if not."""
    try:
        source = resolve(con, asked)
        source.spelt(policy.quasi)
    except CatalogError:
        return None, ["The source is no longer there, so nothing is shown of it."]
    if _count(con, source) != rows:
        return None, ["The source has other rows now than when the release was made, so nothing is shown of it."]
    if policy.population is not None:
        source = source.among(resolve(con, policy.population), policy.quasi)
    return source, []


def _shown(source: str) -> str | None:
    """A source as a reader may see it: a query may hold values, so it is not shown."""
    return source if query_or_none(source) is None and not source.startswith((FRAME, f"temp.{PREFIX}")) else None


def _entity(release: Release) -> str:
    """The released column that tells whom a row is about."""
    asked = fold(release.policy.entity or "")
    return next(column for column in release.relation().columns if fold(column) == asked)


def _people(relation: str, printed: Sequence[str], entity: str | None) -> str:
    """What to count in classes: rows, or each person once in every class that has one of their rows."""
    return relation if entity is None else f"(select distinct {names([*printed, entity])} from {relation})"


def _count(con: duckdb.DuckDBPyConnection, source: Source) -> int:
    ((rows,),) = run(con, f"select count(*) from {source.relation}")
    return int(rows)


def _proofs_of_release(
    release: Release, proof: Mapping[str, Any], printed: Sequence[str], shown: str, entity: str | None
) -> tuple[Proof, ...]:
    policy, method = release.policy, METHODS[release.policy.method]
    has_classes = (method.is_homogeneous or method.is_exact) and policy.population is None
    relation = name(shown) if not shown.isidentifier() else shown
    proofs = [Proof("k", None, proof["k"], policy.k, True, check_k(relation, printed, entity) if has_classes else None)]
    kept = _sensitive(release.con, release.table, policy) if not method.is_exact else {}
    for model in dict.fromkeys(("l", "t", *policy.models)):
        for column, reached in proof.get(model, {}).items():
            if method.is_exact:
                sql = render("report/check_l_apart.sql", relation=f"{shown}_sensitive") if release.name else None
            else:
                sql = check_model(relation, shown, printed, model, kept[column], policy, entity)
            is_measured = policy.entity is not None and entity is None and MODELS[model].counts_people
            proofs.append(Proof(model, column, reached, None if is_measured else policy.models.get(model), True, sql))
    return tuple(proofs)


def _sensitive(con: duckdb.DuckDBPyConnection, relation: str, policy: Policy) -> dict[str, Sensitive]:
    anon = anon_schema(con)
    found = sensitive_of(resolve(con, f"from {relation}"), policy, hierarchies(con, anon), anon)
    return {sensitive.column: sensitive for sensitive in found}


def _columns(con: duckdb.DuckDBPyConnection, release: Release, source: Source | None) -> tuple[Column, ...]:
    if source is None:
        return ()
    anon = anon_schema(con)
    attributes = attributes_of(source, release.policy, hierarchies(con, anon), anon)
    policy = release.policy
    may_lack_rows = policy.max_suppression is not None
    return tuple(column_of(con, source, a, release.table, policy.k, may_lack_rows) for a in attributes)


def _suppressed(con: duckdb.DuckDBPyConnection, relation: str, printed: Sequence[str], policy: Policy) -> int:
    """The rows of which nothing is told by quasi-identifiers: * in all of them, or no ends where ranges are columns."""
    alone = {fold(column) for column in policy.quasi}
    empty = [
        f"{name(column)} is null"
        if policy.ranges == "columns" and fold(column) not in alone
        else f"coalesce(cast({name(column)} as varchar) = '*', false)"
        for column in printed
    ]
    ((rows,),) = run(con, f"select count(*) from {relation} where {' and '.join(empty)}")
    return int(rows)


def _sizes(con: duckdb.DuckDBPyConnection, relation: str, printed: Sequence[str]) -> tuple[tuple[int, int], ...]:
    return tuple(run(con, render("report/class_sizes.sql", relation=relation, printed=names(printed))))


def _risks(
    con: duckdb.DuckDBPyConnection, table: str, printed: Sequence[str], policy: Policy, proof: Mapping[str, Any]
) -> dict[str, float | None]:
    """The risks of El Emam where classes or matches bound them; none where everybody can be recognized anyway."""
    method = METHODS[policy.method]
    if method.is_exact:
        return {}
    if method.is_homogeneous:
        found = risk(con, f"from {table}", printed)
        if policy.population is not None:  # whose people were counted; how many others are in each class is not told
            found |= {"journalist_max": 1 / proof["k"], "journalist_mean": None, "marketer": None}
        return found
    return dict.fromkeys(("prosecutor_max", "journalist_max"), 1 / proof["k"])


def _private(
    con: duckdb.DuckDBPyConnection, relation: str, printed: Sequence[str], policy: Policy, entity: str | None
) -> tuple[Private, ...]:
    found = []
    for column, sensitive in _sensitive(con, relation, policy).items():
        counted = f"select count(*) as n from {relation} group by {name(column)}"
        ((overall,),) = run(con, f"select max(n) / sum(n) from ({counted})")
        if overall is None:
            continue
        reached = {
            model: run(
                con,
                render("report/reached.sql", classes=Asked(model).classes_sql(relation, printed, sensitive, entity)),
            )
            for model in ("l", "t")
        }
        largest = tuple((1 / value, classes) for value, classes in reversed(reached["l"]))
        found.append(Private(column, float(overall), largest, tuple(reached["t"])))
    return tuple(found)


def _lower_bound(con: duckdb.DuckDBPyConnection, source: str, policy: Policy) -> float | None:
    anon = anon_schema(con)
    options = {"quasi": list(policy.quasi), "k": policy.k, "hierarchies": dict(policy.hierarchies) or None}
    given = ", ".join(f"{option} := {literal(value)}" for option, value in options.items() if value is not None)
    found = run(con, f"select gcp from {anon}.lower_bound({literal(source)}, {given}) where bound = 'gcp'")
    return found[0][0] if found else None


def _curve(
    con: duckdb.DuckDBPyConnection, source: str, policy: Policy, rows: int, wanted: bool | None
) -> tuple[tuple[int, float, float | None], ...]:
    """The loss of this table at several k, by a quick search under the same policy; unless wanted for small tables."""
    method = METHODS[policy.method]
    if wanted is False or (wanted is None and rows > CURVE_ROWS) or method.is_exact or not method.is_homogeneous:
        return ()
    points = []
    quick = {"method": "auto", "effort": "fast", "ranges": "text", "represent": "closure"}
    own = {parameter.name for parameter in method.parameters} | {"grid", "refine", "block_size", "pseudonymize"}
    options = {option: value for option, value in policy.options().items() if option not in own} | quick
    for k in sorted({*CURVE, policy.k}):
        if 2 * k <= rows:
            made = anonymize(con, source, policy=Policy.of(options | {"k": k}))
            run(con, f"drop table {made.table}")
            points.append((k, made.measured["gcp"], made.measured.get("lower_bound")))
    return tuple(points) if len(points) > 1 else ()


def _sample(con: duckdb.DuckDBPyConnection, table: str) -> tuple[tuple[str, ...], ...]:
    """A few released rows as text, below the names of their columns. They are stored in an order that tells nothing."""
    found = con.execute(f"select columns(*)::varchar from {table} limit {SAMPLE}")
    header = tuple(str(column[0]) for column in found.description or ())
    return (header, *(tuple("NULL" if cell is None else str(cell) for cell in row) for row in found.fetchall()))
