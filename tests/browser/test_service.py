"""The page of the service in a real browser: every path clicked through, light and dark, on a phone."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.wait import WebDriverWait

import dither.release
from tests.web.world import World, describe, service

pytestmark = pytest.mark.xdist_group("browser")  # one browser for all

SQL = "SELECT city, COUNT(*) AS n, AVG(cost) AS spend FROM visits GROUP BY city"
ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """With approval, so that owners have something to say."""
    with service(describe(tmp_path_factory.mktemp("service"), server="approval = true")) as found:
        yield found


@pytest.fixture(scope="module")
def keys(world: World) -> dict[str, str]:
    return {"anna": world.key("anna", "0.5"), "olga": world.key("olga", is_owner=True)}


@pytest.fixture
def page(browser: Chrome, world: World) -> Iterator[Chrome]:
    """Nobody is signed in."""
    browser.set_window_size(1100, 900)
    browser.get(world.service.settings.address)
    browser.delete_all_cookies()
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    browser.get(world.service.settings.address)
    yield browser
    said = [each["message"] for each in browser.get_log("browser")]  # type: ignore[no-untyped-call]
    assert [each for each in said if "Failed to load resource" not in each] == []  # but for statuses of refusals


def until_left(page: Chrome, before: WebElement) -> None:
    """Wait for the next page; asked between two pages, the browser knows neither, and is asked again."""
    WebDriverWait(page, 60, ignored_exceptions=[WebDriverException]).until(staleness_of(before))


def sign_in(page: Chrome, key: str) -> None:
    before = page.find_element(By.TAG_NAME, "html")
    page.find_element(By.ID, "key").send_keys(key, Keys.ENTER)
    until_left(page, before)


def press(page: Chrome, words: str) -> None:
    before = page.find_element(By.TAG_NAME, "html")
    page.find_element(By.XPATH, f"//button[normalize-space()='{words}']").click()
    until_left(page, before)


def title(page: Chrome) -> str:
    return page.find_element(By.TAG_NAME, "h1").text


def saved(page: Chrome, name: str) -> None:
    """A picture for people who look: DITHER_SCREENSHOTS names a folder."""
    if folder := os.environ.get("DITHER_SCREENSHOTS"):
        page.save_screenshot(str(Path(folder) / f"{name}.png"))


def ask(page: Chrome, world: World, dataset: str, text: str, epsilon: str) -> None:
    page.get(f"{world.service.settings.address}/data/{dataset}")
    page.find_element(By.ID, "sql").send_keys(text)
    page.find_element(By.ID, "epsilon").send_keys(epsilon)
    press(page, "Show the plan")


def test_a_wrong_key_opens_nothing(page: Chrome) -> None:
    assert title(page) == "Sign in"
    sign_in(page, "dither_0000000000000000_" + "0" * 64)
    assert title(page) == "Sign in"
    assert "unknown, expired or revoked" in page.find_element(By.CSS_SELECTOR, "[role=alert]").text
    assert page.get_cookies() == []


def test_practice_is_marked_free_and_answered(page: Chrome, world: World, keys: dict[str, str]) -> None:
    sign_in(page, keys["anna"])
    assert title(page) == "Datasets"
    saved(page, "datasets")
    ask(page, world, "visits-practice", SQL, "1")
    assert title(page) == "The plan"
    saved(page, "plan")
    press(page, "Pay and answer")
    assert title(page) == "Answer about visits-practice"
    assert "means nothing" in page.find_element(By.CLASS_NAME, "note").text
    assert [cell.text for cell in page.find_elements(By.CSS_SELECTOR, "tbody td:first-child")] == ["Paris", "Lyon"]
    charts = page.find_elements(By.CSS_SELECTOR, "svg.chart")
    assert len(charts) == 2
    assert all(each.size["width"] > 300 for each in charts)
    saved(page, "answer")
    links = {each.text: each.get_attribute("href") for each in page.find_elements(By.CSS_SELECTOR, "a[download]")}
    assert set(links) == {"csv", "json", "parquet", "certificate"}
    assert world.spent == "0"


def test_a_question_is_asked_accepted_paid_and_seen_by_the_owner(
    page: Chrome, world: World, keys: dict[str, str]
) -> None:
    sign_in(page, keys["anna"])
    page.get(f"{world.service.settings.address}/data/visits")
    page.find_element(By.ID, "agg").send_keys("visits = count")
    page.find_element(By.ID, "where").send_keys("age >= 18")
    page.find_element(By.ID, "group_by").send_keys("city")
    page.find_element(By.ID, "keys").send_keys("Paris, Lyon")
    page.find_element(By.ID, "epsilon-form").send_keys("0.1")
    saved(page, "dataset")
    press(page, "Show the plan of this")
    assert "It would cost ε = 0.1" in page.page_source
    assert world.spent == "0"
    press(page, "Change the question")  # what was said stands there still
    assert page.find_element(By.ID, "agg").get_attribute("value") == "visits = count"
    assert page.find_element(By.ID, "keys").get_attribute("value") == "Paris, Lyon"
    press(page, "Show the plan of this")
    press(page, "Ask the owner")
    assert title(page) == "Question about visits"
    assert "The owner looks at it first" in page.find_element(By.CSS_SELECTOR, "[role=status]").text
    press(page, "Sign out anna")
    sign_in(page, keys["olga"])
    page.find_element(By.LINK_TEXT, "Owner").click()
    assert "anna asks of visits" in page.page_source
    assert "It would cost ε = 0.1" in page.page_source
    saved(page, "owner")
    press(page, "Accept")
    press(page, "Sign out olga")
    sign_in(page, keys["anna"])
    page.find_element(By.LINK_TEXT, "History").click()
    press(page, "Pay and answer")
    assert title(page) == "Answer about visits"
    assert world.spent == "1/10"
    saved(page, "paid")
    page.refresh()
    assert world.spent == "1/10"
    page.find_element(By.LINK_TEXT, "Datasets").click()
    bar = page.find_element(By.TAG_NAME, "progress")
    assert (bar.get_attribute("value"), bar.get_attribute("aria-label")) == ("0.9", "Budget left")
    assert "you may spend 0.4" in page.page_source


def test_g80_what_others_write_is_shown_and_does_nothing(page: Chrome, world: World, keys: dict[str, str]) -> None:
    sign_in(page, keys["anna"])
    ask(page, world, "visits-practice", f'SELECT COUNT(*) AS "{HOSTILE}" FROM visits', "1")
    assert title(page) == "The plan"
    press(page, "Pay and answer")
    assert HOSTILE in page.find_element(By.TAG_NAME, "table").text
    assert page.find_elements(By.CSS_SELECTOR, "main img") == []
    ask(page, world, "visits", f"SELECT {HOSTILE}", "1")
    assert title(page) == "visits"  # to be changed where it was written
    assert HOSTILE in (page.find_element(By.ID, "sql").get_attribute("value") or "")
    assert page.find_elements(By.CSS_SELECTOR, "[role=alert]")
    assert page.find_elements(By.CSS_SELECTOR, "main img") == []


def test_g81_forms_of_others_are_refused(page: Chrome, world: World, keys: dict[str, str]) -> None:
    """G81: no token, a wrong one, or another origin."""
    sign_in(page, keys["olga"])
    (cookie,) = page.get_cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    shown = {"Cookie": f"{cookie['name']}={cookie['value']}", "Content-Type": "application/x-www-form-urlencoded"}
    token = page.find_element(By.NAME, "token").get_attribute("value")
    for body, more in (("", {}), ("token=x", {}), (f"token={token}", {"Origin": "http://evil.example"})):
        refused = world.http.post("/data/visits/resume", content=body, headers={**shown, **more})
        assert refused.status_code == 401
    assert world.http.post("/data/visits/resume", content=f"token={token}", headers=shown).status_code == 303
    framed = world.http.get("/", headers=shown).headers
    assert framed["x-frame-options"] == "DENY"
    assert "script-src" not in framed["content-security-policy"]
    assert "default-src 'none'" in framed["content-security-policy"]


def test_a_phone_and_a_dark_screen(page: Chrome, world: World, keys: dict[str, str]) -> None:
    sign_in(page, keys["anna"])
    page.set_window_size(500, 900)
    for place in ("/", "/data/visits", "/history"):
        page.get(world.service.settings.address + place)
        assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth"), place
        unnamed = [
            each.get_attribute("name")
            for each in page.find_elements(By.CSS_SELECTOR, "input:not([type=hidden]), textarea")
            if not page.find_elements(By.CSS_SELECTOR, f"label[for='{each.get_attribute('id')}']")
        ]
        assert unnamed == []
    saved(page, "phone")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 26)"
    saved(page, "dark")
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def focused(page: Chrome) -> str:
    return str(page.execute_script("return document.activeElement.id"))


def test_a_question_is_asked_by_the_keyboard_alone(page: Chrome, world: World, keys: dict[str, str]) -> None:
    sign_in(page, keys["anna"])
    page.get(f"{world.service.settings.address}/data/visits-practice")
    for _ in range(20):
        ActionChains(page).send_keys(Keys.TAB).perform()
        if focused(page) == "sql":
            break
    assert focused(page) == "sql"
    outline = page.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"  # one sees where one is
    ActionChains(page).send_keys(SQL, Keys.TAB, "1").perform()
    before = page.find_element(By.TAG_NAME, "html")
    ActionChains(page).send_keys(Keys.ENTER).perform()
    until_left(page, before)
    assert title(page) == "The plan"


def test_the_files_of_an_answer(page: Chrome, world: World, keys: dict[str, str]) -> None:
    sign_in(page, keys["anna"])
    ask(page, world, "visits-practice", SQL, "1")
    press(page, "Pay and answer")
    page.set_window_size(500, 900)
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    (cookie,) = page.get_cookies()
    shown = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    for link in page.find_elements(By.CSS_SELECTOR, "a[download]"):
        found = world.http.get(str(link.get_attribute("href")), headers=shown)
        start = {"csv": b'"city","n"', "json": b'[{"city"', "parquet": b"PAR1", "certificate": b'{"dither_certificate"'}
        assert found.content.startswith(start[link.text])
    page.find_element(By.XPATH, "//summary[text()='Certificate']").click()
    assert "dither_certificate" in page.find_element(By.CSS_SELECTOR, "details[open] pre").text


def test_a_waiting_question_is_withdrawn(page: Chrome, world: World, keys: dict[str, str]) -> None:
    spent = world.spent
    sign_in(page, keys["anna"])
    ask(page, world, "visits", SQL, "0.01")
    press(page, "Ask the owner")
    press(page, "Withdraw the question")
    assert title(page) == "History"
    assert page.find_element(By.CSS_SELECTOR, "tbody tr:first-child td:nth-child(4)").text == "withdrawn"
    assert world.spent == spent


def test_the_owner_accepts_failures(
    page: Chrome, world: World, keys: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dither.release, "_drawn", lambda exact, draw: None)
    sign_in(page, keys["olga"])
    for _ in range(3):
        ask(page, world, "visits", SQL, "0.01")
        press(page, "Pay and answer")
        assert "was charged and could not be answered" in page.find_element(By.CSS_SELECTOR, "[role=status]").text
    page.get(f"{world.service.settings.address}/data/visits")
    assert "Stopped after failures" in page.page_source
    page.find_element(By.LINK_TEXT, "Owner").click()
    assert "Failed or without an outcome: 3 of 3" in page.page_source
    saved(page, "stopped")
    press(page, "Accept the failures and go on")
    assert "Failed or without an outcome: 0 of 3" in page.page_source


@pytest.mark.slow
def test_the_build_draws_every_picture_of_the_walk_through(browser: Chrome, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "examples" / "service_pictures.py", tmp_path], check=True)
    page = (ROOT / "docs" / "service.md").read_text()
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == set(re.findall(r"\(img/(service_\w+\.png)\)", page))
    assert drawn == {path.name for path in (ROOT / "docs" / "img").glob("service_*.png")}
