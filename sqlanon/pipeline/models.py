"""Privacy models as SQL: what each class of a released table reaches of what udfs/models.py defines.

A model is one file of sql/steps/models, read both by the queries that verify a release and by the check macros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlanon.errors import PolicyError, option
from sqlanon.families import TEXT, known_family, type_family
from sqlanon.hierarchies.hierarchy import Hierarchies
from sqlanon.pipeline.attribute import Attribute, named_hierarchy
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, literal, name, render
from sqlanon.udfs.models import MODELS, SLACK


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column: how far its values are from each other, and what others may know in addition to the
    quasi-identifiers."""

    column: str
    distance: str = "equal"
    attribute: Attribute | None = None
    """Its hierarchy, where the distance is hierarchical."""
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """A model with what is required of it; None if it is only measured."""

    name: str
    value: float | None = None
    c: float = 1.0

    @property
    def is_floor(self) -> bool:
        """Must every class reach as much, rather than no more?"""
        return MODELS[self.name].is_floor

    def holds(self, reached: float | None) -> bool:
        """Is what was reached enough? An empty table, which reaches NULL, keeps everything."""
        if reached is None or self.value is None:
            return True
        return (reached - self.value) * (1 if self.is_floor else -1) >= -SLACK

    def broken(self, reached: str) -> str:
        """The condition, as SQL, that what was reached is not enough."""
        return f"{reached} < {self.value!r} - {SLACK}" if self.is_floor else f"{reached} > {self.value!r} + {SLACK}"

    def sql(self, relation: str, quasi: Sequence[str], sensitive: Sensitive, entity: str | None = None) -> str:
        """The query with one row: what all classes reach; NULL for an empty table. With an `entity`, models that are
        about people count that column's values instead of rows."""
        return f"select {self.worst} as reached\nfrom (\n{self.classes_sql(relation, quasi, sensitive, entity)}\n)"

    def classes_sql(self, relation: str, quasi: Sequence[str], sensitive: Sensitive, entity: str | None = None) -> str:
        """The query with a row per class, its quasi-identifiers as q1, q2 and so on, and what it reaches."""
        fragments = _counting(relation, [*quasi, *sensitive.known], sensitive.column) | {"c": repr(float(self.c))}
        if entity is not None and MODELS[self.name].counts_people:
            people = render("steps/models/counted_people.sql", **fragments, entity=name(entity))
            return render(f"steps/models/{self.name}_people.sql", **fragments, people=people)
        if (attribute := sensitive.attribute) is not None:
            domain, nodes = attribute.ctes
            fragments |= {
                "value": attribute.value,
                "domain": domain.name,
                "domain_query": domain.body,
                "nodes": nodes.name,
                "nodes_query": nodes.body,
                "key": attribute.key(f"tuples.{attribute.value}"),
                "missing": literal(f"The hierarchy of column '{sensitive.column}' is gone."),
            }
        return model_sql(self.name, sensitive.distance, fragments)

    @property
    def shortfall(self) -> tuple[str, str]:
        """What to say of a class that breaks it: before what it reaches, and after, with {} for the column."""
        assert self.value is not None
        return f"A released class reaches {self.name} = ", f" in {{}}, {self.name} is {self.value:g}"

    @property
    def worst(self) -> str:
        """What all classes reach together, as SQL."""
        return "min(reached)" if self.is_floor else "max(reached)"


def homogeneous_sql(relation: str, quasi: Sequence[str], column: str) -> str:
    """The query that counts the classes that have one sensitive value, and their rows."""
    fragments = _counting(relation, quasi, column)
    return render("steps/models/homogeneous.sql", **fragments, counted=render("steps/models/counted.sql", **fragments))


def _counting(relation: str, columns: Sequence[str], sensitive: str) -> dict[str, str]:
    """How counted.sql reads a table: classes are distinguished by q1, q2 and so on, whatever the names."""
    return {
        "relation": relation,
        "named": ", ".join(f"{name(column)} as q{number}" for number, column in enumerate(columns, 1)),
        "classes": ", ".join(f"q{number}" for number in range(1, len(columns) + 1)),
        "sensitive": name(sensitive),
    }


def model_sql(model: str, distance: str, fragments: Mapping[str, str]) -> str:
    """The query with a row per class and what it reaches."""
    counted = render("steps/models/counted.sql", **fragments)
    shares = render("steps/models/shares.sql", **fragments, counted=counted)
    file = f"{model}_{distance}" if model == "t" else model
    return render(f"steps/models/{file}.sql", **fragments, counted=counted, shares=shares)


Watched = Sequence[tuple[Asked, Sensitive]]
"""What is required of which columns."""


def asked_of(
    policy: Policy, sensitive: Sequence[Sensitive], measured: Sequence[str] = (), counts_people: bool = True
) -> list[tuple[Asked, Sensitive]]:
    """Every model that the policy asks for, of every sensitive column, after those that are only `measured`. What is
    asked about people can only be measured where they cannot be counted."""
    c = policy.recursive_c or 1.0
    found = []
    for model in dict.fromkeys((*measured, *policy.models)):
        is_uncounted = policy.entity is not None and not counts_people and MODELS[model].counts_people
        for column in sensitive:
            value = policy.required(model, column.column)
            if model in measured or value is not None:
                found.append((Asked(model, None if is_uncounted else value, c), column))
    return found


def required_of(policy: Policy, sensitive: Sequence[Sensitive]) -> dict[str, float | Mapping[str, float]]:
    """What each model requires, of all sensitive columns or of each that is named, as the source spells it."""
    found: dict[str, float | Mapping[str, float]] = {}
    for model, asked in policy.models.items():
        by_column = {one.column: policy.required(model, one.column) for one in sensitive}
        named = {column: value for column, value in by_column.items() if value is not None}
        found[model] = named if isinstance(asked, Mapping) else asked
    return found


def sensitive_of(source: Source, policy: Policy, hierarchies: Hierarchies) -> tuple[Sensitive, ...]:
    """The policy's sensitive columns with the distances that t goes by, or an error that names what does not fit."""
    by_name = hierarchies.by_name
    spelt = source.resolve_names(policy.sensitive)
    found = []
    for number, (asked, column) in enumerate(zip(policy.sensitive, spelt, strict=True), len(policy.quasi) + 1):
        family = known_family(source.types[column])
        wanted = policy.hierarchies.get(asked)
        hierarchy = named_hierarchy(wanted, by_name) if wanted is not None else by_name.get(fold(column))
        if asked in policy.hierarchies and wanted is None:
            hierarchy = None
        if hierarchy and hierarchy.rule and not (family and hierarchy.rule.fits(family)):
            if wanted is not None:
                hierarchy.rule.check(column, type_family(column, source.types[column]), hierarchy.name)
            hierarchy = None  # it has the column's name by chance
        usual = "hierarchical" if hierarchy else "ordered" if family and family.is_ordered else "equal"
        distance = policy.t_distance or usual
        if distance == "hierarchical" and hierarchy is None:
            raise PolicyError(
                f"{option('t_distance', 'hierarchical')} needs a hierarchy, and column '{column}' has none that fits"
            )
        tree = None
        if distance == "hierarchical":
            tree = Attribute(number, column, source.types[column], family or TEXT, hierarchy, hierarchies)
        known = tuple(other for other in spelt if other != column) if policy.several == "strict" else ()
        found.append(Sensitive(column, distance, tree, known))
    return tuple(found)
