"""D50 and D51: a release that is killed, or whose disk fails, at any call: never an answer without a durable charge.

A child process releases through the release path with a fault at its n-th call to the disk (faults.c). Afterwards the
ledger opens, verifies and takes the next charge, and each answer that was said is the one that the ledger holds.
"""

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither import PureDP
from dither.events import LaplaceNoise
from dither.ledger import Ledger
from dither.release import _read
from tests.ledger.faults import IO_ERROR, KILL, NO_SPACE, TORN, Outcome, Server, quick_folder

pytestmark = pytest.mark.xdist_group("ledger faults")  # one server for all
STEPS = ["opened the ledger", "charged", "opened", "drawn", "kept"]


def check(folder: Path, outcome: Outcome) -> Ledger:
    """The ledger after a fault: whole, and not one answer ahead of its charges."""
    assert not [line for line in outcome.errors if not line.startswith("error LedgerError")], outcome.lines
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", PureDP(1000))
    assert ledger.verify() >= 1
    entries = list(ledger.entries())
    charges = {entry.content["key"]: entry.number for entry in entries if entry.kind == "charge"}
    kept = {entry.content["key"]: entry.content for entry in entries if entry.kind == "answer"}
    for key, said in outcome.answers.items():
        assert kept[key]["charge"] == charges[key]
        assert str(_read(bytes.fromhex(kept[key]["answer"]))["noisy"][0].as_py()) == said
    ledger.charge("visits", LaplaceNoise(Fraction(10)), PureDP("0.1"), "and after?")
    assert ledger.account("visits").charges == len(charges) + 1
    ledger.close()
    return ledger


def each_call(server: Server, folder: Path, fault: int, used: bool, at: Callable[[int], range], **settings: Any) -> int:
    """Releases with the fault at each of the calls that `at` picks from their number; how many there were."""
    (folder / "before").mkdir()
    if used:
        assert server.run(folder / "before", keys=("key0",)).answers.keys() == {"key0"}
    shutil.copytree(folder / "before", folder / "whole")
    calls = server.run(folder / "whole", **settings).calls
    kills = 0
    for number in at(calls):
        shutil.copytree(folder / "before", folder / str(number))
        outcome = server.run(folder / str(number), fault, number, **settings)
        kills += outcome.killed
        check(folder / str(number), outcome)
    return kills


@pytest.mark.parametrize("used", [False, True], ids=["new", "used"])
def test_d50_killed_at_every_call(
    server: Server, folder: Path, used: bool, record_property: Callable[[str, object], None]
) -> None:
    kills = each_call(server, folder, KILL, used, lambda calls: range(1, calls + 1))
    assert kills >= (40 if used else 70), "150 kills in all, with the next two tests"
    record_property("kills", kills)


def test_d50_killed_in_the_middle_of_a_write(
    server: Server, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    """Half of the bytes arrive. From the log's first page on: what is there before holds no charge."""
    kills = each_call(server, folder, TORN, False, lambda calls: range(22, calls + 1))
    assert kills >= 35
    record_property("kills", kills)


@pytest.mark.parametrize("step", STEPS)
def test_d50_killed_between_the_steps_of_a_release(
    server: Server, folder: Path, step: str, record_property: Callable[[str, object], None]
) -> None:
    outcome = server.run(folder, dies=step)
    assert outcome.killed
    assert not outcome.answers
    ledger = check(folder, outcome)
    kinds = [entry.kind for entry in ledger.entries()][:-1]
    charged = step != "opened the ledger"
    kept = ["answer", "outcome"] * (step == "kept")
    assert kinds == ["budget", *["charge", "attempt"] * charged, *kept], "no refund, no second charge"
    assert ledger.account("visits").failures.pending == (charged and step != "kept"), "without an outcome, it counts"
    again = server.run(folder)
    assert again.answers.keys() == {"key1"}, "the same key is answered, at no further cost"
    assert [entry.kind for entry in ledger.entries()].count("charge") == 2
    record_property("kills", 1)


@pytest.mark.parametrize("goes_on", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("fault", [NO_SPACE, IO_ERROR], ids=["disk full", "input or output error, failed fsync"])
def test_d51_a_failing_disk(
    server: Server, folder: Path, fault: int, goes_on: bool, record_property: Callable[[str, object], None]
) -> None:
    """A call fails once, or it and all later ones do; the same process then tries again under the same key."""
    (folder / "whole").mkdir()
    calls = server.run(folder / "whole").calls
    failed = 0
    for number in range(1 + 3 * goes_on + (fault == IO_ERROR), calls + 1, 6):
        (folder / str(number)).mkdir()
        outcome = server.run(folder / str(number), fault, number, goes_on, keys=("key1", "key1"))
        failed += bool(outcome.errors)
        assert goes_on or outcome.answers, "once the disk works again, so does the ledger"
        check(folder / str(number), outcome)
    assert failed > calls / 12
    record_property("disk faults", failed)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(5))
def test_d50_ten_thousand_kills(server: Server, part: int, record_property: Callable[[str, object], None]) -> None:
    """Small and large answers, so that the log is also copied back into the file while it grows."""
    kills, rounds = 0, 20 * part
    while kills < 2_000:
        with quick_folder() as folder:
            size = 5_000_000 if rounds % 50 == 49 else 20_000 if rounds % 4 == 3 else 1
            stride = 371 if size == 5_000_000 else 1
            kills += sweep(server, folder, size, (KILL, TORN)[rounds % 2], stride, rounds)
        rounds += 1
    record_property("kills", kills)


def sweep(server: Server, folder: Path, size: int, fault: int, stride: int, first: int) -> int:
    """Kills at every `stride`-th call of a release, on one ledger that is used again and again."""
    server.run(folder, size=size)
    calls = server.run(folder, keys=("key2",), size=size).calls
    kills = 0
    for number in range(1 + first % stride, calls + 1, stride):
        outcome = server.run(folder, fault, number, keys=(f"key-{number}",), size=size)
        kills += outcome.killed
        ledger = Ledger(folder / "test.ledger")
        assert ledger.verify() >= 5
        for key, said in outcome.answers.items():
            kept = ledger.charge("visits", LaplaceNoise(Fraction(10)), PureDP("0.1"), "how many?", key=key).answer
            assert kept is not None, "said, and not in the ledger"
            assert str(_read(kept)["noisy"][0].as_py()) == said
        ledger.close()
    return kills
