"""Real engines for the tests: a PostgreSQL server and a Spark session, started when a test first asks for one.

Where they are not installed, tests that need them are skipped; on a machine that sets CI=true they fail instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

__all__ = ["missing", "postgres_server", "spark_session"]


def missing(what: str) -> NoReturn:
    """Skip the test, or fail it where everything must be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@contextmanager
def postgres_server() -> Iterator[str]:
    """A fresh server in a folder of its own, run by an unprivileged user; its URL."""
    tools = _postgres_tools()
    if tools is None:
        missing("PostgreSQL is not installed: apt-get install postgresql.")
    folder = Path(tempfile.mkdtemp(prefix="dither-postgres-"))
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]

    def run(tool: str, *arguments: str) -> None:
        with (folder / "test.log").open("ab") as log:
            subprocess.run([*as_user, str(tools / tool), *arguments], check=True, cwd="/", stdout=log, stderr=log)

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "dither", "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8")
        port = _spare_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "server.log"), "-o", options, "start")
        try:
            yield f"postgresql://dither@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _postgres_tools() -> Path | None:
    """The folder of initdb and pg_ctl. Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def _spare_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def spark_session() -> Iterator[Any]:
    """Spark inside this process, for tables of a few rows: no compiled stages, no network, no page to look at."""
    if shutil.which("java") is None:
        missing("Java is not installed, which Spark needs: apt-get install openjdk-17-jre-headless.")
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # little is run twice
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "OFF",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("dither tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
