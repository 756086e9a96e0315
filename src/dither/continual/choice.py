"""Which encoder: the one with the smallest error for the questions that are asked of the stream."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dither.continual.encoders import Encoder
from dither.continual.factorisations import MOST_OPTIMAL, banded, best, damped, each_period, fading, square_root
from dither.continual.participation import Participation
from dither.workloads.strategies.strategy import FINE, Floats

__all__ = ["RatedEncoder", "candidates", "chosen", "fine_for"]

_MOST_WRITTEN = 4096
"""How many periods a square root without a band may have: all of them are remembered."""
_BAND, _SHARES, _FADES = 32, (1, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05), (0.999, 0.98, 0.95, 0.9)
"""What is tried where a person may be in several periods: bands, and how much there is below the diagonal."""
_COARSEST, _FINEST = 12, FINE.bit_length() - 1


@dataclass(frozen=True)
class RatedEncoder:
    """An encoder, and its error for each question at each period.

    Errors are for a person who moves each number by 1 at most, and noise that is as wide as the sensitivity: they are
    multiplied by σ/Δ of the budget.
    """

    encoder: Encoder
    participation: Participation
    windows: tuple[int | None, ...]

    @property
    def sensitivity_squared(self) -> float:
        """max ‖A c‖², never too small."""
        return self.encoder.sensitivity_squared(self.participation)[1]

    def error(self, window: int | None) -> Floats:
        """The standard deviation in each period."""
        squares: Floats = np.sqrt(self.encoder.row_squares(window) * self.sensitivity_squared)
        return squares

    def mean_square(self, window: int | None) -> float:
        """The mean squared error over all periods."""
        return float(self.encoder.row_squares(window).mean()) * self.sensitivity_squared

    @property
    def score(self) -> float:
        """The mean squared errors of all questions, each in units of what one number per period would have."""
        periods = self.encoder.periods
        summed = [periods if window is None else min(window, periods) for window in self.windows]
        lengths = [sum(min(at + 1, width) for at in range(periods)) / periods for width in summed]
        return sum(self.mean_square(window) / length for window, length in zip(self.windows, lengths, strict=True))


def fine_for(step: int) -> int:
    """How many whole numbers there are to 1: fewer where numbers move by many steps at once, so that 64 bits hold them.

    Any number is private and exact; more of them leave less to the rounding of the factorisation.
    """
    return 1 << max(_COARSEST, _FINEST - max(step.bit_length() - 1, 0))


def candidates(
    periods: int, windows: Sequence[int | None], participation: Participation, fine: int = FINE
) -> list[RatedEncoder]:
    """What could be used, the best first."""
    return sorted(_rated(periods, windows, participation, fine), key=lambda each: each.score)


def chosen(periods: int, windows: Sequence[int | None], participation: Participation, fine: int = FINE) -> RatedEncoder:
    """The best of them; each is forgotten as soon as there is a better one, as all together take room."""
    return min(_rated(periods, windows, participation, fine), key=lambda each: each.score)


def _rated(
    periods: int, windows: Sequence[int | None], participation: Participation, fine: int
) -> Iterator[RatedEncoder]:
    for encoder in _encoders(periods, windows, participation, fine):
        yield RatedEncoder(encoder, participation, tuple(windows))


def _encoders(
    periods: int, windows: Sequence[int | None], participation: Participation, fine: int
) -> Iterator[Encoder]:
    yield each_period(periods, fine)
    if periods > 1:
        yield fading(periods, fine)
        for width in _widths(periods, windows, participation):
            yield banded(periods, width, fine)
    if 1 < periods <= _MOST_WRITTEN:
        yield square_root(periods, fine)
        if participation.most(periods) > 1:
            for width in sorted({min(each, periods) for each in (participation.min_separation, _BAND, periods)} - {1}):
                yield from (damped(periods, width, share, fade, fine) for share in _SHARES for fade in _FADES)
    if 1 < periods <= MOST_OPTIMAL and participation.most(periods) == 1:
        yield best(periods, windows, fine)


def _widths(periods: int, windows: Sequence[int | None], participation: Participation) -> list[int]:
    """Bands that are worth trying: powers of 2, the windows, and how far apart participations are."""
    powers = [1 << place for place in range(1, math.ceil(math.log2(min(periods, _MOST_WRITTEN))) + 1)]
    given = [*(window for window in windows if window is not None), participation.min_separation]
    return sorted({width for width in (*powers, *given) if 1 < width < min(periods, _MOST_WRITTEN)})
