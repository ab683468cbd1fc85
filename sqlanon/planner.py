"""From a policy and what the catalog says of the source to one SQL query that anonymizes, verifies and shuffles.

The planner reads no rows: types and hierarchies decide the text of the query, the query decides the rest while it
runs, in the caller's own transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlanon.attributes import Attribute, Cte
from sqlanon.errors import PolicyError
from sqlanon.policy import Policy
from sqlanon.sources import Source
from sqlanon.sqltext import fold, literal, name, names, render


@dataclass(frozen=True)
class Plan:
    """A query that makes a release, and the output columns that carry its quasi-identifiers."""

    sql: str
    policy: Policy
    source: Source
    attributes: tuple[Attribute, ...]
    columns: tuple[str, ...]

    @property
    def printed(self) -> tuple[str, ...]:
        """The columns of the release that make its classes."""
        return tuple(column for attribute in self.attributes for column in attribute.output)


@dataclass(frozen=True)
class _Output:
    """One column of the release: its name, and where the query has it."""

    name: str
    expression: str


def plan(source: Source, policy: Policy, attributes: tuple[Attribute, ...], run: str | None = None) -> Plan:
    """The query for this source under this policy. `run` names the run, for whoever wants the core's report."""
    kept = {
        column: f"c{number}"
        for number, column in enumerate(source.spelt([*policy.sensitive, *policy.keep, *policy.unsafe_keep]), 1)
    }
    sensitive = source.spelt(policy.sensitive)
    seen = [kept[column] for column in sensitive] if policy.sees_sensitive else []
    outputs = _outputs(source, attributes, kept)
    printed = [column for attribute in attributes for column in attribute.output]
    diverse = list(enumerate(sensitive, 1)) if policy.l is not None else []
    ctes = [
        *_encoding(source, attributes, kept, seen),
        Cte("guard", _guard_sql(source, policy, attributes, kept)),
        Cte("clustered", _clustered_sql(policy, attributes, seen, run), materialized=True),
        Cte("deals", render("pipeline/deals.sql"), materialized=True),
        *_printing(policy, attributes),
        Cte("assigned", _assigned_sql(attributes, kept, seen)),
        Cte("released", render("pipeline/released.sql", columns=_comma_as(outputs)), materialized=True),
        Cte("proof", proof_sql("released", printed)),
        *(Cte(f"diversity_{number}", diversity_sql("released", printed, column)) for number, column in diverse),
    ]
    return Plan(
        sql=with_ctes(ctes, _release_sql(policy, diverse)),
        policy=policy,
        source=source,
        attributes=attributes,
        columns=tuple(output.name for output in outputs),
    )


def plan_bound(source: Source, policy: Policy, attributes: tuple[Attribute, ...]) -> str:
    """The query for the lower bounds of what any release under this policy loses."""
    request = {
        "k": policy.k,
        "l": None,
        "kinds": [attribute.kind for attribute in attributes],
        "weights": [attribute.weight for attribute in attributes],
    }
    ctes = [
        *_encoding(source, attributes, {}, []),
        Cte("guard", _guard_sql(source, policy, attributes, {})),
        Cte(
            "bounded",
            render(
                "metrics/bounded.sql",
                request=literal(json.dumps(request)),
                ranks=_comma(attribute.rank for attribute in attributes),
            ),
            materialized=True,
        ),
    ]
    rows = " union all ".join(
        f"select {literal(bound)} as bound, answer.{bound} as gcp from bounded where "
        "case when answer.error is null then true else error(answer.error) end"
        for bound in ("pair", "box", "gcp")
    )
    return with_ctes(ctes, rows)


def _encoding(source: Source, attributes: tuple[Attribute, ...], kept: dict[str, str], seen: list[str]) -> list[Cte]:
    """The steps from the source to tuples of ranks."""
    columns = _comma([*(a.value for a in attributes), *seen])
    return [
        Cte("source", _source_sql(source, attributes, kept), materialized=True),
        Cte("tuples", render("pipeline/tuples.sql", columns=columns), materialized=True),
        *(cte for attribute in attributes for cte in attribute.ctes),
        Cte("nodes", "\nunion all\n".join(f"select * from {a.nodes}" for a in attributes), materialized=True),
        Cte("encoded", encoded_sql(attributes, seen), materialized=True),
    ]


def with_ctes(ctes: list[Cte], body: str) -> str:
    """A query that reads top to bottom."""
    return "with " + ",\n".join(cte.sql for cte in ctes) + "\n" + body


def proof_sql(released: str, printed: Sequence[str]) -> str:
    """The query that counts the printed classes."""
    return render("pipeline/proof.sql", released=released, printed=names(printed))


def diversity_sql(released: str, printed: Sequence[str], sensitive: str) -> str:
    """The query that measures the l-diversity of the printed classes in one sensitive column."""
    return render("pipeline/diversity.sql", released=released, printed=names(printed), sensitive=name(sensitive))


def _comma(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _comma_as(outputs: list[_Output]) -> str:
    return ",\n    ".join(f"{output.expression} as {name(output.name)}" for output in outputs)


def _outputs(source: Source, attributes: tuple[Attribute, ...], kept: dict[str, str]) -> list[_Output]:
    """The release's columns in the source's order."""
    by_column = {attribute.column: attribute for attribute in attributes}
    outputs: list[_Output] = []
    for column in source.columns:
        if attribute := by_column.get(column):
            outputs += [
                _Output(printed, f"printed.{internal}")
                for printed, internal in zip(attribute.output, attribute.printed, strict=True)
            ]
        elif column in kept:
            outputs.append(_Output(column, f"assigned.{kept[column]}"))
    seen: set[str] = set()
    for output in outputs:
        if fold(output.name) in seen:
            raise PolicyError(
                f"ranges = 'columns' would print two columns called '{output.name}'; rename one in the source"
            )
        seen.add(fold(output.name))
    return outputs


def _source_sql(source: Source, attributes: tuple[Attribute, ...], kept: dict[str, str]) -> str:
    columns = [f"{a.read} as {a.value}" for a in attributes]
    columns += [f"{name(column)} as {internal}" for column, internal in kept.items()]
    return f"select\n    {', '.join(columns)}\nfrom {source.relation}"


def encoded_sql(attributes: tuple[Attribute, ...], seen: Sequence[str] = ()) -> str:
    """The distinct tuples as ranks, and as codes of the sensitive values that the core sees."""
    ranks = [f"{a.domain}.rank" for a in attributes]
    codes = [f"dense_rank() over (order by tuples.{column}) - 1 as {column}_code" for column in seen]
    return render(
        "pipeline/encoded.sql",
        order=_comma([*ranks, *(f"tuples.{column}" for column in seen)]),
        columns=_comma([*(f"{rank} as {a.rank}" for rank, a in zip(ranks, attributes, strict=True)), *codes]),
        joins="\n".join(
            f"left join {a.domain} on {a.domain}.value is not distinct from {a.key('tuples.' + a.value)}"
            for a in attributes
        ),
    )


def _guard_sql(source: Source, policy: Policy, attributes: tuple[Attribute, ...], kept: dict[str, str]) -> str:
    """Each condition counts what is wrong and says it in words."""
    conditions, counts = [], []
    for attribute in attributes:
        for problem, (count, condition, message) in enumerate(attribute.guards(source.shown)):
            column = f"{attribute.value}_{problem}"
            counts.append(f"{count} as {column}")
            conditions.append(f"when {column}{condition} then {message.replace('{count}', column)}")
    uniques = ["count(*) as total"]
    for column in source.spelt(policy.keep):
        distinct = f"{kept[column]}_distinct"
        uniques.append(f"count(distinct {kept[column]}) as {distinct}")
        message = literal(
            f"Kept column '{column}' is nearly unique, so it identifies people: leave it out, "
            f"or name it in unsafe_keep if that is meant."
        )
        conditions.append(f"when 2 * {distinct} > total then {message}")
    return render(
        "pipeline/guard.sql",
        k=str(policy.k),
        conditions="\n    ".join(conditions),
        counts=_comma(counts),
        uniques=_comma(uniques),
    )


def _clustered_sql(policy: Policy, attributes: tuple[Attribute, ...], seen: list[str], run: str | None) -> str:
    request = {
        "method": policy.method,
        "k": policy.k,
        "l": policy.l,
        "seed": policy.seed,
        "refine": policy.refine,
        "block_size": policy.block_size,
        "parameters": dict(policy.parameters),
        "kinds": [attribute.kind for attribute in attributes],
        "weights": [attribute.weight for attribute in attributes],
        "run": run,
    }
    return render(
        "pipeline/clustered.sql",
        request=literal(json.dumps(request)),
        ranks=_comma(attribute.rank for attribute in attributes),
        codes=f"cast([{_comma(f'{column}_code' for column in seen)}] as bigint[])",
    )


def _printing(policy: Policy, attributes: tuple[Attribute, ...]) -> list[Cte]:
    """What is printed for each group: the closure of its values, or their centre."""
    if policy.represent == "center":
        joins = [f"left join {a.centers} on {a.centers}.group_id = groups.group_id" for a in attributes]
        fragments = {
            "centers": _comma(f"{a.centers}.center as {a.printed[0]}" for a in attributes),
            "joins": "\n".join(joins),
            "suppressed": _comma("null" if a.is_range else "'*'" for a in attributes),
        }
        return [
            Cte("members", render("pipeline/members.sql"), materialized=True),
            *(Cte(attribute.centers, attribute.centers_sql) for attribute in attributes),
            Cte("printed", render("pipeline/printed_centers.sql", **fragments)),
        ]
    bounds = [f"entry.lo[{j}] as {a.lo}, entry.hi[{j}] as {a.hi}" for j, a in enumerate(attributes, 1)]
    return [
        Cte("ranges", render("pipeline/ranges.sql", bounds=_comma(bounds)), materialized=True),
        *(Cte(attribute.labels, attribute.labels_sql) for attribute in attributes),
        Cte("printed", _printed_sql(attributes)),
    ]


def _printed_sql(attributes: tuple[Attribute, ...]) -> str:
    return render(
        "pipeline/printed.sql",
        labels=_comma(
            f"{a.labels}.{column} as {internal}"
            for a in attributes
            for column, internal in zip(a.label_columns, a.printed, strict=True)
        ),
        joins="\n".join(
            f"join {a.labels} on {a.labels}.lo = ranges.{a.lo} and {a.labels}.hi = ranges.{a.hi}" for a in attributes
        ),
        suppressed=_comma("'*'" if len(a.printed) == 1 else "null, null" for a in attributes),
    )


def _assigned_sql(attributes: tuple[Attribute, ...], kept: dict[str, str], seen: list[str]) -> str:
    same = [*(attribute.value for attribute in attributes), *seen]
    return render(
        "pipeline/assigned.sql",
        order=_comma(f"source.{internal}" for internal in kept.values()) or "encoded.tuple",
        same=" and ".join(f"source.{column} is not distinct from encoded.{column}" for column in same),
    )


def _release_sql(policy: Policy, diverse: list[tuple[int, str]]) -> str:
    conditions = [
        f"when diversity_{number}.l < {policy.l} - 1e-9 then error({literal('A printed class is only ')} || "
        f"diversity_{number}.l || {literal(f'-diverse in {column}, l is {policy.l:g}: nothing is released.')})"
        for number, column in diverse
    ]
    return render(
        "pipeline/release.sql",
        k=str(policy.k),
        diversities="".join(f", diversity_{number}" for number, _ in diverse),
        conditions="\n    ".join(conditions),
    )
