"""Row-wise expressions, for `where`, `with_columns` and aggregates.

An expression is a small tree, not code of the engine. It looks at one row at a time and is total: whatever is in the
row, it gives a value or NULL and never an error, and it gives the same on every engine. Ranks, lags, regular
expressions, casts and functions of files do not exist here, so they need not be refused.

Times stay times inside of expressions, to the microsecond; what leaves an engine is a day, a number or a text of it.

Numbers in expressions are bounded: NaN is NULL, magnitudes above 1e100 (infinities among them) become 1e100, magnitudes
below 1e-100 (−0.0 among them) become 0. So no product, sum or quotient overflows or underflows, which some engines
answer with an error and others with an infinity. A quotient by 0 is NULL. Columns of whole numbers that are compared
with whole numbers are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from dither.errors import ParameterError
from dither.exact import is_unicode, plain
from dither.tables.row_functions import RowFunctions

__all__ = ["Column", "Expression", "Literal", "Operation", "col", "columns_of", "if_else"]

ARITHMETIC: Final = ("+", "-", "*", "/", "negative", "abs", "floor", "round", "sqrt", "log", "exp")
COMPARISONS: Final = ("==", "!=", "<", "<=", ">", ">=")
LOGIC: Final = ("and", "or", "not", "is_null", "is_in")
DATES: Final = ("year", "month", "day", "weekday")
TIMES: Final = ("hour", "minute", "date_trunc")
TEXTS: Final = ("lower", "strip", "starts_with", "contains", "ends_with", "after", "left")
OTHERS: Final = ("if_else", "coalesce", "where")
_BETWEEN: Final = (*COMPARISONS, "+", "-", "*", "/", "and", "or")
"""What is written between its two parts."""

LONGEST_TEXT: Final = 1 << 14
"""The longest text there is, in bytes of UTF-8, on every engine: longer ones of the data are NULL when they enter
(sealed_entry.py), longer ones of a question are refused. No expression makes a text longer. So a batch of 2^16 groups
has at most 2^30 bytes in a column, and formats that count them in 31 bits hold it whatever is in the rows: else a row
could make a question fail after its charge."""
_LONGEST_SAID: Final = LONGEST_TEXT // 4
"""Of a text in an expression, in characters: each has at most four bytes."""
_MOST_NODES = 1_000
_MOST_LEVELS = 50


class Expression(RowFunctions):
    """A value for each row, computed from its columns.

    Build it from `dp.col("name")` with Python's operators: + - * / and abs for numbers; == != < <= > >= to compare; & |
    ~ to join and negate conditions (put each in parentheses). Use it in `where` and `with_columns`, or in the place of
    a column in an aggregate.

    An expression looks at one row at a time and never fails, whatever is in the row; it gives the same on every engine.
    NaN is NULL, a quotient by 0 is NULL, and magnitudes are held between 1e-100 and 1e100.

    Examples
    --------
    >>> import dither as dp
    >>> print((dp.col("age") >= 18) & (dp.col("city") == "Paris"))
    ((age >= 18) and (city == 'Paris'))
    >>> print(dp.col("price") * dp.col("amount") / 100)
    ((price * amount) / 100)
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Operation:
        return Operation("+", (self, literal(other)))

    def __radd__(self, other: Any) -> Operation:
        return Operation("+", (literal(other), self))

    def __sub__(self, other: Any) -> Operation:
        return Operation("-", (self, literal(other)))

    def __rsub__(self, other: Any) -> Operation:
        return Operation("-", (literal(other), self))

    def __mul__(self, other: Any) -> Operation:
        return Operation("*", (self, literal(other)))

    def __rmul__(self, other: Any) -> Operation:
        return Operation("*", (literal(other), self))

    def __truediv__(self, other: Any) -> Operation:
        return Operation("/", (self, literal(other)))

    def __rtruediv__(self, other: Any) -> Operation:
        return Operation("/", (literal(other), self))

    def __neg__(self) -> Operation:
        return Operation("negative", (self,))

    def __abs__(self) -> Operation:
        return Operation("abs", (self,))

    def _applied(self, verb: str, *others: Any) -> Operation:
        return Operation(verb, (self, *map(literal, others)))

    def __eq__(self, other: object) -> Operation:  # type: ignore[override]
        return Operation("==", (self, literal(other)))

    def __ne__(self, other: object) -> Operation:  # type: ignore[override]
        return Operation("!=", (self, literal(other)))

    __hash__ = None  # type: ignore[assignment]  # `==` builds an expression, so that no set can hold one

    def __lt__(self, other: Any) -> Operation:
        return Operation("<", (self, literal(other)))

    def __le__(self, other: Any) -> Operation:
        return Operation("<=", (self, literal(other)))

    def __gt__(self, other: Any) -> Operation:
        return Operation(">", (self, literal(other)))

    def __ge__(self, other: Any) -> Operation:
        return Operation(">=", (self, literal(other)))

    def __and__(self, other: Any) -> Operation:
        return Operation("and", (self, literal(other)))

    def __rand__(self, other: Any) -> Operation:
        return Operation("and", (literal(other), self))

    def __or__(self, other: Any) -> Operation:
        return Operation("or", (self, literal(other)))

    def __ror__(self, other: Any) -> Operation:
        return Operation("or", (literal(other), self))

    def __invert__(self) -> Operation:
        return Operation("not", (self,))

    def __bool__(self) -> bool:
        raise ParameterError("an expression has no truth value. Join conditions by & and |, and negate by ~.")

    def is_null(self) -> Operation:
        """Test whether the value is missing.

        Returns
        -------
        Operation
            True where the value is NULL or NaN.
        """
        return Operation("is_null", (self,))

    def is_in(self, values: Iterable[Any]) -> Operation:
        """Test whether the value is one of those listed.

        Parameters
        ----------
        values : iterable
            Public values: numbers, texts, dates or truth values; at least one.

        Returns
        -------
        Operation
            True where the value is in the list.

        Raises
        ------
        ParameterError
            If the list is empty, or a value is of another type.

        Examples
        --------
        >>> print(col("city").is_in(["Paris", "Lyon"]))
        is_in(city, 'Paris', 'Lyon')
        """
        listed = tuple(literal(value) for value in values)
        if not listed:
            raise ParameterError("is_in needs at least one value.")
        return Operation("is_in", (self, *listed))

    def between(self, low: Any, high: Any) -> Operation:
        """Test whether the value lies in a range, both ends included.

        Parameters
        ----------
        low : Any
            The lower end: a public value or an expression.
        high : Any
            The upper end.

        Returns
        -------
        Operation
            True where low ≤ value ≤ high.

        Examples
        --------
        >>> print(col("age").between(18, 65))
        ((age >= 18) and (age <= 65))
        """
        return Operation("and", (self >= low, self <= high))

    def coalesce(self, other: Any) -> Operation:
        """Replace missing values.

        Parameters
        ----------
        other : Any
            What stands for NULL and NaN: a public value or an expression.

        Returns
        -------
        Operation
            The value, or `other` where it is missing.

        Examples
        --------
        >>> print(col("spend").coalesce(0))
        coalesce(spend, 0)
        """
        return Operation("coalesce", (self, literal(other)))

    def where(self, condition: Expression) -> Operation:
        """Keep the value only where a condition holds.

        Parameters
        ----------
        condition : Expression
            A condition, such as `dp.col("age") >= 18`.

        Returns
        -------
        Operation
            The value where the condition holds, and NULL elsewhere.

        Examples
        --------
        >>> print(col("spend").where(col("age") >= 18))
        where(spend, (age >= 18))
        """
        return Operation("where", (self, literal(condition)))


@dataclass(frozen=True, slots=True, eq=False)
class Column(Expression):
    """The value of a column; `dp.col` makes it.

    Parameters
    ----------
    name : str
        The name of the column.
    """

    name: str

    def __post_init__(self) -> None:
        if not self.name:
            raise ParameterError("a column is named by a text that is not empty.")

    def __str__(self) -> str:
        return self.name if self.name.isidentifier() else f"col({self.name!r})"


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """The same public value in every row; values beside an expression become it.

    Parameters
    ----------
    value : bool, int, float, str, date or datetime
        The value.
    """

    value: bool | int | float | str | date | datetime

    def __str__(self) -> str:
        return str(self.value) if isinstance(self.value, date) else repr(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Operation(Expression):
    """An operation on expressions; Python's operators make it.

    Parameters
    ----------
    verb : str
        The name of the operation, such as "+" or "is_null".
    parts : tuple of Expression
        What it is applied to.

    Raises
    ------
    ParameterError
        If the expression has too many parts, or is nested too deeply.
    """

    verb: str
    parts: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if _nodes(self) > _MOST_NODES:
            raise ParameterError(f"an expression has at most {_MOST_NODES} parts.")
        if _levels(self) > _MOST_LEVELS:
            raise ParameterError(
                f"an expression is at most {_MOST_LEVELS} levels deep. Use with_columns for its parts."
            )

    def __str__(self) -> str:
        if self.verb in _BETWEEN:
            return f"({self.parts[0]} {self.verb} {self.parts[1]})"
        return f"{self.verb}({', '.join(map(str, self.parts))})"


def col(name: str) -> Column:
    """Refer to a column of the table by its name.

    Build expressions from it with Python's operators, for `where`, `with_columns`, `dp.bins` and aggregates;
    `Expression` lists them.

    Parameters
    ----------
    name : str
        The name of the column. Whether the table has it is checked when the expression is used.

    Returns
    -------
    Column
        The column, as an expression.

    Raises
    ------
    ParameterError
        If the name is empty.

    Examples
    --------
    >>> import dither as dp
    >>> print((dp.col("age") >= 18) & (dp.col("city") == "Paris"))
    ((age >= 18) and (city == 'Paris'))
    >>> import pyarrow as pa
    >>> people = pa.table({"age": [17, 30, 45] * 100, "spend": [5.0, 20.0, 50.0] * 100})
    >>> data = dp.Dataset(people, unit=dp.Rows(), budget=dp.PureDP(1), ledger="people.ledger", identity="people")
    >>> adults = data.where(dp.col("age") >= 18).count(epsilon=0.5)
    >>> isinstance(adults.value, int)
    True
    """
    return Column(name)


def if_else(condition: Expression, then: Any, otherwise: Any) -> Operation:
    """Choose between two values, row by row.

    Parameters
    ----------
    condition : Expression
        A condition, such as `dp.col("age") >= 18`.
    then : Any
        The value where the condition holds: a public value or an expression.
    otherwise : Any
        The value where it does not hold, or is NULL.

    Returns
    -------
    Operation
        The chosen value, as an expression.

    Examples
    --------
    >>> import dither as dp
    >>> print(dp.if_else(dp.col("age") >= 18, "adult", "minor"))
    if_else((age >= 18), 'adult', 'minor')
    """
    return Operation("if_else", (literal(condition), literal(then), literal(otherwise)))


def literal(value: Any) -> Expression:
    """Convert a public value to an expression; an expression stays as it is."""
    if isinstance(value, Expression):
        return value
    value = plain(value)  # so that ledger and engine get the same value
    if isinstance(value, Decimal):
        is_whole = value == value.to_integral_value() and abs(value) < 2**63
        value = int(value) if is_whole else float(value)
    if not isinstance(value, bool | int | float | str | date):
        raise ParameterError(
            f"an expression holds numbers, texts, dates, times and truth values, got the type {type(value).__name__}."
        )
    if isinstance(value, datetime):
        value = _plain_time(value)
    if isinstance(value, float) and not abs(value) <= 1e100:
        raise ParameterError("numbers in expressions have magnitudes of at most 1e100.")
    if isinstance(value, int) and not abs(value) < 2**63:
        raise ParameterError("whole numbers in expressions lie strictly between -2^63 and 2^63.")
    if isinstance(value, str) and len(value) > _LONGEST_SAID:
        raise ParameterError(f"texts in expressions have at most {_LONGEST_SAID} characters, got {len(value)}.")
    if isinstance(value, str) and not is_unicode(value):
        raise ParameterError(f"texts in expressions must be Unicode: {value!r} holds half of a surrogate pair.")
    return Literal(value)


def _plain_time(value: datetime) -> datetime:
    """A time of Python's own type, in UTC if it has a zone; a time of pandas that is missing is refused."""
    if not value.year >= 1:  # the year of NaT is NaN
        raise ParameterError("a time in an expression must not be missing.")
    moved = value if value.tzinfo is None else value.astimezone(UTC)
    return datetime(moved.year, moved.month, moved.day, moved.hour, moved.minute, moved.second, moved.microsecond)


def columns_of(expression: Expression) -> set[str]:
    """List the columns that an expression mentions.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    set of str
        The names of the columns.
    """
    if isinstance(expression, Operation):
        return set().union(*map(columns_of, expression.parts))
    return {expression.name} if isinstance(expression, Column) else set()


def _nodes(expression: Expression) -> int:
    if not isinstance(expression, Operation):
        return 1
    return 1 + sum(_nodes(part) for part in expression.parts)


def _levels(expression: Expression) -> int:
    if not isinstance(expression, Operation):
        return 0
    return 1 + max(_levels(part) for part in expression.parts)
