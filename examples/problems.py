"""The patients of Li, Wong, Fu and Pei (2006), Table 1, made 2-anonymous as in their Table 1b."""

import duckdb

import sqlanon
from sqlanon import samples

con = duckdb.connect()
sqlanon.load(con)
samples.create(con, "problems")
sqlanon.create_hierarchy(con, "pcode", prefix=True)

release = sqlanon.anonymize(con, "problems", ["gender", "age", "pcode"], 2, sensitive=["problem"], method="kaca")
print(release.relation().order("all"))
print(f"distortion {release.metrics()['distortion']}, modified {release.metrics()['modification_rate']:.1%}")
con.close()
