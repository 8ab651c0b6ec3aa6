"""Pages in a real browser: what the tests of pages share."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip


def start_browser() -> Iterator[Any]:
    """Start Chromium and end it; skip where there is none."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no Chromium here; the report is tested where the Debian packages chromium and chromium-driver are")
    # Where there is a browser, these tests run: a missing selenium is a failure, not a reason to skip.
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    with tempfile.TemporaryDirectory() as profile:
        for argument in (*BROWSER, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        started = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        yield started
        started.quit()


def set_width(browser: Any, width: int) -> None:
    size = {"width": width, "height": 850, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def find(page: Any, selector: str) -> list[Any]:
    found: list[Any] = page.find_elements("css selector", selector)
    return found


def texts(page: Any, selector: str) -> list[str]:
    return [element.get_attribute("textContent") for element in find(page, selector)]


def press(page: Any, selector: str) -> None:
    element = find(page, selector)[0]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def choose(page: Any, selector: str, value: str) -> None:
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
    page.execute_script(script, find(page, selector)[0], value)


def asked_for(page: Any) -> set[str]:
    """Return the schemes of all addresses that a page asked for since it was last looked at."""
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    requests = [m["params"]["request"]["url"] for m in sent if m["method"] == "Network.requestWillBeSent"]
    return {url.partition(":")[0] for url in requests}


def open_page(browser: Any, path: Path, width: int = 1200) -> None:
    """Open a file at a width, with nothing in the logs from before."""
    set_width(browser, width)
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(path.as_uri())
