"""Boxes: what groups cover on all attributes, in as few machine words as possible.

A tree's box is its closest common node. Write the way from the root to a leaf in binary digits, and give each digit two
bits, of which a 0 sets the one and a 1 the other. The bits of a set of leaves are those of its members together, and
its closest common node is the last one on the way before a digit with both bits set. Trees of up to eight digits share
lanes of 16 bits, and four lanes are a word: the union of boxes is one OR for all those trees, and the loss of a lane is
one look-up. Numbers and larger trees are ranges of ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sqlanon.udfs.problem import Floats, Ints, Numbers, Tree
from sqlanon.udfs.space.costs import Rate

LANE = 16
LANES = 4
"""Lanes in a word."""
LOOKED_UP = 1 << 20
"""Attributes with up to this many ranges, times sensitive values, have their losses in a table, and trees with as many
nodes on the ways to their leaves."""
Small = npt.NDArray[np.int32]
Singles = npt.NDArray[np.float32]
Index = Ints | npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Boxes:
    """Boxes of any shape: their words, and lo and hi of the attributes that are ranges. The first axis is words,
    attributes."""

    words: Ints
    lo: Small
    hi: Small

    def take(self, places: Ints) -> Boxes:
        """The boxes at some places of the last axis."""
        return Boxes(self.words.take(places, axis=-1), self.lo.take(places, axis=-1), self.hi.take(places, axis=-1))

    def __or__(self, other: Boxes) -> Boxes:
        """The smallest boxes that hold both."""
        return Boxes(self.words | other.words, np.minimum(self.lo, other.lo), np.maximum(self.hi, other.hi))

    def for_lines(self) -> Boxes:
        """One box for each line of a matrix."""
        return Boxes(self.words[..., None], self.lo[..., None], self.hi[..., None])

    def flat(self) -> Boxes:
        """The same boxes without a shape."""
        ranged, size = len(self.lo), math.prod(self.words.shape[1:])
        return Boxes(
            self.words.reshape(len(self.words), size), self.lo.reshape(ranged, size), self.hi.reshape(ranged, size)
        )

    def around(self, first: Ints) -> Boxes:
        """The box around all boxes from each place up to the next."""
        return Boxes(
            np.bitwise_or.reduceat(self.words, first, axis=1),
            np.minimum.reduceat(self.lo, first, axis=1),
            np.maximum.reduceat(self.hi, first, axis=1),
        )

    @classmethod
    def joined(cls, boxes: Iterable[Boxes]) -> Boxes:
        """Boxes one after the other."""
        parts = zip(*((box.words, box.lo, box.hi) for box in boxes), strict=True)
        return cls(*(np.concatenate(part, axis=-1) for part in parts))


class Space:
    """The attributes: boxes of tuples, and the weighted loss of boxes for each sensitive value that the rates see."""

    def __init__(self, rates: list[Rate]) -> None:
        self.values = rates[0].values
        packed, self.ranged = [], []
        for j, rate in enumerate(rates):
            digits = _digits(rate.attribute) if isinstance(rate.attribute, Tree) else None
            if digits is not None and 2 * digits.total <= LANE:
                packed.append((j, rate, digits))
            else:
                self.ranged.append((j, Axis(rate)))
        self.lanes: list[Lane] = []
        for j, rate, digits in sorted(packed, key=lambda entry: -entry[2].total):
            lane = next((lane for lane in self.lanes if lane.bits + 2 * digits.total <= LANE), None)
            if lane is None:
                lane = Lane(*divmod(len(self.lanes), LANES), self.values)
                self.lanes.append(lane)
            lane.add(j, rate, digits)
        self.words = -(-len(self.lanes) // LANES)
        self.masks = np.zeros((self.words, len(rates)), dtype=np.int64)
        """The bits of each attribute."""
        for lane in self.lanes:
            for j, mask in lane.masks.items():
                self.masks.view(np.uint16)[lane.word, LANES * j + lane.place] = mask

    def points(self, ranks: Ints) -> Boxes:
        """The boxes of single tuples."""
        words = np.zeros((self.words, len(ranks)), dtype=np.int64)
        for lane in self.lanes:
            words.view(np.uint16)[lane.word, lane.place :: LANES] = lane.bits_of(ranks)
        lo = ranks.T[[j for j, _ in self.ranged]].astype(np.int32)
        return Boxes(words, lo, lo)

    def loss(self, boxes: Boxes, value: int = 0) -> Floats:
        """The loss of a row in each box, in double precision."""
        total = np.zeros(boxes.words.shape[1:])
        for lane in self.lanes:
            total += lane.exact[value].take(lane.of(boxes.words))
        for (_, axis), lo, hi in zip(self.ranged, boxes.lo, boxes.hi, strict=True):
            total += axis.loss(lo, hi, value)
        return total

    def rough(self, boxes: Boxes, value: int | Ints = 0) -> Singles:
        """The same in single precision; each box may have its own sensitive value."""
        total = np.zeros(boxes.words.shape[1:], dtype=np.float32)
        for lane in self.lanes:
            place: Ints | npt.NDArray[np.uint16] = lane.of(boxes.words)
            if self.values > 1:
                place = place + np.multiply(value, lane.single.shape[1], dtype=np.int64)
            total += lane.single.take(place, mode="clip")
        for (_, axis), lo, hi in zip(self.ranged, boxes.lo, boxes.hi, strict=True):
            total += axis.rough(lo, hi, value)
        return total

    def narrowed(self, boxes: Boxes, inner: Boxes, which: Ints) -> Boxes:
        """The boxes with one attribute each as in the inner ones."""
        words = boxes.words & ~self.masks[:, which] | inner.words & self.masks[:, which]
        lo, hi = boxes.lo.copy(), boxes.hi.copy()
        for place, (j, _) in enumerate(self.ranged):
            lo[place] = np.where(which == j, inner.lo[place], lo[place])
            hi[place] = np.where(which == j, inner.hi[place], hi[place])
        return Boxes(words, lo, hi)


@dataclass(frozen=True)
class Digits:
    """The way from a tree's root to each leaf in binary digits, as one number; ends says how many lead to each depth.

    Leaves are in depth-first order, so the numbers rise."""

    way: Ints
    ends: Ints

    @property
    def total(self) -> int:
        """How many digits there are."""
        return int(self.ends[-1])

    def depth(self, length: Ints) -> Ints:
        """How deep the node is that two ways share if they differ in their last digits, so many."""
        return np.searchsorted(self.ends, self.total - length, side="right") - 1

    @cached_property
    def depths(self) -> Ints:
        """The same for all lengths."""
        return self.depth(np.arange(self.total + 1))

    def shared(self, one: Small, other: Small) -> Ints:
        """How deep the closest common node of two leaves is."""
        differing = self.way.take(one) ^ self.way.take(other)
        return self.depths.take(np.frexp(differing.astype(np.float64))[1])


def _digits(tree: Tree) -> Digits:
    way, ends = np.zeros(tree.leaves, dtype=np.int64), [0]
    for above, below in pairwise(tree.path):
        sibling = np.cumsum(np.diff(below, prepend=below[0]) != 0)
        child = sibling - sibling[tree.lo[above]]
        width = int(child.max()).bit_length()
        way = way << width | child
        ends.append(ends[-1] + width)
    return Digits(way, np.array(ends))


class Lane:
    """Trees that share 16 bits of a word: first the bits of the ones among a tree's digits, then those of the zeros."""

    def __init__(self, word: int, place: int, values: int) -> None:
        self.word, self.place, self.bits = word, place, 0
        self.leaf_bits: dict[int, Ints] = {}
        self.masks: dict[int, int] = {}
        self.exact = np.zeros((values, 1))
        self.single = self.exact.astype(np.float32)

    def add(self, j: int, rate: Rate, digits: Digits) -> None:
        """Make room for another tree, attribute j."""
        assert isinstance(rate.attribute, Tree)
        total = digits.total
        zeros = ~digits.way & ((1 << total) - 1)
        self.leaf_bits[j] = (zeros << total | digits.way) << self.bits
        self.masks[j] = ((1 << 2 * total) - 1) << self.bits
        losses = rate(rate.attribute.lo, rate.attribute.hi)[_nodes(rate.attribute, digits)].T
        self.exact = (losses[:, :, None] + self.exact[:, None]).reshape(len(losses), -1)
        self.single = self.exact.astype(np.float32)
        self.bits += 2 * total

    def bits_of(self, ranks: Ints) -> Ints:
        """The lane of each tuple."""
        return np.asarray(sum(bits[ranks[:, j]] for j, bits in self.leaf_bits.items()))

    def of(self, words: Ints) -> npt.NDArray[np.uint16]:
        """This lane of words."""
        return np.asarray(words[self.word].view(np.uint16)[..., self.place :: LANES])


def _nodes(tree: Tree, digits: Digits) -> Ints:
    """The closest common node for all bits that the digits of a set may have."""
    total = digits.total
    zeros, ones = np.divmod(np.arange(1 << 2 * total), 1 << total)
    length = np.frexp((zeros & ones).astype(np.float64))[1]
    depth = digits.depth(length)
    below = total - digits.ends[depth]
    leaf = np.minimum(np.searchsorted(digits.way, ones >> below << below), tree.leaves - 1)
    return tree.path[depth, leaf]


class Axis:
    """One attribute as ranges of ranks: their weighted loss for each sensitive value that the rate sees."""

    def __init__(self, rate: Rate) -> None:
        self.rate, self.size = rate, rate.ranks
        self.exact: Floats | None = None
        self.ways: Digits | None = None
        if isinstance(rate.attribute, Numbers) and rate.is_linear:
            # NULL lies as far beyond the line as the line is long: a range up to it is cut to the line's length.
            unit = rate.attribute.unit
            self.at = (rate.weight * np.where(np.isnan(unit), 2.0, unit)).astype(np.float32)
            return
        if rate.values * self.size**2 <= LOOKED_UP:
            every = np.arange(self.size)
            self.exact = np.moveaxis(rate(every[:, None], every), -1, 0).ravel()
        elif isinstance(rate.attribute, Tree) and rate.values * rate.attribute.path.size <= LOOKED_UP:
            self.ways = _digits(rate.attribute)
            self.exact = np.moveaxis(rate.by_node[rate.attribute.path], -1, 0).ravel()
        if self.exact is not None:
            self.single = self.exact.astype(np.float32)

    @property
    def table(self) -> Floats | None:
        """The losses of all ranges for the first value, where there is a table of them."""
        return None if self.exact is None or self.ways is not None else self.exact[: self.size**2]

    def loss(self, lo: Small, hi: Small, value: int | Ints = 0) -> Floats:
        """The loss of ranges, in double precision."""
        if self.exact is not None:
            return self.exact.take(self._places(lo, hi, value))
        found = self.rate(lo.astype(np.int64), hi.astype(np.int64))
        return np.take_along_axis(found, np.broadcast_to(value, lo.shape)[..., None], axis=-1)[..., 0]

    def rough(self, lo: Small, hi: Small, value: int | Ints = 0) -> Singles:
        """The same in single precision."""
        if self.rate.is_linear:
            width = self.at.take(hi)
            width -= self.at.take(lo)
            return np.minimum(width, np.float32(self.rate.weight), out=width)
        if self.exact is None:
            return self.loss(lo, hi, value).astype(np.float32)
        return self.single.take(self._places(lo, hi, value))

    def _places(self, lo: Small, hi: Small, value: int | Ints) -> Ints | Small:
        """Where the losses of ranges are: those of all ranges, or of all nodes on the way to each rank."""
        if self.ways is None:
            return (value * self.size + lo) * self.size + hi
        depth = self.ways.shared(lo, hi)
        return (value * len(self.ways.ends) + depth) * self.size + lo
