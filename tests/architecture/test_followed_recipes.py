"""The recipes of docs/architecture.md, followed with toys in a copy of the package.

Each toy works through the public face and the command line after the files of `src` that its recipe names were touched,
no more. What a recipe asks for besides, and what was left out of it, is then named by a check.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from dither.cli.app import COMMANDS
from tests.architecture import repository

Edit = Callable[[str], str]

_AGGREGATE = '''

@dataclass(frozen=True, slots=True, eq=False)
class DoubleTotal(Total):
    """Twice the sum of the values."""

    @property
    def verb(self) -> str:
        return "double_sum"

    def answer(self, parts: Mapping[str, Noisy]) -> Answer:
        once = Total.answer(self, parts)
        return Answer(2 * once.value, 2 * once.low, 2 * once.high)


@aggregate_function
def double_sum(of: str | Expression, bounds: Bounds | None = None, clip: bool = False) -> Aggregate:
    """Sum up a column twice."""
    return _checked(DoubleTotal(expression(of), bounds, clip))
'''
_LAW = '''"""A toy: the discrete Laplace law under another name."""

from dither.noise.discrete_laplace import DiscreteLaplace


class Murmur(DiscreteLaplace):
    """The discrete Laplace law, once more."""
'''
_MECHANISM = '''"""A toy: the Laplace mechanism under another name."""

from dither.mechanisms.laplace import Laplace


class Mutter(Laplace):
    """The Laplace mechanism, once more."""
'''
_CLAIM = '''

@claim("C99", "S0", "A toy: one is at most two.", "1 ≤ 2")
def c99(bound: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """Three times."""
    for power in (1, 2, 3):
        yield at_most("one", ball(bound), ball(Fraction(1)), power=power)
'''
_COMMAND = '''"""`dither greet`: a toy."""

from dither.cli import options
from dither.cli.screen import print_json


def command(json: options.JSON = False) -> None:
    """Greet.

    \\b
    Example:
      dither greet
    """
    print_json({"greeting": "good day"})
'''


def _shortcut(text: str) -> str:
    """The shortcut of sums once more, under the new name."""
    method = "    @_shortcut\n    def sum(" + text.partition("def sum(")[2].partition("    @_shortcut")[0]
    return text + "\n" + method.replace("def sum(", "def double_sum(").replace("moments.sum(", "moments.double_sum(")


TOYS: Mapping[str, Mapping[str, Edit]] = {
    "A law of noise": {
        "noise/murmur.py": lambda _: _LAW,
        "noise/murmur.md": lambda _: "# Why the samples of the toy are exact\n",
        "noise/__init__.py": lambda text: (
            text.replace('    "PowerLaw",\n', '    "Murmur",\n    "PowerLaw",\n')
            + "from dither.noise.murmur import Murmur\n"
        ),
    },
    "A mechanism": {
        "mechanisms/mutter.py": lambda _: _MECHANISM,
        "mechanisms/public_names.py": lambda text: text + "from dither.mechanisms.mutter import Mutter as Mutter\n",
        "mechanisms/__init__.py": lambda text: text.replace('    "NoAnswer",\n', '    "Mutter",\n    "NoAnswer",\n'),
        "__init__.py": lambda text: re.sub('    "NoAnswer"(.*)\n', '    "Mutter"\\1\n\\g<0>', text),
    },
    "A claim": {
        "audit/claims/adaptivity.py": lambda text: text + _CLAIM,
    },
    "An aggregate": {
        "engine/moment_aggregates.py": lambda text: text + _AGGREGATE,
        "engine/shortcuts.py": _shortcut,
        "__init__.py": lambda text: text.replace('    "count_people",\n', '    "count_people",\n    "double_sum",\n'),
    },
    "An engine": {
        "tables/database_engines/toy.py": lambda _: (
            repository.ROOT / "tests" / "tables" / "toy_engine.py"
        ).read_text(),
    },
    "A command": {
        "cli/greet.py": lambda _: _COMMAND,
        "cli/app.py": lambda text: text.replace("COMMANDS = (\n", 'COMMANDS = (\n    "greet",\n'),
    },
}
MOST = {"A law of noise": 3, "A mechanism": 4, "A claim": 1, "An aggregate": 3, "An engine": 1, "A command": 2}
"""Files of `src` that may be touched."""

CHECKS = [
    "tests/architecture/test_recipes.py",
    "tests/audit/test_zoo.py::test_every_mechanism_is_a_control",
    "tests/cli/test_help.py::test_every_command_says_what_it_does",
    "tests/engine/test_face.py::test_signatures_are_explicit_and_the_same",
    "tests/mechanisms/test_every_mechanism.py::test_every_mechanism_is_in_the_suite",
    "tests/replay/test_coverage.py::test_everything_that_touches_data_is_replayed",
    "tests/tables/hostile/test_coverage.py::test_every_aggregate_has_a_case",
]
BESIDES = {
    "test_every_law_is_in_the_suites": "Murmur in tests/noise/families.py",
    "test_every_mechanism_is_a_control": "Mutter",
    "test_every_mechanism_is_in_the_suite": "Mutter",
    "test_every_mechanism_is_on_a_page": "Mutter",
    "test_every_claim_is_expected_and_bent": "C99",
    "test_every_claim_is_on_its_page": "C99",
    "test_every_aggregate_is_on_the_page_of_tables": "double_sum",
    "test_every_aggregate_is_on_the_page_of_the_command_line": "double_sum",
    "test_everything_that_touches_data_is_replayed": "double_sum",
    "test_every_aggregate_has_a_case": "double_sum",
    "test_every_engine_is_in_the_suites": "toy in tests/tables",
    "test_every_engine_is_on_its_page": "Toy",
    "test_every_command_is_on_its_page": "greet",
}
"""Checks that ask for tests and pages of a toy, and what they must name."""
LEFT_OUT = {
    "test_every_law_is_public": "Murmur",
    "test_every_law_has_its_proof": "noise/murmur.md",
    "test_every_mechanism_is_public": "Mutter in src/dither/mechanisms/__init__.py",
    "test_every_aggregate_is_public": "double_sum",
    "test_signatures_are_explicit_and_the_same": "double_sum",
    "test_every_engine_is_registered": "toy",
    "test_every_command_is_listed": "greet",
}
"""Checks that ask for the other files of `src`, and for the entry point."""


def recipe(name: str) -> str:
    page = (repository.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^- \*\*{name}\*\*(.*?)(?=^- )", page, re.DOTALL | re.MULTILINE)
    return str(found)


def write_package(folder: Path, edits: Mapping[str, list[Edit]], *, entry_point: bool) -> Path:
    """A copy of the package with some files touched, as it would be installed."""
    shutil.copytree(repository.SOURCE, folder / "dither", ignore=shutil.ignore_patterns("__pycache__"))
    for file, all_edits in edits.items():
        path = folder / "dither" / file
        for edit in all_edits:
            before = path.read_text() if path.exists() else ""
            path.write_text(edit(before))
            assert path.read_text() != before, f"{file} is not what this test expects"
    if entry_point:
        described = folder / "toys-1.0.dist-info"
        described.mkdir()
        (described / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text("[dither.engines]\ntoy = dither.tables.database_engines.toy:Toy\n")
    return folder


def python(package: Path, *words: str, cwd: Path = repository.ROOT) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "2000", "TERM": "dumb"}
    return subprocess.run([sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False)


def failures(package: Path) -> dict[str, str]:
    """The checks that fail, by name, with what they say."""
    done = python(package, "-m", "pytest", "-vv", "--tb=short", "-p", "no:cacheprovider", "-n0", *CHECKS)
    assert done.returncode == 1, done.stdout + done.stderr
    report = done.stdout.partition("= FAILURES =")[2].partition("= short test summary")[0]
    _, *parts = re.split(r"^_{3,} (?=test_)", report, flags=re.MULTILINE)
    return {re.split(r"\W", part)[0]: part for part in parts}


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All toys, as the recipes say."""
    edits: dict[str, list[Edit]] = {}
    for toy in TOYS.values():
        for file, edit in toy.items():
            edits.setdefault(file, []).append(edit)
    return write_package(tmp_path_factory.mktemp("followed"), edits, entry_point=True)


@pytest.mark.parametrize("name", TOYS)
def test_the_recipe_names_every_file_of_the_package_that_is_touched(name: str) -> None:
    text, touched = recipe(name), TOYS[name]
    counted = re.match(r" \((\d) files? of `src`\)", text)
    assert counted is not None
    assert int(counted[1]) == len(touched) <= MOST[name]
    named = [re.sub(r"<\w+>", "[a-z_]+", each) for each in re.findall(r"`src/dither/([\w./<>]+)`", text)]
    assert [file for file in touched if not any(re.fullmatch(each, file) for each in named)] == []


_ASKED = """
from fractions import Fraction
import duckdb, pyarrow as pa
import dither as dp

visits = pa.table({"user": [str(n) for n in range(100)], "city": ["Paris"] * 60 + ["Lyon"] * 40, "cost": [2] * 100})
budget, unit = dp.PureDP(10**7), dp.Person("user", 1, 1)
data = dp.Dataset(visits, unit=unit, budget=budget, ledger="1.ledger", identity="a")
asked = data.group_by("city", keys=["Lyon", "Paris"]).agg(twice=dp.double_sum("cost", bounds=(0, 10)))
assert asked.plan(epsilon=10**5).error("twice") < 1
assert [round(each) for each in asked.release(epsilon=10**5).to_arrow()["twice"].to_pylist()] == [160, 240]
assert round(data.double_sum("cost", bounds=(0, 10), epsilon=10**5).value) == 400

from dither.noise import Murmur

assert isinstance(Murmur(3).sample(), int)
released = dp.Mutter(sensitivity=1, epsilon=10**5).release(7)
assert released.value == 7 and released.guarantee == dp.PureDP(10**5)
assert dp.audit.claims.find("C99").check().verdict == "holds"
assert dp.audit.claims.find("C99").check(bound=Fraction(1, 2)).verdict == "fails"

duckdb.connect("toy.duckdb").execute("CREATE TABLE visits AS SELECT * FROM visits").close()
data = dp.Dataset("toy://toy.duckdb", table="visits", unit=unit, budget=budget, ledger="2.ledger", identity="b")
assert data.count(epsilon=10**5).value == 100
"""


@pytest.mark.slow
def test_the_toys_work(followed: Path, tmp_path: Path) -> None:
    done = python(followed, "-c", _ASKED, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "visits.csv").write_text("user,cost\n" + "".join(f"{n},2\n" for n in range(100)))
    line = "release visits.csv --person user --max-rows-per-group 1 --agg twice=double_sum(cost,0,10) --epsilon 100000"
    price = ("--budget-epsilon", "100000", "--ledger", "3.ledger")
    done = python(followed, "-m", "dither", *line.split(), *price, cwd=tmp_path)
    assert "400" in done.stdout, done.stderr
    done = python(followed, "-m", "dither", "greet", cwd=tmp_path)
    assert "good day" in done.stdout, done.stderr


@pytest.mark.slow
def test_what_a_recipe_asks_for_besides_the_package_is_named(followed: Path) -> None:
    found = failures(followed)
    assert found.keys() == BESIDES.keys()
    assert [name for name, said in found.items() if BESIDES[name] not in said] == []


@pytest.mark.slow
def test_what_is_left_out_of_the_package_is_named(tmp_path: Path) -> None:
    """Only the first file of each recipe, and no entry point."""
    first = {file: [toy[file]] for toy in TOYS.values() for file in list(toy)[:1]}
    package = write_package(tmp_path, first, entry_point=False)
    found = failures(package)
    assert LEFT_OUT.keys() <= found.keys()
    assert [name for name, named in LEFT_OUT.items() if named not in found[name]] == []
    opened = 'dp.Dataset("toy://x", table="x", unit=dp.Rows(), budget=dp.PureDP(1), ledger="x", identity="x")'
    for asked, said in [
        ("dp.double_sum", "has no attribute 'double_sum'"),
        (opened, "Install a package with an entry point of that name"),
    ]:
        assert said in python(package, "-c", f"import dither as dp; {asked}", cwd=tmp_path).stderr
    assert "No such command 'greet'" in python(package, "-m", "dither", "greet", cwd=tmp_path).stderr


def test_the_toys_are_no_part_of_the_package() -> None:
    assert "greet" not in COMMANDS
