"""A mutation: one place of the source changed, and the tests that must notice.

A place is a file, a piece of code in it, and where that piece stands more than once the function or class it is meant
in. The piece is looked for in the file as `ast.unparse` writes it: each statement on one line, without comments, with
'single' quotes and no spare parentheses. So a mutation survives new line breaks, comments, moves within the file and
edits of the lines around it; it must be mended when the very code it changes is another. Markers in the source would
not spare that, and there are several hundred mutations: they would hide the code.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Mutation", "passes", "several", "write_package"]

_ROOT = Path(__file__).parents[2]
_PACKAGE = _ROOT / "src" / "dither"
_LONGEST = 900.0


@dataclass(frozen=True)
class Mutation:
    """Replace `before`, which stands once in `file`, or in its function or class `within`; `tests` must then fail."""

    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    within: str | None = None

    def __str__(self) -> str:
        before, after = (text.strip().partition("\n")[0] for text in (self.before, self.after))
        return f"{self.file}: {before} -> {after}"

    def unchanged(self) -> str:
        """The code of the file as `ast.unparse` writes it."""
        return _plain((_PACKAGE / self.file).read_text())

    def changed(self, source: str | None = None) -> str:
        """The code of the file, or of another text of it, with this change."""
        code = self.unchanged() if source is None else _plain(source)
        start, end = _extent(code, self.within) if self.within else (0, len(code))
        if code.count(self.before, start, end) != 1:
            place = f"{self.within} of {self.file}" if self.within else self.file
            raise LookupError(
                f"{place} must hold this code once, as ast.unparse writes it, to be changed: {self.before}. "
                "Write what stands there now, or name the function in `within`."
            )
        at = code.index(self.before, start, end)
        return code[:at] + self.after + code[at + len(self.before) :]

    def write_to(self, folder: Path) -> None:
        """Copy the package to `folder` with this change."""
        write_package(folder, {self.file: self.changed()})


def _plain(source: str) -> str:
    return ast.unparse(ast.parse(source)) + "\n"


def _extent(code: str, within: str) -> tuple[int, int]:
    """Where a function or class begins and ends: `accounted`, or `Account.cost`."""
    node: ast.AST = ast.parse(code)
    for name in within.split("."):
        found = [each for each in ast.iter_child_nodes(node) if getattr(each, "name", None) == name]
        if len(found) != 1:
            raise LookupError(f"there must be one {within}, to be changed.")
        node = found[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    starts = [0]
    for line in code.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts[node.lineno - 1], starts[node.end_lineno or 0]


def write_package(folder: Path, changed: Mapping[str, str]) -> None:
    """Copy the package to `folder`, with other texts for some of its files; what was compiled of the others is kept."""
    shutil.copytree(_PACKAGE, folder / "dither", ignore=shutil.ignore_patterns("*.pyc.*"))  # written just now by others
    for file, text in changed.items():
        path = folder / "dither" / file
        path.write_text(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            compiled.unlink()


def several(file: str, tests: tuple[str, ...], *changes: tuple[str, str] | tuple[str, str, str]) -> list[Mutation]:
    """One mutation per change (before, after, within if needed) of one file; the same tests must notice all of them."""
    return [Mutation(file, before, after, tests, *within) for before, after, *within in changes]


def passes(tests: tuple[str, ...], package_folder: Path) -> bool:
    """Whether the tests pass with the package in `package_folder`.

    A package that cannot be imported, or tests that do not end, are noticed as well; no tests at all are an error.
    """
    options = ["-x", "-q", "-p", "no:cacheprovider", "-n0"]  # xdist stays: it knows its markers
    try:
        run = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(package_folder)},
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
