"""Text without a hierarchy: what is said of a column that is released as *, and hierarchies that are drafted for it."""

from __future__ import annotations

import logging

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.hierarchies import create_hierarchy
from sqlanon.catalog.suggestions import described, suggest_for
from sqlanon.engine.frames import FRAME
from sqlanon.engine.sources import file_of, reading_flags
from sqlanon.errors import HierarchyError, call, in_words, option, reader
from sqlanon.families import TEXT, known_family
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, name, query_or_none
from sqlanon.wording import plural

log = logging.getLogger("sqlanon")
LOOKED_AT = 2000
"""How many values of a column are looked at to say what it looks like."""
SAID_OF = 3
"""A column of fewer values is not spoken of: no hierarchy would help."""
MOST = 3
"""So many columns are spoken of one by one, and the others together."""
TELLING = 0.5
"""A column is spoken of if more than this share of its rows is released as *."""


def use_suggestions(catalog: Catalog, source: Source, policy: Policy) -> None:
    """Draft a hierarchy for each text column that has none, and store it under the column's name. Only
    quasi-identifiers are looked at: groups that follow the sensitive values would tell about them."""
    known = catalog.hierarchies().by_name
    entity = None if policy.entity is None else source.resolve_names([policy.entity])[0]
    quasi = source.resolve_names(policy.quasi)
    for asked, column in zip(policy.quasi, quasi, strict=True):
        if asked in policy.hierarchies or fold(column) in known or not _is_text(source.types[column]):
            continue
        try:
            draft = suggest_for(catalog.con, source, column, entity, quasi)
        except HierarchyError as problem:
            log.warning("%s", problem)
            continue
        create_hierarchy(catalog.con, column, rows=draft.rows)
        log.warning("A suggested hierarchy is used for %s. %s", draft, _look(column))


def _look(column: str) -> str:
    """Where a drafted hierarchy can be seen: a command without a database has nowhere to store it."""
    if reader().name == "command line" and reader().database is None:
        return "Look at its groups before you use the release: sqlanon hierarchy suggest --quasi prints them"
    return f"It is stored as '{column}'. Look at its groups: {call('show_hierarchy', column, command='hierarchy show')}"


def warn_of_text(catalog: Catalog, reading: Reading, asked: str, released: str | None = None) -> None:
    """Say which text columns are released as * for want of a hierarchy, what they look like and what mends it. Before
    there is a release, those rows are counted that every release of the kind shows as *: with a value that fewer than
    k rows have."""
    if reading.policy.kind.prints_exact or reading.policy.represent != "closure":
        return
    if released is None and reading.policy.population is not None:  # whose people make a class of fewer rows
        return
    source = reading.source.relation
    told: list[str] = []
    for attribute in reading.attributes:
        if not _is_text(attribute.type):
            continue
        column = f"cast({name(attribute.column)} as varchar)"
        if attribute.hierarchy is None:
            counted = f"select count(*), count(*) filter ({column} = '*') from {released}"
            if released is None:
                counted = (
                    f"select sum(n), sum(n) filter (n < {reading.policy.k}) "
                    f"from (select count(*) as n from {source} group by {column})"
                )
            ((rows, stars),) = catalog.run(counted)
            if (stars or 0) > TELLING * (rows or 0):
                values = catalog.run(
                    f"select distinct {column} from {source} where {column} is not null limit {LOOKED_AT}"
                )
                if len(values) >= SAID_OF:
                    told.append(attribute.column)
                if len(values) >= SAID_OF and len(told) <= MOST:
                    _say(attribute.column, int(rows), int(stars), [value for (value,) in values], asked)
        ((meant,),) = catalog.run(f"select count(*) from {source} where {column} = '*'")
        if meant:
            log.warning(
                "Column '%s' of the source has the value '*' in %s rows. In a release * means anything: replace it, "
                "for example by NULL",
                attribute.column,
                f"{meant:,}",
            )
    if len(told) > MOST:
        use = f": {option('suggest')}" if reader().name != "sql" else ""
        log.warning(
            "So are %s: %s. Draft hierarchies for all of them%s",
            plural(len(told) - MOST, "more column"),
            ", ".join(told[MOST:]),
            use,
        )


def _is_text(type_name: str) -> bool:
    """Has a column of this type values that only a hierarchy can make coarser? True and false need none."""
    return known_family(type_name) is TEXT and type_name != "BOOLEAN"


def _say(column: str, rows: int, stars: int, values: list[str], asked: str) -> None:
    looks, can_be_drafted = described(column, values)
    log.warning(
        "Column '%s' is text without a hierarchy, and %s of %s rows have * there. It looks like %s%s",
        column,
        f"{stars:,}",
        f"{rows:,}",
        looks,
        _drafting(column, asked) if can_be_drafted else "",
    )


def _drafting(column: str, asked: str) -> str:
    """How a hierarchy is drafted for a column of the source that was asked for."""
    is_query = asked == FRAME or query_or_none(asked) is not None
    file = file_of(asked) if is_query else None
    place = f"{file or 'TABLE' if is_query else asked}.{column}"
    draft = call("suggest_hierarchy", place, command="hierarchy suggest").removesuffix(" --db FILE")
    if is_query:
        draft = in_words(
            python=f"sqlanon.suggest_hierarchy(con, {column!r}, source)",
            sql=draft,
            command=f"{draft}{reading_flags(asked)}" if file else "",
            page=draft,
        )
    uses = {
        "python": option("suggest"),
        "command line": "sqlanon anonymize --suggest",
        "policy file": option("suggest"),
    }
    use = uses.get(reader().name)
    if not draft:
        return f". Use a drafted hierarchy: {use}"
    return f". Draft a hierarchy: {draft}" + (f", or use one at once: {use}" if use else "")
