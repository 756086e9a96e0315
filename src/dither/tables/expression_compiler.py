"""Expressions in the words of the engine.

Each operation becomes a column of its own, and operations of one depth are added together, so that a query grows with
the expression and not with its repetitions: `tame` names its argument several times. Results of arithmetic become tame
where they are used, so that an operation takes one step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, Final

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir

from dither.errors import ParameterError
from dither.exact import is_unicode
from dither.tables.database_engines.engine import builtin
from dither.tables.database_engines.sealed_entry import SMALLEST, as_type, columns_of_table, of_each_row, tame
from dither.tables.expression import (
    ARITHMETIC,
    COMPARISONS,
    DATES,
    LOGIC,
    TEXTS,
    TIMES,
    Column,
    Expression,
    Literal,
    Operation,
)
from dither.tables.row_functions import DAY_UNITS
from dither.tables.text_parsing import DAY, TIME, written_day, written_number, written_time

__all__ = [
    "between",
    "clamped",
    "day",
    "different",
    "few_steps",
    "folded",
    "kind_of",
    "kinds_of",
    "missing_column",
    "not_reserved",
    "number",
    "of_kind",
    "one_value",
    "shown",
    "whole_of",
    "with_values",
]

_OURS: Final = "dither "
_RESERVED: Final = (_OURS, "dither_")
"""No column of a source may start with these: the names of intermediate columns do."""
_PREFIX: Final = f"{_OURS}part "
"""How columns begin that hold one operation each."""
_MOST_STEPS: Final = 60
"""Of 85 or more, the query is nested too deep to be written."""
_ALL_WHOLE: Final = 2.0**53
"""Doubles of at least this magnitude are whole numbers, and not all whole numbers are among them."""


def with_values(table: ir.Table, expressions: Mapping[str, Expression]) -> ir.Table:
    """The table with a column for each expression; a column of the same name is replaced.

    A name that differs from a column's by its letters' case alone is refused: most engines take the two for one, and
    then a harmless column might stand in for that of the persons.
    """
    different(table.columns, expressions)
    names: dict[int, str] = {}
    levels: dict[int, list[Operation]] = {}
    for expression in expressions.values():
        if isinstance(expression, Operation):
            # The last step makes the value. It finds in columns what it names several times, and the parts of what it
            # names once.
            for part in (expression,) if expression.verb in ARITHMETIC else expression.parts:
                _collect(part, levels)
    staged = table
    for depth in sorted(levels):
        new = list({id(operation): operation for operation in levels[depth]}.values())  # each once, if used repeatedly
        named = {id(each): f"{_PREFIX}{len(names) + index}" for index, each in enumerate(new)}
        made = {named[id(each)]: _computed(each, staged, names) for each in new}
        staged = of_each_row(staged, columns_of_table(staged) | made)
        names |= named
    values = {name: _value(expression, staged, names) for name, expression in expressions.items()}
    kept = columns_of_table(staged)
    return of_each_row(staged, {name: kept[name] for name in table.columns} | values)


def one_value(table: ir.Table, expression: Expression) -> Any:
    """The value in one step, for its type and its refusals alone: asked of an engine, it would be written out anew
    wherever an operation names it. What is missing or of the wrong kind is refused as `with_values` refuses it."""
    return _value(expression, table, {})


def few_steps(table: ir.Table) -> None:
    """Refuse a table that takes more steps than engines can be asked for: each is a SELECT inside of the next one."""
    count = _steps(table.op())
    if count > _MOST_STEPS:
        raise ParameterError(
            f"a question takes at most {_MOST_STEPS} steps, and this one would take {count}. A filter takes some, and "
            "each operation on the result of another. Say more in one with_columns, or compute columns in the source."
        )


def _steps(relation: Any) -> int:
    """The longest way down; of a join or a union, on either side."""
    count = 0
    while relation is not None:
        count += 1
        others = [_steps(link.table) for link in getattr(relation, "rest", ())]  # of a join
        if others:
            return count + max(_steps(relation.first), *others)
        if isinstance(relation, ops.Set):
            return count + max(_steps(relation.left), _steps(relation.right))
        relation = getattr(relation, "parent", None)
    return count


def kind_of(value: ir.Value) -> str:
    """The kind of a value: whole, real, text, truth, date or time. Others do not enter (sealed_entry.py)."""
    of = value.type()
    if of.is_integer():
        return "whole"
    if of.is_floating():
        return "real"
    if of.is_string():
        return "text"
    if of.is_boolean():
        return "truth"
    if of.is_date():
        return "date"
    if of.is_timestamp():
        return "time"
    raise AssertionError(f"no column of the type {of} enters.")


def kinds_of(table: ir.Table) -> dict[str, str]:
    """The kind of each column. No row is looked at."""
    return {name: kind_of(table[name]) for name in shown(table)}


def number(value: ir.Value) -> Any:
    """A tame double (sealed_entry.py); other kinds are refused. Whole numbers beyond 2^53 are rounded.

    A text is the number that is written there, or NULL. A text that the question itself says is a mistake.
    """
    kind = kind_of(value)
    if kind == "truth":
        return value.notnull().ifelse(value.ifelse(1.0, 0.0), ibis.null("float64"))
    if kind == "text":
        if (said := _said(value)) is not None:
            raise ParameterError(f"a number is needed in this place, and {said!r} is a text. Write it without quotes.")
        return tame(written_number(value))
    if kind not in ("whole", "real"):
        raise ParameterError(f"a number is needed in this place, and the expression gives a {kind}.")
    return value.cast("float64")


def day(value: ir.Value) -> Any:
    """A day; a time has one, a text is the day that is written there, or NULL. Other kinds are refused."""
    kind = kind_of(value)
    if kind == "date":
        return value
    if kind == "time":
        return value.cast("date")
    if kind != "text":
        raise ParameterError(f"a date is needed in this place, and the expression gives a {kind}.")
    return written_day(value) if (said := _said(value)) is None else ibis.literal(_day_said(said), type="date")


def _time(value: ir.Value) -> Any:
    """A time; a text is the time that is written there, or NULL. Other kinds are refused: a day has no hours."""
    kind = kind_of(value)
    if kind == "time":
        return value
    if kind != "text":
        raise ParameterError(f"a time is needed in this place, and the expression gives a {kind}.")
    return written_time(value) if (said := _said(value)) is None else _moment(_time_said(said))


def _moment(value: datetime) -> Any:
    return ibis.literal(value, type="timestamp")


def _text(value: ir.Value) -> Any:
    """A text; other kinds are refused."""
    if kind_of(value) != "text":
        raise ParameterError(f"a text is needed in this place, and the expression gives a {kind_of(value)}.")
    return value


def _said(value: ir.Value) -> Any:
    """The value itself, if the question says it; None for what is in the rows."""
    node = value.op()
    return node.value if isinstance(node, ops.Literal) else None


def _day_said(text: str) -> date:
    """A day that the question says as a text; refused if it is none."""
    if not re.fullmatch(DAY, text) or text.startswith("0000"):
        raise ParameterError(
            f"a date is needed in this place, and {text!r} is none. Write it as datetime.date(2024, 12, 31)."
        )
    return date.fromisoformat(text)


def _time_said(text: str) -> datetime:
    """A time that the question says as a text; refused if it is none."""
    if not re.fullmatch(TIME, text) or text.startswith("0000"):
        raise ParameterError(
            f"a time is needed in this place, and {text!r} is none. Write it as datetime.datetime(2024, 12, 31, 8, 15)."
        )
    return datetime.fromisoformat(text[:19])


def of_kind(value: ir.Value, kind: str) -> Any:
    """A value as one of the kind of public keys: a text may stand for a whole number or a day, NULL if it is none."""
    found = kind_of(value)
    if found == "text" and kind == "whole":
        return whole_of(number(value))
    if found in ("text", "time") and kind == "date":
        return day(value)
    if found != kind:
        raise ParameterError(f"keys are of the kind of their column: it holds a {found}, and they are each a {kind}.")
    return value


def whole_of(double: Any) -> Any:
    """A double that is a whole number as a 64-bit integer, and NULL for all others."""
    whole = (double == _floored(double)) & (double.abs() < _ALL_WHOLE)
    return whole.ifelse(double, ibis.null("float64")).cast("int64")


def clamped(value: Any, low: Any, high: Any) -> Any:
    """The value between two bounds; NULL stays NULL (`least` and `greatest` of the engines pass over it)."""
    return value.notnull().ifelse(between(value, low, high), ibis.null(value.type()))


def between(value: Any, low: Any, high: Any) -> Any:
    """The value between two bounds, and one of them for NULL: where there is none, or where a guard stands outside."""
    return ibis.greatest(ibis.least(value, high), low)


def different(existing: Iterable[str], new: Iterable[str]) -> None:
    """Refuse new names that an engine could take for existing ones, or for each other."""
    known = {folded(name): name for name in existing}
    for name in new:
        if known.setdefault(folded(name), name) != name:
            raise ParameterError(
                f"{name!r} and {known[folded(name)]!r} differ in upper and lower case only, and engines take them "
                "for one name. Choose another."
            )


def folded(name: str) -> str:
    """What names have in common that an engine may take for one: without regard to case, in no language's manner.

    Java, and Spark with it, takes i and ı for one letter, and i and İ, as both have the same upper or lower case; the
    case folding of Unicode keeps them apart.
    """
    return name.replace("İ", "i").replace("ı", "i").casefold()


def not_reserved(name: str) -> None:
    """Refuse a column name that could be one of ours, or that is no Unicode: an answer could not be written with it."""
    if not name or "\0" in name:
        raise ParameterError(
            f"names of columns are not empty and hold no NUL, at which some engines end them: {name!r}."
        )
    if folded(name).startswith(_RESERVED):
        raise ParameterError("no column may have a name that starts with 'dither ' or 'dither_'. Rename it.")
    if not is_unicode(name):
        raise ParameterError(f"names of columns must be Unicode: {name!r} holds half of a surrogate pair. Rename it.")


def shown(table: ir.Table) -> list[str]:
    """The names of the columns that questions may use."""
    return [name for name in table.columns if not name.startswith(_OURS)]


def missing_column(name: str, existing: list[str]) -> ParameterError:
    """The refusal of a name that is not there, with the one that is most like it."""
    near = get_close_matches(name.casefold(), {each.casefold(): each for each in existing}, 1)
    meant = next((f" Did you mean {each!r}?" for each in existing if near and each.casefold() == near[0]), "")
    return ParameterError(f"Column {name!r} is not found. Existing columns: {', '.join(existing)}.{meant}")


def _collect(expression: Expression, levels: dict[int, list[Operation]]) -> int:
    """Sort the operations of an expression by depth; the depth of this one."""
    if not isinstance(expression, Operation):
        return 0
    depth = 1 + max(_collect(part, levels) for part in expression.parts)
    levels.setdefault(depth, []).append(expression)
    return depth


def _value(expression: Expression, table: ir.Table, names: Mapping[int, str]) -> Any:
    if isinstance(expression, Operation):
        name = names.get(id(expression))
        if name is None:
            return _computed(expression, table, names)
        return tame(table[name]) if expression.verb in ARITHMETIC else table[name]
    if isinstance(expression, Literal):
        value = expression.value
        if isinstance(value, datetime):
            return _moment(value)
        of = {bool: "boolean", int: "int64", float: "float64", str: "string", date: "date"}[type(value)]
        is_tiny = isinstance(value, float) and abs(value) < SMALLEST
        return ibis.literal(0.0 if is_tiny else value, type=of)
    assert isinstance(expression, Column)
    if expression.name not in table.columns:
        raise missing_column(expression.name, shown(table))
    return table[expression.name]


def _computed(operation: Operation, table: ir.Table, names: Mapping[int, str]) -> Any:
    return _operation(operation, [_value(part, table, names) for part in operation.parts])


def _operation(operation: Operation, parts: list[Any]) -> Any:
    if operation.verb in COMPARISONS:
        return _compared(operation.verb, *parts)
    if operation.verb in ARITHMETIC:
        return _ARITHMETIC[operation.verb](*map(number, parts))
    if operation.verb in DATES:
        return _date_part(operation.verb, parts[0])
    if operation.verb in TIMES:
        return _of_time(operation.verb, *parts)
    if operation.verb in TEXTS:
        return _TEXTS[operation.verb](_text(parts[0]), *parts[1:])
    return _logic(operation.verb, parts) if operation.verb in LOGIC else _choice(operation.verb, parts)


def _floored(value: Any) -> Any:
    """The largest whole double not above. Engines find it as a 64-bit integer, so larger doubles, all whole, stay."""
    small = value.abs() < _ALL_WHOLE
    return small.ifelse(small.ifelse(value, 0.0).floor().cast("float64"), value)


def _rounded(value: Any) -> Any:
    """The nearest whole double, halves away from zero. What is added is 0 or 1, so that no sum is rounded itself."""
    whole = _floored(value.abs())
    return (value < 0).ifelse(-1.0, 1.0) * (whole + (value.abs() - whole >= 0.5).ifelse(1.0, 0.0))


def _root(value: Any) -> Any:
    return (value >= 0).ifelse(value, ibis.null("float64")).sqrt()


def _logarithm(value: Any) -> Any:
    """PostgreSQL fails on what is not positive; the guard is what it gets."""
    return (value > 0).ifelse(value, ibis.null("float64")).ln()


def _power(value: Any) -> Any:
    """e to a power between 1e-101 and 1e101, which tames: beyond, PostgreSQL fails."""
    return clamped(value, -_LARGEST_POWER, _LARGEST_POWER).exp()


_LARGEST_POWER: Final = 231.0
"""A little more than log(1e100)."""

_ARITHMETIC: Final[dict[str, Callable[..., Any]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b.nullif(0.0),
    "negative": lambda a: -a,
    "abs": lambda a: a.abs(),
    "floor": _floored,
    "round": _rounded,
    "sqrt": _root,
    "log": _logarithm,
    "exp": _power,
}


def _after(text: Any, part: Any) -> Any:
    """NULL where it is not found; there the engine counts from the begin, as some fail on a place before it."""
    found = text.find(part)
    return (found >= 0).ifelse(text.substr(ibis.greatest(found, 0) + len(_said(part))), ibis.null("string"))


_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TEXTS: Final[dict[str, Callable[..., Any]]] = {
    # By its letters: what engines take for the lower case of others depends on their locale and version.
    "lower": lambda text: builtin("translate", "string", text, ibis.literal(_UPPER), ibis.literal(_UPPER.lower())),
    "strip": lambda text: text.strip(),
    "starts_with": lambda text, begin: text.startswith(begin),
    "contains": lambda text, part: text.contains(part),
    "ends_with": lambda text, end: text.endswith(end),
    "after": _after,
    "left": lambda text, length: text.left(length),
}
"""Of a text of the rows and of a public part, which `RowFunctions` checks."""

_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _comparable(a: ir.Value, b: ir.Value) -> tuple[Any, Any]:
    """Two values of one kind; numbers of different kinds as doubles, a text as what it stands beside.

    A time beside a day is its day, so that all times of the last day of a range are in it.
    """
    kinds = kind_of(a), kind_of(b)
    if kinds[0] == kinds[1] and kinds[0] != "real":
        return a, b
    if set(kinds) <= {"whole", "real", "text"}:
        return number(a), number(b)
    if set(kinds) <= {"text", "date", "time"}:
        moments = "date" not in kinds and not any(_is_day(each) for each in (a, b))
        return (_time(a), _time(b)) if moments else (day(a), day(b))
    raise ParameterError(f"a {kinds[0]} does not go together with a {kinds[1]} here.")


def _is_day(value: ir.Value) -> bool:
    """Whether the question says it as a text that is a day: then a time beside it is compared by its day."""
    return kind_of(value) == "text" and re.fullmatch(DAY, _said(value) or "") is not None


def _compared(verb: str, a: ir.Value, b: ir.Value) -> Any:
    first, second = _comparable(a, b)
    if verb not in ("==", "!=") and kind_of(first) == "text":
        raise ParameterError("texts are compared by == and != only: their order differs between engines.")
    return _COMPARISONS[verb](first, second)


def _logic(verb: str, parts: list[Any]) -> Any:
    if verb == "is_null":
        return parts[0].isnull()
    if verb == "is_in":
        first, *others = parts
        found = _compared("==", first, others[0])
        for other in others[1:]:
            found = found | _compared("==", first, other)
        return found
    for part in parts:
        if kind_of(part) != "truth":
            raise ParameterError(f"'{verb}' joins conditions, and the expression gives a {kind_of(part)}.")
    if verb == "not":
        return ~parts[0]
    return parts[0] & parts[1] if verb == "and" else parts[0] | parts[1]


def _choice(verb: str, parts: list[Any]) -> Any:
    if verb == "coalesce":
        return ibis.coalesce(*_comparable(*parts))
    condition = parts[1] if verb == "where" else parts[0]
    if kind_of(condition) != "truth":
        raise ParameterError(f"{verb} asks a condition, and the expression gives a {kind_of(condition)}.")
    if verb == "where":
        return condition.fill_null(False).ifelse(parts[0], ibis.null(parts[0].type()))
    _, then, otherwise = parts
    then, otherwise = _comparable(then, otherwise)
    return condition.fill_null(False).ifelse(then, otherwise)


def _date_part(verb: str, value: Any) -> Any:
    found = day(value)
    part = found.day_of_week.index() if verb == "weekday" else getattr(found, verb)()
    return part.cast("int64")


def _of_time(verb: str, value: Any, unit: Any = None) -> Any:
    if verb != "date_trunc":
        return getattr(_time(value), verb)().cast("int64")
    if _said(unit) in DAY_UNITS:
        return _first_day(day(value), _said(unit))
    time = _time(value)
    minute = _two_digits(time.minute()) if _said(unit) == "minute" else "00"
    return time.cast("date").cast("string") + " " + _two_digits(time.hour()) + ":" + minute


def _first_day(found: Any, unit: str) -> Any:
    return (
        found
        if unit == "day"
        else as_type(found.truncate({"week": "W", "month": "M", "quarter": "Q", "year": "Y"}[unit]), "date")
    )


def _two_digits(number: Any) -> Any:
    return (number.cast("int64") + 100).cast("string").right(2)
