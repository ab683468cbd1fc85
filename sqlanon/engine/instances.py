"""Database instances: which of them know sqlanon's functions, and through which connections they were loaded.

The registered functions live as long as the database instance, whichever connection registered them, so they are
kept alive here and hold connections only weakly: a strong reference would keep a closed database open.
"""

from __future__ import annotations

import functools
import threading
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.engine.functions import (
    ANSWER,
    BOUNDS,
    BOX,
    COUNTED,
    NODE,
    TUPLE,
    Cores,
    divergences,
    inside,
    matches,
    pseudonyms,
    shuffle,
)
from sqlanon.engine.session import is_in_transaction, run, translate_errors
from sqlanon.errors import SQL_FUNCTION, CatalogError, SqlanonError, read_in
from sqlanon.keys import lent, token_of
from sqlanon.progress.run import Run, watch_interrupts
from sqlanon.sqltext import fresh_name, name

Planner = Callable[[duckdb.DuckDBPyConnection, str], str]
"""Makes the SQL text for a request (JSON), reading the catalog through the connection."""
_instances: dict[str, Instance] = {}
_claiming = threading.Lock()


class FaultError(Exception):
    """A fault of sqlanon's own inside a function: where it is, and not what it was about."""


def telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose faults are told by their place alone: their text may show a value, and DuckDB prints it."""

    @functools.wraps(function)
    def told(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (SqlanonError, MemoryError):
            raise
        except Exception as problem:
            frame = traceback.extract_tb(problem.__traceback__)[-1]
            where = f"{type(problem).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
            raise FaultError(f"sqlanon fails with {where}: please report it") from None

    return told


class Instance:
    """One database instance: the functions registered there, and the connections through which it was loaded."""

    def __init__(self, planners: dict[str, Planner]) -> None:
        self.key = fresh_name("instance")
        self.path: str | None = None
        self.connections: list[weakref.ref[duckdb.DuckDBPyConnection]] = []
        self.cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        """Cursors of them that have been here before: asking DuckDB takes longer than the question is worth."""
        self.planners = {function: self._planning(planner) for function, planner in planners.items()}
        self.cores = Cores()
        self.functions: dict[str, Callable[..., Any]] = {}  # kept: DuckDB holds functions weakly
        self.last_number = 0
        self.turn = threading.RLock()

    def register(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the functions known to the database instance behind the connection."""

        def create(function: str, made: Callable[..., Any], *types: Any, **options: Any) -> None:
            self.functions[function] = telling(made)
            con.create_function(function, self.functions[function], *types, **options)

        create("sqlanon_instance", lambda: self.key, [], "VARCHAR")
        create("sqlanon_cluster", self.cores.cluster, ["VARCHAR", f"{NODE}[]", f"{TUPLE}[]"], ANSWER, type="arrow")
        create("sqlanon_bounds", self.cores.bounds, ["VARCHAR", f"{NODE}[]", f"{TUPLE}[]"], BOUNDS, type="arrow")
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
            watch_interrupts()
            try:
                with read_in(SQL_FUNCTION), translate_errors(), self._cursor() as con:
                    run(con, f"use {name(database)}.{name(schema)}")
                    return planner(con, request)
            except SqlanonError as problem:
                return f"!{problem}"

        return plan

    @staticmethod
    def is_open(con: duckdb.DuckDBPyConnection | None) -> bool:
        """Is there such a connection, and is it not closed?"""
        try:
            if con is not None:
                con.cursor().close()
        except duckdb.ConnectionException:
            return False
        return con is not None

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
    instance = _named(con)  # a connection that was loaded may have lost the functions to a rollback
    if instance is None:
        instance = Instance(planners)
        try:
            instance.register(con)
        except duckdb.NotImplementedException:  # registered before, in a transaction that was rolled back
            instance.register(con.cursor())
        first = "select path from duckdb_databases() where not internal order by database_oid limit 1"
        ((instance.path,),) = run(con, first)
        _forget_closed(instance.path)
        _instances[instance.key] = instance
    instance.connections = [reference for reference in instance.connections if reference() not in (None, con)]
    instance.connections.append(weakref.ref(con))


def _forget_closed(path: str | None) -> None:
    """Forget an instance of this file that was closed: DuckDB has opened another one. Of a database in memory, which
    may have a name and other connections, nobody can tell."""
    for old in list(_instances.values()):
        if path is not None and old.path == path and not any(old.is_open(reference()) for reference in old.connections):
            del _instances[old.key]


def forget(con: duckdb.DuckDBPyConnection) -> None:
    """Forget the instance of a connection that was closed, if nobody else can have one to its database."""
    for instance in list(_instances.values()):
        if any(reference() is con for reference in instance.connections):
            del _instances[instance.key]


def instance_of(con: duckdb.DuckDBPyConnection) -> Instance:
    """The connection's database instance."""
    if (found := _find(con)) is None:
        raise CatalogError("sqlanon is not loaded here: call sqlanon.load(con) first")
    return found


def _find(con: duckdb.DuckDBPyConnection) -> Instance | None:
    """The instance that the connection was loaded on, or, for a cursor of such a connection, that DuckDB names."""
    for instance in list(_instances.values()):
        if con in instance.cursors or any(reference() is con for reference in instance.connections):
            return instance
    if (found := _named(con)) is not None:
        found.cursors.add(con)
    return found


def _named(con: duckdb.DuckDBPyConnection) -> Instance | None:
    """The instance that DuckDB names, if it knows the functions.

    A cursor is asked first, whose failure aborts nobody's transaction. It does not see what the connection's own open
    transaction has registered: there the function is looked for, which takes DuckDB long, before it is called.
    """
    with con.cursor() as beside:
        if (found := _called(beside)) is not None:
            return found
    listed = "select 1 from duckdb_functions() where function_name = 'sqlanon_instance'"
    return _called(con) if is_in_transaction(con) and run(con, listed) else None


def _called(con: duckdb.DuckDBPyConnection) -> Instance | None:
    """The instance whose function answers."""
    try:
        return _instances[run(con, "select sqlanon_instance()")[0][0]]
    except duckdb.CatalogException:
        return None


def enlist(con: duckdb.DuckDBPyConnection, wanted: Run | None) -> str | None:
    """Let the cores of the connection's database report to a run, as long as it lives; its id, for the request."""
    if wanted is None:
        return None
    instance_of(con).cores.runs[wanted.id] = wanted
    return wanted.id


@contextmanager
def key_named(con: duckdb.DuckDBPyConnection, is_needed: bool, key: bytes | None = None) -> Iterator[str | None]:
    """The token of the key for pseudonyms, if there are to be any: of this key, or the instance's or environment's."""
    if key is not None:
        with lent(key) as token:
            yield token
    else:
        yield token_of(instance_of(con).key) if is_needed else None


@contextmanager
def in_turn(con: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """One thread at a time for a database, of those that ask for it; after so long it is tried all the same."""
    turn = instance_of(con).turn
    is_mine = turn.acquire(timeout=seconds)
    try:
        yield
    finally:
        if is_mine:
            turn.release()


def claim_number(con: duckdb.DuckDBPyConnection, taken: Iterable[int]) -> int:
    """A number that is not taken and that no other connection has claimed: what it makes may not be committed yet."""
    instance = instance_of(con)
    with _claiming:
        instance.last_number = 1 + max(instance.last_number, *taken, 0)
        return instance.last_number
