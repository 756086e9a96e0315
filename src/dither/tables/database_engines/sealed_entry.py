"""The sealed entry: how a column of each type comes in, and that others do not.

Each engine lists the types of its own catalogue, and for each the expression by which a column of that type enters. The
expression is total: whatever is stored, it gives a value of the one type of its kind (an integer of at most 64 bits, a
double, a text, a truth value, a day, a time) or NULL, and the engine cannot fail on it. **So no row decides whether a
question fails**: what comes after works on these six types alone, and is total on them. A column of a type that is not
listed does not enter: its type is never guessed.

Real numbers are tame when they enter, on every engine alike: NaN is NULL, magnitudes below 1e-100 are 0, those above
1e100 are 1e100, infinite ones among them. Then no product, sum or quotient of two of them overflows or underflows, on
which some engines fail.

Texts have at most `LONGEST_TEXT` bytes when they enter, and bytes as many hexadecimal digits; longer ones are NULL, on
every engine alike, also where they tell persons apart. That depends on the one row alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import ibis.expr.types as ir
import pyarrow as pa

from dither.errors import ParameterError
from dither.tables.expression import LONGEST_TEXT

__all__ = [
    "LARGEST",
    "LONGEST_BYTES",
    "SMALLEST",
    "ColumnType",
    "Sealed",
    "as_type",
    "called",
    "columns_of_table",
    "day",
    "has_word",
    "identity_name",
    "identity_of",
    "none_left",
    "of_each_row",
    "refused_column",
    "seal",
    "short",
    "tame",
    "text",
    "time",
    "truth",
    "whole",
]

LARGEST: Final = 1e100
"""Larger magnitudes become this one, so that a product of two of them is still finite."""
SMALLEST: Final = 1e-100
"""Smaller magnitudes become 0, so that a product of two others is not."""
LONGEST_BYTES: Final = LONGEST_TEXT // 2
"""Of a column of bytes, which enter as two digits each."""
_FIRST_DAY, _LAST_DAY = date(1, 1, 1), date(9999, 12, 31)
_FIRST_TIME, _LAST_TIME = (ibis.literal(each, type="timestamp") for each in (datetime.min, datetime.max))
_IDENTITY: Final = "dither who "
"""How the columns begin that tell persons apart, where the entered column does not."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of an engine that may enter."""

    kind: str
    """What it is in expressions: whole, real, text, truth, date or time."""
    enter: Callable[[Any], Any]
    """The column as an integer of at most 64 bits, a double, a text, a truth value, a day or a time; NULL if none.

    Integers are only compared, grouped and hashed as such: arithmetic is that of doubles."""
    identify: Callable[[Any], Any] | None = None
    """How it tells persons apart, where `enter` makes one value of several: two persons must not become one, as the
    limits would then hold for both together. None where the entered value does; a double never does."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A table of entered columns, and the columns that did not enter with their types."""

    table: ir.Table
    refused: Mapping[str, str]


def seal(table: ir.Table, catalogue: Mapping[str, str], known: Mapping[str, ColumnType]) -> Sealed:
    """The columns of a known type, entered; beside them what tells persons apart, under names of its own."""
    entered: dict[str, Any] = {}
    refused: dict[str, str] = {}
    for name in table.columns:
        of = known.get(catalogue[name])
        if of is None:
            refused[name] = catalogue[name]
            continue
        entered[name] = of.enter(table[name])
        if of.identify is not None:
            entered[identity_name(name)] = of.identify(table[name])
    none_left(table.columns, refused)
    return Sealed(table.select(*called(entered)), refused)


def called(columns: Mapping[str, ir.Value]) -> list[Any]:
    """Values by their names, for a step of Ibis. As keywords, a column called `self` or `by` would be taken for one of
    the step's own parameters."""
    return [value.name(name) for name, value in columns.items()]


def of_each_row(table: ir.Table, columns: Mapping[str, ir.Value]) -> ir.Table:
    """The table of these columns alone, each made of the same row of `table`.

    The `select` of Ibis first looks for what is made of several rows, or of another table, and takes longer over that
    than over all else. The first does not come here, and the second is refused here as well.
    """
    return ops.Project(table.op(), {name: value.op() for name, value in columns.items()}).to_expr()


def columns_of_table(table: ir.Table) -> dict[str, ir.Value]:
    """The columns by their names, as `of_each_row` takes them."""
    return {name: field.to_expr() for name, field in table.op().fields.items()}


def none_left(columns: Sequence[str], refused: Mapping[str, str]) -> None:
    """Refuse a table of which no column enters."""
    if len(refused) == len(columns):
        raise ParameterError(f"no column of the table enters. {refused_column(*next(iter(refused.items())))}")


def has_word(of: pa.DataType) -> bool:
    """Whether Ibis has a word for a type of Arrow. Extensions such as UUIDs have none."""
    try:
        dt.DataType.from_pyarrow(of)
    except Exception:  # a KeyError, or one of its own
        return False
    return True


def refused_column(name: str, of: str) -> ParameterError:
    """The refusal of a column that did not enter."""
    return ParameterError(
        f"column {name!r} has the type {of}, which does not enter: no total expression is listed for it. "
        "Cast it in a view, or give it another type in the source."
    )


def identity_of(table: ir.Table, column: str) -> Any:
    """The values by which a column tells persons apart; refused where it holds floating-point numbers."""
    if identity_name(column) in table.columns:
        return table[identity_name(column)]
    if table[column].type().is_floating():
        raise ParameterError(f"the column {column!r} holds floating-point numbers, which cannot tell persons apart.")
    return table[column]


def identity_name(column: str) -> str:
    """Name the column that tells persons apart beside this one; of fixed length, as engines cut off long names, and two
    of them could become one."""
    return _IDENTITY + hashlib.sha256(column.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def as_type(value: Any, of: str) -> Any:
    """A cast that is written out in any case: Ibis leaves it out where it takes the type for this one already."""
    return ops.Cast(value, to=dt.dtype(of)).to_expr()


def whole(value: Any) -> Any:
    """A 64-bit integer, of a type that has no values outside of these."""
    return as_type(value, "int64")


def text(value: Any) -> Any:
    """A text, of a type whose every value can be written."""
    return as_type(value, "string")


def short(value: Any, size: Any) -> Any:
    """A text or bytes, or NULL if its `size` in bytes, which engines know without reading it, is beyond the longest."""
    most = LONGEST_BYTES if value.type().is_binary() else LONGEST_TEXT
    return (size <= most).ifelse(value, ibis.null(value.type()))


def truth(value: Any) -> Any:
    """A truth value."""
    return as_type(value, "boolean")


def day(value: Any) -> Any:
    """The day of a date; NULL outside of the years 1 to 9999, and where it is infinite."""
    found = as_type(value, "date")
    return found.between(_FIRST_DAY, _LAST_DAY).ifelse(found, ibis.null("date"))


def time(value: Any) -> Any:
    """A time to the microsecond, in UTC if it has a zone; NULL outside of the years 1 to 9999, or where infinite."""
    found = as_type(value, "timestamp")
    return found.between(_FIRST_TIME, _LAST_TIME).ifelse(found, ibis.null("timestamp"))


def tame(value: Any) -> Any:
    """A double between 1e-100 and 1e100 in magnitude, or 0; NULL stays NULL, and NaN becomes NULL.

    In an engine NaN may be larger than all numbers, or no condition holds of it: neither changes what comes out.
    """
    double = value if value.type() == dt.float64 else as_type(value, "float64")
    magnitude = double.abs()
    return ibis.cases(
        ((magnitude >= SMALLEST) & (magnitude <= LARGEST), double),  # most values, decided first
        (magnitude < SMALLEST, 0.0),
        ((double > LARGEST) & ~double.isnan(), LARGEST),
        (double < -LARGEST, -LARGEST),
        else_=ibis.null("float64"),
    )
