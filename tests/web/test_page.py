"""What the page says to an analyst, without a browser."""

import json
import re
import time
from datetime import date
from fractions import Fraction
from html import unescape
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet

from dither.web.question_forms import fields_of, question_of
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
        assert plan.count('data-name="error (95 %)"') == 2
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


def test_groups_of_the_form_have_the_keys_that_the_owner_states(world: World) -> None:
    with signed_in(world, world.key("anna")) as http:
        plan = planned(http, {"agg": "n = count", "group_by": "city", "epsilon": "0.1"})
        assert (plan.status_code, "The plan" in plan.text) == (200, True)
        assert "delta" not in plan.text


def test_a_question_that_a_stopped_service_began_is_sent_again_from_its_page(world: World) -> None:
    anna = world.key("anna")
    (key,) = (each for each in world.service.keyring.all() if each.name == "anna")
    asked = world.service.ask(key, "visits", json.dumps({**_fields(), "epsilon": "0.1"}).encode(), "march")
    world.service.questions.begin(asked.id)
    before = Fraction(world.spent)
    with signed_in(world, anna) as http:
        page = http.get(f"/answers/{asked.id}").text
        assert "Send it again" in page
        token = re.findall('name="token" value="([0-9a-f]+)"', page)[0]
        http.post(f"/questions/{asked.id}/collect", data={"token": token})
        deadline = time.monotonic() + 300
        while "It cost" not in page and time.monotonic() < deadline:
            page = http.get(f"/answers/{asked.id}").text
        assert "It cost" in page
    assert Fraction(world.spent) - before == Fraction(1, 10)


def test_an_answer_that_the_ledger_does_not_have_is_not_drawn_anew(tmp_path: Path) -> None:
    """As after a restore from an older copy: to look is for nothing, and nobody gets a second draw."""
    with service(describe(tmp_path)) as world:
        anna = world.key("anna")
        asked = world.caller(anna).ask({**_fields(), "epsilon": "0.1"}, key="march").json()
    file = tmp_path / "dither.toml"
    file.write_text(file.read_text().replace("visits.ledger", "new.ledger"))
    with service(file) as world:
        caller = world.caller(anna)
        found = caller.get(f"/answers/{asked['id']}")
        again = caller.ask({**_fields(), "epsilon": "0.1"}, key="march")
        for each in (found, again):
            assert (each.status_code, "not in the ledger" in each.json()["error"]) == (409, True)
        assert world.spent == "0"


def test_a_question_without_enough_left_has_no_button_to_pay(world: World) -> None:
    with signed_in(world, world.key("anna", "0.05")) as http:
        dear = planned(http, _fields()).text
        assert "It would be refused" in dear
        assert "Pay and answer" not in dear
        assert "Change the question" in dear
        assert "Pay and answer" in planned(http, {**_fields(), "epsilon": "0.01"}).text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ({"group_by": "city", "keys": "Paris, 'Rome, Italy'"}, {"group_by": ["city"], "keys": "Paris, 'Rome, Italy'"}),
        ({"group_by": "city, level"}, {"group_by": ["city", "level"]}),
        ({"group_by": "band = bins(age, [0, 50]), city"}, {"group_by": ["band = bins(age, [0, 50])", "city"]}),
        ({"delta": "1e-7"}, {"delta": "1e-7"}),
    ],
)
def test_what_a_form_asks_and_that_it_can_be_changed(typed: dict[str, str], meant: dict[str, object]) -> None:
    fields = {"agg": "n = count", "epsilon": "0.1", **typed}
    asked = question_of(fields)
    assert asked == {"agg": {"n": "count"}, "epsilon": "0.1", **meant}
    assert fields_of(json.dumps(asked)) == fields


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"agg": "n = count\nn = mean(cost)"}, "two lines have the name 'n'"),
        ({"group_by": "city, level", "keys": "Paris, 1"}, "keys in one text are those of one column"),
        ({"group_by": "city", "keys": "Paris, 'Lyon"}, "a quote that is not closed"),
        ({"epsilon": ""}, "say what the answer may cost"),
    ],
)
def test_a_form_says_what_is_wrong_with_it(typed: dict[str, str], words: str, world: World) -> None:
    with signed_in(world, world.key("anna")) as http:
        found = planned(http, {"agg": "n = count", "epsilon": "0.1", **typed})
        assert (found.status_code, words in unescape(found.text)) == (400, True)


@pytest.mark.parametrize(
    ("budget", "fields", "cost"),
    [
        ("rho = 1", {"sql": SQL["sql"], "rho": "0.1"}, "0.1"),
        ("rho = 1", {"agg": "n = count", "rho": "0.1"}, "0.1"),
        (
            "epsilon = 1\ndelta = 1e-6",
            {"agg": "n = count", "group_by": "age", "epsilon": "0.1", "delta": "1e-7"},
            "0.1",
        ),
    ],
)
def test_the_page_asks_for_a_price_in_the_figures_of_the_budget(
    budget: str, fields: dict[str, str], cost: str, tmp_path: Path
) -> None:
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("epsilon = 1", budget))
    with service(file) as world, signed_in(world, world.service.keyring.add("anna", {"visits": {}})) as http:
        labels = re.findall("<label[^>]*>Price [(]([a-z]+)[)]", http.get("/data/visits").text)
        assert set(labels) == ({"rho"} if "rho" in budget else {"epsilon", "delta"})
        plan = planned(http, fields).text
        assert "Pay and answer" in plan
        assert f"It would cost {'ρ' if 'rho' in budget else 'ε'} = {cost}" in plan
        if "delta" in budget:
            assert "Of delta, 1e-06 of 1e-06 is left." in http.get("/").text


def test_groups_are_typed_as_their_column_holds_them(tmp_path: Path) -> None:
    """Whole numbers and days, from a form and over HTTP, where all are texts."""
    rows = {
        "user_id": [1, 2],
        "city": ["75001", "75002"],
        "age": [30, 40],
        "day": [date(2024, 1, 31)] * 2,
        "cost": [1.0, 2.0],
    }
    parquet.write_table(pa.table(rows), tmp_path / "visits.parquet")
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("visits.csv", "visits.parquet").replace('age = "number"\n', ""))
    with service(file) as world:
        key = world.key("anna")
        with signed_in(world, key) as http:
            for groups, keys in (("age", "30, 40"), ("day", "2024-01-31, 2024-02-01"), ("city", "75001, 75002")):
                asked = {"agg": "n = count", "epsilon": "0.1", "group_by": groups, "keys": keys}
                assert "Pay and answer" in planned(http, asked).text, groups
        anna = world.caller(key)
        count = {"agg": {"n": "count"}, "epsilon": "0.1"}
        for grouped in (
            {"group_by": ["day"], "keys": ["2024-01-31"]},
            {"group_by": ["day", "city"], "keys": [["2024-01-31", "75001"]]},
            {"group_by": ["day", "city"], "keys": {"day": ["2024-01-31"], "city": ["75001"]}},
        ):
            assert anna.post("/datasets/visits/plan", {**count, **grouped}).status_code == 200, grouped
        for wrong in ("2024-13-31", "January 31", ""):
            refused = anna.post("/datasets/visits/plan", {**count, "group_by": ["day"], "keys": [wrong]})
            assert (refused.status_code, "kind of their column" in refused.json()["error"]) == (400, True)


def test_the_owner_sees_the_whole_plan_of_a_question_that_waits(tmp_path: Path) -> None:
    with service(describe(tmp_path, server="approval = true\npractice = false")) as world:
        assert world.caller(world.key("anna")).ask(SQL).json()["state"] == "waiting"
        with signed_in(world, world.key("olga", is_owner=True)) as http:
            shown = http.get("/owner").text
        assert "Laplace, scale" in shown
        assert "error (95 %)" in shown
        assert "Somebody who is 50 % sure" in shown
        assert "At most 1 row of each user_id" in shown


def test_examples_of_names_that_are_no_plain_words_can_be_typed(tmp_path: Path) -> None:
    file = describe(tmp_path, server="practice = false")
    (tmp_path / "my visits.csv").write_text((tmp_path / "visits.csv").read_text().replace("city", "the city", 1))
    file.write_text(file.read_text().replace("visits.csv", "my visits.csv").replace("city =", '"the city" ='))
    with service(file) as world, signed_in(world, world.service.keyring.add("anna", {"my visits": {}})) as http:
        place = "/data/my%20visits"
        hints = dict(re.findall('<small id="about-([^"]+)">Such as (.*?)</small>', http.get(place).text))
        token = re.findall('name="token" value="([0-9a-f]+)"', http.get(place).text)[0]
        hints = {name: unescape(hint) for name, hint in hints.items()}
        assert hints["sql"] == 'SELECT "the city", COUNT(*) AS n FROM "my visits" GROUP BY "the city"'
        asked = {name: hints[name] for name in ("where", "group_by", "keys")}
        for fields in ({"sql": hints["sql"]}, {"agg": "n = count", **asked}):
            found = http.post(f"{place}/plan", data={"token": token, "epsilon": hints["epsilon"], **fields})
            assert "Pay and answer" in found.text
