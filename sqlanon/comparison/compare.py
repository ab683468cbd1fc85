"""Comparing methods: a grid of methods and k over the same rows, each cell stored as soon as it is done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

from sqlanon.catalog.catalog import Catalog
from sqlanon.catalog.comparisons import stored_cells
from sqlanon.comparison.cells import Asked, Cell
from sqlanon.comparison.comparison import Comparison
from sqlanon.engine.frames import catalog_name, readable, registered
from sqlanon.engine.names import resolve
from sqlanon.engine.session import unwrap
from sqlanon.errors import PolicyError, not_one_of
from sqlanon.pipeline.metrics import METRICS, PRIVATE
from sqlanon.policy.options import PARAMETERS
from sqlanon.policy.policy import Policy
from sqlanon.sqltext import fold
from sqlanon.udfs.methods import METHODS

if TYPE_CHECKING:
    pass

DEFAULT_KS = (5, 10, 20, 50)
DEFAULT_METRICS = ("gcp", "lm", "average_class_size", "mean_risk", "time")


def compare(
    con: Any,
    source: Any,
    quasi: Any,
    k: int | Iterable[int] = DEFAULT_KS,
    *,
    methods: str | Iterable[str] = "all",
    metrics: str | Iterable[str] = DEFAULT_METRICS,
    sample: int | None = None,
    timeout: float | None = None,
    fresh: bool = False,
    start: bool = True,
    **options: Any,
) -> Comparison:
    """Anonymize the same rows by every method at every k, and compare what is lost.

    Every cell is verified, measured and stored in `anon.comparisons`, its release dropped. A method that fails or
    takes more than `timeout` seconds leaves a marked cell. The same call goes on where it was interrupted: what is
    stored for the same rows, policy and version of sqlanon is not run again unless `fresh`. `sample` takes this many
    rows, drawn once by the seed. `options` are a policy's; a method's own parameters go to the methods that have them.
    Without `start` all is checked and nothing run: `Comparison.run` does that.
    """
    for option, value, low in (("sample", sample, 2), ("timeout", timeout, 0)):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (is_number and value >= low and (option == "timeout" or value == int(value))):
            kind = "a whole number of 2 or more" if option == "sample" else "a number of seconds"
            raise PolicyError(f"{option} is {value!r}; it must be {kind}")
    ks = [k] if isinstance(k, Integral) else list(k) if isinstance(k, Iterable) else []
    if not ks or not all(isinstance(each, Integral) and not isinstance(each, bool) for each in ks):
        raise PolicyError(f"k is {k!r}; it must be whole numbers, such as k = [5, 10, 20]")
    ks = sorted(set(map(int, ks)))
    chosen = _chosen_methods(methods)
    given = {"quasi": quasi, **options}
    if given.get("seed") is None:
        given["seed"] = 0  # nothing is released, and the same call must find its stored cells again
    asked = tuple(_ask(method, each, given) for each in ks for method in chosen)
    for each in ks:
        if all(cell.policy is None for cell in asked if cell.k == each):
            raise PolicyError(next(str(cell.problem) for cell in asked if cell.k == each))
    _refuse_unused(given, chosen)
    raw = unwrap(con)
    policy = next(cell.policy for cell in asked if cell.policy)
    source = readable(source)
    with registered(raw) as named:
        sensitive = resolve(raw, named(source)).resolve_names(policy.sensitive)
    chosen_metrics = _chosen_metrics(metrics, sensitive)
    frame = None if isinstance(source, str) else source
    comparison = Comparison(raw, catalog_name(source), chosen_metrics, asked, sample, timeout, fresh, frame=frame)
    return comparison.run() if start else comparison


def stored_comparison(con: Any, source: str, policy: Policy, rows: int) -> Comparison | None:
    """The latest stored comparison on all rows of a source with the policy's quasi-identifiers, if there is one."""
    raw = unwrap(con)
    quasi = {fold(column) for column in policy.quasi}
    asked: dict[str, Asked] = {}
    cells: list[Cell] = []
    latest = ""
    for stored in stored_cells(Catalog.of(raw), source, rows):
        options = json.loads(stored.policy)
        is_same = {fold(column) for column in options["quasi"]} == quasi
        if is_same and (latest or stored.comparison) == stored.comparison and stored.policy not in asked:
            latest = stored.comparison
            asked[stored.policy] = Asked(stored.method, stored.k, options, Policy.of(options))
            cells.append(Cell.of(stored))
    if not cells:
        return None
    return Comparison(raw, source, DEFAULT_METRICS, tuple(asked.values()), id=latest, rows=rows, cells=cells)


def _words(given: str | Iterable[str]) -> list[str]:
    parts = given.split(",") if isinstance(given, str) else [str(part) for part in given]
    return list(dict.fromkeys(part.strip().lower() for part in parts if part.strip()))


def _chosen_methods(given: str | Iterable[str]) -> list[str]:
    chosen = _words(given)
    if chosen == ["all"]:
        return list(METHODS)
    for method in chosen:
        if method not in METHODS:
            raise PolicyError(not_one_of("method", method, METHODS))
    if not chosen:
        raise PolicyError("methods is empty: name some, or 'all'")
    return chosen


def _chosen_metrics(given: str | Iterable[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    """The metrics as releases name them: those of a sensitive column once for each."""
    chosen: list[str] = []
    for metric in _words(given):
        if metric not in METRICS:
            raise PolicyError(not_one_of("metric", metric, METRICS))
        if metric in PRIVATE and not sensitive:
            raise PolicyError(f"{metric} looks at a sensitive column: sensitive = ['diagnosis']")
        several = metric in PRIVATE and len(sensitive) > 1
        chosen += [f"{metric}({column})" for column in sensitive] if several else [metric]
    if not chosen:
        raise PolicyError("metrics is empty: name some, such as gcp, lm, time")
    return tuple(chosen)


def _ask(method: str, k: int, given: Mapping[str, Any]) -> Asked:
    own = {parameter.name for parameter in METHODS[method].parameters}
    options = {option: value for option, value in given.items() if option not in PARAMETERS or option in own}
    options |= {"k": k, "method": method}
    try:
        return Asked(method, k, options, Policy.of(options))
    except PolicyError as problem:
        return Asked(method, k, options, None, str(problem))


def _refuse_unused(given: Mapping[str, Any], methods: Sequence[str]) -> None:
    taken = {parameter.name for method in methods for parameter in METHODS[method].parameters}
    for option in given:
        if option in PARAMETERS and option not in taken:
            raise PolicyError(f"'{option}' is an option of none of {', '.join(methods)}")
