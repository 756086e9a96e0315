"""The columns that questions mention: the kind of each, and the values at which something changes.

Bounds, edges of bins, public keys, candidates and the literals of conditions are where a table is cut. A leak is more
likely there than elsewhere, so made-up rows hold these values, what lies beside and beyond, and what is no value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any, Protocol, cast

import pyarrow as pa

from dither.engine import Bins, Plan, Query, Question
from dither.engine.aggregate import Aggregate, OfColumn
from dither.engine.distribution_aggregates import CountDistinct, Spread, Top
from dither.engine.groups import public_keys
from dither.engine.moment_aggregates import Share
from dither.exact import rational
from dither.tables import Column, Expression
from dither.tables.expression import ARITHMETIC, COMPARISONS, DATES, TEXTS, TIMES, Literal, Operation

__all__ = ["Inquiry", "Pool", "pools"]


class Inquiry(Protocol):
    """A question before it meets data."""

    @property
    def aggregates(self) -> Mapping[str, Aggregate]: ...  # what is asked
    @property
    def public(self) -> Mapping[str, pa.Table]: ...  # joined to the rows, by the column that they have in common
    @property
    def columns(self) -> Mapping[str, Expression]: ...  # new columns, made before rows are chosen
    @property
    def where(self) -> Sequence[Expression]: ...  # of which rows
    @property
    def per_person(self) -> Mapping[str, Aggregate]: ...  # then a person is one row with these columns
    @property
    def group_by(self) -> Sequence[str | Bins]: ...
    @property
    def keys(self) -> Any: ...  # the public groups
    @property
    def price(self) -> Mapping[str, Any]: ...  # the arguments of `Question.plan`
    def of(self, data: Query) -> Question: ...
    def planned(self, data: Query) -> Plan: ...


@dataclass(frozen=True)
class Pool:
    """The values that a column may have in made-up rows."""

    kind: str
    """number, whole, time, date, truth or text."""
    usual: tuple[Any, ...]
    """Values that the questions name, and those beside."""
    low: tuple[Any, ...]
    """At the lower end and below."""
    high: tuple[Any, ...]
    odd: tuple[Any, ...]
    """Missing, huge, not a number, of another kind."""
    is_measured: bool = False
    """Whether something is asked of the values, and not only of the rows that have them."""

    @property
    def arrow(self) -> pa.DataType:
        """The type of the column, where it has one."""
        types = {"number": pa.float64(), "whole": pa.int64(), "date": pa.date32(), "truth": pa.bool_()}
        types["time"] = pa.timestamp("us")
        return types.get(self.kind, pa.string())


# --------------------------------------------------------------------------- pools

_ODD_TEXTS = ("", "elsewhere", "東京", "it's", None)
_ODD_WRITTEN = {
    "number": ("n/a", "", " 7 ", "1e999", "NaN", "-0"),
    "whole": ("n/a", "", "1.5", "9" * 25),
    "date": ("2024-02-30", "", "yesterday", "0000-00-00"),
    "time": ("2024-02-29 24:00", "", "2024-02-29", "noon"),
    "truth": ("maybe", "", "TRUE"),
}
_INFINITY = float("inf")
_LEAST, _MOST = -(2**63), 2**63 - 1
_MOST_USUAL = 12
"""Of values that group: of thousands of keys a made-up row has one of the first."""


def pools(
    questions: Sequence[Inquiry], kinds: Mapping[str, str], identifier: str | None, *, written: bool
) -> dict[str, Pool]:
    """A pool for each column of the source that the questions mention.

    `kinds` are those that were stated; others follow from the use of the column. `written`: the source has texts
    alone, as a file of separated values. Real numbers tell nobody apart, so that the `identifier` is a text or whole.
    """
    noted: dict[str, _Noted] = defaultdict(_Noted)
    for question in questions:
        for name, kind, values in _of_source(question, _notes(question)):
            noted[name].add(kind, values)
    if identifier is not None:
        noted[identifier].add(_REPEATS, ())
    measured = {name for each in questions for name, _, _ in _of_source(each, _all_measured(each))}
    found = {name: _pool(kinds.get(name), each, written) for name, each in sorted(noted.items())}
    return {name: replace(pool, is_measured=name in measured) for name, pool in found.items()}


@dataclass
class _Noted:
    kinds: set[str] = field(default_factory=set)
    values: list[Any] = field(default_factory=list)

    def add(self, kind: str | None, values: Sequence[Any]) -> None:
        if kind is not None:
            self.kinds.add(kind)
        self.values += [value for value in values if value not in self.values]


def _pool(stated: str | None, noted: _Noted, written: bool) -> Pool:
    """As stated, or as the questions use it; numbers are whole where they must repeat."""
    kind = stated or next((each for each in ("whole", *_MAKE) if each in noted.kinds), "text")
    if kind == "number" and noted.kinds & {"whole", _REPEATS}:
        kind = "whole"
    fitting = next((each for each in (("number", "whole"), ("time", "date")) if kind in each), (kind,))
    pool = _MAKE[kind]([value for value in noted.values if _kind_of(value) in fitting])
    if not written:
        return pool
    odd = (*pool.odd, *_ODD_WRITTEN.get(kind, ()))
    usual, low, high, odd = (tuple(map(_text, each)) for each in (pool.usual, pool.low, pool.high, odd))
    return Pool(kind, usual, low, high, odd)


def _numbers(usual: list[Any]) -> Pool:
    known = sorted(map(float, usual)) or [0.0, 1.0]
    low, high, middle = known[0], known[-1], (known[0] + known[-1]) / 2
    beside = [each + way for each in known for way in (-1.0, 1.0)]
    odd = (None, float("nan"), -0.0, 1.7e308, -1.7e308, 5e-324, _INFINITY, -_INFINITY)
    return Pool("number", (*known, middle, *beside), (low, low - 1, -1.7e308), (high, high + 1, 1.7e308), odd)


def _wholes(usual: list[Any]) -> Pool:
    known = sorted([int(each) for each in usual if int(each) == each][:_MOST_USUAL]) or [0, 1, 2]
    odd = (None, _LEAST, _MOST, known[0] - 1, known[-1] + 1)
    return Pool("whole", tuple(known), (known[0], _LEAST), (known[-1], _MOST), odd)


def _times(usual: list[Any]) -> Pool:
    given = [each if isinstance(each, datetime) else datetime(each.year, each.month, each.day) for each in usual]
    known = sorted(given) or [datetime(2024, 2, 29, 8, 15), datetime(2025, 1, 1)]
    step = timedelta(microseconds=1)
    beside = [each + way for each in known if datetime.min < each < datetime.max for way in (-step, step)]
    ends = (datetime.min, datetime.max)
    return Pool("time", (*known, *beside), (known[0], ends[0]), (known[-1], ends[1]), (None, *ends))


def _dates(usual: list[Any]) -> Pool:
    known = sorted(_day_of(each) for each in usual) or [date(2024, 2, 29), date(2025, 1, 1)]
    day = timedelta(days=1)
    beside = [each + way for each in known if date.min < each < date.max for way in (-day, day)]
    return Pool("date", (*known, *beside), (known[0], date.min), (known[-1], date.max), (None, date.min, date.max))


def _truths(usual: list[Any]) -> Pool:
    return Pool("truth", (True, False), (False,), (True,), (None,))


def _texts(usual: list[Any]) -> Pool:
    known = tuple(usual[:_MOST_USUAL]) or ("a", "b", "c")
    return Pool("text", known, known[:1], known[-1:], _ODD_TEXTS)


def _day_of(value: date) -> date:
    return value.date() if isinstance(value, datetime) else value


_MAKE = {"number": _numbers, "whole": _wholes, "time": _times, "date": _dates, "truth": _truths, "text": _texts}


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else repr(value)


# --------------------------------------------------------------------------- notes

_Note = tuple[str, str | None, Sequence[Any]]
"""A column of the source, the kind by which it is read, and values that matter."""
_REPEATS = "repeats"
"""No kind, but that the values tell groups or people apart."""


def _of_source(question: Inquiry, notes: Iterable[_Note]) -> Iterator[_Note]:
    """Public columns are what they are."""
    public = {name for on, table in question.public.items() for name in table.column_names if name != on}
    return (note for note in notes if note[0] not in public)


def _notes(question: Inquiry) -> Iterator[_Note]:
    made = question.columns
    if not question.per_person:  # else the groups are those of columns that it makes
        yield from _groups(question)
    for on, table in question.public.items():
        known = table.column(on).slice(0, _MOST_USUAL).to_pylist()
        yield on, _kind_of(known[0]) if known else _REPEATS, known
    for expression in made.values():
        yield from _read(expression, None, _literals(expression), {})
    for condition in question.where:
        yield from _read(condition, "truth", _literals(condition), made)
    yield from _all_measured(question)


def _groups(question: Inquiry) -> Iterator[_Note]:
    made = question.columns
    plain = [each for each in question.group_by if isinstance(each, str)]
    known = None if question.keys is None else public_keys(plain, question.keys)
    for name in plain:
        keys = [] if known is None else known.column(name).to_pylist()
        yield from _read(Column(name), _kind_of(keys[0]) if keys else _REPEATS, keys, made)
    for each in question.group_by:
        if isinstance(each, Bins):
            yield from _binned(each, made)


def _all_measured(question: Inquiry) -> Iterator[_Note]:
    """What is asked of the values of the source: first within each person, where that is asked."""
    for aggregate in (question.per_person or question.aggregates).values():
        for part in aggregate.made_of:
            yield from _measured(part, question.columns)


def _measured(aggregate: Aggregate, made: Mapping[str, Expression]) -> Iterator[_Note]:
    if isinstance(aggregate, OfColumn):
        bounds = cast("tuple[Any, ...] | None", aggregate.bounds)  # quantiles and extremes may have none
        ends = [float(rational(end)) for end in bounds or ()]
        yield from _read(aggregate.of, "number", [*ends, *_literals(aggregate.of)], made)
    elif isinstance(aggregate, Spread):
        yield from _binned(aggregate.bins, made)
    elif isinstance(aggregate, Top):
        known = [] if aggregate.candidates is None else aggregate.candidates.to_pylist()
        yield from _read(aggregate.of, _kind_of(known[0]) if known else None, known, made)
    elif isinstance(aggregate, Share):
        yield from _read(aggregate.of, "truth", _literals(aggregate.of), made)
    elif isinstance(aggregate, CountDistinct):
        yield from _read(aggregate.of, None, _literals(aggregate.of), made)


def _binned(bins: Bins, made: Mapping[str, Expression]) -> Iterator[_Note]:
    kind = "date" if isinstance(bins.edges[0], date) else "number"
    yield from _read(bins.of, kind, list(bins.edges), made)


def _read(of: Expression, kind: str | None, values: Sequence[Any], made: Mapping[str, Expression]) -> Iterator[_Note]:
    """Every column of the source below an expression, with the kind that its place asks for."""
    if isinstance(of, Column) and of.name in made:
        yield from _read(made[of.name], kind, values, {})  # a new column is made of the columns of the source
    elif isinstance(of, Column):
        yield of.name, kind, values
    elif isinstance(of, Operation):
        for part, its_kind in zip(of.parts, _kinds_below(of, kind), strict=True):
            own = _literals(part) if of.verb in ("and", "or", "not") else values  # what is compared with it
            yield from _read(part, its_kind, own, made)


def _kinds_below(of: Operation, kind: str | None) -> list[str | None]:
    size = len(of.parts)
    if of.verb in ARITHMETIC:
        return ["number"] * size
    if of.verb in DATES:
        return ["date"] * size
    if of.verb in TIMES:
        return ["time", *["text"] * (size - 1)]
    if of.verb in TEXTS:
        return ["text"] * size
    if of.verb in (*COMPARISONS, "is_in", "coalesce"):
        from_above = kind if of.verb == "coalesce" else None
        return [next((found for part in of.parts if (found := _kind_read(part))), from_above)] * size
    if of.verb == "if_else":
        return ["truth", kind, kind]
    return [None if of.verb == "is_null" else "truth"] * size


def _kind_read(of: Expression) -> str | None:
    """The kind of an expression, where it does not depend on columns."""
    if isinstance(of, Literal):
        kind = _kind_of(of.value)
        return "number" if kind == "whole" else kind
    return "number" if isinstance(of, Operation) and of.verb in (*ARITHMETIC, *DATES, "hour", "minute") else None


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "whole"
    if isinstance(value, date):
        return "time" if isinstance(value, datetime) else "date"
    return "text" if isinstance(value, str) else "number"


def _literals(of: Expression) -> list[Any]:
    if isinstance(of, Literal):
        return [of.value]
    return [value for part in of.parts for value in _literals(part)] if isinstance(of, Operation) else []
