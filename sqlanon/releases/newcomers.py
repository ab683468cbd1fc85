"""New people of a refreshed view: all who wait are released, or none of them, once.

They are looked at together, when they are a batch. Who fails is left out for good, or released without sensitive
values, and never looked at again: who is released then says nothing more than that one batch failed.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.releases import Stored
from sqlanon.engine.instances import enlist
from sqlanon.engine.session import run, temporary
from sqlanon.pipeline.digests import COHORT, DIGEST, STATE, with_digest
from sqlanon.pipeline.models import asked_of
from sqlanon.pipeline.plan import plan
from sqlanon.pipeline.reading import Reading
from sqlanon.policy.options import ROW_WEIGHT_COLUMN
from sqlanon.policy.policy import Policy
from sqlanon.progress.run import Run
from sqlanon.releases.ledger import HAS_LEFT, IS_NEW, Ledger
from sqlanon.sqltext import literal, names
from sqlanon.sqltext import name as quoted

EVERYBODY, IS_ADDED = "sqlanon_everybody", "sqlanon_is_added"
MOST_CHANGED = 0.1
"""The share of a view's people who may leave while as many come, where nobody can tell whether they are the same."""


@dataclass(frozen=True)
class Newcomers:
    """Those who wait, and how they are released."""

    catalog: Catalog
    stored: Stored
    ledger: Ledger
    reading: Reading
    key: str | None
    stack: ExitStack

    @property
    def policy(self) -> Policy:
        """What the release is asked to be."""
        return self.stored.policy

    def count(self) -> int:
        """How many wait."""
        ((rows,),) = run(self.catalog.con, f"select count(*) from {self.ledger.people} where {IS_NEW}")
        return int(rows)

    def refused(self) -> str | None:
        """Why nobody can be added, if people may have changed unnoticed."""
        if self.policy.identity:
            return None
        give = "give the view an identity, such as identity = ['patient_id']"
        con, members = self.catalog.con, self.ledger.members
        listed = f"from {members} where {COHORT} <> 0"
        ((everybody, gone),) = run(con, f"select count(*), count(*) filter (where {HAS_LEFT}) {listed}")
        if gone and self.policy.changed != "never":
            return (
                "rows have left the source and others have come, which may be people who changed: " + give + ", or vow "
                "that rows never change with changed = 'never'"
            )
        if min(self.count(), gone) > max(self.policy.k, MOST_CHANGED * everybody):
            return f"changed is 'never', but too many rows have come while others left to believe it: {give}"
        if self._share_pseudonyms():
            return f"their pseudonyms are released already and would tie rows of two versions together: {give}"
        return None

    def _share_pseudonyms(self) -> bool:
        """Has somebody a pseudonym that the view has released?"""
        for column in map(quoted, self.ledger.source.resolve_names(self.policy.pseudonymize)):
            hidden = f"sqlanon_pseudonym({literal(self.key)}, cast({column} as varchar))"
            known = f"select {column} from {self.ledger.members} where {column} is not null"
            if run(
                self.catalog.con, f"select 1 from {self.ledger.people} where {IS_NEW} and {hidden} in ({known}) limit 1"
            ):
                return True
        return False

    def keep_models(self) -> bool:
        """Do all of them, as one class, keep the models?"""
        new = f"(select *, 0 as {EVERYBODY} from {self.ledger.people} where {IS_NEW})"
        return all(
            asked.holds(run(self.catalog.con, asked.sql(new, [EVERYBODY], column))[0][0])
            for asked, column in asked_of(self.policy, self.reading.sensitive)
        )

    def form(self) -> str:
        """Their rows, as a table with digests: the policy's own method on them alone, on the domain of the source."""
        return self._planned(self.reading, self.ledger.columns)

    def form_blank(self) -> str:
        """The same without sensitive values, which no step reads."""
        dropped = {"sensitive", "recursive_c", "t_distance", *self.policy.models}
        options = {option: value for option, value in self.policy.options().items() if option not in dropped}
        sensitive = self.ledger.source.resolve_names(self.policy.sensitive)
        hierarchies = {c: h for c, h in self.policy.hierarchies.items() if c in self.policy.quasi}
        policy = Policy.of(options | {"hierarchies": hierarchies})
        reading = self.catalog.read(self.ledger.source, policy)
        kept = tuple(column for column in self.ledger.columns if column not in sensitive)
        blank = "".join(f", null as {quoted(column)}" for column in sensitive)
        made = self._planned(reading, kept)
        listed = f"{DIGEST}, {STATE}, {names(kept)}{blank}"
        return self.stack.enter_context(temporary(self.catalog.con, "blank", f"select {listed} from {made}"))

    def _planned(self, reading: Reading, columns: tuple[str, ...]) -> str:
        own = [c for c in self.ledger.source.columns if c != ROW_WEIGHT_COLUMN]
        weight = f", cast(1 as double) as {ROW_WEIGHT_COLUMN}" if self.policy.row_weight else ""
        relation = f"(select {names(own)}{weight}, {IS_NEW} as {IS_ADDED} from {self.ledger.people})"
        source = replace(self.ledger.source, relation=relation)
        part = replace(reading, policy=with_digest(reading.policy), source=source)
        planned = plan(part, enlist(self.catalog.con, Run.active()), self.key, part=IS_ADDED)
        sql = f"select {DIGEST}, {STATE}, {names(columns)} from ({planned.sql})"
        return self.stack.enter_context(temporary(self.catalog.con, "added", sql))
