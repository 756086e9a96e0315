"""Two-sided geometric noise on the integers: the Laplace law on a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dither.exact import Ball, ball
from dither.noise.blocks import Arm
from dither.noise.geometric import ExponentialDecay
from dither.noise.law import SymmetricLaw
from dither.noise.rejection import RejectionLaw

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, init=False)
class DiscreteLaplace(ExponentialDecay, SymmetricLaw, RejectionLaw):
    """Integer noise, P[X = x] = tanh(1/(2t)) · e^{−|x|/t}, with t = `scale` (Ghosh, Roughgarden, Sundararajan 2009).

    Sampled exactly: see discrete_laplace.md and rejection.md.

    >>> DiscreteLaplace(10).quantile(0.975)
    30
    """

    def _pmf(self, x: int) -> Ball:
        """P[X = x]."""
        return ball(1 / (2 * self.scale)).tanh() * self.weight(abs(x))

    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] = e^{−(x+1)/t} / (1 + e^{−1/t}) for x ≥ 0."""
        return self.weight(x + 1) / (1 + self.weight(1))

    def _arms(self) -> Sequence[Arm]:
        return (Arm(self, sign=1, first=0), Arm(self, sign=-1, first=1))
