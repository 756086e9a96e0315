"""Every verb of a query, every aggregate and every shortcut, each world of a table a pair of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

import pyarrow as pa

import dither as dp
from dither.engine.domains import Domain
from dither.engine.suggestion import ReleasedLooks
from tests.replay.tables import CITIES, UNITS

__all__ = ["APART", "CASES", "EACH_NEED", "ApartCase", "EngineCase"]

AGGREGATES: Mapping[str, Any] = {
    "count": dp.count(),
    "count_people": dp.count_people(),
    "count_distinct": dp.count_distinct("k"),
    "sum": dp.sum("x", (-10, 90)),
    "mean": dp.mean("x", (0, 100)),
    "share": dp.share(dp.col("x") > 10),
    "ratio": dp.ratio("x", "k", (0, 90), (0, 4)),
    "variance": dp.variance("x", (0, 100)),
    "std": dp.std("x", (-5, 5)),
    "histogram": dp.histogram("x", [0, 10, 50, 100]),
    "median": dp.median("x", (0, 100), "0.9"),
    "quantile": dp.quantile("x", ["0.25", "0.9"], (0, 100)),
    "quantile without bounds": dp.quantile("x", ["0.25", "0.9"], interval_level="0.9"),
    "min": dp.min("x", (0, 100)),
    "max": dp.max("x", (0, 100)),
    "max without bounds": dp.max("x"),
    "top": dp.top("k", 2, candidates=[0, 1, 2, 3]),
}
VERBS = (
    *(
        "after",
        "coalesce",
        "contains",
        "date_trunc",
        "day",
        "ends_with",
        "exp",
        "floor",
        "hour",
        "is_in",
        "is_null",
        "left",
        "log",
        "lower",
        "minute",
    ),
    *("month", "round", "sqrt", "starts_with", "strip", "weekday", "where", "year"),
)
ARITHMETIC = ("abs", "add", "and", "invert", "mul", "ne", "neg", "or", "rtruediv", "sub", "truediv")
COMPARISONS = ("eq", "ge", "gt", "le", "lt", "radd", "rand", "rmul", "ror", "rsub")
"""Of expressions: verbs have names, operators are methods of Python."""
PLACES = pa.table({"city": CITIES, "country": ["FR", "CH", "JP"]})


def _keys_of(worlds: int) -> pa.Table:
    return pa.table({"world": [w for w in range(worlds) for _ in CITIES], "city": CITIES * worlds})


def _known(query: Any, worlds: int) -> Any:
    return query.group_by("world", "city", keys=_keys_of(worlds))


def _of_world(query: Any, worlds: int) -> Any:
    return query.group_by("world", keys=list(range(worlds)))


def _binned(query: Any, worlds: int) -> Any:
    return query.group_by("world", dp.bins("x", [0, 50, 100]), keys=list(range(worlds)))


def _found(query: Any, worlds: int) -> Any:
    return query.group_by("world", "city")


def _joined(query: Any, worlds: int) -> Any:
    countries = pa.table({"world": [w for w in range(worlds) for _ in "FCJ"], "country": ["FR", "CH", "JP"] * worlds})
    return query.join(PLACES, on="city").group_by("world", "country", keys=countries)


def _per_person(query: Any, worlds: int) -> Any:
    """After `per_person` there are only numbers, so bins tell the world: as a place in a square."""
    across = next(width for width in range(math.isqrt(worlds), worlds + 1) if worlds % width == 0)
    down = (dp.col("world") / across).floor()
    square = query.with_columns(down=down, over=dp.col("world") - down * across)
    persons = square.per_person(
        down=dp.min("down", (0, worlds // across)), over=dp.min("over", (0, across)),
        visits=dp.count(), spend=dp.sum("x", (0, 100)),
    )  # fmt: skip
    return persons.group_by(dp.bins("down", range(worlds // across + 1)), dp.bins("over", range(across + 1)))


def _expressed(query: Any, worlds: int) -> Any:
    """Every operator of expressions, on values that overflow, divide by zero or are none."""
    x, k, day, time, city = map(dp.col, ("x", "k", "day", "time", "city"))
    dates = day.year() + day.month() + day.weekday() + day.day() + time.hour() - time.minute()
    dates += dp.if_else(time.date_trunc("hour") == "2024-02-29 00:00", 1, day.date_trunc("week").day())
    numbers = (abs(x / k) + -x * x * x - 2 / x).floor().where(x != 7).coalesce(k - k * k)
    numbers += x.exp().log() + x.sqrt().round(1)
    is_named = city.lower().strip().starts_with("par") | city.contains("ü")
    is_named |= city.after("a").left(2).ends_with("s")
    chosen = dp.if_else(city.is_in(["Paris", ""]) & is_named | ~(x.is_null() & (k != 0)), numbers, dates)
    return _known(query.with_columns(chosen=chosen, numbers=numbers, dates=dates), worlds)


def _compared(query: Any, worlds: int) -> Any:
    """Every comparison, of numbers, days and texts, and numbers that stand before an operator."""
    x, k, day, city = map(dp.col, ("x", "k", "day", "city"))
    numbers = (x < k) | (x >= 50) | (k == 1) | (100 <= x) | (0 * x == -0.0)
    others = (day > date(1970, 1, 1)) & (day <= date(2024, 2, 29)) | (city == "") | k.between(1, x)
    chosen = dp.if_else(numbers, 1 - k, dp.if_else(others, 3 * x, 1 + x))
    said = True & (False | ((x <= 110) | (k > 0) | others))
    return _known(query.where(said).with_columns(chosen=chosen), worlds)


def _in_sql(query: Any, worlds: int) -> Any:
    """Rows and groups of a text, of which the keys are known; what is asked of them is asked as elsewhere."""
    keys = {"world": Domain(keys=tuple(range(worlds))), "city": Domain(keys=tuple(CITIES))}
    text = """
        WITH some AS (SELECT world, city, x FROM data WHERE k IS NOT NULL OR NOT x BETWEEN 3 AND 5)
        SELECT world, city, COUNT(*) FROM some WHERE x < 90 GROUP BY world, city HAVING COUNT(*) > 1 LIMIT 3
    """
    return query._with(call="", domains=keys).sql(text).query


def _with_their_own(query: Any, worlds: int) -> Any:
    """Rows beside what is known of their person, and beside two rows of a public table for each city."""
    rows = query.table(query.origin.table_name)
    each = rows.per_person(visits=dp.count(), spend=dp.sum("x", (0, 100)))
    sides = pa.table({"city": CITIES * 2, "side": [0, 0, 0, 1, 1, 1]})
    both = query.join(each, on="user", how="inner").join(sides, on="city")
    return _known(both.where((dp.col("visits") < 9) | (dp.col("side") == 1)), worlds)


def _below_and_kept(query: Any, worlds: int) -> Any:
    """Rows below other rows, of persons who have one with a large number, and none in one city."""
    rows = query.table(query.origin.table_name)
    both = query.where(dp.col("x") > 10).union(query.where(dp.col("k") == 1))
    kept = both.join(rows.where(dp.col("x") > 50), on="user", how="semi")
    return _known(kept.join(rows.where(dp.col("city") == CITIES[0]), on="user", how="anti"), worlds)


def _at_levels(query: Any, worlds: int) -> Any:
    """Cities, the numbers that rows have, and all rows of a world."""
    keys = {"world": range(worlds), "city": CITIES, "k": [0, 1]}
    return query.grouping_sets(["world", "city"], ["world", "k"], ["world"], keys=keys)


def _operators(*names: str) -> frozenset[str]:
    return frozenset(f"Expression.__{name}__" for name in names)


@dataclass(frozen=True)
class EngineCase:
    """A question whose groups are in a world each, what it covers, and how many groups a world has."""

    name: str
    covers: frozenset[str]
    group: Callable[[Any, int], Any]
    ask: Mapping[str, Any]
    price: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    groups: int | tuple[int, ...] = 3
    """Of several sets of groups, how many each has in a world."""
    units: tuple[str, ...] = tuple(UNITS)

    def __str__(self) -> str:
        return self.name

    def worlds(self, count: int) -> list[int]:
        """The world of each group of the answer."""
        each_set = (self.groups,) if isinstance(self.groups, int) else self.groups
        return [world for groups in each_set for world in range(count) for _ in range(groups)]


@dataclass(frozen=True)
class ApartCase:
    """A question about all rows of a world."""

    name: str
    covers: frozenset[str]
    ask: Callable[..., Any]
    """Of a dataset and a price: the release."""
    price: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    units: tuple[str, ...] = tuple(UNITS)
    slower: int = 1
    """So many times fewer pairs are replayed: where each world is asked once more, by itself."""

    def __str__(self) -> str:
        return self.name


def _aggregate(name: str) -> EngineCase:
    covered = name.split()[0]
    if covered in ("median", "quantile", "min", "max"):
        return EngineCase(name, frozenset({covered}), _of_world, {"asked": AGGREGATES[name]}, groups=1)
    return EngineCase(name, frozenset({name}), _known, {"asked": AGGREGATES[name]})


WHOLES = {name: AGGREGATES[name] for name in ("count", "sum", "mean")}
FOUND = {"epsilon": 20, "delta": "0.1"}
"""So much that some of what is in a small world is shown, and some is not."""
SLOWER = 5
SEEN = {"epsilon": 1000}
"""So much that a few rows are seen by a look, and a range is found among them."""
EACH_NEED = EngineCase(
    "each need", frozenset({"Query.agg"}),
    _of_world,
    {
        name: AGGREGATES[name]
        for name in ("count", "count_people", "count_distinct", "sum", "variance", "histogram", "quantile", "top")
    },
    groups=1,
)  # fmt: skip
"""Every kind of question to an engine, and not every aggregate that is made of the answers."""

CASES = [
    *(_aggregate(name) for name in AGGREGATES),
    EngineCase(
        "by rho", frozenset({"Query.agg"}), _known,
        {name: AGGREGATES[name] for name in ("count", "sum", "histogram", "count_distinct")}, {"rho": 1},
    ),
    EngineCase("of a whole world", frozenset({"Query.group_by"}), _of_world, WHOLES, groups=1),
    EngineCase("in bins", frozenset({"Query.group_by", "bins"}), _binned, WHOLES, groups=2),
    EngineCase(
        "where", frozenset({"Query.where", "col"}),
        lambda q, w: _known(q.where(dp.col("x") > 10, ~dp.col("day").is_null()), w), WHOLES,
    ),
    EngineCase(
        "with_columns", frozenset({"Query.with_columns", "if_else"}),
        lambda q, w: _known(q.with_columns(y=dp.if_else(dp.col("x") > 10, dp.col("k"), 7)), w),
        {"sum": dp.sum("y", (0, 9)), "top": dp.top("y", 1, candidates=[0, 7])},
    ),
    EngineCase(
        "expressions", frozenset(f"Expression.{verb}" for verb in VERBS) | _operators(*ARITHMETIC), _expressed,
        {
            "sum": dp.sum("chosen", (-5, 50)), "distinct": dp.count_distinct("numbers"),
            "mean": dp.mean("dates", (0, 2100)),
        },
    ),
    EngineCase(
        "comparisons", _operators(*COMPARISONS) | {"Expression.between"}, _compared,
        {"sum": dp.sum("chosen", (-5, 50)), "count": dp.count(), "distinct": dp.count_distinct("chosen")},
    ),
    EngineCase("sql", frozenset({"Query.sql"}), _in_sql, WHOLES),
    EngineCase("join", frozenset({"Query.join"}), _joined, WHOLES),
    EngineCase(
        "union and what is kept", frozenset({"Query.join", "Query.union"}), _below_and_kept, WHOLES, units=("persons",)
    ),
    EngineCase(
        "grouping sets", frozenset({"Query.grouping_sets"}), _at_levels, WHOLES, groups=(3, 2, 1), units=("persons",),
    ),
    EngineCase(
        "join by person", frozenset({"Query.join", "Query.table"}), _with_their_own,
        {**WHOLES, "spend": dp.sum("spend", (0, 50))}, units=("persons",),
    ),
    EACH_NEED,
    EngineCase(
        "per_person", frozenset({"Query.per_person"}), _per_person,
        {"visits": dp.sum("visits", (0, 10)), "spend": dp.mean("spend", (0, 50))},
        groups=1, units=("persons",),
    ),
    EngineCase("found groups", frozenset({"Query.group_by"}), _found, WHOLES, FOUND),
    EngineCase("found values", frozenset({"top"}), _known, {"top": dp.top("k", 2)}, FOUND),
]  # fmt: skip

X, BOUNDS = "x", (0, 100)
SHORTCUTS: Mapping[str, Callable[..., Any]] = {
    "count": lambda data, **price: data.count(**price),
    "count_people": lambda data, **price: data.count_people(**price),
    "count_distinct": lambda data, **price: data.count_distinct("k", **price),
    "sum": lambda data, **price: data.sum(X, BOUNDS, **price),
    "mean": lambda data, **price: data.mean(X, BOUNDS, **price),
    "share": lambda data, **price: data.share(dp.col("x") > 10, **price),
    "ratio": lambda data, **price: data.ratio(X, "k", BOUNDS, (0, 4), **price),
    "variance": lambda data, **price: data.variance(X, BOUNDS, **price),
    "std": lambda data, **price: data.std(X, BOUNDS, **price),
    "median": lambda data, **price: data.median(X, BOUNDS, **price),
    "quantile": lambda data, **price: data.quantile(X, [0.1, 0.5], BOUNDS, **price),
    "min": lambda data, **price: data.min(X, BOUNDS, **price),
    "max": lambda data, **price: data.max(X, BOUNDS, **price),
    "histogram": lambda data, **price: data.histogram(X, [0, 50, 100], **price),
    "top": lambda data, **price: data.top("k", 1, candidates=[0, 1, 2, 3], **price),
}


def _person_by_person(data: Any, **price: Any) -> Any:
    persons = data.per_person(visits=dp.count(), spend=dp.sum("x", (0, 100)), best=dp.max("x", (0, 100)))
    some = persons.group_by(dp.bins("visits", [1, 3, 10]))
    return some.agg(sum=dp.sum("spend", (0, 50)), median=dp.median("best", (0, 100))).release(**price)


def _suggested(data: Any, epsilon: int) -> Any:
    """The look at persons, a tenth of the price; what is chosen is a function of it."""
    question = data.group_by("k", keys=[0, 1, 2]).agg(n=dp.count())
    (look,) = data.suggest(question, epsilon=10 * epsilon).looks
    return look


def _looked(data: Any, ask: Callable[[ReleasedLooks], Any]) -> Any:
    """One of the looks of a suggestion by itself: the release that it is."""
    aggregate: Any = dp.sum("x", (-10, 20))
    query = data.group_by("k", keys=[0, 1, 2])
    asked = ReleasedLooks(query, query.origin.unit, {"s": aggregate})
    ask(asked)
    (look,) = asked.releases
    return look


def _looked_at_totals(data: Any, epsilon: int) -> Any:
    """At what each person adds up to in one of their groups, and at how many they have."""
    ends, groups = [-40, -10, 0, 5, 20, 80], [[1, 2, 3, 4]]
    return _looked(data, lambda asked: asked.by_totals("s", ends, groups, Fraction(epsilon)))


def _looked_at_values(data: Any, epsilon: int) -> Any:
    """At one value of each person."""
    return _looked(data, lambda asked: asked.by_values("s", [-10, 0, 5, 20], Fraction(epsilon)))


def _looked_at_leans(data: Any, epsilon: int) -> Any:
    """At how far the mean value of each person is from the middle, by their rows."""
    return _looked(data, lambda asked: asked.leans("s", [1, 2, 4, 1 << 62], (-5.0, 15.0), Fraction(epsilon)))


def _left_out(data: Any, **price: Any) -> Any:
    """Rows, a sum and a mean, so that limits and bounds cut of every kind."""
    asked = {"n": dp.count(), "sum": dp.sum("x", (-10, 20)), "mean": dp.mean("x", (5, 20))}
    return data.group_by("k", keys=[0, 1, 2]).agg(**asked).release(left_out=True, **price)


def _clipped(query: Any) -> Any:
    return query.agg(n=dp.count(), m=dp.mean(X, BOUNDS, clip=True), s=dp.sum(X, (-10, 10**6), clip=True))


def _in_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """Groups share the range that is found."""
    return lambda data, **price: data.group_by("city", keys=CITIES).agg(n=dp.count(), x=function(X)).release(**price)


def _shortcut(name: str) -> ApartCase:
    # How many rows there are is public where one is replaced, so no pair of these would differ on a commit.
    units = ("rows", "persons", "replaced rows") if name == "count_people" else tuple(UNITS)
    return ApartCase(f"data.{name}", frozenset({f"Shortcuts.{name}"}), SHORTCUTS[name], units=units)


APART = [
    *map(_shortcut, SHORTCUTS),
    ApartCase("data.top of what is found", frozenset({"top"}), lambda data, **price: data.top("k", 2, **price), FOUND),
    ApartCase(
        "data.median by rho", frozenset({"median"}),
        lambda data, **price: data.median(X, BOUNDS, "0.9", **price), {"rho": 1},
    ),
    ApartCase("suggest", frozenset({"Dataset.suggest"}), _suggested, units=("persons",)),
    ApartCase("suggest of a sum", frozenset({"Query.agg"}), _looked_at_totals, units=("persons",)),
    ApartCase("suggest at values", frozenset({"Query.agg"}), _looked_at_values, units=("persons",)),
    ApartCase("suggest how values lean", frozenset({"Query.agg"}), _looked_at_leans, units=("persons",)),
    ApartCase("left out", frozenset({"Query.agg"}), _left_out),
    ApartCase("left out by rho", frozenset({"Query.agg"}), _left_out, {"rho": 1}),
    ApartCase("sum of groups without bounds", frozenset({"sum"}), _in_groups(dp.sum), SEEN, ("persons",), SLOWER),
    ApartCase("std of groups without bounds", frozenset({"std"}), _in_groups(dp.std), SEEN, ("replaced rows",), SLOWER),
    ApartCase(
        "found ranges by rho", frozenset({"mean"}),
        lambda data, **price: _clipped(data).release(**price), {"rho": 1}, slower=SLOWER,
    ),
    ApartCase(
        "found ranges in found groups", frozenset({"sum"}),
        lambda data, **price: _clipped(data.group_by("city")).release(**price), FOUND, slower=SLOWER,
    ),
    ApartCase("per_person in bins", frozenset({"Query.per_person"}), _person_by_person, units=("persons",)),
]  # fmt: skip
