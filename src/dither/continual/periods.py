"""The public horizon of a stream: periods of a calendar, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

from dither.errors import ParameterError
from dither.exact import check

__all__ = ["Horizon", "Length", "window_of"]

Length = Literal["day", "week", "month"]
_DAYS: Final = {"day": 1, "week": 7}
_IN_A_MONTH: Final = {"day": 30, "week": 4, "month": 1}


@dataclass(frozen=True, slots=True)
class Horizon:
    """So many periods from a first day on."""

    start: date
    periods: int
    every: Length = "day"

    def __post_init__(self) -> None:
        if type(self.start) is not date:
            raise ParameterError("start must be the first day of the stream, such as datetime.date(2026, 1, 1).")
        check.count(periods=self.periods)
        if self.every not in (*_DAYS, "month"):
            raise ParameterError(f"every must be 'day', 'week' or 'month', got every={self.every!r}.")
        if self.every == "month" and self.start.day != 1:
            raise ParameterError("a stream of months starts on the first day of a month.")
        self.first_day(self.periods)

    def first_day(self, period: int) -> date:
        """The first day of a period, counted from 0; that of the next one is no longer in it."""
        try:
            if self.every == "month":
                years, month = divmod(self.start.month - 1 + period, 12)
                return date(self.start.year + years, month + 1, 1)
            return self.start + timedelta(days=period * _DAYS[self.every])
        except (OverflowError, ValueError):
            raise ParameterError("the last period of the stream is after the year 9999. Give fewer periods.") from None

    def period_of(self, day: date) -> int:
        """The period that a day is in."""
        low, high = 0, self.periods
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.first_day(middle) <= day else (low, middle)
        if not self.first_day(low) <= day < self.first_day(low + 1):
            raise ParameterError(f"the stream has no period with the day {day}.")
        return low

    def window(self, question: str | int, period: int) -> int | None:
        """How many periods a question sums up after this one; None for all.

        "month" is the calendar month that the period begins in, as far as it has come.
        """
        if question != "month":
            return window_of(question)
        month = self.first_day(period).replace(day=1)
        return next((back for back in range(1, period + 1) if self.first_day(period - back) < month), period + 1)

    def typical_window(self, question: str | int) -> int | None:
        """How many periods it sums up in most periods: what the planner goes by."""
        return _IN_A_MONTH[self.every] if question == "month" else window_of(question)

    def __str__(self) -> str:
        return f"{self.periods} periods of a {self.every} from {self.start}"


def window_of(question: object) -> int | None:
    """How many periods a question sums up: all for "total", 1 for "last", and w for a whole number w."""
    if question == "total":
        return None
    if question == "last":
        return 1
    if isinstance(question, int) and not isinstance(question, bool) and question >= 1:
        return question
    raise ParameterError(
        "a question of a stream is 'total', 'last', 'month' or the number of periods of a sliding window such as 7, "
        f"got {question!r}."
    )
