"""From a policy and what the catalog says of the source to one SQL query that anonymizes, verifies and shuffles.

The planner reads no rows: types and hierarchies decide the text of the query, the query decides the rest while it
runs, in the caller's own transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import comma, encoding, pseudonymized
from sqlanon.pipeline.guard import guard_sql
from sqlanon.pipeline.models import Sensitive, asked_of
from sqlanon.pipeline.printing import assigned, releasing
from sqlanon.pipeline.promises import Promise, promise_of
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import Cte, literal, name, render, with_ctes


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
    printing, whole = releasing(source, policy, attributes, kept)
    columns = tuple(column for column in whole if column not in hidden)
    conditions = promise.conditions(policy, watched)
    ctes = [
        *encoding(pseudonymized(source, policy, key, part), attributes, kept, seen, tuple(trees.values()), part),
        Cte("guard", guard_sql(source, policy, attributes, kept, tuple(trees.values()), part)),
        Cte("clustered", _clustered_sql(policy, attributes, sensitive, seen, run), materialized=True),
        Cte("deals", render("pipeline/deals.sql"), materialized=True),
        assigned(policy, attributes, kept, seen, part),
        *printing,
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
        ranks=comma(attribute.rank for attribute in attributes),
        codes=f"cast([{comma(trees[c].rank if c in trees else f'{c}_code' for c in seen)}] as bigint[])",
    )


def _release_sql(columns: Sequence[str], conditions: list[str], watched: int) -> str:
    return render(
        "pipeline/release.sql",
        columns=comma(f"released.{name(column)}" for column in columns),
        models="".join(f", model_{number}" for number in range(1, watched + 1)),
        conditions="\n    ".join(conditions),
    )
