"""Releases as somebody sees them who kept everything: all versions of a view, and what was published and is gone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.history import Gone
from sqlanon.catalog.members import recall
from sqlanon.catalog.releases import Stored
from sqlanon.engine.instances import key_named
from sqlanon.errors import CatalogError
from sqlanon.pipeline.digests import DIGEST
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy.covering import Codes, Covering, Floats, Printed, table
from sqlanon.releases.versions import histories_sql
from sqlanon.sqltext import name as quoted

SHAPE = ("quasi", "k", "method", "hierarchies", "weights", "ranges", "grid", "represent", "population")
"""The options that say how labels are read."""
COPY = f"row_number() over (partition by {DIGEST})"
"""Equal rows without an identity are told apart by a number."""


class Versions(Covering):
    """A view whose versions are all known, to somebody who knows the class of everybody in each: the rows that may be a
    person's are those of the people who were in the same classes all along."""

    def __init__(self, catalog: Catalog, target: Printed, stored: Stored):
        super().__init__(catalog, target)
        columns = [*self.kept, *self.pseudonyms]
        hashes = [f"hash(cast(members.{quoted(column)} as varchar)) as y{n}" for n, column in enumerate(columns)]
        who = [f"members.{DIGEST}", f"{COPY} as copy"]
        rows = catalog.con.execute(
            f"select history, hash({DIGEST}, copy) as who, * exclude (history, {DIGEST}, copy) "
            f"from ({histories_sql(catalog, stored, *who, *hashes)})"
        ).fetchnumpy()
        _, self.history_of_rows = np.unique(rows["history"], return_inverse=True)
        self.of_rows = {column: rows[f"y{n}"] for n, column in enumerate(columns)}
        people = self._digests(catalog, stored)
        order = np.argsort(rows["who"])
        place = np.minimum(np.searchsorted(rows["who"][order], people), len(order) - 1)
        is_known = rows["who"][order][place] == people
        self.history_of_people = np.where(is_known, self.history_of_rows[order][place], -1)

    def _digests(self, catalog: Catalog, stored: Stored) -> Codes:
        """The people of the source as the view knows them, in its order."""
        policy = stored.policy
        with key_named(catalog.con, bool(policy.pseudonymize), None) as token:
            digests = recall(catalog, stored, token)
            if digests is None:
                raise CatalogError(f"'{stored.name}' was made by a version of sqlanon that did not recognize people")
            digests.check(self.source, stored.name)
            person = f"select row_number() over () as place, {digests.person(self.source, policy, token)} as {DIGEST}"
            numbered = f"select place, {DIGEST}, {COPY} as copy from ({person} from {self.source.relation})"
            found = catalog.con.execute(f"select hash({DIGEST}, copy) as who from ({numbered}) order by place")
            return np.asarray(found.fetchnumpy()["who"])

    @property
    def length(self) -> int:
        """How many people were ever released."""
        return len(self.history_of_rows)

    @property
    def lookalikes(self) -> Codes:
        """For each person a number that those share who were in the same classes all along."""
        return self.history_of_people

    def candidates(self, codes: Codes, values: int) -> Floats:
        """For each person, how many rows of their history there are with each value."""
        counts = table(self.history_of_rows, codes, int(self.history_of_rows.max(initial=0)) + 2, values)
        return counts[self.history_of_people]  # the last, which -1 is, is nobody's

    def only(self, people: Codes) -> Covering:
        """The same view, and of the source these people alone."""
        fewer = super().only(people)
        assert isinstance(fewer, Versions)
        fewer.history_of_people = self.history_of_people[people]
        return fewer


class Labels(Covering):
    """A release of which labels and counts are left. Where every class covers as many people of the source as it has
    rows, and nobody is covered twice, it is known who was in it, and their values are those of the source."""

    def __init__(self, catalog: Catalog, gone: Gone, people: Source):
        shape = Policy.of({option: value for option, value in gone.policy.options().items() if option in SHAPE})
        super().__init__(catalog, Printed(gone.relation, gone.called, gone.source, shape, Tolerance.OLDER, people))
        class_of_tuple = self._class_of_tuples()
        self.is_counted = class_of_tuple is None or bool(gone.policy.pseudonymize)
        if class_of_tuple is None or self.is_counted:
            return
        roles = (gone.policy.sensitive, gone.policy.keep, gone.policy.unsafe_keep)
        self.sensitive, *others = (self.source.resolve_names(role) for role in roles)
        self.kept = [column for role in (self.sensitive, *others) for column in role]
        hashes = ", ".join(f"hash(cast({quoted(column)} as varchar)) as y{n}" for n, column in enumerate(self.kept))
        of_class = class_of_tuple[self.tuples[1]]
        if self.kept:
            read = f"select row_number() over () as place, {hashes} from {self.source.relation}"
            found = catalog.con.execute(f"select * from ({read}) order by place").fetchnumpy()
            self.of_rows = {column: found[f"y{n}"][of_class >= 0] for n, column in enumerate(self.kept)}
        lo, hi, _, _ = self.classes
        self.lo, self.hi = lo[of_class[of_class >= 0]], hi[of_class[of_class >= 0]]
        del self.classes

    def _class_of_tuples(self) -> Codes | None:
        """The class of each tuple, -1 if it has none; None if that is not known."""
        rows = self.classes[3]
        people = np.bincount(self.tuples[1], minlength=len(self.tuples[0])).astype(np.float64)
        found, covered = np.full(len(people), -1, dtype=np.int64), np.zeros(len(rows))
        for part, inside in self.covering():
            if (inside.sum(axis=1) > 1).any():
                return None
            found[part] = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
            covered += people[part] @ inside
        return found if np.array_equal(np.rint(covered).astype(np.int64), rows) else None


def seen_stored(catalog: Catalog, stored: Stored, target: Printed, versions: int) -> Covering:
    """A stored release, all versions of it if it has several."""
    if versions > 1:
        return Versions(catalog, replace(target, tolerance=Tolerance.OLDER), stored)
    return Covering(catalog, target)
