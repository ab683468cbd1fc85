"""The sample tables: three small ones to read, and a seeded generator of rows like UCI Adult's.

No row here is a real person. The rows of ``adult`` are drawn from rounded shares and a few plain dependences:
marital status and schooling on age, sex on marital status, occupation on schooling and sex, workclass on
occupation and age, race on native country, salary on most of these. It repeats about as many tuples as the
real table does; conclusions about people do not follow from it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlanon.engine.session import Session
from sqlanon.errors import CatalogError, PolicyError, not_one_of
from sqlanon.sqltext import name as quoted

SAMPLES: tuple[str, ...] = ("patients", "problems", "microdata", "adult")

Codes = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]
Groups = Mapping[tuple[str, ...], str]

_TOP = "*"

# name -> (columns, rows)
_TABLES: dict[str, tuple[tuple[str, ...], tuple[tuple[str | int, ...], ...]]] = {
    "patients": (
        ("name", "age", "zip", "sex", "ward", "diagnosis"),
        (
            ("Ada Lindqvist", 24, "4350", "female", "Surgery", "Appendicitis"),
            ("Tom Okafor", 71, "4427", "male", "Cardiology", "Heart failure"),
            ("Mei Chen", 46, "4413", "female", "Medicine", "Diabetes"),
            ("Luis Romero", 33, "4361", "male", "Surgery", "Fracture"),
            ("Grace Murphy", 29, "4352", "female", "Medicine", "Asthma"),
            ("Ivan Petrov", 52, "4410", "male", "Cardiology", "Arrhythmia"),
            ("Sara Haddad", 38, "4361", "female", "Medicine", "Pneumonia"),
            ("Noah Williams", 27, "4350", "male", "Surgery", "Fracture"),
            ("Anna Kowalska", 67, "4420", "female", "Cardiology", "Angina"),
            ("Peter Novak", 41, "4364", "male", "Medicine", "Diabetes"),
            ("Aisha Khan", 36, "4364", "female", "Surgery", "Gallstones"),
            ("David Cohen", 58, "4410", "male", "Surgery", "Hernia"),
            ("Ruth Becker", 78, "4420", "female", "Medicine", "Pneumonia"),
            ("Kofi Mensah", 22, "4355", "male", "Medicine", "Asthma"),
            ("Elena Rossi", 49, "4413", "female", "Cardiology", "Angina"),
            ("Henry Walker", 64, "4427", "male", "Surgery", "Hernia"),
        ),
    ),
    # Li, Wong, Fu and Pei, "Achieving k-anonymity by clustering in attribute hierarchical structures", 1a.
    "problems": (
        ("gender", "age", "pcode", "problem"),
        (
            ("male", "middle", "4350", "stress"),
            ("male", "middle", "4350", "obesity"),
            ("male", "young", "4351", "stress"),
            ("female", "young", "4352", "obesity"),
            ("female", "old", "4353", "stress"),
            ("female", "old", "4353", "obesity"),
        ),
    ),
    # He, Chen, Chen, Dong, Wang and Huang, "Clustering-based k-anonymity", table 1.
    "microdata": (
        ("name", "age", "zip", "disease"),
        (
            ("Andy", 20, 25, "Flu"),
            ("Bob", 20, 30, "Bronchitis"),
            ("Jane", 30, 25, "Gastritis"),
            ("Alex", 40, 30, "Pneumonia"),
            ("Mary", 50, 10, "Flu"),
            ("Lily", 60, 5, "Bronchitis"),
            ("Lucy", 60, 10, "Gastritis"),
        ),
    ),
}

# name -> column -> labels above the leaves (lowest first, without the top) -> leaves, in the order of ranks.
# Numbers need no hierarchy: they are ranked by value.
_HIERARCHIES: dict[str, dict[str, Groups]] = {
    "patients": {
        "zip": {
            ("435*", "43**"): "4350 4352 4355",
            ("436*", "43**"): "4361 4364",
            ("441*", "44**"): "4410 4413",
            ("442*", "44**"): "4420 4427",
        },
        "sex": {(): "female male"},
    },
    "problems": {
        "gender": {(): "female male"},
        "age": {(): "young middle old"},
        "pcode": {("435*", "43**", "4***"): "4350 4351 4352 4353"},
    },
    "microdata": {},
    "adult": {
        "workclass": {
            ("Not-government",): "Private Self-emp-inc Self-emp-not-inc",
            ("Government",): "Federal-gov State-gov Local-gov",
            ("Unpaid",): "Without-pay Never-worked",
        },
        "education": {
            ("Elementary", "School"): "Preschool 1st-4th 5th-6th 7th-8th",
            ("High-school-unfinished", "School"): "9th 10th 11th 12th",
            ("High-school-finished", "School"): "HS-grad Some-college",
            ("Associate", "Higher"): "Assoc-voc Assoc-acdm",
            ("University", "Higher"): "Bachelors Masters",
            ("Highest", "Higher"): "Prof-school Doctorate",
        },
        "marital_status": {
            ("Spouse-present",): "Married-civ-spouse Married-AF-spouse",
            ("Spouse-elsewhere",): "Married-spouse-absent Separated",
            ("No-spouse",): "Never-married Divorced Widowed",
        },
        "race": {(): "White Black Asian-Pac-Islander Amer-Indian-Eskimo Other"},
        "sex": {(): "Female Male"},
        "native_country": {
            ("North-America", "Americas"): "United-States Canada Outlying-US(Guam-USVI-etc)",
            ("Central-America", "Americas"): "Mexico El-Salvador Guatemala Honduras Nicaragua",
            ("Caribbean", "Americas"): "Puerto-Rico Cuba Dominican-Republic Haiti Jamaica Trinadad&Tobago",
            ("South-America", "Americas"): "Columbia Ecuador Peru",
            ("West-Europe", "Europe"): "England Scotland Ireland France Germany Holand-Netherlands",
            ("South-Europe", "Europe"): "Italy Greece Portugal",
            ("East-Europe", "Europe"): "Poland Hungary Yugoslavia",
            ("East-Asia", "Asia"): "China Taiwan Hong Japan South",
            ("South-East-Asia", "Asia"): "Philippines Vietnam Thailand Laos Cambodia",
            ("South-West-Asia", "Asia"): "India Iran",
        },
        "occupation": {
            ("Office", "White-collar"): "Adm-clerical Exec-managerial Sales",
            ("Expert", "White-collar"): "Prof-specialty Tech-support",
            ("Trade", "Blue-collar"): "Craft-repair Farming-fishing",
            ("Operator", "Blue-collar"): "Machine-op-inspct Handlers-cleaners Transport-moving",
            ("Personal-service", "Service"): "Other-service Priv-house-serv",
            ("Protection", "Service"): "Protective-serv Armed-Forces",
        },
        "salary_class": {(): "<=50K >50K"},
    },
}


def create(con: Session, name: str, *, table: str | None = None, rows: int = 1000, seed: int = 1) -> str:
    """Create or replace the sample's table in the current schema and return the table's name.

    `rows` and `seed` matter to ``adult`` alone; the same two numbers give the same rows.
    """
    _check_known(name)
    if rows < 0 or seed < 0:
        raise PolicyError(f"A sample takes rows and seed of 0 or more, not rows = {rows} and seed = {seed}.")
    frame = _adult(rows, np.random.default_rng(seed)) if name == "adult" else _small(name)
    target = name if table is None else table
    # Dictionaries arrive in DuckDB as ENUMs and Python's integers as BIGINTs; a sample has neither.
    columns = ", ".join(
        f"cast({field.name} as {'integer' if pa.types.is_integer(field.type) else 'varchar'}) as {field.name}"
        for field in frame.schema
    )
    source = f"sqlanon_sample_{uuid.uuid4().hex}"
    con.register(source, frame)
    try:
        con.execute(f"create or replace table {quoted(target)} as select {columns} from {source}")
    except duckdb.CatalogException as error:
        raise CatalogError(f"Sample '{name}' cannot be table '{target}': {error}. Try another name.") from error
    finally:
        # If the failure aborted the caller's transaction, its rollback takes the view away.
        with contextlib.suppress(duckdb.TransactionException):
            con.unregister(source)
    return target


def hierarchy_rows(name: str) -> dict[str, list[tuple[str, ...]]]:
    """For each column of the sample that has a hierarchy, its rows: leaf, level 1, ..., ``*``."""
    _check_known(name)
    return {
        column: [(leaf, *above, _TOP) for above, leaves in groups.items() for leaf in leaves.split()]
        for column, groups in _HIERARCHIES[name].items()
    }


def _check_known(name: str) -> None:
    if name not in SAMPLES:
        raise CatalogError(not_one_of("sample", name, SAMPLES))


def _small(name: str) -> Any:
    columns, rows = _TABLES[name]
    return pa.table({column: pa.array(values) for column, values in zip(columns, zip(*rows, strict=True), strict=True)})


# What follows are shares and weights, each line rounded; only their ratios count.

_AGES = np.arange(17, 91)
_AGE_KNOTS = (17, 19, 23, 37, 47, 55, 62, 67, 72, 80, 90)
_AGE_WEIGHTS = (11, 20, 25, 28, 21, 13, 7.5, 3.5, 1.5, 0.5, 0.4)

_MARITAL_KNOTS = (17, 21, 24, 27, 32, 42, 57, 72, 90)
_MARITAL_BY_AGE: dict[str, Sequence[float]] = {
    "Never-married": (98, 89, 73, 52, 31, 13, 6, 6, 10),
    "Married-civ-spouse": (1, 8, 20, 36, 49, 58, 64, 56, 45),
    "Divorced": (0.5, 1, 4, 8, 13, 22, 19, 10, 5),
    "Separated": (0, 1, 2, 3, 4, 4, 3, 1.5, 1),
    "Widowed": (0, 0, 0.1, 0.2, 0.5, 1, 8, 26, 38),
    "Married-spouse-absent": (0.2, 1, 1, 1, 1.5, 1.5, 1, 1, 1),
    "Married-AF-spouse": (0, 0.1, 0.1, 0.1, 0.1, 0.05, 0, 0, 0),
}
_WOMEN_BY_MARITAL = {
    "Never-married": 0.45,
    "Married-civ-spouse": 0.1,
    "Divorced": 0.6,
    "Separated": 0.6,
    "Widowed": 0.8,
    "Married-spouse-absent": 0.5,
    "Married-AF-spouse": 0.55,
}

_EDUCATION_KNOTS = (17, 18, 20, 24, 30, 42, 57, 75)
_EDUCATION_BY_AGE: dict[str, Sequence[float]] = {
    "Preschool": (0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.3),
    "1st-4th": (0.2, 0.2, 0.3, 0.4, 0.4, 0.5, 1, 2),
    "5th-6th": (0.5, 0.5, 0.7, 0.8, 0.8, 0.8, 1.5, 2),
    "7th-8th": (2, 1, 1, 1, 1, 1.5, 5, 8),
    "9th": (4, 2, 2, 1, 1, 1, 2.5, 3),
    "10th": (25, 10, 2.5, 2, 2, 2, 4, 4),
    "11th": (50, 25, 4, 3, 2.5, 2, 3, 3),
    "12th": (8, 9, 2.5, 1, 1, 1, 1, 1),
    "HS-grad": (6, 28, 34, 32, 34, 31, 35, 32),
    "Some-college": (5, 24, 48, 28, 21, 21, 17, 17),
    "Assoc-voc": (0, 0, 2, 4, 5, 5, 3, 2),
    "Assoc-acdm": (0, 0, 2, 4, 4, 4, 2, 1),
    "Bachelors": (0, 0, 2, 21, 19, 18, 14, 12),
    "Masters": (0, 0, 0, 1.5, 5, 8, 7, 6),
    "Prof-school": (0, 0, 0, 0.5, 2, 2.5, 2, 3),
    "Doctorate": (0, 0, 0, 0.1, 1, 1.5, 2, 3),
}

# Schooling is level 1 of the education hierarchy, in its order: Elementary, ..., Highest.
_OCCUPATION_BY_SCHOOLING: dict[str, Sequence[float]] = {
    "Adm-clerical": (2, 6, 16, 16, 8, 1),
    "Exec-managerial": (2, 3, 10, 12, 27, 12),
    "Sales": (5, 11, 13, 11, 14, 2),
    "Prof-specialty": (1, 2, 4, 13, 34, 80),
    "Tech-support": (1, 1, 3, 9, 3, 1),
    "Craft-repair": (17, 18, 17, 15, 3, 1),
    "Farming-fishing": (12, 5, 4, 3, 2, 1),
    "Machine-op-inspct": (17, 11, 8, 4, 1, 0.2),
    "Handlers-cleaners": (9, 11, 5, 2, 1, 0.2),
    "Transport-moving": (9, 9, 6, 3, 1, 0.2),
    "Other-service": (19, 23, 12, 8, 3, 0.5),
    "Priv-house-serv": (3, 1, 0.4, 0.2, 0.1, 0),
    "Protective-serv": (1, 1, 3, 4, 2, 0.3),
    "Armed-Forces": (0, 0, 0.05, 0.05, 0.03, 0),
}
_WOMEN_BY_OCCUPATION = {
    "Adm-clerical": 0.7,
    "Exec-managerial": 0.3,
    "Sales": 0.35,
    "Prof-specialty": 0.35,
    "Tech-support": 0.35,
    "Craft-repair": 0.05,
    "Farming-fishing": 0.05,
    "Machine-op-inspct": 0.3,
    "Handlers-cleaners": 0.1,
    "Transport-moving": 0.05,
    "Other-service": 0.55,
    "Priv-house-serv": 0.95,
    "Protective-serv": 0.1,
    "Armed-Forces": 0,
}

# Workclasses in the order of their hierarchy: Private, ..., Without-pay, Never-worked.
_WORKCLASS_BY_OCCUPATION: dict[str, Sequence[float]] = {
    "Adm-clerical": (75, 1, 1, 8, 7, 8, 0.05, 0),
    "Exec-managerial": (66, 10, 10, 4, 5, 5, 0, 0),
    "Sales": (81, 8, 10, 0.2, 0.2, 0.2, 0, 0),
    "Prof-specialty": (56, 4, 9, 4, 10, 17, 0, 0),
    "Tech-support": (80, 0.5, 3, 7, 6, 4, 0, 0),
    "Craft-repair": (78, 2, 13, 2, 1, 4, 0.05, 0),
    "Farming-fishing": (46, 5, 43, 1, 2, 3, 0.5, 0),
    "Machine-op-inspct": (95, 0.5, 2, 0.5, 0.5, 1, 0.05, 0),
    "Handlers-cleaners": (93, 0.5, 1, 1.5, 1, 3, 0.05, 0),
    "Transport-moving": (79, 2, 8, 2, 2, 7, 0.05, 0),
    "Other-service": (83, 1, 5, 1, 4, 6, 0.05, 0),
    "Priv-house-serv": (100, 0, 0, 0, 0, 0, 0, 0),
    "Protective-serv": (29, 1, 1, 4, 18, 47, 0, 0),
    "Armed-Forces": (0, 0, 0, 100, 0, 0, 0, 0),
}
_SELF_EMPLOYED_KNOTS = (17, 30, 45, 60, 80)
_SELF_EMPLOYED_FACTORS = (0.2, 0.7, 1.2, 1.8, 3)

_COUNTRIES_BY_WEIGHT = {
    912: "United-States",
    20: "Mexico",
    6: "Philippines",
    4: "Germany",
    3: "Puerto-Rico Canada India El-Salvador Cuba England Jamaica",
    2: "South Italy China Dominican-Republic Vietnam Guatemala Japan Poland Columbia",
    1: "Iran Taiwan Haiti Portugal Nicaragua Peru Greece Ecuador France Ireland",
    0.6: "Hong Cambodia Trinadad&Tobago Thailand Laos",
    0.4: "Yugoslavia Outlying-US(Guam-USVI-etc) Hungary Honduras Scotland",
    0.1: "Holand-Netherlands",
}
# Races in the order of their hierarchy, by level 1 of the native country's.
_RACE_BY_REGION: dict[str, Sequence[float]] = {
    "North-America": (880, 95, 10, 10, 5),
    "Central-America": (92, 1, 0, 1, 6),
    "Caribbean": (50, 40, 1, 0, 9),
    "South-America": (85, 0, 0, 1, 14),
    "West-Europe": (94, 4, 1, 0, 1),
    "South-Europe": (98, 0, 2, 0, 0),
    "East-Europe": (99, 0, 1, 0, 0),
    "East-Asia": (12, 1, 86, 1, 0),
    "South-East-Asia": (5, 1, 94, 0, 0),
    "South-West-Asia": (30, 2, 63, 0, 5),
}

# What moves the log-odds of a salary above 50K.
_SALARY_BASE = -2.9
_SALARY_SPOUSE_PRESENT = 2.2
_SALARY_MALE = 0.2
_SALARY_BY_SCHOOLING = (-1.3, -1.0, 0.0, 0.4, 1.1, 1.9)
_SALARY_AGE_KNOTS = (17, 22, 27, 37, 50, 65, 80)
_SALARY_BY_AGE = (-4, -2.5, -0.9, 0, 0.3, -0.3, -0.6)
_SALARY_BY_OCCUPATION = {
    "Adm-clerical": 0.1,
    "Exec-managerial": 0.9,
    "Sales": 0.3,
    "Prof-specialty": 0.6,
    "Tech-support": 0.6,
    "Craft-repair": 0.1,
    "Farming-fishing": -1,
    "Machine-op-inspct": -0.3,
    "Handlers-cleaners": -0.7,
    "Transport-moving": -0.1,
    "Other-service": -0.9,
    "Priv-house-serv": -2,
    "Protective-serv": 0.6,
    "Armed-Forces": 0,
}


def _adult(rows: int, rng: np.random.Generator) -> Any:
    """Draw column after column, each given the ones it depends on. Codes are places in `hierarchy_rows`."""
    hierarchies = hierarchy_rows("adult")
    leaves = {column: [row[0] for row in tree] for column, tree in hierarchies.items()}
    schooling_of = _parents(hierarchies["education"])
    region_of = _parents(hierarchies["native_country"])
    age = _draw(rng, np.interp(_AGES, _AGE_KNOTS, _AGE_WEIGHTS), np.zeros(rows, np.int64))
    marital = _draw(rng, _by_age(_MARITAL_KNOTS, _MARITAL_BY_AGE, leaves["marital_status"]), age)
    women = _in_order(_WOMEN_BY_MARITAL, leaves["marital_status"])
    sex = _draw(rng, np.column_stack([women, 1 - women]), marital)
    education = _draw(rng, _by_age(_EDUCATION_KNOTS, _EDUCATION_BY_AGE, leaves["education"]), age)
    schooling = schooling_of[education]

    # Occupation given schooling and sex: its weight given schooling times the sex's share in it.
    women = _in_order(_WOMEN_BY_OCCUPATION, leaves["occupation"])
    share = np.stack([women / women.mean(), (1 - women) / (1 - women).mean()])
    wanted = _in_order(_OCCUPATION_BY_SCHOOLING, leaves["occupation"]).T
    by_schooling_and_sex = (wanted[:, None, :] * share[None, :, :]).reshape(-1, len(women))
    occupation = _draw(rng, by_schooling_and_sex, schooling * 2 + sex)

    offered = _in_order(_WORKCLASS_BY_OCCUPATION, leaves["occupation"])
    factor = np.ones((len(_AGES), offered.shape[1]))
    is_self_employed = [leaf.startswith("Self-emp") for leaf in leaves["workclass"]]
    factor[:, is_self_employed] = np.interp(_AGES, _SELF_EMPLOYED_KNOTS, _SELF_EMPLOYED_FACTORS)[:, None]
    by_occupation_and_age = (offered[:, None, :] * factor[None, :, :]).reshape(-1, offered.shape[1])
    workclass = _draw(rng, by_occupation_and_age, occupation * len(_AGES) + age)

    weight_of = {leaf: weight for weight, names in _COUNTRIES_BY_WEIGHT.items() for leaf in names.split()}
    country = _draw(rng, _in_order(weight_of, leaves["native_country"]), np.zeros(rows, np.int64))
    race = _draw(rng, np.array(list(_RACE_BY_REGION.values()), float), region_of[country])

    log_odds = (
        _SALARY_BASE
        + _SALARY_SPOUSE_PRESENT * (_parents(hierarchies["marital_status"])[marital] == 0)
        + _SALARY_MALE * sex
        + np.array(_SALARY_BY_SCHOOLING)[schooling]
        + np.interp(_AGES, _SALARY_AGE_KNOTS, _SALARY_BY_AGE)[age]
        + _in_order(_SALARY_BY_OCCUPATION, leaves["occupation"])[occupation]
    )
    salary = (rng.random(rows) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)

    codes = {
        "workclass": workclass,
        "education": education,
        "marital_status": marital,
        "race": race,
        "sex": sex,
        "native_country": country,
        "occupation": occupation,
        "salary_class": salary,
    }
    return pa.table(
        {
            "age": pa.array(_AGES[age]),
            **{
                column: pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), leaves[column])
                for column, places in codes.items()
            },
        }
    )


def _draw(rng: np.random.Generator, weights: Weights, given: Codes) -> Codes:
    """One code per row, drawn with the weights in line `given` of the table (or with its only line).

    All lines' cumulated shares stand one after another, line i in [i, i + 1], so one search serves every row.
    """
    table = np.atleast_2d(weights)
    cumulated = table.cumsum(axis=1)
    ends = cumulated / cumulated[:, -1:] + np.arange(len(table))[:, None]
    width = table.shape[1]
    found = np.searchsorted(ends.ravel(), rng.random(len(given)) + given, side="right") - given * width
    # A draw just below 1 can round up into the next line: it belongs to the last code that has any weight.
    last = width - 1 - (table[:, ::-1] > 0).argmax(axis=1)
    drawn: Codes = np.minimum(found, last[given])
    return drawn


def _by_age(knots: Sequence[float], weights: Mapping[str, Sequence[float]], leaves: Sequence[str]) -> Weights:
    """A line of weights per age, straight between the knots."""
    return np.column_stack([np.interp(_AGES, knots, weights[leaf]) for leaf in leaves])


def _in_order(values: Mapping[str, float] | Mapping[str, Sequence[float]], leaves: Sequence[str]) -> Weights:
    return np.array([values[leaf] for leaf in leaves], float)


def _parents(tree: Sequence[tuple[str, ...]]) -> Codes:
    """The place of each leaf's level-1 label, numbered as they come."""
    places = {label: place for place, label in enumerate(dict.fromkeys(row[1] for row in tree))}
    return np.array([places[row[1]] for row in tree], np.int64)
