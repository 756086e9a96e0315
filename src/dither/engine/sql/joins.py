"""FROM with several tables: which equalities join them, in which order, and that people stay apart.

Inner joins and tables behind commas may come in any order: they are joined where an equality of the text allows it, and
what is left of ON and WHERE is a condition on the joined rows. Private tables are joined by person or along a foreign
key (`dither.engine.join_rules`), public ones on anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from dither.engine.domains import domain_of
from dither.engine.join_rules import MIXED, foreign_key, with_private, with_public
from dither.engine.sql.refusal import refused
from dither.engine.sql.row_values import Scope, of_rows, value_of
from dither.tables import Column, Expression, shown
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query

__all__ = ["Joined", "JoinedRows", "PublicTable", "SqlTable", "conjuncts"]

_MARK: Final = "\0"
_NO_PEOPLE: Final = "public tables alone have no people. Ask them as they are, or put a private table into this FROM."
_MOST_BRANCHES: Final = 16
"""Of an OR, so that a text with a long one is read no slower."""
_HOW: Final = "JOIN ... ON, LEFT JOIN ... ON and tables behind commas are answered."


@dataclass(frozen=True)
class SqlTable:
    """Rows with the columns that a text may name. Each is an expression of the rows below: nothing is computed yet."""

    query: Query
    columns: Mapping[str, Expression]
    attached: frozenset[str] = frozenset()
    """The column of the person, where the table does not have it and a foreign key says who it is."""

    @classmethod
    def of(cls, query: Query) -> SqlTable:
        """All rows of a query, by the names of its columns."""
        origin = query.origin
        own = origin.tables[origin.table_name].source.columns if origin.table_name in origin.tables else query.columns
        person = {origin.unit.column} if isinstance(origin.unit, Person) else set()
        return cls(query, {name: Column(name) for name in query.columns}, frozenset(person - {*own}))

    def renamed(self, names: Sequence[str]) -> SqlTable | None:
        """The same columns by other names, as in `AS t (a, b)`; None if there are not as many."""
        if len(names) != len(self.columns) or len(set(names)) < len(names):
            return None
        return SqlTable(self.query, dict(zip(names, self.columns.values(), strict=True)))

    def computed(self) -> Query:
        """The rows with these columns by their names, and what is known of them."""
        made = {
            name: of_rows(of) for name, of in self.columns.items() if not (isinstance(of, Column) and of.name == name)
        }
        if not made:
            return self.query
        known = {name: domain_of(of, self.query.domains) for name, of in made.items()}
        query = self.query.with_columns(**made)
        return replace(query, domains={**query.domains, **known})


@dataclass(frozen=True)
class PublicTable:
    """A table that is not protected."""

    rows: pa.Table

    @property
    def columns(self) -> Mapping[str, Expression]:
        """By name."""
        return {name: Column(name) for name in self.rows.column_names}


@dataclass(frozen=True)
class Joined:
    """One table of FROM: the name it has there, how it is joined, and on what."""

    alias: str
    relation: SqlTable | PublicTable
    node: exp.Expr
    is_left: bool = False
    on: tuple[exp.Expr, ...] = ()

    @classmethod
    def by(cls, join: exp.Join, relation: SqlTable | PublicTable, alias: str) -> Joined:
        """What a JOIN says."""
        kind, side = str(join.args.get("kind") or ""), str(join.args.get("side") or "")
        extra = [name for name in ("method", "using", "global", "hint", "match_condition") if join.args.get(name)]
        if extra or kind not in ("", "INNER", "OUTER") or side not in ("", "LEFT") or (kind == "OUTER" and not side):
            raise refused(
                join, f"{_HOW} For USING (x) write ON a.x = b.x; a RIGHT JOIN is a LEFT JOIN turned round.", "JOIN"
            )
        on = tuple(conjuncts(join.args.get("on")))
        if side and not on:
            raise refused(join, "a LEFT JOIN needs ON.", "JOIN")
        return cls(alias, relation, join, bool(side), on)


def conjuncts(node: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that all must hold; those that every branch of an OR has among them."""
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.And | exp.Or | exp.Paren):
        yield from conjuncts(node.this)
    elif isinstance(node, exp.Or):
        branches = [[each for each in conjuncts(branch) if isinstance(each, exp.EQ)] for branch in _branches(node)]
        yield from (each for each in branches[0] if all(each in others for others in branches[1:]))
        yield node
    elif isinstance(node, exp.And):
        yield from conjuncts(node.this)
        yield from conjuncts(node.expression)
    elif node is not None:
        yield node


def _branches(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions of which one must hold."""
    if isinstance(node, exp.Or):
        yield from _branches(node.this)
        yield from _branches(node.expression)
    elif isinstance(node, exp.Paren):
        yield from _branches(node.this)
    else:
        yield node


@dataclass
class JoinedRows:
    """Tables while they are joined: the rows so far, and what the columns of each table are called there."""

    members: tuple[Joined, ...]
    conditions: list[exp.Expr]
    """Of ON and WHERE, as long as they are not met by a join."""
    query: Any = None
    tables: dict[str, dict[str, Expression]] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """The columns of all tables that are joined."""
        return self._visible(self.tables)

    def _visible(self, tables: Mapping[str, Mapping[str, Expression]]) -> Scope:
        """Without the columns of persons that foreign keys attached, where a table has it itself."""
        hidden = _hidden(self.members)
        return Scope(
            {alias: {name: of for name, of in columns.items() if (alias, name) not in hidden}
             for alias, columns in tables.items()}
        )  # fmt: skip

    def all_joined(self) -> tuple[Query, Scope]:
        """Join all of them, and leave in `conditions` what the joined rows have to meet still."""
        first_left = next((at for at, each in enumerate(self.members) if each.is_left), len(self.members))
        inner = [*self.members[:first_left]]
        start = next((each for each in inner if isinstance(each.relation, SqlTable)), None)
        if start is None:
            raise refused(self.members[0].node, _NO_PEOPLE)
        self.conditions += [each for member in inner for each in member.on]
        self.conditions += self._implied([member.alias for member in inner])
        inner = [self._only_wanted(member) for member in inner]
        start = next(each for each in inner if isinstance(each.relation, SqlTable))
        self._begin(start)
        inner.remove(start)
        while inner:
            inner.remove(self._next(inner))
        for member in self.members[first_left:]:
            if member.is_left:
                self._left(member)
            else:
                self.conditions += member.on
                self._next([member])
        return self.query, self.scope

    def _begin(self, first: Joined) -> None:
        assert isinstance(first.relation, SqlTable)
        self.query = first.relation.query
        self.tables = {first.alias: dict(first.relation.columns)}

    def _next(self, waiting: list[Joined]) -> Joined:
        """Join the first table that an equality leads to; private ones before public ones."""
        ordered = sorted(waiting, key=lambda each: isinstance(each.relation, PublicTable))
        for member in ordered:
            pairs, used = self._pairs(member, self.conditions)
            if self._may_join(member, pairs):
                self._join(member, pairs, "inner")
                self.conditions = [each for each in self.conditions if not any(each is met for met in used)]
                return member
        if any(isinstance(each.relation, SqlTable) for each in waiting):
            raise refused(ordered[0].node, MIXED, ordered[0].alias)
        raise refused(
            ordered[0].node, "a join needs an equality of columns, as in ON a.city = b.city.", ordered[0].alias
        )

    def _left(self, member: Joined) -> None:
        pairs, used = self._pairs(member, list(member.on))
        if not self._may_join(member, pairs):
            raise refused(member.node, MIXED if isinstance(member.relation, SqlTable) else _HOW, member.alias)
        self._join(self._only_matching(member, used), pairs, "left")

    def _implied(self, aliases: Sequence[str]) -> list[exp.Expr]:
        """What an OR over several tables says of each alone: (a.x AND b.y) OR (a.z AND b.w) holds only if a.x OR a.z.

        The OR itself stays a condition, so no row is kept for it; fewer rows are joined.
        """
        everything = self._visible({each.alias: _marked(each.alias, each.relation.columns) for each in self.members})
        found: list[exp.Expr] = []
        for condition in self.conditions:
            branches = list(_branches(condition))
            if not 1 < len(branches) <= _MOST_BRANCHES or len(_tables(condition, everything)) < 2:
                continue
            about = [[(_tables(each, everything), each) for each in conjuncts(branch)] for branch in branches]
            for alias in aliases:
                own = [[each for tables, each in branch if tables == {alias}] for branch in about]
                if all(own):
                    found.append(exp.or_(*(exp.and_(*(each.copy() for each in branch)) for branch in own)))
        return found

    def _only_wanted(self, member: Joined) -> Joined:
        """A private table with those of its rows alone for which the conditions hold that are about it: joins are
        quicker after that."""
        if not isinstance(member.relation, SqlTable):
            return member
        everything = self._visible({each.alias: _marked(each.alias, each.relation.columns) for each in self.members})
        about_it = [each for each in self.conditions if _tables(each, everything) == {member.alias}]
        if not about_it:
            return member
        scope = Scope({member.alias: member.relation.columns})
        kept = member.relation.query.where(*(of_rows(value_of(each, scope)) for each in about_it))
        self.conditions = [each for each in self.conditions if not any(each is met for met in about_it)]
        return replace(member, relation=replace(member.relation, query=kept))

    def _only_matching(self, member: Joined, used: list[exp.Expr]) -> Joined:
        """The table of a LEFT JOIN with those of its rows alone for which conditions of ON hold that are about it."""
        others = [each for each in member.on if not any(each is met for met in used)]
        if not others:
            return member
        relation = member.relation
        scope = Scope({member.alias: relation.columns})
        about_it = all(scope.has(column) for each in others for column in each.find_all(exp.Column))
        if not about_it or not isinstance(relation, SqlTable):
            raise refused(
                member.node, "ON of a LEFT JOIN takes equalities of columns of both tables, and conditions on the "
                "joined table alone, if it is private.", member.alias
            )  # fmt: skip
        kept = relation.query.where(*(of_rows(value_of(each, scope)) for each in others))
        return replace(member, relation=replace(relation, query=kept))

    def _pairs(self, member: Joined, conditions: Iterable[exp.Expr]) -> tuple[dict[str, str], list[exp.Expr]]:
        """Equalities between plain columns of the rows so far and of another table, and where they stand."""
        everything = {name: _marked(name, columns) for name, columns in self.tables.items()}
        scope = self._visible({**everything, member.alias: _marked(member.alias, member.relation.columns)})
        pairs: dict[str, str] = {}
        used: list[exp.Expr] = []
        for each in conditions:
            if not isinstance(each, exp.EQ) or not all(
                isinstance(side, exp.Column) and scope.has(side) for side in (each.this, each.expression)
            ):
                continue
            ends = [str(scope.column(side).name).split(_MARK) for side in (each.this, each.expression)]  # type: ignore[attr-defined]
            ends.sort(key=lambda end: end[0] == member.alias)
            (table, mine), (other, theirs) = ends
            found = self.tables[table][mine] if table in self.tables else None
            right = member.relation.columns.get(theirs)
            is_pair = other == member.alias and table != other and isinstance(right, Column)
            if is_pair and isinstance(found, Column) and found.name not in pairs:
                pairs[found.name] = theirs
                used.append(each)
        return pairs, used

    def _may_join(self, member: Joined, pairs: Mapping[str, str]) -> bool:
        """Whether people stay apart; `with_private` asks the same once more."""
        if isinstance(member.relation, PublicTable):
            return bool(pairs)
        unit, other = self.query.origin.unit, member.relation
        if not isinstance(unit, Person):
            return bool(pairs)  # refused there
        below = {mine: _below(other.columns[theirs]) for mine, theirs in pairs.items()}
        return any(
            mine == theirs == unit.column
            or foreign_key(
                self.query.origin.keys, self.query.lineage.own.get(mine), other.query.lineage.own.get(theirs)
            )
            for mine, theirs in below.items()
        )

    def _join(self, member: Joined, pairs: Mapping[str, str], how: str) -> None:
        if isinstance(member.relation, PublicTable):
            self._join_public(member.alias, member.relation.rows, pairs, how)
        else:
            self._join_private(member.alias, member.relation, pairs, how)

    def _join_public(self, alias: str, rows: pa.Table, pairs: Mapping[str, str], how: str) -> None:
        taken = shown(self.query._table)
        found: dict[str, Expression] = {}
        for mine, theirs in pairs.items():
            found[theirs] = Column(mine)
            if how == "left":  # NULL where nothing is found, which the column of the rows is not
                found[theirs] = Column(f"{alias}.{theirs}")
                rows = rows.append_column(f"{alias}.{theirs}", rows.column(theirs))
        self.query = with_public(self.query, rows, pairs, how, alias)
        for name in rows.column_names:
            if name not in pairs.values() and not name.startswith(f"{alias}."):
                found[name] = Column(f"{alias}.{name}" if name in taken else name)
        self.tables[alias] = found

    def _join_private(self, alias: str, table: SqlTable, pairs: Mapping[str, str], how: str) -> None:
        """Computed columns are made before, so that they are NULL where nothing is found."""
        person = self.query.origin.unit.column
        query, columns = table.query, dict(table.columns)
        made = {
            f"{alias}.{name}": of
            for name, of in columns.items()
            if not isinstance(of, Column) or (how == "left" and of.name == person)
        }
        if made:
            known = {name: domain_of(of, query.domains) for name, of in made.items()}
            query = query.with_columns(**made)
            query = replace(query, domains={**query.domains, **known})
            columns |= {name: Column(f"{alias}.{name}") for name in columns if f"{alias}.{name}" in made}
        taken = shown(self.query._table)
        on = {mine: _below(table.columns[theirs]) for mine, theirs in pairs.items()}
        self.query = with_private(self.query, query, on, how, alias)

        def called(of: Expression) -> Expression:
            name = _below(of)
            return Column(name if name == person or name not in taken else f"{alias}.{name}")

        self.tables[alias] = {name: called(of) for name, of in columns.items()}


def _tables(condition: exp.Expr, scope: Scope) -> set[str]:
    """The tables that a condition is about, by the columns that it names; none if one of them is not known."""
    if condition.find(exp.Select) is not None:
        return set()
    named = list(condition.find_all(exp.Column))
    if not all(scope.has(column) for column in named):
        return set()
    found = [scope.column(column) for column in named]
    return {_below(each).split(_MARK)[0] for each in found}


def _hidden(members: Sequence[Joined]) -> set[tuple[str, str]]:
    """The columns of persons that tables of FROM do not have themselves, where another one has it, or had it before."""
    seen = [name for each in members for name in each.relation.columns if name not in _attached(each)]
    found = set()
    for each in members:
        found |= {(each.alias, name) for name in _attached(each) if name in seen}
        seen += _attached(each)
    return found


def _attached(member: Joined) -> frozenset[str]:
    return member.relation.attached if isinstance(member.relation, SqlTable) else frozenset()


def _below(column: Expression) -> str:
    assert isinstance(column, Column)
    return column.name


def _marked(alias: str, columns: Mapping[str, Expression]) -> dict[str, Expression]:
    """Columns by which the scope tells the table and the name that were meant."""
    return {name: Column(f"{alias}{_MARK}{name}") for name in columns}
