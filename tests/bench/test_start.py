"""The topic `start` of `python -m bench`: each command does its work, and its time is that of the whole process."""

import sys
from pathlib import Path

import pytest

from bench import start
from bench.child import Failed
from bench.start import Start


def test_each_command_does_its_work(tmp_path: Path) -> None:
    asked = start.commands(tmp_path)
    for name in ("dither plan", "dither release"):
        found = start.started(asked[name])
        assert min(found.wall, found.cpu) > 0
    assert (tmp_path / "visits.ledger").exists()


def test_the_better_time_of_each_kind_counts() -> None:
    assert Start(2, 9).best(Start(3, 4)) == Start(2, 4)


def test_the_whole_process_counts() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    assert start.started([sys.executable, "-c", busy]).cpu >= 0.3


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(Failed, match="no_such_module"):
        start.started([sys.executable, "-c", "import no_such_module"])
