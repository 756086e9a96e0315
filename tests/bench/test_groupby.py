"""The topic `groupby` of `python -m bench`: what a process costs, how a case runs apart, and what is asked."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench import engines, groupby, meter
from bench.child import Failed, last_line
from bench.groupby_case import GROUPS, HIGH, visits
from bench.meter import Cost

PYTHON = Path(sys.executable)
HALF_A_SECOND = "import time\nwhile time.process_time() < 0.5: pass\n"
HUNDRED_MEGABYTES = "import time\nblock = b'x' * 100_000_000\ndel block\nprint('done', flush=True)\ntime.sleep(60)\n"


def test_the_table_is_the_same_in_every_run(tmp_path: Path) -> None:
    first, again = (pq.read_table(visits(20_000, tmp_path / name)) for name in ("first", "again"))
    assert first.equals(again)
    assert first.num_rows == 20_000
    assert set(first["g"].to_pylist()) <= set(range(GROUPS))
    assert len(set(first["user_id"].to_pylist())) <= 2000
    assert 0 <= min(first["spend"].to_pylist()) <= max(first["spend"].to_pylist()) <= HIGH


def test_the_table_with_texts_is_the_same_with_two_columns_more(tmp_path: Path) -> None:
    plain, more = (pq.read_table(visits(20_000, tmp_path, texts=texts)) for texts in (False, True))
    assert more.select(plain.column_names).equals(plain)
    assert more["place"].to_pylist() == [f"place {group}" for group in plain["g"].to_pylist()]
    assert str(more.schema.field("at").type) == "timestamp[ms]"


def test_the_cpu_time_of_a_child_counts_while_it_lives_and_after_it_ended() -> None:
    before = meter.cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", HALF_A_SECOND + "print(1, flush=True)\ninput()"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()
        assert meter.cpu_seconds() - before > 0.4
    assert meter.cpu_seconds() - before > 0.4


def test_the_peak_of_a_child_counts() -> None:
    before = meter.peak_bytes()
    with subprocess.Popen([sys.executable, "-c", HUNDRED_MEGABYTES], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert meter.peak_bytes() - before > 90_000_000
        child.kill()


def test_the_cheapest_run_and_the_highest_peak_count() -> None:
    assert Cost(2, 9, 5).best(Cost(3, 4, 7)) == Cost(2, 4, 7)
    assert Cost.from_json(Cost(2, 4, 7).to_json()) == Cost(2, 4, 7)


def test_a_case_that_fails_says_why_in_one_line() -> None:
    with pytest.raises(Failed, match="ModuleNotFoundError: No module named 'no_such_peer'"):
        last_line(PYTHON, "timeit", ["import no_such_peer"])
    with pytest.raises(Failed, match="No such file"):
        last_line(Path("/nowhere/bin/python"), "timeit", [])


def test_a_case_that_does_not_end_is_ended() -> None:
    with pytest.raises(Failed, match="not done after 1 s"):
        last_line(PYTHON, "timeit", ["-n", "1", "import time; time.sleep(600)"], seconds=1)


def test_the_last_line_of_a_case_is_its_result() -> None:
    assert "loop" in last_line(PYTHON, "timeit", ["-n", "1", "print('noise')"])


def test_a_peer_that_cannot_be_measured_is_quoted_and_decides_nothing() -> None:
    (row,) = groupby._against_peer("DuckDB", Cost(1, 1, 1), "Tumult", Failed("no Java"), 50.0)
    assert row.verdict == "-"
    assert "quoted and not measured: no Java" in row.peer


def test_a_measured_peer_decides_in_cpu_time_and_in_wall_time() -> None:
    rows = list(groupby._against_peer("DuckDB", Cost(1, 1, 1e6), "Tumult", Cost(60, 40, 1e9), 50.0))
    assert [row.verdict for row in rows] == ["holds", "MISSED", "-"]


def test_a_case_of_ours_that_cannot_be_measured_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> Cost:
        raise Failed("no Java")

    monkeypatch.setattr(engines, "cost_of", failing)
    (row,) = engines._against_plain("Spark", "spark", 1.5)
    assert (row.verdict, "no Java" in row.case) == ("MISSED", True)
