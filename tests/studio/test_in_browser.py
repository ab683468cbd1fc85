"""The whole way in Chromium, which reaches nothing but this machine: by mouse, by keyboard, and for everybody."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sweeping import IS_WHOLE

from sqlanon import samples
from sqlanon.studio.serving import Server

By = pytest.importorskip("selenium.webdriver.common.by", reason="no selenium here").By
Keys = pytest.importorskip("selenium.webdriver.common.keys", reason="no selenium here").Keys
AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
SHOTS = os.environ.get("STUDIO_SHOTS")
"""A folder for screenshots to look at."""
MODES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]
WIDEST = """return [...document.querySelectorAll('body *')].filter(e => !e.closest('.wide') &&
e.getBoundingClientRect().right > arguments[0] + 1).map(e => e.outerHTML.slice(0, 120)).slice(0, 8)"""
STILL = ("reduced-motion", "reduce")
MARKUP = (
    '<script>document.title="hacked"</script>',
    '"><img src=x onerror=document.title="hacked">',
    "'; drop table people; --",
    "{{ 7 * 7 }}",
    "a&amp;b</textarea><b>",
    "</option></select><svg onload=document.title='hacked'>",
)


def resize(browser: Any, width: int, scheme: str = "light", height: int = 900) -> None:
    features = [{"name": f"prefers-{what}", "value": how} for what, how in (("color-scheme", scheme), STILL)]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def look(browser: Any, name: str) -> None:
    """Every page: nothing wider than the window, no error, one heading in focus order; and a screenshot."""
    for width, scheme in MODES:
        resize(browser, width, scheme)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width, (name, width, wide, browser.execute_script(WIDEST, width))
        if SHOTS:
            height = browser.execute_script("return document.documentElement.scrollHeight")
            resize(browser, width, scheme, min(height, 4000))
            browser.save_screenshot(f"{SHOTS}/{name}-{width}-{scheme}.png")
    resize(browser, 320)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 320, (name, "320 px, or 400 % zoom")
    resize(browser, 1280)
    assert browser.execute_script("return document.querySelectorAll('h1').length") == 1
    errors = [entry["message"] for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
    assert errors == [], name


def press(browser: Any, text: str) -> None:
    """Click the button or link with this text, once it is there: pages change while they are read."""

    def pressed() -> bool:
        for element in browser.find_elements(By.CSS_SELECTOR, "button, a"):
            if element.is_displayed() and element.text.strip().startswith(text):
                browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
                element.click()
                return True
        return False

    until(browser, pressed, 20)


def submit(browser: Any, text: str) -> None:
    """Press a button that loads a page, and wait for that page: whoever goes on before it is there may lose either."""
    browser.execute_script("window.isLeaving = true")
    press(browser, text)
    until(browser, lambda: not browser.execute_script("return window.isLeaving"))


def until(browser: Any, check: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():
                return
        except Exception:  # the page changes while it is read
            pass
        time.sleep(0.2)  # every look at a page costs the browser a layout
    raise AssertionError(browser.find_element(By.TAG_NAME, "main").text[:2000])


def text_of(browser: Any) -> str:
    return str(browser.find_element(By.TAG_NAME, "main").text)


def enter(browser: Any, server: Server) -> str:
    """Open the link; the address of the studio."""
    resize(browser, 1280)
    for _ in range(100):
        if server.server.started:
            break
        time.sleep(0.05)
    browser.get(server.url)
    until(browser, lambda: browser.find_element(By.TAG_NAME, "h1"))
    browser.get_log("browser")
    return str(browser.current_url).rstrip("/")


@pytest.fixture(scope="module")
def people_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "people.csv"
    with duckdb.connect() as con:
        samples.create(con, "adult", rows=5_000)
        zips = "select *, (4300 + (row_number() over ()) % 60)::varchar as zip from adult"
        con.execute(f"copy (select age, zip, sex, education, occupation, salary_class from ({zips})) to '{path}'")
    return path


@pytest.fixture(scope="module")
def demo(served: Callable[..., Server], browser: Any) -> str:
    """A studio on the sample data, with the patients released."""
    server = served(is_demo=True)
    base = enter(browser, server)
    browser.get(f"{base}/t/patients/columns")
    submit(browser, "Use all suggestions")
    browser.get(f"{base}/t/patients/hierarchies")
    submit(browser, "Use all suggestions")
    browser.get(f"{base}/t/patients/promise")
    press(browser, "Run")
    until(browser, lambda: "/result" in browser.current_url)
    return base


def test_the_whole_way_from_a_file_to_a_checked_release(
    served: Callable[..., Server], browser: Any, people_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("whole")
    server = served(people_file, out=out)
    base = enter(browser, server)
    look(browser, "0-tables")
    browser.find_element(By.LINK_TEXT, "people.csv").click()
    until(browser, lambda: "Is every row a different person?" in text_of(browser))
    press(browser, "Show values")
    until(browser, lambda: "Hide them" in text_of(browser))
    look(browser, "1-data")
    press(browser, "Next: Columns")
    until(browser, lambda: "What is each column?" in text_of(browser))
    for role, columns in {"quasi": (0, 1, 2, 3), "sensitive": (4,), "keep": (5,)}.items():
        for number in columns:
            browser.find_element(By.CSS_SELECTOR, f'[name="role-{number}"][value="{role}"]').click()
    until(browser, lambda: "have their own combination of age, zip, sex and education" in text_of(browser))
    until(browser, lambda: "counting" not in text_of(browser))
    look(browser, "2-columns")
    press(browser, "Next: Hierarchies")
    until(browser, lambda: "How may each column become coarser?" in text_of(browser))
    look(browser, "3-hierarchies")
    browser.get(f"{base}/t/people/hierarchies/1")
    browser.find_element(By.CSS_SELECTOR, '[name="way"][value="prefix"]').click()
    until(browser, lambda: "Every value has its place" in text_of(browser) and "43**" in text_of(browser))
    look(browser, "3-hierarchy")
    press(browser, "Use this hierarchy")
    until(browser, lambda: "Covers every value" in text_of(browser))
    press(browser, "Next: Promise")
    until(browser, lambda: "What do you promise?" in text_of(browser))
    browser.find_element(By.CSS_SELECTOR, "[name^=l-]").send_keys("1.2")
    until(browser, lambda: "cannot be sure of their “occupation”" in text_of(browser))
    browser.find_element(By.CSS_SELECTOR, '[name="effort"][value="best"]').click()
    look(browser, "4-promise")
    press(browser, "Run")
    until(browser, lambda: "Cancel" in text_of(browser))
    look(browser, "4-running")
    press(browser, "Cancel")
    until(browser, lambda: "Cancelled. Nothing was stored." in text_of(browser), 20)
    browser.find_element(By.CSS_SELECTOR, '[name="effort"][value="fast"]').click()
    press(browser, "Run")
    until(browser, lambda: "/result" in browser.current_url)
    assert "Every row is one of at least 5 that look the same in age, zip, sex and education" in text_of(browser)
    until(browser, lambda: "Quick runs go on" not in text_of(browser), 120)
    press(browser, "Attack the release")
    until(browser, lambda: "the worst case" in text_of(browser), 120)
    look(browser, "5-result")
    press(browser, "Next: Release")
    until(browser, lambda: "Publish a file" in text_of(browser))
    press(browser, "Publish")
    until(browser, lambda: "people_public.csv" in text_of(browser) and "Check with sqlanon" in text_of(browser))
    press(browser, "Write report")
    until(browser, lambda: "people_public.html" in text_of(browser) and "Report: done" in text_of(browser), 120)
    submit(browser, "Store")
    until(browser, lambda: "Store: done" in text_of(browser), 60)
    browser.find_element(By.CSS_SELECTOR, '[name="kind"][value="view"]').click()
    browser.find_element(By.ID, "store-name").send_keys("_view")
    submit(browser, "Store")
    until(browser, lambda: "up to date" in text_of(browser) and "people_public_view" in text_of(browser), 60)
    look(browser, "6-release")
    command = browser.find_element(By.ID, "code-check").get_attribute("textContent")
    assert command.startswith("sqlanon check ")
    words = [sys.executable, "-m", "sqlanon", *command.split()[1:]]
    checked = subprocess.run(words, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout.strip().splitlines()[-2][:5]) == (0, "holds")
    assert (out / "people_public.html").read_text().count("<h1") == 1
    asked_for = {entry for entry in _requests(browser) if not entry.startswith(f"http://127.0.0.1:{server.port}/")}
    assert asked_for == set()
    press(browser, "Stop the studio")
    until(browser, lambda: "The studio has stopped" in text_of(browser))


def _requests(browser: Any) -> list[str]:
    """The addresses that the pages asked for."""
    import json

    found = []
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(message["params"]["request"]["url"])
    return [url for url in found if not url.startswith(("data:", "chrome:", "about:"))]


def test_values_are_gone_when_one_leaves(browser: Any, demo: str) -> None:
    browser.get(f"{demo}/t/patients/data")
    press(browser, "Show values")
    until(browser, lambda: browser.find_elements(By.CSS_SELECTOR, "[data-secret]"))
    browser.get(f"{demo}/t/patients/columns")
    browser.back()
    until(browser, lambda: "Is every row" in text_of(browser))
    assert browser.find_elements(By.CSS_SELECTOR, "[data-secret] td") == []


def test_one_run_by_keyboard_alone(browser: Any, demo: str) -> None:
    """Tab, arrows, digits, space and enter; nothing is clicked."""

    def active() -> Any:
        return browser.switch_to.active_element

    def tab_to(wanted: Callable[[Any], bool], most: int = 120) -> Any:
        for _ in range(most):
            active().send_keys(Keys.TAB)
            if wanted(active()):
                return active()
        raise AssertionError("the keyboard does not reach it")

    browser.get(f"{demo}/")
    assert browser.execute_script("return document.activeElement.tagName") == "H1"
    tab_to(lambda e: e.text == "adult").send_keys(Keys.ENTER)
    until(browser, lambda: "Is every row" in text_of(browser))
    tab_to(lambda e: e.text.startswith("Next: Columns")).send_keys(Keys.ENTER)
    until(browser, lambda: "What is each column?" in text_of(browser))
    assert browser.execute_script("return document.activeElement.tagName") == "H1"
    tab_to(lambda e: e.get_attribute("name") == "role-0").send_keys("2")
    active().send_keys(Keys.ARROW_DOWN)
    assert active().get_attribute("name") == "role-1"
    active().send_keys("2")
    active().send_keys(Keys.ARROW_DOWN)
    active().send_keys("1")
    until(browser, lambda: "have their own combination of age and workclass" in text_of(browser))
    outline = browser.execute_script(
        "const e = document.activeElement.closest('label'); return getComputedStyle(e).outlineStyle"
    )
    assert outline == "solid"
    tab_to(lambda e: e.text.startswith("Next: Hierarchies")).send_keys(Keys.ENTER)
    until(browser, lambda: "How may each column become coarser?" in text_of(browser))
    tab_to(lambda e: e.text.startswith("Next: Promise")).send_keys(Keys.ENTER)
    until(browser, lambda: "What do you promise?" in text_of(browser))
    tab_to(lambda e: e.get_attribute("name") == "effort").send_keys(Keys.ARROW_LEFT)
    tab_to(lambda e: e.text.startswith("Run")).send_keys(Keys.ENTER)
    until(browser, lambda: "/result" in browser.current_url)
    assert "Every row is one of at least 5" in text_of(browser)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "step", ["", "data", "columns", "hierarchies", "hierarchies/2", "promise", "result", "release", "nowhere"]
)
@pytest.mark.skipif(not AXE.is_file(), reason="no axe-core here: npm install axe-core, AXE_CORE=.../axe.min.js")
def test_axe_finds_nothing(browser: Any, demo: str, step: str, scheme: str) -> None:
    resize(browser, 1280, scheme)
    browser.get(f"{demo}/t/{'nobody/data' if step == 'nowhere' else f'patients/{step}'}" if step else f"{demo}/")
    until(browser, lambda: browser.find_element(By.TAG_NAME, "h1"))
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    found = _axe(browser)
    problems = [(each["id"], [node["html"][:160] for node in each["nodes"]]) for each in found["violations"]]
    assert problems == []


def _axe(browser: Any) -> Any:
    """The pages run no script that is not theirs, so that axe goes past their policy, as a debugger does."""
    source = AXE.read_text(encoding="utf-8")
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": source})
    asked = {"expression": "axe.run()", "awaitPromise": True, "returnByValue": True}
    return browser.execute_cdp_cmd("Runtime.evaluate", asked)["result"]["value"]


def test_charts_have_their_tables_and_colour_is_never_alone(browser: Any, demo: str) -> None:
    browser.get(f"{demo}/t/patients/result")
    until(browser, lambda: "Quick runs go on" not in text_of(browser))
    lonely = browser.execute_script(
        "return [...document.querySelectorAll('svg.chart')].filter(s => !s.closest('section').querySelector('table'))"
        ".length"
    )
    assert lonely == 0
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg.chart")) >= 3
    empty = browser.execute_script(
        "return [...document.querySelectorAll('.badge, .tag')].filter(e => !e.textContent.trim()).length"
    )
    assert empty == 0


def test_it_works_without_scripts(browser: Any, demo: str) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(f"{demo}/t/patients/promise")
        press(browser, "Run")

        def is_there() -> bool:
            browser.get(f"{demo}/t/patients/result")
            return "Result of run" in text_of(browser)

        until(browser, is_there)
        assert "Every row is one of at least" in text_of(browser)
        browser.get(f"{demo}/t/patients/hierarchies/2")
        press(browser, "Preview")
        assert "Every value has its place" in text_of(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.fixture(scope="module")
def hostile(served: Callable[..., Server], tmp_path_factory: pytest.TempPathFactory) -> Server:
    """A database whose tables, columns and values are markup."""
    path = tmp_path_factory.mktemp("hostile") / "x<b>'y.duckdb"
    with duckdb.connect(str(path)) as con:
        names = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in MARKUP]
        values = ", ".join(f"$v[1 + (i + {n}) % {len(MARKUP)}] as {name}" for n, name in enumerate(names))
        made = f"create table hostile as select i % 9 as number, {values} from range(60) as t(i)"
        con.execute(made, {"v": list(MARKUP)})
        for name in names:
            con.execute(f"create table {name} as from hostile")
    return served(path)


def test_names_and_values_of_markup_stay_text_on_every_page(browser: Any, hostile: Server) -> None:
    base = enter(browser, hostile)
    slugs = list(hostile.studio.desks)
    assert len(slugs) == 1 + len(MARKUP)
    assert slugs[0] != "hostile"
    for slug in (slugs[0], "hostile") if IS_WHOLE else slugs[:1]:
        address = f"{base}/t/{slug}"
        browser.get(f"{address}/data")
        until(browser, lambda: "Is every row" in text_of(browser))
        press(browser, "Show values")
        until(browser, lambda: "Hide them" in text_of(browser))
        _is_harmless(browser)
        browser.get(f"{address}/columns")
        for number, role in enumerate(("quasi", "quasi", "quasi", "sensitive", "keep", "quasi")):
            browser.find_element(By.CSS_SELECTOR, f'[name="role-{number}"][value="{role}"]').click()
        until(browser, lambda: "counting" not in text_of(browser))
        _is_harmless(browser)
        rows = "\n".join(f"{value}\tlevel <i>1</i>\t*" for value in MARKUP[:3])
        browser.get(f"{address}/hierarchies/1")
        browser.find_element(By.CSS_SELECTOR, '[name="way"][value="rows"]').click()
        browser.execute_script("document.getElementById('rows').value = arguments[0]", rows)
        press(browser, "Preview")
        until(browser, lambda: "have no place" in text_of(browser))
        _is_harmless(browser)
        browser.get(f"{address}/promise")
        _is_harmless(browser)
        press(browser, "Run")
        until(browser, lambda: "/result" in browser.current_url or "note bad" in browser.page_source)
        until(browser, lambda: "Quick runs go on" not in text_of(browser))
        _is_harmless(browser)
        browser.get(f"{address}/release")
        press(browser, "Store")
        until(browser, lambda: "Stored as" in text_of(browser) or "note bad" in browser.page_source)
        _is_harmless(browser)
    browser.get(f"{base}/")
    _is_harmless(browser)


def _is_harmless(browser: Any) -> None:
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.title != "hacked"
    assert browser.find_elements(By.CSS_SELECTOR, "main img, main script, main b > b, main i, svg[onload]") == []
    assert "49" not in [element.text for element in browser.find_elements(By.TAG_NAME, "legend")]
    errors = [entry["message"] for entry in browser.get_log("browser") if "favicon" not in entry["message"]]
    assert errors == []
