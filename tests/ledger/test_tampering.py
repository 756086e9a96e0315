"""D57: a record that was changed, deleted, inserted, reordered or rolled back is noticed."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

import dither as dp
from dither.errors import LedgerError, ParameterError
from dither.events import LaplaceNoise
from dither.ledger import Entry, Ledger
from dither.ledger.entry import BEGINNING, canonical

EVENT = LaplaceNoise(Fraction(10))
FIELDS = ("number", "previous", "kind", "account", "body", "key", "hash")


def fill(ledger: Ledger) -> None:
    """Two accounts, three charges, one answer: six entries."""
    ledger.open_account("visits", dp.PureDP(1))
    ledger.open_account("sales", dp.ZCDP(1))
    charge = ledger.charge("visits", EVENT, dp.PureDP("0.25"), "how many?", key="k", by="ada")
    ledger.keep(charge, b"seven")
    ledger.charge("visits", EVENT, dp.PureDP("0.25"), "how many?")
    ledger.charge("sales", EVENT, dp.ZCDP("0.25"), "how much?", key="k")


@pytest.fixture
def filled(ledger: Ledger) -> Ledger:
    fill(ledger)
    return ledger


@pytest.fixture
def path(folder: Path) -> Path:
    """A ledger in a file that nobody has open."""
    ledger = Ledger(folder / "test.ledger")
    fill(ledger)
    ledger.close()
    return folder / "test.ledger"


def execute(ledger: Ledger, *statements: str) -> None:
    """As somebody who can write the database, but does not hold its chain together."""
    with ledger._store._engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
        connection.commit()


def refuses(ledger: Ledger, match: str | None = None) -> None:
    with pytest.raises(LedgerError, match=match):
        ledger.verify()


@pytest.mark.parametrize("number", range(1, 7))
def test_d57_every_field_of_every_entry(filled: Ledger, number: int) -> None:
    """One text with one more letter, a number that is another, a key that was taken away."""
    (row,) = [each for each in rows(filled) if each["number"] == number]
    for name in FIELDS:
        wrong: Any = 70 if name == "number" else (row[name] or "") + "x"
        change(filled, number, {name: wrong})
        refuses(filled)
        change(filled, wrong if name == "number" else number, {name: row[name]})
        assert filled.verify() == 6
    if row["key"] is not None:
        change(filled, number, {"key": None})
        refuses(filled, "must hold")


def rows(ledger: Ledger) -> list[dict[str, Any]]:
    with ledger._store._engine.connect() as connection:  # as who tampers sees them
        found = connection.exec_driver_sql(f"SELECT {', '.join(FIELDS)} FROM dither_entries ORDER BY number")
        return [dict(row._mapping) for row in found]


def change(ledger: Ledger, number: int, values: dict[str, Any]) -> None:
    table = sql.table("dither_entries", *(sql.column(name) for name in FIELDS))
    with ledger._store._engine.connect() as connection:
        connection.execute(sql.update(table).where(table.c.number == number).values(**values))
        connection.commit()


@pytest.mark.parametrize("number", range(1, 6))
def test_d57_a_deleted_entry(filled: Ledger, number: int) -> None:
    execute(filled, f"DELETE FROM dither_entries WHERE number = {number}")
    refuses(filled, f"entry {number} is missing")


def test_d57_entries_that_changed_places(filled: Ledger) -> None:
    swap = ["SET number = 70 WHERE number = 5", "SET number = 5 WHERE number = 6", "SET number = 6 WHERE number = 70"]
    execute(filled, *(f"UPDATE dither_entries {each}" for each in swap))
    refuses(filled, "entry 5 of the ledger was changed")


def test_d57_an_inserted_entry(filled: Ledger) -> None:
    """Also one whose own hash is right."""
    first = list(filled.entries())[-1]
    forged = Entry(7, first.previous, first.kind, first.account, first.body)
    insert(filled, forged, None)
    refuses(filled, "entry 7 does not follow")


def insert(ledger: Ledger, entry: Entry, key: str | None) -> None:
    table = sql.table("dither_entries", *(sql.column(name) for name in FIELDS))
    values = {name: getattr(entry, name) for name in FIELDS if name != "key"}
    with ledger._store._engine.connect() as connection:
        connection.execute(sql.insert(table).values(**values, key=key))
        connection.commit()


def test_d57_a_rollback_is_noticed_by_the_anchor(filled: Ledger) -> None:
    """Without the last entry it is a chain still: only what the owner kept can tell."""
    anchor, older = filled.anchor(), f"5:{list(filled.entries())[4].hash}"
    execute(filled, "DELETE FROM dither_entries WHERE number = 6")
    assert filled.verify() == filled.verify(older) == 5
    with pytest.raises(LedgerError, match="ends at entry 5, and the anchor names entry 6"):
        filled.verify(anchor)
    filled.charge("sales", EVENT, dp.ZCDP("0.5"), "another history")
    assert filled.verify() == 6
    with pytest.raises(LedgerError, match="entry 6 is not the one that the anchor names"):
        filled.verify(anchor)


def test_d57_an_old_copy_is_noticed_by_the_anchor(path: Path, folder: Path) -> None:
    shutil.copy(path, folder / "copy")
    ledger = Ledger(path)
    ledger.charge("visits", EVENT, dp.PureDP("0.5"), "how many?")
    anchor = ledger.anchor()
    ledger.close()
    shutil.copy(folder / "copy", path)
    with pytest.raises(LedgerError, match="entries were removed"):
        Ledger(path).verify(anchor)


def test_d57_a_deleted_ledger_is_noticed_by_the_anchor(path: Path) -> None:
    ledger = Ledger(path)
    anchor = ledger.anchor()
    ledger.close()
    path.unlink()
    with pytest.raises(LedgerError, match="ends at entry 0"):
        Ledger(path).verify(anchor)


@pytest.mark.parametrize(
    "anchor",
    ["", "6", "6:", "x:" + "0" * 64, "-1:" + "0" * 64, "6:" + "g" * 64, "0:" + "1" * 64, "6:" + "0" * 64, 6,
     "٣:" + "a" * 64, "9" * 5000 + ":" + "a" * 64, "6:" + "A" * 64],
    ids=range(12),
)  # fmt: skip
def test_what_is_no_anchor(path: Path, anchor: Any) -> None:
    with pytest.raises(ParameterError, match="anchor must be"):
        Ledger(path).verify(anchor)


def test_the_anchor_of_an_empty_ledger(folder: Path) -> None:
    ledger = Ledger(folder / "new.ledger")
    assert ledger.anchor() == f"0:{BEGINNING}"
    assert ledger.verify(ledger.anchor()) == 0


def rewritten(original: list[Entry], number: int, body: dict[str, Any]) -> Iterator[Entry]:
    """A chain whose hashes all fit, with another body at one place."""
    last = BEGINNING
    for entry in original:
        text = canonical(body) if entry.number == number else entry.body
        new = Entry(entry.number, last, entry.kind, entry.account, text)
        last = new.hash
        yield new


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (3, {"cost": dp.PureDP("0.01")}),
        (3, {"spent": {"epsilon": "0", "delta": "0"}}),
        (3, {"spent": {"rho": "0"}}),
        (3, {"charges": 0}),
        (3, {"charges": True}),
        (3, {"event": "no event"}),
        (3, {"more": "fields"}),
        (3, {"key": "other"}),
        (5, {"cost": dp.PureDP(5), "spent": {"epsilon": "21/4", "delta": "0"}}),
        (5, {"cost": dp.ZCDP("0.25")}),
        (4, {"charge": 5}),
        (4, {"charge": "3"}),
        (4, {"answer": "73 65"}),
        (4, {"answer": None}),
        (1, {"budget": dp.PureDP("0.1")}),
        (1, {"budget": "1"}),
        (6, {"key": None}),
    ],
    ids=range(17),
)
def test_d57_a_rewritten_chain_must_still_add_up(path: Path, number: int, changes: dict[str, Any]) -> None:
    """Who writes all hashes anew is noticed by the sums, the caps and the keys, if not by the anchor."""
    ledger = Ledger(path)
    original = list(ledger.entries())
    anchor = ledger.anchor()
    written = {
        name: dp.ledger.budget.write_budget(value) if isinstance(value, dp.PureDP | dp.ZCDP) else value
        for name, value in changes.items()
    }
    new = list(rewritten(original, number, {**original[number - 1].content, **written}))
    for entry in new:
        change(ledger, entry.number, {name: getattr(entry, name) for name in ("previous", "body", "hash")})
    refuses(
        ledger,
        f"entry {3 if number == 1 and isinstance(changes['budget'], dp.PureDP) else number} does not hold",
    )
    with pytest.raises(LedgerError):
        ledger.verify(anchor)


@pytest.mark.parametrize(
    ("number", "parts"),
    [(1, ["b"]), (1, []), (1, ["z", "x"]), (1, ["x", "x"]), (1, "x"), (1, [1]), (3, ["a"]), (3, None), (3, [])],
    ids=range(9),
)
def test_d57_parts_of_a_source_that_were_rewritten(folder: Path, number: int, parts: Any) -> None:
    """D56 again: in a chain whose hashes fit, one file of two accounts is noticed, and so is what was never written."""
    ledger = Ledger(folder / "test.ledger")
    ledger.open_account("visits", dp.PureDP(1), parts=["a"])
    ledger.open_account("sales", dp.PureDP(1), parts=["b"])
    ledger.open_account("visits", dp.PureDP(1), parts=["a", "c"])
    original = list(ledger.entries())
    assert ledger.verify() == 3
    body = {**original[number - 1].content, "parts": parts}
    if parts is None:
        del body["parts"]
    for entry in rewritten(original, number, body):
        change(ledger, entry.number, {name: getattr(entry, name) for name in ("previous", "body", "hash")})
    refuses(ledger, "does not hold")
    ledger.close()


def failing(ledger: Ledger) -> None:
    """Ten entries: an answer, a failure, one in flight, forgiven; then one under a key that waits for its answer."""
    ledger.open_account("visits", dp.PureDP(1), failures_allowed=2)
    ledger.open_account("sales", dp.PureDP(1))
    first, second = (ledger.charge("visits", EVENT, dp.PureDP("0.1"), "?", awaits_outcome=True) for _ in range(2))
    ledger.answered(first)
    ledger.failed(second)
    ledger.resume("visits", by="ada")
    ledger.charge("visits", EVENT, dp.PureDP("0.1"), "?", key="k", awaits_outcome=True)


COUNTS = {"asked": 1, "answered": 0, "failed": 0, "resumes": 1, "since": 9}


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (1, {"failures_allowed": 0}),
        (1, {"failures_allowed": "2"}),
        (1, {"failures_allowed": True}),
        (4, {"charge": 5}),
        (4, {"charge": 1}),
        (4, {"charge": "3"}),
        (4, {"charge": True}),
        (6, {"charge": 3}),
        (7, {"attempt": 6}),
        (7, {"attempt": 3}),
        (7, {"attempt": 99}),
        (7, {"outcome": "failed"}),
        (7, {"outcome": "perhaps"}),
        (7, {"answer": "sha256:"}),
        (7, {"answer": 7}),
        (8, {"answer": "sha256:" + 64 * "0"}),
        (8, {"outcome": "answered"}),
        (8, {"attempt": 4}),
        (9, {"lifted": 0}),
        (9, {"lifted": 2}),
        (9, {"lifted": True}),
        (9, {"more": 1}),
        (11, {"charge": 3}),
        (11, {"failures": {**COUNTS, "asked": 0}}),
        (11, {"failures": {**COUNTS, "asked": True}}),
        (11, {"failures": {**COUNTS, "answered": 1}}),
        (11, {"failures": {**COUNTS, "failed": -1}}),
        (11, {"failures": {**COUNTS, "since": 0}}),
        (11, {"failures": {**COUNTS, "resumes": 0}}),
        (11, {"failures": {**COUNTS, "more": 0}}),
        (11, {"failures": None}),
    ],
    ids=str,
)
def test_d57_counts_of_failures_that_were_rewritten(folder: Path, number: int, changes: dict[str, Any]) -> None:
    """In a chain whose hashes fit, an outcome that never was, was another, or was another's is noticed."""
    ledger = Ledger(folder / "test.ledger")
    failing(ledger)
    assert ledger.verify() == 11
    original = list(ledger.entries())
    body = {**original[number - 1].content, **changes}
    execute(ledger, "DROP INDEX dither_entries_key")  # it allows one outcome for each attempt
    for entry in rewritten(original, number, body):
        key = {"key": str(body["attempt"])} if entry.number == number and entry.kind == "outcome" else {}
        change(ledger, entry.number, {**{name: getattr(entry, name) for name in ("previous", "body", "hash")}, **key})
    told = 8 if changes == {"attempt": 6} else number  # then the second outcome of that attempt
    refuses(ledger, f"entry {told} does not hold")
    ledger.close()


@pytest.mark.parametrize(
    ("kind", "account", "body", "key"),
    [
        ("outcome", "visits", {"attempt": 4, "outcome": "answered"}, "4"),
        ("outcome", "sales", {"attempt": 11, "outcome": "answered"}, "11"),
        ("outcome", "visits", {"attempt": 11, "outcome": "answered"}, "11"),
        ("outcome", "visits", {"attempt": 11, "outcome": "failed"}, None),
        ("attempt", "visits", {"charge": 3}, None),
        ("attempt", "sales", {"charge": 10}, None),
        ("resume", "sales", {"lifted": 0, "by": ""}, None),
        ("resume", "nobody", {"lifted": 1, "by": ""}, None),
        ("pardon", "visits", {"lifted": 1, "by": ""}, None),
    ],
    ids=str,
)
def test_d57_an_entry_about_failures_in_the_wrong_place(
    folder: Path, kind: str, account: str, body: dict[str, Any], key: str | None
) -> None:
    """Whatever it counts to, its chain and its hash being right."""
    ledger = Ledger(folder / "test.ledger")
    failing(ledger)
    execute(ledger, "DROP INDEX dither_entries_key")  # it allows one outcome for each attempt
    last = list(ledger.entries())[-1]
    for asked, answered, failed in product(range(3), repeat=3):
        counts = {**COUNTS, "asked": asked, "answered": answered, "failed": failed}
        for more in ({}, {"resumes": 0, "since": 0}, {"resumes": 1, "since": 12}):
            full = canonical({**body, "failures": {**counts, **more}, "at": "now"})
            insert(ledger, Entry(12, last.hash, kind, account, full), key)
            refuses(ledger, "does not hold")
            execute(ledger, "DELETE FROM dither_entries WHERE number = 12")
    ledger.close()


def test_d57_more_attempts_than_allowed(folder: Path) -> None:
    """Written past the check: each entry fits the one before, and together they are too many."""
    ledger = Ledger(folder / "test.ledger")
    failing(ledger)
    last = list(ledger.entries())[-1]
    for number in (12, 13):
        counts = {**COUNTS, "asked": number - 10}
        last = Entry(number, last.hash, "attempt", "visits", canonical({"charge": 10, "failures": counts, "at": "now"}))
        insert(ledger, last, None)
    refuses(ledger, "entry 13 does not hold")
    ledger.close()


@pytest.mark.parametrize("number", [1, 3, 5])
def test_a_charge_is_not_built_on_an_entry_that_was_changed(filled: Ledger, number: int) -> None:
    """What a balance is read from is checked whenever it is read."""
    execute(filled, f"UPDATE dither_entries SET body = replace(body, '1', '0') WHERE number = {number}")
    if number == 3:
        with pytest.raises(LedgerError, match="was changed"):
            filled.charge("visits", EVENT, dp.PureDP("0.25"), "how many?", key="k")
        return
    with pytest.raises(LedgerError, match="was changed"):
        filled.charge("visits", EVENT, dp.PureDP("0.25"), "how many?")
    with pytest.raises(LedgerError, match="was changed"):
        filled.account("visits")


@pytest.mark.parametrize("value", ["X'00'", "5.5", "NULL", "CAST(X'FF' AS TEXT)", "''"])
@pytest.mark.parametrize("name", FIELDS)
def test_d57_values_of_other_types(path: Path, name: str, value: str) -> None:
    """SQLite gives any type in any column, if it is made to."""
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE copy AS SELECT * FROM dither_entries")
        connection.execute(f"UPDATE copy SET {name} = {value} WHERE number = 3")
        connection.execute("DROP TABLE dither_entries")
        connection.execute("ALTER TABLE copy RENAME TO dither_entries")
    connection.close()
    refuses(Ledger(path))


def test_d57_a_schema_that_is_no_text(path: Path) -> None:
    """SQLite quotes the damaged name in its error, and Python cannot read the quotation."""
    whole = path.read_bytes()
    assert whole.count(b"CREATE TABLE dither_entries")
    path.write_bytes(whole.replace(b"tabledither_entriesdither_entries", b"tabledither_entri\xf4sdither_entri\xf4s"))
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).verify()


def damage(path: Path, copy: Path, positions: range) -> int:
    """How often a flipped bit was noticed. If it was not, all entries and balances are what they were."""
    whole = path.read_bytes()
    ledger = Ledger(path)
    entries, accounts = list(ledger.entries()), [ledger.account(name) for name in ("visits", "sales")]
    ledger.close()
    noticed = 0
    for position in positions:
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        copy.write_bytes(changed)
        try:
            ledger = Ledger(copy)
            ledger.verify()
        except LedgerError:
            noticed += 1
        else:
            assert list(ledger.entries()) == entries
            assert [ledger.account(name) for name in ("visits", "sales")] == accounts
        finally:
            ledger.close()
        for left in (copy, Path(f"{copy}-wal"), Path(f"{copy}-shm")):
            left.unlink(missing_ok=True)
    return noticed


def test_d57_a_flipped_bit_in_the_file(
    path: Path, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    positions = range(1, path.stat().st_size, 149)
    assert damage(path, folder / "copy", positions) > 20
    record_property("flipped bits", len(positions))


@pytest.mark.nightly
def test_d57_a_flipped_bit_in_every_byte_of_the_file(
    path: Path, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    positions = range(path.stat().st_size)
    assert damage(path, folder / "copy", positions) > 1000
    record_property("flipped bits", len(positions))
