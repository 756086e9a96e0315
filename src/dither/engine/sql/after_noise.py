"""What SQL does with answers: arithmetic between aggregates, HAVING, ORDER BY and LIMIT. It costs nothing.

All of it reads noisy numbers and public keys, never rows, so it is post-processing. An interval is carried through
arithmetic end by end. Where k noisy columns meet in one expression, each is taken at the level 1 − (1 − level)/k, so
that all of them hold together with the level that was asked for (union bound), and so does what is made of them. A
quotient by what may be 0 can be anything: its interval is infinite.

Every operation is total, as a failure here would lose an answer that was paid for: what is no finite number is NULL,
and whole numbers beyond 64 bits become doubles. What does not go with the kinds of its parts, such as a text that is
compared with a number, is refused before the charge (`Presentation.rehearse`).
"""

from __future__ import annotations

import math
import operator as op
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from dither.engine.table_release import TableRelease
from dither.errors import ParameterError
from dither.mechanisms import Release

__all__ = [
    "OPERATIONS",
    "Combined",
    "End",
    "Known",
    "Made",
    "NoisyColumn",
    "OfKey",
    "Ordering",
    "Presentation",
    "RolledUp",
    "SqlRelease",
]

_MOST_WHOLE: Final = 1 << 63
_MOST_DIGITS: Final = 400
"""Behind or before the point: doubles have no more."""

Cell = tuple[Any, Any, Any]
"""A value and the ends of its interval; both None where it has none."""


class Made(ABC):
    """A value of each row of the answer, made of keys, noisy numbers and public values."""

    @property
    @abstractmethod
    def noisy(self) -> frozenset[str]:
        """The noisy columns that it reads."""

    @abstractmethod
    def cell(self, row: Mapping[str, Cell]) -> Cell:
        """Its value and interval in one row."""


@dataclass(frozen=True)
class Known(Made):
    """A public value."""

    value: Any

    @property
    def noisy(self) -> frozenset[str]:
        return frozenset()

    def cell(self, row: Mapping[str, Cell]) -> Cell:
        value = _held(self.value)
        return value, value, value


@dataclass(frozen=True)
class OfKey(Made):
    """A key of the group."""

    name: str

    @property
    def noisy(self) -> frozenset[str]:
        return frozenset()

    def cell(self, row: Mapping[str, Cell]) -> Cell:
        return row[self.name]


@dataclass(frozen=True)
class RolledUp(Made):
    """1 in the groups of these sets, and 0 in others: of GROUPING(city) those without the city."""

    level: str
    sets: frozenset[int]

    @property
    def noisy(self) -> frozenset[str]:
        return frozenset()

    def cell(self, row: Mapping[str, Cell]) -> Cell:
        value = int(row[self.level][0] in self.sets)
        return value, value, value


@dataclass(frozen=True)
class NoisyColumn(Made):
    """An answer with noise."""

    name: str

    @property
    def noisy(self) -> frozenset[str]:
        return frozenset({self.name})

    def cell(self, row: Mapping[str, Cell]) -> Cell:
        return row[self.name]


@dataclass(frozen=True)
class End(Made):
    """One end of the interval of another value: Snowflake's DP_INTERVAL_LOW and DP_INTERVAL_HIGH."""

    of: Made
    is_high: bool

    @property
    def noisy(self) -> frozenset[str]:
        return self.of.noisy

    def cell(self, row: Mapping[str, Cell]) -> Cell:
        end = self.of.cell(row)[2 if self.is_high else 1]
        return end, None, None


@dataclass(frozen=True)
class Combined(Made):
    """An operation on other values; NULL if one of them is NULL."""

    verb: str
    parts: tuple[Made, ...]

    @property
    def noisy(self) -> frozenset[str]:
        return frozenset().union(*(part.noisy for part in self.parts))

    def cell(self, row: Mapping[str, Cell]) -> Cell:
        cells = [part.cell(row) for part in self.parts]
        values = [value for value, _, _ in cells]
        if self.verb in _LOGIC:
            return _LOGIC[self.verb](*values), None, None
        if self.verb in _CHOICES:
            return _CHOICES[self.verb](*cells)
        if any(value is None for value in values):
            return None, None, None
        if self.verb in _COMPARED:
            return _COMPARED[self.verb](*values), None, None
        value = _held(_VALUES[self.verb](*values))
        if any(low is None or high is None for _, low, high in cells):
            return _finite(value), None, None
        low, high = map(_held, _ENDS[self.verb](*((low, high) for _, low, high in cells)))
        return _finite(value), low if low < math.inf else -math.inf, high if high > -math.inf else math.inf


def _held(value: float) -> float:
    """A number that a column holds: a whole one of 64 bits, or a double, infinite where it is too large."""
    if not isinstance(value, int) or -_MOST_WHOLE <= value < _MOST_WHOLE:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _divided(a: float, b: float) -> float:
    return a / b if b else math.nan


def _products(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    ends = [x * y if x and y else 0 for x in a for y in b]  # 0 times an end that is infinite: no number is
    return min(ends), max(ends)


def _quotients(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    if b[0] <= 0 <= b[1]:  # anything is possible
        return -math.inf, math.inf
    return _products(a, (1 / b[1], 1 / b[0]))


def _floor(value: float) -> float:
    return math.floor(value) if math.isfinite(value) else value


def _rounded(value: float, digits: float = 0) -> float:
    """Halves away from zero, as in rows and in SQL elsewhere: Python would round 2.5 to 2."""
    if not math.isfinite(value):
        return value
    places = int(max(-_MOST_DIGITS, min(digits, _MOST_DIGITS)))
    with localcontext(prec=2 * _MOST_DIGITS):
        exact = Decimal(repr(value + 0))  # a truth value is a number then
        found = exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return int(found) if isinstance(value, int) else float(found)


_VALUES: Final[dict[str, Callable[..., float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "negative": lambda a: -a,
    "abs": abs,
    "sqrt": lambda a: math.sqrt(max(a, 0)),
    "floor": _floor,
    "ceil": lambda a: -_floor(-a),
    "whole": lambda a: math.copysign(1, a) * _floor(abs(a) + 0.5) if math.isfinite(a) else a,
    "round": _rounded,
    "least": min,
    "greatest": max,
}
_ENDS: Final[dict[str, Callable[..., tuple[float, float]]]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _products,
    "/": _quotients,
    "negative": lambda a: (-a[1], -a[0]),
    "abs": lambda a: ((0 if a[0] <= 0 <= a[1] else min(map(abs, a))), max(map(abs, a))),
    "sqrt": lambda a: (math.sqrt(max(a[0], 0)), math.sqrt(max(a[1], 0))),
    "floor": lambda a: (_floor(a[0]), _floor(a[1])),
    "ceil": lambda a: (-_floor(-a[0]), -_floor(-a[1])),
    "whole": lambda a: (_VALUES["whole"](a[0]), _VALUES["whole"](a[1])),
    "round": lambda a, digits=(0, 0): (_rounded(a[0], digits[0]), _rounded(a[1], digits[0])),
    "least": lambda *ends: (min(low for low, _ in ends), min(high for _, high in ends)),
    "greatest": lambda *ends: (max(low for low, _ in ends), max(high for _, high in ends)),
}


def _null_if(a: Cell, b: Cell) -> Cell:
    return (None, None, None) if a[0] == b[0] else a


def _first_known(*cells: Cell) -> Cell:
    """The first that is not NULL. Where noise made the first one NULL, the truth may be anything."""
    at = next((at for at, cell in enumerate(cells) if cell[0] is not None), 0)
    value, low, high = cells[at]
    return (value, low, high) if at == 0 or low is None else (value, -math.inf, math.inf)


def _case(*cells: Cell) -> Cell:
    """A condition and its value by turns, then the value otherwise."""
    chosen = (value for condition, value in zip(cells[:-1:2], cells[1::2], strict=True) if condition[0] is True)
    return next(chosen, cells[-1])[0], None, None


_CHOICES: Final[dict[str, Callable[..., Cell]]] = {"nullif": _null_if, "coalesce": _first_known, "case": _case}
"""What can have a value where one of its parts is NULL."""
_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = dict(
    zip(("==", "!=", "<", "<=", ">", ">="), (op.eq, op.ne, op.lt, op.le, op.gt, op.ge), strict=True)
)


def _and(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


_LOGIC: Final[dict[str, Callable[..., Any]]] = {
    "and": _and,
    "or": lambda a, b: True if a is True or b is True else None if a is None or b is None else False,
    "not": lambda a: None if a is None else not a,
    "is_null": lambda a: a is None,
}
OPERATIONS: Final = frozenset({*_VALUES, *_COMPARED, *_LOGIC, *_CHOICES})


@dataclass(frozen=True)
class Ordering:
    """One part of ORDER BY. NULL comes last, as in PostgreSQL when rising, unless the text says otherwise."""

    by: Made
    is_falling: bool = False
    nulls_first: bool = False


def _check_kinds(made: Made, row: Mapping[str, Cell]) -> None:
    """Raise where values of different kinds are equated, or stand in one column: Python would say that they differ, and
    leave rows out."""
    for part in made.parts if isinstance(made, Combined) else ():
        _check_kinds(part, row)
    if isinstance(made, Combined) and made.verb in ("and", "or", "not", "case"):
        for part in made.parts[:-1:2] if made.verb == "case" else made.parts:
            _check_is_condition(part, row)
    if isinstance(made, Combined) and made.verb in ("==", "!=", "nullif", "coalesce", "case"):
        parts = (*made.parts[1:-1:2], made.parts[-1]) if made.verb == "case" else made.parts
        values = [part.cell(row)[0] for part in parts]
        if len({float if type(value) is int else type(value) for value in values if value is not None}) > 1:
            raise TypeError("values of different kinds")


def _check_is_condition(made: Made, row: Mapping[str, Cell]) -> None:
    """Raise where a number stands in place of a condition: it would never hold."""
    value = made.cell(row)[0]
    if not (value is None or isinstance(value, bool)):
        raise TypeError("no condition")


@dataclass(frozen=True)
class Presentation:
    """What is shown of the answers: columns by name, which rows, in which order, and how many."""

    columns: Mapping[str, Made]
    having: Made | None = None
    order: Sequence[Ordering] = ()
    limit: int | None = None
    offset: int = 0

    def applied(self, at_level: Callable[[Fraction], pa.Table], level: Fraction) -> pa.Table:
        """The table that is shown, from one of keys, noisy columns and their intervals, which is known at any level."""
        table = at_level(level)
        rows = _cells(table)
        kept = [at for at, row in enumerate(rows) if self.having is None or self.having.cell(row)[0] is True]
        for part in reversed(self.order):
            kept = _sorted(kept, part, rows)
        kept = kept[self.offset : None if self.limit is None else self.offset + self.limit]
        shown: dict[str, Any] = {}
        for name, made in self.columns.items():
            if isinstance(made, OfKey | NoisyColumn):
                for column in (made.name, f"{made.name}_low", f"{made.name}_high"):
                    if column in table.column_names and (column == made.name or made.noisy):
                        shown[name + column[len(made.name) :]] = table.column(column).take(pa.array(kept, pa.int64()))
                continue
            among = len(made.noisy)
            cells = rows if among < 2 else _cells(at_level(1 - (1 - level) / among))
            found = [made.cell(cells[at]) for at in kept]
            shown[name] = _column([value for value, _, _ in found])
            if made.noisy and not isinstance(made, End) and self._has_interval(made, table):
                shown[f"{name}_low"] = _column([low for _, low, _ in found], is_real=among > 1)
                shown[f"{name}_high"] = _column([high for _, _, high in found], is_real=among > 1)
        return pa.table(shown)

    def rehearse(self, row: Mapping[str, Any]) -> None:
        """Refuse what cannot be made of the kinds that its parts have, which `row` has examples of."""
        cells = {name: (value, value, value) for name, value in row.items()}
        for made in (*self.columns.values(), *(each.by for each in self.order), *filter(None, [self.having])):
            try:
                _check_kinds(made, cells)
                value = made.cell(cells)[0]
                if value is not None and made in [each.by for each in self.order]:
                    sorted([value, value])
                if made is self.having:
                    _check_is_condition(made, cells)
            except TypeError:
                raise ParameterError(
                    "between aggregates, numbers go with numbers, a text or a day is compared with its like, and "
                    "HAVING and CASE WHEN take conditions, as in COUNT(*) > 10. Nothing was charged."
                ) from None

    def _has_interval(self, made: Made, table: pa.Table) -> bool:
        return all(f"{name}_low" in table.column_names for name in made.noisy)


def _column(values: Sequence[Any], *, is_real: bool = False) -> pa.Array:
    """Numbers are doubles unless all of them are whole ones of 64 bits; so is a column without any value."""
    kinds = {type(value) for value in values if value is not None}
    if is_real or kinds <= {float} or kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(values)


def _cells(table: pa.Table) -> list[dict[str, Cell]]:
    """Row by row the value and the interval of each column."""
    names = list(table.column_names)
    columns = {}
    for name in names:
        values = table.column(name).to_pylist()
        ends = [
            table.column(f"{name}_{end}").to_pylist() if f"{name}_{end}" in names else None for end in ("low", "high")
        ]
        columns[name] = list(zip(values, *(end or [None] * len(values) for end in ends), strict=True))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _sorted(kept: list[int], part: Ordering, rows: list[dict[str, Cell]]) -> list[int]:
    """The rows in the order of one part; equal ones stay as they are."""
    values = {at: part.by.cell(rows[at])[0] for at in kept}
    known = sorted((at for at in kept if values[at] is not None), key=lambda at: values[at], reverse=part.is_falling)
    missing = [at for at in kept if values[at] is None]
    return missing + known if part.nulls_first else known + missing


@dataclass(frozen=True, slots=True, repr=False)
class SqlRelease(TableRelease):
    """The private answers to a SQL question; all of it may be published.

    Columns are those of SELECT, each noisy one with its interval in `name_low` and `name_high`.

    Parameters
    ----------
    value : pyarrow.Table
        The answers, as SELECT names them.
    event : Event
        What was done, in exact numbers.
    guarantee : PureDP, ApproxDP or ZCDP
        What was charged.
    mechanism : Any
        The noise of the first part.
    parts : pyarrow.Table
        The keys and the noisy numbers of which all answers are made.
    plan : Plan
        The plan that was carried out.
    entry : Entry
        The charge in the ledger.
    noise_removed : bool
        Whether these are exact answers, made in a test by `dither.testing`: then they are not private.
    presentation : Presentation
        What SELECT, HAVING, ORDER BY and LIMIT make of the noisy numbers.
    """

    presentation: Presentation = field(default_factory=lambda: Presentation({}), repr=False)

    @classmethod
    def presented(cls, release: TableRelease, presentation: Presentation) -> SqlRelease:
        """Show a release as SELECT asks.

        Parameters
        ----------
        release : TableRelease
            The noisy answers.
        presentation : Presentation
            What to make of them.

        Returns
        -------
        SqlRelease
            The same release with other columns and rows.
        """
        carried = {each.name: getattr(release, each.name) for each in fields(release)}
        made, level = cls(**carried, presentation=presentation), release.plan.level
        shown = presentation.applied(lambda at: release.value if at == level else TableRelease._table(made, at), level)
        return replace(made, value=shown)

    def _table(self, level: Fraction) -> pa.Table:
        return self.presentation.applied(lambda at: TableRelease._table(self, at), level)

    @property
    def _shown(self) -> tuple[list[str], list[str]]:
        noisy = [name for name, made in self.presentation.columns.items() if made.noisy and not isinstance(made, End)]
        return [name for name in self.presentation.columns if name not in noisy], noisy

    def non_negative(self) -> TableRelease:
        """Raise `ParameterError`: SQL says it as GREATEST(COUNT(*), 0).

        Returns
        -------
        TableRelease
            Never.
        """
        raise ParameterError("answers to SQL are raised to 0 in the text: GREATEST(COUNT(*), 0).")

    def consistent(self, name: str, total: Release) -> TableRelease:
        """Raise `ParameterError`: only questions of `agg` are made consistent.

        Parameters
        ----------
        name : str
            The name of a column.
        total : Release
            A count of all rows.

        Returns
        -------
        TableRelease
            Never.
        """
        raise ParameterError("counts are made consistent in answers of group_by(...).agg(...), not in those of SQL.")
