"""What limits and bounds cut off each person, as whole numbers that one person moves by a known amount.

Each person has, for each `Cut`, what is `kept` and what is `lost` of them: in expectation over the choice of their
groups, in steps of which 2^20 are what the limits allow a person in one group, and so `unit` steps in all. Both are
functions of that person's rows alone. Rows and groups are counted in whole steps and summed as whole numbers; quotients
are taken of finished sums, person by person, so that no number of one person depends on the order of rows.

**The sensitivity.** Nobody knows how much the largest person loses, so that people are put into cells by the size of
what they have: cell 0 up to `unit`, cell j up to 2^j·unit, and beyond the last cell nothing is counted. Of each cell
the losses are added up in units of its own size, 2^j·unit, and what is kept in `unit`. A person is in one cell, so that
with `ONE` steps for 1 they move one sum of losses by at most ¾·ONE and the sum of what is kept by ¼·ONE: ONE together
for each cut. Besides, they are one of the people of whom something is lost, or of the others: ONE once more. All of it
is clamped to these ends by the engine, whatever its arithmetic does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import ibis
import ibis.expr.types as ir

from dither.tables.database_engines.sealed_entry import SMALLEST
from dither.tables.expression import Expression
from dither.tables.expression_compiler import between, clamped, number

__all__ = [
    "CELLS", "MOST_KEPT", "MOST_LOST", "ONE", "Cut", "columns_of_cuts", "steps_of_persons", "steps_of_rows",
    "wanted_by",
]  # fmt: skip

CELLS: Final = 11
"""People who have up to 1, 2, …, 1024 times what the limits allow."""
ONE: Final = 1 << 20
"""What a person moves the sums of one cut by, at most."""
MOST_KEPT: Final = ONE // 4
"""Of which by what is kept of them."""
MOST_LOST: Final = ONE - MOST_KEPT
"""And by what is lost."""
_FULL: Final = 1 << 20
"""Steps of what the limits allow a person in one group."""
_MOST: Final = 1 << 30
"""No person has more steps in one group, so that 32 bits hold them."""

_ROWS, _PEOPLE, _ENDS = "dither rows", ("dither whole people", "dither cut people"), ("kept", "lost")


@dataclass(frozen=True, slots=True)
class Cut:
    """Something of which limits or bounds may cut a part: `rows`, `groups`, or the values of a sum or a mean."""

    kind: Literal["rows", "groups", "sum", "mean"]
    name: str
    """What it is called."""
    of: Expression | None = None
    bounds: tuple[float, float] = (0.0, 0.0)


def _of_row(cut: Cut, value: Any) -> tuple[Any, Any]:
    """The magnitude of a clamped value, and how far clamping moves it: in steps of the larger bound.

    An end closer to 0 than any value that enters is 0: divided by the other one it could be too small for a double,
    and a server that fails on that would fail for rows beyond that end alone.
    """
    low, high = (0.0 if abs(end) < SMALLEST else end for end in cut.bounds)
    real = number(value)
    kept, largest = clamped(real, low, high), max(abs(low), abs(high))
    moved = ibis.greatest(real - high, low - real, 0.0)
    sizes = (kept.abs() / largest, real.notnull().ifelse(moved, ibis.null("float64")) / largest)
    steps = [(clamped(size, 0.0, float(_MOST // _FULL)) * _FULL + 0.5).floor().cast("int64") for size in sizes]
    return steps[0], steps[1]


def _of_group(cut: Cut, max_rows: int, rows: Any, values: Any, kept: Any, lost: Any) -> tuple[Any, Any]:
    """Of a person in one group: what is kept, and what is lost by the limit of rows and by bounds."""
    if cut.kind == "groups":
        return ibis.literal(_FULL, type="int64"), ibis.literal(0, type="int64")
    if cut.kind == "rows":
        each = max(_FULL // max_rows, 1)
        return ibis.least(rows, max_rows) * each, between(rows - max_rows, 0, max_rows * (_MOST // _FULL)) * each
    if cut.kind == "mean":
        counting = ibis.least(values, max_rows).cast("float64") / values.cast("float64").nullif(0.0)
        return _steps(kept.cast("float64") * counting / max_rows), _steps(lost.cast("float64") * counting / max_rows)
    within = ibis.least(kept, max_rows * _FULL)
    return _steps(within.cast("float64") / max_rows), _steps((lost + kept - within).cast("float64") / max_rows)


def _steps(real: Any) -> Any:
    return between(real.fill_null(0.0), 0.0, float(_MOST)).floor().cast("int64")


def _of_person(cut: Cut, max_groups: int, groups: Any, kept: Any, lost: Any) -> tuple[Any, Any]:
    """The same of all groups of a person, of which `max_groups` count: what is kept is expected, rounded down."""
    counting = ibis.least(groups, max_groups).cast("float64") / groups.cast("float64").nullif(0.0)
    all_count = groups <= max_groups
    expected = all_count.ifelse(kept, (kept.cast("float64") * counting).floor().cast("int64"))
    if cut.kind == "mean":  # a group that is not chosen moves no mean
        return expected, all_count.ifelse(lost, (lost.cast("float64") * counting).floor().cast("int64"))
    return expected, lost + kept - expected


def wanted_by(cuts: Sequence[Cut]) -> dict[str, Expression]:
    """The values that are looked at, by the columns in which they stand."""
    return {_column(at): cut.of for at, cut in enumerate(cuts) if cut.of is not None}


def columns_of_cuts(cuts: Sequence[Cut]) -> list[str]:
    """The names of the sums: people of whom nothing is lost, the others; for each cut what is kept, and each cell."""
    each = [_column(at, part) for at in range(len(cuts)) for part in ("kept", *range(CELLS))]
    return [*_PEOPLE, *each]


def steps_of_rows(rows: ir.Table, cuts: Sequence[Cut]) -> ir.Table:
    """What each row adds to the sums, where it is a person of its own; `rows` has the values that are `wanted_by`."""
    found = {at: _of_row(cut, rows[_column(at)]) for at, cut in enumerate(cuts)}
    whole = {at: (kept.fill_null(0), lost.fill_null(0)) for at, (kept, lost) in found.items()}
    return _steps_of(rows.select(**_named(whole)), dict.fromkeys(whole, _FULL))


def steps_of_persons(
    rows: ir.Table, cuts: Sequence[Cut], limits: tuple[int, int], person: str, keys: Sequence[str]
) -> ir.Table:
    """What each person adds to the sums; `limits` are those of groups and of rows in each."""
    max_groups, max_rows = limits
    valued = [at for at, cut in enumerate(cuts) if cut.of is not None]
    rows = rows.mutate(**_named({at: _of_row(cuts[at], rows[_column(at)]) for at in valued}))
    sums: dict[str, Any] = {_ROWS: rows.count().cast("int64")}
    for at in valued:
        sums[_column(at, "count")] = rows[_column(at, "kept")].count()
        for end in _ENDS:
            sums[_column(at, end)] = rows[_column(at, end)].cast("int32").sum().fill_null(0).cast("int64")
    groups = rows.group_by([person, *keys]).aggregate(**sums)
    brought = {}
    for at, cut in enumerate(cuts):
        values = [groups[_column(at, part)] if at in valued else None for part in ("count", *_ENDS)]
        brought[at] = _of_group(cut, max_rows, groups[_ROWS], *values)
    groups = groups.select(person, **_named(brought))
    totals: dict[str, Any] = {_ROWS: groups.count().cast("int64")}
    totals |= {name: groups[name].cast("int32").sum().cast("int64") for name in groups.columns if name != person}
    each = groups.group_by(person).aggregate(**totals)
    persons = {
        at: _of_person(cut, max_groups, each[_ROWS], *(each[_column(at, end)] for end in _ENDS))
        for at, cut in enumerate(cuts)
    }
    units = {at: _unit(cut, max_groups, max_rows) for at, cut in enumerate(cuts)}
    return _steps_of(each.select(**_named(persons)), units)


def _steps_of(persons: ir.Table, units: Mapping[int, int]) -> ir.Table:
    """What each person, given by what is kept and lost of them for each cut, adds to the sums."""
    is_cut = ibis.or_(*(persons[_column(at, "lost")] > 0 for at in units))
    found = dict(zip(_PEOPLE, (is_cut.ifelse(0, ONE), is_cut.ifelse(ONE, 0)), strict=True))
    for at, unit in units.items():
        kept, lost = (persons[_column(at, end)] for end in _ENDS)
        size = kept + lost
        found[_column(at, "kept")] = _part(kept, unit, MOST_KEPT)
        for cell in range(CELLS):
            largest = unit << cell
            is_here = size <= largest if cell == 0 else (size > largest >> 1) & (size <= largest)
            found[_column(at, cell)] = is_here.ifelse(_part(lost, largest, MOST_LOST), 0)
    return persons.select(**found)


def _unit(cut: Cut, max_groups: int, max_rows: int) -> int:
    """How many steps the limits allow a person."""
    return max_groups * (max(_FULL // max_rows, 1) * max_rows if cut.kind == "rows" else _FULL)


def _part(steps: Any, of: int, most: int) -> Any:
    return between((steps.cast("float64") / float(of) * most).floor(), 0.0, float(most)).cast("int64")


def _column(at: int, part: object = "value") -> str:
    return f"dither cut {at} {part}"


def _named(found: Mapping[int, tuple[Any, Any]]) -> dict[str, Any]:
    return {_column(at, end): of for at, both in found.items() for end, of in zip(_ENDS, both, strict=True)}
