"""The patients of He et al. (2012), Table 1: 2-anonymous, with ranges as typed columns to compute with."""

import sqlanon
from sqlanon import samples

with sqlanon.connect() as con:
    samples.create(con.duckdb, "microdata")
    release = sqlanon.anonymize(con, "microdata", ["age", "zip"], 2, sensitive=["disease"], ranges="columns")
    frame = release.df()
    frame["age_middle"] = (frame["age_min"] + frame["age_max"]) / 2
    print(frame.sort_values(["age_min", "zip_min", "disease"]).to_string(index=False))
    print(release.verify())
