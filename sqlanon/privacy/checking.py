"""Does a table hold what it promises? The check macros with a verdict, for Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from sqlanon import wording
from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, run, translate_errors, unwrap
from sqlanon.pipeline.models import Asked, asked_of, required_of, sensitive_of
from sqlanon.pipeline.promises import equal_rows
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import name, names

HEADER = ("", "reached", "required")


@dataclass(frozen=True)
class Check:
    """What was counted, what was required, and whether it holds. An empty table holds anything.

    `asked` holds what is required of the sensitive columns, model by model, and `reached` what each column reaches; l
    and t are always measured. `linked_k` is how many people share the rarest set of rows, where an entity was named.
    """

    rows: int
    classes: int
    k: int | None
    asked_k: int
    violations: int
    reached: dict[str, dict[str, float | None]]
    asked: dict[str, float | Mapping[str, float]]
    linked_k: int | None = None
    is_linked: bool = False
    """Must sets of rows be shared by k people, too?"""

    def required(self, model: str, column: str) -> float | None:
        """What is required of one sensitive column; None if nothing."""
        asked = self.asked.get(model)
        return asked.get(column) if isinstance(asked, Mapping) else asked

    @property
    def holds(self) -> bool:
        """Is every class as large as asked, and does it keep every model?"""
        are_kept = (
            Asked(model, self.required(model, column)).holds(found)
            for model in self.asked
            for column, found in self.reached[model].items()
        )
        is_shared = not self.is_linked or self.linked_k is None or self.linked_k >= self.asked_k
        return (self.k is None or self.k >= self.asked_k) and is_shared and all(are_kept)

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity."""
        reached = {m: {c: "infinity" if v == inf else v for c, v in found.items()} for m, found in self.reached.items()}
        plain = asdict(self) | {"reached": reached, "holds": self.holds}
        if self.linked_k is None and not self.is_linked:  # nothing was said about people
            del plain["linked_k"], plain["is_linked"]
        return plain

    @property
    def _facts(self) -> list[tuple[str, str, str]]:
        """What was counted and what was required, a row each."""
        told = [("k", "-" if self.k is None else f"{self.k:,}", f"{self.asked_k:,}")]
        for model, by_column in self.reached.items():
            for column, reached in by_column.items():
                required = self.required(model, column)
                found, asked = ("-" if number is None else f"{number:.4g}" for number in (reached, required))
                told.append((f"{model} in {column}", found, asked))
        return told

    @property
    def _title(self) -> str:
        rows, classes = wording.plural(self.rows, "row"), wording.plural(self.classes, "class", "classes")
        return f"{'holds' if self.holds else 'BROKEN'}: {rows} in {classes}"

    def __str__(self) -> str:
        return f"{self._title}\n{wording.table_text(HEADER, self._facts)}"

    def _repr_html_(self) -> str:
        return wording.table_html(self._title, HEADER, self._facts)


@translate_errors()
def check(
    con: Any,
    source: Any,
    quasi: Sequence[str],
    k: int = 5,
    *,
    sensitive: Sequence[str] = (),
    entity: str | None = None,
    linked: bool = False,
    **models: Any,
) -> Check:
    """Check a table, file, query or frame as it is released: the smallest class, and what sensitive columns reach.

    Models are required by the options of a policy: l = 2, t = 0.2, several = 'separate' and so on. With an `entity`,
    such as a patient's number that the table has, k, l and alpha count people instead of rows; if it is `linked`, every
    set of rows that a person has must be shared by k people.
    """
    policy = Policy.of({"quasi": quasi, "sensitive": sensitive, "entity": entity, "linked": linked, **models})
    raw = unwrap(con)
    with registered(raw) as named:
        return _counted(raw, resolve(raw, named(source)), k, policy)


def _counted(raw: Session, found: Source, k: int, policy: Policy) -> Check:
    catalog = Catalog.of(raw)
    (counted,) = found.resolve_names([policy.entity]) if policy.entity is not None else (None,)
    promise = equal_rows(found.resolve_names(policy.quasi), counted)
    columns = sensitive_of(found, policy, catalog.hierarchies())
    ((smallest, classes, rows),) = run(raw, promise.proof(found.relation))
    size = "count(*)" if counted is None else f"count(distinct {name(counted)})"
    small = f"select 1 from {found.relation} group by {names(promise.printed)} having {size} < {int(k)}"
    ((violations,),) = run(raw, f"select count(*) from ({small})")
    reached: dict[str, dict[str, float | None]] = {}
    for asked, column in asked_of(policy, columns, promise.kind.measured):
        assert promise.reached is not None
        ((value,),) = run(raw, promise.reached(found.relation, asked, column))
        reached.setdefault(asked.name, {})[column.column] = value
    linked_k = None
    if (linked := promise.linked(found.relation)) is not None:
        ((linked_k, _, _),) = run(raw, linked)
    asked_by = required_of(policy, columns)
    return Check(int(rows or 0), classes, smallest, k, violations, reached, asked_by, linked_k, policy.linked)
