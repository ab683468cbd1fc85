"""The pictures of docs/howto/studio.md: the screens of the studio on the sample data, in Chromium.

    python docs/studio_pictures.py [--into docs/pictures]

Needs Chromium with its driver, and selenium.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By

from sqlanon.studio.serving import Server
from sqlanon.studio.state import Studio

WIDTH, HEIGHT = 1280, 860
ROLES = {0: "quasi", 2: "quasi", 3: "quasi", 4: "quasi", 5: "quasi", 7: "sensitive", 8: "keep"}
"""Of the columns of the census table."""


def main() -> None:
    """Walk through the studio and take a picture of each screen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=Path(__file__).parent / "pictures")
    into = parser.parse_args().into.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        server = Server(Studio([], Path("studio"), is_demo=True))
        link = server.url
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        browser = _browser()
        try:
            browser.get(link)
            _walk(browser, browser.current_url.rstrip("/") + "/t/adult", into)
        finally:
            browser.quit()
            server.stop()
            thread.join(10)


def _browser() -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    light = {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", light)
    return browser


def _walk(browser: Any, here: str, into: Path) -> None:
    def text() -> str:
        return str(browser.find_element(By.TAG_NAME, "body").text)

    def press(button: str) -> None:
        _until(lambda: [e for e in browser.find_elements(By.TAG_NAME, "button") if e.text.startswith(button)])
        found = next(e for e in browser.find_elements(By.TAG_NAME, "button") if e.text.startswith(button))
        browser.execute_script("arguments[0].click()", found)

    def picture(name: str) -> None:
        browser.execute_script("window.scrollTo(0, 0)")
        time.sleep(0.3)
        browser.save_screenshot(str(into / f"studio-{name}.png"))

    browser.get(f"{here}/columns")
    _until(lambda: "What is each column?" in text())
    for number, role in ROLES.items():
        browser.find_element(By.CSS_SELECTOR, f'[name="role-{number}"][value="{role}"]').click()
    _until(lambda: "age, education, marital_status, race and sex" in text() and "counting" not in text())
    browser.execute_script("document.activeElement.blur()")
    picture("columns")
    browser.get(f"{here}/hierarchies/2")
    _until(lambda: "Every value has its place" in text())
    picture("hierarchy")
    browser.get(f"{here}/promise")
    browser.find_element(By.CSS_SELECTOR, "[name^=l-]").send_keys("2")
    _until(lambda: "cannot be sure of their" in text())
    picture("promise")
    press("Run")
    _until(lambda: "/result" in browser.current_url)
    _until(lambda: "Quick runs go on" not in text())
    picture("result")
    browser.get(f"{here}/release")
    press("Publish")
    _until(lambda: "Check with sqlanon" in text() and "Publish: done" in text())
    press("Store")
    _until(lambda: "up to date" in text())
    browser.get(f"{here}/release")
    picture("release")


def _until(check: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():
                return
        except Exception:  # the page changes while it is read
            pass
        time.sleep(0.1)
    raise TimeoutError("the studio does not get there")


if __name__ == "__main__":
    main()
