"""A question as it is written down: in words for the ledger, and as Python that makes it again.

An entry of the ledger holds "question; unit". A text literal, or a name, may hold "; " as well, so the unit is written
without any semicolon: the last "; " stands before it, whatever the question says. So they come apart one way.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from dither.tables import Column, Expression
from dither.tables.expression import Literal, Operation

__all__ = [
    "aggregates_text",
    "calls",
    "charged_text",
    "expression_code",
    "in_quotes",
    "keys_code",
    "named_code",
    "question_and_unit",
]

_SEPARATOR: Final = "; "
_ESCAPES: Final = {"\\": "\\\\", ";": "\\x3b"}
_MEANT: Final = {written: meant for meant, written in _ESCAPES.items()}
_BETWEEN: Final = {"and": "&", "or": "|"}
_BEFORE: Final = {"not": "~", "negative": "-"}
_OPERATORS: Final = ("+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", *_BETWEEN)
_MOST_KEYS: Final = 50
_MOST_LISTED: Final = 100


def charged_text(question: str, unit: str) -> str:
    r"""Both as one text for an entry of the ledger.

    >>> charged_text("n = count()", "add or remove one person (by id)")
    'n = count(); add or remove one person (by id)'
    >>> question_and_unit(charged_text("where (city == 'a; b')", "one person (by c; d)"))
    ("where (city == 'a; b')", 'one person (by c; d)')
    """
    written = re.sub(r"[;\\]", lambda found: _ESCAPES[found[0]], unit)
    return f"{question}{_SEPARATOR}{written}"


def question_and_unit(text: str) -> tuple[str, str]:
    """What `charged_text` was given; no other question and unit have this text."""
    question, _, unit = text.rpartition(_SEPARATOR)
    return question, re.sub(r"\\\\|\\x3b", lambda found: _MEANT[found[0]], unit)


def in_quotes(name: str) -> str:
    """A name as a question says it: as it is, or in quotes where it could be read as other words of the question.

    >>> in_quotes("spend"), in_quotes("spend = count(), n")
    ('spend', "'spend = count(), n'")
    """
    return name if name.isidentifier() else repr(name)


def aggregates_text(aggregates: Mapping[str, object]) -> str:
    """What is asked of each group, as a question says it."""
    return ", ".join(f"{in_quotes(name)} = {aggregate}" for name, aggregate in aggregates.items())


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
    head, rest = "dp.", str(each)
    for of in (getattr(part, "of", None) for part in each.made_of):
        if of is not None:
            before, _, rest = rest.partition(str(of))
            head += before + (repr(of.name) if isinstance(of, Column) else expression_code(of))
    return head + rest


def keys_code(public: pa.Table) -> str:
    """Public keys as an argument of `group_by`: a list, or many as lists whose values are all combined, or dots."""
    if public.num_rows > _MOST_KEYS:
        lists = {name: public.column(name).unique().to_pylist() for name in public.column_names}
        are_combined = math.prod(map(len, lists.values())) == public.num_rows
        return f"keys={lists!r}" if are_combined and sum(map(len, lists.values())) <= _MOST_LISTED else "keys=..."
    columns = public.to_pydict()
    if len(columns) == 1:
        return f"keys={next(iter(columns.values()))!r}"
    return f"keys={list(zip(*columns.values(), strict=True))!r}"


def calls(made: tuple[str, ...], aggregates: Mapping[str, Any]) -> str:
    """The whole question, a line for each call."""
    lines = [*made, f".agg({named_code(aggregates)})"]
    return "(\n    data" + "".join(f"\n    {line}" for line in lines) + "\n)"
