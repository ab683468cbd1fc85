"""sqlanon anonymizes tables inside DuckDB: verified k-anonymity by the best published clustering algorithms."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlanon.version import __version__

if TYPE_CHECKING:
    from sqlanon.attacks import Attack, Attacks, attack
    from sqlanon.auditing import Audit, Combination, audit
    from sqlanon.checks import Check, check
    from sqlanon.comparison import Comparison, compare
    from sqlanon.connection import Connection, connect
    from sqlanon.detection import Detection, detect
    from sqlanon.displays import show_hierarchy
    from sqlanon.errors import BrokenPromiseError, SqlanonError
    from sqlanon.hierarchy import create_hierarchy, drop_hierarchy
    from sqlanon.loading import load, set_key
    from sqlanon.policy import Policy
    from sqlanon.pseudonyms import create_key, read_key
    from sqlanon.publish import open_readonly
    from sqlanon.refreshing import refresh
    from sqlanon.release import Release, anonymize, drop_release, open_release
    from sqlanon.reports import report
    from sqlanon.risks import risk
    from sqlanon.staleness import Status, status
    from sqlanon.stored import Version

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet unless the caller listens

_MODULES = {
    "attacks": ("Attack", "Attacks", "attack"),
    "auditing": ("Audit", "Combination", "audit"),
    "checks": ("Check", "check"),
    "comparison": ("Comparison", "compare"),
    "connection": ("Connection", "connect"),
    "detection": ("Detection", "detect"),
    "displays": ("show_hierarchy",),
    "errors": ("BrokenPromiseError", "SqlanonError"),
    "hierarchy": ("create_hierarchy", "drop_hierarchy"),
    "loading": ("load", "set_key"),
    "policy": ("Policy",),
    "pseudonyms": ("create_key", "read_key"),
    "publish": ("open_readonly",),
    "refreshing": ("refresh",),
    "release": ("Release", "anonymize", "drop_release", "open_release"),
    "reports": ("report",),
    "risks": ("risk",),
    "staleness": ("Status", "status"),
    "stored": ("Version",),
}
"""Where each name is. It is imported when it is first used, so that `sqlanon --help` need not wait for DuckDB."""

__all__ = [
    "Attack",
    "Attacks",
    "Audit",
    "BrokenPromiseError",
    "Check",
    "Combination",
    "Comparison",
    "Connection",
    "Detection",
    "Policy",
    "Release",
    "SqlanonError",
    "Status",
    "Version",
    "__version__",
    "anonymize",
    "attack",
    "audit",
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
    "refresh",
    "report",
    "risk",
    "set_key",
    "show_hierarchy",
    "status",
]


def __getattr__(name: str) -> Any:
    for module, exported in _MODULES.items():
        if name in exported:
            globals()[name] = getattr(import_module(f"sqlanon.{module}"), name)
            return globals()[name]
    raise AttributeError(f"module 'sqlanon' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__
