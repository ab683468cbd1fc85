"""How little any k-anonymous release can lose: lower bounds of the GCP that nobody can go below.

A record shares its class with k - 1 others, so it loses at least what covering it and its (k - 1)-th nearest record
costs ("pair"), and at least what the cheapest generalized tuple costs that covers it and k rows ("box"). The mean over
rows of the larger one bounds the GCP.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Floats, Ints, Numbers, Problem, Tree
from sqlanon.udfs.space.boxes import Singles

MOST_PAIRS = 400_000_000
"""How many pairs of distinct tuples the pair bound compares; beyond that it is left out."""
MOST_BOXES = 50_000_000
"""How many tuples times combinations of levels the box bound looks at; beyond that it is left out."""
BLOCK = 2**20
"""How many pairs are compared at a time."""
SHARED = 1024
"""How many values the attributes that share a table of pairs have together, at most. An attribute with more has no
table, whose memory would grow with the square of its values."""
MARKS = 2**16
"""Classes are marked in a table of this size; some that share a mark are looked at for nothing."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds of the GCP, None where there was too much to compare; `gcp` is the best of them."""

    pair: float | None
    box: float | None
    gcp: float


def lower_bounds(problem: Problem, k: int, progress: Progress, *, is_brief: bool = False) -> Bounds:
    """Both bounds and the better of them, record by record; in brief, the pair bound only where it can be the better.

    Time O(E² d) for the pair bound on E distinct tuples, O(E · levels) for the box bound, where levels is the product
    of the heights of the hierarchies. With several attributes of numbers the box bound looks at the one that tells most
    and takes the others for free, which leaves it a bound.
    """
    problem.need_rows(k)
    box = _box(problem, k, progress)
    # A box covers the pairs in it, so it costs at least as much as they, unless an attribute came for free.
    lines = sum(isinstance(attribute, Numbers) for attribute in problem.attributes)
    is_idle = is_brief and box is not None and lines <= 1
    pair = None if is_idle or len(problem.counts) ** 2 > MOST_PAIRS else _pair(problem, k, progress)
    known = [bound for bound in (pair, box) if bound is not None]
    share = problem.counts / (problem.weights.sum() * problem.rows)

    def mean(bound: Floats | None) -> float | None:
        return None if bound is None else float(bound @ share)

    best = float(np.max(known, axis=0) @ share) if known else 0.0
    return Bounds(mean(pair), mean(box), best)


def _pair(problem: Problem, k: int, progress: Progress) -> Floats:
    """For each tuple the loss of covering it and its (k - 1)-th nearest other row."""
    large = [j for j, ranks in enumerate(problem.ranks.T) if len(np.unique(ranks)) > SHARED]
    tables, columns = _pair_tables(problem, [j for j in range(len(problem.attributes)) if j not in large])
    size = len(problem.counts)
    bound = np.zeros(size)
    stride = max(1, BLOCK // size)
    for start in range(0, size, stride):
        progress(start, size)
        some = slice(start, min(start + stride, size))
        loss = np.zeros((some.stop - start, size), dtype=np.float32)
        for table, column in zip(tables, columns, strict=True):
            loss += table[column[some]].take(column, axis=1, mode="clip")
        for j in large:
            one, other = problem.ranks[some, j][:, None], problem.ranks[:, j]
            lo, hi = np.minimum(one, other), np.maximum(one, other)
            loss += problem.weights[j] * problem.attributes[j].loss(lo, hi)
        bound[some] = _kth(loss, problem.counts, k)
    progress(size, size)
    # Single precision rounds: a little less is still a bound.
    return np.maximum(bound * (1 - 1e-6) - 1e-9, 0.0)


def _kth(loss: Singles, counts: Ints, k: int) -> Floats:
    """The k-th smallest entry of each row, where column j counts counts[j] times; a record itself is the first."""
    nearest = min(k, loss.shape[1]) - 1
    place = np.argpartition(loss, nearest, axis=1)[:, : nearest + 1]
    near = np.take_along_axis(loss, place, axis=1)
    order = near.argsort(axis=1, kind="stable")
    rows = np.cumsum(counts[np.take_along_axis(place, order, axis=1)], axis=1)
    first = (rows >= k).argmax(axis=1)
    return np.take_along_axis(np.take_along_axis(near, order, axis=1), first[:, None], axis=1)[:, 0].astype(np.float64)


def _pair_tables(problem: Problem, small: list[int]) -> tuple[list[Singles], list[Ints]]:
    """The loss of covering two values, for all pairs, and each tuple's value, for attributes of few values. They share
    tables: a look-up is what a pair costs."""
    tables: list[Singles] = []
    columns: list[Ints] = []
    for j in small:
        attribute, weight, ranks = problem.attributes[j], float(problem.weights[j]), problem.ranks[:, j]
        values, column = np.unique(ranks, return_inverse=True)
        lo, hi = np.minimum(values[:, None], values), np.maximum(values[:, None], values)
        table = (weight * attribute.loss(lo, hi)).astype(np.float32)
        if tables and len(tables[-1]) * len(table) <= SHARED:
            size = len(tables[-1]) * len(table)
            tables[-1] = (tables[-1][:, None, :, None] + table[None, :, None, :]).reshape(size, size)
            columns[-1] = columns[-1] * len(table) + column
        else:
            tables.append(table)
            columns.append(column)
    return tables, columns


def _box(problem: Problem, k: int, progress: Progress) -> Floats | None:
    """For each tuple the loss of the cheapest combination of nodes and one range that covers it and k rows."""
    trees = [(j, a) for j, a in enumerate(problem.attributes) if isinstance(a, Tree)]
    numbers = [(j, a) for j, a in enumerate(problem.attributes) if isinstance(a, Numbers)]
    combinations = math.prod(tree.height for _, tree in trees)
    if combinations * max(1, len(numbers)) * len(problem.counts) > MOST_BOXES:
        return None
    bound = np.zeros(len(problem.counts))
    lines: list[tuple[int, Numbers] | None] = [*numbers] or [None]
    for number in lines:  # each alone is a bound, so their maximum is
        bound = np.maximum(bound, _box_with(problem, k, trees, number, progress))
    return np.maximum(bound - 1e-9, 0.0)


def _box_with(
    problem: Problem,
    k: int,
    trees: list[tuple[int, Tree]],
    number: tuple[int, Numbers] | None,
    progress: Progress,
) -> Floats:
    best = np.full(len(problem.counts), np.inf)
    losses, keys = [], []
    factors = np.random.default_rng(0).integers(1 << 62, size=len(trees)) * 2 + 1
    for (j, tree), factor in zip(trees, factors, strict=True):
        node = tree.path[:, problem.ranks[:, j]]
        losses.append(problem.weights[j] * tree.node_loss[node])
        keys.append((node + 1) * factor)
    choices = list(itertools.product(*(range(tree.height) for _, tree in trees)))
    share = problem.counts / problem.rows
    means = [[float(loss[depth] @ share) for depth in range(len(loss))] for loss in losses]
    # Cheap ones first: what they find leaves fewer tuples for which a dear one can still be the cheapest.
    choices.sort(key=lambda depths: sum(mean[depth] for mean, depth in zip(means, depths, strict=True)))
    for done, depths in enumerate(choices):
        progress(done, len(choices))
        loss = sum((part[depth] for part, depth in zip(losses, depths, strict=True)), np.zeros(len(best)))
        open_ones = loss < best
        if not open_ones.any():
            continue
        # Classes are distinguished by 40 bits of a hash: if two have the same, it is of their union, and still a bound.
        key = sum((part[depth] for part, depth in zip(keys, depths, strict=True)), np.zeros(len(best), np.int64))
        key = key >> 23 & (1 << 40) - 1
        some = np.arange(len(best))
        if open_ones.mean() < 0.5:
            is_open = np.zeros(MARKS, dtype=bool)
            is_open[key[open_ones] % MARKS] = True
            some = np.flatnonzero(is_open[key % MARKS])
        if number is None:
            _, place = np.unique(key[some], return_inverse=True)
            rows = np.bincount(place.reshape(-1), weights=problem.counts[some])[place.reshape(-1)]
            width = np.where(rows >= k, 0.0, np.inf)
        else:
            j, line = number
            found = _narrowest(key[some], problem.ranks[some, j], problem.counts[some], line, k)
            width = problem.weights[j] * found
        best[some] = np.minimum(best[some], loss[some] + width)
    progress(len(choices), len(choices))
    return best


def _narrowest(key: Ints, rank: Ints, counts: Ints, line: Numbers, k: int) -> Floats:
    """For each tuple the share of the line that covers it and k rows of its class; infinite where it has fewer."""
    size = len(line.at)
    cells, place = np.unique(key * size + rank, return_inverse=True)
    rows = np.bincount(place.reshape(-1), weights=counts).astype(np.int64)
    group, value = np.divmod(cells, size)
    upto = np.cumsum(rows)
    # From each cell the first one at which k rows are reached; it must be of the same class.
    end = np.searchsorted(upto, upto - rows + k)
    is_window = (end < len(cells)) & (group[np.minimum(end, len(cells) - 1)] == group)
    first, last = np.flatnonzero(is_window), end[is_window]
    if not len(first):
        return np.full(len(key), np.inf)
    # The narrowest range around a cell is a window that holds it, or the last one before it and all up to the cell.
    every = np.arange(len(cells))
    begin, after = np.searchsorted(last, every), np.searchsorted(first, every, side="right")
    width = np.append(line.loss(value[first], value[last]), np.inf)
    found = np.minimum.reduceat(width, np.stack([begin, after], axis=1).ravel())[::2]
    found[begin == after] = np.inf
    before = np.maximum(begin - 1, 0)
    is_before = (begin > 0) & (group[first[before]] == group)
    reached = line.loss(value[first[before]], np.where(is_before, value, size - 1))
    return np.asarray(np.minimum(found, np.where(is_before, reached, np.inf))[place.reshape(-1)])
