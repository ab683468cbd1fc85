"""Does a table hold what it promises? The check macros with a verdict, for Python and the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

from sqlanon import wording
from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.frames import registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import Session, run, translate_errors, unwrap
from sqlanon.errors import in_words, option
from sqlanon.pipeline.models import Asked, asked_of, required_of, sensitive_of
from sqlanon.pipeline.promises import equal_rows
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy import verdict
from sqlanon.privacy.verdict import Warned
from sqlanon.sqltext import fold, name, names

HEADER = ("", "reached", "required")


@dataclass(frozen=True)
class Check:
    """What was counted, what was required, and whether it holds. An empty table holds anything, with a
    warning.

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
    unique_with_kept: float | None = None
    """The share of rows that are unique to whoever also knows the other columns of the table; None if it has none."""
    kept: tuple[str, ...] = ()
    """These columns."""
    next: str = ""
    """What to do next."""

    @property
    def warnings(self) -> tuple[Warned, ...]:
        """What nothing was required about, although it should be looked at."""
        if not self.rows:
            return (verdict.empty(),)
        required = {column for model in self.asked for column in self.reached.get(model, {})}
        one_value = [column for column, most in self.reached.get("l", {}).items() if most is not None and most <= 1]
        found = [verdict.homogeneous(column) for column in one_value if column not in required]
        if self.unique_with_kept:
            found.append(verdict.unique_with(self.kept, self.unique_with_kept))
        return tuple(found)

    @property
    def state(self) -> str:
        """holds, holds with warnings or BROKEN."""
        return verdict.state(self.holds, self.warnings)

    @property
    def told(self) -> list[str]:
        """The verdict in lines, the last of which says what to do next."""
        return verdict.told(self.holds, self.warnings, self.next)

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
        plain |= {"state": self.state, "warnings": [asdict(warning) for warning in self.warnings]}
        plain["next"] = plain.pop("next")
        for counted in ("unique_with_kept", "kept"):
            del plain[counted]
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
        return f"{self.state}: {rows} in {classes}"

    def __str__(self) -> str:
        return "\n".join([self._title, wording.table_text(HEADER, self._facts), *self.told])

    def _repr_html_(self) -> str:
        return wording.table_html(self._title, HEADER, self._facts, self.told)


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
    kept = _others(found, policy)
    asked_by = required_of(policy, columns)
    found_k = Check(int(rows or 0), classes, smallest, k, violations, reached, asked_by, linked_k, policy.linked)
    unique = unique_share(raw, found.relation, [*promise.printed, *kept]) if kept else None
    made = replace(found_k, unique_with_kept=unique, kept=tuple(kept))
    return replace(made, next=verdict.next_step(made.holds, made.warnings, _attacking(), _anonymizing(made)))


def unique_share(con: Session, relation: str, columns: Sequence[str]) -> float:
    """The share of rows that no other row equals in these columns."""
    grouped = f"select count(*) as n from {relation} group by {names(columns)}"
    ((share,),) = run(con, f"select coalesce(count(*) filter (where n = 1) / sum(n), 0) from ({grouped})")
    return float(share)


def _others(found: Source, policy: Policy) -> list[str]:
    """The columns of a table that have no role: whoever gets the table gets them too."""
    roles = {fold(column) for column in (*policy.quasi, *policy.sensitive, policy.entity or "")}
    return [column for column in found.columns if fold(column) not in roles]


def _attacking() -> str:
    """How to go on with a table that holds."""
    command = "sqlanon attack TABLE --source SOURCE --quasi A,B"
    python = "sqlanon.attack(con, TABLE, source=SOURCE, quasi=[...])"
    said = in_words(python=python, sql=command, command=command)
    return f"if you have its source, try what can be found out about people: {said}"


def _anonymizing(found: Check) -> str:
    """What gives a table that holds what was required."""
    asked = [option("k", found.asked_k), *(option(model, value) for model, value in found.asked.items())]
    return f"anonymize its source with {wording.listed(asked)}"
