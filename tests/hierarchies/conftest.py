"""Hierarchies are made and looked at in a schema of their own, which is not the one that is searched first."""

from __future__ import annotations

import duckdb
import pytest

import sqlanon


@pytest.fixture
def scratch(con: duckdb.DuckDBPyConnection) -> sqlanon.Connection:
    """A connection that understands sqlanon's statements and uses the schema `scratch`."""
    con.execute("create schema scratch; use memory.scratch")
    return sqlanon.Connection(con)


@pytest.fixture(scope="module")
def database(shared: duckdb.DuckDBPyConnection) -> sqlanon.Connection:
    """One for all examples of a test and all tests of a file."""
    return sqlanon.Connection(shared)
