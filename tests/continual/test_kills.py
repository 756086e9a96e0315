"""H87: a stream that is killed, or whose disk fails, at any call: each period has one answer for ever, charged once.

A child steps a stream with a fault at its n-th call to the disk (tests/ledger/faults.c). What it told before is told
again by the next process, although the data has changed since; and the ledger holds one charge.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dither.ledger import Ledger
from tests.ledger.faults import IO_ERROR, KILL, NO_SPACE, TORN, Server, fault_server, quick_folder

pytestmark = pytest.mark.xdist_group("stream faults")  # one server for all
STEPS = 4


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with fault_server(Path(__file__).parent / "stream_server.py") as found:
        yield found


def tried(server: Server, folder: Path, fault: int, at: Callable[[int], range]) -> int:
    """A fault at each of the calls that `at` picks; how many children were killed."""
    (folder / "before").mkdir()
    first = server.run(folder / "before", size=1)
    assert first.answers.keys() == {"key0"}, first.lines
    shutil.copytree(folder / "before", folder / "whole")
    calls = server.run(folder / "whole", size=STEPS).calls
    kills = 0
    for number in at(calls):
        place = folder / f"{fault} {number}"
        shutil.copytree(folder / "before", place)
        faulty = server.run(place, fault, number, size=STEPS)
        assert not [line for line in faulty.errors if not line.startswith("error LedgerError")], faulty.lines
        kills += faulty.killed
        told = {**first.answers, **faulty.answers}
        again = server.run(place, size=STEPS)
        assert not again.errors, again.lines
        assert told.items() <= again.answers.items(), "what was told is told again, and the same"
        assert len(again.answers) in range(len(told) + STEPS, len(told) + STEPS + 2), "no period is lost"
        ledger = Ledger(place / "test.ledger")
        ledger.verify()
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds.count("charge") == 1
        assert kinds.count("period") == len(again.answers)
        ledger.close()
        shutil.rmtree(place)
    return kills


def test_h87_killed_at_calls_of_all_kinds(server: Server, record_property: Callable[[str, object], None]) -> None:
    """Every second call on a commit; the nightly run takes each of them, and tears writes as well."""
    with quick_folder() as folder:
        kills = tried(server, folder, KILL, lambda calls: range(1, calls + 1, 2))
    assert kills >= 40
    record_property("kills", kills)


@pytest.mark.nightly
@pytest.mark.parametrize("run", range(8))
def test_h87_killed_at_every_call(server: Server, run: int, record_property: Callable[[str, object], None]) -> None:
    """1,000 kills in all: eight times every call, and every write torn."""
    kills = 0
    for fault in (KILL, TORN):
        with quick_folder() as folder:
            kills += tried(server, folder, fault, lambda calls: range(1, calls + 1))
    assert kills >= 125
    record_property("kills", kills)


@pytest.mark.parametrize("fault", [NO_SPACE, IO_ERROR])
def test_h87_a_disk_that_fails(server: Server, fault: int) -> None:
    with quick_folder() as folder:
        tried(server, folder, fault, lambda calls: range(1, calls + 1, 5))
