"""Requests that nobody should send: refused in a sentence, with nothing spent and nothing told (D47, D59, D60, G79)."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.world import SECRETS
from tests.web.world import COUNT, SQL, Caller, World, describe, service

SEED = 20_261_118


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with service(describe(tmp_path_factory.mktemp("requests"))) as found:
        yield found


@pytest.fixture(scope="module")
def caller(shared: World) -> Caller:
    return shared.caller(shared.key("anna"))


def told(answer: httpx.Response) -> str:
    """The sentence of a refusal, which is all that a refusal holds."""
    assert 400 <= answer.status_code < 500, answer.text
    (sentence,) = answer.json().values()
    assert not any(secret in sentence for secret in SECRETS)
    assert "Traceback" not in sentence
    assert "site-packages" not in sentence
    return str(sentence)


PRICES: tuple[object, ...] = ("nan", -5, "-0.1", 0, "0", "1e999", True, None, [], {}, "x" * 500)
CHANGES: list[dict[str, object]] = [
    {"join": {"city": "/etc/passwd"}},
    {"join": {"city": "cities.csv"}},
    {"key": "mine"},
    {"ledger": "x"},
    {"source": "/etc/passwd"},
    {"unit": {"rows": "replace"}},
    {"max_groups": 1000},
    {"where": ["age >= "]},
    {"where": ["(" * 500 + "age"]},
    {"agg": {}},
    {"agg": {"n": "count; DROP TABLE"}},
    {"agg": {"n": "sum(salary, 0, 1)"}},
    {"agg": "count"},
    {"agg": {"n\x00": "count"}},
    {"keys": [{"a": 1}]},
    {"group_by": ["user_id"], "keys": None},
    {"level": 2},
    {"noise": "none"},
    {"weights": {"n": -1}},
]
TEXTS = [
    "",
    "SELECT user_id FROM visits",
    "SELECT * FROM read_csv('/etc/passwd')",
    "DROP TABLE visits",
    "SELECT COUNT(*) FROM visits; SELECT 1",
    "SELECT COUNT(*) FROM '/etc/passwd'",
    "SELECT " + "(" * 1000 + "1",
    "COPY visits TO 'x'",
    "SELECT COUNT(*) FROM pg_catalog.pg_class",
]
BODIES = [
    *(b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 50_000, b" " * 200_000),
    b'{"epsilon": NaN, "agg": {"n": "count"}}',
    b'{"epsilon": Infinity, "agg": {"n": "count"}}',
    b'{"epsilon": 1, "epsilon": 0.1, "agg": {"n": "count"}}',
    b'{"agg": {"n": "count", "n": "count"}, "epsilon": 1}',
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b'{"epsilon": 1' + b"0" * 5_000 + b"}",
    *(json.dumps({**COUNT, "epsilon": price}).encode() for price in PRICES),
    *(json.dumps({**COUNT, **change}).encode() for change in CHANGES),
    *(json.dumps({"sql": text, "epsilon": 1}).encode() for text in TEXTS),
]


@pytest.mark.parametrize("path", ["plan", "release"])
def test_d47_d60_malformed_questions_are_refused(path: str, caller: Caller, shared: World) -> None:
    for body in BODIES:
        told(caller.post(f"/datasets/visits/{path}", body))
    assert shared.spent == "0"


@pytest.mark.parametrize("key", ["", "a b", "x" * 201, "é", "a\tb"])
def test_malformed_idempotency_keys_are_refused(key: str, caller: Caller, shared: World) -> None:
    if key:  # an empty one is none
        headers = {b"Idempotency-Key": key.encode(), b"Authorization": f"Bearer {caller.key}".encode()}
        told(shared.http.post("/api/datasets/visits/release", json=COUNT, headers=headers))
    assert shared.spent == "0"


PIECES = ('"', "{", "[", ",", ":", "1e9", "null", "\\u0000", "'", "--", "😀", "(" * 50, "\\ud800", " ")


def mutated(choose: random.Random) -> bytes:
    """A question with something wrong somewhere, most of the time."""
    text = json.dumps(choose.choice([COUNT, SQL]))
    for _ in range(choose.randint(1, 4)):
        at, kind = choose.randrange(len(text)), choose.randrange(4)
        piece = choose.choice(
            ['"', "{", "[", ",", ":", "1e9", "null", "\\u0000", "'", "--", "😀", "(" * 50, "\\ud800", " "]
        )
        text = {
            0: text[:at] + text[at + 1 :],
            1: text[:at] + piece + text[at:],
            2: text[:at] + text[at : at + 10] * 20 + text[at:],
            3: text[:at] + chr(choose.randrange(32, 1000)) + text[at + 1 :],
        }[kind]
    return text.encode("utf-8", "replace")


def bombard(caller: Caller, shared: World, number: int, seed: int) -> None:
    choose = random.Random(seed)
    seen = set()
    for _ in range(number):
        answer = caller.post("/datasets/visits/plan", mutated(choose))
        seen.add(answer.status_code)
        if answer.status_code != 200:
            told(answer)
    assert seen <= {200, 400, 413}
    assert 400 in seen
    assert shared.spent == "0"


def test_random_requests_never_break_it(caller: Caller, shared: World) -> None:
    bombard(caller, shared, 200, SEED)


@pytest.mark.nightly
def test_ten_thousand_random_requests_never_break_it(caller: Caller, shared: World) -> None:
    bombard(caller, shared, 10_000, SEED + 1)


@pytest.mark.parametrize(
    "path", ["", "/", "/../../etc/passwd", "/%2e%2e/x", "/datasets//plan", "/answers/" + "x" * 5000]
)
def test_odd_addresses_lead_nowhere(path: str, caller: Caller) -> None:
    assert caller.get(path).status_code in (401, 404, 405)


def test_every_response_says_how_it_may_be_used(caller: Caller) -> None:
    for answer in (caller.get("/datasets"), caller.get("/nothing"), caller.post("/datasets/visits/plan", b"{")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers


def test_who_shows_no_key_may_try_a_tenth_as_often(tmp_path: Path) -> None:
    """A try costs 40 ms, so that many would keep others waiting."""
    file = describe(tmp_path, server="practice = false")
    file.write_text(file.read_text().replace("requests_per_second = 100000", "requests_per_second = 1"))
    with service(file) as world:
        anna = world.caller(world.key("anna"))
        world.service.keyring.authenticated(anna.key)  # it is known
        assert world.caller("").get("/datasets").status_code == 429  # of a burst of 0.2 nothing is whole
        assert anna.get("/datasets").status_code == 200


def test_requests_are_counted_and_too_many_are_turned_away(tmp_path: Path) -> None:
    file = describe(tmp_path)
    file.write_text(
        file.read_text().replace("requests_per_second = 100000", "requests_per_second = 0.001\npractice = false")
    )
    with service(file) as world:  # of a burst of two seconds' worth nothing is whole
        assert world.caller(world.key("anna")).get("/datasets").status_code == 429
