"""sqlanon anonymizes tables inside DuckDB: verified k-anonymity by the best published clustering algorithms."""

from sqlanon.checks import Check, check
from sqlanon.connection import Connection, connect
from sqlanon.errors import BrokenPromiseError, SqlanonError
from sqlanon.hierarchy import create_hierarchy, drop_hierarchy
from sqlanon.loading import load
from sqlanon.policy import Policy
from sqlanon.release import Release, anonymize, drop_release, open_release
from sqlanon.version import __version__

__all__ = [
    "BrokenPromiseError",
    "Check",
    "Connection",
    "Policy",
    "Release",
    "SqlanonError",
    "__version__",
    "anonymize",
    "check",
    "connect",
    "create_hierarchy",
    "drop_hierarchy",
    "drop_release",
    "load",
    "open_release",
]
