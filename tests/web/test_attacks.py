"""Cases of the list of attacks that are about a running service; others stand in the file of their subject."""

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dither.release
from dither.cli.served_datasets import opened, settings_of
from dither.errors import LedgerConflict, LedgerError
from dither.ledger import Ledger
from dither.ledger.entries import Appending
from tests.cli.world import SECRETS, run
from tests.servers import spare_port
from tests.web.world import COUNT, SQL, Caller, World, describe, service, signed_in

FORMULA, MARKUP = "=HYPERLINK(1)", "<svg onload=alert(1)>"


def test_d51_without_a_charge_on_disk_there_is_no_answer(
    anna: Caller, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: the store of the ledger cannot write."""
    drawn: list[object] = []
    monkeypatch.setattr(dither.release, "_drawn", lambda *given: drawn.append(given))

    def full(*_: object) -> None:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Appending, "append", full)
    refused = anna.ask(COUNT, "full")
    assert (refused.status_code, drawn) == (503, [])
    assert "ledger could not be used" in refused.json()["error"]
    monkeypatch.undo()
    assert world.spent == "0"
    assert anna.ask(COUNT, "full").status_code == 200
    assert world.spent == "1/100"


def test_d51_an_answer_that_cannot_be_kept_is_not_given(
    anna: Caller, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> bytes:
        raise LedgerError("the disk is full")

    monkeypatch.setattr(Ledger, "keep", full)
    assert anna.ask(COUNT, "full").status_code == 503
    monkeypatch.undo()
    assert world.spent == "1/100"  # data was touched
    assert anna.ask(COUNT, "full").status_code == 200
    assert world.spent == "1/100"


def test_d54_data_that_changed_is_answered_with_fresh_noise_for_a_fresh_charge(tmp_path: Path) -> None:
    """A file that changes under the service is refused, at no cost, until the owner starts it anew."""
    file = describe(tmp_path, server="practice = false")
    with service(file) as world:
        key = world.key("anna")
        first = world.caller(key).ask(COUNT, "before")
        with (tmp_path / "visits.csv").open("a") as rows:
            rows.write("somebody new,Paris,30,5.0,2024-02-01\n")
        refused = world.caller(key).ask(COUNT, "after")
        assert (refused.status_code, world.spent) == (400, "1/100"), refused.text
        assert refused.json()["error"].endswith("nothing was charged. The owner has to start the service again.")
    with service(file) as world:
        anna = world.caller(key)
        assert anna.ask(COUNT, "after").status_code == 200
        assert world.spent == "1/50"
        assert anna.ask(COUNT, "before").content == first.content  # what was answered stays as it was
        assert world.spent == "1/50"


def test_d55_the_charge_is_on_disk_before_data_is_read(
    anna: Caller, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    real = dither.release._drawn

    def looking(*given: Any) -> Any:
        with sqlite3.connect(world.folder / "visits.ledger") as other:
            seen.append(other.execute("SELECT COUNT(*) FROM dither_entries WHERE kind = 'charge'").fetchone()[0])
        return real(*given)

    monkeypatch.setattr(dither.release, "_drawn", looking)
    anna.ask(COUNT)
    anna.ask(SQL)
    assert seen == [1, 2]


def test_d56_two_names_for_one_file_have_one_budget(tmp_path: Path) -> None:
    file = describe(tmp_path, server="practice = false")
    (tmp_path / "linked.csv").symlink_to(tmp_path / "visits.csv")
    other = tmp_path / "other.toml"
    other.write_text(file.read_text().replace("visits.csv", "linked.csv").partition("[server]")[0])
    try:
        found = opened([file, other], settings_of(file, port=spare_port()))
    except LedgerConflict:
        return  # refused is as good
    try:
        accounts = {each.data.origin.release_path.account for each in found.offered.values()}
        assert len(accounts) == 1
    finally:
        found.close()


def test_d56_a_copy_served_twice_under_one_name_is_refused(tmp_path: Path) -> None:
    file = describe(tmp_path)
    with pytest.raises(Exception, match="two datasets are called 'visits'"):
        opened([file, file], settings_of(file, port=spare_port()))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE dither_entries SET body = replace(body, '1/100', '1/1000')",
        "DELETE FROM dither_entries WHERE number = 2",
    ],
)
def test_d57_an_edited_ledger_is_noticed(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(describe(tmp_path, server="practice = false")) as world:
        anna = world.caller(world.key("anna"))
        for _ in range(3):
            assert anna.ask(COUNT).status_code == 200
    with sqlite3.connect(tmp_path / "visits.ledger") as ledger:
        for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            ledger.execute(f'DROP TRIGGER "{name}"')
        ledger.execute(change)
    ledger.close()
    monkeypatch.chdir(tmp_path)
    assert run("ledger", "visits.ledger", "--verify").code != 0


def test_d59_no_row_and_no_key_is_in_a_log_or_an_error(
    anna: Caller, world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the engine says it, and not where nobody foresaw the error."""

    def broken(*_: object) -> None:
        raise RuntimeError(f"could not convert {SECRETS[0]}")

    caplog.set_level("DEBUG", logger="dither")
    monkeypatch.setattr(type(world.service), "release", broken)
    answer = anna.ask(COUNT, "secret-idempotency-key")
    assert answer.status_code == 500
    told = caplog.text + answer.text + anna.get("/questions").text
    assert not any(secret in told for secret in (*SECRETS, anna.key, "Traceback"))
    assert "RuntimeError" in caplog.text  # the owner sees what kind of error it was


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[World]:
    """Whose public facts and names are attacks."""
    file = describe(tmp_path)
    text = file.read_text().replace('["Paris", "Lyon"]', f'["{FORMULA}", "{MARKUP}", "\\u001b[31mred"]')
    file.write_text(text.replace("epsilon = 1\n", "epsilon = 100\n"))
    with service(file) as found:
        yield found


def test_g80_names_and_keys_are_shown_and_never_run(hostile: World) -> None:
    key = hostile.key("anna")
    anna = hostile.caller(key)
    asked = {"agg": {FORMULA: "count", MARKUP: "count"}, "group_by": ["city"], "epsilon": "1"}
    asked["keys"] = [FORMULA, MARKUP]
    found = anna.ask(asked).json()
    csv = anna.get(f"/answers/{found['id']}/csv")
    cells = [cell.strip('"') for line in csv.text.splitlines() for cell in line.split(",")]
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)
    assert f"'{FORMULA}" in cells
    with signed_in(hostile, key) as http:
        for place in ("/", "/data/visits", "/history", f"/answers/{found['id']}"):
            shown = http.get(place)
            assert shown.headers["content-type"].startswith("text/html")
            assert "<svg onload" not in shown.text
            assert "\x1b" not in shown.text.replace("\x1b[31mred", "") or place == "/data/visits"
        attributes = re.findall(r'(?:value|href|action)="([^"]*)"', http.get("/data/visits").text)
        assert not any("<" in each for each in attributes)


def test_g80_what_runs_in_a_terminal_is_refused_in_requests(anna: Caller) -> None:
    for text in ("\x1b[31m", "\x07", "\x9b", "\r"):
        assert anna.post("/datasets/visits/plan", {**COUNT, "where": [f"city = '{text}'"]}).status_code == 400


def test_g81_what_browsers_are_told(world: World) -> None:
    key = world.key("anna")
    id = world.caller(key).ask(COUNT).json()["id"]
    with signed_in(world, key) as http:
        for place in ("/", "/history", "/style.css", "/nothing", f"/answers/{id}", f"/answers/{id}/csv"):
            headers = http.get(place).headers
            assert headers["cache-control"] == "no-store"
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "script-src" not in policy
        assert "attachment" in http.get(f"/answers/{id}/csv").headers["content-disposition"]
        assert "access-control-allow-origin" not in http.get("/", headers={"Origin": "http://evil.example"}).headers
        for body in ("", "token=", "token=x"):
            refused = http.post("/data/visits/plan", content=body, headers={"Content-Type": "text/plain"})
            assert refused.status_code == 401


def test_g82_a_plan_does_not_look_at_the_data(anna: Caller, world: World) -> None:
    before = anna.post("/datasets/visits/plan", SQL).content
    os.rename(world.folder / "visits.csv", world.folder / "moved.csv")
    try:
        assert anna.post("/datasets/visits/plan", SQL).content == before
    finally:
        os.rename(world.folder / "moved.csv", world.folder / "visits.csv")
