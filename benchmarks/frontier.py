"""Loss against k of every method, ARX's figures, and the bound that no release can cross: a table and a picture.

    python benchmarks/frontier.py [--k 5 10 20 50 100] [--only auto bound] [--efforts fast] [--write docs/BENCHMARKS.md]

Adult with six columns, seed 0, one process. Every release is made by one query, which verifies itself, and measured by
`anon.measure`. All figures are kept in frontier.csv: with --only, those of some methods are made anew (`auto`, `bound`
or the names of methods) and the others stay; --only with no name draws what is there.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import plots
from cells import Con, columns_of, create_adult, has_adult, parser, setting, write
from peers import evaluate
from quality import ARX, EFFORTS

from sqlanon.udfs.methods import METHODS

FILE = Path(__file__).with_suffix(".csv")
BOUND = "lower bound"
Point = tuple[str, int]
"""Who lost, and at which k."""
Found = dict[Point, tuple[float, float]]
"""GCP and CPU seconds."""


def main() -> None:
    """Run what is asked for, and show everything."""
    options = parser(__doc__)
    options.add_argument("--k", type=int, nargs="+", default=[5, 10, 20, 50, 100])
    options.add_argument("--only", nargs="*", metavar="NAME", help="auto, bound, or methods; by default all")
    options.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS), help="of auto")
    options.add_argument("--keep", type=Path, help="where figures are kept; of generated rows nowhere, by default")
    asked = options.parse_args()
    calls = _calls(asked.efforts)
    names = list(calls) if asked.only is None else asked.only
    if unknown := [name for name in names if name not in calls]:
        options.error(f"--only: {', '.join(unknown)} is not one of {', '.join(calls)}")
    made = setting()
    is_adult = has_adult(asked.data)
    file = asked.keep or (FILE if is_adult else None)
    found = {} if file is None else kept(file)
    if names:
        con = create_adult(asked.data, asked.sample)
        quasi = columns_of(asked.data, 6)
        for name in names:
            for by, call in calls[name].items():
                for k in asked.k:
                    found[by, k] = call(con, quasi, k)
                    if file is not None:
                        keep(found, file)
                    print(f"{by}, k = {k}: {found[by, k][0]:.4f} in {found[by, k][1]:.1f} CPU s", flush=True)
    losses = {point: gcp for point, (gcp, _) in found.items()} | (arx() if is_adult else {})
    table = "\n".join(shown(found, losses))
    print(table)
    if asked.write:
        write(asked.write, "frontier", made, table)
        plots.frontier(losses, asked.write.parent / "pictures")


def _calls(given: Sequence[str]) -> dict[str, dict[str, Callable[[Con, list[str], int], tuple[float, float]]]]:
    """What can be asked for: the lines of each name, and what makes a point of them. Methods with another promise than
    classes of k rows are left out, as the bound does not hold for them."""
    efforts = {f"auto, {effort}": partial(_release, method="auto", effort=effort) for effort in given}
    others = [method for method in METHODS.values() if method.is_homogeneous and not method.is_exact]
    single = {method.name: {method.name: partial(_release, method=method.name)} for method in others}
    return {"bound": {BOUND: _bound}, **(single | {"auto": efforts})}


def _release(con: Con, quasi: list[str], k: int, **options: str) -> tuple[float, float]:
    given = ", ".join(f"{option} := '{value}'" for option, value in options.items())
    query = (
        f"create or replace table printed as from anon.anonymize({{}}, quasi := {quasi}, k := {k}, seed := 0, {given})"
    )
    con.execute("create or replace table few as from adult limit 2000")
    con.execute(query.format("'few'"))  # compiles
    begin = time.process_time()
    con.execute(query.format("'adult'"))
    seconds = time.process_time() - begin
    return float(evaluate(con, quasi, k)["GCP"]), seconds


def _bound(con: Con, quasi: list[str], k: int) -> tuple[float, float]:
    begin = time.process_time()
    ((gcp, _),) = con.execute(f"from anon.lower_bound('adult', quasi := {quasi}, k := {k})").fetchall()
    return float(gcp), time.process_time() - begin


def kept(file: Path) -> Found:
    """The figures of earlier runs."""
    if not file.exists():
        return {}
    with file.open(newline="") as lines:
        return {(row["by"], int(row["k"])): (float(row["gcp"]), float(row["cpu_s"])) for row in csv.DictReader(lines)}


def keep(found: Found, file: Path) -> None:
    """A line for each figure."""
    with file.open("w", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(["by", "k", "gcp", "cpu_s"])
        writer.writerows([by, k, f"{gcp:.6f}", f"{seconds:.2f}"] for (by, k), (gcp, seconds) in sorted(found.items()))


def arx() -> dict[Point, float]:
    """What ARX lost in our earlier runs."""
    settings = ("finest", "quick")
    return {(f"ARX 3.9.2, {setting}", k): gcp for setting in settings for k, gcp in ARX[6, setting].items()}


def shown(found: Found, losses: dict[Point, float]) -> list[str]:
    """GCP by k, best first, with the share by which each exceeds the bound at k = 10, or at the least k."""
    ks = sorted({k for _, k in found})
    at = 10 if 10 in ks else ks[0]
    names = sorted({by for by, _ in losses}, key=lambda by: losses.get((by, at), float("inf")))
    head = ["", *(f"k = {k}" for k in ks), f"above the bound, k = {at}", f"CPU s, k = {at}"]
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    for by in names:
        cells = [f"{losses[by, k]:.4f}" if (by, k) in losses else "" for k in ks]
        has_gap = (BOUND, at) in losses and (by, at) in losses and by != BOUND
        gap = f"{100 * (losses[by, at] / losses[BOUND, at] - 1):.0f} %" if has_gap else ""
        seconds = f"{found[by, at][1]:.1f}" if (by, at) in found else ""
        lines.append([f"**{by}**" if by == BOUND or by.startswith("auto") else by, *cells, gap, seconds])
    return [f"| {' | '.join(line)} |" for line in lines]


if __name__ == "__main__":
    main()
