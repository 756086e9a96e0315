"""What stands in FROM: rows that keep their person. Tables, subqueries, and one row per person."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlglot import exp

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import Edge
from dither.engine.domains import Domain, Domains
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.sql.aggregates import SqlAggregates, is_aggregate
from dither.engine.sql.joins import Joined, JoinedRows, PublicTable, SqlTable, conjuncts
from dither.engine.sql.refusal import refused
from dither.engine.sql.row_values import Scope, said, value_of
from dither.tables import Column, Expression
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query

__all__ = ["Named", "from_clause", "output_name"]

Named: TypeAlias = Mapping[str, SqlTable | PublicTable]
"""The tables that a text may name, in small letters."""

_ROWS_ONLY: Final = {"expressions", "from_", "joins", "where", "with_"}
_GROUPED: Final = _ROWS_ONLY | {"group", "having"}


@dataclass(frozen=True)
class SelectedRows:
    """The rows of one SELECT: those of FROM, of which WHERE keeps some, and the names that it may use."""

    query: Query
    scope: Scope

    @property
    def asked(self) -> SqlAggregates:
        """What aggregates are asked of."""
        return SqlAggregates(self.scope, self.query.domains, self.query.origin.unit)


def from_clause(select: exp.Select, named: Named, allowed: set[str]) -> SelectedRows:
    """The rows that a SELECT speaks of. Clauses that are not among those allowed are refused."""
    for clause, written in select.args.items():
        if written and clause not in allowed:
            raise refused(_first(written, select), _CLAUSES.get(clause, "this clause is not answered."), clause.upper())
    named = {**named, **_with(select, named)}
    found = select.args.get("from_")
    if found is None:
        raise refused(select, "a question is about the rows of a table: SELECT ... FROM data.")
    relation, alias = _table(found.this, named)
    where = select.args.get("where")
    if select.args.get("joins"):
        return _joined(select, Joined(alias, relation, found.this), named)
    if isinstance(relation, PublicTable):
        raise refused(found.this, "a public table has no people. Ask it as it is, without dither.", alias)
    rows = SelectedRows(relation.query, Scope({alias: relation.columns}))
    if where is None or said(where.this) is True:
        return rows
    return replace(rows, query=rows.query.where(value_of(where.this, rows.scope)))


def _joined(select: exp.Select, first: Joined, named: Named) -> SelectedRows:
    """The rows of several tables, joined, of which WHERE keeps some."""
    members = [first]
    for join in select.args["joins"]:
        relation, alias = _table(join.this, named)
        if any(alias.lower() == each.alias.lower() for each in members):
            raise refused(join, f"two tables are called {alias!r}. Give one another name: {alias} AS other.", "JOIN")
        members.append(Joined.by(join, relation, alias))
    where = select.args.get("where")
    joining = JoinedRows(tuple(members), list(conjuncts(where.this)) if where is not None else [])
    query, scope = joining.all_joined()
    kept = [value_of(each, scope) for each in joining.conditions]
    return SelectedRows(query.where(*kept) if kept else query, scope)


_CLAUSES: Final = {
    "distinct": "SELECT DISTINCT shows rows. Group by these columns and count: GROUP BY city.",
    "qualify": "windows look at other rows.",
    "windows": "windows look at other rows.",
    "order": "rows inside of FROM have no order that shows. Order the answer instead.",
    "limit": "which rows a LIMIT keeps depends on other rows. Put it at the end of the text.",
    "offset": "which rows an OFFSET keeps depends on other rows. Put it at the end of the text.",
    "group": "groups in FROM are answered by person only: GROUP BY the column of the privacy unit.",
}


def _first(said: Any, select: exp.Select) -> exp.Expr:
    first = said[0] if isinstance(said, list) else said
    return first if isinstance(first, exp.Expr) else select


def _with(select: exp.Select, named: Named) -> dict[str, SqlTable]:
    clause = select.args.get("with_")
    found: dict[str, SqlTable] = {}
    if clause is None:
        return found
    if clause.args.get("recursive"):
        raise refused(clause, "WITH RECURSIVE is not answered.")
    for each in clause.expressions:
        if each.args["alias"].columns:
            raise refused(each, "name the columns inside of the parentheses: SELECT a AS b.")
        found[each.alias.lower()] = _rows(each.this, {**named, **found})
    return found


def _table(node: exp.Expr, named: Named) -> tuple[SqlTable | PublicTable, str]:
    """A table of FROM, and the name by which its columns may be called."""
    if isinstance(node, exp.Subquery):
        return _rows(node.this, named), node.alias or "subquery"
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise refused(node, "FROM takes a table, or a SELECT in parentheses.")
    extra = [name for name, said in node.args.items() if said and name not in ("this", "alias")]
    if extra:
        raise refused(node, f"FROM takes the bare name of a table, without {extra[0]}.")
    relation = named.get(node.name.lower())
    if relation is None:
        raise refused(node, f"there is no table {node.name[:80]!r}. There are: {', '.join(named)}.")
    return relation, node.alias or node.name


def _rows(node: exp.Expr, named: Named) -> SqlTable:
    """A SELECT inside of FROM: rows with other columns, or one row of each person."""
    if isinstance(node, exp.Subquery):
        return _rows(node.this, named)
    if not isinstance(node, exp.Select):
        raise refused(node, "FROM takes a table, or a SELECT in parentheses.")
    if node.args.get("group") is not None:
        return _per_person(node, named)
    rows = from_clause(node, named, _ROWS_ONLY)
    columns: dict[str, Expression] = {}
    for item in node.expressions:
        if isinstance(item, exp.Star):
            columns |= rows.scope.all()
            continue
        if any(is_aggregate(each) for each in item.walk()):
            raise refused(
                item, "an aggregate inside of FROM is of each person: add GROUP BY the privacy unit's column."
            )
        columns[output_name(item, columns)] = value_of(item.unalias(), rows.scope)
    return SqlTable(rows.query, columns)


def _per_person(select: exp.Select, named: Named) -> SqlTable:
    """`SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid`: one row of each person, with nothing released."""
    rows = from_clause(select, named, _GROUPED)
    unit = rows.query.origin.unit
    by = [value_of(each, rows.scope) for each in select.args["group"].expressions]
    is_person = isinstance(unit, Person) and len(by) == 1 and isinstance(by[0], Column) and by[0].name == unit.column
    if not is_person:
        raise refused(select.args["group"], _CLAUSES["group"], "GROUP BY")
    assert isinstance(unit, Person)
    made: dict[str, Aggregate] = {}
    columns: dict[str, Expression] = {}
    for item in select.expressions:
        name, of = output_name(item, columns), item.unalias()
        if is_aggregate(of):
            made[name] = rows.asked.aggregate(of)
            columns[name] = Column(name)
        elif str(value_of(of, rows.scope)) == str(by[0]):
            columns[name] = Column(unit.column)
        else:
            raise refused(item, "beside the person, each column of a GROUP BY in FROM is an aggregate.")
    if not made:
        raise refused(select, "a GROUP BY in FROM asks for an aggregate of each person, such as COUNT(*) AS n.")
    query = replace(rows.query.per_person(**made), domains=_within_person(made))
    return _having(select, SqlTable(query, columns))


def _within_person(made: Mapping[str, Aggregate]) -> Domains:
    """A mean, a least and a largest value of a person lie within the bounds of the values; a count has no upper end."""
    known = {name: Domain(bounds=(0, math.inf)) for name, each in made.items() if isinstance(each, Count)}
    known |= {name: Domain(bounds=_of_sum(*each.bounds)) for name, each in made.items() if isinstance(each, Total)}
    inside = {name: each.bounds for name, each in made.items() if isinstance(each, Mean | Edge)}
    return {**known, **{name: Domain(bounds=each) for name, each in inside.items() if each is not None}}


def _of_sum(low: Any, high: Any) -> tuple[Any, Any]:
    """What a sum of any number of values, or of none, can be."""
    return (0 if low >= 0 else -math.inf), (0 if high <= 0 else math.inf)


def _having(select: exp.Select, relation: SqlTable) -> SqlTable:
    """Which persons are kept: a condition on the columns of their one row."""
    having = select.args.get("having")
    if having is None:
        return relation
    if any(is_aggregate(each) for each in having.walk()):
        raise refused(having, "name the aggregate in SELECT, and write its name here: COUNT(*) AS n ... HAVING n > 2.")
    kept = relation.query.where(value_of(having.this, Scope({"": relation.columns})))
    return replace(relation, query=replace(kept, domains=relation.query.domains))


def output_name(item: exp.Expr, taken: Mapping[str, Any]) -> str:
    """The name of a column of SELECT: its alias, its column, or the name of its function."""
    if item.alias:
        if item.alias in taken:
            raise refused(item, f"two columns are called {item.alias!r}. Rename one by AS.")
        return str(item.alias)
    of = item.unalias()
    if isinstance(of, exp.Column):
        wanted = of.name
    else:
        inner = of.find(exp.Column)
        function = of.find(exp.Func)
        wanted = "_".join(part for part in (_function_name(function), inner.name if inner is not None else "") if part)
    name, number = wanted or "value", 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _function_name(node: exp.Func | None) -> str:
    if node is None:
        return ""
    return str(node.this if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
