"""A real browser without a window, for pages: Debian's chromium, driven by selenium.

``FSTMETRICS_BROWSER=required`` (as ``make browser`` has it) makes its absence a failure.
"""

from __future__ import annotations

import os
import shutil
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: seconds that a page may take; the slowest machine decides
PATIENCE = 60.0


def missing() -> str:
    """Return what it takes and is not there; nothing if a browser can be started."""
    if find_spec("selenium") is None:
        return "selenium is not installed (pip install selenium)"
    if not any(map(shutil.which, _BROWSERS)) or not shutil.which("chromedriver"):
        return (
            "there is no chromium with its chromedriver (apt-get install chromium chromium-driver)"
        )
    return ""


@contextmanager
def browser(width: int = 1280, height: int = 900) -> Iterator[Browser]:
    """Start a browser, and end it."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, _BROWSERS)))
    arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    for each in arguments:
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        found = Browser(driver)
        found.resize(width, height)
        yield found
    finally:
        driver.quit()


class Browser:
    """What tests ask of a browser; ``driver`` is selenium's."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def resize(self, width: int, height: int) -> None:
        """Give the page another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str, media: str = "") -> None:
        """Prefer light or dark, on the screen or on paper."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"media": media, "features": features}
        )

    def open(self, path: Path, fragment: str = "") -> float:
        """Open a page of ours; return the milliseconds until it could be used."""
        self.driver.get("about:blank")
        self.messages()
        self.driver.get(path.as_uri() + fragment)
        return float(self.wait("return document.body?.dataset.ready"))

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, script: str, *arguments: Any) -> Any:
        """Run a script until it returns something, and return that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.run(script, *arguments)
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"nothing came of {script!r}; the console says {self.messages()}")

    def keys(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def click(self, selector: str) -> None:
        """Click on the first element of a selector, in the middle of the window."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.driver.find_element("css selector", selector).click()

    def texts(self, selector: str) -> list[str]:
        """Return the text of all elements of a selector."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        found: list[str] = self.run(script, selector)
        return found

    def messages(self) -> list[str]:
        """Return what the console says since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def picture(self, selector: str = "") -> bytes:
        """Return a PNG of what is in sight, or of an element, however large it is."""
        options: dict[str, Any] = {"format": "png"}
        if selector:
            self.run("document.querySelector(arguments[0]).scrollIntoView()", selector)
            script = (
                "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
                "return [r.x + scrollX - 16, r.y + scrollY, r.width + 32, r.height]"
            )
            x, y, width, height = self.run(script, selector)
            clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
            options |= {"clip": clip, "captureBeyondViewport": True}
        return b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"])

    def printed(self) -> bytes:
        """Return the page as a PDF."""
        return b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {})["data"])
