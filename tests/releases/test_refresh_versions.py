"""Whoever compares the versions of a view finds everybody among k."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from databases import Databases
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import Row, rows
from refreshed import add, make, remove
from sweeping import examples

import sqlanon
from sqlanon.errors import DataError

PEOPLE = st.tuples(
    st.one_of(st.none(), st.integers(20, 26)), st.sampled_from(["a", "b"]), st.sampled_from(["flu", "gout", "cold"])
)


STEPS = st.lists(st.tuples(st.lists(PEOPLE, max_size=9), st.lists(st.integers(0, 99), max_size=9)), max_size=4)


def tell(old: Counter[Row], new: Counter[Row]) -> Iterator[list[str]]:
    """What a comparison of two versions shows of each class: who came and who went, by their illnesses."""
    for difference in (new - old, old - new):
        for labels in {label for label, _ in difference}:
            yield [illness for label, illness in difference.elements() if label == labels]


@settings(max_examples=examples(12), deadline=None)
@given(
    people=st.lists(PEOPLE, min_size=6, max_size=16),
    steps=STEPS,
    method=st.sampled_from(["mondrian", "kacpc", "datafly"]),
    ranges=st.sampled_from(["text", "columns", "snapped"]),
    l=st.sampled_from([None, 1.5]),
)
def test_whoever_compares_any_two_versions_finds_everybody_among_k(
    databases: Databases,
    people: list[Row],
    steps: list[tuple[list[Row], list[int]]],
    method: str,
    ranges: str,
    l: float | None,  # noqa: E741
) -> None:
    with databases.lent() as con:
        con.execute("create table people (age integer, zip varchar, illness varchar)")
        there = list(people)
        add(con, there)
        options = {} if l is None else {"l": l}
        try:
            make(con, method=method, ranges=ranges, **options)
        except DataError:
            return  # not even all together keep l, or a column holds nothing
        printed = sqlanon.open_release(con, "pub").printed
        columns = " || '|' || ".join(f"coalesce(cast({column} as varchar), '-')" for column in printed)
        shown = f"select {columns}, illness from pub"
        versions = [Counter(rows(con, shown))]
        for come, leave in steps:
            add(con, come)
            there += come
            for number in leave:
                if there:
                    remove(con, there.pop(number % len(there)))
            try:
                version = sqlanon.refresh(con, "pub")
            except DataError as problem:
                if "Nobody in 'pub' is still" in str(problem):
                    return
                raise
            versions.append(Counter(rows(con, shown)))
            for group in tell(versions[-2], versions[-1]):
                assert len(group) >= 3
                most = Counter(group).most_common(1)[0][1]
                assert l is None or most * l <= len(group)
            assert version.rows == versions[-1].total() == len(there) - version.held_new + version.held_deleted
            proof = sqlanon.open_release(con, "pub").verify()
            assert proof.k >= 3
            assert l is None or proof.models["l"]["illness"] >= l
            if not version.withdrawn:
                assert not versions[-2] - versions[-1]
