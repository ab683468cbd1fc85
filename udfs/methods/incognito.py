"""Incognito: the best of all full-domain generalizations.

LeFevre, DeWitt, Ramakrishnan: Incognito: Efficient Full-Domain k-Anonymity, SIGMOD 2005: the algorithm of section 3.1
with the superroots of section 3.3. Li et al. 2006 compare with it.

A generalization that passes still does if an attribute is taken further up (generalization property) or left out
(subset property). So single attributes are searched first, then pairs, and so on: a generalization is tested only if it
passes without any one of its attributes, from the finest up, and what is above one that passes is not tested. A test
groups the classes of the subset's superroot, the finest that all its candidates generalize, and adds up their counts
(rollup).

Time O(t E d) for t tests of E distinct tuples with d attributes, memory O(E d + g) for g generalizations of all subsets
of attributes together, of which 2^22 are accepted. Good where a column must be released alike in all rows, and as what
local methods are compared with: they lose several times less.

Decided where the paper is silent:
- Levels of numbers, and what is released: see `fulldomain`. With `limits`, levels outside of them are none.
- Of all generalizations that pass, the one of least NCP as printed is taken; of equal ones the first in the order of
  the levels, the first attribute's first.
- With `max_suppression`, what passes has no more than this share of all rows in classes of fewer than k, and they are
  suppressed. As they are released alike, they must be none, or k and more: others that pass are not legal. A coarser
  generalization that suppresses less may cost less, so all that pass are considered, those first that cost least
  without suppression, until the next costs more even so than the best one with it.
- Models such as l are part of the test. With suppression that is not monotone, as a class that keeps them may unite
  with one that does not; then the tests are for k, and models are looked at among those that pass.
- The paper adds counts up along the edges of the lattice. Most tests are of roots, for which there is no edge: taking
  all counts from the superroot is as fast and holds one set of them. The same GROUP BYs in a DuckDB of its own took 5
  to 11 times as long on Adult with 6 and 8 columns.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np

from sqlanon.errors import DataError
from sqlanon.udfs import legality
from sqlanon.udfs.loops.fulldomain import Lattice, Limits, Node, is_group, is_suppressible, numbered, suppressible
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Bools, Groups, Ints, Problem

LARGEST = 2**22
"""How many generalizations are accepted, those of all subsets of the attributes together."""
Subset = tuple[int, ...]
"""Some attributes, in order."""


def cluster(
    problem: Problem,
    k: int,
    rng: np.random.Generator,
    progress: Progress,
    *,
    max_suppression: float | None = None,
    limits: Limits = (),
) -> Groups:
    """Find all generalizations that pass, and the cheapest among them. Nothing is drawn at random."""
    problem.need_rows(k)
    legality.check_legal(problem)
    search = Search(problem, k, suppressible(problem, k, max_suppression or 0.0), progress, limits)
    passes = search.all_attributes()
    node, suppressed = search.cheapest(passes)
    progress(search.total, search.total)
    return search.lattice.released(node, suppressed, {"generalizations": passes.size, "tested": search.tested})


class Search:
    """The generalizations of all subsets of attributes, and how many have been looked at."""

    def __init__(self, problem: Problem, k: int, limit: int, progress: Progress, limits: Limits = ()) -> None:
        self.problem, self.k, self.limit, self.progress = problem, k, limit, progress
        self.lattice = Lattice(problem, limits)
        self.tested, self.done = 0, 0
        sizes = self.lattice.sizes
        every, subsets = math.prod(sizes), math.prod(size + 1 for size in sizes)
        self.total = subsets + every
        if subsets > LARGEST:
            raise DataError(
                f"The {len(sizes)} quasi-identifiers have {every:,} generalizations, {subsets:,} with those of fewer "
                f"columns, and incognito looks at {LARGEST:,} at most. Choose fewer columns or hierarchies of fewer "
                "levels, or a method that does not look at all generalizations, such as datafly or auto."
            )
        self.tested_for = replace(problem, models=()) if limit else problem

    def all_attributes(self) -> Bools:
        """Does each generalization pass? In the shape of the lattice."""
        every = range(len(self.lattice.sizes))
        passes: dict[Subset, Bools] = {(): np.array(True)}
        for size in range(1, len(every) + 1):
            passes = {some: self.subset(some, self.candidates(some, passes)) for some in combinations(every, size)}
        return passes[tuple(every)]

    def candidates(self, subset: Subset, passes: dict[Subset, Bools]) -> Bools:
        """Does each generalization of a subset pass without any one of its attributes?"""
        is_candidate = np.ones([self.lattice.sizes[j] for j in subset], dtype=bool)
        for place in range(len(subset)):
            is_candidate &= np.expand_dims(passes[subset[:place] + subset[place + 1 :]], place)
        return is_candidate

    def subset(self, subset: Subset, is_candidate: Bools) -> Bools:
        """Does each generalization of a subset pass?"""
        passes = np.zeros(is_candidate.shape, dtype=bool)
        nodes = np.argwhere(is_candidate)
        nodes = nodes[nodes.sum(axis=1).argsort(kind="stable")]
        tuples, rows = self.superroot(subset, nodes.min(axis=0).tolist())
        ranks = self.lattice.ranks[:, tuples]
        for number, node in enumerate(nodes.tolist()):
            if passes[tuple(node)]:
                continue
            self.progress(self.done + number, self.total)
            self.tested += 1
            of_class = self.lattice.classes(zip(subset, node, strict=True), ranks)
            is_small = ~is_group(self.tested_for, self.k, tuples, rows, of_class)
            if rows[is_small[of_class]].sum() <= self.limit:
                passes[tuple(slice(level, None) for level in node)] = True
        self.done += passes.size
        return passes

    def superroot(self, subset: Subset, finest: list[int]) -> tuple[Ints, Ints]:
        """A tuple of each class of the finest levels, and its rows; by sensitive values, too, for models."""
        of_class = self.lattice.classes(zip(subset, finest, strict=True), self.lattice.ranks)
        if self.tested_for.models and self.problem.sensitive is not None:
            columns = [of_class, *self.problem.sensitive.T]
            of_class = numbered([(codes, int(codes.max()) + 1) for codes in columns])
        tuples = np.unique(of_class, return_index=True)[1]
        return tuples, np.bincount(of_class, weights=self.problem.counts).astype(np.int64)

    def cheapest(self, passes: Bools) -> tuple[Node, Ints]:
        """The legal generalization of least loss, and how many rows of each tuple are suppressed there."""
        floor = np.round(self.lattice.mean_losses(), 9)  # equal sums of different parts are ties on every machine
        nodes = np.argwhere(passes)
        order = floor[passes].argsort(kind="stable")
        least: tuple[float, Node] = math.inf, ()
        for number, node in enumerate(map(tuple, nodes[order].tolist())):
            if floor[node] > least[0]:
                break
            self.progress(self.done + number, self.total)
            suppressed = self.lattice.too_small(node, self.k)
            if is_suppressible(self.problem, self.k, self.limit, suppressed):
                least = min(least, (round(self.lattice.mean_loss(node, suppressed), 9), node))
        return least[1], self.lattice.too_small(least[1], self.k)


METHOD = Method(
    name="incognito",
    paper="LeFevre, DeWitt, Ramakrishnan: Incognito: Efficient Full-Domain k-Anonymity, SIGMOD 2005",
    cost="O(t E d) time for t tests of E distinct tuples with d attributes, at most one for each generalization",
    use="every column at one level in all rows, with the smallest possible loss; up to about 10 columns",
    cluster=cluster,
    is_diverse=True,
    suppresses=True,
    is_full_domain=True,
    block_size=None,
)
