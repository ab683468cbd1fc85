"""Comparing methods: a grid of methods and k over the same rows, each cell stored as soon as it is done."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from sqlanon.catalog.catalog import anon_schema
from sqlanon.catalog.hierarchies import hierarchies
from sqlanon.comparison import charts, page
from sqlanon.comparison.cells import Cell, _Asked
from sqlanon.drawing import theme
from sqlanon.engine.frames import label, naming, readable
from sqlanon.engine.names import resolve
from sqlanon.engine.session import is_in_transaction, now, our_errors, run, transaction, unwrap
from sqlanon.errors import DataError, InterruptedRunError, PolicyError, SqlanonError, not_one_of
from sqlanon.pipeline.attribute import attributes_of
from sqlanon.pipeline.metrics import METRICS, PRIVATE, is_lower_better
from sqlanon.pipeline.source import Source
from sqlanon.policy.options import PARAMETERS, ROLES
from sqlanon.policy.policy import Policy
from sqlanon.progress.run import running, timed
from sqlanon.releases.making import anonymize
from sqlanon.releases.release import Release
from sqlanon.sqltext import fold, fresh_name, literal, name, names, render
from sqlanon.udfs.methods import METHODS
from sqlanon.version import __version__

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Group

DEFAULT_KS = (5, 10, 20, 50)
DEFAULT_METRICS = ("gcp", "lm", "average_class_size", "mean_risk", "time")


@dataclass(repr=False)
class Comparison:
    """A grid of methods and k over the same rows, and its cells so far."""

    con: duckdb.DuckDBPyConnection
    source: str
    metrics: tuple[str, ...]
    asked: tuple[_Asked, ...]
    sample: int | None = None
    timeout: float | None = None
    fresh: bool = False
    id: str = ""
    rows: int = 0
    cells: list[Cell] = field(default_factory=list)
    frame: Any = None

    def run(self) -> Comparison:
        """Run the cells that are not stored yet. Interrupted, it goes on there when it is run again."""
        if is_in_transaction(self.con):
            raise SqlanonError("A comparison stores its cells one by one: commit or roll back your transaction first")
        self.cells = []
        with our_errors(), self._same_rows() as table:
            anon = anon_schema(self.con)
            stored = {} if self.fresh else self._stored(anon)
            self.fresh = False  # what this run stores is not run again
            with running("comparison") as report:
                for number, asked in enumerate(self.asked):
                    report(number, len(self.asked))
                    cell = stored.get(asked.key)
                    if cell is None:
                        cell = self._run(table, asked)
                        self._store(anon, asked, cell)
                    self.cells.append(cell)
        return self

    @property
    def policy(self) -> Policy:
        """A policy of the grid: all say the same of columns, roles and hierarchies."""
        return next(asked.policy for asked in self.asked if asked.policy)

    @property
    def ks(self) -> list[int]:
        """The k that were compared."""
        return sorted({asked.k for asked in self.asked})

    @property
    def methods(self) -> list[str]:
        """The methods that were compared."""
        return list(dict.fromkeys(asked.method for asked in self.asked))

    @property
    def shown_source(self) -> str:
        """The source as a title shows it."""
        line = " ".join(self.source.split())
        return line if len(line) <= 50 else f"{line[:47]}..."

    @property
    def shown_rows(self) -> str:
        """How many rows were compared."""
        return f"{'a sample of ' if self.sample is not None else ''}{self.rows:,}"

    @property
    def title(self) -> str:
        """What was compared, in a line."""
        return f"{self.shown_source}: {self.shown_rows} rows, {len(self.policy.quasi)} quasi-identifiers"

    def ranked(self, k: int) -> list[Cell]:
        """The cells at this k, best first by the first metric; then those with another promise, and those not done."""
        first = self.metrics[0]
        sign = 1 if is_lower_better(first) else -1

        def place(cell: Cell) -> tuple[bool, bool, bool, float]:
            value = cell.measures.get(first)
            return not cell.is_done, not cell.has_classes, value is None, sign * (value or 0)

        return sorted((cell for cell in self.cells if cell.k == k), key=place)

    def df(self) -> pd.DataFrame:
        """A row per cell, in the order of the table: method, k, the metrics, what was proved, status and message."""
        import pandas as pd

        rows = [
            {"k": cell.k, "method": cell.method}
            | {metric: cell.measures.get(metric) for metric in self.metrics}
            | {"smallest_class": cell.proof.get("k"), "classes": cell.proof.get("classes")}
            | {"status": cell.status, "message": cell.message}
            for k in self.ks
            for cell in self.ranked(k)
        ]
        return pd.DataFrame(rows)

    def as_dict(self) -> dict[str, Any]:
        """For JSON: all that was measured of every cell."""
        return {
            "comparison": self.id,
            "source": self.source,
            "rows": self.rows,
            "metrics": list(self.metrics),
            "cells": [asdict(cell) for k in self.ks for cell in self.ranked(k)],
        }

    def shown(self, cell: Cell) -> list[str]:
        """The cell's metrics as text, a metric's values with the same decimals."""
        return [self._text(metric, cell.measures.get(metric)) for metric in self.metrics]

    def _text(self, metric: str, value: float | None) -> str:
        if value is None:
            return "–"
        largest = max(abs(cell.measures.get(metric, 0)) for cell in self.cells)
        decimals = 2 if metric == "time" and largest < 1000 else 4 if largest < 10 else 2 if largest < 1000 else 0
        return f"{value:,.{decimals}f}"

    def notes(self) -> list[str]:
        """What the marks stand for, each note once with the cells it is about."""
        noted: dict[tuple[str, str], dict[str, list[int]]] = {}
        for cell in sorted(self.cells, key=lambda cell: cell.k):
            if cell.mark:
                noted.setdefault((cell.mark, cell.note), {}).setdefault(cell.method, []).append(cell.k)
        lines = []
        for (mark, note), cells in noted.items():
            places = [f"{method} (k = {', '.join(map(str, ks))})" for method, ks in cells.items()]
            lines.append(f"{mark} {', '.join(places)}: {note}")
        return lines

    def __str__(self) -> str:
        header = ["method", *self.metrics, ""]
        lines = [self.title]
        tables = {k: [[cell.method, *self.shown(cell), cell.mark] for cell in self.ranked(k)] for k in self.ks}
        widths = [max(map(len, column)) for column in zip(header, *itertools.chain(*tables.values()), strict=True)]
        for k, table in tables.items():
            lines += ["", f"k = {k}, best first by {self.metrics[0]}"]
            for method, *values, mark in [header, *table]:
                cells = [text.rjust(width) for text, width in zip(values, widths[1:-1], strict=True)]
                lines.append("  ".join([method.ljust(widths[0]), *cells, mark]).rstrip())
        return "\n".join([*lines, *([""] if self.notes() else []), *self.notes()])

    __repr__ = __str__

    def __rich__(self) -> Group:
        """The table for a terminal: the best of each column and k in bold green."""
        # Not at the top: rich takes a tenth of a second, and most runs show no table.
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, title=self.title, title_justify="left", title_style="bold")
        table.add_column("k", justify="right", style="dim")
        table.add_column("method", no_wrap=True)
        for metric in self.metrics:
            table.add_column(metric, justify="right", no_wrap=True)
        table.add_column("", style="dim", no_wrap=True)
        for k in self.ks:
            ranked = self.ranked(k)
            for place, cell in enumerate(ranked):
                plain = "" if cell.is_done and cell.has_classes else "dim"
                values = [
                    Text(text, style="bold green" if self.is_best(cell, metric) else plain)
                    for text, metric in zip(self.shown(cell), self.metrics, strict=True)
                ]
                is_best = self.is_best(cell, self.metrics[0])
                row = [Text(cell.method, style="bold green" if is_best else plain), *values]
                row.append(Text(cell.mark))
                table.add_row("" if place else str(k), *row, end_section=place == len(ranked) - 1)
        return Group(table, *(Text(f" {note}", style="dim") for note in self.notes()))

    def is_best(self, cell: Cell, metric: str) -> bool:
        """Has no other cell of its k and promise a better value?"""
        rivals = [other for other in self.cells if other.k == cell.k and other.has_classes]
        values = [other.measures[metric] for other in rivals if metric in other.measures]
        best = min if is_lower_better(metric) else max
        return cell.has_classes and metric in cell.measures and cell.measures[metric] == best(values)

    def _repr_html_(self) -> str:
        return page.tables(self)

    def plot(self, chart: str = "loss_by_k", *, dark: bool = False) -> Figure:
        """One of the charts as a matplotlib figure: loss_by_k, loss_by_time or risk_utility."""
        if chart not in charts.CHARTS:
            raise SqlanonError(not_one_of("chart", chart, charts.CHARTS))
        return charts.draw(self, chart, dark)

    def save(self, path: str | Path) -> list[Path]:
        """Write the tables and charts as one HTML file, or into a folder the page and a PNG for each chart."""
        path = Path(path)
        require_writable(path)
        file = path if path.suffix else path / "comparison.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.page(self), encoding="utf-8")
        pictures = [] if path.suffix else [path / f"{chart}.png" for chart in charts.CHARTS]
        for picture in pictures:
            charts.draw(self, picture.stem).savefig(picture, dpi=150)
        return [file, *pictures]

    @contextmanager
    def _same_rows(self) -> Iterator[str]:
        """The rows for all cells, in a temporary table; sets `rows` and `id`."""
        policy, anon = self.policy, anon_schema(self.con)
        table = f"temp.main.{fresh_name('compared')}"
        with naming(self.con) as named:
            source = resolve(self.con, named(self.source if self.frame is None else self.frame))
            columns = source.spelt([column for role in ROLES for column in getattr(policy, role)])
            attributes = attributes_of(source, policy, hierarchies(self.con, anon), anon)
            run(self.con, f"create temporary table {table} as {self._rows_sql(source, columns)}")
        try:
            self.rows, content = _fingerprint(self.con, table, columns)
            if not self.rows:
                raise DataError(f"'{source.shown}' has no rows: there is nothing to compare")
            seen: list[Any] = [content, [(column, source.types[column]) for column in columns]]
            for attribute in attributes:
                hierarchy = attribute.hierarchy
                seen.append(str(hierarchy))
                if hierarchy is not None and attribute.is_stored:
                    nodes = f"(from {attribute.anon}.hierarchy_nodes where name = {literal(hierarchy.name)})"
                    seen.append(_fingerprint(self.con, nodes, ("parent", "label", "level", "lo", "hi")))
            self.id = hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]
            yield table
        finally:
            run(self.con, f"drop table {table}")

    def _rows_sql(self, source: Source, columns: Sequence[str]) -> str:
        if self.sample is None:
            return f"select {names(columns)} from {source.relation}"
        values = [f"v{number}" for number in range(1, len(columns) + 1)]
        pairs = list(zip(values, map(name, columns), strict=True))
        return render(
            "catalog/comparisons_sample.sql",
            source=source.relation,
            columns=", ".join(f"{column} as {value}" for value, column in pairs),
            named=", ".join(f"{value} as {column}" for value, column in pairs),
            values=", ".join(values),
            seed=str(self.policy.seed),
            rows=str(self.sample),
        )

    def _run(self, table: str, asked: _Asked) -> Cell:
        """Make a release, measure and drop it. Whatever goes wrong is the cell's, unless the user wants to stop."""
        if asked.policy is None:
            return Cell(asked.method, asked.k, "failed", asked.problem)
        with timed(self.timeout) as stopwatch:
            try:
                release = anonymize(self.con, table, policy=asked.policy)
            except InterruptedRunError:
                raise
            except Exception as problem:
                if stopwatch.is_over:
                    message = f"stopped after {stopwatch.limit:g} s"
                    return Cell(asked.method, asked.k, "timeout", message, stopwatch.seconds)
                message = _without_values(problem).replace(table, self.source)
                return Cell(asked.method, asked.k, "failed", message, stopwatch.seconds)
        run(self.con, f"drop table {release.table}")
        measures = release.metrics() | {"time": stopwatch.seconds} | _risks(release)
        return Cell(asked.method, asked.k, "done", None, stopwatch.seconds, measures, release.proof)

    def _stored(self, anon: str) -> dict[str, Cell]:
        """The cells that need not be run again, by their policy: done, or stopped after as long as is given now."""
        rows = run(
            self.con,
            f"select policy, method, k, status, message, seconds, measures, proof from {anon}.comparisons "
            "where comparison = $id and sqlanon = $version "
            "and (status = 'done' or coalesce(status = 'timeout' and time_limit >= $timeout, false))",
            {"id": self.id, "version": __version__, "timeout": self.timeout},
        )
        return {
            policy: Cell(method, k, status, message, seconds, json.loads(measures), json.loads(proof))
            for policy, method, k, status, message, seconds, measures, proof in rows
        }

    def _store(self, anon: str, asked: _Asked, cell: Cell) -> None:
        """Store a cell, in the place of an earlier run's."""
        key = {"id": self.id, "version": __version__, "policy": asked.key}
        with transaction(self.con):
            run(
                self.con,
                f"delete from {anon}.comparisons where comparison = $id and sqlanon = $version and policy = $policy",
                key,
            )
            run(
                self.con,
                f"insert into {anon}.comparisons by name select $id as comparison, $source as source, $rows as rows, "
                "$method as method, $k as k, $l as l, $seed as seed, $policy as policy, $status as status, "
                "$message as message, $seconds as seconds, $limit as time_limit, $measures as measures, "
                "$proof as proof, $version as sqlanon, $now as created_at",
                {
                    **key,
                    "source": self.source,
                    "rows": self.rows,
                    "method": cell.method,
                    "k": cell.k,
                    "l": self.policy.l,
                    "seed": self.policy.seed,
                    "status": cell.status,
                    "message": cell.message,
                    "seconds": cell.seconds,
                    "limit": self.timeout,
                    "measures": json.dumps(cell.measures),
                    "proof": json.dumps(cell.proof, ensure_ascii=False),
                    "now": now(),
                },
            )


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
    stored for the same rows, policy and version of sqlanon is not run again unless `fresh`. `sample` takes so many
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
    asked = tuple(_ask(method, each, given) for each in ks for method in chosen)
    for each in ks:
        if all(cell.policy is None for cell in asked if cell.k == each):
            raise PolicyError(next(str(cell.problem) for cell in asked if cell.k == each))
    _refuse_unused(given, chosen)
    raw = unwrap(con)
    policy = next(cell.policy for cell in asked if cell.policy)
    source = readable(source)
    with naming(raw) as named:
        sensitive = resolve(raw, named(source)).spelt(policy.sensitive)
    chosen_metrics = _chosen_metrics(metrics, sensitive)
    frame = None if isinstance(source, str) else source
    comparison = Comparison(raw, label(source), chosen_metrics, asked, sample, timeout, fresh, frame=frame)
    return comparison.run() if start else comparison


def stored_comparison(con: Any, source: str, policy: Policy, rows: int) -> Comparison | None:
    """The latest stored comparison on all rows of a source with the policy's quasi-identifiers, if there is one."""
    raw = unwrap(con)
    found = run(
        raw,
        f"select comparison, policy, method, k, status, message, seconds, measures, proof from {anon_schema(raw)}."
        "comparisons where source = $source and rows = $rows and status = 'done' order by created_at desc",
        {"source": source, "rows": rows},
    )
    quasi = {fold(column) for column in policy.quasi}
    asked: dict[str, _Asked] = {}
    cells: list[Cell] = []
    latest = ""
    for id, text, method, k, status, message, seconds, measures, proof in found:
        options = json.loads(text)
        if {fold(column) for column in options["quasi"]} == quasi and (latest or id) == id and text not in asked:
            latest = id
            asked[text] = _Asked(method, k, options, Policy.of(options))
            cells.append(Cell(method, k, status, message, seconds, json.loads(measures), json.loads(proof)))
    if not cells:
        return None
    return Comparison(raw, source, DEFAULT_METRICS, tuple(asked.values()), id=latest, rows=rows, cells=cells)


def require_writable(path: Path) -> None:
    """Can a comparison be saved there? Asked before the work is done."""
    if path.suffix.lower() not in ("", ".html") and not path.is_dir():
        raise PolicyError(f"'{path}' must be a folder or end in .html")
    theme.require_matplotlib()


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


def _ask(method: str, k: int, given: Mapping[str, Any]) -> _Asked:
    own = {parameter.name for parameter in METHODS[method].parameters}
    options = {option: value for option, value in given.items() if option not in PARAMETERS or option in own}
    options |= {"k": k, "method": method}
    try:
        return _Asked(method, k, options, Policy.of(options))
    except PolicyError as problem:
        return _Asked(method, k, options, None, str(problem))


def _refuse_unused(given: Mapping[str, Any], methods: Sequence[str]) -> None:
    taken = {parameter.name for method in methods for parameter in METHODS[method].parameters}
    for option in given:
        if option in PARAMETERS and option not in taken:
            raise PolicyError(f"'{option}' is an option of none of {', '.join(methods)}")


def _fingerprint(con: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[str]) -> tuple[int, str]:
    ((rows, content),) = run(
        con, render("catalog/comparisons_fingerprint.sql", columns=names(columns), source=relation)
    )
    return rows, content


def _risks(release: Release) -> dict[str, float]:
    """The risk that a person's row is told apart, where classes or matches bound it."""
    method = METHODS[release.policy.method]
    risks = {} if method.is_exact else {"risk": 1 / release.proof["k"]}
    if method.is_homogeneous and not method.is_exact:
        risks["mean_risk"] = release.proof["classes"] / release.proof["rows"]
    return risks


def _without_values(problem: Exception) -> str:
    """What went wrong. Our own messages show no person's value; others' might, so only their kind is told."""
    if isinstance(problem, SqlanonError):
        return str(problem)
    inside = re.search(r"Python exception occurred while executing the UDF: (\w+)", str(problem))
    return f"{inside[1] if inside else type(problem).__name__} while it ran"
