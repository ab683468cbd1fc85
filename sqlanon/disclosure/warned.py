"""What should be looked at although every attack kept to what is promised, and what repairs a release that did not."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

import numpy as np

from sqlanon.disclosure.attacked import Attack
from sqlanon.engine.frames import FRAME, PREFIX
from sqlanon.errors import in_words, option
from sqlanon.policy.policy import Policy
from sqlanon.privacy import verdict
from sqlanon.privacy.covering import Covering, together
from sqlanon.privacy.verdict import Warned
from sqlanon.sqltext import query_or_none
from sqlanon.wording import listed


def warnings_of(view: Covering, rows: Iterable[Attack]) -> tuple[Warned, ...]:
    """Homogeneous classes, rows that kept columns make unique, releases that could not be tried, nothing lost."""
    found = []
    for row in rows:
        if row.attack == "homogeneity" and row.promise is None and row.got:
            counts = np.unique(view.of_rows[str(row.column)], return_counts=True)[1]
            found.append(verdict.homogeneous(str(row.column), float(counts.max() / counts.sum())))
        if row.attack == "intersection" and row.verdict == "not tried":
            found.append(verdict.other_release(f"{row.tried}."))
    kept = view.source.resolve_names((*view.policy.keep, *view.policy.unsafe_keep))
    if kept and (share := _unique(view, kept)):
        found.append(verdict.unique_with(kept, share))
    if np.array_equal(view.lo, view.hi):
        source = view.target.source
        is_named = query_or_none(source) is None and not source.startswith((FRAME, f"temp.{PREFIX}"))
        found.append(verdict.nothing_lost(source if is_named else None))
    return tuple(found)


def _unique(view: Covering, kept: list[str]) -> float:
    """The share of released rows that no other row equals in its class and in kept columns."""
    columns = [view.of_rows[column] for column in kept]
    values = together([view.classes[2], *columns], len(view.lo))
    counts = np.unique(values, return_counts=True)[1]
    return float(np.count_nonzero(counts == 1) / len(values))


def signing(policy: Policy) -> str:
    """How a report is made of a table that is not a stored release."""
    quasi = list(policy.quasi)
    command = f"sqlanon report TABLE --quasi {shlex.quote(','.join(quasi))}"
    said = in_words(python=f"sqlanon.report(con, TABLE, {quasi!r}, 'report.html')", sql=command, command=command)
    return f"write a report to sign: {said}"


def repairs(broken: set[str]) -> str:
    """What repairs a release that these attacks broke."""
    mends = {
        ("linkage", "linkage_mean"): "make it again from its source, with its k",
        ("homogeneity", "background_knowledge"): f"make it again with {option('l', 2)} or more",
        ("row_order",): "put its rows into a random order, as publishing a release does",
        ("intersection",): f"give out one of the releases only, or make it again with {option('strict')}",
        ("linked_rows", "linked_values"): f"make it again with {option('linked')}",
        ("versions",): "make it again under another name for other readers, and stop refreshing it",
        ("dealing",): f"make it again with {option('forming', 'blind')} and without a seed",
    }
    return listed([mend for attacks, mend in mends.items() if broken & set(attacks)], "and")
