"""What most tests start from: a database with sqlanon in it, empty or with a sample table.

Loading sqlanon makes 59 macros and takes a tenth of a second. So databases are made once and cleaned after each test;
a test gets a connection of its own, with whose end its settings, temporary tables and prepared statements go.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from databases import CONFIG, Databases
from sweeping import IS_WHOLE, drawn

import sqlanon
from sqlanon import samples

Con = duckdb.DuckDBPyConnection

gc.set_threshold(20_000, 50, 100)  # a tenth of all time went into looking through pytest's own objects


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` leaves out what is marked for the night and three quarters of each sweep; who asks for tests by name
    gets all of them."""
    if IS_WHOLE or config.option.keyword or any("::" in asked for asked in config.args):
        return
    kept = drawn([item for item in items if not item.get_closest_marker("nightly")])
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


@pytest.fixture
def plain() -> Iterator[Con]:
    """A connection to an empty database without sqlanon."""
    with duckdb.connect(config=CONFIG) as connection:
        yield connection


@pytest.fixture(scope="session")
def databases() -> Iterator[Databases]:
    """Databases in memory with sqlanon loaded that no test uses at the moment."""
    found = Databases()
    yield found
    found.close()


@pytest.fixture
def con(databases: Databases) -> Iterator[Con]:
    """A connection to a database with sqlanon loaded and nothing else in it."""
    with databases.lent() as connection:
        yield connection


@pytest.fixture
def connection(con: Con) -> sqlanon.Connection:
    """The same as `con`, as a connection that understands sqlanon's statements."""
    return sqlanon.Connection(con)


@pytest.fixture(scope="module")
def shared(databases: Databases) -> Iterator[Con]:
    """One such database for all tests of a file, which replace the tables that they use: hypothesis runs a test many
    times with it."""
    with databases.lent() as connection:
        yield connection


@pytest.fixture(scope="session")
def hospital_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the sample table `patients` and the hierarchy `zip`: copy it, do not change it."""
    file = tmp_path_factory.mktemp("hospital") / "hospital.duckdb"
    with sqlanon.connect(file) as connection:
        samples.create(connection.duckdb, "patients")
        sqlanon.create_hierarchy(connection, "zip", prefix=True)
    return file


@pytest.fixture
def patients(con: Con) -> None:
    """The sample table `patients`, 16 rows."""
    samples.create(con, "patients")


@pytest.fixture
def zip_prefixes(con: Con) -> None:
    """The hierarchy `zip`: 4350, 435*, 43**, and so on."""
    sqlanon.create_hierarchy(con, "zip", prefix=True)
