"""The column types of DuckDB, PostgreSQL and Spark, each with hostile values, in the words of the engine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.tables.hostile.values import (
    BEYOND_ASCII,
    DAYS,
    LENGTHS,
    NOT_UTF8,
    REALS,
    TEXTS,
    TIMES,
    Sql,
    Typed,
    decimals,
    named,
    random_reals,
    wholes,
)

__all__ = ["duckdb_types", "postgres_setup", "postgres_types", "spark_types"]

_NUMBERS = ("1", "3", "7")
_WORDS = ("a", "Paris", "b")
_DATES = ("2024-02-29", "2024-03-01", "1999-12-31")
_TRUTHS = ("true", "false", "true")
_LONG_TEXTS = [Sql(f"repeat('x', {length})") for length in LENGTHS]
_HALVES = [length // 2 + length % 2 for length in LENGTHS]
"""Of bytes, each of which is two digits."""
_UUIDS = ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff")
_WIDTHS = {"tiny": 8, "small": 16, "int": 32, "big": 64}


def _typed(name: str, of: str, ordinary: Sequence[Any], hostile: Sequence[Any]) -> Typed:
    return Typed(name, of, ordinary, named(hostile))


def _singles(reals: Sequence[str]) -> list[str]:
    """Those that single precision holds, and its own ends."""
    kept = [text for text in reals if not 0 < abs(float(text)) < 1e-44 and not 3e38 < abs(float(text)) < float("inf")]
    return [*kept, "1e-45", "-1e-40", "3.4028235e38", "-3.4028235e38", "16777217"]


def duckdb_types(choose: random.Random, extra: int = 0) -> list[Typed]:
    """Every type of DuckDB's catalogue; `extra` random values where numbers are."""
    reals = REALS + random_reals(extra, choose)
    days = [*DAYS, "infinity", "-infinity", "0001-01-01 (BC)", "5877642-06-25 (BC)", "5881580-07-10", "294276-12-31"]
    ends = ["infinity", "-infinity", "290309-12-22 (BC) 00:00:00", "0044-03-15 (BC) 12:00:00", "294247-01-10 04:00:54"]
    narrow = ["1677-09-22 00:00:00", "2262-04-11 00:00:00", "infinity", "-infinity", "1969-12-31 23:59:59.999999999"]
    signed = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
    unsigned = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
    widths = [(4, 1), (9, 2), (18, 3), (18, 18), (38, 0), (38, 10), (38, 38)]
    blobs = [Sql(f"encode(repeat('x', {half}))") for half in _HALVES]
    texts = [*TEXTS, Sql("chr(0)"), Sql("'a' || chr(0) || 'b'"), *_LONG_TEXTS]
    return [
        _typed("BOOLEAN", "BOOLEAN", _TRUTHS, ["true", "false"]),
        *(_typed(of, of, _NUMBERS, wholes(bits)) for of, bits in signed.items()),
        *(_typed(of, of, _NUMBERS, wholes(bits, signed=False)) for of, bits in unsigned.items()),
        _typed("BIGNUM", "BIGNUM", _NUMBERS, [*wholes(64), "9" * 400]),
        _typed("FLOAT", "FLOAT", _NUMBERS, _singles(REALS)),
        _typed("DOUBLE", "DOUBLE", _NUMBERS, reals),
        *(_typed(f"DECIMAL({p},{s})", f"DECIMAL({p},{s})", ("0", "0", "0") if p == s else _NUMBERS, decimals(p, s))
          for p, s in widths),
        _typed("VARCHAR", "VARCHAR", _WORDS, texts),
        _typed("VARCHAR beyond ASCII", "VARCHAR", BEYOND_ASCII, [*NOT_UTF8, "Paris"]),
        _typed("UUID", "UUID", _UUIDS, _UUIDS),
        _typed("ENUM", "ENUM('a', 'A', 'Paris', 'PARIS', 'b', '', '1')", _WORDS, ["A", "PARIS", "", "1"]),
        _typed("DATE", "DATE", _DATES, days),
        _typed("TIMESTAMP", "TIMESTAMP", _DATES, [*TIMES, *ends]),
        _typed("TIMESTAMP_S", "TIMESTAMP_S", _DATES, [*TIMES[::2], "infinity", "-infinity", "290000-01-01 00:00:00"]),
        _typed("TIMESTAMP_MS", "TIMESTAMP_MS", _DATES, [*TIMES[::2], "infinity", "-infinity", "290000-01-01 00:00:00"]),
        _typed("TIMESTAMP_NS", "TIMESTAMP_NS", _DATES, narrow),
        _typed("TIMESTAMPTZ", "TIMESTAMPTZ", _DATES, [*TIMES[::2], *ends]),
        _typed("TIMESTAMPTZ_NS", "TIMESTAMPTZ_NS", _DATES, narrow[:2]),
        _typed("TIME", "TIME", ("12:00:00",), ["00:00:00", "24:00:00"]),
        _typed("TIME_NS", "TIME_NS", ("12:00:00",), ["00:00:00"]),
        _typed("TIMETZ", "TIMETZ", ("12:00:00+00",), ["00:00:00+15:59"]),
        _typed("INTERVAL", "INTERVAL", ("1 day",), ["-1000 years", "0 days"]),
        _typed("BLOB", "BLOB", ("a",), [Sql("'\\xFF'::BLOB"), "", *blobs]),
        _typed("BIT", "BIT", ("101",), ["0"]),
        _typed("JSON", "JSON", ('"a"',), ["{}", "null", "1e999"]),
        _typed("INTEGER[]", "INTEGER[]", ("[1]",), ["[]", "[NULL]"]),
        _typed("INTEGER[2]", "INTEGER[2]", ("[1, 2]",), ["[NULL, 2]"]),
        _typed("STRUCT(a INTEGER)", "STRUCT(a INTEGER)", ("{a: 1}",), ["{a: NULL}"]),
        _typed("MAP(VARCHAR, INTEGER)", "MAP(VARCHAR, INTEGER)", ("{a=1}",), ["{}"]),
        _typed("UNION(a INTEGER)", "UNION(a INTEGER)", (Sql("union_value(a := 1)"),), []),
    ]  # fmt: skip


def postgres_setup() -> list[str]:
    """Extensions and types of our own that columns have."""
    return [
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE TYPE hostile_mood AS ENUM ('a', 'A', 'Paris', 'PARIS', 'b', '', '1')",
        "CREATE TYPE hostile_pair AS (a integer, b text)",
        "CREATE DOMAIN hostile_whole AS bigint",
        "CREATE DOMAIN hostile_number AS numeric",
        "CREATE DOMAIN hostile_wide AS numeric(310, 0)",
        "CREATE DOMAIN hostile_text AS text",
        "CREATE DOMAIN hostile_loose AS citext",
        "CREATE DOMAIN hostile_domain AS hostile_loose",
        "CREATE DOMAIN hostile_day AS date",
    ]


def postgres_types(choose: random.Random, extra: int = 0) -> list[Typed]:
    """The types of PostgreSQL, with `extra` random values where numbers are."""
    reals = REALS + random_reals(extra, choose)
    endless = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "1e308", "1e309", "1e100", "1e101"]
    digits = [Sql("repeat('9', 100000)::numeric"), Sql("('0.' || repeat('3', 16000))::numeric")]
    unlimited = [*endless, *digits, *decimals(18, 3)]
    wide = ["NaN", "1" + "0" * 308, "1" + "0" * 309, "-1" + "0" * 309, "9" * 310, "0"]
    scaled = ["NaN", "9" * 500, "-" + "9" * 500, "0." + "0" * 499 + "1", "0"]
    days = [*DAYS, "infinity", "-infinity", "0001-01-01 BC", "4714-11-24 BC", "5874897-12-31", "294276-12-31"]
    times = [*TIMES, "infinity", "-infinity", "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"]
    texts = [*TEXTS, *_LONG_TEXTS]
    short = [text for text in TEXTS if len(text) <= 8]
    edges = {"smallint": 16, "integer": 32, "bigint": 64}
    citext = ["PARIS", "paris", "A", "B", "", "a "]
    return [
        _typed("boolean", "boolean", _TRUTHS, ["true", "false"]),
        *(_typed(of, of, _NUMBERS, wholes(bits)) for of, bits in edges.items()),
        _typed("real", "real", _NUMBERS, _singles(REALS)),
        _typed("double precision", "double precision", _NUMBERS, reals),
        _typed("numeric(10,2)", "numeric(10,2)", _NUMBERS, ["NaN", *decimals(10, 2)]),
        _typed("numeric(38,10)", "numeric(38,10)", _NUMBERS, ["NaN", *decimals(38, 10)]),
        _typed("numeric(310,0)", "numeric(310,0)", _NUMBERS, wide),
        _typed("numeric(1000,500)", "numeric(1000,500)", _NUMBERS, scaled),
        _typed("numeric(5,-2)", "numeric(5,-2)", ("100", "300"), ["NaN", "9999900", "0"]),
        _typed("numeric", "numeric", _NUMBERS, unlimited),
        _typed("text", "text", _WORDS, texts),
        _typed("character varying", "character varying", _WORDS, texts),
        _typed("character varying(8)", "character varying(8)", _WORDS, short),
        _typed("character(8)", "character(8)", _WORDS, short),
        _typed('"char"', '"char"', _WORDS, ["", "A", Sql('(-1)::"char"')]),
        _typed("name", "name", _WORDS, short),
        _typed("citext", "citext", _WORDS, citext),
        _typed("enum", "hostile_mood", _WORDS, ["A", "PARIS", "", "1"]),
        _typed("domain over bigint", "hostile_whole", _NUMBERS, wholes(64)),
        _typed("domain over numeric", "hostile_number", _NUMBERS, unlimited),
        _typed("domain over numeric(310,0)", "hostile_wide", _NUMBERS, wide),
        _typed("domain over text", "hostile_text", _WORDS, texts),
        _typed("domain over citext", "hostile_loose", _WORDS, citext),
        _typed("domain over a domain", "hostile_domain", _WORDS, citext),
        _typed("domain over date", "hostile_day", _DATES, days),
        _typed("date", "date", _DATES, days),
        _typed("timestamp", "timestamp", _DATES, times),
        _typed("timestamp(0)", "timestamp(0)", _DATES, times),
        _typed("timestamptz", "timestamptz", _DATES, times),
        _typed("uuid", "uuid", _UUIDS, _UUIDS),
        _typed("money", "money", _NUMBERS, ["-92233720368547758.08", "92233720368547758.07"]),
        _typed("oid", "oid", _NUMBERS, ["0", "4294967295"]),
        _typed("time", "time", ("12:00:00",), ["24:00:00"]),
        _typed("timetz", "timetz", ("12:00:00+00",), ["00:00:00+15:59"]),
        _typed("interval", "interval", ("1 day",), ["-178000000 years", "0"]),
        _typed("json", "json", ('"a"',), ["1e999"]),
        _typed("jsonb", "jsonb", ('"a"',), ["1e999", "null"]),
        _typed(
            "bytea",
            "bytea",
            ("a",),
            ["\\xff", "", *(Sql(f"convert_to(repeat('x', {half}), 'UTF8')") for half in _HALVES)],
        ),
        _typed("bit(3)", "bit(3)", ("101",), ["000"]),
        _typed("integer[]", "integer[]", ("{1}",), ["{}", "{NULL}"]),
        _typed("composite", "hostile_pair", ("(1,a)",), ["(,)"]),
        _typed("inet", "inet", ("10.0.0.1",), ["::1"]),
        _typed("int4range", "int4range", ("[1,2)",), ["empty"]),
        _typed("point", "point", ("(1,2)",), ["(NaN,Infinity)"]),
        _typed("xml", "xml", ("<a/>",), []),
        _typed("tsvector", "tsvector", ("a",), [""]),
    ]


def _in_spark(text: bytes) -> Sql:
    return Sql(f"cast(x'{text.hex()}' as string)")


def spark_types(choose: random.Random, extra: int = 0) -> list[Typed]:
    """The types of Spark SQL, with `extra` random values where numbers are."""
    reals = REALS + random_reals(extra, choose)
    edges = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
    days = [*DAYS, "-0044-03-15", "294247-01-10"]
    times = [*TIMES[::2], "-0044-03-15 12:00:00", "294247-01-10 04:00:54"]
    return [
        _typed("boolean", "boolean", _TRUTHS, ["true", "false"]),
        *(_typed(of, of, _NUMBERS, wholes(bits)) for of, bits in edges.items()),
        _typed("float", "float", _NUMBERS, _singles(REALS)),
        _typed("double", "double", _NUMBERS, reals),
        _typed("decimal(9,2)", "decimal(9,2)", _NUMBERS, decimals(9, 2)),
        _typed("decimal(38,0)", "decimal(38,0)", _NUMBERS, decimals(38, 0)),
        _typed("decimal(38,38)", "decimal(38,38)", ("0",), decimals(38, 38)),
        _typed("string", "string", _WORDS, [*TEXTS, Sql("char(0)"), Sql("cast(x'ff41' as string)"), *_LONG_TEXTS]),
        _typed("string beyond ASCII", "string", BEYOND_ASCII, [*map(_in_spark, NOT_UTF8), "Paris"]),
        _typed("varchar(8)", "varchar(8)", _WORDS, [text for text in TEXTS if len(text) <= 8]),
        _typed("char(8)", "char(8)", _WORDS, [text for text in TEXTS if len(text) <= 8]),
        _typed("date", "date", _DATES, days),
        _typed("timestamp", "timestamp", _DATES, times),
        _typed("timestamp_ntz", "timestamp_ntz", _DATES, times),
        _typed(
            "binary",
            "binary",
            ("a",),
            [Sql("x'ff'"), *(Sql(f"cast(repeat('x', {half}) as binary)") for half in _HALVES)],
        ),
        _typed("interval day", "interval day", (Sql("interval '1' day"),), []),
        _typed("array<int>", "array<int>", (Sql("array(1)"),), [Sql("array(cast(null as int))")]),
        _typed("map<string,int>", "map<string,int>", (Sql("map('a', 1)"),), []),
        _typed("struct<a:int>", "struct<a:int>", (Sql("named_struct('a', 1)"),), []),
    ]
