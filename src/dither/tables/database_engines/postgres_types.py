"""The types of PostgreSQL that enter, by their names in `pg_catalog`, each by a total expression.

What is not listed does not enter: types that compare otherwise than their texts (citext), that have no order or no one
way to be written (json, xml, composite types, arrays, ranges), that are no kind of value here (intervals, times of day,
bit strings, addresses), and every type that an extension or a user made. An enum is its label. A domain enters as the
type below it: the server describes its columns so.

**Why none of the expressions can fail.** Casts of int2, int4, oid to int8, of float4 to float8, of money to numeric, of
any number to text, and of uuid, name and enums to text are defined for every value. numeric has values beyond the
doubles on both sides, so it is made tame as a numeric, by comparisons and abs, which are defined for NaN and the
infinities too; the cast sees numbers between 1e-100 and 1e100 or 0. Questions are asked in UTC, where every time with
a zone is one without; days and times that Python does not have become NULL. Texts and bytes have the longest length
that all engines have (sealed_entry.py): PostgreSQL has texts of up to 2^30 bytes, and fails on a row or a result
beyond. The result of a guard is what is cast, so that no order in which the planner evaluates things can pass over the
guard.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import ibis
import ibis.expr.datatypes as dt

from dither.tables.database_engines.engine import builtin
from dither.tables.database_engines.sealed_entry import (
    LARGEST,
    SMALLEST,
    ColumnType,
    as_type,
    day,
    short,
    tame,
    text,
    time,
    truth,
    whole,
)

__all__ = ["COLUMN_TYPES"]

_NUMERIC: Final = dt.Decimal()


def _short(value: Any) -> Any:
    return short(value, builtin("octet_length", "int32", value))


def _short_text(value: Any) -> Any:
    return _short(text(value))


def _hexadecimal(value: Any) -> Any:
    return builtin("encode", "string", _short(as_type(value, "binary")), ibis.literal("hex"))


def _letter(value: Any) -> Any:
    """A "char" is one byte: NULL where that is no character. It is a negative number then."""
    return (as_type(value, "int32") >= 0).ifelse(text(value), ibis.null("string"))


def _numeric(value: Any) -> Any:
    return as_type(value, "decimal")


def _tame_numeric(value: Any) -> Any:
    """A tame double of a number of any length."""
    number = _numeric(value)
    most, least, zero = (ibis.literal(Decimal(of), type=_NUMERIC) for of in (f"{LARGEST:e}", f"{SMALLEST:e}", "0"))
    nan = ibis.literal("NaN").cast(_NUMERIC)
    tamed = ibis.cases(
        (number == nan, ibis.null(_NUMERIC)),  # first, as it is larger than all numbers here
        (number.abs() < least, zero),
        (number > most, most),
        (number < -most, -most),
        else_=number,
    )
    return as_type(tamed, "float64")


def _digits(value: Any) -> Any:
    """A text that is the same for equal numbers: 1.0 and 1.00 are. Of more digits than texts have, it is NULL."""
    return _short_text(builtin("trim_scale", "decimal", _numeric(value)))


def _tame_float(value: Any) -> Any:
    return tame(as_type(value, "float64"))


_WHOLE: Final = ColumnType("whole", whole)
_REAL: Final = ColumnType("real", _tame_float)
_LONG_TEXT: Final = ColumnType("text", _short_text)
_TEXT: Final = ColumnType("text", text)
_TIME: Final = ColumnType("time", time, identify=text)

COLUMN_TYPES: Final = {
    "int2": _WHOLE,
    "int4": _WHOLE,
    "int8": _WHOLE,
    "oid": _WHOLE,
    "float4": _REAL,
    "float8": _REAL,
    "numeric": ColumnType("real", _tame_numeric, identify=_digits),
    "money": ColumnType("real", _tame_numeric, identify=_digits),
    "text": _LONG_TEXT,
    "varchar": _LONG_TEXT,
    "bpchar": _LONG_TEXT,
    "char": ColumnType("text", _letter),
    "name": _TEXT,
    "uuid": _TEXT,
    "enum": _TEXT,
    "bytea": ColumnType("text", _hexadecimal),
    "bool": ColumnType("truth", truth),
    "date": ColumnType("date", day),
    "timestamp": _TIME,
    "timestamptz": _TIME,
}
