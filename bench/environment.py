"""The interpreter in which ours and the peers run together; made on first use."""

import os
import subprocess
import sys
from pathlib import Path

from bench.one_core import THREAD_LIMITS
from bench.progress import say

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv-bench"
REQUIREMENTS = ROOT / "bench" / "peers.txt"


def interpreter() -> Path:
    """The Python of the peers' environment, installed first if it is missing or `peers.txt` has changed."""
    python = FOLDER / "bin" / "python"
    installed = FOLDER / "installed.txt"
    wanted = REQUIREMENTS.read_text()
    if not (python.exists() and installed.exists() and installed.read_text() == wanted):
        say(f"installing the peers into {FOLDER.name} (once) ...")
        _install(python)
        installed.write_text(wanted)
    return python


def variables() -> dict[str, str]:
    """The environment of a measured process: one thread everywhere, dither from the source tree."""
    return {**os.environ, **THREAD_LIMITS, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}


def _install(python: Path) -> None:
    # Standard output belongs to the rows, so what the installers say goes to standard error.
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True, stdout=sys.stderr)
    (FOLDER / ".gitignore").write_text("*\n")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True, stdout=sys.stderr)
