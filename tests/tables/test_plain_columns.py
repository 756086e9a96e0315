"""Columns made from memory are those that pyarrow makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dither.tables.plain_columns import batch_without_rows, column_of, column_of_numbers, numbers_of


@pytest.mark.parametrize(
    "values",
    [
        ["Paris", "Lyon"],
        ["", "Besançon", "a\0b", "\U0001f600", "x" * 1000],
        [""],
        [],
        ["Paris", None],
        [None],
        [1, 2, -(2**63)],
        [True, False],
        [0.5, float("inf")],
    ],
    ids=str,
)
def test_a_list_becomes_the_same_column(values: list[Any]) -> None:
    found = column_of(values)
    found.validate(full=True)
    assert found.type == pa.array(values).type
    assert found.equals(pa.array(values))


@pytest.mark.parametrize("values", [["\ud800"], ["a", 1], [2**63]], ids=["surrogate", "mixed", "large"])
def test_what_is_no_column_is_refused_alike(values: list[Any]) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011  # whichever it is
        pa.array(values)
    with pytest.raises(type(theirs.value)):
        column_of(values)


NUMBERS = [
    np.arange(5),
    np.arange(10)[::2],
    np.array([], dtype=np.int64),
    np.array([0.5, -np.inf, np.nan, 5e-324]),
    np.arange(20.0)[::-1],
    np.array([]),
]


@pytest.mark.parametrize("values", NUMBERS)
def test_numbers_become_the_same_column_and_come_back(values: np.ndarray) -> None:
    made = column_of_numbers(values)
    made.validate(full=True)
    assert made.to_pylist() == pytest.approx(pa.array(values).to_pylist(), nan_ok=True)
    assert made.type == pa.array(values).type
    for start in (0, 1, 3):
        np.testing.assert_array_equal(numbers_of(made.slice(start)), values[start:])
        np.testing.assert_array_equal(
            numbers_of(pa.chunked_array([made, made.slice(start)])), [*values, *values[start:]]
        )


@pytest.mark.parametrize("values", [*NUMBERS, np.full(17, np.nan), np.where(np.arange(30) % 7, 1.5, np.nan)])
def test_nan_becomes_null_where_it_is_asked_for(values: np.ndarray) -> None:
    made = column_of_numbers(values, nan_is_null=True)
    made.validate(full=True)
    assert made.equals(pa.array(values, from_pandas=True))
    assert made.null_count == np.isnan(values).sum()


@pytest.mark.parametrize("column", [pa.array([1, None]), pa.array([0.5, None])])
def test_a_column_with_null_is_no_array_of_numbers(column: pa.Array) -> None:
    with pytest.raises(pa.ArrowInvalid):
        numbers_of(column)


def test_a_batch_without_rows_has_all_columns() -> None:
    columns = {"n": pa.int64(), "t": pa.large_string(), "l": pa.list_(pa.float64(), 3), "d": pa.decimal128(38, 0)}
    schema = pa.schema([*columns.items(), pa.field("k", pa.int64(), nullable=False)])
    assert batch_without_rows(schema).equals(pa.RecordBatch.from_pylist([], schema=schema))
