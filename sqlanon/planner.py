"""From a policy and what the catalog says of the source to one SQL query that anonymizes, verifies and shuffles.

The planner reads no rows: types and hierarchies decide the text of the query, the query decides the rest while it
runs, in the caller's own transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlanon.attributes import Attribute, Cte, encoded_sql, with_ctes
from sqlanon.errors import PolicyError
from sqlanon.measure import tuples_ctes
from sqlanon.models import Sensitive, asked_of
from sqlanon.policy import Policy
from sqlanon.promises import GROUP, Promise, listed_sql, promise_of
from sqlanon.sources import Source
from sqlanon.sqltext import fold, literal, name, render
from sqlanon.udfs.methods import METHODS

PART = "is_released"
"""The column of the query's own that says which rows are released, where not all are."""


@dataclass(frozen=True)
class Plan:
    """A query that makes a release, and the output columns that carry its quasi-identifiers."""

    sql: str
    whole: str | None
    """The same query with the entity of each row, where people are counted and it is not to be released."""
    policy: Policy
    source: Source
    attributes: tuple[Attribute, ...]
    columns: tuple[str, ...]
    promise: Promise

    @property
    def printed(self) -> tuple[str, ...]:
        """The columns of the release that make its classes."""
        return self.promise.printed


@dataclass(frozen=True)
class _Output:
    """One column of the release: its name, and where the query has it."""

    name: str
    expression: str


def plan(
    source: Source,
    policy: Policy,
    attributes: tuple[Attribute, ...],
    sensitive: tuple[Sensitive, ...] = (),
    run: str | None = None,
    key: str | None = None,
    part: str | None = None,
) -> Plan:
    """The query for this source under this policy. `run` names the run, for whoever wants the core's report, and `key`
    the key of pseudonyms. `part` is a boolean column, not among the source's own, that says which rows are released;
    the others only lend their values to what is printed: the grids, ranges and levels are those of the whole source."""
    others = source.spelt([*policy.sensitive, *policy.keep, *policy.unsafe_keep, *policy.pseudonymize])
    entity = source.spelt([policy.entity] if policy.entity is not None else [])
    hidden = [column for column in entity if column not in others]
    kept = {column: f"c{number}" for number, column in enumerate([*others, *hidden], 1)}
    trees = {each.column: each.attribute for each in sensitive if each.attribute is not None and policy.t is not None}
    kept |= {column: tree.value for column, tree in trees.items()}
    seen = [kept[each.column] for each in sensitive] if policy.sees_sensitive else []
    seen += [kept[column] for column in entity]
    promise = promise_of(policy, attributes, source, is_encoded=True, entity=entity[0] if entity else None)
    watched = asked_of(policy, sensitive)
    releasing, whole = _releasing(source, policy, attributes, kept)
    columns = tuple(column for column in whole if column not in hidden)
    conditions = promise.conditions(policy, watched)
    ctes = [
        *_encoding(_pseudonymized(source, policy, key, part), attributes, kept, seen, tuple(trees.values()), part),
        Cte("guard", _guard_sql(source, policy, attributes, kept, tuple(trees.values()), part)),
        Cte("clustered", _clustered_sql(policy, attributes, sensitive, seen, run), materialized=True),
        Cte("deals", render("pipeline/deals.sql"), materialized=True),
        _assigned(policy, attributes, kept, seen, part),
        *releasing,
        *promise.steps("released", watched),
    ]
    return Plan(
        sql=with_ctes(ctes, _release_sql(columns, conditions, len(watched))),
        whole=with_ctes(ctes, _release_sql(whole, conditions, len(watched))) if hidden else None,
        policy=policy,
        source=source,
        attributes=attributes,
        columns=columns,
        promise=promise,
    )


def plan_bound(source: Source, policy: Policy, attributes: tuple[Attribute, ...]) -> str:
    """The query for the lower bounds of what any release under this policy loses."""
    request = {
        "k": policy.k,
        "models": {},
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


def _pseudonymized(source: Source, policy: Policy, key: str | None, part: str | None) -> Source:
    """The source with keyed hashes in the place of what is to be pseudonymized: nothing later sees the values."""
    hidden = source.spelt(policy.pseudonymize)
    if not hidden:
        return source
    columns = (
        f"sqlanon_pseudonym({literal(key)}, cast({name(column)} as varchar)) as {name(column)}"
        if column in hidden
        else name(column)
        for column in (*source.columns, *([part] if part else []))
    )
    return replace(source, relation=f"(select {_comma(columns)} from {source.relation})")


def _encoding(
    source: Source,
    attributes: tuple[Attribute, ...],
    kept: dict[str, str],
    seen: list[str],
    trees: tuple[Attribute, ...] = (),
    part: str | None = None,
) -> list[Cte]:
    """The steps from the source to tuples of ranks, the sensitive columns' among them that are trees to the core."""
    columns = _comma([*(a.value for a in attributes), *seen])
    coded = [column for column in seen if column not in {tree.value for tree in trees}]
    every = (*attributes, *trees)
    return [
        Cte("source", _source_sql(source, attributes, kept, part), materialized=True),
        *tuples_ctes(source, attributes, columns, part and PART),
        *(cte for attribute in every for cte in attribute.ctes),
        Cte("nodes", "\nunion all\n".join(f"select * from {a.nodes}" for a in every), materialized=True),
        Cte("encoded", encoded_sql(every, coded, is_part=part is not None), materialized=True),
    ]


def _comma(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _comma_as(outputs: list[_Output]) -> str:
    return ",\n    ".join(f"{output.expression} as {name(output.name)}" for output in outputs)


def _releasing(
    source: Source, policy: Policy, attributes: tuple[Attribute, ...], kept: dict[str, str]
) -> tuple[list[Cte], tuple[str, ...]]:
    """The steps from rows with groups to `released`, and its columns."""
    if METHODS[policy.method].is_exact:
        (sensitive,) = source.spelt(policy.sensitive)
        if fold(sensitive) == "rows":
            raise PolicyError(f"{policy.method} counts in a column called 'rows': rename '{sensitive}' in the source")
        exact = {attribute.column: [(attribute.column, f"assigned.{attribute.value}")] for attribute in attributes}
        outputs = _outputs(source, exact | {sensitive: [(sensitive, "listed.counts")]}, kept)
        outputs.append(_Output(GROUP, f"assigned.{GROUP}"))
        listed = listed_sql("assigned", GROUP, kept[sensitive], "count(*)")
        steps = [Cte("listed", listed, materialized=True)]
        file = "pipeline/released_exact.sql"
    else:
        labels = {
            a.column: [(out, f"printed.{column}") for out, column in zip(a.output, a.printed, strict=True)]
            for a in attributes
        }
        outputs = _outputs(source, labels, kept)
        steps = _printing(policy, attributes)
        file = "pipeline/released.sql"
    _refuse_twice(policy, outputs)
    steps.append(Cte("released", render(file, columns=_comma_as(outputs)), materialized=True))
    return steps, tuple(output.name for output in outputs)


def _outputs(source: Source, printed: Mapping[str, Sequence[tuple[str, str]]], kept: dict[str, str]) -> list[_Output]:
    """The release's columns in the source's order: names and expressions of those that are printed, others as kept."""
    outputs: list[_Output] = []
    for column in source.columns:
        if column in printed:
            outputs += [_Output(*each) for each in printed[column]]
        elif column in kept:
            outputs.append(_Output(column, f"assigned.{kept[column]}"))
    return outputs


def _refuse_twice(policy: Policy, outputs: list[_Output]) -> None:
    seen: set[str] = set()
    for output in outputs:
        if fold(output.name) in seen:
            what = policy.method if METHODS[policy.method].is_exact else "ranges = 'columns'"
            raise PolicyError(f"{what} would print two columns called '{output.name}'; rename one in the source")
        seen.add(fold(output.name))


def _source_sql(source: Source, attributes: tuple[Attribute, ...], kept: dict[str, str], part: str | None) -> str:
    columns = [f"{a.read} as {a.value}" for a in attributes]
    columns += [f"{name(column)} as {internal}" for column, internal in kept.items()]
    columns += [f"{name(part)} as {PART}"] if part else []
    return f"select\n    {', '.join(columns)}\nfrom {source.relation}"


def _guard_sql(
    source: Source,
    policy: Policy,
    attributes: tuple[Attribute, ...],
    kept: dict[str, str],
    trees: tuple[Attribute, ...] = (),
    part: str | None = None,
) -> str:
    """Each condition counts what is wrong and says it in words."""
    conditions, counts = [], []
    for attribute in (*attributes, *trees):
        for problem, (count, condition, message) in enumerate(attribute.guards(source.shown)):
            if problem == 0 and (attribute in trees or part):
                continue  # it may hold nothing but NULL
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
    if policy.entity is not None:
        (column,) = source.spelt([policy.entity])
        uniques.append(f"count(*) - count({kept[column]}) as nobody")
        message = literal(f"Entity '{column}' is NULL in some rows, so they cannot be counted: leave them out.")
        conditions.append(f"when nobody > 0 then {message}")
    if METHODS[policy.method].is_exact:
        (column,) = source.spelt(policy.sensitive)
        uniques.append(f"count(*) - count({kept[column]}) as unlisted")
        message = literal(
            f"Column '{column}' holds NULL, which cannot be listed: name it in the source, "
            f"coalesce({column}, 'unknown')."
        )
        conditions.append(f"when unlisted > 0 then {message}")
    return render(
        "pipeline/guard.sql",
        k=str(policy.k),
        counted="people" if source.population is not None else "rows",
        people="population" if source.population is not None else "source",
        conditions="\n    ".join(conditions),
        counts=_comma(counts),
        uniques=_comma(uniques),
    )


def _clustered_sql(
    policy: Policy,
    attributes: tuple[Attribute, ...],
    sensitive: tuple[Sensitive, ...],
    seen: list[str],
    run: str | None,
) -> str:
    trees = {each.attribute.value: each.attribute for each in sensitive if each.attribute is not None}
    watched = sensitive if policy.sees_sensitive else ()
    request = {
        "method": policy.method,
        "k": policy.k,
        "models": policy.models,
        "recursive_c": policy.recursive_c,
        "is_strict": policy.several == "strict",
        "sensitive": [each.column for each in watched],
        "entity": policy.entity,
        "distances": [
            each.attribute.number if each.attribute and policy.t is not None else each.distance for each in watched
        ],
        "seed": policy.seed,
        "has_population": policy.population is not None,
        "max_suppression": policy.max_suppression,
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
        counted="people" if policy.population is not None else "rows",
        ranks=_comma(attribute.rank for attribute in attributes),
        codes=f"cast([{_comma(trees[c].rank if c in trees else f'{c}_code' for c in seen)}] as bigint[])",
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


def _assigned(
    policy: Policy, attributes: tuple[Attribute, ...], kept: dict[str, str], seen: list[str], part: str | None
) -> Cte:
    same = [*(attribute.value for attribute in attributes), *seen]
    rows = f"(select * from source where {PART}) as source" if part else "source"
    order = _comma(f"source.{internal}" for internal in kept.values()) or "encoded.tuple"
    in_secret = METHODS[policy.method].draws_in_secret
    if in_secret:
        any_column = attributes[0].value
        shuffled = f"select *, sqlanon_shuffle(cast(hash({any_column}) >> 1 as bigint)) as turn from source"
        rows, order = f"({shuffled}) as source", "source.turn"
    body = render(
        "pipeline/assigned.sql",
        rows=rows,
        order=order,
        same=" and ".join(f"source.{column} is not distinct from encoded.{column}" for column in same),
    )
    return Cte("assigned", body, materialized=in_secret)


def _release_sql(columns: Sequence[str], conditions: list[str], watched: int) -> str:
    return render(
        "pipeline/release.sql",
        columns=_comma(f"released.{name(column)}" for column in columns),
        models="".join(f", model_{number}" for number in range(1, watched + 1)),
        conditions="\n    ".join(conditions),
    )
