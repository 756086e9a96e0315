"""D49 again: one place is one ledger, also if its log is removed, its file is mounted, or a role has its own schema."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from dither.errors import LedgerError, OverBudget
from dither.ledger import Ledger
from dither.ledger.sqlite import Identity, OpenFiles, open_now
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


def test_a_number_that_another_thread_freed_may_be_that_of_the_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the program opens and closes beside it, a sound ledger is not refused."""
    spare = [os.open(os.devnull, os.O_RDONLY) for _ in range(40)]

    def listed() -> dict[int, Identity] | None:
        found = open_now()
        while spare:
            os.close(spare.pop())
        return found

    monkeypatch.setattr("dither.ledger.sqlite.open_now", listed)
    with closing(Ledger(folder / "test.ledger")) as ledger:
        ledger.open_account("a", BUDGET)
        assert ledger.verify() == 1


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
        with ledger._store.writing() as entries:
            entries.append("charge", "visits", "{}")
            entries.write()  # what is left to do at the end is to commit
            (folder / "test.ledger-wal").rename(folder / "elsewhere")
            (folder / "test.ledger-wal").touch()

    with pytest.raises(LedgerError, match="replaced"):
        charge()
    ledger.close()


def test_what_is_open_is_known_by_its_descriptor(folder: Path) -> None:
    """A name that was given to another file after it was opened is not ours."""
    paths = [folder / name for name in ("l", "l-wal", "l-shm")]
    before = open_now() or {}
    with ExitStack() as stack:
        for path in paths:
            stack.enter_context(path.open("w"))
        assert OpenFiles.now(folder / "l", before).are_in_place
        assert not OpenFiles.now(folder / "l", open_now() or {}).are_in_place, "the log of another connection"
        for path in paths:
            path.unlink()
            assert not OpenFiles.now(folder / "l", before).are_in_place
            path.touch()
            assert not OpenFiles.now(folder / "l", before).are_in_place


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


# ------------------------------------------------------------ schemas of PostgreSQL


def administered(database: str, *statements: str) -> None:
    """As the owner of the server."""
    engine = sql.create_engine(database.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture
def roles(database: str) -> tuple[str, str]:
    """Two roles with schemas of their own, as URLs; neither may create anything in public."""
    for name in ("ada", "bob"):
        administered(
            database,
            f"DO $$ BEGIN CREATE ROLE {name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
            f"CREATE SCHEMA {name} AUTHORIZATION {name}",
        )
    administered(database, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    return database.replace("//dither@", "//ada@"), database.replace("//dither@", "//bob@")


def test_d49_two_roles_with_schemas_of_their_own_have_one_ledger(database: str, roles: tuple[str, str]) -> None:
    """Each would find no table where it looks, make its own, and spend the whole budget."""
    first, second = roles
    ledger = Ledger(first)
    ledger.open_account("visits", BUDGET)
    ledger.charge("visits", EVENT, BUDGET, "how many?")
    with pytest.raises(LedgerError, match=r"has its ledger in the schema ada.*one database holds one ledger"):
        Ledger(second)
    administered(database, "ALTER ROLE bob IN DATABASE ledger SET search_path = bob, ada")
    with pytest.raises(LedgerError, match=r"has its ledger in the schema ada.* grant it USAGE there"):
        Ledger(second)
    administered(database, "GRANT USAGE ON SCHEMA ada TO bob")
    with pytest.raises(LedgerError, match=r"may not use the ledger .* grant SELECT and INSERT on dither_entries"):
        Ledger(second)
    administered(database, "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA ada TO bob")
    other = Ledger(second)
    with pytest.raises(OverBudget):
        other.charge("visits", EVENT, BUDGET, "how many?")
    assert other.verify() == 2
    ledger.close()
    other.close()


def test_d49_two_ledgers_in_one_database_are_refused(database: str, roles: tuple[str, str]) -> None:
    """As an older dither made them."""
    Ledger(roles[0]).close()
    administered(
        database,
        "CREATE TABLE bob.dither_entries (LIKE ada.dither_entries)",
        "CREATE TABLE bob.dither_format (LIKE ada.dither_format)",
    )
    for place in (database, *roles):
        with pytest.raises(LedgerError, match=r"in the schemas ada, bob, and one database holds one ledger"):
            Ledger(place)


def test_d49_a_ledger_in_the_usual_schema_is_everybodys(database: str, roles: tuple[str, str]) -> None:
    """Made by who may; found by roles that look into their own schema first."""
    ledger = Ledger(database)
    ledger.open_account("visits", BUDGET)
    administered(database, "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO ada, bob")
    first, second = (Ledger(place) for place in roles)
    first.charge("visits", EVENT, BUDGET, "how many?")
    with pytest.raises(OverBudget):
        second.charge("visits", EVENT, BUDGET, "how many?")
    for each in (ledger, first, second):
        assert each.verify() == 2
        each.close()


@pytest.mark.parametrize("path", ["pg_temp, public", "evil, pg_catalog, public", "evil, public", ""], ids=repr)
def test_d49_a_hostile_search_path_changes_nothing(database: str, path: str) -> None:
    """Tables of the session, and functions and tables of other schemas, in the place of ours."""
    ledger = Ledger(database)
    ledger.open_account("visits", BUDGET)
    administered(
        database,
        "CREATE SCHEMA evil",
        "CREATE FUNCTION evil.max(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'",
        "CREATE FUNCTION evil.pg_advisory_xact_lock(int) RETURNS void LANGUAGE sql AS 'SELECT'",
        "CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS 'SELECT $1'",
        "CREATE VIEW evil.pg_class AS SELECT 1 AS nothing",
        f"ALTER ROLE dither IN DATABASE ledger SET search_path = {path or repr('')}",
    )
    other = Ledger(database)

    def shadows(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE dither_entries (LIKE public.dither_entries)")
            cursor.execute("CREATE TEMPORARY TABLE dither_format (LIKE public.dither_format)")
        connection.commit()

    other.close()
    sql.event.listen(other._store._engine, "connect", shadows)
    other.charge("visits", EVENT, BUDGET, "how many?")
    with pytest.raises(OverBudget):
        ledger.charge("visits", EVENT, BUDGET, "how many?")
    assert ledger.verify() == other.verify() == 2
    ledger.close()
    other.close()
    administered(database, "ALTER ROLE dither IN DATABASE ledger RESET search_path")


@pytest.mark.parametrize(
    "instead",
    [
        "CREATE VIEW public.dither_entries AS SELECT * FROM kept",
        "CREATE UNLOGGED TABLE public.dither_entries (LIKE kept)",
        "CREATE TABLE public.dither_entries (LIKE kept) PARTITION BY LIST (kind)",
    ],
)
def test_d49_what_is_no_ordinary_table_is_refused(database: str, instead: str) -> None:
    """A view leads elsewhere, and an unlogged table is empty after a crash."""
    Ledger(database).close()
    administered(database, "ALTER TABLE dither_entries RENAME TO kept", instead)
    with pytest.raises(LedgerError, match="not in ordinary tables"):
        Ledger(database)


_STRAYS = [
    "CREATE TABLE bob.dither_format (pdf text)",
    "CREATE TABLE bob.dither_entries (lottery text)",
    "CREATE VIEW bob.dither_format AS SELECT 1 AS version",
    "CREATE SEQUENCE bob.dither_entries; CREATE TABLE bob.dither_format (version int)",
    "CREATE TYPE bob.dither_entries AS (number int); CREATE TABLE bob.dither_format (version int)",
    "CREATE TABLE bob.one (x int); CREATE INDEX dither_entries ON bob.one (x); CREATE TABLE bob.dither_format (x int)",
    "CREATE VIEW bob.dither_format AS SELECT 1 AS version; CREATE VIEW bob.dither_entries AS SELECT 1 AS number",
]


@pytest.mark.usefixtures("roles")
@pytest.mark.parametrize("stray", _STRAYS)
@pytest.mark.parametrize("is_first", [True, False], ids=["before the ledger", "after it"])
def test_d49_a_stray_relation_of_the_name_of_ours_stops_no_ledger(database: str, stray: str, is_first: bool) -> None:
    """Anybody who has a schema could else stop the ledger of all, and a program that knows nothing of it would."""
    if is_first:
        administered(database, stray)
    ledger = Ledger(database)
    ledger.open_account("visits", BUDGET)
    ledger.charge("visits", EVENT, BUDGET, "how many?")
    if not is_first:
        administered(database, stray)
    other = Ledger(database)
    with pytest.raises(OverBudget):
        other.charge("visits", EVENT, BUDGET, "how many?")
    assert other.verify() == 2
    ledger.close()
    other.close()


def test_d49_the_entries_of_a_ledger_are_one_also_without_its_other_table(
    database: str, roles: tuple[str, str]
) -> None:
    """They say what was spent: a new ledger beside them would forget it."""
    Ledger(roles[0]).close()
    administered(database, "DROP TABLE ada.dither_format")
    for place in (database, roles[1]):
        with pytest.raises(LedgerError, match=r"has its ledger in the schema ada.*one database holds one ledger"):
            Ledger(place)
    with pytest.raises(LedgerError, match=r"lacks one of its tables, as there is only dither_entries\."):
        Ledger(roles[0])
    administered(database, "CREATE TABLE public.dither_entries (LIKE ada.dither_entries)")
    with pytest.raises(LedgerError, match="in the schemas ada, public, and one database holds one ledger"):
        Ledger(database)


def test_a_role_that_may_create_nothing_is_told(database: str, roles: tuple[str, str]) -> None:
    administered(database, "DROP SCHEMA ada")
    with pytest.raises(LedgerError, match=r"may not make a ledger .* Grant CREATE on the schema public"):
        Ledger(roles[0])


def test_d49_roles_that_make_a_ledger_at_once_make_one(database: str, roles: tuple[str, str]) -> None:
    """Eight threads of two roles: what one made is seen by the others before they make theirs."""
    made: list[str] = []
    together = threading.Barrier(8)

    def make(place: str) -> None:
        together.wait()
        try:
            Ledger(place).close()
        except LedgerError:
            return
        made.append(place)

    threads = [threading.Thread(target=make, args=(place,)) for place in roles * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 1, "those of the other role are refused"
    assert len(made) == 4
