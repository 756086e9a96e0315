"""`dither.testing`: exact answers in a test of pytest, that say so, and nowhere else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dither.audit.replay.allowed_differences import RULES
from dither.testing.exact_answers import ANSWERS

_CONFTEST = 'pytest_plugins = ["dither.testing"]\n'
_TESTS = """
import pyarrow as pa, pytest
import dither as dp
import dither.release
from dither.errors import CertificateError, EngineError, LedgerConflict, LedgerError
from dither.testing import without_noise
from dither.ledger import Ledger

VISITS = pa.table({"who": list(range(90)), "city": ["Lyon"] * 60 + ["Nice"] * 30, "age": [float(x) for x in range(90)]})

def opened(ledger):
    unit = dp.Person("who", max_groups=1, max_rows_per_group=1)
    return dp.Dataset(VISITS, unit=unit, budget=dp.ApproxDP(10, 1e-3), ledger=ledger, identity="visits")

def test_tables(dither_without_noise):
    with opened(":memory:") as data:
        release = data.group_by("city", keys=["Lyon", "Nice", "Oslo"]).agg(
            n=dp.count(), s=dp.sum("age", bounds=(0, 90)), m=dp.median("age", bounds=(0, 90))
        ).release(epsilon=1)
        table = release.to_arrow()
        assert table["n"].to_pylist() == [60, 30, 0]
        assert table["s"].to_pylist()[0] == pytest.approx(sum(range(60)))
        assert table["m"].to_pylist()[0] == pytest.approx(29.5, abs=1)
        assert "NOT PRIVATE" in repr(release) and "NOT PRIVATE" in release._repr_html_()
        certificate = release.certificate()
        with pytest.raises(CertificateError, match="not private"):
            dp.check_certificate(certificate)
        found = data.group_by("city").agg(n=dp.count()).release(epsilon=1, delta=1e-5)
        assert found.to_arrow().to_pydict()["n"] == [60, 30]
        assert data.spent["epsilon"] == 2, "the budget is charged as in production"

KEPT = []

def test_keep_one(dither_without_noise):
    KEPT.append(opened(":memory:").count(epsilon=1))
    KEPT.append(dp.Laplace(sensitivity=1, epsilon=1).release(7))

def test_it_is_still_marked_after_the_fixture():
    table, single = KEPT
    for each in (table, table.non_negative(), single):
        assert each.noise_removed and "NOT PRIVATE" in repr(each) and "noise" in each.certificate()
    assert not dp.Laplace(sensitivity=1, epsilon=1).release(7).noise_removed, "noise is back"
    assert len({dp.Laplace(sensitivity=1, epsilon="1e-6").release(7).value for _ in range(5)}) == 5

def test_a_durable_ledger_is_not_charged(dither_without_noise, tmp_path):
    with opened(tmp_path / "visits.ledger") as data:
        with pytest.raises(LedgerError, match="charged to no ledger that lasts"):
            data.count(epsilon=1)
        assert data.spent["epsilon"] == 0

def test_a_key_is_for_answers_with_noise_or_without(monkeypatch):
    data = opened(":memory:")
    data.count(epsilon=1, key="noisy")
    with without_noise():
        with pytest.raises(LedgerConflict, match="used with noise and now without"):
            data.count(epsilon=1, key="noisy")

def test_noise_that_is_taken_away_after_the_charge_gives_no_answer(monkeypatch, tmp_path):
    data, draw = opened(tmp_path / "visits.ledger"), dither.release._drawn
    def drawn(*asked):
        quiet.__enter__()
        return draw(*asked)
    quiet = without_noise()
    monkeypatch.setattr(dither.release, "_drawn", drawn)
    with pytest.raises(EngineError, match="could not be answered"):
        data.count(epsilon=1)
    quiet.__exit__(None, None, None)

def test_mechanisms(dither_without_noise):
    assert dp.Laplace(sensitivity=1, epsilon=1).release(7).value == 7
    assert dp.Gaussian(sensitivity=1, rho=1).release(1.5).value == pytest.approx(1.5)
    assert dp.Exponential(sensitivity=1, epsilon=1).release([1, 5, 2]).value == 1
    assert dp.RandomizedResponse(answers=["yes", "no"], epsilon=1).release("no").value == "no"
    assert dp.stats.mean([1, 2, 3] * 100, epsilon=1, bounds=(0, 10)).value == pytest.approx(2)
    assert dp.SparseVector(threshold=5, sensitivity=1, epsilon=1, max_above=1).release([1, 9]).value == [False, True]

def test_a_verified_ledger(dither_without_noise):
    book = Ledger(":memory:")
    opened(book).count(epsilon=1)
    assert book.verify() == 4
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process that does not know that it was started by a test."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, env=environment
    )


def test_a_users_tests_pass_without_noise(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_theirs.py").write_text(_TESTS)
    (tmp_path / "test_of_the_page.py").write_text(_blocks()[1])
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout


def test_the_page_says_how_the_plugin_is_loaded() -> None:
    assert _blocks()[0] == _CONFTEST


def _blocks() -> list[str]:
    """The Python of docs/testing.md."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text()
    return re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)


def test_noise_that_was_loaded_before_the_plugin_stays(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("import dither.noise\n" + _CONFTEST)
    (tmp_path / "test_theirs.py").write_text("def test_it(dither_without_noise): pass\n")
    done = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_theirs.py")
    assert done.returncode == 1
    assert "the test switch is off" in done.stdout


@pytest.mark.parametrize(
    "lines",
    [
        "from dither.testing import without_noise",
        "from dither.testing import pytest_configure, without_noise; pytest_configure()",
        "import os; os.environ['PYTEST_CURRENT_TEST'] = 'x'; from dither.testing import without_noise",
    ],
)
def test_it_cannot_be_reached_outside_of_tests(lines: str, tmp_path: Path) -> None:
    done = run(tmp_path, "-c", f"{lines}\nwith without_noise(): print('no noise')")
    assert done.returncode == 1
    assert "EntropyError" in done.stderr
    assert done.stdout == ""


def test_processes_that_tests_start_do_not_inherit_the_open_door(tmp_path: Path) -> None:
    asked = "import os; from dither.testing import pytest_configure; pytest_configure()\n"
    done = run(tmp_path, "-c", asked + "print(os.environ.get('DITHER_TEST_DOOR'))")
    assert done.stdout == "None\n", done.stderr


def test_every_kind_of_draw_has_an_exact_answer() -> None:
    assert ANSWERS.keys() == RULES.keys()
