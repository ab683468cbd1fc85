"""What people see in a terminal and a notebook: displays, progress, the shell's completion, first steps and JSON."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeping import examples

import sqlanon
from sqlanon import samples, wording
from sqlanon.cli.commands.completion import SHELLS
from sqlanon.cli.commands.hierarchy import EXAMPLES
from sqlanon.cli.completing import Completer
from sqlanon.cli.main import COMMANDS, main, parser
from sqlanon.policy.policy import Policy
from sqlanon.progress import bars
from sqlanon.progress.run import Run
from sqlanon.reporting.outline import Outline


@pytest.fixture
def hospital(connection: sqlanon.Connection, patients: None) -> sqlanon.Connection:
    sqlanon.create_hierarchy(connection, "zip", prefix=True, on="patients.zip")
    return connection


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "hospital.duckdb"
    with sqlanon.connect(path) as con:
        samples.create(con.duckdb, "patients")
        sqlanon.create_hierarchy(con, "zip", rows=[("1", "a", "*"), ("2", "a", "*"), ("3", "b", "*")])
    return path


def test_a_bound_is_never_told_as_more_than_was_proven() -> None:
    assert "can lose less than 5.9%; this one" in wording.gap(0.08, 0.0599)
    assert [wording.bound_percent(bound) for bound in (0.029, 0.06, 0.0009)] == ["2.9%", "6.0%", "0.0%"]
    assert (
        wording.gap(0.0599, 0.0599)
        == "; no release with this k can lose less than 6.0%, and this one does not lose more"
    )


def test_a_release_shows_what_holds_and_nobodys_values(hospital: sqlanon.Connection) -> None:
    release = sqlanon.anonymize(hospital, "patients", ["age", "sex"], 4, sensitive=["diagnosis"], method="kacpc")
    for shown in (repr(release), str(release), release._repr_html_()):
        assert "Every row is one of at least 4 that look the same in age and sex." in shown
        assert "no release with this k can lose less than" in shown
        for name, diagnosis in hospital.duckdb.execute("select name, diagnosis from patients").fetchall():
            assert name not in shown
            assert diagnosis not in shown


def test_a_policy_shows_in_words_and_as_toml() -> None:
    policy = Policy(quasi=("age", "zip"), k=4, sensitive=("diagnosis",), l=2, hierarchies={"zip": "codes"})
    assert "No value of diagnosis takes more than 1/2 of a class (l = 2)." in str(policy).splitlines()
    assert "<li>Generalized by a hierarchy: zip by codes.</li>" in policy._repr_html_()
    assert 'zip = "codes"' in policy._repr_html_().replace("&quot;", '"')


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)


@settings(max_examples=examples(40), deadline=None)
@given(
    quasi=st.lists(NAMES, min_size=1, max_size=3, unique_by=str.lower),
    k=st.integers(2, 99),
    t=st.one_of(st.none(), st.floats(0.01, 1)),
    hierarchy=st.one_of(st.none(), NAMES),
    weight=st.floats(0.01, 100),
    method=st.sampled_from(["auto", "kaca", "sequential"]),
)
def test_a_policy_is_the_same_after_its_toml_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    quasi: list[str],
    k: int,
    t: float | None,
    hierarchy: str | None,
    weight: float,
    method: str,
) -> None:
    per_column = {"hierarchies": {quasi[0]: hierarchy}, "weights": {quasi[-1]: weight}}
    policy = Policy.of({"quasi": quasi, "k": k, "t": t, "sensitive": ["\x00 s"], "method": method, **per_column})
    path = tmp_path_factory.getbasetemp() / "policy.toml"
    path.write_text(policy.toml(source="people"), encoding="utf-8")
    assert Policy.from_toml(path) == policy


def test_a_hierarchy_shows_as_a_tree(hospital: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(hospital, "ward", rows=[("a", "x", "*"), ("b", "x", "*"), ("<c>", "y", "*")])
    shown = sqlanon.show_hierarchy(hospital, "WARD")
    assert str(shown).splitlines() == [
        "ward: 3 leaves in 3 levels",
        "*  (3)",
        "├─ x  (2)",
        "│  ├─ a",
        "│  └─ b",
        "└─ y  (1)",
        "   └─ <c>",
    ]
    assert "&lt;c&gt;" in shown._repr_html_()
    assert shown._repr_html_().count("<ul>") == shown._repr_html_().count("</ul>") == 4
    with pytest.raises(sqlanon.SqlanonError, match="Did you mean 'ward'"):
        sqlanon.show_hierarchy(hospital, "wart")


def test_of_many_leaves_some_are_shown() -> None:
    leaves = [(1, f"v{number}", 1, True) for number in range(100)]
    shown = str(Outline("many", "tree", {}, 2, 100, ((0, "*", 100, False), *leaves))).splitlines()
    assert len(shown) == 15
    assert shown[-1] == "└─ … and 88 more"


def test_a_rule_says_what_it_is(hospital: sqlanon.Connection) -> None:
    sqlanon.create_hierarchy(hospital, "age", intervals=[5, 10], below=20)
    assert "the rule intervals" in str(sqlanon.show_hierarchy(hospital, "age"))


def test_the_shell_completes_statements_tables_columns_and_macros(hospital: sqlanon.Connection) -> None:
    words = Completer(hospital.duckdb).words
    assert words("patie") == ["patients"]
    assert words("diag") == ["diagnosis"]
    assert "anon.k_anonymity" in words("anon.k")
    assert words("ANONYM") == ["ANONYMIZED"]
    assert words("hierarch") == ["hierarchies", "hierarchy"]
    hospital.execute('create table "odd name" as select 1 as x')
    assert words("odd") == []
    assert words('"odd') == ['"odd name"']
    completer = Completer(hospital.duckdb)
    assert [completer.complete("patie", state) for state in range(2)] == ["patients", None]


def in_a_terminal(command: list[str], typed: bytes, home: Path) -> str:
    """What a command prints on a terminal, with something typed once it is ready."""
    main_end, other_end = pty.openpty()
    environment = os.environ | {"HOME": str(home), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "sqlanon", *command],
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
        env=environment,
    )
    os.close(other_end)
    shown = b""
    while True:
        try:
            part = os.read(main_end, 4096)
        except OSError:
            break
        shown += part
        if typed and b"sqlanon> " in shown:
            os.write(main_end, typed)
            typed = b""
        if not part:
            break
    process.wait()
    os.close(main_end)
    return shown.decode(errors="replace")


def test_tab_completes_in_a_terminal_and_lines_are_remembered(database: Path, tmp_path: Path) -> None:
    pytest.importorskip("readline")
    shown = in_a_terminal(["shell", "--db", str(database)], b"select count(*) as n from patien\t;\n.quit\n", tmp_path)
    assert "│    16 │" in shown
    history = tmp_path / ".sqlanon_history"
    assert "select count(*) as n from patients" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_a_terminal_shows_the_loss_so_far_and_the_time_left(database: Path, tmp_path: Path) -> None:
    command = ["anonymize", "patients", "--db", str(database), "--quasi", "age,sex", "--time-budget", "3"]
    shown = in_a_terminal([*command, "--name", "public"], b"", tmp_path)
    assert "auto" in shown
    assert "loss " in shown
    assert "0:00:0" in shown


def test_progress_is_quiet_where_nobody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bars, "QUIET_FOR", 0.0)
    with bars.bar(), Run().core("method") as report:
        report(1, 2, loss=0.1)
    assert capsys.readouterr() == ("", "")
    assert not bars.is_notebook()


def test_a_notebook_shows_progress_and_displays(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    source = (
        "import sqlanon\nfrom sqlanon import samples\nfrom sqlanon.progress import bars\n"
        "bars.QUIET_FOR = 0\ncon = sqlanon.connect()\n"
        "samples.create(con.duckdb, 'patients')\nsqlanon.anonymize(con, 'patients', ['age', 'sex'], 4, time_budget=3)"
    )
    told: list[str] = []

    class Client(nbclient.NotebookClient):  # type: ignore[misc, name-defined]
        def process_message(self, message: dict[str, dict[str, dict[str, str]]], *rest: object) -> object:
            told.append(message["content"].get("data", {}).get("text/plain", ""))
            return super().process_message(message, *rest)

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    Client(notebook, kernel_name="python3").execute()
    bar, release = notebook.cells[0].outputs
    assert any("auto: " in text and "loss " in text for text in told)
    assert bar["data"] == {"text/plain": "", "text/html": ""}
    assert "Every row is one of at least 4" in release["data"]["text/html"]


def test_sqlanon_alone_says_what_to_do_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "sqlanon demo" in shown
    assert "sqlanon --help" in shown


def test_every_action_of_hierarchy_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for action, example in EXAMPLES.items():
        with pytest.raises(SystemExit):
            main(["hierarchy", action, "--help"])
        assert example in " ".join(capsys.readouterr().out.split())
        parser(["hierarchy"]).parse_args(example.split()[1:])


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_completes_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in COMMANDS:
        assert command in script
    assert "quasi" in script
    if shell == "bash":
        asked = "COMP_WORDS=(sqlanon an); COMP_CWORD=1; _shtab_sqlanon; echo ${COMPREPLY[@]}"
        done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["anonymize"]


def test_programs_read_json(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = ["--db", str(database)]

    def told(*command: str) -> object:
        assert main(list(command)) == 0
        return json.loads(capsys.readouterr().out)

    release = told("anonymize", "patients", *db, "--quasi", "age,sex", "--k", "4", "--name", "public", "--json")
    assert isinstance(release, dict)
    assert (release["name"], release["proof"]["k"], release["policy"]["k"]) == ("public", 4, 4)
    assert 0 < release["metrics"]["gcp"] < 1
    utility = told("utility", "public", *db, "--json")
    assert isinstance(utility, dict)
    assert utility["metrics"] == release["metrics"]
    methods = told("methods", "--json")
    assert isinstance(methods, list)
    assert {"name", "paper", "cost", "use", "parameters"} == methods[0].keys()
    assert told("hierarchy", "list", *db, "--json") == [
        {"name": "zip", "kind": "tree", "settings": "{}", "height": 3, "leaves": 3}
    ]
    tree = told("hierarchy", "show", "zip", *db, "--json")
    assert isinstance(tree, dict)
    assert tree["nodes"][1] == {"depth": 1, "label": "a", "leaves": 2, "is_leaf": False}
    gaps = told("hierarchy", "gaps", "patients", "zip", "zip", *db, "--json")
    assert isinstance(gaps, list)
    assert gaps[0].keys() == {"value", "rows"}
    policy = tmp_path / "policy.toml"
    policy.write_text('source = "patients"\nquasi = ["age"]\nk = 4\n')
    ran = told("run", str(policy), *db, "--json")
    assert isinstance(ran, dict)
    assert ran["proof"]["rows"] == 16
    script = tmp_path / "script.sql"
    script.write_text("select 1 as a, date '2024-01-02' as b")
    assert told("run", str(script), "--json") == {"columns": ["a", "b"], "rows": [[1, "2024-01-02"]]}
