"""The groups of one answer: their keys in order, and where those of a batch of the engine belong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import once
from dither.tables import arrow_table, content_digest, is_frame
from dither.tables.expression import LONGEST_TEXT
from dither.tables.plain_columns import column_of, column_of_numbers, numbers_of, with_plain_names

__all__ = [
    "MOST_BYTES",
    "MOST_GROUPS",
    "MOST_VALUES",
    "ROOM",
    "Groups",
    "Wholes",
    "check_values",
    "counted",
    "crossed",
    "fingerprint",
    "public_keys",
    "with_plain_texts",
]

ROOM: Final = 1 << 62
"""Exact numbers are clipped to ± this, so that noise has room in 64 bits."""
MOST_GROUPS: Final = 10**7
"""How many public groups a question may have."""
MOST_BYTES: Final = 1 << 30
"""How much memory the public keys of a question may take."""
MOST_VALUES: Final = 2 * 10**7
"""How many values the answer to a question about public groups may hold: groups times values per group."""
_OF_KIND: Final = {"whole": pa.int64(), "text": pa.large_string(), "truth": pa.bool_(), "date": pa.date32()}
_ARROW: Final = (pa.Array, pa.ChunkedArray)
_TOGETHER: Final = 1 << 20
_TOGETHER_BYTES: Final = 1 << 28
_NOWHERE, _ZERO = column_of_numbers(np.array([-1, 0]))
_ENDS: Final = column_of_numbers(np.array([-ROOM, ROOM]))

Wholes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Different keys, one row each; a table without columns stands for the one group of all rows."""

    keys: pa.Table

    def __len__(self) -> int:
        return int(self.keys.num_rows) if self.keys.num_columns else 1

    def places(self, batch: pa.RecordBatch) -> Wholes:
        """The position of each row's group here, −1 if it has none; NULL is a key like any other."""
        places = np.zeros(batch.num_rows, dtype=np.int64)
        for name, (values, combined) in zip(self.keys.column_names, self._codes, strict=True):
            codes = _positions(batch.column(name).cast(values.type), values)
            both = np.where((places < 0) | (codes < 0), -1, places * len(values) + codes)
            places = _positions(column_of_numbers(both), combined)
        return places

    @once
    def _codes(self) -> list[tuple[pa.Array, pa.Array]]:
        """For each column its different values, and the different combinations of it with the columns before it.

        A combination is the position of the one before times the number of values, plus the position of the value.
        Positions are below the number of groups, so that no product passes 64 bits. After the last column each group is
        a combination of its own, in the order of the groups.
        """
        found = []
        before = np.zeros(self.keys.num_rows, dtype=np.int64)
        for column in self.keys.columns:
            whole = column.combine_chunks()
            values = whole.unique()
            both = column_of_numbers(before * len(values) + _positions(whole, values))
            combined = both.unique()
            before = _positions(both, combined)
            found.append((values, combined))
        return found

    def found(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Wholes, pa.RecordBatch]]:
        """The rows of each batch that belong to a group here, with its position."""
        for batch in _merged(batches):
            places = self.places(batch)
            here = places >= 0
            yield places[here], batch.take(column_of_numbers(np.flatnonzero(here)))

    def vector(self, batches: Iterable[pa.RecordBatch], name: str) -> NDArray[np.int64]:
        """A column of whole numbers in the order of the groups, 0 where the engine knows none."""
        values = np.zeros(len(self), dtype=np.int64)
        for places, batch in self.found(batches):
            values[places] = counted(batch.column(name))
        return values


def _positions(asked: pa.Array, values: pa.Array) -> Wholes:
    found = pc.index_in(asked, value_set=values).cast(pa.int64())
    return numbers_of(pc.fill_null(found, _NOWHERE))


def _merged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Larger batches: finding places looks at all groups each time. Of long texts, fewer rows are put together."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        rows, size = (sum(each) for each in zip(*((one.num_rows, one.nbytes) for one in waiting), strict=True))
        if rows >= _TOGETHER or size >= _TOGETHER_BYTES:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)


def counted(column: pa.Array) -> Wholes:
    """A column of counts or totals as 64-bit integers. NULL is 0, and what is beyond ±2^62 is ±2^62."""
    if pa.types.is_decimal(column.type):
        low, high = _ENDS.cast(column.type)
        column = pc.if_else(pc.less(column, low), low, pc.if_else(pc.greater(column, high), high, column))
    return numbers_of(pc.fill_null(column.cast(pa.int64()), _ZERO))


def public_keys(columns: Sequence[str], keys: Any, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """Public keys as a table with one column for each, of the types that leave an engine.

    Duplicates, times, too many, and keys that no column can have are refused. `kinds` are those of the columns, for
    keys that are all None.
    """
    known = kinds or {}
    if is_frame(keys):
        return _checked(_of_table(columns, arrow_table(keys)), known)
    if isinstance(keys, Mapping):
        if set(keys) != set(columns):
            raise ParameterError(f"keys must have a list for each of {', '.join(columns)}.")
        listed = {name: _listed(keys[name], f"keys[{name!r}]") for name in columns}
        _has_room(math.prod(map(len, listed.values())))
        return crossed([_checked({name: values}, known) for name, values in listed.items()])
    rows = _listed(keys, "keys")
    if len(columns) == 1:
        return _checked({columns[0]: rows}, known)
    rows = rows.to_pylist() if isinstance(rows, _ARROW) else rows
    if any(not isinstance(row, tuple | list) or len(row) != len(columns) for row in rows):
        raise ParameterError(f"keys must be tuples of {len(columns)} values, one for each of {', '.join(columns)}.")
    return _checked({name: [row[index] for row in rows] for index, name in enumerate(columns)}, known)


def crossed(tables: Sequence[pa.Table]) -> pa.Table:
    """All combinations of their rows, the last table's changing fastest. Refused before it is built if it is too large.

    >>> crossed([pa.table({"a": ["x", "y"]}), pa.table({"b": [1, 2]})]).to_pylist()[:3]
    [{'a': 'x', 'b': 1}, {'a': 'x', 'b': 2}, {'a': 'y', 'b': 1}]
    """
    count = math.prod(table.num_rows for table in tables)
    _has_room(count, sum(table.nbytes * (count // table.num_rows) for table in tables))
    columns: dict[str, Any] = {}
    slower, faster = 1, count
    for table in tables:
        faster //= table.num_rows
        places = column_of_numbers(np.tile(np.repeat(np.arange(table.num_rows), faster), slower))
        slower *= table.num_rows
        columns |= dict(zip(table.column_names, table.take(places).columns, strict=True))
    return pa.table(columns).combine_chunks()


def check_values(groups: int, values: int) -> None:
    """Refuse an answer with too many values in all its groups together: it would fail for memory after it was paid."""
    if not groups * values <= MOST_VALUES:
        raise ParameterError(
            f"an answer may hold {MOST_VALUES:,} values, and {groups:,} groups with {values:,} values each are "
            f"{groups * values:,}. Ask for fewer groups, bins, candidates or quantiles at once."
        )


def with_plain_texts(table: pa.Table) -> pa.Table:
    """The table with texts in the type that they usually have, if they are few enough for it in all."""
    if table.nbytes > MOST_BYTES:
        return table
    types = [pa.string() if pa.types.is_large_string(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(dict(zip(table.column_names, types, strict=True))))


def _has_room(groups: int, size: int = 0) -> None:
    if not groups <= MOST_GROUPS:
        raise ParameterError(
            f"there may be {MOST_GROUPS:,} public groups, and all combinations of these keys and bins are {groups:,}. "
            "List the combinations that are needed, or group by fewer columns."
        )
    if not size <= MOST_BYTES:
        raise ParameterError(
            f"public keys may take {MOST_BYTES:,} bytes in all, and these take {size:,}. Give fewer or shorter keys."
        )


def _column(values: Any) -> Any:
    if isinstance(values, _ARROW):
        return values
    if any(isinstance(value, datetime) for value in values):
        raise ParameterError("keys must be days (datetime.date), not times.")
    try:
        return column_of(values)
    except UnicodeError:
        raise ParameterError("keys must be Unicode, and one of them holds half of a surrogate pair.") from None
    except (pa.ArrowException, OverflowError):
        raise ParameterError("all keys of one column must be of one type.") from None


def _listed(values: Any, name: str) -> Any:
    """A list of the values of a list, an array or a series of pandas, or a column of Arrow; what has no length is
    refused unread."""
    if hasattr(values, "__len__"):
        _has_room(len(values))
    if isinstance(values, list | tuple | range):
        return list(values)
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    if isinstance(values, _ARROW):
        return values
    if hasattr(values, "to_arrow"):  # a series of Polars
        return values.to_arrow()
    if hasattr(values, "to_list"):
        missing = values.isna() if hasattr(values, "isna") else itertools.repeat(False)  # pandas has several NULLs
        return [None if is_missing else key for key, is_missing in zip(values.to_list(), missing, strict=False)]
    said = f"[{values!r}]" if isinstance(values, str) else "['Paris', 'Lyon']"
    raise ParameterError(f"{name} must be a list of values, got the type {type(values).__name__}. Write {name}={said}.")


def fingerprint(public: pa.Table) -> str:
    """A short name for the content of a public table: two questions about different tables are different questions."""
    return f"#{content_digest(public)[:16]}"


def _of_table(columns: Sequence[str], table: pa.Table) -> dict[str, Any]:
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        raise ParameterError(f"the table of keys has no column {missing[0]!r}. It has {', '.join(table.column_names)}.")
    return {name: table.column(name) for name in columns}


def _checked(given: Mapping[str, Any], kinds: Mapping[str, str]) -> pa.Table:
    columns = {name: _column(values) for name, values in given.items()}
    if not all(map(len, columns.values())):
        raise ParameterError("keys must not be empty.")
    table = pa.table({name: entered_keys(name, column, kinds) for name, column in columns.items()})
    _has_room(table.num_rows, table.nbytes)
    if table.num_columns == 1:  # grouping gives the same, and loads pandas
        different = len(table.column(0).unique())
    else:
        plain = with_plain_names(table)
        different = plain.group_by(plain.column_names).aggregate([]).num_rows
    if different != table.num_rows:
        raise ParameterError("keys must be different from each other.")
    return with_plain_texts(table).combine_chunks()


def entered_keys(name: str, values: Any, kinds: Mapping[str, str]) -> Any:
    """A column of public keys, of the one type of its kind; `kinds` are those of the columns, for keys without any.

    Groups of an answer are found by comparing keys that leave an engine with public ones. So public keys have the types
    that leave an engine, whatever the types were that they came in; and what an engine would see as something else, as
    bytes that enter as digits, is refused by name before anything is charged.
    """
    of = values.type
    if pa.types.is_dictionary(of):
        return entered_keys(name, values.cast(of.value_type), kinds)
    if pa.types.is_null(of):
        return values.cast(_OF_KIND.get(kinds.get(name, "text"), pa.float64()))
    if pa.types.is_integer(of):
        return _whole(name, values)
    if pa.types.is_string(of) or pa.types.is_large_string(of) or pa.types.is_string_view(of):
        return _texts(name, values)
    if pa.types.is_date(of):
        return _days(name, values)
    if pa.types.is_boolean(of):
        return values
    if pa.types.is_floating(of):
        return values.cast(pa.float64())  # refused where it is known what the column holds
    if pa.types.is_timestamp(of):
        raise ParameterError(f"the keys {name!r} must be days, not times. Cast them to dates.")
    raise ParameterError(
        f"the keys {name!r} have the type {of} of Arrow: keys are whole numbers, texts, truth values or days. "
        "Bytes and UUIDs are grouped as texts, so give their keys as texts."
    )


def _whole(name: str, values: Any) -> Any:
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        raise ParameterError(f"the keys {name!r} hold a whole number beyond 2^63 - 1, which no column has.") from None


def _texts(name: str, values: Any) -> Any:
    try:
        texts = values.cast(pa.large_string())
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise ParameterError(f"the keys {name!r} hold a text that is not UTF-8.") from None
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST_TEXT:
        raise ParameterError(
            f"the keys {name!r} hold a text of more than {LONGEST_TEXT} bytes: in the data it is missing."
        )
    return texts


def _days(name: str, values: Any) -> Any:
    try:
        days = values.cast(pa.date32())
    except pa.ArrowInvalid:
        raise ParameterError(f"the keys {name!r} must be days, not times. Cast them to dates.") from None
    first, last = (pa.scalar(end, pa.date32()) for end in (date.min, date.max))
    inside = pc.and_(pc.greater_equal(days, first), pc.less_equal(days, last))
    if not pc.all(inside, skip_nulls=True).as_py():
        raise ParameterError(f"the keys {name!r} hold a day outside of the years 1 to 9999: in the data it is missing.")
    return days
