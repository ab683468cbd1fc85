"""What is DuckDB's alone: registering Python functions, transactions, and carrying lists between Arrow and numpy.

The registered functions live as long as the database instance, whichever connection registered them, so they are
kept alive here and hold connections only weakly: a strong reference would keep a closed database open.
"""

from __future__ import annotations

import itertools
import json
import secrets
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextlib import suppress as ignoring
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from sqlanon import progress
from sqlanon.errors import CatalogError, InterruptedRunError, SqlanonError
from sqlanon.failures import translated
from sqlanon.pseudonyms import lent, pseudonyms, token_of
from sqlanon.sqltext import name
from sqlanon.udfs import blocks
from sqlanon.udfs.bounds import lower_bounds
from sqlanon.udfs.costs import PRIVATE
from sqlanon.udfs.divergence import divergence
from sqlanon.udfs.diversity import repair, spread
from sqlanon.udfs.kmap import fewest_inside, trim
from sqlanon.udfs.matches import least_matches
from sqlanon.udfs.method import Method, Progress
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import promise
from sqlanon.udfs.problem import Attribute, Groups, Numbers, Problem, Tree
from sqlanon.udfs.refine import refine
from sqlanon.udfs.suppress import settle, suppress
from sqlanon.udfs.wfcmeans import information_distortion

Planner = Callable[[duckdb.DuckDBPyConnection, str], str]
"""Makes the SQL text for a request (JSON), reading the catalog through the connection."""

NODE = 'STRUCT(attribute INTEGER, lo BIGINT, hi BIGINT, "level" INTEGER, place DOUBLE)'
TUPLE = 'STRUCT(tuple BIGINT, "rows" BIGINT, released BIGINT, ranks BIGINT[], codes BIGINT[])'
BOX = 'STRUCT("rows" BIGINT, lo BIGINT[], hi BIGINT[])'
COUNTED = 'STRUCT("rows" BIGINT, ranks BIGINT[])'
BOUNDS = "STRUCT(error VARCHAR, pair DOUBLE, box DOUBLE, gcp DOUBLE)"
ANSWER = (
    "STRUCT(error VARCHAR, deals STRUCT(tuple BIGINT, deal BIGINT[])[], "
    "ranges STRUCT(group_id BIGINT, lo BIGINT[], hi BIGINT[])[])"
)

_instances: dict[str, Instance] = {}
_numbers = itertools.count(1)
_claiming = threading.Lock()
_reports: dict[str, dict[str, Any] | None] = {}


class Instance:
    """One database instance: the functions registered there, and the connections through which it was loaded."""

    def __init__(self, planners: dict[str, Planner]) -> None:
        self.key = str(next(_numbers))
        self.connections: list[weakref.ref[duckdb.DuckDBPyConnection]] = []
        self.planners = {function: self._planning(planner) for function, planner in planners.items()}
        self.say_key = lambda: self.key
        self.last_number = 0

    def register(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the functions known to the database instance behind the connection."""
        create: Any = con.create_function
        create("sqlanon_instance", self.say_key, [], "VARCHAR")
        create("sqlanon_cluster", cluster, ["VARCHAR", f"{NODE}[]", f"{TUPLE}[]"], ANSWER, type="arrow")
        create("sqlanon_bounds", bounds, ["VARCHAR", f"{NODE}[]", f"{TUPLE}[]"], BOUNDS, type="arrow")
        lists = [f"{BOX}[]", f"{COUNTED}[]"]
        create("sqlanon_divergence", divergences, lists, "DOUBLE", type="arrow", null_handling="special")
        create("sqlanon_matches", matches, lists, "BIGINT", type="arrow", null_handling="special")
        create("sqlanon_inside", inside, lists, "BIGINT", type="arrow", null_handling="special")
        create("sqlanon_shuffle", shuffle, ["BIGINT"], "UBIGINT", type="arrow", side_effects=True)
        create("sqlanon_pseudonym", pseudonyms, ["VARCHAR", "VARCHAR"], "VARCHAR", type="arrow")
        for function, planner in self.planners.items():
            create(function, planner, ["VARCHAR", "VARCHAR", "VARCHAR"], "VARCHAR")

    def _planning(self, planner: Planner) -> Callable[[str, str, str], str]:
        """The planner as a scalar function. It never raises what is the user's to mend: the message comes back behind
        a ! and the macro fails with it, because an exception inside a function would show as a traceback."""

        def plan(database: str, schema: str, request: str) -> str:
            progress.watch_interrupts()
            try:
                with self._cursor() as con:
                    run(con, f"use {name(database)}.{name(schema)}")
                    return planner(con, request)
            except SqlanonError as problem:
                return f"!{problem}"

        return plan

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        for reference in reversed(self.connections):
            con = reference()
            if con is None:
                continue
            try:
                cursor = con.cursor()
            except duckdb.ConnectionException:
                continue
            try:
                yield cursor
            finally:
                cursor.close()
            return
        raise SqlanonError("The connection that sqlanon was loaded on is gone: call sqlanon.load(con) again")


def attach(con: duckdb.DuckDBPyConnection, planners: dict[str, Planner]) -> None:
    """Register the functions with the connection's database instance, once, and remember the connection."""
    if run(con, "select 1 from duckdb_functions() where function_name = 'sqlanon_instance'"):
        instance = _instances[run(con, "select sqlanon_instance()")[0][0]]
    else:
        instance = Instance(planners)
        try:
            instance.register(con)
        except duckdb.NotImplementedException:  # registered before, in a transaction that was rolled back
            instance.register(con.cursor())
        _instances[instance.key] = instance
    instance.connections = [reference for reference in instance.connections if reference() not in (None, con)]
    instance.connections.append(weakref.ref(con))


def instance_of(con: duckdb.DuckDBPyConnection) -> str:
    """The key of the connection's database instance."""
    if not run(con, "select 1 from duckdb_functions() where function_name = 'sqlanon_instance'"):
        raise CatalogError("sqlanon is not loaded here: call sqlanon.load(con) first")
    return str(run(con, "select sqlanon_instance()")[0][0])


@contextmanager
def key_named(con: duckdb.DuckDBPyConnection, is_needed: bool, key: bytes | None = None) -> Iterator[str | None]:
    """The token of the key for pseudonyms, if there are to be any: of this key, or the instance's or environment's."""
    if key is not None:
        with lent(key) as token:
            yield token
    else:
        yield token_of(instance_of(con)) if is_needed else None


def claim_number(con: duckdb.DuckDBPyConnection, taken: Iterable[int]) -> int:
    """A number that is not taken and that no other connection has claimed: what it makes may not be committed yet."""
    instance = _instances[instance_of(con)]
    with _claiming:
        instance.last_number = 1 + max(instance.last_number, *taken, 0)
        return instance.last_number


def run(con: duckdb.DuckDBPyConnection, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
    """Run a statement to its end and return its rows: a result that is left open blocks the caller's connection."""
    return con.execute(sql, values).fetchall()


@contextmanager
def temporary(con: duckdb.DuckDBPyConnection, what: str, sql: str, kind: str = "table") -> Iterator[str]:
    """A temporary table, or view, of a query's rows, which is gone afterwards."""
    place = f"temp.main.{name(f'sqlanon_{what}_{next(_numbers)}')}"  # DuckDB 1 takes temp alone for a schema
    run(con, f"create temporary {kind} {place} as {sql}")
    try:
        yield place
    finally:
        with ignoring(duckdb.Error):  # an aborted transaction drops it anyway
            run(con, f"drop {kind} {place}")


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing; inside a transaction that the caller opened, all or nothing is the caller's to decide."""
    if is_in_transaction(con):
        yield
        return
    run(con, "begin transaction")
    try:
        yield
    except BaseException:
        with ignoring(duckdb.Error):  # a fatal error has ended it already
            run(con, "rollback")
        raise
    run(con, "commit")


def is_in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Has the caller a transaction open? Two statements then share its id. Trying BEGIN would abort it."""
    return run(con, "select txid_current()") == run(con, "select txid_current()")


@contextmanager
def our_errors() -> Iterator[None]:
    """What DuckDB reports and the user can mend comes out as ours. DuckDB's own text may show a person's value."""
    try:
        yield
    except (duckdb.Error, RuntimeError) as problem:
        if (ours := translated(problem)) is None:
            raise
        raise ours from None


def now() -> datetime:
    """The time, UTC, as the catalog stores it."""
    return datetime.now(UTC).replace(tzinfo=None)


def shuffle(column: pa.Array) -> pa.Array:
    """A sort key per row from the operating system's cryptographic source: no seed can bring the old order back."""
    return pa.array(np.frombuffer(secrets.token_bytes(8 * len(column)), dtype=np.uint64))


def divergences(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """The divergence of the classes from the tuples, for each pair of lists."""
    pairs = zip(_chunks(boxes), _chunks(tuples), strict=True)
    return pa.array([divergence(*_compared(*pair)) for pair in pairs], pa.float64())


def _compared(boxes: Any, tuples: Any) -> tuple[Any, Any, Any, Any, Any]:
    """lo, hi and rows of a list of boxes, ranks and rows of a list of tuples."""
    box, row = boxes.values, tuples.values
    return _matrix(box, "lo"), _matrix(box, "hi"), _numpy(box, "rows"), _matrix(row, "ranks"), _numpy(row, "rows")


def matches(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """How many records a row may stand for at least, and rows a record, for each pair of lists; 0 if one is empty."""
    return _least(least_matches, boxes, tuples)


def inside(boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    """How many people a box covers at least, for each pair of lists; 0 if one is empty."""
    return _least(fewest_inside, boxes, tuples)


def _least(count: Callable[..., int], boxes: pa.Array, tuples: pa.Array) -> pa.Array:
    found = [
        count(*_compared(box_list, tuple_list)) if box_list.is_valid and tuple_list.is_valid else 0
        for box_list, tuple_list in zip(_chunks(boxes), _chunks(tuples), strict=True)
    ]
    return pa.array(found, pa.int64())


def bounds(requests: pa.Array, nodes: pa.Array, tuples: pa.Array) -> pa.Array:
    """The lower bounds for one list of tuples per row."""
    answers: list[dict[str, Any]] = []
    for request, node_list, tuple_list in zip(_chunks(requests), _chunks(nodes), _chunks(tuples), strict=True):
        asked = json.loads(request.as_py())
        try:
            with progress.running("lower bound") as report:
                problem = _problem(asked, node_list.values, tuple_list.values)
                answers.append(asdict(lower_bounds(problem, asked["k"], report)) | {"error": None})
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        except SqlanonError as found:
            answers.append({"error": str(found)})
    kinds = [("error", pa.string()), *((bound, pa.float64()) for bound in ("pair", "box", "gcp"))]
    return pa.array(answers, pa.struct(kinds))


def cluster(requests: pa.Array, nodes: pa.Array, tuples: pa.Array) -> pa.Array:
    """Run a core on one list of tuples per row. What the user can mend comes back as text, see Instance._planning."""
    errors: list[str | None] = []
    deals: list[pa.StructArray] = []
    ranges: list[pa.StructArray] = []
    for request, node_list, tuple_list in zip(_chunks(requests), _chunks(nodes), _chunks(tuples), strict=True):
        asked = json.loads(request.as_py())
        problem = _problem(asked, node_list.values, tuple_list.values)
        try:
            groups = _cluster(asked, problem)
            if asked["has_population"]:
                groups = trim(problem, groups, asked["k"], _released(tuple_list.values))
            errors.append(None)
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        except SqlanonError as found:
            errors.append(str(found))
            groups = Groups.collect([], [], [])
        deals.append(_dealt(groups))
        ranges.append(_ranges(problem, groups))
    return pa.StructArray.from_arrays(
        [pa.array(errors, pa.string()), _lists(deals), _lists(ranges)], names=["error", "deals", "ranges"]
    )


def _lists(parts: list[pa.StructArray]) -> pa.ListArray:
    """One list per part."""
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.concat_arrays(parts))


def _chunks(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _cluster(request: dict[str, Any], problem: Problem) -> Groups:
    method = METHODS[request["method"]]
    rng = np.random.default_rng(secrets.randbits(128) if method.draws_in_secret else request["seed"])
    size = request["block_size"] or blocks.default_size(method.block_size, len(problem.attributes))
    with progress.running(method.name, request["run"]) as report:
        work = partial(_block, request, method)
        groups = blocks.cluster(problem, request["k"], size, rng, report, work, method.counts_rows)
    if request["max_suppression"] is not None:
        groups = settle(problem, groups, request["k"])
    if request["run"] in _reports:
        told = {} if request["has_population"] else _told(problem, groups, request["k"], method)
        _reports[request["run"]] = groups.report | told
    return groups


def _told(problem: Problem, groups: Groups, k: int, method: Method) -> dict[str, float]:
    """What no printed table tells: where the centres of the groups are, and how little k can cost."""
    told: dict[str, float] = {}
    if not method.draws_in_secret:
        told["information_distortion"] = information_distortion(problem, groups)
    if not method.is_exact:
        quiet: Progress = lambda *done, **facts: None  # noqa: E731
        told["lower_bound"] = lower_bounds(problem.merged()[0], k, quiet, is_brief=True).gcp
    return told


def _block(
    request: dict[str, Any],
    method: Method,
    problem: Problem,
    rng: np.random.Generator,
    report: Progress,
    part: float,
) -> Groups:
    """Cluster a table, or a block that is this part of one."""
    k, parameters = request["k"], request["parameters"]
    if "time_budget" in parameters:
        seconds, share = parameters["time_budget"], min(1.0, part * blocks.workers())
        parameters = parameters | {"part": part, "time_budget": None if seconds is None else share * seconds}
    may_go = request["max_suppression"]
    if method.suppresses:
        parameters = parameters | {"max_suppression": may_go}
    is_plain = not problem.models or problem.l is not None
    if problem.sensitive is None or method.is_diverse or (method.is_l_diverse and is_plain):
        groups = method.cluster(problem, k, rng, report, **parameters)
    elif parameters.get("cost") in PRIVATE:
        groups = method.cluster(replace(problem, models=()), k, rng, report, **parameters)
    else:
        merged, place = problem.merged()
        groups = spread(method.cluster(merged, k, rng, report, **parameters), place, problem.counts)
    groups = repair(problem, groups, report)
    if may_go and not method.suppresses:
        groups = suppress(problem, groups, k, may_go, report)
    return refine(problem, groups, k, rng, report) if request["refine"] else groups


def await_report() -> str:
    """A name for a run whose core's report is wanted."""
    token = str(next(_numbers))
    _reports[token] = None
    progress.time_run(token)
    return token


def take_report(run: str) -> dict[str, Any]:
    """What the core of a named run told beside its groups."""
    return _reports.pop(run, None) or {}


def _problem(request: dict[str, Any], nodes: Any, tuples: Any) -> Problem:
    """The lists that DuckDB collected, sorted: collecting promises no order."""
    order = np.argsort(_numpy(tuples, "tuple"))
    ranks, codes = _matrix(tuples, "ranks"), _matrix(tuples, "codes")
    number, lo = _numpy(nodes, "attribute"), _numpy(nodes, "lo")
    hi, level, at = _numpy(nodes, "hi"), _numpy(nodes, "level"), _numpy(nodes, "place")

    def tree(index: int) -> tuple[Any, Any, Any]:
        mine = np.flatnonzero(number == index)
        return lo[mine], hi[mine], level[mine]

    attributes: list[Attribute] = []
    for index, kind in enumerate(request["kinds"], 1):
        mine = np.flatnonzero(number == index)
        mine = mine[np.argsort(lo[mine], kind="stable")]
        attributes.append(Numbers(at[mine]) if kind == "numbers" else Tree(*tree(index)))
    problem = Problem(
        ranks=np.ascontiguousarray(ranks[order], dtype=np.int64),
        counts=np.ascontiguousarray(_numpy(tuples, "rows")[order], dtype=np.int64),
        attributes=tuple(attributes),
        weights=np.array(request["weights"], dtype=np.float64),
        sensitive=np.ascontiguousarray(codes[order], dtype=np.int64) if codes.shape[1] else None,
    )
    entity = request.get("entity")
    if not request["models"] and entity is None:
        return problem
    distances = [Tree(*tree(distance)) if isinstance(distance, int) else distance for distance in request["distances"]]
    return promise(
        problem,
        request["models"],
        is_strict=request["is_strict"],
        c=request["recursive_c"],
        columns=[*request["sensitive"], *([entity] if entity else ())],
        distances=distances,
        people=request["k"] if entity else None,
    )


def _released(tuples: Any) -> Any:
    """How many rows of each tuple are released, in the order of the problem."""
    return _numpy(tuples, "released")[np.argsort(_numpy(tuples, "tuple"))]


def _matrix(structs: Any, field: str) -> Any:
    """A field of lists of one length, as rows of a matrix."""
    return structs.field(field).flatten().to_numpy(zero_copy_only=False).reshape(len(structs), -1)


def _numpy(structs: Any, field: str) -> Any:
    return structs.field(field).to_numpy(zero_copy_only=False)


def _dealt(groups: Groups) -> pa.StructArray:
    """For each tuple the groups that its rows go to: one group, or a turn per row with the groups interleaved.

    Interleaved in proportion (a group's j-th of m turns comes at (j + ½) / m), so that rows dealt out in the order of
    a sensitive value spread it over the groups.
    """
    entries = np.bincount(groups.tuple)
    turns = np.where(entries[groups.tuple] > 1, groups.rows, 1)
    of_entry = np.repeat(np.arange(len(turns)), turns)
    turn = np.arange(len(of_entry)) - np.repeat(np.cumsum(turns) - turns, turns)
    order = np.lexsort((groups.group[of_entry], (turn + 0.5) / turns[of_entry], groups.tuple[of_entry]))
    tuples, starts = np.unique(groups.tuple[of_entry][order], return_index=True)
    return pa.StructArray.from_arrays(
        [pa.array(tuples, pa.int64()), _vectors(groups.group[of_entry][order], np.append(starts, len(order)))],
        names=["tuple", "deal"],
    )


def _ranges(problem: Problem, groups: Groups) -> pa.StructArray:
    """For each group the smallest and largest rank of every attribute, as they are to be printed."""
    lo, hi, rows = groups.closure(problem)
    width = lo.shape[1]
    offsets = np.arange(0, width * len(rows) + 1, width)
    return pa.StructArray.from_arrays(
        [pa.array(np.arange(len(rows))), *(_vectors(ends.reshape(-1), offsets) for ends in (lo, hi))],
        names=["group_id", "lo", "hi"],
    )


def _vectors(flat: Any, offsets: Any) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat, pa.int64()))
