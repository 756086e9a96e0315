"""The long run ends in time, goes on where it stopped, and says what failed."""

from pathlib import Path

import pytest

from tests.nightly import FOLDER, Night, Shard, hours, shards


def shard(tmp_path: Path, name: str, body: str) -> Shard:
    file = tmp_path / f"test_{name}.py"
    file.write_text(f"import pathlib, time\ndef test_it():\n    {body}\n")
    return Shard(name, ("-p", "no:xdist", "-c", str(tmp_path / "none.ini"), "--rootdir", str(tmp_path), str(file)))


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "none.ini").write_text("[pytest]\n")
    monkeypatch.setattr("tests.nightly.ROOT", tmp_path)
    return tmp_path / "build" / "state.json"


def test_what_passed_is_not_run_again_and_what_failed_is(tmp_path: Path, state: Path) -> None:
    ran = tmp_path / "ran"
    work = [
        shard(tmp_path, "good", f"pathlib.Path({str(ran)!r}).open('a').write('x')"),
        shard(tmp_path, "bad", "assert not 'what is wrong'"),
    ]
    for _ in range(2):
        night = Night(state, 300)
        night.run(work, at_once=1)
        assert night.failed
        assert night.summary(work).startswith("1 passed, 1 failed, 0 not finished, 0 not run")
    assert ran.read_text() == "x"
    assert "what is wrong" in (state.parent / "bad.log").read_text()


def test_what_shards_count_is_added_up_over_all_runs_of_a_commit(tmp_path: Path, state: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "def pytest_terminal_summary(terminalreporter):\n"
        "    terminalreporter.write_line('1200 kills; no answer without a charge')\n"
    )
    work = [shard(tmp_path, "first", "pass"), shard(tmp_path, "second", "pass")]
    for each in work:
        night = Night(state, 300)
        night.run([each], at_once=1)
    assert "  2,400 kills; no answer without a charge" in night.summary(work).splitlines()


def test_no_shard_outlives_the_night(tmp_path: Path, state: Path) -> None:
    work = [shard(tmp_path, "endless", "time.sleep(600)"), shard(tmp_path, "late", "pass")]
    night = Night(state, 20)
    night.deadline -= 15  # the first of the five seconds that are left may pass before it starts
    night.run(work, at_once=1)
    assert not night.failed
    assert night.summary(work).splitlines()[:3] == [
        "0 passed, 0 failed, 1 not finished, 1 not run",
        "  not finished: endless",
        "  not run: late",
    ]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "two"])
def test_hours_must_be_a_positive_number(text: str) -> None:
    with pytest.raises(SystemExit, match="NIGHT_HOURS must be a positive number"):
        hours(text)


def test_two_hours_unless_set() -> None:
    assert hours(None) == hours("") == 2
    assert hours("0.5") == 0.5


def test_every_long_test_has_a_shard() -> None:
    names = [each.name for each in shards()]
    assert len(set(names)) == len(names)
    assert sum(name.startswith("tests/ledger/test_faults.py::test_d50_ten_thousand_kills[") for name in names) == 5
    assert any(name.endswith("test_each_mutation_is_noticed (1 to 40)") for name in names)
    assert any(name.endswith("wider search") for name in names)
    assert FOLDER.parts[-2:] == ("build", "nightly")  # ignored by git
