"""From rows with groups to what is released: labels or centers, kept columns, one row each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlanon.errors import PolicyError
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import PART, Columns, comma
from sqlanon.pipeline.promises import GROUP, listed_sql
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, fold, name, render
from sqlanon.udfs.methods import METHODS

ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, )?)*\)")
"""How the name of a type lists the values of an enum."""


@dataclass(frozen=True)
class _Output:
    """One column of the release: its name, and where the query has it."""

    name: str
    expression: str


def _comma_as(outputs: list[_Output]) -> str:
    return ",\n    ".join(f"{output.expression} as {name(output.name)}" for output in outputs)


def releasing(reading: Reading, columns: Columns) -> tuple[list[Cte], tuple[str, ...]]:
    """The steps from rows with groups to `released`, and its columns."""
    source, policy, attributes, kept = reading.source, reading.policy, reading.attributes, columns.kept
    if policy.kind.prints_exact:
        (sensitive,) = source.resolve_names(policy.sensitive)
        if fold(sensitive) == "rows":
            raise PolicyError(
                f"{policy.method} stores stores counts in a column called 'rows': rename '{sensitive}' in the source"
            )
        exact = {attribute.column: [(attribute.column, f"assigned.{attribute.value}")] for attribute in attributes}
        outputs = _outputs(source, exact | {sensitive: [(sensitive, "listed.counts")]}, kept)
        outputs.append(_Output(GROUP, f"assigned.{GROUP}"))
        listed = listed_sql("assigned", GROUP, kept[sensitive], "count(*)")
        steps = [Cte("listed", listed, materialized=True)]
        file = "steps/print/released_exact.sql"
    else:
        labels = {
            a.column: [(out, f"printed.{column}") for out, column in zip(a.output, a.printed, strict=True)]
            for a in attributes
        }
        outputs = _outputs(source, labels, kept)
        steps = _printing(policy, attributes)
        file = "steps/print/released.sql"
    _refuse_twice(policy, outputs)
    steps.append(Cte("released", render(file, columns=_comma_as(outputs)), materialized=True))
    return steps, tuple(output.name for output in outputs)


def _outputs(
    source: Source, printed: Mapping[str, Sequence[tuple[str, str]]], kept: Mapping[str, str]
) -> list[_Output]:
    """The release's columns in the source's order: names and expressions of those that are released, others as kept."""
    outputs: list[_Output] = []
    for column in source.columns:
        if column in printed:
            outputs += [_Output(*each) for each in printed[column]]
        elif column in kept:
            outputs.append(_Output(column, _unlisted(f"assigned.{kept[column]}", source.types[column])))
    return outputs


def _unlisted(value: str, type_name: str) -> str:
    """A kept value without the list of values that its type may have: an enum, and so a category of pandas, would carry
    values that no row of the release has."""
    plain = ENUM.sub("VARCHAR", type_name)
    return value if plain == type_name else f"cast({value} as {plain})"


def _refuse_twice(policy: Policy, outputs: list[_Output]) -> None:
    seen: set[str] = set()
    for output in outputs:
        if fold(output.name) in seen:
            what = policy.method if policy.kind.prints_exact else "ranges = 'columns'"
            raise PolicyError(f"{what} would release two columns called '{output.name}'; rename one in the source")
        seen.add(fold(output.name))


def _printing(policy: Policy, attributes: tuple[Attribute, ...]) -> list[Cte]:
    """What is released for each group: the closure of its values, or their center."""
    if policy.represent == "center":
        joins = (f"left join {a.centers} on {a.centers}.group_id = groups.group_id" for a in attributes)
        fragments = {
            "centers": comma(f"{a.centers}.center as {a.printed[0]}" for a in attributes),
            "groups_with_centers": "\n".join(["groups", *joins]),
            "suppressed": comma("null" if a.is_range else "'*'" for a in attributes),
        }
        return [
            Cte("members", render("steps/cluster/group_members.sql"), materialized=True),
            *(Cte(attribute.centers, attribute.centers_sql) for attribute in attributes),
            Cte("printed", render("steps/print/printed_centers.sql", **fragments)),
        ]
    bounds = [f"entry.lo[{j}] as {a.lo}, entry.hi[{j}] as {a.hi}" for j, a in enumerate(attributes, 1)]
    ranges = Cte("ranges", render("steps/cluster/ranges.sql", bounds=comma(bounds)), materialized=True)
    levels = "select answer.levels from clustered" if METHODS[policy.method].is_full_domain else None
    return [ranges, *label_steps(attributes, levels)]


def label_steps(attributes: tuple[Attribute, ...], levels: str | None = None) -> list[Cte]:
    """The steps from `ranges`, the ranks that each group covers, to its labels, `printed`. No node below its place in
    the list `levels` is released."""
    return [
        *(Cte(attribute.labels, attribute.labels_sql(levels), materialized=True) for attribute in attributes),
        Cte("printed", _printed_sql(attributes)),
    ]


def _printed_sql(attributes: tuple[Attribute, ...]) -> str:
    joins = (f"join {a.labels} on {a.labels}.lo = ranges.{a.lo} and {a.labels}.hi = ranges.{a.hi}" for a in attributes)
    return render(
        "steps/print/printed.sql",
        labels=comma(
            f"{a.labels}.{column} as {internal}"
            for a in attributes
            for column, internal in zip(a.label_columns, a.printed, strict=True)
        ),
        ranges_with_labels="\n".join(["ranges", *joins]),
        suppressed=comma("'*'" if len(a.printed) == 1 else "null, null" for a in attributes),
    )


def assigned(reading: Reading, columns: Columns, part: str | None) -> Cte:
    """The step from rows to groups."""
    same = [*(attribute.value for attribute in reading.attributes), *columns.seen]
    body = render(
        "steps/cluster/assigned.sql",
        rows=f"(select * from source where {PART}) as source" if part else "source",
        same=" and ".join(f"source.{column} is not distinct from encoded.{column}" for column in same),
    )
    return Cte("assigned", body, materialized=not reading.policy.kind.has_classes)  # then it is read twice
