"""Columns made from memory are those that pyarrow makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dither.tables.plain_columns import column_of, column_of_wholes


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


@pytest.mark.parametrize("values", [np.arange(5), np.arange(10)[::2], np.array([], dtype=np.int64)])
def test_whole_numbers_become_the_same_column(values: np.ndarray) -> None:
    assert column_of_wholes(values).equals(pa.array(values))
