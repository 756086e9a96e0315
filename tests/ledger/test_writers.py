"""D49: many writers at once never spend more than the cap, nor less than they may."""

import subprocess
import sys
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from dither import PureDP
from dither.errors import OverBudget
from dither.events import LaplaceNoise
from dither.ledger import Charge, Ledger

WRITERS = Path(__file__).parent / "writers.py"


def spend(place: str, writers: int, charges: int, how: str) -> list[int]:
    """How many charges of all writers succeeded, were over the budget, and failed otherwise."""
    command = [sys.executable, str(WRITERS), place, str(writers), str(charges), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == writers + (how == "shared"), done.stderr
    assert not [line for line in lines if not line.endswith(" 0")], (lines, done.stderr)
    return [sum(each) for each in zip(*(map(int, line.split()) for line in lines), strict=True)]


def all_is_spent(location: str) -> None:
    ledger = Ledger(location)
    assert ledger.verify() == 101
    assert ledger.account("visits").remaining == {"epsilon": 0, "delta": 0}
    ledger.close()


def test_d49_64_processes_spend_exactly_the_cap(location: str, record_property: Callable[[str, object], None]) -> None:
    """A budget for 100 charges. All processes create the ledger at once."""
    assert spend(location, 64, 3, "fresh") == [100, 92, 0]
    all_is_spent(location)
    record_property("writers", 64 * 3)


def test_processes_inherit_an_open_ledger(location: str) -> None:
    """A fork copies connections, which must not be used, nor be closed, by the child."""
    assert spend(location, 12, 10, "shared") == [100, 30, 0]
    all_is_spent(location)


@pytest.mark.nightly
def test_d49_64_processes_try_a_thousand_times_each(
    location: str, record_property: Callable[[str, object], None]
) -> None:
    assert spend(location, 64, 1000, "fresh") == [100, 64_000 - 100, 0]
    all_is_spent(location)
    record_property("writers", 64_000)


def test_threads_spend_exactly_the_cap(ledger: Ledger) -> None:
    ledger.open_account("visits", PureDP(2))
    done: list[bool] = []

    def charge() -> None:
        for _ in range(3):
            try:
                ledger.charge("visits", LaplaceNoise(Fraction(10)), PureDP("0.1"), "how many?")
                done.append(True)
            except OverBudget:
                done.append(False)

    threads = [threading.Thread(target=charge) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (done.count(True), done.count(False)) == (20, 16)
    assert ledger.verify() == 21


def test_d53_threads_with_one_key_say_one_answer(ledger: Ledger) -> None:
    """All draw, and all say what the first one stored."""
    ledger.open_account("visits", PureDP(1))
    said: list[bytes] = []
    together = threading.Barrier(8)

    def answer(own: bytes) -> None:
        charge: Charge = ledger.charge("visits", LaplaceNoise(Fraction(1)), PureDP(1), "how many?", key="a")
        together.wait()
        said.append(charge.answer or ledger.keep(charge, own))

    threads = [threading.Thread(target=answer, args=(bytes([number]),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 8
    assert len(set(said)) == 1
    assert ledger.account("visits").charges == 1
