"""Files: a path is one file whatever its name, columns come from the file alone, and no value makes the reader fail."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dither as dp
from dither import progress
from dither.errors import EngineError, ParameterError
from dither.tables import BoundedTable, Column, RowCount, Values, open_source
from dither.tables.database_engines import checked_files, parquet_files
from dither.tables.database_engines.duckdb_paths import exact
from dither.tables.database_engines.file_fingerprint import Fingerprint
from dither.unit import Person, Rows
from tests.tables.asking import opened
from tests.tables.footers import annotated, in_utc, local

_LARGEST = 2**63 - 1


def _numbers(source: Any) -> list[int]:
    """The column `n` of all rows, sorted."""
    return sorted(int(value) for value in open_source(source).table.n.to_pyarrow().to_pylist())


def _write(path: Path, number: int) -> None:
    if path.suffix == ".csv":
        path.write_text(f"n,t\n{number},x\n")
    else:
        pq.write_table(pa.table({"n": [number], "t": ["x"]}), path)


# One path, one file.

_HOSTILE = (
    "visits[1]", "visits1", "visits*", "visits**", "visits", "visits2", "a?", "ab", "a[b]", "a[!b]", "a[^b]", "[a-z]",
    "[", "]", "[]", "[*]", "[[]", "x[y", "a{b,c}", "b", "c", "'", '"', "';--", "''", "~", "~root", "$HOME", "%41", "A",
    "-n", "--", "new\nline", "tab\t", "s3:", "http:", "file:", "user_id=1", "n=7", " ", "a b", "#", "&", "é", "e\u0301",
    "\U0001f600", "a.", "a.csv", ".hidden", "null", "n" * 200,
)  # fmt: skip


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_e64_a_name_is_no_pattern(ending: str, tmp_path: Path) -> None:
    """Names that came out of a pattern were taken for patterns again: 4 rows instead of 1, under Rows() 4ε for ε."""
    paths = [tmp_path / f"{name}{ending}" for name in _HOSTILE]
    for number, path in enumerate(paths):
        _write(path, number)
    for number, path in enumerate(paths):
        assert _numbers(path) == [number]
    assert _numbers(list(paths)) == list(range(len(paths)))
    seen = [number for number, name in enumerate(_HOSTILE) if not name.startswith(".")]
    assert _numbers(str(tmp_path / f"*{ending}")) == seen
    assert _numbers(str(tmp_path / f"visits[[]1]{ending}")) == [0]


def test_e64_a_path_that_exists_is_not_a_pattern(tmp_path: Path) -> None:
    for number, name in enumerate(("visits1.csv", "visits[1].csv")):
        _write(tmp_path / name, number)
    assert _numbers(str(tmp_path / "visits[1].csv")) == [1]
    (tmp_path / "visits[1].csv").unlink()
    assert _numbers(str(tmp_path / "visits[1].csv")) == [0]


@pytest.mark.parametrize("folder", ["d[1]", "d*", "d?", "s3:", "n=5", "'", "new\nline"])
def test_e64_a_folder_is_no_pattern(folder: str, tmp_path: Path) -> None:
    for number, name in enumerate((folder, "d1", "dd")):
        (tmp_path / name).mkdir()
        _write(tmp_path / name / "a.csv", number)
    assert _numbers(tmp_path / folder / "a.csv") == [0]


_names = st.text(st.sampled_from("ab*?[]!^-{},'\"~ =.1\n"), min_size=1, max_size=6).filter(lambda name: name.strip("."))


@settings(max_examples=25)
@given(st.sets(_names, min_size=1, max_size=6), st.sampled_from([".csv", ".parquet"]))
def test_e64_any_names(names: set[str], ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}{ending}" for name in sorted(names)]
        for number, path in enumerate(paths):
            _write(path, number)
        assert _numbers(list(paths)) == list(range(len(paths)))
        for number, path in enumerate(paths):
            source = open_source(path)
            assert [int(value) for value in source.table.n.to_pyarrow().to_pylist()] == [number]
            for other in paths:
                if other != path:  # the engine is sealed, and the seal is no pattern either
                    with pytest.raises(Exception, match="file system operations are disabled"):
                        source.engine.backend.con.execute("SELECT * FROM read_text([?])", [exact(other)]).fetchall()


def test_e64_names_that_duckdb_cannot_tell_apart(tmp_path: Path) -> None:
    (tmp_path / "back").mkdir()
    for number, name in enumerate(("back\\slash.csv", "back/slash.csv")):
        _write(tmp_path / name, number)
    with pytest.raises(ParameterError, match="has a backslash"):
        open_source(tmp_path / "back\\slash.csv")
    assert _numbers(tmp_path / "back/slash.csv") == [1]
    with open(os.fsencode(tmp_path) + b"/caf\xe9.csv", "w") as file:
        file.write("n,t\n1,x\n")
    with pytest.raises(ParameterError, match="is not UTF-8"):
        open_source(str(tmp_path / "caf*.csv"))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_e64_a_folder_gives_no_column(ending: str, tmp_path: Path) -> None:
    """DuckDB reads folders as hive partitions: everybody in n=7 became the person 7, and `city` appeared."""
    for person in (7, 8):
        folder = tmp_path / f"n={person}" / "city=Paris"
        folder.mkdir(parents=True)
        _write(folder / f"a{ending}", 10 + person)
    source = open_source(str(tmp_path / "*" / "*" / f"*{ending}"))
    assert source.table.columns == ("n", "t")
    assert _numbers(str(tmp_path / "*" / "*" / f"*{ending}")) == [17, 18]
    assert _numbers(tmp_path / "n=7" / "city=Paris" / f"a{ending}") == [17]


def _appended(path: Path) -> None:
    with path.open("a") as file:
        file.write("2,y\n")


def _rewritten(path: Path) -> None:
    before = path.stat()
    path.write_text(path.read_text().replace("1", "2"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size and, as it seems, the same time


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


@pytest.mark.parametrize("change", [_appended, _rewritten, _replaced, Path.unlink], ids=lambda change: change.__name__)
def test_e64_a_file_that_changes_is_refused_in_the_same_words(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    _write(path, 1)
    source = open_source(path)
    source.engine.ready()
    change(path)
    with pytest.raises(ParameterError) as caught:
        source.engine.ready()
    assert str(caught.value) == (
        "the file 'rows.csv' was written to, replaced or removed after it was opened, so nothing was charged. "
        "Open the dataset again."
    )


def test_e64_a_file_that_changed_is_refused_before_the_charge(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    _write(path, 1)
    data = dp.Dataset(path, unit=dp.Rows(), budget=dp.PureDP(2), ledger=tmp_path / "a.ledger")
    data.count(epsilon=1)
    spent = data.spent
    _appended(path)
    with pytest.raises(ParameterError, match=r"nothing was charged\. Open the dataset again"):
        data.count(epsilon=1)
    assert data.spent == spent
    dp.Dataset(path, unit=dp.Rows(), ledger=tmp_path / "a.ledger").count(epsilon=1)


# No value makes the reader of Parquet fail.


def _texts(*values: bytes, of: Any = None) -> pa.Array:
    """Texts of any bytes, as careless programs make them: nothing is checked."""
    return pa.Array.from_buffers(of or pa.string(), len(values), pa.array(values, pa.binary()).buffers())


_BAD = {
    "text": (_texts(b"a", b"caf\xe9"), "a text that is not UTF-8"),
    "long text": (_texts(*[f"user {n}".encode() for n in range(5000)], b"\xff"), "a text that is not UTF-8"),
    "category": (pa.DictionaryArray.from_arrays(pa.array([0, 1]), _texts(b"a", b"\xc0")), "a text that is not UTF-8"),
    "milliseconds": (pa.array([0, 2**62]).view(pa.timestamp("ms")), "a time beyond the years"),
    "milliseconds of UTC": (pa.array([0, -(2**62)]).view(pa.timestamp("ms", "UTC")), "a time beyond the years"),
    "first beyond": (pa.array([0, _LARGEST // 1000 + 1]).view(pa.timestamp("ms")), "a time beyond the years"),
    "time of day": (pa.array([0, -1], pa.int32()).view(pa.time32("ms")), "a time that no day has"),
    "nanoseconds of a day": (pa.array([0, _LARGEST]).view(pa.time64("ns")), "a time that no day has"),
    "json": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "{"])), "a text that is not JSON"),
    "list": (pa.ListArray.from_arrays(pa.array([0, 1, 2]), _texts(b"a", b"\xff")), "a text that is not UTF-8"),
}
_WRITERS: dict[str, dict[str, Any]] = {
    "dictionary": {},
    "plain": {"use_dictionary": False},
    "without statistics": {"use_dictionary": False, "write_statistics": False, "data_page_version": "2.0"},
    "delta": {"use_dictionary": False, "column_encoding": {"c": "DELTA_BYTE_ARRAY"}},
    "delta lengths": {"use_dictionary": False, "column_encoding": {"c": "DELTA_LENGTH_BYTE_ARRAY"}},
}


@pytest.mark.parametrize("kind", _BAD)
@pytest.mark.parametrize("writer", _WRITERS)
def test_e63_a_value_that_cannot_be_read_refuses_the_file(kind: str, writer: str, tmp_path: Path) -> None:
    """Failing told that the row of this value matches; now the file is refused, whatever would be asked."""
    column, said = _BAD[kind]
    if writer.startswith("delta") and "text" not in kind:
        pytest.skip("an encoding of texts")
    path = tmp_path / "rows.parquet"
    numbers = list(range(len(column)))
    pq.write_table(pa.table({"n": numbers, "c": column}), path, **_WRITERS[writer])
    with pytest.raises(
        ParameterError, match=f"'rows.parquet' cannot be read in full: its column 'c' of .*{said}"
    ) as caught:
        open_source(path)
    assert caught.value.__cause__ is caught.value.__context__ is None  # the words of the engine hold the value
    good = column.take(pa.array([0])) if kind != "category" else pa.array(["a"])
    pq.write_table(pa.table({"n": numbers[:1], "c": good}), path, **_WRITERS[writer])
    assert _numbers(path) == [0]


def test_e63_the_bad_row_is_far_behind_and_in_the_last_file(tmp_path: Path) -> None:
    good = _texts(*(b"x" for _ in range(3000)))
    for number, column in enumerate((good, good, pa.concat_arrays([good, _texts(b"\xff")]))):
        pq.write_table(pa.table({"c": column}), tmp_path / f"{number}.parquet", row_group_size=100)
    with pytest.raises(ParameterError, match=r"'2\.parquet' cannot be read in full"):
        open_source(str(tmp_path / "*.parquet"))


def test_e63_a_damaged_page_is_seen_when_the_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"c": ["a" * 50, "b" * 50]}), path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    start = content.index(b"\x32\0\0\0" + b"a" * 50)
    content[start : start + 4] = b"\xff" * 4  # the length of the first text
    path.write_bytes(content)
    with pytest.raises((ParameterError, EngineError), match="cannot be read"):
        open_source(path)


_CONVERTED = {
    "UTF8": 0, "ENUM": 4, "DATE": 6, "TIME_MILLIS": 7, "TIME_MICROS": 8, "TIMESTAMP_MILLIS": 9, "TIMESTAMP_MICROS": 10,
    "UINT_8": 11, "UINT_16": 12, "UINT_32": 13, "UINT_64": 14, "INT_8": 15, "INT_16": 16, "INT_32": 17, "INT_64": 18,
    "JSON": 19, "BSON": 20, "INTERVAL": 21,
}  # fmt: skip
_DECIMAL = 5
_TIME, _TIMESTAMP = 7, 8
_LOGICAL: dict[str, Any] = {
    **{f"time {unit}": {_TIME: (12, local(unit))} for unit in (1, 2, 3)},
    **{f"time {unit}, UTC": {_TIME: (12, in_utc(unit))} for unit in (1, 2, 3)},
    **{f"timestamp {unit}": {_TIMESTAMP: (12, local(unit))} for unit in (1, 2, 3)},
    **{f"timestamp {unit}, UTC": {_TIMESTAMP: (12, in_utc(unit))} for unit in (1, 2, 3)},
    **{
        name: {code: (12, {})}
        for name, code in {
            "string": 1, "enum": 4, "date": 6, "null": 11, "json": 12, "bson": 13, "uuid": 14, "float16": 15,
            "variant": 16, "geometry": 17, "geography": 18, "none that is known": 40,
        }.items()
    },
}  # fmt: skip
_ENDS = {
    32: [0, -1, 1, 70_000, 2**31 - 1, -(2**31)],
    64: [0, -1, 86_400_000_001, 2**62, _LARGEST, -_LARGEST, -_LARGEST - 1],
}


def _stored() -> Iterator[tuple[str, pa.Array]]:
    """Each physical type, with values at its ends."""
    yield "INT32", pa.array(_ENDS[32], pa.int32())
    yield "INT64", pa.array(_ENDS[64], pa.int64())
    yield "FLOAT", pa.array([0.0, float("nan"), float("inf"), 1e-45], pa.float32())
    yield "DOUBLE", pa.array([0.0, float("nan"), -float("inf"), 5e-324], pa.float64())
    yield "BOOLEAN", pa.array([True, False])
    yield (
        "BYTE_ARRAY",
        pa.array([b"{}", b"", b"caf\xe9", b"\0", b"\x7f" + b"\xff" * 40, b"\0" * 30 + b"\1"], pa.binary()),
    )
    for size in (1, 2, 4, 9, 12, 16, 17):
        ends = [b"\x7f" + b"\xff" * (size - 1), b"\x80" + b"\0" * (size - 1), b"\xff" * size, b"\0" * size]
        yield f"FIXED_LEN_BYTE_ARRAY({size})", pa.array(ends, pa.binary(size))


@pytest.mark.parametrize(
    ("stored", "column"), list(_stored()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_e63_what_opens_can_be_read(stored: str, column: pa.Array, tmp_path: Path) -> None:
    """Every physical type under every annotation: a file is refused when it is opened, or every value of it is read."""
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"c": column}), plain, store_schema=False, use_dictionary=False, write_statistics=False)
    annotations: list[tuple[str, dict[str, Any]]] = [(name, {"converted": code}) for name, code in _CONVERTED.items()]
    annotations += [(name, {"logical": logical}) for name, logical in _LOGICAL.items()]
    annotations += [
        (f"decimal({p}, 2)", {"converted": _DECIMAL, "decimal": (2, p)}) for p in (2, 9, 18, 19, 38, 40, 400)
    ]
    path = tmp_path / "rows.parquet"
    opened = 0
    for name, annotation in [("none", {}), *annotations]:
        path.write_bytes(plain.read_bytes())
        annotated(path, **annotation)
        try:
            parquet_files.check_values([Fingerprint.of(path)])
        except (ParameterError, duckdb.Error):
            continue
        assert duckdb.connect().read_parquet(str(path)).aggregate("list(hash(c))").fetchall(), (stored, name)
        opened += 1
    assert opened


def test_columns_that_cannot_fail_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def noted(_: object, __: object, columns: Sequence[str]) -> bool:
        asked.append(list(columns))
        return True

    monkeypatch.setattr(parquet_files, "_is_read", noted)
    path = tmp_path / "rows.parquet"
    tables = {
        "numbers": pa.table({"a": [1], "b": [1.5], "c": [True], "d": pa.array([1], pa.date32())}),
        "all": pa.table(
            {"a": [1], "t": ["x"], "s": [{"a": [1], "t": "x"}], "b": [1.5], "u": pa.array([0], pa.timestamp("us"))}
        ),
    }
    pq.write_table(tables["numbers"], path)
    open_source(path)
    assert asked == []
    pq.write_table(tables["all"], path)
    open_source(path)
    assert asked == [["t", "s", "u"]]


_TIMES = [0, _LARGEST, 1 - _LARGEST, -_LARGEST, -_LARGEST - 1, 2**62, -(2**62), -9_223_372_022_400_000_001]


@pytest.mark.parametrize("role", ["person", "key"])
@pytest.mark.parametrize(
    "column", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_NS", "TIMESTAMP_S", "TIMESTAMP_MS", "DECIMAL"]
)
def test_e63_values_beyond_a_type_are_nobody_and_no_day(column: str, role: str) -> None:
    """DuckDB fails to write a time before its first date and to negate the smallest decimal, and is unusable then."""
    of = {"TIMESTAMP_NS": "ns", "TIMESTAMP_S": "s", "TIMESTAMP_MS": "ms"}.get(column, "us")
    if column == "DECIMAL":
        ends = [0, 2**127 - 1, -(2**127), 1 - 2**127, 10**38]
        stored = pa.py_buffer(b"".join(value.to_bytes(16, "little", signed=True) for value in ends))
        values = pa.Array.from_buffers(pa.decimal128(38, 2), len(ends), [None, stored])
    else:
        values = pa.array(_TIMES).view(pa.timestamp(of, "UTC" if column == "TIMESTAMPTZ" else None))
    connection = ibis.duckdb.connect()
    source = open_source(connection.create_table("rows", pa.table({"c": values})), identity="rows")
    if role == "person":
        table = BoundedTable(source.engine, source.table, Person("c", 1, 1), {})
        (row,) = opened(table.totals({"n": RowCount()}, 7))
        assert int(row["n"]) <= len(values)
    elif column == "DECIMAL":
        table = BoundedTable(source.engine, source.table, Rows(), {})
        (row,) = opened(table.totals({"n": Values(Column("c"))}, 7))
        assert int(row["n"]) == 1
    else:
        table = BoundedTable(source.engine, source.table, Rows(), {"day": Column("c")})
        assert sum(int(row["n"]) for row in opened(table.totals({"n": RowCount()}, 7))) == len(values)


# One look for each file.


@pytest.fixture
def looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are looked at, from now on; notes are in a new folder, and files count as settled at once."""
    found: list[str] = []
    look = parquet_files._look

    def told(connection: Any, file: Fingerprint) -> None:
        found.append(Path(file.path).name)
        look(connection, file)

    monkeypatch.setattr(parquet_files, "_look", told)
    monkeypatch.setattr(checked_files, "_SETTLED", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


def test_a_file_is_looked_at_once(looks: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    _write(path, 1)
    for _ in range(3):
        open_source(path)
    assert looks == ["rows.parquet"]
    _write(path, 2)
    open_source(path)
    os.utime(path, ns=(0, 0))
    open_source(path)
    assert looks == ["rows.parquet"] * 3
    path.rename(tmp_path / "moved.parquet")
    open_source(tmp_path / "moved.parquet")
    assert looks[3:] == ["moved.parquet"]


def test_a_bad_file_is_never_remembered(looks: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"c": _texts(b"\xff")}), path)
    for _ in range(2):
        with pytest.raises(ParameterError, match="not UTF-8"):
            open_source(path)
    assert looks == ["rows.parquet"] * 2


def test_a_good_note_does_not_cover_a_file_with_its_times_set_back(looks: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    options: Any = {"use_dictionary": False, "write_statistics": False, "compression": "none"}
    pq.write_table(pa.table({"c": _texts(b"good")}), path, **options)
    open_source(path)
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"good", b"\xff\xff\xff\xff"))  # in place: same inode, size and footer
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ParameterError, match="not UTF-8"):
        open_source(path)


def test_a_file_that_was_just_written_gets_no_note(
    looks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_files, "_SETTLED", 10**12)
    path = tmp_path / "rows.parquet"
    _write(path, 1)
    for _ in range(2):
        open_source(path)
    assert looks == ["rows.parquet"] * 2


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o500])
def test_notes_that_others_may_write_do_not_count(mode: int, looks: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "dither" / "files"
    path = tmp_path / "rows.parquet"
    _write(path, 1)
    open_source(path)
    for note in folder.iterdir():
        if mode == 0o500:
            note.unlink()
    folder.chmod(mode)
    open_source(path)
    assert looks == ["rows.parquet"] * 2
    folder.chmod(0o700)


@pytest.mark.parametrize("cache", ["file", "relative"])
def test_without_a_folder_for_notes_files_are_looked_at_again(
    cache: str, looks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file") if cache == "file" else "cache")
    path = tmp_path / "rows.parquet"
    _write(path, 1)
    for _ in range(2):
        open_source(path)
    assert looks == ["rows.parquet"] * 2


@pytest.mark.parametrize("is_seen", [True, False])
def test_the_bar_is_for_terminals_and_long_looks(
    is_seen: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr(progress, "_STEP", 0.001)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_seen)
    asked = threading.Event()

    def share() -> float:
        asked.set()
        return 0.5

    with progress.progress_bar("looking", share):
        assert asked.wait(60) if is_seen else not asked.wait(0.1)
    asked.clear()
    with progress.working("asking"), progress.progress_bar("looking", share):  # the part tells the share of the whole
        assert asked.wait(60) if is_seen else not asked.wait(0.1)
    assert capsys.readouterr().out == ""


# CSV: no line hides another, whatever it holds.

_OTHERS = "".join(f"{number},x{number}\n" for number in range(1000))


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        pytest.param("5000," + "y" * 16_384, 1, id="the longest text"),
        pytest.param("5000," + "y" * 3_000_000, 0, id="3 MB"),
        pytest.param('5000,"' + "y\n" * 1_500_000 + '"', 0, id="3 MB of quoted lines"),
        pytest.param("5000," + "y" * 40_000_000, 0, id="longer than the buffer of the reader"),
        pytest.param("5000,a\0b", 1, id="NUL"),
        pytest.param("\0", 0, id="NUL alone"),
        pytest.param("5000" + ",z" * 100_000, 1, id="100,000 fields"),
        pytest.param("5000" + ",z" * 1_000_000, 0, id="1,000,000 fields"),
        pytest.param("\ufeff5000,x", 1, id="byte order mark"),
        pytest.param("#5000,x", 1, id="comment"),
        pytest.param("5000,\\", 1, id="backslash"),
        pytest.param("\n\n", 0, id="empty lines"),
    ],
)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_c41_a_line_takes_away_itself_at_most(line: str, kept: int, before: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,t\n" + _OTHERS * before + line + "\n" + _OTHERS * 2)
    table = open_source(path).table
    expected = 1000 * (before + 2)
    others = [str(number) for number in range(1000)]
    assert table.count().to_pyarrow().as_py() == expected + kept
    assert table.filter(table.n.isin(others)).count().to_pyarrow().as_py() == expected
    assert table.filter(~table.n.isin(others)).count().to_pyarrow().as_py() == kept
    assert table.filter(table.t.notnull()).count().to_pyarrow().as_py() == expected + kept


def test_a_text_that_is_too_long_is_missing_and_its_line_is_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n,t\n" + _OTHERS + "5000," + "y" * 1_900_000 + "\n" + _OTHERS)
    table = open_source(path).table
    assert table.count().to_pyarrow().as_py() == 2001
    assert table.filter(table.n == "5000").count().to_pyarrow().as_py() == 1
    assert table.filter(table.t.isnull()).count().to_pyarrow().as_py() == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_refused_by_its_header(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(("n,t\n" + _OTHERS).encode(encoding))
    with pytest.raises((ParameterError, EngineError), match="UTF-8"):
        open_source(path)
