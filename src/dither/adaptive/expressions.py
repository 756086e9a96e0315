"""Table expressions as queries: `dp.col("age") >= 65` on a frame or an Arrow table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.tables import Expression, arrow_table, columns_of, open_source, with_values

__all__ = ["as_function"]

_NAME = "dither query"


def as_function(data: Any, query: Any) -> Callable[[Any], NDArray[Any]]:
    """The expression as a query: its value on each row; NULL, which is neither 0 nor 1, becomes NaN.

    What does not fit the columns of `data` is refused here, by their names and types. What an engine or a conversion
    might refuse later may be about the rows, and is for the caller to hide.
    """
    if not isinstance(query, Expression):
        raise ParameterError(
            "a query must be a function of the sample that gives a value for each row, or an expression such as "
            f'dp.col("age") >= 65; got the type {type(query).__name__}.'
        )
    if isinstance(data, np.ndarray):
        raise ParameterError("an expression needs named columns: give the sample as a frame or an Arrow table.")
    kind = _column(data, query).type()
    if not (kind.is_boolean() or kind.is_numeric()):
        raise ParameterError("a query must give truth values or numbers, not texts or days. Compare them first.")

    def function(rows: Any) -> NDArray[Any]:
        found: NDArray[Any] = _column(rows, query).to_pyarrow().cast("double").to_numpy()
        return found

    return function


def _column(data: Any, query: Expression) -> Any:
    source = open_source(arrow_table(data), identity="oracle")
    source.check(*columns_of(query))
    return with_values(source.table, {_NAME: query})[_NAME]
