"""Blocks: a large table is cut into blocks of near tuples, each clustered on its own, and the seams are polished.

The tuples are cut in two, top-down as in Mondrian (LeFevre et al., ICDE 2006), until no block has more than `size`:
numbers and dates near the middle, trees between the children of the block's closest common node, in the attribute in
which a group across the cut would lose most. Blocks run in threads: numpy lets go of the interpreter in the long
operations. Then the groups are cut into blocks at other places, across the seams of the first, and each is refined for
some steps.

Time O(E d) for each doubling of the number of blocks, and memory O(E d) in addition to what the running blocks take.
Every block has its own random numbers, so that the answer depends on the seed and not on the number of threads.

Decided:
- A cut leaves at least k rows on each side, which keep all models, so that every block can be clustered. A block that
  no cut leaves so stays whole.
- An attribute that only cuts off less than an eighth waits until no other cuts better.
- What the method prints wider than needed (`Groups.box`) is left alone, seams and all.
- Seams are polished by the measure that the method keeps low, and not at all where no search knows it (`wmi`,
  `suppression`), or where a method is asked for as printed (`ending = 'paper'`).
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sqlanon.errors import InterruptedRunError
from sqlanon.udfs import legality
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.method import THOUSANDTHS, Progress, between
from sqlanon.udfs.problem import SUPPRESSED, Attribute, Floats, Groups, Ints, Problem, Tree

LOPSIDED = 1 / 8
POLISH = 10
"""Steps of refining after the blocks."""
POLISHED = 20_000
"""Tuples that are refined together, at least."""
BYTES = 400
"""What a core holds in memory for each value of a tuple, at most."""
SHARE = 0.25
"""Of the machine's memory, for all blocks under way together."""
FORMING, CUTTING, REFINING = range(3)
"""What random numbers are drawn for: clustering a block, cutting at other places, and refining there."""
Work = Callable[[Problem, np.random.Generator, Progress, float, float], Groups]
"""Clusters one block; the last arguments are which part of the table it is, and which share of the time it has."""


def default_workers(tuples: int, attributes: int) -> int:
    """How many blocks of this many tuples are under way at once: one for each core, as far as memory allows.

    The blocks are the same whatever the machine: only how many of them run at once depends on it.
    """
    cores = os.cpu_count() or 1
    if not hasattr(os, "sysconf"):
        return cores
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(cores, int(memory * SHARE / (BYTES * attributes * tuples))))


@dataclass(frozen=True)
class Cut:
    """A rule that parts tuples in two: those whose rank of the attribute is below the edge, and the others.

    Each side is cut further or is the number of a block. The rule knows no tuples, so that it can be made from a sample
    and be applied elsewhere.
    """

    attribute: int
    edge: int
    below: Rule
    above: Rule

    def place(self, ranks: Ints) -> Ints:
        """The number of the block that each tuple belongs to."""
        places = np.empty(len(ranks), dtype=np.int64)
        todo: list[tuple[Rule, Ints]] = [(self, np.arange(len(ranks)))]
        while todo:
            rule, some = todo.pop()
            if isinstance(rule, int):
                places[some] = rule
            else:
                is_below = ranks[some, rule.attribute] < rule.edge
                todo += [(rule.below, some[is_below]), (rule.above, some[~is_below])]
        return places


Rule = Cut | int
"""How a table is cut into blocks; a number where there is nothing to cut."""


def blocks_of(rule: Rule, ranks: Ints) -> list[Ints]:
    """The tuples of each block, in the order of the blocks."""
    places = np.zeros(len(ranks), dtype=np.int64) if isinstance(rule, int) else rule.place(ranks)
    order = np.argsort(places, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(places[order])) + 1)


def cluster(
    problem: Problem,
    k: int,
    size: int | None,
    rng: np.random.Generator,
    progress: Progress,
    work: Work,
    counts_rows: bool = False,
    workers: int | None = None,
    objective: str | None = "ncp",
) -> Groups:
    """The work done in blocks of this many tuples, or rows, several at once, and their seams polished by the objective,
    or not at all if that is None; on the whole table where it is no larger, or size is None. What was done is in the
    groups' report."""
    filling = problem.counts.astype(np.float64) if counts_rows else np.ones(len(problem.counts))
    rule = 0 if size is None else cut(problem, filling, size, _legal(problem, k))
    if size is None or isinstance(rule, int):
        return work(problem, rng, progress, 1.0, 1.0)
    blocks = blocks_of(rule, problem.ranks)
    busy = workers or default_workers(size, len(problem.attributes))
    seeds = rng.bit_generator.seed_seq
    assert isinstance(seeds, np.random.SeedSequence), "random numbers come from a seed"
    jobs = [
        partial(_clustered, _part(problem, block), rng, len(block) / len(problem.counts), busy, work)
        for block, rng in ((block, draws(seeds, FORMING, number)) for number, block in enumerate(blocks))
    ]
    parts = _each(jobs, [len(block) for block in blocks], between(progress, 0, 900), busy)
    groups = _joined(blocks, parts, {"blocks": len(blocks)})
    if groups.box is None and objective is not None:
        rest = between(progress, 900, THOUSANDTHS)
        groups = polish(problem, groups, k, max(size, POLISHED), seeds, rest, busy, objective)
        groups.report["seams_polished_by"] = objective
    progress(THOUSANDTHS, THOUSANDTHS)
    return groups


def draws(seeds: np.random.SeedSequence, *place: int) -> np.random.Generator:
    """The random numbers of one place in a run: the same whatever the engine, and whatever was drawn elsewhere."""
    return np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, *place)))


def in_random_order(problem: Problem, rng: np.random.Generator) -> tuple[Problem, Ints]:
    """The problem with its tuples in the order of their ranks, those of equal ranks in random order, and where each
    was: of equal ones a core takes the first, which must not be the one with the first sensitive value."""
    order = np.lexsort((rng.random(len(problem.counts)), *problem.ranks.T[::-1]))
    return _part(problem, order), order


def cut(
    problem: Problem,
    filling: Floats,
    size: int,
    is_legal: Callable[[Ints], bool],
    rng: np.random.Generator | None = None,
) -> Rule:
    """The rule that parts the tuples until none is filled with more than `size`, as far as legal cuts allow.

    With a generator, cuts are in any wide attribute and anywhere near the middle.
    """
    numbers = itertools.count()

    def parted(part: Ints) -> Rule:
        found = None if filling[part].sum() <= size else _best(problem, part, filling, is_legal, rng)
        if found is None:
            return next(numbers)
        attribute, edge = found
        is_below = problem.ranks[part, attribute] < edge
        return Cut(attribute, edge, parted(part[is_below]), parted(part[~is_below]))

    return parted(np.arange(len(problem.counts)))


def _best(
    problem: Problem, part: Ints, filling: Floats, is_legal: Callable[[Ints], bool], rng: np.random.Generator | None
) -> tuple[int, int] | None:
    """The attribute and edge of the best legal cut of a part, or None."""
    ranks = problem.ranks[part]
    lo, hi = ranks.min(axis=0), ranks.max(axis=0)
    middle = 0.5 if rng is None else rng.uniform(0.3, 0.7)
    found = []
    for j, attribute in enumerate(problem.attributes):
        edges = _edges(attribute, int(lo[j]), int(hi[j]))
        if not len(edges):
            continue
        held = np.bincount(ranks[:, j] - lo[j], weights=filling[part], minlength=hi[j] - lo[j] + 1)
        below = held.cumsum()[edges - lo[j] - 1] / held.sum()
        best = np.abs(below - middle).argmin()
        parted = problem.weights[j] * float(attribute.loss(edges[best] - 1, edges[best]))
        width = problem.weights[j] * float(attribute.loss(lo[j], hi[j]))
        is_lopsided = min(below[best], 1 - below[best]) < LOPSIDED
        key = (is_lopsided, -parted, -width) if rng is None else (is_lopsided, -width * rng.random())
        found.append((*key, j, int(edges[best])))
    for *_, j, edge in sorted(found):
        is_below = ranks[:, j] < edge
        if is_legal(part[is_below]) and is_legal(part[~is_below]):
            return j, edge
    return None


def _edges(attribute: Attribute, lo: int, hi: int) -> Ints:
    """The ranks at which the range may be cut: the first rank of the upper side."""
    if not isinstance(attribute, Tree):
        return np.arange(lo + 1, hi + 1)
    node = attribute.common(np.array([lo]), np.array([hi]))
    below = attribute.path[attribute.height - int(attribute.level[node[0]]) :, lo : hi + 1]
    return np.empty(0, np.int64) if not len(below) else lo + 1 + np.flatnonzero(np.diff(below[0]))


def _legal(problem: Problem, k: int) -> Callable[[Ints], bool]:
    """Can these tuples be clustered on their own?"""

    def is_legal(some: Ints) -> bool:
        rows = problem.counts[some]
        if rows.sum() < k or not problem.models:
            return bool(rows.sum() >= k)
        return bool(legality.are_legal(problem, some, np.zeros_like(some), rows)[0])

    return is_legal


def _part(problem: Problem, some: Ints) -> Problem:
    sensitive = None if problem.sensitive is None else problem.sensitive[some]
    return replace(problem, ranks=problem.ranks[some], counts=problem.counts[some], sensitive=sensitive)


def _clustered(
    problem: Problem, rng: np.random.Generator, part: float, busy: int, work: Work, progress: Progress
) -> Groups:
    return work(problem, rng, progress, part, min(1.0, part * busy))


def _joined(blocks: list[Ints], parts: list[Groups], report: dict[str, object]) -> Groups:
    """The groups of all blocks, numbered on."""
    before = np.cumsum([0, *(int(part.group.max(initial=SUPPRESSED)) + 1 for part in parts)])
    entries = [
        (block[part.tuple], np.where(part.group == SUPPRESSED, SUPPRESSED, part.group + first), part.rows)
        for block, part, first in zip(blocks, parts, before[:-1], strict=True)
    ]
    boxes = [part.box for part in parts if part.box is not None]
    box = (np.vstack([lo for lo, _ in boxes]), np.vstack([hi for _, hi in boxes])) if boxes else None
    told = {key: True for part in parts for key, value in part.report.items() if value is True}
    tuples, groups, rows = (np.concatenate(column) for column in zip(*entries, strict=True))
    return Groups.collect(tuples, groups, rows, report | told, box)


def polish(
    problem: Problem,
    groups: Groups,
    k: int,
    size: int,
    seeds: np.random.SeedSequence,
    progress: Progress,
    workers: int = 1,
    objective: str = "ncp",
) -> Groups:
    """The groups refined in blocks whose seams lie elsewhere. A group goes where its first tuple does."""
    kept = np.flatnonzero(groups.group != SUPPRESSED)
    rest = np.flatnonzero(groups.group == SUPPRESSED)
    tuples, group, rows = groups.tuple[kept], groups.group[kept], groups.rows[kept]
    places = places_of(other_cut(problem, size, seeds), groups, problem.ranks)[kept]
    jobs, blocks = [], []
    for place in np.unique(places):
        mine = np.flatnonzero(places == place)
        block, local = np.unique(tuples[mine], return_inverse=True)
        held = np.bincount(local, weights=rows[mine]).astype(np.int64)
        inside = Groups.collect(local, np.unique(group[mine], return_inverse=True)[1], rows[mine])
        part = replace(_part(problem, block), counts=held)
        jobs.append(partial(refine_seams, part, inside, k, draws(seeds, REFINING, int(place)), objective))
        blocks.append(block)
    parts = _each(jobs, [len(block) for block in blocks], progress, workers)
    suppressed = Groups(np.arange(len(rest)), np.full(len(rest), SUPPRESSED), groups.rows[rest])
    return _joined([*blocks, groups.tuple[rest]], [*parts, suppressed], groups.report)


def other_cut(some: Problem, size: int, seeds: np.random.SeedSequence) -> Rule:
    """A rule whose seams lie elsewhere than those of the blocks."""
    return cut(some, np.ones(len(some.counts)), size, lambda part: True, draws(seeds, CUTTING))


def places_of(rule: Rule, groups: Groups, ranks: Ints) -> Ints:
    """The block of the rule for each entry of the groups: where the first tuple of its group lies."""
    ids, first, of = np.unique(groups.group, return_index=True, return_inverse=True)
    heads = ranks[groups.tuple[first]]
    places = np.zeros(len(ids), dtype=np.int64) if isinstance(rule, int) else rule.place(heads)
    return np.asarray(places[of.reshape(-1)])


def refine_seams(
    problem: Problem, groups: Groups, k: int, rng: np.random.Generator, objective: str, progress: Progress
) -> Groups:
    """The groups of one block of the other cut, refined."""
    mixed, order = in_random_order(problem.narrowed()[0], rng)
    return refine(mixed, groups.of(order.argsort()), k, rng, progress, steps=POLISH, objective=objective).of(order)


def _each(
    jobs: Sequence[Callable[[Progress], Groups]], sizes: list[int], progress: Progress, workers: int
) -> list[Groups]:
    """The jobs' results in their order, several jobs under way at once. The first that fails stops the others."""
    shared = _Shared(progress, sizes)
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(shared.run, number, job) for number, job in enumerate(jobs)]
    if shared.failure is not None:
        raise shared.failure
    return [future.result() for future in futures]


class _Shared:
    """One progress for several jobs, each as long as it is large."""

    def __init__(self, progress: Progress, sizes: list[int]) -> None:
        self.progress, self.sizes = progress, sizes
        self.done = [0.0] * len(sizes)
        self.losses: dict[int, float] = {}
        self.lock = threading.Lock()
        self.failure: BaseException | None = None

    def run(self, number: int, job: Callable[[Progress], Groups]) -> Groups:
        """Do one job, telling how far it is."""

        def report(done: int, total: int, **facts: float) -> None:
            with self.lock:
                self._go_on()
                self.done[number] = max(self.done[number], self.sizes[number] * done / max(total, 1))
                if "loss" in facts:
                    self.losses[number] = facts["loss"]
                self.progress(int(sum(self.done)), sum(self.sizes), **self._facts())

        try:
            self._go_on()
            return job(report)
        except BaseException as failure:
            with self.lock:
                self.failure = self.failure or failure
            raise

    def _facts(self) -> dict[str, float]:
        """The mean loss of the jobs that have told theirs."""
        size = sum(self.sizes[number] for number in self.losses)
        total = sum(self.sizes[number] * loss for number, loss in self.losses.items())
        return {"loss": total / size} if size else {}

    def _go_on(self) -> None:
        """Stop where another block failed."""
        if self.failure is not None:
            raise InterruptedRunError("Another block failed")
