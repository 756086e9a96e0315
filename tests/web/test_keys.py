"""Keys: shown once, hashed at rest, and refused alike whatever is wrong with them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dither.errors import ParameterError
from dither.web import access_keys
from dither.web.access_keys import Keyring, Refused
from dither.web.page import page
from dither.web.requests import Desk
from dither.web.store import KEYS, ServiceStore
from tests.cli.world import run
from tests.web.world import COUNT, Caller, World, describe, service

PAST, FUTURE = "2001-01-01", "2999-01-01"


@pytest.fixture
def ring(tmp_path: Path) -> Iterator[Keyring]:
    store = ServiceStore(str(tmp_path / "store"))
    yield Keyring(store)
    store.close()


def test_a_key_is_known_by_its_hash_alone(ring: Keyring, tmp_path: Path) -> None:
    shown = ring.add("anna", {"visits": {"epsilon": "0.5"}}, expires=FUTURE)
    secret = shown.rpartition("_")[2].encode()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert secret not in kept
    assert bytes.fromhex(secret.decode()) not in kept
    assert b"anna" in kept
    found = ring.authenticated(shown, "visits")
    assert (found.name, found.rights) == ("anna", {"visits": {"epsilon": "0.5"}})
    assert ring.authenticated(shown, "visits") == found  # now from memory


def test_a_revoked_rotated_or_expired_key_opens_nothing(ring: Keyring) -> None:
    old, expired = ring.add("anna", {"visits": {}}), ring.add("carl", {"visits": {}}, expires=PAST)
    ring.authenticated(old)
    session = ring.signed_in(old)
    new = ring.rotate("anna")
    assert ring.authenticated(new, "visits").name == "anna"
    for dead in (old, expired):
        with pytest.raises(Refused):
            ring.authenticated(dead)
    with pytest.raises(Refused):
        ring.of_session(session)
    again = ring.signed_in(new)
    assert ring.of_session(again, "visits").name == "anna"
    ring.revoke("anna")
    with pytest.raises(Refused):
        ring.authenticated(new)
    with pytest.raises(Refused):
        ring.of_session(again)


@pytest.mark.parametrize("name", ["", "a b", "a:b", "-a", "a" * 65, "a\n", "ä", "<b>"])
def test_names_are_plain(name: str, ring: Keyring) -> None:
    with pytest.raises(ParameterError, match="letters"):
        ring.add(name, {})


def test_a_share_is_given_once(ring: Keyring) -> None:
    ring.add("anna", {"visits": {"epsilon": "0.5"}})
    ring.revoke("anna")
    others: tuple[access_keys.Rights, ...] = ({"visits": {"epsilon": "0.7"}}, {"visits": {}})
    for other in others:
        with pytest.raises(ParameterError, match="a share is given once"):
            ring.add("anna", other)
    assert ring.add("anna", {"visits": {"epsilon": "1/2"}, "sales": {}}).startswith("dither_")


def test_the_store_is_for_its_owner_alone(ring: Keyring, tmp_path: Path) -> None:
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("share", [{"epsilon": "0"}, {"epsilon": "nan"}, {"epsilon": "-1"}, {"delta": "1"}])
def test_a_share_is_a_positive_number(share: dict[str, str], ring: Keyring) -> None:
    with pytest.raises(ParameterError):
        ring.add("anna", {"visits": share})
    assert ring.all() == []


ENDPOINTS = [
    ("GET", "/datasets"),
    ("GET", "/datasets/visits"),
    ("POST", "/datasets/visits/plan"),
    ("POST", "/datasets/visits/release"),
    ("POST", "/datasets/visits-practice/release"),
    ("GET", "/datasets/visits/spending"),
    ("POST", "/datasets/visits/resume"),
    ("GET", "/questions"),
    ("GET", "/questions/{id}"),
    ("DELETE", "/questions/{id}"),
    ("POST", "/questions/{id}/accept"),
    ("GET", "/answers/{id}"),
    ("GET", "/answers/{id}/csv"),
    ("GET", "/metrics"),
]
OPEN = {"/health"}


def test_every_endpoint_is_listed(anna: Caller) -> None:
    found = {
        (method.upper(), path.removeprefix("/api").replace("{name}", "visits"))
        for path, methods in anna.get("/openapi.json").json()["paths"].items()
        if path not in OPEN
        for method in methods
    }
    listed = {(method, path.replace("-practice", "").replace("/csv", "/{form}")) for method, path in ENDPOINTS}
    assert found == {(method, path.replace("/accept", "/{word}")) for method, path in listed}


@dataclass
class BadKeys:
    """A service with an answer, and keys that may not see it."""

    world: World
    answer: str
    shown: dict[str, str]
    sessions: dict[str, str]


@pytest.fixture(scope="module")
def bad_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BadKeys]:
    with service(describe(tmp_path_factory.mktemp("keys"))) as world:
        anna = world.caller(world.key("anna"))
        id = anna.ask(COUNT).json()["id"]
        revoked = world.key("rita")
        world.caller(revoked).get("/datasets")  # it was taken before
        sessions = {"rita": world.service.keyring.signed_in(revoked)}
        world.service.keyring.revoke("rita")
        tenant = world.service.keyring.add("tom", {"salaries": {}})
        world.caller(tenant).get("/datasets")
        wrong = anna.key[:-1] + ("0" if anna.key[-1] != "0" else "1")
        shown = {"none": "", "no key at all": "x" * 500, "wrong": wrong, "revoked": revoked}
        eva = world.key("eva", expires=FUTURE)
        sessions["eva"] = world.service.keyring.signed_in(eva)
        with world.service.store.writing() as connection:  # time passes
            connection.execute(KEYS.update().where(KEYS.c.name == "eva").values(expires=f"{PAST}T00:00:00+00:00"))
        yield BadKeys(world, id, {**shown, "expired": eva, "of another tenant": tenant}, sessions)


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_d58_g75_bad_keys_are_refused_alike_and_with_the_same_work(
    method: str, path: str, bad_keys: BadKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is that of one look into the store and one scrypt; a count of both cannot be flaky."""
    world, id, shown = bad_keys.world, bad_keys.answer, dict(bad_keys.shown)
    if (method, path) in (("GET", "/datasets"), ("GET", "/questions")):
        tenant = shown.pop("of another tenant")  # it sees its own, which are none
        assert world.caller(tenant)._sent(method, path).json() == []
    hashed: list[str] = []
    real = access_keys._hash

    def counted(secret: str, salt: str) -> str:
        hashed.append(salt)
        return real(secret, salt)

    monkeypatch.setattr(access_keys, "_hash", counted)
    seen = []
    spent = world.spent
    for key in shown.values():
        hashed.clear()
        answer = world.caller(key)._sent(method, path.format(id=id), b"{}")
        seen.append((answer.status_code, answer.content, sorted(answer.headers.items()), len(hashed)))
    assert {each[0] for each in seen} == {401}
    assert all(each == seen[0] for each in seen)
    assert seen[0][3] == 1
    assert world.spent == spent


PAGES = [
    ("GET", "/data/visits"), ("POST", "/data/visits/plan"), ("POST", "/data/visits/release"), ("GET", "/history"),
    ("POST", "/data/visits/resume"), ("GET", "/answers/{id}"), ("GET", "/answers/{id}/{form}"), ("GET", "/owner"),
    ("POST", "/questions/{id}/collect"), ("POST", "/questions/{id}/withdraw"), ("POST", "/questions/{id}/accept"),
    ("POST", "/questions/{id}/decline"), ("POST", "/sign-out"), ("GET", "/"), ("POST", "/data/visits/change"),
]  # fmt: skip


def test_every_page_is_listed(world: World) -> None:
    open_to_all = {"/style.css", "/sign-in", "/health", "/metrics"}
    routes: list[Any] = list(page(Desk(world.service)).routes)
    found = {(method, route.path) for route in routes for method in route.methods if route.path not in open_to_all}
    assert {(method, path.replace("{name}", "visits")) for method, path in found} == set(PAGES)


@pytest.mark.parametrize(("method", "path"), [place for place in PAGES if place != ("GET", "/")])
def test_g75_pages_refuse_sessions_that_are_none_alike(method: str, path: str, bad_keys: BadKeys) -> None:
    """No cookie, a wrong one, one of a key that was revoked, of one that expired; for most also of another tenant."""
    world, ring = bad_keys.world, bad_keys.world.service.keyring
    tokens = {"none": "", "wrong": "0" * 64, "revoked": bad_keys.sessions["rita"], "expired": bad_keys.sessions["eva"]}
    if path not in ("/history", "/sign-out"):
        tokens["of another tenant"] = ring.signed_in(bad_keys.shown["of another tenant"])
    seen = set()
    for token in tokens.values():
        shown = {"Cookie": f"dither_session={token}"} if token else {}
        place = path.format(id=bad_keys.answer, form="csv")
        answer = world.http.request(method, place, headers=shown, content=b"token=x")
        words = answer.content.partition(b"<main>")[2]  # around it stands who is signed in
        seen.add((answer.status_code, words))
    assert len(seen) == 1
    assert seen.pop()[0] == 401


def test_a_sound_key_is_not_refused_so(anna: Caller) -> None:
    assert anna.get("/datasets").status_code == 200


def test_the_command_makes_lists_and_revokes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path)
    monkeypatch.chdir(tmp_path)
    made = run("keys", "add", "anna", "--dataset", "visits=0.5").out.splitlines()[0]
    assert made.startswith("dither_")
    assert "visits (epsilon 0.5)" in run("keys", "list").out
    assert made.rpartition("_")[2] not in run("keys", "list", "--json").out
    assert run("keys", "add", "anna").code == 2
    assert run("keys", "add", "berta", "--expires", "soon").code == 2
    past = run("keys", "add", "berta", "--expires", PAST)
    assert (past.code, "would never open anything" in past.err) == (2, True)
    assert run("keys", "revoke", "anna").code == 0
    assert run("keys", "revoke", "anna").code == 2
    assert run("keys", "burn", "anna").code == 2
    wrong = run("keys", "add", "carl", "--dataset", "nope=2")
    assert (wrong.code, "no dataset is called 'nope'. Described: visits." in wrong.err) == (2, True)
    assert "carl" not in run("keys", "list").out
    assert "revoked" in run("keys", "list").out


def test_each_share_is_in_the_figure_of_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two descriptions that are served together, one has a budget in rho."""
    first = describe(tmp_path)
    (tmp_path / "sales.csv").write_bytes((tmp_path / "visits.csv").read_bytes())
    text = first.read_text().replace("visits.csv", "sales.csv").replace("visits.ledger", "sales.ledger")
    (tmp_path / "sales.toml").write_text(text.replace("epsilon = 1", "rho = 1").partition("[server]")[0])
    monkeypatch.chdir(tmp_path)
    shares = ("--dataset", "visits=0.5", "--dataset", "sales=0.1")
    assert run("keys", "add", "anna", *shares).code == 2
    done = run("keys", "add", "anna", *shares, "--description", "dither.toml", "--description", "sales.toml")
    assert done.code == 0, done.err
    listed = " ".join(run("keys", "list").out.split())
    assert "visits (epsilon 0.5); sales (rho 0.1)" in listed
