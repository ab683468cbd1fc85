"""What `auto` loses on Adult under privacy models: loss, proven bound and time.

    python benchmarks/models.py [--settings 0 1] [--efforts balanced best] [--seeds 3] [--write FILE]

Six columns; where one of them is sensitive, the other five. The search was developed on the first five settings; the
others were looked at afterwards. Medians over some seeds; CPU seconds of the whole call, once all loops are compiled.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from cells import Cell, Table, columns_of, create_adult, group_by_seconds, levels, parser, run, setting, write

import sqlanon

SETTINGS: tuple[tuple[str, int, str, dict[str, float]], ...] = (
    ("number", 17, "salary-class", {"l": 1.3}),
    ("tree", 10, "occupation", {"distinct_l": 5}),
    ("tree", 10, "occupation", {"entropy_l": 4}),
    ("tree", 10, "occupation", {"t": 0.3}),
    ("tree", 10, "salary-class", {"t": 0.15}),
    ("number", 8, "marital-status", {"t": 0.25}),
    ("number", 5, "sex", {"l": 1.35}),
    ("number", 25, "occupation", {"basic_beta": 1}),
    ("tree", 5, "race", {"alpha": 0.9}),
)


def main() -> None:
    """Print the table."""
    options = parser(__doc__)
    options.add_argument("--settings", type=int, nargs="+", default=range(len(SETTINGS)))
    options.add_argument("--efforts", nargs="+", choices=("fast", "balanced", "best"), default=["balanced"])
    options.add_argument("--seeds", type=int, default=3)
    asked = options.parse_args()
    made = setting()
    table = Table(
        {"age": (6, None), "k": (3, 0), "sensitive": (14, None), "model": (16, None), "effort": (8, None)}
        | {"GCP": (7, 4), "bound": (7, 4), "CPU s": (6, 2), "GROUP BYs": (9, 0)}
    )
    for number in asked.settings:
        age, k, sensitive, models = SETTINGS[number]
        shown = ", ".join(f"{model} = {value:g}" for model, value in models.items())
        for effort in asked.efforts:
            given = {"data": asked.data, "sample": asked.sample, "seeds": asked.seeds}
            found = run("models", "median", asked.timeout, **given, number=number, effort=effort)
            table.add({"age": age, "k": k, "sensitive": sensitive, "model": shown, "effort": effort} | found)
    if asked.write:
        write(asked.write, "models", made, "\n".join(table.lines))


def median(data: str, sample: int, number: int, effort: str, seeds: int) -> Cell:
    """The medians of loss and time over the seeds, and the bound."""
    age, k, sensitive, models = SETTINGS[number]
    con = create_adult(Path(data), sample)
    sqlanon.create_hierarchy(con, "ages", rows=levels(Path(data))["age"])
    given: dict[str, Any] = {"sensitive": [sensitive], "effort": effort, **models}
    if "t" in models:
        given["t_distance"] = "equal"
    given["hierarchies"] = {"age": "ages"} if age == "tree" else {}
    quasi = [column for column in columns_of(Path(data), 6) if column != sensitive]
    con.execute("create table few as from adult limit 2000")
    sqlanon.anonymize(con, "few", quasi, k, **(given | {"effort": "balanced"})).discard()  # compiles
    found, bound = [], 0.0
    for seed in range(seeds):
        begin = time.process_time()
        release = sqlanon.anonymize(con, "adult", quasi, k, seed=seed, **given)
        found.append((release.metrics()["gcp"], time.process_time() - begin))
        bound = release.metrics()["lower_bound"]
        release.discard()
    gcp, seconds = (statistics.median(column) for column in zip(*found, strict=True))
    plain = group_by_seconds(con, "adult", quasi)
    return {"GCP": gcp, "bound": bound, "CPU s": seconds, "GROUP BYs": seconds / plain}


if __name__ == "__main__":
    main()
