"""The answers of a stream after one period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from dither.engine.aggregate import Aggregate
from dither.engine.table_release import charged_terms, to_pandas_frame
from dither.engine.tidy_rows import tidied
from dither.errors import ParameterError
from dither.exact import Number
from dither.ledger import Entry
from dither.mechanisms.released import Interval, Release

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PeriodRelease"]


@dataclass(frozen=True, slots=True, repr=False)
class PeriodRelease(Release):
    """What a stream shows after one period, as a table with one row per group; all of it may be published.

    `RunningStream.step` returns it. For each column and each question there is the value and its interval, such as
    `visits_total`, `visits_total_low` and `visits_total_high`.

    Parameters
    ----------
    value : pyarrow.Table
        The answers.
    event : Event
        What is done over the whole horizon.
    guarantee : PureDP, ApproxDP or ZCDP
        What the whole horizon was charged, once.
    mechanism : Any
        The noise of the first part.
    period : int
        The number of the period, from 0 on.
    first_day : datetime.date
        Its first day.
    end : datetime.date
        The first day after it.
    entry : Entry
        The charge in the ledger, to which all periods of the stream refer.
    aggregates : mapping of str to Aggregate
        What each column of the answers is, by its name.
    noise_removed : bool
        Whether these are exact answers, made in a test by `dither.testing`: then they are not private.
    """

    period: int
    first_day: date
    end: date
    entry: Entry = field(repr=False)
    aggregates: Mapping[str, Aggregate] = field(repr=False)

    def to_arrow(self) -> pa.Table:
        """Convert to an Arrow table.

        Returns
        -------
        pyarrow.Table
            The keys, the values and the ends of their intervals.
        """
        return self.value

    def tidy(self) -> pa.Table:
        """Convert to an Arrow table without lists: each bin of a histogram has a row.

        Returns
        -------
        pyarrow.Table
            The keys, the values and the ends of their intervals, as `TableRelease.tidy` shapes them.
        """
        return tidied(self.value, self.aggregates)

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a pandas frame, as `tidy` shapes it.

        Returns
        -------
        pandas.DataFrame
            The keys, the values and the ends of their intervals.

        Raises
        ------
        MissingPackage
            If pandas is not installed.
        """
        return to_pandas_frame(self.tidy())

    def interval(self, level: Number = 0.95) -> Interval:
        """Refuse another level: intervals of a stream are columns of its answers.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level.

        Returns
        -------
        tuple
            Nothing: this raises.

        Raises
        ------
        ParameterError
            Always; the level is given when the stream is started.
        """
        raise ParameterError("the intervals of a stream are columns of its answers; their level is given at its start.")

    def __repr__(self) -> str:
        """The period, the answers and what they cost."""
        return f"period {self.period}, from {self.first_day} to before {self.end}\n{self.value}\ncosts {self.guarantee}"

    def _terms(self) -> dict[str, Any]:
        """The charge of the whole horizon, which period of it this is, and the digest of this answer."""
        return {**charged_terms(self, self.entry, self.tidy()), "period": self.period}
