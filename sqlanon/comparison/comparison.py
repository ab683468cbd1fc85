"""A comparison: a grid of methods and k over the same rows, as tables, charts and a page."""

from __future__ import annotations

import itertools
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlanon.comparison import charts, page
from sqlanon.comparison.cells import Cell
from sqlanon.drawing import theme
from sqlanon.engine.session import Session
from sqlanon.errors import PolicyError, SqlanonError, not_one_of
from sqlanon.pipeline.metrics import is_lower_better, leaving
from sqlanon.policy.policy import Policy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import Group
from sqlanon.comparison import grid
from sqlanon.comparison.cells import Asked


@dataclass(repr=False)
class Comparison:
    """A grid of methods and k over the same rows, and its cells so far."""

    con: Session
    source: str
    metrics: tuple[str, ...]
    asked: tuple[Asked, ...]
    sample: int | None = None
    timeout: float | None = None
    fresh: bool = False
    id: str = ""
    rows: int = 0
    cells: list[Cell] = field(default_factory=list)
    frame: Any = None

    def run(self) -> Comparison:
        """Run the cells that are not stored yet. Interrupted, it goes on there when it is run again."""
        grid.run(self)
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
            "cells": leaving([asdict(cell) for k in self.ks for cell in self.ranked(k)]),
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


def require_writable(path: Path) -> None:
    """Can a comparison be saved there? Asked before the work is done."""
    if path.suffix.lower() not in ("", ".html") and not path.is_dir():
        raise PolicyError(f"'{path}' must be a folder or end in .html")
    theme.require_matplotlib()
