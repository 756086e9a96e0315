"""The rows that questions are asked about, and the questions: functions of a row with values in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.adaptive.mean import MOST_ROWS, clamped, numerators
from dither.errors import ParameterError

__all__ = ["Query", "Sample"]

Query: TypeAlias = Callable[[Any], Any]
"""Rows → a value for each of them."""

_ALONE: Final = 4
"""How many rows a query is also tried on one by one."""

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

    def between(self, start: int, stop: int) -> Sample:
        """Neighbouring rows, without a copy."""
        if hasattr(self.data, "iloc"):
            return Sample(self.data.iloc[start:stop], stop - start)
        rows = self.data.slice(start, stop - start) if hasattr(self.data, "slice") else self.data[start:stop]
        return Sample(rows, stop - start)

    def _backwards(self) -> Sample:
        if hasattr(self.data, "num_rows"):
            return self.take(np.arange(self.rows)[::-1])
        return Sample(self.data.iloc[::-1] if hasattr(self.data, "iloc") else self.data[::-1], self.rows)

    def is_like(self, other: Sample) -> bool:
        """Whether a query sees rows of the same shape, with columns of the same names."""
        return _kind(self.data) == _kind(other.data)

    # ------------------------------------------------------------------ rows that may be shown

    def tried(self, query: Any, whose: str) -> tuple[Query, NDArray[np.int64]]:
        """A query as a function of rows, and its values in parts of 2^-30; or `ParameterError` if anything is wrong.

        For rows that may be shown. A function is asked about all of them, in their order and backwards, and about
        some alone. If it then says something else about a row, it keeps state, draws at random or looks at other rows.
        To find that is a courtesy, not a proof: the promise is for functions of one row, and one that looks at other
        rows only now and then cannot be distinguished from them. Expressions know no other rows, and one look suffices.
        """
        if not callable(query):
            from dither.adaptive.expressions import as_function  # loads Ibis

            of_rows = as_function(self.data, query)
            return of_rows, self._strictly(of_rows, whose)
        values = self._strictly(query, whose)
        backwards = self._backwards()._strictly(query, whose)[::-1]
        alone = [self.between(row, row + 1)._strictly(query, whose)[0] for row in range(min(self.rows, _ALONE))]
        if (np.abs(values - backwards) > _LAST_BITS).any() or (np.abs(values[:_ALONE] - alone) > _LAST_BITS).any():
            raise ParameterError(
                "a query must say the same about a row each time, whatever other rows there are and in whatever order. "
                f"It was tried on {whose}. Let it keep no state, draw nothing at random, and fix quantities such as "
                "means in advance."
            )
        return query, values

    def _strictly(self, query: Query, whose: str) -> NDArray[np.int64]:
        """One look."""
        raised, found = "", None
        try:
            found = np.asarray(query(self._lent()))
        except Exception as error:
            raised = type(error).__name__
        if raised:  # outside of the handler: what the error says may be a row, and never leaves as its context
            raise ParameterError(f"the query raised {raised}. It was tried on {whose}; try it there by hand.")
        try:
            return numerators(found, self.rows)
        except ParameterError as error:
            wrong = str(error)
        raise ParameterError(f"{wrong} It was tried on {whose}.")

    # --------------------------------------------------------------------- rows that are hidden

    def settled(self, query: Query) -> NDArray[np.int64]:
        """The values of a query in parts of 2^-30, whatever it does: outside of [0, 1] they are cut, and where it fails
        (raises, or gives no number for each row) it counts as 0. Nothing is refused, so that nothing is revealed.

        Where it fails on many rows it is asked about either half of them, down to single rows. A function of one row,
        which fails if it fails on one of the rows, so becomes another, g: row → [0, 1], whatever rows are beside it.
        """
        parts = np.zeros(self.rows, dtype=np.int64)
        waiting = [(0, self.rows)]
        while waiting:
            start, stop = waiting.pop()
            found = self.between(start, stop)._asked(query)
            if found is not None:
                parts[start:stop] = found
            elif stop - start > 1:
                middle = (start + stop) // 2
                waiting += [(start, middle), (middle, stop)]
        return parts

    def _asked(self, query: Query) -> NDArray[np.int64] | None:
        """None where it fails. Only a key that somebody presses gets out of it."""
        try:
            with np.errstate(all="ignore"):  # a warning would be about the rows
                return clamped(query(self._lent()), self.rows)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return None

    def _lent(self) -> Any:
        """The rows for a query. What it writes into a frame is its own; arrays and Arrow tables cannot be written."""
        if hasattr(self.data, "iloc"):
            return self.data.copy(deep=False)
        return self.data.clone() if hasattr(self.data, "clone") else self.data


def _kind(data: Any) -> tuple[Any, ...]:
    if isinstance(data, np.ndarray):
        return np.ndarray, data.shape[1:], data.dtype.names
    if hasattr(data, "num_rows"):
        return type(data), *data.schema.names
    return type(data), *getattr(data, "columns", ())
