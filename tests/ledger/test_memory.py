"""A ledger in memory: one budget for all threads, no file, and it says that it is not durable."""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

import dither as dp
from dither.engine.dataset import for_plans
from dither.errors import CertificateError, LedgerError, OverBudget, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Ledger
from dither.mechanisms.certificate import digest

EVENT = LaplaceNoise(Fraction(10))
COST = dp.PureDP("0.1")


def opened() -> Ledger:
    ledger = Ledger(":memory:")
    ledger.open_account("visits", dp.PureDP(1))
    return ledger


def dataset(ledger: str | Ledger) -> dp.Dataset:
    return dp.Dataset(
        pa.table({"x": [1, 2, 3]}), unit=dp.Rows(), budget=dp.PureDP(1), ledger=ledger, identity="numbers"
    )


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_no_file_is_made_and_each_is_another() -> None:
    first, second = opened(), opened()
    first.charge("visits", EVENT, COST, "how many?")
    assert first.account("visits").charges == 1
    assert second.account("visits").charges == 0
    assert not os.listdir(), "a file was made"
    assert not first.is_durable


def test_it_goes_on_after_close() -> None:
    ledger = opened()
    ledger.charge("visits", EVENT, COST, "how many?")
    ledger.close()
    assert ledger.account("visits").charges == 1
    assert ledger.verify(ledger.anchor()) == 2


def test_threads_together_spend_the_cap_exactly() -> None:
    ledger, granted = opened(), []

    def spend() -> None:
        for _ in range(10):
            try:
                granted.append(ledger.charge("visits", EVENT, COST, "how many?"))
            except OverBudget:
                return

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(600)
    assert len(granted) == 10
    assert ledger.account("visits").remaining["epsilon"] == 0
    ledger.verify()
    ledger.close()


def test_who_reads_its_entries_may_write_meanwhile() -> None:
    ledger = opened()
    for entry in ledger.entries():
        if entry.kind == "budget":
            ledger.charge("visits", EVENT, COST, "how many?")
    assert ledger.account("visits").charges == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_process_cannot_spend_the_budget_once_more() -> None:
    ledger = opened()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ledger.charge("visits", EVENT, COST, "how many?")
        except LedgerError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.account("visits").charges == 0


def test_a_certificate_says_that_its_ledger_was_in_memory() -> None:
    book = Ledger(":memory:")
    with dataset(book) as data:
        release = data.agg(n=dp.count()).release(epsilon=0.5)
        certificate = release.certificate()
        assert certificate["ledger"] == "in memory"
        assert dp.check_certificate(certificate, book).entry == release.entry
    silent = {name: value for name, value in certificate.items() if name not in ("ledger", "digest")}
    with pytest.raises(CertificateError, match="ledger: entry"):
        dp.check_certificate({**silent, "digest": digest(silent)}, book)


def test_a_durable_ledger_says_nothing_of_it(tmp_path: Path) -> None:
    with dataset(str(tmp_path / "visits.ledger")) as data:
        release = data.agg(n=dp.count()).release(epsilon=0.5)
    assert "ledger" not in release.certificate()
    assert "durable" not in release.entry.content


def test_a_dataset_without_a_budget_finds_none_in_it() -> None:
    with pytest.raises(LedgerError, match=r"there is no ledger at :memory:"):
        dp.Dataset(pa.table({"x": [1]}), unit=dp.Rows(), ledger=":memory:", identity="numbers")


def test_what_is_opened_for_plans_has_no_ledger_and_releases_nothing() -> None:
    numbers = pa.table({"x": [1, 2, 3]})
    with for_plans(numbers, unit=dp.Rows(), failures_allowed=None, table=None, identity="numbers") as data:
        question = data.agg(n=dp.count())
        assert question.plan(epsilon=1).cost == dp.PureDP(1, adjacency=dp.Rows().adjacency)
        with pytest.raises(LedgerError, match="opened for plans alone"):
            question.release(epsilon=1)
        with pytest.raises(LedgerError, match="opened for plans alone"):
            data.origin.release_path.ledger.open_account("numbers", dp.PureDP(1))


@pytest.mark.parametrize(("identity", "allowed"), [("", None), ("numbers", 0)])
def test_a_plan_refuses_what_no_account_can_be_opened_with(identity: str, allowed: int | None) -> None:
    numbers = pa.table({"x": [1, 2, 3]})
    with (
        pytest.raises(ParameterError),
        for_plans(numbers, unit=dp.Rows(), failures_allowed=allowed, table=None, identity=identity),
    ):
        pass
