"""Hilbert: the tuples in the order of a space-filling curve, cut into the best runs of k rows or more.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss, VLDB 2007, with the attributes
rescaled as in section 6.2.3 of Goldberger & Tassa 2010. What is near on the curve is near in the table, so groups are
sought among the runs of the curve only, and of all ways to cut it into runs of k to 2k - 1 rows the one with the least
NCP is found by dynamic programming; longer runs could be cut without loss.

Time O(n k d) and memory O(n d) for n rows in E distinct tuples with d attributes, of which no more than 4k - 3 rows
of a tuple count: linear in the rows. Good at very large tables.

Decided where the papers are silent:
- The curve is Hamilton's (Compact Hilbert Indices, 2006, after Moore), with the first attribute as the least
  significant digit: it gives the values of Table 1 in Goldberger & Tassa 2010.
- scale = 'minmax' stretches all attributes to the range of the one with the most values: categories by their leaves in
  depth-first order, numbers by their place on the line. scale = 'raw' uses unscaled ranks, as before Goldberger & Tassa
  2010. The order of the curve is the smallest whose cube holds all points. NULL is as far above the numbers as they
  reach.
- The NCP of a run is that of its closest common generalization on all attributes. Tuples at one place of the curve come
  in the order of their ranks; of equally good last runs the shortest is taken.
- The rows of a tuple may part. Of a tuple with more than 4k - 3 rows, some are a run by themselves wherever the cuts
  are; the rows beyond that number join it and lose nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sqlanon.errors import DataError
from sqlanon.udfs.method import Method, Parameter, Progress
from sqlanon.udfs.problem import Attribute, Floats, Groups, Ints, Numbers, Problem, Tree
from sqlanon.udfs.space.axes import Axis, Coordinates, Table

BLOCK = 1 << 18
"""How many runs are looked at together, if k is small."""
STEP = 1 << 10
"""How many ends of runs are looked at together at least."""
DIGITS = 62
"""The most attributes: one binary digit of each makes a whole number."""
Column = tuple[Axis, Coordinates]
"""An attribute and its coordinates, row by row along the curve."""


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress, *, scale: str = "minmax") -> Groups:
    """Sort by the curve, then cut. Nothing is drawn at random."""
    problem.need_rows(k)
    table = Table(problem, k)
    rows = np.minimum(table.counts, 4 * k - 3)
    total = int(rows.sum())
    progress(0, total)
    points, order = cube(problem, scale)
    along = np.lexsort(curve(points[:, table.tuple], order)[::-1])
    line = np.repeat(along, rows[along])
    length = best_runs([(axis, axis.x[line]) for axis in table.axes], k, progress)
    end = np.cumsum(length)
    # The rows beyond 4k - 3 of a tuple go to a run that is all its own.
    own = np.flatnonzero(line[end - length] == line[end - 1])
    entry, first = np.unique(line[end[own] - 1], return_index=True)
    tuples = table.tuple[np.append(line, entry)]
    group = np.append(np.repeat(np.arange(len(length)), length), own[first])
    progress(total, total)
    return Groups.collect(tuples, group, np.append(np.ones_like(line), (table.counts - rows)[entry]))


def cube(problem: Problem, scale: str) -> tuple[Ints, int]:
    """The tuples as points with whole coordinates, attributes × tuples, and how many binary digits these have."""
    if len(problem.attributes) > DIGITS:
        raise DataError(f"hilbert takes up to {DIGITS} quasi-identifiers, but there are {len(problem.attributes)}.")
    sizes = [len(a.at) if isinstance(a, Numbers) else a.leaves for a in problem.attributes]
    side = max(sizes) - 1
    points = problem.ranks.T
    if scale == "minmax":
        points = np.stack(
            [np.rint(side * place(a))[ranks] for a, ranks in zip(problem.attributes, points, strict=True)]
        )
    return points.astype(np.int64), max(1, side.bit_length())


def place(attribute: Attribute) -> Floats:
    """The place of each rank between 0 and 1."""
    if isinstance(attribute, Tree):
        return np.arange(attribute.leaves) / max(1, attribute.leaves - 1)
    is_null = np.isnan(attribute.unit)
    return np.where(is_null, 1.0, attribute.unit / (1 + is_null.any()))


def curve(points: Ints, order: int) -> Ints:
    """The digits in base 2^d of each point's place on the Hilbert curve, order × points, the first one first.

    The points have d coordinates below 2^order. The curve passes through the 2^d cells of a cube in Gray code, turned
    so that it begins in the corner `entry` and leaves along the axis `way`; the digit says in which the point is.
    """
    size, count = points.shape
    entry, way = np.zeros((2, count), dtype=np.int64)
    digits = np.zeros((order, count), dtype=np.int64)
    for level in range(order):
        cell = np.zeros(count, dtype=np.int64)
        for j, coordinate in enumerate(points):
            cell |= (coordinate >> (order - 1 - level) & 1) << j
        digit = digits[level] = _gray_inverse(_rotate(cell ^ entry, size - 1 - way, size), size)
        even = np.maximum(digit - 1, 0) & ~1
        entry ^= _rotate(even ^ (even >> 1), (way + 1) % size, size)
        way = (way + np.where(digit == 0, 0, _trailing_ones(digit - 1 | digit & 1)) + 1) % size
    return digits


def _rotate(bits: Ints, by: Ints, size: int) -> Ints:
    """The bits of numbers of `size` bits moved up, those at the top back to the bottom; by less than `size`."""
    return (bits & ((1 << size) - 1 >> by)) << by | bits >> (size - by)


def _gray_inverse(gray: Ints, size: int) -> Ints:
    """The number whose Gray code this is."""
    shift = 1
    while shift < size:
        gray = gray ^ gray >> shift
        shift *= 2
    return gray


def _trailing_ones(numbers: Ints) -> Ints:
    """How many ones there are at the end of each number's digits."""
    return np.frexp((~numbers & (numbers + 1)).astype(np.float64))[1].astype(np.int64) - 1


def best_runs(columns: list[Column], k: int, progress: Progress) -> Ints:
    """How many rows each run has, for the cheapest way to cut the rows into runs of k to 2k - 1."""
    count = len(columns[0][1])
    # The cost of the first rows, as many as the place says, beginning with 1 - 2k, which is no way to begin.
    cost = np.full(count + 2 * k, np.inf)
    cost[2 * k - 1] = 0
    before = sliding_window_view(cost, k)
    last = np.zeros(count + 1, dtype=np.int64)
    step = max(STEP, BLOCK // k)
    columns = [(axis, np.append(np.repeat(x[0], 2 * k - 2), x)) for axis, x in columns]
    for begin in range(0, count, step):
        progress(begin, count)
        charges = run_charges(columns, k, begin, min(count, begin + step))
        # A run has k rows or more, so that the next k ends look back to ends that are known.
        for start in range(0, charges.shape[1], k):
            charge = charges[:, start : start + k]
            candidates = before[begin + start + k : begin + start : -1, : charge.shape[1]] + charge
            choice = candidates.argmin(axis=0)
            ends = np.arange(charge.shape[1])
            cost[begin + start + 2 * k + ends] = candidates[choice, ends]
            last[begin + start + 1 + ends] = k + choice
    lengths, place = [], count
    while place:
        lengths.append(last[place])
        place -= last[place]
    return np.array(lengths[::-1])


def run_charges(columns: list[Column], k: int, begin: int, end: int) -> Floats:
    """The summed NCP of runs: of k rows, k + 1 and so on, that end with each of some rows.

    The columns begin with the first row 2k - 2 times more, for runs that would begin before it and do not count.
    """
    charges = np.zeros((k, end - begin))
    for axis, x in columns:
        lo = hi = x[begin + 2 * k - 2 : end + 2 * k - 2]
        for first in range(2 * k - 3, -1, -1):
            row = x[begin + first : end + first]
            lo, hi = np.minimum(lo, row), np.maximum(hi, row)
            if first < k:
                charges[k - 1 - first] += axis.apart(lo, hi)
    charges *= np.arange(k, 2 * k)[:, None]
    return charges


METHOD = Method(
    name="hilbert",
    paper="Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss, VLDB 2007",
    cost="O(n k d) time, O(n d) memory for n rows with d attributes",
    use="very large tables: one of the fastest; does not depend on the seed",
    cluster=cluster,
    parameters=(
        Parameter(
            "scale",
            "minmax",
            "stretch all attributes to the same length (minmax), or use ranks unchanged (raw)",
            choices=("minmax", "raw"),
        ),
    ),
    block_size=None,
)
