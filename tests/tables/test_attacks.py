"""Attacks on the bounded table that one engine suffices to try (tests/tables/test_every_engine.py tries the others)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ibis
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.errors import EngineError, ParameterError
from dither.tables import (
    BoundedTable,
    Centred,
    Column,
    Expression,
    FloatBins,
    Lattice,
    People,
    RowCount,
    Squares,
    Sum,
    Values,
    col,
    if_else,
    open_source,
    with_values,
)
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.expression import ARITHMETIC, COMPARISONS, DATES, LOGIC, OTHERS, TEXTS, TIMES
from dither.unit import Person, Rows
from tests.tables.asking import asked, opened, summed

_UNIT = Lattice(Fraction(1), 0, 1)


def test_a16_no_randomness_of_the_engine() -> None:
    engine = DuckDB()
    rows = engine.upload(pa.table({"who": [1, 1, 2], "k": ["a", "b", "a"], "x": [1.0, 2.0, 3.0]}))
    bounded = BoundedTable(engine, rows, Person("who", 1, 1), {"k": Column("k")})
    questions = [
        bounded.totals({"n": RowCount(), "s": Sum(Column("x"), _UNIT)}, 7),
        bounded.bins(Column("x"), FloatBins(0.0, 1.0, -4, 2), 7),
        bounded.distinct(Column("x"), 7),
    ]
    for question in questions:
        query = engine._compiled(question._expression).lower()
        assert not [word for word in ("random", "setseed", "uuid", "sample", "now(") if word in query]


def test_c33_the_clamp_comes_after_the_expression() -> None:
    loud = if_else(col("x") == 13, 10**9, 0)
    assert summed(DuckDB(), pa.array([13.0, 1.0]), (0, 1), of=loud) == 1


def test_c34_a_column_redefined_is_clamped_as_it_is_then() -> None:
    engine = DuckDB()
    rows = with_values(engine.upload(pa.table({"x": [1.0, 0.5]})), {"x": col("x") * 10**9})
    rows = with_values(rows, {"x": col("x") * 10**9})
    (row,) = opened(BoundedTable(engine, rows, Rows(), {}).totals({"s": Sum(Column("x"), _UNIT)}, 7))
    assert row["s"] == 2


def test_c35_replacing_a_row_moves_two_groups() -> None:
    """And a person's rows are never replaced: the unit `Person` is added or removed as a whole."""
    assert Rows("replace").moved_groups == 2 * Rows().moved_groups
    assert Person("who", max_groups=3).adjacency.change != Rows("replace").adjacency.change


@pytest.mark.parametrize("foreign", [ibis._["x"].rank(), ibis.row_number(), len, b"x", [1], None, float("nan"), 2**63])
def test_c36_c42_only_our_own_expressions_are_heard(foreign: Any) -> None:
    with pytest.raises(ParameterError):
        col("x") + foreign


def test_c36_c42_the_list_of_functions() -> None:
    """A new verb must be total, look at one row, and take time that does not depend on values: think before adding."""
    assert {*ARITHMETIC, *COMPARISONS, *DATES, *LOGIC, *OTHERS, *TEXTS, *TIMES} == {
        *("+", "-", "*", "/", "negative", "abs", "floor", "==", "!=", "<", "<=", ">", ">="),
        *("and", "or", "not", "is_null", "is_in", "year", "month", "day", "weekday", "if_else", "coalesce", "where"),
        *("round", "sqrt", "log", "exp", "hour", "minute", "date_trunc", "lower", "strip", "starts_with", "contains"),
        *("ends_with", "after", "left"),
    }
    assert {name for name in dir(Expression) if not name.startswith("_")} == {
        *("floor", "is_null", "is_in", "between", "coalesce", "where", "year", "month", "day", "weekday"),
        *("round", "sqrt", "log", "exp", "hour", "minute", "date_trunc", "lower", "strip", "starts_with", "contains"),
        *("ends_with", "after", "left"),
    }


def test_c37_a_column_declared_not_null_may_hold_null_after_all() -> None:
    schema = pa.schema([pa.field("s", pa.string(), nullable=False)])
    table = pa.table({"s": ["1", "one", "2"]}, schema=schema)
    measures = {"v": Values(Column("n")), "s": Sum(Column("n"), Lattice(Fraction(1), 0, 5)), "r": RowCount()}
    assert asked(DuckDB(), table, measures, new={"n": col("s") * 1}) == {(): (2, 3, 3)}


def _sealed(tmp_path: Any) -> DuckDB:
    (tmp_path / "rows.csv").write_text("who,x\n1,2\n")
    (tmp_path / "other.csv").write_text("secret\n1\n")
    engine = open_source(tmp_path / "rows.csv").engine
    assert isinstance(engine, DuckDB)
    return engine


@pytest.mark.parametrize(
    "attempt",
    [
        "SELECT * FROM read_text('{folder}/other.csv')",
        "SELECT * FROM '{folder}/other.csv'",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/new.db'",
        "INSTALL httpfs",
        "SET enable_external_access=true",
        "SET allowed_directories=['/']",
        "SELECT * FROM attempt_table",
    ],
)
def test_c43_c44_the_engine_is_sealed(attempt: str, tmp_path: Any) -> None:
    """Files, other databases, extensions and variables of Python are out of reach, even if SQL got in."""
    engine = _sealed(tmp_path)
    attempt_table = pa.table({"x": [1]})
    with pytest.raises(EngineError, match="DuckDB could not answer"):
        list(_run(engine, attempt.format(folder=tmp_path)))
    assert attempt_table.num_rows == 1
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "new.db").exists()


def _run(engine: DuckDB, query: str) -> Any:
    table = engine.upload(pa.table({"x": [1]}))
    engine._compiled = lambda expression: query  # type: ignore[method-assign]
    return engine.fetch(table)


def test_c45_names_that_an_engine_confuses() -> None:
    """DuckDB and Spark take `who` and `WHO` for one column: a new column must not stand in for that of the persons."""
    engine = DuckDB()
    rows = engine.upload(pa.table({"who": [1, 1], "x": [1, 2]}))
    with pytest.raises(ParameterError, match="upper and lower case"):
        with_values(rows, {"WHO": col("x")})
    with pytest.raises(ParameterError, match="upper and lower case"):
        with_values(rows, {"a": col("x"), "A": col("x")})
    with pytest.raises(ParameterError, match="starts with"):
        open_source(pa.table({"Dither person": [1]}), identity="rows")


def test_floating_point_numbers_are_no_persons_and_no_keys() -> None:
    engine = DuckDB()
    rows = engine.upload(pa.table({"who": [1.0, -0.0], "x": [1, 2]}))
    with pytest.raises(ParameterError, match="cannot tell persons apart"):
        BoundedTable(engine, rows, Person("who", 1, 1), {})
    with pytest.raises(ParameterError, match="public bins"):
        BoundedTable(engine, rows, Rows(), {"who": Column("who")})


@pytest.mark.parametrize("bounds", [(10**17, 10**17 + 1), (-(10**99), -(10**99) + 1)])
def test_bounds_that_doubles_cannot_tell_apart_are_refused(bounds: tuple[int, int]) -> None:
    with pytest.raises(ParameterError, match="must differ"):
        Lattice.within(bounds, from_zero=False)


@given(st.fractions(-(10**30), 10**30), st.fractions(Fraction(1, 10**9), 10**30), st.booleans())
def test_what_a_row_brings_has_32_bits(low: Fraction, width: Fraction, from_zero: bool) -> None:
    try:
        fine, coarse = (
            Lattice.within((low, low + width), bits, from_zero=from_zero and bits == 24) for bits in (24, 12)
        )
    except ParameterError:  # bounds that doubles cannot tell apart
        return
    assert fine.width <= 1 << 25
    assert Squares(Column("x"), coarse).lattice.width ** 2 < 1 << 31


def test_lattices_too_wide_for_sums_of_32_bits_are_refused() -> None:
    widest = Lattice(Fraction(1), -(1 << 24), 1 << 24)
    with pytest.raises(ParameterError, match="at most 33554432 steps"):
        Lattice(Fraction(1), -(1 << 24), 1 + (1 << 24))
    with pytest.raises(ParameterError, match="squares need a lattice"):
        Squares(Column("x"), Lattice(Fraction(1), 0, 1 + (1 << 12)))
    table = pa.table({"who": [1] * 302, "x": [*[1e9] * 300, None, float("nan")]})
    unit = Person("who", max_rows_per_group=1000)
    assert asked(DuckDB(), table, {"s": Sum(Column("x"), widest)}, unit=unit) == {(): 300 << 24}


def test_far_bounds_have_a_coarser_lattice() -> None:
    lattice = Lattice.within((10**12, 10**12 + 1), from_zero=False)
    assert max(abs(lattice.low), abs(lattice.high)) <= 1 << 52
    assert asked(DuckDB(), pa.table({"x": [1e12 + 1, 0.0]}), {"c": Centred(Column("x"), lattice)}) == {(): 0}


_PEOPLE = st.lists(
    st.tuples(
        st.integers(0, 4), st.sampled_from(["a", "b", "c", "d", None]), st.sampled_from([None, -9.0, 0.3, 2.0, 9.0])
    ),
    max_size=30,
)


@settings(max_examples=12)
@given(rows=_PEOPLE, max_groups=st.integers(1, 3), max_rows=st.integers(1, 3))
def test_c38_one_person_moves_few_groups_by_little(
    rows: list[tuple[int, str | None, float | None]], max_groups: int, max_rows: int
) -> None:
    """All neighbours of a table at once: in world 1 + p person p is missing, and nobody is in two worlds."""
    worlds = range(6)
    listed = [
        {"world": world, "who": 10 * world + who, "k": key, "x": value}
        for world in worlds
        for who, key, value in rows
        if who != world - 1
    ]
    schema = pa.schema({"world": pa.int64(), "who": pa.int64(), "k": pa.string(), "x": pa.float64()})
    x = Column("x")
    fine, coarse = Lattice.within((-1, 2), from_zero=True), Lattice.within((-1, 2), 12, from_zero=False)
    measures = {
        "p": People(),
        "n": RowCount(),
        "v": Values(x),
        "s": Sum(x, fine),
        "c": Centred(x, coarse),
        "q": Squares(x, coarse),
    }
    engine = DuckDB()
    # Whoever hashes the person hashes the world with it, so the hash must not see the world.
    native = engine.hash
    engine.hash = lambda values, salt: native([values[0] % 10, *values[2:]], salt)  # type: ignore[method-assign]
    unit = Person("who", max_groups, max_rows)
    found = asked(engine, pa.Table.from_pylist(listed, schema=schema), measures, unit=unit, by=["world", "k"])
    keys = {key for _, key in found}
    nothing = (0,) * len(measures)
    for world in worlds[1:]:
        moves = [
            [a - b for a, b in zip(found.get((0, key), nothing), found.get((world, key), nothing), strict=True)]
            for key in keys
        ]
        assert sum(any(move) for move in moves) <= max_groups
        for move in moves:
            assert all(abs(by) <= measure.most(max_rows) for by, measure in zip(move, measures.values(), strict=True))
