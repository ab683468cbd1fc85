"""What is asked of Spark: the same policy as DuckDB's, and what Spark does not have is refused by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sqlanon.errors import PolicyError, SqlanonError, option, option_name
from sqlanon.policy.policy import Policy
from sqlanon.udfs.methods import METHODS

Definitions = Mapping[str, Mapping[str, Any]]
"""Hierarchies by name, each with the options of `create_hierarchy`."""
STORED = "it is about releases that a DuckDB database keeps"
REFUSED = {
    "population": "k counts the people of a population in DuckDB only",
    "linked": "people are grouped by all of their rows in DuckDB only",
    "identity": STORED,
    "deleted": STORED,
    "changed": STORED,
    "updated": STORED,
    "batch": STORED,
    "failed": STORED,
    "row_weight": STORED,
    "strict": STORED,
    "limits": "levels are limited in DuckDB only",
    "represent": "classes are released as centers in DuckDB only",
    "pseudonyms": "pseudonyms that differ from class to class are made in DuckDB only",
    "forming": "groups are formed without sensitive values in DuckDB only",
}
"""Options that Spark does not have, and why."""
OURS = {
    "name": "Spark's own writer stores release.df",
    "kind": "Spark's own writer stores release.df",
    "replace": "Spark's own writer stores release.df",
    "suggest": "draft hierarchies in DuckDB, from a sample",
}
"""What sqlanon.anonymize takes beside the policy."""


@dataclass(frozen=True)
class Asked:
    """A policy, and the hierarchies that it names."""

    policy: Policy
    define: Definitions = field(default_factory=dict)


def asked_of(
    policy: Policy | None,
    options: Mapping[str, Any],
    hierarchies: Mapping[str, Any] | None,
    define: Definitions | None,
) -> Asked:
    """What the user asks for, checked before anything runs."""
    for name, reason in OURS.items():
        if name in options:
            raise PolicyError(f"{option_name(name)} is not available on Spark: {reason}")
    given = {name: value for name, value in options.items() if value is not None}
    made = dict(define or {})
    bound: dict[str, str | None] = {}
    for column, wanted in (hierarchies or {}).items():
        if isinstance(wanted, (Mapping, Path)):
            if column in made:
                raise PolicyError(f"hierarchies and define both say what '{column}' is")
            made[column] = wanted if isinstance(wanted, Mapping) else {"csv": wanted}
            bound[column] = column
        else:
            bound[column] = wanted
    if policy is None:
        policy = Policy.of(given | ({"hierarchies": bound} if bound else {}))
    elif given or bound:
        raise SqlanonError(
            f"Give a policy or its options, not both ({', '.join([*given, *(bound and ['hierarchies'])])})"
        )
    refuse(policy)
    return Asked(policy, made)


def refuse(policy: Policy) -> None:
    """Raise if the policy asks for something that Spark does not have."""
    usual = {entry.name: entry.default for entry in fields(Policy)}
    for name, reason in REFUSED.items():
        value = getattr(policy, name)
        if value and value != usual[name]:
            raise PolicyError(f"{option_name(name)} is not available on Spark: {reason}")
    if policy.parameters.get("time_budget") is not None:
        raise PolicyError(f"{option_name('time_budget')} is not available on Spark: use {option('effort', 'fast')}")
    method = METHODS[policy.method]
    if method.block_size is None or method.is_exact or not method.is_homogeneous:
        able = [one.name for one in METHODS.values() if one.block_size is not None and one.is_homogeneous]
        raise PolicyError(
            f"{option('method', policy.method)} is not available on Spark, where tables are clustered in blocks "
            f"(methods: {', '.join(able)})"
        )
