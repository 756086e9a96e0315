"""The topic `service`: what `dither serve` adds to an answer, how many plans it makes, and how soon it is there.

- Plans: 4 clients at once, 200 different questions each time. Processor time is that of the process of the server, all
  threads together; 200 plans a second on two cores are 10 ms each, by two workers. Then two workers over one ledger in
  a file, and what 8 clients on the same cores see.
- Answers: 16 analysts at once, a count and a mean of 10⁶ rows of Parquet by hospital, quantisation off. Beside it the
  same question, asked of a `Dataset` in one process by as many threads at once: engine, charge and noise. The limit is
  100 ms above that, for what 95 % of the clients see; a busy machine makes both longer.
- Restarts: from the start of the command to its first response, after it was killed.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

import dither as dp
from bench.row import Row, less_is_better, more_is_better
from dither.cli.demo.service import demo_service
from dither.cli.demo.visits import HOSPITALS
from dither.cli.served_datasets import keyring_of

ROWS, PEOPLE = "1,000,000 rows", 100_000
SETTINGS = "\n[server]\nperiod = 0\npractice = false\nrequests_per_second = 1000000\n"
CLIENTS, EACH = 4, 50
ANALYSTS, QUESTIONS = 16, 4
BOUNDS = (0, 5000)
PLANS = {"count": {"n": "count"}, "count and mean": {"n": "count", "cost": "mean(cost, 0, 5000)"}}
PLAN_RATE, BEYOND_LIMIT, START_LIMIT = 200, 0.1, 2.0
PLAN_LIMIT = 2 / PLAN_RATE


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as place:
        file, key = _described(Path(place) / "service")
        with _served(file) as server:
            for name, asked in PLANS.items():
                used = _plans(server, key, asked)
                case = f"a plan of {name}: CPU time"
                yield less_is_better(case, ours=used, peer="limit", peer_value=PLAN_LIMIT, asked=1, unit="s")
            with _served(file) as other:
                rate = _rate_of_plans([server, other], key)
            case = "plans of count and mean, two workers: rate"
            yield more_is_better(case, ours=rate, peer="limit", peer_value=PLAN_RATE, asked=1, unit="plans/s")
            served = _answers(server, key)
        engine = _engine(file.parent)
        case, limit = f"{ANALYSTS} at once, {ROWS}, an answer", "engine and 100 ms"
        late, cpu = engine.late + BEYOND_LIMIT, engine.cpu + BEYOND_LIMIT
        yield less_is_better(f"{case}: p95", ours=served.late, peer=limit, peer_value=late, asked=1, unit="s")
        yield less_is_better(f"{case}: CPU time", ours=served.cpu, peer=limit, peer_value=cpu, asked=1, unit="s")
        yield more_is_better(
            f"{case}: rate", ours=served.rate, peer="engine", peer_value=engine.rate, asked=None, unit="answers/s"
        )
        seen, used = _restarted(file)
        yield less_is_better("a restart: wall time", ours=seen, peer="limit", peer_value=START_LIMIT, asked=1, unit="s")
        yield less_is_better("a restart: CPU time", ours=used, peer="limit", peer_value=START_LIMIT, asked=1, unit="s")


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[bytes]
    url: str
    started: float
    """Seconds from the command to its first response."""


@dataclass(frozen=True, slots=True)
class Times:
    """Of one call among many: processor time, what 95 % of the clients wait at most, and how many a second."""

    cpu: float
    late: float
    rate: float


def _described(folder: Path) -> tuple[Path, str]:
    file = demo_service(folder, PEOPLE)
    text = file.read_text(encoding="utf-8").replace("epsilon = 5\n", "epsilon = 1000\n").partition("[server]")[0]
    file.write_text(text + SETTINGS, encoding="utf-8")
    ring = keyring_of(file)
    try:
        return file, ring.add("anna", {"hospital_visits": {}})
    finally:
        ring.store.close()


@contextmanager
def _served(file: Path) -> Iterator[Server]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    url, began = f"http://127.0.0.1:{port}", time.perf_counter()
    command = [sys.executable, "-m", "dither", "serve", str(file), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            with httpx.Client(base_url=url, verify=False) as http:
                while not _responds(http):
                    if process.poll() is not None:
                        raise RuntimeError("the server ended before it answered.")
                    time.sleep(0.005)
            yield Server(process, url, time.perf_counter() - began)
        finally:
            process.send_signal(signal.SIGKILL)


def _responds(http: httpx.Client) -> bool:
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def _plans(server: Server, key: str, asked: dict[str, str]) -> float:
    """Processor time of one."""
    start = _clients(server, key, _planner(asked))
    _measured(server.process.pid, 1, 1, start)
    return _measured(server.process.pid, CLIENTS, EACH, start).cpu


def _planner(asked: dict[str, str], first: int = 0) -> Callable[[httpx.Client, int], None]:
    """All questions differ, so that none was read before."""

    def work(http: httpx.Client, number: int) -> None:
        question = _question(asked, f"0.{first + number + 1:04d}")
        _sent(http, "plan", {**question, "where": [f"age >= {number % 100}"]})

    return work


def _rate_of_plans(servers: list[Server], key: str) -> float:
    """How many a second there are in all, with the clients on the same cores."""
    turns = itertools.cycle(servers)
    started = [_clients(next(turns), key, _planner(PLANS["count and mean"], 1000)) for _ in range(2 * CLIENTS)]
    for start in started[:2]:
        start()(0)
    waiting = iter(started)
    return _measured(servers[0].process.pid, 2 * CLIENTS, EACH, lambda: next(waiting)()).rate


def _answers(server: Server, key: str) -> Times:
    def work(http: httpx.Client, number: int) -> None:
        _sent(http, "release", _question(PLANS["count and mean"], "0.001"), **{"Idempotency-Key": f"bench-{number}"})

    return _measured(server.process.pid, ANALYSTS, QUESTIONS, _clients(server, key, work))


def _question(asked: dict[str, str], epsilon: str) -> dict[str, Any]:
    return {"agg": asked, "group_by": ["hospital"], "keys": list(HOSPITALS), "epsilon": epsilon}


def _sent(http: httpx.Client, what: str, question: dict[str, Any], **headers: str) -> None:
    place = f"/api/datasets/hospital_visits/{what}"
    http.post(place, content=json.dumps(question), headers=headers).raise_for_status()


def _clients(
    server: Server, key: str, work: Callable[[httpx.Client, int], None]
) -> Callable[[], Callable[[int], None]]:
    """For each analyst a connection of their own."""

    def one() -> Callable[[int], None]:
        http = httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=600, verify=False)
        return lambda number: work(http, number)

    return one


def _engine(folder: Path) -> Times:
    """The same question of a dataset in this process, by as many threads."""
    unit = dp.Person("patient", max_groups=3, max_rows_per_group=30)
    source, book = folder / "hospital_visits.parquet", folder / "engine.ledger"
    with dp.Dataset(source, unit=unit, budget=dp.PureDP(1000), ledger=book) as data:
        groups = data.group_by("hospital", keys=list(HOSPITALS))
        question = groups.agg(n=dp.count(), cost=dp.mean("cost", bounds=BOUNDS))

        def work(number: int) -> None:
            question.release(epsilon="0.001", key=str(number))

        work(-1)
        return _measured(os.getpid(), ANALYSTS, QUESTIONS, lambda: work)


def _restarted(file: Path) -> tuple[float, float]:
    """Wall and processor time until the first response, the better of three; each server before was killed."""
    found = []
    for _ in range(3):
        with _served(file) as server:
            found.append((server.started, _processor_seconds(server.process.pid)))
    return min(seen for seen, _ in found), min(used for _, used in found)


def _measured(pid: int, clients: int, each: int, start: Callable[[], Callable[[int], None]]) -> Times:
    """`each` calls by so many clients at once."""
    times: list[float] = []
    works = [start() for _ in range(clients)]

    def client(number: int) -> None:
        for turn in range(each):
            began = time.perf_counter()
            works[number](number * each + turn)
            times.append(time.perf_counter() - began)

    before, began = _processor_seconds(pid), time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(client, range(clients)))
    seconds, used = time.perf_counter() - began, _processor_seconds(pid) - before
    late = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return Times(used / len(times), late, len(times) / seconds)


def _processor_seconds(pid: int) -> float:
    """User and system time of a process so far, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
