"""Random tables and random questions, and both ways to answer them: an engine, and the reference in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from dither.tables import (
    SQUARE_BITS,
    BoundedTable,
    Centred,
    Column,
    FloatBins,
    Lattice,
    Measure,
    People,
    RowCount,
    Squares,
    Sum,
    Values,
    col,
    if_else,
    with_values,
)
from dither.tables.database_engines import Engine
from dither.tables.expression import literal
from dither.unit import Person, Rows
from tests.oracle.tables import BoundedRows, Steps, evaluate

__all__ = ["SCHEMA", "Question", "answers", "expected", "expression", "questions"]

SCHEMA = pa.schema(
    {
        "who": pa.int64(),
        "i": pa.int64(),
        "x": pa.float64(),
        "f": pa.float32(),
        "m": pa.decimal128(10, 2),
        "s": pa.string(),
        "b": pa.bool_(),
        "d": pa.date32(),
    }
)
_NAN, _INF = float("nan"), float("inf")
_REALS = [0.0, -0.0, 1.0, -1.5, 0.1, 199.99, 1e-120, -1e-310, 3e200, 1.7976931348623157e308, _INF, -_INF, _NAN]
_WHOLES = [0, 1, -1, 7, 2**31, -(2**53) - 1, 2**63 - 1, -(2**63) + 1]
_TEXTS = [
    "",
    "a",
    "A",
    "ä",
    "a ",
    "12",
    "-0.5",
    "1e3",
    "1e999",
    "nan",
    "٣",
    "2024-02-29",
    "2023-02-29",
    "'; DROP",
    "\\",
]
_DAYS = [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]

_COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "who": st.integers(1, 4),
    "i": st.sampled_from(_WHOLES) | st.integers(-3, 3),
    "x": st.sampled_from(_REALS) | st.floats(-300, 300),
    "f": st.sampled_from([0.0, -0.0, 0.10000000149011612, 3.4028234663852886e38, _INF, _NAN]),
    "m": st.integers(-99_999, 99_999).map(lambda cents: Decimal(cents) / 100),
    "s": st.sampled_from(_TEXTS),
    "b": st.booleans(),
    "d": st.sampled_from(_DAYS),
}
_KINDS = {"number": ["i", "x", "f", "m", "b", "s"], "truth": ["b"], "text": ["s"], "date": ["d", "s"]}


@dataclass(frozen=True)
class Question:
    """A table and what is asked of it; expressions as nested tuples."""

    rows: tuple[dict[str, Any], ...]
    where: Any
    new: Any
    """An expression for a column `new`, which is measured."""
    keys: tuple[str, ...]
    person: bool
    max_groups: int
    max_rows: int
    public: tuple[tuple[Any, ...], ...] | None
    bounds: tuple[Any, Any]
    salt: int = 12345


def _row() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.none() | values for name, values in _COLUMNS.items()})


@st.composite
def _numbers(draw: st.DrawFn, depth: int) -> Any:
    if depth == 0 or draw(st.booleans()):
        if draw(st.integers(0, 4)) == 0:
            return ("value", draw(st.sampled_from([0, 2, -3, 0.5, 1e100, 2**62])))
        return ("column", draw(st.sampled_from(_KINDS["number"])))
    verb = draw(st.sampled_from(["+", "-", "*", "/", "negative", "abs", "floor", "if_else", "year", "weekday"]))
    if verb in ("year", "weekday"):
        return (verb, ("column", draw(st.sampled_from(_KINDS["date"]))))
    if verb == "if_else":
        # Both ways through arithmetic, so that they are doubles in any case.
        ways = (("+", draw(_numbers(depth - 1)), ("value", 1)), ("abs", draw(_numbers(depth - 1))))
        return (verb, draw(_conditions(depth - 1)), *ways)
    count = 1 if verb in ("negative", "abs", "floor") else 2
    return (verb, *(draw(_numbers(depth - 1)) for _ in range(count)))


@st.composite
def _conditions(draw: st.DrawFn, depth: int) -> Any:
    verb = draw(st.sampled_from(["compare", "text", "date", "is_null", "is_in", "and", "or", "not", "column"]))
    if verb == "column" or (depth == 0 and verb in ("and", "or", "not")):
        return ("column", "b")
    if verb == "compare":
        order = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
        # A text beside a text is compared as a text, and the order of texts is not offered; nor is that of truths.
        left = draw(_numbers(depth).map(lambda words: ("abs", words) if words == ("column", "b") else words))
        return (order, left, ("+", draw(_numbers(0)), ("value", 0)))
    if verb == "text":
        return (draw(st.sampled_from(["==", "!="])), ("column", "s"), ("value", draw(st.sampled_from(_TEXTS))))
    if verb == "date":
        order = draw(st.sampled_from(["<", ">=", "=="]))
        return (order, ("column", draw(st.sampled_from(_KINDS["date"]))), ("value", draw(st.sampled_from(_DAYS))))
    if verb == "is_null":
        return (verb, ("column", draw(st.sampled_from(list(_COLUMNS)))))
    if verb == "is_in":
        return (verb, ("column", "i"), ("value", 0), ("value", draw(st.sampled_from(_WHOLES))))
    return (verb, *(draw(_conditions(depth - 1)) for _ in range(1 if verb == "not" else 2)))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Tables of up to 24 rows."""
    rows = tuple(draw(st.lists(_row(), max_size=24)))
    keys: tuple[str, ...] = tuple(draw(st.lists(st.sampled_from(["i", "s", "b", "d"]), max_size=2, unique=True)))
    public: Any = None
    if draw(st.booleans()) and keys:
        values: Any = st.tuples(*(st.none() | _COLUMNS[name] for name in keys))
        public = tuple(draw(st.lists(values, min_size=1, max_size=5, unique=True)))
    return Question(
        rows,
        where=draw(_conditions(2)),
        new=draw(_numbers(2)),
        keys=keys,
        person=draw(st.booleans()),
        max_groups=draw(st.integers(1, 3)),
        max_rows=draw(st.integers(1, 3)),
        public=public,
        bounds=draw(st.sampled_from([(0, 200), (-1, 1), ("0.1", "0.3"), (-5000, 9000), (10**6, 10**6 + 1), (-3, -1)])),
    )


def expression(words: Any) -> Any:
    """Nested tuples said through the public operators."""
    verb, *parts = words
    if verb == "column":
        return col(parts[0])
    if verb == "value":
        return literal(parts[0])
    if verb in ("date_trunc", "starts_with", "contains", "ends_with", "after", "left"):
        return getattr(expression(parts[0]), verb)(parts[1][1])
    if verb == "is_in":
        return expression(parts[0]).is_in([part[1] for part in parts[1:]])
    said: list[Any] = [expression(part) for part in parts]
    if verb == "if_else":
        return if_else(*said)
    return _SAID[verb](*said)


_SAID: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: ~a,
    "negative": lambda a: -a,
    "abs": abs,
    "floor": lambda a: a.floor(),
    "is_null": lambda a: a.is_null(),
    "year": lambda a: a.year(),
    "month": lambda a: a.month(),
    "day": lambda a: a.day(),
    "weekday": lambda a: a.weekday(),
    "round": lambda a: a.round(),
    "sqrt": lambda a: a.sqrt(),
    "log": lambda a: a.log(),
    "exp": lambda a: a.exp(),
    "hour": lambda a: a.hour(),
    "minute": lambda a: a.minute(),
    "lower": lambda a: a.lower(),
    "strip": lambda a: a.strip(),
    "coalesce": lambda a, b: a.coalesce(b),
    "where": lambda a, b: a.where(b),
}


def _measures(question: Question) -> dict[str, tuple[str, Measure]]:
    new = Column("new")
    from_zero = Lattice.within(question.bounds, from_zero=True)
    own = Lattice.within(question.bounds, from_zero=False)
    coarse = Lattice.within(question.bounds, SQUARE_BITS, from_zero=False)
    return {
        "m0": ("people", People()),
        "m1": ("rows", RowCount()),
        "m2": ("values", Values(new)),
        "m3": ("sum", Sum(new, from_zero)),
        "m4": ("centred", Centred(new, own)),
        "m5": ("squares", Squares(new, coarse)),
    }


def answers(question: Question, engine: Engine) -> dict[str, dict[Any, Any]]:
    """Totals, bins, distinct values and a tally of each group, by the engine."""
    table = engine.upload(pa.Table.from_pylist(list(question.rows), schema=SCHEMA))
    table = with_values(table, {"dither where": expression(question.where)})
    table = table.filter(table["dither where"].fill_null(False)).drop("dither where")
    table = with_values(table, {"new": expression(question.new)})
    public = None
    if question.public is not None:
        fields = [SCHEMA.field(name) for name in question.keys]
        rows = [dict(zip(question.keys, key, strict=True)) for key in question.public]
        public = engine.upload(pa.Table.from_pylist(rows, schema=pa.schema(fields)))
    unit = Person("who", question.max_groups, question.max_rows) if question.person else Rows()
    bounded = BoundedTable(engine, table, unit, {name: Column(name) for name in question.keys}, public)
    measures = {name: measure for name, (_, measure) in _measures(question).items()}
    own = _ends(question)
    keys, salt = question.keys, question.salt
    rows_first, groups_first = (
        {
            "totals": _rows(each.totals(measures, salt), keys, list(measures)),
            "bins": _rows(
                each.bins(Column("new"), FloatBins(*own, -3, 2), salt), (*keys, "dither_bin"), ["dither_rows"]
            ),
            "distinct": _rows(each.distinct(Column("i"), salt), keys, ["dither_distinct"]),
            "tally": _rows(
                each.tally(Column("s"), pa.array(["any text"]), salt), (*keys, "dither_value"), ["dither_rows"]
            ),
        }
        for each in (bounded, replace(bounded, has_many_groups=True))
    )
    assert rows_first == groups_first
    return rows_first


def _rows(exact: Any, keys: tuple[str, ...], names: list[str]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for batch in exact._open():
        for row in batch.to_pylist():
            key = tuple(row[name] for name in keys)
            assert key not in found
            found[key] = {name: int(row[name] or 0) for name in names} if len(names) > 1 else int(row[names[0]])
    return found


def expected(question: Question) -> dict[str, dict[Any, Any]]:
    """The same by the reference."""
    rows = [dict(row) for row in question.rows if evaluate(question.where, row) is True]
    for row in rows:
        row["new"] = evaluate(question.new, row)
    public = None if question.public is None else frozenset(question.public)
    person = "who" if question.person else None
    bounds = (question.max_groups, question.max_rows, question.salt, public)
    bounded = BoundedRows(rows, person, question.keys, *bounds)
    measures = {
        name: (kind, None if measure.of is None else ("column", "new"), _steps(measure))
        for name, (kind, measure) in _measures(question).items()
    }
    own = _ends(question)
    return {
        "totals": bounded.totals(measures),
        "bins": bounded.bins(("column", "new"), own, -3, 2),
        "distinct": bounded.distinct(("column", "i")),
        "tally": bounded.tally(("column", "s")),
    }


def _ends(question: Question) -> tuple[float, float]:
    low, high = question.bounds
    return float(Fraction(low)), float(Fraction(high))


def _steps(measure: Measure) -> Steps | None:
    lattice = getattr(measure, "lattice", None)
    return None if lattice is None else Steps(lattice.step, lattice.low, lattice.high)
