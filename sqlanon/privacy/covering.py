"""What an attacker sees: a release as the ranks that its labels cover, and the people of the source as theirs."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sqlanon.catalog.catalog import Catalog
from sqlanon.engine.session import Session
from sqlanon.errors import DataError, PolicyError
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import Held, measured_encoding, with_domains
from sqlanon.pipeline.readback import Tolerance, box_ctes, known, with_ranks
from sqlanon.pipeline.reading import Reading
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import name, render, with_ctes

CELLS = 4_000_000
"""How many pairs of a tuple and a class are compared at a time."""
FOLDED = 256
"""How many different values of what is released unchanged are distinguished at most; more share numbers."""
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Printed:
    """A table to attack, what it was made from and how."""

    relation: str
    shown: str
    source: str
    policy: Policy
    tolerance: Tolerance = Tolerance.EXACT
    """How far the release may be from what its source is now."""
    people: Source | None = None
    """The source, where it was looked up already."""


def covers(policy: Policy) -> bool:
    """Do its labels cover the values that they stand for?"""
    return policy.represent == "closure" and not policy.kind.prints_exact


class Covering:
    """A release as numbers: for each released row the ranks that it covers, for each person of the source their ranks.

    Values of kept columns are hashes of their text, so that those of the source and of any release compare; pseudonyms
    are compared between releases alone.
    """

    def __init__(self, catalog: Catalog, target: Printed, reading: Reading | None = None, held: Held | None = None):
        """Read the release and its source, or what was read of it already; `held` says where it is kept."""
        policy = target.policy
        if not covers(policy):
            raise PolicyError(
                f"'{target.shown}' releases centers or exact values. Attacks need a release whose labels cover values"
            )
        if policy.kind.unattackable is not None:
            raise PolicyError(policy.kind.unattackable.format(target.shown))
        self.target, self.policy = target, policy
        self.reading = reading or catalog.read(target.people or target.source, policy)
        self.source: Source = self.reading.source
        self.attributes: tuple[Attribute, ...] = self.reading.attributes
        roles = (self.policy.sensitive, self.policy.keep, self.policy.unsafe_keep)
        self.sensitive, *others = (self.source.resolve_names(role) for role in roles)
        self.kept = [*self.sensitive, *itertools.chain(*others)]
        self.pseudonyms = self.source.resolve_names(self.policy.pseudonymize)
        self.entity: str | None = next(iter(self.source.resolve_names([policy.entity] if policy.entity else [])), None)
        people, printed = self._read(catalog.con, held)
        self.who = people.get("who")
        self.ranks = np.column_stack([people[a.rank] for a in self.attributes]).astype(np.int64)
        self.lo = np.column_stack([printed[a.lo] for a in self.attributes]).astype(np.int64)
        self.hi = np.column_stack([printed[a.hi] for a in self.attributes]).astype(np.int64)
        self.has_ends = np.column_stack([printed[f"has_ends{a.number}"] for a in self.attributes]).astype(bool)
        self.of_people = {column: people[f"y{number}"] for number, column in enumerate(self.kept, 1)}
        linking = [*self.kept, *self.pseudonyms]
        self.of_rows = {column: printed[f"y{number}"] for number, column in enumerate(linking, 1)}
        if not len(self.ranks) or not len(self.lo):
            raise DataError(f"'{target.shown}' or its source has no rows: there is nothing to attack")

    def _read(self, con: Session, held: Held | None) -> tuple[dict[str, Any], dict[str, Any]]:
        columns = [*self.kept, *self.pseudonyms]
        hashes = [f"hash(cast({name(column)} as varchar)) as y{n}" for n, column in enumerate(columns, 1)]
        of_people = [f"y{number}" for number in range(1, len(self.kept) + 1)]
        of_rows = [f"y{number}" for number in range(1, len(columns) + 1)]
        place = "row_number() over () as place"
        who = [] if self.entity is None else [f"hash(cast({name(self.entity)} as varchar)) as who"]
        encoding = measured_encoding(self.reading, [place, *hashes[: len(self.kept)], *who], held)
        printed = (self.target.relation, [place, *hashes], self.target.tolerance)
        boxes = box_ctes(self.reading, *printed, has_mass=False)
        ranks = [f"coalesce({a.domain}.rank, -1) as {a.rank}" for a in self.attributes]
        people = render(
            "steps/risk/people_as_ranks.sql",
            columns=", ".join([*ranks, *of_people, *(["who"] if who else [])]),
            source_with_ranks=with_domains("source", self.attributes),
        )
        ends = [
            f"{known(a)}.lo as {a.lo}, {known(a)}.hi as {a.hi}, {_shows_ends(a)} as has_ends{a.number}"
            for a in self.attributes
        ]
        rows = render(
            "steps/risk/covered.sql",
            columns=", ".join([*ends, *of_rows]),
            printed_with_ranks=with_ranks("printed", self.attributes),
        )
        return (
            con.execute(with_ctes(encoding, people)).fetchnumpy(),
            con.execute(with_ctes([*encoding, *boxes], rows)).fetchnumpy(),
        )

    is_counted = False
    """Are only labels and counts known, and no values?"""

    @property
    def length(self) -> int:
        """How many rows there are to choose from."""
        return len(self.lo)

    @cached_property
    def lookalikes(self) -> Any:
        """For each person a number that those share whom the same classes cover: each has a row in one of these."""
        random = np.random.default_rng(0).integers(1, 2**64 - 1, len(self.classes[3]), dtype=np.uint64)
        found = np.zeros(len(self.tuples[0]), dtype=np.uint64)
        for part, inside in self.covering():
            found[part] = np.where(inside > 0, random, np.uint64(0)).sum(axis=1, dtype=np.uint64)
        return found[self.tuples[1]]

    def only(self, people: Codes) -> Covering:
        """The same release, and of the source these people alone."""
        fewer = copy.copy(self)
        for computed in ("tuples", "rows_of_people", "lookalikes"):
            fewer.__dict__.pop(computed, None)
        fewer.ranks = self.ranks[people]
        fewer.of_people = {column: values[people] for column, values in self.of_people.items()}
        return fewer

    def renamed(self, names: Mapping[str, str]) -> Covering:
        """The same release with other names of kept columns."""
        other = copy.copy(self)
        other.of_rows = {names.get(column, column): values for column, values in self.of_rows.items()}
        other.of_people = {names.get(column, column): values for column, values in self.of_people.items()}
        other.sensitive = [names.get(column, column) for column in self.sensitive]
        return other

    @cached_property
    def tuples(self) -> tuple[Codes, Codes]:
        """The distinct tuples of ranks, and which of them each person has."""
        found, which, _ = distinct(self.ranks)
        return found, which

    @cached_property
    def classes(self) -> tuple[Codes, Codes, Codes, Codes]:
        """The released classes: their smallest and largest ranks, which of them each row is in, and their rows."""
        ends, which, rows = distinct(np.hstack([self.lo, self.hi]))
        width = self.lo.shape[1]
        return ends[:, :width], ends[:, width:], which, rows

    def covering(self) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
        """Which classes cover which tuples, as a matrix of 0 and 1 for some tuples at a time."""
        tuples, (lo, hi, _, _) = self.tuples[0], self.classes
        step = max(1, CELLS // len(lo))
        for start in range(0, len(tuples), step):
            part = tuples[start : start + step]
            inside = np.ones((len(part), len(lo)), dtype=bool)
            for j in range(part.shape[1]):
                inside &= (lo[:, j] <= part[:, j, None]) & (part[:, j, None] <= hi[:, j])
            yield slice(start, start + len(part)), inside.astype(np.float32)

    def candidates(self, codes: Codes, values: int) -> Floats:
        """For each person, how many rows with each value cover them; `codes` are the rows' values."""
        tuples, of_person = self.tuples
        counts = table(self.classes[2], codes, len(self.classes[3]), values).astype(np.float32)
        found = np.empty((len(tuples), values))
        for part, inside in self.covering():
            found[part] = inside @ counts
        return found[of_person]

    @cached_property
    def rows_of_people(self) -> Floats:
        """For each person, how many rows cover them."""
        return self.candidates(np.zeros(len(self.lo), dtype=np.int64), 1)[:, 0]


def _shows_ends(attribute: Attribute) -> str:
    """Are the ends of a released range values of people? Those of a cell are not."""
    label = f"{known(attribute)}.label"
    if not attribute.is_snapped:
        return f"{label} is distinct from '*'"
    return f"coalesce({label} like '[%]', false)" if attribute.may_be_tight else "false"


def distinct(rows: Codes) -> tuple[Codes, Codes, Codes]:
    """The distinct rows in order, which of them each row is, and how many each has. As numpy's unique by rows, which
    compares rows one by one and keeps all other threads waiting meanwhile."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    which = np.empty(len(rows), dtype=np.int64)
    which[order] = np.cumsum(is_first) - 1
    return ordered[is_first], which, np.diff(np.flatnonzero(is_first), append=len(rows))


def table(rows: Codes, columns: Codes, height: int, width: int, weights: Floats | None = None) -> Floats:
    """How often each pair of numbers occurs, or the sum of its weights."""
    flat = np.bincount(rows * width + columns, weights=weights, minlength=height * width)
    return flat.reshape(height, width).astype(np.float64)


def coded(*hashes: Any) -> tuple[list[Codes], int]:
    """Several columns' values as numbers from 0, and how many there are; folded where there are very many."""
    found, which = np.unique(np.concatenate(hashes), return_inverse=True)
    codes = which.reshape(-1) % FOLDED
    ends = np.cumsum([len(part) for part in hashes])[:-1]
    return [part.astype(np.int64) for part in np.split(codes, ends)], min(FOLDED, len(found))


def together(columns: Sequence[Any], length: int) -> Any:
    """One hash for several columns."""
    mixed = np.zeros(length, dtype=np.uint64)
    for column in columns:
        mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + np.asarray(column, dtype=np.uint64)
    return mixed


def aligned(coverings: Sequence[Covering]) -> list[Covering]:
    """The releases of the same people with kept columns under one name where everybody has the same values in them: a
    view or a copy may call them otherwise."""
    values_of: dict[str, Any] = {}
    found = []
    for view in coverings:
        names: dict[str, str] = {}
        for column, values in view.of_people.items():
            if column not in values_of:
                same = (name for name, others in values_of.items() if np.array_equal(values, others))
                names[column] = next((name for name in same if name not in view.of_people), column)
            values_of.setdefault(names.get(column, column), values)
        found.append(view.renamed(names))
    return found


def left_of(coverings: Sequence[Covering], columns: Sequence[str]) -> Floats:
    """For each person and each value of some kept columns, how many rows may be theirs in all of these releases.

    A person is in all of them with the same kept values, so no more rows can be theirs than each has of a value.
    Folding values into fewer numbers leaves more rows, so that what is found here can be done.
    """
    mixed = [together([view.of_rows[column] for column in columns], view.length) for view in coverings]
    codes, values = coded(*mixed)
    left = coverings[0].candidates(codes[0], values)
    for view, of_rows in zip(coverings[1:], codes[1:], strict=True):
        np.minimum(left, view.candidates(of_rows, values), out=left)
    return left
