"""Statements and policy files that are right, and what makes them wrong."""

from __future__ import annotations

import random

from wild import INJECTION

TOML = """source = "people"
name = "pub"
quasi = ["age", "zip"]
sensitive = ["ill"]
k = 3
l = 1.5
method = "kacpc"
[weights]
age = 2
[hierarchies]
zip = "zips"
[hierarchy.zips]
prefix = true
"""
STATEMENTS = [
    "CREATE ANONYMIZED VIEW pub AS SELECT age, zip, ill FROM people OPTIONS (k = 3, quasi = [age, zip], keep = [ill])",
    'CREATE OR REPLACE ANONYMIZED TABLE "p u b" AS FROM people OPTIONS (k = 2, quasi = [age, zip], sensitive = [ill], '
    "method = 'kacpc', ranges = 'snapped', grid = {age: 5}, hierarchies = MAP {'zip': 'prefixes'}, weights = {zip: 2})",
    "DROP ANONYMIZED VIEW IF EXISTS pub",
    "DROP ANONYMIZED TABLE pub",
    "CREATE HIERARCHY h FROM TABLE people",
    "CREATE OR REPLACE HIERARCHY h AS SELECT zip, '*' FROM people",
    "CREATE HIERARCHY h USING INTERVALS (5, 10, 20) ANCHOR 0 BELOW 18 ABOVE 80 ON people.age",
    "CREATE HIERARCHY h USING PREFIX ON people.zip",
    "CREATE HIERARCHY h USING DATES",
    "CREATE HIERARCHY h FLAT ON people.ill",
    "CREATE HIERARCHY h FROM EDGES people",
    "CREATE HIERARCHY h FROM 'no such file.csv'",
    "DROP HIERARCHY IF EXISTS h",
    "PUBLISH pub TO 'nowhere/out.csv' REPLACE",
]
WORDS = (
    "CREATE OR REPLACE ANONYMIZED VIEW TABLE AS SELECT FROM OPTIONS DROP IF EXISTS HIERARCHY PUBLISH TO USING PREFIX "
    "INTERVALS DATES FLAT ON EDGES ANCHOR BELOW ABOVE TRUE NULL MAP k quasi zip age people "
    "( ) [ ] { } , ; = := : . - + * / $ ? @ # ' \" ` $$ $tag$ -- /* */ \\ 'a' \"b\" 1 -5 1e999 0x1F 1_000 "
    "E'\\n' X'ff' U&'x'"
)
TOKENS = [*WORDS.split(), "9" * 400, "\x00", "\n", "é", "🦆", "\ud800", "\u202e", INJECTION]


def mutated(rng: random.Random, text: str) -> str:
    """The text with some of its words or characters dropped, doubled, swapped or replaced."""
    for _ in range(rng.choice([0, 1, 1, 2, 3, 6])):
        parts = list(text) if rng.random() < 0.4 else text.split(" ")
        joint = "" if len(parts) == len(text) else " "
        place = rng.randrange(len(parts)) if parts else 0
        how = rng.randrange(5)
        if how == 0 and parts:
            del parts[place]
        elif how == 1 and parts:
            parts.insert(place, parts[rng.randrange(len(parts))])
        elif how == 2 and parts:
            other = rng.randrange(len(parts))
            parts[place], parts[other] = parts[other], parts[place]
        elif how == 3 and parts:
            parts[place] = rng.choice(TOKENS)
        else:
            parts.insert(place, rng.choice(TOKENS))
        text = joint.join(parts)
    return text
