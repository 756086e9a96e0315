"""Real engines for the tests: a PostgreSQL server and a Spark session, started when a test first asks for one.

Where they are not installed, tests that need them are skipped; on a machine that sets CI=true they fail instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import pytest

__all__ = [
    "PostgresServer",
    "missing",
    "needs_java",
    "postgres_server",
    "running_postgres",
    "spare_port",
    "spark_session",
]

_ASKED = count()
"""How many ports this process was given."""


def missing(what: str) -> NoReturn:
    """Skip the test, or fail it where everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@dataclass(frozen=True)
class PostgresServer:
    """A server in a folder of its own, run by an unprivileged user."""

    tools: Path
    folder: Path
    port: int

    @property
    def url(self) -> str:
        """Of a database of our own."""
        return f"postgresql://dither@127.0.0.1:{self.port}/postgres"

    def run(self, tool: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs on the folder: as another user where we are root, as which it refuses."""
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        with (self.folder / "test.log").open("ab") as log:
            command = [*as_user, str(self.tools / tool), "-D", str(self.folder / "data"), *arguments]
            subprocess.run(command, check=True, cwd="/", stdout=log, stderr=log)

    def start(self) -> None:
        """Wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self.run("pg_ctl", "-w", "-l", str(self.folder / "server.log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """End all connections and the server: "fast" in good order, "immediate" as if the power failed."""
        self.run("pg_ctl", "-m", mode, "stop")


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A fresh server that a test may stop and start."""
    tools = _postgres_tools()
    if tools is None:
        missing("PostgreSQL is not installed: apt-get install postgresql.")
    folder = Path(tempfile.mkdtemp(prefix="dither-postgres-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    server = PostgresServer(tools, folder, spare_port())
    try:
        server.run("initdb", "-A", "trust", "-U", "dither", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8")
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a fresh server."""
    with running_postgres() as server:
        yield server.url


def _postgres_tools() -> Path | None:
    """The folder of initdb and pg_ctl. Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def spare_port() -> int:
    """A port that nobody has now, and that the system hands out to nobody before it is used: it takes those above.

    Tests that run at once in several processes begin at different places.
    """
    while True:
        port = 20_000 + (os.getpid() * 997 + next(_ASKED)) % 12_000
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def needs_java() -> None:
    """Skip the test or fail it where there is no Java."""
    if shutil.which("java") is None:
        missing("Java is not installed, which Spark needs: apt-get install openjdk-17-jre-headless.")


@contextmanager
def spark_session(master: str = "local[2]", settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Any]:
    """A session for tables of a few rows: no compiled stages, no network, no page to look at.

    Spark runs inside this process, or at the `master` of a cluster (tests/spark_cluster.py). Otherwise it is as a user
    makes it: what the engine needs must hold by Spark's own defaults.
    """
    needs_java()
    from pyspark.sql import SparkSession

    everywhere = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # little is run twice
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master).appName("dither tests")
    for name, value in (everywhere | dict(settings)).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
