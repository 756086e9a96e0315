"""Local and smooth sensitivity, and the distance to a dataset that is too sensitive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dither.exact import Ball, Number, ball, check, precision, rational, upper
from dither.unit.statistic import Profile, Statistic

__all__ = ["distance_to_sensitivity", "local_sensitivity", "smooth_sensitivity"]


def local_sensitivity(statistic: Statistic, data: Any) -> float:
    """LS(D) = max |f(D) − f(D′)| over the neighbours D′ of the data, never below the truth.

    It depends on the data and jumps between neighbours, so that noise of this size is **not** private. Use
    `smooth_sensitivity`.
    """
    return statistic.sensitivity_within(data, 0)


def smooth_sensitivity(statistic: Statistic, data: Any, beta: Number) -> float:
    """S_β(D) = max_t e^{−βt} A^(t)(D), never below the truth and at most `SMOOTH_EXCESS` = 2^-40 above it, relatively.

    It is the smallest function that is never below the local sensitivity and changes by a factor of at most e^β between
    neighbours (Nissim, Raskhodnikova, Smith 2007, lemma 2.3; claim C18). Rounding makes that factor e^β (1 + 2^-40).

    A statistic with a `profile` computes it in its own way. Otherwise A^(t) is asked for t = 0, 1, … until
    e^{−βt} · global_sensitivity cannot win any more; without a global bound the answer is infinite.
    """
    rate = rational(beta, "beta")
    check.positive(beta=rate)
    profile = getattr(statistic, "profile", None)
    if profile is not None:
        smooth: float = profile(data).smooth(rate)
        return smooth
    return _Asked(statistic, data).smooth(rate)


def distance_to_sensitivity(statistic: Statistic, data: Any, limit: Number) -> int | float:
    """The least number of steps to a dataset whose local sensitivity exceeds `limit`; `math.inf` if there is none.

    min {t : A^(t)(D) > limit}, which is 0 if the data itself exceeds it. Neighbours differ by at most 1, because
    A^(t)(D) ≤ A^(t+1)(D′), also after rounding (claim C20).

    >>> from dither.unit import Median
    >>> distance_to_sensitivity(Median((0, 120)), [31, 35, 38, 40, 41, 44, 52], limit=10)
    2
    """
    largest = rational(limit, "limit")
    check.nonnegative(limit=largest)
    if statistic.global_sensitivity <= largest:
        return math.inf
    profile = getattr(statistic, "profile", None)
    within = _Asked(statistic, data).within if profile is None else profile(data).within
    known, step = -1, 1  # A^(known) does not exceed the limit
    while within(known + step) <= largest:
        if step > _FARTHEST:
            return math.inf
        known, step = known + step, 2 * step
    far = known + step
    while far - known > 1:
        middle = (known + far) // 2
        known, far = (middle, far) if within(middle) <= largest else (known, middle)
    return far


_FARTHEST = 1 << 60  # more records than there are


@dataclass(frozen=True, slots=True)
class _Asked(Profile):
    """The sensitivities of a statistic that offers nothing but `sensitivity_within`."""

    statistic: Statistic
    data: Any

    def within(self, distance: int) -> float:
        """A^(t)(D), as the statistic says."""
        return self.statistic.sensitivity_within(self.data, distance)

    def smooth(self, beta: Number) -> float:
        """One distance after the other, until the global bound ends it."""
        bound = self.statistic.global_sensitivity
        if not bound < math.inf:
            return math.inf
        found, distance = math.ulp(0.0), 0  # the least positive double: no upper bound is below it
        with precision(128):
            rate = ball(rational(beta))
            while True:
                discount: Ball = (-rate * distance).exp()
                if not upper(discount * Ball(bound)) > found:
                    return found
                found = max(found, upper(discount * Ball(self.within(distance))))
                distance += 1
