"""Rényi divergences, ρ of zCDP and μ of Gaussian DP of what is composed, each from above.

**Rényi.** Write x = e^L and α = m + 1. For a convex f with f(0) = f′(0) = 0, E_Q[f(x)] = ∫ f″(u) δ(ln u) du, so a law
with a larger profile has the larger divergence. x^α = f(x) + g(x), where f goes on as its tangent right of e^h, and
g(x) ≤ x^α there and 0 before. With the law from above of loss_law.py, which ends at h,

    E_P[e^{mL}] ≤ Σ wᵢ e^{mℓᵢ} + α e^{mh} w_∞ + E_P[e^{mL}; L > h].

The last term is 0 where losses end at h. A sample has smaller losses than all data, ln(1 − γ + γe^L) ≤ L for L ≥ 0, so
it is at most that of the base at the same h, times (γ + (1 − γ)e^{−h})^α; if that is ρ-zCDP, for every t ≥ 0 at most

    e^{−th}·E_P[e^{(m+t)L}] ≤ e^{−th + (m+t)(m+t+1)ρ} = e^{m(m+1)ρ − (h − ρ − 2mρ)²/4ρ}   for t = (h − ρ − 2mρ)/2ρ.

**Replacement on a Poisson sample of Gaussian noise.** With a = γ/(1 − γ) the loss at an outcome x is at most
ln(1 + a·e^{μx − μ²/2}), and for x ≥ z at most ln a + μx − μ²/2 + ln(1 + r), r = e^{−μz + μ²/2}/a. Under N(c, 1)

    E[e^{mμx}; x > z] = e^{mμc + m²μ²/2} Φ̄(z − c − mμ) ≤ e^{mμc + m²μ²/2 − (z − c − mμ)²/2},

and P has c = 0 with probability 1 − γ, c = μ with γ.

**ρ and μ** add up, μ in squares (Bun and Steinke 2016, Lemma 1.7; Dong, Roth and Su 2022, Corollary 3.3). A mechanism
on a sample keeps what it keeps on all data: divergences are quasi-convex in the pair, hockey sticks convex.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dither.accounting.loss_law import LossLaw, from_above, span
from dither.exact.certified import exactly_above, fraction_above
from dither.guarantees import PureDP, RenyiDP, to_gaussian
from dither.guarantees.renyi import concentrated
from dither.pairs.bounded import AtMostPair
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.gaussian_mixture import GaussianMixturePair
from dither.pairs.moments import ConcentratedPair, RenyiPair
from dither.pairs.pair import Pair
from dither.pairs.poisson_replaced import ReplacedGaussianPair
from dither.pairs.subsampled import FixedSizePair, PoissonAddPair, PoissonRemovePair

__all__ = ["mu_squared_of", "renyi_of", "rho_of"]

_SAMPLED = (FixedSizePair, PoissonAddPair, PoissonRemovePair)
_CELLS = 20_000
_IGNORED = 1e-14
_DEVIATIONS = 12.0  # of the tilted base, at which the lattice ends
_SLACK = 2.0**-40
_LARGEST = 700.0  # of losses that a law may span


def rho_of(pair: Pair) -> Fraction | None:
    """ρ of the zCDP that a pair keeps, rounded up; None if none is known."""
    if isinstance(pair, ConcentratedPair):  # ξ ≤ ξα, as orders are above 1
        return pair.rho + pair.xi
    if isinstance(pair, GaussianPair):
        return pair.squared_mu / 2
    if isinstance(pair, DiscreteGaussianPair):  # Canonne, Kamath and Steinke 2020, Theorem 4
        return Fraction(pair.sensitivity**2) / (2 * pair.variance)
    return _kept(pair, rho_of, lambda epsilon: fraction_above(lambda: concentrated(epsilon)))


def mu_squared_of(pair: Pair) -> Fraction | None:
    """μ² of the Gaussian DP that a pair keeps, rounded up; None if none is known."""
    if isinstance(pair, GaussianPair):
        return pair.squared_mu
    return _kept(pair, mu_squared_of, lambda epsilon: to_gaussian(PureDP(epsilon)).mu_squared)


def _kept(
    pair: Pair, kept_by: Callable[[Pair], Fraction | None], if_pure: Callable[[Fraction], Fraction]
) -> Fraction | None:
    """What a pair keeps: on a sample that of all data, of several things the worst, otherwise by its largest loss."""
    if isinstance(pair, AtMostPair):
        return kept_by(pair.above)
    if isinstance(pair, _SAMPLED):
        return kept_by(pair.base)
    if isinstance(pair, ReplacedGaussianPair):
        return kept_by(GaussianPair(4 * pair.squared_mu))
    if isinstance(pair, GaussianMixturePair):
        return kept_by(GaussianPair(max(pair.squared_means)))
    if isinstance(pair, ChoicePair):
        first, second = kept_by(pair.first), kept_by(pair.second)
        return None if first is None or second is None else max(first, second)
    epsilon = _largest_loss(pair)
    return None if epsilon is None else if_pure(epsilon)


def _largest_loss(pair: Pair) -> Fraction | None:
    """The largest loss of both orders, if there is one."""
    both = (pair, pair.swapped())
    tops = [each.largest_loss for each in both if not each.infinity]
    known = [top for top in tops if top is not None]
    return max(known) if len(known) == len(both) else None


def renyi_of(pair: Pair, order: Fraction) -> float:
    """D_α(P‖Q) from above; ∞ if it may be infinite, or is not known."""
    if isinstance(pair, ChoicePair):
        return max(renyi_of(pair.first, order), renyi_of(pair.second, order))
    if isinstance(pair, AtMostPair):
        return renyi_of(pair.above, order)
    if isinstance(pair, RenyiPair):
        return RenyiDP(dict(pair.points)).renyi(order)
    if isinstance(pair, ConcentratedPair):
        return exactly_above(pair.xi + order * pair.rho)
    rho, top = rho_of(pair), _largest_loss(pair)
    bounds = [math.inf if rho is None else exactly_above(order * rho)]
    if top is not None:
        bounds.append(PureDP(top).renyi(order))
    if not isinstance(pair, GaussianPair | DiscreteGaussianPair):
        bounds.append(_on_lattice(pair, order))
    return min(bounds)


def _on_lattice(pair: Pair, order: Fraction) -> float:
    """By the sum above; ∞ where floats do not hold it, or nothing is known of the tail."""
    m = exactly_above(order - 1)
    low, high = span(pair, _IGNORED, _IGNORED)
    if pair.support[1] < math.inf:
        return _up_to(pair, m, low, pair.support[1], -math.inf)
    if isinstance(pair, ReplacedGaussianPair):  # a nearer end is better where floats do not hold what lies at the other
        ends = [_replaced_tail(pair, m, deviations) for deviations in (_DEVIATIONS, _DEVIATIONS / 3)]
        return min(_up_to(pair, m, -end, end, log_tail) for log_tail, end in ends)
    log_tail, high = _sampled_tail(pair, m, high)
    return _up_to(pair, m, low, high, log_tail)


def _up_to(pair: Pair, m: float, low: float, high: float, log_tail: float) -> float:
    """By a law on a lattice that ends at `high`, and ln of what lies beyond."""
    if pair.infinity or not (high - low < _LARGEST and log_tail < math.inf):
        return math.inf
    law = from_above(pair, (high - low) / _CELLS, low, high)
    return float(np.logaddexp(_log_moment(law, m), log_tail)) / m * (1 + _SLACK) + _SLACK / m


def _sampled_tail(pair: Pair, m: float, high: float) -> tuple[float, float]:
    """ln of the tail beyond an end of the lattice, and this end."""
    rho = rho_of(pair.base) if isinstance(pair, _SAMPLED) else None
    if rho is None or not isinstance(pair, _SAMPLED):
        return math.inf, high
    size, gamma = exactly_above(rho), float(pair.rate)
    beyond = _DEVIATIONS * math.sqrt(2 * size)
    inner = (1 + 2 * m) * size + beyond
    if not inner < _LARGEST:
        return math.inf, high
    # The end is rounded up, and the tail begins a little before it: at 0.99 of the deviations.
    log_tail = m * (m + 1) * size - 0.98 * beyond**2 / (4 * size)
    smaller = (m + 1) * (math.log(gamma) + math.log1p((1 / gamma - 1) * math.exp(-0.99 * inner)))
    return log_tail + min(smaller, 0.0) + _SLACK, math.log1p(gamma * math.expm1(inner)) * (1 + _SLACK)


def _replaced_tail(pair: ReplacedGaussianPair, m: float, deviations: float) -> tuple[float, float]:
    """ln of the tail beyond an end of the lattice, and this end: the loss at z, `deviations` beyond the tilted laws."""
    mu, gamma = math.sqrt(pair.squared_mu), float(pair.rate)
    odds = math.log(gamma) - math.log1p(-gamma)
    z = (m + 1) * mu + deviations
    tops = [m * mu * c + (m * mu) ** 2 / 2 - (0.99 * (z - c - m * mu)) ** 2 / 2 for c in (0.0, mu)]
    whole = float(np.logaddexp(math.log1p(-gamma) + tops[0], math.log(gamma) + tops[1]))
    most = odds - mu**2 / 2
    log_tail = m * (most + math.log1p(math.exp(min(-mu * 0.99 * z - most, _LARGEST)))) + whole
    high = np.logaddexp(0.0, most + mu * z) - np.logaddexp(0.0, most - mu * z)
    return log_tail + _SLACK * (1 + m * (abs(most) + mu * z)), float(high) * (1 + _SLACK)


def _log_moment(law: LossLaw, m: float) -> float:
    """ln of Σ wᵢ e^{mℓᵢ} + α e^{mh} w_∞, rounded up: each exponent is off by a few ulp of itself."""
    losses, kept = law.losses, law.weights > 0
    exponents = np.append(m * losses[kept] + np.log(law.weights[kept]), -math.inf)
    if law.infinity:
        exponents[-1] = math.log(m + 1) + m * float(losses[-1]) + math.log(law.infinity)
    most = float(exponents.max())
    return most + math.log(math.fsum(np.exp(exponents - most))) + _SLACK * (1 + m * float(np.abs(losses).max()))
