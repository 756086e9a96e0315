"""What can only be seen in a process of its own: peak memory, and what an import costs and loads."""

import statistics
import subprocess
import sys
from collections.abc import Collection

_PEAK = """
with open("/proc/self/status") as status:
    kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(int(kilobytes) * 1024)
"""

_IMPORT_SECONDS = """
import time
start = time.perf_counter()
import {module}
print(time.perf_counter() - start)
"""

# Asking the import system, rather than reading sys.modules afterwards, also sees an import that was
# tried and failed because the package is not installed here.
_IMPORTED_NAMES = """
import sys

class Recorder:
    asked = set()

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        cls.asked.add(name.partition(".")[0])

sys.meta_path.insert(0, Recorder)
import {module}
print(*sorted(Recorder.asked))
"""


def peak_bytes(script: str) -> int:
    """The most memory that a process running `script` ever held at once (VmHWM; Linux only).

    Not ru_maxrss, which a child inherits from the process that started it.
    """
    return int(_output(script + _PEAK))


def import_seconds(module: str, *, repetitions: int) -> float:
    """The median wall time of `import module` in a new interpreter, after one import to warm the disk."""
    script = _IMPORT_SECONDS.format(module=module)
    _output(script)
    return statistics.median(float(_output(script)) for _ in range(repetitions))


def imported_among(module: str, unwanted: Collection[str]) -> list[str]:
    """The top-level packages in `unwanted` that `import module` loads or tries to load."""
    asked = _output(_IMPORTED_NAMES.format(module=module)).split()
    return [name for name in asked if name in unwanted]


def _output(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout
