"""The report in a real browser: its tables and pictures are seen, nothing is loaded, nothing runs."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pyarrow as pa
import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

import dither as dp
from dither.ledger import Ledger

pytestmark = pytest.mark.xdist_group("browser")  # one browser for all

KEYS = ["Paris", "<script>document.title = 'taken'</script>", "<img src=x onerror=\"document.title = 'taken'\">"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grouped table and a histogram, with names that would act if they could."""
    folder = tmp_path_factory.mktemp("report")
    table = pa.table({"user": list(range(300)), "city": [KEYS[at % 3] for at in range(300)], "age": [7] * 300})
    ledger = Ledger(folder / "visits.ledger")
    with dp.Dataset(table, unit=dp.Person("user", 1, 1), budget=dp.PureDP(3), ledger=ledger, identity="visits") as data:
        grouped = data.group_by("city", keys=KEYS).agg(n=dp.count(), age=dp.mean("age", bounds=(0, 90)))
        releases = [grouped.release(epsilon=1), data.histogram("age", [0, 30, 60, 90], epsilon=1)]
        page = dp.plots.report(releases, folder / "report.html", title="Visits", ledger=ledger)
    ledger.close()
    return page


@pytest.fixture
def opened(browser: Chrome, report: Path) -> Chrome:
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get_log("performance")  # type: ignore[no-untyped-call]
    browser.set_window_size(1100, 900)
    browser.get(report.as_uri())
    return browser


def test_the_table_and_the_pictures_are_seen(opened: Chrome) -> None:
    table, histogram = opened.find_elements(By.TAG_NAME, "table")
    assert table.is_displayed()
    assert [cell.text for cell in table.find_elements(By.CSS_SELECTOR, "tbody td:first-child")] == KEYS
    assert len(histogram.find_elements(By.CSS_SELECTOR, "tbody tr")) == 3
    sizes = opened.execute_script("return [...document.images].map(i => [i.complete, i.naturalWidth, i.naturalHeight])")
    assert len(sizes) == 3
    assert all(complete and width > 300 and height > 100 for complete, width, height in sizes)
    assert all(image.get_attribute("alt") for image in opened.find_elements(By.TAG_NAME, "img"))


def test_nothing_is_loaded_and_nothing_runs(opened: Chrome, report: Path) -> None:
    opened.execute_script("return new Promise(done => setTimeout(done, 200))")
    complaints = opened.get_log("browser")  # type: ignore[no-untyped-call]
    assert complaints == []
    assert opened.title == "Visits"
    said = [json.loads(line["message"])["message"] for line in opened.get_log("performance")]  # type: ignore[no-untyped-call]
    asked = [each["params"]["request"]["url"] for each in said if each["method"] == "Network.requestWillBeSent"]
    assert report.as_uri() in asked  # so they are seen at all
    assert [url for url in asked if url != report.as_uri() and not url.startswith("data:")] == []


def test_a_script_would_be_stopped_and_seen(browser: Chrome, report: Path) -> None:
    """The same page with a script in it, as if the escaping had failed: the policy holds, and the console says so."""
    worse = report.with_name("worse.html")
    text = report.read_text(encoding="utf-8").replace("</main>", f"{KEYS[1]}</main>")
    worse.write_text(text, encoding="utf-8")
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get(worse.as_uri())
    assert browser.title == "Visits"
    complaints = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert any("Content Security Policy" in each["message"] for each in complaints)


def test_the_certificate_opens_without_a_script(opened: Chrome) -> None:
    fold = opened.find_element(By.TAG_NAME, "details")
    assert not fold.find_element(By.TAG_NAME, "pre").is_displayed()
    fold.find_element(By.TAG_NAME, "summary").click()
    shown = fold.find_element(By.TAG_NAME, "pre")
    assert shown.is_displayed()
    assert dp.check_certificate(json.loads(shown.text)).guarantee is not None


def test_narrow_dark_and_on_paper(opened: Chrome) -> None:
    opened.set_window_size(500, 900)
    assert opened.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    colours = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        colours.append(opened.execute_script("return getComputedStyle(document.body).backgroundColor"))
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours == ["rgb(255, 255, 255)", "rgb(17, 21, 26)"]
    assert base64.b64decode(opened.print_page()).startswith(b"%PDF")
