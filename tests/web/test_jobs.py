"""Questions that take a while: looked at again, withdrawn before the charge, and told at multiples of a period."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import dither.release
import dither.web.app
from dither.web.pace import wait_for
from tests.web.world import COUNT, Caller, World, describe, service

LATER = {"Prefer": "respond-async"}


@contextmanager
def held() -> Iterator[threading.Event]:
    """Engines that answer when they are told to, as on a long question; the charge comes before."""
    go_on, real = threading.Event(), dither.release._drawn

    def slow(*given: Any) -> Any:
        assert go_on.wait(300)
        return real(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dither.release, "_drawn", slow)
        try:
            yield go_on
        finally:
            go_on.set()


def test_the_plans_of_one_key_leave_room_for_those_of_others(
    anna: Caller, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan is free and may take seconds: one analyst could else keep all threads that make them."""
    berta, go_on, real = world.caller(world.key("berta")), threading.Event(), world.service.plan

    def slow(key: Any, *given: Any) -> Any:
        assert key.name == "berta" or go_on.wait(300)
        return real(key, *given)

    monkeypatch.setattr(world.service, "plan", slow)
    with ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(anna.post, "/datasets/visits/plan", COUNT) for _ in range(20)]
        try:
            time.sleep(0.2)
            assert berta.post("/datasets/visits/plan", COUNT).status_code == 200
            assert not any(each.done() for each in asked)
        finally:
            go_on.set()
        assert {each.result().status_code for each in asked} == {200}


def until(caller: Caller, id: str, *states: str) -> dict[str, Any]:
    """The question when it is in one of these states."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        found: dict[str, Any] = caller.get(f"/questions/{id}").json()
        if found["state"] in states:
            return found
        time.sleep(0.01)
    raise AssertionError(found)


def later(caller: Caller, name: str) -> str:
    """Ask without waiting."""
    answer = caller.post("/datasets/visits/release", COUNT, **{"Idempotency-Key": name, **LATER})
    assert (answer.status_code, answer.headers["location"]) == (202, f"/api/questions/{answer.json()['id']}")
    return str(answer.json()["id"])


def test_a_job_is_looked_at_again_and_answered_once(anna: Caller, world: World) -> None:
    with held() as go_on:
        id = later(anna, "one")
        until(anna, id, "running")
        assert later(anna, "one") == id  # sent again it is the same
        assert anna.get(f"/answers/{id}").status_code == 400
        go_on.set()
        assert until(anna, id, "answered")["told"] == ""
    assert anna.get(f"/answers/{id}").content == anna.ask(COUNT, "one").content
    assert world.spent == "1/100"


def test_d52_what_waits_for_its_turn_is_withdrawn_for_nothing(anna: Caller, world: World) -> None:
    """Three are at work, as many as may fail; the others wait in the order in which they came."""
    with held() as go_on:
        first = [later(anna, f"at-work-{number}") for number in range(3)]
        for id in first:
            until(anna, id, "running")
        fourth, fifth = later(anna, "fourth"), later(anna, "fifth")
        assert [anna.get(f"/questions/{id}").json()["ahead"] for id in (first[0], fourth, fifth)] == [None, 0, 1]
        assert anna.delete(f"/questions/{fourth}").json() == {"id": fourth, "state": "withdrawn"}
        begun = anna.delete(f"/questions/{first[0]}")
        assert (begun.status_code, "begun" in begun.json()["error"]) == (400, True)
        go_on.set()
        for id in (*first, fifth):
            until(anna, id, "answered")
        assert anna.get(f"/questions/{fourth}").json()["state"] == "withdrawn"
    assert (anna.ask(COUNT, "fourth").status_code, world.spent) == (400, "1/25")


def test_a_job_says_why_it_was_not_answered(anna: Caller, world: World) -> None:
    dear = anna.post("/datasets/visits/release", {**COUNT, "epsilon": "9"}, **LATER).json()["id"]
    found = until(anna, dear, "refused")
    assert ("left" in found["told"], world.spent) == (True, "0")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dither.release, "_drawn", lambda exact, draw: None)
        failed = until(anna, later(anna, "failing"), "failed")
    assert (failed["told"].startswith("the question was charged"), world.spent) == (True, "1/100")
    assert anna.ask(COUNT, "failing").status_code == 200  # tried again under its key, and not charged again
    assert until(anna, failed["id"], "answered")["told"] == ""
    assert world.spent == "1/100"


def test_one_key_cannot_fill_the_queue(anna: Caller, world: World) -> None:
    with held():
        seen = [
            anna.post("/datasets/visits/release", COUNT, **{"Idempotency-Key": str(number), **LATER}).status_code
            for number in range(70)
        ]
    assert (seen.count(202), seen.count(429)) == (64, 6)


def test_d52_a_client_that_goes_away_has_paid_and_finds_the_answer_later(anna: Caller, world: World) -> None:
    with held() as go_on:
        patience = httpx.Timeout(120, read=1)
        with httpx.Client(base_url=world.http.base_url, timeout=patience) as hasty, pytest.raises(httpx.ReadTimeout):
            Caller(hasty, anna.key).ask(COUNT, "mine")
        while not (found := anna.get("/questions").json()):  # on a busy machine it may be on its way still
            time.sleep(0.01)
        (asked,) = found
        until(anna, asked["id"], "running")
        go_on.set()
        until(anna, asked["id"], "answered")
    assert anna.get(f"/answers/{asked['id']}").status_code == 200
    assert world.spent == "1/100"


def test_multiples_of_a_period() -> None:
    assert wait_for(began=10.0, period=1.0, now=10.0) == 1.0  # one period passes in any case
    assert wait_for(began=10.0, period=1.0, now=10.25) == 0.75
    assert wait_for(began=10.0, period=1.0, now=12.25) == 0.75
    assert wait_for(began=10.0, period=0.0, now=12.25) == 0.0


def test_g83_nobody_sees_more_than_the_number_of_periods(tmp_path: Path) -> None:
    """Neither who asked, nor who asks the same a little later, nor who looks at the history; nor does the queue move.

    Only lower ends of times are compared, so that a busy machine cannot make this fail.
    """
    period = 1.5
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("period = 0\n", f"period = {period}\n"))
    with service(file) as world, ThreadPoolExecutor(4) as pool:
        anna = world.caller(world.key("anna"))
        anna.get("/datasets")
        began = time.monotonic()

        def asked(wait: float) -> float:
            time.sleep(wait)
            with httpx.Client(base_url=world.http.base_url, timeout=300) as http:
                assert Caller(http, anna.key).ask(COUNT, "same").status_code == 200
            return time.monotonic() - began

        first, staggered = pool.submit(asked, 0.0), [pool.submit(asked, wait) for wait in (0.3, 0.6)]
        seen = []
        while time.monotonic() - began < period * 0.8:
            seen.append(([each["state"] for each in anna.get("/questions").json()], time.monotonic() - began))
            time.sleep(0.05)
        assert all("answered" not in states for states, at in seen if at < period)
        assert first.result() >= period
        assert all(each.result() >= period for each in staggered)  # that of who asked first, for all


def test_refusals_of_a_release_come_at_multiples_too(tmp_path: Path) -> None:
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("period = 0\n", "period = 0.5\n"))
    with service(file) as world:
        anna = world.caller(world.key("anna"))
        anna.get("/datasets")
        began = time.monotonic()
        assert anna.ask({**COUNT, "epsilon": "7"}).status_code == 402
        assert time.monotonic() - began >= 0.5


def test_g83_the_ledger_does_not_tell_when_an_engine_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of the next entry, which is in its certificate, would say whether it was done before."""
    monkeypatch.setattr(dither.web.app, "_GRACE", 2)
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("period = 0\n", "period = 3000\n"))
    drawn, real = threading.Semaphore(0), dither.release._drawn

    def seen(*given: Any) -> Any:
        try:
            return real(*given)
        finally:
            drawn.release()

    monkeypatch.setattr(dither.release, "_drawn", seen)
    with service(file) as world:
        anna = world.caller(world.key("anna"))
        for name in ("first", "second"):
            until(anna, later(anna, name), "running")
            assert drawn.acquire(timeout=300)
        kinds = [entry.kind for entry in world.service.offered["visits"].ledger.entries()]
        assert kinds == ["budget", "charge", "attempt", "charge", "attempt"]
    file.write_text(file.read_text().replace("period = 3000\n", "period = 0\n"))
    with service(file) as world:  # stopped in good order, both have their outcomes
        assert world.service.offered["visits"].account.failures.unanswered == 0
        assert world.caller(anna.key).ask(COUNT, "first").status_code == 200
        assert world.spent == "1/50"


def test_g83_a_question_that_fails_is_told_at_a_multiple_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dither.release, "_drawn", lambda exact, draw: None)
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("period = 0\n", "period = 0.5\n"))
    with service(file) as world:
        anna = world.caller(world.key("anna"))
        began = time.monotonic()
        assert anna.ask(COUNT).status_code == 503
        assert time.monotonic() - began >= 0.5
