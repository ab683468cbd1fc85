"""What became of a column: what it lost, where in its hierarchy values ended up, its distribution before and after.

The source's distribution is shown in bins that hold no row at all or as many as a class must, so that no bar tells of
fewer people than the release itself does. The release's is as an analyst reads it: a label's rows are spread evenly
over what it covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sqlanon.engine.session import Session, run
from sqlanon.pipeline.attribute import Attribute
from sqlanon.pipeline.encode import Held, measured_encoding
from sqlanon.pipeline.readback import Tolerance, box_ctes, counts, known
from sqlanon.pipeline.reading import Reading
from sqlanon.sqltext import fold, name, render, with_ctes

BINS = 12
"""Bars of a distribution, about."""
OTHERS = 0.25
"""The share of rows that may be in the bar of all others before a coarser level is shown."""
WIDTHS = ((0.0, "as it was"), (0.05, "≤ 5 %"), (0.1, "≤ 10 %"), (0.25, "≤ 25 %"), (0.5, "≤ 50 %"), (1.0, "wider"))
"""How a range is called by the share of the whole that it covers."""
DAY = 86_400.0
SPANS = tuple(DAY * days for days in (1, 7, 30.4375, 91.3125, 365.25, 3652.5, 36525))


@dataclass(frozen=True)
class Step:
    """A part of a column's cells: how far they were generalized, 0 not at all and 1 entirely, and their share."""

    name: str
    depth: float
    share: float


@dataclass(frozen=True)
class Bars:
    """A distribution: a name for each bar, and the shares of rows before and after, each if it is known."""

    names: tuple[str, ...]
    before: tuple[float, ...] | None
    after: tuple[float, ...] | None


@dataclass(frozen=True)
class Column:
    """What became of one quasi-identifier. `loss` is its mean ncp; None where it cannot be read off what is
    released."""

    name: str
    kind: str
    loss: float | None
    unchanged: float | None
    steps: tuple[Step, ...]
    bars: Bars | None


def column_of(
    con: Session,
    reading: Reading,
    attribute: Attribute,
    release: str | None,
    tolerance: Tolerance = Tolerance.EXACT,
    held: Held | None = None,
    left_out: int = 0,
    least: float | None = None,
) -> Column:
    """What became of an attribute of the source in a release; rows that are `left_out` are in neither. A bar holds
    `least` rows or more, or k. Without a release only the distribution of the source is looked at."""
    alone = replace(reading, attributes=(attribute,))
    least = reading.policy.k if least is None else least
    ctes = measured_encoding(alone, held=held)
    # The labels need a release; where there is none, nothing is released.
    printed_at = release if release is not None else f"(from {reading.source.relation} limit 0)"
    ctes += box_ctes(alone, printed_at, tolerance=tolerance, left_out=left_out)
    asked = {"counts": counts(attribute), "domain": attribute.domain, "nodes": attribute.nodes}
    labels = known(attribute) if release is not None else f"({render('steps/report/no_labels.sql')})"
    ((rows_held, printed, nodes),) = run(
        con, with_ctes(ctes, render("steps/report/column.sql", **asked, labels=labels))
    )
    return column_from(attribute, (rows_held or [], printed or [], nodes or []), least, release is not None)


def least_rows(con: Session, reading: Reading) -> float:
    """How many rows of the source are surely k people's: k, or where people have several, k times the most that one of
    them has. Where nothing says who they are, no number of rows is enough."""
    policy = reading.policy
    if policy.entity is None:
        return policy.k
    if fold(policy.entity) not in map(fold, reading.source.columns):
        return math.inf
    (person,) = reading.source.resolve_names([policy.entity])
    counted = f"select count(*) as rows from {reading.source.relation} group by {name(person)}"
    ((most,),) = run(con, f"select max(rows) from ({counted})")
    return policy.k * (most or 1)


def column_from(
    attribute: Attribute, counted: tuple[list[Any], list[Any], list[Any]], least: float, has_release: bool = True
) -> Column:
    """What became of an attribute, from the rows of its ranks, of its labels, and its nodes, as
    sql/steps/report/column.sql lists them."""
    rows_held, printed, nodes = counted
    rows = sum(label["rows"] for label in printed)
    loss = unchanged = None
    if has_release and rows:
        loss = sum(label["rows"] * label["ncp"] for label in printed) / rows
        unchanged = sum(label["rows"] for label in printed if not label["is_modified"]) / rows
    is_range = attribute.is_range
    kind = attribute.family.name if is_range else attribute.hierarchy.name if attribute.hierarchy else "no hierarchy"
    bars = (
        _range_bars(rows_held, printed, attribute, least) if is_range else _tree_bars(rows_held, printed, nodes, least)
    )
    return Column(attribute.column, kind, loss, unchanged, _steps(printed, rows, is_range), bars)


def _steps(printed: Sequence[dict[str, Any]], rows: int, is_range: bool) -> tuple[Step, ...]:
    """The cells by how far they were generalized, the least first."""
    found: dict[tuple[float, str], int] = {}
    for label in printed:
        top = (label["height"] or 1) - 1
        if not label["is_modified"]:
            place = (0.0, "as it was")
        elif label["is_suppressed"] or (not is_range and label["level"] == top):
            place = (1.0, "anything (*)")
        elif is_range:
            place = next((width / 1.25, name) for width, name in WIDTHS if label["ncp"] <= width + 1e-9)
        else:
            place = (label["level"] / top, f"level {label['level']} of {top}")
        found[place] = found.get(place, 0) + label["rows"]
    return tuple(Step(name, depth, count / rows) for (depth, name), count in sorted(found.items()))


def _tree_bars(
    held: Sequence[dict[str, Any]], printed: Sequence[dict[str, Any]], nodes: Sequence[dict[str, Any]], least: float
) -> Bars | None:
    """The nodes of the lowest level that says enough in a few bars; all others together in one."""
    rows = sum(value["rows"] for value in held)
    if not rows or not nodes:
        return None
    last = max(node["hi"] for node in nodes)
    before = np.zeros(last + 1)
    for value in held:
        before[value["rank"]] += value["rows"]
    after = np.zeros(last + 1)
    for label in printed:
        after[label["lo"] : label["hi"] + 1] += label["rows"] / (label["hi"] - label["lo"] + 1)
    top = max(node["level"] for node in nodes)
    best: tuple[float, list[dict[str, Any]]] | None = None
    for level in range(top):
        kept = _kept(_at_level(nodes, level, last), before, least)
        others = 1 - sum(before[node["lo"] : node["hi"] + 1].sum() for node in kept) / rows
        if best is None or others < best[0] - 1e-9:
            best = others, kept
        if others <= OTHERS:
            break
    kept = best[1] if best else []
    if not kept:
        return None
    names = [_node_name(node) for node in kept]
    shares = [_shares([total[n["lo"] : n["hi"] + 1].sum() for n in kept], total.sum()) for total in (before, after)]
    if any(rest[-1] > 0 for rest in shares):
        names.append("all others")
    else:
        shares = [rest[:-1] for rest in shares]
    return Bars(tuple(names), shares[0], shares[1] if printed else None)


def _at_level(nodes: Sequence[dict[str, Any]], level: int, last: int) -> list[dict[str, Any]]:
    """The nodes that leaves become at a level: the lowest above each that is no lower than the level."""
    found: list[dict[str, Any]] = [{}] * (last + 1)
    for node in sorted(nodes, key=lambda node: (-node["level"], node["lo"] - node["hi"])):
        if node["level"] >= level:
            found[node["lo"] : node["hi"] + 1] = [node] * (node["hi"] - node["lo"] + 1)
    return [node for number, node in enumerate(found) if node and (not number or node is not found[number - 1])]


def _kept(nodes: Sequence[dict[str, Any]], before: Any, least: float) -> list[dict[str, Any]]:
    """The largest nodes that hold enough rows each, so that what remains does too or is nothing."""
    sizes = [(float(before[node["lo"] : node["hi"] + 1].sum()), number) for number, node in enumerate(nodes)]
    large = sorted(((size, number) for size, number in sizes if size >= least), reverse=True)[: BINS - 1]
    rest = before.sum() - sum(size for size, _ in large)
    while large and 0 < rest < least:
        rest += large.pop()[0]
    return [nodes[number] for number in sorted(number for _, number in large)]


def _node_name(node: dict[str, Any]) -> str:
    return "missing" if node["label"] is None else str(node["label"])


def _shares(parts: Sequence[float], whole: float) -> tuple[float, ...]:
    """The parts and what remains as shares, as exact as a picture needs them."""
    if not whole:
        return (0.0,) * (len(parts) + 1)
    shares = [float(part) / whole for part in parts]
    return tuple(round(200 * share) / 200 for share in (*shares, max(0.0, 1 - sum(shares))))


def _range_bars(
    held: Sequence[dict[str, Any]], printed: Sequence[dict[str, Any]], attribute: Attribute, least: float
) -> Bars | None:
    """Bins of one width on the number line, at round numbers, joined with their neighbors until they hold enough."""
    values = [(value["place"], value["rows"]) for value in held if value["place"] is not None]
    if sum(rows for _, rows in values) < least:
        return None
    places = {value["rank"]: value["place"] for value in held if value["place"] is not None}
    low, high = min(places.values()), max(places.values())
    is_date = attribute.family.separator != "-"
    unit = 1.0 if attribute.family.is_whole else DAY if is_date else 0.0
    width = _width(high - low, unit, is_date)
    first = math.floor(low / width)
    edges = [width * number for number in range(first, math.floor(high / width) + 2)]
    before = np.histogram([place for place, _ in values], edges, weights=[rows for _, rows in values])[0]
    edges = _joined(edges, before, least)
    rough = max(2 * width, 10 * unit)  # the outer ends tell the smallest and largest value no better than this
    edges = [rough * math.floor(low / rough), *edges[1:-1], rough * (math.floor(high / rough) + 1)]
    before = np.histogram([place for place, _ in values], edges, weights=[rows for _, rows in values])[0]
    after = np.zeros(len(edges) - 1)
    for label in printed:
        if label["is_missing"]:
            continue
        start = places.get(label["lo"], low)
        end = places.get(label["hi"], high) + unit
        covered = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None)
        if end <= start:
            covered = np.histogram([start], edges)[0].astype(float)
        after += label["rows"] * covered / (covered.sum() or 1)
    names = tuple(_between(a, b, unit, is_date) for a, b in pairwise(edges))
    shares = [_shares(list(part), part.sum())[:-1] for part in (before, after)]
    return Bars(names, shares[0], shares[1] if printed else None)


def _width(span: float, unit: float, is_date: bool) -> float:
    """A round width that makes a few more than BINS bins of a span, as neighbors may be joined."""
    wanted = max(span / (BINS + 4), unit) or 1.0
    if is_date:
        return next((width for width in SPANS if width >= wanted), SPANS[-1] * math.ceil(wanted / SPANS[-1]))
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= wanted * (1 - 1e-9))


def _joined(edges: list[float], rows: Any, least: float) -> list[float]:
    """The edges of which every two have as many rows between them, or none."""
    kept = [edges[0]]
    held = 0.0
    for edge, count in zip(edges[1:], rows, strict=True):
        held += count
        if held == 0 or held >= least:
            kept.append(edge)
            held = 0
    if kept[-1] == edges[-1]:
        return kept
    while len(kept) > 1 and _held(edges, rows, kept[-1]) < least:  # what remains goes to its neighbors
        kept.pop()
    return [*kept, edges[-1]]


def _held(edges: Sequence[float], rows: Any, start: float) -> float:
    return float(sum(count for edge, count in zip(edges[:-1], rows, strict=True) if edge >= start))


def _between(low: float, high: float, unit: float, is_date: bool) -> str:
    if is_date:
        return _day(low)
    if unit:
        return f"{low:.0f}–{high - 1:.0f}" if high - low > 1 else f"{low:.0f}"
    return f"{low:g}–{high:g}"


def _day(seconds: float) -> str:
    """A day as DuckDB writes it, also before the year 1 and after 9999, which Python's dates do not know."""
    year, month, day = str(np.datetime64(math.floor(seconds), "s").astype("datetime64[D]")).rsplit("-", 2)
    return f"{int(year):04d}-{month}-{day}" if int(year) > 0 else f"{1 - int(year):04d}-{month}-{day} (BC)"
