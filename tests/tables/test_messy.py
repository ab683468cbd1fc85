"""Files as offices have them: for each what detect, anonymize, check and report make of it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
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
    "old dates": ("range % 4 as age, date '0044-03-15 (BC)' + (range * 40)::int as x", None),
    "late dates": ("range % 4 as age, date '9990-03-15' + (range * 400)::int as x", None),
    "emojis": ("range % 4 as age, ['👩', '😀', 'ß'][1 + range % 3] as x", None),
    "time": ("range % 4 as age, time '10:00:00' as x", r'select \* replace \(cast\("x" as varchar\) as "x"\)'),
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
        made = sqlanon.anonymize(con, str(file), ["age", "x"], 4, method="mondrian")
        assert made.verify().k >= 4
        assert "</html>" in made.report(tmp_path / "report.html", curve=False).read_text(encoding="utf-8")


LINES = "age;town\n" + "".join(f"{20 + number % 9};{('Köln', 'Ulm')[number % 2]}\n" for number in range(24))


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("wide.csv", LINES.encode("utf-16"), r"not UTF-8 text\. Name its encoding: .*encoding='utf-16'"),
        (
            "wide_dialect.csv",
            "client;montant\n".encode("utf-16") + "".join(f"C{n};{n} 0,5 €\n" for n in range(9)).encode("utf-16-le"),
            r"Name its encoding: .*encoding='utf-16'",
        ),
        ("bare.csv", LINES.encode("utf-16-le"), r"Name its encoding: .*encoding='utf-16'"),
        ("swapped.csv", b"\xfe\xff" + LINES.encode("utf-16-be"), r"big-endian UTF-16 text.*save it as UTF-8"),
        ("windows.csv", LINES.replace("Ulm", "“Ulm”").encode("cp1252"), r"its encoding, such as .*encoding='cp1252'"),
        ("latin.csv", LINES.encode("latin-1"), r"its encoding, such as .*encoding='latin-1'"),
        (
            "ragged.csv",
            LINES.encode().replace(b"\n", b"\n1;2;3\n", 1),
            r"read as one column: its lines differ",
        ),
        ("table.txt", LINES.encode(), r"is a file, but not of a kind .* FROM read_csv\('"),
        ("empty.csv", b"", r"empty\.csv' is empty"),
        ("table.xls", b"\xd0\xcf\x11\xe0", r"is a spreadsheet .* save it as \.xlsx"),
    ],
)
def test_a_file_that_cannot_be_read_so_says_how_it_can(
    con: Con, file: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(SqlanonError, match=said):
        sqlanon.detect(con, str(tmp_path / file))


def test_a_line_that_is_taken_for_the_names_of_columns_is_not_shown(con: Con, tmp_path: Path) -> None:
    (tmp_path / "bare.csv").write_text("Anna Berg;HIV\nBert Kohl;flu\nCarl;flu;x\nDora;gout\n")
    with pytest.raises(SqlanonError, match="read as one column") as refused:
        sqlanon.anonymize(con, str(tmp_path / "bare.csv"), ["a"], 2)
    assert not any(told in str(refused.value) for told in ("Anna", "HIV"))


def test_encodings_of_windows_are_read_or_say_what_they_need(con: Con, tmp_path: Path) -> None:
    wide, windows = tmp_path / "wide.csv", tmp_path / "windows.csv"
    wide.write_bytes(LINES.encode("utf-16"))
    windows.write_bytes(LINES.replace("Ulm", "“Ulm”").encode("cp1252"))
    found = sqlanon.detect(con, sqlanon.file_query(wide, encoding="utf-16"))
    assert [column.columns[0] for column in found.columns[:2]] == ["age", "town"]
    with pytest.raises(SqlanonError, match=r"not latin-1 text\. Name its encoding, such as .*'cp1252'"):
        sqlanon.detect(con, sqlanon.file_query(windows, encoding="latin-1"))
    missing = pytest.raises(SqlanonError, match="'cp1252' needs DuckDB's extension 'encodings'")
    with missing if find_spec("duckdb_extension_encodings") is None else nullcontext():
        sqlanon.detect(con, sqlanon.file_query(windows, encoding="windows-1252"))
    (tmp_path / "ragged.csv").write_text(LINES.replace("\n", "\n1;2;3\n", 1))
    with pytest.raises(SqlanonError, match="its lines differ in how many columns they have"):
        sqlanon.detect(con, sqlanon.file_query(tmp_path / "ragged.csv", delimiter=";"))


def test_one_column_with_a_delimiter_in_its_name_is_one_column(con: Con, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text('"sex, at birth"\n' + "m\nf\n" * 12)
    found = sqlanon.detect(con, str(tmp_path / "one.csv"))
    assert [column.columns[0] for column in found.columns] == ["sex, at birth"]


def test_the_values_of_a_single_row_are_not_kept_as_the_same_in_every_row(con: Con) -> None:
    roles = {column.columns[0]: column.role for column in sqlanon.detect(con, "select 3 as age, 'm' as sex").columns}
    assert roles == {"age": "quasi", "sex": "quasi"}


def test_a_column_without_a_type_is_said_to_have_only_nulls(con: Con) -> None:
    with pytest.raises(SqlanonError, match="Column 'x' has only NULLs"):
        sqlanon.anonymize(con, "select range % 4 as age, null as x from range(24)", ["age", "x"], 4)


def test_sixty_columns_of_a_file_are_seen(con: Con) -> None:
    """Releasing as many is tests/tables/test_wide_and_precise.py's."""
    found = sqlanon.detect(con, str(MESSY / "sixty_columns.csv"), size=1)
    assert len(found.columns) == 60


def test_an_encoding_that_there_is_not_is_not_an_extension_that_is_missing(con: Con, tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes(LINES.encode("latin-1"))
    with pytest.raises(SqlanonError, match="there is no encoding 'quatsch'"):
        sqlanon.detect(con, sqlanon.file_query(tmp_path / "latin.csv", encoding="quatsch"))


def test_a_file_whose_names_were_taken_for_a_row_is_told(
    con: Con, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """DuckDB takes no line for names in which one is missing, and all others are text like those below."""
    file = tmp_path / "hr.csv"
    file.write_text("name,,salary\n" + "".join(f"n{number},{number % 3},{number}k\n" for number in range(30)))
    asked = f"FROM read_csv('{file}', header = true)"
    with pytest.raises(SqlanonError, match=r"'salary' is not in .*Its first line was taken for a row"):
        sqlanon.anonymize(con, str(file), ["salary"], 5)
    assert sqlanon.detect(con, str(file)).rows == 31
    assert f"If that has names, give every column one, or read it with {asked}" in caplog.text
    assert [found.columns[0] for found in sqlanon.detect(con, asked).columns] == ["name", "column1", "salary"]


def test_detect_says_how_a_column_of_text_is_better_read(con: Con) -> None:
    con.execute("create table t as select replace(printf('%.1f', range % 9 / 2.0), '.', ',') as weight from range(90)")
    (found,) = sqlanon.detect(con, "t").columns
    assert found.reason.startswith("its text looks like numbers with a decimal comma: read the file with")


def test_a_hierarchy_in_another_encoding_is_read_as_the_error_says(con: Con, tmp_path: Path) -> None:
    file = tmp_path / "towns.csv"
    file.write_bytes("Köln;Rheinland;*\nBonn;Rheinland;*\nUlm;Württemberg;*\n".encode("latin-1"))
    with pytest.raises(
        SqlanonError, match=r"is not UTF-8 text\. Save it as UTF-8, or read it with its encoding"
    ) as raised:
        sqlanon.create_hierarchy(con, "town", csv=str(file))
    assert raised.value.__cause__ is None
    query = f"FROM read_csv('{file}', encoding = 'latin-1', header = false)"
    assert f"query={query!r}" in str(raised.value)
    sqlanon.create_hierarchy(con, "town", query=query)
    assert con.execute("select leaves from anon.hierarchies where name = 'town'").fetchall() == [(3,)]
