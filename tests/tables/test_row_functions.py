"""Functions of a row's values: what they give on every engine is what Python gives, and NULL where it has nothing."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dither.errors import ParameterError
from dither.tables import Expression, col, if_else, with_values
from dither.tables.database_engines import Engine
from dither.tables.database_engines.duckdb import DuckDB

_TIMES = [
    *(datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1)),
    *(datetime.min, datetime.max, datetime(2024, 12, 30, 0, 7), datetime(1900, 3, 1, 12, 30, 1), None),
]
_TEXTS = [
    "Paris",
    " \t\n\r\v\fCARD \v",
    "",
    " ",
    "vfÉCOLE%_\\",
    "İSTANBUL ß",
    "a\u00a0",
    "\u2003x\u2003",
    "x\ny",
    "😀Z",
    None,
]
_NUMBERS = [
    *(0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 1e-90, 1e100, -1e100, 2.0**53 + 2, 4503599627370497.5),
    *(1.0, 2.0, 10.0, -1.0, 231.5, -400.0, 1e300, float("nan"), float("inf"), -float("inf"), 5e-324, None),
]


def given(engine: Engine, table: pa.Table, **expressions: Expression) -> dict[str, list[Any]]:
    """The values of expressions, row by row."""
    rows = with_values(engine.upload(table.append_column("n", pa.array(range(table.num_rows)))), expressions)
    found = [row for batch in engine.fetch(rows.select("n", *expressions)) for row in batch.to_pylist()]
    found.sort(key=lambda row: row["n"])
    return {name: [row[name] for row in found] for name in expressions}


def _each(function: Any, values: list[Any]) -> list[Any]:
    return [None if value is None else function(value) for value in values]


def test_times_stay_times(engine: Engine) -> None:
    t = col("t")
    found = given(
        engine, pa.table({"t": pa.array(_TIMES, pa.timestamp("us"))}),
        hour=t.hour(), minute=t.minute(), weekday=t.weekday(), year=t.year(), month=t.month(), day=t.day(),
        **{unit: t.date_trunc(unit) for unit in ("week", "quarter")},
        to_month=t.date_trunc("month"), to_day=t.date_trunc("day"), to_year=t.date_trunc("year"),
        to_hour=t.date_trunc("hour"), to_minute=t.date_trunc("minute"),
    )  # fmt: skip
    assert found == {
        "hour": _each(lambda at: at.hour, _TIMES),
        "minute": _each(lambda at: at.minute, _TIMES),
        "weekday": _each(datetime.weekday, _TIMES),
        "year": _each(lambda at: at.year, _TIMES),
        "month": _each(lambda at: at.month, _TIMES),
        "day": _each(lambda at: at.day, _TIMES),
        "week": _each(lambda at: at.date() - timedelta(days=at.weekday()), _TIMES),
        "quarter": _each(lambda at: date(at.year, (at.month - 1) // 3 * 3 + 1, 1), _TIMES),
        "to_month": _each(lambda at: date(at.year, at.month, 1), _TIMES),
        "to_day": _each(datetime.date, _TIMES),
        "to_year": _each(lambda at: date(at.year, 1, 1), _TIMES),
        "to_hour": _each(lambda at: f"{at.date().isoformat()} {at.hour:02}:00", _TIMES),
        "to_minute": _each(lambda at: f"{at.date().isoformat()} {at.hour:02}:{at.minute:02}", _TIMES),
    }


def test_times_are_compared_as_times_and_with_days_by_their_day(engine: Engine) -> None:
    at, zone = datetime(2024, 2, 29, 12), timezone(timedelta(hours=2))
    times = [at - timedelta(microseconds=1), at, datetime(2024, 2, 29, 23), datetime(2024, 3, 1), None]
    t = col("t")
    found = given(
        engine, pa.table({"t": pa.array(times, pa.timestamp("us")), "u": pa.array(times[::-1], pa.timestamp("us"))}),
        time=t < at, zoned=t >= at.replace(hour=14, tzinfo=zone), said=t >= "2024-02-29 12:00", other=t < col("u"),
        day=t <= date(2024, 2, 29), said_day=t > "2024-02-29", chosen=if_else(t < at, t, at).hour(),
        kept=t.coalesce(at).where(t.is_null() | (t == at)).minute(),
    )  # fmt: skip
    assert found == {
        "time": [True, False, False, False, None],
        "zoned": [False, True, True, True, None],
        "said": [False, True, True, True, None],
        "other": [None, True, False, False, None],
        "day": [True, True, True, False, None],
        "said_day": [False, False, False, True, None],
        "chosen": [11, 12, 12, 12, 12],
        "kept": [None, 0, None, None, 0],
    }


def test_written_times(engine: Engine) -> None:
    """As the clock showed it: a zone behind is passed over, and what no clock shows is NULL."""
    known = {
        "2024-12-31 08:15": (8, 15),
        "2024-12-31T23:59:59": (23, 59),
        "2024-12-31 08:15:30.123456789Z": (8, 15),
        "2024-12-31T08:15:30.5+01:00": (8, 15),
        "0001-01-01 00:00:00": (0, 0),
        "9999-12-31 23:59:59.999999999 UTC": (23, 59),
        **dict.fromkeys(["2024-12-31", "2024-12-31 24:00", "2024-12-31 08:60", "2024-12-31 08:15:60", "08:15", ""]),
        **dict.fromkeys(["2024-02-30 08:15", "0000-01-01 08:15", "2024-12-31 08:15\n", "2024-12-31  08:15", "noon"]),
    }
    s = col("s")
    table = pa.table({"s": list(known)})
    found = given(engine, table, hour=s.hour(), minute=s.minute(), late=s >= datetime(2024, 12, 31, 8, 15, 30))
    assert list(zip(found["hour"], found["minute"], strict=True)) == [each or (None, None) for each in known.values()]
    assert found["late"] == [False, True, True, True, False, True, *[None] * 11]


def test_texts_are_the_same_letter_by_letter(engine: Engine) -> None:
    s = col("s")
    found = given(
        engine, pa.table({"s": _TEXTS}), lower=s.lower(), strip=s.strip(), both=s.strip().lower() == "card",
        **{f"{verb} {part!r}": getattr(s, verb)(part) for verb in ("starts_with", "contains", "ends_with")
           for part in _PARTS},
        **{f"after {part!r}": s.after(part) for part in _PARTS if part},
        **{f"left {length}": s.left(length) for length in (1, 3, 100, 1 << 14)},
    )  # fmt: skip
    ascii_lower = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
    assert found["lower"] == _each(lambda text: text.translate(ascii_lower), _TEXTS)
    assert found["strip"] == _each(lambda text: text.strip(" \t\n\r\v\f"), _TEXTS)
    assert found["both"] == _each(lambda text: "CARD" in text, _TEXTS)
    for part in _PARTS:
        assert found[f"starts_with {part!r}"] == _each(lambda text, part=part: text.startswith(part), _TEXTS)
        assert found[f"contains {part!r}"] == _each(lambda text, part=part: part in text, _TEXTS)
        assert found[f"ends_with {part!r}"] == _each(lambda text, part=part: text.endswith(part), _TEXTS)
        if part:
            rest = _each(lambda text, part=part: text.partition(part)[2] if part in text else None, _TEXTS)
            assert found[f"after {part!r}"] == rest
    for length in (1, 3, 100, 1 << 14):
        assert found[f"left {length}"] == _each(lambda text, length=length: text[:length], _TEXTS)


_PARTS = ("", "v", "%_\\", "P", "İ", " ", "\v", "\ny", "😀")


def test_numbers_are_total(engine: Engine) -> None:
    x = col("x")
    table = pa.table({"x": pa.array(_NUMBERS, pa.float64())})
    found = given(
        engine, table, log=x.log(), exp=x.exp(), sqrt=x.sqrt(), round=x.round(), cents=x.round(2), tens=x.round(-1)
    )
    tame = _each(_tame, _NUMBERS)
    assert found["sqrt"] == _each(lambda value: math.sqrt(value) if value >= 0 else None, tame)
    assert found["round"] == _each(_half_away, tame)
    assert found["cents"] == pytest.approx(
        _each(lambda value: _tame(_half_away(_tame(value * 100) or 0.0) / 100), tame), rel=1e-15
    )
    assert found["tens"] == pytest.approx(_each(lambda value: _half_away(value / 10) * 10, tame), rel=1e-15)
    assert found["log"] == pytest.approx(_each(lambda value: math.log(value) if value > 0 else None, tame), rel=4e-16)
    powers = _each(lambda value: _tame(math.exp(min(max(value, -300), 300))), tame)
    assert found["exp"] == pytest.approx(powers, rel=4e-16)


def _tame(value: float) -> float | None:
    if math.isnan(value):
        return None
    return 0.0 if abs(value) < 1e-100 else math.copysign(min(abs(value), 1e100), value)


def _any(name: str) -> Any:
    return col(name)


def _half_away(value: float) -> float:
    whole = abs(value) // 1
    return math.copysign(whole + (abs(value) - whole >= 0.5), value) + 0.0


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        (lambda: col("d").hour(), "a time is needed in this place, and the expression gives a date"),
        (lambda: col("x").minute(), "a time is needed in this place, and the expression gives a real"),
        (lambda: col("t").lower(), "a text is needed in this place, and the expression gives a time"),
        (lambda: col("t") + 1, "a number is needed in this place, and the expression gives a time"),
        (lambda: col("t") < "soon", "'soon' is none. Write it as datetime.datetime"),
        (lambda: col("x") == datetime(2024, 1, 1), "a real does not go together with a time here"),
        (lambda: col("t").date_trunc("second"), "date_trunc cuts off to minute, hour, day, week"),
        (lambda: col("t").date_trunc("century"), "got 'century'"),
        (lambda: _any("s").contains(3), "contains takes a public text, got the type int"),
        (lambda: _any("s").starts_with(col("s")), "starts_with takes a public text"),
        (lambda: col("x").round(16), "from -15 to 15 digits, got digits=16"),
        (lambda: col("x").round(True), "got digits=True"),
        (lambda: col("t") < pd.NaT, "a time in an expression must not be missing"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(expression: Any, said: str) -> None:
    types = {"d": pa.date32(), "x": pa.float64(), "t": pa.timestamp("us"), "s": pa.string()}
    with pytest.raises(ParameterError, match=said.replace("(", r"\(")):
        with_values(DuckDB().upload(pa.schema(types).empty_table()), {"new": expression()})


def test_times_with_a_zone_become_those_of_utc(engine: Engine) -> None:
    times = pa.array([datetime(2024, 3, 31, 1, 30, tzinfo=UTC), None], pa.timestamp("us", "Europe/Berlin"))
    assert given(engine, pa.table({"t": times}), hour=col("t").hour())["hour"] == [1, None]
