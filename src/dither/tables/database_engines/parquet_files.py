"""Parquet files: how they are opened, and the one look at values on which the reader itself can fail.

The reader decodes a value when its row is read, and rows that a filter leaves out are not read: if one value makes it
fail, failing tells that this row matches. No expression comes before the reader. So all columns in which it can fail
are read in full when a file is first opened, and a file with such a value is refused as a whole, before there is a
budget and whichever columns will be asked. What holds a number as it is stored cannot fail and is not read.

That a file is refused has no noise: it tells that some value of the named column is not what the column's type says. A
writer that follows the format sees to that whatever the rows hold, and then it tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb

from dither.errors import ParameterError
from dither.progress import progress_bar
from dither.tables.database_engines.checked_files import is_remembered, remember
from dither.tables.database_engines.duckdb_paths import exact
from dither.tables.database_engines.file_fingerprint import Fingerprint

__all__ = ["AS_STORED", "COUNTS_PROGRESS", "check_values"]

AS_STORED: Final[Mapping[str, bool]] = {
    "hive_partitioning": False,  # a folder user_id=1 would replace the column user_id
    "union_by_name": False,
    "filename": False,
    "file_row_number": False,
    "binary_as_string": False,
}
"""Columns are those of the file, and nothing in a path is one."""

_SMALL: Final = frozenset({"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "DATE"})
_LARGE: Final = frozenset({"BIGINT", "UBIGINT"})
_NEVER_FAIL: Final[Mapping[tuple[str, bool], frozenset[str]]] = {
    ("BOOLEAN", False): frozenset({"BOOLEAN"}),
    ("INT32", False): _SMALL,
    ("INT32", True): _SMALL,
    ("INT64", False): _LARGE,
    ("INT64", True): _LARGE,
    ("FLOAT", False): frozenset({"FLOAT"}),
    ("DOUBLE", False): frozenset({"DOUBLE"}),
}
"""By how values are stored, and whether the file says more about them: the types as which they are taken over bit by
bit. Others are converted or checked."""

_FAULTS: Final[Mapping[str, tuple[str, str]]] = {
    "VARCHAR": ("a text that is not UTF-8", "texts in UTF-8, or the column as binary"),
    "JSON": ("a text that is not JSON", "the column as a text"),
    "TIMESTAMP": ("a time beyond the years that DuckDB has", "times in microseconds"),
    "TIME": ("a time that no day has", "the column as a whole number"),
    "DECIMAL": ("a number of more digits than its type has", "the column with a wider type"),
    "": ("a value that its type does not have", "the column with another type"),
}
"""What may be wrong with a value and how to write it instead, by how the name of the type begins."""
_SCHEMA: Final = """
    SELECT type, converted_type IS NOT NULL OR logical_type IS NOT NULL, num_children FROM parquet_schema([?])"""
COUNTS_PROGRESS: Final = ("enable_progress_bar=true", "enable_progress_bar_print=false")
"""DuckDB counts how far a question is, and prints nothing itself."""
_SETTINGS: Final = ("autoinstall_known_extensions=false", "autoload_known_extensions=false", *COUNTS_PROGRESS)
_KEPT: Final = "unused_columns"


def check_values(files: Sequence[Fingerprint]) -> None:
    """Look at the files that were not looked at before; refuse the first with a value that cannot be read."""
    unknown = [file for file in files if not is_remembered(file)]
    if not unknown:
        return
    finished: list[Fingerprint] = []
    with closing(_connection()) as connection:

        def share() -> float:
            now = unknown[len(finished) : len(finished) + 1]
            read = sum(file.size for file in finished)
            read += sum(file.size for file in now) * max(0.0, connection.query_progress()) / 100
            return float(read / max(1, sum(file.size for file in unknown)))

        with progress_bar("looking at the values of new files", share):
            for file in unknown:
                _look(connection, file)
                file.check()
                remember(file)
                finished.append(file)


def _connection() -> Any:
    """A connection that reads what it is asked to: optimised, a count or a largest value comes from the footer alone,
    and of a text only its length is read. What is left is that columns which were not asked for are not read."""
    connection = duckdb.connect()
    for setting in _SETTINGS:
        connection.execute(f"SET {setting}")
    others = (name for (name,) in connection.execute("FROM duckdb_optimizers()").fetchall() if name != _KEPT)
    connection.execute(f"SET disabled_optimizers='{','.join(others)}'")
    return connection


def _look(connection: Any, file: Fingerprint) -> None:
    pattern = exact(Path(file.path))
    columns = _fallible(connection, pattern)
    if not columns or _is_read(connection, pattern, columns):
        return
    for name, of in columns.items():
        with closing(_connection()) as other:  # an internal error of DuckDB ends a connection
            if not _is_read(other, pattern, [name]):
                raise _refusal(Path(file.path).name, name, of)
    raise duckdb.IOException("the columns can be read one by one and not together")


def _refusal(file: str, column: str, of: str) -> ParameterError:
    fault, remedy = next(said for begin, said in _FAULTS.items() if of.startswith(begin))
    return ParameterError(
        f"the file {file!r} cannot be read in full: its column {column!r} of type {of} holds {fault}, or the file is "
        f"damaged. Write it anew, with {remedy}."
    )


def _fallible(connection: Any, pattern: str) -> dict[str, str]:
    """The columns in which the reader can fail on a value, with their types."""
    opened = connection.read_parquet([pattern], **AS_STORED)
    stored = _stored(connection.execute(_SCHEMA, [pattern]).fetchall())
    found = zip(opened.columns, map(str, opened.types), stored, strict=True)
    return {name: of for name, of, how in found if of not in _NEVER_FAIL.get(how, ())}


def _stored(schema: list[tuple[str | None, bool, int | None]]) -> Iterator[tuple[str, bool]]:
    """How the columns are stored, "" for one that has others inside, from the schema: a tree, depth first."""
    inside = 0
    for physical, is_annotated, children in schema[1:]:
        if not inside:
            yield physical or "", is_annotated
        inside = max(0, inside - 1) + (children or 0)


def _is_read(connection: Any, pattern: str, columns: Iterable[str]) -> bool:
    """Whether every value of the columns can be read."""
    needed = ", ".join('count("' + name.replace('"', '""') + '")' for name in columns)
    try:
        connection.read_parquet([pattern], **AS_STORED).aggregate(needed).fetchall()
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, UnicodeDecodeError):  # its words hold the value, and may be no text themselves
        return False
    return True
