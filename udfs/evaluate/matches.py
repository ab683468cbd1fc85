"""How many rows of a release each record may stand behind: what k means where rows have boxes of their own.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing, SIGMOD 2010, section 4.
A record may stand behind a row if the row's box covers it and all other records can be given to the other rows in the
same way: if the pair is in some perfect matching. With one perfect matching at hand, those are its own pairs and the
pairs inside a strongly connected component of the graph with an edge from every box to each tuple that it covers and
one back from each tuple to the boxes that it is matched with.

Time O(C E d / 64) for the pairs of C distinct boxes and E distinct tuples; the matching takes O(P) for each pass over
the P pairs with cover, few in practice, and the components O(P log P). Memory O(P), and a bit set per distinct range.
"""

from __future__ import annotations

import numpy as np

from sqlanon.udfs.problem import Bools, Ints
from sqlanon.udfs.space.coverage import covered


def least_matches(lo: Ints, hi: Ints, rows: Ints, ranks: Ints, counts: Ints) -> int:
    """The least number of rows that a record may stand behind, or of records behind a row; 0 without a matching.

    The boxes cover lo to hi (boxes × attributes) and are released on this many rows; this many records have each tuple.
    """
    if not len(rows) or rows.sum() != counts.sum():
        return 0
    pairs = Pairs.of(list(covered(lo, hi, ranks)), counts)
    flow = perfect_matching(pairs, rows, counts)
    if flow is None:
        return 0
    matched = np.flatnonzero(flow)
    component = components(
        np.append(pairs.box, len(rows) + pairs.tuple[matched]),
        np.append(len(rows) + pairs.tuple, pairs.box[matched]),
        len(rows) + len(counts),
    )
    possible = component[pairs.box] == component[len(rows) + pairs.tuple]
    possible[matched] = True
    box, record = pairs.box[possible], pairs.tuple[possible]
    behind = np.bincount(box, weights=counts[record], minlength=len(rows))
    before = np.bincount(record, weights=rows[box], minlength=len(counts))
    return int(min(behind.min(), before.min()))


class Pairs:
    """Which box covers which tuple, by box; the tuples that few boxes cover come first."""

    def __init__(self, box: Ints, tuple: Ints) -> None:
        self.box, self.tuple = box, tuple
        self.of_box = Lists(box)
        self.of_tuple = Lists(tuple)

    @classmethod
    def of(cls, tuples: list[Ints], counts: Ints) -> Pairs:
        """The pairs from the tuples that each box covers."""
        box = np.repeat(np.arange(len(tuples)), [len(some) for some in tuples])
        covered = np.concatenate(tuples)
        order = np.lexsort((covered, np.bincount(covered, minlength=len(counts))[covered], box))
        return cls(box, covered[order])


class Lists:
    """Places by the number that stands there."""

    def __init__(self, numbers: Ints) -> None:
        self.order = np.argsort(numbers, kind="stable")
        self.end = np.cumsum(np.bincount(numbers))

    def __getitem__(self, some: Ints) -> Ints:
        """The places of some numbers; numbers that stand nowhere have none."""
        some = some[some < len(self.end)]
        end = self.end[some]
        length = end - np.where(some > 0, self.end[some - 1], 0)
        return self.order[np.repeat(end - np.cumsum(length), length) + np.arange(length.sum())]


def perfect_matching(pairs: Pairs, rows: Ints, counts: Ints) -> Ints | None:
    """How many records of the tuple are matched with rows of the box, pair by pair; None where some are left over."""
    match = _Match(pairs, rows, counts)
    while match.wanted.any():
        match.begin_pass()
        if not sum(match.augment(box) for box in np.flatnonzero(match.wanted).tolist()):
            return None
    return match.flow


class _Match:
    """A matching that grows by augmenting paths, from boxes with rows to fill to tuples with records left."""

    def __init__(self, pairs: Pairs, rows: Ints, counts: Ints) -> None:
        self.pairs = pairs
        self.flow = np.zeros(len(pairs.box), dtype=np.int64)
        self.wanted, self.left = rows.copy(), counts.copy()
        size = np.bincount(pairs.box, minlength=len(rows))
        start = np.cumsum(size) - size
        for box in np.argsort(size, kind="stable").tolist():  # those with the least choice first
            here = slice(start[box], start[box] + size[box])
            left = self.left[pairs.tuple[here]]
            taken = np.clip(rows[box] - (np.cumsum(left) - left), 0, left)
            self.flow[here] = taken
            self.left[pairs.tuple[here]] -= taken
            self.wanted[box] -= taken.sum()

    def begin_pass(self) -> None:
        """Forget which boxes and tuples the searches have seen."""
        self.is_new_box = np.ones(len(self.wanted), dtype=bool)
        self.is_new_tuple = np.ones(len(self.left), dtype=bool)
        self.by_pair = np.zeros(len(self.left), dtype=np.int64)
        """The pair by which each tuple was reached."""
        self.by_flow = np.zeros(len(self.wanted), dtype=np.int64)
        """The matched pair by which each box was reached."""

    def augment(self, start: int) -> bool:
        """Match one more row of the box or several, if there is a path through what this pass has not yet seen."""
        boxes = np.array([start])
        self.is_new_box[start] = False
        while boxes.size:
            reached = self._first(self.pairs.of_box[boxes], self.pairs.tuple, self.is_new_tuple, self.by_pair)
            if self.left[reached].any():
                self._push(start, int(reached[self.left[reached].argmax()]))
                return True
            matched = self.pairs.of_tuple[reached]
            boxes = self._first(matched[self.flow[matched] > 0], self.pairs.box, self.is_new_box, self.by_flow)
        return False

    def _first(self, pairs: Ints, ends: Ints, is_new: Bools, way: Ints) -> Ints:
        """The ends of these pairs that are new, each once; notes the way to them."""
        pairs = pairs[is_new[ends[pairs]]]
        found, first = np.unique(ends[pairs], return_index=True)
        way[found] = pairs[first]
        is_new[found] = False
        return found

    def _push(self, start: int, tuple: int) -> None:
        """As many records as the path from the box to the tuple can take."""
        forth, back = [int(self.by_pair[tuple])], []
        while (box := int(self.pairs.box[forth[-1]])) != start:
            back.append(int(self.by_flow[box]))
            forth.append(int(self.by_pair[self.pairs.tuple[back[-1]]]))
        many = min(self.wanted[start], self.left[tuple], *self.flow[back])
        self.flow[forth] += many
        self.flow[back] -= many
        self.wanted[start] -= many
        self.left[tuple] -= many


def components(tail: Ints, head: Ints, size: int) -> Ints:
    """The strongly connected component of each node, as the number of one node in it.

    By colouring (Orzan, 2004): the largest number that reaches a node is its color, and what reaches the node of that
    number, within the color, is its component. Numbers are at random, so that few rounds are needed.
    """
    number = np.random.default_rng(0).permutation(size)
    tail, head = number[tail], number[head]
    component = np.full(size, -1)
    while (open_nodes := np.flatnonzero(component < 0)).size:
        colour = np.arange(size)
        _spread(colour, open_nodes, tail, head)
        same = colour[tail] == colour[head]
        tail, head = tail[same], head[same]
        roots = open_nodes[colour[open_nodes] == open_nodes]
        reach = np.full(size, -1)
        reach[roots] = roots
        _spread(reach, roots, head, tail)
        component = np.maximum(component, reach)
        inside = (component[tail] < 0) & (component[head] < 0)
        tail, head = tail[inside], head[inside]
    return component[number]


def _spread(value: Ints, nodes: Ints, tail: Ints, head: Ints) -> None:
    """Let values go along the edges, beginning at some nodes; the largest wins."""
    edges_of = Lists(tail)
    while nodes.size:
        edges = edges_of[nodes]
        edges = edges[value[tail[edges]] > value[head[edges]]]
        np.maximum.at(value, head[edges], value[tail[edges]])
        nodes = np.unique(head[edges])
