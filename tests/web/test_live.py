"""Servers in processes of their own: many clients at once, kill −9 under load, two workers on one ledger."""

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from dither.cli.served_datasets import keyring_of
from dither.ledger import Ledger
from tests.cli.world import SECRETS
from tests.postgres import fresh_database
from tests.web.forking import ForkedServer, mother
from tests.web.world import COUNT, Caller, Server, describe, server

Running = Server | ForkedServer
CLIENTS, EACH, CAP = 64, 2, 100


def keys_of(file: Path) -> tuple[str, str]:
    """An analyst's and an owner's."""
    ring = keyring_of(file)
    try:
        return ring.add("anna", {"visits": {}}), ring.add("olga", {}, is_owner=True)
    finally:
        ring.store.close()


def crowd(servers: Sequence[Server], key: str) -> Counter[int]:
    """64 clients who ask twice each, at once, for a hundredth of the budget."""

    def client(number: int) -> list[int]:
        with servers[number % len(servers)].http as http:
            return [Caller(http, key).ask(COUNT, f"{number}.{each}").status_code for each in range(EACH)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        return Counter(status for found in pool.map(client, range(CLIENTS)) for status in found)


def charges(place: str) -> list[str]:
    """The idempotency keys of all charges of a ledger that verifies."""
    ledger = Ledger(place, create=False)
    try:
        ledger.verify()
        return [entry.content["key"] for entry in ledger.entries() if entry.kind == "charge"]
    finally:
        ledger.close()


def test_d49_g76_64_clients_get_exactly_what_the_cap_allows(tmp_path: Path) -> None:
    """On one worker: 128 questions against a budget for 100; and nothing of it in the log (G76)."""
    file = describe(tmp_path, server="practice = false")
    key, _ = keys_of(file)
    with server(file) as running:
        found = crowd([running], key)
        assert found == {200: CAP, 402: CLIENTS * EACH - CAP}
        assert running.stop() in (0, -15)
    assert len(set(charges(str(tmp_path / "visits.ledger")))) == CAP
    log = (tmp_path / "server.log").read_text()
    assert '"status": 402' in log
    assert not any(secret in log for secret in (*SECRETS, key, key.rpartition("_")[2], "Traceback"))


def test_d49_two_workers_of_one_machine_share_its_files(tmp_path: Path) -> None:
    file = describe(tmp_path, server="practice = false")
    key, _ = keys_of(file)
    with server(file) as first, server(file) as second:
        assert crowd([first, second], key) == {200: CAP, 402: CLIENTS * EACH - CAP}
    assert len(set(charges(str(tmp_path / "visits.ledger")))) == CAP


def test_d49_g77_two_workers_share_one_ledger(tmp_path: Path, postgres_url: str) -> None:
    """Each with connections of its own to one ledger and one store in PostgreSQL."""
    with fresh_database(postgres_url) as database:
        file = describe(tmp_path, ledger=database.url, server=f'practice = false\nstore = "{database.url}"')
        key, _ = keys_of(file)
        with server(file) as first, server(file) as second:
            assert crowd([first, second], key) == {200: CAP, 402: CLIENTS * EACH - CAP}
        assert len(set(charges(database.url))) == CAP


@dataclass
class Seen:
    """What clients saw of their questions, by the idempotency key; None is nothing."""

    answers: dict[str, bytes | None] = field(default_factory=dict)

    def client(self, running: Running, key: str, names: Iterator[str]) -> None:
        """Ask one question after the other until the server is gone."""
        with running.http as http:
            for name in names:
                self.answers[name] = None
                try:
                    answer = Caller(http, key).ask(COUNT, name)
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                self.answers[name] = answer.content

    def sent_again(self, running: Running, key: str) -> None:
        """Each gets the bytes that it had, or an answer if it had none."""
        with running.http as http:
            for name, seen in self.answers.items():
                answer = Caller(http, key).ask(COUNT, name)
                assert answer.status_code == 200, answer.text
                assert seen is None or answer.content == seen


def killed_rounds(folder: Path, place: str, settings: str, *, rounds: int, workers: int, seed: int) -> None:
    """Each round: restart, send again what was asked before, clients at work, kill −9. Every charge is there once."""
    file = describe(folder, epsilon="100000", ledger=place, server=f"practice = false\n{settings}")
    key, owner = keys_of(file)
    choose, asked, before = random.Random(seed), set[str](), Seen()
    with ExitStack() as opened:
        mothers = [opened.enter_context(mother()) for _ in range(workers)]
        for at in range(rounds + 1):
            running = [each.start(file) for each in mothers]
            with running[0].http as http:
                assert Caller(http, owner).post("/datasets/visits/resume").status_code == 200
            before.sent_again(running[0], key)
            asked |= before.answers.keys()
            before = Seen()
            with ThreadPoolExecutor(4) as pool:
                done = [
                    pool.submit(
                        before.client, running[each % workers], key, (f"{at}.{each}.{n}" for n in itertools.count())
                    )
                    for each in range(4)
                ]
                time.sleep(choose.uniform(0.02, 0.3))
                for each in running:
                    each.kill()
                for client in done:
                    client.result()
        running = [mothers[0].start(file)]
        with running[0].http as http:
            Caller(http, owner).post("/datasets/visits/resume")
        before.sent_again(running[0], key)
        running[0].stop()
    paid = charges(place if "://" in place else str(folder / place))
    assert sorted(paid) == sorted(f"anna:{name}" for name in asked | before.answers.keys())  # none lost, none twice


def test_d50_g78_fifty_kills_under_load_lose_no_charge_and_no_key(tmp_path: Path) -> None:
    """And D53: who sends a question again under its key gets the same bytes and pays once."""
    killed_rounds(tmp_path, "visits.ledger", "", rounds=50, workers=1, seed=23)


@pytest.mark.nightly
def test_d50_a_thousand_kills_lose_nothing(tmp_path: Path) -> None:
    killed_rounds(tmp_path, "visits.ledger", "", rounds=1000, workers=1, seed=24)


def test_d50_kills_of_two_workers_on_postgresql_lose_nothing(tmp_path: Path, postgres_url: str) -> None:
    with fresh_database(postgres_url) as database:
        settings = f'store = "{database.url}"'
        killed_rounds(tmp_path, database.url, settings, rounds=5, workers=2, seed=25)


@pytest.mark.nightly
def test_d50_two_hundred_kills_of_two_workers_lose_nothing(tmp_path: Path, postgres_url: str) -> None:
    with fresh_database(postgres_url) as database:
        settings = f'store = "{database.url}"'
        killed_rounds(tmp_path, database.url, settings, rounds=200, workers=2, seed=26)
