"""Blocks: what they promise beside the cores' own promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import generators, random_problem, solvable, trees, with_l
from sweeping import examples

from sqlanon.errors import DataError, InterruptedRunError
from sqlanon.udfs.after import blocks, repair
from sqlanon.udfs.after.refine import refine
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.problem import SUPPRESSED, Groups, Numbers, Problem, gcp
from sqlanon.udfs.request import Request
from sqlanon.udfs.solve import seams, solve
from sqlanon.udfs.space import costs

some = settings(max_examples=examples(100), deadline=None)


def quiet(done: int, total: int, **facts: float) -> None:
    pass


def work_of(name: str, k: int) -> blocks.Work:
    method = METHODS[name]
    return lambda problem, rng, progress, part, share: method.cluster(problem, k, rng, progress, **method.check({}))


def line(count: int, spread: float = 1.0) -> Problem:
    """So many numbers in a row."""
    ranks = np.arange(count).reshape(-1, 1)
    return Problem(ranks, np.ones(count, dtype=np.int64), (Numbers(np.arange(count) * spread),), np.ones(1))


def with_codes(problem: Problem, rng: np.random.Generator, values: int, l: float) -> Problem:  # noqa: E741
    """The problem with a sensitive value for each tuple, and the l that its whole table has at most."""
    codes = rng.integers(values, size=(len(problem.counts), 1))
    return with_l(replace(problem, sensitive=codes), l)


@some
@given(problem=st.builds(random_problem, generators), size=st.integers(1, 12), seed=st.none() | st.integers(0, 9))
def test_a_cut_gives_every_tuple_one_part(problem, size, seed):
    rng = None if seed is None else np.random.default_rng(seed)
    parts = blocks.blocks_of(
        blocks.cut(problem, np.ones(len(problem.counts)), size, lambda part: True, rng), problem.ranks
    )
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(problem.counts)))
    assert max(map(len, parts)) <= size  # tuples are distinct, so some attribute always parts them


@some
@given(tree=trees, size=st.integers(1, 6))
def test_a_part_has_whole_children_of_its_closest_common_node(tree, size):
    ranks = np.arange(tree.leaves)
    problem = Problem(ranks.reshape(-1, 1), np.ones(len(ranks), dtype=np.int64), (tree,), np.ones(1))
    for part in blocks.blocks_of(blocks.cut(problem, np.ones(len(ranks)), size, lambda part: True), problem.ranks):
        if len(part) == 1:
            continue
        node = tree.common(ranks[part.min()], ranks[part.max()])
        children = tree.path[tree.height - tree.level[node]]
        assert sorted(part.tolist()) == np.flatnonzero(np.isin(children, children[part])).tolist()


@some
@given(case=solvable, size=st.integers(1, 12))
def test_blocks_have_k_rows(case, size):
    problem, k = case
    parts = blocks.blocks_of(
        blocks.cut(problem, np.ones(len(problem.counts)), size, blocks._legal(problem, k)), problem.ranks
    )
    assert all(problem.counts[part].sum() >= k for part in parts)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.block_size is not None])
@settings(max_examples=10, deadline=None)
@given(case=solvable, size=st.integers(3, 12), seed=st.integers(0, 9))
def test_every_method_in_blocks_keeps_its_promise(name, case, size, seed):
    problem, k = case
    groups = blocks.cluster(problem, k, size, np.random.default_rng(seed), quiet, work_of(name, k))
    assert np.bincount(groups.tuple, groups.rows, len(problem.counts)).tolist() == problem.counts.tolist()
    ids = np.unique(groups.group)
    if METHODS[name].is_homogeneous:
        assert all(groups.rows[groups.group == group].sum() >= k for group in ids)
    assert ids[ids != SUPPRESSED].tolist() == list(range((ids != SUPPRESSED).sum()))


@some
@given(rng=generators, l=st.sampled_from([1.2, 1.5, 2.0, 3.0]), size=st.integers(3, 12))
def test_blocks_keep_l(rng, l, size):  # noqa: E741
    problem = with_codes(random_problem(rng), rng, 3, l)
    work = work_of("bisecting", 1)
    groups = blocks.cluster(
        problem, 1, size, rng, quiet, lambda part, *rest: repair.repair(part, work(part, *rest), quiet)
    )
    for group in np.unique(groups.group):
        mine = groups.group == group
        held = np.bincount(problem.sensitive[groups.tuple[mine], 0], weights=groups.rows[mine])
        assert held.max() * problem.l <= held.sum() + 1e-6


@pytest.mark.parametrize("name", ["auto", "kaca"])
def test_the_answer_does_not_depend_on_the_number_of_threads(name):
    answers = [
        blocks.cluster(line(300), 4, 40, np.random.default_rng(1), quiet, work_of(name, 4), workers=count)
        for count in (1, 3)
    ]
    first, second = answers
    np.testing.assert_equal((first.tuple, first.group, first.rows), (second.tuple, second.group, second.rows))
    assert first.report["blocks"] == 8


def test_polishing_mends_the_seams():
    def lone_block(problem, rng, progress, part, share):
        return Groups.collect(np.arange(len(problem.counts)), np.zeros(len(problem.counts)), problem.counts)

    problem = line(64)
    parts = blocks.blocks_of(blocks.cut(problem, np.ones(64), 16, lambda part: True), problem.ranks)
    assert [len(part) for part in parts] == [16] * 4
    groups = blocks.cluster(problem, 5, 16, np.random.default_rng(0), quiet, lone_block)
    assert gcp(problem, groups) < 15 / 63
    assert gcp(problem, groups) < 0.5 * 15 / 63


def test_a_small_table_is_not_cut():
    seen = []

    def look(problem, rng, progress, part, share):
        seen.append((len(problem.counts), part))
        return METHODS["kaca"].cluster(problem, 2, rng, progress, **METHODS["kaca"].check({}))

    blocks.cluster(line(30), 2, 30, np.random.default_rng(0), quiet, look)
    blocks.cluster(line(30), 2, None, np.random.default_rng(0), quiet, look)
    assert seen == [(30, 1.0), (30, 1.0)]


def test_the_first_failure_is_the_one_that_is_raised():
    def fail(problem, rng, progress, part, share):
        progress(0, 1)
        raise DataError("this one")

    with pytest.raises(DataError, match="this one"):
        blocks.cluster(line(60), 2, 10, np.random.default_rng(0), quiet, fail)


def test_an_interrupt_stops_all_blocks():
    calls = []

    def interrupt(done, total, **facts):
        calls.append(done)
        raise InterruptedRunError("stopped")

    with pytest.raises(InterruptedRunError, match="stopped"):
        blocks.cluster(line(300), 2, 30, np.random.default_rng(0), interrupt, work_of("kaca", 2))
    assert len(calls) == 1


def test_progress_rises_to_the_total():
    calls = []
    blocks.cluster(
        line(300),
        2,
        50,
        np.random.default_rng(0),
        lambda done, total, **facts: calls.append((done, total)),
        work_of("auto", 2),
    )
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]


def test_boxes_are_kept_and_not_polished():
    def wide(problem, rng, progress, part, share):
        lo = problem.ranks.min(axis=0, keepdims=True)
        box = (lo, problem.ranks.max(axis=0, keepdims=True) + 0)
        return Groups.collect(np.arange(len(problem.counts)), np.zeros(len(problem.counts)), problem.counts, box=box)

    groups = blocks.cluster(line(40), 5, 10, np.random.default_rng(0), quiet, wide)
    assert groups.box[0].tolist() == [[0], [10], [20], [30]]
    assert groups.box[1].tolist() == [[9], [19], [29], [39]]


def test_memory_bounds_how_many_blocks_run_at_once_and_not_what_they_are(monkeypatch):
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(blocks.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**18}.__getitem__)  # 1 GiB
    assert blocks.default_workers(1_000, 8) == 8
    assert blocks.default_workers(20_000, 8) == 2**28 // (400 * 8 * 20_000) == 4
    assert blocks.default_workers(10_000_000, 8) == 1


@pytest.mark.parametrize("method", ["auto", "sequential", "mondrian"])
def test_blocks_of_the_default_size_are_the_same_on_any_machine(method, monkeypatch):
    monkeypatch.setitem(METHODS, method, replace(METHODS[method], block_size=60))
    asked = Request(3, ("numbers", "numbers"), (1.0, 1.0), method, METHODS[method].check({}), seed=1)
    found, workers = [], []
    for cores, pages in ((2, 2**18), (64, 2**28), (1, 2**12)):  # of 1 GiB, 1 TiB and 16 MiB
        monkeypatch.setattr(blocks.os, "cpu_count", lambda cores=cores: cores)
        sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": pages}
        monkeypatch.setattr(blocks.os, "sysconf", sizes.__getitem__)
        workers.append(blocks.default_workers(60, 2))
        groups = solve(asked, skewed(1000), quiet)
        found.append((groups.tuple.tolist(), groups.group.tolist(), groups.rows.tolist()))
    assert workers == [2, 64, 1]
    assert found[0] == found[1] == found[2]


@some
@given(problem=st.builds(random_problem, generators), size=st.integers(1, 12))
def test_a_rule_places_tuples_that_it_was_not_made_from(problem, size):
    rule = blocks.cut(problem, np.ones(len(problem.counts)), size, lambda part: True)
    parts = blocks.blocks_of(rule, problem.ranks)
    backwards = blocks.blocks_of(rule, problem.ranks[::-1])
    last = len(problem.counts) - 1
    assert [sorted((last - part).tolist()) for part in backwards] == [sorted(part.tolist()) for part in parts]


@pytest.mark.parametrize("method", ["auto", "kacpc", "nonhomogeneous"])
def test_a_block_knows_the_values_of_its_own_tuples_alone(method, monkeypatch):
    """Levels, axes and tables of losses are as long as an attribute has values: those of the whole table, for every
    block again, took most of the time and memory."""
    problem, known = line(600), []
    core = METHODS[method]

    def look(block, *given, **options):
        known.append((len(block.attributes[0].at), len(block.counts)))
        return core.cluster(block, *given, **options)

    monkeypatch.setitem(METHODS, method, replace(core, cluster=look))
    request = Request(3, ("numbers",), (1.0,), method, core.check({}), seed=1, block_size=100)
    groups = solve(request, problem, quiet, workers=1)
    assert len(known) > 5
    assert all(values == tuples <= 100 for values, tuples in known)
    lo, hi, _ = groups.closure(problem)
    assert (lo[groups.group] <= problem.ranks[groups.tuple]).all()
    assert (problem.ranks[groups.tuple] <= hi[groups.group]).all()
    assert gcp(problem, groups) < 0.01


def skewed(rows: int) -> Problem:
    """Two numbers, near 0 most rows: MI prefers other groups than NCP."""
    rng = np.random.default_rng(4)
    ranks, counts = np.unique(np.minimum(rng.geometric(0.15, size=(rows, 2)), 30), axis=0, return_counts=True)
    return Problem(ranks, counts, (Numbers(np.arange(31.0)), Numbers(np.arange(31.0) ** 2)), np.ones(2))


@pytest.mark.parametrize("cost", ["ncp", "mi"])
def test_seams_are_polished_by_the_measure_that_was_asked_for(cost, monkeypatch):
    problem, polished = skewed(1500), []
    request = Request(5, ("numbers", "numbers"), (1.0, 1.0), method="sequential", block_size=100)

    def look(*given, **options):
        polished.append(options["objective"])
        return refine(*given, **options)

    monkeypatch.setattr(blocks, "refine", look)

    def solved(**given):
        asked = replace(request, parameters=METHODS["sequential"].check(given))
        return solve(asked, problem, quiet, workers=1)

    literally = solved(cost=cost, ending="paper")
    assert literally.report["blocks"] > 1
    assert "seams_polished_by" not in literally.report
    assert not polished
    found = solved(cost=cost)
    assert found.report["seams_polished_by"] == cost
    assert set(polished) == {cost}
    assert costs.excess(problem, found, cost) < costs.excess(problem, literally, cost)


def test_a_measure_that_no_search_knows_leaves_seams_alone():
    def polished_by(**parameters: str) -> str | None:
        return seams(Request(5, ("numbers",), (1.0,), method="sequential", parameters=parameters))

    assert polished_by(cost="suppression") is None
    assert polished_by(cost="wmi") is None
    assert polished_by() == "ncp"
    assert polished_by(objective="precision") == "precision"


@pytest.mark.parametrize("method", ["kacpc", "mdav", "agglomerative", "linkage"])
def test_without_polish_blocks_depend_on_no_seed(method):
    problem = skewed(1500)
    asked = Request(5, ("numbers", "numbers"), (1.0, 1.0), method=method, block_size=100, polish=False)
    asked = Request.of_json(replace(asked, parameters=METHODS[method].check({})).json())
    first, second = (solve(replace(asked, seed=seed), problem, quiet, workers=1) for seed in (0, 1))
    assert first.report["blocks"] > 1
    assert "seams_polished_by" not in first.report
    assert np.array_equal(first.tuple, second.tuple)
    assert np.array_equal(first.group, second.group)
    one, other = (solve(replace(asked, seed=seed, polish=True), problem, quiet, workers=1) for seed in (0, 1))
    assert not np.array_equal(one.group, other.group)


def test_a_refined_method_is_refined_by_the_measure_that_it_keeps_low():
    problem = skewed(1500)

    def loss(refine: bool) -> float:
        asked = METHODS["sequential"].check({"cost": "mi", "passes": 1, "ending": "paper"})
        request = Request(5, ("numbers", "numbers"), (1.0, 1.0), method="sequential", parameters=asked, refine=refine)
        return costs.excess(problem, solve(request, problem, quiet), "mi")

    assert loss(True) < 0.98 * loss(False)


def test_the_papers_own_table_is_not_cut():
    assert METHODS["sequential"].counts_rows
    assert METHODS["sequential"].block_size > 45_222
