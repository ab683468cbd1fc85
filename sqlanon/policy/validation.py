"""What a policy refuses: options that contradict each other, name nothing, or mean nothing for the method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlanon.errors import PolicyError, option, option_name
from sqlanon.policy.grid import Width, width_of
from sqlanon.policy.limits import Limit, limit_of
from sqlanon.policy.options import ASKED, DEFAULT_METHOD, ROLES, ROW_WEIGHT_COLUMN
from sqlanon.sqltext import fold, listed_names
from sqlanon.udfs.method import MEASURES, Parameter, measure_of
from sqlanon.udfs.methods import METHODS
from sqlanon.udfs.models import MODELS
from sqlanon.udfs.space.costs import OBJECTIVES

if TYPE_CHECKING:
    from sqlanon.policy.policy import Policy


def column_names(role: str, given: Any) -> tuple[str, ...]:
    """A role's column names, each once whatever its case. One text may name several: age,sex. Double quotes protect a
    comma, and so does a list."""
    if isinstance(given, str):
        given = listed_names(given)
    listed = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(column, str) for column in listed):
        raise PolicyError(f"{option_name(role)} must be a list of column names")
    seen: dict[str, str] = {}
    for column in listed:
        if (earlier := seen.get(fold(column))) is not None:
            same = (
                f"'{column}' twice" if column == earlier else f"both '{earlier}' and '{column}', one column to DuckDB"
            )
            raise PolicyError(f"{option_name(role)} names {same}")
        seen[fold(column)] = column
    return listed


def whole_number(asked: str, value: Any, low: int) -> int:
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if is_whole and not isinstance(value, bool):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**63:
        raise PolicyError(f"{option_name(asked)} is {value!r}; it must be a whole number of {low} or more")
    return value


def check_entity(policy: Policy) -> None:
    """A person's number is not a quasi-identifier, and not sensitive."""
    if policy.entity is None:
        return
    if not isinstance(policy.entity, str):
        raise PolicyError(f"{option_name('entity')} must be a column's name: {option('entity', 'patient_id')}")
    for role in ("quasi", "sensitive"):
        if fold(policy.entity) in map(fold, getattr(policy, role)):
            raise PolicyError(f"'{policy.entity}' is the entity, so it cannot be in {option_name(role)}")


def check_pseudonyms(policy: Policy) -> None:
    """What can be asked where pseudonyms differ from class to class."""
    if policy.pseudonyms != "class":
        return
    if policy.entity is None or [fold(column) for column in policy.pseudonymize] != [fold(policy.entity)]:
        raise PolicyError(
            "pseudonyms = 'class' needs an entity that is pseudonymized, and no other pseudonyms, which would tie its "
            "rows together: entity = 'patient_id', pseudonymize = ['patient_id']"
        )
    if policy.linked:
        raise PolicyError("pseudonyms = 'class' is for releases that are not linked, where pseudonyms may tie all rows")


def check_linked(policy: Policy) -> None:
    """What can be asked where people are grouped by all of their rows."""
    if not policy.linked:
        given = [asked for asked in ("row_price", "row_order") if getattr(policy, asked) is not None]
        if given:
            raise PolicyError(f"{option_name(given[0])} needs {option('linked')}")
        return
    if policy.entity is None:
        raise PolicyError(
            f"{option_name('linked')} needs an entity, the column that identifies a person: "
            f"{option('entity', 'patient_id')}"
        )
    refused = {
        option("method", policy.method): policy.method != DEFAULT_METHOD,
        option_name("refine"): policy.refine,
        option_name("max_suppression"): policy.max_suppression is not None,
        option("represent", "center"): policy.represent == "center",
        option_name("time_budget"): policy.parameters.get("time_budget") is not None,
        option_name("objective"): policy.parameters.get("objective") != METHODS[DEFAULT_METHOD].check({})["objective"],
    }
    for other, is_given in refused.items():
        if is_given:
            raise PolicyError(
                f"{option_name('linked')} cannot be combined with {other}: it groups people by a method of its own, "
                f"and {option_name('row_price')} says what dropping a row may cost"
            )
    if policy.row_order is None:
        return
    if not isinstance(policy.row_order, str) or fold(policy.row_order) not in map(fold, policy.quasi):
        raise PolicyError(
            f"{option_name('row_order')} is {policy.row_order!r}; it must be one of the quasi-identifiers "
            f"({', '.join(policy.quasi)})"
        )


def check_identity(policy: Policy) -> None:
    """What identifies a person is never released, unless as a pseudonym."""
    for role in ("quasi", "sensitive", "keep", "unsafe_keep"):
        named = {fold(column) for column in getattr(policy, role)}
        for column in policy.identity:
            if fold(column) in named:
                raise PolicyError(
                    f"'{column}' is in {option_name('identity')}, which is never released, so it cannot be in "
                    f"{option_name(role)}"
                )
    if policy.identity and policy.changed == "never":
        raise PolicyError(f"{option('changed', 'never')} is for views without an identity; leave one of the two out")
    if policy.row_weight:
        for column in (column for role in ROLES for column in getattr(policy, role)):
            if fold(column) == ROW_WEIGHT_COLUMN:
                raise PolicyError(
                    f"{option_name('row_weight')} would release two columns called '{column}'; rename it in the source"
                )


def check_models(policy: Policy) -> None:
    """What is required of sensitive columns: values in their ranges, and a column to ask it of."""
    for asked in ASKED:
        given = getattr(policy, asked.name)
        found = _by_column(policy, asked, given) if isinstance(given, Mapping) else asked.check(given)
        object.__setattr__(policy, asked.name, found)
    if (policy.recursive_l is None) != (policy.recursive_c is None):
        raise PolicyError(
            f"{option_name('recursive_l')} and {option_name('recursive_c')} go together: "
            f"{option('recursive_l', 3)} and {option('recursive_c', 2)}"
        )
    if policy.sees_sensitive and not policy.sensitive:
        given = (option(measure, policy.parameters[measure]) for measure in MEASURES if measure in policy.parameters)
        what = next(iter(policy.models), None) or next(given)
        raise PolicyError(f"{what} needs a sensitive column: {option('sensitive', ['diagnosis'])}")


def _by_column(policy: Policy, asked: Parameter, given: Mapping[str, Any]) -> float | Mapping[str, float] | None:
    """What a model requires of each column that is named; one number if it is the same of all sensitive columns."""
    if asked.name not in MODELS:
        raise PolicyError(f"{option_name(asked.name)} is {dict(given)!r}; it must be {asked.range}")
    spelt = {fold(column): column for column in policy.sensitive}
    found: dict[str, float] = {}
    for column, value in given.items():
        if fold(str(column)) not in spelt:
            listed = ", ".join(policy.sensitive) or "none is named"
            raise PolicyError(
                f"{option_name(asked.name)} names '{column}', which is not in {option_name('sensitive')} ({listed})"
            )
        if value is not None and (checked := asked.check(value)) is not None:
            found[spelt[fold(str(column))]] = float(checked)
    if len({fold(str(column)) for column in given}) < len(given):
        raise PolicyError(f"{option_name(asked.name)} names a column twice, in different case")
    if len(found) == len(policy.sensitive) and len(set(found.values())) == 1:
        return asked.check(found.popitem()[1])  # type: ignore[return-value]  # a model's parameter is a number
    return MappingProxyType(found) if found else None


def check_method(policy: Policy) -> None:
    """What the methods that do not make classes of k equal rows cannot do."""
    method = METHODS[policy.method]
    if policy.entity is not None and not method.is_homogeneous:
        raise PolicyError(
            f"{option_name('entity')} does not apply to {method.name}, which promises nothing about people with "
            f"several rows"
        )
    if method.is_exact:
        if len(policy.sensitive) != 1:
            raise PolicyError(
                f"{method.name} needs exactly one sensitive column, such as {option('sensitive', ['diagnosis'])}; "
                f"{len(policy.sensitive)} are named"
            )
        if not isinstance(policy.l, (int, float)) or policy.l < 2 or policy.l != int(policy.l):
            raise PolicyError(f"{method.name} needs a whole number l of 2 or more, such as {option('l', 2)}")
        if others := [model for model in policy.models if model != "l"]:
            raise PolicyError(f"{method.name} enforces l and no other model. Leave out {', '.join(others)}")
        if policy.ranges not in ("auto", "text"):
            raise PolicyError(
                f"{option_name('ranges')} does not apply to {method.name}, which releases values unchanged"
            )
    elif not method.is_homogeneous and policy.sees_sensitive:
        raise PolicyError(
            f"{method.name} promises nothing about sensitive values. Leave out l and similar options, or choose "
            f"another method"
        )
    if policy.forming == "blind" and (method.suppresses or not method.is_homogeneous):
        raise PolicyError(
            f"{option('forming', 'blind')} does not apply to {method.name}, whose groups cannot be joined afterwards"
        )
    if policy.forming == "blind" and method.sees_sensitive(policy.parameters):
        raise PolicyError(
            f"{option('forming', 'blind')} cannot be combined with a measure that uses sensitive values (pmi, wmi)"
        )
    if method.draws_in_secret and policy.represent != "closure":
        raise PolicyError(
            f"{option_name('represent')} does not apply to {method.name}, which has no classes with a center"
        )
    if method.draws_in_secret and policy.max_suppression is not None:
        raise PolicyError(f"{option_name('max_suppression')} does not apply to {method.name}, which releases every row")
    if method.draws_in_secret and policy.refine:
        raise PolicyError(
            f"{option_name('refine')} does not apply to {method.name}, which does not make groups that can be refined"
        )
    if policy.refine and (measure := measure_of(policy.parameters)) not in OBJECTIVES:
        raise PolicyError(
            f"{option_name('refine')} cannot search for a low {measure}; it knows {', '.join(OBJECTIVES)}. Leave it "
            f"out, or choose another cost"
        )


def check_population(policy: Policy) -> None:
    """What cannot be combined with k-map, where classes may be single rows."""
    if policy.population is None:
        return
    if not isinstance(policy.population, str) or not policy.population.strip():
        raise PolicyError(f"{option_name('population')} is {policy.population!r}; it must be a table's name or a query")
    refused = {
        "method": METHODS[policy.method].draws_in_secret and option("method", policy.method),
        "models": policy.sees_sensitive and "a model of sensitive columns",
        "max_suppression": policy.max_suppression is not None and option_name("max_suppression"),
        "entity": policy.entity is not None and option_name("entity"),
        "represent": policy.represent == "center" and option("represent", "center"),
    }
    if given := [what for what in refused.values() if what]:
        raise PolicyError(
            f"{option_name('population')} cannot be combined with {given[0]}, because a class may be a single row"
        )


def refuse_two_roles(policy: Policy) -> None:
    seen: dict[str, str] = {}
    for role in ROLES:
        for column in getattr(policy, role):
            if (other := seen.setdefault(fold(column), role)) != role:
                raise PolicyError(f"'{column}' is both {other} and {role}; a column has one role")


def grid_of(policy: Policy) -> dict[str, Width]:
    if policy.ranges == "snapped" and policy.represent == "center":
        raise PolicyError(f"{option('ranges', 'snapped')} cannot be combined with {option('represent', 'center')}")
    if policy.grid and policy.represent == "center":
        raise PolicyError(f"{option_name('grid')} cannot be combined with {option('represent', 'center')}")
    if policy.grid and policy.ranges not in ("snapped", "auto"):
        raise PolicyError(f"{option_name('grid')} needs {option('ranges', 'snapped')}")
    return {column: width_of(column, width) for column, width in per_column(policy, "grid", policy.grid).items()}


def limits_of(policy: Policy) -> dict[str, Limit]:
    limits = per_column(policy, "limits", policy.limits)
    method = METHODS[policy.method]
    refused = {
        "method": (method.is_exact or not method.is_homogeneous) and option("method", policy.method),
        "population": policy.population is not None and option_name("population"),
        "represent": policy.represent == "center" and option("represent", "center"),
        "entity": policy.entity is not None and option_name("entity"),
        "grid": any(column in policy.grid for column in limits) and option_name("grid"),
    }
    if limits and (given := [what for what in refused.values() if what]):
        raise PolicyError(f"{option_name('limits')} cannot be combined with {given[0]}")
    return {column: limit_of(column, limit) for column, limit in limits.items()}


def per_column(policy: Policy, asked: str, given: Any, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """A mapping by quasi-identifier, or one of some others, its keys spelled as there."""
    if not isinstance(given, Mapping):
        raise PolicyError(f"{option_name(asked)} must map columns to values, such as {{'zip': ...}}")
    spelt = {fold(column): column for column in (*policy.quasi, *others)}
    for column in given:
        if fold(str(column)) not in spelt:
            raise PolicyError(
                f"{option_name(asked)} names '{column}', which is not in {option_name('quasi')} "
                f"({', '.join(policy.quasi)})"
            )
    if len({fold(str(column)) for column in given}) < len(given):
        raise PolicyError(f"{option_name(asked)} names a column twice, in different case")
    return {spelt[fold(str(column))]: value for column, value in given.items()}
