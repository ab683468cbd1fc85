"""Making a release: plan, store, prove, measure, register; in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb

from sqlanon.catalog.catalog import anon_schema
from sqlanon.catalog.hierarchies import hierarchies
from sqlanon.catalog.members import remember
from sqlanon.catalog.places import SENSITIVE, Target, database_of, refuse_taken
from sqlanon.catalog.releases import register, remove
from sqlanon.engine.frames import label, naming, readable
from sqlanon.engine.functions import await_report, take_report
from sqlanon.engine.instances import key_named
from sqlanon.engine.names import steady
from sqlanon.engine.session import our_errors, run, transaction, unwrap
from sqlanon.errors import SqlanonError, not_one_of
from sqlanon.pipeline.attribute import attributes_of
from sqlanon.pipeline.digests import Digests, recognizing
from sqlanon.pipeline.encode import encoding_ctes
from sqlanon.pipeline.models import sensitive_of
from sqlanon.pipeline.plan import Plan, plan
from sqlanon.pipeline.promises import promise_of
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy.proof import entity_of, prove, warn_of_homogeneous, whole
from sqlanon.progress import bars
from sqlanon.progress.run import watch_interrupts
from sqlanon.releases.combinations import check_combinations
from sqlanon.releases.measuring import measure
from sqlanon.releases.release import Release, log
from sqlanon.releases.storing import store
from sqlanon.sqltext import with_ctes

KINDS = ("view", "table")


def anonymize(
    con: Any,
    source: Any,
    quasi: Any = None,
    k: int | None = None,
    *,
    policy: Policy | None = None,
    name: str | None = None,
    kind: str = "table",
    replace: bool = False,
    key: bytes | None = None,
    **options: Any,
) -> Release:
    """Anonymize a table, query or frame and return the verified release.

    `source` is a table's name, a SELECT, or a frame: pandas, polars, Arrow, ibis or a DuckDB relation. The policy is
    given as options (quasi, k, method, sensitive, keep, hierarchies, weights, ranges, seed and the method's own
    parameters) or as a Policy. With a `name` the release is stored in the database, as a table or as a view over a
    stored table, with an entry in `anon.releases`; without one it lives in a temporary table of this connection.
    `key` is for `pseudonymize`; without one it is that of `sqlanon.set_key` or of the environment.
    """
    given = {option: value for option, value in {"quasi": quasi, "k": k, **options}.items() if value is not None}
    if policy is None:
        policy = Policy.of(given)
    elif given:
        raise SqlanonError(f"Give a policy or its options, not both ({', '.join(given)})")
    if kind not in KINDS:
        raise SqlanonError(not_one_of("kind", kind, KINDS))
    raw, source = unwrap(con), readable(source)
    watch_interrupts()
    if key is not None and not policy.pseudonymize:
        raise SqlanonError("There is a key but nothing to pseudonymize: pseudonymize = ['patient_id']")
    with (
        our_errors(),
        bars.notebook_bar(),
        key_named(raw, bool(policy.pseudonymize), key) as token_of_key,
        naming(raw) as named,
        transaction(raw),
    ):
        anon = anon_schema(raw)
        target = Target.named(raw, anon, name, kind, replace)
        with steady(raw, named(source)) as found, _people(raw, policy) as population:
            if population is not None:
                found = found.among(population, policy.quasi)
            token = await_report()
            known = hierarchies(raw, anon)
            attributes = attributes_of(found, policy, known, anon)
            sensitive = sensitive_of(found, policy, known, anon)
            planned = plan(found, policy, attributes, sensitive, token, token_of_key)
            recognized = None
            if target.members(policy) is not None:
                digests = Digests.new(found, policy)
                known_people = digests.of(found, policy, token_of_key)
                recognized = plan(known_people, recognizing(policy), attributes, sensitive, token, token_of_key)
            if target.name is not None:
                remove(raw, anon, target.name)  # the one to replace, or what the catalog remembers of a dropped one
                if target.sensitive(policy):
                    refuse_taken(raw, database_of(anon), target.schema, f"{target.table}{SENSITIVE}", replace)
            proof = store(raw, planned, target, recognized)
            learned = take_report(token)
            if learned.get("trivial"):
                log.warning("l is more than %s can keep in several groups: all rows are in one", policy.method)
            promise = promise_of(policy, planned.attributes, found, entity=entity_of(planned.columns, policy))
            proof = proof or prove(raw, whole(target.storage, target.sensitive(policy), policy), promise, policy)
            if population is not None:
                proof["outside_population"] = _outside(raw, planned)
            if policy.max_suppression is not None:
                ((rows,),) = run(raw, f"select count(*) from {found.relation}")
                proof["left_out"] = rows - proof["rows"]
            if promise.reached is not None and not policy.models:
                spelt = planned.source.spelt(policy.sensitive)
                warn_of_homogeneous(raw, target.name, target.storage, promise, spelt, proof)
            measured = measure(raw, found, policy, attributes, target.storage, target.name, anon, learned)
            if target.name is not None or policy.strict:
                people = f"from {found.relation}"
                check_combinations(raw, target.name, target.storage, label(source), people, policy)
        if target.name is not None:
            register(raw, anon, target, planned, label(source), proof, measured, learned)
            if target.members(policy) is not None:
                remember(raw, anon, target.name, digests, token_of_key)
    frame = None if isinstance(source, str) else source
    return Release(
        raw,
        name,
        label(source),
        target.shown,
        planned.printed,
        policy,
        proof,
        measured,
        learned,
        planned.sql,
        frame,
    )


@contextmanager
def _people(con: duckdb.DuckDBPyConnection, policy: Policy) -> Iterator[Source | None]:
    """The population, if k counts its people, as something that reads the same twice."""
    if policy.population is None:
        yield None
        return
    with steady(con, policy.population) as people:
        yield people


def _outside(con: duckdb.DuckDBPyConnection, planned: Plan) -> int:
    """How many rows of the source the population has no people for."""
    ctes = encoding_ctes(planned.source, planned.attributes)
    ((rows,),) = run(con, with_ctes(ctes, "select coalesce(sum(outside), 0) from tuples"))
    if rows:
        log.warning("The population lacks %s of the source's rows: they count as people of it, too", f"{rows:,}")
    return int(rows)
