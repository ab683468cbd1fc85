"""A released table as a report looks at it: its classes, how large they are, and how sensitive values are spread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlanon.catalog.catalog import Catalog
from sqlanon.disclosure.risk import risk
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, run
from sqlanon.pipeline.models import Asked, Sensitive, sensitive_of
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, name, names, render


@dataclass(frozen=True)
class Private:
    """A sensitive column within the classes: how many have a most frequent value of this share, and how many are this
    far from the table. `overall` is the share of the table's most frequent value."""

    column: str
    overall: float
    largest: tuple[tuple[float, int], ...]
    distances: tuple[tuple[float, int], ...]


@dataclass(frozen=True)
class Looked:
    """A released table: the columns that make its classes, and whom to count in them."""

    con: Session
    relation: str
    printed: tuple[str, ...]
    policy: Policy
    entity: str | None

    @property
    def has_groups(self) -> bool:
        """Do its rows form classes, or groups that are numbered?"""
        return self.policy.kind.has_classes or self.policy.kind.prints_exact

    @property
    def people(self) -> str:
        """What to count in classes: rows, or each person once in every class that has one of their rows."""
        if self.entity is None:
            return self.relation
        return f"(select distinct {names([*self.printed, self.entity])} from {self.relation})"

    @cached_property
    def sensitive(self) -> dict[str, Sensitive]:
        """Its sensitive columns."""
        catalog = Catalog.of(self.con)
        found = resolve(self.con, f"from {self.relation}")
        listed = sensitive_of(found, self.policy, catalog.hierarchies())
        return {sensitive.column: sensitive for sensitive in listed}

    def suppressed(self) -> int:
        """The rows of which quasi-identifiers say nothing: * in all of them, or no ends where ranges are columns."""
        alone = {fold(column) for column in self.policy.quasi}
        empty = [
            f"{name(column)} is null"
            if self.policy.ranges == "columns" and fold(column) not in alone
            else f"coalesce(cast({name(column)} as varchar) = '*', false)"
            for column in self.printed
        ]
        ((rows,),) = run(self.con, f"select count(*) from {self.relation} where {' and '.join(empty)}")
        return int(rows)

    def sizes(self) -> tuple[tuple[int, int], ...]:
        """How many classes there are of each size."""
        return tuple(
            run(self.con, render("steps/report/class_sizes.sql", relation=self.people, printed=names(self.printed)))
        )

    def risks(self, k: int) -> dict[str, float | None]:
        """The risks of El Emam where classes or matches bound them; none where everybody can be recognized anyway."""
        kind = self.policy.kind
        if kind.prints_exact:
            return {}
        if not kind.has_classes:
            return dict.fromkeys(("prosecutor_max", "journalist_max"), 1 / k)
        found = risk(self.con, f"from {self.people}", self.printed)
        if kind.counts == "people":  # whose people were counted; how many others are in each class is not known
            found |= {"journalist_max": 1 / k, "journalist_mean": None, "marketer": None}
        return found

    def private(self) -> tuple[Private, ...]:
        """How its sensitive columns are spread within the classes."""
        found = []
        for column, sensitive in self.sensitive.items():
            counted = f"select count(*) as n from {self.relation} group by {name(column)}"
            ((overall,),) = run(self.con, f"select max(n) / sum(n) from ({counted})")
            if overall is None:
                continue
            classes = {
                model: Asked(model).classes_sql(self.relation, self.printed, sensitive, self.entity)
                for model in ("l", "t")
            }
            reached = {
                model: run(self.con, render("steps/report/reached.sql", classes=sql)) for model, sql in classes.items()
            }
            largest = tuple((1 / value, classes) for value, classes in reversed(reached["l"]))
            found.append(Private(column, float(overall), largest, tuple(reached["t"])))
        return tuple(found)
