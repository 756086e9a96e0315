"""What the recipes of docs/architecture.md ask for is there, by name: of every law, mechanism, aggregate and so on.

`test_followed_recipes.py` follows the recipes with toys, and sees that these checks name what was left out.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import dither as dp
import dither.cli
import dither.mechanisms
import dither.noise
import dither.tables.database_engines
from dither.audit import claims
from dither.cli.app import COMMANDS
from dither.engine import AGGREGATES
from dither.mechanisms import Mechanism
from dither.noise import Law
from dither.tables.database_engines import Engine
from dither.tables.database_engines.registry import engine_class, engine_names
from tests.architecture import repository
from tests.claims.test_claim_rows import BENT, EXPECTED
from tests.noise.families import FAMILIES
from tests.noise.test_laws_probabilities import LAWS
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


def defined(package: ModuleType, kind: type) -> dict[str, str]:
    """The public classes of a kind that a package defines, each with its file."""
    found = {}
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, value in vars(module).items():
            own = inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
            if own and issubclass(value, kind) and not inspect.isabstract(value):
                found[name] = info.name
    return found


def engines() -> dict[str, type[Engine]]:
    """The engines of the package, by the names of their files."""
    found = defined(dither.tables.database_engines, Engine)
    return {
        file: getattr(importlib.import_module(f"dither.tables.database_engines.{file}"), name)
        for name, file in found.items()
    }


COINS = {"Bernoulli", "BernoulliExp", "UniformBelow"}
"""Laws whose probabilities are their parameters: the suite of probabilities has nothing to compare them with."""


def laws() -> dict[str, str]:
    found = defined(dither.noise, Law)
    assert found.keys() >= COINS | {"DiscreteLaplace", "StudentT"}
    return found


def test_every_law_is_public() -> None:
    assert laws().keys() - set(dither.noise.__all__) == set(), "name it in src/dither/noise/__init__.py"


def test_every_law_has_its_proof() -> None:
    folder = Path(dither.noise.__file__).parent
    assert {f"noise/{file}.md" for file in laws().values() if not (folder / f"{file}.md").exists()} == set()


def test_every_law_is_in_the_suites() -> None:
    oracle = (repository.ROOT / "tests" / "oracle" / "laws.py").read_text(encoding="utf-8")
    suites = {
        "tests/oracle/laws.py": set(re.findall(r"\w+", oracle)) | COINS,
        "tests/noise/test_laws_probabilities.py": {type(law).__name__ for law in LAWS} | COINS,
        "tests/noise/families.py": {type(family.at(family.scales[0])).__name__ for family in FAMILIES},
    }
    assert {f"{name} in {suite}" for suite, known in suites.items() for name in laws() if name not in known} == set()


def mechanisms() -> dict[str, str]:
    found = defined(dither.mechanisms, Mechanism)
    assert found.keys() >= {"Laplace", "NoisyMax", "SparseVector"}
    return found


def test_every_mechanism_is_public() -> None:
    public = {"src/dither/mechanisms/__init__.py": dither.mechanisms.__all__, "src/dither/__init__.py": dp.__all__}
    assert {
        f"{name} in {file}" for file, names in public.items() for name in mechanisms() if name not in names
    } == set()


def test_every_mechanism_is_on_a_page() -> None:
    pages = (repository.ROOT / "docs" / "mechanisms").glob("*.md")
    words = {word for page in pages for word in re.findall(r"\w+", page.read_text(encoding="utf-8"))}
    assert mechanisms().keys() - words == set(), "write docs/mechanisms/<mechanism>.md"


def test_every_claim_is_expected_and_bent() -> None:
    """By what tests/claims/test_claim_rows.py lists: the rows that hold, and wrong constants that are refuted."""
    known = {claim.id for claim in claims.ALL}
    assert {"D1", "C1"} <= known
    assert known - set(EXPECTED) == set()
    assert known - {id for id, _ in BENT} == set()


def test_every_claim_is_on_its_page() -> None:
    text = (repository.ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert {claim.id for claim in claims.ALL if f'id="{claim.id.lower()}"' not in text} == set(), "run `make claims`"


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
