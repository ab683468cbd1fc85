"""The policy: everything a release is asked to be, checked when made and frozen afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlanon.errors import PolicyError, did_you_mean, not_one_of, option, option_name
from sqlanon.policy import toml, words
from sqlanon.policy.grid import Width
from sqlanon.policy.kinds import Kind, kind_of
from sqlanon.policy.options import (
    CHANGED,
    DEFAULT_METHOD,
    DELETED,
    FAILED,
    FORMING,
    MAX_SUPPRESSION,
    MOST_QUASI,
    PARAMETERS,
    PSEUDONYMS,
    RANGES,
    REPRESENTATIONS,
    ROLES,
    ROW_PRICE,
    UPDATED,
)
from sqlanon.policy.validation import (
    check_entity,
    check_identity,
    check_linked,
    check_method,
    check_models,
    check_population,
    check_pseudonyms,
    column_names,
    grid_of,
    limits_of,
    per_column,
    refuse_two_roles,
    whole_number,
)
from sqlanon.sqltext import fold
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import MODELS

Required = float | Mapping[str, float] | None
"""What a model requires: one number of every sensitive column, or of some of them each its own."""


@dataclass(frozen=True)
class Policy:
    """What to release and how.

    Parameters
    ----------
    quasi: the quasi-identifiers, generalized until every class has at least k rows.
    k: every class must have at least this many rows.
    method: the clustering method; `FROM anon.methods()` lists them with their parameters.
    l: no sensitive value may take more than 1/l of a class; any number of 1 or more.
    distinct_l, entropy_l, recursive_l (with recursive_c): other diversities that every class must have.
    alpha: the largest share that a sensitive value may have in a class.
    t: how far the sensitive values of a class may be from the table's, by t_distance: 'equal', 'ordered' or
        'hierarchical'; by default by hierarchy where the column has one, in order for numbers and dates, else equal.
    basic_beta, enhanced_beta, delta: how much a sensitive value's share of a class may differ from that of the table.
        Each of these is one number for all sensitive columns, or sensitive column → number for some of them.
    several: with several sensitive columns, 'strict' also protects each from people who know the others; 'separate'
        treats each column alone.
    sensitive: columns released unchanged, whose diversity within a class is measured.
    entity: the column that identifies a person, such as a patient number: k, l and alpha then count people instead of
        rows. It is released only if it has another role too.
    linked: group people by all of their rows: whoever knows every row of a person finds k people or more whose rows,
        all together, look the same. Rows that nobody else has are dropped, at a price. k, l and alpha count the people
        of such a group. Without it, k people are behind every single row, and several rows of a person together may
        identify them.
    row_price: with linked, the price of dropping a row, 1 by default: as much as a row loses that loses everything.
    row_order: with linked, the quasi-identifier that a person's rows are in order of, such as the date of a visit; by
        default the first date or timestamp, else the order of the quasi-identifiers.
    keep: other columns released unchanged; refused if nearly unique.
    unsafe_keep: columns released unchanged even if nearly unique, or if they look like identifiers.
    hierarchies: column → hierarchy; a column not listed uses the hierarchy of its own name, None means none.
    weights: column → weight in the distances and losses (default 1).
    pseudonymize: columns released as keyed hashes of their values; they link releases made with one key.
    pseudonyms: 'person' gives the entity one pseudonym in all rows; 'class' gives it another one in every class, and
        in classes where fewer than k people have as many rows, one in every row.
    ranges: 'text' releases numbers as [25-30], 'columns' as two typed columns age_min and age_max, 'snapped' as [25-29]
        with ends on a grid, which show no person's value. 'auto' releases decimals, floats and timestamps as 'snapped'
        does, and whole numbers and dates as 'text' does.
    grid: column → width of the grid's cells, for dates days or 'month', 'year' and so on; with ranges = 'snapped' or
        'auto', by which a column with a width is snapped, whatever its type.
    limits: column → {'finest': ..., 'coarsest': ...}, or one value for a fixed level: the levels of its hierarchy (0 is
        the value itself) that may be released, or for numbers without one the widths of intervals, for dates 'month',
        'year' and so on. Rows that cannot keep them are suppressed within max_suppression, or an error says which
        limit is in the way. With all levels fixed it is the same transformation for next year's table.
    represent: 'closure' releases what covers a class, 'center' its mean, median or most frequent value.
    population: a table or query of everybody who might be in the source, with the same quasi-identifiers as raw
        values. k then counts the people of the population whom a released class covers (k-map), not its rows.
    max_suppression: the share of the rows that may be suppressed if that reduces the overall loss; none if not given,
        except that datafly then suppresses up to k rows, as its paper does. Suppressed rows have * everywhere; if they
        are fewer than k or break a model, they are left out of the release. Both count as lost in every measure.
    refine: improve the method's groups by a search for less loss; `auto` always does so.
    forming: 'free' lets the method look at sensitive values to keep the models; 'blind' hides them from it, so that the
        way in which classes were formed tells next to nothing about them, at the price of wider classes.
    block_size: how many distinct tuples are clustered at a time; by default as many as the method and memory allow.
    polish: refine groups across the borders of blocks, by the measure that the method minimizes. False leaves the
        groups of each block as the method makes them; a table that is not cut into blocks is never polished.
    seed: the same seed gives the same groups. Without one, groups that depend on sensitive values are drawn by a secret
        seed that nobody keeps, others by seed 0. Whoever knows the seed of a release with models can check guesses.
    identity: the columns that identify a person, such as a patient number, with one row per person. REFRESH recognizes
        people by a salted digest of them, also when other columns change. They are never released.
    deleted: what REFRESH does with people whom the source no longer has: 'withdraw' takes a cohort out of a view when
        nobody of it is left, and parts off those who left where every part of that size would keep k and the models;
        'hold' leaves them.
    changed: what REFRESH does when quasi-identifiers change: 'follow' gives whole cohorts the labels of their present
        members, 'keep' leaves labels as they were. Without an identity, 'never' vows that rows do not change.
    updated: what REFRESH does when sensitive values change: 'keep' releases the values of the first time.
    batch: REFRESH adds new people once there are this many; by default enough to keep l with a chance of 99%.
    failed: what REFRESH does with new people who break a model all together: 'leave_out' never releases them, 'blank'
        releases them with NULL in every sensitive column.
    row_weight: release a column row_weight, the share of the people of a row's cohort who are still in the source.
    strict: refuse a release that breaks k when combined with the stored releases of the same source; otherwise there is
        only a warning.
    parameters: the method's own parameters, such as beta.
    """

    quasi: tuple[str, ...]
    k: int = 5
    l: Required = None  # noqa: E741 - the field's own name
    distinct_l: Required = None
    entropy_l: Required = None
    recursive_l: Required = None
    recursive_c: float | None = None
    alpha: Required = None
    t: Required = None
    t_distance: str | None = None
    basic_beta: Required = None
    enhanced_beta: Required = None
    delta: Required = None
    several: str = "strict"
    method: str = DEFAULT_METHOD
    sensitive: tuple[str, ...] = ()
    entity: str | None = None
    linked: bool = False
    row_price: float | None = None
    row_order: str | None = None
    keep: tuple[str, ...] = ()
    unsafe_keep: tuple[str, ...] = ()
    pseudonymize: tuple[str, ...] = ()
    pseudonyms: str = "person"
    hierarchies: Mapping[str, str | None] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    ranges: str = "auto"
    grid: Mapping[str, Width] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    represent: str = "closure"
    population: str | None = None
    max_suppression: float | None = None
    refine: bool = False
    forming: str = "free"
    block_size: int | None = None
    polish: bool = True
    seed: int | None = None
    identity: tuple[str, ...] = ()
    deleted: str = "withdraw"
    changed: str = "follow"
    updated: str = "keep"
    batch: int | None = None
    failed: str = "leave_out"
    row_weight: bool = False
    strict: bool = False
    parameters: Mapping[str, float | str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in ROLES:
            object.__setattr__(self, role, column_names(role, getattr(self, role)))
        object.__setattr__(self, "k", whole_number("k", self.k, 2))
        if self.seed is not None:
            object.__setattr__(self, "seed", whole_number("seed", self.seed, 0))
        self._check_quasi()
        refuse_two_roles(self)
        check_entity(self)
        object.__setattr__(self, "identity", column_names("identity", self.identity))
        check_identity(self)
        if not isinstance(self.method, str) or self.method.lower() not in METHODS:
            raise PolicyError(not_one_of("method", str(self.method), METHODS))
        object.__setattr__(self, "method", self.method.lower())
        if self.ranges not in RANGES:
            raise PolicyError(not_one_of("ranges option", str(self.ranges), RANGES))
        for switch in ("refine", "polish", "strict", "linked", "row_weight"):
            if not isinstance(getattr(self, switch), bool):
                raise PolicyError(f"{option_name(switch)} is {getattr(self, switch)!r}; it must be true or false")
        for choice in (DELETED, CHANGED, UPDATED, FAILED, FORMING, PSEUDONYMS):
            object.__setattr__(self, choice.name, choice.check(getattr(self, choice.name)))
        if self.batch is not None:
            object.__setattr__(self, "batch", whole_number("batch", self.batch, 1))
        if self.block_size is not None:
            object.__setattr__(self, "block_size", whole_number("block_size", self.block_size, 100))
            if METHODS[self.method].block_size is None:
                raise PolicyError(
                    f"{option_name('block_size')} does not apply to {self.method}, which always reads the whole table"
                )
        if self.represent not in REPRESENTATIONS:
            raise PolicyError(not_one_of("represent option", str(self.represent), REPRESENTATIONS))
        for parameter in self.parameters:
            owners = [m.name for m in METHODS.values() if parameter in {p.name for p in m.parameters}]
            if owners and self.method not in owners:
                listed = ", ".join(owners)
                raise PolicyError(
                    f"'{option_name(parameter)}' is an option of {listed}, not of {self.method}: "
                    f"{option('method', owners[0])}"
                )
        object.__setattr__(self, "parameters", METHODS[self.method].check(self.parameters))
        object.__setattr__(self, "max_suppression", MAX_SUPPRESSION.check(self.max_suppression))
        check_models(self)
        check_method(self)
        check_population(self)
        object.__setattr__(self, "row_price", ROW_PRICE.check(self.row_price))
        check_linked(self)
        check_pseudonyms(self)
        bound = per_column(self, "hierarchies", self.hierarchies, self.sensitive)
        bound = {column: None if given is False else given for column, given in bound.items()}  # TOML has no null
        object.__setattr__(self, "hierarchies", bound)
        object.__setattr__(self, "weights", per_column(self, "weights", self.weights))
        object.__setattr__(self, "grid", grid_of(self))
        object.__setattr__(self, "limits", limits_of(self))
        self._check_mappings()
        for mapping in ("hierarchies", "weights", "grid", "limits", "parameters"):
            object.__setattr__(self, mapping, MappingProxyType(dict(getattr(self, mapping))))

    def _check_quasi(self) -> None:
        if not self.quasi:
            raise PolicyError(
                f"{option_name('quasi')} is empty: name the columns that could identify a person, "
                f"{option('quasi', ['age', 'zip'])}"
            )
        if len(self.quasi) > MOST_QUASI:
            raise PolicyError(
                f"{option_name('quasi')} names {len(self.quasi)} columns, and {MOST_QUASI} is the most: more would "
                "leave next to nothing of a table. Name those that others can know"
            )

    def _check_mappings(self) -> None:
        for column, hierarchy in self.hierarchies.items():
            if hierarchy is not None and not isinstance(hierarchy, str):
                raise PolicyError(f"{option_name('hierarchies')}: '{column}' must be bound to a hierarchy's name")
        for column, weight in self.weights.items():
            if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < 1e9:
                raise PolicyError(f"{option_name('weights')}: '{column}' must have a number above 0")

    @property
    def kind(self) -> Kind:
        """What kind of release it asks for."""
        return kind_of(self.method, self.population, self.entity, self.linked)

    @property
    def may_drop(self) -> bool:
        """May rows of the source be left out of the release?"""
        return self.max_suppression is not None or self.kind.drops_rows

    @property
    def ties_rows(self) -> bool:
        """Is the entity released, if only as a pseudonym, so that everybody sees which rows are one person's?"""
        if self.entity is None or self.pseudonyms == "class":
            return False
        return fold(self.entity) in map(fold, (*self.pseudonymize, *self.keep))

    @property
    def sees_sensitive(self) -> bool:
        """Must the core see sensitive values?"""
        return bool(self.models) or METHODS[self.method].sees_sensitive(self.parameters)

    @property
    def models(self) -> dict[str, float | Mapping[str, float]]:
        """What is required of the sensitive columns, by the names of the options."""
        return {model: getattr(self, model) for model in MODELS if getattr(self, model) is not None}

    def required(self, model: str, column: str) -> float | None:
        """What a model requires of one sensitive column; None if nothing."""
        asked: Required = getattr(self, model)
        if not isinstance(asked, Mapping):
            return asked
        return {fold(name): value for name, value in asked.items()}.get(fold(column))

    @property
    def unprotected(self) -> list[str]:
        """The sensitive columns of which no model requires anything."""
        return [column for column in self.sensitive if all(self.required(m, column) is None for m in self.models)]

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Policy:
        """A policy from flat options, as SQL, statements, TOML and Python all give them. None means not given."""
        given: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        for given_name, value in options.items():
            folded = given_name.lower()
            if folded not in OPTIONS and folded not in PARAMETERS:
                everything = [*OPTIONS, *PARAMETERS]
                raise PolicyError(
                    f"Unknown option '{given_name}' (options: {', '.join(everything)})."
                    f"{did_you_mean(given_name, everything)}"
                )
            if value is not None:
                if folded in given or folded in parameters:
                    raise PolicyError(f"Option '{folded}' is given twice")
                (given if folded in OPTIONS else parameters)[folded] = value
        if "quasi" not in given:
            raise PolicyError(
                f"{option_name('quasi')} is missing: name the columns that could identify a person, "
                f"{option('quasi', ['age', 'zip'])}"
            )
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

    def toml(self, **own: str | bool | None) -> str:
        """The policy as a TOML file that makes it again, without what is at its default.

        `own` goes before it: source = "patients" and name = "patients_public" make it a file for `sqlanon run`.
        """
        usual = {entry.name: entry.default for entry in fields(self)}
        usual |= {parameter.name: parameter.default for parameter in METHODS[self.method].parameters}
        given = {o: v for o, v in self.options().items() if o in ("k", "method") or v != usual.get(o)}
        return toml.document({o: v for o, v in own.items() if v is not None} | given)

    def __str__(self) -> str:
        return "\n".join(words.policy_in_words(self))

    def _repr_pretty_(self, printer: Any, is_cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return words.policy_html(self)

    @classmethod
    def from_toml(cls, path: str | Path) -> Policy:
        """The policy of a TOML file; its source, name and hierarchy definitions are `sqlanon run`'s business."""
        return cls.of(toml.read(path)[1])


OPTIONS = tuple(entry.name for entry in fields(Policy) if entry.name != "parameters")
"""What can be asked for with any method."""
