"""sqlanon demo: a table before and after, the proof, the loss, and what to try next."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import sqlanon
from sqlanon.reporting.displays import summary
from sqlanon.samples import create, hierarchy_rows

ADULT = ("age", "workclass", "education", "marital_status", "race", "sex")
NEXT = """\
Next, try
  1. your own file      sqlanon anonymize people.csv --quasi age,zip,sex --k 5 -o people_public.csv
  2. check any table    sqlanon check people_public.csv --quasi age,zip,sex --k 5
  3. SQL of your own    sqlanon shell --db {database}      then: FROM anon.methods();"""


def demo(database: str | Path = ":memory:", rows: int = 10_000, say: Callable[[str], None] = print) -> None:
    """Anonymize a hospital's table and a larger one, and show what came of it."""
    con = sqlanon.connect(database)
    create(con.duckdb, "patients")
    say("A hospital's table, with names: 16 patients")
    say(str(con.duckdb.sql("from patients")))
    sqlanon.create_hierarchy(con, "zip", prefix=True, replace=True)
    say("CREATE ANONYMIZED VIEW patients_public AS SELECT age, zip, sex, diagnosis FROM patients")
    say("    OPTIONS (k = 4, quasi = [age, zip, sex], sensitive = [diagnosis]);\n")
    release = sqlanon.anonymize(
        con,
        "select age, zip, sex, diagnosis from patients",
        ["age", "zip", "sex"],
        4,
        sensitive=["diagnosis"],
        name="patients_public",
        kind="view",
        replace=True,
    )
    say("The release: every patient is one of at least 4 who look the same")
    say(str(con.duckdb.sql("from patients_public order by all")))
    say(summary(release) + "\n")

    create(con.duckdb, "adult", rows=rows)
    bound = {column: f"adult_{column}" for column in hierarchy_rows("adult") if column in ADULT}
    for column, hierarchy in bound.items():
        sqlanon.create_hierarchy(con, hierarchy, rows=hierarchy_rows("adult")[column], replace=True)
    say(f"A census table of {rows:,} people, {len(ADULT)} quasi-identifiers, k = 10")
    for method in ("auto", "kaca", "kacpc"):
        start = time.perf_counter()
        found = sqlanon.anonymize(con, "adult", ADULT, 10, method=method, hierarchies=bound)
        say(f"  {method:6} {time.perf_counter() - start:5.1f} s   {summary(found)}")
    kept = "demo.duckdb" if str(database) == ":memory:" else database
    say("\n" + NEXT.format(database=kept))
    con.close()
