"""The column types of Arrow, for Parquet files and for frames, each with hostile values as objects of Python."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tests.tables.hostile.values import (
    BEYOND_ASCII,
    LENGTHS,
    NOT_UTF8,
    REALS,
    TEXTS,
    Typed,
    decimals,
    named,
    random_reals,
    wholes,
)

__all__ = ["arrow_types", "column", "is_no_text", "pandas_types", "text_types"]

_NUMBERS = (1, 3, 7)
_WORDS = ("a", "Paris", "b")
_DATES = (date(2024, 2, 29), date(2024, 3, 1), date(1999, 12, 31))
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_TEXTS = [*TEXTS, "\x00", "a\x00b", *("x" * length for length in LENGTHS)]
_RAW = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
"""What holds the bytes of texts, which may be no texts at all."""


def column(typed: Typed, values: Sequence[Any]) -> pa.Array:
    """The values as a column; whole numbers stand for days and times in ticks of their own."""
    of = typed.type
    if pa.types.is_temporal(of) and not pa.types.is_duration(of):
        bits = pa.int32() if of.bit_width == 32 else pa.int64()
        return pa.array(values, type=bits).view(of)
    if of in _RAW:
        raw = [value.encode() if isinstance(value, str) else value for value in values]
        return pa.array(raw, type=_RAW[of]).view(of)
    if pa.types.is_dictionary(of):
        return pa.array(values, type=of.value_type).dictionary_encode().cast(of)
    return pa.array(values, type=of)


def is_no_text(typed: Typed, value: Any) -> bool:
    """Whether these are bytes where a text belongs."""
    return isinstance(value, bytes) and typed.type in _RAW


def _typed(of: pa.DataType, ordinary: Sequence[Any], hostile: Sequence[Any]) -> Typed:
    return Typed(str(of), of, ordinary, named(hostile))


def _times(unit: str) -> tuple[list[int], list[int]]:
    """Ordinary times and hostile ones in ticks: the ends of 64 bits, of the years 1 to 9999, and of microseconds."""
    tick = _TICKS[unit]
    ends = [-62_135_596_800, 253_402_300_799, 253_402_300_800, -62_135_596_801, 0, -1]
    far = [2**63 - 1, -(2**63) + 1, -(2**63), (2**63 - 1) // 10**6 * tick, 9_223_372_036_855 * tick]
    hostile = [*(end * tick for end in ends), *far, -(2**63) // 1000, (2**63 - 1) // 1000]
    return [19_782 * _DAY * tick, 10_000 * _DAY * tick], [each for each in hostile if -(2**63) <= each < 2**63]


def arrow_types(choose: random.Random, extra: int = 0) -> list[Typed]:
    """The types of Arrow that Parquet and DuckDB know, with `extra` random values where numbers are."""
    reals = [float(text) for text in REALS + random_reals(extra, choose)]
    signed = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
    unsigned = {pa.uint8(): 8, pa.uint16(): 16, pa.uint32(): 32, pa.uint64(): 64}
    times = [pa.timestamp(unit) for unit in _TICKS] + [pa.timestamp(unit, "UTC") for unit in _TICKS]
    days = [-719_162, 2_932_896, 2_932_897, -719_163, 2**31 - 1, -(2**31), -(2**31) + 1, 0, -1, 106_751_991]
    singles = [float(np.float32(x)) for x in reals if not 3.4028235e38 < abs(x) < np.inf]
    halves = [np.float16(text) for text in ("nan", "inf", "-inf", "6e-8", "65504")]
    return [
        _typed(pa.bool_(), (True, False), (True, False)),
        *(_typed(of, _NUMBERS, list(map(int, wholes(bits)))) for of, bits in signed.items()),
        *(_typed(of, _NUMBERS, list(map(int, wholes(bits, signed=False)))) for of, bits in unsigned.items()),
        _typed(pa.float16(), [np.float16(1), np.float16(3)], halves),
        _typed(pa.float32(), (1.0, 3.0), [*singles, 1e-45, 3.4028234663852886e38]),
        _typed(pa.float64(), (1.0, 3.0, 7.0), [*reals, _odd_nan()]),
        *(_decimals(pa.decimal128(p, s)) for p, s in [(4, 1), (9, 2), (18, 3), (38, 0), (38, 38)]),
        *map(_decimals, (pa.decimal32(9, 2), pa.decimal64(18, 3), pa.decimal256(38, 3), pa.decimal256(76, 0))),
        *(_typed(of, _WORDS, [*_TEXTS, NOT_UTF8[0]]) for of in _RAW),
        *(Typed(f"{of} beyond ASCII", of, BEYOND_ASCII, named([*NOT_UTF8, "Paris"])) for of in _RAW),
        _typed(pa.string_view(), _WORDS, _TEXTS),
        _typed(pa.dictionary(pa.int32(), pa.string()), _WORDS, _TEXTS),
        _typed(pa.date32(), (19_782, 10_000), days),
        _typed(pa.date64(), (19_782 * _DAY * 1000, 10_000 * _DAY * 1000), [d * _DAY * 1000 for d in days]),
        *(_typed(of, *_times(of.unit)) for of in times),
        _typed(pa.timestamp("us", "America/New_York"), *_times("us")),
        _typed(pa.time32("s"), (1,), (0, _DAY - 1)),
        _typed(pa.time64("us"), (1,), (0, _DAY * 10**6 - 1)),
        _typed(pa.duration("us"), (1,), (2**63 - 1,)),
        _typed(pa.binary(), (b"a",), (b"", b"\xff", *(b"x" * (length // 2 + length % 2) for length in LENGTHS))),
        _typed(pa.binary(2), (b"ab",), (b"\xff\xfe",)),
        _typed(pa.list_(pa.int64()), ([1],), ([], [None])),
        _typed(pa.struct({"a": pa.int64()}), ({"a": 1},), ({"a": None},)),
        _typed(pa.map_(pa.string(), pa.int64()), ([("a", 1)],), ([],)),
        _typed(pa.null(), (None,), ()),
    ]  # fmt: skip


def _decimals(of: Any) -> Typed:
    ordinary = [Decimal(0)] if of.precision == of.scale else [Decimal(1), Decimal(3)]
    return _typed(of, ordinary, [Decimal(text) for text in decimals(of.precision, of.scale)])


def _odd_nan() -> float:
    """A NaN with its sign and other bits set."""
    return float(struct.unpack("<d", struct.pack("<Q", 0xFFF8DEADBEEF0001))[0])


def pandas_types() -> list[Typed]:
    """Columns as pandas makes them."""
    reals = [float(text) for text in REALS]
    stamps = [pd.Timestamp("1677-09-22"), pd.Timestamp("2262-04-11"), pd.NaT]
    seconds = [
        np.datetime64(text, "s")
        for text in ("0001-01-01", "9999-12-31", "10000-01-01", "-0044-03-15", "294277-01-01", "NaT")
    ]
    whole = {"int64": wholes(64), "int8": wholes(8), "uint64": wholes(64, signed=False)}
    return [
        *(Typed(of, of, _NUMBERS, {text: int(text) for text in values}) for of, values in whole.items()),
        Typed("Int64", "Int64", _NUMBERS, {**{text: int(text) for text in wholes(64)}, "NA": pd.NA}),
        Typed("float64", "float64", (1.0, 3.0), {repr(x): x for x in reals}),
        Typed("Float64", "Float64", (1.0, 3.0), {**{repr(x): x for x in reals if x == x}, "NA": pd.NA}),
        Typed("bool", "bool", (True, False), {"True": True}),
        Typed("object", "object", _WORDS, named(_TEXTS)),
        Typed("str", "str", _WORDS, named(_TEXTS)),
        Typed("category", pd.CategoricalDtype(sorted({*_WORDS, *_TEXTS})), _WORDS, named(_TEXTS)),
        Typed("datetime64[ns]", "datetime64[ns]", (pd.Timestamp("2024-02-29"),), named(stamps)),
        Typed("datetime64[s]", "datetime64[s]", (np.datetime64("2024-02-29", "s"),), {str(x): x for x in seconds}),
    ]  # fmt: skip


def text_types() -> list[Typed]:
    """The columns of a file of separated values: all are texts, of which some are meant as numbers or days."""
    days = [*(text for text in TEXTS if "-" in text), "", "0001-01-01"]
    return [
        Typed("words", pa.string(), _WORDS, named([*TEXTS, "\x00", "\udcffa", *("x" * length for length in LENGTHS)])),
        Typed("numbers", pa.string(), ("1", "3", "7"), named([*REALS, *wholes(64), "9" * 400, "1e99", "1e-99", "x"])),
        Typed("days", pa.string(), tuple(map(str, _DATES)), named(days)),
    ]
