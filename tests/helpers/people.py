"""Small tables of people that do not exist, with columns of every type."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

ILLNESSES = ("asthma", "flu", "gastritis", "migraine", "none")


def people(rows: int = 600, seed: int = 0) -> pa.Table:
    """A table of people; some values are missing."""
    rng = np.random.default_rng(seed)

    def missing(values: list[Any]) -> list[Any]:
        return [None if chance < 0.03 else value for value, chance in zip(values, rng.random(rows), strict=True)]

    age = rng.integers(18, 90, rows)
    born = [
        date(2020, 1, 1) - timedelta(days=int(365.25 * years + day))
        for years, day in zip(age, rng.integers(0, 365, rows), strict=True)
    ]
    seen = [datetime(2024, 1, 1) + timedelta(hours=int(hours)) for hours in rng.integers(0, 2000, rows)]
    return pa.table(
        {
            "age": pa.array(missing(age.tolist()), pa.int32()),
            "zip": pa.array(missing([f"{43000 + int(code)}" for code in rng.integers(0, 400, rows)]), pa.string()),
            "sex": pa.array(["female" if coin else "male" for coin in rng.integers(0, 2, rows)], pa.string()),
            "smoker": pa.array(missing([bool(coin) for coin in rng.integers(0, 2, rows)]), pa.bool_()),
            "born": pa.array(missing(born), pa.date32()),
            "seen": pa.array(seen, pa.timestamp("us")),
            "weight": pa.array(missing([round(float(kilos), 1) for kilos in rng.normal(75, 12, rows)]), pa.float64()),
            "fee": pa.array(
                [Decimal(int(cents)) / 100 for cents in rng.integers(100, 3000, rows)], pa.decimal128(9, 2)
            ),
            "illness": pa.array(missing([ILLNESSES[i] for i in rng.integers(0, 5, rows)]), pa.string()),
            "days": pa.array(rng.integers(0, 8, rows).tolist(), pa.int64()),
            "ward": pa.array([f"ward {number}" for number in rng.integers(1, 5, rows)], pa.string()),
            "patient": pa.array([f"p{number}" for number in rng.integers(0, rows // 2, rows)], pa.string()),
        }
    )
