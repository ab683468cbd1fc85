"""Small words for sentences: lists, plurals and numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str], last: str = "and") -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}" if parts else ""


def gap(loss: float, bound: float) -> str:
    """How near to the best possible a loss is: at the bound, within so many percent of it, or only the bound."""
    least = f"no release with this k can lose less than {bound:.2%}"
    if loss <= bound * (1 + 1e-6):
        return f"{least}, and this one does not lose more" if bound > 0 else "nothing is lost"
    return f"{least}; this one is within {100 * (loss / bound - 1):.2g} % of that" if bound > 0 else least


def plural(count: int, noun: str, several: str | None = None) -> str:
    """1 row, 2 rows."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"
