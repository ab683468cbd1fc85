"""What a report verified, with the SQL by which anybody can verify it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.pipeline.models import Sensitive
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import literal, name, render
from sqlanon.udfs.models import MODELS


@dataclass(frozen=True)
class Verified:
    """One thing that was verified: its model, the column it is about, what holds, what was asked, SQL that shows it.

    `reached` is None in a table without rows.
    """

    model: str
    column: str | None
    reached: float | None
    asked: float | None
    holds: bool
    sql: str | None

    @property
    def symbol(self) -> str:
        """k, l, t and so on, as the field writes them."""
        return self.model.replace("_", " ")


def check_k(relation: str, printed: Sequence[str], entity: str | None, is_linked: bool = False) -> str:
    """SQL that says what the smallest class of a table is, or how many people share the rarest set of rows."""
    if entity is not None and is_linked:
        fields = ", ".join(f"q{number} := {plain_names([column])}" for number, column in enumerate(printed, 1))
        parts = {"fields": fields, "entity": plain_names([entity])}
        return render("steps/report/check_k_linked.sql", relation=relation, **parts)
    if entity is not None:
        parts = {"printed": plain_names(printed), "entity": plain_names([entity])}
        return render("steps/report/check_k_people.sql", relation=relation, **parts)
    return render("steps/report/check_k.sql", relation=relation, printed=plain_names(printed))


def check_model(
    relation: str,
    table: str,
    printed: Sequence[str],
    model: str,
    sensitive: Sensitive,
    policy: Policy,
    entity: str | None,
) -> str | None:
    """SQL that says what a table reaches of a model: plain for l, by the check macros for all else."""
    classes = [*printed, *sensitive.known]
    parts = {"printed": plain_names(classes), "sensitive": plain_names([sensitive.column])}
    if entity is not None and MODELS[model].counts_people:
        answer = "min(n / most) AS l" if model == "l" else "max(most / n) AS alpha"
        counted = {"answer": answer, "entity": plain_names([entity])}
        return render("steps/report/check_l_people.sql", relation=relation, **parts, **counted)
    if model == "l":
        return render("steps/report/check_l.sql", relation=relation, **parts)
    more = f", {policy.recursive_c!r}" if model == "recursive_l" else ""
    if model == "t" and sensitive.distance != "equal":
        more = f", distance := {literal(sensitive.distance)}"
        if (tree := sensitive.attribute) is not None:
            if not tree.is_stored or tree.hierarchy is None:
                return None  # the macro reads stored hierarchies
            more += f", hierarchy := {literal(tree.hierarchy.name)}"
    macro = MODELS[model].check.macro
    return f"SELECT anon.{macro}({literal(table)}, {literal(classes)}, {literal(sensitive.column)}{more});"


def plain_names(columns: Sequence[str]) -> str:
    """Names as people write them, in quotes where they must be."""
    return ", ".join(column if column.isidentifier() and column.isascii() else name(column) for column in columns)
