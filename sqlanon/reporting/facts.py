"""All that a report tells of a release, or of any table: counted and verified when the report is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.places import SENSITIVE
from sqlanon.comparison.compare import stored_comparison
from sqlanon.comparison.comparison import Comparison
from sqlanon.disclosure.risk import risk
from sqlanon.engine.frames import FRAME, PREFIX, registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, keep_steps, run, translate_errors, unwrap
from sqlanon.errors import CatalogError, option
from sqlanon.hierarchies.hierarchy import Hierarchies
from sqlanon.pipeline.encode import measured_encoding
from sqlanon.pipeline.metrics import leaving, rounded
from sqlanon.pipeline.models import Asked
from sqlanon.pipeline.promises import GROUP
from sqlanon.pipeline.proof import Proof
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.kinds import ENTITIES, HOMOGENEOUS, LINKED
from sqlanon.policy.options import ASKED
from sqlanon.policy.policy import Policy
from sqlanon.policy.words import added_in_words
from sqlanon.privacy import verdict
from sqlanon.privacy.check_sql import Verified, check_k, check_model, plain_names
from sqlanon.privacy.checking import Check, check
from sqlanon.privacy.proof import entity_of
from sqlanon.privacy.verdict import Warned
from sqlanon.releases.combinations import Combination
from sqlanon.releases.release import Release
from sqlanon.releases.remaining import without_left_out
from sqlanon.releases.trying import losses_by_k
from sqlanon.reporting.columns import Column, column_of, least_rows
from sqlanon.reporting.looked import Looked, Private
from sqlanon.reporting.signing import Paper, combination_in_words, others_of
from sqlanon.sqltext import literal, name, query_or_none, render, split_name
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import MODELS

SAMPLE = 8
"""Released rows that are shown."""
Curve = tuple[tuple[int, float, float | None], ...]
"""Each k with the loss and, where it is known, the least that can be lost."""
CURVE = (2, 5, 10, 20, 50, 100)
"""The k at which the loss of a table is drawn."""
PLAIN = [
    "title",
    "is_release",
    "source",
    "claim",
    "holds",
    "state",
    "k",
    "rows",
    "rows_in",
    "suppressed",
    "left_out",
    "classes",
    "added",
]
"""Facts that are JSON as they are."""
NO_ROWS = "The table has no rows."
UNNAMED = "release"
"""The title of a release that is not stored."""
CURVE_ROWS, MODEL_ROWS = 2_000, 500
"""Rows up to which that is done without being asked for: each run takes longer where models are required."""


@dataclass(frozen=True)
class Facts:
    """What a report tells."""

    title: str
    is_release: bool
    source: str | None
    policy: Policy
    claim: str
    proofs: tuple[Verified, ...]
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
    curve: Curve = ()
    comparison: Comparison | None = None
    sample: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    added: str = ""
    """What was done beyond the method."""
    others: tuple[Combination, ...] = ()
    """The release with other stored releases of the same source."""
    unique_with_kept: float | None = None
    """The share of rows that are unique to whoever also knows the kept columns; None if nothing is kept."""
    kept: tuple[str, ...] = ()
    paper: Paper = field(default_factory=Paper)
    made_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def heading(self) -> str:
        """What the page is about: the release by its name, or by the file that it was published in."""
        return self.paper.published or self.title if self.title == UNNAMED else self.title

    @property
    def holds(self) -> bool:
        """Is everything kept that was required?"""
        return all(proof.holds for proof in self.proofs)

    @property
    def warned(self) -> tuple[Warned, ...]:
        """What holds and still should not be signed unread."""
        if not self.rows:
            return (verdict.empty(),)
        found = [
            verdict.other_release(combination_in_words(self.title, one))
            for one in self.others
            if one.verdict != "holds"
        ]
        required = {proof.column for proof in self.proofs if proof.asked is not None}
        for proof in self.proofs:
            if proof.model == "l" and proof.column not in required and (proof.reached or 2) <= 1:
                overall = next((one.overall for one in self.private if one.column == proof.column), None)
                found.append(verdict.homogeneous(str(proof.column), overall))
        if self.unique_with_kept:
            found.append(verdict.unique_with(self.kept, self.unique_with_kept))
        if self.loss == 0 and self.rows and not self.policy.kind.prints_exact:
            found.append(verdict.nothing_lost(self.source))
        return tuple(found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The same in sentences."""
        return tuple(warning.said for warning in self.warned)

    @property
    def state(self) -> str:
        """holds, holds with warnings or BROKEN."""
        return verdict.state(self.holds, self.warned)

    @property
    def next(self) -> str:
        """What to do next."""
        publish = verdict.publishing(self.title) if self.title != UNNAMED else "publish it"
        otherwise = publish if self.is_release else "sign the report"
        repair = f"anonymize its source with {option('k', self.policy.k)}"
        return verdict.next_step(self.holds, self.warned, otherwise, repair)

    @property
    def told(self) -> list[str]:
        """The verdict in lines, the last of which says what to do next."""
        return verdict.told(self.holds, self.warned, self.next)

    @property
    def k(self) -> int:
        """The smallest class as verified; 0 in a table without rows."""
        return int(self.proofs[0].reached or 0)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: everything but the sample."""
        told: dict[str, Any] = {fact: getattr(self, fact) for fact in PLAIN}
        told |= {"loss": rounded(self.loss), "lower_bound": rounded(self.lower_bound), "policy": self.policy.options()}
        told |= {"proofs": [asdict(proof) for proof in self.proofs], "risks": leaving(self.risks)}
        told |= {fact: leaving([asdict(each) for each in getattr(self, fact)]) for fact in ("columns", "private")}
        told |= {"class_sizes": [list(size) for size in self.sizes]}
        told |= {"metrics": leaving(self.metrics), "loss_by_k": leaving(self.curve)}
        told |= {"warnings": [asdict(warning) for warning in self.warned], "next": self.next}
        told |= {"paper": self.paper.as_dict(), "unique_with_kept": rounded(self.unique_with_kept)}
        told |= {"others": [asdict(one) for one in self.others]}
        return told | {"notes": list(self.notes), "made_at": self.made_at.isoformat()}


def facts_of_release(release: Release, curve: bool | None = None, paper: Paper | None = None) -> Facts:
    """What there is to tell of a release. It is verified again: BrokenPromiseError if it no longer holds."""
    con, policy, kind = release.con, release.policy, release.policy.kind
    proof = release.verify()
    with translate_errors(), registered(con) as named, ExitStack() as stack:
        left_out = proof.left_out or 0
        gone = 0
        reading, notes = _reading(con, named(release.origin), policy, proof.rows + left_out)
        if reading is not None and left_out:
            catalog = Catalog.of(con)
            rest = stack.enter_context(without_left_out(catalog, reading.source, release.table, policy, proof))
            reading, gone = catalog.read(rest.source, policy), rest.gone
        is_counted = proof.property in (ENTITIES.property, LINKED.property)
        entity = entity_of(release.relation().columns, policy) if is_counted else None
        if policy.entity is not None and entity is None:
            notes.append(
                f"Rows are counted here, because {policy.entity}, which identifies a person, is not released. When "
                f"the release was made, people were counted: every class had at least {release.proof.k} people."
            )
        if proof.linked_k is not None:
            notes.append(_linked_note(proof.linked_k, policy.k))
        if policy.represent == "center":
            notes.append(
                "Classes are released as centers, which do not show what they cover, so the loss per column is unknown."
            )
        shown = release.name if release.name is not None else UNNAMED
        table = Looked(con, release.table, (GROUP,) if kind.prints_exact else release.printed, policy, entity)
        return Facts(
            title=shown,
            is_release=True,
            source=_shown(release.source),
            policy=policy,
            claim=(HOMOGENEOUS if entity is None and kind in (ENTITIES, LINKED) else kind).claim(policy, proof.k),
            entity=entity,
            proofs=_proofs_of_release(release, proof, table, shown if release.name else "your_table"),
            rows=proof.rows,
            rows_in=proof.rows + left_out if reading is not None else None,
            suppressed=0 if kind.prints_exact else table.suppressed(),
            left_out=left_out,
            classes=proof.classes if table.has_groups else None,
            sizes=table.sizes() if table.has_groups else (),
            risks=table.risks(proof.k),
            columns=_columns(con, release, reading, gone),
            private=table.private() if kind.has_classes else (),
            loss=release.measured.get("gcp"),
            lower_bound=release.measured.get("lower_bound"),
            metrics=release.metrics(),
            curve=_curve(reading, con, proof.rows + left_out, curve),
            comparison=None if left_out else stored_comparison(con, release.source, policy, proof.rows),
            sample=_sample(con, release.table),
            notes=tuple(notes),
            added=added_in_words(policy, release.learned),
            others=others_of(release),
            unique_with_kept=release.unique_with_kept(),
            kept=(*policy.keep, *policy.unsafe_keep),
            paper=(paper or Paper()).dated(release.source),
        )


def _linked_note(linked_k: int, k: int) -> str:
    """What somebody finds who knows all rows of a person."""
    enough = "" if linked_k >= k else f", fewer than k = {k}; linked = true prevents that"
    return f"Whoever knows all rows of a person finds {linked_k} people or more who have the same ones{enough}."


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
    quasi = policy.quasi
    with translate_errors():
        catalog = Catalog.of(raw)
        found = resolve(raw, table)
        counted = check(raw, table, quasi, k, sensitive=sensitive, entity=entity, **models)
        (person,) = found.resolve_names([entity]) if entity is not None else (None,)
        title = shown or _shown(table) or "a query"
        looked = Looked(raw, found.relation, tuple(found.resolve_names(quasi)), policy, person)
        origin = catalog.read(source, policy) if source is not None else None
        reading = origin or Reading.of(policy, found, Hierarchies())
        columns = _columns_of(raw, reading, found.relation if origin else None, Tolerance.EXACT)
        return Facts(
            title=title,
            is_release=False,
            source=_shown(source) if source else None,
            policy=policy,
            claim=(HOMOGENEOUS if person is None else ENTITIES).claim(policy, counted.k) if counted.k else NO_ROWS,
            entity=person,
            proofs=_proofs_of_table(counted, looked, title, query_or_none(table) is None and not found.is_table),
            rows=counted.rows,
            rows_in=_count(raw, origin.source) if origin else None,
            suppressed=looked.suppressed(),
            classes=counted.classes,
            sizes=looked.sizes(),
            risks=risk(raw, f"from {looked.people}", looked.printed),
            columns=columns,
            private=looked.private(),
            loss=_loss(reading, columns),
            lower_bound=_lower_bound(catalog, source, policy) if source is not None else None,
            unique_with_kept=counted.unique_with_kept,
            kept=counted.kept,
            notes=("No source was named, so the loss is unknown.",) if origin is None else (),
        )


def _loss(reading: Reading, columns: Sequence[Column]) -> float | None:
    """What all columns lost, by their weights."""
    pairs = list(zip(reading.attributes, columns, strict=True))
    losses = [attribute.weight * column.loss for attribute, column in pairs if column.loss is not None]
    return sum(losses) / sum(attribute.weight for attribute, _ in pairs) if losses else None


def _reading(con: Session, asked: str, policy: Policy, rows: int) -> tuple[Reading | None, list[str]]:
    """What was read of the source of a release if it is as it was, as far as can be seen, and what to say if not."""
    try:
        source = resolve(con, asked)
        source.resolve_names(policy.quasi)
    except CatalogError:
        return None, ["The source no longer exists, so nothing about it is shown."]
    if _count(con, source) != rows:
        return None, ["The source has changed since the release was made, so nothing about it is shown."]
    return Catalog.of(con).read(source, policy), []


def _shown(source: str) -> str | None:
    """A source as a reader may see it: a query may hold values, so it is not shown."""
    if query_or_none(source) is not None or source.startswith((FRAME, f"temp.{PREFIX}")):
        return None
    parts = split_name(source)
    return parts[0] if parts and len(parts) == 1 else source


def _count(con: Session, source: Source) -> int:
    ((rows,),) = run(con, f"select count(*) from {source.relation}")
    return int(rows)


def _proofs_of_table(counted: Check, table: Looked, title: str, is_file: bool) -> tuple[Verified, ...]:
    relation = literal(title) if is_file else plain_names([title])
    sql = check_k(relation, table.printed, table.entity)
    proofs = [Verified("k", None, counted.k, counted.asked_k, counted.k is None or counted.k >= counted.asked_k, sql)]
    for model, by_column in counted.reached.items():
        for column, reached in by_column.items():
            asked = counted.required(model, column)
            kept = table.sensitive[column]
            sql_or_none = check_model(relation, title, table.printed, model, kept, table.policy, table.entity)
            proofs.append(Verified(model, column, reached, asked, Asked(model, asked).holds(reached), sql_or_none))
    return tuple(proofs)


def _proofs_of_release(release: Release, proof: Proof, table: Looked, shown: str) -> tuple[Verified, ...]:
    policy, kind, entity = release.policy, release.policy.kind, table.entity
    relation = name(shown) if not shown.isidentifier() else shown
    sql = check_k(relation, table.printed, entity, kind is LINKED) if not kind.reads_source else None
    proofs = [Verified("k", None, proof.k, policy.k, True, sql)]
    for model in dict.fromkeys(("l", "t", *policy.models)):
        for column, reached in proof.models.get(model, {}).items():
            if kind.prints_exact:
                apart = f"{shown}{SENSITIVE}"
                sql = render("steps/report/check_l_apart.sql", relation=apart) if release.name else None
            elif entity is not None and kind is LINKED:
                sql = None  # counted among the people who share a set of rows
            else:
                sql = check_model(relation, shown, table.printed, model, table.sensitive[column], policy, entity)
            is_measured = policy.entity is not None and entity is None and MODELS[model].counts_people
            asked = None if is_measured else policy.required(model, column)
            proofs.append(Verified(model, column, reached, asked, True, sql))
    return tuple(proofs)


def _columns(con: Session, release: Release, reading: Reading | None, gone: int) -> tuple[Column, ...]:
    if reading is None or release.policy.represent != "closure":
        return ()
    tolerance = Tolerance.LACKING if release.policy.may_drop else Tolerance.EXACT
    return _columns_of(con, reading, release.table, tolerance, gone)


def _columns_of(
    con: Session, reading: Reading, table: str | None, tolerance: Tolerance, gone: int = 0
) -> tuple[Column, ...]:
    """What became of each column; the source is encoded once for all of them."""
    least = least_rows(con, reading)
    with keep_steps(con, measured_encoding(reading)) as (held, _):
        return tuple(column_of(con, reading, a, table, tolerance, held, gone, least) for a in reading.attributes)


def _lower_bound(catalog: Catalog, source: str, policy: Policy) -> float | None:
    options = {"quasi": list(policy.quasi), "k": policy.k, "hierarchies": dict(policy.hierarchies) or None}
    given = ", ".join(f"{option} := {literal(value)}" for option, value in options.items() if value is not None)
    found = catalog.run(f"select gcp from {catalog.schema}.lower_bound({literal(source)}, {given})")
    return found[0][0] if found else None


def _curve(reading: Reading | None, con: Session, rows: int, wanted: bool | None) -> Curve:
    """The loss of this table at several k, by a quick search under the same policy; unless wanted for small tables."""
    if reading is None or wanted is False or not reading.policy.kind.has_classes:
        return ()
    policy = reading.policy
    if wanted is None and rows > (MODEL_ROWS if policy.models else CURVE_ROWS):
        return ()
    quick = {"method": "auto", "effort": "fast", "ranges": "text", "represent": "closure"}
    own = {parameter.name for parameter in METHODS[policy.method].parameters}
    own |= {"grid", "refine", "block_size", "polish"}
    options = {option: value for option, value in policy.options().items() if option not in own} | quick
    catalog = Catalog.of(con)
    tried = catalog.read(reading.source, Policy.of(options))
    points = tuple(losses_by_k(catalog, tried, (k for k in {*CURVE, policy.k} if 2 * k <= rows)))
    return points if len(points) > 1 else ()


def _sample(con: Session, table: str) -> tuple[tuple[str, ...], ...]:
    """A few released rows as text, below the names of their columns. They are stored in random order."""
    found = con.execute(f"select columns(*)::varchar from {table} limit {SAMPLE}")
    header = tuple(str(column[0]) for column in found.description or ())
    return (header, *(tuple("NULL" if cell is None else str(cell) for cell in row) for row in found.fetchall()))
