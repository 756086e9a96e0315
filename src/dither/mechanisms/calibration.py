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

from dither.errors import ParameterError, PrecisionError
from dither.exact import Ball, Real, ball
from dither.exact.certified import at_most, fraction_above, refined
from dither.guarantees.gaussian import GaussianDP
from dither.noise.discrete_gaussian import DiscreteGaussian
from dither.pairs.lattice import DiscreteGaussianPair

__all__ = ["TEXTBOOK", "Line", "largest_mu_squared", "line_profile", "line_variance", "rounded_up", "textbook_variance"]

TEXTBOOK = ("tail-bound", "dwork-roth", "zcdp")
"""The formulas of the lectures, by name; `textbook_variance` has the formulas and their sources."""

_DIGITS = 16
_STEPS = 200
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

    root = _root(excess, _first_guess(epsilon, delta))
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

    start = math.log(shift**2 / largest_mu_squared(epsilon, delta))
    root = _root(excess, start)
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
        best = best.max(law.tail(n) - odds * law.tail(n + shift))
    return best


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


def _root(rising: Callable[[float], float], start: float) -> float:
    """Where a rising function changes sign, to the last digits of a float: a bracket, then regula falsi and halving."""
    low = high = start
    stride = 0.125
    while rising(low) > 0:
        low, stride = low - stride, 2 * stride
    stride = 0.125
    while rising(high) <= 0:
        high, stride = high + stride, 2 * stride
    at_low, at_high = rising(low), rising(high)
    for step in range(_STEPS):
        if high - low <= 2.0**-46 * max(1.0, abs(high)):
            break
        middle = (low + high) / 2
        if step % 3 and math.isfinite(at_low) and math.isfinite(at_high):
            # Towards the far end a little, so that the bracket closes from both sides.
            share = min(max(at_low / (at_low - at_high), 2.0**-40), 1 - 2.0**-40)
            nudge = 2.0**-44 if step % 3 == 1 else -(2.0**-44)
            middle = low + (high - low) * share + nudge * max(1.0, abs(high))
        if not low < middle < high:
            middle = (low + high) / 2
        value = rising(middle)
        if value > 0:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
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
