"""What the recipes of docs/architecture.md ask for is there: of every aggregate, engine and command, by name.

`test_followed_recipes.py` follows the recipes with toys, and sees that these checks name what was left out.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable

import dither as dp
import dither.cli
import dither.tables.engines
from dither.cli.app import COMMANDS
from dither.engine import AGGREGATES
from dither.tables.engines import Engine
from dither.tables.engines.registry import engine_class, engine_names
from tests.architecture import repository
from tests.tables.engines import ENGINES
from tests.tables.hostile.containers import CONTAINERS

_SUITES = {
    "tests/tables/engines.py": {getattr(each, "values", [each])[0] for each in ENGINES},
    "tests/tables/hostile/containers.py": CONTAINERS.keys(),
}


def not_on(page: str, names: Iterable[str], before: str = "") -> list[str]:
    """The names that do not stand in the code of a page."""
    code = " ".join(re.findall(r"`([^`\n]+)`", (repository.ROOT / "docs" / page).read_text(encoding="utf-8")))
    return [name for name in names if not re.search(rf"\b{re.escape(before + name)}\b", code)]


def engines() -> dict[str, type[Engine]]:
    """The engines of the package, by the names of their files."""
    found = {}
    for info in pkgutil.iter_modules(dither.tables.engines.__path__):
        module = importlib.import_module(f"dither.tables.engines.{info.name}")
        for value in vars(module).values():
            own = inspect.isclass(value) and value.__module__ == module.__name__
            if own and issubclass(value, Engine) and not inspect.isabstract(value):
                found[info.name] = value
    return found


def test_every_aggregate_is_public() -> None:
    assert AGGREGATES.keys() - set(dp.__all__) == set(), "name it in src/dither/__init__.py"


def test_every_aggregate_is_on_the_page_of_tables() -> None:
    assert not_on("tables.md", AGGREGATES) == []


def test_every_aggregate_is_on_the_page_of_the_command_line() -> None:
    assert not_on("command_line.md", AGGREGATES) == []


def test_every_engine_is_registered() -> None:
    registered = {engine_class(name) for name in engine_names()}
    assert {file for file, engine in engines().items() if engine not in registered} == set(), "give it an entry point"


def test_every_engine_is_in_the_suites() -> None:
    assert {"duckdb", "postgres", "spark"} <= engines().keys()
    assert {
        f"{name} in {suite}" for name in engines() for suite, known in _SUITES.items() if name not in known
    } == set()


def test_every_engine_is_on_its_page() -> None:
    text = (repository.ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    assert [engine.name for engine in engines().values() if f"| {engine.name} |" not in text] == []


def test_every_command_is_listed() -> None:
    modules = [info.name for info in pkgutil.iter_modules(dither.cli.__path__)]
    written = [name for name in modules if hasattr(importlib.import_module(f"dither.cli.{name}"), "command")]
    assert [name for name in written if name not in COMMANDS] == [], "name it in COMMANDS of src/dither/cli/app.py"


def test_every_command_is_on_its_page() -> None:
    assert not_on("command_line.md", COMMANDS, before="dither ") == []
