"""The policy: everything a release is asked to be, checked when made and frozen afterwards."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlanon import tomltext
from sqlanon.errors import PolicyError, did_you_mean, not_one_of
from sqlanon.grids import Width, width_of
from sqlanon.sqltext import fold
from sqlanon.udfs.costs import PRIVATE
from sqlanon.udfs.method import Parameter
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import DISTANCES, MODELS

RANGES = ("text", "columns", "snapped")
REPRESENTATIONS = ("closure", "center")
ROLES = ("quasi", "sensitive", "keep", "unsafe_keep", "pseudonymize")
"""What a column may be; it is one of them or not released."""
MEASURES = ("cost", "objective")
"""The parameters that name what a method keeps low."""
DEFAULT_METHOD = "auto"
RECURSIVE_C = Parameter("recursive_c", None, "the c of recursive_l")
T_DISTANCE = Parameter("t_distance", None, "how far values are apart for t", choices=DISTANCES)
SEVERAL = Parameter(
    "several",
    "strict",
    "several sensitive columns: strict holds even against those who know the others, separate looks at each by itself",
    choices=("strict", "separate"),
)
DELETED = Parameter(
    "deleted",
    "withdraw",
    "people whom the source no longer has, when a view is refreshed: withdraw their rows once k or more of a class "
    "have left and k or more, or none, stay; or hold them",
    choices=("withdraw", "hold"),
)
POPULATION = "a table of everybody who might be in the source: k then counts those whom a class may stand for (k-map)"
MAX_SUPPRESSION = Parameter(
    "max_suppression", None, "the share of the rows that may be suppressed where that pays, such as 0.02", high=1
)
ASKED = (*(model.option for model in MODELS.values()), RECURSIVE_C, T_DISTANCE, SEVERAL)
"""The options that ask something of sensitive columns."""

PARAMETERS = tuple(sorted({parameter.name for method in METHODS.values() for parameter in method.parameters}))
"""The parameters of all methods: options of a policy like any other."""


@dataclass(frozen=True)
class Policy:
    """What to release and how.

    Parameters
    ----------
    quasi: the quasi-identifiers, generalized until every class of them holds k rows or more.
    k: the smallest class that may be printed.
    method: the clustering method; `FROM anon.methods()` lists them with their parameters.
    l: no sensitive value may hold more than 1/l of a class; any number from 1 up.
    distinct_l, entropy_l, recursive_l (with recursive_c): other diversities that every class must have.
    alpha: the largest share that a sensitive value may have in a class.
    t: how far the sensitive values of a class may be from the table's, by t_distance: 'equal', 'ordered' or
        'hierarchical'; by default by hierarchy where the column has one, in order for numbers and dates, else equal.
    basic_beta, enhanced_beta, delta: how much a sensitive value's share of a class may differ from that of the table.
    several: with several sensitive columns, 'strict' keeps what is asked of each even from those who know the others,
        'separate' looks at each by itself.
    sensitive: columns released as they are, whose diversity within a class is measured.
    entity: the column that tells whom a row is about, such as a patient's number: k, l and alpha then count people
        instead of rows. It is released only if it has another role too.
    keep: other columns released as they are; refused when nearly unique.
    unsafe_keep: columns released as they are even if nearly unique.
    hierarchies: column → hierarchy; a column not named takes the hierarchy of its own name, None asks for none.
    weights: column → weight in the distances and losses (default 1).
    pseudonymize: columns released as keyed hashes of their values; they link releases made with one key.
    ranges: 'text' prints numbers as [25-30], 'columns' as two typed columns age_min and age_max, 'snapped' as [25-29]
        with ends on a grid, which show no person's value.
    grid: column → width of the grid's cells, for dates days or 'month', 'year' and so on; with ranges = 'snapped'.
    represent: 'closure' prints what covers a class, 'center' its mean, median or most frequent value.
    population: a table or query of everybody who might be in the source, with the same quasi-identifiers as they are.
        k then counts the people of the population whom a printed class covers (k-map), rather than its rows.
    max_suppression: the share of the rows that may be suppressed where others then lose less; none if not given, but
        datafly then suppresses up to k rows, as its paper does. Suppressed rows print * everywhere; where they are
        fewer than k or break a model, they are left out of the release. Both count as lost in every measure.
    refine: polish the method's groups by a search for less loss; `auto` does so by itself.
    block_size: how many distinct tuples are clustered at a time; by default as many as the method and memory allow.
    seed: the same seed gives the same groups.
    deleted: what REFRESH does with people whom the source no longer has: 'withdraw' takes their rows out of a view once
        k or more of a class have left and k or more, or none, stay; 'hold' leaves them.
    strict: refuse a release that, put together with the stored ones of the same source, leaves somebody among fewer
        than k; otherwise that is only warned about.
    parameters: the method's own parameters, such as beta.
    """

    quasi: tuple[str, ...]
    k: int = 5
    l: float | None = None  # noqa: E741 - the field's own name
    distinct_l: int | None = None
    entropy_l: float | None = None
    recursive_l: int | None = None
    recursive_c: float | None = None
    alpha: float | None = None
    t: float | None = None
    t_distance: str | None = None
    basic_beta: float | None = None
    enhanced_beta: float | None = None
    delta: float | None = None
    several: str = "strict"
    method: str = DEFAULT_METHOD
    sensitive: tuple[str, ...] = ()
    entity: str | None = None
    keep: tuple[str, ...] = ()
    unsafe_keep: tuple[str, ...] = ()
    pseudonymize: tuple[str, ...] = ()
    hierarchies: Mapping[str, str | None] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    ranges: str = "text"
    grid: Mapping[str, Width] = field(default_factory=dict)
    represent: str = "closure"
    population: str | None = None
    max_suppression: float | None = None
    refine: bool = False
    block_size: int | None = None
    seed: int = 0
    deleted: str = "withdraw"
    strict: bool = False
    parameters: Mapping[str, float | str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in ROLES:
            object.__setattr__(self, role, _names(role, getattr(self, role)))
        object.__setattr__(self, "k", _whole("k", self.k, 2))
        object.__setattr__(self, "seed", _whole("seed", self.seed, 0))
        if not self.quasi:
            raise PolicyError("quasi is empty: name the columns that could identify a person, quasi = ['age', 'zip']")
        _refuse_two_roles(self)
        _check_entity(self)
        if not isinstance(self.method, str) or self.method.lower() not in METHODS:
            raise PolicyError(not_one_of("method", str(self.method), METHODS))
        object.__setattr__(self, "method", self.method.lower())
        if self.ranges not in RANGES:
            raise PolicyError(not_one_of("ranges option", str(self.ranges), RANGES))
        for switch in ("refine", "strict"):
            if not isinstance(getattr(self, switch), bool):
                raise PolicyError(f"{switch} is {getattr(self, switch)!r}; it must be true or false")
        object.__setattr__(self, "deleted", DELETED.check(self.deleted))
        if self.block_size is not None:
            object.__setattr__(self, "block_size", _whole("block_size", self.block_size, 100))
            if METHODS[self.method].block_size is None:
                raise PolicyError(f"block_size is no option of {self.method}, which looks at the whole table at once")
        if self.represent not in REPRESENTATIONS:
            raise PolicyError(not_one_of("represent option", str(self.represent), REPRESENTATIONS))
        for parameter in self.parameters:
            owners = [m.name for m in METHODS.values() if parameter in {p.name for p in m.parameters}]
            if owners and self.method not in owners:
                listed = ", ".join(owners)
                raise PolicyError(
                    f"'{parameter}' is an option of {listed}, not of {self.method}: method = '{owners[0]}'"
                )
        object.__setattr__(self, "parameters", METHODS[self.method].check(self.parameters))
        object.__setattr__(self, "max_suppression", MAX_SUPPRESSION.check(self.max_suppression))
        _check_models(self)
        _check_method(self)
        _check_population(self)
        bound = _per_column(self, "hierarchies", self.hierarchies, self.sensitive)
        bound = {column: None if given is False else given for column, given in bound.items()}  # TOML has no null
        object.__setattr__(self, "hierarchies", bound)
        object.__setattr__(self, "weights", _per_column(self, "weights", self.weights))
        object.__setattr__(self, "grid", _grid(self))
        for column, hierarchy in self.hierarchies.items():
            if hierarchy is not None and not isinstance(hierarchy, str):
                raise PolicyError(f"hierarchies: '{column}' must be bound to a hierarchy's name")
        for column, weight in self.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < 1e9:
                raise PolicyError(f"weights: '{column}' must have a number above 0")

        for mapping in ("hierarchies", "weights", "grid", "parameters"):
            object.__setattr__(self, mapping, MappingProxyType(dict(getattr(self, mapping))))

    @property
    def sees_sensitive(self) -> bool:
        """Must the core see sensitive values?"""
        return bool(self.models) or any(self.parameters.get(option) in PRIVATE for option in MEASURES)

    @property
    def models(self) -> dict[str, float]:
        """What is asked of the sensitive columns, by the names of the options."""
        return {model: getattr(self, model) for model in MODELS if getattr(self, model) is not None}

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Policy:
        """A policy from flat options, as SQL, statements, TOML and Python all give them. None means not given."""
        given: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        for option, value in options.items():
            folded = option.lower()
            if folded not in OPTIONS and folded not in PARAMETERS:
                everything = [*OPTIONS, *PARAMETERS]
                raise PolicyError(
                    f"Unknown option '{option}' (options: {', '.join(everything)}).{did_you_mean(option, everything)}"
                )
            if value is not None:
                if folded in given or folded in parameters:
                    raise PolicyError(f"Option '{folded}' is given twice")
                (given if folded in OPTIONS else parameters)[folded] = value
        if "quasi" not in given:
            raise PolicyError("quasi is missing: name the columns that could identify a person, quasi = ['age', 'zip']")
        return cls(**given, parameters=parameters)

    def options(self) -> dict[str, Any]:
        """The flat options that make this policy again, without those at their defaults."""
        plain = {option: getattr(self, option) for option in OPTIONS}
        plain |= {option: value for option, value in self.parameters.items() if value is not None}
        return {
            option: list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
            for option, value in plain.items()
            if value is not None and value != () and value != {}
        }

    def json(self) -> str:
        """The options as JSON text, as `anon.releases` stores them."""
        return json.dumps(self.options(), ensure_ascii=False)

    def toml(self, **own: str | None) -> str:
        """The policy as a TOML file that makes it again, without what is at its default.

        `own` goes before it: source = "patients" and name = "patients_public" make it a file for `sqlanon run`.
        """
        usual = {entry.name: entry.default for entry in fields(self)}
        usual |= {parameter.name: parameter.default for parameter in METHODS[self.method].parameters}
        given = {o: v for o, v in self.options().items() if o in ("k", "method") or v != usual.get(o)}
        return tomltext.document({o: v for o, v in own.items() if v is not None} | given)

    def __str__(self) -> str:
        from sqlanon.displays import policy_text

        return policy_text(self)

    def _repr_pretty_(self, printer: Any, is_cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from sqlanon.displays import policy_html

        return policy_html(self)

    @classmethod
    def from_toml(cls, path: str | Path) -> Policy:
        """The policy of a TOML file; its source, name and hierarchy definitions are `sqlanon run`'s business."""
        return Job.from_toml(path).policy


OPTIONS = tuple(entry.name for entry in fields(Policy) if entry.name != "parameters")
"""What can be asked for with any method."""


@dataclass(frozen=True)
class Job:
    """A TOML file: a policy with the source it is for, the release's name, and the hierarchies it needs."""

    policy: Policy
    source: str | None = None
    name: str | None = None
    define: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, path: str | Path) -> Job:
        """Read and check a policy file."""
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as problem:
            raise PolicyError(f"Cannot read policy '{path}': {problem.strerror}") from problem
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise PolicyError(f"'{path}' is not TOML: {problem}") from problem
        own = {key: content.pop(key, None) for key in ("source", "name", "hierarchy")}
        for key in ("source", "name"):
            if own[key] is not None and not isinstance(own[key], str):
                raise PolicyError(f"{key} in '{path}' must be text")
        define = own["hierarchy"] or {}
        if not isinstance(define, dict) or not all(isinstance(table, dict) for table in define.values()):
            raise PolicyError(f"'{path}': define a hierarchy as a table, [hierarchy.zip] then prefix = true")
        return cls(Policy.of(content), own["source"], own["name"], define)


def _names(role: str, given: Any) -> tuple[str, ...]:
    """A role's column names, each once whatever its case."""
    listed = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(column, str) for column in listed):
        raise PolicyError(f"{role} must be a list of column names")
    seen: dict[str, str] = {}
    for column in listed:
        if (earlier := seen.get(fold(column))) is not None:
            same = (
                f"'{column}' twice" if column == earlier else f"both '{earlier}' and '{column}', one column to DuckDB"
            )
            raise PolicyError(f"{role} names {same}")
        seen[fold(column)] = column
    return listed


def _whole(option: str, value: Any, low: int) -> int:
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if is_whole and not isinstance(value, bool):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**63:
        raise PolicyError(f"{option} is {value!r}; it must be a whole number of {low} or more")
    return value


def _check_entity(policy: Policy) -> None:
    """Somebody's number is no quasi-identifier and no secret about them."""
    if policy.entity is None:
        return
    if not isinstance(policy.entity, str):
        raise PolicyError("entity must be a column's name: entity = 'patient_id'")
    for role in ("quasi", "sensitive"):
        if fold(policy.entity) in map(fold, getattr(policy, role)):
            raise PolicyError(f"'{policy.entity}' is the entity, so it cannot be in {role}")


def _check_models(policy: Policy) -> None:
    """What is asked of sensitive columns: values in their ranges, and a column to ask it of."""
    for option in ASKED:
        object.__setattr__(policy, option.name, option.check(getattr(policy, option.name)))
    if (policy.recursive_l is None) != (policy.recursive_c is None):
        raise PolicyError("recursive_l and recursive_c go together: recursive_l = 3, recursive_c = 2")
    if policy.sees_sensitive and not policy.sensitive:
        given = (f"{option} = '{policy.parameters[option]}'" for option in MEASURES if option in policy.parameters)
        what = next(iter(policy.models), None) or next(given)
        raise PolicyError(f"{what} needs a sensitive column: sensitive = ['diagnosis']")


def _check_method(policy: Policy) -> None:
    """What the methods that print no classes of k equal rows cannot do."""
    method = METHODS[policy.method]
    if policy.entity is not None and not method.is_homogeneous:
        raise PolicyError(f"entity is no option of {method.name}, which promises nothing of people with several rows")
    if method.is_exact:
        if len(policy.sensitive) != 1:
            raise PolicyError(
                f"{method.name} parts one sensitive column from the others, and {len(policy.sensitive)} are named: "
                f"sensitive = ['diagnosis']"
            )
        if policy.l is None or policy.l < 2 or policy.l != int(policy.l):
            raise PolicyError(f"{method.name} needs a whole l of 2 or more, the values that a person may have: l = 2")
        if others := [model for model in policy.models if model != "l"]:
            raise PolicyError(f"{method.name} keeps l and no other model: leave {', '.join(others)} out")
        if policy.ranges != "text":
            raise PolicyError(f"ranges is no option of {method.name}, which prints values as they are")
    elif not method.is_homogeneous and policy.sees_sensitive:
        raise PolicyError(
            f"{method.name} promises nothing of sensitive values: leave l and its like out, or choose another method"
        )
    if method.draws_in_secret and policy.represent != "closure":
        raise PolicyError(f"represent is no option of {method.name}, which has no classes to take the centre of")
    if method.draws_in_secret and policy.max_suppression is not None:
        raise PolicyError(f"max_suppression is no option of {method.name}, which prints every row")
    if method.draws_in_secret and policy.refine:
        raise PolicyError(f"refine is no option of {method.name}, whose groups are not those that it refines")


def _check_population(policy: Policy) -> None:
    """What does not go with k-map, where classes may be single rows."""
    if policy.population is None:
        return
    if not isinstance(policy.population, str) or not policy.population.strip():
        raise PolicyError(f"population is {policy.population!r}; it must be a table's name or a query")
    refused = {
        "method": METHODS[policy.method].draws_in_secret and f"method = '{policy.method}'",
        "models": policy.sees_sensitive and "what is asked of sensitive columns",
        "max_suppression": policy.max_suppression is not None and "max_suppression",
        "entity": policy.entity is not None and "entity",
        "represent": policy.represent == "center" and "represent = 'center'",
    }
    if given := [what for what in refused.values() if what]:
        raise PolicyError(f"population does not go with {given[0]}: its classes hold k people, but may be single rows")


def _refuse_two_roles(policy: Policy) -> None:
    seen: dict[str, str] = {}
    for role in ROLES:
        for column in getattr(policy, role):
            if (other := seen.setdefault(fold(column), role)) != role:
                raise PolicyError(f"'{column}' is both {other} and {role}; a column has one role")


def _grid(policy: Policy) -> dict[str, Width]:
    if policy.ranges == "snapped" and policy.represent == "center":
        raise PolicyError("ranges = 'snapped' prints no centres: leave represent = 'center' out")
    if policy.grid and policy.ranges != "snapped":
        raise PolicyError("grid is for ranges = 'snapped'")
    return {column: width_of(column, width) for column, width in _per_column(policy, "grid", policy.grid).items()}


def _per_column(policy: Policy, option: str, given: Any, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """A mapping by quasi-identifier, or one of some others, its keys spelt as there."""
    if not isinstance(given, Mapping):
        raise PolicyError(f"{option} must map columns to values, such as {{'zip': ...}}")
    spelt = {fold(column): column for column in (*policy.quasi, *others)}
    for column in given:
        if fold(str(column)) not in spelt:
            raise PolicyError(f"{option} names '{column}', which is not in quasi ({', '.join(policy.quasi)})")
    if len({fold(str(column)) for column in given}) < len(given):
        raise PolicyError(f"{option} names a column twice, in different case")
    return {spelt[fold(str(column))]: value for column, value in given.items()}
