"""A query carries the steps that it reads, and no others: DuckDB would parse and bind them each time."""

import pytest

from sqlanon.sqltext import Cte, with_ctes

SOURCE = Cte("source", "from people")


@pytest.mark.parametrize(
    "query",
    [
        "-- A row of the source.\nselect 1",
        "select 'source' as what",
        'select 1 as "source"',
        "select 1  -- not the source's",
        "select ' -- ', '''', 1 as \"source's\"",
    ],
)
def test_comments_literals_and_quoted_names_read_no_step(query: str) -> None:
    assert with_ctes([SOURCE], query) == query


@pytest.mark.parametrize(
    "query",
    [
        "select 1 from source",
        "-- It's 'one' row.\nselect 1 from source",
        "select ' -- ' from source",
        "select '''' from source",
        'select "a\n-- b" from source',
        'select "it\'s ""--" from source',
        "select 1 /* it's */ from source",
        "select e'it\\'s' from source",
        "select $$it's$$ from source",
        "select $tag$it's$tag$ from source",
    ],
)
def test_whatever_stands_before_it_a_step_is_found(query: str) -> None:
    assert with_ctes([SOURCE], query) == f"with source as (\nfrom people\n)\n{query}"


def test_steps_that_a_step_reads_come_first() -> None:
    steps = [SOURCE, Cte("unread", "from source"), Cte("tuples", "-- unread\nfrom source")]
    assert with_ctes(steps, "from tuples") == (
        "with source as (\nfrom people\n),\ntuples as (\n-- unread\nfrom source\n)\nfrom tuples"
    )
