"""A function that falls like a power of the distance, with all that summing it needs.

The noise of `dither.noise` and the pairs of `dither.guarantees` that fall like that are both made of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from flint import arb_series

from dither.exact.balls import Ball, ball, lower

__all__ = ["PowerDecay", "PowerLawDecay", "StudentTDecay"]


class PowerDecay(ABC):
    """g(i) = (1 + (i/c)^α)^{−β} with αβ > 1: a `Decay` of `dither.exact.sums`.

    Proofs and letters are those of noise/power_law.md. Subclasses are hashable, and define α, β and c.
    """

    @property
    @abstractmethod
    def _alpha(self) -> Fraction:
        """α > 1."""

    @property
    @abstractmethod
    def _beta(self) -> Fraction:
        """β > 0."""

    @abstractmethod
    def _core(self) -> Ball:
        """c, the distance at which the tail begins."""

    def _power(self, i: int) -> Ball:
        """(i/c)^α."""
        return (i / self._core()) ** ball(self._alpha) if i else ball(0)

    def weight(self, i: int) -> Ball:
        """Compute the weight g at a distance.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            A ball that contains g(i) = (1 + (i/c)^α)^{−β}.
        """
        return (1 + self._power(i)) ** ball(-self._beta)

    def tail_bound(self, i: int) -> Ball:
        """Bound the sum of all weights from a distance on.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            At least Σ g(n) over n ≥ i.

        Notes
        -----
        As g decreases, it is g(i) + ∫_i^∞ g.
        """
        return self.weight(i) + self.integral(i)

    def integral(self, i: int) -> Ball:
        """Integrate g from a distance on.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            A ball that contains ∫ g over [i, ∞).

        Notes
        -----
        It is (c/α) B(1/(1 + (i/c)^α); β − 1/α, 1/α), an incomplete beta function. Near the peak it is the whole
        integral less (c/α) B(1 − …; 1/α, β − 1/α), as 1 − … would lose digits.
        """
        power, beta = self._power(i), self._beta
        far, near = ball(beta - 1 / self._alpha), ball(1 / self._alpha)
        unit = self._core() / ball(self._alpha)
        if not power * ball(beta) <= 1:
            return unit * (1 / (1 + power)).beta_lower(far, near)
        whole = far.gamma() * near.gamma() / ball(beta).gamma()
        return unit * (whole - (power / (1 + power)).beta_lower(near, far))

    def taylor(self, i: int, length: int) -> list[Ball]:
        """Expand g(i + h) in powers of h.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.
        length : int
            How many coefficients.

        Returns
        -------
        list of Ball
            The coefficients of h⁰, h¹, …

        Notes
        -----
        g(i + h) = e^{−β ln(1 + ((i + h)/c)^α)}.
        """
        core, alpha = self._core(), self._alpha
        place = arb_series([i / core, 1 / core], length)
        power = place ** int(alpha) if alpha.denominator == 1 else (place.log() * ball(alpha)).exp()
        series = ((1 + power).log() * ball(-self._beta)).exp()
        return [series[j] for j in range(length)]

    def radius(self, i: int) -> int:
        """Choose the radius of a disc around a distance on which g stays small.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        int
            The radius, for `disc_integral`.

        Notes
        -----
        A share of max(i, c) that keeps `disc_integral` below six times the integral.
        """
        size = max(i, int(lower(self._core())))
        radius = size * 3 // (5 * self._alpha * max(self._beta, Fraction(1)))
        return radius if self._alpha.denominator == 1 else min(radius, i - 1)

    def disc_integral(self, i: int, radius: int) -> Ball:
        """Bound the integral of the largest |g| on discs.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.
        radius : int
            The radius of the discs.

        Returns
        -------
        Ball
            At least ∫ max |g(z)| dx over [i, ∞), the maximum over |z − x| ≤ radius.

        Notes
        -----
        It is (2 − (1 + ρ/max(i, c))^α)^{−β} ∫_i^∞ g, see noise/power_law.md; infinite if a disc reaches a singularity.
        """
        rest = 2 - (1 + radius / ball(i).max(self._core())) ** ball(self._alpha)
        if not rest > 0 or (self._alpha.denominator > 1 and radius >= i):
            return Ball.pos_inf()
        return rest ** ball(-self._beta) * self.integral(i)


class PowerLawDecay(PowerDecay):
    """g(i) = 1/(1 + (i/s)^γ), with s = `scale` and γ = `gamma`."""

    scale: Fraction
    gamma: Fraction

    @property
    def _alpha(self) -> Fraction:
        return self.gamma

    @property
    def _beta(self) -> Fraction:
        return Fraction(1)

    def _core(self) -> Ball:
        return ball(self.scale)


class StudentTDecay(PowerDecay):
    """g(i) = (1 + (i/s)²/ν)^{−(ν+1)/2}, with s = `scale` and ν = `degrees`."""

    scale: Fraction
    degrees: Fraction

    @property
    def _alpha(self) -> Fraction:
        return Fraction(2)

    @property
    def _beta(self) -> Fraction:
        return (self.degrees + 1) / 2

    def _core(self) -> Ball:
        return ball(self.scale) * ball(self.degrees).sqrt()
