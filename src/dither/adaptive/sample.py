"""The rows that questions are asked about, and the questions: functions of a row with values in [0, 1]."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.adaptive.mean import MOST_ROWS, numerators
from dither.errors import ParameterError

__all__ = ["Sample"]

_LAST_BITS: Final = 1
"""How many parts of 2^-30 a value may differ beside other rows: vectorised code rounds differently there."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """n independent draws from a population: an array (structured or not), a pandas or polars frame, or an Arrow table.

    Arrays are handed to queries read-only, frames as copies that share their values.
    """

    data: Any
    rows: int

    @classmethod
    def of(cls, data: Any, name: str = "sample") -> Sample:
        """Any of the kinds that are known, with at least one row."""
        if isinstance(data, list | tuple):
            data = np.asarray(data)
        if isinstance(data, np.ndarray):
            if not data.ndim:
                raise ParameterError(f"{name} must have rows, got a single value. Give an array or a table.")
            data = data.view()
            data.flags.writeable = False
        elif not hasattr(data, "iloc") and not (hasattr(data, "columns") and hasattr(data, "__len__")):
            raise ParameterError(
                f"{name} must be an array, a pandas or polars frame or an Arrow table, "
                f"got the type {type(data).__name__}."
            )
        rows = int(data.num_rows) if hasattr(data, "num_rows") else len(data)
        if not 1 <= rows <= MOST_ROWS:
            raise ParameterError(f"{name} must have between 1 and 2^32 rows, got {rows}.")
        return cls(data, rows)

    def take(self, places: NDArray[np.int64]) -> Sample:
        """Some of the rows, in this order."""
        if hasattr(self.data, "iloc"):
            return Sample(self.data.iloc[places], len(places))
        if hasattr(self.data, "num_rows"):
            return Sample(self.data.take(places), len(places))
        return Sample.of(self.data[places])

    def _every_second(self) -> Sample:
        """Every second row, from the last to the first; without a copy where that can be."""
        if hasattr(self.data, "num_rows"):
            return self.take(np.arange(self.rows - 1, -1, -2))
        return Sample(self.data.iloc[::-2] if hasattr(self.data, "iloc") else self.data[::-2], (self.rows + 1) // 2)

    def numerators(self, query: Any) -> NDArray[np.int64]:
        """The values of a query on all rows, in parts of 2^-30; or `ParameterError`, with no word about the rows.

        The query is asked twice: about all rows, and about every second one from the last to the first. If it then
        says something else about the same row, it keeps state, draws at random or looks at other rows, and is
        refused. That is a courtesy to honest mistakes, not a proof: the promise holds for functions of one row, and a
        function that looks at other rows only now and then cannot be told from one.
        """
        values = numerators(self._asked(query), self.rows)
        fewer = self._every_second()
        again = numerators(fewer._asked(query), fewer.rows)
        if (np.abs(values[::-2] - again) > _LAST_BITS).any():
            raise ParameterError(
                "a query must say the same about a row each time, whatever other rows there are and in whatever order. "
                "Let it keep no state, draw nothing at random, and fix quantities such as means in advance."
            )
        return values

    def _asked(self, query: Any) -> Any:
        """What the query says. What goes wrong inside it is forgotten, as it may be about the rows."""
        if not callable(query):
            query = importlib.import_module("dither.adaptive.expressions").as_function(self.data, query)  # loads Ibis
        try:
            found = np.asarray(query(self._lent()))
        except Exception:
            found = None
        if found is None:  # outside of the handler, so that the error has no context
            raise ParameterError(
                "the query raised an exception, and what it says may be about the rows. Try it on made-up rows."
            )
        return found

    def _lent(self) -> Any:
        """The rows for a query. What it writes into a frame is its own; arrays and Arrow tables cannot be written."""
        if hasattr(self.data, "iloc"):
            return self.data.copy(deep=False)
        return self.data.clone() if hasattr(self.data, "clone") else self.data
