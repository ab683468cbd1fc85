"""Datafly: generalize the attribute with the most values, again and again, and suppress the few rows that are left.

Sweeney: Achieving k-Anonymity Privacy Protection Using Generalization and Suppression, IJUFKS 2002: the core Datafly
algorithm.

Time O(h E d) for E distinct tuples with d attributes of h levels together, memory O(E d). Good at being simple: one
GROUP BY per step, for any number of columns. It takes a single path through the generalizations, so it may lose more
than `incognito` with the same suppression.

Decided where the paper is silent:
- Levels of numbers, and what is released: see `fulldomain`. Of attributes with as many values the first goes up.
- The paper suppresses up to k rows; `max_suppression` allows a share of all rows instead.
- Suppressed rows are released alike, so they must be k or none. The paper's complementary suppression brings them up to
  k: with rows of the largest class, the first of the largest ones, its lowest tuples first, if it can spare them.
  Otherwise, and where no suppression is allowed, generalization goes on.
- A class that breaks a model such as l is treated as one that is too small, and suppressed rows must keep it, too.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.loops.fulldomain import Lattice, Limits, Node, is_group, is_suppressible, suppressible
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Ints, Problem


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    max_suppression: float | None = None,
    limits: Limits = (),
) -> Groups:
    """Go up until the rest may be suppressed. Nothing is drawn at random."""
    problem.need_rows(k)
    legality.check_legal(problem)
    limit = k if max_suppression is None else suppressible(problem, k, max_suppression)
    lattice = Lattice(problem, limits)
    node, total = tuple(0 for _ in lattice.sizes), sum(lattice.top)
    while True:
        progress(sum(node), total)
        suppressed = _complete(lattice, node, lattice.too_small(node, k), k)
        if is_suppressible(problem, k, limit, suppressed):
            break
        node = _next(lattice, node)
    progress(total, total)
    return lattice.released(node, suppressed, {})


def _next(lattice: Lattice, node: Node) -> Node:
    """The generalization with the attribute of most values a level further up."""
    codes = [lattice.levels[j][level] for j, level in enumerate(node)]
    values = [np.count_nonzero(np.bincount(code[ranks])) for code, ranks in zip(codes, lattice.ranks, strict=True)]
    most = int(np.argmax(values))
    return *node[:most], node[most] + 1, *node[most + 1 :]


def _complete(lattice: Lattice, node: Node, suppressed: Ints, k: int) -> Ints:
    """Complementary suppression: fewer than k rows are filled up to k from the largest class, if it can spare them."""
    missing = k - int(suppressed.sum())
    if not 0 < missing < k:
        return suppressed
    of_class = lattice.classes(enumerate(node), lattice.ranks)
    kept = lattice.problem.counts - suppressed
    largest = np.flatnonzero(of_class == np.bincount(of_class, weights=kept).argmax())
    before = np.cumsum(kept[largest]) - kept[largest]
    taken = np.clip(missing - before, 0, kept[largest])
    left, one_class = kept[largest] - taken, np.zeros_like(largest)
    if not is_group(lattice.problem, k, largest, left, one_class)[0]:
        return suppressed
    filled = suppressed.copy()
    filled[largest] += taken
    return filled


METHOD = Method(
    name="datafly",
    paper="Sweeney: Achieving k-Anonymity Privacy Protection Using Generalization and Suppression, IJUFKS 2002",
    cost="O(h E d) time, O(E d) memory for E distinct tuples with d attributes of h levels together",
    use="every column at one level in all rows; fast, for any number of columns",
    cluster=cluster,
    is_diverse=True,
    suppresses=True,
    is_full_domain=True,
    block_size=None,
)
