"""One SELECT → the query and the aggregates that answer it, and what is made of the noisy answers."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dither.engine.aggregate import Aggregate
from dither.engine.domains import values_of
from dither.engine.sql.after_noise import (
    Combined,
    End,
    Known,
    Made,
    NoisyColumn,
    OfKey,
    Ordering,
    Presentation,
    RolledUp,
)
from dither.engine.sql.aggregates import is_aggregate
from dither.engine.sql.from_clause import Named, SelectedRows, from_clause, output_name, within
from dither.engine.sql.grouping import sets_of
from dither.engine.sql.joins import PublicTable, SqlTable
from dither.engine.sql.refusal import INSTEAD, refused
from dither.engine.sql.row_values import decimal_digits, matching, of_rows, said, small, value_of
from dither.tables import Column, Expression, folded
from dither.unit import Person

if TYPE_CHECKING:
    from dither.engine.query import Query

__all__ = ["Selected", "selected"]

_CLAUSES: Final = {"expressions", "from_", "joins", "where", "with_", "group", "having", "order", "limit", "offset"}
_ENDS: Final = {"DP_INTERVAL_LOW": False, "DP_INTERVAL_HIGH": True}
_VERBS: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Neg: "negative", exp.Abs: "abs", exp.Sqrt: "sqrt",
    exp.Floor: "floor", exp.Ceil: "ceil", exp.Round: "round", exp.Least: "least", exp.Greatest: "greatest",
    exp.Nullif: "nullif", exp.Coalesce: "coalesce", exp.SafeDivide: "/",
    exp.EQ: "==", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
    exp.And: "and", exp.Or: "or", exp.Not: "not",
}  # fmt: skip
"""The whitelist of what is done with noisy answers."""
_MADE_OF_PARTS: Final = (*_VERBS, exp.Is, exp.Between, exp.In, exp.Case, exp.If, exp.Cast)
_BETWEEN: Final = (
    "between aggregates there are + - * /, ABS, SQRT, FLOOR, CEIL, ROUND, LEAST, GREATEST, NULLIF, COALESCE, CASE, IF, "
    "CAST to numbers, and conditions."
)


@dataclass(frozen=True)
class Selected:
    """What a text means."""

    query: Query
    aggregates: Mapping[str, Aggregate]
    presentation: Presentation


def selected(tree: exp.Expr, query: Query) -> Selected:
    """Compile the outermost SELECT about the rows of a query."""
    while isinstance(tree, exp.Subquery | exp.Paren):
        tree = within(tree)
    if not isinstance(tree, exp.Select):
        raise refused(tree, "one SELECT is answered. UNION ALL and the like are not.")
    named = _named(query)
    rows = from_clause(tree, named, _CLAUSES)
    return _Select(tree, rows).compiled()


def _named(query: Query) -> Named:
    """The tables of the dataset and its public ones; `data` and the table's own name are the rows of the query."""
    origin = query.origin
    others = {small(name): SqlTable.of(query.table(name)) for name in origin.tables if name != origin.table_name}
    public = {small(name): PublicTable(rows) for name, rows in origin.public.items()}
    own = SqlTable.of(query)
    return {**public, **others, "data": own, small(origin.table_name): own}


@dataclass
class _Select:
    """One SELECT while it is read: aggregates are collected as they are met."""

    select: exp.Select
    rows: SelectedRows
    keys: dict[str, Expression] = field(default_factory=dict)
    """The groups, by their names in the query."""
    sets: list[list[str]] = field(default_factory=list)
    """The groups of each level: one, unless the text has ROLLUP or the like."""
    level: str | None = None
    """The column that tells several sets apart."""
    aggregates: dict[str, Aggregate] = field(default_factory=dict)
    shown: dict[str, Made] = field(default_factory=dict)
    is_ordering: bool = False
    """Whether ORDER BY is read, which is about the columns of SELECT."""

    def compiled(self) -> Selected:
        names = self._names()
        self._group(names)
        for name, item in names.items():
            self.shown[name] = self._made(item, wanted=name)
        self._check_ends()
        if not self.aggregates:
            raise refused(self.select, "rows are not shown. Ask for an aggregate, such as COUNT(*).")
        having = self.select.args.get("having")
        kept = None if having is None else self._made(having.this)
        self.is_ordering = True
        order = tuple(self._ordering(each) for each in getattr(self.select.args.get("order"), "expressions", ()))
        limit, offset = self._number("limit"), self._number("offset")
        presentation = Presentation(dict(self.shown), kept, order, limit, offset or 0)
        return Selected(self._grouped(), dict(self.aggregates), presentation)

    def _names(self) -> dict[str, exp.Expr]:
        found: dict[str, exp.Expr] = {}
        for item in self.select.expressions:
            if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
                raise refused(item, "rows are not shown. Ask for an aggregate, such as COUNT(*).", "*")
            found[output_name(item, found)] = item.unalias()
        return found

    def _check_ends(self) -> None:
        """Refuse a column that has the name of an interval's end, and another value."""
        for name, made in self.shown.items():
            for end in ("_low", "_high") if made.noisy and not isinstance(made, End) else ():
                other = self.shown.get(name + end)
                if other is not None and other != End(made, end == "_high"):
                    raise refused(
                        self.select,
                        f"{name + end!r} is an end of the interval of {name!r}. Rename one by AS.",
                        "SELECT",
                    )

    def _group(self, names: Mapping[str, exp.Expr]) -> None:
        group = self.select.args.get("group")
        if group is None:
            return
        sets, known = sets_of(group), dict[exp.Expr, str]()
        for node in itertools.chain(*sets):
            if node not in known:
                known[node] = self._grouped_by(node, names)
        self.sets = [[known[node] for node in each] for each in sets]
        if len(sets) > 1:
            self.level = self._free("level")

    def _grouped_by(self, node: exp.Expr, names: Mapping[str, exp.Expr]) -> str:
        """The name of a group in the query: a column keeps its own, and others get one that no column has."""
        name, of = self._group_of(node, names)
        if is_aggregate(of):
            raise refused(node, "groups are made of columns, not of aggregates.", "GROUP BY")
        value = of_rows(value_of(of, self.rows.scope))
        if str(value) in map(str, self.keys.values()):
            raise refused(node, f"{name!r} is grouped by twice.", "GROUP BY")
        name = value.name if isinstance(value, Column) else self._free(name)
        self.keys[name] = value
        return name

    def _free(self, name: str) -> str:
        taken = {folded(each) for each in (*self.rows.query.columns, *self.keys)}
        number = 2
        while folded(name) in taken:
            name, number = f"{name}_{number}", number + 1
        return name

    def _group_of(self, node: exp.Expr, names: Mapping[str, exp.Expr]) -> tuple[str, exp.Expr]:
        """A group by its place in SELECT, by its alias there, or as it is written."""
        number = said(node)
        if isinstance(number, int) and not isinstance(number, bool):
            if not 1 <= number <= len(names):
                raise refused(node, f"GROUP BY {number} is none of the {len(names)} columns of SELECT.", "GROUP BY")
            return list(names.items())[number - 1]
        if isinstance(node, exp.Column) and (name := self._alias(node, names)) is not None:
            of = names[name]
            if not self.rows.scope.has(node) or (not is_aggregate(of) and self._same(of, node)):
                return name, of
            if not any(is_aggregate(each) for each in of.walk()):
                raise refused(
                    node, f"{name!r} is a column, and the name of another value in SELECT. Write its place, as in "
                    "GROUP BY 1, or the table before the column.", "GROUP BY"
                )  # fmt: skip
        for name, of in names.items():
            if not any(is_aggregate(each) for each in of.walk()) and self._same(of, node):
                return name, of
        return output_name(node, self.keys), node

    def _same(self, first: exp.Expr, second: exp.Expr) -> bool:
        return str(value_of(first, self.rows.scope)) == str(value_of(second, self.rows.scope))

    def _made(self, node: exp.Expr, wanted: str | None = None) -> Made:
        """What is made of keys and noisy answers: of a SELECT item, of HAVING or of ORDER BY."""
        if isinstance(node, exp.Paren):
            return self._made(node.this, wanted)
        if isinstance(node, exp.Grouping):
            return self._rolled_up(node)
        if is_aggregate(node):
            return self._noisy(node, wanted)
        if isinstance(node, exp.Anonymous) and str(node.this).upper() in _ENDS:
            return self._end(node)
        if (name := self._shown_as(node)) is not None:
            return self.shown[name]
        value = said(node)
        if value is not None:
            return Known(float(value) if isinstance(value, Decimal) else value)
        if not any(is_aggregate(each) or self._is_shown(each) for each in node.walk()):
            key = self._known_key(node)
            if key is not None:
                return key
            if not isinstance(node, _MADE_OF_PARTS):
                raise refused(node, "it is neither grouped by nor within an aggregate. Add it to GROUP BY.")
        return self._combined(node)

    def _is_shown(self, node: exp.Expr) -> bool:
        is_end = isinstance(node, exp.Anonymous) and str(node.this).upper() in _ENDS
        return is_end or self._shown_as(node) is not None

    @staticmethod
    def _alias(node: exp.Column, names: Mapping[str, object]) -> str | None:
        """The column of SELECT that a name means, if it may be one."""
        found = matching(names, node.this) if isinstance(node.this, exp.Identifier) and not node.table else []
        if len(found) > 1:
            raise refused(node, f"{node.name!r} may be several columns of SELECT. Rename one by AS.")
        return found[0] if found else None

    def _shown_as(self, node: exp.Expr) -> str | None:
        """The column of SELECT that a name means. In SELECT and HAVING, one that is grouped by goes first."""
        name = self._alias(node, self.shown) if isinstance(node, exp.Column) else None
        if name is None or self.is_ordering or not isinstance(node, exp.Column) or not self.rows.scope.has(node):
            return name
        value = str(of_rows(value_of(node, self.rows.scope)))
        return None if value in map(str, self.keys.values()) else name

    def _known_key(self, node: exp.Expr) -> OfKey | None:
        """The group that has this value, as it is written; None if none has, though one may have its parts."""
        value = str(of_rows(value_of(node, self.rows.scope)))
        return next((OfKey(name) for name, key in self.keys.items() if str(key) == value), None)

    def _rolled_up(self, node: exp.Grouping) -> RolledUp:
        """GROUPING(city): 1 where a row of the answer is a total over all cities."""
        key = self._made(node.expressions[0]) if len(node.expressions) == 1 else None
        if not isinstance(key, OfKey) or self.level is None:
            raise refused(node, "it takes one column of GROUP BY ROLLUP (...), as in GROUPING(city).", "GROUPING")
        return RolledUp(self.level, frozenset(at for at, each in enumerate(self.sets) if key.name not in each))

    def _combined(self, node: exp.Expr) -> Combined:
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return Combined("is_null", (self._made(node.this),))
        if isinstance(node, exp.Between):
            low, high = (Combined(verb, (self._made(node.this), self._made(node.args[end])))
                         for verb, end in ((">=", "low"), ("<=", "high")))  # fmt: skip
            return Combined("and", (low, high))
        if isinstance(node, exp.In) and node.expressions and node.args.get("query") is None:
            equal = [Combined("==", (self._made(node.this), self._made(each))) for each in node.expressions]
            return functools.reduce(lambda first, second: Combined("or", (first, second)), equal)
        if isinstance(node, exp.Case | exp.If):
            return self._case(node)
        if isinstance(node, exp.Cast):
            return self._cast(node)
        verb = _VERBS.get(type(node))
        if verb is None:
            raise refused(node, INSTEAD.get(type(node), _BETWEEN))
        parts = [node.this, *([node.expression] if node.args.get("expression") else []), *node.expressions]
        if (digits := node.args.get("decimals")) is not None:
            if not isinstance(said(digits), int):
                raise refused(node, "ROUND takes a number of digits, as in ROUND(AVG(x), 2).")
            parts.append(digits)
        return Combined(verb, tuple(self._made(part) for part in parts))

    def _case(self, node: exp.Case | exp.If) -> Combined:
        """CASE of noisy answers: which branch it is depends on the noise, so it has no interval."""
        branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        parts: list[Made] = []
        for each in branches:
            condition = self._made(each.this)
            if isinstance(node, exp.Case) and node.this is not None:
                condition = Combined("==", (self._made(node.this), condition))
            parts += [condition, self._chosen(each.args["true"])]
        default = node.args.get("default" if isinstance(node, exp.Case) else "false")
        return Combined("case", (*parts, Known(None) if default is None else self._chosen(default)))

    def _chosen(self, node: exp.Expr) -> Made:
        return Known(None) if isinstance(node, exp.Null) else self._made(node)

    def _cast(self, node: exp.Cast) -> Combined:
        """A noisy answer as a number of another kind; whole numbers are the nearest ones."""
        of = self._made(node.this)
        if node.to.is_type(*exp.DataType.REAL_TYPES):
            digits = decimal_digits(node)
            return Combined("+", (of, Known(0.0))) if digits is None else Combined("round", (of, Known(digits)))
        if node.to.is_type(*exp.DataType.INTEGER_TYPES):
            return Combined("whole", (of,))
        raise refused(node, "between aggregates CAST is to DOUBLE or to BIGINT. For digits write ROUND(x, 2).")

    def _noisy(self, node: exp.Expr, wanted: str | None) -> NoisyColumn:
        """An aggregate; the same one is asked once."""
        aggregate = self.rows.asked.aggregate(node)
        for name, each in self.aggregates.items():
            if str(each) == str(aggregate):
                return NoisyColumn(name)
        base = wanted or output_name(node, {})
        taken = {*self.keys, self.level, *(f"{name}{end}" for name in self.aggregates for end in ("", "_low", "_high"))}
        name, number = base, 2
        while taken & {name, f"{name}_low", f"{name}_high"}:
            name, number = f"{base}_{number}", number + 1
        self.aggregates[name] = aggregate
        return NoisyColumn(name)

    def _end(self, node: exp.Anonymous) -> End:
        if len(node.expressions) != 1:
            raise refused(node, "it takes one answer, as in DP_INTERVAL_LOW(n).", str(node.this).upper())
        return End(self._made(node.expressions[0]), _ENDS[str(node.this).upper()])

    def _ordering(self, node: exp.Expr) -> Ordering:
        assert isinstance(node, exp.Ordered)
        if node.args.get("with_fill"):
            raise refused(node, "it takes a column, with DESC and NULLS FIRST or LAST.", "ORDER BY")
        number = said(node.this)
        falling, first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
        if isinstance(number, int) and not isinstance(number, bool):
            if not 1 <= number <= len(self.shown):
                raise refused(
                    node, f"ORDER BY {number} is none of the {len(self.shown)} columns of SELECT.", "ORDER BY"
                )
            return Ordering(list(self.shown.values())[number - 1], falling, first)
        return Ordering(self._made(node.this), falling, first)

    def _number(self, clause: str) -> int | None:
        node = self.select.args.get(clause)
        if node is None:
            return None
        if any(given for name, given in node.args.items() if name != "expression"):
            raise refused(node, "it takes a whole number, and nothing besides.", clause.upper())
        number = said(node.expression) if node.expression is not None else None
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise refused(node, "it takes a whole number.", clause.upper())
        return number

    def _grouped(self) -> Query:
        """The query with its groups, which are public where all their values are known."""
        query = self.rows.query
        if not self.keys:
            return query
        made = {name: of for name, of in self.keys.items() if not isinstance(of, Column)}
        values = {name: values_of(of, query.domains) for name, of in self.keys.items()}
        known = {name: list(each) for name, each in values.items() if each is not None}
        keys = known if len(known) == len(values) else None
        if keys is None:
            self._check_shared()
        rows = query.with_columns(**made) if made else query
        if self.level is not None:
            return rows.grouping_sets(*self.sets, keys=keys, level=self.level)
        return rows.group_by(*self.keys, keys=keys)

    def _check_shared(self) -> None:
        """Refuse groups that have one person each: they would be paid for, and none would be shown."""
        query = self.rows.query
        unit = query.origin.unit
        persons = {unit.column} if isinstance(unit, Person) else set()
        ends = {end for key in query.origin.keys for end in ((key.table, key.column), (key.parent, key.key))}
        for name, of in self.keys.items():
            if isinstance(of, Column) and (of.name in persons or query.lineage.own.get(of.name) in ends):
                raise refused(
                    self.select.args["group"], f"groups by {name!r} have one person each, so that none would be shown. "
                    "Group by what many people share.", "GROUP BY"
                )  # fmt: skip
