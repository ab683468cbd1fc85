"""A draft is a policy file: read again as it was written, and the same release wherever it is made."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asking import Client
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlanon
from sqlanon.studio import draft as drafts
from sqlanon.studio.copying import Copies, check_command
from sqlanon.studio.draft import ROLES, Draft
from sqlanon.studio.specs import Spec

NAMES = st.text(min_size=1, max_size=12).filter(lambda text: text.encode("utf-8", "ignore").decode() == text)
NUMBERS = st.floats(0.5, 1000).map(lambda number: round(number, 2))
SPECS = st.one_of(
    st.just(Spec("none")),
    st.just(Spec("prefix")),
    st.just(Spec("dates")),
    st.builds(lambda widths: Spec("intervals", tuple(widths)), st.lists(NUMBERS, min_size=1, max_size=3)),
    st.builds(lambda leaf: Spec("rows", rows=((leaf, "*"),)), NAMES),
)


@settings(deadline=None)
@given(st.data())
def test_a_draft_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    columns = data.draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=str.lower))
    roles = {column: data.draw(st.sampled_from(ROLES)) for column in columns}
    draft = Draft(k=data.draw(st.integers(2, 99)), is_snapped=data.draw(st.booleans()))
    draft = draft.with_roles(roles, columns)
    draft = draft.with_specs({column: data.draw(SPECS) for column in draft.quasi})
    if draft.sensitive:
        first, *others = draft.sensitive
        draft = drafts.replace(draft, l={first: 2.5}, t=dict.fromkeys(others, 0.25), is_separate=bool(others))
    path = tmp_path_factory.mktemp("drafts") / "draft.policy.toml"
    draft.save(path, "a source", "prefix")
    assert drafts.read(path, columns, "prefix") == draft


def test_a_draft_outlives_the_studio(opened: Callable[..., Client], hospital: Path) -> None:
    client = opened(hospital).enter()
    client.get("/t/patients/data")
    client.post("/t/patients/columns/suggest")
    client.post("/t/patients/hierarchies/2", {"way": "prefix"})
    client.post("/t/patients/promise", {"k": "12", "l-5": "2"})
    before = client.server.studio.desks["patients"]._draft
    client.server.studio.close()
    again = opened(hospital).enter()
    again.get("/t/patients/columns")
    assert again.server.studio.desks["patients"]._draft == before


def test_a_broken_draft_is_said_and_a_missing_column_dropped(
    opened: Callable[..., Client], hospital: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "patients.policy.toml").write_text('quasi = ["age", "gone"]\nk = 7\n')
    (out / "visits.policy.toml").write_text("quasi = [")
    client = opened(hospital).enter()
    client.get("/t/patients/columns")
    assert client.server.studio.desks["patients"]._draft.quasi == ["age"]
    client.get("/t/visits/columns")
    assert "cannot be read" in (client.server.studio.desks["visits"].note or "")


def labels(table: Any) -> Counter[tuple[Any, ...]]:
    """The classes; which of equal rows is in which of them is left to chance."""
    return Counter(row[:-1] for row in table)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["file", "database"])
def test_the_same_release_from_page_sql_python_and_toml(
    opened: Callable[..., Client], people: Path, tmp_path: Path, kind: str
) -> None:
    named = people
    if kind == "database":
        named = tmp_path / "db.duckdb"
        with duckdb.connect(str(named)) as con:
            con.execute(f"create table people as from '{people}'")
    client = opened(named).enter()
    client.get("/t/people/data")
    names = ["age", "workclass", "sex", "occupation", "salary_class"]
    chosen = {"age": "quasi", "workclass": "quasi", "sex": "quasi", "occupation": "quasi", "salary_class": "sensitive"}
    client.post("/t/people/columns", {f"role-{names.index(name)}": role for name, role in chosen.items()})
    levels = {"Private": "Private", "?": "Unknown"}
    with duckdb.connect() as con:
        classes = [row[0] for row in con.execute(f"select distinct workclass from '{people}' order by 1").fetchall()]
    pasted = "\n".join(f"{each}\t{levels.get(each, 'Other')}\t*" for each in classes)
    client.post("/t/people/hierarchies/1", {"way": "rows", "rows": pasted})
    client.post("/t/people/hierarchies/0", {"way": "intervals", "widths": "5, 10, 20", "below": "20"})
    client.post("/t/people/run", {"k": "5", "snapped": "1", "effort": "fast"})
    job = client.wait()
    assert job.problem is None
    page = labels(job.result.release.relation().fetchall())
    desk = client.server.studio.desks["people"]
    copies = Copies(desk.source, desk._draft, desk.prefix, desk.path)
    client.server.studio.close()
    database = str(named) if kind == "database" else ":memory:"

    with sqlanon.connect(database) as con:
        for statement in copies.sql().split(";\n"):
            con.execute(statement).fetchall()
        assert labels(con.execute("from people_public").fetchall()) == page
        con.execute("drop table people_public").fetchall()

    space: dict[str, Any] = {}
    exec(copies.python().replace("print(release)", ""), space)
    assert labels(space["release"].relation().fetchall()) == page
    space["con"].close()

    toml = tmp_path / "copied.toml"
    toml.write_text(copies.toml().replace("k = 5", 'name = "released"\nk = 5'))
    out = tmp_path / "made.duckdb" if kind == "file" else named
    command = [sys.executable, "-m", "sqlanon", "run", str(toml), "--db", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with duckdb.connect(str(out)) as con:
        assert labels(con.execute("from released").fetchall()) == page


def test_a_file_is_read_as_was_said_at_the_start_also_in_what_is_copied(
    opened: Callable[..., Client], tmp_path: Path
) -> None:
    path = tmp_path / "leute.csv"
    rows = [f"{60 + i % 8},5;{('Köln', 'Zürich')[i % 2]}" for i in range(48)]
    path.write_bytes("\n".join(["Gewicht;Ort", *rows, ""]).encode("latin-1"))
    with pytest.raises(sqlanon.SqlanonError, match="--encoding latin-1"):
        opened(path)
    client = opened(path, reading={"encoding": "latin-1", "decimal": ",", "delimiter": ";"}).enter()
    client.get("/t/leute/columns")
    client.post("/t/leute/columns", {"role-0": "quasi", "role-1": "quasi"})
    client.post("/t/leute/run", {"k": "5", "snapped": "1"})
    assert client.wait().problem is None
    client.post("/t/leute/release/store", {"name": "leute_public", "kind": "table"})
    assert client.wait().problem is None
    desk = client.server.studio.desks["leute"]
    result = desk.runs.find(None)
    assert result is not None
    with sqlanon.connect() as con:
        again = sqlanon.anonymize(con, desk.source.given, policy=desk._draft.policy(desk.prefix))
        shown = Counter(again.relation().fetchall())
    assert shown == Counter(result.release.relation().fetchall())


def test_what_is_required_of_each_column_is_the_same_in_all_that_is_copied(
    opened: Callable[..., Client], hospital: Path, tmp_path: Path
) -> None:
    client = opened(hospital).enter()
    client.get("/t/patients/data")
    client.post("/t/patients/columns", {"role-1": "quasi", "role-4": "sensitive", "role-5": "sensitive"})
    client.post("/t/patients/promise", {"k": "5", "l-5": "1.5", "t-4": "0.6", "separate": "1"})
    desk = client.server.studio.desks["patients"]
    copies = Copies(desk.source, desk._draft, desk.prefix, desk.path)
    asked = desk._draft.policy(desk.prefix)
    assert (asked.required("l", "diagnosis"), asked.required("l", "ward")) == (1.5, None)
    client.server.studio.close()
    toml = tmp_path / "copied.toml"
    toml.write_text(copies.toml())
    assert sqlanon.Policy.from_toml(toml) == asked
    space: dict[str, Any] = {}
    exec(copies.python().replace("print(release)", ""), space)
    assert space["release"].policy == asked
    space["con"].close()
    with sqlanon.connect(hospital) as con:
        con.execute(copies.sql()).fetchall()
        con.execute(f"copy patients_public to '{tmp_path / 'public.csv'}'").fetchall()
    command = check_command(tmp_path / "public.csv", desk._draft)
    assert "--l diagnosis=1.5 --t ward=0.6 --several separate" in command
    done = subprocess.run([sys.executable, "-m", *command.split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
