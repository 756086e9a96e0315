"""Scalar SQL, row by row: syntax tree → `Expression`. What an expression cannot say is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, Inexact, localcontext
from typing import Any, Final

from sqlglot import exp

from dither.engine.sql.refusal import INSTEAD, refused
from dither.engine.sql.text_and_time import PARTS, UNITS, like
from dither.tables import Expression, if_else
from dither.tables.expression import Literal, literal

__all__ = ["Scope", "decimal_digits", "matching", "of_rows", "said", "small", "value_of"]

_FOLDED: Final = {ord(letter): ord(letter.lower()) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
"""Names that are not quoted are compared without regard to the case of these letters, and of no others: letters that
only look alike stay different."""


@dataclass(frozen=True)
class Scope:
    """The columns that can be named: for each table of FROM their names, and what they are in terms of the rows."""

    tables: Mapping[str, Mapping[str, Expression]]

    def column(self, node: exp.Column) -> Expression:
        """The column that a name means; refused if it is none, or may be several."""
        name = node.this
        if not isinstance(name, exp.Identifier):
            raise refused(node, "a column is needed in this place.")
        found = [
            columns[each]
            for table, columns in self.tables.items()
            if not node.table or _same(table, node.args["table"])
            for each in matching(columns, name)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise refused(node, f"{name.name!r} may be several columns. Write the name of its table before it.")
        known = ", ".join(each for columns in self.tables.values() for each in columns)
        raise refused(node, f"there is no column {_short(node)!r}. There are: {known}.")

    def has(self, node: exp.Column) -> bool:
        """Whether a name means one of these columns."""
        name = node.this
        return isinstance(name, exp.Identifier) and any(
            matching(columns, name)
            for table, columns in self.tables.items()
            if not node.table or _same(table, node.args["table"])
        )

    def all(self) -> dict[str, Expression]:
        """All columns, as `*` means them: of several with one name the first has it, as in DuckDB."""
        found: dict[str, Expression] = {}
        for columns in self.tables.values():
            found |= {name: each for name, each in columns.items() if name not in found}
        return found


def small(name: str) -> str:
    """The name in small letters, as far as names know no upper and lower case."""
    return name.translate(_FOLDED)


def matching(names: Iterable[str], said: exp.Identifier) -> list[str]:
    """Those of the names that a text means: the one that it writes, else those that differ in case only."""
    names = list(names)
    if said.name in names:
        return [said.name]
    return [name for name in names if _same(name, said)]


def _same(name: str, said: exp.Identifier) -> bool:
    if said.args.get("quoted"):
        return name == said.name
    return small(name) == small(said.name)


def _short(node: exp.Column) -> str:
    text = ".".join(part.name for part in node.parts)
    return text if len(text) <= 80 else f"{text[:80]}…"


def value_of(node: exp.Expr, scope: Scope) -> Expression:
    """The value of a scalar expression in each row."""
    read = _READERS.get(type(node))
    if read is None:
        if isinstance(node, exp.AggFunc):
            raise refused(node, "an aggregate stands in the list of SELECT, in HAVING or in ORDER BY.")
        raise refused(node, INSTEAD.get(type(node), "this is not answered. docs/sql.md lists what is."))
    known = _ARGUMENTS.get(type(node), _PLAIN)
    extra = next((name for name, given in node.args.items() if given and name not in known), None)
    if extra is not None:
        raise refused(node, f"it is answered without {extra.upper()}.")
    return read(node, scope)


def of_rows(value: Expression) -> Expression:
    """The value as one of each row: Python takes no bare value for a column or a condition."""
    return if_else(literal(True), value, value) if isinstance(value, Literal) else value


def _row_of(node: exp.Expr, scope: Scope) -> Expression:
    return of_rows(value_of(node, scope))


def said(node: exp.Expr) -> Any:
    """The public value that is written in the text: a number, a text, a day or a truth value; None if it is none."""
    if isinstance(node, exp.Paren):
        return said(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _number(node)
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -_number(node.this)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.to.is_type("date"):
        return _day(node)
    if isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval):
        begin = said(node.this)
        return None if not isinstance(begin, date) else _moved(node, begin)
    if isinstance(node, exp.Not):
        return not known if isinstance(known := said(node.this), bool) else None
    if isinstance(node, exp.And | exp.Or):
        truths = said(node.this), said(node.expression)
        return _EITHER[type(node)](truths) if all(isinstance(each, bool) for each in truths) else None
    if type(node) in _EXACT:
        ends = said(node.this), said(node.expression)
        if all(isinstance(end, int | Decimal) and not isinstance(end, bool) for end in ends):
            return _calculated(node, *ends)
    return None


_EITHER: Final[dict[type[exp.Expr], Callable[[tuple[Any, ...]], bool]]] = {exp.And: all, exp.Or: any}
_EXACT: Final[dict[type[exp.Expr], Callable[[Any, Any], Any]]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
}


def _calculated(node: exp.Expr, first: Any, second: Any) -> int | Decimal:
    """Of two numbers of the text, as decimals: 0.06 - 0.01 is 0.05."""
    with localcontext(prec=4 * _MOST_DIGITS) as context:
        context.traps[Inexact] = True
        try:
            found: int | Decimal = _EXACT[type(node)](first, second)
        except ArithmeticError:
            raise refused(node, f"numbers of a text have at most {4 * _MOST_DIGITS} digits.") from None
    if abs(found) > 10**_MOST_DIGITS:
        raise refused(node, "numbers have magnitudes of at most 1e100.")
    return found


_MOST_DIGITS: Final = 100


def _number(node: exp.Literal) -> int | Decimal:
    try:
        exact = Decimal(str(node.this))
    except (ArithmeticError, ValueError):
        raise refused(node, f"{str(node.this)[:40]!r} is no number.") from None
    if exact.adjusted() > _MOST_DIGITS:
        raise refused(node, "numbers have magnitudes of at most 1e100.")
    return int(exact) if str(node.this).isdecimal() else exact


def _day(node: exp.Cast) -> date:
    try:
        return date.fromisoformat(str(node.this.this))
    except ValueError:
        raise refused(node, "a day is written as DATE '2024-12-31'.") from None


def _moved(node: exp.Add | exp.Sub, begin: date) -> date:
    """A day and an interval, both public."""
    interval = node.expression
    try:
        number = int(str(interval.this.this)) * (1 if isinstance(node, exp.Add) else -1)
        unit = str(interval.args["unit"].this).upper().removesuffix("S")
        if unit in ("DAY", "WEEK"):
            return begin + timedelta(days=number * (7 if unit == "WEEK" else 1))
        months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit] * number
        year, month = divmod(begin.year * 12 + begin.month - 1 + months, 12)
        last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
        return date(year, month + 1, min(begin.day, last))
    except (ValueError, KeyError, AttributeError, OverflowError, TypeError):
        raise refused(node, "an interval is a number of DAY, WEEK, MONTH, QUARTER or YEAR.", "Interval") from None


def _public(node: exp.Expr, scope: Scope) -> Expression:
    value = said(node)
    if value is None:
        raise refused(node, "only DATE '2024-12-31' is written in this way.")
    return literal(value)


def _two(verb: Callable[[Any, Any], Any]) -> Callable[[Any, Scope], Expression]:
    def read(node: Any, scope: Scope) -> Expression:
        value = said(node)
        if value is not None:
            return literal(value)
        first, second = value_of(node.this, scope), value_of(node.expression, scope)
        made: Expression = verb(of_rows(first) if isinstance(second, Literal) else first, second)
        return made

    return read


def _one(verb: Callable[[Any], Any]) -> Callable[[Any, Scope], Expression]:
    def read(node: Any, scope: Scope) -> Expression:
        value = said(node)
        made: Expression = literal(value) if value is not None else verb(_row_of(node.this, scope))
        return made

    return read


def _is(node: exp.Is, scope: Scope) -> Expression:
    first = _row_of(node.this, scope)
    if isinstance(node.expression, exp.Null):
        return first.is_null()
    if isinstance(node.expression, exp.Boolean):
        return (first == bool(node.expression.this)).coalesce(False)
    raise refused(node, "IS stands before NULL, TRUE and FALSE.")


def _in(node: exp.In, scope: Scope) -> Expression:
    listed = [said(each) for each in node.expressions]
    if not listed or any(each is None for each in listed):
        raise refused(node, "IN takes a list of values, as in city IN ('Lyon', 'Paris').")
    return _row_of(node.this, scope).is_in(listed)


def _between(node: exp.Between, scope: Scope) -> Expression:
    low, high = value_of(node.args["low"], scope), value_of(node.args["high"], scope)
    return _row_of(node.this, scope).between(low, high)


def _case(node: exp.Case, scope: Scope) -> Expression:
    conditions = [
        _equal(_row_of(node.this, scope), each.this, scope) if node.this is not None else value_of(each.this, scope)
        for each in node.args["ifs"]
    ]
    values = [each.args["true"] for each in node.args["ifs"]]
    return _chosen(list(zip(conditions, values, strict=True)), node.args.get("default"), scope)


def _equal(value: Expression, node: exp.Expr, scope: Scope) -> Expression:
    return value == value_of(node, scope)


def _if(node: exp.If, scope: Scope) -> Expression:
    return _chosen([(value_of(node.this, scope), node.args["true"])], node.args.get("false"), scope)


def _chosen(branches: list[tuple[Expression, exp.Expr]], default: exp.Expr | None, scope: Scope) -> Expression:
    """The first branch whose condition holds. Without ELSE, and where a branch is NULL, the value is missing."""
    made = None if default is None or isinstance(default, exp.Null) else value_of(default, scope)
    for condition, node in reversed(branches):
        if isinstance(node, exp.Null):
            made = None if made is None else of_rows(made).where(~of_rows(condition).coalesce(False))
        else:
            value = value_of(node, scope)
            made = of_rows(value).where(condition) if made is None else if_else(condition, value, made)
    if made is None:
        raise refused(branches[0][1], "a choice between NULL and NULL is no value.")
    return made


def _coalesce(node: exp.Coalesce, scope: Scope) -> Expression:
    made = _row_of(node.this, scope)
    for each in node.expressions:
        made = made.coalesce(value_of(each, scope))
    return made


def _nullif(node: exp.Nullif, scope: Scope) -> Expression:
    first, second = _row_of(node.this, scope), value_of(node.expression, scope)
    return first.where(~(first == second).coalesce(False))


def _extreme(verb: Callable[[Expression, Expression], Any]) -> Callable[[Any, Scope], Expression]:
    """LEAST and GREATEST pass over NULL, as in PostgreSQL and DuckDB."""

    def read(node: Any, scope: Scope) -> Expression:
        made = _row_of(node.this, scope)
        for each in node.expressions:
            other = value_of(each, scope)
            chosen = if_else(verb(made, other), made, other)
            made = chosen if isinstance(other, Literal) or isinstance(made, Literal) else chosen.coalesce(made)
        return made

    return read


def _floor(node: exp.Floor, scope: Scope) -> Expression:
    if node.args.get("decimals") is not None:
        raise refused(node, "FLOOR takes one number.")
    return _row_of(node.this, scope).floor()


def _ceil(node: exp.Ceil, scope: Scope) -> Expression:
    if node.args.get("decimals") is not None:
        raise refused(node, "CEIL takes one number.")
    return -(-_row_of(node.this, scope)).floor()


def _power(node: exp.Pow, scope: Scope) -> Expression:
    exponent = said(node.expression)
    if isinstance(exponent, bool) or not isinstance(exponent, int) or not 1 <= exponent <= _MOST_FACTORS:
        raise refused(node, f"a power is a whole number from 1 to {_MOST_FACTORS}, as in POWER(x, 2).")
    base = _row_of(node.this, scope)
    made = base
    for _ in range(exponent - 1):
        made = made * base
    return made


_MOST_FACTORS: Final = 4


def _cast(node: exp.Cast, scope: Scope) -> Expression:
    if node.to.is_type(*exp.DataType.REAL_TYPES):
        digits, value = decimal_digits(node), _row_of(node.this, scope)
        return value + 0 if digits is None else value.round(digits)
    value = said(node)
    if value is not None:
        return literal(value)
    if node.to.is_type("date"):
        return _row_of(node.this, scope).date_trunc("day")
    if node.to.is_type("timestamp") and isinstance(node.this, exp.Literal):
        return literal(_time(node))
    raise refused(node, _CASTS)


def decimal_digits(node: exp.Cast) -> int | None:
    """How many digits behind the point a cast leaves, as in DECIMAL(10, 2); None if it leaves all of them."""
    given: list[Any] = [
        said(each.this) if isinstance(each, exp.DataTypeParam) else None for each in node.to.expressions
    ]
    if not given or node.to.is_type(*exp.DataType.FLOAT_TYPES):
        return None
    if not node.to.is_type("decimal", "bigdecimal") or len(given) > 2 or not all(type(each) is int for each in given):
        raise refused(node, "numbers with few digits are written as DECIMAL(10, 2).")
    digits: int = given[1] if len(given) == 2 else 0
    return digits if digits <= _MOST_ROUNDED else None


_MOST_ROUNDED: Final = 15
"""Behind the point: doubles have no more."""


def _date(node: exp.Date, scope: Scope) -> Expression:
    """DATE(t), as BigQuery and MySQL write the day of a time."""
    return _row_of(node.this, scope).date_trunc("day")


def _time(node: exp.Cast) -> datetime:
    """A time as it is written; with a zone it could be another one on each engine."""
    try:
        found = datetime.fromisoformat(str(node.this.this))
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None or found.microsecond:
        raise refused(node, "a time is written as TIMESTAMP '2024-12-31 08:15:00', without a zone.")
    return found


_CASTS: Final = (
    "CAST to DOUBLE and to DATE is answered, and DATE '2024-12-31'. For whole numbers write FLOOR(x). Texts of a file "
    "are read as numbers and days where these are needed, without CAST."
)


def _part(part: str, value: Expression, node: exp.Expr) -> Expression:
    if part not in PARTS:
        raise refused(node, f"EXTRACT takes {', '.join(PARTS)}. DOW of Sunday is 0, and ISODOW of Monday is 1.")
    return PARTS[part](value)


def _extract(node: exp.Extract, scope: Scope) -> Expression:
    return _part(str(node.this.this).upper(), _row_of(node.expression, scope), node)


def _dated(part: str) -> Callable[[Any, Scope], Expression]:
    return lambda node, scope: _part(part, _row_of(node.this, scope), node)


def _truncated(node: exp.DateTrunc | exp.TimestampTrunc, scope: Scope) -> Expression:
    """DATE_TRUNC('month', day), and DATE_TRUNC(day, MONTH) of BigQuery: the parser takes both for the first."""
    unit, of = str(node.args["unit"].this), node.this
    if isinstance(of, exp.Column) and of.name.lower() in UNITS and not scope.has(of):
        unit, of = of.name, exp.column(unit)
    if unit.lower() not in UNITS:
        raise refused(node, f"DATE_TRUNC cuts off to {', '.join(UNITS)}, as in DATE_TRUNC('month', day).")
    return _row_of(of, scope).date_trunc(unit.lower())


def _rounded(node: exp.Round, scope: Scope) -> Expression:
    digits = 0 if node.args.get("decimals") is None else said(node.args["decimals"])
    if not isinstance(digits, int):
        raise refused(node, "ROUND takes a number of digits, as in ROUND(x, 2).")
    return _row_of(node.this, scope).round(digits)


def _logarithm(node: exp.Log, scope: Scope) -> Expression:
    base = said(node.this) if node.expression is not None else None
    if isinstance(base, bool) or not isinstance(base, int | Decimal) or not base > 1:
        raise refused(
            node, "LOG(x) has base e on some engines, 10 on others. Write LN(x), or LOG(10, x) with a base above 1."
        )  # fmt: skip
    return _row_of(node.expression, scope).log() / math.log(base)


def _like(node: exp.Like, scope: Scope) -> Expression:
    pattern = said(node.expression)
    made = like(_row_of(node.this, scope), pattern) if isinstance(pattern, str) else None
    if made is None:
        raise refused(node, "LIKE takes a text in which % stands for any characters; there is no _, ESCAPE or ANY.")
    return ~made if node.args.get("negate") else made


def _with_text(verb: str) -> Callable[[Any, Scope], Expression]:
    def read(node: Any, scope: Scope) -> Expression:
        part = said(node.expression)
        if not isinstance(part, str):
            raise refused(node, "it takes a column and a text, as in STARTS_WITH(city, 'Pa').")
        made: Expression = getattr(_row_of(node.this, scope), verb)(part)
        return made

    return read


def _begin(node: exp.Substring | exp.Left, scope: Scope) -> Expression:
    start, length = (
        (1, node.expression) if isinstance(node, exp.Left) else (node.args.get("start"), node.args.get("length"))
    )
    first = start if isinstance(start, int) else None if start is None else said(start)
    number = None if length is None else said(length)
    if first != 1 or isinstance(number, bool) or not isinstance(number, int):
        raise refused(node, "of a text its first characters can be taken, as in SUBSTRING(x, 1, 2) or LEFT(x, 2).")
    return _row_of(node.this, scope).left(number)


_READERS: Final[dict[type[exp.Expr], Callable[[Any, Scope], Expression]]] = {
    exp.Column: lambda node, scope: scope.column(node),
    exp.Literal: _public,
    exp.Boolean: _public,
    exp.Paren: lambda node, scope: value_of(node.this, scope),
    exp.Neg: _one(lambda a: -a),
    exp.Abs: _one(abs),
    exp.Not: _one(lambda a: ~a),
    exp.Add: _two(lambda a, b: a + b),
    exp.Sub: _two(lambda a, b: a - b),
    exp.Mul: _two(lambda a, b: a * b),
    **dict.fromkeys((exp.Div, exp.SafeDivide), _two(lambda a, b: a / b)),
    exp.EQ: _two(lambda a, b: a == b),
    exp.NEQ: _two(lambda a, b: a != b),
    exp.LT: _two(lambda a, b: a < b),
    exp.LTE: _two(lambda a, b: a <= b),
    exp.GT: _two(lambda a, b: a > b),
    exp.GTE: _two(lambda a, b: a >= b),
    exp.And: _two(lambda a, b: a & b),
    exp.Or: _two(lambda a, b: a | b),
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.If: _if,
    exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
    exp.Least: _extreme(lambda a, b: a <= b),
    exp.Greatest: _extreme(lambda a, b: a >= b),
    exp.Floor: _floor,
    exp.Ceil: _ceil,
    exp.Pow: _power,
    exp.Date: _date,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Extract: _extract,
    exp.DateTrunc: _truncated,
    exp.TimestampTrunc: _truncated,
    exp.Round: _rounded,
    exp.Sqrt: _one(lambda a: a.sqrt()),
    exp.Exp: _one(lambda a: a.exp()),
    exp.Ln: _one(lambda a: a.log()),
    exp.Log: _logarithm,
    exp.Lower: _one(lambda a: a.lower()),
    exp.Trim: _one(lambda a: a.strip()),
    exp.Like: _like,
    exp.StartsWith: _with_text("starts_with"),
    exp.EndsWith: _with_text("ends_with"),
    exp.Contains: _with_text("contains"),
    exp.Substring: _begin,
    exp.Left: _begin,
    exp.Year: _dated("YEAR"),
    exp.Quarter: _dated("QUARTER"),
    exp.Hour: _dated("HOUR"),
    exp.Minute: _dated("MINUTE"),
    exp.Month: _dated("MONTH"),
    exp.Day: _dated("DAY"),
    exp.DayOfWeek: _dated("DOW"),
}
"""The whitelist of scalar SQL."""
_PLAIN: Final = frozenset({"this", "expression", "expressions"})
_ARGUMENTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Column: frozenset({"this", "table"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Coalesce: frozenset({*_PLAIN, "is_nvl", "is_null"}),
    **dict.fromkeys((exp.Least, exp.Greatest), frozenset({*_PLAIN, "ignore_nulls"})),
    **dict.fromkeys((exp.Floor, exp.Ceil), frozenset({"this", "decimals"})),
    exp.Date: frozenset({"this"}),
    exp.Cast: frozenset({"this", "to", "_type"}),
    exp.TryCast: frozenset({"this", "to", "_type", "requires_string", "safe"}),
    exp.DateTrunc: frozenset({"this", "unit"}),
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.Round: frozenset({"this", "decimals"}),
    exp.Trim: frozenset({"this"}),
    exp.Like: frozenset({"this", "expression", "negate"}),
    exp.Substring: frozenset({"this", "start", "length"}),
}
"""What a node may say: anything else, such as SYMMETRIC of BETWEEN, would change what it means."""
