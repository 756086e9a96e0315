"""The state of a stream under attack: replayed, out of order, twice at once, copied, rolled back, bit-flipped."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from dither.continual.encrypted_file import EncryptedFile, new_key
from dither.errors import LedgerConflict, LedgerError, ParameterError
from dither.ledger import Ledger
from tests.continual.stream_server import PERIODS, TERMS, opened


@pytest.fixture
def folder(tmp_path: Path) -> str:
    stream = opened(str(tmp_path), create=True)
    for _ in range(3):
        stream.step()
    stream.close()
    return str(tmp_path)


def test_h84_a_period_asked_again_has_the_same_answer(folder: str) -> None:
    with opened(folder, create=False) as stream:
        before = [stream.step(period).to_arrow() for period in range(3)]
        assert stream.step(1).certificate() == stream.step(1).certificate()
    with opened(folder, create=False) as stream:
        assert [stream.step(period).to_arrow() for period in range(3)] == before


@pytest.mark.parametrize("period", [4, PERIODS, -1, 1.0, True, "3"])
def test_h84_steps_out_of_order_are_refused(folder: str, period: int) -> None:
    with opened(folder, create=False) as stream:
        with pytest.raises(ParameterError, match="the next one is 3"):
            stream.step(period)
        assert stream.released == 3


def test_h84_no_period_after_the_last(folder: str) -> None:
    with opened(folder, create=False) as stream:
        while stream.released < PERIODS:
            stream.step()
        with pytest.raises(ParameterError, match="has ended"):
            stream.step()


def test_h84_two_at_once_are_refused(folder: str) -> None:
    """The second process finds the state in use; in the same process too."""
    with opened(folder, create=False) as stream:
        with pytest.raises(LedgerConflict, match="in use"):
            opened(folder, create=False)
        stream.step()
    opened(folder, create=False).close()


def test_h84_a_forked_process_is_refused(folder: str) -> None:
    """It shares the lock with its parent, and would write over what the parent wrote; the parent goes on."""
    with opened(folder, create=False) as stream:
        child = os.fork()
        if not child:
            try:
                stream.step()
            except LedgerConflict:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        told = stream.step().to_arrow()
    with opened(folder, create=False) as stream:
        assert stream.step(3).to_arrow() == told


def test_h84_a_file_that_was_put_in_its_place_is_refused(folder: str) -> None:
    """The lock is on the file that was moved away, so a copy in its place can be opened; the ledger takes one."""
    path = Path(folder) / "test.stream"
    with opened(folder, create=False) as stream:
        path.rename(Path(folder) / "moved")
        shutil.copy(Path(folder) / "moved", path)
        other = opened(folder, create=False)
        told = other.step().to_arrow()
        with pytest.raises(LedgerConflict, match="recorded already"):
            stream.step()
        other.close()
    with opened(folder, create=False) as stream:
        assert stream.step(3).to_arrow() == told


def test_h84_a_state_that_was_rolled_back_is_refused(folder: str) -> None:
    shutil.copy(f"{folder}/test.stream", f"{folder}/earlier")
    with opened(folder, create=False) as stream:
        stream.step()
    shutil.copy(f"{folder}/earlier", f"{folder}/test.stream")
    with pytest.raises(LedgerConflict, match="the ledger has 4 periods, and the state 3"):
        opened(folder, create=False)


def test_h84_a_copy_that_went_on_is_refused(folder: str) -> None:
    """Two copies at the same period: the ledger takes the first; what the second drew is told to nobody."""
    (Path(folder) / "copy").mkdir()
    shutil.copy(f"{folder}/test.stream", f"{folder}/copy/test.stream")
    with opened(folder, create=False) as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.continual.stream_server.Ledger", lambda path: stream._release_path.ledger)
        other = opened(f"{folder}/copy", create=False)
        told = stream.step().to_arrow()
        with pytest.raises(LedgerConflict, match="recorded already"):
            other.step()
        with pytest.raises(LedgerError, match="Resume it"):
            other.step()
        with pytest.raises(LedgerConflict, match="not the one that was used last"):
            opened(f"{folder}/copy", create=False)
        assert stream.step(3).to_arrow() == told


def test_h84_a_ledger_that_is_behind_is_refused(folder: str) -> None:
    shutil.copytree(folder, f"{folder}-before")
    with opened(folder, create=False) as stream:
        stream.step()
        stream.step()
    shutil.copy(f"{folder}/test.stream", f"{folder}-before/test.stream")
    with pytest.raises(LedgerConflict, match="the ledger has 3 periods, and the state 5"):
        opened(f"{folder}-before", create=False)


def test_h85_every_flipped_bit_is_noticed(folder: str) -> None:
    """One bit of each byte of the file: it is refused, or cannot be read at all; no answer comes of it."""
    path = Path(folder) / "test.stream"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(LedgerError, match=r"was changed|does not hold|not the one that was used last|is empty"):
            opened(folder, create=False)
    path.write_bytes(whole)
    opened(folder, create=False).close()


def test_h85_records_cut_off_or_from_elsewhere_are_refused(folder: str) -> None:
    path = Path(folder) / "test.stream"
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 40, 10, 0):
        path.write_bytes(whole[:length])
        with pytest.raises(LedgerError, match=r"does not hold|not the one that was used last|is empty"):
            opened(folder, create=False)


def test_h85_another_key_reads_nothing(tmp_path: Path) -> None:
    secret = b"a number that nobody may see"
    key = new_key()
    file = EncryptedFile(tmp_path / "state", key, create=True)
    file.append(secret)
    file.close()
    assert secret not in (tmp_path / "state").read_bytes()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    other = EncryptedFile(tmp_path / "state", new_key(), create=False)
    with pytest.raises(LedgerError, match="key is not the one"):
        list(other.records())
    other.close()
    again = EncryptedFile(tmp_path / "state", key, create=False)
    assert list(again.records()) == [secret]
    again.close()


def test_h85_the_length_tells_little(tmp_path: Path) -> None:
    """A record grows with the people of a period; how long it is shows powers of two alone, and its bytes come back."""
    lengths = []
    for size in (0, 1, 1000, 1016, 1017, 2040, 5000, 8184, 8185):
        path, key = tmp_path / str(size), new_key()
        file = EncryptedFile(path, key, create=True)
        before = path.stat().st_size
        file.append(b"x" * size)
        lengths.append(path.stat().st_size - before - 4 - 12 - 16)
        assert file.record(0) == b"x" * size
        file.close()
    assert lengths == [1024, 1024, 1024, 1024, 2048, 2048, 8192, 8192, 16384]


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 33, "x" * 32, None])
def test_keys_of_other_lengths_are_refused(tmp_path: Path, key: bytes) -> None:
    with pytest.raises(ParameterError, match="32 bytes"):
        EncryptedFile(tmp_path / "state", key, create=True)
    assert not (tmp_path / "state").exists()


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("mine")
    with pytest.raises(ParameterError, match="already"):
        EncryptedFile(tmp_path / "state", new_key(), create=True)
    with pytest.raises(LedgerError, match="does not hold"):
        EncryptedFile(tmp_path / "state", new_key(), create=False)
    assert (tmp_path / "state").read_text() == "mine"


def test_h84_a_clock_that_is_set_back_changes_nothing(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which period is next is decided by the state and the ledger: no clock is asked."""
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr("dither.ledger.ledger._now", lambda: "1970-01-01T00:00:00.000+00:00")
    with opened(folder, create=False) as stream:
        assert stream.step().period == 3
        assert stream.step(3).to_arrow() == stream.step(3).to_arrow()


def test_h84_the_state_belongs_to_its_charge(folder: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In another ledger, though an account there has the same name: refused, and nothing is charged there."""
    other = tmp_path_factory.mktemp("other")
    shutil.copy(f"{folder}/test.stream", other / "test.stream")
    with pytest.raises(LedgerError, match="not in this ledger"):
        opened(str(other), create=False)
    ledger = Ledger(other / "test.ledger")
    assert "charge" not in [entry.kind for entry in ledger.entries()]
    ledger.close()
    again = opened(folder, create=False)
    moved = replace(again._release_path, account="another")
    again.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.continual.stream_server.ReleasePath", lambda ledger, account: moved)
        with pytest.raises(LedgerConflict, match="another dataset"):
            opened(folder, create=False)


def test_h84_a_crash_between_the_charge_and_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The charge is found under its key, and made once."""
    append, calls = EncryptedFile.append, []

    def fails_at_the_second(file: EncryptedFile, record: bytes) -> None:
        calls.append(record)
        if len(calls) == 2:
            raise LedgerError("a disk that is full")
        append(file, record)

    monkeypatch.setattr(EncryptedFile, "append", fails_at_the_second)
    with pytest.raises(LedgerError, match="full"):
        opened(str(tmp_path), create=True)
    with opened(str(tmp_path), create=False) as stream:
        stream.step()
    with opened(str(tmp_path), create=False) as stream:
        assert stream.released == 1
        kinds = [entry.kind for entry in stream._release_path.ledger.entries()]
    assert kinds.count("charge") == 1


def test_h84_a_day_is_stepped_once(folder: str) -> None:
    """A job that runs again for the same day gets the same answer; the next period waits for its own day."""
    with opened(folder, create=False) as stream:
        first = stream.step(date(2026, 1, 4))
        assert stream.step(date(2026, 1, 4)).to_arrow() == first.to_arrow()
        assert stream.released == 4
        for day, word in ((date(2026, 1, 6), "next one is 4"), (date(2025, 12, 31), "no period")):
            with pytest.raises(ParameterError, match=word):
                stream.step(day)


def test_the_encoder_is_that_of_the_start(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found anew it could differ in a last digit on another machine: it is read from the state, and none is chosen."""

    def none_is_chosen(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("dither.engine.over_time._chosen", none_is_chosen)
    with opened(folder, create=False) as stream:
        stream.step()


def test_noise_that_was_not_charged_is_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.continual.stream_server.TERMS", replace(TERMS, rho="1/4"))
    with pytest.raises(LedgerConflict, match="not what was charged"):
        opened(folder, create=False)
