"""A comparison as one HTML page: the table, the charts, all cells. It needs no network and follows light and dark."""

from __future__ import annotations

import base64
import io
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

from sqlanon.comparison import charts
from sqlanon.pipeline.metrics import is_lower_better
from sqlanon.policy import words
from sqlanon.version import __version__

if TYPE_CHECKING:
    from sqlanon.comparison.cells import Cell
    from sqlanon.comparison.comparison import Comparison

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --soft: #59636e; --line: #d8dde3; --bar: #cfe3f3;
  --best: #0067a5; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e8eaed; --soft: #a3acb7; --line: #343b45;
  --bar: #1d3c54; --best: #5db7f0; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .4rem; }
p, .soft { color: var(--soft); } p { margin: .2rem 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .22rem .7rem; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; } th[scope=row] { color: var(--ink); }
th:first-child, td.mark { text-align: left; } td.mark, li { color: var(--soft); } ul { list-style: none; padding: 0; }
.best { color: var(--best); font-weight: 700; }
.bar { background: linear-gradient(to left, var(--bar) var(--share), transparent var(--share)); }
figure { margin: 1.2rem 0; } img { display: block; height: auto; max-width: 100%; }
"""


def page(comparison: Comparison) -> str:
    """The whole page."""
    policy = comparison.policy
    asked = [
        f"{comparison.shown_rows} rows",
        f"k = {', '.join(map(str, comparison.ks))}",
        f"quasi-identifiers {', '.join(policy.quasi)}",
    ]
    asked += [f"{model} = {words.required_text(value)}" for model, value in policy.models.items()]
    asked += [f"sensitive {', '.join(policy.sensitive)}"] if policy.sensitive else []
    asked += [f"seed {policy.seed or 0}"]
    figures = "\n".join(_figure(comparison, chart) for chart in charts.CHARTS)
    first = comparison.metrics[0]
    better = "lower" if is_lower_better(first) else "higher"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(comparison.title)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{len(comparison.methods)} ways to anonymize {escape(comparison.shown_source)}</h1>
<p>{escape("; ".join(asked))}</p>
<h2>{escape(first)} by method and k, {better} is better</h2>
{_matrix(comparison)}
{figures}
<h2>All cells, best first by {escape(first)}</h2>
{tables(comparison)}
<p>Every release was verified on its printed values, measured and dropped. Suppressed rows count as lost. time: seconds
of clustering; risk: 1 / smallest class; mean_risk: mean over rows of 1 / class size.
sqlanon {__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, comparison {escape(comparison.id)}.</p>
</body>
</html>
"""


def tables(comparison: Comparison) -> str:
    """A table with all cells, a section for each k, best first; and what the marks in it stand for."""
    heads = "".join(f'<th scope="col">{escape(metric)}</th>' for metric in comparison.metrics)
    sections = []
    for k in comparison.ks:
        rows = "\n".join(_row(comparison, cell) for cell in comparison.ranked(k))
        sections.append(f'<tbody><tr><th scope="rowgroup">k = {k}</th>{heads}<th></th></tr>\n{rows}</tbody>')
    notes = "".join(f"<li>{escape(note)}</li>" for note in comparison.notes())
    return '<div class="wide"><table>\n' + "\n".join(sections) + f"\n</table></div>\n<ul>{notes}</ul>"


def _row(comparison: Comparison, cell: Cell) -> str:
    shown = zip(comparison.metrics, comparison.shown(cell), strict=True)
    values = [f"<td{_best(comparison.is_best(cell, metric))}>{text}</td>" for metric, text in shown]
    return f'<tr><th scope="row">{escape(cell.method)}</th>{"".join(values)}<td class="mark">{cell.mark}</td></tr>'


def _best(is_best: bool) -> str:
    return ' class="best"' if is_best else ""


def _matrix(comparison: Comparison) -> str:
    """The first metric, a row per method in the order of their means, a bar behind each value."""
    first = comparison.metrics[0]
    order = charts.averaged(comparison, first)
    order += [method for method in comparison.methods if method not in order]
    others = {cell.method for cell in comparison.cells if not cell.has_classes}
    order.sort(key=others.__contains__)
    cells = {(cell.method, cell.k): cell for cell in comparison.cells}
    largest = max((cell.measures.get(first, 0) for cell in comparison.cells), default=0) or 1
    rows = []
    for method in order:
        mine = [cells.get((method, k)) for k in comparison.ks]
        values = "".join(_matrix_cell(comparison, cell, largest) for cell in mine)
        seconds = [cell.measures["time"] for cell in mine if cell is not None and cell.is_done]
        mean = f"{sum(seconds) / len(seconds):.2f} s" if seconds else "–"
        rows.append(f'<tr><th scope="row">{escape(method)}</th>{values}<td class="soft">{mean}</td></tr>')
    heads = "".join(f'<th scope="col">k = {k}</th>' for k in comparison.ks)
    head = f'<thead><tr><th scope="col">method</th>{heads}<th scope="col">mean time</th></tr></thead>'
    return f'<div class="wide"><table>\n{head}\n<tbody>\n' + "\n".join(rows) + "\n</tbody></table></div>"


def _matrix_cell(comparison: Comparison, cell: Cell | None, largest: float) -> str:
    first = comparison.metrics[0]
    if cell is None or first not in cell.measures:
        status = "not run" if cell is None else cell.status if not cell.is_done else "–"
        return f'<td class="soft" title="{escape(cell.note if cell else "")}">{status}</td>'
    share = max(0, min(1, cell.measures[first] / largest))
    best = " best" if comparison.is_best(cell, first) else ""
    return f'<td class="bar{best}" style="--share: {share:.1%}">{comparison.shown(cell)[0]}</td>'


def _figure(comparison: Comparison, chart: str) -> str:
    """A chart on light and on dark paper; the browser shows the one that fits."""
    light, dark = (_picture(comparison, chart, is_dark) for is_dark in (False, True))
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" width="900" height="580" alt="{escape(charts.describe(comparison, chart))}">'
        "</picture></figure>"
    )


def _picture(comparison: Comparison, chart: str, dark: bool) -> str:
    drawn = io.BytesIO()
    charts.draw(comparison, chart, dark).savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode('ascii')}"
