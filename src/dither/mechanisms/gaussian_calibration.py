"""How much Gaussian noise a budget (ε, δ) asks for: exactly, and by the formulas of the lectures.

Every answer errs to the side of more noise, and is checked in balls at the very number that is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.errors import ParameterError, PrecisionError
from dither.exact import Ball, Real, ball
from dither.exact.certified import at_most, fraction_above, refined
from dither.guarantees.gaussian import GaussianDP
from dither.noise.discrete_gaussian import DiscreteGaussian
from dither.pairs.discrete_noise import DiscreteGaussianPair

__all__ = ["TEXTBOOK", "Line", "largest_mu_squared", "line_profile", "line_variance", "rounded_up", "textbook_variance"]

TEXTBOOK = ("tail-bound", "dwork-roth", "zcdp")
"""The formulas of the lectures, by name; `textbook_variance` has the formulas and their sources."""

_DIGITS = 16
_STEPS = 200
_SMALLEST_SUMMED, _LARGEST_SUMMED = 0.05, 1e6  # variances for which a first root is found in double precision
_LARGEST_EXPONENT = 700  # e to it is a float
_FEW = 4  # points, of which the probabilities are added up sooner than a tail
_SAFE = 2.0**-40  # how far past the root the first candidate lies: relative, far below the 1e-9 that is promised


@lru_cache(maxsize=1024)
def largest_mu_squared(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest μ² for which μ-GDP is (ε, δ)-DP: δ_μ(ε) ≤ δ (Balle and Wang 2018, Theorem 8); never too large.

    Below the exact one by less than 1e-11 of it.
    """

    def excess(log_square: float) -> float:
        """ln δ_μ(ε) − ln δ, which grows with μ."""
        guarantee = GaussianDP.from_square(Fraction(math.exp(log_square)))
        value = refined(lambda: guarantee._profile(epsilon))
        return float((value / ball(delta)).log()) if value > 0 else -math.inf

    root = _root(excess, _first_guess(epsilon, delta), stride=0.25)
    return _settled(
        lambda back: rounded_up(Fraction(math.exp(root) * (1 - back)) * Fraction(10**15 - 1, 10**15)),
        lambda square: at_most(lambda: GaussianDP.from_square(square)._profile(epsilon), delta),
    )


def _first_guess(epsilon: Fraction, delta: Fraction) -> float:
    """ln μ² near the root: ε = μ²/2 + μ√(2 ln(1/δ)) is the bound of claim C7; good enough to start."""
    tail = math.sqrt(2 * max(math.log(1 / delta), 1e-3))
    return 2 * math.log(2 * float(epsilon) / (math.sqrt(tail**2 + 2 * float(epsilon)) + tail) + float(delta))


@lru_cache(maxsize=1024)
def line_variance(epsilon: Fraction, delta: Fraction, shift: int) -> Fraction:
    """The smallest V for which integer noise ∝ e^{−x²/2V} hides a move by `shift` within (ε, δ); never too small.

    Near the exact lattice profile's crossing, to 1e-11 relatively. Starts from the continuous law.
    """

    def excess(log_variance: float) -> float:
        value = refined(lambda: line_profile(Fraction(math.exp(log_variance)), shift, ball(epsilon)))
        return -float((value / ball(delta)).log()) if value > 0 else math.inf

    start, stride = math.log(shift**2 / largest_mu_squared(epsilon, delta)), 2.0**-12
    if _SMALLEST_SUMMED < math.exp(start) < _LARGEST_SUMMED and epsilon < _LARGEST_EXPONENT:
        goal = math.log(delta)
        start, stride = (
            _root(lambda log: goal - _log_profile(math.exp(log), shift, float(epsilon)), start, stride),
            _SAFE,
        )
    root = _root(excess, start, stride)
    return _settled(
        lambda ahead: rounded_up(Fraction(math.exp(root) * (1 + ahead))),
        lambda variance: at_most(lambda: line_profile(variance, shift, ball(epsilon)), delta),
    )


def line_profile(variance: Fraction, shift: int, epsilon: Ball) -> Ball:
    """δ(ε) = T(n) − e^ε T(n + Δ), n = ⌊εV/Δ − Δ/2⌋, T(n) = P[X > n] (Canonne, Kamath and Steinke 2020, Theorem 7).

    X is integer Gaussian noise with V = `variance`, moved by Δ = `shift`. Where ε as a ball leaves two n open, the
    larger value is the right one: every n gives a lower bound. Where it leaves many open, T falls, and the ball reaches
    up to T(first) − e^ε T(last + Δ).
    """
    law = DiscreteGaussian(variance)
    place = epsilon * ball(variance) / shift - ball(Fraction(shift, 2))
    first, last = _floor(place.lower()), _floor(place.upper())
    best, odds = (-epsilon.expm1()).max(Ball(0)), epsilon.exp()
    if last > first + 1:
        best = best.max(law.tail(first) - odds * law.tail(first + shift))
        return best.union(best.max(law.tail(first) - odds * law.tail(last + shift)))
    for n in range(first, last + 1):
        beyond = law.tail(n + shift)
        near = sum((law.pmf(n + i) for i in range(1, shift + 1)), beyond) if shift <= _FEW else law.tail(n)
        best = best.max(near - odds * beyond)
    return best


def _log_profile(variance: float, shift: int, epsilon: float) -> float:
    """ln δ(ε) of `line_profile` in double precision, for a start: sums of weights relative to the nearest one."""
    first = math.floor(epsilon * variance / shift - shift / 2) + 1
    reach = math.ceil(10 * math.sqrt(variance)) + 1
    points = np.arange(first, max(first, 0) + reach + shift, dtype=np.float64)
    nearest = max(first, 0)
    weights = np.exp((nearest**2 - points**2) / (2 * variance))
    excess = float(weights.sum()) - math.exp(epsilon) * float(weights[shift:].sum())
    whole = 2 * float(np.exp(-(np.arange(1, reach, dtype=np.float64) ** 2) / (2 * variance)).sum()) + 1
    return math.log(excess / whole) - nearest**2 / (2 * variance) if excess > 0 else -math.inf


@dataclass(frozen=True)
class Line(DiscreteGaussianPair):
    """The pair of integer Gaussian noise on the line, with a profile that is quick for wide noise too."""

    def profile(self, epsilon: Ball) -> Ball:
        """`line_profile`; anything from 0 to 1 where ε is not finite."""
        if not epsilon.is_finite():
            return Ball(0).union(Ball(1))
        return line_profile(self.variance, self.sensitivity, epsilon)


def _floor(end: Ball) -> int:
    whole = end.floor().unique_fmpz()
    assert whole is not None, "an end of a ball is one number"
    return int(whole)


def _root(rising: Callable[[float], float], start: float, stride: float) -> float:
    """Where a rising function changes sign, to the last digits of a float; `start` is about a `stride` away.

    A bracket is opened from `start` by growing strides. Then secants, as long as they stay inside and their steps
    shrink by half, and halving where they do not.
    """
    low = high = start
    at_low = at_high = rising(start)
    while at_low > 0:
        high, at_high, low = low, at_low, low - stride
        at_low, stride = rising(low), 16 * stride
    while at_high <= 0:
        low, at_low, high = high, at_high, high + stride
        at_high, stride = rising(high), 16 * stride
    (before, at_before), (here, at_here) = sorted([(low, at_low), (high, at_high)], key=lambda end: -abs(end[1]))
    step = high - low
    for _ in range(_STEPS):
        rise = at_here - at_before
        there = here - at_here * (here - before) / rise if rise and math.isfinite(rise) else math.nan
        if not (low < there < high and abs(there - here) <= step / 2):
            there = (low + high) / 2
        step = abs(there - here)
        if min(step, high - low) <= 2.0**-46 * max(1.0, abs(here)) or not low < there < high:
            return there
        before, at_before, here, at_here = here, at_here, there, rising(there)
        low, high = (low, here) if at_here > 0 else (here, high)
    return (low + high) / 2


def _settled(candidate: Callable[[float], Fraction], holds: Callable[[Fraction], bool]) -> Fraction:
    """The first candidate, each a little further to the safe side, that is certain to hold."""
    step = _SAFE
    while step < 1:
        found = candidate(step)
        if holds(found):
            return found
        step *= 2
    raise PrecisionError("no amount of noise could be certified for this budget; ask for a larger delta or epsilon")


def rounded_up(value: Fraction) -> Fraction:
    """`value` rounded up to 16 digits, so that what is stored stays short."""
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))


def textbook_variance(name: str, sensitivity_squared: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """σ² by a formula of the lectures, rounded up; refused where its theorem does not hold.

    "tail-bound": σ² = 2Δ² ln(2/δ)/ε² for 0 < ε ≤ 1, 0 < δ ≤ 1/2 (Brown, lecture 3, 4.2; claim C5).
    "dwork-roth": σ² = c²Δ²/ε², c² > max(9/4, 2 ln(1.25/δ)), for 0 < ε < 1 (Dwork and Roth 2014, theorem A.1; Lalanne,
    lecture 2; claim C6).
    "zcdp": σ² = Δ²/ρ with ε = ρ/2 + √(2ρ ln(1/δ)) (lecture on the Gaussian noise mechanism; claim C7). This ρ is twice
    that of zCDP, so that ε = ρ + 2√(ρ ln(1/δ)) there (Bun and Steinke 2016, proposition 1.3).
    """
    _check_range(name, epsilon, delta)
    return rounded_up(sensitivity_squared * fraction_above(_FORMULAS[name](epsilon, delta)))


def _check_range(name: str, epsilon: Fraction, delta: Fraction) -> None:
    limits = {"tail-bound": (epsilon <= 1 and delta <= Fraction(1, 2), "0 < epsilon ≤ 1 and 0 < delta ≤ 1/2")}
    limits["dwork-roth"] = (epsilon < 1, "0 < epsilon < 1")
    holds, where = limits.get(name, (True, ""))
    if not holds:
        raise ParameterError(
            f"the formula {name} is proved only for {where}, got epsilon={epsilon} and delta={delta}. "
            'Use calibration="exact", which holds everywhere and adds less noise.'
        )


def _formula_tail_bound(epsilon: Fraction, delta: Fraction) -> Real:
    return lambda: 2 * ball(2 / delta).log() / ball(epsilon**2)


def _formula_dwork_roth(epsilon: Fraction, delta: Fraction) -> Real:
    """c² must be greater than the maximum: a part in 10^12 is added."""
    above_it = ball(1 + Fraction(1, 10**12))
    return lambda: ball(Fraction(9, 4)).max(2 * ball(Fraction(5, 4) / delta).log()) * above_it / ball(epsilon**2)


def _formula_zcdp(epsilon: Fraction, delta: Fraction) -> Real:
    """1/ρ = ((√(L + ε) + √L)/ε)²/2 with L = ln(1/δ): the positive root of ρ/2 + √(2ρL) = ε, without cancellation."""

    def inverse() -> Ball:
        logarithm = ball(1 / delta).log()
        return (((logarithm + ball(epsilon)).sqrt() + logarithm.sqrt()) / ball(epsilon)) ** 2 / 2

    return inverse


_FORMULAS: dict[str, Callable[[Fraction, Fraction], Real]] = {
    "tail-bound": _formula_tail_bound,
    "dwork-roth": _formula_dwork_roth,
    "zcdp": _formula_zcdp,
}
