"""Practice rows: made up from public facts alone, so that questions can be tried for nothing.

Only names and kinds of columns and their privacy domains are used. No row of the data is looked at, so that nothing
that is asked here tells of anybody; the answers mean nothing.
"""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from dither.engine import Dataset
from dither.engine.domains import Domain
from dither.exact import rational
from dither.guarantees import ZCDP, ApproxDP, PureDP
from dither.ledger import IN_MEMORY
from dither.ledger.budget import Budget
from dither.web.offered_dataset import Offered

__all__ = ["practice_of"]

_PEOPLE: Final = 400
_ROWS_EACH: Final = 3
_PLENTY: Final = 1_000_000
_STRIDE: Final = 7919
"""A prime: multiples of it walk through all values of a column."""
_DAY: Final = date(2024, 1, 1)
_ARROW: Final = {
    "whole": pa.int64(), "real": pa.float64(), "text": pa.string(), "truth": pa.bool_(), "date": pa.date32(),
    "time": pa.timestamp("us"),
}  # fmt: skip

_IDENTIFYING: Final = ("whole", "text", "date", "time")
"""Kinds that tell persons apart; a number in a CSV file may be any, and as an id it is whole."""


def practice_of(real: Offered) -> Offered:
    """The same columns with made-up rows, a ledger in memory and a budget that does not end."""
    data, unit = real.data, real.data.origin.unit
    kinds = {name: _kind(kind, real.kinds.get(name), data.domains.get(name)) for name, kind in data.columns.items()}
    person: Any = getattr(unit, "column", None)
    if person in kinds and kinds[person] not in _IDENTIFYING:
        kinds[person] = "whole"
    kinds = {name: kind for name, kind in kinds.items() if kind in _ARROW}
    columns = {
        name: pa.array(_values(at, kind, data.domains.get(name), name == person), _ARROW[kind])
        for at, (name, kind) in enumerate(kinds.items())
    }
    known = {name: domain.bounds or list(domain.keys or ()) for name, domain in data.domains.items() if name in kinds}
    made_up = Dataset(
        pa.table(columns),
        unit=unit,
        budget=_plenty(data.budget),
        failures_allowed=_PLENTY,
        ledger=IN_MEMORY,
        identity=data.origin.table_name,
        columns=known,
    )
    return Offered(f"{real.name}-practice", made_up, real.read, real.right, is_practice=True, kinds=real.kinds)


def _kind(kind: str, said: str | None, domain: Domain | None) -> str:
    """The kind that a column has for questions: in a CSV file all are texts."""
    if kind != "text":
        return kind
    if said is None and domain is not None and domain.bounds is not None:
        return "date" if isinstance(domain.bounds[0], date) else "real"
    return {"number": "real", "date": "date", "truth": "truth"}.get(said or "", kind)


def _plenty(budget: Budget) -> Budget:
    if isinstance(budget, ZCDP):
        return ZCDP(_PLENTY)
    return ApproxDP(_PLENTY, "0.9") if isinstance(budget, ApproxDP) else PureDP(_PLENTY)


def _values(column: int, kind: str, domain: Domain | None, is_person: bool) -> list[Any]:
    rows = range(_PEOPLE * _ROWS_EACH)
    if is_person:
        made: list[Any] = [row % _PEOPLE for row in rows]
    elif domain is not None and domain.keys:
        made = [domain.keys[(row * _STRIDE + row // _PEOPLE + column) % len(domain.keys)] for row in rows]
    elif domain is not None and domain.bounds:
        made = [_between(*domain.bounds, Fraction((row * _STRIDE + column) % 1000, 1000)) for row in rows]
    else:
        made = [_between(0, 100, Fraction((row * _STRIDE + column) % 1000, 1000)) for row in rows]
    return [_as(kind, value) for value in made]


def _between(low: Any, high: Any, part: Fraction) -> Any:
    if isinstance(low, date):
        return low + timedelta(days=int((high - low).days * part))
    return rational(low) + (rational(high) - rational(low)) * part


def _as(kind: str, value: Any) -> Any:
    """A made-up value of the kind that the column has."""
    if kind == "text":
        return str(float(value)) if isinstance(value, Fraction) and value.denominator != 1 else str(value)
    if kind in ("date", "time"):
        day = value if isinstance(value, date) else _DAY + timedelta(days=int(value))
        return day if kind == "date" else str(day)
    if kind == "truth":
        return value if isinstance(value, bool) else int(value) % 2 == 0
    return int(value) if kind == "whole" else float(value)
