"""What analysts and owners get over HTTP, and what it costs."""

import io
import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

import dither as dp
import dither.release
from dither.ledger import Ledger
from tests.cli.world import SECRETS, run
from tests.web.world import COUNT, SQL, Caller, World, describe, service


def _unit(world: World) -> dp.adjacency.Adjacency:
    return world.service.offered["visits"].data.origin.unit.adjacency


def test_public_facts_are_told_and_no_others(anna: Caller, world: World) -> None:
    (real, practice) = anna.get("/datasets").json()
    assert (real["name"], practice["name"]) == ("visits", "visits-practice")
    assert (real["practice"], practice["practice"]) == (False, True)
    columns = {each["name"]: each for each in real["columns"]}
    assert columns["city"]["keys"] == ["Paris", "Lyon"]
    assert columns["cost"]["bounds"] == ["0", "200"]
    assert [columns[name]["kind"] for name in ("user_id", "city", "age")] == ["text", "text", "number"]
    assert columns["user_id"]["identifies"] == "a person"
    assert real["remaining"] == real["left_to_you"] == {"epsilon": "1", "delta": "0"}
    assert not any(secret in anna.get("/datasets").text for secret in SECRETS)


@pytest.mark.parametrize("question", [COUNT, SQL, {**COUNT, "where": ["age >= 18"], "agg": {"m": "mean(cost)"}}])
def test_a_plan_is_free_and_a_release_is_charged(question: dict[str, object], anna: Caller, world: World) -> None:
    planned = anna.post("/datasets/visits/plan", question).json()
    assert planned["cost"]["epsilon"] == question["epsilon"]
    assert world.spent == "0"
    answered = anna.ask(question)
    assert answered.status_code == 200, answered.text
    assert [row["city"] for row in answered.json()["rows"]] == ["Paris", "Lyon"]
    assert world.spent == str(dp.PureDP(str(question["epsilon"])).stated_epsilon)


def test_d53_the_same_key_gives_the_same_bytes_and_pays_once(anna: Caller, world: World) -> None:
    first, second = anna.ask(SQL, "once"), anna.ask(SQL, "once")
    assert first.status_code == second.status_code == 200
    assert first.content == second.content
    assert anna.get(f"/answers/{first.json()['id']}").content == first.content
    assert world.spent == "1/10"
    assert anna.ask({**SQL, "epsilon": "0.2"}, "once").status_code == 409
    assert anna.ask(COUNT, "once").status_code == 409
    assert world.spent == "1/10"
    other = world.caller(world.key("berta"))
    assert other.ask(SQL, "once").content != first.content  # a key is one's own
    assert world.spent == "1/5"


def test_d48_prices_are_exact(anna: Caller, world: World) -> None:
    """0.1 as a number of JSON is 1/10, so that ten of them are the budget; the eleventh is too much."""
    for _ in range(10):
        assert anna.ask({**COUNT, "epsilon": 0.1}).status_code == 200
    assert world.spent == "1"
    refused = anna.ask({**COUNT, "epsilon": "0.000001"})
    assert refused.status_code == 402
    assert "left" in refused.json()["error"]


def test_a_share_holds_and_so_does_the_cap(world: World) -> None:
    anna, berta = world.caller(world.key("anna", "0.3")), world.caller(world.key("berta", "0.9"))
    assert anna.ask({**COUNT, "epsilon": "0.3"}, "all").status_code == 200
    assert anna.ask({**COUNT, "epsilon": "0.3"}, "all").status_code == 200  # the same answer again
    refused = anna.ask({**COUNT, "epsilon": "0.01"})
    assert (refused.status_code, refused.json()["error"].startswith("Of your share, ")) == (402, True)
    shortage = "It would be refused: it costs epsilon 0.01, and 0 is left."
    assert anna.post("/datasets/visits/plan", COUNT).json()["shortage"] == shortage
    assert berta.post("/datasets/visits/plan", COUNT).json()["shortage"] is None
    assert world.spent == "3/10"
    assert anna.get("/datasets/visits").json()["left_to_you"]["epsilon"] == "0"
    assert berta.ask({**COUNT, "epsilon": "0.8"}).status_code == 402  # within the share, beyond the cap
    beyond = berta.post("/datasets/visits/plan", {**COUNT, "epsilon": "0.8"}).json()["shortage"]
    assert beyond == "It would be refused: it costs epsilon 0.8, and 0.7 is left."
    assert world.spent == "3/10"
    assert berta.get("/datasets/visits").json()["left_to_you"]["epsilon"] == "0.7"
    assert berta.ask({**COUNT, "epsilon": "0.7"}).status_code == 200
    assert world.spent == "1"
    ledger = Ledger(world.folder / "visits.ledger")
    assert ledger.verify() > 0
    charges = [entry for entry in ledger.entries() if entry.kind == "charge"]
    assert [entry.content["by"] for entry in charges] == ["anna", "anna", "berta", "berta"]
    ledger.close()
    listed = run("ledger", str(world.folder / "visits.ledger")).out
    assert listed.count("n = count()") == 2  # the charge to a share is the same one, not a second


def test_answers_can_be_downloaded_and_checked(anna: Caller, world: World) -> None:
    found = anna.ask(SQL).json()
    csv, parquet, rows, certificate = (
        anna.get(f"/answers/{found['id']}/{form}") for form in ("csv", "parquet", "json", "certificate")
    )
    assert rows.json() == found["rows"]
    assert pyarrow.csv.read_csv(io.BytesIO(csv.content)).column("n").to_pylist() == [row["n"] for row in found["rows"]]
    assert pyarrow.parquet.read_table(io.BytesIO(parquet.content)).num_rows == 2
    assert "attachment" in csv.headers["content-disposition"]
    assert certificate.json() == found["certificate"]
    assert dp.check_certificate(certificate.json()).guarantee == dp.PureDP("0.1", adjacency=_unit(world))
    assert world.spent == "1/10"
    assert anna.get(f"/answers/{found['id']}/exe").status_code == 400


def test_nobody_sees_the_questions_of_others_but_the_owner(anna: Caller, owner: Caller, world: World) -> None:
    found = anna.ask(SQL).json()
    other = world.caller(world.key("berta"))
    assert other.get("/questions").json() == []
    assert other.get(f"/answers/{found['id']}").status_code == 401
    assert other.get(f"/questions/{found['id']}").status_code == 401
    assert owner.get(f"/answers/{found['id']}").json() == found
    assert [each["id"] for each in owner.get("/questions").json()] == [found["id"]]
    (charge,) = owner.get("/datasets/visits/spending").json()
    assert (charge["by"], charge["cost"]["epsilon"]) == ("anna", "0.1")


def test_practice_costs_nothing_and_comes_from_public_facts(anna: Caller, world: World) -> None:
    found = anna.ask({**SQL, "epsilon": "5"}, of="visits-practice")
    assert found.status_code == 200, found.text
    assert {row["city"] for row in found.json()["rows"]} == {"Paris", "Lyon"}
    assert world.spent == "0"
    rows = world.service.offered["visits-practice"].data._table.to_pyarrow()
    assert not any(secret in str(rows.to_pydict()) for secret in SECRETS)


def test_a_question_waits_for_the_owner(tmp_path: Path) -> None:
    with service(describe(tmp_path, server="approval = true")) as world:
        anna, owner = world.caller(world.key("anna")), world.caller(world.key("olga", is_owner=True))
        waiting = anna.ask(SQL, "mine")
        assert (waiting.status_code, waiting.json()["state"], world.spent) == (202, "waiting", "0")
        assert anna.post(f"/questions/{waiting.json()['id']}/accept").status_code == 401
        assert anna.get(f"/answers/{waiting.json()['id']}").status_code == 400
        assert owner.post(f"/questions/{waiting.json()['id']}/accept").json()["state"] == "accepted"
        assert anna.ask(SQL, "mine").status_code == 200
        assert world.spent == "1/10"
        other = anna.ask(COUNT, "other").json()
        assert owner.post(f"/questions/{other['id']}/decline").status_code == 200
        assert (anna.ask(COUNT, "other").status_code, world.spent) == (400, "1/10")
        third = anna.ask(COUNT, "third").json()
        assert anna.delete(f"/questions/{third['id']}").status_code == 200
        assert (anna.ask(COUNT, "third").status_code, world.spent) == (400, "1/10")


def test_d52_failures_stop_the_dataset_until_the_owner_resumes(anna: Caller, owner: Caller, world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dither.release, "_drawn", lambda exact, draw: None)  # as when the engine is out of memory
        for _ in range(3):
            failed = anna.ask(COUNT)
            assert failed.status_code == 503, failed.text
            assert failed.json()["error"].startswith("the question was charged")
    stopped = anna.ask(COUNT)
    assert (stopped.status_code, "stopped" in stopped.text) == (503, True)
    assert anna.get("/datasets/visits").json()["stopped"] is True
    assert anna.post("/datasets/visits/resume").status_code == 401
    assert owner.post("/datasets/visits/resume").json() == {"lifted": 3}
    assert anna.ask(COUNT).status_code == 200
    assert world.spent == "1/25"  # what failed stays charged


def test_metrics_and_the_document_of_the_api(anna: Caller, owner: Caller) -> None:
    anna.ask(COUNT)
    assert 'dither_events_total{event="answers"} 1' in owner.get("/metrics").text
    paths = anna.get("/openapi.json").json()["paths"]
    assert "/api/datasets/{name}/release" in paths
    assert json.dumps(paths).count("security") >= 13
