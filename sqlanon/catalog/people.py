"""Samples of the people whom releases were made from, by which the same people are recognized in a copy of a table."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sqlanon.catalog.catalog import Catalog
from sqlanon.pipeline.canonical import digest_sql
from sqlanon.pipeline.source import Source
from sqlanon.sqltext import fold, names, render

SAMPLE = 4096
"""Rows of a source that are remembered."""
LOOKED_AT = 200_000
"""Rows of another source that they are looked for in; beyond, as many are drawn."""
COLUMNS = 24
"""Columns that are remembered at most."""
Digests = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class People:
    """Some rows of a source as salted digests of their values, a column each: `copies` says how many rows of the source
    equal each of them, and `rows` how many the source has."""

    columns: tuple[str, ...]
    digests: Digests
    copies: npt.NDArray[np.int64]
    rows: int

    def of(self, columns: Iterable[str]) -> Digests:
        """The digests of these columns, whatever the case of their names."""
        places = {fold(column): place for place, column in enumerate(self.columns)}
        return self.digests[:, [places[fold(column)] for column in columns]]


def remember_people(catalog: Catalog, release: str, source: Source, first: Sequence[str]) -> None:
    """Keep a sample of the people that a release was made from; of a wide source the columns that are named `first`,
    and as many others as there is room for."""
    columns, salt = chosen_columns(source, first), salt_of(catalog)
    digests = ", ".join(_digests(columns))
    catalog.run(
        f"insert into {catalog.schema}.release_people by name select $1 as release, $2 as salt, "
        f"$3::varchar[] as columns, (select count(*) from {source.relation}) as rows, "
        f"flatten(list([{digests}])) as digests, list(copies) as copies "
        f"from ({_sampled_sql(source, columns, salt, SAMPLE)})",
        [release, salt, list(columns)],
    )


def chosen_columns(source: Source, first: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns by which people are recognized."""
    return tuple(dict.fromkeys((*source.resolve_names(first), *source.columns)))[:COLUMNS]


def look_at(
    catalog: Catalog, source: Source, columns: Sequence[str], salt: str, most: int = LOOKED_AT, is_counted: bool = True
) -> People:
    """The people of a source, or many of them where there are more, by some of its columns. How many rows equal each is
    `counted` only where it is asked for, as that reads all of the source."""
    listed, drawn = _listed(source, columns, salt), _drawn(source, most)
    sql = _sampled_sql(source, columns, salt, most) if is_counted else f"select {listed}, 1 as copies from {drawn}"
    found = catalog.con.execute(sql).fetchnumpy()
    ((rows,),) = catalog.run(f"select count(*) from {source.relation}")
    digests = np.column_stack([np.asarray(found[one], dtype=np.uint64) for one in _digests(columns)])
    return People(tuple(columns), digests, np.asarray(found["copies"], dtype=np.int64), int(rows))


def remembered(catalog: Catalog, release: str) -> People | None:
    """The sample of a release, or of one that is gone by the id that it has in the history, if there is one."""
    place = f"{catalog.schema}.release_people where release = $1"
    listed = catalog.run(f"select columns, rows from {place}", [release])
    if not listed:
        return None
    columns, rows = listed[0]
    digests, copies = (
        catalog.con.execute(f"select unnest({part}) as {part} from {place}", [release]).fetchnumpy()[part]
        for part in ("digests", "copies")
    )
    numbers = np.asarray(digests, dtype=np.uint64).reshape(-1, len(columns))
    return People(tuple(columns), numbers, np.asarray(copies, dtype=np.int64), int(rows))


def salt_of(catalog: Catalog) -> str:
    """The salt of this database's samples, or a new one if there are none."""
    ((salt,),) = catalog.run(f"select any_value(salt) from {catalog.schema}.release_people")
    return secrets.token_hex(16) if salt is None else str(salt)


def _digests(columns: Sequence[str]) -> list[str]:
    return [f"d{place}" for place in range(len(columns))]


def _listed(source: Source, columns: Sequence[str], salt: str) -> str:
    return ", ".join(
        f"{digest_sql(column, source.types[column], salt)} as {digest}"
        for column, digest in zip(columns, _digests(columns), strict=True)
    )


def _drawn(source: Source, most: int) -> str:
    return f"(from {source.relation} using sample reservoir({most} rows))"


def _sampled_sql(source: Source, columns: Sequence[str], salt: str, most: int) -> str:
    return render(
        "steps/risk/sampled_people.sql",
        source=source.relation,
        columns=names(columns),
        digests=_listed(source, columns, salt),
        drawn=_drawn(source, most),
    )
