"""Other Python packages on the same rows, each called as its own manual does: anjana and anonypy.

Both get the table as a pandas frame, outside the clock. What they print is read by `anon.measure` like any release of
ours: rows that they left out cost 1 in every cell. Both need `pip install 'sqlanon[benchmarks]'`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cells import SENSITIVE, Cell, Con, clocked, columns_of, create_adult, has_adult, levels

Levels = dict[str, list[tuple[str, ...]]]


def is_installed(package: str) -> bool:
    """Is the package there? If not, say so."""
    if find_spec(package) is None:
        print(f"{package} is not installed, so it is left out: pip install 'sqlanon[benchmarks]'", flush=True)
        return False
    return True


def evaluate(con: Con, quasi: Sequence[str], k: int) -> Cell:
    """What the table `printed` lost, whoever made it: GCP, its smallest class, and the share of suppressed rows."""
    ((gcp,),) = con.execute(
        f"select value from anon.measure('printed', source := 'adult', quasi := {list(quasi)}, k := {k}) "
        "where measure = 'gcp'"
    ).fetchall()
    is_suppressed = " and ".join(f"\"{column}\" = '*'" for column in quasi)
    con.execute(f"create or replace table shown as from printed where not coalesce({is_suppressed}, false)")
    ((smallest,),) = con.execute(f"select anon.k_anonymity('shown', {list(quasi)})").fetchall()
    ((suppressed,),) = con.execute("select 1 - (select count(*) from shown) / (select count(*) from adult)").fetchall()
    return {"GCP": gcp, "smallest class": smallest, "suppressed": suppressed}


def anjana(data: str, sample: int, columns: int, k: int, suppression: int) -> Cell:
    """anjana's k_anonymity: one level for a whole column, and at most `suppression` percent of the rows left out."""
    from anjana.anonymity import k_anonymity

    con = create_adult(Path(data), sample)
    quasi = columns_of(Path(data), columns)
    frame = con.table("adult").select(*(f'"{column}"' for column in quasi)).df()
    given = levels(Path(data))
    given["age"] = _ages(given["age"], frame["age"])
    hierarchies: dict[str, Any] = {
        column: dict(enumerate(map(list, zip(*given[column], strict=True)))) for column in quasi
    }
    hierarchies["age"][0] = [int(age) for age in hierarchies["age"][0]]
    found: Cell = {}
    with clocked(found):
        answer = k_anonymity(frame, [], quasi, k, suppression, hierarchies)
    if len(answer) == 0:
        return {"seconds": "no answer"}
    con.register("answer", answer[quasi].astype(str))
    listed = ", ".join(f"'*' as \"{column}\"" for column in quasi)
    con.execute(
        f"create table printed as from answer union all by name select {listed} from range({len(frame) - len(answer)})"
    )
    return found | evaluate(con, quasi, k)


def _ages(rows: list[tuple[str, ...]], ages: Any) -> list[tuple[str, ...]]:
    """The rows of age's hierarchy that are used, with each node named after the ages of the table that it covers."""
    used = set(map(int, ages))
    kept = [row for row in rows if int(row[0]) in used]
    named = []
    for row in kept:
        covered = [[int(other[0]) for other in kept if other[level] == row[level]] for level in range(1, len(row) - 1)]
        named.append((row[0], *(f"[{min(below)}-{max(below)}]" for below in covered), row[-1]))
    return named


def anonypy(data: str, sample: int, columns: int, k: int) -> Cell:
    """anonypy's Mondrian, which knows no hierarchies and prints sets of categories.

    For the evaluator a set is the closest node that covers it. `GCP of sets` counts its categories instead, as if
    every set were a node of its own.
    """
    from anonypy import Preserver

    con = create_adult(Path(data), sample)
    quasi = columns_of(Path(data), columns)
    sensitive = SENSITIVE if has_adult(Path(data)) else SENSITIVE.replace("-", "_")
    frame = con.table("adult").df()
    for column in (*quasi[1:], sensitive):
        frame[column] = frame[column].astype("category")
    found: Cell = {}
    with clocked(found):
        answer = Preserver(frame, quasi, sensitive).anonymize_k_anonymity(k=k)
    given = levels(Path(data))
    width = float(frame["age"].max() - frame["age"].min())
    lost, rows = 0.0, []
    for row in answer:
        low, _, high = row["age"][0].partition("-")
        sets = {column: row[column][0].split(",") for column in quasi[1:]}
        shares = [len(values) / len(given[column]) for column, values in sets.items() if len(values) > 1]
        lost += row["count"] * (sum(shares) + (int(high or low) - int(low)) / width)
        nodes = [_closure(given[column], values) for column, values in sets.items()]
        rows.append([row["count"], f"[{low}-{high}]" if high else low, *nodes])
    names = ", ".join(f'"{column}" varchar' for column in quasi)
    con.execute(f"create table counted (n bigint, {names})")
    con.executemany(f"insert into counted values ({', '.join('?' * (1 + len(quasi)))})", rows)
    con.execute("create table printed as select * exclude (n, copy) from counted, range(n) as copies(copy)")
    return found | evaluate(con, quasi, k) | {"GCP of sets": lost / len(frame) / len(quasi)}


def _closure(rows: list[tuple[str, ...]], leaves: list[str]) -> str:
    """The label of the closest node above all the leaves."""
    above = [row for row in rows if row[0] in leaves]
    return next(labels[0] for labels in zip(*above, strict=True) if len(set(labels)) == 1)
