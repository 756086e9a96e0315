"""From one kind of guarantee to another, each by its theorem and never to the optimistic side.

Parameters that are not rational are rounded up to 17 digits, so the result is implied by the source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, rational
from dither.exact.certified import fraction_above, sqrt
from dither.guarantees.approximate import ApproxDP, PureDP, TVStable
from dither.guarantees.gaussian import GaussianDP
from dither.guarantees.guarantee import Guarantee
from dither.guarantees.renyi import DEFAULT_ORDERS, ZCDP, RenyiDP, concentrated

__all__ = ["to_approx", "to_gaussian", "to_renyi", "to_tv", "to_zcdp"]


def to_approx(guarantee: Guarantee, delta: Number) -> ApproxDP:
    """Convert to (ε, δ)-DP: the smallest ε that follows at this δ.

    Exact for pure, approximate and Gaussian DP; for Rényi and zCDP by the tangent bound of `guarantees.renyi_to_delta`.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee to convert.
    delta : Number
        δ between 0 and 1.

    Returns
    -------
    ApproxDP
        What `guarantee` implies.

    Raises
    ------
    ParameterError
        If it implies no finite ε at this δ.

    Examples
    --------
    >>> to_approx(ZCDP("0.5"), "1e-6")
    ApproxDP(epsilon=5.22153..., delta=1e-06)
    """
    epsilon = guarantee.epsilon(delta)
    if not epsilon < math.inf:
        raise ParameterError(f"{guarantee} implies no ε at delta={rational(delta)}. Ask for a larger delta.")
    return ApproxDP(epsilon, delta, adjacency=guarantee.adjacency)


def to_tv(guarantee: Guarantee) -> TVStable:
    """Convert to stability in total variation.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee to convert.

    Returns
    -------
    TVStable
        What `guarantee` implies: tanh(ε/2) for pure DP, (e^ε − 1 + 2δ)/(e^ε + 1) for approximate DP (claim C23),
        2Φ(μ/2) − 1 for Gaussian DP.

    Examples
    --------
    >>> to_tv(PureDP(1))
    TVStable(tv=0.46211715726000...)
    """
    return TVStable(guarantee.tv(), adjacency=guarantee.adjacency)


def to_zcdp(guarantee: Guarantee) -> ZCDP:
    """Convert pure or Gaussian DP, or a composition of what has a ρ, to ρ-zCDP; other guarantees imply none.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee to convert.

    Returns
    -------
    ZCDP
        What `guarantee` implies.

    Raises
    ------
    ParameterError
        If it implies no zCDP.

    Notes
    -----
    ρ = ε·tanh(ε/2) for pure DP (see `concentrated`; the textbook's ε²/2 is larger), ρ = μ²/2 for Gaussian DP
    (its divergences are αμ²/2, Bun and Steinke 2016, Proposition 1.6; they bound those of every pair that is
    at least as hard to tell apart, by data processing).

    Examples
    --------
    >>> to_zcdp(PureDP(1)), to_zcdp(GaussianDP(1))
    (ZCDP(rho=0.46211715726000...), ZCDP(rho=0.5))
    """
    if isinstance(guarantee, ZCDP):
        return guarantee
    if isinstance(guarantee, GaussianDP):
        return ZCDP(guarantee.mu_squared / 2, adjacency=guarantee.adjacency)
    if (rho := guarantee._rho()) is not None:
        return ZCDP(rho, adjacency=guarantee.adjacency)
    epsilon = _pure_epsilon(guarantee, "zCDP")
    return ZCDP(fraction_above(lambda: concentrated(epsilon)), adjacency=guarantee.adjacency)


def to_gaussian(guarantee: Guarantee) -> GaussianDP:
    """Convert pure DP, or a composition of what has a μ, to μ-GDP; other guarantees imply none.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee to convert.

    Returns
    -------
    GaussianDP
        What `guarantee` implies: μ = −2 Φ⁻¹(1/(1 + e^ε)).

    Raises
    ------
    ParameterError
        If it implies no Gaussian DP.

    Notes
    -----
    The curve of ε-DP is two segments that meet at (t, t), t = 1/(1 + e^ε). A convex curve through its ends
    lies below it if it does at the corner: Φ(Φ⁻¹(1 − t) − μ) ≤ t, with equality for this μ. Where e^ε is
    beyond reach, μ = √(8ε) is used: Φ(−√(2ε)) ≤ e^{−ε}/2 ≤ t.

    Examples
    --------
    >>> to_gaussian(PureDP(1))
    GaussianDP(mu=1.23203538534490...)
    """
    if isinstance(guarantee, GaussianDP):
        return guarantee
    if (squared := guarantee._mu_squared()) is not None:
        return GaussianDP.from_square(squared, adjacency=guarantee.adjacency)
    epsilon = _pure_epsilon(guarantee, "Gaussian DP")
    return GaussianDP(fraction_above(lambda: _gaussian_mu(epsilon)), adjacency=guarantee.adjacency)


def _gaussian_mu(epsilon: Fraction) -> Ball:
    exact = Ball(8).sqrt() * (2 / (1 + ball(epsilon).exp())).erfcinv()
    return exact if exact.is_finite() else sqrt(8 * epsilon)


def to_renyi(guarantee: Guarantee, orders: Iterable[Number] = DEFAULT_ORDERS) -> RenyiDP:
    """Convert to Rényi DP at given orders.

    Parameters
    ----------
    guarantee : Guarantee
        The guarantee to convert: zCDP, Gaussian DP, pure DP, or Rényi DP of higher orders.
    orders : iterable of Number, optional
        The orders α > 1; by default 69 of them, α − 1 from 2⁻⁷ to 2¹⁰.

    Returns
    -------
    RenyiDP
        What `guarantee` implies: αρ for zCDP, αμ²/2 for Gaussian DP, that of randomized response for pure DP; Rényi DP
        at a lower order follows from a higher one.

    Raises
    ------
    ParameterError
        If it implies no divergence at these orders, as approximate DP and TV stability do.
    """
    points = {order: guarantee.renyi(order) for order in (rational(order, "order") for order in orders)}
    known = {order: value for order, value in points.items() if value < math.inf}
    if not known:
        raise ParameterError(f"{guarantee} implies no Rényi divergence at these orders.")
    return RenyiDP(known, adjacency=guarantee.adjacency)


def _pure_epsilon(guarantee: Guarantee, wanted: str) -> Fraction:
    if isinstance(guarantee, PureDP):
        return guarantee.stated_epsilon
    if isinstance(guarantee, ApproxDP) and not guarantee.stated_delta:
        return guarantee.stated_epsilon
    if guarantee.is_perfect():
        return Fraction(0)
    raise ParameterError(f"{guarantee} implies no {wanted}: its privacy loss may be infinite or is not known.")
