"""Table expressions as queries: `dp.col("age") >= 65` on a frame or an Arrow table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.tables import Expression, arrow_table, open_source, with_values

__all__ = ["values"]

_NAME = "dither query"


def values(data: Any, query: Any) -> NDArray[Any]:
    """The value of the expression on each row; NULL, which is neither 0 nor 1, becomes NaN."""
    if not isinstance(query, Expression):
        raise ParameterError(
            "a query must be a function of the sample that gives a value for each row, or an expression such as "
            f'dp.col("age") >= 65; got the type {type(query).__name__}.'
        )
    if isinstance(data, np.ndarray):
        raise ParameterError("an expression needs named columns: give the sample as a frame or an Arrow table.")
    source = open_source(arrow_table(data), identity="oracle")
    column = with_values(source.table, {_NAME: query}).select(_NAME).to_pyarrow().column(0)
    found: NDArray[Any] = column.cast("double").to_numpy()
    return found
