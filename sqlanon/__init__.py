"""sqlanon anonymizes tables inside DuckDB: verified k-anonymity by the best published clustering algorithms."""

import logging

from sqlanon.attack import Attack, Attacks, attack
from sqlanon.checks import Check, check
from sqlanon.compare import Comparison, compare
from sqlanon.connection import Connection, connect
from sqlanon.detect import Detection, detect
from sqlanon.errors import BrokenPromiseError, SqlanonError
from sqlanon.hierarchy import create_hierarchy, drop_hierarchy
from sqlanon.loading import load, set_key
from sqlanon.policy import Policy
from sqlanon.pseudonyms import create_key, read_key
from sqlanon.publish import open_readonly
from sqlanon.release import Release, anonymize, drop_release, open_release
from sqlanon.risk import risk
from sqlanon.version import __version__

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet unless the caller listens

__all__ = [
    "Attack",
    "Attacks",
    "BrokenPromiseError",
    "Check",
    "Comparison",
    "Connection",
    "Detection",
    "Policy",
    "Release",
    "SqlanonError",
    "__version__",
    "anonymize",
    "attack",
    "check",
    "compare",
    "connect",
    "create_hierarchy",
    "create_key",
    "detect",
    "drop_hierarchy",
    "drop_release",
    "load",
    "open_readonly",
    "open_release",
    "read_key",
    "risk",
    "set_key",
]
