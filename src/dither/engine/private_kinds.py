"""What columns of texts hold, from noisy counts: a file of separated values has no types to tell it.

A look at its lines would have no price and no noise, so that one row could decide how a column is read. Here each
value is a number, a day, a truth value or another text; a private histogram counts these, and the most frequent is what
the column holds, if its interval lies above all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dither.engine.distribution_aggregates import histogram
from dither.tables import Column, Expression, if_else

if TYPE_CHECKING:
    from dither.engine.query import Query
    from dither.engine.table_release import TableRelease

__all__ = ["private_kinds", "read_as"]

_KINDS: Final = ("number", "day", "truth", "text")
_TRUE, _FALSE = "true", "false"


def private_kinds(query: Query, columns: Sequence[str], epsilon: Fraction) -> tuple[dict[str, str], TableRelease]:
    """The kind of most values of each of these columns of texts whose noise does not hide it; and what was released."""
    edges = range(len(_KINDS) + 1)
    question = query.agg(**{f"{name} holds": histogram(_place(Column(name)), edges) for name in columns})
    release = question.release(epsilon=epsilon)
    (answers,) = release.value.to_pylist()
    ends = {name: (answers[f"{name} holds_low"], answers[f"{name} holds_high"]) for name in columns}
    return {name: kind for name, each in ends.items() if (kind := _surely_most(*each)) is not None}, release


def _surely_most(low: Sequence[int], high: Sequence[int]) -> str | None:
    """The kind whose interval lies above those of all others, if there is one."""
    first = max(range(len(_KINDS)), key=low.__getitem__)
    return _KINDS[first] if low[first] > max(end for place, end in enumerate(high) if place != first) else None


def read_as(name: str, kind: str, *, is_text: bool) -> Any:
    """The column as a value of its kind: numbers and days are read where they are needed, truth values here."""
    of = Column(name)
    return _written(of) == _TRUE if is_text and kind == "truth" else of


def _place(of: Column) -> Expression:
    """Where the kind of a value stands among all kinds; no number for a missing one."""
    other = if_else(_written(of).is_in([_TRUE, _FALSE]), _KINDS.index("truth"), _KINDS.index("text"))
    no_number = if_else(of.year().is_null(), other, _KINDS.index("day"))
    found: Expression = if_else((of + 0).is_null(), no_number, _KINDS.index("number")).where(~of.is_null())
    return found


def _written(of: Column) -> Any:
    return of.strip().lower()
