"""Sequential clustering: rows move, one at a time, to the cluster where they cost least.

Goldberger, Tassa: Efficient Anonymizations with Enhanced Utility, Transactions on Data Privacy 2010: Algorithm 1 of
section 6.3 and, where l is required, Algorithms 2 and 3 of section 7. The measures are in costs.py.

Time O(E n d / k) for each pass, of which most is left out (loops/sweep.py says how), and memory O(n d) for n rows in E
distinct tuples with d attributes; if the cost looks at sensitive values, times their number. Good at low loss, by
whatever measure is asked for, and at keeping l as it goes: on Adult with k = 10 and l = 1.2 for salary-class GCP is
0.30, and 0.52 where the groups for k alone are repaired.

Decided where the paper is silent or misprinted:
- In equation (22) the last two terms are subtracted together. A row moves when Δ < -1e-12, to the first of the best
  clusters. k0 is floor(α k), and at least 2, as no cluster may have one row.
- It need not end by itself: it stops when a pass gains less than 1e-4 of the loss, or after `passes` passes, and
  keeps the best clustering that a pass has led to.
- Rows are visited in a random order: one by one in the first pass, and then tuple by tuple. The copies of a tuple are
  visited one after another, cluster by cluster, which takes little more time than one of them; each is moved by
  itself. On Adult with k = 50, GCP is 0.094 and 0.095 for two seeds, and 0.100 for one tuple by tuple in rank order.
- Of pairs of small clusters equally close, the first is merged; the union takes the place of its first part.
- ending = 'better' (default): after the paper's ending, more passes in which no cluster falls below k rows, and those
  of 2k rows or more are split. On Adult that lowers the loss by a tenth (GCP 0.0316 for 0.0355 at k = 10, 0.095 for
  0.105 at k = 50); 'paper' leaves it out.
- l-diversity must hold for every sensitive column; Algorithm 3 deals out the combinations of their values, and parts
  that get no row are dropped.
- Where the first partition is not l-diverse, the paper gives up: one cluster of all rows. start = 'coarser'
  (default) tries a quarter fewer parts until they are l-diverse; 'paper' gives up at once. `report` holds
  l1 of the first try, and whether all ended in one cluster (`trivial`).
- PMI and wMI look at the first sensitive column. wMI is `mi_weight` of MI and the rest of PMI. The measures with
  logarithms (base 2) are told relative to the original table. Attributes count by their weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sqlanon.udfs.legality import check_legal
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Groups, Ints, Problem
from sqlanon.udfs.space.costs import COSTS

if TYPE_CHECKING:
    from sqlanon.udfs.loops.moves import Table, Tell

PARTS = 100
PAUSE = 256
GAIN = 1e-4


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    cost: str = "ncp",
    mi_weight: float = 0.5,
    first_share: float = 0.5,
    omega: float = 1.5,
    restarts: int = 1,
    passes: int = 40,
    start: str = "coarser",
    ending: str = "better",
) -> Groups:
    """Algorithm 2, which is Algorithm 1 where no l is required; the best of several restarts."""
    from sqlanon.udfs.loops.moves import Table  # when needed: numba alone takes a quarter of a second

    problem.need_rows(k)
    table = Table(problem, cost, mi_weight)
    if table.is_diverse:
        check_legal(problem)
    best: tuple[float, list[Ints], dict[str, Any]] | None = None
    for turn in range(restarts):
        tell = _teller(progress, 2 * passes * turn, 2 * passes * restarts)
        members, report = _first_clusters(table, max(2, int(first_share * k + 1e-12)), rng, start)
        if len(members) > 1:
            members, ran, moves = _improve(table, members, passes, omega * k, 0, rng, tell)
            report |= {"passes": ran, "moves": moves, "clusters": len(members)}
            tell = _teller(progress, 2 * passes * turn + passes, 2 * passes * restarts)
            members = _unify(table, members, k, tell)
            if ending == "better":
                members, ran, moves = _improve(table, members, passes, 2 * k - 1, k, rng, tell)
                report |= {"ending_passes": ran, "ending_moves": moves}
        loss = table.clusters(members).loss
        if best is None or loss < best[0]:
            best = loss, members, report | {"cost": cost, "loss": loss}
    progress(2 * passes * restarts * PARTS, 2 * passes * restarts * PARTS)
    assert best is not None
    _, members, report = best
    tuples = table.tuple[np.concatenate(members)]
    groups = np.repeat(np.arange(len(members)), [len(held) for held in members])
    return Groups.collect(tuples, groups, np.ones_like(tuples), report)


def _teller(progress: Progress, before: int, total: int) -> Tell:
    return lambda made, **facts: progress(int((before + made) * PARTS), total * PARTS, **facts)


def _first_clusters(table: Table, k0: int, rng: np.random.Generator, start: str) -> tuple[list[Ints], dict[str, Any]]:
    """Steps 1 to 3 of Algorithm 2: clusters of about k0 rows at random, l-diverse, or one of all rows."""
    everything = np.arange(table.problem.rows)
    parts = max(1, table.problem.rows // k0)
    members = table.split(everything, parts, rng)
    if not table.is_diverse:
        return members, {}
    l1 = min(table.diversity(held) for held in members)
    while parts > 1 and not all(table.is_legal(held) for held in members):
        parts = 1 if start == "paper" else parts * 3 // 4
        members = table.split(everything, parts, rng)
    return members, {"l1": l1, "trivial": len(members) == 1}


def _improve(
    table: Table,
    members: list[Ints],
    passes: int,
    limit: float,
    floor: int,
    rng: np.random.Generator,
    tell: Tell,
) -> tuple[list[Ints], int, int]:
    """Steps 4 to 15 of Algorithm 2: the best clustering seen, how many passes were made and how many rows moved.

    Clusters of more than `limit` rows are split, and none falls below `floor` rows.
    """
    clusters, moves = table.clusters(members), 0
    last = clusters.loss
    best, best_loss = members, last if floor else np.inf
    turn = np.argsort(rng.permutation(len(table.problem.counts)))[table.tuple]
    for number in range(passes):
        place = clusters.state.place
        line = np.lexsort((place, turn))  # tuple by tuple, cluster by cluster
        end = np.flatnonzero(np.diff(turn[line], append=-1) | np.diff(place[line], append=-1)) + 1
        end = np.repeat(end, np.diff(end, prepend=0))
        if number == 0 and not floor:
            line, end = line[rng.permutation(len(line))], np.arange(1, len(line) + 1)
        moved = clusters.sweep(line, end, floor, number, tell)
        members = _split_large(table, clusters.members(), limit, floor, rng)
        clusters = clusters.followed(members)
        moves += moved
        loss = clusters.loss
        tell(number + 1, passes=number + 1, moves=moves, loss=loss)
        if loss < best_loss:
            best, best_loss = members, loss
        if not moved or last - loss < GAIN * abs(last):
            break
        last = loss
    return best, number + 1, moves


def _split_large(table: Table, members: list[Ints], limit: float, floor: int, rng: np.random.Generator) -> list[Ints]:
    """Step 14 of Algorithm 2: halves take the place of large clusters, at the end of the list."""
    kept, halves = [], []
    for held in members:
        two = table.split(held, 2, rng) if len(held) > limit else []
        if len(two) == 2 and all(table.is_legal(half) and len(half) >= floor for half in two):
            halves += two
        else:
            kept.append(held)
    return kept + halves


def _unify(table: Table, members: list[Ints], k: int, tell: Tell) -> list[Ints]:
    """Steps 16 to 19 of Algorithm 2: the closest two small clusters become one until none is left."""
    small = [held for held in members if len(held) < k]
    large = [held for held in members if len(held) >= k]
    if not small:
        return large
    mates = table.mates(small)
    for one in range(len(small)):
        if one % PAUSE == 0:
            tell(0)
        mates.look(one)
    while (left := int(mates.is_alive.sum())) > 1:
        if left < len(mates.members) * 3 // 4:
            mates = mates.compacted()
            tell(0)
        union = mates.unite_closest(k)
        if union is not None:
            large.append(union)
    for one in np.flatnonzero(mates.is_alive).tolist():
        rest = table.mates([mates.members[one], *large])
        rest.look(0)
        nearest = int(rest.mate[0])
        large[nearest - 1] = rest.unite(0, nearest)
    return large


METHOD = Method(
    name="sequential",
    paper="Goldberger, Tassa: Efficient Anonymizations with Enhanced Utility, Transactions on Data Privacy 2010",
    cost="O(E n d / k) time for each pass, O(n d) memory for n rows in E distinct tuples with d attributes",
    use="the lowest loss, by a measure of your choice; enforces l-diversity along the way",
    cluster=cluster,
    parameters=(
        Parameter("cost", "ncp", "the measure to minimize; pmi and wmi use the first sensitive column", choices=COSTS),
        Parameter("mi_weight", 0.5, "wmi: the weight of MI; PMI has the rest", high=1.0),
        Parameter("first_share", 0.5, "clusters start with this many times k rows: the paper's α", high=2.0),
        Parameter("omega", 1.5, "clusters of more than omega k rows are split", low=1.0, high=2.0),
        Parameter("restarts", 1, "number of starts, of which the best is kept", low=1, is_whole=True),
        Parameter("passes", 40, "maximum number of passes over all rows", low=1, is_whole=True),
        Parameter(
            "start",
            "coarser",
            "if the first clusters are not l-diverse: use larger ones, or give up",
            choices=("coarser", "paper"),
        ),
        Parameter(
            "ending",
            "better",
            "after the paper's ending, improve groups of k rows or more",
            choices=("better", "paper"),
        ),
    ),
    is_l_diverse=True,
    block_size=50_000,  # so that the table of the paper, 45,222 rows, is not cut
    counts_rows=True,
)
