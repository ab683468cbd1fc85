"""Hierarchies in CSV files, as ARX writes them: a row for each value, from the value to the most general label."""

from __future__ import annotations

import csv as csv_module
import io
from pathlib import Path

from sqlanon.errors import HierarchyError, option
from sqlanon.sqltext import is_path, literal

DELIMITERS = (";", ",", "\t", "|")


def csv_rows(path: Path) -> list[tuple[str | None, ...]]:
    """The rows of a file in ARX's shape; the delimiter is found, a header is left out."""
    if not is_path(path):
        raise HierarchyError(f"{str(path)!r} is not the path of a file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as problem:
        raise HierarchyError(f"Cannot read '{path}': {problem.strerror}") from problem
    except UnicodeDecodeError:  # it carries the whole text
        query = f"FROM read_csv({literal(str(path))}, encoding = 'latin-1', header = false)"
        raise HierarchyError(
            f"'{path}' is not UTF-8 text. Save it as UTF-8, or read it with its encoding by {option('query', query)}"
        ) from None

    def read(delimiter: str) -> list[tuple[str | None, ...]]:
        cells = csv_module.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [tuple(cell.strip() or None for cell in row) for row in cells if any(cell.strip() for cell in row)]

    rows = max(map(read, DELIMITERS), key=lambda rows: min(map(len, rows), default=0))
    tops = {row[-1] for row in rows[1:]}
    shared = {cell for row in rows[1:] for cell in row}
    has_header = len(rows) > 2 and len(tops) == 1 and shared.isdisjoint(rows[0])
    return rows[1:] if has_header else rows
