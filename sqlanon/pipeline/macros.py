"""The statements that make schema `anon`: its tables, and its macros with what is filled into their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlanon.pipeline.measures import PARTS, described, measures_sql
from sqlanon.pipeline.metrics import MEASURED_BY, MEASURES, Measure
from sqlanon.pipeline.models import model_sql
from sqlanon.policy.options import DEFAULT_METHOD, PARAMETERS
from sqlanon.policy.policy import OPTIONS
from sqlanon.sqltext import fill, literal, render
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import DISTANCES, MODELS, Model


@dataclass(frozen=True)
class Macro:
    """A macro: its file of sql/, which may be a template of several macros, and what is filled in."""

    name: str
    file: str
    fragments: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """What the macro is about: its folder below sql/macros."""
        return self.file.split("/")[1]

    @property
    def sql(self) -> str:
        """The statement that makes it."""
        return render(self.file, **self.fragments)


@dataclass(frozen=True)
class Planned:
    """A macro whose query a planner writes, in Python, while the caller's query is bound."""

    name: str
    planner: str
    """The function that writes the query, see install.PLANNERS."""
    about: str
    """What a row of the answer is."""
    parameters: Mapping[str, str | None]
    """With their defaults, as SQL; None where one must be given. All of them go to the planner."""
    answer: str | None = None
    """The value that it answers with, out of the planned query's only row; None if it answers with the rows."""

    @property
    def macro(self) -> Macro:
        """It as a macro like any other."""
        request = "{" + ", ".join(f"{parameter}: {parameter}" for parameter in self.parameters) + "}"
        fragments = {
            "macro": self.name,
            "about": self.about,
            "parameters": parameters_sql(self.parameters),
            "planner_query": render("macros/planned/planner_query.sql", planner=self.planner, request=request),
        }
        if self.answer is None:
            return Macro(self.name, "macros/planned/planned_table.sql", fragments)
        return Macro(self.name, "macros/planned/planned_value.sql", fragments | {"answer": self.answer})


def parameters_sql(parameters: Mapping[str, str | None]) -> str:
    """A macro's parameters as it declares them."""
    return ", ".join(name if default is None else f"{name} := {default}" for name, default in parameters.items())


_MEASURED_BY = {parameter.name: f"{parameter.default:g}" for parameter in MEASURED_BY}
_OPTIONS: dict[str, str | None] = {"quasi": "null", "k": "5", "method": literal(DEFAULT_METHOD)}
PLANNED = (
    Planned(
        "anonymize",
        "sqlanon_plan",
        "A row is a row of the release. The planner turns the request into one query while this one is bound; the "
        "query runs in the caller's transaction and fails rather than return a release that breaks k.",
        {"source": None} | _OPTIONS | {option: "null" for option in (*OPTIONS, *PARAMETERS) if option not in _OPTIONS},
    ),
    Planned(
        "measure",
        "sqlanon_measure",
        "A row is one measure of any table t against its source: the labels of t are read, whatever tool made it.",
        {"t": None, "source": "null", "quasi": "null", "k": "5"}
        | {"sensitive": "null", "hierarchies": "null", "weights": "null", "ranges": "'auto'"}
        | _MEASURED_BY,
    ),
    Planned(
        "lower_bound",
        "sqlanon_lower_bound",
        "One row: gcp is the least that any release of the source with this k, and these models of sensitive columns, "
        "can lose, as far as it can be proven, and how says how it was proven.",
        {"source": None, "quasi": "null", "k": "5", "hierarchies": "null", "weights": "null", "sensitive": "null"}
        | dict.fromkeys((*MODELS, "recursive_c", "t_distance", "several"), "null"),
    ),
    Planned(
        "k_map",
        "sqlanon_k_map",
        "The least number of people of a population that a class of t covers: t is a k-map for every k up "
        "to it. The labels of t are read, and the raw values of the population. With a source, its values are known "
        "too, and its rows count as people. NULL for an empty table.",
        {"t": None, "quasi": None, "population": None, "source": "null", "hierarchies": "null", "ranges": "'auto'"},
        answer="case when classes > 0 then smallest end",
    ),
    Planned(
        "detect",
        "sqlanon_detect",
        "A row is a column of t with a suggested role and the reason, or one of the smallest sets of columns in "
        "which more than a share of the rows have a combination of values of their own: how many combinations there "
        "are, per row (distinction), the share of pairs of rows that differ (separation; both of Motwani & Xu 2007, "
        "as ARX shows them) and of rows that are unique. NULL is a value. The counting happens while this query is "
        "bound; it shows no values.",
        {"t": None, "size": "3", "share": "0.05"},
    ),
    Planned(
        "suggest_hierarchy",
        "sqlanon_suggest",
        "A row is a value of t.column with its labels in a draft of a hierarchy, from the narrowest to *: prefixes of "
        "codes, intervals with round ends, months and years, or groups of rare and similar categories. Values are "
        "read while this query is bound.",
        {"t": None},
    ),
    Planned(
        "audit",
        "sqlanon_audit",
        "A row is a set of stored releases that read t, each pair and then all: with how many rows somebody is left "
        "who is sought in all of them by their quasi-identifiers, t being as it is now (k_together), how many people "
        "with fewer than k, and how few values of each sensitive column are left for somebody. The counting happens "
        "while this query is bound; it shows no values.",
        {"t": None},
    ),
    Planned(
        "explain",
        "sqlanon_explain",
        "A row is a reason for what a stored release lost: the loss of a column; what the others would lose without "
        "it, or all with it one level coarser from the start, with 1% or 5% of the rows suppressed or with the next "
        "smaller k, by a quick search that loss and would_be are both of; and the columns that make the widest classes "
        "wide. It reads the source, which must be as it was, and shows no values. The counting happens while this "
        "query is bound.",
        {"release": None},
    ),
    Planned(
        "diff",
        "sqlanon_diff",
        "A row is something in which two stored releases differ, as text: the role of a column, an option, rows, "
        "classes, risk, the loss of all columns and of each.",
        {"first": None, "second": None},
    ),
    Planned(
        "status",
        "sqlanon_status",
        "A row is a stored release, or the one that is named: where it is from, its version, when it was made and "
        "refreshed, and how many people of its source it does not contain yet (new_rows), still contains "
        "(deleted_rows) or would label anew (changed_rows). NULL if this is unknown, and the note says why, such as a "
        "source that is gone. The "
        "comparing happens while this query is bound, so it sees committed rows only.",
        {"release": "null"},
    ),
)
HELPERS = ("quoted_list", "quoted_text", "numbered_list", "size_text", "class_query", "linked_query", "model_query")
"""Macros that others are made of, in an order in which each finds what it uses."""
UTILITY = "macros/utility/utility.sql"
CHECKS = ("k_anonymity", "linked_k", "equivalence_classes", "violations", "model_violations")


def check_macros() -> list[Macro]:
    """What checks any table, with the helpers that it needs: plain SQL, so that published files carry it too."""
    models = ", ".join(map(literal, MODELS))
    fragments = {
        "model_query": {
            "models": models,
            "distances": ", ".join(map(literal, DISTANCES)),
            "query": _query_of_model(),
        },
        "model_violations": {"floors": ", ".join(literal(model) for model in MODELS if MODELS[model].is_floor)},
    }
    files = {name: f"macros/helpers/{name}.sql" for name in HELPERS}
    files |= {name: f"macros/checks/{name}.sql" for name in CHECKS}
    made = [Macro(name, file, fragments.get(name, {})) for name, file in files.items()]
    return [*made, *(_model_macro(model) for model in MODELS.values())]


def _model_macro(model: type[Model]) -> Macro:
    """The macro that measures a model in any table."""
    check = model.check
    own: dict[str, str | None] = {"t": None, "quasi": None, "sensitive": None}
    more = "".join(f", {parameter} := {parameter}" for parameter in check.parameters)
    fragments = {
        "macro": check.macro,
        "about": check.about,
        "parameters": parameters_sql(own | dict(check.parameters)),
        "worst": "min(reached)" if model.is_floor else "max(reached)",
        "arguments": f"t, quasi, sensitive, {literal(model.option.name)}{more}",
    }
    return Macro(check.macro, "macros/checks/one_model.sql", fragments)


def macros() -> list[Macro]:
    """All macros, in an order in which each finds what it uses."""
    return [
        *check_macros(),
        Macro("risk_query", "macros/risk/risk_query.sql"),
        Macro("risk", "macros/risk/risk.sql"),
        Macro("hierarchy_gaps", "macros/hierarchy/hierarchy_gaps.sql"),
        Macro("hierarchy_tree", "macros/hierarchy/hierarchy_tree.sql"),
        Macro("methods", "macros/methods/methods.sql", {"methods": ", ".join(map(_method_row, METHODS))}),
        *(planned.macro for planned in PLANNED),
        Macro("utility", UTILITY, {"measures": _measures_of_release()}),
        *(_measure_macro(measure) for measure in MEASURES if measure.has_macro),
    ]


def schema_sql() -> list[str]:
    """The statements that make the tables and macros.

    DuckDB binds what a macro reads whenever one is made. So the macros of single models and measures, which read the
    long queries of `model_query` and `utility`, are made while those are short.
    """
    tables = [render("catalog/tables.sql"), render("catalog/comparisons.sql"), render("catalog/history.sql")]
    short = {
        "model_query": {"query": literal("select null as reached")},
        "utility": {"measures": 'select null as measure, null as "column", null as value'},
    }
    made = {macro.name: macro for macro in macros()}
    before = [render(made[long].file, **{**made[long].fragments, **nothing}) for long, nothing in short.items()]
    return [*tables, *before, *(macro.sql for macro in sorted(made.values(), key=lambda macro: macro.name in short))]


def _query_of_model() -> str:
    """A CASE over model and distance, each branch the text of its query: the steps that verify a release, with the
    macro's arguments in the place of the placeholders that are left."""
    arguments = {
        "t": "anon.quoted_text(t)",
        "named": "anon.numbered_list(quasi)",
        "classes": "array_to_string(list_transform(quasi, lambda q, i: 'q' || i), ', ')",
        "sensitive": "anon.quoted_list([sensitive])",
        "c": "cast(c as double)",
        "hierarchy_name": "anon.quoted_text(coalesce(hierarchy, ''))",
    }
    stored = {
        "attribute": "1",
        "domain": "domain_1",
        "column": "value",
        "hierarchy": "(select name from anon.hierarchies where lower(name) = lower(__hierarchy_name__))",
        "nodes": "anon.hierarchy_nodes",
        "hierarchies": "anon.hierarchies",
    }
    fragments = {argument: f"__{argument}__" for argument in arguments} | {
        "relation": "query_table(__t__)",
        "value": "value",
        "domain": "domain_1",
        "domain_query": render("steps/encode/domain_tree.sql", **stored),
        "nodes": "nodes_1",
        "nodes_query": render("steps/encode/nodes_tree.sql", **stored),
        "key": "cast(tuples.value as varchar)",
        "missing": "'There is no stored hierarchy ' || __hierarchy_name__",
    }
    pieces = {argument: f"' || {expression} || '" for argument, expression in arguments.items()}
    branches = []
    for model in MODELS:
        for distance in DISTANCES if model == "t" else ("",):
            query = fill(literal(model_sql(model, distance, fragments)), pieces)
            which = f"model = {literal(model)}" + (f" and distance = {literal(distance)}" if distance else "")
            branches.append(f"when {which} then {query}")
    return "\n".join(["case", *branches, "end"])


def _measures_of_release() -> str:
    """The measures of a stored release r, from the tables that hold what was counted when it was made."""
    measured = measures_sql(
        {part: f"(select * from anon.release_{part} as l where lower(l.release) = lower(r))" for part in PARTS},
        k="(select coalesce(any_value(made.k), "
        "error('sqlanon: There is no stored release ''' || r || ''': make it with "
        "CREATE ANONYMIZED TABLE or VIEW, or measure any table with FROM anon.measure(...)')) "
        "from anon.releases as made where lower(made.name) = lower(r))",
        beta="beta",
        mi_weight="mi_weight",
    )
    return described(measured)


def _measure_macro(measure: Measure) -> Macro:
    parameters: dict[str, str | None] = dict.fromkeys(("r", "sensitive") if measure.is_of_column else ("r",))
    arguments = ["r"]
    if measure.parameter is not None:
        option = measure.parameter.name
        parameters[option] = _MEASURED_BY[option]
        arguments.append(f"{option} := {option}")
    file = "one_measure_of_column" if measure.is_of_column else "one_measure"
    fragments = {
        "macro": measure.name,
        "noun": measure.noun or measure.name,
        "measure": literal(measure.name),
        "parameters": parameters_sql(parameters),
        "arguments": ", ".join(arguments),
    }
    return Macro(measure.name, f"macros/utility/{file}.sql", fragments)


def _method_row(method: str) -> str:
    of = METHODS[method]
    parameters = ", ".join(f"{p.name} := {literal(p.default)} ({p.range}): {p.help}" for p in of.parameters)
    return "(" + ", ".join(map(literal, (of.name, parameters, of.cost, of.use, of.paper))) + ")"
