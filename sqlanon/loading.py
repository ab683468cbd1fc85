"""sqlanon.load(con): the functions, the schema `anon` with its tables and macros, and their versions."""

from __future__ import annotations

import json
import threading
from typing import Any

import duckdb

from sqlanon import engine
from sqlanon.attributes import attributes_of, with_ctes
from sqlanon.auditing import audit
from sqlanon.catalog import anon_schema, current_database, unwrap
from sqlanon.detection import detect
from sqlanon.errors import CatalogError, PolicyError
from sqlanon.hierarchy import hierarchies
from sqlanon.measure import PARTS, measurement, measures_sql
from sqlanon.models import macro_fragments, sensitive_of
from sqlanon.planner import Plan, plan, plan_bound
from sqlanon.policy import DEFAULT_METHOD, OPTIONS, PARAMETERS, Policy
from sqlanon.promises import mapped_rows
from sqlanon.pseudonyms import set_instance_key, token_of
from sqlanon.sources import resolve
from sqlanon.sqltext import literal, name, render
from sqlanon.staleness import status, status_sql
from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS
from sqlanon.version import SCHEMA_VERSION, __version__

UNSEEN = (
    " (anon.anonymize sees committed tables only, no temporary ones and none made in the running transaction: "
    "commit first, or call sqlanon.anonymize(con, ...) from Python)"
)

MACROS = (
    "checks/quoted_list.sql",
    "checks/quoted_text.sql",
    "checks/numbered_list.sql",
    "checks/size_text.sql",
    "checks/class_query.sql",
    "checks/model_query.sql",
    "checks/k_anonymity.sql",
    "checks/l_diversity.sql",
    "checks/distinct_l_diversity.sql",
    "checks/entropy_l_diversity.sql",
    "checks/recursive_l_diversity.sql",
    "checks/alpha.sql",
    "checks/t_closeness.sql",
    "checks/basic_beta_likeness.sql",
    "checks/enhanced_beta_likeness.sql",
    "checks/delta_disclosure.sql",
    "checks/k_map.sql",
    "checks/equivalence_classes.sql",
    "checks/violations.sql",
    "checks/model_violations.sql",
    "risk/risk_query.sql",
    "risk/risk.sql",
    "risk/detect.sql",
    "risk/audit.sql",
    "refresh/status.sql",
    "hierarchy/hierarchy_gaps.sql",
    "hierarchy/hierarchy_tree.sql",
    "pipeline/methods.sql",
    "pipeline/anonymize.sql",
    "metrics/utility.sql",
    "metrics/measure.sql",
    "metrics/lower_bound.sql",
    "metrics/ncp.sql",
    "metrics/gcp.sql",
    "metrics/lm.sql",
    "metrics/am.sql",
    "metrics/dm.sql",
    "metrics/suppressed.sql",
    "metrics/average_class_size.sql",
    "metrics/mi_loss.sql",
    "metrics/mi_utility.sql",
    "metrics/precision.sql",
    "metrics/distortion.sql",
    "metrics/distortion_ratio.sql",
    "metrics/modification_rate.sql",
    "metrics/kl_divergence.sql",
    "metrics/information_distortion.sql",
    "metrics/pmi_loss.sql",
    "metrics/pmi_loss_relative.sql",
    "metrics/pmi_utility.sql",
    "metrics/pmi_utility_l2.sql",
    "metrics/pmi_utility_max.sql",
    "metrics/pmi_loss_l2.sql",
    "metrics/pmi_loss_max.sql",
    "metrics/cm.sql",
    "metrics/mean_entropy_diversity.sql",
    "metrics/minimum_entropy_diversity.sql",
    "metrics/frequency_diversity.sql",
    "metrics/wmi_utility.sql",
)
"""The macros' files in an order in which each finds what it uses."""

MEASURED_BY = (
    Parameter("beta", 0.0, "how much more steps near the top of a hierarchy cost in the distortion"),
    Parameter("mi_weight", 0.5, "the share of MI in wmi_utility", high=1.0),
)
"""What anon.measure takes beside the options of a policy."""

UPGRADES: dict[int, str] = {
    2: ";".join(
        f"alter table if exists anon.releases add column if not exists {column}"
        for column in ("version integer", "refreshed_at timestamp", "held_new bigint", "held_deleted bigint")
    )
}
"""From a schema version to the SQL that makes it the next one, where new tables and macros alone do not."""


_loading = threading.Lock()
"""One thread at a time: two that load into one database would make the same functions and tables."""


def load(con: Any) -> None:
    """Load sqlanon into an open DuckDB connection's current database.

    Registers the functions and creates the schema `anon`: check, metric and hierarchy macros, and the catalog tables.
    Loading again changes nothing; an older schema is upgraded, a newer one refused. From then on
    `FROM anon.anonymize('patients', quasi := ['age', 'zip'], k := 5)` works on this connection and its cursors.
    """
    raw = unwrap(con)
    with _loading, engine.our_errors():
        _load(raw)


def _load(raw: duckdb.DuckDBPyConnection) -> None:
    engine.attach(raw, PLANNERS)
    database = current_database(raw)
    found = _version(raw, database)
    if found == (SCHEMA_VERSION, __version__):
        return
    if found and found[0] > SCHEMA_VERSION:
        raise CatalogError(
            f"Database '{database}' was written by a newer sqlanon ({found[1]}, schema {found[0]}); "
            f"this is {__version__}, schema {SCHEMA_VERSION}: upgrade it with pip install -U sqlanon"
        )
    if _is_readonly(raw, database):
        raise CatalogError(
            f"Database '{database}' is read-only and has no sqlanon {__version__} in it: open it for writing, "
            f"or attach it to an in-memory database and load sqlanon there"
        )
    with engine.transaction(raw):
        for version in range(found[0] if found else SCHEMA_VERSION, SCHEMA_VERSION):
            if version in UPGRADES:
                engine.run(raw, UPGRADES[version])
        for sql in schema_sql():
            engine.run(raw, sql)
        engine.run(raw, "delete from anon.version")
        engine.run(raw, "insert into anon.version values ($1, $2)", [SCHEMA_VERSION, __version__])


def set_key(con: Any, key: bytes | None) -> None:
    """Give the connection's database the key for `pseudonymize`, in this process's memory only; None takes it away."""
    set_instance_key(engine.instance_of(unwrap(con)), key)


def schema_sql() -> list[str]:
    """The statements that make the tables and macros."""
    options = {"quasi": "null", "k": "5", "method": literal(DEFAULT_METHOD)}
    rest = (option for option in (*OPTIONS, *PARAMETERS) if option not in options)
    options |= dict.fromkeys(rest, "null")
    fragments = {
        "parameters": ", ".join(f"{option} := {default}" for option, default in options.items()),
        "request": ", ".join(f"{option}: {option}" for option in ("source", *options)),
        "methods": ", ".join(_method_row(method) for method in METHODS),
        **macro_fragments(),
        "measures": measures_sql(
            {part: f"(select * from anon.release_{part} as l where lower(l.release) = lower(r))" for part in PARTS},
            k="(select coalesce(any_value(made.k), error('There is no stored release ''' || r || ''': make it with "
            "CREATE ANONYMIZED TABLE or VIEW, or measure any table with FROM anon.measure(...)')) "
            "from anon.releases as made where lower(made.name) = lower(r))",
            beta="beta",
            mi_weight="mi_weight",
        ),
    }
    tables = [render("catalog/tables.sql"), render("catalog/comparisons.sql")]
    return [*tables, *(render(file, **fragments) for file in MACROS)]


def plan_release(con: duckdb.DuckDBPyConnection, source: str, policy: Policy, hint: str = "") -> Plan:
    """The plan for a source under a policy, with what the connection's catalog knows of both."""
    anon = anon_schema(con)
    found = resolve(con, source, hint)
    if policy.population is not None:
        found = found.among(resolve(con, policy.population, hint), policy.quasi)
    key = token_of(engine.instance_of(con)) if policy.pseudonymize else None
    known = hierarchies(con, anon)
    sensitive = sensitive_of(found, policy, known, anon)
    return plan(found, policy, attributes_of(found, policy, known, anon), sensitive, key=key)


def _plan_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    options = json.loads(request)
    source, policy = options.pop("source"), Policy.of(options)
    if policy.strict:
        raise PolicyError("strict is for stored releases: CREATE ANONYMIZED TABLE, or sqlanon.anonymize(con, ...)")
    return plan_release(con, source, policy, UNSEEN).sql


def _measure_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    options = json.loads(request)
    table, source = options.pop("t"), options.pop("source")
    beta, mi_weight = (literal(measure.check(options.pop(measure.name))) for measure in MEASURED_BY)
    if source is None:
        raise PolicyError("source is missing: name the table that was anonymized, source := 'patients'")
    policy = Policy.of(options)
    planned = plan_release(con, source, policy, UNSEEN)
    printed = resolve(con, table, UNSEEN)
    printed.spelt(planned.printed)
    sensitive = planned.source.spelt(policy.sensitive)
    printed.spelt(sensitive)
    ctes = measurement(planned.source, planned.attributes, printed.relation, sensitive)
    measures = measures_sql({part: part for part in PARTS}, str(policy.k), beta, mi_weight)
    return with_ctes(ctes, f"from (\n{measures}\n)")


def _k_map_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    options = json.loads(request)
    table, source = options.pop("t"), options.pop("source")
    policy = Policy.of(options)
    if policy.population is None:
        raise PolicyError("population is missing: name a table of everybody who might be in the release")
    people = resolve(con, policy.population, UNSEEN)
    found = (people if source is None else resolve(con, source, UNSEEN)).among(people, policy.quasi)
    anon = anon_schema(con)
    attributes = attributes_of(found, policy, hierarchies(con, anon), anon)
    promise = mapped_rows(attributes, found, is_encoded=False)
    printed = resolve(con, table, UNSEEN)
    printed.spelt(promise.printed)
    return promise.proof(printed.relation)


def _bound_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    options = json.loads(request)
    source, policy = options.pop("source"), Policy.of(options)
    anon = anon_schema(con)
    found = resolve(con, source, UNSEEN)
    return plan_bound(found, policy, attributes_of(found, policy, hierarchies(con, anon), anon))


def _detect_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    options = json.loads(request)
    return detect(con, options.pop("t"), hint=UNSEEN, **options).sql()


def _status_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    return status_sql(status(con, json.loads(request)["release"]))


def _audit_sql(con: duckdb.DuckDBPyConnection, request: str) -> str:
    return audit(con, json.loads(request)["t"], hint=UNSEEN).sql()


PLANNERS: dict[str, engine.Planner] = {
    "sqlanon_plan": _plan_sql,
    "sqlanon_measure": _measure_sql,
    "sqlanon_lower_bound": _bound_sql,
    "sqlanon_k_map": _k_map_sql,
    "sqlanon_detect": _detect_sql,
    "sqlanon_status": _status_sql,
    "sqlanon_audit": _audit_sql,
}


def _method_row(method: str) -> str:
    of = METHODS[method]
    parameters = ", ".join(f"{p.name} := {literal(p.default)} ({p.range}): {p.help}" for p in of.parameters)
    return "(" + ", ".join(map(literal, (of.name, parameters, of.cost, of.use, of.paper))) + ")"


def _version(con: duckdb.DuckDBPyConnection, database: str) -> tuple[int, str] | None:
    """The version of the schema `anon`; None where there is none yet; an error where it is somebody else's."""
    objects = {
        row[0]
        for row in engine.run(
            con,
            "select table_name from duckdb_tables() where database_name = $1 and schema_name = 'anon' "
            "union all select view_name from duckdb_views() where database_name = $1 and schema_name = 'anon'",
            [database],
        )
    }
    if "version" in objects and "hierarchy_nodes" in objects:
        rows = engine.run(con, f"select schema_version, sqlanon from {name(database)}.anon.version")
        return (rows[0][0], rows[0][1]) if rows else (0, "unknown")
    if objects:
        raise CatalogError(
            f"Schema 'anon' of database '{database}' has tables that are not sqlanon's ({', '.join(sorted(objects))}): "
            f"rename that schema or load sqlanon into another database"
        )
    return None


def _is_readonly(con: duckdb.DuckDBPyConnection, database: str) -> bool:
    rows = engine.run(con, "select readonly from duckdb_databases() where database_name = $1", [database])
    return bool(rows and rows[0][0])
