"""A mutation: one place of the source changed, and the tests that must notice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutation", "passes", "several"]

_ROOT = Path(__file__).parents[2]
_LONGEST = 900.0


@dataclass(frozen=True)
class Mutation:
    """Replace `before`, which stands once in `file`, by `after`; `tests` must then fail."""

    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        before, after = (text.strip().partition("\n")[0] for text in (self.before, self.after))
        return f"{self.file}: {before} -> {after}"

    def changed(self) -> str:
        """The text of the file with this change."""
        text = (_ROOT / "src" / "dither" / self.file).read_text()
        if text.count(self.before) != 1:
            raise LookupError(f"{self.file} must hold this text once, to be changed: {self.before}")
        return text.replace(self.before, self.after)

    def write_to(self, folder: Path) -> None:
        """Copy the package to `folder` with this change."""
        shutil.copytree(_ROOT / "src" / "dither", folder / "dither", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "dither" / self.file).write_text(self.changed())


def several(file: str, tests: tuple[str, ...], *changes: tuple[str, str]) -> list[Mutation]:
    """One mutation per change (before, after) of one file, all of which the same tests must notice."""
    return [Mutation(file, before, after, tests) for before, after in changes]


def passes(tests: tuple[str, ...], package_folder: Path) -> bool:
    """Whether the tests pass with the package in `package_folder`.

    A package that cannot be imported, or tests that do not end, are noticed as well; no tests at all are an error.
    """
    options = ["-x", "-q", "-p", "no:cacheprovider", "-n0"]  # xdist stays: it knows its markers
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(package_folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST,
        )
    except subprocess.TimeoutExpired:
        return False
    if run.returncode not in (0, 1, 2):
        raise RuntimeError(f"pytest ended with code {run.returncode}:\n{run.stdout[-2000:]}")
    return run.returncode == 0
