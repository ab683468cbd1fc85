"""The closest two of many clusters, united again and again: the loop that agglomerative and linkage share.

Time O(E) distances for each union, and about as many again to begin with, for E clusters; memory O(E). Every cluster
remembers the closest of those behind it. Where that one has changed or left, what is remembered is still a lower bound,
as all others are at least as far: it is looked up again only when it is the lowest of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from sqlanon.udfs.method import Progress
from sqlanon.udfs.problem import Bools, Floats, Ints

PAUSE = 100
"""After this many clusters the user is heard."""


class Clusters(Protocol):
    """Clusters by number, and how far they are from each other; infinitely far from themselves and those that left."""

    def distances(self, one: int, first: int) -> Floats:
        """From a cluster to the clusters from `first` on."""

    def unite(self, one: int, other: int) -> None:
        """Let a cluster absorb another, which leaves."""

    def leave(self, one: int) -> None:
        """Take a cluster out."""

    def compact(self, left: Ints) -> None:
        """Forget all clusters but these."""


def unite_closest(counts: Ints, k: int, clusters_of: Callable[[Ints], Clusters], progress: Progress) -> Ints:
    """The group of each tuple after uniting the closest two small clusters until one is left at most: -1 for that one.

    Tuples of k rows or more are groups from the start. Of pairs equally close the first is merged, and the union takes
    the place of its first part. One of k rows or more leaves as a group; groups are numbered as they leave.
    """
    group = np.where(counts < k, -1, np.cumsum(counts >= k) - 1)
    groups = int(group.max()) + 1
    small = np.flatnonzero(group < 0)
    members, rows = small[:, None].tolist(), counts[small].tolist()
    clusters, total = clusters_of(small), max(1, 2 * len(small))
    closest = Closest(clusters, len(small), lambda done: progress(done, total))
    for union in range(len(small) - 1):
        if union % PAUSE == 0:
            progress(len(small) + union, total)
        if closest.left < 2:
            break
        one, other = closest.pair()
        clusters.unite(one, other)
        closest.drop(other)
        members[one] += members[other]
        rows[one] += rows[other]
        if rows[one] < k:
            closest.renew(one)
        else:
            group[members[one]] = groups
            groups += 1
            clusters.leave(one)
            closest.drop(one)
        if 4 * closest.left < 3 * len(members):
            left = closest.compact()
            members, rows = [members[one] for one in left], [rows[one] for one in left]
    progress(total, total)
    return group


class Closest:
    """What each cluster remembers: its closest of those behind it, and how far that is or was."""

    def __init__(self, clusters: Clusters, count: int, tell: Callable[[int], None]) -> None:
        self.clusters = clusters
        self.left = count
        self.is_here = np.ones(count, dtype=bool)
        self.is_bound: Bools = np.zeros(count, dtype=bool)
        self.mate: Ints = np.zeros(count, dtype=np.int64)
        self.nearest = np.full(count, np.inf)
        for one in range(count - 1):
            if one % PAUSE == 0:
                tell(one)
            self._look(one, clusters.distances(one, one + 1))

    def pair(self) -> tuple[int, int]:
        """The closest two of all."""
        one = int(self.nearest.argmin())
        while self.is_bound[one]:
            self._look(one, self.clusters.distances(one, one + 1))
            one = int(self.nearest.argmin())
        return one, int(self.mate[one])

    def drop(self, one: int) -> None:
        """A cluster is here no longer."""
        self.is_bound[self.mate == one] = True
        self.is_here[one] = False
        self.nearest[one] = np.inf
        self.left -= 1

    def renew(self, one: int) -> None:
        """A cluster has grown."""
        self.is_bound[self.mate == one] = True
        distance = self.clusters.distances(one, 0)
        self._look(one, distance[one + 1 :])
        ahead, nearest, mate, is_bound = distance[:one], self.nearest[:one], self.mate[:one], self.is_bound[:one]
        is_nearer = (ahead < nearest) | ((ahead == nearest) & (mate > one) & ~is_bound)
        nearest[is_nearer], mate[is_nearer], is_bound[is_nearer] = ahead[is_nearer], one, False

    def _look(self, one: int, behind: Floats) -> None:
        self.is_bound[one] = False
        self.nearest[one] = np.inf
        if behind.size:
            place = int(behind.argmin())
            self.nearest[one], self.mate[one] = behind[place], one + 1 + place

    def compact(self) -> list[int]:
        """Number the clusters that are here again, in the same order: their numbers until now."""
        left = np.flatnonzero(self.is_here)
        number = np.cumsum(self.is_here) - 1  # of those that left, which only bounds have for a mate, it means nothing
        self.mate, self.nearest, self.is_bound = number[self.mate[left]], self.nearest[left], self.is_bound[left]
        self.is_here = np.ones(len(left), dtype=bool)
        self.clusters.compact(left)
        places: list[int] = left.tolist()
        return places
