"""Sources that move, and files that are written to: the account stays one, and what changed is said."""

import json
import os
from pathlib import Path

import pytest

import dither as dp
from dither.errors import LedgerConflict, LedgerError
from dither.ledger import Ledger
from tests.cli.world import ONE_ROW, run, write_visits

_LATER = 2_000_000_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_visits(tmp_path)
    return tmp_path


def _opened(source: str, budget: dp.PureDP | None = None) -> dp.Dataset:
    return dp.Dataset(source, unit=dp.Person("user_id", 1, 1), budget=budget, ledger="visits.ledger")


def _spend(source: str, budget: dp.PureDP | None = None) -> dp.Dataset:
    with _opened(source, budget) as data:
        data.count(epsilon=0.25)
        return data


def test_data_that_moved_goes_on_with_its_account(folder: Path) -> None:
    _spend("visits.csv", dp.PureDP(1))
    Path("data").mkdir()
    Path("visits.csv").rename("data/visits.csv")
    done = run("ledger", "move", "visits.ledger", "visits.csv", "data/visits.csv")
    assert done.code == 0, done.err
    with _opened("data/visits.csv") as data:
        data.count(epsilon=0.25)
        assert data.remaining["epsilon"] == 0.5
        with pytest.raises(LedgerConflict):
            _opened("data/visits.csv", dp.PureDP(2))
    line = f"{ONE_ROW} --agg n=count --epsilon 0.5 --ledger visits.ledger --json"
    assert json.loads(run("release", "data/visits.csv", *line.split()).out)["remaining"]["epsilon"] == "0"
    ledger = Ledger("visits.ledger")
    assert ledger.verify() == sum(1 for _ in ledger.entries())
    again = json.loads(run("ledger", "move", "visits.ledger", "visits.csv", "data/visits.csv", "--json").out)
    assert again["account"] != again["name"]
    assert ledger.verify() == sum(1 for _ in ledger.entries())
    ledger.close()


def test_data_moves_twice(folder: Path) -> None:
    _spend("visits.csv", dp.PureDP(1))
    for old, new in (("visits.csv", "a.csv"), ("a.csv", "b.csv")):
        Path(old).rename(new)
        assert run("ledger", "move", "visits.ledger", old, new).code == 0
    with _opened("b.csv") as data:
        assert data.remaining["epsilon"] == 0.75


def test_two_budgets_do_not_become_one(folder: Path) -> None:
    """Nor does moving give a part of one account to another."""
    _spend("visits.csv", dp.PureDP(1))
    Path("copy.csv").write_bytes(Path("visits.csv").read_bytes())
    _spend("copy.csv", dp.PureDP(1))
    done = run("ledger", "move", "visits.ledger", "visits.csv", "copy.csv")
    assert done.code == 2
    assert "has a budget of its own" in done.err
    ledger = Ledger("visits.ledger")
    with pytest.raises(LedgerError):
        ledger.move("nobody", "somebody")
    ledger.open_account("first", dp.PureDP(1))
    ledger.move("first", "second")
    with pytest.raises(LedgerConflict, match="was moved to this name"):
        ledger.open_account("second", dp.PureDP(1))
    assert ledger.verify()
    ledger.close()


@pytest.mark.parametrize("places", [("visits.ledger", "nowhere.csv", "visits.csv"), ("visits.ledger", "visits.csv")])
def test_a_move_that_names_nothing_is_refused(places: tuple[str, ...], folder: Path) -> None:
    _spend("visits.csv", dp.PureDP(1))
    done = run("ledger", "move", *places)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_file_that_was_written_to_is_noticed(folder: Path) -> None:
    assert _spend("visits.csv", dp.PureDP(2)).changed is None
    assert _spend("visits.csv").changed is None
    with Path("visits.csv").open("a", encoding="utf-8") as file:
        file.write("somebody,Paris,30,1.0,2024-01-31\n")
    os.utime("visits.csv", (_LATER, _LATER))
    line = "--person user_id --max-groups 1 --max-rows-per-group 1 --agg n=count --epsilon 0.25 --ledger visits.ledger"
    done = run("release", "visits.csv", *line.split())
    assert "The data was written to after its budget was given" in done.out
    with _opened("visits.csv") as data:
        assert data.changed is not None
        assert data.remaining["epsilon"] == 1.25
    ledger = Ledger("visits.ledger")
    assert [entry.kind for entry in ledger.entries()].count("source") == 1
    assert ledger.verify()
    ledger.close()
