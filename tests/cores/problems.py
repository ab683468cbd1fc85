"""Random small problems for hypothesis, and trees from nested lists."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from sqlanon.udfs.problem import Numbers, Problem, Tree

Nested = list["Nested"]
"""A node as the list of its children; a leaf has none."""


def tree(root: Nested, order: Sequence[int] | None = None) -> Tree:
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
    lo, hi, depth = np.array(nodes)[list(order) if order else slice(None)].T
    return Tree(lo, hi, depth.max() - depth)


def node_count(node: Nested) -> int:
    return 1 + sum(node_count(child) for child in node)


def nested(depth: int) -> st.SearchStrategy[Nested]:
    """Trees of at most this depth below the root: unbalanced ones, chains and a lone leaf among them."""
    if depth == 0:
        return st.just([])
    return st.just([]) | st.lists(nested(depth - 1), min_size=1, max_size=3)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    root = draw(nested(3))
    return tree(root, draw(st.permutations(range(node_count(root)))))


@st.composite
def numbers(draw: st.DrawFn) -> Numbers:
    """A few numbers, with NULL or without; perhaps NULL alone."""
    has_null = draw(st.booleans())
    values = draw(st.lists(st.integers(-20, 20), min_size=0 if has_null else 1, max_size=6, unique=True))
    scale = draw(st.sampled_from([1.0, 0.1, 1e6]))
    return Numbers(np.array([*(value * scale for value in sorted(values)), *[np.nan] * has_null]))


def ranks(attribute: Numbers | Tree) -> int:
    return attribute.leaves if isinstance(attribute, Tree) else len(attribute.at)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Up to a dozen tuples over one to four attributes."""
    attributes = tuple(draw(st.lists(trees() | numbers(), min_size=1, max_size=4)))
    values = st.tuples(*(st.integers(0, ranks(attribute) - 1) for attribute in attributes))
    tuples = sorted(draw(st.lists(values, min_size=1, max_size=12, unique=True)))
    counts = draw(st.lists(st.integers(1, 6), min_size=len(tuples), max_size=len(tuples)))
    weight = st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.3])
    weights = draw(st.lists(weight, min_size=len(attributes), max_size=len(attributes)))
    return Problem(
        np.array(tuples, dtype=np.int64), np.array(counts, dtype=np.int64), attributes, np.array(weights)
    )


@st.composite
def solvable(draw: st.DrawFn) -> tuple[Problem, int]:
    """A problem and a k that it has rows enough for."""
    problem = draw(problems())
    return problem, draw(st.integers(1, min(problem.rows, 8)))
