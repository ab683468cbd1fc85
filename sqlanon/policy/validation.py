"""What a policy refuses: options that contradict each other, name nothing, or mean nothing for the method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sqlanon.errors import PolicyError
from sqlanon.policy.grid import Width, width_of
from sqlanon.policy.options import ASKED, ROLES, ROW_WEIGHT_COLUMN
from sqlanon.sqltext import fold
from sqlanon.udfs.method import MEASURES
from sqlanon.udfs.methods import METHODS

if TYPE_CHECKING:
    from sqlanon.policy.policy import Policy


def column_names(role: str, given: Any) -> tuple[str, ...]:
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


def whole_number(option: str, value: Any, low: int) -> int:
    is_whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if is_whole and not isinstance(value, bool):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value < 2**63:
        raise PolicyError(f"{option} is {value!r}; it must be a whole number of {low} or more")
    return value


def check_entity(policy: Policy) -> None:
    """A person's number is not a quasi-identifier, and not sensitive."""
    if policy.entity is None:
        return
    if not isinstance(policy.entity, str):
        raise PolicyError("entity must be a column's name: entity = 'patient_id'")
    for role in ("quasi", "sensitive"):
        if fold(policy.entity) in map(fold, getattr(policy, role)):
            raise PolicyError(f"'{policy.entity}' is the entity, so it cannot be in {role}")


def check_identity(policy: Policy) -> None:
    """What identifies a person is never released, unless as a pseudonym."""
    for role in ("quasi", "sensitive", "keep", "unsafe_keep"):
        named = {fold(column) for column in getattr(policy, role)}
        for column in policy.identity:
            if fold(column) in named:
                raise PolicyError(f"'{column}' is in identity, which is never released, so it cannot be in {role}")
    if policy.identity and policy.changed == "never":
        raise PolicyError("changed = 'never' is for views without an identity; leave one of the two out")
    if policy.row_weight:
        for column in (column for role in ROLES for column in getattr(policy, role)):
            if fold(column) == ROW_WEIGHT_COLUMN:
                raise PolicyError(f"row_weight would release two columns called '{column}'; rename it in the source")


def check_models(policy: Policy) -> None:
    """What is required of sensitive columns: values in their ranges, and a column to ask it of."""
    for option in ASKED:
        object.__setattr__(policy, option.name, option.check(getattr(policy, option.name)))
    if (policy.recursive_l is None) != (policy.recursive_c is None):
        raise PolicyError("recursive_l and recursive_c go together: recursive_l = 3, recursive_c = 2")
    if policy.sees_sensitive and not policy.sensitive:
        given = (f"{option} = '{policy.parameters[option]}'" for option in MEASURES if option in policy.parameters)
        what = next(iter(policy.models), None) or next(given)
        raise PolicyError(f"{what} needs a sensitive column: sensitive = ['diagnosis']")


def check_method(policy: Policy) -> None:
    """What the methods that do not make classes of k equal rows cannot do."""
    method = METHODS[policy.method]
    if policy.entity is not None and not method.is_homogeneous:
        raise PolicyError(
            f"entity does not apply to {method.name}, which promises nothing about people with several rows"
        )
    if method.is_exact:
        if len(policy.sensitive) != 1:
            raise PolicyError(
                f"{method.name} needs exactly one sensitive column, such as sensitive = ['diagnosis']; "
                f"{len(policy.sensitive)} are named"
            )
        if policy.l is None or policy.l < 2 or policy.l != int(policy.l):
            raise PolicyError(f"{method.name} needs a whole number l of 2 or more, such as l = 2")
        if others := [model for model in policy.models if model != "l"]:
            raise PolicyError(f"{method.name} enforces l and no other model. Leave out {', '.join(others)}")
        if policy.ranges != "text":
            raise PolicyError(f"ranges does not apply to {method.name}, which releases values unchanged")
    elif not method.is_homogeneous and policy.sees_sensitive:
        raise PolicyError(
            f"{method.name} promises nothing about sensitive values. Leave out l and similar options, or choose "
            f"another method"
        )
    if method.draws_in_secret and policy.represent != "closure":
        raise PolicyError(f"represent does not apply to {method.name}, which has no classes with a center")
    if method.draws_in_secret and policy.max_suppression is not None:
        raise PolicyError(f"max_suppression does not apply to {method.name}, which releases every row")
    if method.draws_in_secret and policy.refine:
        raise PolicyError(f"refine does not apply to {method.name}, which does not make groups that can be refined")


def check_population(policy: Policy) -> None:
    """What cannot be combined with k-map, where classes may be single rows."""
    if policy.population is None:
        return
    if not isinstance(policy.population, str) or not policy.population.strip():
        raise PolicyError(f"population is {policy.population!r}; it must be a table's name or a query")
    refused = {
        "method": METHODS[policy.method].draws_in_secret and f"method = '{policy.method}'",
        "models": policy.sees_sensitive and "a model of sensitive columns",
        "max_suppression": policy.max_suppression is not None and "max_suppression",
        "entity": policy.entity is not None and "entity",
        "represent": policy.represent == "center" and "represent = 'center'",
    }
    if given := [what for what in refused.values() if what]:
        raise PolicyError(f"population cannot be combined with {given[0]}, because a class may be a single row")


def refuse_two_roles(policy: Policy) -> None:
    seen: dict[str, str] = {}
    for role in ROLES:
        for column in getattr(policy, role):
            if (other := seen.setdefault(fold(column), role)) != role:
                raise PolicyError(f"'{column}' is both {other} and {role}; a column has one role")


def grid_of(policy: Policy) -> dict[str, Width]:
    if policy.ranges == "snapped" and policy.represent == "center":
        raise PolicyError("ranges = 'snapped' cannot be combined with represent = 'center'")
    if policy.grid and policy.ranges != "snapped":
        raise PolicyError("grid needs ranges = 'snapped'")
    return {column: width_of(column, width) for column, width in per_column(policy, "grid", policy.grid).items()}


def per_column(policy: Policy, option: str, given: Any, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """A mapping by quasi-identifier, or one of some others, its keys spelled as there."""
    if not isinstance(given, Mapping):
        raise PolicyError(f"{option} must map columns to values, such as {{'zip': ...}}")
    spelt = {fold(column): column for column in (*policy.quasi, *others)}
    for column in given:
        if fold(str(column)) not in spelt:
            raise PolicyError(f"{option} names '{column}', which is not in quasi ({', '.join(policy.quasi)})")
    if len({fold(str(column)) for column in given}) < len(given):
        raise PolicyError(f"{option} names a column twice, in different case")
    return {spelt[fold(str(column))]: value for column, value in given.items()}
