"""The policy: what it refuses when made, that it makes itself again from its options, and that it stays as it is."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlanon import Policy, SqlanonError
from sqlanon.errors import PolicyError
from sqlanon.policy.job import Job

NAN, INF = float("nan"), float("inf")


def policy(**options: Any) -> Policy:
    return Policy.of({"quasi": ["age", "zip"]} | options)


@pytest.mark.parametrize("k", [1, 0, -5, 2.5, NAN, INF, -INF, True, "5", [5], 2**63])
def test_k_that_is_no_whole_number_of_two_or_more_is_refused(k: Any) -> None:
    with pytest.raises(PolicyError, match=r"^k is .*whole number of 2 or more"):
        policy(k=k)


def test_k_written_as_a_whole_float_is_that_number() -> None:
    assert policy(k=5.0) == policy(k=5)
    assert isinstance(policy(k=5.0).k, int)


@pytest.mark.parametrize("seed", [-1, 0.5, NAN, True, "1"])
def test_seed_that_is_no_whole_number_of_zero_or_more_is_refused(seed: Any) -> None:
    with pytest.raises(PolicyError, match=r"^seed is .*whole number of 0 or more"):
        policy(seed=seed)


def test_missing_quasi_is_refused() -> None:
    with pytest.raises(PolicyError, match="quasi is missing"):
        Policy.of({"k": 5})


def test_empty_quasi_is_refused() -> None:
    with pytest.raises(PolicyError, match="quasi is empty"):
        Policy.of({"quasi": []})


@pytest.mark.parametrize("quasi", [5, [5], ["age", None], [["age"]], b"age"])
def test_quasi_that_is_no_list_of_names_is_refused(quasi: Any) -> None:
    with pytest.raises(PolicyError, match="quasi must be a list of column names"):
        Policy.of({"quasi": quasi})


def test_one_name_stands_for_a_list_of_one() -> None:
    assert Policy.of({"quasi": "age"}).quasi == ("age",)


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "unsafe_keep"])
def test_a_name_given_twice_in_a_role_is_refused(role: str) -> None:
    with pytest.raises(PolicyError, match=f"{role} names 'ward' twice"):
        policy(**{role: ["ward", "ward"]})


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "unsafe_keep"])
def test_a_name_given_twice_is_refused_when_the_two_texts_are_different_objects(role: str) -> None:
    names = json.loads('["ward", "ward"]')
    with pytest.raises(PolicyError, match=f"{role} names 'ward' twice"):
        policy(**{role: names})


@pytest.mark.parametrize("role", ["quasi", "sensitive", "keep", "unsafe_keep"])
def test_names_that_differ_only_in_case_are_refused(role: str) -> None:
    with pytest.raises(PolicyError, match="both 'ward' and 'Ward', one column to DuckDB"):
        policy(**{role: ["ward", "Ward"]})


@pytest.mark.parametrize("roles", [("quasi", "sensitive"), ("quasi", "keep"), ("sensitive", "keep")])
@pytest.mark.parametrize("spelling", ["age", "AGE"])
def test_a_column_with_two_roles_is_refused_whatever_its_case(roles: tuple[str, str], spelling: str) -> None:
    first, second = roles
    with pytest.raises(PolicyError, match=f"'{spelling}' is both {first} and {second}"):
        Policy.of({"quasi": ["zip"]} | {first: ["age"], second: [spelling]})


def test_keep_and_unsafe_keep_are_two_roles() -> None:
    with pytest.raises(PolicyError, match="both keep and unsafe_keep"):
        policy(keep=["ward"], unsafe_keep=["ward"])


def test_unknown_method_is_refused_with_the_methods_and_the_nearest() -> None:
    with pytest.raises(PolicyError, match=r"Unknown method 'kaka' \(methods: .*kacpc.*\)\. Did you mean 'kaca'\?"):
        policy(method="kaka")


@pytest.mark.parametrize("method", [5, "", "xyzzy"])
def test_a_method_like_no_other_is_refused_without_a_guess(method: Any) -> None:
    with pytest.raises(PolicyError, match=r"^Unknown method .*\(methods: .*kaca.*\)\.$"):
        policy(method=method)


def test_methods_fold_case() -> None:
    assert policy(method="KACA").method == "kaca"


def test_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(PolicyError, match=r"Unknown option 'sensitiv' .*Did you mean 'sensitive'\?"):
        policy(sensitiv=["diagnosis"])


def test_options_fold_case() -> None:
    assert Policy.of({"Quasi": ["age"], "K": 7}) == Policy.of({"quasi": ["age"], "k": 7})


def test_an_option_given_twice_in_different_case_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"(?i)k.*twice"):
        policy(k=5, K=7)


def test_none_means_not_given() -> None:
    assert policy(k=None, keep=None, hierarchies=None, beta=None) == policy()


def test_another_methods_parameter_is_refused() -> None:
    with pytest.raises(PolicyError, match="'beta' is an option of kaca, wfcmeans, not of kacpc"):
        policy(method="kacpc", beta=1)


@pytest.mark.parametrize("beta", [-1, 11, NAN, INF, True, "1", [1]])
def test_a_parameter_out_of_its_range_is_refused_with_the_range(beta: Any) -> None:
    with pytest.raises(PolicyError, match=r"beta is .*from 0 to 10"):
        policy(method="kaca", beta=beta)


def test_another_methods_parameter_says_whose_it_is() -> None:
    with pytest.raises(PolicyError, match="'threshold' is an option of kaca, not of auto: method='kaca'"):
        policy(threshold=0.5)


@pytest.mark.parametrize("weight", [0, -1, NAN, INF, True, "1", None])
def test_a_weight_that_is_no_number_above_zero_is_refused(weight: Any) -> None:
    with pytest.raises(PolicyError, match="weights: 'age' must have a number above 0"):
        policy(weights={"age": weight})


@pytest.mark.parametrize("option", ["weights", "hierarchies"])
def test_a_mapping_by_a_column_that_is_not_quasi_is_refused(option: str) -> None:
    with pytest.raises(PolicyError, match=rf"{option} names 'ward', which is not in quasi \(age, zip\)"):
        policy(**{option: {"ward": 2}})


@pytest.mark.parametrize("option", ["weights", "hierarchies"])
@pytest.mark.parametrize("given", [5, "age", ["age"]])
def test_what_is_no_mapping_is_refused(option: str, given: Any) -> None:
    with pytest.raises(PolicyError, match=f"{option} must map columns"):
        policy(**{option: given})


@pytest.mark.parametrize(("option", "values"), [("weights", (1, 2)), ("hierarchies", ("a", "b"))])
def test_a_mapping_that_names_a_column_twice_in_different_case_is_refused(option: str, values: tuple[Any, Any]) -> None:
    with pytest.raises(PolicyError, match=option):
        policy(**{option: {"age": values[0], "AGE": values[1]}})


@pytest.mark.parametrize("hierarchy", [5, True, ["zip"]])
def test_a_column_bound_to_what_is_no_name_is_refused(hierarchy: Any) -> None:
    with pytest.raises(PolicyError, match="'zip' must be bound to a hierarchy's name"):
        policy(hierarchies={"zip": hierarchy})


def test_mappings_are_keyed_as_quasi_spells_its_columns() -> None:
    made = policy(hierarchies={"ZIP": None}, weights={"Age": 2})
    assert (made.hierarchies, made.weights) == ({"zip": None}, {"age": 2})


@pytest.mark.parametrize("ranges", ["column", "TEXT ", 5, ["text"]])
def test_unknown_ranges_option_is_refused(ranges: Any) -> None:
    with pytest.raises(PolicyError, match="Unknown ranges option"):
        policy(ranges=ranges)


def test_every_refusal_is_a_sqlanon_error() -> None:
    assert issubclass(PolicyError, SqlanonError)


COLUMNS = st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=6, unique_by=str.lower)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    columns = draw(COLUMNS)
    cut = draw(st.integers(1, len(columns)))
    roles = st.sampled_from(["sensitive", "keep", "unsafe_keep"])
    others: dict[str, list[str]] = {}
    for column in columns[cut:]:
        others.setdefault(draw(roles), []).append(column)
    quasi = columns[:cut]
    of_quasi = st.sampled_from(quasi)
    method = draw(st.sampled_from(["kaca", "kacpc"]))
    parameters = {"beta": st.floats(0, 10), "threshold": st.floats(0, 1)} if method == "kaca" else {}
    return Policy.of(
        {
            "quasi": quasi,
            "k": draw(st.integers(2, 2**63 - 1)),
            "method": method,
            "ranges": draw(st.sampled_from(["text", "columns"])),
            "seed": draw(st.integers(0, 2**63 - 1)),
            "hierarchies": draw(st.dictionaries(of_quasi, st.none() | st.text())),
            "weights": draw(st.dictionaries(of_quasi, st.floats(0.001, 1000))),
            **others,
            **draw(st.fixed_dictionaries({}, optional=parameters)),
        }
    )


@given(policies())
def test_a_policy_makes_itself_again_from_its_options(made: Policy) -> None:
    assert Policy.of(made.options()) == made


@given(policies())
def test_a_policy_makes_itself_again_from_its_json(made: Policy) -> None:
    assert Policy.of(json.loads(made.json())) == made


def test_a_policys_fields_cannot_be_set() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy().k = 2  # type: ignore[misc]


@pytest.mark.parametrize("mapping", ["hierarchies", "weights", "parameters"])
def test_a_policys_mappings_cannot_be_changed(mapping: str) -> None:
    made = policy(hierarchies={"zip": "z"}, weights={"zip": 1.0})
    with pytest.raises((TypeError, AttributeError)):
        getattr(made, mapping)["zip"] = -1


def test_a_policy_does_not_follow_what_it_was_made_from() -> None:
    quasi, weights = ["age"], {"age": 2.0}
    made = Policy.of({"quasi": quasi, "weights": weights})
    quasi.append("zip")
    weights["age"] = -1
    assert (made.quasi, made.weights) == (("age",), {"age": 2.0})


def test_changing_the_options_of_a_policy_leaves_it_alone() -> None:
    made = policy(weights={"age": 2.0})
    made.options()["weights"]["age"] = -1
    assert made.weights == {"age": 2.0}


def toml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_toml_file_gives_the_policy_its_options_give(tmp_path: Path) -> None:
    path = toml(
        tmp_path,
        """
        quasi = ["age", "postnummer å"]
        k = 7
        method = "kaca"
        sensitive = ["diagnosis"]
        beta = 1

        [hierarchies]
        age = "decades"

        [weights]
        age = 2.5
        """,
    )
    assert Policy.from_toml(path) == Policy.of(
        {
            "quasi": ["age", "postnummer å"],
            "k": 7,
            "method": "kaca",
            "sensitive": ["diagnosis"],
            "beta": 1,
            "hierarchies": {"age": "decades"},
            "weights": {"age": 2.5},
        }
    )


def test_a_toml_job_names_its_source_its_release_and_its_hierarchies(tmp_path: Path) -> None:
    path = toml(
        tmp_path, 'source = "patients"\nname = "pub"\nquasi = ["zip"]\n[hierarchy.zip]\nprefix = true\n[weights]\nzip=2'
    )
    job = Job.from_toml(path)
    assert (job.source, job.name, job.define) == ("patients", "pub", {"zip": {"prefix": True}})
    assert job.policy == Policy.from_toml(str(path)) == Policy.of({"quasi": "zip", "weights": {"zip": 2}})


def test_a_missing_toml_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"Cannot read policy '.*nowhere\.toml': No such file"):
        Policy.from_toml(tmp_path / "nowhere.toml")


def test_a_file_that_is_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"policy\.toml' is not TOML: .*line 2"):
        Policy.from_toml(toml(tmp_path, 'quasi = ["age"]\nk == 5'))


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(b'quasi = ["\xff"]')
    with pytest.raises(PolicyError, match="is not TOML"):
        Policy.from_toml(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = 5", "quasi is missing"),
        ('quasi = ["age"]\nk = "five"', "k is 'five'"),
        ('quasi = ["age"]\nk = nan', "k is nan"),
        ('quasi = ["age"]\nsensitve = ["d"]', "Did you mean 'sensitive'"),
        ('quasi = ["age"]\nsource = 5', "source in .* must be text"),
        ('quasi = ["age"]\nname = ["a"]', "name in .* must be text"),
        ('quasi = ["age"]\nhierarchy = "zip"', r"define a hierarchy as a table"),
        ('quasi = ["age"]\n[hierarchy]\nzip = "prefix"', r"define a hierarchy as a table"),
        ('quasi = ["age"]\nhierarchies = ["zip"]', "hierarchies must map columns"),
    ],
)
def test_a_toml_file_that_makes_no_policy_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy.from_toml(toml(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("age,sex", ("age", "sex")),
        (' age , "a, b" ,sex', ("age", "a, b", "sex")),
        ('"a ""b"" c; drop","👩,x"', ('a "b" c; drop', "👩,x")),
        ("new\nline,age", ("new\nline", "age")),
        ("age,\n  sex,", ("age", "sex")),
    ],
)
def test_one_text_names_several_columns_whatever_they_are_called(text: str, names: tuple[str, ...]) -> None:
    """A name with a line break ended in a traceback."""
    assert Policy(quasi=text, k=2).quasi == names
