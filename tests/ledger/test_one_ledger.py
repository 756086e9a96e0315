"""D49 again: one place is one ledger, also if its log is removed, its file is mounted, or a role has its own schema."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dither.errors import LedgerError
from dither.ledger import Ledger, files
from tests.ledger.spender import BUDGET, EVENT
from tests.servers import missing

SPENDER = Path(__file__).parent / "spender.py"


class Spender:
    """Another process with the ledger open."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def __call__(self, command: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")


@contextmanager
def spender(place: str | Path, *command: str) -> Iterator[Spender]:
    line = [*command, sys.executable, str(SPENDER), str(place)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Spender(process)
        assert process.stdin
        process.stdin.close()


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


LOST = [("-wal", "-shm"), ("-wal",), ("-shm",)]


@pytest.mark.parametrize("lost", LOST, ids=" and ".join)
def test_d49_two_processes_with_two_logs_do_not_spend_the_budget_twice(
    folder: Path, processes: ExitStack, lost: tuple[str, ...]
) -> None:
    """A has it open; its log is removed; B opens it, and makes a new one under the same name."""
    place = folder / "test.ledger"
    first, second = (processes.enter_context(spender(place)) for _ in range(2))
    assert first("open") == "done"
    for ending in lost:
        Path(f"{place}{ending}").unlink()
    spends = second("open") == "done"
    assert spends == ("-shm" in lost), "an index without its log is refused by SQLite"
    assert (second("charge") == "done") == spends
    assert "was moved, replaced or deleted while it was in use. No answer was given" in first("charge")
    assert "was moved, replaced or deleted" in first("look"), "what it would say is old"
    assert first("end") == "done"
    if spends:
        assert second("look") == "1"
        assert second("close") == "done"
        ledger = Ledger(place)
        assert ledger.account("visits").charges == 1
        assert ledger.verify() == 2
        ledger.close()


@pytest.mark.parametrize("ends", ["close", "end"])
def test_d49_a_process_whose_log_was_removed_does_not_take_that_of_others_with_it(
    folder: Path, processes: ExitStack, ends: str
) -> None:
    """The last connection that closes copies its log and deletes the file of that name: another's, here."""
    place = folder / "test.ledger"
    first, second = (processes.enter_context(spender(place)) for _ in range(2))
    assert first("open") == "done"
    for ending in ("-wal", "-shm"):
        Path(f"{place}{ending}").unlink()
    assert [second(each) for each in ("open", "charge", "close")] == ["done"] * 3
    assert first(ends) == "done"
    assert first.process.stdin
    first.process.stdin.close()
    first.process.wait()
    ledger = Ledger(place)
    assert ledger.account("visits").charges == 1, "it was charged, durably"
    assert ledger.verify() == 2
    ledger.close()


def test_d49_a_log_that_is_put_in_the_place_of_another(folder: Path) -> None:
    """That some -wal is there is not enough: it must be this connection's."""
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", BUDGET)
    log = folder / "test.ledger-wal"
    shutil.copy(log, folder / "copy")
    (folder / "copy").replace(log)
    with pytest.raises(LedgerError, match="replaced"):
        ledger.charge("visits", EVENT, BUDGET, "how many?")
    ledger.close()
    assert log.exists(), "it is not ours to delete"


def test_d49_a_log_that_is_replaced_while_a_charge_is_written(folder: Path) -> None:
    """Between the check before and the commit: the check after it notices."""
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", BUDGET)

    def charge() -> None:
        with ledger._store.writing() as connection:
            ledger._store.append(connection, ledger._store.last(connection), "charge", "visits", "{}")
            (folder / "test.ledger-wal").rename(folder / "elsewhere")
            (folder / "test.ledger-wal").touch()

    with pytest.raises(LedgerError, match="replaced"):
        charge()
    ledger.close()


def test_what_is_open_is_known_by_its_descriptor(folder: Path) -> None:
    """A name that was given to another file after it was opened is not ours."""
    paths = [folder / name for name in ("l", "l-wal", "l-shm")]
    before = files.open_now() or {}
    with ExitStack() as stack:
        for path in paths:
            stack.enter_context(path.open("w"))
        assert files.OpenFiles.now(folder / "l", before).are_in_place
        assert not files.OpenFiles.now(folder / "l", files.open_now() or {}).are_in_place, (
            "the log of another connection"
        )
        for path in paths:
            path.unlink()
            assert not files.OpenFiles.now(folder / "l", before).are_in_place
            path.touch()
            assert not files.OpenFiles.now(folder / "l", before).are_in_place


# ------------------------------------------------------------ mounts


@pytest.fixture
def may_mount(folder: Path) -> None:
    """Needs the right to mount, in a namespace of its own that ends with its process."""
    (folder / "try").mkdir()
    (folder / "try" / "file").touch()
    line = ["unshare", "-m", "mount", "--bind", str(folder / "try" / "file"), str(folder / "try" / "file")]
    if shutil.which("unshare") is None or subprocess.run(line, capture_output=True).returncode:
        missing("Mounts need Linux and the right to make them: run the tests as root.")


def mounted(what: Path, where: Path) -> list[str]:
    """The beginning of a command line that runs with `what` mounted at `where`."""
    return ["unshare", "-m", "sh", "-c", f"mount --bind '{what}' '{where}' && exec \"$@\"", "sh"]


@pytest.mark.usefixtures("may_mount")
def test_d49_a_file_that_is_mounted_by_itself_is_refused(folder: Path, processes: ExitStack) -> None:
    """As containers do it: two folders, one file in both, two logs."""
    here, there = folder / "here", folder / "there"
    for each in (here, there):
        each.mkdir()
        (each / "test.ledger").touch()
    first = processes.enter_context(spender(here / "test.ledger"))
    assert first("open") == "done"
    command = mounted(here / "test.ledger", there / "test.ledger")
    second = processes.enter_context(spender(there / "test.ledger", *command))
    assert "is mounted as a single file" in second("open")
    assert "Mount its folder instead." in second("open")
    assert first("charge") == "done"
    assert not (there / "test.ledger-wal").exists()


@pytest.mark.usefixtures("may_mount")
@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_d49_a_log_that_is_mounted_by_itself_is_refused(folder: Path, processes: ExitStack, ending: str) -> None:
    place = folder / "test.ledger"
    with spender(place) as before:
        assert before("open") == "done"
    other = folder / "other"
    other.touch()
    Path(f"{place}{ending}").touch()
    second = processes.enter_context(spender(place, *mounted(other, Path(f"{place}{ending}"))))
    assert "is mounted as a single file" in second("open")


@pytest.mark.usefixtures("may_mount")
def test_a_folder_may_be_mounted_twice(folder: Path, processes: ExitStack) -> None:
    """The log is in it, so both see one."""
    here, there = folder / "here", folder / "there"
    here.mkdir()
    there.mkdir()
    first = processes.enter_context(spender(here / "test.ledger"))
    second = processes.enter_context(spender(there / "test.ledger", *mounted(here, there)))
    assert first("open") == second("open") == "done"
    assert first("charge") == "done"
    assert second("charge").startswith("OverBudget")
    assert second("look") == "1"
