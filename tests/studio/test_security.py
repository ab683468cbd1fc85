"""The studio answers to its own pages in the browser that was given its link, and to nobody else."""

import asyncio
import logging
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asking import Client, said

import sqlanon
from sqlanon.cli.main import parser
from sqlanon.studio.app import GETS, POSTS
from sqlanon.studio.files import FileError, Folder
from sqlanon.studio.security import COOKIE
from sqlanon.studio.workspace import Workspace


def test_it_binds_this_machine_only_and_has_no_host_option(clinic: Client) -> None:
    assert clinic.server.socket.getsockname()[0] == "127.0.0.1"
    assert "--host" not in parser(["studio"]).format_help()
    with pytest.raises(SystemExit):
        parser(["studio"]).parse_args(["studio", "--host", "0.0.0.0"])


def test_the_link_works_once_and_sets_a_strict_cookie_for_its_path(
    opened: Callable[..., Client], hospital: Path
) -> None:
    client = opened(hospital)
    link = client.server.url.split(str(client.server.port), 1)[1]
    first, second = client.ask("GET", link), client.ask("GET", link)
    assert first.status_code == 303
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert f"Path={client.base}/" in cookie
    assert second.status_code == 403
    assert "set-cookie" not in second.headers


def test_a_wrong_token_is_refused_and_does_not_spend_the_right_one(
    opened: Callable[..., Client], hospital: Path
) -> None:
    client = opened(hospital)
    assert client.ask("GET", f"{client.base}/start?token=guess").status_code == 403
    assert client.ask("HEAD", f"{client.base}/start?token={client.server.keys.token}").status_code == 403
    assert client.enter().get("/").status_code == 200


def test_nothing_is_answered_without_the_session(opened: Callable[..., Client], hospital: Path) -> None:
    client = opened(hospital)
    for path in ("/", "/t/patients/data", "/static/studio.css"):
        assert client.ask("GET", client.base + path).status_code == 403
    client.cookies = {COOKIE: "guess"}
    assert client.ask("GET", f"{client.base}/").status_code == 403


def test_everything_lives_below_a_path_that_cannot_be_guessed(clinic: Client) -> None:
    assert len(clinic.base) >= 32
    for path in ("/", "/static/studio.css", "/t/patients/data", f"{clinic.base[:-1]}x/", clinic.base):
        assert clinic.ask("GET", path).status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_another_host_is_refused_before_routing(clinic: Client, host: str) -> None:
    answer = clinic.ask("GET", f"{clinic.base}/", {"host": host.format(port=clinic.server.port)})
    assert answer.status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_goes_by_three_names(clinic: Client, host: str) -> None:
    answer = clinic.ask("GET", f"{clinic.base}/", {"host": f"{host}:{clinic.server.port}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_are_refused(clinic: Client, site: str) -> None:
    for method in ("GET", "POST"):
        answer = clinic.ask(method, f"{clinic.base}/", {"sec-fetch-site": site, "origin": clinic.origin})
        assert answer.status_code == 403


def test_a_form_must_say_that_it_comes_from_here(clinic: Client) -> None:
    path = f"{clinic.base}/t/patients/columns/suggest"
    refused: list[dict[str, str]] = [
        {},
        {"origin": "http://evil.example"},
        {"origin": f"http://localhost:{clinic.server.port + 1}"},
        {"origin": "null"},
        {"sec-fetch-site": "none"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
    ]
    clinic.get("/t/patients/data")
    for headers in refused:
        assert clinic.ask("POST", path, headers).status_code == 403
    for headers in ({"origin": clinic.origin}, {"origin": "null", "sec-fetch-site": "same-origin"}):
        assert clinic.ask("POST", path, headers).status_code == 303


def test_nothing_changes_by_get(clinic: Client) -> None:
    clinic.get("/t/patients/data")
    before = {path.name: path.read_bytes() for path in clinic.server.studio.folder.path.iterdir()}
    for path in POSTS:
        if path not in GETS:
            asked = path.replace("{slug}", "patients").replace("{number:int}", "1")
            assert clinic.ask("GET", clinic.base + asked).status_code in (404, 405)
    for path in GETS:
        asked = path.replace("{slug}", "patients").replace("{number:int}", "1").replace("{file}", "x")
        clinic.get(asked)
    assert {path.name: path.read_bytes() for path in clinic.server.studio.folder.path.iterdir()} == before
    assert not clinic.server.studio.jobs.running()


def test_other_methods_and_other_scopes_are_closed(clinic: Client) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert clinic.ask(method, f"{clinic.base}/").status_code == 405
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    for kind in ("websocket", "something"):
        asyncio.run(clinic.server.guard({"type": kind, "path": f"{clinic.base}/", "headers": []}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_every_answer_has_the_headers(clinic: Client) -> None:
    for path in (f"{clinic.base}/", f"{clinic.base}/static/studio.css", "/elsewhere", f"{clinic.base}/nowhere"):
        headers = clinic.ask("GET", path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert re.findall(r"https?:|\*", policy) == []
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"


def test_pages_hold_nothing_inline(clinic: Client) -> None:
    clinic.post("/t/patients/columns/suggest")
    for path in (
        "/",
        *(f"/t/patients/{step}" for step in ("data", "columns", "hierarchies", "hierarchies/2", "promise")),
    ):
        page = clinic.get(path).text
        assert re.findall(r"<style|\sstyle=|\son\w+=|<script(?! src=)|javascript:|hx-on", page) == []
        assert re.findall(r'(?:src|href|action)="(?:https?:)?//', page) == []


def test_a_large_body_and_an_upload_are_refused(clinic: Client) -> None:
    headers = {"origin": clinic.origin}
    path = f"{clinic.base}/t/patients/columns"
    assert clinic.ask("POST", path, headers, data={"x": "y" * 5_000_000}).status_code == 413
    assert clinic.ask("POST", path, headers, files={"f": b"rows"}).status_code == 415


def test_files_are_written_in_the_folder_only(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    outside = tmp_path / "secret.csv"
    outside.write_text("x")
    (folder.path / "link.csv").symlink_to(outside)
    (folder.path / "door").symlink_to(tmp_path)
    for name in ("../x.csv", "/etc/x.csv", "a/b.csv", "..", ".hidden.csv", "x\0.csv", "link.csv", "C:x.csv", "x.exe"):
        with pytest.raises(FileError):
            folder.place(name, (".csv",))
    for name in ("link.csv", "../secret.csv", "door/secret.csv", str(outside)):
        with pytest.raises(FileError):
            folder.found(name)
    assert folder.listed((".csv",)) == []
    assert folder.place("public.csv", (".csv",)) == folder.path / "public.csv"


def test_only_files_that_this_studio_wrote_can_be_downloaded(clinic: Client) -> None:
    (clinic.server.studio.folder.path / "other.csv").write_text("x")
    for name in ("other.csv", "..%2fhospital.duckdb", "pseudonyms.key", "patients.policy.toml"):
        assert clinic.ask("GET", f"{clinic.base}/files/{name}").status_code == 404


def test_the_working_database_reaches_no_other_file(tmp_path: Path, hospital: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with duckdb.connect(str(hospital)) as con:
        con.execute(f"create view leak as from read_csv('{tmp_path}/secret.csv')")
    out = tmp_path / "out"
    out.mkdir()
    workspace = Workspace(hospital, out.resolve())
    with workspace.cursor() as con:
        for sql in (
            f"from read_csv('{tmp_path}/secret.csv')",
            "from hospital.main.leak",
            f"copy (select 1) to '{tmp_path}/x.csv'",
            f"copy (select 1) to '{out}/../x.csv'",
            f"attach '{tmp_path}/y.duckdb'",
            "install httpfs",
            "load httpfs",
            "set enable_external_access = true",
            "set threads = 1",
            "create table hospital.main.x as select 1",
        ):
            with pytest.raises(duckdb.Error):
                con.execute(sql)
    with workspace.writing("a test") as written, pytest.raises(duckdb.Error):
        written.duckdb.execute(f"from read_csv('{tmp_path}/secret.csv')")
    workspace.close()


def test_the_database_is_open_for_reading_while_one_looks(clinic: Client, hospital: Path) -> None:
    clinic.get("/t/patients/data")
    code = f"import duckdb; duckdb.connect({str(hospital)!r}, read_only=True).execute('from patients').fetchall()"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_a_locked_database_is_said_in_words(opened: Callable[..., Client], hospital: Path) -> None:
    code = f"import duckdb, sys; con = duckdb.connect({str(hospital)!r}); print('open', flush=True); sys.stdin.read()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "open\n"
    client = opened(hospital).enter()
    page = said(client.get("/"))
    assert f"'hospital.duckdb' is open in another process (PID {other.pid})" in page
    other.communicate()
    assert "patients" in said(client.post("/again", {"workspace": "0"}))


def test_errors_and_logs_hold_no_value(
    clinic: Client,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "Ada Lindqvist"
    from sqlanon.studio import looking

    for problem in (ValueError(secret), duckdb.ConversionException(f"Could not convert '{secret}'"), OSError(secret)):
        monkeypatch.setattr(looking, "some_rows", _raising(problem))
        answer = clinic.post("/t/patients/values")
        assert answer.status_code == 500
        assert secret not in answer.text
    monkeypatch.setattr(looking, "profile_of", _raising(ValueError(secret)))
    assert secret not in clinic.get("/t/visits/data").text
    assert secret not in caplog.text + "".join(capfd.readouterr())
    assert "ValueError at" in caplog.text


def _raising(problem: Exception) -> Callable[..., Any]:
    def fail(*given: object) -> Any:
        raise problem

    return fail


def test_no_file_is_overwritten_without_a_second_click(clinic: Client) -> None:
    clinic.post("/t/patients/columns/suggest")
    clinic.post("/t/patients/run", {"k": "5", "effort": "fast"})
    assert clinic.wait().problem is None
    path = clinic.server.studio.folder.path / "public.csv"
    path.write_text("mine")
    page = clinic.post("/t/patients/release/publish", {"file": "public.csv"})
    assert "Are you sure?" in page.text
    assert path.read_text() == "mine"
    clinic.post("/t/patients/release/publish", {"file": "public.csv", "confirm": "1"})
    assert clinic.wait().problem is None
    assert path.read_text() != "mine"


@pytest.mark.parametrize("how", ["button", "ctrl-c", "idle"])
def test_it_stops(tmp_path: Path, hospital: Path, how: str) -> None:
    """A studio of its own process, as the command starts it."""
    code = (
        "import sys; from sqlanon.cli.main import main; import sqlanon.studio.serving as serving\n"
        "seconds = 1.0 if sys.argv[2] == 'idle' else 3600.0\n"
        "serving.LOOK, serving.Server.__init__.__defaults__ = 0.1, (0, seconds)\n"
        "sys.exit(main(['studio', sys.argv[1], '--out', sys.argv[3], '--no-browser']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(hospital), how, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(sqlanon.__file__).parent.parent)},
    )
    assert process.stdout is not None
    link = next(line.strip() for line in process.stdout if "http://127.0.0.1" in line)
    port = int(re.findall(r":(\d+)/", link)[0])
    _await_port(port)
    if how == "button":
        import httpx

        with httpx.Client(follow_redirects=True) as client:
            page = client.get(link)
            stop = re.findall(r'action="([^"]+/stop)"', page.text)[0]
            origin = f"http://127.0.0.1:{port}"
            assert "has stopped" in client.post(f"{origin}{stop}", headers={"origin": origin}).text
    elif how == "ctrl-c":
        process.send_signal(2)
    _, errors = process.communicate(timeout=20)
    assert process.returncode in (0, 130)
    assert "Traceback" not in errors


def _await_port(port: int) -> None:
    for _ in range(100):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("nobody listens")
