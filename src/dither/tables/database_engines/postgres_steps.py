"""Steps of a question that PostgreSQL computes one after the other.

PostgreSQL pulls a SELECT into the one around it. What is named twice there is then computed twice, and four times one
step further: to plan a chain of twenty `if_else` would take all memory there is, before a row is read. A SELECT with an
OFFSET is not pulled up, and one of 0 leaves out no rows. It keeps the query in one process, so it stands only where an
expression would get more than `MOST_PARTS` parts with all that it names written out. Then no expression of the plan has
more parts than that, or than its own step says: the plan grows with the question, and not exponentially in its steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from sqlglot import expressions as glot

__all__ = ["MOST_PARTS", "fence"]

MOST_PARTS: Final = 400
"""A few times what the entry of a double has."""

_KEEP_APART: Final = ("group", "distinct", "having", "limit", "offset")
"""With one of these a SELECT is a step of its own already."""

_Parts = dict[str, int]
"""How many parts each column of a relation has, written out. One that is not listed has one: it is a column."""


def fence(query: glot.Expression) -> None:
    """Set the OFFSETs that a query needs."""
    fences = _Fences({each.alias: each.this for each in query.find_all(glot.CTE)})
    for select in query.find_all(glot.Select):
        fences.parts(select)


class _Fences:
    """The SELECTs of a query, with the sizes of their columns."""

    def __init__(self, named: Mapping[str, glot.Expression]) -> None:
        self._named = named
        self._known: dict[int, _Parts] = {}

    def parts(self, relation: glot.Expression) -> _Parts:
        """The sizes of the columns of a relation, after what it reads is fenced where that is needed."""
        if not isinstance(relation, glot.Select):
            return {}  # a table, or a union, which is a step of its own
        if id(relation) not in self._known:
            read = {each.alias_or_name: self._behind(each) for each in _sources(relation)}
            below = {alias: self.parts(each) for alias, each in read.items()}
            if max(_size(each, below) for each in _computed(relation)) > MOST_PARTS:
                for alias, each in read.items():
                    self._set_apart(each, below.pop(alias))
            self._known[id(relation)] = {} if _is_apart(relation) else _columns(relation, below)
        return self._known[id(relation)]

    def _behind(self, source: glot.Expression) -> glot.Expression:
        """What is read: a SELECT in brackets or with a name, or a table."""
        return source.this if isinstance(source, glot.Subquery) else self._named.get(source.name, source)

    def _set_apart(self, relation: glot.Expression, parts: _Parts) -> None:
        if any(size > 1 for size in parts.values()):
            relation.set("offset", glot.Offset(expression=glot.Literal.number(0)))
            self._known[id(relation)] = {}


def _is_apart(select: glot.Select) -> bool:
    computes_over_rows = any(each.find(glot.AggFunc, glot.Window) for each in select.expressions)
    return computes_over_rows or any(select.args.get(name) for name in _KEEP_APART)


def _sources(select: glot.Select) -> Iterator[glot.Expression]:
    """What stands behind FROM and JOIN."""
    for name in ("from_", "joins"):
        found = select.args.get(name) or []
        yield from (each.this for each in (found if isinstance(found, list) else [found]))


def _computed(select: glot.Select) -> Iterator[glot.Expression]:
    """The expressions of a SELECT: its columns and its conditions."""
    yield from select.expressions
    conditions = [select.args.get("where"), *(join.args.get("on") for join in select.args.get("joins") or [])]
    yield from (each for each in conditions if each is not None)


def _columns(select: glot.Select, below: Mapping[str, _Parts]) -> _Parts:
    sizes: _Parts = {}
    for each in select.expressions:
        if each.is_star:
            handed_on = [below.get(each.table, {})] if isinstance(each, glot.Column) else below.values()
            for parts in handed_on:
                sizes |= parts
        else:
            sizes[each.alias_or_name] = _size(each.unalias(), below)
    return sizes


def _size(expression: glot.Expression, below: Mapping[str, _Parts]) -> int:
    """The number of parts of an expression in which each column is written out."""
    nodes = expression.walk(prune=lambda node: isinstance(node, glot.Column))
    return sum(
        below.get(node.table, {}).get(node.name, 1) if isinstance(node, glot.Column) else 1
        for node in nodes
        if not isinstance(node, glot.Identifier | glot.DataType)
    )
