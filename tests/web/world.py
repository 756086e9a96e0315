"""A service over private rows, in this process or as a server of its own."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from dither.cli.served_datasets import opened, settings_of
from dither.web.app import configuration
from dither.web.service import Service
from tests.cli.world import write_visits
from tests.servers import spare_port

DESCRIPTION = """\
[dataset]
source = "visits.csv"

[unit]
person = "user_id"
max_groups = 2
max_rows_per_group = 1

[columns]
city = ["Paris", "Lyon"]
cost = {{ kind = "number", bounds = [0, 200] }}
age = "number"

[budget]
epsilon = {epsilon}
ledger = "{ledger}"

[server]
period = 0
requests_per_second = 100000
{server}
"""
COUNT = {"agg": {"n": "count"}, "group_by": ["city"], "keys": ["Paris", "Lyon"], "epsilon": "0.01"}
SQL = {"sql": "SELECT city, COUNT(*) AS n, AVG(cost) AS spend FROM visits GROUP BY city", "epsilon": "0.1"}


def describe(folder: Path, *, epsilon: str = "1", ledger: str = "visits.ledger", server: str = "") -> Path:
    """Write the rows and the description of a service."""
    write_visits(folder)
    file = folder / "dither.toml"
    file.write_text(DESCRIPTION.format(epsilon=epsilon, ledger=ledger, server=server), encoding="utf-8")
    return file


@dataclass
class World:
    """A service in this process, and callers with keys."""

    service: Service
    folder: Path
    http: httpx.Client

    def key(self, name: str, share: str | None = None, **settings: Any) -> str:
        """A new key that may ask of the visits."""
        rights = {"visits": {} if share is None else {"epsilon": share}}
        return self.service.keyring.add(name, rights, **settings)

    def caller(self, key: str) -> "Caller":
        """Somebody who shows this key."""
        return Caller(self.http, key)

    @property
    def spent(self) -> str:
        """What was charged to the visits."""
        return str(self.service.offered["visits"].account.spent["epsilon"])


@dataclass
class Caller:
    """Requests under one key."""

    http: Any
    key: str

    def get(self, path: str) -> httpx.Response:
        return self._sent("GET", path)

    def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        return self._sent("POST", path, content, **headers)

    def delete(self, path: str) -> httpx.Response:
        return self._sent("DELETE", path)

    def ask(self, body: Any, key: str | None = None, of: str = "visits") -> httpx.Response:
        """A release."""
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.post(f"/datasets/{of}/release", body, **headers)

    def _sent(self, method: str, path: str, content: bytes = b"", **headers: str) -> httpx.Response:
        shown = {**({"Authorization": f"Bearer {self.key}"} if self.key else {}), **headers}
        place = path if path in ("/metrics", "/health") else f"/api{path}"
        found: httpx.Response = self.http.request(method, place, content=content, headers=shown)
        return found


@contextmanager
def service(file: Path) -> Iterator[World]:
    """The service of a description, in a thread of this process."""
    made = opened([file], settings_of(file, port=spare_port()))
    settings = made.settings
    running = uvicorn.Server(configuration(made))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started and thread.is_alive():
            time.sleep(0.005)
        with httpx.Client(base_url=settings.address, timeout=120) as http:
            yield World(made, file.parent, http)
    finally:
        running.should_exit = True
        thread.join()


@contextmanager
def signed_in(world: World, key: str) -> Iterator[httpx.Client]:
    """A browser that is signed in."""
    with httpx.Client(base_url=world.http.base_url, timeout=300, follow_redirects=True) as http:
        assert http.post("/sign-in", data={"key": key}).status_code == 200
        yield http


@dataclass
class Server:
    """A server in a process of its own."""

    process: "subprocess.Popen[bytes]"
    url: str

    @property
    def http(self) -> httpx.Client:
        """A connection of one's own."""
        return httpx.Client(base_url=self.url, timeout=120, verify=False)

    def kill(self) -> None:
        """Without a chance to tidy up."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """In good order."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=300)


def start(file: Path, port: int | None = None) -> Server:
    """Start `dither serve` and wait until it answers."""
    number = port or spare_port()
    command = [sys.executable, "-m", "dither", "serve", str(file), "--port", str(number)]
    log = (file.parent / "server.log").open("ab")
    environment = {name: value for name, value in os.environ.items() if name != "DITHER_TEST_DOOR"}
    process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    log.close()
    found = Server(process, f"http://127.0.0.1:{number}")
    if not answers(found.url, lambda: process.poll() is None):
        process.kill()
        raise AssertionError((file.parent / "server.log").read_text())
    return found


def answers(url: str, is_alive: Callable[[], bool]) -> bool:
    """Wait until a server answers, or has ended."""
    deadline = time.monotonic() + 300
    with httpx.Client(verify=False) as http:  # no TLS here; certificates would cost more than the start
        while time.monotonic() < deadline and is_alive():
            try:
                if http.get(f"{url}/health").status_code == 200:
                    return True
            except httpx.TransportError:
                time.sleep(0.01)
    return False


@contextmanager
def server(file: Path) -> Iterator[Server]:
    """A running server."""
    found = start(file)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.stop()
