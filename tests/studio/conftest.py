"""A studio on small tables, asked in process and in a browser."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from asking import Client

import sqlanon
from sqlanon import samples
from sqlanon.studio.serving import Server
from sqlanon.studio.state import Studio

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="session")
def made_hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the sample patients: copy it, do not change it."""
    path = tmp_path_factory.mktemp("made") / "hospital.duckdb"
    with sqlanon.connect(path) as con:
        samples.create(con.duckdb, "patients")
        con.duckdb.execute(
            "create table visits as select 'p' || (i % 40) as patient_id, 20 + i % 7 as age, "
            "'43' || (50 + i % 9) as zip, (i % 3)::varchar as ward from range(120) as t(i)"
        )
    return path


@pytest.fixture
def hospital(tmp_path: Path, made_hospital: Path) -> Path:
    """A database with the sample patients."""
    return Path(shutil.copy(made_hospital, tmp_path))


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """A file with 400 people."""
    path = tmp_path / "people.csv"
    with duckdb.connect() as con:
        samples.create(con, "adult", rows=400)
        con.execute(f"copy (select age, workclass, sex, occupation, salary_class from adult) to '{path}'")
    return path


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Client]]:
    """Opens studios and closes them at the end."""
    servers: list[Server] = []

    def opening(*named: Path | str, **how: Any) -> Client:
        given = {option: how.pop(option) for option in ("is_demo", "reading") if option in how}
        studio = Studio([str(path) for path in named], tmp_path / "out", **given)
        servers.append(Server(studio, **how))
        return Client(servers[-1])

    yield opening
    for server in servers:
        server.studio.close()
        server.socket.close()


@pytest.fixture
def clinic(opened: Callable[..., Client], hospital: Path) -> Client:
    """A studio on the hospital's database, with the session."""
    return opened(hospital).enter()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Studios that listen on a port."""
    servers: list[tuple[Server, threading.Thread]] = []

    def serving(*named: Path | str, **how: Any) -> Server:
        out = how.pop("out", None) or tmp_path_factory.mktemp("out")
        server = Server(Studio([str(path) for path in named], out, how.pop("is_demo", False)), **how)
        server.studio.warm()
        server.studio.background.ask(("warm",), lambda: None, wait=120)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        servers.append((server, thread))
        return server

    yield serving
    for server, thread in servers:
        server.stop()
        thread.join(10)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, which can reach nothing but this machine."""
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("no Chromium here: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium here: pip install 'sqlanon[test]'")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()
