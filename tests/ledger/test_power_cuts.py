"""D50: a power cut at any moment loses no charge whose answer was said. The disk forgets all that was not synced.

Killing a process cannot show this: what it wrote stays in the memory of the system. So the calls of a process that
releases are written down, and the files are built that could be found had the power failed after each of them.
"""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from dither import PureDP
from dither.errors import LedgerError
from dither.ledger import Ledger
from dither.release import _read
from tests.ledger.faults import Server, quick_folder
from tests.ledger.power import Disk, File, Operation, operations

pytestmark = pytest.mark.xdist_group("ledger faults")
KEYS = ("key1", "key2")


def traced(server: Server, folder: Path, keys: tuple[str, ...] = KEYS, **settings: object) -> list[Operation]:
    (folder / "live").mkdir()
    outcome = server.run(folder / "live", keys=keys, trace=str(folder / "trace"), **settings)  # type: ignore[arg-type]
    others = {"key-other"} if "overtaken" in settings else set()
    assert outcome.answers.keys() == {*keys, *others}
    return list(operations((folder / "trace").read_bytes()))


def lost(folder: Path, calls: list[Operation], keep: Callable[[], float]) -> list[str]:
    """What was said before a power cut and is not in the ledger after it; one cut after each call."""
    disk, said, missing = Disk(folder / "live"), dict[str, str](), []
    image = folder / "image"
    for call in calls:
        disk.run(call)
        if call.what == "n":
            key, value = call.name.split()
            said[key] = value
        image.mkdir()
        for name, content in disk.after_a_power_cut(keep).items():
            (image / name).write_bytes(content)
        found = answers(image)
        missing += [key for key, value in said.items() if found.get(key) != value]
        for left in image.iterdir():
            left.unlink()
        image.rmdir()
    return missing


def answers(image: Path) -> dict[str, str]:
    """What the ledger that was found says, after it verified itself."""
    ledger = Ledger(image / "test.ledger")
    ledger.verify()
    kept = [entry.content for entry in ledger.entries() if entry.kind == "answer"]
    ledger.close()
    return {each["key"]: str(_read(bytes.fromhex(each["answer"]))["noisy"][0].as_py()) for each in kept}


def test_d50_a_power_cut_that_loses_all_that_was_not_synced(
    server: Server, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    calls = traced(server, folder)
    assert lost(folder, calls, lambda: 0) == []
    record_property("power cuts", len(calls))


def test_d50_a_power_cut_that_loses_some_of_what_was_not_synced(
    server: Server, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    """Writes that arrive out of order, or in part."""
    chance = random.Random(6)
    calls = traced(server, folder)
    assert lost(folder, calls, lambda: chance.choice((0, 0, 1, 1, 1, 0.5, 0.875))) == []
    record_property("power cuts", len(calls))


PLAIN = ("plain1", "plain2", "plain3")


def uncounted(server: Server, folder: Path, *, fails: bool, keep: Callable[[], float], **settings: object) -> list[int]:
    """Cuts after which the ledger holds fewer charges, or fewer that count as failures, than were seen before."""
    (folder / "live").mkdir()
    server.run(folder / "live", keys=PLAIN, trace=str(folder / "trace"), fails=fails, **settings)  # type: ignore[arg-type]
    disk, said, missing = Disk(folder / "live"), 0, []
    for number, call in enumerate(operations((folder / "trace").read_bytes())):
        disk.run(call)
        said += call.what == "n"
        image = folder / f"image{number}"
        image.mkdir()
        for name, content in disk.after_a_power_cut(keep).items():
            (image / name).write_bytes(content)
        ledger = Ledger(image / "test.ledger")
        ledger.verify()
        ledger.open_account("visits", PureDP(1000))
        account = ledger.account("visits")
        ledger.close()
        if account.charges < said or account.failures.unanswered < said * fails:
            missing.append(number)
    assert said == len(PLAIN)
    return missing


@pytest.mark.parametrize("fails", [False, True], ids=["answers", "failures"])
@pytest.mark.parametrize("keeps", [(0,), (0, 0, 1, 1, 1, 0.5, 0.875)], ids=["nothing", "some"])
def test_e67_a_power_cut_forgets_no_charge_and_no_failure(
    server: Server, folder: Path, fails: bool, keeps: tuple[float, ...]
) -> None:
    """Without a key: that it was answered is not synced, so it may be forgotten; what counts is not."""
    chance = random.Random(8)
    assert uncounted(server, folder, fails=fails, keep=lambda: chance.choice(keeps)) == []


@pytest.mark.parametrize("fails", [False, True], ids=["answers", "failures"])
def test_a_ledger_that_forgets_charges_or_failures_would_be_noticed(server: Server, folder: Path, fails: bool) -> None:
    """The negative control."""
    assert uncounted(server, folder, fails=fails, keep=lambda: 0, unsynced=True) != []


@pytest.mark.nightly
def test_d50_hundreds_of_power_cuts(server: Server, record_property: Callable[[str, object], None]) -> None:
    """More releases in a row, in more orders, with answers of several pages."""
    chance = random.Random(7)
    cuts = 0
    for size in (1, 1, 1, 20_000):
        with quick_folder() as folder:
            calls = traced(server, folder, tuple(f"key{index}" for index in range(1, 7)), size=size)
            assert lost(folder, calls, lambda: chance.choice((0, 0, 1, 1, 1, 0.5, 0.875))) == []
            cuts += len(calls)
    record_property("power cuts", cuts)


def test_a_ledger_that_does_not_sync_its_log_would_be_noticed(server: Server, folder: Path) -> None:
    """The negative control: SQLite's synchronous=NORMAL, which syncs the log only when it is copied back."""
    assert lost(folder, traced(server, folder, unsynced=True), lambda: 0) != []


def test_a_ledger_that_does_not_sync_its_folder_would_be_noticed(server: Server, folder: Path) -> None:
    """A power cut that spares the contents, but forgets names: SQLite's own sync of the folder reported an error."""
    calls = traced(server, folder, forgets_the_folder=True)
    unnamed = [call for call in calls if not (call.what == "s" and call.name == str(folder / "live"))]
    assert lost(folder, unnamed, lambda: 0) != []
    synced = [call for call in calls if call not in unnamed]
    assert synced, "SQLite does sync it"


def test_the_model_of_a_disk() -> None:
    """Unsynced writes can vanish or tear, a truncation fills up with zeros, a name needs its folder."""
    disk = Disk(Path("/d"))
    disk.run(Operation("c", "/d/f", 0, b""))
    disk.run(Operation("w", "/d/f", 0, b"abcd"))
    assert disk.after_a_power_cut(lambda: 0) == {}
    disk.run(Operation("s", "/d", 0, b""))
    assert disk.after_a_power_cut(lambda: 0) == {"f": b""}
    assert disk.after_a_power_cut(lambda: 0.5) == {"f": b"ab"}
    disk.run(Operation("s", "/d/f", 0, b""))
    disk.run(Operation("t", "/d/f", 6, b""))
    assert disk.after_a_power_cut(lambda: 0) == {"f": b"abcd"}
    assert disk.after_a_power_cut(lambda: 1) == {"f": b"abcd\0\0"}
    disk.run(Operation("u", "/d/f", 0, b""))
    assert disk.after_a_power_cut(lambda: 0) == {"f": b"abcd"}
    assert disk.after_a_power_cut(lambda: 1) == {}
    assert File(b"xyz").found(lambda: 0) == b"xyz"
    with pytest.raises(LedgerError):
        Ledger("/proc/nowhere/test.ledger")
