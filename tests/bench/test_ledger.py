"""The topic `ledger` of `python -m bench`: what is asked of it, and that a case counts what it should."""

import sys
from pathlib import Path

import pytest

from bench.child import last_line
from bench.ledger import alone_rows, together_rows
from bench.ledger_case import Writing


def writing(seconds: float, *, sync: float = 0.001, off: int = 0) -> Writing:
    return Writing(1, 1000, seconds, 0.5, sync, off)


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        (writing(3.0), ["holds", "-", "holds"]),
        (writing(4.0), ["MISSED", "-", "holds"]),
        (writing(4.0, sync=0.002), ["-", "-", "holds"]),  # the disk does not allow it
        (writing(3.0, off=1), ["holds", "-", "MISSED"]),
    ],
)
def test_what_is_asked_of_one_writer(found: Writing, verdicts: list[str]) -> None:
    assert [row.verdict for row in alone_rows("SQLite", found)] == verdicts


@pytest.mark.parametrize(
    ("found", "verdicts"),
    [
        (writing(1.0), ["holds", "-", "holds"]),
        (writing(1.1), ["MISSED", "-", "holds"]),
        (writing(1.0, off=1), ["holds", "-", "MISSED"]),
    ],
)
def test_what_is_asked_of_many_writers(found: Writing, verdicts: list[str]) -> None:
    assert [row.verdict for row in together_rows("SQLite, 64 threads", found, writing(4.0))] == verdicts


def test_the_fastest_run_counts_and_every_wrong_charge() -> None:
    runs = [writing(3.0, off=1), writing(2.0), writing(4.0, off=2)]
    assert Writing.best(runs) == writing(2.0, off=3)
    assert Writing.from_json(runs[0].to_json()) == runs[0]


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_a_case_charges_to_the_cap(kind: str) -> None:
    found = Writing.from_json(last_line(Path(sys.executable), "bench.ours_ledger", ["sqlite", kind, "3", "10"]))
    assert (found.writers, found.charges, found.off) == (3, 10, 0)
    assert min(found.seconds, found.cpu, found.sync) > 0
