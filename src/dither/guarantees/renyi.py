"""Concentrated and Rényi differential privacy: bounds on the moments of the privacy loss.

Both bound the Rényi divergence D_α(P‖Q) = ln E_Q[(dP/dQ)^α] / (α − 1) in both directions: zero-concentrated
DP by ρα for every α > 1 (Bun and Steinke 2016, Definition 1.1), Rényi DP by a number for each order of a list
(Mironov 2017, Definition 4). Their questions are answered through `dither.guarantees.renyi_to_delta` (δ and ε) and
through
`dither.guarantees.trade_off` (β), each with the order that serves best.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.exact import Ball, Number, Real, ball, check, in_words, rational, set_fields
from dither.exact.certified import above, at_most, exactly_above, exactly_below
from dither.guarantees import renyi_to_delta, trade_off
from dither.guarantees.approximate import PureDP
from dither.guarantees.gaussian import GaussianDP
from dither.guarantees.guarantee import Guarantee
from dither.guarantees.renyi_to_delta import FloatArray

__all__ = ["ZCDP", "RenyiDP"]


class _Moments(Guarantee):
    """The shared answers, in terms of the curve m = α − 1 ↦ ln c = (α − 1)·D_α."""

    __slots__ = ()

    @abstractmethod
    def _log_moment(self, m: Fraction) -> Ball:
        """(α − 1)·D_α at α = m + 1, in balls."""

    @abstractmethod
    def _curve(self, m: FloatArray) -> FloatArray:
        """The same in floats, to search with."""

    @abstractmethod
    def _orders(self, scale: float) -> FloatArray:
        """Values of m to search among, around `scale` where there is a choice."""

    @property
    def _free(self) -> bool:
        """Whether every order is known, so that the search may leave its grid."""
        return False

    def _profile(self, epsilon: Fraction) -> Ball:
        return self._bound(epsilon)()

    def _delta(self, epsilon: Fraction) -> float:
        return above(self._bound(epsilon))

    def _bound(self, epsilon: Fraction) -> Real:
        """The best bound that was found for δ(ε): searched for once, evaluated at any precision."""
        if self.is_perfect():
            return lambda: Ball(0)
        found = renyi_to_delta.best_for_delta(float(epsilon), self._orders(float(epsilon)), self._curve, self._free)
        m, gap = self._as_order(found[0]), Fraction(found[1])

        def bound() -> Ball:
            inner = renyi_to_delta.certified_delta(epsilon, m, gap, self._log_moment(m))
            # Pinsker: δ(ε) ≤ TV ≤ √(KL/2), and KL is below every D_α. It helps where ρ is too small for the
            # search.
            return inner.min(self._edge_delta(epsilon)).min((ball(self._kullback_leibler()) / 2).sqrt())

        return bound

    @abstractmethod
    def _kullback_leibler(self) -> Fraction:
        """A bound on the Kullback-Leibler divergence, the limit α → 1."""

    def _epsilon(self, delta: Fraction) -> float:
        if self.is_perfect():
            return 0.0
        if not delta:
            return math.inf
        # What a deviation of that probability would need: ε ~ √(4ρ ln 1/δ).
        log_delta = math.log(delta.numerator) - math.log(delta.denominator)
        scale = self._deviation(-log_delta)
        found = renyi_to_delta.best_for_epsilon(log_delta, self._orders(scale), self._curve, self._free)
        m, gap = self._as_order(found[0]), Fraction(found[1])
        inner = above(lambda: renyi_to_delta.certified_epsilon(delta, m, gap, self._log_moment(m)))
        return min(inner, self._edge_epsilon(delta))

    def _edge_delta(self, epsilon: Fraction) -> Ball:
        """(***) at its best order; where every order is known, it is no better than (**)."""
        return Ball(1)

    def _edge_epsilon(self, delta: Fraction) -> float:
        """(***) solved for ε, at its best order."""
        return math.inf

    def _deviation(self, log_odds: float) -> float:
        return log_odds

    def _as_order(self, m: float) -> Fraction:
        return Fraction(m)

    def _beta(self, alpha: Fraction) -> float:
        if alpha in (0, 1) or self.is_perfect():
            return exactly_below(1 - alpha)
        scale = self._deviation(math.log(alpha.denominator) - math.log(alpha.numerator))
        guess, m, swapped = trade_off.out_of_reach(alpha, self._orders(scale), self._curve, self._free)
        order = self._as_order(m)
        return trade_off.certified_beta(alpha, guess, order, swapped, lambda: self._log_moment(order))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(_Moments):
    """Zero-concentrated differential privacy (zCDP): the Rényi divergence D_α is at most αρ for every α > 1.

    Parameters
    ----------
    rho : Number
        ρ ≥ 0; for the Gaussian mechanism Δ₂²/(2σ²).
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.

    Notes
    -----
    Bun and Steinke 2016, Definition 1.1. δ and ε follow by the tangent bound of `guarantees.renyi_to_delta`, β by
    `guarantees.trade_off`.

    Examples
    --------
    >>> import dither as dp
    >>> dp.ZCDP(0.5).epsilon(1e-6), dp.ZCDP(0.5).delta(1)
    (5.22153..., 0.21491...)
    """

    rho: Fraction
    adjacency: Adjacency | None

    def __init__(self, rho: Number, *, adjacency: Adjacency | None = None) -> None:
        exact = rational(rho, "rho")
        check.nonnegative(rho=exact)
        set_fields(self, rho=exact, adjacency=checked(adjacency))

    def _log_moment(self, m: Fraction) -> Ball:
        return ball(m * (m + 1) * self.rho)

    def _curve(self, m: FloatArray) -> FloatArray:
        return m * (m + 1) * float(self.rho)

    def _kullback_leibler(self) -> Fraction:
        return self.rho

    def _orders(self, scale: float) -> FloatArray:
        """Around the best order of the Gaussian, α ≈ ε/(2ρ), or around 1/√(2ρ) where ε is small."""
        rho = float(self.rho)
        centre = max(scale / rho / 2, math.sqrt(0.5 / rho))
        return min(max(centre, 1e-290), 1e290) * _SPREAD

    @property
    def _free(self) -> bool:
        return True

    def _deviation(self, log_odds: float) -> float:
        return 2 * math.sqrt(self.rho) * math.sqrt(log_odds)

    def _renyi(self, order: Fraction) -> float:
        return exactly_above(order * self.rho)

    def _is_implied_by(self, other: Guarantee) -> bool:
        if isinstance(other, ZCDP):
            return other.rho <= self.rho
        if isinstance(other, GaussianDP):
            return other.mu_squared <= 2 * self.rho
        if isinstance(other, PureDP):
            return at_most(lambda: concentrated(other.stated_epsilon), self.rho)
        return False

    def _group(self, size: int) -> ZCDP:
        return ZCDP(size**2 * self.rho)

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(self.rho, adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        return {"rho": self.rho}

    def is_perfect(self) -> bool:
        """Decide whether ρ is 0.

        Returns
        -------
        bool
            Whether outputs do not depend on the data.
        """
        return not self.rho


_SPREAD = np.geomspace(1e-4, 30, 20)


def concentrated(epsilon: Fraction) -> Ball:
    """The smallest ρ such that ε-DP implies ρ-zCDP: ρ = ε·tanh(ε/2) (below the usual ε²/2).

    Randomized response is the worst case. With x = α − ½ its divergence is D_α/α = (h(x²) − h(¼))/(x² − ¼),
    the slope of a chord of h(y) = ln cosh(ε√y). As h is concave (h′ = ε·tanh(ε√y)/(2√y) falls), the slope is
    largest for α → 1, where it is h′(¼) = ε·tanh(ε/2).
    """
    return ball(epsilon) * (ball(epsilon) / 2).tanh()


@dataclass(frozen=True, slots=True, init=False, repr=False)
class RenyiDP(_Moments):
    """Rényi differential privacy: a bound on the Rényi divergence D_α for each order α of a list.

    Parameters
    ----------
    curve : mapping or callable
        A mapping from orders α > 1 to divergences; or a function of the order (a Fraction), evaluated at `orders`. A
        function must not return less than the truth, and may return ∞ where it knows nothing.
    orders : tuple of Number, optional
        Where a function is evaluated; by default at 69 orders, α − 1 from 2⁻⁷ to 2¹⁰. Not with a mapping.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.

    Attributes
    ----------
    points : tuple of (Fraction, Fraction)
        The orders and divergences, by increasing order.

    Raises
    ------
    ParameterError
        If there is no order, an order is not above 1, or a divergence is negative.

    Notes
    -----
    Mironov 2017, Definition 4. Each question is answered at the order that serves best.

    Examples
    --------
    >>> import dither as dp
    >>> dp.RenyiDP({2: 1, 8: 4}).epsilon(1e-6)
    5.54304989...
    >>> dp.RenyiDP(lambda order: order / 2, orders=(2, 8)) == dp.RenyiDP({2: 1, 8: 4})
    True
    """

    points: tuple[tuple[Fraction, Fraction], ...]
    adjacency: Adjacency | None
    _floats: tuple[FloatArray, FloatArray] = field(compare=False)

    def __init__(
        self,
        curve: Mapping[Any, Number] | Callable[[Fraction], Number],
        *,
        orders: tuple[Number, ...] | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        if isinstance(curve, Mapping):
            if orders is not None:
                raise ParameterError("orders belong to a curve given as a function; a mapping has its own.")
            known = {rational(order, "order"): value for order, value in curve.items()}
        else:
            asked = [rational(order, "order") for order in (DEFAULT_ORDERS if orders is None else orders)]
            known = {order: value for order in asked if (value := curve(order)) != math.inf}
        points = tuple(sorted((order, rational(value, "epsilon")) for order, value in known.items()))
        if not points:
            raise ParameterError("a Rényi curve needs at least one order. Give {order: epsilon, ...}.")
        for order, value in points:
            check.nonnegative(epsilon=value)
            if not order > 1:
                raise ParameterError(f"each order must be greater than 1, got order={order}.")
        m = np.array([float(order - 1) for order, _ in points])
        set_fields(
            self,
            points=points,
            _floats=(m, m * np.array([float(value) for _, value in points])),
            adjacency=checked(adjacency),
        )

    def _divergence(self, order: Fraction) -> Fraction | None:
        """The best bound at `order`: divergences do not fall with the order, so any higher one will do."""
        return min((value for known, value in self.points if known >= order), default=None)

    def _log_moment(self, m: Fraction) -> Ball:
        value = self._divergence(m + 1)
        if value is None:
            raise ParameterError(f"order must not exceed {self.points[-1][0]}, got order={m + 1}.")
        return ball(m * value)

    def _curve(self, m: FloatArray) -> FloatArray:
        return self._floats[1]

    def _kullback_leibler(self) -> Fraction:
        return min(value for _, value in self.points)

    def _orders(self, scale: float) -> FloatArray:
        return self._floats[0]

    def _edge_delta(self, epsilon: Fraction) -> Ball:
        m, log_c = self._floats
        with np.errstate(all="ignore"):
            values = -np.expm1(float(epsilon) - log_c / m)
        values[~(values * (1 + m) >= 1)] = 2.0
        order, divergence = self.points[int(values.argmin())]
        edge = -ball(epsilon - divergence).expm1()
        return edge if edge >= ball(1 / order) else Ball(1)

    def _edge_epsilon(self, delta: Fraction) -> float:
        least = min((value for order, value in self.points if delta * order >= 1), default=None)
        return math.inf if least is None else above(lambda: ball(least) + ball(1 - delta).log())

    def _as_order(self, m: float) -> Fraction:
        return next(order - 1 for order, _ in self.points if float(order - 1) == m)

    def _renyi(self, order: Fraction) -> float:
        value = self._divergence(order)
        return math.inf if value is None else exactly_above(value)

    def _is_implied_by(self, other: Guarantee) -> bool:
        if isinstance(other, RenyiDP):
            known = ((other._divergence(order), value) for order, value in self.points)
            return all(divergence is not None and divergence <= value for divergence, value in known)
        if isinstance(other, ZCDP | GaussianDP):
            rho = other.rho if isinstance(other, ZCDP) else other.mu_squared / 2
            return all(order * rho <= value for order, value in self.points)
        found = [(other._renyi(order), value) for order, value in self.points]
        return all(divergence < math.inf and rational(divergence) <= value for divergence, value in found)

    def _under(self, adjacency: Adjacency | None) -> Self:
        return type(self)(dict(self.points), adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        shown = [f"{in_words(order)}: {in_words(value)}" for order, value in self.points]
        if len(shown) > 4:
            shown[1:-1] = ["..."]
        return {"curve": "{" + ", ".join(shown) + "}"}

    def is_perfect(self) -> bool:
        """Decide whether some divergence is 0, which makes the distributions equal.

        Returns
        -------
        bool
            Whether outputs do not depend on the data.
        """
        return any(not value for _, value in self.points)


DEFAULT_ORDERS: tuple[Fraction, ...] = tuple(
    1 + Fraction(round(2 ** (exponent / 4) * 2**12), 2**12) for exponent in range(-28, 41)
)
"""The orders at which a curve given as a function is evaluated: α − 1 from 2⁻⁷ to 2¹⁰, four per doubling."""
