"""What `auto` loses on Adult, beside ARX, anjana and anonypy, and what no k-anonymous release can go below.

    python benchmarks/quality.py [--k 5 10 50 100] [--columns 6 8] [--efforts fast balanced best] [--write FILE]

One evaluator reads every table as it is printed: `anon.measure`, with the rows that were left out at cost 1. Each cell
runs in a process of its own. The time of ours is end to end, with the proof and the measures; that of the others is
theirs alone. anjana runs once for each share of rows that it may leave out (`--suppression`, in percent).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cells import CELL, Cell, Table, clocked, columns_of, create_adult, has_adult, parser, run, setting, write
from peers import evaluate, is_installed

import sqlanon

EFFORTS = ("fast", "balanced", "best")
ARX = {
    (6, "finest"): {5: 0.0241, 10: 0.0386, 50: 0.0936, 100: 0.1299},
    (6, "quick"): {5: 0.0271, 10: 0.0418, 50: 0.0966, 100: 0.1330},
    (8, "finest"): {5: 0.0574, 10: 0.0832, 50: 0.1596, 100: 0.2046},
    (8, "quick"): {5: 0.0647, 10: 0.0891, 50: 0.165, 100: 0.209},
}
"""GCP of ARX 3.9.2 on Adult in earlier runs of ours, which this script does not repeat, by columns, setting and k."""


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--k", type=int, nargs="+", default=[5, 10, 50, 100])
    options.add_argument("--columns", type=int, nargs="+", choices=(6, 8), default=[6, 8])
    options.add_argument("--efforts", nargs="+", choices=EFFORTS, default=list(EFFORTS))
    options.add_argument("--suppression", type=int, nargs="+", default=[0, 5, 20, 50], help="anjana's supp_level")
    asked = options.parse_args()
    made = setting()
    calls: list[tuple[str, str, str, Cell]] = [("lower bound", "quality", "bound", {})]
    calls += [(f"auto, {effort}", "quality", "ours", {"effort": effort}) for effort in asked.efforts]
    if is_installed("anjana"):
        calls += [(f"anjana, up to {s} % left out", "peers", "anjana", {"suppression": s}) for s in asked.suppression]
    if is_installed("anonypy"):
        calls.append(("anonypy", "peers", "anonypy", {}))
    table = Table(
        {"columns": (7, 0), "k": (3, 0), "by": (27, None), "GCP": (7, 4), "of ARX's finest": (7, 2), **CELL}
        | {"suppressed": (10, 3), "smallest class": (7, 0)}
    )
    for columns in asked.columns:
        for k in asked.k:
            is_comparable = has_adult(asked.data) and k in ARX[columns, "finest"]
            finest = ARX[columns, "finest"][k] if is_comparable else None
            for setting_of_arx in ("finest", "quick") if is_comparable else ():
                gcp = ARX[columns, setting_of_arx][k]
                table.add(_row(columns, k, f"ARX 3.9.2, {setting_of_arx}", {"GCP": gcp}, finest))
            for by, module, function, more in calls:
                given: dict[str, Any] = {"data": asked.data, "sample": asked.sample, "columns": columns, "k": k}
                found = run(module, function, asked.timeout, **given, **more)
                table.add(_row(columns, k, by, found, finest))
                if "GCP of sets" in found:
                    sets = found | {"GCP": found["GCP of sets"]}
                    table.add(_row(columns, k, f"{by}, its sets counted", sets, finest))
    if asked.write:
        write(asked.write, "quality", made, "\n".join(table.lines))
        if is_installed("matplotlib"):
            import plots

            plots.loss_by_k(table.finished(), asked.write.parent / "pictures")
            plots.loss_by_time(table.finished(), asked.write.parent / "pictures")


def _row(columns: int, k: int, by: str, found: Cell, finest: float | None) -> Cell:
    share = found["GCP"] / finest if finest and "GCP" in found else None
    return {"columns": columns, "k": k, "by": by, **found, "of ARX's finest": share}


def ours(data: str, sample: int, columns: int, k: int, effort: str) -> Cell:
    """A release by `auto`, stored, and measured as everybody's."""
    con = create_adult(Path(data), sample)
    quasi = columns_of(Path(data), columns)
    found: Cell = {}
    with clocked(found):
        sqlanon.anonymize(con, "adult", quasi, k, effort=effort, name="printed")
    return found | evaluate(con, quasi, k)


def bound(data: str, sample: int, columns: int, k: int) -> Cell:
    """What nobody can go below."""
    con = create_adult(Path(data), sample)
    quasi = columns_of(Path(data), columns)
    found: Cell = {}
    with clocked(found):
        ((gcp, _),) = con.execute(f"from anon.lower_bound('adult', quasi := {quasi}, k := {k})").fetchall()
    return found | {"GCP": gcp}


if __name__ == "__main__":
    main()
