"""Local and smooth sensitivity, and the distance to a dataset that is too sensitive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact import Number, check, plain, rational
from dither.exact.certified import exactly_above
from dither.exact.search import first_integer
from dither.sensitivity.statistic import Profile, Statistic
from dither.sensitivity.stepwise import Stepwise

__all__ = ["distance_to_sensitivity", "local_sensitivity", "smooth_sensitivity"]

_FARTHEST = 1 << 60  # more records than there are


def local_sensitivity(statistic: Statistic, data: Any) -> float:
    """Compute the local sensitivity LS(D) = max |f(D) − f(D′)| over the neighbours D′ of the data.

    It depends on the data and jumps between neighbours, so that noise of this size is **not** private. Use
    `smooth_sensitivity`.

    Parameters
    ----------
    statistic : Statistic
        f, such as `dp.sensitivity.Median(bounds=(0, 120))`.
    data : Any
        The dataset D.

    Returns
    -------
    float
        LS(D), never below the truth. It is as private as the data.
    """
    return _above(statistic.sensitivity_within(data, 0), "sensitivity_within")


def smooth_sensitivity(statistic: Statistic, data: Any, beta: Number) -> float:
    """Compute the β-smooth sensitivity S_β(D) = max_t e^{−βt} A^(t)(D).

    Parameters
    ----------
    statistic : Statistic
        f, such as `dp.sensitivity.Median(bounds=(0, 120))`.
    data : Any
        The dataset D.
    beta : Number
        The smoothness β > 0.

    Returns
    -------
    float
        S_β(D), never below the truth and at most `SMOOTH_EXCESS` = 2^-40 above it, relatively; infinite without a
        global bound. It is as private as the data.

    Notes
    -----
    It is the smallest function that is never below the local sensitivity and changes by a factor of at most e^β between
    neighbours (Nissim, Raskhodnikova, Smith 2007, lemma 2.3; claim C18). Rounding makes that factor e^β (1 + 2^-40),
    with a floor of 2^-850 of the global sensitivity. A statistic with a `profile` computes it in its own way. Otherwise
    A^(t) is asked for t = 0, 1, … until e^{−βt} · global_sensitivity cannot win any more.

    Examples
    --------
    >>> from dither.sensitivity import Median
    >>> round(smooth_sensitivity(Median((0, 120)), [31, 35, 38, 40, 41, 44, 52], beta=0.5), 3)
    17.85
    """
    rate = rational(beta, "beta")
    check.positive(beta=rate)
    return _above(_profile(statistic, data).smooth(rate), "smooth")


def distance_to_sensitivity(statistic: Statistic, data: Any, limit: Number) -> int | float:
    """Count the fewest steps to a dataset whose local sensitivity exceeds a limit.

    Parameters
    ----------
    statistic : Statistic
        f, such as `dp.sensitivity.Median(bounds=(0, 120))`.
    data : Any
        The dataset D.
    limit : Number
        The local sensitivity that may not be exceeded.

    Returns
    -------
    int or float
        min {t : A^(t)(D) > limit}, which is 0 if the data itself exceeds it; `math.inf` if there is none. It is as
        private as the data.

    Notes
    -----
    Neighbours differ by at most 1, because A^(t)(D) ≤ A^(t+1)(D′), also after rounding (claim C20).

    Examples
    --------
    >>> from dither.sensitivity import Median
    >>> distance_to_sensitivity(Median((0, 120)), [31, 35, 38, 40, 41, 44, 52], limit=10)
    2
    """
    largest = rational(limit, "limit")
    check.nonnegative(limit=largest)
    if _size(statistic.global_sensitivity, "global_sensitivity") <= largest:
        return math.inf
    profile = _profile(statistic, data)

    def within(changes: int) -> float | Fraction:
        return _size(profile.within(changes), "sensitivity_within")

    known, step = -1, 1  # A^(known) does not exceed the limit
    while within(known + step) <= largest:
        if step > _FARTHEST:
            return math.inf
        known, step = known + step, 2 * step
    return first_integer(lambda changes: within(changes) > largest, known + 1, known + step)


def _profile(statistic: Statistic, data: Any) -> Profile:
    """The statistic's own profile of the data if it has one, else one that asks for each distance."""
    own = getattr(statistic, "profile", None)
    if own is not None:
        profile: Profile = own(data)
        return profile
    return _StatedSizes(statistic, data)


@dataclass(frozen=True, slots=True, eq=False)
class _StatedSizes:
    """A profile by `sensitivity_within`, which somebody may have written to answer with any kind of number."""

    statistic: Statistic
    data: Any

    def within(self, distance: int) -> Any:
        return self.statistic.sensitivity_within(self.data, distance)

    def smooth(self, beta: Number) -> float:
        largest = _above(self.statistic.global_sensitivity, "global_sensitivity")
        return Stepwise(lambda t: _above(self.within(t), "sensitivity_within"), largest).smooth(beta)


def _size(given: Any, name: str) -> float | Fraction:
    """A sensitivity as a statistic states it; NaN says nothing, so it may be anything.

    A statistic may be anybody's own: what is no size is refused, and not shown, as it may be data.
    """
    found = plain(given.item() if isinstance(given, np.generic) else given)
    if isinstance(found, bool) or not isinstance(found, int | float | Fraction | Decimal):
        raise ParameterError(f"{name} of a statistic must be a number, got the type {type(found).__name__}.")
    if found != found:
        return math.inf
    if not found >= 0:
        raise ParameterError(f"{name} of a statistic must be 0 or more: by how much one step can move it.")
    return float(found) if isinstance(found, float) or math.isinf(found) else Fraction(found)


def _above(given: Any, name: str) -> float:
    """The same as a float, never below it."""
    size = _size(given, name)
    return size if isinstance(size, float) else exactly_above(size)
