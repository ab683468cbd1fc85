"""The statements that make schema `anon`: its tables, and its macros with what is filled into them."""

from __future__ import annotations

from sqlanon.pipeline.measures import PARTS, measures_sql
from sqlanon.pipeline.models import model_sql
from sqlanon.policy.options import DEFAULT_METHOD, PARAMETERS
from sqlanon.policy.policy import OPTIONS
from sqlanon.sqltext import literal, render
from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import DISTANCES, MODELS

HOLE = "\x00"
"""Stands around what a macro's text has for its parameters."""


def macro_fragments() -> dict[str, str]:
    """What the files of sql/checks have placeholders for."""
    return {
        "cases": _cases(),
        "distances": ", ".join(DISTANCES),
        "models": ", ".join(MODELS),
        "floors": ", ".join(literal(model) for model in MODELS if MODELS[model].is_floor),
    }


def _cases() -> str:
    """The branches of a CASE over model and distance, each the text of its query; see sql/checks/model_query.sql."""
    fields = ("t", "named", "classes", "sensitive", "c", "hierarchy_name")
    hole = {field: f"{HOLE}{field}{HOLE}" for field in fields}
    stored = {
        "attribute": "1",
        "domain": "domain_1",
        "column": "value",
        "hierarchy": f"(select name from anon.hierarchies where lower(name) = lower({hole['hierarchy_name']}))",
        "nodes": "anon.hierarchy_nodes",
        "hierarchies": "anon.hierarchies",
    }
    steps = {step: render(f"pipeline/{step}_tree.sql", **stored) for step in ("domain", "nodes")}
    fragments = {
        "relation": f"query_table({hole['t']})",
        "named": hole["named"],
        "classes": hole["classes"],
        "sensitive": hole["sensitive"],
        "c": hole["c"],
        "value": "value",
        "hierarchy": ",\n".join(f"{step}_1 as (\n{body}\n)" for step, body in steps.items()),
        "domain": "domain_1",
        "nodes": "nodes_1",
        "key": "cast(tuples.value as varchar)",
        "missing": f"'There is no stored hierarchy ' || {hole['hierarchy_name']}",
    }
    filled = {
        "t": "anon.quoted_text(t)",
        "named": "anon.numbered_list(quasi)",
        "classes": "array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ')",
        "sensitive": "anon.quoted_list([sensitive])",
        "c": "cast(c as double)",
        "hierarchy_name": "anon.quoted_text(coalesce(hierarchy, ''))",
    }
    cases = []
    for model in MODELS:
        for distance in DISTANCES if model == "t" else ("",):
            text = literal(model_sql(model, distance, fragments))
            for field, expression in filled.items():
                text = text.replace(hole[field], f"' || {expression} || '")
            which = f"model = {literal(model)}" + (f" and distance = {literal(distance)}" if distance else "")
            cases.append(f"when {which} then {text}")
    return "\n".join(cases)


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


def _method_row(method: str) -> str:
    of = METHODS[method]
    parameters = ", ".join(f"{p.name} := {literal(p.default)} ({p.range}): {p.help}" for p in of.parameters)
    return "(" + ", ".join(map(literal, (of.name, parameters, of.cost, of.use, of.paper))) + ")"
