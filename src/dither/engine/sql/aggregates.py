"""Aggregates of SQL → aggregates of dither, with bounds from the text or from the privacy domains."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from dither.engine import distribution_aggregates as distribution
from dither.engine import moment_aggregates as moments
from dither.engine.aggregate import Aggregate, Bounds
from dither.engine.domains import Domains, range_of
from dither.engine.sql.parsing import PER_GROUP, PER_ROW
from dither.engine.sql.refusal import refused
from dither.engine.sql.row_values import Scope, of_rows, said, value_of
from dither.errors import ParameterError
from dither.exact import rational
from dither.tables import Column, Expression, if_else
from dither.unit import Person, TableUnit

__all__ = ["SqlAggregates", "is_aggregate"]

_OF_BOUNDS: Final[dict[type[exp.Expr], Callable[..., Aggregate]]] = {
    exp.Sum: moments.sum,
    exp.Avg: moments.mean,
    exp.Stddev: moments.std,
    exp.StddevPop: moments.std,
    exp.StddevSamp: moments.std,
    exp.Variance: moments.variance,
    exp.VariancePop: moments.variance,
    exp.Median: distribution.median,
    exp.Min: distribution.min,
    exp.Max: distribution.max,
}
_QUANTILES: Final = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile, exp.ApproxQuantiles)
_NAMED: Final = ("QUANTILE_CONT", "QUANTILE_DISC", "APPROX_PERCENTILE", "ANON_COUNT", "ANON_SUM", "ANON_AVG")
"""Aggregates that the parser does not know, by name."""
_DIGITS: Final = 12
_KNOWN: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Count: frozenset({"this", "expressions", "big_int"}),
    exp.Quantile: frozenset({"this", "quantile"}),
    exp.ApproxQuantile: frozenset({"this", "quantile"}),
    exp.Filter: frozenset({"this", "expression"}),
    exp.WithinGroup: frozenset({"this", "expression"}),
    exp.Anonymous: frozenset({"this", "expressions"}),
    **dict.fromkeys((exp.PercentileCont, exp.PercentileDisc, exp.ApproxQuantiles), frozenset({"this", "expression"})),
}
"""What an aggregate may say, where that is more than a value: MAX(x, 2) is no MAX(x)."""


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is answered with noise: an aggregate, with FILTER or WITHIN GROUP around it."""
    if isinstance(node, exp.Filter | exp.WithinGroup):
        return is_aggregate(node.this)
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() in _NAMED
    return isinstance(node, exp.AggFunc)


@dataclass(frozen=True)
class SqlAggregates:
    """What aggregates are asked of: the columns, what is known of them, and whose they are."""

    scope: Scope
    domains: Domains
    unit: TableUnit

    def aggregate(self, node: exp.Expr) -> Aggregate:
        """The aggregate of dither that a node means."""
        if isinstance(node, exp.Filter) and said(node.expression.this) is True:
            return self._of(node.this, None)
        if isinstance(node, exp.Filter):
            return self._of(node.this, of_rows(value_of(node.expression.this, self.scope)))
        return self._of(node, None)

    def _of(self, node: exp.Expr, only: Expression | None) -> Aggregate:
        taken = _KNOWN.get(type(node), frozenset({"this"}))
        if any(given for name, given in node.args.items() if name not in taken):
            raise refused(node, "it takes one value here, as in MAX(x).")
        if isinstance(node, exp.WithinGroup):
            return self._within_group(node, only)
        if isinstance(node, exp.Count):
            return self._count(node, only)
        if isinstance(node, exp.CountIf):
            condition = of_rows(value_of(node.this, self.scope))
            return _count_of(condition if only is None else condition & only)
        if isinstance(node, exp.ApproxDistinct):
            return self._distinct(node.this, only)
        if isinstance(node, _QUANTILES):
            return self._quantile(node, node.this, node.args.get("expression") or node.args.get("quantile"), only)
        if isinstance(node, exp.Anonymous):
            return self._named(node, only)
        function = _OF_BOUNDS.get(type(node))
        if function is None:
            known = "COUNT, SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_CONT, STDDEV, VARIANCE and COUNT(DISTINCT x)"
            raise refused(node, f"this aggregate is not answered. Those that are: {known}.")
        return self._bounded(function, node, node.this, only)

    def _named(self, node: exp.Anonymous, only: Expression | None) -> Aggregate:
        name = str(node.this).upper()
        if name.startswith("ANON_"):
            raise refused(node, "write the plain aggregate instead: COUNT, SUM or AVG. Each answer is private.", name)
        if len(node.expressions) != 2:
            raise refused(node, "write the value and its part, as in QUANTILE_CONT(x, 0.9).", name)
        return self._quantile(node, node.expressions[0], node.expressions[1], only)

    def _within_group(self, node: exp.WithinGroup, only: Expression | None) -> Aggregate:
        ordered = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        if not isinstance(node.this, _QUANTILES) or len(ordered) != 1:
            raise refused(node, "write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).")
        return self._quantile(node, ordered[0].this, node.this.this, only, is_falling=bool(ordered[0].args.get("desc")))

    def _quantile(
        self,
        node: exp.Expr,
        of: exp.Expr,
        part: exp.Expr | None,
        only: Expression | None,
        *,
        is_falling: bool = False,
    ) -> Aggregate:
        number = None if part is None else said(part)
        if isinstance(number, bool) or not isinstance(number, int | Decimal):
            raise refused(node, "its part is a number, as in PERCENTILE_CONT(x, 0.9).")
        if isinstance(node, exp.ApproxQuantiles):
            if not isinstance(number, int) or not 2 <= number <= 100:
                raise refused(node, "APPROX_QUANTILES takes a number of parts from 2 to 100.")
            parts: Any = [Decimal(each) / number for each in range(1, number)]
        else:
            parts = 1 - Decimal(number) if is_falling else Decimal(number)
        return self._bounded(lambda value, bounds: distribution.quantile(value, parts, bounds), node, of, only)

    def _count(self, node: exp.Count, only: Expression | None) -> Aggregate:
        of = node.this
        if node.expressions or of is None:
            raise refused(node, "COUNT takes one column, or *.")
        if isinstance(of, exp.Distinct):
            if len(of.expressions) != 1:
                raise refused(node, "COUNT(DISTINCT x) takes one column.")
            return self._distinct(of.expressions[0], only)
        if (limits := _limits(of)) is not None:
            self._check_count(node, limits)
            of = limits[1]
        if isinstance(of, exp.Star):
            return moments.count() if only is None else _count_of(only)
        known = ~of_rows(value_of(of, self.scope)).is_null()
        return _count_of(known if only is None else known & only)

    def _distinct(self, node: exp.Expr, only: Expression | None) -> Aggregate:
        value = of_rows(value_of(node, self.scope))
        unit = self.unit
        if isinstance(unit, Person) and isinstance(value, Column) and value.name == unit.column:
            if only is not None:
                raise refused(node, "people who meet a condition are counted by WHERE, not by FILTER.")
            return moments.count_people()
        return distribution.count_distinct(value if only is None else value.where(only))

    def _bounded(
        self,
        function: Callable[[Expression, Bounds | None], Aggregate],
        node: exp.Expr,
        of: exp.Expr,
        only: Expression | None,
    ) -> Aggregate:
        """An aggregate of values within bounds: those of the text, else those that follow from the domains."""
        if isinstance(of, exp.Distinct):
            raise refused(node, "DISTINCT stands in COUNT(DISTINCT x) only.")
        limits = _limits(of)
        value = of_rows(value_of(of if limits is None else limits[1], self.scope))
        bounds = _usable(range_of(value, self.domains))
        if limits is not None:
            bounds = self._narrower(node, limits, bounds)
        try:
            return function(value if only is None else value.where(only), bounds)
        except ParameterError as error:
            if bounds is not None:
                raise
            hint = (
                "Declare them once, Dataset(..., columns={'spend': (0, 200)}), or write LEAST(GREATEST(spend, 0), 200)."
            )
            raise refused(node, f"{error} {hint}") from None

    def _narrower(self, node: exp.Expr, limits: tuple[str, Any, Any, Any], known: Any) -> Bounds:
        kind, _, low, high = limits
        rows = self.unit.stated("max_rows_per_group")
        if kind == PER_GROUP and rows != 1:
            raise refused(
                node, f"bounds are of each row here, and a person has up to {rows} rows in a group. "
                "Write contribution_bounds_per_row."
            )  # fmt: skip
        if known is not None and not (rational(known[0]) <= rational(low) and rational(high) <= rational(known[1])):
            raise refused(node, f"its bounds go beyond the privacy domain ({known[0]}, {known[1]}). Narrow them.")
        return low, high

    def _check_count(self, node: exp.Count, limits: tuple[str, Any, Any, Any]) -> None:
        rows = self.unit.stated("max_rows_per_group")
        if limits[0] != PER_GROUP or (limits[2], limits[3]) != (0, rows):
            raise refused(node, f"here a person counts with up to {rows} rows in a group: leave the bounds out.")


def _usable(known: Any) -> Bounds | None:
    """A range as bounds: None if an end is not known; that of a constant reaches to 0, as bounds have a width."""
    if known is None or isinstance(known[0], date) or math.inf in (-known[0], known[1]):
        return None
    low, high = _written(known[0], ROUND_FLOOR), _written(known[1], ROUND_CEILING)
    return (low, high) if low < high else (min(low, 0), max(high, 0) if low else 1)


def _written(end: Any, rounding: str) -> Any:
    """An end as a decimal of few digits, outward: a third has no last one, and Python would write another number."""
    if not isinstance(end, Fraction):
        return end
    with localcontext(prec=_DIGITS, rounding=rounding):
        return float(Decimal(end.numerator) / Decimal(end.denominator))  # which means its shortest decimal


def _count_of(condition: Expression) -> Aggregate:
    return moments.sum(if_else(condition, 1, 0), (0, 1))


def _limits(node: exp.Expr) -> tuple[str, Any, Any, Any] | None:
    """Bounds that the text gives: their kind, of what, low and high."""
    if not isinstance(node, exp.Anonymous) or str(node.this) not in (PER_ROW, PER_GROUP):
        return None
    if len(node.expressions) != 3:
        raise refused(node, "bounds are two numbers, as in contribution_bounds_per_row => (0, 100).")
    of, low, high = node.expressions
    ends = said(low), said(high)
    if any(isinstance(end, bool) or not isinstance(end, int | Decimal) for end in ends):
        raise refused(node, "bounds are two numbers, as in contribution_bounds_per_row => (0, 100).")
    return str(node.this), of, *ends
