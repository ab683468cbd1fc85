"""GAA-CP: a random tuple and the tuples that widen its group least, until there are k rows.

Jiang, Zeng, Ma: Clustering-Anonymity Method for Privacy Preservation of Table Data-Publishing, Journal of Software 28
(2), 2017, in Chinese; the greedy algorithm based on clustering partition, with which Wang et al. 2022 compare.

Time O(E² d) and memory O(E d) for E distinct tuples with d attributes. Good at tables in which many rows already have
k equals: tuples stay whole, and a tuple of k rows with which a group begins is released unchanged.

Known from its abstract and from Wang et al. 2022: groups are begun one after the other; the tuple with the smallest
distance to the group, which is the loss of generalizing both, is added next; groups have k rows or just over; several
rows are gathered at once; the beginning is random. Inferred from that:
- Rows that are alike are what is gathered at once, so tuples stay whole and a group ends with more than k rows where
  its last tuple has several.
- Every group begins with the tuple of a row drawn at random.
- Fewer than k rows left in the end join, tuple by tuple in order, the group whose total loss they raise least.
- The loss is NCP, and ties go to the lowest tuple and the first group.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.loops.greedy import Fillings, deal_out, gathered
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Problem


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """Fill one group after the other from a random tuple."""
    problem.need_rows(k)
    table, parts = Fillings(problem), []
    for _ in table.turns(k, progress):
        parts.append(table.fill(table.draw(rng), k, is_whole=True))
    return deal_out(problem, gathered(parts), *table.rest())


METHOD = Method(
    name="gaacp",
    paper="Jiang, Zeng, Ma: Clustering-Anonymity Method for Privacy Preservation of Table Data-Publishing, 2017",
    cost="O(E² d) time, O(E d) memory for E distinct tuples with d attributes",
    use="many frequent tuples, which stay whole",
    cluster=cluster,
)
