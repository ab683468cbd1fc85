"""The one palette of all pictures and pages, for paper and for the dark."""

from __future__ import annotations

from dataclasses import dataclass

from sqlanon.errors import SqlanonError

SMALL, MEDIUM, LARGE = 8.5, 10, 13
"""Points of type."""


@dataclass(frozen=True)
class Theme:
    """Colors on one paper."""

    paper: str
    ink: str
    soft: str
    grey: str
    grid: str
    colours: tuple[str, ...]


LIGHT = Theme(
    paper="#FFFFFF",
    ink="#1F2328",
    soft="#59636E",
    grey="#B4BBC3",
    grid="#E6E9ED",
    colours=("#0067A5", "#C04E00", "#007A58", "#A8457F", "#8A6100"),
)
DARK = Theme(
    paper="#14171C",
    ink="#E8EAED",
    soft="#A3ACB7",
    grey="#5A636E",
    grid="#2A2F37",
    colours=("#5DB7F0", "#F59A55", "#45CFA3", "#EBA0CB", "#EBD65A"),
)


def require_matplotlib() -> None:
    """Is there matplotlib to draw with?"""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise SqlanonError("Pictures need matplotlib: pip install matplotlib") from None
