"""IKAC: groups of k rows around centers that are as far as can be from all centers so far.

Zheng, Wang, Lv, Ma, Jia: K-Anonymity Algorithm Based on Improved Clustering, ICA3PP 2018, as Wang et al. 2022 describe
it (sections 2, 4.1 and 5).

Time O(n E d / k) and memory O(E d) for n rows in E distinct tuples with d attributes. Its groups begin at the edge of
the table and end in the middle, with what others have left: `kacpc` is the same the other way round, and loses less.

Decided where Wang et al. 2022 is silent:
- Categories differ by the share of leaves under their common node, numbers by their share of the domain: both are the
  NCP of the two together.
- The first center is the tuple of a row drawn at random. It takes its k - 1 nearest rows, as Wang et al. 2022 say that
  k records are gathered at a time.
- Rows left over join, in order, the group whose total loss they raise least.
- Ties go to the lowest tuple and the first group. The rows of a tuple may belong to several groups.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.loops.greedy import Part, Rows, deal_out, gathered, pair_gauge, reaches
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Problem


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """Gather k rows around each center."""
    problem.need_rows(k)
    table = Rows(problem, [pair_gauge(losses) for losses in reaches(problem)])
    parts: list[Part] = []
    for _ in table.turns(k, progress):
        centre = table.farthest(table.summed) if parts else table.draw(rng)
        parts.append(table.take(centre, k))
    left = np.repeat(*table.rest())
    return deal_out(problem, gathered(parts), left, np.ones_like(left))


METHOD = Method(
    name="ikac",
    paper="Zheng, Wang, Lv, Ma, Jia: K-Anonymity Algorithm Based on Improved Clustering, ICA3PP 2018",
    cost="O(n E d / k) time, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="comparison with kacpc, which loses less",
    cluster=cluster,
)
