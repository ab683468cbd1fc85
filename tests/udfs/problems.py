"""Random small problems for hypothesis, and trees from nested lists."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from sqlanon.udfs.legality import best
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Numbers, Problem, Tree

Nested = list["Nested"]
"""A node as the list of its children; a leaf has none."""


def tree(root: Nested, order: npt.ArrayLike | None = None) -> Tree:
    """A tree from its nested lists, its nodes handed over in the given order."""
    nodes: list[tuple[int, int, int]] = []

    def walk(node: Nested, depth: int, first: int) -> int:
        after = first
        for child in node:
            after = walk(child, depth + 1, after)
        after = after if node else first + 1
        nodes.append((first, after - 1, depth))
        return after

    walk(root, 0, 0)
    lo, hi, depth = np.array(nodes)[slice(None) if order is None else order].T
    return Tree(lo, hi, depth.max() - depth)


def grow(rng: np.random.Generator, depth: int) -> Nested:
    """A random node with at most this depth below it: unbalanced trees and chains among them."""
    if depth == 0 or rng.random() < 0.2:
        return []
    return [grow(rng, depth - 1) for _ in range(rng.integers(1, 5))]


def random_tree(rng: np.random.Generator) -> Tree:
    """A root with some children, or now and then a lone leaf."""
    children = 0 if rng.random() < 0.05 else rng.integers(1, 5)
    root = [grow(rng, int(rng.integers(4))) for _ in range(children)]
    return tree(root, rng.permutation(node_count(root)))


def node_count(node: Nested) -> int:
    return 1 + sum(node_count(child) for child in node)


def random_numbers(rng: np.random.Generator) -> Numbers:
    """A few numbers, with NULL or without; perhaps NULL alone."""
    nulls = rng.integers(2)
    values = rng.choice(np.arange(-20, 21), size=rng.integers(1 - nulls, 10), replace=False)
    return Numbers(np.append(np.sort(values) * rng.choice([1.0, 0.1, 1e6]), [np.nan] * nulls))


def rank_count(attribute: Numbers | Tree) -> int:
    return attribute.leaves if isinstance(attribute, Tree) else len(attribute.at)


def random_problem(rng: np.random.Generator) -> Problem:
    """Up to 30 tuples over one to four attributes; most tuples are rare, as in tables of people."""
    width, length = int(rng.integers(1, 5)), int(rng.integers(1, 31))
    attributes = tuple(random_tree(rng) if rng.random() < 0.6 else random_numbers(rng) for _ in range(width))
    sizes = [rank_count(attribute) for attribute in attributes]
    tuples = np.unique(rng.integers(sizes, size=(length, width)), axis=0)
    counts = rng.choice([1, 1, 1, 2, 2, 3, 9], size=len(tuples))
    return Problem(tuples, counts, attributes, rng.choice([1.0, 1.0, 0.5, 2.0, 0.3], size=width))


# hypothesis draws seeds only: left to choose sizes, it draws mostly trivial trees and tables, in which classes hardly
# ever unite or give a stub of several tuples. A failing seed makes the same problem again.
generators = st.builds(np.random.default_rng, st.integers(0, 2**32))
trees = st.builds(random_tree, generators)
numbers = st.builds(random_numbers, generators)
problems = st.builds(random_problem, generators)


def largest_l(problem: Problem) -> float:
    """The largest frequency l that is legal, each sensitive column by itself."""
    asked = promise(problem, {"l": 1.0}, is_strict=False)
    return min(best(asked, model) for model in asked.models)


def with_l(problem: Problem, l: float) -> Problem:  # noqa: E741
    """The problem with this l asked for, or the largest legal one if that is less."""
    return promise(problem, {"l": min(l, largest_l(problem))}, is_strict=False)


def with_k(problem: Problem, k: int) -> tuple[Problem, int]:
    return problem, min(k, problem.rows)


solvable = st.builds(with_k, problems, st.sampled_from([3, 2, 4, 5, 8, 1]))
"""A problem and a k that it has rows enough for."""
