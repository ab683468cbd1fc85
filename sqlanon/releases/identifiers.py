"""Columns that look like identifiers: by their values, and refused where a policy would release them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlanon.engine.session import Session, run
from sqlanon.errors import PolicyError, option_name
from sqlanon.families import TEXT, known_family
from sqlanon.pipeline.source import Source
from sqlanon.policy.identifiers import suggests
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold, name, names, render

SAMPLE = 2_000
"""How many rows are looked at to see what values look like."""
LOOKS = 0.8
"""The share of values that must look like an identifier."""
MANY = 50
"""How many distinct values of a sample must look like names or sentences: two words may also be a diagnosis."""
LONG = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")
"""The numbers that are long enough for a card's."""
LOOK = {
    "email": "e-mail addresses",
    "uuid": "UUIDs",
    "ip": "IP addresses",
    "iban": "IBANs",
    "card": "card numbers",
    "ssn": "national identity numbers",
    "phone": "telephone numbers",
    "person": "names of people",
    "free": "free text",
}
"""What sql/steps/risk/looks_like.sql counts, in words."""
OF_MANY = ("person", "free")


def looks(con: Session, table: Source, asked: Iterable[str] | None = None) -> dict[str, str]:
    """What most values of a column look like, in words, for the columns where they look like something."""
    columns = [
        column
        for column in (table.columns if asked is None else asked)
        if table.types[column] in LONG or known_family(table.types[column]) is TEXT
    ]
    if not columns:
        return {}
    sample = _sample(table, columns)
    likely = run(con, render("steps/risk/looks_likely.sql", values=sample))
    columns = [columns[number] for number, total, found in likely if found >= LOOKS * total]
    if not columns:
        return {}
    counts = run(con, render("steps/risk/looks_like.sql", values=_sample(table, columns)))
    found = {}
    for number, total, *kinds in counts:
        most, kind = max(zip(kinds, LOOK, strict=True), key=lambda pair: pair[0])
        if total and most >= LOOKS * total and (kind not in OF_MANY or total >= MANY):
            found[columns[number]] = LOOK[kind]
    return found


def _sample(table: Source, columns: Sequence[str]) -> str:
    """The distinct values of a sample of the columns, as a query."""
    entries = [f"{{number: {n}, value: cast({name(column)} as varchar)}}" for n, column in enumerate(columns)]
    return render(
        "steps/risk/sampled_values.sql",
        source=table.relation,
        columns=names(columns),
        sample=str(SAMPLE),
        entries=", ".join(entries),
    )


def refuse_identifiers(con: Session, source: Source, policy: Policy) -> None:
    """Raise if a column that a policy releases looks like an identifier, by its name or its values.

    A quasi-identifier with a hierarchy or a width of its grid is generalized as its user means it, and passes. One of
    type UUID passes, too: what k rows do not share is released as *.
    """
    meant = {fold(column) for column in (*policy.hierarchies, *policy.grid)}
    meant |= {fold(column) for column, kind in source.types.items() if kind == "UUID"}
    quasi = [column for column in policy.quasi if fold(column) not in meant]
    roles = {"quasi": quasi, "sensitive": policy.sensitive, "keep": policy.keep}
    role_of = {column: role for role, asked in roles.items() for column in source.resolve_names(asked)}
    look = looks(con, source, role_of)
    for column, role in role_of.items():
        called = suggests(column)
        if called is None and column not in look:
            continue
        why = f"its values look like {look[column]}" if column in look else f"its name suggests {called}"
        raise PolicyError(
            f"Column '{column}' is in {option_name(role)}, but {why}, which tells who somebody is. Leave it out, "
            f"replace it by a pseudonym ({option_name('pseudonymize')}), count people by it ({option_name('entity')}), "
            f"or name it in {option_name('unsafe_keep')} instead if it is to be released unchanged"
        )
