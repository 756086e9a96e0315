"""Discrete distributions of `scipy.stats`, compared on the outcomes that hold nearly all of both.

SciPy's own quantiles add up all probabilities from the first outcome on: they take more memory than there is where a
law has a heavy tail. So only `pmf`, `support`, `mean` and `std` are asked here. A window grows around the mean, or from
an end of the support where no mean is known, until next to nothing is missing. All that is missing of P and of Q, be
it in the tail or lost by rounding, is part of the errors of the loss, so no mass is lost silently.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import ParameterError
from dither.exact import ball
from dither.exact.certified import above
from dither.guarantees.finite_loss import FiniteLoss

__all__ = ["MOST_LEFT_OUT", "MOST_OUTCOMES", "loss_of_frozen"]

MOST_OUTCOMES = 1 << 16
MOST_LEFT_OUT = Fraction(1, 1000)
"""Of one law, beyond the outcomes that are compared: errors would say more than the answers."""

_FIRST_REACH = 64
_NEARLY_NOTHING = 1e-14
_ACCURACY = Fraction(1, 1 << 24)
"""Of each probability that SciPy gives, relative: differences of large logarithms cost it digits."""
_SMALLEST = 1e-290
"""Smaller probabilities have fewer digits, or are 0 where they should not be."""
_FARTHEST = 2**53
"""Whole numbers beyond are not told apart by the doubles in which SciPy computes."""

Outcomes = NDArray[np.int64]


def loss_of_frozen(p: Any, q: Any) -> FiniteLoss:
    """The loss of two frozen discrete distributions, on the outcomes around both."""
    windows = [_window(law, name) for law, name in ((p, "p"), (q, "q"))]
    outcomes = np.union1d(*windows)
    laws = [tuple(map(Fraction, _masses(law, outcomes, name))) for law, name in ((p, "p"), (q, "q"))]
    rounding = Fraction(len(outcomes), 1 << 44)
    errors = [abs(1 - sum(law, Fraction(0))) + rounding for law in laws]
    for name, error in zip("pq", errors, strict=True):
        if not error <= MOST_LEFT_OUT:
            raise ParameterError(
                f"the probabilities of {name} on the whole numbers must sum to 1, and miss it by {float(error):.2g} on "
                f"the {len(outcomes)} outcomes that are compared. Give a table, or two densities."
            )
    radii = [tuple(x * _ACCURACY for x in law) for law in laws]
    known = (math.inf, math.inf)
    if all(_is_whole(law, outcomes) for law in (p, q)) and all(min(masses) >= _SMALLEST for masses in laws):
        known = (_largest(laws[0], laws[1]), _largest(laws[1], laws[0]))
    named = tuple(outcomes.tolist())
    return FiniteLoss(named, laws[0], laws[1], errors[0], errors[1], False, radii[0], radii[1], known)


def _window(law: Any, name: str) -> Outcomes:
    """At most 65,536 whole numbers in a row that hold nearly all of the law, if so many do."""
    low, high = _support(law, name)
    start = min(max(_start(law, low, high), low), high)
    if not abs(start) < _FARTHEST:
        raise ParameterError(f"{name} must lie where whole numbers are doubles, below 2^53. Move both laws.")
    reach = _FIRST_REACH
    while True:
        first, last = max(low, start - reach), min(high, start + reach)
        last = min(last, first + MOST_OUTCOMES - 1)
        first = max(first, last - MOST_OUTCOMES + 1)
        outcomes = np.arange(int(first), int(last) + 1)
        is_all = (first, last) == (low, high) or len(outcomes) == MOST_OUTCOMES
        if is_all or 1 - float(_masses(law, outcomes, name).sum()) < _NEARLY_NOTHING:
            return outcomes
        reach *= 2


def _support(law: Any, name: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in law.support())
    except (TypeError, ValueError):
        raise ParameterError(
            f"{name} must be one frozen distribution with its parameters, such as stats.poisson(3)."
        ) from None
    if not low <= high:  # NaN, where parameters are out of range
        raise ParameterError(f"{name} has no support. Give it parameters within their range.")
    return low, high


def _start(law: Any, low: float, high: float) -> float:
    """The mean, where there is one near most of the law; else an end of the support, or 0."""
    with np.errstate(all="ignore"):  # moments that do not exist are NaN or infinite
        spread = float(law.std() if hasattr(law, "std") else law.standard_deviation())
        mean = float(law.mean())
    if math.isfinite(mean) and math.isfinite(spread):
        return float(round(mean))
    return low if math.isfinite(low) else high if math.isfinite(high) else 0.0


def _masses(law: Any, outcomes: Outcomes, name: str) -> NDArray[np.float64]:
    masses = np.asarray(law.pmf(outcomes), dtype=np.float64)
    if masses.shape != outcomes.shape or not bool(((masses >= 0) & (masses <= 1 + 2.0**-40)).all()):
        raise ParameterError(f"{name} must have probabilities between 0 and 1 at whole numbers.")
    return masses


def _is_whole(law: Any, outcomes: Outcomes) -> bool:
    """Whether no outcome of the law is left out."""
    low, high = _support(law, "a law")
    inside = outcomes[(outcomes >= low) & (outcomes <= high)]
    return len(inside) == high - low + 1


def _largest(p: tuple[Fraction, ...], q: tuple[Fraction, ...]) -> float:
    """The largest loss of all outcomes, each probability as far off as SciPy may be."""
    if any(a and not b for a, b in zip(p, q, strict=True)):
        return math.inf
    odds = max(a / b for a, b in zip(p, q, strict=True) if a) * (1 + _ACCURACY) / (1 - _ACCURACY)
    return max(0.0, above(lambda: ball(odds).log()))
