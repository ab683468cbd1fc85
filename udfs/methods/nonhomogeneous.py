"""Non-homogeneous generalization: every row has a box of its own, which covers k rows.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing, SIGMOD 2010 (NH in paper
000). The table is partitioned, the rows of a part form a ring, and the box that begins at a row covers it and the k - 1
that follow. So every box covers k rows and every row is in k boxes. Were each row printed with the box that it begins,
whoever knows the method could tell them apart; so a random perfect matching decides which row is released with which
box, and every row has each of its k boxes with the probability 1/k. udfs/matches.py verifies it.

Time O(n d log k + n k log² k) and memory O(n d) for n rows with d attributes, in addition to the partition's. Good at
coarse partitions, which lose much less so: nothing is released wider than its part. k holds for people, but rows that
look the same may be fewer; l is not kept.

Decided:
- The partition is that of `auto`, which loses least, or of `mondrian`. The paper's own is left out.
- In each part, rows are sorted by the attribute in which a step costs most first: its NCP over the part, divided by the
  number of steps. What comes last changes most, and windows of k rows are narrow in all but that.
- The matching: the pairs of all k shifts of the ring get whole weights that sum up to a power of two at each row and
  box. Neighbors exchange some of it; then weights are halved again and again. Pairs with odd weights form cycles,
  joined at random; along each a coin decides which pairs gain what the others lose. No step favors a pair, and
  what is left at last is a perfect matching.
- The engine draws from the system's random source: whoever knew the seed could draw the same matching. The parts
  do not depend on it.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.method import Cluster, Method, Parameter, Progress, between
from sqlanon.udfs.methods import auto, mondrian
from sqlanon.udfs.problem import Bools, Box, Floats, Groups, Ints, Problem

PARTITIONS: dict[str, Cluster] = {"auto": auto.cluster, "mondrian": mondrian.cluster}
FINER = 2
"""Weights begin at 2^FINER or more, so that they can differ."""
MIXES = 8
"""How often neighbors exchange weights."""
PAIRS = 2_000_000
"""How many pairs of rows and boxes are matched together, if k is small."""


def cluster(
    problem: Problem, k: int, rng: np.random.Generator, progress: Progress, *, partition: str = "auto"
) -> Groups:
    """Partition, form rings, and match rows with boxes at random."""
    problem.need_rows(k)
    parts = PARTITIONS[partition](problem, k, np.random.default_rng(0), between(progress, 0, 800))
    tuples, length = rings(problem, parts)
    lo, hi = windows(problem.ranks[tuples], length, k)
    own = matching(boxes_differ(lo, hi, length), length, k, rng, between(progress, 800, 1000))
    box, group = np.unique(np.hstack([lo, hi]), axis=0, return_inverse=True)
    width = problem.ranks.shape[1]
    printed = np.ascontiguousarray(box[:, :width]), np.ascontiguousarray(box[:, width:])
    return Groups.collect(tuples, group.reshape(-1)[own], np.ones_like(tuples), parts.report, printed)


def rings(problem: Problem, parts: Groups) -> tuple[Ints, Ints]:
    """The tuple of each row, ring after ring in order, and how many rows each ring has."""
    lo, hi, rows = parts.closure(problem)
    steps = np.empty_like(lo, dtype=np.float64)
    for j, attribute in enumerate(problem.attributes):
        ranks = problem.ranks[parts.tuple, j]
        pairs = np.unique(np.stack([parts.group, ranks]), axis=1)
        values = np.bincount(pairs[0])
        steps[:, j] = _rounded(problem.weights[j] * attribute.loss(lo[:, j], hi[:, j]) / np.maximum(1, values - 1))
    by_cost = np.argsort(-steps, axis=1, kind="stable")
    keys = np.take_along_axis(problem.ranks[parts.tuple], by_cost[parts.group], axis=1)
    order = np.lexsort((*keys.T[::-1], parts.group))
    return np.repeat(parts.tuple[order], parts.rows[order]), rows


def _rounded(costs: Floats) -> Floats:
    """Equal costs are ties on every machine."""
    return np.round(costs, 9)


def windows(ranks: Ints, length: Ints, k: int) -> Box:
    """The boxes of each row and the k - 1 that follow in its ring."""
    lo = hi = ranks
    covered = 1
    while covered < k:
        step = min(covered, k - covered)
        after = shifted(length, step)
        lo, hi = np.minimum(lo, lo[after]), np.maximum(hi, hi[after])
        covered += step
    return lo, hi


def shifted(length: Ints, step: Ints | int) -> Ints:
    """The place of the row that comes this many steps after each in its ring."""
    first = np.repeat(np.cumsum(length) - length, length)
    return np.asarray(first + (np.arange(len(first)) - first + step) % np.repeat(length, length))


def boxes_differ(lo: Ints, hi: Ints, length: Ints) -> Bools:
    """Has each ring boxes that differ? Otherwise it does not matter which row has which."""
    after = shifted(length, 1)
    changes = (lo != lo[after]).any(axis=1) | (hi != hi[after]).any(axis=1)
    return np.asarray(np.logical_or.reduceat(changes, np.cumsum(length) - length))


def matching(mixed: Bools, length: Ints, k: int, rng: np.random.Generator, progress: Progress) -> Ints:
    """The place of the box of each row, ring after ring; rows of rings that are not mixed have their own."""
    own = np.arange(length.sum())
    places = np.flatnonzero(np.repeat(mixed, length))
    some = length[mixed]
    # Some rings at a time: the pairs of all would take k times as much memory as the rows.
    chunk = np.cumsum(some) * k // PAIRS
    done = 0
    for number in np.unique(chunk):
        progress(done, len(places))
        rows = some[chunk == number]
        here = places[done : done + rows.sum()]
        own[here] = here[random_matching(rows, k, rng)]
        done += len(here)
    progress(1, 1)
    return own


def random_matching(length: Ints, k: int, rng: np.random.Generator) -> Ints:
    """The place of the box of each row: a perfect matching in which every pair has the chance 1/k."""
    halvings = (k - 1).bit_length() + FINER
    # Weights that sum up to 2^halvings: one more for some shifts of each ring, drawn at random, than for the others.
    order = rng.random((len(length), k)).argsort(axis=1)
    least, rest = divmod(1 << halvings, k)
    weights = np.repeat(least + (order < rest), length, axis=0)
    for turn in range(MIXES):
        mix(weights, length, turn % 2, rng)
    weight = weights.T.ravel()
    box = np.tile(np.arange(length.sum()), k)
    row = np.concatenate([shifted(length, step) for step in range(k)])
    for _ in range(halvings):
        odd = np.flatnonzero(weight & 1)
        weight[odd] += np.where(halved(box[odd], row[odd], rng), 1, -1)
        weight >>= 1
        left = weight > 0
        weight, box, row = weight[left], box[left], row[left]
    own = np.empty_like(row)
    own[row] = box
    return own


def mix(weights: Ints, length: Ints, turn: int, rng: np.random.Generator) -> None:
    """Let neighbors in a ring exchange weight on two rows that both their boxes cover, as much one way as the other.

    Weights are boxes × steps to the row. Without this, the shifts of a ring with a prime number of rows never mix.
    """
    k = weights.shape[1]
    if k < 3:
        return
    place = np.arange(len(weights)) - np.repeat(np.cumsum(length) - length, length)
    one = np.flatnonzero((place % 2 == turn) & (place + 1 < np.repeat(length, length)))
    gained, lost = rng.integers(1, k, size=(2, len(one)))
    pairs = (one, gained), (one + 1, lost - 1), (one, lost), (one + 1, gained - 1)
    most = np.minimum.reduce([weights[pair] for pair in pairs])
    many = np.where(gained == lost, 0, rng.integers(most + 1))
    for pair, sign in zip(pairs, (1, 1, -1, -1), strict=True):
        weights[pair] += sign * many


def halved(box: Ints, row: Ints, rng: np.random.Generator) -> Bools:
    """A random half of the pairs, half of those at every box and row; these have an even number each.

    The pairs at each box and at each row are joined by twos at random. So they form cycles, in which every other pair
    is chosen, from the first or from the second on as a coin says.
    """
    by_box, by_row = joined(box, rng), joined(row, rng)
    label = np.arange(len(box))
    ahead = second = by_row[by_box]
    while (label != label[second]).any():
        label, ahead = np.minimum(label, label[ahead]), ahead[ahead]
    cycle = np.minimum(label, label[by_box])
    coin = rng.random(len(box)) < 0.5
    return np.asarray((label == cycle) == coin[cycle])


def joined(end: Ints, rng: np.random.Generator) -> Ints:
    """The pair that each is joined with: another with the same end, at random."""
    order = np.lexsort((rng.random(len(end)), end))
    partner = np.empty_like(order)
    partner[order[::2]], partner[order[1::2]] = order[1::2], order[::2]
    return partner


METHOD = Method(
    name="nonhomogeneous",
    paper="Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing, SIGMOD 2010",
    cost="O(n d log k + n k log² k) time, O(n d) memory for n rows with d attributes, in addition to the partition's",
    use="a box for each row instead of classes of k equal rows; k holds for people, verified by matching",
    cluster=cluster,
    parameters=(
        Parameter("partition", "auto", "the method that partitions the table first", choices=tuple(PARTITIONS)),
    ),
    is_homogeneous=False,
    block_size=100_000,
)
