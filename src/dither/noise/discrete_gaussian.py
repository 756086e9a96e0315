"""Gaussian noise on the integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dither.exact import Ball, Number, ball, check, rational
from dither.noise.law import SymmetricLaw, lattice_scale
from dither.noise.rejection import Arm, Floats, RejectionLaw, exp_minus

__all__ = ["DiscreteGaussian"]


@dataclass(frozen=True, init=False)
class DiscreteGaussian(SymmetricLaw, RejectionLaw):
    """Integer noise, P[X = x] ∝ e^{−x²/(2σ²)}, with σ² = `variance` (Canonne, Kamath, Steinke 2020).

    The parameter is σ², which stays rational when σ is not (ρ-zCDP asks for σ² = Δ²/(2ρ)). The variance of X itself
    is slightly smaller than σ².
    Sampled exactly: see discrete_gaussian.md and rejection.md.
    """

    variance: Fraction
    _inverse_sigma: float = field(repr=False, compare=False)

    def __init__(self, variance: Number) -> None:
        object.__setattr__(self, "variance", rational(variance, "variance"))
        check.positive(variance=self.variance)
        sigma = float(self.variance) ** 0.5
        object.__setattr__(self, "_inverse_sigma", 1 / sigma)

    @classmethod
    def from_sigma(cls, sigma: Number) -> DiscreteGaussian:
        """The law with the given σ, in lattice steps."""
        return cls(lattice_scale(sigma, "sigma") ** 2)

    def weight(self, i: int) -> Ball:
        """g(i) = e^{−i²/(2σ²)}."""
        return ball(-i * i / (2 * self.variance)).exp()

    def tail_bound(self, i: int) -> Ball:
        """At least the sum of g(n) over n ≥ i: n² ≥ i² + 2i(n − i) gives g(i) / (1 − e^{−i/σ²}) for i ≥ 1.

        Near the peak that is useless, so the sum is also bounded by g(i) plus the integral from i on.
        """
        integral = (ball(self.variance) * Ball.pi() / 2).sqrt() * (ball(i) / (2 * ball(self.variance)).sqrt()).erfc()
        return self.weight(i) + integral

    def ratio(self, near: Floats, offset: Floats) -> Floats:
        """e^{−offset (offset + 2 near) / (2σ²)}: seven roundings of a number below 1, then `exp_minus`."""
        inverse = self._inverse_sigma
        return exp_minus((offset * inverse) * ((offset + 2 * near) * inverse) * 0.5)

    def _arms(self) -> Sequence[Arm]:
        return (Arm(self, sign=1, first=0), Arm(self, sign=-1, first=1))
