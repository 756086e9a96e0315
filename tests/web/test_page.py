"""What the page says to an analyst, without a browser."""

import re
from html import unescape
from pathlib import Path

import httpx
import pytest

from tests.web.world import SQL, World, describe, service, signed_in


def planned(http: httpx.Client, fields: dict[str, str]) -> httpx.Response:
    token = re.findall('name="token" value="([0-9a-f]+)"', http.get("/data/visits").text)[0]
    return http.post("/data/visits/plan", data={"token": token, **fields})


@pytest.mark.parametrize("key", ["", "anna", "dither_0000000000000000_" + "0" * 64])
def test_a_wrong_key_may_be_typed_again(key: str, world: World) -> None:
    found = world.http.post("/sign-in", data={"key": key})
    assert (found.status_code, "set-cookie" in found.headers) == (401, False)
    assert "This key is unknown, expired or revoked. Try again." in found.text
    assert 'name="key"' in found.text


def test_the_example_of_what_to_ask_can_be_typed(world: World) -> None:
    with signed_in(world, world.key("anna")) as http:
        hint = re.findall('<small id="about-agg">Such as<br>(.*?)</small>', http.get("/data/visits").text)[0]
        typed = unescape(hint).replace("<br>", "\n")
        assert typed == "n = count\naverage = mean(cost)"
        found = planned(http, {"agg": typed, "epsilon": "0.1"})
        assert (found.status_code, "The plan" in found.text) == (200, True)


def test_the_plan_says_that_a_share_is_too_small(world: World) -> None:
    with signed_in(world, world.key("anna", "0.05")) as http:
        assert "It would be refused: it costs epsilon 0.1, and 0.05 is left." in planned(http, _fields()).text
    with signed_in(world, world.key("berta", "0.1")) as http:
        assert "It would be refused" not in planned(http, _fields()).text


def test_each_cell_of_a_card_has_the_name_of_its_column(world: World) -> None:
    """By which a small screen shows one below the other; texts of others stay texts there."""
    with signed_in(world, world.key("anna")) as http:
        plan = planned(http, _fields()).text
        assert re.findall(r'<td data-name="([^"]+)"><span>n</span>', plan) == ["column"]
        assert plan.count('data-name="error"') == 2
        named = planned(http, {"sql": 'SELECT COUNT(*) AS "<b>n" FROM visits', "epsilon": "0.1"}).text
        assert "<span>&lt;b&gt;n</span>" in named
        assert "<b>n" not in named


def test_the_button_says_who_is_asked(tmp_path: Path) -> None:
    with service(describe(tmp_path, server="approval = true\npractice = false")) as world:
        for key, button in (
            (world.key("anna"), "Ask the owner"),
            (world.key("olga", is_owner=True), "Pay and answer"),
        ):
            with signed_in(world, key) as http:
                buttons = re.findall("<button[^>]*>([^<]*)</button>", planned(http, _fields()).text)
                assert [each for each in buttons if each in ("Ask the owner", "Pay and answer")] == [button]


def _fields() -> dict[str, str]:
    return {name: str(SQL[name]) for name in ("sql", "epsilon")}
