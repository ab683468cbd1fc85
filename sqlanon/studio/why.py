"""Why so much was lost: quick runs of the same policy without a column, with a coarser one, and at another k.

Each is a run with effort = 'fast', in the background. They are compared with a quick run of the policy itself, and only
in what the other columns lose, as a coarser column has another scale of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import sqlanon
from sqlanon.studio.facade import Policy, Session, facts_of_release, literal, quoted
from sqlanon.studio.looking import Looked, Profile
from sqlanon.studio.runs import PATIENT, Result
from sqlanon.studio.trees import coarser, paths_of
from sqlanon.studio.workspace import Source

KS = (2, 3, 5, 10, 20, 50, 100)
MOST_ROWS = 2_000_000
"""Rows up to which all are taken; of more, this many are drawn."""
ROLES = ("quasi", "sensitive", "entity")
MODELS = ("l", "t", "several", "t_distance", "max_suppression", "seed", "weights")


@dataclass(frozen=True)
class Quick:
    """What a quick run lost: of each column, and in all."""

    columns: Mapping[str, float]
    loss: float

    def others(self, column: str) -> float:
        """The mean loss of all columns but one."""
        losses = [loss for name, loss in self.columns.items() if name != column]
        return sum(losses) / len(losses) if losses else 0.0


@dataclass(frozen=True)
class Gain:
    """What the other columns lose as it is, and what they would lose."""

    column: str
    before: float
    after: float
    how: str = ""

    @property
    def gained(self) -> float:
        return max(0.0, self.before - self.after)


def options_of(result: Result) -> dict[str, Any]:
    """The options of the run that matter to what a quick one loses."""
    options = result.policy.options()
    kept = {option: options[option] for option in (*ROLES, "k", *MODELS, "hierarchies") if option in options}
    return kept | {"method": "auto", "effort": "fast"}


def quick(
    source: Source, result: Result, changed: Mapping[str, Any] | None = None, relation: str | None = None
) -> Quick:
    """A quick run of the policy with some options changed, on the source or on what stands in its place."""
    options = options_of(result) | dict(changed or {})
    bound = options.get("hierarchies", {})
    options["hierarchies"] = {column: bound.get(column) for column in options["quasi"]}
    with source.workspace.gate.reading(PATIENT), closing(source.workspace.con.duckdb.cursor()) as con:
        asked = relation or _rows(source, result)
        release = sqlanon.anonymize(con, asked, policy=Policy.of(options))
        facts = facts_of_release(release, curve=False)
        return Quick({column.name: column.loss or 0.0 for column in facts.columns}, release.metrics()["gcp"])


def _rows(source: Source, result: Result) -> str:
    """All rows, or a sample of very many, the same for each quick run."""
    if result.facts.rows <= MOST_ROWS:
        return source.asked
    return f"select * from {source.relation} using sample reservoir({MOST_ROWS} rows) repeatable (1)"


def without(source: Source, result: Result, column: str, base: Quick) -> Gain:
    """What the others gain if a column is left out."""
    quasi = [other for other in result.policy.quasi if other != column]
    found = quick(source, result, {"quasi": quasi})
    return Gain(column, base.others(column), found.others(column))


def with_coarser(source: Source, result: Result, profile: Profile, column: str, base: Quick) -> Gain | None:
    """What the others gain if a column is one level coarser from the start; None where there is no such level."""
    made = _coarse(source, result, profile, column)
    if made is None:
        return None
    text, how, hierarchy = made
    relation = f"select * replace ({text} as {quoted(column)}) from {source.relation}"
    bound = dict(result.policy.hierarchies)
    try:
        found = quick(source, result, {"hierarchies": bound | {column: hierarchy}}, relation)
    finally:
        if hierarchy is not None:
            with source.workspace.memory() as con:
                sqlanon.drop_hierarchy(con, hierarchy, missing_ok=True)
    return Gain(column, base.others(column), found.others(column), how)


def _coarse(source: Source, result: Result, profile: Profile, column: str) -> tuple[str, str, str | None] | None:
    """A coarser column: the expression, how it is in words, and the hierarchy that generalizes it further."""
    bound = result.policy.hierarchies.get(column)
    with source.workspace.cursor(PATIENT) as con:
        if bound is None:
            rounded = _rounded(con, source, profile.column(column))
            return None if rounded is None else (*rounded, None)
        text = f"cast({quoted(column)} as varchar)"
        values = con.execute(f"select distinct {text} from {source.relation} where {text} is not null").fetchall()
        spec = result.draft.spec(column)
        paths = paths_of(con, source, column, spec, [value for (value,) in values])
        above = coarser(spec, paths)
        if not above.rows or len(paths) < len(values):
            return None
        hierarchy = f"{bound} coarser {result.number}"
        sqlanon.create_hierarchy(con, hierarchy, rows=above.rows, replace=True)
    labels = {path[0]: path[1] if len(path) > 2 else path[0] for path in paths}
    return f"map({literal(list(labels))}, {literal(list(labels.values()))})[{text}]", "from level 1 up", hierarchy


def _rounded(con: Session, source: Source, column: Looked) -> tuple[str, str] | None:
    """A number rounded to about a twentieth of its span, a date to its month or year: the expression, and in words."""
    name = quoted(column.name)
    if column.is_date:
        ((days,),) = con.execute(
            f"select (epoch(max({name})) - epoch(min({name}))) / 86400 from {source.relation}"
        ).fetchall()
        part = "year" if (days or 0) > 3 * 366 else "month"
        return f"date_trunc('{part}', {name})::{column.type}", f"by {part}"
    if not column.is_number:
        return None
    ((span,),) = con.execute(f"select max({name})::double - min({name})::double from {source.relation}").fetchall()
    if not span:
        return None
    wanted = span / 20
    power = 10.0 ** math.floor(math.log10(wanted))
    width = next(step * power for step in (1, 2, 5, 10) if step * power >= wanted * (1 - 1e-9))
    if width <= 1 and "INT" in column.type:
        return None
    return f"(floor({name} / {width:g}) * {width:g})::{column.type}", f"in steps of {width:g}"


def at_k(source: Source, result: Result, k: int) -> float:
    """What a quick run loses at another k."""
    return quick(source, result, {"k": k}).loss


def ks_of(result: Result) -> list[int]:
    """The k that are tried: some below and above, and its own."""
    return sorted({k for k in (*KS, result.policy.k) if 2 * k <= result.facts.rows})
