"""sqlanon anonymizes tables inside DuckDB: verified k-anonymity by the best published clustering algorithms."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlanon.version import __version__

if TYPE_CHECKING:
    from sqlanon.catalog.hierarchies import create_hierarchy as create_hierarchy
    from sqlanon.catalog.hierarchies import drop_hierarchy as drop_hierarchy
    from sqlanon.catalog.releases import Version as Version
    from sqlanon.catalog.suggestions import suggest_hierarchy as suggest_hierarchy
    from sqlanon.comparison.compare import compare as compare
    from sqlanon.comparison.comparison import Comparison as Comparison
    from sqlanon.comparison.prediction import predict as predict
    from sqlanon.disclosure.attacked import Attack as Attack
    from sqlanon.disclosure.attacked import Attacks as Attacks
    from sqlanon.disclosure.attacks import attack as attack
    from sqlanon.disclosure.detect import Detection as Detection
    from sqlanon.disclosure.detect import detect as detect
    from sqlanon.disclosure.risk import risk as risk
    from sqlanon.engine.opening import open_readonly as open_readonly
    from sqlanon.engine.sources import file_query as file_query
    from sqlanon.errors import BrokenPromiseError as BrokenPromiseError
    from sqlanon.errors import SqlanonError as SqlanonError
    from sqlanon.hierarchies.suggest import Suggestion as Suggestion
    from sqlanon.install import load as load
    from sqlanon.install import set_key as set_key
    from sqlanon.keys import create_key as create_key
    from sqlanon.keys import read_key as read_key
    from sqlanon.pipeline.proof import Proof as Proof
    from sqlanon.policy.policy import Policy as Policy
    from sqlanon.privacy.checking import Check as Check
    from sqlanon.privacy.checking import check as check
    from sqlanon.progress.run import Run as Run
    from sqlanon.releases.combinations import Audit as Audit
    from sqlanon.releases.combinations import Combination as Combination
    from sqlanon.releases.combinations import audit as audit
    from sqlanon.releases.differing import Change as Change
    from sqlanon.releases.differing import Difference as Difference
    from sqlanon.releases.differing import diff as diff
    from sqlanon.releases.erase import erase as erase
    from sqlanon.releases.explaining import Explanation as Explanation
    from sqlanon.releases.explaining import Reason as Reason
    from sqlanon.releases.making import anonymize as anonymize
    from sqlanon.releases.making import store_release as store_release
    from sqlanon.releases.refresh import refresh as refresh
    from sqlanon.releases.release import Release as Release
    from sqlanon.releases.release import drop_release as drop_release
    from sqlanon.releases.release import open_release as open_release
    from sqlanon.releases.status import Status as Status
    from sqlanon.releases.status import status as status
    from sqlanon.reporting.outline import show_hierarchy as show_hierarchy
    from sqlanon.reporting.page import report as report
    from sqlanon.statements.connection import Connection as Connection
    from sqlanon.statements.connection import connect as connect

logging.getLogger(__name__).addHandler(logging.NullHandler())  # quiet unless the caller listens

_HOMES = {
    "catalog.hierarchies": ("create_hierarchy", "drop_hierarchy"),
    "catalog.releases": ("Version",),
    "catalog.suggestions": ("suggest_hierarchy",),
    "comparison.compare": ("compare",),
    "comparison.comparison": ("Comparison",),
    "comparison.prediction": ("predict",),
    "disclosure.attacked": ("Attack", "Attacks"),
    "disclosure.attacks": ("attack",),
    "disclosure.detect": ("Detection", "detect"),
    "disclosure.risk": ("risk",),
    "engine.opening": ("open_readonly",),
    "engine.sources": ("file_query",),
    "errors": ("BrokenPromiseError", "SqlanonError"),
    "hierarchies.suggest": ("Suggestion",),
    "install": ("load", "set_key"),
    "keys": ("create_key", "read_key"),
    "pipeline.proof": ("Proof",),
    "policy.policy": ("Policy",),
    "privacy.checking": ("Check", "check"),
    "progress.run": ("Run",),
    "releases.combinations": ("Audit", "Combination", "audit"),
    "releases.differing": ("Change", "Difference", "diff"),
    "releases.explaining": ("Explanation", "Reason"),
    "releases.erase": ("erase",),
    "releases.making": ("anonymize", "store_release"),
    "releases.refresh": ("refresh",),
    "releases.release": ("Release", "drop_release", "open_release"),
    "releases.status": ("Status", "status"),
    "reporting.outline": ("show_hierarchy",),
    "reporting.page": ("report",),
    "statements.connection": ("Connection", "connect"),
}
"""Where each public name lives. It is imported when it is first used, so that `sqlanon --help` need not wait for
DuckDB. A test holds the imports above, which only type checkers read, to this table."""

_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    if name == "spark":  # a package, which needs an extra
        return import_module("sqlanon.spark")
    if name not in _MODULES:
        raise AttributeError(f"module 'sqlanon' has no attribute '{name}'")
    globals()[name] = getattr(import_module(f"sqlanon.{_MODULES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return list(__all__)
