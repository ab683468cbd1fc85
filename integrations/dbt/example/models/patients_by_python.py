"""The same from Python: a relation goes in, an Arrow table comes out."""

import sqlanon


def model(dbt, session):
    dbt.config(materialized="table")
    release = sqlanon.anonymize(
        session, dbt.ref("patients"), quasi=["age", "zip", "sex"], k=4, sensitive=["diagnosis"], l=2, method="kacpc"
    )
    return release.arrow()
