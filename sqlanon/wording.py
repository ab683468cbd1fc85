"""Small words for sentences: lists, plurals and numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def plural(count: int, noun: str, several: str | None = None) -> str:
    """1 row, 2 rows."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"
