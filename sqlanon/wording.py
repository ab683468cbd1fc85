"""Small words for sentences: lists, plurals and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape


def listed(parts: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def gap(loss: float, bound: float, has_models: bool = False) -> str:
    """How near to the best possible a loss is, after a semicolon: at the bound, within this many percent of it, or this
    many times it. Nothing where the bound says nothing."""
    is_reached = loss <= bound * (1 + 1e-6)
    shown = percent(bound) if is_reached else bound_percent(bound)
    least = f"no release with this k{' and these models' if has_models else ''} can lose less than {shown}"
    if is_reached:
        return f"; {least}, and this one does not lose more" if bound > 0 else "; nothing is lost"
    if bound <= 0 or shown == "0.0%":
        return ""
    excess = loss / bound - 1
    above = f"is within {100 * excess:.2g}% of that" if excess < 1 else f"loses {loss / bound:.1f} times that"
    return f"; {least}; this one {above}"


def plural(count: int, noun: str, several: str | None = None) -> str:
    """1 row, 2 rows."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def percent(share: float | None) -> str:
    """42.5%, or a dash for what is not known."""
    return "-" if share is None else f"{share:.1%}"


def bound_percent(bound: float) -> str:
    """42.5%, rounded down: what nothing can be less than must not be told as more."""
    return percent(math.floor(1000 * bound + 1e-9) / 1000)


def table_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in plain text, its columns as wide as they must be."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def table_html(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], below: Sequence[str] = ()) -> str:
    """A table for a notebook, with lines below it."""
    style = "padding: .15em 1.2em .15em 0; text-align: left; vertical-align: top"
    head = "".join(f'<th scope="col" style="{style}">{escape(cell)}</th>' for cell in header)
    body = "".join(
        "<tr>" + "".join(f'<td style="{style}">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f"<div><strong>{escape(title)}</strong>"
        f'<table style="border-collapse: collapse"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"{''.join(f'<div>{escape(line)}</div>' for line in below)}</div>"
    )
