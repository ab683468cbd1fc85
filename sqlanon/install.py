"""sqlanon.load(con): the functions, the schema `anon` with its tables and macros, and their versions."""

from __future__ import annotations

import json
import threading
from typing import Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.schema import make_schema
from sqlanon.catalog.suggestions import suggest_hierarchy, suggestion_sql
from sqlanon.disclosure.detect import detect
from sqlanon.engine import instances, session
from sqlanon.engine.names import refuse_unreadable, resolve
from sqlanon.engine.session import Session, current_database, unwrap
from sqlanon.errors import PolicyError
from sqlanon.keys import set_instance_key, token_of
from sqlanon.pipeline.bound import plan_bound
from sqlanon.pipeline.measures import PARTS, described, measurement, measures_sql
from sqlanon.pipeline.metrics import MEASURED_BY
from sqlanon.pipeline.promises import mapped_rows, promise_of
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.twice import release_sql
from sqlanon.policy.policy import Policy
from sqlanon.progress.run import Run
from sqlanon.releases.combinations import audit
from sqlanon.releases.differing import diff
from sqlanon.releases.identifiers import refuse_identifiers
from sqlanon.releases.release import open_release
from sqlanon.releases.status import status, status_sql
from sqlanon.releases.texts import warn_of_text
from sqlanon.sqltext import literal, with_ctes

UNSEEN = (
    " (anon.anonymize sees only committed tables, no temporary tables and none made in the running transaction: "
    "commit first, or call sqlanon.anonymize(con, ...) from Python)"
)
_loading = threading.Lock()
"""One thread at a time: two that load into one database would make the same functions and tables."""


def load(con: Any) -> None:
    """Load sqlanon into an open DuckDB connection's current database.

    Registers the functions and creates the schema `anon`: check, metric and hierarchy macros, and the catalog tables.
    Loading again changes nothing; an older schema is upgraded, a newer one refused. From then on
    `FROM anon.anonymize('patients', quasi := ['age', 'zip'], k := 5)` works on this connection and its cursors.
    """
    raw = unwrap(con)
    with _loading, session.translate_errors():
        instances.attach(raw, PLANNERS)
        make_schema(raw, current_database(raw))


def set_key(con: Any, key: bytes | None) -> None:
    """Give the connection's database the key for `pseudonymize`, in this process's memory only; None takes it away."""
    set_instance_key(instances.instance_of(unwrap(con)).key, key)


def _read(con: Session, source: str, policy: Policy) -> Reading:
    """What a policy reads. The query that is planned runs on DuckDB's own connection, whose errors show values: a value
    that fails is found before, and reported without it."""
    reading = Catalog.of(con).read(source, policy, UNSEEN)
    entity = () if policy.entity is None else (policy.entity,)
    asked = (*policy.quasi, *policy.sensitive, *policy.keep, *policy.pseudonymize, *entity)
    refuse_unreadable(con, reading.source, reading.source.resolve_names(asked))
    if reading.source.population is not None:
        refuse_unreadable(con, reading.source.population, reading.source.population.resolve_names(policy.quasi))
    return reading


def plan_release(con: Session, source: str, policy: Policy) -> str:
    """The query for a source under a policy, with what the connection's catalog knows of both."""
    reading = _read(con, source, policy)
    refuse_identifiers(con, reading.source, policy)
    warn_of_text(Catalog.of(con), reading, source)
    key = token_of(instances.instance_of(con).key) if policy.pseudonymize else None
    return release_sql(reading, instances.enlist(con, Run.active()), key)


def _plan_sql(con: Session, request: str) -> str:
    options = json.loads(request)
    source, policy = options.pop("source"), Policy.of(options)
    if policy.strict:
        raise PolicyError("strict is for stored releases: CREATE ANONYMIZED TABLE, or sqlanon.anonymize(con, ...)")
    if policy.pseudonyms == "class":
        raise PolicyError("pseudonyms = 'class' is for stored releases: CREATE ANONYMIZED TABLE, or sqlanon.anonymize")
    return plan_release(con, source, policy)


def _measure_sql(con: Session, request: str) -> str:
    options = json.loads(request)
    table, source = options.pop("t"), options.pop("source")
    beta, mi_weight = (literal(measure.check(options.pop(measure.name))) for measure in MEASURED_BY)
    if source is None:
        raise PolicyError("source is missing: name the table that was anonymized, source := 'patients'")
    reading = _read(con, source, Policy.of(options))
    printed = resolve(con, table, UNSEEN)
    printed.resolve_names(promise_of(reading).printed)
    sensitive = reading.source.resolve_names(reading.policy.sensitive)
    printed.resolve_names(sensitive)
    ctes = measurement(reading, printed.relation, sensitive)
    measures = measures_sql({part: part for part in PARTS}, str(reading.policy.k), beta, mi_weight, bool(sensitive))
    return with_ctes(ctes, f"from (\n{described(measures)}\n)")


def _k_map_sql(con: Session, request: str) -> str:
    options = json.loads(request)
    table, source = options.pop("t"), options.pop("source")
    policy = Policy.of(options)
    if policy.population is None:
        raise PolicyError("population is missing: name a table of everybody who might be in the release")
    promise = mapped_rows(_read(con, policy.population if source is None else source, policy))
    printed = resolve(con, table, UNSEEN)
    printed.resolve_names(promise.printed)
    return promise.proof(printed.relation)


def _bound_sql(con: Session, request: str) -> str:
    options = json.loads(request)
    source, policy = options.pop("source"), Policy.of(options)
    return plan_bound(_read(con, source, policy), instances.enlist(con, Run.active()))


def _detect_sql(con: Session, request: str) -> str:
    options = json.loads(request)
    return detect(con, options.pop("t"), hint=UNSEEN, **options).sql()


def _suggest_sql(con: Session, request: str) -> str:
    return suggestion_sql(suggest_hierarchy(con, json.loads(request)["t"], hint=UNSEEN))


def _status_sql(con: Session, request: str) -> str:
    return status_sql(status(con, json.loads(request)["release"]))


def _explain_sql(con: Session, request: str) -> str:
    return open_release(con, json.loads(request)["release"]).explain().sql()


def _diff_sql(con: Session, request: str) -> str:
    given = json.loads(request)
    return diff(con, open_release(con, given["first"]), open_release(con, given["second"])).sql()


def _audit_sql(con: Session, request: str) -> str:
    return audit(con, json.loads(request)["t"], hint=UNSEEN).sql()


PLANNERS: dict[str, instances.Planner] = {
    "sqlanon_plan": _plan_sql,
    "sqlanon_measure": _measure_sql,
    "sqlanon_lower_bound": _bound_sql,
    "sqlanon_k_map": _k_map_sql,
    "sqlanon_detect": _detect_sql,
    "sqlanon_suggest": _suggest_sql,
    "sqlanon_status": _status_sql,
    "sqlanon_audit": _audit_sql,
    "sqlanon_explain": _explain_sql,
    "sqlanon_diff": _diff_sql,
}
