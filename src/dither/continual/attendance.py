"""Who took part in which periods, so that nobody does in more of them than was promised.

It is secret, as it is about persons. It is decided from who was there alone: values are never looked at.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from dither.continual.participation import Participation
from dither.errors import LedgerConflict

__all__ = ["Attendance"]

_PERSON, _USED, _LAST = "person", "used", "last"


class Attendance:
    """For each person who took part: in how many periods, and in which one last."""

    def __init__(self, participation: Participation) -> None:
        self._participation = participation
        self._known: pa.Table | None = None

    def check_type(self, of: pa.DataType) -> None:
        """Refuse another type than before: the text "07" and the number 7 may be one person, who would count twice."""
        if self._known is not None and self._known.schema.field(_PERSON).type != of:
            raise LedgerConflict(
                "the column that tells persons apart has another type than in earlier periods of this stream, so it is "
                "not known who took part. No answer was given. Give it the type that it had."
            )

    def admitted(self, people: pa.Array, period: int) -> pa.Array:
        """Those who may take part in this period: a person's own earlier periods decide, and nobody else's."""
        if self._known is None:
            return people
        used, last = self._known.column(_USED), self._known.column(_LAST)
        is_used_up = pc.greater_equal(used, self._participation.max_periods)
        is_too_soon = pc.less(pc.subtract(period, last), self._participation.min_separation)
        refused = self._known.column(_PERSON).filter(pc.or_(is_used_up, is_too_soon)).combine_chunks()
        return people.filter(pc.invert(pc.is_in(people, value_set=refused)))

    def add(self, people: pa.Array, period: int) -> None:
        """They took part in this period."""
        count = len(people)
        new = pa.table(
            {_PERSON: people, _USED: pa.array([1] * count, pa.int64()), _LAST: pa.array([period] * count, pa.int64())}
        )
        both = new if self._known is None else pa.concat_tables([self._known, new])
        grouped = both.group_by(_PERSON).aggregate([(_USED, "sum"), (_LAST, "max")])
        self._known = grouped.rename_columns({f"{_USED}_sum": _USED, f"{_LAST}_max": _LAST}).select(
            [_PERSON, _USED, _LAST]
        )
