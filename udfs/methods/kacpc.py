"""KACPC: groups of k rows around centers that spread from the middle of the table to its edge.

Wang, He, Zhu: Improving Data Utilization of K-anonymity through Clustering Optimization, 2022: the distances
of section 3.2 and Algorithm 1 of section 4.

Time O(n E d / k) and memory O(E d) for n rows in E distinct tuples with d attributes, and a table of leaves ×
leaves for each hierarchy of up to 2,048 leaves. Good at groups of k rows and hardly ever more, and where
the answer must not depend on a seed; the larger k, the faster. Its distances of categories may exceed 100,
where numbers differ by 1 at most, so numbers break ties and do little else.

Decided where the paper is silent or says two things:
- The distance of categories is equations (4) and (5) as printed, with heights counted from the deepest leaf,
  which has 1: a leaf directly under the root of a tree of three levels has height 2.
- NULL is as far from a number as the two ends of the domain: 1. Attributes count by their weights.
- The next center is the row nearest to all centers so far, as in Algorithm 1; the text leaves out the first
  center.
- Ties: the lowest rank is the mode, the lowest tuple is the center or the nearest to it, and a row left over
  joins the first of the nearest centers. Tuples come sorted by rank, so the order of rows does not matter.
- The rows of a tuple may belong to several groups: apart from the center, its copies are rows like all others.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Ints, Problem
from sqlanon.udfs.space.gauges import Gauge, Table, gauge, record_distance

PAUSE = 100


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """Algorithm 1. Nothing is drawn at random."""
    problem.need_rows(k)
    gauges = [gauge(*pair) for pair in zip(problem.attributes, problem.weights.tolist(), strict=True)]
    table = Table(problem, gauges)
    total = problem.rows // k
    centres, taken = [], []
    for group in range(total):
        if group % PAUSE == 0:
            progress(group, total)
            table.compact()
        centre = table.next_centre() if group else table.first_centre()
        centres.append(table.tuple[centre])
        taken.append(table.take(centre, k))
    where = [np.full(len(tuples), group) for group, (tuples, _) in enumerate(taken)]
    taken.append(table.rest())
    where.append(_nearest_centre(problem, gauges, taken[-1][0], np.array(centres)))
    progress(total, total)
    tuples, rows = (np.concatenate(part) for part in zip(*taken, strict=True))
    return Groups.collect(tuples, np.concatenate(where), rows)


def _nearest_centre(problem: Problem, gauges: list[Gauge], tuples: Ints, centres: Ints) -> Ints:
    """The group whose center is nearest to each tuple."""
    ranks = problem.ranks[centres].T
    nearest = [record_distance(gauges, problem.ranks[t], ranks).argmin() for t in tuples]
    return np.array(nearest, dtype=np.int64)


METHOD = Method(
    name="kacpc",
    paper="Wang, He, Zhu: Improving Data Utilization of K-anonymity through Clustering Optimization, 2022",
    cost="O(n E d / k) time, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="groups of exactly k rows; does not depend on the seed; fast if k is large",
    cluster=cluster,
)
