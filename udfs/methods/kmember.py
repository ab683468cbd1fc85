"""k-member: from the far side of the table, k rows that widen their group least, and then to the other side.

Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using Clustering Techniques, DASFAA 2007: the greedy k-member
algorithm, as it is commonly described; the paper itself was not available. Goldberger & Tassa 2010 (section 6.2.1) and
Wang et al. 2022 (section 4.1) compare with it.

Time O(n E d) and memory O(E d) for n rows in E distinct tuples with d attributes: in practice a pass over the tuples
for each time a group grows wider, as rows within its closure are taken together. Good at low loss with groups of k
rows and hardly ever more.

Decided:
- The loss is NCP. Its own is said to be the same for numbers, and the height of the common node for categories.
- The next group begins with the row farthest from the one added last. Wang et al. 2022 say: farthest from the last
  group's center.
- Rows are added by what they cost the group as it is by then. Goldberger & Tassa 2010 take the k - 1 nearest to the
  first row.
- Ties: the lowest tuple, and the first of the groups that a row left over may join. Rows left over come in random
  order.
- The rows of a tuple may belong to several groups.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.loops.greedy import Fillings, deal_out, gathered
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Problem


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """Greedy k-member clustering."""
    problem.need_rows(k)
    table, parts = Fillings(problem), []
    last = table.draw(rng)
    for _ in table.turns(k, progress):
        seed = table.farthest(table.distance(problem.ranks[last]))
        parts.append(table.fill(seed, k))
        last = int(parts[-1][0][-1])
    left = rng.permutation(np.repeat(*table.rest()))
    return deal_out(problem, gathered(parts), left, np.ones_like(left))


METHOD = Method(
    name="kmember",
    paper="Byun, Kamra, Bertino, Li: Efficient k-Anonymization Using Clustering Techniques, DASFAA 2007",
    cost="O(n E d) time, O(E d) memory for n rows in E distinct tuples with d attributes",
    use="low loss with groups of just k rows, on tables of moderate size",
    cluster=cluster,
)
