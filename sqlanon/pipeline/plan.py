"""From a policy and what is known of its source to one SQL query that anonymizes, verifies and shuffles.

The planner reads no rows: types and hierarchies decide the text of the query, the query decides the rest while it
runs, in the caller's own transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlanon.families import DATE, TIMESTAMP
from sqlanon.pipeline.encode import Columns, Held, comma, encoding, kept_in, pseudonymized
from sqlanon.pipeline.guard import guard_sql
from sqlanon.pipeline.models import asked_of, required_of
from sqlanon.pipeline.printing import assigned, releasing
from sqlanon.pipeline.promises import Promise, promise_of
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import Cte, fold, literal, name, render, with_ctes
from sqlanon.udfs.request import Request


@dataclass(frozen=True)
class Plan:
    """A query that makes a release, as its steps and what it selects from them, the columns of the release, and what it
    promises.

    Where `hidden` columns are needed to prove or to recognize what is not released, the query has them too, after the
    others.
    """

    reading: Reading
    steps: tuple[Cte, ...]
    body: str
    columns: tuple[str, ...]
    hidden: tuple[str, ...]
    promise: Promise

    @property
    def sql(self) -> str:
        """The whole query."""
        return with_ctes(self.steps, self.body)

    @property
    def printed(self) -> tuple[str, ...]:
        """The columns of the release that make its classes."""
        return self.promise.printed

    @property
    def before_rows(self) -> tuple[Cte, ...]:
        """The steps before rows get their labels, which an engine may keep: it then plans fewer joins at once."""
        return self.steps[: [step.name for step in self.steps].index("released")]

    def kept_in(self, held: Held) -> Plan:
        """The same, with the rows of these steps read from where they are kept."""
        return replace(self, steps=tuple(kept_in(self.steps, held)))


def encode(reading: Reading, key: str | None = None) -> list[Cte]:
    """The first steps of the query: `source`, and those whose rows an engine may keep."""
    return encoding(reading, Columns.of(reading), pseudonymized(reading, key, None))


def plan(
    reading: Reading,
    run: str | None = None,
    key: str | None = None,
    part: str | None = None,
    held: Held | None = None,
    with_hidden: bool = False,
) -> Plan:
    """The query for a release of what is read.

    `run` names the run, for whoever wants the core's report, and `key` the key of pseudonyms. `part` is a boolean
    column, not among the source's own, that says which rows are released; the other rows only widen the domain that
    grids, ranges and levels are computed from. `held` says where the rows of the first steps are kept. `with_hidden`
    asks for the entity of each row even if it is not to be released.
    """
    policy = reading.policy
    columns = Columns.of(reading)
    promise = promise_of(reading, entity=columns.entity, is_encoded=True)
    watched = asked_of(policy, reading.sensitive)
    printing, every = releasing(reading, columns)
    shown = tuple(column for column in every if column not in columns.hidden)
    hidden = columns.hidden if with_hidden else ()
    ctes = [
        *encoding(reading, columns, pseudonymized(reading, key, part), part, held),
        Cte("guard", guard_sql(reading, columns, part)),
        Cte("clustered", _clustered_sql(reading, columns, run), materialized=True),
        Cte("deals", render("steps/cluster/deals.sql"), materialized=True),
        assigned(reading, columns, part),
        *printing,
        *promise.steps("released", watched),
    ]
    conditions = promise.conditions(policy, watched)
    release = _release_sql(reading, (*shown, *hidden), conditions, promise.proofs, len(watched))
    return Plan(reading, tuple(ctes), release, shown, hidden, promise)


def _clustered_sql(reading: Reading, columns: Columns, run: str | None) -> str:
    policy, attributes = reading.policy, reading.attributes
    return render(
        "steps/cluster/clustered.sql",
        request=literal(request_of(reading, run).json()),
        counted="people" if policy.kind.counts == "people" else "rows",
        ranks=comma(attribute.rank for attribute in attributes),
        codes=codes_sql(columns),
    )


def codes_sql(columns: Columns) -> str:
    """The codes of a tuple's sensitive values, as the core sees them."""
    trees = {tree.value: tree.rank for tree in columns.trees}
    return f"cast([{comma(trees.get(column, f'{column}_code') for column in columns.seen)}] as bigint[])"


def request_of(reading: Reading, run: str | None = None) -> Request:
    """What a core is asked to do for this reading."""
    policy = reading.policy
    watched = reading.sensitive if policy.sees_sensitive else ()
    distances = (
        one.attribute.number if one.attribute is not None and policy.t is not None else one.distance for one in watched
    )
    return Request(
        k=policy.k,
        kinds=tuple(attribute.kind for attribute in reading.attributes),
        weights=tuple(attribute.weight for attribute in reading.attributes),
        method=policy.method,
        parameters=dict(policy.parameters),
        seed=policy.seed,
        models=required_of(policy, reading.sensitive),
        recursive_c=policy.recursive_c,
        is_strict=policy.several == "strict",
        sensitive=tuple(one.column for one in watched),
        distances=tuple(distances),
        entity=policy.entity,
        is_linked=policy.linked,
        row_price=1.0 if policy.row_price is None else policy.row_price,
        row_order=_row_order(reading) if policy.linked else None,
        has_population=policy.population is not None,
        max_suppression=policy.max_suppression,
        refine=policy.refine,
        forming=policy.forming,
        block_size=policy.block_size,
        polish=policy.polish,
        limits=tuple(attribute.limits for attribute in reading.attributes) if policy.limits else (),
        names=tuple(attribute.column for attribute in reading.attributes) if policy.limits else (),
        run=run,
    )


def _row_order(reading: Reading) -> int | None:
    """The attribute that a person's rows are in order of: the one that is named, else the first date or timestamp."""
    asked = reading.policy.row_order
    for number, (column, attribute) in enumerate(zip(reading.policy.quasi, reading.attributes, strict=True)):
        if fold(column) == fold(asked) if asked is not None else attribute.family in (DATE, TIMESTAMP):
            return number
    return None


def _release_sql(
    reading: Reading, columns: Sequence[str], conditions: list[str], proofs: Sequence[str], watched: int
) -> str:
    # As bytes and back: the collation that texts were compared with stays behind.
    plain = {
        column: f"decode(encode(released.{name(column)})) as {name(column)}"
        for attribute in reading.attributes
        if attribute.collation
        for column in attribute.output
    }
    return render(
        "steps/prove/release.sql",
        columns=comma(plain.get(column, f"released.{name(column)}") for column in columns),
        proofs=comma([*proofs, *(f"model_{number}" for number in range(1, watched + 1))]),
        promise_holds="\n    ".join(["case", *conditions, "else true"]) + "\nend",
    )
