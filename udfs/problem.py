"""Tables as ranks: the arithmetic that all cores share.

Every quasi-identifier is a rank: the place of a value among the leaves of its hierarchy in depth-first order,
or in value order where there is none. A set of values is then covered by the range [lo, hi] of its ranks, and
everything a core asks about the set is a look-up on that range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sqlanon.errors import DataError

if TYPE_CHECKING:
    from sqlanon.udfs.models import Model

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
SUPPRESSED = -1
"""The group of the rows that are released as * in every quasi-identifier."""
LEFT_OUT = -2
"""The group of the rows that are not printed at all."""
GRAIN = 2.0**-40
"""Distances are multiples of this, about 1e-12 of an attribute."""


def exact(distance: Floats) -> Floats:
    """The distances as multiples of GRAIN, whose sums below 8192 have no rounding error.

    Then a sum is the same in whatever order it is taken, and what should be a tie is one on every machine.
    """
    return np.rint(distance / GRAIN) * GRAIN


@dataclass(frozen=True)
class Numbers:
    """An attribute in value order: numbers and dates without a hierarchy, printed as ranges.

    `at` holds the position of each rank on the number line. A NULL has the last rank and the position NaN: it
    is as far from every number as the two ends of the line are from each other. `ends` are those of the whole line,
    where only a part of its values has ranks.
    """

    at: Floats
    ends: tuple[float, float] | None = None

    @cached_property
    def line(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        known = self.at[~np.isnan(self.at)]
        return self.ends or ((float(known.min()), float(known.max())) if known.size else (0.0, 0.0))

    @property
    def span(self) -> float:
        """The length of the line from the smallest to the largest value."""
        low, high = self.line
        return high - low  # Python's floats: the distance of two values near ±1.8e308 is inf, without numpy's warning.

    @cached_property
    def unit(self) -> Floats:
        """The positions scaled to [0, 1]; NULL stays NaN."""
        if self.span == 0:
            return np.where(np.isnan(self.at), np.nan, 0.0)
        # Halves where the line is too long for a float; never otherwise, as half of the smallest float is 0.
        half = 2 if math.isinf(self.span) else 1
        low, high = (end / half for end in self.line)
        return np.asarray((self.at / half - low) / (high - low))

    def only(self, ranks: Ints) -> Numbers:
        """Some of the values, on the same line."""
        return Numbers(self.at[ranks], self.line)

    def loss(self, lo: Ints, hi: Ints, least: int = 0) -> Floats:
        """The share of the line that [lo, hi] covers: NCP (He et al. 2012). NULL with numbers covers all. Numbers have
        no levels."""
        width = self.unit[hi] - self.unit[lo]
        return np.where(np.isnan(width), np.where(lo == hi, 0.0, 1.0), width)


@dataclass(frozen=True)
class Tree:
    """An attribute with a hierarchy, as its nodes' leaf ranges. Node 0 is the root.

    `level` is 0 at the deepest leaves and height - 1 at the root: a node's level says how many steps below
    the top it is, so a leaf directly under the root of a tree of three levels has level 1.
    """

    lo: Ints
    hi: Ints
    level: Ints

    def __post_init__(self) -> None:
        order = np.lexsort((self.level, self.hi - self.lo))[::-1]
        for name in ("lo", "hi", "level"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)[order], dtype=np.int64))

    @property
    def leaves(self) -> int:
        """How many leaves the tree has; their ranks are 0 to leaves - 1."""
        return int(self.hi[0]) + 1

    @property
    def height(self) -> int:
        """How many levels the tree has."""
        return int(self.level[0]) + 1

    @cached_property
    def path(self) -> Ints:
        """path[d, leaf] is the node d steps below the root on the way to the leaf, or the leaf itself."""
        path = np.zeros((self.height, self.leaves), dtype=np.int64)
        depth = self.height - 1 - self.level
        for node in range(len(self.lo)):  # wider nodes first, so that the narrower ones below overwrite them
            path[depth[node] :, self.lo[node] : self.hi[node] + 1] = node
        return path

    @cached_property
    def leaf(self) -> Ints:
        """The node of each leaf rank."""
        return np.asarray(self.path[-1])

    def common(self, lo: Ints, hi: Ints) -> Ints:
        """The closest common node of each range: the deepest one on the way to both ends, in either order."""
        lo, hi = np.broadcast_arrays(lo, hi)
        node = np.zeros(lo.shape, dtype=np.int64)
        for step in self.path[1:]:
            shared = step[lo]
            node = np.where(shared == step[hi], shared, node)
        return node

    @cached_property
    def node_loss(self) -> Floats:
        """NCP of each node (He et al. 2012): 0 for a leaf, else its share of all leaves."""
        covered = self.hi - self.lo + 1
        is_leaf = np.zeros(len(self.lo), dtype=bool)
        is_leaf[self.leaf] = True
        return np.where(is_leaf, 0.0, covered / self.leaves)

    def loss(self, lo: Ints, hi: Ints, least: int = 0) -> Floats:
        """The NCP of the closest common node of each range, or of the node above it that has at least this level."""
        node = self.common(lo, hi)
        if least:
            node = np.where(self.level[node] < least, self.path[self.height - 1 - least, lo], node)
        return self.node_loss[node]


Attribute = Numbers | Tree
Box = tuple[Ints, Ints]
"""lo and hi, groups × attributes."""
Values = tuple[Ints | None, ...]
"""For each attribute the ranks that are left of it; None where all are."""
Levels = tuple[int, ...]
"""For each attribute a level of its tree; 0 where it has none."""
Closure = tuple[Ints, Ints, Ints]
"""lo and hi (groups × attributes) and the number of rows of each group."""


@dataclass(frozen=True)
class Kinds:
    """The combinations of a sensitive column's codes with what others may know of it, sorted by the latter.

    `of_tuple` holds the kind of each tuple, `context` and `code` what it stands for.
    """

    of_tuple: Ints
    context: Ints
    code: Ints


@dataclass(frozen=True)
class Problem:
    """Distinct tuples of ranks with how many rows hold each: all that a core sees of a table.

    Where sensitive values matter (a model, or a cost that looks at them), `sensitive` holds their codes, tuples ×
    sensitive columns, 0 to the number of values - 1; tuples are then distinct in ranks and codes together, so that all
    rows of a tuple are alike. Every group must keep the `models`. If `is_strict`, others may know all sensitive columns
    but one: a model of that one must hold for the rows of a group that are alike in the others. `entity` is the column
    of `sensitive` that tells whom a row is about, where people are counted instead of rows; nobody knows it.
    """

    ranks: Ints
    counts: Ints
    attributes: tuple[Attribute, ...]
    weights: Floats
    sensitive: Ints | None = None
    models: tuple[Model, ...] = ()
    is_strict: bool = True
    entity: int | None = None

    def __post_init__(self) -> None:
        for array in (self.ranks, self.counts, self.weights, self.sensitive):
            if array is not None:
                array.setflags(write=False)

    def merged(self) -> tuple[Problem, Ints]:
        """The same rows without their sensitive values, and the tuple there of each tuple here."""
        ranks, place = np.unique(self.ranks, axis=0, return_inverse=True)
        place = place.reshape(-1)
        counts = np.bincount(place, weights=self.counts).astype(np.int64)
        return Problem(ranks, counts, self.attributes, self.weights), place

    def narrowed(self) -> tuple[Problem, Values]:
        """The same rows where numbers have ranks only for the values that these rows have, and the values' ranks here.
        Boxes lose the same; a block takes memory and time by its own size, not by that of the table."""
        values = tuple(
            None if isinstance(attribute, Tree) else _present(ranks, len(attribute.at))
            for attribute, ranks in zip(self.attributes, self.ranks.T, strict=True)
        )
        if all(present is None for present in values):
            return self, values
        ranks, attributes = self.ranks.copy(), list(self.attributes)
        for j, present in enumerate(values):
            if present is not None:
                ranks[:, j] = np.searchsorted(present, ranks[:, j])
                attribute = attributes[j]
                assert isinstance(attribute, Numbers)
                attributes[j] = attribute.only(present)
        return replace(self, ranks=ranks, attributes=tuple(attributes)), values

    @property
    def l(self) -> float | None:  # noqa: E743 - the field's own name
        """The l of frequency l-diversity if that is all that is asked, and the same of each column by itself."""
        is_plain = len(self.columns) == 1 or not self.is_strict
        asked = {model.asked if model.name == "l" else None for model in self.models}
        is_plain = is_plain and {model.column for model in self.models} >= set(self.columns)
        return asked.pop() if is_plain and len(asked) == 1 else None

    @property
    def columns(self) -> list[int]:
        """The sensitive columns, without that of the entity."""
        width = 0 if self.sensitive is None else self.sensitive.shape[1]
        return [column for column in range(width) if column != self.entity]

    @cached_property
    def kinds(self) -> tuple[Kinds, ...]:
        """The tuples by their codes, for each sensitive column."""
        assert self.sensitive is not None
        kinds = []
        for column, codes in enumerate(self.sensitive.T):
            known = [] if not self.is_strict or column == self.entity else self.columns
            others = self.sensitive[:, [other for other in known if other != column]]
            kind, of_tuple = np.unique(np.column_stack([others, codes]), axis=0, return_inverse=True)
            context = np.cumsum(np.r_[False, (kind[1:, :-1] != kind[:-1, :-1]).any(axis=1)])
            kinds.append(Kinds(of_tuple.reshape(-1), context, np.ascontiguousarray(kind[:, -1])))
        return tuple(kinds)

    def loss(self, lo: Ints, hi: Ints, levels: Levels | None = None) -> Floats:
        """The weighted NCP of a row in each box; lo and hi have the attributes in their last dimension. No node is
        below the `levels`."""
        total = np.zeros(lo.shape[:-1])
        for j, (attribute, weight) in enumerate(zip(self.attributes, self.weights, strict=True)):
            total += weight * attribute.loss(lo[..., j], hi[..., j], levels[j] if levels else 0)
        return total

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.counts.sum())

    def need_rows(self, k: int) -> None:
        """Raise a DataError when the table is too small for a single group of k rows."""
        if self.rows < k:
            raise DataError(f"k = {k} needs at least {k} rows, but there are only {self.rows}. Choose a smaller k.")


@dataclass(frozen=True)
class Groups:
    """Who is with whom: `rows` copies of tuple `tuple` belong to group `group`, for each entry.

    Group ids are 0, 1, 2, ..., SUPPRESSED and LEFT_OUT. A tuple may appear in several groups. `report` holds what the
    core reports in addition, such as learned weights: text, numbers, lists and dictionaries. `box` holds lo and
    hi (groups × attributes) where what is released is wider than what the group's rows need, as in full-domain
    generalization; `levels` then holds, for each attribute, the level of its tree below which no node is released.
    """

    tuple: Ints
    group: Ints
    rows: Ints
    report: dict[str, Any] = field(default_factory=dict)
    box: Box | None = None
    levels: Levels | None = None

    @classmethod
    def collect(
        cls,
        tuple: npt.ArrayLike,
        group: npt.ArrayLike,
        rows: npt.ArrayLike,
        report: dict[str, Any] | None = None,
        box: Box | None = None,
        levels: Levels | None = None,
    ) -> Groups:
        """Groups from entries in any order: sorted by group and tuple, the rows of equal entries added up."""
        tuples, ids, copies = (np.asarray(part, dtype=np.int64) for part in (tuple, group, rows))
        order = np.lexsort((tuples, ids))
        tuples, ids, copies = tuples[order], ids[order], copies[order]
        first = np.flatnonzero(np.r_[ids.size > 0, (np.diff(ids) != 0) | (np.diff(tuples) != 0)])
        return cls(tuples[first], ids[first], np.add.reduceat(copies, first), report or {}, box, levels)

    def of(self, places: Ints) -> Groups:
        """The same groups, where tuple t is called places[t]."""
        return Groups.collect(places[self.tuple], self.group, self.rows, self.report, self.box, self.levels)

    def widened(self, values: Values) -> Groups:
        """The same groups of the problem that was narrowed to these values."""
        if self.box is None:
            return self
        lo, hi = (
            np.column_stack([r if present is None else present[r] for r, present in zip(ends.T, values, strict=True)])
            for ends in self.box
        )
        return replace(self, box=(lo, hi))

    def closure(self, problem: Problem) -> Closure:
        """lo and hi (groups × attributes) as printed, and the number of rows of each group that is not suppressed."""
        kept = self.group >= 0
        group, ranks = self.group[kept], problem.ranks[self.tuple[kept]]
        size = int(group.max()) + 1 if group.size else 0
        rows = np.bincount(group, weights=self.rows[kept], minlength=size).astype(np.int64)
        if self.box is not None:
            return *self.box, rows
        lo = np.full((size, ranks.shape[1]), np.iinfo(np.int64).max)
        hi = np.full((size, ranks.shape[1]), -1)
        np.minimum.at(lo, group, ranks)
        np.maximum.at(hi, group, ranks)
        return lo, hi, rows


def _present(ranks: Ints, size: int) -> Ints | None:
    """Which of this many ranks there are; None if all."""
    is_present = np.zeros(size, dtype=bool)
    is_present[ranks] = True
    return None if is_present.all() else np.flatnonzero(is_present)


def gcp(problem: Problem, groups: Groups) -> float:
    """The global certainty penalty of a clustering (He et al. 2012): 0 keeps everything, 1 nothing."""
    lo, hi, rows = groups.closure(problem)
    suppressed = groups.rows[groups.group < 0].sum()
    total = problem.weights.sum()
    return float((problem.loss(lo, hi, groups.levels) @ rows + suppressed * total) / (total * problem.rows))
