"""Rights are those of the key that is shown, until the charge; and with approval nothing is charged without it."""

import re
from pathlib import Path

import httpx
import pytest

from dither.web.access_keys import Refused
from tests.web.test_jobs import held, later, until
from tests.web.world import COUNT, Caller, World, describe, service, signed_in


def collected(http: httpx.Client, id: str) -> httpx.Response:
    """As with the button *Pay and answer*."""
    token = re.findall('name="token" value="([0-9a-f]+)"', http.get("/history").text)[0]
    return http.post(f"/questions/{id}/collect", data={"token": token})


def test_d58_another_key_of_the_same_name_has_its_own_rights(tmp_path: Path) -> None:
    """Who may not ask of the visits any more gets no answer about them, and none without the share."""
    with service(describe(tmp_path, server="approval = true\npractice = false")) as world:
        anna, owner = world.caller(world.key("anna", "0.05")), world.caller(world.key("olga", is_owner=True))
        first, dear = (anna.ask({**COUNT, "epsilon": each}, each).json()["id"] for each in ("0.01", "0.5"))
        for id in (first, dear):
            assert owner.post(f"/questions/{id}/accept").status_code == 200
        answer = anna.ask(COUNT, "0.01")
        world.service.keyring.revoke("anna")
        with signed_in(world, world.service.keyring.add("anna", {"sales": {}})) as http:
            assert http.get("/history").text.count("answered") == 0
            for refused in (collected(http, dear), http.get(f"/answers/{first}"), http.get(f"/answers/{first}/csv")):
                assert refused.status_code == 401
        assert owner.get(f"/answers/{first}").content == answer.content
        assert world.spent == "1/100"


def test_d58_what_waits_for_its_turn_is_not_charged_under_a_key_that_was_revoked(anna: Caller, world: World) -> None:
    with held() as go_on:
        owner = world.caller(world.key("olga", is_owner=True))
        for id in [later(anna, f"at-work-{number}") for number in range(3)]:
            until(anna, id, "running")
        mine = later(world.caller(world.key("berta")), "mine")
        rotated = later(world.caller(world.key("carla")), "rotated")
        world.service.keyring.revoke("berta")
        world.service.keyring.rotate("carla")
        go_on.set()
        assert until(owner, mine, "refused", "answered")["state"] == "refused"
        assert until(owner, rotated, "refused", "answered")["state"] == "answered"
    assert world.spent == "1/25"


def test_what_was_asked_before_the_owner_looks_first_waits_too(tmp_path: Path) -> None:
    """Nothing is answered that the owner has not accepted, however it was asked."""
    file = describe(tmp_path, server="practice = false")
    with service(file) as world:
        key = world.key("anna")
        anna = world.caller(key)
        assert anna.ask({**COUNT, "epsilon": "7"}, "dear").status_code == 402
        dear = anna.get("/questions").json()[0]["id"]
        (found,) = world.service.keyring.all()
        asked = world.service.ask(found, "visits", b'{"agg": {"n": "count"}, "epsilon": "0.01"}', "asked").id
        assert anna.ask(COUNT, "paid").status_code == 200
    file.write_text(file.read_text() + "approval = true\n")
    with service(file) as world:
        anna, owner = world.caller(key), world.caller(world.key("olga", is_owner=True))
        with signed_in(world, key) as http:
            for id in (asked, dear):
                assert "Waiting" in collected(http, id).text
        assert anna.ask({**COUNT, "epsilon": "7"}, "dear").json()["state"] == "waiting"
        assert anna.ask(COUNT, "paid").status_code == 200
        assert world.spent == "1/100"
        assert owner.post(f"/questions/{asked}/accept").status_code == 200
        with signed_in(world, key) as http:
            assert "It cost" in collected(http, asked).text
        assert world.spent == "1/50"


def test_a_key_that_was_revoked_is_counted_as_a_strangers(anna: Caller, world: World) -> None:
    """A test of it costs as much as any guess."""
    ring = world.service.keyring
    anna.get("/datasets")
    assert ring.is_known(anna.key)
    ring.revoke("anna")
    with pytest.raises(Refused):
        ring.authenticated(anna.key)
    assert not ring.is_known(anna.key)
