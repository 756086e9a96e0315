"""Questions in Python → the texts that a request holds, which are those of a description.

The service reads them by the grammar of the command line (`cli/conditions.py`, `cli/aggregates.py`), so that nothing
can be asked from afar that may not be asked there. A test reads back what is written here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, Final

from dither.engine import AGGREGATES, Bins
from dither.engine.aggregate import Aggregate
from dither.errors import ParameterError
from dither.exact import in_words, rational
from dither.tables import Column, Expression
from dither.tables.expression import Literal, Operation

__all__ = ["aggregate_text", "expression_text", "group_text", "key_value"]

_BETWEEN: Final = {"==": "=", **{sign: sign for sign in ("+", "-", "*", "/", "!=", "<", "<=", ">", ">=", "and", "or")}}

_WORDS: Final = ("and", "or", "not", "is", "in", "null", "true", "false", "between", "date", "time", "bins")
"""What a plain word means something else as."""


def expression_text(expression: Expression) -> str:
    """A value of a row.

    >>> from dither.tables import col
    >>> expression_text((col("age") >= 18) & ~col("city").is_in(["Lyon", "L'Aquila"]))
    "((age >= 18) and (not (city in ('Lyon', 'L''Aquila'))))"
    """
    if isinstance(expression, Column):
        return _name(expression.name)
    if isinstance(expression, Literal):
        return _literal(expression.value)
    assert isinstance(expression, Operation)
    verb, parts = expression.verb, [expression_text(part) for part in expression.parts]
    if verb in _BETWEEN:
        return f"({parts[0]} {_BETWEEN[verb]} {parts[1]})"
    if verb == "not":
        return f"(not {parts[0]})"
    if verb == "negative":
        return f"(-({parts[0]}))"
    if verb == "is_null":
        return f"({parts[0]} is null)"
    if verb == "is_in":
        return f"({parts[0]} in ({', '.join(parts[1:])}))"
    if verb == "where":
        raise ParameterError("a value under a condition cannot be asked of a service. Use dp.if_else or where.")
    return f"{verb}({', '.join(parts)})"


def aggregate_text(aggregate: Aggregate) -> str:
    """What is asked of each group.

    >>> import dither as dp
    >>> aggregate_text(dp.quantile("spend", [0.25, 0.5], bounds=(0, 200)))
    'quantile(spend, [0.25, 0.5], 0, 200)'
    """
    verb = _verb(aggregate)
    parameters = [name for name in inspect.signature(AGGREGATES[verb]).parameters if name != "of"]
    bins = getattr(aggregate, "bins", None)
    of = getattr(aggregate, "of", None) if bins is None else bins.of
    if of is None:
        return verb
    said = [_PARAMETERS[name](aggregate) for name in parameters]
    return f"{verb}({', '.join([expression_text(of), *(each for each in said if each)])})"


def group_text(column: str | Bins) -> str:
    """What to group by."""
    if isinstance(column, str):
        return _name(column)
    return f"{_name(column.name)} = bins({expression_text(column.of)}, [{', '.join(map(_edge, column.edges))}])"


def key_value(key: Any) -> Any:
    """A public key as JSON holds it; a day is a text of ten signs, as in a file."""
    if isinstance(key, datetime) or not isinstance(key, str | int | date):
        raise ParameterError(f"a key is a text, a whole number, a day, or true or false, got {type(key).__name__}.")
    return key.isoformat() if isinstance(key, date) else key


def _verb(aggregate: Aggregate) -> str:
    return str(aggregate).partition("(")[0].partition(" ")[0]


def _bounds(aggregate: Any) -> str:
    return "" if aggregate.bounds is None else ", ".join(map(_number, aggregate.bounds))


def _to_bounds(aggregate: Any) -> str:
    return ", ".join(map(_number, aggregate.to_bounds))


def _probability(aggregate: Any) -> str:
    said = [_number(each) for each in aggregate.probabilities]
    return said[0] if aggregate.alone else f"[{', '.join(said)}]"


def _interval_level(aggregate: Any) -> str:
    level = aggregate.interval_level
    return "" if level is None else f"interval={_number(level)}"


def _candidates(aggregate: Any) -> str:
    among = aggregate.candidates
    return "" if among is None else f"[{', '.join(_literal(each) for each in among.to_pylist())}]"


_PARAMETERS: Final[Mapping[str, Callable[[Any], str]]] = {
    "bounds": _bounds,
    "candidates": _candidates,
    "clip": lambda aggregate: "clip=true" if aggregate.clip else "",
    "edges": lambda aggregate: f"[{', '.join(map(_edge, aggregate.bins.edges))}]",
    "interval_level": _interval_level,
    "number": lambda aggregate: str(aggregate.number),
    "probability": _probability,
    "to": lambda aggregate: expression_text(aggregate.to),
    "to_bounds": _to_bounds,
}
"""How each parameter is written, after the column: as `cli/aggregates.py` reads it."""


def _name(name: str) -> str:
    is_plain = name.isidentifier() and name.isascii() and name.lower() not in _WORDS
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):
        return f"time '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"date '{value.isoformat()}'"
    return repr(value)


def _edge(edge: Any) -> str:
    return f"date '{edge.isoformat()}'" if isinstance(edge, date) else _number(edge)


def _number(value: Any) -> str:
    written = in_words(rational(value))
    if "/" in written:
        raise ParameterError(f"numbers that are asked of a service are decimals, got {written}. Round it.")
    return written
