"""Making a release: plan, store, prove, measure, register; in one transaction, or not at all."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.members import remember
from sqlanon.catalog.people import remember_people
from sqlanon.catalog.places import SENSITIVE, Target, refuse_taken
from sqlanon.catalog.releases import register, remove
from sqlanon.engine.frames import catalog_name, readable, registered
from sqlanon.engine.instances import enlist, key_named
from sqlanon.engine.names import snapshot
from sqlanon.engine.session import Session, keep_steps, numeric_faults, temporary, transaction, translate_errors, unwrap
from sqlanon.errors import PolicyError, SqlanonError, not_one_of, option, option_name
from sqlanon.pipeline.digests import DIGEST, PLACE, STATE, Digests, read_columns, with_digest, with_places
from sqlanon.pipeline.encode import Held
from sqlanon.pipeline.plan import Plan, encode, plan
from sqlanon.pipeline.promises import Promise, promise_of
from sqlanon.pipeline.proof import Proof
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import entity_of, prove, warn_of_homogeneous, with_sensitive
from sqlanon.progress import bars
from sqlanon.progress.run import Run
from sqlanon.releases.combinations import Predecessor, check_combinations, predecessor
from sqlanon.releases.explaining import notes_of
from sqlanon.releases.identifiers import refuse_identifiers
from sqlanon.releases.ledger import refuse_people
from sqlanon.releases.measuring import Measured, UnmeasuredError, measure
from sqlanon.releases.release import Release
from sqlanon.releases.remaining import without_left_out
from sqlanon.releases.starting import begun
from sqlanon.releases.storing import store
from sqlanon.releases.texts import use_suggestions, warn_of_text
from sqlanon.sqltext import Cte

log = logging.getLogger("sqlanon")
KINDS = ("table", "view")


def anonymize(
    con: Any,
    source: Any = None,
    quasi: Any = None,
    k: int | None = None,
    *,
    policy: Policy | None = None,
    name: str | None = None,
    kind: str = "table",
    replace: bool = False,
    key: bytes | None = None,
    suggest: bool = False,
    **options: Any,
) -> Release:
    """Anonymize a table, query or frame and return the verified release.

    `source` is a table's name, a SELECT, or a frame: pandas, polars, Arrow, ibis or a DuckDB relation;
    `anonymize(frame, quasi, k)` needs no connection. The policy is given as options (quasi, k, method, sensitive, keep,
    hierarchies and so on, and the method's own parameters) or as a Policy. With a `name` the release is stored, as a
    table or a view, with an entry in `anon.releases`; otherwise it is a temporary table. `key` is for `pseudonymize`.
    `suggest` drafts a hierarchy for each text column that has none, stores it under the column's name and uses it.
    """
    con, source, quasi, k = begun(con, source, quasi, k, name)
    policy = _policy_of(policy, {"quasi": quasi, "k": k, **options})
    if kind not in KINDS:
        raise SqlanonError(not_one_of("kind", kind, KINDS))
    if key is not None and not policy.pseudonymize:
        raise SqlanonError("A key is given, but no column to pseudonymize: pseudonymize = ['patient_id']")
    asked = _Asked(unwrap(con), readable(source), policy, name, kind, replace, key, suggest)
    try:
        return asked.release()
    except UnmeasuredError as fault:
        log.warning("A measure cannot be computed, by a fault of sqlanon's (%s): all measures are NULL", fault)
        return asked.release(is_measured=False)


@dataclass(frozen=True)
class _Asked:
    """What `anonymize` was asked for, to be made in one transaction."""

    con: Session
    source: Any
    policy: Policy
    name: str | None
    kind: str
    replace: bool
    key: bytes | None
    suggest: bool

    def release(self, is_measured: bool = True) -> Release:
        """Make it. Where a measure fails the whole transaction is lost, and it is made again without."""
        raw, source, policy = self.con, self.source, self.policy
        with (
            translate_errors(),
            bars.notebook_bar(),
            Run() as own,
            key_named(raw, bool(policy.pseudonymize), self.key) as token,
            registered(raw) as named,
            transaction(raw),
            ExitStack() as stack,
        ):
            catalog = Catalog.of(raw)
            target = Target.named(catalog, self.name, self.kind, self.replace)
            found = stack.enter_context(_rows(raw, named(source), policy))
            if self.suggest:
                use_suggestions(catalog, found, policy)
            reading = catalog.read(found, policy)
            making = Making(catalog, reading, target, own, token, catalog_name(source), stack, is_measured)
            made = making.make(self.replace)
        return Release(
            con=raw,
            name=self.name,
            source=catalog_name(source),
            table=target.shown,
            printed=made.planned.printed,
            policy=policy,
            proof=made.proof,
            measured=made.measured,
            learned=own.findings,
            sql=made.sql,
            losses=made.losses,
            notes=notes_of(making.reading),
            frame=None if isinstance(source, str) else source,
        )


def store_release(
    con: Any, release: Release, name: str, *, source: Any = None, policy: Policy | None = None, replace: bool = False
) -> Release:
    """Store the very rows of a release that was made before, here or in another database, as a table.

    They are verified and measured again against the `source`, by default the release's own. `policy` is given where the
    hierarchies have other names in this database. A view that can be refreshed must know who is in it, and is made by
    `anonymize(..., kind="view")`.
    """
    policy, raw = policy or release.policy, unwrap(con)
    source = readable(release.source if source is None else source)
    if policy.kind.prints_exact:
        raise PolicyError(f"A release by {policy.method} is stored when it is made: anonymize(..., name='{name}')")
    frame = release.relation().to_arrow_table()
    with (
        translate_errors(),
        Run() as own,
        key_named(raw, bool(policy.pseudonymize), None) as token,
        registered(raw) as named,
        transaction(raw),
        ExitStack() as stack,
    ):
        own.findings.update(release.learned)
        catalog = Catalog.of(raw)
        target = Target.named(catalog, name, "table", replace)
        found = stack.enter_context(_rows(raw, named(source), policy))
        reading, is_measured = catalog.read(found, policy), bool(release.measured)
        making = Making(catalog, reading, target, own, token, catalog_name(source), stack, is_measured)
        made = making.keep(named(frame), release, replace)
    return dataclasses.replace(
        release,
        con=raw,
        name=name,
        source=catalog_name(source),
        table=target.shown,
        policy=policy,
        proof=made.proof,
        measured=made.measured,
        losses=made.losses,
    )


def _policy_of(policy: Policy | None, options: dict[str, Any]) -> Policy:
    given = {option: value for option, value in options.items() if value is not None}
    if policy is None:
        return Policy.of(given)
    if given:
        raise SqlanonError(f"Give a policy or its options, not both ({', '.join(given)})")
    return policy


@contextmanager
def _rows(con: Session, asked: str, policy: Policy) -> Iterator[Source]:
    """The source, with its population if k counts its people, as something that reads the same twice."""
    with snapshot(con, asked) as found:
        refuse_identifiers(con, found, policy)
        if policy.population is None:
            yield found
        else:
            with snapshot(con, policy.population) as people:
                yield found.with_population(people, policy.quasi)


@dataclass(frozen=True)
class Made:
    """What became of it: the plan, the statements that ran, the proof and the measures."""

    planned: Plan
    sql: str
    proof: Proof
    measured: dict[str, float]
    losses: dict[str, float]


@dataclass(frozen=True)
class Making:
    """One release in the making: what is read, where it goes, and the run that it belongs to."""

    catalog: Catalog
    reading: Reading
    target: Target
    run: Run
    key: str | None
    source: str
    """The source as the catalog remembers it."""
    stack: ExitStack
    is_measured: bool = True
    first: Making | None = None
    """The same with the rows that were left out, where some were: what is released then knows nothing of them."""
    statements: list[str] = field(default_factory=list)
    """What ran so far, before the query itself."""
    digests: Digests | None = field(init=False)

    def __post_init__(self) -> None:
        is_recognized = self.target.members(self.policy) is not None
        digests = None
        if is_recognized:
            ((zone,),) = self.catalog.run("select current_setting('TimeZone')")
            digests = Digests.new(self.reading.source, self.policy, zone)
        elif self.policy.row_weight or self.policy.failed == "blank":
            asked = option_name("row_weight") if self.policy.row_weight else option("failed", "blank")
            raise PolicyError(f"{asked} is for views that can be refreshed")
        object.__setattr__(self, "digests", digests)

    @property
    def policy(self) -> Policy:
        """What the release is asked to be."""
        return self.reading.policy

    @property
    def asked(self) -> Policy:
        """What was asked, with the rows that were left out."""
        return (self.first or self).reading.policy

    def make(self, replace: bool) -> Made:
        """Plan, store, prove, measure, register."""
        if self.digests is not None:
            refuse_people(self.catalog.con, self._recognized.source, self.policy)
        held = self._keep_steps(encode(self._recognized, self.key))
        planned = self._plan(held)
        planned = planned.kept_in(self._keep_steps(planned.before_rows))
        if self.policy.max_suppression is not None:
            rows = self._keep("drawn", planned.sql)
            if (rest := self._without_left_out(rows)) is not None:
                return rest.make(replace)
            columns = tuple(column for column in planned.columns if column != PLACE)
            drawn = f"select * exclude ({PLACE}) from {rows}"
            planned = dataclasses.replace(planned, steps=(), body=drawn, columns=columns)
        before = predecessor(self.catalog, self.target.name, self.stack)
        self._make_room(replace)
        proof = store(self.catalog, planned, self.target, self._columns(planned), self.key)
        return self._finish(planned, proof, held, before)

    def keep(self, rows: str, release: Release, replace: bool) -> Made:
        """Store, prove, measure and register rows that were made before."""
        held = self._keep_steps(encode(self._recognized, self.key))
        planned = self._plan(held)
        before = predecessor(self.catalog, self.target.name, self.stack)
        self._make_room(replace)
        self.catalog.run(f"create table {self.target.storage} as from {rows}")
        proof = release.proof if planned.hidden else None  # its people were counted when it was made
        return self._finish(planned, proof, held, before)

    def _finish(self, planned: Plan, proof: Proof | None, held: Held, before: Predecessor | None) -> Made:
        """Prove and measure what is stored, compare it with other releases, and register it."""
        if self.run.findings.get("trivial"):
            log.warning("%s cannot reach this l with several groups, so all rows are in one group", self.policy.method)
        proof = self._prove(planned, proof, held)
        measured, losses = self._measured(proof, held) if self.is_measured else Measured({}, {})
        self._check_combinations(held, before)
        self._register(planned, proof, measured)
        return Made(planned, ";\n\n".join([*self.statements, planned.sql]), proof, measured, losses)

    def _measured(self, proof: Proof, held: Held) -> Measured:
        """What was lost, by the range of what is released: that of rows which were left out would tell their values."""
        tolerance = Tolerance.LACKING if self.policy.may_drop else Tolerance.EXACT
        where, findings = (self.target.storage, self.target.name), self.run.findings
        with numeric_faults(UnmeasuredError), ExitStack() as stack:
            if self.first is not None:
                return measure(self.catalog, self.reading, *where, findings, tolerance, held, proof.left_out or 0)
            if not proof.left_out:
                return measure(self.catalog, self.reading, *where, findings, tolerance, held)
            asked = (self.catalog, self.reading.source, self.target.storage, self.policy, proof)
            rest = stack.enter_context(without_left_out(*asked))
            reading = self.catalog.read(rest.source, self.policy)
            return measure(self.catalog, reading, *where, findings, tolerance, None, rest.gone)

    def _without_left_out(self, rows: str) -> Making | None:
        """The same release of the rows that are not left out, if some are: labels, groups and losses would tell their
        values, as they depend on the whole domain. All rows that were suppressed were left out then, and none is now.
        """
        source = self.reading.source
        kept = f"{PLACE} in (select {PLACE} from {rows})"
        sql = f"select * exclude ({PLACE}) from {with_places(self.reading).source.relation} where {kept}"
        rest = replace(source, relation=self._keep("rest", sql))
        if self._count(rest) == self._count(source):
            return None
        policy = replace(self.policy, max_suppression=None)
        reading = self.catalog.read(replace(rest, is_table=True), policy)
        return replace(self, reading=reading, first=self)

    def _count(self, source: Source) -> int:
        ((rows,),) = self.catalog.run(f"select count(*) from {source.relation}")
        return int(rows)

    @property
    def _recognized(self) -> Reading:
        """What is read, with the digest of each person where a view is to know them again, and with places where rows
        may be left out."""
        reading = self.reading
        if self.digests is not None:
            source = self.digests.of(reading.source, self.policy, self.key)
            reading = replace(reading, policy=with_digest(self.policy), source=source)
        return reading if self.policy.max_suppression is None else with_places(reading)

    def _keep_steps(self, steps: Sequence[Cte]) -> Held:
        """Keep the rows of steps: the source as tuples of ranks is read by what makes, proves and measures the release,
        and each statement has few joins to plan."""
        held, statements = self.stack.enter_context(keep_steps(self.catalog.con, steps))
        self.statements.extend(statements)
        return held

    def _keep(self, what: str, sql: str) -> str:
        """Keep the rows of a query."""
        place = self.stack.enter_context(temporary(self.catalog.con, what, sql))
        self.statements.append(f"create temporary table {place} as {sql}")
        return place

    def _plan(self, held: Held) -> Plan:
        run_id = enlist(self.catalog.con, self.run)
        return plan(self._recognized, run_id, self.key, held=held, with_hidden=True)

    def _columns(self, planned: Plan) -> tuple[str, ...]:
        """The columns that are released."""
        return tuple(column for column in planned.columns if column not in (DIGEST, STATE, PLACE))

    def _make_room(self, replace: bool) -> None:
        """Drop the release to replace, or what the catalog remembers of one that was dropped otherwise."""
        if self.target.name is None:
            return
        remove(self.catalog, self.target.name)
        if self.target.sensitive(self.policy):
            refuse_taken(self.catalog, self.target.schema, f"{self.target.table}{SENSITIVE}", replace)

    def _prove(self, planned: Plan, proof: Proof | None, held: Held) -> Proof:
        """What holds of the stored rows, and what was counted of the source on the way."""
        promise = promise_of(self.reading, entity=entity_of(self._columns(planned), self.policy), held=held)
        storage = self.target.storage
        if proof is None:
            released = with_sensitive(storage, self.target.sensitive(self.policy), self.policy)
            proof = prove(self.catalog, released, promise, self.policy)
        if self.policy.population is not None:
            proof = replace(proof, outside_population=self._outside(held))
        if self.asked.may_drop:
            proof = replace(proof, left_out=self._count((self.first or self).reading.source) - proof.rows)
        self._warn(promise, proof)
        warn_of_text(self.catalog, self.reading, self.source, self.target.storage)
        return proof

    def _warn(self, promise: Promise, proof: Proof) -> None:
        if promise.reached is not None and self.policy.unprotected:
            sensitive = self.reading.source.resolve_names(self.policy.unprotected)
            warn_of_homogeneous(self.catalog, self.target.name, self.target.storage, promise, sensitive, proof)

    def _outside(self, held: Held) -> int:
        """How many rows of the source the population has no people for."""
        ((rows,),) = self.catalog.run(f"select coalesce(sum(outside), 0) from {held['encoded']}")
        if rows:
            log.warning(
                "%s of the source's rows are not in the population; they are counted as people of it", f"{rows:,}"
            )
        return int(rows)

    def _check_combinations(self, held: Held, before: Predecessor | None) -> None:
        if self.target.name is not None or self.policy.strict:
            name, storage = self.target.name, self.target.storage
            check_combinations(self.catalog, name, storage, self.source, self.reading, held, before)

    def _register(self, planned: Plan, proof: Proof, measured: dict[str, float]) -> None:
        if self.target.name is None:
            return
        columns = self._columns(planned)
        register(
            self.catalog,
            self.target,
            replace(self.reading, policy=self.asked),
            planned.printed,
            columns,
            self.source,
            proof,
            measured,
            self.run.findings,
        )
        remember_people(self.catalog, self.target.name, self.reading.source, read_columns(self.policy))
        if self.digests is not None:
            everybody = (self.first or self).reading.source  # who was left out is not looked at again
            people = self.digests.of(everybody, self.policy, self.key).relation
            where = (self.target.storage, planned.printed, people)
            remember(self.catalog, self.target.name, self.digests, self.key, *where)
