"""The source of a release without the rows that were left out of it, for all that is told of the release later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.session import temporary
from sqlanon.pipeline.digests import PLACE
from sqlanon.pipeline.proof import Proof
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy.covering import Covering, Printed, covers
from sqlanon.sqltext import literal


@dataclass(frozen=True)
class Remaining:
    """The rows of a source that some released class covers, and how many others there are, which were left out."""

    source: Source
    gone: int


@contextmanager
def without_left_out(catalog: Catalog, source: Source, table: str, policy: Policy, proof: Proof) -> Iterator[Remaining]:
    """The source as far as a release covers it: the others would tell their values by the range of a column."""
    if not proof.left_out or not covers(policy):
        yield Remaining(source, 0)
        return
    view = Covering(catalog, Printed(table, "the release", "", policy, Tolerance.OLDER, source))
    gone = [int(place) + 1 for place in np.flatnonzero(view.rows_of_people < 0.5)]
    numbered = f"(select *, row_number() over () as {PLACE} from {source.relation})"
    is_covered = f"{PLACE} not in (select unnest({literal(gone)}::bigint[]))"
    with temporary(catalog.con, "rest", f"select * exclude ({PLACE}) from {numbered} where {is_covered}") as rest:
        yield Remaining(Source(rest, source.shown, source.types, is_table=True), len(gone))
