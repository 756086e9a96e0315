"""Servers by fork: the packages are loaded once, so that a start costs what opening costs, and fifty kills few seconds.

What is forked runs the same command as `python -m dither serve`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers import spare_port
from tests.web.world import answers

MOTHER = """
import os, sys
import dither.cli.serve, dither.cli.served_datasets, dither.web.app, dither.engine.sql, ibis, duckdb, pyarrow.csv
from dither.cli import main
for line in sys.stdin:
    file, port, log = line.rstrip().split("\\t")
    child = os.fork()
    if child == 0:
        out = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.dup2(out, 1), os.dup2(out, 2)
        sys.argv = ["dither", "serve", file, "--port", port]
        try:
            main()
        finally:
            os._exit(1)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


@dataclass
class ForkedServer:
    """A server that a `Mother` started."""

    mother: Mother
    child: int
    url: str

    @property
    def http(self) -> httpx.Client:
        """A connection of one's own."""
        return httpx.Client(base_url=self.url, timeout=120, verify=False)

    def kill(self) -> None:
        """Without a chance to tidy up."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """In good order."""
        self._end(signal.SIGTERM)
        return 0

    def _end(self, number: int) -> None:
        os.kill(self.child, number)
        assert self.mother.said() == "ended"


@dataclass
class Mother:
    """A process that has everything loaded and forks servers, one at a time."""

    process: subprocess.Popen[str]

    def said(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def start(self, file: Path) -> ForkedServer:
        """A server that answers."""
        assert self.process.stdin is not None
        port, log = spare_port(), file.parent / "server.log"
        self.process.stdin.write(f"{file}\t{port}\t{log}\n")
        self.process.stdin.flush()
        found = ForkedServer(self, int(self.said()), f"http://127.0.0.1:{port}")
        if not answers(found.url, lambda: True):
            found.kill()
            raise AssertionError(log.read_text())
        return found


@contextmanager
def mother() -> Iterator[Mother]:
    """Ends with the test."""
    environment = {name: value for name, value in os.environ.items() if name != "DITHER_TEST_DOOR"}
    process = subprocess.Popen(
        [sys.executable, "-c", MOTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    )
    try:
        yield Mother(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
