"""What must not be found in the data, as one query that says it in words."""

from __future__ import annotations

from sqlanon.errors import option_name
from sqlanon.pipeline.encode import Columns, comma
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import literal, render


def nearly_unique(column: str) -> str:
    """What is said of a kept column that identifies people."""
    return (
        f"Kept column '{column}' is nearly unique, so it identifies people. Leave it out, "
        f"or name it in {option_name('unsafe_keep')} if that is meant."
    )


def nobody(column: str) -> str:
    """What is said of an entity that some rows lack."""
    return f"Entity '{column}' is NULL in some rows, so they cannot be counted: leave them out."


def too_few(k: int, people: str, rows: int) -> str:
    """What is said of a source, or population, that has fewer than k rows."""
    return f"{_few(k, people)}{rows:,} {'row' if rows == 1 else 'rows'}: ask for a smaller k."


def _few(k: int, people: str) -> str:
    return f"{option_name('k')} is {k:,}, but the {people} has only "


def guard_sql(reading: Reading, columns: Columns, part: str | None = None) -> str:
    """Each condition counts what is wrong and says it in words."""
    source, policy, kept, trees = reading.source, reading.policy, columns.kept, columns.trees
    conditions, counts = [], []
    for attribute in (*reading.attributes, *trees):
        for problem, (count, condition, message) in enumerate(attribute.guards(source.shown)):
            if problem == 0 and (attribute in trees or part):
                continue  # it may hold nothing but NULL
            column = f"{attribute.value}_{problem}"
            counts.append(f"{count} as {column}")
            conditions.append(f"when {column}{condition} then {message.replace('{count}', column)}")
    uniques = ["count(*) as total"]
    for column in source.resolve_names(policy.keep):
        distinct = f"{kept[column]}_distinct"
        uniques.append(f"count(distinct {kept[column]}) as {distinct}")
        message = literal(nearly_unique(column))
        conditions.append(f"when 2 * {distinct} > total then {message}")
    if policy.entity is not None:
        (column,) = source.resolve_names([policy.entity])
        uniques.append(f"count(*) - count({kept[column]}) as nobody")
        message = literal(nobody(column))
        conditions.append(f"when nobody > 0 then {message}")
    if policy.kind.prints_exact:
        (column,) = source.resolve_names(policy.sensitive)
        uniques.append(f"count(*) - count({kept[column]}) as unlisted")
        message = literal(
            f"Column '{column}' holds NULL, which cannot be listed: name it in the source, "
            f"coalesce({column}, 'unknown')."
        )
        conditions.append(f"when unlisted > 0 then {message}")
    people = "population" if source.population is not None else "source"
    return render(
        "steps/encode/guard.sql",
        k=str(policy.k),
        counted="people" if source.population is not None else "rows",
        too_few=literal(_few(policy.k, people)),
        problem="\n        ".join(["case", *conditions]) + "\n    end" if conditions else "null",
        counts=comma(counts),
        uniques=comma(uniques),
    )
