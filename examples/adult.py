"""A census-like table: hierarchies from rows, both methods, and the loss of each."""

import sqlanon
from sqlanon import samples

QUASI = ["age", "workclass", "education", "marital_status", "race", "sex"]

with sqlanon.connect() as con:
    samples.create(con.duckdb, "adult", rows=5000, seed=7)
    for column, paths in samples.hierarchy_rows("adult").items():
        sqlanon.create_hierarchy(con, column, rows=paths)
    print("method  k   classes  gcp     precision")
    for method in ("kaca", "kacpc"):
        for k in (5, 20):
            release = sqlanon.anonymize(con, "adult", QUASI, k, method=method, sensitive=["occupation"])
            measured = release.metrics()
            print(f"{method:6} {k:3} {release.proof.classes:8}  {measured['gcp']:.4f}  {measured['precision']:.4f}")
