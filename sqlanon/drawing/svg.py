"""Pictures as SVG that takes its colors from the page around it, light or dark."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from sqlanon.drawing.theme import LIGHT, Theme, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 4.7, 2.75
"""Inches."""
TYPE = 9
"""Points."""
VARIABLES = {"paper": "card", "ink": "ink", "soft": "soft", "grey": "grey", "grid": "line"}
"""The page's names for the colors of a theme."""


@dataclass(frozen=True)
class Picture:
    """A picture of the report: what it is about, how to draw it, and what it shows in words."""

    key: str
    title: str
    said: str
    draw: Callable[[Axes, Theme], None]
    height: float = HEIGHT

    def figure(self, theme: Theme = LIGHT) -> Figure:
        """The picture as a matplotlib figure without its title."""
        require_matplotlib()
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, self.height), facecolor=theme.paper, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(facecolor=theme.paper)
        paint(axes, theme, self.draw)
        return figure

    def svg(self) -> str:
        """The picture for a page: text as text, colors by the page's variables, a title and a description."""
        return themed(self.figure(), f"picture-{self.key}", self.title, self.said)


def paint(axes: Axes, theme: Theme, draw: Callable[[Axes, Theme], None]) -> None:
    """Draw on axes in the theme's manner: a light grid behind, no frame."""
    from matplotlib.ticker import MaxNLocator

    axes.grid(color=theme.grid, lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(colors=theme.soft, length=0, labelsize=TYPE, pad=5)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    draw(axes, theme)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=theme.soft, size=TYPE)


def themed(figure: Figure, key: str, title: str, said: str) -> str:
    """A figure in the light theme as inline SVG that follows the page's colors."""
    import matplotlib

    drawn = io.StringIO()
    # The text stays text, which the reader's browser draws: matplotlib need not have emojis or other scripts.
    warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning, re.escape(__name__))
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": key}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None}, facecolor="none")
    svg = re.sub(r"<metadata>.*?</metadata>", "", drawn.getvalue(), flags=re.DOTALL)
    svg = svg[svg.index("<svg") :]
    colours = {getattr(LIGHT, part): f"var(--{name})" for part, name in VARIABLES.items()}
    colours |= {colour: f"var(--series{number})" for number, colour in enumerate(LIGHT.colours, 1)}
    for colour, variable in colours.items():
        svg = re.sub(colour, variable, svg, flags=re.IGNORECASE)
    svg = re.sub(r"<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)  # it would be the whole page's
    svg = re.sub(r"font: (?:\w+ )*([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r" font-family: [^;\"]*;", "", svg)
    svg = re.sub(r"(?<=[\d.])(\.\d\d)\d+", r"\1", svg)
    used = set(re.findall(r"#(\w+)", svg))
    svg = re.sub(r' id="([^"]+)"', lambda found: f' id="{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r' width="[\d.]+pt"| height="[\d.]+pt"| version="1.1"| xmlns(:\w+)?="[^"]+"', "", svg, count=5)
    svg = re.sub(r"\s*\n\s*", " ", svg.replace("xlink:href=", "href="))
    opening = f'<svg role="img" aria-labelledby="{key}-title {key}-desc"'
    told = f'<title id="{key}-title">{escape(title)}</title><desc id="{key}-desc">{escape(said)}</desc>'
    return re.sub(r">", f">{told}", svg.replace("<svg", opening, 1), count=1)
