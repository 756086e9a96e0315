"""The import order: that the rooms keep it, and that the checker would notice if they did not.

The order is read from docs/architecture.md, so the page and the contract cannot drift apart.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

from tests.architecture import repository


def lint(folder: Path, contract: str) -> subprocess.CompletedProcess[str]:
    """Run one contract of `folder`/pyproject.toml on `folder`/src/dither."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo", "--contract", contract],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def order() -> list[list[str]]:
    """The floors of the house, upper first; rooms on one floor are siblings."""
    page = (repository.ROOT / "docs" / "architecture.md").read_text()
    (line,) = re.findall(r"^cli \| .* > .*$", page, flags=re.MULTILINE)
    return [[room.strip() for room in floor.split("|")] for floor in line.split(">")]


def rooms_on_the_page() -> list[str]:
    """The first column of the table of rooms in docs/architecture.md."""
    page = (repository.ROOT / "docs" / "architecture.md").read_text()
    return re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE)


def rooms() -> list[str]:
    """What there is: a folder or a file each."""
    found = [path.stem for path in repository.SOURCE.glob("[a-z]*.py")]
    return found + [path.parent.name for path in repository.SOURCE.glob("*/__init__.py")]


def pairs() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The imports (importer, imported) that the order allows, and those that it forbids."""
    floor_of = {room: depth for depth, floor in enumerate(order()) for room in floor}
    distinct = {(a, b) for a, b in product(floor_of, repeat=2) if a != b}
    allowed = {(a, b) for a, b in distinct if floor_of[a] < floor_of[b]}
    return allowed, distinct - allowed


def build_house(folder: Path, imports: Iterable[tuple[str, str]]) -> Path:
    """A package with every room of the design, each one file, and the given imports."""
    package = folder / "src" / "dither"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for room in (room for floor in order() for room in floor):
        (package / f"{room}.py").touch()
    for importer, imported in sorted(imports):
        with (package / f"{importer}.py").open("a") as file:
            file.write(f"import dither.{imported}\n")
    shutil.copy(repository.ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the real package, to be spoilt."""
    shutil.copytree(
        repository.SOURCE, tmp_path / "src" / "dither", ignore=shutil.ignore_patterns("__pycache__", "*.md")
    )
    shutil.copy(repository.ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_page_says_which_rooms_exist() -> None:
    assert sorted(rooms_on_the_page()) == sorted(room for floor in order() for room in floor) == sorted(rooms())


@pytest.mark.parametrize("contract", ["rooms", "replay"])
def test_the_package_keeps_its_contracts(contract: str) -> None:
    done = lint(repository.ROOT, contract)
    assert done.returncode == 0, done.stdout


def test_every_allowed_import_is_allowed(tmp_path: Path) -> None:
    allowed, _ = pairs()
    done = lint(build_house(tmp_path, allowed), "rooms")
    assert done.returncode == 0, done.stdout


def test_every_forbidden_import_is_reported(tmp_path: Path) -> None:
    _, forbidden = pairs()
    done = lint(build_house(tmp_path, forbidden), "rooms")
    reported = re.findall(r"dither\.(\w+) is not allowed to import dither\.(\w+):", done.stdout)
    assert set(reported) == forbidden


@pytest.mark.parametrize(
    ("contract", "file", "line", "complaint"),
    [
        (
            "rooms",
            "exact/bad.py",
            "import dither.noise",
            "dither.exact is not allowed to import dither.noise",
        ),
        ("rooms", "drawer.py", "import dither.errors", "- dither.drawer"),
        (
            "replay",
            "noise/bad.py",
            "from dither.noise import _replay",
            "Illegal imports of protected package dither.noise._replay",
        ),
    ],
    ids=["upwards", "a room nobody planned", "the test switch"],
)
def test_a_bad_import_in_the_real_package_is_caught(
    copy: Path, contract: str, file: str, line: str, complaint: str
) -> None:
    package = copy / "src" / "dither"
    (package / "noise" / "_replay.py").touch()
    (package / file).write_text(line + "\n")
    done = lint(copy, contract)
    assert done.returncode == 1
    assert complaint in done.stdout


def test_the_audit_room_may_open_the_test_door(copy: Path) -> None:
    package = copy / "src" / "dither"
    (package / "noise" / "_replay.py").touch()
    (package / "audit").mkdir(exist_ok=True)
    (package / "audit" / "__init__.py").touch()
    (package / "audit" / "recorded.py").write_text("from dither.noise import _replay\n")
    done = lint(copy, "replay")
    assert done.returncode == 0, done.stdout


LOADERS = {
    "__init__.py": "public names load when they are first used, and plots is handed down",
    "plots/__init__.py": "pictures load when they are first used",
    "audit/replay/portrait.py": "entries of the ledger are compared only where the ledger has been loaded",
    "tables/database_engines/lazy_compilers.py": "compilers of Ibis load when they are asked for",
    "tables/database_engines/registry.py": "engines of other packages are entry points",
    "cli/app.py": "a command is the module of its name",
    "cli/audit.py": "a mechanism of the user's own is named by its module",
}
"""The only files that may import by a string, which the contracts above cannot see, and why."""


def imports_by_string(source: str) -> list[int]:
    """The lines that import something whose name is computed."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "importlib" for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "importlib")
        or (isinstance(node, ast.Name) and node.id == "__import__")
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_a_module(node.value))
    ]


def _is_a_module(text: str) -> bool:
    """Whether a text names a module of ours, as for `sys.modules`."""
    return re.fullmatch(r"dither(\.\w+)+", text) is not None and text.split(".")[1] in rooms()


def test_no_import_is_hidden_in_a_string() -> None:
    found = {
        str(file.relative_to(repository.SOURCE)): lines
        for file in repository.SOURCE.rglob("*.py")
        if (lines := imports_by_string(file.read_text()))
    }
    assert found.keys() == LOADERS.keys(), found


@pytest.mark.parametrize(
    "line",
    [
        "import importlib",
        "from importlib import import_module",
        "import importlib.util",
        "__import__('json')",
        "sys.modules['dither.noise']",
    ],
)
def test_a_hidden_import_would_be_seen(line: str) -> None:
    assert imports_by_string(line) == [1]
