"""The same release on Spark: classic, Spark Connect and Sail, by the DataFrame API alone.

Rows and tuples stay on Spark. Blocks of tuples are clustered on its workers, by the same cores. Domains, hierarchies
and the text of labels are made by DuckDB on the driver, so that labels have the same characters. A worker imports
`workers` and what that needs, neither DuckDB nor this package's other modules.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from sqlanon.errors import SqlanonError

if TYPE_CHECKING:
    from sqlanon.spark.checking import check as check
    from sqlanon.spark.making import anonymize as anonymize
    from sqlanon.spark.release import SparkRelease as SparkRelease
    from sqlanon.spark.running import run_policy as run_policy
    from sqlanon.spark.running import session_of as session_of

_HOMES = {
    "anonymize": "making",
    "check": "checking",
    "SparkRelease": "release",
    "run_policy": "running",
    "session_of": "running",
}

__all__ = ["SparkRelease", "anonymize", "check", "run_policy", "session_of"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sqlanon.spark' has no attribute '{name}'")
    if find_spec("pyspark") is None:
        raise SqlanonError("This needs pyspark: pip install 'sqlanon[spark]'")
    return getattr(import_module(f"sqlanon.spark.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
