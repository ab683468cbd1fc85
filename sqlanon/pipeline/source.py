"""What is read: a relation that can stand behind FROM, with its columns and their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sqlanon.errors import CatalogError, PolicyError, among
from sqlanon.families import known_family
from sqlanon.sqltext import fold, literal


@dataclass(frozen=True)
class Source:
    """A relation that can stand behind FROM, with its columns and their types in order."""

    relation: str
    shown: str
    types: Mapping[str, str]
    is_table: bool = False
    """Is it a table, which reads the same twice, rather than a view, file or query?"""
    population: Source | None = None
    """Everybody who might be in it, where k counts them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names as the catalog spells them."""
        return tuple(self.types)

    def resolve_names(self, asked: Iterable[str]) -> list[str]:
        """The names as the catalog spells them; case folds as in DuckDB, an unknown name is an error."""
        by_folded = {fold(column): column for column in self.types}
        return [column if column in self.types else self._known(column, by_folded) for column in asked]

    @property
    def unnamed(self) -> str | None:
        """What may be wrong with a csv file whose columns have no names but those that DuckDB gave them."""
        is_csv = re.search(r"\.(csv|tsv|txt)(\.gz|\.zst)?$", self.shown.lower())
        if is_csv is None or not all(re.fullmatch(r"column\d+", column) for column in self.columns):
            return None
        asked = f"FROM read_csv({literal(self.shown)}, header = true)"
        return f"Its first line was taken for a row. If that has names, give every column one, or read it with {asked}"

    def with_population(self, population: Source, quasi: Iterable[str]) -> Source:
        """The source with its population, which must have its quasi-identifiers in columns of the same kind."""
        for column, other in zip(
            self.resolve_names(quasi := tuple(quasi)), population.resolve_names(quasi), strict=True
        ):
            mine, theirs = known_family(self.types[column]), known_family(population.types[other])
            if mine is not None and mine != theirs:
                raise PolicyError(
                    f"Column '{column}' has type {self.types[column]} in '{self.shown}' and "
                    f"{population.types[other]} in the population '{population.shown}': cast it there"
                )
        return replace(self, population=population)

    def _known(self, column: str, by_folded: Mapping[str, str]) -> str:
        if fold(column) not in by_folded:
            raise CatalogError(
                f"Column '{column}' is not in '{self.shown}'{among('columns', column, self.columns)}"
                + (f" {self.unnamed}" if self.unnamed else "")
            )
        return by_folded[fold(column)]
