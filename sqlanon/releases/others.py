"""Which releases are of the same people: those that read the same tables, also behind views, those whose people are
recognized in a copy by their digests, and what was published before and is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.history import Gone, published_before
from sqlanon.catalog.people import COLUMNS, People, chosen_columns, look_at, remembered, salt_of
from sqlanon.catalog.releases import Stored, stored_releases
from sqlanon.engine.frames import FRAME
from sqlanon.engine.names import base_tables, resolve
from sqlanon.engine.session import DatabaseError
from sqlanon.errors import SqlanonError
from sqlanon.pipeline.readback import Tolerance
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.privacy.covering import Covering, Printed
from sqlanon.privacy.recognizing import are_the_same
from sqlanon.releases.seen import Labels, seen_stored
from sqlanon.releases.versions import versions_of
from sqlanon.sqltext import fold
from sqlanon.sqltext import name as quoted


@dataclass(frozen=True)
class Other:
    """A release of the same people: its name, the k that it promises, what it was made from, how it is seen by somebody
    who knows the people of a source, and how the same people were recognized where that was by digests."""

    called: str
    policy: Policy
    source: str
    see: Callable[[Source], Covering]
    stored: Stored | None = None
    gone: Gone | None = None

    def seen(self, catalog: Catalog, people: Source) -> Covering | str:
        """The release as an attacker sees it, or why it cannot be tried."""
        try:
            if self.stored is not None:
                resolve(catalog.con, f"from {place_of(catalog, self.stored)}")
            return self.see(people)
        except SqlanonError as problem:
            return str(problem)


@dataclass(frozen=True)
class Kin:
    """The people of a source, to look for other releases of them: the name or query that is asked for, and the rows."""

    catalog: Catalog
    asked: str
    people: Source

    def releases(self) -> Iterator[Other]:
        """The stored releases of these people, and the published ones that are gone."""
        for stored in stored_releases(self.catalog):
            if self._reads_the_same(stored.source) or self._is_recognized(stored.name, stored.source):
                yield _stored(self.catalog, stored)
        for gone in published_before(self.catalog):
            if self._reads_the_same(gone.source) or self._is_recognized(gone.id, gone.source):
                yield _gone(self.catalog, gone)

    def strangers(self) -> list[str]:
        """The stored releases that are not taken for releases of these people."""
        return [
            stored.name
            for stored in stored_releases(self.catalog)
            if not self._reads_the_same(stored.source) and not self._is_recognized(stored.name, stored.source)
        ]

    def shared(self, other: str) -> Source:
        """The people of both sources: the only table that both read, if there is one, or else these."""
        tables = self._read(self.asked) | self._read(other)
        if other == self.asked or len(tables) != 1:
            return self.people
        return resolve(self.catalog.con, next(iter(tables)))

    def _reads_the_same(self, source: str) -> bool:
        return bool(self._read(self.asked) & self._read(source))

    def _read(self, source: str) -> set[str]:
        if source not in self._tables:
            self._tables[source] = tables_of(self.catalog, source)
        return self._tables[source]

    @cached_property
    def _tables(self) -> dict[str, set[str]]:
        return {}

    @cached_property
    def _salt(self) -> str:
        return salt_of(self.catalog)

    @cached_property
    def _seen(self) -> dict[tuple[str, ...], People]:
        return {}

    def _is_recognized(self, key: str, source: str) -> bool:
        """Are the people of that release, or many of them, these people?"""
        theirs = remembered(self.catalog, key) or self._read_again(source)
        if theirs is None:
            return False
        known = {fold(column): column for column in self.people.columns}
        common = tuple(known[fold(column)] for column in theirs.columns if fold(column) in known)
        if not common:
            return False
        every = self.people.columns
        looked = tuple(every) if len(every) <= COLUMNS else common  # once for all releases, unless there are very many
        if looked not in self._seen:
            self._seen[looked] = look_at(self.catalog, self.people, looked, self._salt, is_counted=False)
        return are_the_same(theirs, self._seen[looked])

    def _read_again(self, source: str) -> People | None:
        """The people of a release that was made before samples were kept, if its source is still there."""
        try:
            found = resolve(self.catalog.con, source)
            return look_at(self.catalog, found, chosen_columns(found), self._salt)
        except (SqlanonError, DatabaseError):
            return None


def _stored(catalog: Catalog, stored: Stored) -> Other:
    def see(people: Source) -> Covering:
        place = place_of(catalog, stored)
        target = Printed(place, stored.name, stored.source, stored.policy, Tolerance.OLDER, people)
        return seen_stored(catalog, stored, target, versions_of(catalog, stored))

    return Other(stored.name, stored.policy, stored.source, see, stored=stored)


def _gone(catalog: Catalog, gone: Gone) -> Other:
    return Other(gone.called, gone.policy, gone.source, lambda people: Labels(catalog, gone, people), gone=gone)


def place_of(catalog: Catalog, stored: Stored) -> str:
    """Where a release is, in full."""
    return f"{catalog.database}.{quoted(stored.schema)}.{quoted(stored.table)}"


def tables_of(catalog: Catalog, source: str) -> set[str]:
    """The tables that a source reads, in full and behind any views, or itself where that cannot be told; none where it
    was a frame."""
    if source == FRAME:
        return set()
    try:
        return base_tables(catalog.con, source) or {source}
    except (SqlanonError, DatabaseError):
        return {source}
