"""The memory of the search: everything that compiled code looks at, in one array of integers and one of numbers.

What is asked, the table, the groups and room to work in lie one after the other. The first places say where: `m[SIZE]`
is where the sizes of groups begin, so that `m[m[SIZE] + g]` is that of group g, and `x[m[LOSS] + g]` is what a row
loses there. Two pointers are all that functions hand on to each other. With tuples of arrays, as many as there are
things to know, numba took several times as long to compile them, and they took several times as long to run.

A box is the lowest rank of each attribute and then the highest, wherever it lies; functions are told its place.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

from sqlanon.udfs.problem import Floats, Ints

_place = count()
ROWS, WIDTH, VALUES, MODELS, K, WORDS, ROOM, MINOR, FEWEST, MOST = (next(_place) for _ in range(10))
"""How many rows, attributes, combinations of sensitive values and models there are; k; the words of a set of rows; the
steps that a change may have. Of two values, the rarer one, and how many rows of the other may go with one of it."""
GROUPS, SPARES, TICK, CHANGED, LOGGED, LOOKS, WORK, RANDOM = (next(_place) for _ in range(8))
"""How many groups are alive and free, the number of the change, how many groups it has touched, how many steps it has
logged, how often groups were looked at, the work that was done, and the state of the random numbers."""
SHAPE, RULES, RANK, VALUE = (next(_place) for _ in range(4))
"""Where the attributes and the models are described; the ranks and the combination of each row."""
OF, AFTER, BEFORE = (next(_place) for _ in range(3))
"""Of a row: its group, -1 while it is under way, and its neighbors in the chain."""
HEAD, SIZE, STALE, STAMP, SEEN, WHERE = (next(_place) for _ in range(6))
"""Of a group: its first row, how many rows it has, whether its box must be found again, the change that touched it
last, when it was last looked at, and its place among those alive."""
ALIVE, FREE, TOUCHED, OLD_SIZE, OLD_STALE = (next(_place) for _ in range(5))
"""By place: the groups that are alive, those that are free, and those that the change has touched with what they
were."""
BOX, OLD_BOX, HELD, LOG, LOG_FROM = (next(_place) for _ in range(5))
"""The boxes of groups, and the rows of each combination in them; the rows that have moved, and from where."""
CELLS, POOL, FOUND, SIDE, BEST, ORDER, REST = (next(_place) for _ in range(7))
PART, THERE, PLAN, GOOD, PARTS, DRAFT, SET = (next(_place) for _ in range(7))
"""Room to work in: the cells of a model; rows that are pooled, found in a box, on a side, on the best one, in order,
and left; the rows of each combination in two parts, in what is there and in what is planned, and which are good to
move; the sizes of two parts; four boxes; and a set of rows."""
OWN, SHARE, WHOLE, XLOGX, LOSS, OLD_LOSS, ADDED, KEY = (next(_place) for _ in range(8))
"""Among the numbers: what a row loses in the source, how frequent a combination is, what an attribute loses at most,
x ln x, what groups lose and lost, what a row adds to them, and keys to sort by."""
HEADER = next(_place)
SCALE, SPLITS, SHRINKS, COST, FIRST = range(5)
"""The first numbers: what a row loses where everything is covered, on average, the mix of moves, and what
a row or unit adds to the group where there is room for it."""


class Memory:
    """The two arrays while they grow, and what stands in the first places."""

    def __init__(self) -> None:
        self.header = np.zeros(HEADER, dtype=np.int64)
        self._ints: list[Any] = [self.header]
        self._reals: list[Any] = [np.zeros(FIRST)]
        self._length: list[int] = [HEADER, FIRST]

    def add(self, array: Any) -> int:
        """Put an array at the end of the integers or of the numbers, whichever it is of: where it begins."""
        is_real = int(array.dtype.kind == "f")
        flat = array.ravel() if is_real else array.ravel().astype(np.int64, copy=False)
        begin: int = self._length[is_real]
        (self._reals if is_real else self._ints).append(flat)
        self._length[is_real] += len(flat)
        return begin

    def put(self, name: int, array: Any) -> None:
        """The same, and where it begins in a first place."""
        self.header[name] = self.add(array)

    def room(self, length: int, *names: int) -> None:
        """Room for integers, for each name."""
        for name in names:
            self.put(name, np.zeros(length, dtype=np.int64))

    def arrays(self) -> tuple[Ints, Floats]:
        """Both."""
        return np.concatenate(self._ints), np.concatenate(self._reals)
