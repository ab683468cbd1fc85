"""Wild input for the fuzzers: names, values of every type, options of every kind, drawn from a random source."""

from __future__ import annotations

import random
from typing import Any

import duckdb

from sqlanon.policy.options import PARAMETERS, RANGES, REPRESENTATIONS
from sqlanon.policy.policy import OPTIONS
from sqlanon.udfs.methods import METHODS

INJECTION = "'; drop table bystander; --"
NAMES = [
    "age",
    "Age ",
    'a "b" c; drop table bystander; --',
    INJECTION,
    '"',
    '""',
    "'",
    "''",
    "ü",
    "e\u0301",
    "名前",
    "🦆",
    "select",
    "rowid",
    " ",
    "\n",
    "\t",
    "a\\b",
    "x.y",
    "{k}",
    "{count}",
    "{printed}",
    "$1",
    "?",
    "%s",
    "source",
    "rank",
    "label",
    "value",
    "rows",
    "group_id",
    "q1",
    "c1",
    "p1_label",
    "lo1",
    "age_min",
    "-- no",
    "/*",
    "*",
    "COLUMNS(*)",
    "anon",
    "\x7f",
    "long" * 60,
]
WHOLE = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}
MOMENTS = ["2020-02-29 23:59:59.999999", "1970-01-01 00:00:00", "0001-01-01 00:00:00", "infinity", "-infinity"]
VALUES: dict[str, list[str]] = {
    **{kind: [str(low), str(high), "0", "1", "2", "7"] for kind, (low, high) in WHOLE.items()},
    "BIGNUM": ["0", "1" + "0" * 60, "-5"],
    "FLOAT": ["nan", "inf", "-inf", "-0.0", "0.0", "3.4e38", "1e-45", "1.5"],
    "DOUBLE": ["nan", "inf", "-inf", "-0.0", "0.0", "1.7976931348623157e308", "-1.7e308", "5e-324", "0.1", "2.5"],
    "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "-1.5", "0", "0.0000000001"],
    "DECIMAL(4,1)": ["999.9", "-999.9", "0", "0.1"],
    "VARCHAR": [
        "",
        " ",
        "*",
        "NULL",
        "[1-2]",
        "a",
        "A",
        "b'b",
        'c"c',
        "é",
        "e\u0301",
        "🦆",
        "x" * 500,
        "a\nb",
        INJECTION,
    ],
    "BOOLEAN": ["true", "false"],
    "DATE": ["2020-02-29", "1970-01-01", "0001-01-01", "5881580-07-10", "infinity", "-infinity", "0044-03-15 (BC)"],
    "TIMESTAMP": [*MOMENTS, "294247-01-10 04:00:54.775806"],
    "TIMESTAMP_S": MOMENTS,
    "TIMESTAMP_MS": MOMENTS,
    "TIMESTAMP_NS": MOMENTS[:2],
    "TIMESTAMPTZ": MOMENTS[:3],
    "TIME": ["00:00:00", "23:59:59.999999", "24:00:00"],
    "TIMETZ": ["00:00:00+15:59", "12:00:00-03"],
    "INTERVAL": ["1 month", "30 days", "-5 hours", "1000 years"],
    "BLOB": ["", "abc", "\\x00\\xff"],
    "BIT": ["0", "10101", "1"],
    "UUID": ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "ENUM('low', 'it''s', '')": ["low", "it's", ""],
    "JSON": ['{"a": 1}', "[]", '"x"'],
    "INTEGER[]": ["[]", "[1, 2]", "[NULL]"],
    "INTEGER[2]": ["[1, 2]", "[3, NULL]"],
    "VARCHAR[][]": ["[[a], []]", "[]"],
    "STRUCT(a INTEGER, b VARCHAR)": ["{'a': 1, 'b': x}", "{'a': NULL, 'b': ''}"],
    "MAP(VARCHAR, INTEGER)": ["{a=1}", "{}"],
    "UNION(n INTEGER, s VARCHAR)": ["1", "x"],
}


TAME = ("INTEGER", "BIGINT", "UHUGEINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL(38,10)", "VARCHAR", "BOOLEAN", "DATE",
        "TIMESTAMP", "TIMESTAMPTZ", "UUID", "ENUM('low', 'it''s', '')")  # fmt: skip
"""Types that a quasi-identifier may have."""
ENDLESS = ("nan", "inf", "-inf", "infinity", "-infinity")


def known_types() -> dict[str, list[str]]:
    """The types, with those of their values, that this DuckDB has."""
    known: dict[str, list[str]] = {}
    with duckdb.connect() as con:
        for kind, values in VALUES.items():
            for value in values:
                try:
                    con.execute(f"select cast(cast($1 as {kind}) as varchar)", [value]).fetchall()
                except duckdb.Error:
                    continue
                known.setdefault(kind, []).append(value)
    return known


JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    2.5,
    1e308,
    -0.0,
    float("nan"),
    float("inf"),
    2**63 - 1,
    2**63,
    -(2**70),
    10**400,
    "",
    "two",
    "1",
    "*",
    INJECTION,
    "é\x00",
    "\ud800",
    [],
    [""],
    ["age"],
    ["age", "age"],
    [None],
    [[1]],
    {},
    {"age": None},
    {"age": "zip"},
    {"age": 1},
    {"age": {}},
    {1: 2},
    {None: None},
    b"bytes",
    (),
    object,
]


def any_option(rng: random.Random) -> tuple[str, Any]:
    """An option's name, or nearly one, and something that may be no value for it."""
    option = rng.choice([*OPTIONS, *PARAMETERS])
    if rng.random() < 0.03:
        option = rng.choice([option.upper(), option + "s", option[1:], "", "source", INJECTION])
    return option, rng.choice(JUNK) if rng.random() < 0.2 else fitting(rng, option)


def fitting(rng: random.Random, option: str) -> Any:
    """A value that might be meant."""
    words = {
        "method": list(METHODS),
        "ranges": list(RANGES),
        "represent": list(REPRESENTATIONS),
        "several": ["strict", "separate"],
        "t_distance": ["equal", "ordered", "hierarchical"],
        "refine": [True, False],
        "seed": [0, 1, 2**40],
        "block_size": [100, 101, 1000],
        "k": [2, 3, 4, 5],
        "max_suppression": [0, 0.02, 0.3, 1],
        "entity": ["age", "zip", "ill"],
        "population": ["wild", "people", "from people"],
    }
    if option in words:
        return rng.choice(words[option])
    return rng.choice([0, 0.1, 0.5, 0.9, 1, 1.5, 2, 3, 10, 1000])
