"""Files as offices have them: for each what detect, anonymize, check and report make of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from reading import Con

import sqlanon
from sqlanon.errors import SqlanonError

MESSY = Path(__file__).resolve().parent / "messy"


@dataclass(frozen=True)
class Case:
    """A file or query, the columns it has, the quasi-identifiers asked for, and what is refused or warned about."""

    file: str
    columns: tuple[str, ...]
    quasi: tuple[str, ...] = ()
    refused: str | None = None
    """What anonymize says in refusing it."""
    said: str | None = None
    """What it warns about."""
    read: dict[str, Any] = field(default_factory=dict)


AGE_SEX = ("age", "sex")
CASES = (
    Case("bom_semicolon.csv", AGE_SEX),
    Case("decimal_comma.csv", ("age", "weight"), said="numbers with a decimal comma"),
    Case("decimal_comma.csv", ("age", "weight"), read={"decimal": ",", "delimiter": ";"}),
    Case("latin_1.csv", (), ("age", "town"), refused="not UTF-8 text. Name its encoding"),
    Case("latin_1.csv", ("age", "town"), read={"encoding": "latin-1"}),
    Case("mixed_dates.csv", ("born", "sex"), said="It looks like dates as"),
    Case("duplicate_headers.csv", ("age", "age_1", "sex")),
    Case("empty_header.csv", ("age", "column1", "sex")),
    Case("leading_zeros.csv", ("zip", "age"), said="codes, such as postcodes"),
    Case("free_text.csv", ("age", "note"), refused="Column 'note' is in quasi, but its name suggests free text"),
    Case("constants.csv", ("age", "land")),
    Case("all_null.csv", ("age", "nothing"), refused="Column 'nothing' has only NULLs"),
    Case("tabs.tsv", AGE_SEX),
    Case("quoted_newlines.csv", ("age", "place")),
    Case("booleans.csv", ("age", "smoker")),
    Case("missing_values.csv", AGE_SEX),
    Case("only_a_header.csv", AGE_SEX, refused="The source has no rows"),
    Case("star.csv", ("age", "code"), said="has the value '*' in 12 rows"),
    Case("timestamps_tz.csv", ("seen", "sex")),
)
TYPED = {
    "enum": ("range % 4 as age, (['a', 'b'][1 + (range % 2)::int])::enum('a', 'b', 'c') as x", None),
    "uuid": ("range % 4 as age, md5((range % 2)::varchar)::uuid as x", None),
    "timestamptz": ("range % 4 as age, timestamptz '2024-01-01 00:00:00+02' + to_days(range::int) as x", None),
    "nested": ("range % 4 as age, {'a': range} as x", "a quasi-identifier must be a number"),
    "listed": ("range % 4 as age, [range] as x", "a quasi-identifier must be a number"),
}
"""Columns of Parquet files, and what is said of those that cannot be quasi-identifiers."""


def source_of(case: Case) -> str:
    file = MESSY / case.file
    return sqlanon.file_query(file, **case.read) if case.read else str(file)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}{'-read' if case.read else ''}")
def test_a_messy_file_is_released_checked_and_reported_or_refused_in_words(
    con: Con, case: Case, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    source, quasi = source_of(case), list(case.quasi or case.columns)
    if not case.columns:
        with pytest.raises(SqlanonError, match=case.refused):
            sqlanon.detect(con, source)
    else:
        assert [found.columns[0] for found in sqlanon.detect(con, source).columns] == list(case.columns)
    if case.refused is not None:
        with pytest.raises(SqlanonError, match=case.refused):
            sqlanon.anonymize(con, source, quasi, 4)
        return
    made = sqlanon.anonymize(con, source, quasi, 4, method="mondrian", name="made")
    assert (case.said is None) or case.said in caplog.text
    made.publish(tmp_path / "made.csv")
    assert sqlanon.check(con, str(tmp_path / "made.csv"), quasi, 4).holds
    assert "</html>" in made.report(tmp_path / "report.html", curve=False).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", TYPED)
def test_types_of_parquet_files_are_released_or_refused_in_words(con: Con, kind: str, tmp_path: Path) -> None:
    columns, refused = TYPED[kind]
    file = tmp_path / "typed.parquet"
    con.execute(f"copy (select {columns} from range(24)) to '{file}' (format parquet)")
    if refused is not None:
        with pytest.raises(SqlanonError, match=refused):
            sqlanon.anonymize(con, str(file), ["age", "x"], 4)
    else:
        assert sqlanon.anonymize(con, str(file), ["age", "x"], 4, method="mondrian").verify().k >= 4


def test_sixty_columns_of_a_file_are_seen(con: Con) -> None:
    """Releasing as many is tests/tables/test_wide_and_precise.py's."""
    found = sqlanon.detect(con, str(MESSY / "sixty_columns.csv"), size=1)
    assert len(found.columns) == 60
