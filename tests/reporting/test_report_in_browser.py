"""The report in Chromium: no errors, no network, no sideways scrolling, on paper, and for those who do not see it."""

import base64
import os
import re
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sqlanon
from sqlanon import samples

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no Chromium here: apt-get install chromium chromium-driver"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of a release with everything in it, and one of a table that breaks its promise."""
    folder = tmp_path_factory.mktemp("reports")
    with sqlanon.connect() as con:
        samples.create(con.duckdb, "patients")
        sqlanon.create_hierarchy(con, "zip", prefix=True)
        sqlanon.compare(con, "patients", ["age", "zip", "sex"], [2, 4], methods="kacpc")
        options = {"quasi": ["age", "zip", "sex"], "k": 4, "sensitive": ["diagnosis"], "keep": ["ward"], "l": 2}
        release = sqlanon.anonymize(con, "patients", name="patients_public", **options)
        raw = sqlanon.report(con, "patients", ["age", "zip", "sex"], folder / "raw.html", sensitive=["diagnosis"])
        return {"release": release.report(folder / "release.html"), "raw": raw}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium here: pip install 'sqlanon[test]'")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def show(browser: Any, path: Path, width: int = 1280, scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())


@pytest.mark.parametrize("page", ["release", "raw"])
def test_it_opens_without_an_error_or_a_request(browser: Any, pages: dict[str, Path], page: str) -> None:
    browser.get_log("performance")
    show(browser, pages[page])
    asked = re.findall(r'"Network\.requestWillBeSent".*?"documentURL":"([^"]+)"', str(browser.get_log("performance")))
    assert set(asked) <= {pages[page].as_uri()}
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", ["release", "raw"])
def test_nothing_is_wider_than_the_window(browser: Any, pages: dict[str, Path], page: str, width: int) -> None:
    show(browser, pages[page], width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    outside = browser.execute_script(
        "return [...document.querySelectorAll('main *')].filter(e => !e.closest('.wide') && "
        "e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_it_prints_on_a_few_sheets_of_a4(browser: Any, pages: dict[str, Path]) -> None:
    show(browser, pages["release"], scheme="dark")
    asked = {"preferCSSPageSize": True, "printBackground": True}
    pdf = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", asked)["data"])
    sheets = re.findall(rb"/MediaBox \[([\d. ]+)\]", pdf)
    assert 2 <= len(sheets) <= 8
    for sheet in sheets:
        width, height = map(float, sheet.split()[2:])
        assert (round(width), round(height)) == (595, 842)


def test_headings_descend_and_pictures_have_words(browser: Any, pages: dict[str, Path]) -> None:
    show(browser, pages["release"])
    levels = browser.execute_script("return [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    words = browser.execute_script(
        "return [...document.querySelectorAll('svg')].map(s => [s.getAttribute('role'), ...s.getAttribute("
        "'aria-labelledby').split(' ').map(id => document.getElementById(id).textContent.length)])"
    )
    assert len(words) >= 8
    assert all(role == "img" and title > 2 and told > 20 for role, title, told in words)
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", ["release", "raw"])
@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: npm install axe-core, AXE_CORE=.../axe.min.js")
def test_axe_finds_no_serious_problem(browser: Any, pages: dict[str, Path], page: str, scheme: str) -> None:
    show(browser, pages[page], scheme=scheme)
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    serious = [
        (problem["id"], [node["html"][:120] for node in problem["nodes"]])
        for problem in found["violations"]
        if problem["impact"] in ("serious", "critical")
    ]
    assert serious == []
