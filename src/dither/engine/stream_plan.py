"""What a stream will cost, and how large its errors will be in each period."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dither.continual.periods import Horizon
from dither.continual.track import TrackNoise
from dither.engine.keys_over_time import FOUND, KeyNoise
from dither.engine.over_time import track_noises, windows_in_words
from dither.engine.plan import Plan
from dither.errors import ParameterError
from dither.events import Event
from dither.exact import once, rounded
from dither.ledger.budget import Budget

__all__ = ["StreamPlan"]

_DIGITS = 4


@dataclass(frozen=True)
class StreamPlan:
    """What a stream will cost and how large its errors will be in each period; nothing in it depends on data.

    `StreamQuestion.plan` makes it, and `print` shows it as a table.

    Parameters
    ----------
    plan : Plan
        The noise of each part over the whole horizon.
    show : tuple of str or int
        What is shown after each period.
    horizon : Horizon
        The periods.
    """

    plan: Plan
    show: tuple[str | int, ...]
    horizon: Horizon

    @property
    def cost(self) -> Budget:
        """What the whole horizon is charged."""
        return self.plan.cost

    @property
    def event(self) -> Event:
        """All noise of the whole horizon, as one event."""
        return self.plan.event

    @property
    def _last(self) -> int:
        return self.horizon.periods - 1

    @once
    def _noises(self) -> Mapping[str, TrackNoise]:
        return track_noises(self.plan)

    @property
    def shown_from(self) -> int | None:
        """With how many people in one period, noise and all, a group is shown; None if groups are public."""
        part = self.plan.parts.get(FOUND)
        return part.noise.selection.threshold if part is not None and isinstance(part.noise, KeyNoise) else None

    @property
    def factorisations(self) -> dict[str, str]:
        """The factorisation that was chosen for each column."""
        return {name: self._noise_of(name).encoder.name for name in self.plan.aggregates}

    def _noise_of(self, name: str) -> TrackNoise:
        if name not in self.plan.aggregates:
            raise ParameterError(f"there is no column {name!r}. There are: {', '.join(self.plan.aggregates)}.")
        return self._noises[next(iter(self.plan.aggregates[name].needs))]

    def error(self, name: str, question: str | int = "total", period: int | None = None) -> float:
        """Compute the standard deviation of a column's sum in one period, in the unit of the column.

        Parameters
        ----------
        name : str
            The name of the column: a count or a sum, or of a mean the sum that it is made of.
        question : str or int, default "total"
            "total", "last", "month", or the number of periods of a sliding window.
        period : int, optional
            The number of the period, from 0 on; the last one by default.

        Returns
        -------
        float
            The standard deviation, never too small.
        """
        noise = self._noise_of(name)
        (key, *_) = self.plan.aggregates[name].needs
        unit = self.plan.parts[key].need.unit or Fraction(1)
        at = self._last if period is None else period
        if not 0 <= at <= self._last:
            raise ParameterError(f"period must be from 0 to {self._last}, got period={period}.")
        return noise.deviation(self.horizon.window(question, at), at) * float(unit)

    def __str__(self) -> str:
        """A line for each column and question: the factorisation, and the error at the first and the last period."""
        lines = [("column", "shows", "factorisation", "deviation, first period", "last period")]
        for name in self.plan.aggregates:
            for question in self.show:
                first, last = (rounded(self.error(name, question, at), _DIGITS) for at in (0, self._last))
                lines.append((name, windows_in_words([question]), self.factorisations[name], first, last))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
        said = [*([] if self.plan.left_out is None else [self.plan.left_out])]
        if self.shown_from is not None:
            said.append(f"groups are found: each is shown after the first period with {self.shown_from} people or more")
        return "\n".join([*table, *said, f"costs {self.cost}, once for {self.horizon}"])
