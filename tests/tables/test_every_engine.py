"""Attacks that must fail on every engine alike. Few and dense, as each question costs a second on Spark."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import cycle
from math import floor
from typing import Any

import pyarrow as pa
import pytest

from dither.errors import EngineError
from dither.tables import BoundedTable, Column, Lattice, People, RowCount, Sum, Values, col, if_else, with_values
from dither.tables.database_engines import Engine
from dither.tables.database_engines.engine import BATCH_ROWS
from dither.tables.expression import LONGEST_TEXT
from dither.tables.text_parsing import written_day, written_number
from dither.unit import Person, Rows
from tests.tables.asking import asked, opened, summed

_NAN, _INF, _HUGE = float("nan"), float("inf"), 1.7976931348623157e308


def test_a06_sum_order(engine: Engine) -> None:
    """1e16 + 1 − 1e16 is 1 in one order of doubles and 0 in another; whole steps have no order."""
    lattice = Lattice.within((-(2**23), 2**23), from_zero=True)
    orders = [[1e16, 1.0, -1e16], [1.0, 1e16, -1e16], [1e16, -1e16, 1.0]]
    table = pa.table(
        {
            "k": [index for index, order in enumerate(orders) for _ in order],
            "x": [value for order in orders for value in order],
        }
    )
    assert lattice.step == 1
    assert asked(engine, table, {"s": Sum(Column("x"), lattice)}, by=["k"]) == {0: 1, 1: 1, 2: 1}


def test_a08_totals_pass_2_to_the_63(engine: Engine) -> None:
    table = engine.upload(pa.table({"x": [2**62] * 9}))
    (row,) = opened_table(engine, table.aggregate(s=engine.total(table["x"])))
    assert row == {"s": Decimal(9 * 2**62)}


def opened_table(engine: Engine, expression: Any) -> list[dict[str, Any]]:
    return [row for batch in engine.fetch(expression) for row in batch.to_pylist()]


def test_a10_a11_infinities_nan_and_null_through_a_clamp(engine: Engine) -> None:
    values: dict[str, tuple[list[float | None], tuple[int, int]]] = {
        "huge": ([_HUGE, -_HUGE, 1.0], (3, 2)),  # 3 values: 2 − 1 + 1
        "inf": ([_INF, -_INF], (2, 1)),
        "nan": ([_NAN, None], (0, 0)),
        "zero": ([-0.0, 0.0], (2, 0)),
    }
    table = pa.table(
        {
            "k": [key for key, (listed, _) in values.items() for _ in listed],
            "x": pa.array([value for listed, _ in values.values() for value in listed], pa.float64()),
        }
    )
    lattice = Lattice(Fraction(1), -1, 2)
    found = asked(engine, table, {"v": Values(Column("x")), "s": Sum(Column("x"), lattice)}, by=["k"])
    assert found == {key: expected for key, (_, expected) in values.items()}


def test_c32_keys_are_told_apart_alike(engine: Engine) -> None:
    texts = [None, "", " ", "a", "A", "a ", "ä", "a\u0308", "NULL", "ß", "ss"]
    days = [None, date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
    rows: list[tuple[Any, ...]] = [(text, None, None, None) for text in texts for _ in range(2)]
    rows += [("key", whole, None, None) for whole in (-(2**63), 0, 2**63 - 1)]
    rows += [("key", None, truth, None) for truth in (True, False)]
    rows += [("key", None, None, day) for day in days]
    schema = pa.schema({"s": pa.string(), "i": pa.int64(), "b": pa.bool_(), "d": pa.date32()})
    table = pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)
    every = {row: rows.count(row) for row in rows}
    assert asked(engine, table, {"n": RowCount()}, by=schema.names) == every
    public = pa.Table.from_pylist(
        [
            dict(zip(schema.names, row, strict=True))
            for row in [*rows[2:6:2], rows[0], rows[-1], ("nobody", 1, None, None)]
        ],
        schema=schema,
    )
    few = {row: every[row] for row in (rows[0], rows[2], rows[4], rows[-1])}
    assert asked(engine, table, {"n": RowCount()}, by=schema.names, public=public) == few


def test_c38_one_person_with_many_rows(engine: Engine) -> None:
    table = pa.table({"who": [1] * 500 + [2], "k": [index % 50 for index in range(500)] + [0], "x": [9.0] * 501})
    lattice = Lattice(Fraction(1), 0, 9)
    measures = {"p": People(), "n": RowCount(), "s": Sum(Column("x"), lattice)}
    unit = Person("who", max_groups=3, max_rows_per_group=2)
    with_everyone = asked(engine, table, measures, by=["k"], unit=unit)
    without = asked(engine, table.slice(500), measures, by=["k"], unit=unit)
    assert without == {0: (1, 1, 9)}
    moved = {key: values for key, values in with_everyone.items() if values != without.get(key)}
    assert len(moved) == 3
    assert set(moved.values()) <= {(1, 2, 18), (2, 3, 27)}  # two of ten rows; beside the other person's
    assert asked(engine, table, measures, by=["k"], unit=unit) == with_everyone  # the same salt
    others = [asked(engine, table, measures, by=["k"], unit=unit, salt=salt) for salt in (8, 9)]
    assert any(set(other) != set(with_everyone) for other in others)  # 1 in 10^8 for a good hash


def test_c39_c40_c41_expressions_are_total(engine: Engine) -> None:
    """Division by zero, overflow, underflow, garbled numbers and days: NULL or a bound, and never an error."""
    table = pa.table(
        {
            "x": pa.array([0.0, _HUGE, 1e-300, _NAN, None, -_INF], pa.float64()),
            "i": pa.array([0, 2**63 - 1, -(2**63), 1, None, 2], pa.int64()),
            "s": ["12.5", "1e999", "9" * 400, "2024-02-30", "2024-02-29T25:61:61", None],
        }
    )
    x, i, s = col("x"), col("i"), col("s")
    new = {
        "divided": 1 / x,
        "choice": if_else(x == 0, 1, 1 / x),
        "square": x * x,
        "floor": (x * x).floor() + i.floor(),
        "whole": i * i + i - abs(i),
        "number": s + 0,
        "year": s.year(),
        "late": if_else(s >= date(2024, 2, 29), 1, 0),
    }
    one = Lattice(Fraction(1), 0, 1)
    measures = {f"v {name}": Values(Column(name)) for name in new} | {"s late": Sum(Column("late"), one)}
    counts = asked(engine, table, measures, new=new)[()]
    assert dict(zip(measures, counts, strict=True)) == {
        "v divided": 2,  # not 0, nor what is below 1e-100
        "v choice": 4,  # 1e-300 enters as 0
        "v square": 4,
        "v floor": 4,
        "v whole": 5,
        "v number": 1,
        "v year": 1,
        "v late": 6,
        "s late": 1,
    }


def test_written_days_are_those_of_the_calendar(engine: Engine) -> None:
    """Each day of some years, and what is none: as Python reads them, with a time behind or not."""
    years = ("0000", "0001", "0004", "0100", "0400", "1582", "1900", "1904", "2000", "2023", "2024", "9999")
    texts = [
        f"{year}-{month:02}-{day:02}{behind}"
        for year in years
        for month in range(14)
        for day, behind in zip(range(33), cycle(["", " 25:61", "T", "Z", ""]))
    ]
    texts += ["", " 2024-01-01", "2024-1-1", "24-01-01", "2024-01-01\n", "２０２４-01-01", "12024-01-01", "2024-01-010"]
    texts += ["2024-01-01\r", "2024-01-01\u2028", "2024-01-01T\n12:30\n", "2024-01-01!"]
    table = engine.upload(pa.table({"n": range(len(texts)), "text": texts}))
    days = table.select("n", day=written_day(table["text"]))
    assert {row["n"]: row["day"] for row in opened_table(engine, days)} == dict(enumerate(map(read_day, texts)))


def test_written_numbers_are_whole_texts(engine: Engine) -> None:
    texts = [
        "12",
        " 12 ",
        "12\n",
        "12\r",
        "12\r\n",
        "\n12",
        "12\u2028",
        "12!",
        "12\n!",
        "1e99",
        "1e100",
        "１２",
        ".",
        "-.5",
        "+5.",
    ]
    table = engine.upload(pa.table({"n": range(len(texts)), "text": texts}))
    numbers = table.select("n", number=written_number(table["text"]))
    known = {"12": 12.0, " 12 ": 12.0, "1e99": 1e99, "-.5": -0.5, "+5.": 5.0}
    assert {row["n"]: row["number"] for row in opened_table(engine, numbers)} == dict(enumerate(map(known.get, texts)))


def read_day(text: str) -> date | None:
    if text[10:] and text[10] not in " T":
        return None
    try:
        return date.fromisoformat(text[:10]) if len(text[:10].encode()) == 10 else None
    except ValueError:
        return None


def test_a_part_that_is_used_twice(engine: Engine) -> None:
    """Each part keeps its own column, however often and at whatever depth it is used."""
    twice, other = col("x") + 1, col("x") * 10
    table = with_values(engine.upload(pa.table({"x": [1.0, 2.0]})), {"e": (twice + twice) + other})
    assert sorted((row["x"], row["e"]) for row in opened_table(engine, table)) == [(1.0, 14.0), (2.0, 26.0)]


def test_c45_names_are_identifiers(engine: Engine) -> None:
    wild = 'x") FROM t; DROP TABLE t; --'
    names = [wild, "a`b", "a.b", "it's", "select", "Größe", "two words", "%s", "{0}", "?"]
    table = pa.table({name: [index] for index, name in enumerate(names)})
    rows = engine.upload(table)
    rows = with_values(rows, {f"new {name}": col(name) + 1 for name in names})
    bounded = BoundedTable(engine, rows, Person(wild, 1, 1), {name: Column(name) for name in names})
    lattice = Lattice.within((0, 1 << 20), from_zero=True)
    (row,) = opened(bounded.totals({f"s {name}": Sum(Column(f"new {name}"), lattice) for name in names}, 7))
    assert [row[name] for name in names] == list(range(len(names)))
    assert [int(row[f"s {name}"]) for name in names] == list(range(1, len(names) + 1))


def test_c46_order_of_rows_and_size_of_parts(engine: Engine) -> None:
    rows = [{"who": index % 40, "k": index % 7, "x": float(index % 11)} for index in range(280)]
    lattice = Lattice.within((0, 1 << 20), from_zero=True)
    measures = {"p": People(), "n": RowCount(), "s": Sum(Column("x"), lattice)}
    unit = Person("who", max_groups=2, max_rows_per_group=2)
    forward, backward = (
        asked(engine, pa.Table.from_pylist(listed), measures, by=["k"], unit=unit) for listed in (rows, rows[::-1])
    )
    assert forward == backward
    assert sum(people for people, _, _ in forward.values()) == 2 * 40


def test_times_and_narrow_types(engine: Engine) -> None:
    """Times are days, whole numbers of any width have 64 bits when they leave, float32 is what it is (A9)."""
    table = pa.table(
        {
            "t": pa.array([datetime(2024, 3, 1, 23, 59), datetime(1969, 12, 31, 0, 0, 1)], pa.timestamp("us")),
            "small": pa.array([-5, 5], pa.int16()),
            "f": pa.array([0.1, 16777217.0], pa.float32()),
            "m": pa.array([Decimal("1.25"), None], pa.decimal128(12, 2)),
        }
    )
    fine = Lattice.within(("0", "0.2"), from_zero=True)
    found = asked(
        engine,
        table,
        {"f": Sum(Column("f"), fine), "m": Values(Column("m"))},
        by=["t", "small"],
        new={"f": if_else(col("f") == 16777216, 0, col("f"))},
    )
    assert found == {
        (date(2024, 3, 1), -5): (floor(0.10000000149011612 / float(fine.step) + 0.5), 1),
        (date(1969, 12, 31), 5): (0, 0),
    }


def test_no_rows_and_no_groups(engine: Engine) -> None:
    empty = pa.table({"who": pa.array([], pa.int64()), "k": pa.array([], pa.string()), "x": pa.array([], pa.float64())})
    unit = Person("who", 2, 2)
    assert asked(engine, empty, {"n": RowCount()}, unit=unit) == {(): 0}
    bounded = BoundedTable(engine, engine.upload(empty), unit, {"k": Column("k")})
    (batch,) = bounded.totals({"n": RowCount()}, 7)._open()
    assert batch.num_rows == 0
    assert batch.schema == pa.schema({"k": pa.large_string(), "n": pa.decimal128(38, 0)})


def test_c39_errors_of_the_engine_are_not_repeated(engine: Engine) -> None:
    table = engine.upload(pa.table({"x": ["a secret"]}))
    failing = table.mutate(x=table["x"].cast("int64"))  # not reachable by expressions of ours
    with pytest.raises(EngineError) as caught:
        list(engine.fetch(failing))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert opened_table(engine, table) == [{"x": "a secret"}]  # and the connection still works


def test_a07_many_small_values_on_a_large_total(engine: Engine) -> None:
    """Each row is rounded by itself, so the last of many small values moves the sum as much as the first."""
    big, small = [float(1 << 20)] * 30, [1.0] * 800
    assert summed(engine, pa.array(big + small), (0, 1 << 20)) == 30 * (1 << 20) + 800


def test_what_is_named_again_is_not_computed_again(engine: Engine) -> None:
    """PostgreSQL would write an operation out wherever it is named: five of them would take all memory there is."""
    x, table = col("x"), engine.upload(pa.table({"x": [1.0, 2.0]}))
    short, long = (with_values(table, {"v": value}) for value in (x * x + 1, ((x * x + 1) * x - x) * x + 1))
    if engine.name == "PostgreSQL":
        sizes = [len(str(engine.backend.con.execute(f"EXPLAIN VERBOSE {engine._compiled(each)}").fetchall()))
                 for each in (short, with_values(table, {"v": x * x + 1 - x}))]  # fmt: skip
        assert sizes[1] < 3 * sizes[0], "an expression that is one operation longer is planned three times as long"
        assert "OFFSET" not in engine._compiled(with_values(table, {"v": x > 1})), "which may run in parallel"
    assert opened_table(engine, long.aggregate(s=long["v"].sum())) == [{"s": (2.0 - 1) * 1 + 1 + (10.0 - 2) * 2 + 1}]


def test_e63_texts_have_a_longest_length_on_every_engine(engine: Engine) -> None:
    """Of 2^31 bytes in one batch the formats cannot count the places, and failed after the charge."""
    assert BATCH_ROWS * LONGEST_TEXT <= 1 << 30
    texts = ["x" * LONGEST_TEXT, "é" * (LONGEST_TEXT // 2), "x" * (LONGEST_TEXT + 1), "é" * LONGEST_TEXT, "x" * 2**20]
    rows = engine.upload(pa.table({"n": range(len(texts)), "text": texts}))
    found = [row for batch in engine.fetch(rows) for row in batch.to_pylist()]
    assert {row["n"]: row["text"] for row in found} == dict(enumerate([*texts[:2], None, None, None]))
    grouped = BoundedTable(engine, rows, Rows(), {"text": Column("text")}).totals({"n": RowCount()}, 7)
    batches = list(grouped._open())
    assert {batch.schema.field("text").type for batch in batches} == {
        pa.large_string()
    }  # any number can be put together
    persons = BoundedTable(engine, rows, Person("text", 1, 1), {})
    assert [int(row["n"]) for row in opened(persons.totals({"n": RowCount()}, 7))] == [
        2
    ]  # the others are nobody's rows
