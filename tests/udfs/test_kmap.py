"""k-map: counting the people inside boxes, and company that stays away, as the obvious slow versions do."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import generators, solvable
from sweeping import examples

from sqlanon.udfs.after.suppress import GAIN
from sqlanon.udfs.after.trim import trim
from sqlanon.udfs.evaluate.population import fewest_inside
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import LEFT_OUT, Groups, Problem


@settings(max_examples=examples(100), deadline=None)
@given(case=solvable, rng=generators)
def test_people_inside_boxes_are_counted_one_by_one(case, rng):
    problem, _ = case
    ends = problem.ranks[rng.integers(len(problem.ranks), size=(4, 2))]
    lo, hi = ends.min(axis=1), ends.max(axis=1)
    inside = [
        sum(
            int(rows)
            for ranks, rows in zip(problem.ranks, problem.counts, strict=True)
            if (low <= ranks).all() and (ranks <= high).all()
        )
        for low, high in zip(lo, hi, strict=True)
    ]
    assert fewest_inside(lo, hi, np.ones(4), problem.ranks, problem.counts) == min(inside)
    assert fewest_inside(lo[:0], hi[:0], np.ones(0), problem.ranks, problem.counts) == 0


@settings(max_examples=examples(150), deadline=None)
@given(case=solvable, rng=generators, share=st.sampled_from([0.1, 0.3, 0.7]))
def test_the_same_company_stays_away_as_in_the_slow_version(case, rng, share):
    problem, k = case
    core = METHODS["mondrian"]
    groups = core.cluster(problem, k, rng, lambda *done, **facts: None, **core.check({}))
    released = np.where(rng.random(len(problem.counts)) < share, 1, 0)
    found = trim(problem, groups, k, released)
    slow = slowly(problem, groups, k, released)
    fast = [found.tuple[found.group == each].tolist() for each in range(int(found.group.max(initial=-1)) + 1)]
    assert sorted(map(sorted, fast)) == sorted(map(sorted, slow))
    assert released[found.tuple[found.group == LEFT_OUT]].sum() == 0
    assert np.bincount(found.tuple, found.rows, len(problem.counts)).tolist() == problem.counts.tolist()


def slowly(problem: Problem, groups: Groups, k: int, released: np.ndarray) -> list[list[int]]:
    """One group after the other: what saves most leaves, again and again."""
    parts = []
    for number in np.unique(groups.group).tolist():
        inside = groups.group == number
        rows = dict(zip(groups.tuple[inside].tolist(), groups.rows[inside].tolist(), strict=True))

        def loss(tuples):
            ranks = problem.ranks[list(tuples)]
            return float(problem.loss(ranks.min(axis=0), ranks.max(axis=0)))

        while True:
            offers = [
                (-round((loss(rows) - loss(rest)) / rows[one], 9), one, loss(rows) - loss(rest))
                for one in rows
                if not released[one] and (rest := [other for other in rows if other != one])
                if sum(rows.values()) - rows[one] >= k
            ]
            if not offers or min(offers)[2] / rows[min(offers)[1]] <= GAIN:
                break
            del rows[min(offers)[1]]
        if any(released[one] for one in rows):
            parts.append(list(rows))
    return parts
