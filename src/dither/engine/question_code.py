"""A question as Python that makes it again: what `dither sql --plan` shows of a compiled text."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from dither.tables import Column, Expression
from dither.tables.expression import Literal, Operation

__all__ = ["calls", "expression_code", "keys_code", "named_code"]

_BETWEEN: Final = {"and": "&", "or": "|"}
_BEFORE: Final = {"not": "~", "negative": "-"}
_OPERATORS: Final = ("+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", *_BETWEEN)
_MOST_KEYS: Final = 50


def expression_code(expression: Expression) -> str:
    """An expression as it is written in Python.

    >>> from dither.tables import col
    >>> expression_code((col("age") >= 18) & ~col("city").is_in(["Lyon"]))
    "((dp.col('age') >= 18) & (~dp.col('city').is_in(['Lyon'])))"
    """
    if isinstance(expression, Column):
        return f"dp.col({expression.name!r})"
    if isinstance(expression, Literal):
        return repr(expression.value)
    assert isinstance(expression, Operation)
    verb, parts = expression.verb, [expression_code(part) for part in expression.parts]
    if verb in _OPERATORS:
        return f"({parts[0]} {_BETWEEN.get(verb, verb)} {parts[1]})"
    if verb in _BEFORE:
        return f"({_BEFORE[verb]}{parts[0]})"
    if verb in ("abs", "if_else"):
        return f"{'dp.' if verb == 'if_else' else ''}{verb}({', '.join(parts)})"
    if verb == "is_in":
        return f"{parts[0]}.is_in([{', '.join(parts[1:])}])"
    return f"{parts[0]}.{verb}({', '.join(parts[1:])})"


def named_code(named: Mapping[str, Any]) -> str:
    """Expressions and aggregates by name, as the arguments of a call."""
    written = {name: _code(each) for name, each in named.items()}
    plain = {name: code for name, code in written.items() if name.isidentifier() and not keyword.iskeyword(name)}
    others = {name: code for name, code in written.items() if name not in plain}
    said = [f"{name}={code}" for name, code in plain.items()]
    if others:
        said.append("**{" + ", ".join(f"{name!r}: {code}" for name, code in others.items()) + "}")
    return ", ".join(said)


def _code(each: Any) -> str:
    """An aggregate is written as the ledger writes it, with its column as Python writes it."""
    if isinstance(each, Expression):
        return expression_code(each)
    of, written = getattr(each, "of", None), str(each)
    if of is not None:
        head, _, rest = written.partition(str(of))
        written = head + (repr(of.name) if isinstance(of, Column) else expression_code(of)) + rest
    return f"dp.{written}"


def keys_code(public: pa.Table) -> str:
    """Public keys as an argument of `group_by`; many of them by their number alone."""
    if public.num_rows > _MOST_KEYS:
        return f"keys=...  # {public.num_rows} public keys"
    columns = public.to_pydict()
    if len(columns) == 1:
        return f"keys={next(iter(columns.values()))!r}"
    return f"keys={list(zip(*columns.values(), strict=True))!r}"


def calls(made: tuple[str, ...], aggregates: Mapping[str, Any]) -> str:
    """The whole question, a line for each call."""
    lines = [*made, f".agg({named_code(aggregates)})"]
    return "(\n    data" + "".join(f"\n    {line}" for line in lines) + "\n)"
