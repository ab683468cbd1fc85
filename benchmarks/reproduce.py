"""The papers' tables next to ours, as Markdown: docs/REPRODUCTION.md is the output.

    python benchmarks/reproduce.py [--data ../shared/data] [--quick] [--only table2,adult] [--write FILE]

Everything calls sqlanon as a user would; only distances that no release shows come directly from the cores. Without the
data, the tables that need it are left out. Tables 2 and 3 of Goldberger & Tassa 2010 take hours: benchmarks/repeated.py
runs them. docs/papers.md lists the papers.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
from repeated import DATA, FILE
from reproduce_adult import adult
from reproduce_examples import distances, l0, microdata, pmi, problems
from reproduce_nearest import nearest
from reproduce_sequential import table2, table3
from reproduced import Section, Settings

import sqlanon

SECTIONS: dict[str, tuple[Callable[[Settings], Section], bool]] = {
    "table2": (table2, False),
    "table3": (table3, False),
    "pmi": (pmi, False),
    "l0": (l0, True),
    "nearest": (nearest, True),
    "microdata": (microdata, False),
    "problems": (problems, False),
    "distances": (distances, False),
    "adult": (adult, True),
}
"""Name → what makes the section, and whether it needs the data."""


def main() -> None:
    """Print the tables that are asked for, in the order of the papers' numbers above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=Path, default=FILE, help="where repeated.py keeps its runs")
    parser.add_argument("--quick", action="store_true", help="few seeds and one k: a minute or two")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by default all: %(default)s")
    parser.add_argument("--write", type=Path, metavar="FILE", help="where the page goes; by default it is printed")
    asked = parser.parse_args()
    names = asked.only.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        parser.error(f"--only: no section {', '.join(unknown)} (sections: {', '.join(SECTIONS)})")
    settings = Settings(asked.data, asked.runs, 5 if asked.quick else 20, (50,) if asked.quick else (10, 50))
    found = []
    for text in report(names, settings):
        found.append(text)
        if asked.write is None:
            print(text, flush=True)
    if asked.write is not None:
        asked.write.write_text("\n".join(found))


def report(names: list[str], settings: Settings) -> Iterator[str]:
    """The head and the sections, each as soon as it is known."""
    options = [word for word in sys.argv[1:] if word in ("--quick",)]
    command = shlex.join(["python", "benchmarks/reproduce.py", *options])
    said = (
        f"Made by `{command}` on {date.today()} with Python {platform.python_version()}, DuckDB {duckdb.__version__}, "
        f"numpy {np.__version__} and sqlanon {sqlanon.__version__}; the runs of the first two tables are kept by "
        "`python benchmarks/repeated.py`. A difference is our number minus theirs, in percent of theirs. Lower is "
        "better unless the text says otherwise. [Papers](papers.md) lists the papers."
    )
    yield f"# The papers' numbers, and ours\n\n{textwrap.fill(said, 120, break_on_hyphens=False)}\n"
    has_data = (settings.data / "adult_45222.csv").exists()
    for name in names:
        make, needs_data = SECTIONS[name]
        if needs_data and not has_data:
            print(f"{name} is left out: no adult_45222.csv in {settings.data}. Say where with --data.", file=sys.stderr)
            continue
        yield make(settings).markdown()


if __name__ == "__main__":
    main()
