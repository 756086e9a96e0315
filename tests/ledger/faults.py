"""A disk that fails on demand, for tests: compiles faults.c, runs fault_server.py, reads what it wrote down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers import missing

__all__ = ["IO_ERROR", "KILL", "NONE", "NO_SPACE", "TORN", "Outcome", "Server", "fault_server", "quick_folder"]

NONE, KILL, TORN, NO_SPACE, IO_ERROR = range(5)
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Outcome:
    """What a child said before it ended, and how it ended."""

    lines: tuple[str, ...]
    killed: bool

    @property
    def answers(self) -> dict[str, str]:
        """What was said to the world, by key."""
        return dict(line.split() for line in self.lines if line.startswith("key"))

    @property
    def errors(self) -> list[str]:
        """The errors, in words."""
        return [line for line in self.lines if line.startswith(("error", "broken"))]

    @property
    def calls(self) -> int:
        """How many calls were counted."""
        return int(self.lines[-1].removeprefix("calls "))


@dataclass(frozen=True)
class Server:
    """A running fault server."""

    process: subprocess.Popen[str]

    def run(
        self, folder: Path, fault: int = NONE, at: int = 0, goes_on: bool = False, dies: str = "",
        keys: tuple[str, ...] = ("key1",), size: int = 1, **more: Any,
    ) -> Outcome:  # fmt: skip
        """One child that releases under each of `keys`, with one fault or one death."""
        order = {"folder": str(folder), "fault": fault, "at": at, "goes_on": goes_on, "dies": dies}
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps({**order, "keys": keys, "size": size, **more}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        return Outcome(tuple(reply["lines"]), reply["killed"])


@contextmanager
def fault_server(program: Path = HERE / "fault_server.py") -> Iterator[Server]:
    """A server that ends with the block."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        missing("The fault tests need Linux and a C compiler: apt-get install gcc.")
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/faults.so"
        strict = ["-O1", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([compiler, *strict, "-shared", "-fPIC", "-o", library, HERE / "faults.c"], check=True)
        process = subprocess.Popen(
            [sys.executable, program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"LD_PRELOAD": library},
        )
        with process:
            yield Server(process)
            assert process.stdin
            process.stdin.close()


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: what fails here is the shim, so that no disk has to be waited for."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="dither-") as folder:
        yield Path(folder).resolve()
