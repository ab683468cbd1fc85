"""Which columns single people out, alone or together, and what role each might have in a policy.

A guess from names, types, counts and the look of a sample of the values, to be read by somebody who knows the table.
Nothing here shows a value.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlanon import wording
from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.suggestions import amounts
from sqlanon.engine.frames import catalog_name, registered
from sqlanon.engine.names import resolve, temporary_of
from sqlanon.engine.session import Session, run, translate_errors, unwrap
from sqlanon.errors import PolicyError, option_name
from sqlanon.families import TEXT, WHOLE, TypeFamily, type_family
from sqlanon.pipeline.source import Source
from sqlanon.policy import toml
from sqlanon.policy.identifiers import IDENTIFIES, KEYS, matches, suggests
from sqlanon.policy.policy import Policy
from sqlanon.releases.identifiers import looks
from sqlanon.sqltext import fold, literal, name, render

log = logging.getLogger("sqlanon")
LARGEST = 4
"""How many columns a set may have at most."""
NEARLY_UNIQUE = 0.9
"""The share of rows with a value of their own from which text or a whole number is taken for an identifier."""
MOST_COLUMNS = 40
"""Sets are made of this many columns at most, those with most distinct values."""
MOST_SETS = 500
MOST_ROWS = 20_000_000
"""For each size at most this many sets are tested, and together they read at most this many rows; at least 50 sets are
tested in any case."""
BATCH = 50
"""How many sets are counted by one query."""
SHOWN = 20
"""How many sets a policy file lists."""
FINE = ("DECIMAL", "FLOAT", "DOUBLE", "TIMESTAMP", "HUGEINT")
"""The types whose values are mostly one person's own."""
PEOPLE = "ids?|" + IDENTIFIES["a person's number"]
"""What a column is called that tells whom a row is about."""
UNIQUE = "nearly every row has a different value"
"""Why a column is taken for an identifier that neither its name nor its values tell."""
REPEATS = 1.1
"""The rows per person from which people have several."""
Numbers = tuple[int, ...]
"""A set of columns by their numbers, in order."""
_TIMES = (
    r"(date|year|month|day)(_of)?_birth|birth_?(date|day|year|month)|dob|born|ages?|dates?|years?|admi(tted|ssion)"
    r"|geb(urts)?_?(datum|jahr|tag)|alter|datum|jahr|aufnahme(datum)?|date_de_naissance|naissance|annee"
    r"|fecha(_de_nacimiento)?|edad|nascimento|idade|data_di_nascita|nascita|eta|geboortedatum|leeftijd|fodelsedatum"
    r"|alder|data_urodzenia|wiek|syntymaaika|ika"
)
_SENSITIVE = (
    r"diagnos[ei]s|diseases?|illness(es)?|conditions?|symptoms?|icd(_?\d+)?|drugs?|medications?|treatments?|therapy"
    r"|allerg(y|ies)|hiv|health|problems?|disabilit(y|ies)|blood|genetic|salary|incomes?|wages?|pay|earnings|debts?"
    r"|credit|balance|loans?|religion|political|party|vote|sexual|orientation|crimes?|criminal|offen[cs]e|conviction"
    r"|diagnosen?|krankheit(en)?|erkrankung(en)?|medikamente?|behandlung(en)?|therapie|gehalt|lohn|einkommen|schulden"
    r"|partei|maladies?|diagnostics?|medicaments?|traitements?|salaire|revenus?|enfermedad(es)?|diagnosticos?|salario"
    r"|ingresos|doenca|malattia|diagnosi|stipendio|reddito|ziekte|salaris|inkomen|sjukdom|choroba|wynagrodzenie"
)
_KNOWN = (
    r"zip|zip_?code|post_?code|postal(_?code)?|pcode|city|town|village|county|district|region|state|province|country"
    r"|nationality|citizenship|birth_?place|location|lat(itude)?|lon(gitude)?|lng|sex|gender|race|ethnic(ity)?|origin"
    r"|marital|married|languages?|education|degree|school|occupation|job|profession|work_?class|employer|relationship"
    r"|household|children|height|weight|ward"
    r"|plz|postleitzahl|ort|wohnort|stadt|gemeinde|bundesland|land|staatsangehoerigkeit|nationalitaet|geschlecht|beruf"
    r"|familienstand|station|code_postal|cp|ville|commune|departement|pays|sexe|nationalite|metier|codigo_postal|ciudad"
    r"|provincia|pais|sexo|genero|cidade|cap|citta|comune|sesso|postcode|woonplaats|geslacht|beroep|postnummer|ort|kon"
    r"|kod_pocztowy|miasto|plec|postinumero|kunta|sukupuoli"
)
_POSTCODES = r"zip|zip_?code|post_?code|postal(_?code)?|pcode|plz|postleitzahl|code_postal|codigo_postal|cap|postnummer"


@dataclass(frozen=True)
class Found:
    """A column, or a set of columns that identifies: what they tell apart, and for a column its role and why.

    distinct: combinations of values, NULL being one. distinction: distinct / rows. separation: the share of pairs of
    rows that differ (Motwani & Xu 2007). unique_rows: the share of rows with a combination of their own.
    """

    columns: tuple[str, ...]
    role: str | None
    reason: str
    distinct: int
    distinction: float | None
    separation: float | None
    unique_rows: float | None


HEADER = ("column", "role", "unique rows", "values", "why")


@dataclass(frozen=True)
class Detection:
    """What was found in a table: a role for each column, and the smallest sets that single people out."""

    source: str
    rows: int
    size: int
    share: float
    columns: tuple[Found, ...]
    sets: tuple[Found, ...]
    untested: int
    postcodes: tuple[str, ...]
    together: float | None = None
    """The share of rows that all proposed quasi-identifiers together single out."""
    entity: str | None = None
    """The column that tells whom a row is about, where people have several rows."""
    l: int | None = None  # noqa: E741, as the option is called
    """What every sensitive column allows: no value has more than half of the rows."""
    fine: tuple[str, ...] = ()
    """Quasi-identifiers whose exact values tell more than they need, such as decimals and times."""

    def columns_as(self, role: str) -> list[str]:
        """The columns that were given a role."""
        return [found.columns[0] for found in self.columns if found.role == role]

    def policy(self, k: int = 5) -> Policy:
        """The suggested roles as a policy. Identifiers are left out."""
        return Policy(
            quasi=tuple(self.columns_as("quasi")),
            k=k,
            sensitive=tuple(self.columns_as("sensitive")),
            keep=tuple(self.columns_as("keep")),
            entity=self.entity,
            l=self.l if self.entity is None else None,
            ranges="snapped" if self.fine else "auto",
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (", ".join(f.columns), f.role or "together", wording.percent(f.unique_rows), f"{f.distinct:,}", f.reason)
            for f in (*self.columns, *self.sets)
        ]

    def __str__(self) -> str:
        return f"{self._title}\n{wording.table_text(HEADER, self._rows)}"

    def _repr_html_(self) -> str:
        return wording.table_html(self._title, HEADER, self._rows)

    @property
    def _title(self) -> str:
        return f"{wording.plural(self.rows, 'row')}, suggested roles"

    def sql(self) -> str:
        """A query that answers with what was found, a row per column and then a row per set."""
        rows = [
            f"({literal(f.columns)}::varchar[], {literal(f.role)}::varchar, {literal(f.reason)}, {f.distinct}::bigint, "
            f"{literal(f.distinction)}::double, {literal(f.separation)}::double, {literal(f.unique_rows)}::double)"
            for f in (*self.columns, *self.sets)
        ]
        return (
            f"select * from (values {', '.join(rows)}) "
            'as found("columns", role, reason, "distinct", distinction, separation, unique_rows)'
        )

    def toml(self, k: int = 5) -> str:
        """A policy file for `sqlanon run`, with the reasons as comments."""
        lines = [
            f"# A guess from the names, types and values of {self.rows:,} rows: read it, then sqlanon run THIS_FILE",
            f"source = {toml.text(self.source)}",
            '# name = "..."  # to store the release in the database',
            f"k = {k}",
            *self._proposed(),
        ]
        for role, meaning in (
            ("quasi", "known to others, so generalized until every combination has k rows"),
            ("sensitive", "to be protected, released unchanged; l = 2 or more requires different values in a class"),
            ("keep", "released unchanged"),
        ):
            lines += ["", f"# {meaning}", f"{role} = ["]
            lines += [f"    {toml.text(f.columns[0])},  # {f.reason}" for f in self.columns if f.role == role]
            lines += ["]"]
        left_out = [f"#   {toml.text(f.columns[0])}: {f.reason}" for f in self.columns if f.role == "identifier"]
        if left_out:
            lines += ["", "# left out, because they identify people", *left_out]
        if self.sets:
            lines += ["", f"# combinations that single out more than {self.share:.0%} of the rows"]
            lines += [f"#   {', '.join(map(toml.text, f.columns))}: {f.unique_rows:.1%}" for f in self.sets[:SHOWN]]
            lines += [f"#   and {len(self.sets) - SHOWN:,} more"] if len(self.sets) > SHOWN else []
        for column in self.postcodes:
            lines += ["", f"[hierarchy.{toml.text(column)}]", "prefix = true  # 4350, 435*, 43**, 4***, *"]
        return "\n".join(lines) + "\n"

    def _proposed(self) -> list[str]:
        """The lines for l, entity and ranges, where they are proposed."""
        lines = []
        if self.together is not None:
            lines.append(f"# all quasi-identifiers together single out {self.together:.1%} of the rows")
        if self.entity is not None:
            lines.append(f"entity = {toml.text(self.entity)}  # people have several rows: k counts people")
        if self.l is not None:
            mark = "# " if self.entity is not None else ""
            lines.append(f"{mark}l = {self.l}  # no sensitive value has more than half of a class")
        if self.fine:
            lines.append(
                f'ranges = "snapped"  # exact values of {", ".join(self.fine)} would show at the ends of ranges'
            )
        return lines


def detect(con: Any, source: Any, *, size: int = 3, share: float = 0.05, hint: str = "") -> Detection:
    """Find which columns of a table, file, query or frame single people out, and suggest a role for each.

    A set of up to `size` columns identifies if more than `share` of the rows have a combination of their own in it; of
    the identifying sets the smallest are told, those without a smaller one inside. Columns taken for identifiers are in
    no set. The search is bounded by MOST_COLUMNS, MOST_SETS and MOST_ROWS, and tries what has most combinations first.
    `hint` is added to the error where there is no such table.
    """
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= LARGEST:
        raise PolicyError(f"{option_name('size')} is {size!r}; it must be a whole number from 1 to {LARGEST}")
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share < 1:
        raise PolicyError(f"{option_name('share')} is {share!r}; it must be a number from 0 to less than 1")
    raw = unwrap(con)
    catalog = Catalog.of(raw)
    with translate_errors(), registered(raw) as named:
        table = resolve(raw, named(source), hint)
        if table.unnamed is not None:
            log.warning("The columns of '%s' have no names. %s", table.shown, table.unnamed)
        with _hashed(raw, table) as hashed:
            ((rows,),) = run(raw, f"select count(*) from {hashed}")
            measure = _Counter(raw, hashed, table.columns, rows)
            look = looks(raw, table)
            singles = measure.count([(number,) for number in range(len(table.columns))])
            columns = [_with_role(found, table, look.get(found.columns[0])) for found in singles]
            texts = [
                found.columns[0]
                for found in columns
                if (found.reason == UNIQUE or found.role == "quasi") and _family(table, found.columns[0]) is TEXT
            ]
            amount = amounts(raw, table, texts)
            columns = [_as_amount(found, amount) for found in columns]
            candidates = [n for n, found in enumerate(columns) if found.role != "identifier" and found.distinct > 1]
            richest = sorted(sorted(candidates, key=lambda n: -columns[n].distinct)[:MOST_COLUMNS])
            quasi = tuple(n for n, found in enumerate(columns) if found.role == "quasi")
            together = measure.count([quasi])[0].unique_rows if quasi else None
            proposed = _l(measure, [n for n, found in enumerate(columns) if found.role == "sensitive"])
            sets, untested = _identifying(measure, {n: columns[n] for n in richest}, size, share)
    known = {fold(hierarchy.name) for hierarchy in catalog.hierarchies().known}
    postcodes = [
        column
        for column in (found.columns[0] for found in columns if found.role == "quasi")
        if table.types[column] == "VARCHAR" and matches(_POSTCODES, column) and fold(column) not in known
    ]
    return Detection(
        catalog_name(source),
        rows,
        size,
        share,
        tuple(columns),
        tuple(sets),
        untested,
        tuple(postcodes),
        together,
        _entity(columns, rows),
        proposed,
        tuple(columns[n].columns[0] for n in quasi if table.types[columns[n].columns[0]].startswith(FINE)),
    )


def _entity(columns: Sequence[Found], rows: int) -> str | None:
    """The person's number, if people have several rows: of the columns called so, the one with most values."""
    numbers = [
        found
        for found in columns
        if found.role == "identifier"
        and matches(PEOPLE, found.columns[0])
        and found.distinct > 1
        and REPEATS * found.distinct < rows
    ]
    return max(numbers, key=lambda found: found.distinct).columns[0] if numbers else None


def _l(measure: _Counter, sensitive: Sequence[int]) -> int | None:
    """2 where no value of a sensitive column has more than half of the rows."""
    shares = [
        run(measure.con, f"select max(n) / sum(n) from (select count(*) as n from {measure.hashed} group by c{number})")
        for number in sensitive
    ]
    return 2 if shares and all(share is not None and share <= 0.5 for ((share,),) in shares) else None


def _hashed(con: Session, table: Source) -> AbstractContextManager[str]:
    """The table with a hash for each value, in columns c0, c1 and so on: read once, short, and of any type."""
    columns = ", ".join(f"hash({name(column)}) as c{number}" for number, column in enumerate(table.columns))
    return temporary_of(con, "hashed", table, columns)


@dataclass(frozen=True)
class _Counter:
    """Counts what sets of columns, given by their numbers, tell apart."""

    con: Session
    hashed: str
    columns: Sequence[str]
    rows: int

    def count(self, sets: Sequence[Numbers]) -> list[Found]:
        found: dict[int, tuple[int, int, int]] = {}
        for start in range(0, len(sets), BATCH):
            queries = [
                render(
                    "steps/risk/singled_out.sql",
                    number=str(number),
                    hashed=self.hashed,
                    columns=", ".join(f"c{column}" for column in sets[number]),
                )
                for number in range(start, min(start + BATCH, len(sets)))
            ]
            found |= {number: counts for number, *counts in run(self.con, "\nunion all\n".join(queries))}
        return [self._found(columns, *found[number]) for number, columns in enumerate(sets)]

    def _found(self, numbers: Numbers, distinct: int, singles: int, different: int | None) -> Found:
        pairs = self.rows * (self.rows - 1) // 2
        return Found(
            columns=tuple(self.columns[number] for number in numbers),
            role=None,
            reason="",
            distinct=distinct,
            distinction=distinct / self.rows if self.rows else None,
            separation=float(different) / pairs if pairs and different is not None else None,
            unique_rows=singles / self.rows if self.rows else None,
        )


def _identifying(measure: _Counter, columns: dict[int, Found], size: int, share: float) -> tuple[list[Found], int]:
    """The smallest sets of two columns and more in which over a share of the rows are unique, and how many sets were
    promising but not tested.

    A set has at most as many combinations as the product of a subset's and the other column's, and no more unique rows
    than combinations: with too few, it needs no test. Nor does one with an identifying subset, or with one that was not
    tested, as it might not be the smallest.
    """
    wanted = share * measure.rows
    limit = max(50, min(MOST_SETS, MOST_ROWS // max(1, measure.rows)))
    combinations: dict[Numbers, int] = {(number,): single.distinct for number, single in columns.items()}
    closed: set[Numbers] = {(number,) for number, single in columns.items() if _is_above(single, share)}
    found: list[Found] = []
    untested = 0
    for width in range(2, size + 1):
        bounds = {}
        for candidate in itertools.combinations(columns, width):
            subsets = [subset for part in range(1, width) for subset in itertools.combinations(candidate, part)]
            if closed.isdisjoint(subsets):
                bounds[candidate] = min(
                    combinations[candidate[:left] + candidate[left + 1 :]] * columns[candidate[left]].distinct
                    for left in range(width)
                )
        promising = sorted((s for s, bound in bounds.items() if bound > wanted), key=lambda s: (-bounds[s], s))
        tested = dict(zip(promising, measure.count(promising[:limit]), strict=False))
        untested += len(promising) - len(tested)
        combinations |= bounds | {s: counted.distinct for s, counted in tested.items()}
        identifying = [s for s, counted in tested.items() if _is_above(counted, share)]
        found += sorted((tested[s] for s in identifying), key=lambda counted: -(counted.unique_rows or 0))
        closed |= {*identifying, *promising[limit:]}
    return [replace(counted, reason="together they single people out") for counted in found], untested


def _is_above(found: Found, share: float) -> bool:
    return found.unique_rows is not None and found.unique_rows > share


def _family(table: Source, column: str) -> TypeFamily | None:
    """The family of a column's type; None where a column of that type cannot be generalized."""
    try:
        return type_family(column, table.types[column])
    except PolicyError:
        return None


def _as_amount(found: Found, amounts: Mapping[str, str]) -> Found:
    """A column whose text is an amount or a date is a quasi-identifier, even if it differs in nearly every row, and is
    better read as what it is."""
    look = amounts.get(found.columns[0])
    return found if look is None else replace(found, role="quasi", reason=f"its text looks like {look}")


def _with_role(found: Found, table: Source, looks_like: str | None) -> Found:
    """A column with its suggested role and the reason; what it is called goes before how many values it has."""
    (column,) = found.columns
    family = _family(table, column)
    distinction = found.distinction or 0.0
    is_nearly_unique = family in (TEXT, WHOLE) and distinction >= NEARLY_UNIQUE
    called = suggests(column)
    if looks_like is not None:
        role, reason = "identifier", f"the values look like {looks_like}"
    elif called is not None:
        role, reason = "identifier", f"the column name suggests {called}"
    elif family is None:
        role, reason = "identifier", f"type {table.types[column]} cannot be generalized"
    elif found.distinct == 1 and not found.unique_rows:  # in a single row it would be that row's own
        role, reason = "keep", "the same in every row"
    elif matches(_TIMES, column):
        role, reason = "quasi", "the column name suggests a date or an age"
    elif matches(_SENSITIVE, column) and not (is_nearly_unique and family is TEXT):
        role, reason = "sensitive", "the column name suggests something to be protected"
    elif matches(_KNOWN, column):
        role, reason = "quasi", "the column name suggests something other people may know"
    elif matches(KEYS, column):
        role, reason = "identifier", "the column name suggests a key or a person's name"
    elif is_nearly_unique:
        role, reason = "identifier", UNIQUE
    else:
        role, reason = "quasi", "other people may know it"
    return replace(found, role=role, reason=reason)
