"""From noise to the population: what a stable answer to an adaptively chosen question is worth (claim C28).

Let S be n independent draws from a population, and let k statistical queries be asked one after the other, each chosen
after the answers before. With X the largest |answer − mean over S| and δ(ε) the privacy profile of the whole
conversation under replace-one, all k answers are, except with probability β, within

    ES_β(X) + min over ε ≥ 0 of [ tanh(ε/4) + 2/(1 + e^{ε/2}) · δ(ε)/β ]

of the means over the population. ES_β is the expected shortfall, the mean of X over its worst β. transfer.md proves
it. It is never worse than the transfer theorem of Jung, Ligett, Neel, Roth, Sharifi-Malvajerdi and Shenfeld (2020),
which it follows and sharpens; ε = 0 is the route by total variation and Markov's inequality (claims C22, C23), and δ
= 0 that of pure privacy. `printed` is their theorem as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from flint import acb
from scipy.optimize import brentq, minimize, minimize_scalar

from dither.errors import ParameterError
from dither.exact import Ball, ball, precision
from dither.exact.certified import above, exactly_above, fraction_above, read_above
from dither.guarantees import GaussianDP, Guarantee, PureDP

__all__ = [
    "Shape",
    "by_total_variation",
    "expected_shortfall",
    "gap",
    "gap_at",
    "gaussian_mu",
    "laplace_epsilon",
    "printed",
]

Shape: TypeAlias = Literal["gaussian", "laplace"]
"""The law of one noise, in units of its scale (σ, or b)."""

_BITS = 128
_SMALLEST_BETA = Fraction(1, 10**300)
_NOTHING = 1e9  # worse than any bound, and finite for the search


# ------------------------------------------------------------ the worst of k noises


@lru_cache(maxsize=1024)
def expected_shortfall(shape: Shape, count: int, beta: Fraction) -> Fraction:
    """ES_β of the largest |noise| of `count` independent ones of scale 1; never below the truth.

    ES_β(X) = min over a of a + E[(X − a)₊]/β (Rockafellar and Uryasev 2000): every a gives an upper bound, and a near
    the quantile of X the value itself. E[(X − a)₊] = ∫ₐ^∞ 1 − (1 − T(x))^k dx with T(x) = P[|noise| > x] is enclosed
    by flint's certified integration up to b, and by k ∫_b^∞ T beyond.
    """
    if beta < _SMALLEST_BETA:
        raise ParameterError("a confidence or level must leave a chance of 1e-300 or more to miss. Give a lower one.")
    law = _LAWS[shape]
    start = Fraction(_quantile(shape, count, beta)).limit_denominator(1 << 20)
    stop = law.far(float(start))

    def exceeds(x: Any, _: bool) -> Any:
        return 1 - (1 - law.tail(x)) ** count

    with precision(_BITS):
        inside = acb.integral(exceeds, acb(ball(start)), acb(stop)).real
    return fraction_above(lambda: ball(start) + (inside + count * law.beyond(Ball(stop))) / ball(beta))


def _quantile(shape: Shape, count: int, beta: Fraction) -> float:
    """x with 1 − (1 − T(x))^k = β, to the accuracy of doubles, or nearer to 0 where these underflow."""
    certain = float(beta) == 1
    each = 1.0 if certain else max(-math.expm1(math.log1p(-float(beta)) / count), 1e-300)
    if shape == "laplace":
        return -math.log(each)
    return float(brentq(lambda x: math.log(math.erfc(x / math.sqrt(2))) - math.log(each), 0, 38))


class _Gaussian:
    @staticmethod
    def tail(x: Any) -> Any:
        return (x / acb(2).sqrt()).erfc()

    @staticmethod
    def far(start: float) -> int:
        return math.ceil(math.sqrt(start**2 + 180))

    @staticmethod
    def beyond(stop: Ball) -> Ball:
        """∫ T ≤ T(b)/b: the hazard of |N(0, 1)| is at least x."""
        return (stop / Ball(2).sqrt()).erfc() / stop


class _LaplaceShape:
    @staticmethod
    def tail(x: Any) -> Any:
        return (-x).exp()

    @staticmethod
    def far(start: float) -> int:
        return math.ceil(start + 90)

    @staticmethod
    def beyond(stop: Ball) -> Ball:
        return (-stop).exp()


_LAWS: Final[dict[Shape, Any]] = {"gaussian": _Gaussian, "laplace": _LaplaceShape}


# --------------------------------------------------------- the mean of the posterior


def gap_at(guarantee: Guarantee, beta: Fraction, epsilon: Fraction) -> float:
    """tanh(ε/4) + 2/(1 + e^{ε/2}) · δ(ε)/β at one ε ≥ 0, rounded up: each ε gives a bound, the best is `gap`."""
    delta = read_above(guarantee.delta(epsilon))
    return above(lambda: ball(epsilon / 4).tanh() + 2 / (1 + ball(epsilon / 2).exp()) * ball(delta / beta))


@lru_cache(maxsize=1024)
def gap(guarantee: GaussianDP | PureDP, beta: Fraction) -> float:
    """How far the means over the sample, as the answers show them, may lie from those over the population.

    >>> from dither.guarantees import GaussianDP, PureDP
    >>> gap(PureDP(1), Fraction(1, 20)), gap(GaussianDP("0.1"), Fraction(1, 20))
    (0.24491866..., 0.06512...)
    """
    if isinstance(guarantee, PureDP):
        return gap_at(guarantee, beta, guarantee.stated_epsilon)
    _, epsilon = _gaussian_gap(math.sqrt(guarantee.mu_squared), float(beta))
    return gap_at(guarantee, beta, Fraction(epsilon))


def _gaussian_gap(mu: float, beta: float) -> tuple[float, float]:
    """The smallest bound for μ-GDP and the ε where it lies, in doubles: only where to look."""

    def bound(epsilon: float) -> float:
        return math.tanh(epsilon / 4) + 2 / (1 + math.exp(epsilon / 2)) * _gaussian_delta(mu, epsilon) / beta

    furthest = mu * (mu / 2 + 3 + 2 * math.sqrt(-2 * math.log(beta)))
    found = minimize_scalar(bound, bounds=(0, min(furthest, 200.0)), method="bounded", options={"xatol": 1e-6 * mu})
    return float(found.fun), float(found.x)


def _gaussian_delta(mu: float, epsilon: float) -> float:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), to the accuracy of doubles."""
    root = math.sqrt(2)
    low, high = (epsilon / mu - mu / 2) / root, (epsilon / mu + mu / 2) / root
    return max(0.0, (math.erfc(low) - math.exp(epsilon) * math.erfc(high)) / 2)


# ------------------------------------------------------------------ the best noise


@lru_cache(maxsize=1024)
def gaussian_mu(shortfall: float, beta: float) -> float:
    """The μ of the whole conversation that makes `shortfall`/μ + gap(μ) smallest; a choice, not a bound.

    With noise of σ on each of k means over n rows, μ = √k/(nσ), so that ES = σ·z is `shortfall`/μ for z√k/n.
    """

    def error(log_mu: float) -> float:
        mu = math.exp(log_mu)
        return shortfall / mu + _gaussian_gap(mu, beta)[0]

    return math.exp(_lowest(error))


@lru_cache(maxsize=1024)
def laplace_epsilon(shortfall: float) -> float:
    """The ε of the whole conversation that makes `shortfall`/ε + tanh(ε/4) smallest; a choice, not a bound."""
    return math.exp(_lowest(lambda log: shortfall / math.exp(log) + math.tanh(math.exp(log) / 4)))


def _lowest(error: Callable[[float], float]) -> float:
    found = minimize_scalar(error, bounds=(math.log(1e-9), math.log(20)), method="bounded", options={"xatol": 1e-5})
    return float(found.x)


# ---------------------------------------------------------------------- for comparison


def by_total_variation(rows: int, queries: int, beta: Fraction) -> float:
    """The bound at ε = 0 for the Gaussian noise that it likes best: ES_β(X) + TV/β (claims C22, C23 and Markov)."""
    spread = math.sqrt(queries) / rows
    shortfall = expected_shortfall("gaussian", queries, beta)
    mu = math.sqrt(float(shortfall) * spread * float(beta) * math.sqrt(2 * math.pi))  # TV is about μ/√(2π)
    sigma = Fraction(spread / mu)
    guarantee = GaussianDP.from_square(queries / (rows * sigma) ** 2)
    return min(1.0, exactly_above(sigma * shortfall + Fraction(gap_at(guarantee, beta, Fraction(0)))))


def printed(rows: int, queries: int, beta: Fraction) -> float:
    """The bound of Jung et al. 2020 for Gaussian noise, at the best of its constants that a search finds.

    α + (e^ε − 1) + c + 2d except with probability β′/c + δ/d, for a mechanism that is (ε, δ)-DP and (α, β′)-accurate
    on the sample: α from the exact law of the largest noise, δ(ε) from the exact profile, and d from the total β. The
    value at the constants that are found is rounded up; other constants might do slightly better.
    """

    def bound(logs: Any) -> float:
        sigma, spread, epsilon, c = (math.exp(min(float(x), 50.0)) for x in logs)
        missed = -math.expm1(queries * math.log1p(-min(math.erfc(spread / math.sqrt(2)), 1 - 1e-16)))
        left = float(beta) - missed / c
        if not left > 0:
            return _NOTHING
        delta = _gaussian_delta(math.sqrt(queries) / (rows * sigma), min(epsilon, 50.0))
        return sigma * spread + math.expm1(min(epsilon, 50.0)) + c + 2 * delta / left

    typical = _quantile("gaussian", queries, beta)
    sigma = math.sqrt(math.sqrt(queries) / rows / typical)
    first = [math.log(x) for x in (sigma, 1.3 * typical, 4 * math.sqrt(queries) / (rows * sigma), sigma)]
    found = minimize(bound, first, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-6, "fatol": 1e-9})
    return min(1.0, _printed_at([Fraction(math.exp(x)) for x in found.x], rows, queries, beta))


def _printed_at(constants: list[Fraction], rows: int, queries: int, beta: Fraction) -> float:
    sigma, spread, epsilon, c = constants
    delta = Fraction(GaussianDP.from_square(queries / (rows * sigma) ** 2).delta(epsilon))

    def bound() -> Ball:
        missed = 1 - (1 - (ball(spread) / Ball(2).sqrt()).erfc()) ** queries
        d = ball(delta) / (ball(beta) - missed / ball(c))
        return ball(sigma * spread) + ball(epsilon).expm1() + ball(c) + 2 * d

    return above(bound)
