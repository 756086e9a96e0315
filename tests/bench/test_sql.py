"""TPC-H: which of the 22 queries compile, by tables without rows; and the judgement of the topic can fail."""

import json
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from bench import environment, sql, sql_texts, tpch
from bench.child import Failed
from dither.errors import ParameterError

TYPES = {"INTEGER": pa.int64(), "FLOAT": pa.float64(), "TEXT": pa.string(), "DATE": pa.date32()}
ANSWERED = {1, 4, 5, 6, 7, 8, 9, 12, 13, 14, 19, 22}
WHY = {
    **dict.fromkeys((2, 11, 16, 20), "public tables alone"),
    **dict.fromkeys((3, 10), "one person each"),
    **dict.fromkeys((15, 18), "ask for them at the end"),
    17: "Ask for it first",
    21: "equalities of columns",
}


def _empty(name: str) -> pa.Table:
    columns = (each.split() for each in tpch.SCHEMA[name].split(", "))
    return pa.table({column: pa.array([], TYPES[kind]) for column, kind in columns})


@pytest.fixture(scope="module")
def data() -> dp.Dataset:
    return dp.Dataset(
        tables={name: _empty(name) for name in tpch.PRIVATE},
        public={name: _empty(name) for name in tpch.PUBLIC},
        unit=dp.Person("c_custkey", max_groups=tpch.MAX_GROUPS, max_rows_per_group=tpch.MAX_ROWS_PER_GROUP),
        budget=dp.ApproxDP(1, "1e-3"),
        ledger=":memory:",
        identity="tpch",
        foreign_keys=tpch.FOREIGN_KEYS,
        columns=tpch.COLUMNS,
    )


@pytest.mark.parametrize("number", range(1, 23))
def test_a_query_is_answered_or_refused_with_its_reason(number: int, data: dp.Dataset) -> None:
    if number in ANSWERED:
        assert data.sql(tpch.as_asked(number)).words
    else:
        with pytest.raises(ParameterError, match=WHY[number]):
            data.sql(tpch.as_asked(number))


def test_days_as_texts() -> None:
    text = tpch.with_days_as_texts(
        "x < DATE '1998-12-01' - INTERVAL '90' DAY AND y >= DATE '1994-11-01' + INTERVAL '3' MONTH"
    )
    assert text == "x < '1998-09-02' AND y >= '1995-02-01'"


def _rows(monkeypatch: pytest.MonkeyPatch, slower: float, answered: int, above: int = 0) -> dict[str, Any]:
    found = {str(n): {"ours": slower, "plain": 1.0, "change": ""} if n <= answered else {"refused": "no"}
             for n in range(1, 23)}  # fmt: skip

    def line(python: Any, module: str, arguments: Any) -> str:
        if module == "bench.ours_sql":
            return json.dumps(found)
        if module == "bench.sql_texts":
            return json.dumps({"texts": 100, "above": above, "one_in_a_hundred": 0.06 if above else 0.03})
        raise Failed("not there")

    monkeypatch.setattr(sql, "last_line", line)
    monkeypatch.setattr(environment.Environment, "interpreter", lambda self: None)
    return {row.case: row for row in sql.rows()}


@pytest.mark.parametrize(("slower", "answered", "missed"), [(2.9, 12, 0), (3.1, 12, 1), (2.9, 11, 1), (9.0, 1, 2)])
def test_the_judgement_can_fail(monkeypatch: pytest.MonkeyPatch, slower: float, answered: int, missed: int) -> None:
    rows = _rows(monkeypatch, slower, answered)
    assert sum(row.verdict == "MISSED" for row in rows.values()) == missed
    assert sum("is missing: not there" in case for case in rows) == 2


def test_texts_that_take_too_long_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(row.verdict == "MISSED" for row in _rows(monkeypatch, 2.9, 12, above=2).values()) == 2


def test_texts_of_the_grammar_are_timed() -> None:
    found = sql_texts.main(count=5)
    assert found["texts"] == 5
    assert 0 < found["one_in_a_hundred"] <= found["slowest"]
