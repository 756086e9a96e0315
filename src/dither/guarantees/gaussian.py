"""Gaussian differential privacy: as hard to tell apart as N(0, 1) and N(μ, 1).

Dong, Roth and Su (2022), Definition 2.6, Corollary 2.13:

    β(α) = Φ(Φ⁻¹(1 − α) − μ),    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ),

which is also the exact profile of continuous Gaussian noise with μ = Δ₂/σ (Balle and Wang 2018, Theorem 8).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Self

from dither.adjacency import Adjacency, checked
from dither.exact import Ball, Number, ball, check, in_words, precision, rational, set_fields
from dither.exact.certified import (
    above,
    at_most,
    below,
    exactly_above,
    exactly_below,
    normal_cdf,
    refined,
    sqrt,
)
from dither.guarantees.approximate import PureDP
from dither.guarantees.guarantee import Guarantee

__all__ = ["GaussianDP"]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class GaussianDP(Guarantee):
    """Gaussian differential privacy (μ-GDP): as hard to tell apart as N(0, 1) and N(μ, 1).

    Parameters
    ----------
    mu : Number
        μ ≥ 0; for the Gaussian mechanism Δ₂/σ.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. Guarantees combine only under the same one.

    Attributes
    ----------
    mu_squared : Fraction
        μ², which is what adds up under composition and what a variance gives exactly.

    Notes
    -----
    β(α) = Φ(Φ⁻¹(1 − α) − μ) and δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Dong, Roth and Su 2022, Definition 2.6 and
    Corollary 2.13; Balle and Wang 2018, Theorem 8).

    Examples
    --------
    >>> import dither as dp
    >>> dp.GaussianDP(1).epsilon(1e-6), dp.GaussianDP(1).beta(0.05)
    (4.88655411..., 0.74048897...)
    >>> dp.GaussianDP.from_square(2)
    GaussianDP(mu=√(2))
    """

    mu_squared: Fraction
    adjacency: Adjacency | None

    def __init__(self, mu: Number, *, adjacency: Adjacency | None = None) -> None:
        exact = rational(mu, "mu")
        check.nonnegative(mu=exact)
        set_fields(self, mu_squared=exact**2, adjacency=checked(adjacency))

    @classmethod
    def from_square(cls, mu_squared: Number, *, adjacency: Adjacency | None = None) -> Self:
        """Build μ-GDP from μ², exactly, where μ itself is not rational.

        Parameters
        ----------
        mu_squared : Number
            μ² ≥ 0.
        adjacency : Adjacency, optional
            Which datasets are neighbours.

        Returns
        -------
        GaussianDP
            The guarantee with μ = √`mu_squared`.
        """
        exact = rational(mu_squared, "mu_squared")
        check.nonnegative(mu_squared=exact)
        made = cls(0, adjacency=adjacency)
        set_fields(made, mu_squared=exact)
        return made

    def _profile(self, epsilon: Fraction) -> Ball:
        if not self.mu_squared:
            return Ball(0)
        return _both_terms(self.mu_squared, epsilon)[0]

    def _epsilon(self, delta: Fraction) -> float:
        if not self.mu_squared:
            return 0.0
        if not delta:
            return math.inf
        if at_most(lambda: self._profile(Fraction(0)), delta):
            return 0.0
        guess = self._newton(delta)
        # Newton's answer is a guess; the one returned is proved, a few units in the last place further up.
        step = 2.0**-50
        while math.isfinite(guess):
            higher = guess * (1 + step)
            if at_most(lambda candidate=higher: self._profile(Fraction(candidate)), delta):  # type: ignore[misc]
                return above(lambda candidate=higher: Ball(candidate))  # type: ignore[misc]
            step *= 4
            guess = higher
        return math.inf

    def _newton(self, delta: Fraction) -> float:
        """Near the root of ln δ(ε) = ln δ. The left side is concave, so Newton's method comes down from the right.

        δ(ε)/δ(0) falls from 1 to 0 much as Φ(μ/2 − ε/μ) does, which gives the start.
        """
        with precision(128):
            mu = sqrt(self.mu_squared)
            ratio = ball(delta) / refined(lambda: self._profile(Fraction(0)))
            epsilon = mu * mu / 2 + mu * Ball(2).sqrt() * ratio.erfcinv()
            for _ in range(100):
                if not abs(float(epsilon)) < math.inf:
                    return math.inf
                at = Fraction(float(epsilon))
                step = self._newton_step(at, delta)
                epsilon = (ball(at) + step).mid()
                if not abs(step) > abs(epsilon) * 2.0**-40:
                    break
            return max(float(epsilon), 5e-324)

    def _newton_step(self, epsilon: Fraction, delta: Fraction) -> Ball:
        value = refined(lambda: self._profile(epsilon))
        slope = _both_terms(self.mu_squared, epsilon)[1]
        step = (value / ball(delta)).log() * value / slope
        return step if step.is_finite() else Ball(0)

    def _beta(self, alpha: Fraction) -> float:
        if alpha in (0, 1) or not self.mu_squared:
            return exactly_below(1 - alpha)
        mu_squared = self.mu_squared
        return below(lambda: normal_cdf(Ball(2).sqrt() * (2 * ball(alpha)).erfcinv() - sqrt(mu_squared)))

    def _renyi(self, order: Fraction) -> float:
        """D_α(N(0, 1) ‖ N(μ, 1)) = αμ²/2."""
        return exactly_above(order * self.mu_squared / 2)

    def _is_implied_by(self, other: Guarantee) -> bool:
        if isinstance(other, GaussianDP):
            return other.mu_squared <= self.mu_squared
        if isinstance(other, PureDP):
            # The curve of randomized response has one corner, (t, t) with t = 1/(1 + e^ε); ours is convex and
            # below that curve if it is below at the corner: μ ≥ −2 Φ⁻¹(t), that is Φ(−μ/2) ≤ t.
            half = lambda: normal_cdf(-sqrt(self.mu_squared) / 2) * (1 + ball(other.stated_epsilon).exp())  # noqa: E731
            return at_most(half, Fraction(1))
        return False

    def _group(self, size: int) -> GaussianDP:
        return GaussianDP.from_square(size**2 * self.mu_squared)

    def _under(self, adjacency: Adjacency | None) -> Self:
        return self.from_square(self.mu_squared, adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        square = self.mu_squared
        root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
        return {"mu": root if root**2 == square else f"√({in_words(square)})"}

    def is_perfect(self) -> bool:
        """Decide whether μ is 0.

        Returns
        -------
        bool
            Whether outputs do not depend on the data.
        """
        return not self.mu_squared


def _both_terms(mu_squared: Fraction, epsilon: Fraction) -> tuple[Ball, Ball]:
    """δ(ε), and −δ′(ε) = e^ε Φ(−μ/2 − ε/μ)."""
    mu, loss = sqrt(mu_squared), ball(epsilon)
    first = normal_cdf(mu / 2 - loss / mu)
    second = loss.exp() * normal_cdf(-mu / 2 - loss / mu)
    # The first term alone is an upper bound; it is what remains when e^ε is beyond the range of a ball.
    return (first - second if second.is_finite() else first), second
