"""The interpreters in which ours and the peers run; made on first use."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.one_core import THREAD_LIMITS
from bench.progress import say

ROOT = Path(__file__).resolve().parent.parent
_OURS = "DITHER_BENCH_PYTHON"


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder with a Python and the exact versions that a file in `bench/` lists."""

    folder: Path
    requirements: Path
    is_list_complete: bool = False
    """Whether nothing is installed but what is listed: for a package that names one which must be built."""

    def interpreter(self) -> Path:
        """Its Python, installed first if it is missing or the list has changed."""
        python = self.folder / "bin" / "python"
        installed = self.folder / "installed.txt"
        wanted = self.requirements.read_text()
        if not (python.exists() and installed.exists() and installed.read_text() == wanted):
            say(f"installing the peers into {self.folder.name} (once) ...")
            self._install(python)
            installed.write_text(wanted)
        return python

    def _install(self, python: Path) -> None:
        # Standard output belongs to the rows, so what the installers say goes to standard error.
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(self.folder)], check=True, stdout=sys.stderr)
        (self.folder / ".gitignore").write_text("*\n")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        alone = ["--no-deps"] if self.is_list_complete else []
        subprocess.run([*pip, *alone, "-r", str(self.requirements)], check=True, stdout=sys.stderr)


PEERS = Environment(ROOT / ".venv-bench", ROOT / "bench" / "peers.txt")
"""Most peers, together with what dither's core needs."""

TUMULT = Environment(ROOT / ".venv-tumult", ROOT / "bench" / "tumult.txt")
"""Tumult needs versions of NumPy, pandas and Spark that nobody else can use."""

SMARTNOISE = Environment(ROOT / ".venv-smartnoise", ROOT / "bench" / "smartnoise.txt")
"""SmartNoise SQL needs an older pandas and an older OpenDP."""

QRLEW = Environment(ROOT / ".venv-qrlew", ROOT / "bench" / "qrlew.txt", is_list_complete=True)
"""Qrlew needs an older NumPy, and psycopg2, of which the built one serves as well."""


def ours() -> Path:
    """The interpreter of `python -m bench` itself, where dither is installed with its engines."""
    return Path(os.environ.get(_OURS, sys.executable))


def variables() -> dict[str, str]:
    """The environment of a measured process: one thread everywhere, dither from the source tree."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    return {**os.environ, **THREAD_LIMITS, _OURS: sys.executable, "PYTHONPATH": paths}
