"""Two-sided geometric noise on the integers: the Laplace law on a lattice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dither.exact import Ball, ball
from dither.noise.direct_samplers import DirectLaplace
from dither.noise.geometric import ExponentialDecay
from dither.noise.rejection import TwoSidedLaw

__all__ = ["DiscreteLaplace"]


@dataclass(frozen=True, init=False)
class DiscreteLaplace(ExponentialDecay, TwoSidedLaw):
    """Laplace noise on the integers: P[X = x] = tanh(1/(2t)) · e^{−|x|/t}.

    Parameters
    ----------
    scale : Number
        t, in lattice steps, between 2^-200 and 2^900.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Ghosh, Roughgarden and Sundararajan 2009, the two-sided geometric law. Sampled exactly: noise/discrete_laplace.md
    and noise/rejection.md have the proof.

    Examples
    --------
    >>> DiscreteLaplace(10).quantile(0.975)
    30
    """

    def largest_loss(self, shift: int) -> Fraction:
        """Compute the largest privacy loss: (|x − shift| − |x|)/t ≤ |shift|/t, reached at all x on the far side of 0.

        Parameters
        ----------
        shift : int
            By how much the law is moved.

        Returns
        -------
        Fraction
            |shift|/t.
        """
        return abs(shift) / self.scale

    def _whole(self) -> Ball:
        """Σ e^{−|x|/t} = coth(1/(2t))."""
        return ball(1 / (2 * self.scale)).coth()

    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] = e^{−(x+1)/t} / (1 + e^{−1/t}) for x ≥ 0."""
        return self.weight(x + 1) / (1 + self.weight(1))

    def _direct(self) -> DirectLaplace:
        return DirectLaplace(self.scale)
