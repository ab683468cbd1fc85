"""A comparison as it is shown: the page and its charts, the terminal, the command line."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import duckdb
import pytest
from compared import QUASI, TWO, add_method
from hypothesis import given, settings
from hypothesis import strategies as st

import sqlanon
from sqlanon.cli.main import main
from sqlanon.comparison import charts
from sqlanon.errors import PolicyError, SqlanonError

pytestmark = pytest.mark.usefixtures("patients", "zip_prefixes")


def test_the_page_needs_no_network_and_says_in_words_what_it_shows(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_method(monkeypatch, "broken", SqlanonError("<b>not</b> today"))
    con.execute('create view "<i>p</i>" as from patients')
    found = sqlanon.compare(con, "<i>p</i>", QUASI, [2, 4], methods=[*TWO, "broken"])
    page, *pictures = found.save(tmp_path / "deep" / "out")
    assert [file.name for file in pictures] == [f"{chart}.png" for chart in charts.CHARTS]
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in pictures)
    html = page.read_text()
    assert "http" not in html
    assert "<i>" not in html
    assert "<b>" not in html
    assert html.count("<img ") == html.count(' alt="') == html.count('prefers-color-scheme: dark)" srcset=') == 3
    assert html.index("<table") < html.index("<img ")
    assert len(re.findall(r'<th scope="row">kacpc</th>', html)) == 3
    with pytest.raises(PolicyError, match=r"must be a folder or end in \.html"):
        found.save(tmp_path / "one.pdf")


def test_charts_are_drawn_where_little_is_known(
    con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_method(monkeypatch, "broken", SqlanonError("not today"))
    nothing = sqlanon.compare(con, "patients", QUASI, [2, 4], methods="broken", metrics="time")
    centres = sqlanon.compare(con, "patients", QUASI, 4, methods=TWO, metrics="time", represent="center")
    unrun = sqlanon.compare(con, "patients", QUASI, [2, 4], start=False)
    assert "best first by gcp" in str(unrun)
    assert "<table>" in unrun._repr_html_()
    for found in (nothing, centres, unrun):
        for chart in charts.CHARTS:
            assert found.plot(chart, dark=True).canvas.print_to_buffer()
    with pytest.raises(SqlanonError, match="Did you mean 'loss_by_k'"):
        centres.plot("loss_by_l")


def test_without_matplotlib_all_but_charts_works(
    con: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    ran: list[tuple[str, int]],
) -> None:
    for module in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = sqlanon.compare(con, "patients", QUASI, 4, methods=TWO)
    assert "kacpc" in str(found)
    assert ">kacpc<" in found._repr_html_()
    with pytest.raises(SqlanonError, match="pip install matplotlib"):
        found.plot()
    ran.clear()
    con.execute(f"copy patients to '{tmp_path / 'p.csv'}'")
    command = ["compare", str(tmp_path / "p.csv"), "--quasi", "age,sex", "--methods", "kacpc", "--k", "4"]
    assert main([*command, "-o", str(tmp_path / "x.html")]) == 2
    assert "pip install matplotlib" in capsys.readouterr().err
    assert ran == []
    assert main(command) == 0


def test_the_command_line_takes_a_file_and_writes_a_page(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    con.execute(f"copy patients to '{tmp_path / 'p.csv'}'")
    command = ["compare", str(tmp_path / "p.csv"), "--quasi", "age,sex", "--k", "4,8", "--methods", "kacpc"]
    extra = ["--sensitive", "diagnosis", "--l", "2", "--metrics", "lm,cm,time", "--sample", "12", "--seed", "2"]
    out = tmp_path / "page.html"
    assert main([*command, *extra, "--weight", "age=2", "--timeout", "60", "-o", str(out)]) == 0
    said = capsys.readouterr()
    assert "a sample of 12 rows, 2 quasi-identifiers" in said.out
    assert "k = 8, best first by lm" in said.out
    assert said.err == f"wrote {out}\n"
    assert out.exists()
    assert main([*command, "--hierarchy", "age=nothing"]) == 2
    assert main([*command[:-4], "--k", "99", "--methods", "kacpc"]) == 2
    assert capsys.readouterr().err.endswith("sqlanon: no method could be run\n")
    with pytest.raises(SystemExit):
        main([*command, "--k", "4,x"])
    assert "'4,x' is not a list of whole numbers, such as 5,10,20" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    assert "Example: sqlanon compare" in capsys.readouterr().out


def test_a_terminal_gets_a_table_with_the_best_in_it(con: duckdb.DuckDBPyConnection) -> None:
    from rich.console import Console

    found = sqlanon.compare(con, "patients", QUASI, 2, methods=TWO, metrics="gcp,time")
    console = Console(width=100, force_terminal=True, color_system="truecolor", record=True)
    with console.capture() as shown:
        console.print(found)
    best = found.ranked(2)[0]
    assert re.search(rf"\x1b\[1;32m{best.method}", shown.get())


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=12).map(sorted), st.integers(1, 9))
def test_labels_are_moved_apart_and_no_further(wanted: list[int], gap: int) -> None:
    places = charts.spread(wanted, gap)
    gaps = [after - before for before, after in pairwise(places)]
    assert all(found >= gap - 1e-9 for found in gaps)
    assert sum(places) == pytest.approx(sum(wanted))
    if all(after - before >= gap for before, after in pairwise(wanted)):
        assert places == pytest.approx(wanted)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=12))
def test_the_frontier_is_what_no_rival_beats(drawn: list[tuple[int, int, bool]]) -> None:
    points = [(float(x), float(y)) for x, y, _ in drawn]
    rivals = [point for point, (_, _, is_rival) in zip(points, drawn, strict=True) if is_rival]
    unbeaten = {p for p in rivals if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in rivals)}
    front = charts.frontier(points, [is_rival for *_, is_rival in drawn])
    assert {points[index] for index in front} == unbeaten
    assert len(front) == len(unbeaten)
    assert front == sorted(front, key=points.__getitem__)
