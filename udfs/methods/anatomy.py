"""Anatomy: quasi-identifiers as they are, and sensitive values in another table, linked by groups.

Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation, VLDB 2006, section 4 (mentioned by Goldberger & Tassa
2010). A group has rows with l different sensitive values, so whoever finds a person's row learns that the value is one
of l. Nothing is generalized: who is in the table is there for all to see, and what a person has is known up to 1/l.

Time O(n log n) and memory O(n) for n rows. Good where exact quasi-identifiers matter, and where it is not a secret who
is in the table.

Decided:
- The paper makes one group after the other, a random row of each of the l most frequent values left, and then adds each
  row left over to a group without its value. Here all groups are made at once: rows sorted by value, in random order
  within it, are dealt to ⌊n / l⌋ groups in turn. No value has more than n / l rows, so it meets no group twice. There
  are as many groups as the paper's, of l rows and the same number of rows more.
- Where k is above l, ⌈k / l⌉ groups or more are united, until there are k rows: in turn again.
- Groups are numbered at random. The engine draws from the system's random source: whoever knew the seed could tell
  which rows have the same value.
"""

from __future__ import annotations

import math

import numpy as np

from sqlanon.udfs import legality
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.problem import Groups, Problem


def cluster(problem: Problem, k: int, rng: np.random.Generator, progress: Progress) -> Groups:
    """Deal the rows to groups by their sensitive value."""
    problem.need_rows(k)
    legality.check_legal(problem)
    least = math.ceil(problem.l or 1)
    value = np.zeros_like(problem.counts) if problem.sensitive is None else problem.sensitive[:, 0]
    progress(0, 2)
    tuples = rng.permutation(np.repeat(np.arange(len(problem.counts)), problem.counts))
    tuples = tuples[np.argsort(value[tuples], kind="stable")]
    progress(1, 2)
    groups = len(tuples) // least
    united = max(1, groups // math.ceil(k / least))
    number = rng.permutation(united)
    group = number[np.arange(len(tuples)) % groups % united]
    progress(2, 2)
    return Groups.collect(tuples, group, np.ones_like(tuples))


METHOD = Method(
    name="anatomy",
    paper="Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation, VLDB 2006",
    cost="O(n log n) time, O(n) memory for n rows",
    use="exact quasi-identifiers, with the sensitive values of each group in a separate table; needs l and "
    "one sensitive column",
    cluster=cluster,
    is_diverse=True,
    is_homogeneous=False,
    is_exact=True,
    block_size=None,
)
