"""`pip install dither` brings the main job; what else a part needs is named, before anything is spent."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import dither.errors
from dither.errors import CertificateError, DitherError

_BARE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "pandas", "polars", "psycopg", "pyspark"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())  # as if they were not installed
"""
_CSV = "city,age\n" + "Lyon,30\nParis,41\n" * 50


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "people.csv").write_text(_CSV)
    return subprocess.run([sys.executable, "-c", _BARE + program], capture_output=True, text=True, cwd=folder)


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(
        f"import runpy; sys.argv[1:] = {list(arguments)!r}; runpy.run_module('dither', run_name='__main__')", folder
    )


ASKED = (
    "release", "people.csv", "--rows", "add-remove", "--agg", "n=count()", "--group-by", "city", "--keys", "Lyon,Paris",
    "--epsilon", "0.1", "--budget-epsilon", "1", "--budget-delta", "0", "--ledger", "a.ledger",
)  # fmt: skip


def test_a_csv_becomes_a_private_table(tmp_path: Path) -> None:
    done = command(tmp_path, *ASKED)
    assert done.returncode == 0, done.stderr
    assert "Lyon" in done.stdout
    assert "Spent epsilon 0.1" in done.stdout


def test_the_demonstration_runs(tmp_path: Path) -> None:
    done = command(tmp_path, "demo", "--folder", "demo", "--people", "1000")
    assert done.returncode == 0, done.stderr
    assert "pip install 'dither[plots]'" in done.stdout


@pytest.mark.parametrize("option", ["--report=a.html", "--plot=a.svg"])
def test_a_picture_is_refused_before_the_charge(option: str, tmp_path: Path) -> None:
    done = command(tmp_path, *ASKED, option)
    assert done.returncode == 4
    assert "pip install 'dither[plots]'" in done.stderr
    assert not (tmp_path / "a.ledger").exists()


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("plot()", "pip install 'dither[plots]'"),
        ("to_pandas()", "pip install pandas"),
        ("to_polars()", "pip install 'dither[polars]'"),
    ],
)
def test_what_is_missing_is_named(wanted: str, sentence: str, tmp_path: Path) -> None:
    program = f"""
import dither as dp
data = dp.Dataset("people.csv", unit=dp.Rows(), budget=dp.PureDP(1), ledger="a.ledger")
answer = data.count(epsilon=1)
print(answer)
try:
    answer.{wanted}
except dp.errors.MissingPackage as error:
    print(error)
"""
    done = run(program.replace("dp.errors", "sys.modules['dither.errors']"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert sentence in done.stdout


@pytest.mark.parametrize("kind", [getattr(dither.errors, name) for name in dither.errors.__all__])
def test_every_exception_can_be_sent_to_another_process(kind: type[DitherError]) -> None:
    error = kind("part", "a reason") if kind is CertificateError else kind("a reason")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
