"""The page of the service, as its documentation shows it: an owner and an analyst walk through it in Chromium.

    python examples/service_pictures.py docs/img

It serves invented hospital visits on this machine while it runs. Without Chromium nothing is drawn.
"""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

SQL = "SELECT hospital, COUNT(*) AS visits, AVG(cost) AS cost FROM hospital_visits GROUP BY hospital"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
)


def dither(*arguments: str, folder: Path) -> str:
    """Run a command of dither in a folder."""
    command = [sys.executable, "-m", "dither", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def served(folder: Path) -> tuple["subprocess.Popen[bytes]", str]:
    """The service, when it answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "dither", "serve", "dither.toml", "--port", str(port), "--period", "0"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for _ in range(1200):
        try:
            with urlopen(f"{address}/health"):
                return process, address
        except OSError:
            time.sleep(0.05)
    raise SystemExit("the service did not start")


class Walk:
    """Somebody at the page."""

    def __init__(self, browser: Any, address: str, folder: Path) -> None:
        self.browser = browser
        self.address = address
        self.folder = folder

    def sign_in(self, key: str) -> None:
        """As whoever has this key."""
        self.browser.get(self.address)
        self.browser.delete_all_cookies()
        self.browser.get(self.address)
        self.browser.find_element("id", "key").send_keys(key)
        self.press("Sign in")

    def press(self, words: str) -> None:
        """A button, and wait for what follows."""
        before = self.browser.find_element("tag name", "html")
        self.browser.find_element("xpath", f"//button[normalize-space()='{words}']").click()
        for _ in range(1200):
            try:
                before.is_enabled()
            except Exception:
                return
            time.sleep(0.05)

    def ask(self, dataset: str, text: str, epsilon: str) -> None:
        """Fill in the box for SQL."""
        self.browser.get(f"{self.address}/data/{dataset}")
        self.browser.find_element("id", "sql").send_keys(text)
        self.browser.find_element("id", "epsilon").send_keys(epsilon)

    def picture(self, name: str, *, width: int = 900, most: int = 1100) -> None:
        """Of the whole page, or of its upper part."""
        self.browser.set_window_size(width, 700)
        height = self.browser.execute_script("return document.documentElement.scrollHeight")
        self.browser.set_window_size(width, min(height + 140, most))
        self.browser.execute_script("window.scrollTo(0, 0)")  # a box that was typed in is scrolled to
        self.browser.save_screenshot(str(self.folder / f"service_{name}.png"))


def walk(steps: Walk, owner: str, analyst: str) -> None:
    """What the walk-through of docs/service.md says."""
    steps.sign_in(analyst)
    steps.picture("datasets")
    steps.ask("hospital_visits", SQL, "0.5")
    steps.picture("ask", most=1900)
    steps.press("Show the plan")
    steps.picture("plan")
    steps.press("Pay and answer")
    steps.picture("answer", most=1500)
    steps.ask("hospital_visits", "SELECT COUNT(*) AS visits FROM hospital_visits WHERE age >= 65", "0.25")
    steps.press("Show the plan")
    steps.press("Pay and answer")
    steps.browser.get(f"{steps.address}/history")
    steps.picture("history")
    steps.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    steps.browser.get(f"{steps.address}/data/hospital_visits-practice")
    steps.picture("phone_dark", width=500, most=1000)
    steps.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    steps.sign_in(owner)
    steps.browser.get(f"{steps.address}/owner")
    steps.picture("owner", most=1500)


def main(folder: Path) -> None:
    """Draw all pictures into the folder."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        print("Chromium is not installed: the pictures of the service stay as they are.")
        return
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    from dither.cli.demo.service import demo_service

    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "dither-service"
        demo_service(home)
        owner = dither("keys", "add", "olga", "--owner", folder=home).splitlines()[0]
        analyst = dither("keys", "add", "anna", "--dataset", "hospital_visits=2", folder=home).splitlines()[0]
        process, address = served(home)
        options = ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={place}/profile"):
            options.add_argument(flag)
        try:
            browser = Chrome(options=options, service=Service(driver))
            try:
                walk(Walk(browser, address, folder), owner, analyst)
            finally:
                browser.quit()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img"))
