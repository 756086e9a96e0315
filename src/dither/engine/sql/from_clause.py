"""What stands in FROM: rows that keep their person. Tables, subqueries, and one row per person."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlglot import exp

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import Edge
from dither.engine.domains import Domain, Domains
from dither.engine.join_rules import with_private
from dither.engine.moment_aggregates import Count, Mean, Total
from dither.engine.sql.aggregates import SqlAggregates, is_aggregate
from dither.engine.sql.grouping import sets_of
from dither.engine.sql.joins import Joined, JoinedRows, PublicTable, SqlTable, conjuncts
from dither.engine.sql.refusal import refused
from dither.engine.sql.row_values import Scope, of_rows, said, small, value_of
from dither.tables import Column, Expression
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query

__all__ = ["Named", "from_clause", "output_name", "within"]

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
    first = Joined(alias, relation, found.this)
    where = select.args.get("where")
    conditions = [] if where is None or said(where.this) is True else [where.this]
    if any(_matching(each) for each in conditions[0].walk()) if conditions else False:
        conditions = list(conjuncts(conditions[0]))
    if select.args.get("joins"):
        rows, conditions = _joined(select, first, named)
    elif isinstance(relation, PublicTable):
        raise refused(found.this, "a public table has no people. Ask it as it is, without dither.", alias)
    else:
        rows = SelectedRows(relation.query, Scope({alias: relation.columns}))
    return _kept(rows, conditions, named)


def _kept(rows: SelectedRows, conditions: Sequence[exp.Expr], named: Named) -> SelectedRows:
    """The rows for which all conditions hold; first those that ask for rows of another table."""
    for each in filter(_matching, conditions):
        rows = matched(rows, each, named)
    kept = [of_rows(value_of(each, rows.scope)) for each in conditions if not _matching(each)]
    return replace(rows, query=rows.query.where(*kept)) if kept else rows


def _matching(node: exp.Expr) -> bool:
    """Whether a condition asks for rows of another table: EXISTS, NOT EXISTS, or IN (SELECT ...)."""
    node = node.this if isinstance(node, exp.Not | exp.Paren) else node
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


def matched(rows: SelectedRows, node: exp.Expr, named: Named) -> SelectedRows:
    """The rows that find one in a subquery, or none: by equalities between a column of each."""
    is_not = isinstance(node, exp.Not)
    asked = node.this if isinstance(node, exp.Not | exp.Paren) else node
    inner = asked.args["query"] if isinstance(asked, exp.In) else asked.this
    select = inner.this if isinstance(inner, exp.Subquery) else inner
    if not isinstance(select, exp.Select) or (is_not and isinstance(asked, exp.In)):
        raise refused(node, "write NOT EXISTS (SELECT ... WHERE a.x = b.x): NOT IN is about NULL as well.")
    aggregate = next((each for item in select.expressions for each in item.walk() if is_aggregate(each)), None)
    if aggregate is not None:
        raise refused(aggregate, "a subquery of WHERE asks for rows: an aggregate of none is a row as well.")
    own, links = _split(select, named)
    if isinstance(asked, exp.In):
        if len(select.expressions) != 1:
            raise refused(node, "IN (SELECT ...) takes one column.")
        links.append(exp.EQ(this=select.expressions[0].unalias(), expression=asked.this))
    alone = select.copy()
    if isinstance(distinct := select.args.get("distinct"), exp.Distinct) and not distinct.args.get("on"):
        alone.set("distinct", None)  # whether there is a row does not depend on it
    alone.set("where", exp.Where(this=exp.and_(*own)) if own else None)
    found = from_clause(alone, named, _ROWS_ONLY)
    pairs: dict[str, str] = {}
    for link in links:
        ends = [link.this, link.expression]
        if not isinstance(link, exp.EQ) or not all(isinstance(end, exp.Column) for end in ends):
            raise refused(link, "a subquery of WHERE is tied to the rows by equalities of columns, as in a.x = b.x.")
        if isinstance(asked, exp.Exists):
            ends.sort(key=found.scope.has, reverse=True)
        theirs, mine = found.scope.column(ends[0]), rows.scope.column(ends[1])
        if not isinstance(theirs, Column) or not isinstance(mine, Column):
            raise refused(link, "a subquery of WHERE is tied to the rows by columns as they are, not by computed ones.")
        pairs[mine.name] = theirs.name
    if not pairs:
        raise refused(node, "a subquery of WHERE needs an equality with a column of the rows, as in a.x = b.x.")
    return replace(rows, query=with_private(rows.query, found.query, pairs, "anti" if is_not else "semi"))


def _split(select: exp.Select, named: Named) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The conditions of a subquery that are about its own tables alone, and the others. A name means a column of its
    own tables first; one that a foreign key only attached to them does not count."""
    begin, where = select.args.get("from_"), select.args.get("where")
    tables: dict[str, Mapping[str, Expression]] = {}
    for each in [] if begin is None else [begin, *select.args.get("joins", ())]:
        relation, alias = _table(each.this, named)
        attached = relation.attached if isinstance(relation, SqlTable) else ()
        tables[alias] = {name: of for name, of in relation.columns.items() if name not in attached}
    scope = Scope(tables)
    found = list(conjuncts(where.this)) if where is not None else []
    own = [each for each in found if all(scope.has(column) for column in each.find_all(exp.Column))]
    return own, [each for each in found if not any(each is one for one in own)]


def _joined(select: exp.Select, first: Joined, named: Named) -> tuple[SelectedRows, list[exp.Expr]]:
    """The rows of several tables, joined, and the conditions that they have to meet still."""
    members = [first]
    for join in select.args["joins"]:
        relation, alias = _table(join.this, named)
        if any(small(alias) == small(each.alias) for each in members):
            raise refused(join, f"two tables are called {alias!r}. Give one another name: {alias} AS other.", "JOIN")
        members.append(Joined.by(join, relation, alias))
    where = select.args.get("where")
    joining = JoinedRows(tuple(members), list(conjuncts(where.this)) if where is not None else [])
    query, scope = joining.all_joined()
    return SelectedRows(query, scope), joining.conditions


_CLAUSES: Final = {
    "distinct": "SELECT DISTINCT shows rows. Group by these columns and count: GROUP BY city.",
    "qualify": "windows look at other rows.",
    "windows": "windows look at other rows.",
    "order": "rows inside of FROM have no order that shows. Order the answer instead.",
    "limit": "which rows a LIMIT keeps depends on other rows. Put it at the end of the text.",
    "offset": "which rows an OFFSET keeps depends on other rows. Put it at the end of the text.",
    "group": (
        "groups in FROM are answered by person only: GROUP BY the column of the privacy unit. Other groups mix people: "
        "ask for them at the end of the text, with ORDER BY and LIMIT there."
    ),
}


def _first(said: Any, otherwise: exp.Expr) -> exp.Expr:
    first = said[0] if isinstance(said, list) else said
    return first if isinstance(first, exp.Expr) else otherwise


def _with(select: exp.Select | exp.Union, named: Named) -> dict[str, SqlTable]:
    clause = select.args.get("with_")
    found: dict[str, SqlTable] = {}
    if clause is None:
        return found
    if clause.args.get("recursive"):
        raise refused(clause, "WITH RECURSIVE is not answered.")
    for each in clause.expressions:
        if small(each.alias) in found:
            raise refused(each, "WITH has two tables of this name. Rename one.", each.alias)
        found[small(each.alias)] = _renamed(_rows(each.this, {**named, **found}), each)
    return found


def _renamed(table: SqlTable, node: exp.Expr) -> SqlTable:
    """The table with the names of its columns that stand behind its own, as in `AS t (a, b)`."""
    alias = node.args.get("alias")
    names = [each.name for each in alias.columns] if alias is not None else []
    made = table.renamed(names) if names else table
    if made is None:
        raise refused(
            node, f"it has {len(table.columns)} columns, and other names for {len(names)} of them.", node.alias
        )
    return made


def _table(node: exp.Expr, named: Named) -> tuple[SqlTable | PublicTable, str]:
    """A table of FROM, and the name by which its columns may be called."""
    if isinstance(node, exp.Subquery):
        return _renamed(_rows(node, named), node), node.alias or "subquery"
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise refused(node, "FROM takes a table, or a SELECT in parentheses.")
    extra = [name for name, said in node.args.items() if said and name not in ("this", "alias")]
    if extra:
        raise refused(node, f"FROM takes the bare name of a table, without {extra[0]}.")
    relation = named.get(small(node.name))
    if relation is None:
        raise refused(node, f"there is no table {node.name[:80]!r}. There are: {', '.join(named)}.")
    if isinstance(relation, SqlTable):
        return _renamed(relation, node), node.alias or node.name
    return relation, node.alias or node.name


def within(node: exp.Subquery | exp.Paren) -> exp.Expr:
    """What stands in parentheses; refused if more is said of it behind them, as in (SELECT ...) LIMIT 5."""
    for clause, written in node.args.items():
        if written and clause not in ("this", "alias"):
            raise refused(_first(written, node), "it stands within the parentheses of its SELECT.", clause.upper())
    found: exp.Expr = node.this
    return found


def _rows(node: exp.Expr, named: Named) -> SqlTable:
    """A SELECT inside of FROM: rows with other columns, or one row of each person."""
    if isinstance(node, exp.Subquery):
        return _rows(within(node), named)
    if isinstance(node, exp.Union):
        return _union(node, named)
    if not isinstance(node, exp.Select):
        raise refused(node, "FROM takes a table, or a SELECT in parentheses.")
    if node.args.get("group") is not None:
        return _per_person(node, named)
    rows = from_clause(node, named, _ROWS_ONLY)
    columns: dict[str, Expression] = {}
    for item in node.expressions:
        if isinstance(item, exp.Star):
            columns |= {name: of for name, of in rows.scope.all().items() if name not in columns}
            continue
        if any(is_aggregate(each) for each in item.walk()):
            raise refused(
                item, "an aggregate inside of FROM is of each person: add GROUP BY the privacy unit's column."
            )
        columns[output_name(item, columns)] = value_of(item.unalias(), rows.scope)
    return SqlTable(rows.query, columns)


def _union(node: exp.Union, named: Named) -> SqlTable:
    """Rows below each other, by the names of the first SELECT."""
    extra = [name for name, given in node.args.items() if given and name not in ("this", "expression", "with_")]
    if extra:
        raise refused(node, f"UNION ALL is answered, without {extra[0].upper()}.", "UNION")
    named = {**named, **_with(node, named)}
    first, second = (_rows(each, named) for each in (node.this, node.expression))
    other = second.renamed(list(first.columns))
    if other is None:
        raise refused(node, f"one SELECT has {len(first.columns)} columns, the other {len(second.columns)}.", "UNION")
    query = first.computed().union(other.computed())
    lost = [name for name in first.columns if name not in query.columns]
    if lost:
        raise refused(
            node, f"the column {lost[0]!r} is of one kind in one SELECT, and of another in the other.", "UNION"
        )
    return SqlTable(query, {name: Column(name) for name in first.columns})


def _per_person(select: exp.Select, named: Named) -> SqlTable:
    """`SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid`: one row of each person, with nothing released."""
    rows = from_clause(select, named, _GROUPED)
    unit = rows.query.origin.unit
    sets = sets_of(select.args["group"])
    by = [value_of(each, rows.scope) for each in sets[0]]
    is_alone = len(sets) == len(by) == 1
    is_person = isinstance(unit, Person) and is_alone and isinstance(by[0], Column) and by[0].name == unit.column
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
    sums = {name: each.bounds for name, each in made.items() if isinstance(each, Total)}
    known |= {name: Domain(bounds=_of_sum(*each)) for name, each in sums.items() if each is not None}
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
    kept = relation.query.where(of_rows(value_of(having.this, Scope({"": relation.columns}))))
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
