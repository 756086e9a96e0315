"""Every operator that a question may use, said of one column: rows prepared and grouped (`Shape`), then measured.

Operators of one shape are asked together, as one release would. What does not go with the kind of a column is refused
when the question is built, with or without the hostile row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

import dither as dp
from dither.engine.aggregate import Aggregate
from dither.engine.query import Query
from tests.tables.questions import expression

__all__ = [
    "CITIES", "ELSEWHERE", "ENDS", "LEFT_OUT", "METHODS", "MOST_WORLDS", "OPERATORS", "REFUSED_BOUNDS", "SHAPES",
    "Operator", "Shape", "verbs_of", "world_name",
]  # fmt: skip

CITIES = "abcd"
MOST_WORLDS = 140
"""The most worlds that one table has: they are told apart by bins where only numbers are left."""

LEFT_OUT = "left out"
"""The shape of which it is also asked what limits and bounds leave out."""
METHODS: Mapping[str, str] = {
    "where": "where ", "with_columns": "with ", "join": "join ", "per_person": "per person ", "group_by": "found",
    "agg": "all", "union": "union",
}  # fmt: skip
"""The methods of a query that say something about rows, and how the shapes of each begin."""
ELSEWHERE: Mapping[str, str] = {
    "over": "tests/tables/hostile/test_persons.py",
    "table": "tests/tables/hostile/test_joined_tables.py",
    "sql": "tests/engine/sql/test_grammar.py",
    "grouping_sets": "tests/tables/hostile/test_joined_questions.py",
}
"""Methods whose questions no shape can ask, and the tests that do."""

_X = ("column", "x")
"""Stands for the column that is asked about."""
_DAY = date(2024, 2, 29)
_LITERALS: dict[str, Any] = {
    "number": 3,
    "text": "Paris",
    "day": _DAY,
    "truth": True,
    "moment": datetime(2024, 2, 29, 12),
}
_BOUNDS: dict[str, tuple[Any, Any]] = {
    "ordinary": (-100, 100),
    "huge": (0, "1e40"),
    "largest": (-1e100, 1e100),
    "tiny": (0, "1e-90"),
    "negative": ("-1e6", -1),
    "narrow": ("0.1", "0.3"),
}
ENDS: Mapping[str, tuple[Any, Any]] = {
    "from near 0": ("1e-250", "1e100"),
    "up to near 0": ("-1e100", "-1e-250"),
    "around 0": ("-1e-250", 5),
    "smallest": (0, "1e-100"),
    "far": ("9e99", "1e100"),
}
"""Bounds with an end closer to 0 than any number that enters, and the nearest and the farthest that are accepted: they
are asked of every aggregate that has bounds, with and without a range to be found, and of what they leave out."""
REFUSED_BOUNDS: Mapping[str, tuple[Any, Any]] = {
    "below all numbers": (0, "1e-250"),
    "narrow and below": ("1e-300", "1e-299"),
    "denormal": (0, 5e-324),
    "beyond all numbers": (0, "1.7e308"),
    "all doubles": (-1.7976931348623157e308, 1.7976931348623157e308),
    "beyond doubles": (0, "1e309"),
}
"""Bounds that are refused before anything is charged, of any column."""
_PUBLIC: dict[str, list[Any]] = {
    "texts": ["a", "A", "Paris", "PARIS", "", "1", "a ", "00000000-0000-0000-0000-000000000000"],
    "wholes": [1, 3, 0, -1, 127, 255, 2**31 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "days": [_DAY, date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)],
    "truths": [True, False],
}


@dataclass(frozen=True)
class Shape:
    """How rows are prepared and grouped before they are measured."""

    prepare: Callable[[Query, str, Sequence[int]], Query]
    """A query with groups, of a dataset, a column and the worlds that are in it."""
    words: tuple[Any, ...] = ()
    """The expressions in it, for the registry of verbs."""


@dataclass(frozen=True)
class Operator:
    """One aggregate of a column, in one shape."""

    shape: str
    aggregate: Callable[[str], Aggregate]
    functions: tuple[str, ...] = ()
    """The names of the aggregates of `dither` that are asked."""
    words: tuple[Any, ...] = ()
    kinds: frozenset[str] = frozenset()
    """The kinds of columns that it goes with; of others it is refused."""
    ends: str = ""
    """Which of `ENDS` its bounds are, if any."""


def world_name(world: int) -> str:
    """The key of a world: a text, as a file of separated values has it."""
    return f"w{world:03}"


def verbs_of(words: Any) -> Iterator[str]:
    """The verbs of an expression of nested tuples."""
    verb, *parts = words
    if verb in ("column", "value"):
        return
    yield verb
    for part in parts:
        yield from verbs_of(part)


def _of(words: Any, column: str) -> Any:
    """The expression, said of a column."""

    def put(each: Any) -> Any:
        if each == _X:
            return ("column", column)
        return each if each[0] in ("column", "value") else (each[0], *map(put, each[1:]))

    return expression(put(words))


def _cities(query: Query, worlds: Sequence[int]) -> Query:
    keys = {"world": [world_name(world) for world in worlds], "city": list(CITIES)}
    return query.group_by("world", "city", keys=keys)


def _where(words: Any) -> Shape:
    return Shape(lambda query, name, worlds: _cities(query.where(_of(words, name)), worlds), (words,))


def _with(words: Any) -> Shape:
    return Shape(lambda query, name, worlds: _cities(query.with_columns(y=_of(words, name)), worlds), (words,))


def _public(values: list[Any]) -> Shape:
    def prepare(query: Query, name: str, worlds: Sequence[int]) -> Query:
        return query.group_by("world", name, keys={"world": [world_name(world) for world in worlds], name: values})

    return Shape(prepare)


def _union(query: Query, name: str, worlds: Sequence[int]) -> Query:
    """Of all rows, and of those again whose value equals itself."""
    return _cities(query.union(query.where(dp.col(name) == dp.col(name))), worlds)


def _bins(edges: Sequence[Any]) -> Shape:
    def prepare(query: Query, name: str, worlds: Sequence[int]) -> Query:
        return query.group_by("world", dp.bins(name, edges), keys=[world_name(world) for world in worlds])

    return Shape(prepare)


def _joined(values: list[Any], how: str) -> Shape:
    def prepare(query: Query, name: str, worlds: Sequence[int]) -> Query:
        known = pa.table({name: values, "extra": range(len(values))})
        return _cities(query.join(known, on=name, how=how), worlds)

    return Shape(prepare)


def _per_person(aggregate: Callable[[str], Aggregate]) -> Shape:
    """The world of a person is what all their rows have, found as a number of theirs."""

    def prepare(query: Query, name: str, worlds: Sequence[int]) -> Query:
        each = query.per_person(v=aggregate(name), w=dp.max("w", (0, MOST_WORLDS)))
        return each.group_by(dp.bins("w", range(min(worlds), max(worlds) + 3)))

    return Shape(prepare)


_CONDITIONS: dict[str, Any] = {
    **{f"{verb} a {kind}": (verb, _X, ("value", value)) for kind, value in _LITERALS.items() for verb in ("==", "!=")},
    **{f"{verb} a {kind}": (verb, _X, ("value", _LITERALS[kind]))
       for kind in ("number", "day", "moment") for verb in ("<", "<=", ">", ">=")},
    "== 2^53 + 1": ("==", _X, ("value", 2**53 + 1)),
    "< 1e100": ("<", _X, ("value", 1e100)),
    "> 1e-90": (">", _X, ("value", 1e-90)),
    "< 1e-250": ("<", _X, ("value", 1e-250)),
    "== itself": ("==", _X, _X),
    "is_null": ("is_null", _X),
    **{f"is_in {kind}": ("is_in", _X, *(("value", value) for value in values)) for kind, values in _PUBLIC.items()
       if kind != "wholes"},
    "is_in wholes": ("is_in", _X, ("value", 0), ("value", 2**53 + 1), ("value", 2**63 - 1)),
    "and": ("and", ("is_null", _X), ("==", _X, _X)),
    "or": ("or", ("not", ("is_null", _X)), ("==", _X, _X)),
    "not": ("not", _X),
    "starts_with a text": ("starts_with", _X, ("value", "Pa")),
    "contains a text": ("contains", _X, ("value", "\v%é_")),
    "ends_with a text": ("ends_with", _X, ("value", "_é")),
}  # fmt: skip
_NUMBERS: dict[str, Any] = {
    "+": ("+", _X, ("value", 1)),
    "+ itself": ("+", _X, _X),
    "-": ("-", _X, _X),
    "*": ("*", _X, _X),
    "* 1e100": ("*", _X, ("value", 1e100)),
    "* 1e-90": ("*", _X, ("value", 1e-90)),
    "/": ("/", ("value", 1), _X),
    "/ itself": ("/", _X, _X),
    "/ 1e-90": ("/", _X, ("value", 1e-90)),
    "* 1e-250": ("*", _X, ("value", 1e-250)),
    "/ 1e-250": ("/", _X, ("value", 1e-250)),
    "negative": ("negative", _X),
    "abs": ("abs", _X),
    **{verb: (verb, _X) for verb in ("floor", "round", "sqrt", "log", "exp")},
    "exp of exp": ("exp", ("exp", ("negative", _X))),
    **{f"{verb} of time": (verb, _X) for verb in ("hour", "minute")},
    "cube": ("*", ("*", _X, _X), _X),
    **{verb: (verb, _X) for verb in ("year", "month", "day", "weekday")},
    "if_else": ("if_else", ("is_null", _X), ("value", 5), _X),
    "coalesce": ("coalesce", _X, ("value", 5)),
    "where": ("where", _X, ("!=", _X, ("value", 5))),
}
_VALUES: dict[str, Any] = {
    **{f"if_else a {kind}": ("if_else", ("==", _X, _X), _X, ("value", value)) for kind, value in _LITERALS.items()},
    **{f"begin of {unit} of time": ("date_trunc", _X, ("value", unit)) for unit in ("minute", "hour")},
    **{f"begin of {unit} of day": ("date_trunc", _X, ("value", unit)) for unit in ("week", "month", "quarter", "year")},
    "lower text": ("lower", _X),
    "strip text": ("strip", ("lower", _X)),
    "after a text": ("after", _X, ("value", "é")),
    "left of a text": ("left", ("after", _X, ("value", "a")), ("value", 3)),
    "where it equals itself": ("where", _X, ("==", _X, _X)),
    **{f"coalesce a {kind}": ("coalesce", _X, ("value", value)) for kind, value in _LITERALS.items()},
}
_EDGES: dict[str, list[Any]] = {
    "numbers": [-100, 0, 3, 10, 1e90],
    "far numbers": [-1e100, -1e-250, 0, 1e-300, 1e100],
    "days": [date(1, 1, 1), _DAY, date(9999, 12, 31)],
}
_MOMENTS: dict[str, Callable[..., Aggregate]] = {
    "sum": dp.sum,
    "mean": dp.mean,
    "variance": dp.variance,
    "std": dp.std,
}
"""Aggregates whose range may be found, and of which bounds leave something out."""


def _ratio(name: str, bounds: tuple[Any, Any]) -> Aggregate:
    """A sum by another one of the same column; bounds below 0, which a ratio refuses, are mirrored."""
    low, high = (Decimal(str(end)) for end in bounds)
    ends = (low, high) if low >= 0 else (max(-high, Decimal(0)), max(-low, high))
    return dp.ratio(name, name, bounds=ends, to_bounds=(0, 3))


_CUT: dict[str, Callable[..., Aggregate]] = {**_MOMENTS, "ratio": _ratio}
"""Aggregates of which bounds leave something out."""
_WITHIN_PERSON = {
    "count": lambda name: dp.count(),
    "sum": lambda name: dp.sum(name, (-100, 100)),
    "huge sum": lambda name: dp.sum(name, (0, "1e40")),
    "mean": lambda name: dp.mean(name, (-100, 100)),
    "min": lambda name: dp.min(name, (0, "1e40")),
    "max": lambda name: dp.max(name, (-100, 100)),
    "sum from near 0": lambda name: dp.sum(name, ENDS["from near 0"]),
    "mean around 0": lambda name: dp.mean(name, ENDS["around 0"]),
}

SHAPES: Mapping[str, Shape] = {
    "all": Shape(lambda query, name, worlds: _cities(query, worlds)),
    LEFT_OUT: Shape(lambda query, name, worlds: _cities(query, worlds)),
    **{f"where {name}": _where(words) for name, words in _CONDITIONS.items()},
    "with +": _with(_NUMBERS["+"]),
    "with coalesce": _with(_NUMBERS["coalesce"]),
    "found": Shape(lambda query, name, worlds: query.group_by("world", name)),
    "found with city": Shape(lambda query, name, worlds: query.group_by("world", name, "city")),
    **{f"public {kind}": _public(values) for kind, values in _PUBLIC.items()},
    **{f"bins of {kind}": _bins(edges) for kind, edges in _EDGES.items()},
    **{f"join {how} {kind}": _joined(values, how) for kind, values in _PUBLIC.items() for how in ("left", "inner")},
    "union": Shape(_union),
    **{f"per person {name}": _per_person(aggregate) for name, aggregate in _WITHIN_PERSON.items()},
}


def _measured(kind: str, words: Any) -> Callable[[str], Aggregate]:
    if kind == "sum":
        return lambda name: dp.sum(_of(words, name), (-100, 100))
    return lambda name: dp.count_distinct(_of(words, name))


def _within(aggregate: Callable[..., Aggregate], bounds: Any, **options: Any) -> Callable[[str], Aggregate]:
    return lambda name: aggregate(name, bounds, **options)


def _aggregates() -> dict[str, Operator]:
    """All aggregates of the column itself."""
    made: dict[str, Operator] = {
        "count": Operator("all", lambda name: dp.count(), ("count",)),
        "count_people": Operator("all", lambda name: dp.count_people(), ("count_people",)),
        "count_distinct": Operator("all", dp.count_distinct, ("count_distinct",)),
        "share": Operator("all", lambda name: dp.share(dp.col(name) == dp.col(name)), ("share",)),
        "top": Operator("all", lambda name: dp.top(name, 2), ("top",)),
    }
    for kind, edges in _EDGES.items():
        made[f"histogram of {kind}"] = Operator("all", _within(dp.histogram, edges), ("histogram",))
    for kind, values in _PUBLIC.items():
        known = [value for value in values if value != -(2**63)]  # no literal of an expression
        made[f"top of {kind}"] = Operator("all", lambda name, known=known: dp.top(name, 2, known), ("top",))  # type: ignore[misc]
    bounded: dict[str, Callable[..., Aggregate]] = {
        **_CUT,
        "median": dp.median,
        "quantile": lambda name, bounds, **options: dp.quantile(name, ["0.25", "0.9"], bounds, **options),
        "min": dp.min,
        "max": dp.max,
    }
    for verb, aggregate in bounded.items():
        for kind, bounds in {**_BOUNDS, **ENDS}.items():
            ends = kind if kind in ENDS else ""
            if kind in ("ordinary", "huge", "tiny") or ends or verb in ("sum", "mean"):
                made[f"{verb}, {kind} bounds"] = Operator("all", _within(aggregate, bounds), (verb,), ends=ends)
            if verb in _MOMENTS and (kind in ("huge", "tiny") or ends):
                in_range = _within(aggregate, bounds, clip=True)
                made[f"{verb}, range found in {kind} bounds"] = Operator("all", in_range, (verb,), ends=ends)
        if verb in ("median", "quantile"):
            with_interval = _within(aggregate, (-100, 100), interval_level="0.9")
            made[f"{verb} and its interval"] = Operator("all", with_interval, (verb,))
        if verb in ("mean", "median"):  # of which others have the bins
            made[f"{verb}, no bounds"] = Operator("all", _within(aggregate, None), (verb,))
    return made


def _in_shapes() -> dict[str, Operator]:
    """What is asked where rows were prepared or grouped by the column."""
    made: dict[str, Operator] = {}
    for shape in SHAPES:
        if shape == "all":
            continue
        made[f"{shape}: count"] = Operator(shape, lambda name: dp.count())
        made[f"{shape}: people"] = Operator(shape, lambda name: dp.count_people())
        if shape == LEFT_OUT:
            made[f"{shape}: sum"] = Operator(shape, lambda name: dp.sum(name, (0, "1e40")))
            made[f"{shape}: mean"] = Operator(shape, lambda name: dp.mean(name, (-100, 100)))
            made[f"{shape}: variance"] = Operator(shape, lambda name: dp.variance(name, (0, "1e-90")))
            made |= _left_out()
        if shape.startswith("where"):
            made[f"{shape}: sum"] = Operator(shape, lambda name: dp.sum(name, (0, "1e40")))
        if shape.startswith("with "):
            made[f"{shape}: mean"] = Operator(shape, lambda name: dp.mean("y", (0, 100)))
        if shape.startswith("join"):
            made[f"{shape}: sum"] = Operator(shape, lambda name: dp.sum("extra", (0, 100)))
        if shape.startswith("per person"):
            made[f"{shape}: sum"] = Operator(shape, lambda name: dp.sum("v", (0, 100)))
            made[f"{shape}: median"] = Operator(shape, lambda name: dp.median("v", (0, 100)))
    return made


def _left_out() -> dict[str, Operator]:
    """What bounds leave out, with ends of every size."""
    return {
        f"{LEFT_OUT}: {verb}, {kind} bounds": Operator(LEFT_OUT, _within(aggregate, bounds), (verb,), ends=kind)
        for verb, aggregate in _CUT.items()
        for kind, bounds in ENDS.items()
    }


_NUMERIC = frozenset({"whole", "real", "truth"})
_ORDERED = frozenset({"whole", "real"})
_KINDS = {
    "number": _ORDERED,
    "numbers": _ORDERED,
    "wholes": frozenset({"whole"}),
    "text": frozenset({"text"}),
    "texts": frozenset({"text"}),
    "day": frozenset({"date", "time"}),
    "days": frozenset({"date", "time"}),
    "time": frozenset({"time"}),
    "moment": frozenset({"date", "time"}),
    "truth": frozenset({"truth"}),
    "truths": frozenset({"truth"}),
}
"""By the last word of an operator's name, or of its shape's."""
_ANY = frozenset({"whole", "real", "text", "truth", "date", "time"})
_NEED_NUMBERS = ("sum", "mean", "ratio", "variance", "std", "median", "quantile", "min", "max", "with +")
_NEED_ORDER = (
    "2^53 + 1",
    "1e100",
    "1e-90",
    "1e-250",
    "sum of if_else",
    "sum of coalesce",
    "sum of where",
    "with coalesce",
)


def _goes_with(name: str, operator: Operator) -> frozenset[str]:
    """The kinds of columns that an operator goes with, by its name."""
    said, _, measure = name.partition(": ")
    found = _ORDERED if said.endswith(("is_in wholes", "public wholes")) else _KINDS.get(said.split(" ")[-1], _ANY)
    if any(verb in said for verb in ("year", "month", "weekday", "hour", "minute")) or said == "sum of day":
        found &= _KINDS["day"]
    elif said.endswith("condition not") or said == "where not":
        found &= _KINDS["truth"]
    elif said.startswith(_NEED_ORDER) or (said.endswith(_NEED_ORDER) and "*" not in said and "/" not in said):
        found &= _ORDERED
    elif said.startswith(_NEED_NUMBERS) and not said.startswith("sum of condition"):
        found &= _NUMERIC
    if said.startswith("found") or said == "top":
        found -= {"real"}
    if said.startswith("per person") and not said.endswith("count"):
        found &= _NUMERIC
    if said.startswith(("where", LEFT_OUT)) and measure.startswith(("sum", "mean", "ratio", "variance", "std")):
        found &= _NUMERIC
    return found


def _known() -> dict[str, Operator]:
    made = _aggregates()
    conditions = {f"condition {name}": words for name, words in _CONDITIONS.items()}
    for name, words in (_NUMBERS | conditions).items():
        made[f"sum of {name}"] = Operator("all", _measured("sum", words), words=(words,))
    for name, words in _VALUES.items():
        made[f"different {name}"] = Operator("all", _measured("distinct", words), words=(words,))
    made |= _in_shapes()
    known = {name: replace(operator, kinds=_goes_with(name, operator)) for name, operator in made.items()}
    return {name: operator for name, operator in known.items() if operator.kinds}


OPERATORS: Mapping[str, Operator] = _known()
