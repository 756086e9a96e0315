"""A budget that is renewed: so much in each day, week, month, quarter or year, for a stated number of them.

What a person risks in all is the sum over all periods, so that is the cap of the account, and their number is stated
beforehand. Within it, a charge has to fit into what its own period has. What is left of a period lapses.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from dither.adjacency import Adjacency
from dither.errors import LedgerError, ParameterError
from dither.exact import check, in_words
from dither.guarantees import ZCDP, ApproxDP, PureDP
from dither.ledger.budget import Budget, amounts, read_budget, write_budget

__all__ = ["Every", "PerPeriod"]

Every: TypeAlias = Literal["day", "week", "month", "quarter", "year"]
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_DAYS: Final = {"day": 1, "week": 7}
_IN_A_YEAR: Final = {"day": 366, "week": 53, "month": 12, "quarter": 4, "year": 1}
"""How many begin in a year, at most, that begins with one."""
_LAST_DAY: Final = 28
"""Months have that many days at least."""


@dataclass(frozen=True, slots=True)
class PerPeriod:
    """A privacy budget that is renewed in each period.

    Give it as the `budget` of a `Dataset`. A question is paid from what is left of the period that it is asked in;
    what is left at its end lapses. All periods together are what the data can cost a person: `total` is the cap of the
    account, and `in_a_year` that of the periods which begin in one year.

    Parameters
    ----------
    each : PureDP, ApproxDP or ZCDP
        What may be spent in one period.
    every : {"day", "week", "month", "quarter", "year"}
        How long a period is.
    start : date
        When the first one begins, at midnight UTC. Of months, quarters and years, a day up to the 28th.
    periods : int
        How many there are. After the last one nothing can be spent.

    Raises
    ------
    ParameterError
        If one of these is not as described, or the sum of δ is 1 or more.

    Notes
    -----
    Sums of (ε, δ) or of ρ hold for questions that depend on earlier answers, also those of other periods
    (`dither.accounting.filters`). The clock is that of the machine which charges. One that is put back renews nothing,
    and one that is put forward reaches the later periods earlier, never more than `total`.

    Examples
    --------
    >>> import dither as dp
    >>> from datetime import date
    >>> monthly = dp.PerPeriod(dp.PureDP("0.2"), every="month", start=date(2026, 1, 1), periods=36)
    >>> print(monthly)
    epsilon 0.2 in each month: epsilon 2.4 in a year, epsilon 7.2 in all 36 from 2026-01-01 on
    >>> monthly.begins(13)
    datetime.date(2027, 2, 1)
    """

    each: Budget
    every: Every
    start: date
    periods: int

    def __post_init__(self) -> None:
        if not any(amounts(self.each).values()):
            raise ParameterError("a budget must be greater than 0. Give each period something to spend.")
        if self.every not in get_args(Every):
            raise ParameterError(f"every must be one of {', '.join(get_args(Every))}, got {self.every!r}.")
        if type(self.start) is not date:  # a datetime is one as well
            raise ParameterError("start must be the day on which the first period begins, such as date(2026, 1, 1).")
        if self.every in _MONTHS and self.start.day > _LAST_DAY:
            raise ParameterError(f"start must be a day that each month has: up to the {_LAST_DAY}th.")
        check.count(periods=self.periods)
        try:
            self.begins(self.periods)
        except (ValueError, OverflowError):
            raise ParameterError(f"periods must end before the year 10000, got {self.periods!r}. Take fewer.") from None
        self.total  # noqa: B018  # a sum of δ that is no probability is refused here

    @property
    def total(self) -> Budget:
        """What all periods together may cost: the cap of the account."""
        return _times(self.each, self.periods)

    @property
    def in_a_year(self) -> Budget:
        """What may be spent in the periods of one year, which begins with the first of them."""
        return _times(self.each, min(self.periods, _IN_A_YEAR[self.every]))

    def begins(self, number: int) -> date:
        """Tell when a period begins.

        Parameters
        ----------
        number : int
            Which one; the first is 0. The one before ends then.

        Returns
        -------
        date
            Its first day.
        """
        if self.every in _DAYS:
            return self.start + timedelta(days=number * _DAYS[self.every])
        months = self.start.year * 12 + self.start.month - 1 + number * _MONTHS[self.every]
        return date(months // 12, months % 12 + 1, self.start.day)

    def number(self, at: datetime) -> int:
        """Tell which period a moment lies in.

        Parameters
        ----------
        at : datetime
            A moment, with its time zone.

        Returns
        -------
        int
            Its number, from 0 on; below 0 before the first one, and `periods` or more after the last.
        """
        day = at.astimezone(UTC).date()
        if self.every in _DAYS:
            return (day - self.start).days // _DAYS[self.every]
        months = (day.year - self.start.year) * 12 + day.month - self.start.month - (day.day < self.start.day)
        return months // _MONTHS[self.every]

    def __str__(self) -> str:
        """The budget of each period, of a year, and of all."""
        in_a_year = "" if self.every == "year" else f"{_said(self.in_a_year)} in a year, "
        all_of_them = f"{_said(self.total)} in all {self.periods:,} from {self.start.isoformat()} on"
        return f"{_said(self.each)} in each {self.every}: {in_a_year}{all_of_them}"

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(self.each._under(adjacency), self.every, self.start, self.periods)

    def _written(self) -> dict[str, Any]:
        """As the entry of the budget states it."""
        return {
            "each": write_budget(self.each),
            "every": self.every,
            "start": self.start.isoformat(),
            "periods": self.periods,
        }

    @classmethod
    def _read(cls, stated: Any) -> Self:
        """Back from an entry, only as `_written` writes it."""
        try:
            found = cls(
                read_budget(stated["each"]), stated["every"], date.fromisoformat(stated["start"]), stated["periods"]
            )
        except (KeyError, TypeError, ValueError):
            found = None
        if found is None or found._written() != stated:
            raise LedgerError("an entry of the ledger states periods that cannot be read. Run verify().")
        return found


def _times(each: Budget, times: int) -> Budget:
    if isinstance(each, ZCDP):
        return ZCDP(each.rho * times, adjacency=each.adjacency)
    if isinstance(each, ApproxDP):
        delta = each.stated_delta * times
        if not delta < 1:
            raise ParameterError(f"delta over {times:,} periods adds up to {in_words(delta)}, which promises nothing.")
        return ApproxDP(each.stated_epsilon * times, delta, adjacency=each.adjacency)
    return PureDP(each.stated_epsilon * times, adjacency=each.adjacency)


def _said(budget: Budget) -> str:
    figures = amounts(budget)
    return ", ".join(f"{name} {in_words(Fraction(value))}" for name, value in figures.items() if value)
