"""Run one case in a process of its own, and read the line it prints."""

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.one_core import THREAD_LIMITS

LONGEST_SECONDS = 1800


class Failed(Exception):
    """The case gave no result; the message says why in one line."""


def last_line(python: Path, module: str, arguments: Sequence[str], *, seconds: float = LONGEST_SECONDS) -> str:
    """The last line that `python -m module arguments` prints, with as many threads as it has cores."""
    environment = {name: value for name, value in os.environ.items() if name not in THREAD_LIMITS}
    try:
        process = subprocess.Popen(
            [str(python), "-m", module, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
    except OSError as error:
        raise Failed(f"{python.parent.parent.name}: {error.strerror}") from None
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        raise Failed(f"not done after {seconds:.0f} s") from None
    except BaseException:
        _end(process)
        raise
    lines = out.splitlines()
    if process.returncode or not lines:
        said = [line for line in errors.splitlines() if line.strip()]
        raise Failed(said[-1].strip() if said else f"exit code {process.returncode}")
    return lines[-1]


def _end(process: "subprocess.Popen[str]") -> None:
    """With all that it started, such as a Java machine: its session is its own, and it was not waited for yet."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
