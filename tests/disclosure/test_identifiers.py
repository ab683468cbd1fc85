"""A column that tells who somebody is gets no role by itself, and is not released unless that is required."""

import duckdb
import pytest

import sqlanon
from sqlanon.errors import PolicyError
from sqlanon.policy.identifiers import suggests

VISITS = """
create or replace table visits as
select
    'P' || lpad(cast(person as varchar), 6, '0') as patient_id,
    list_extract(['Ann', 'Bob', 'Carl', 'Dan'], person % 4 + 1) || ' '
    || chr(cast(65 + person % 26 as integer)) || 'mith' as "Name",
    20 + person as age,
    if(person % 2 = 0, 'F', 'M') as sex,
    list_extract(['flu', 'asthma', 'ulcer'], visit % 3 + 1) as diagnosis,
    'person' || person || '@example.org' as contact,
    'Came in on a day with much rain, number ' || person as description,
    1.5 * visit as cost
from range(100) as p(person), range(10) as v(visit)
"""
EUROPEAN = [
    "Nachname",
    "Vorname",
    "prénom",
    "nom",
    "apellidos",
    "cognome",
    "achternaam",
    "efternamn",
    "nazwisko",
    "příjmení",
    "Straße",
    "E-Mail",
    "telefonnummer",
    "teléfono",
    "codice_fiscale",
    "personnummer",
    "PESEL",
    "patientId",
    "KVNR",
    "next_of_kin",
    "Bemerkungen",
    "user_id",
    "Versichertennummer",
    "DNI",
]
NATIONAL = [
    "RSSMRA85T10A562S",
    "12345678Z",
    "AB 12 34 56 C",
    "1 85 07 75 116 001 23",
    "850709-9805",
    "756.1234.5678.97",
    "A123456780",
    "943 476 5919",
]


@pytest.fixture
def con(con):
    con.execute(VISITS)
    return sqlanon.Connection(con)


def test_detect_proposes_no_identifier_however_often_it_repeats(con):
    found = sqlanon.detect(con, "visits")
    assert found.columns_as("identifier") == ["patient_id", "Name", "contact", "description"]
    assert found.columns_as("quasi") == ["age", "sex", "cost"]
    assert found.columns_as("sensitive") == ["diagnosis"]


def test_detect_proposes_entity_l_and_snapped_ranges_and_says_what_all_single_out(con):
    found = sqlanon.detect(con, "visits")
    assert (found.entity, found.l, found.fine) == ("patient_id", 2, ("cost",))
    assert found.together == pytest.approx(1.0)
    text = found.toml()
    assert 'entity = "patient_id"' in text
    assert 'ranges = "snapped"' in text
    assert "all quasi-identifiers together single out 100.0% of the rows" in text
    assert "l = 2" in text


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep"])
@pytest.mark.parametrize("column", ["patient_id", "Name", "contact", "description"])
def test_a_policy_that_would_release_one_is_refused(con, role, column):
    options = {"quasi": ["age"], role: [column, "sex"]}
    with pytest.raises(PolicyError, match=rf"Column '{column}' is in {role}.*unsafe_keep"):
        sqlanon.anonymize(con, "visits", k=5, **options)
    named = ", ".join(f"{option} := {columns}" for option, columns in options.items())
    with pytest.raises(duckdb.Error, match=rf"Column '{column}' is in {role}"):
        con.execute(f"from anon.anonymize('visits', {named}, k := 5)")


def test_whoever_insists_releases_it(con):
    release = sqlanon.anonymize(con, "visits", quasi=["age"], k=5, unsafe_keep=["contact"])
    assert "contact" in release.df().columns


def test_a_quasi_identifier_with_a_hierarchy_is_generalized_as_its_user_means_it(con):
    sqlanon.create_hierarchy(con, "names", prefix=True)
    release = sqlanon.anonymize(con, "visits", quasi=["Name"], hierarchies={"Name": "names"}, k=5)
    assert release.proof.k >= 5


@pytest.mark.parametrize("column", EUROPEAN)
def test_names_are_known_in_the_languages_of_europe(column):
    assert suggests(column) is not None


@pytest.mark.parametrize("column", ["age", "zip", "sex", "admitted_via", "passed", "ward", "land", "number_of_visits"])
def test_what_others_know_is_not_taken_for_an_identifier(column):
    assert suggests(column) is None


@pytest.mark.parametrize("value", NATIONAL)
def test_national_numbers_are_known_by_their_look(con, value):
    con.execute("create or replace table t as select $1 as x, range % 3 as a from range(20)", [value])
    assert sqlanon.detect(con, "t").columns[0].reason == "the values look like national identity numbers"
