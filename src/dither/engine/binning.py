"""Public bins of a number or a date: what a histogram counts, and what `group_by` can group by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa

from dither.engine.written_question import in_quotes
from dither.errors import ParameterError
from dither.exact import in_words, once, rational
from dither.tables import Column, Expression, if_else

__all__ = ["Bins", "bins", "expression"]

_MOST = 150


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins [e₀, e₁), …, [eₖ₋₁, eₖ] of a column, each named by its edges; other rows are in none.

    `dp.bins` builds it.

    Parameters
    ----------
    of : Expression
        What is binned.
    edges : tuple
        Numbers or days in increasing order.
    name : str
        The column of the answer.
    """

    of: Expression
    edges: tuple[Any, ...]
    name: str

    @once
    def labels(self) -> list[str]:
        """The names of the bins, in order."""
        pairs = list(pairwise(map(_written, self.edges)))
        return [f"[{low}, {high}{']' if index + 1 == len(pairs) else ')'}" for index, (low, high) in enumerate(pairs)]

    @property
    def values(self) -> pa.Array:
        """The names of the bins as an Arrow array."""
        return pa.array(self.labels)

    @property
    def within(self) -> Expression:
        """The condition that a row is in one of the bins."""
        inside: Expression = (self.of >= self.edges[0]) & (self.of <= self.edges[-1])
        return inside

    @once
    def label(self) -> Expression:
        """The name of the bin of each row that is in one: a search that halves the bins in each step."""
        found: Expression = self._between(0, len(self.edges) - 1)
        return found

    def _between(self, first: int, last: int) -> Any:
        if last - first == 1:
            return self.labels[first]
        middle = (first + last) // 2
        below, above = self._between(first, middle), self._between(middle, last)
        return if_else(self.of < self.edges[middle], below, above)

    @property
    def words(self) -> str:
        """The bins in a question: with the name in the answer, where that is not the column's own."""
        has_own_name = isinstance(self.of, Column) and self.of.name == self.name
        return str(self) if has_own_name else f"{self} as {in_quotes(self.name)}"

    def __str__(self) -> str:
        return f"bins({self.of}, {', '.join(map(_written, self.edges))})"


def bins(of: str | Expression, edges: Any, name: str | None = None) -> Bins:
    """Build public bins of a number or a date, to group by.

    Rows outside all bins, and rows without a value, are left out. The keys are the names of the bins, so that no
    privacy budget is needed to find groups.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression.
    edges : list, tuple or range
        3 to 151 numbers or days in increasing order: the ends of the bins [e₀, e₁), …, the last with its upper end.
    name : str, optional
        The column of the answer; by default the name of the column. An expression needs one.

    Returns
    -------
    Bins
        Give it to `data.group_by(...)`; `.labels` has the names.

    Raises
    ------
    ParameterError
        If edges are not in increasing order, of two types, or fewer than three.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> dp.bins("age", [0, 18, 65, 120]).labels
    ['[0, 18)', '[18, 65)', '[65, 120]']
    >>> people = pa.table({"age": [12, 30, 70] * 500})
    >>> data = dp.Dataset(people, unit=dp.Rows(), budget=dp.PureDP(1), ledger="people.ledger", identity="people")
    >>> question = data.group_by(dp.bins("age", [0, 18, 65, 120])).agg(n=dp.count())
    >>> question.release(epsilon=1).to_arrow()["age"].to_pylist()
    ['[0, 18)', '[18, 65)', '[65, 120]']
    """
    found = expression(of)
    if name is None and not isinstance(found, Column):
        raise ParameterError("bins of an expression need a name: name='age group'.")
    is_list = isinstance(edges, list | tuple | range) and 2 <= len(edges) <= _MOST + 1
    known = tuple(_edge(edge) for edge in edges) if is_list else ()
    if not known:
        raise ParameterError(f"edges must be a list of 2 to {_MOST + 1} numbers or days.")
    if len({isinstance(edge, date) for edge in known}) > 1:
        raise ParameterError("edges must be all numbers or all days.")
    if not all(low < high for low, high in pairwise(known)):
        raise ParameterError("edges must be in increasing order.")
    made = Bins(found, known, name or found.name)  # type: ignore[attr-defined]
    if len(set(made.labels)) != len(made.labels):
        raise ParameterError("edges must differ by more than a part in 10^15.")
    if len(made.labels) == 1:
        raise ParameterError("one bin is a condition: use where(...).")
    return made


def expression(of: str | Expression) -> Expression:
    """Read a column name or an expression as an expression.

    Parameters
    ----------
    of : str or Expression
        The column, by its name; or an expression.

    Returns
    -------
    Expression
        The expression.
    """
    if isinstance(of, Expression):
        return of
    if isinstance(of, str):
        return Column(of)
    raise ParameterError(f"an aggregate is of a column name or an expression, got the type {type(of).__name__}.")


def _edge(edge: Any) -> Any:
    """As an expression can hold it."""
    if isinstance(edge, datetime):
        raise ParameterError("edges must be days (datetime.date), not times.")
    if isinstance(edge, date):
        return edge
    exact = rational(edge, "edges")
    return int(exact) if exact.denominator == 1 and abs(exact) < 1 << 62 else float(exact)


def _written(edge: Any) -> str:
    return str(edge) if isinstance(edge, date) else in_words(rational(edge))
