"""Does a table hold what it promises? The check macros with a verdict, for Python and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlanon.catalog import anon_schema, unwrap
from sqlanon.engine import run
from sqlanon.errors import PolicyError
from sqlanon.planner import diversity_sql, proof_sql
from sqlanon.sources import resolve
from sqlanon.sqltext import names


@dataclass(frozen=True)
class Check:
    """What was counted, what was asked for, and whether it holds. An empty table holds anything."""

    rows: int
    classes: int
    k: int | None
    asked_k: int
    violations: int
    l: dict[str, float | None]  # noqa: E741 - the field's own name
    asked_l: float | None

    @property
    def holds(self) -> bool:
        """Is every class as large and as diverse as asked?"""
        is_diverse = self.asked_l is None or all(found is None or found >= self.asked_l for found in self.l.values())
        return (self.k is None or self.k >= self.asked_k) and is_diverse

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"holds": self.holds}


def check(
    con: Any,
    source: str,
    quasi: Sequence[str],
    k: int = 5,
    *,
    sensitive: Sequence[str] = (),
    l: float | None = None,  # noqa: E741
) -> Check:
    """Check a table, file or query as it is printed: the smallest class, and the diversity of sensitive columns."""
    if not quasi:
        raise PolicyError("quasi is empty: name the columns that could identify a person")
    if l is not None and not sensitive:
        raise PolicyError("l needs a sensitive column")
    raw = unwrap(con)
    anon_schema(raw)
    found = resolve(raw, source)
    columns, values = found.spelt(quasi), found.spelt(sensitive)
    ((smallest, classes, rows),) = run(raw, proof_sql(found.relation, columns))
    small = f"select 1 from {found.relation} group by {names(columns)} having count(*) < {int(k)}"
    ((violations,),) = run(raw, f"select count(*) from ({small})")
    diversity = {value: run(raw, diversity_sql(found.relation, columns, value))[0][0] for value in values}
    return Check(int(rows or 0), classes, smallest, k, violations, diversity, l)
