"""Gaussian noise on the integers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt, sqrt

from flint import arb_series, ctx

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, check, rational, set_fields
from dither.exact.sums import tail_sum
from dither.noise.blocks import COARSE, FINE, Floats, Layout, exp_minus
from dither.noise.direct_samplers import DirectGaussian
from dither.noise.law import lattice_scale
from dither.noise.rejection import TwoSidedLaw

__all__ = ["DiscreteGaussian"]

_SMALLEST_VARIANCE = Fraction(1, 2**100)  # below, the exponent of e^{−1/(2σ²)} outgrows the digits of a ball
_LARGEST_VARIANCE = Fraction(2**1000)  # above, squares would leave the range of double precision
_MANY_BLOCKS, _FEW_BLOCKS = 6, 4  # binary digits of their number to σ
_TAIL_SHARE = Fraction(1, 1 << 18)  # so little that one word is enough for it
_SHORT = 1 << 14  # up to here, a table of few blocks is laid out in less time than it loses by rejections
_INT64_VARIANCE = 2**104  # 2^9 σ are below 2^61, and a table of blocks ends before 6 σ


@dataclass(frozen=True, init=False)
class DiscreteGaussian(TwoSidedLaw):
    """Gaussian noise on the integers: P[X = x] ∝ e^{−x²/(2σ²)}.

    Parameters
    ----------
    variance : Number
        σ², between 2^-100 and 2^1000. The variance of X itself is slightly smaller.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Canonne, Kamath and Steinke 2020. The parameter is σ², which stays rational when σ is not: ρ-zCDP needs σ² =
    Δ²/(2ρ). Sampled exactly: noise/discrete_gaussian.md and noise/rejection.md have the proof.

    Examples
    --------
    >>> DiscreteGaussian.from_sigma(10).quantile(0.975)
    20
    """

    variance: Fraction
    _inverse_sigma: float = field(repr=False, compare=False)

    def __init__(self, variance: Number) -> None:
        set_fields(self, variance=rational(variance, "variance"))
        check.positive(variance=self.variance)
        if not _SMALLEST_VARIANCE <= self.variance <= _LARGEST_VARIANCE:
            raise ParameterError(
                "variance must lie between 2^-100 and 2^1000: σ from 2^-50 to 2^500 lattice steps. "
                "Use a lattice whose steps are closer to σ."
            )
        set_fields(self, _inverse_sigma=1 / sqrt(self.variance))

    @classmethod
    def from_sigma(cls, sigma: Number) -> DiscreteGaussian:
        """Build the law from σ, where it is rational.

        Parameters
        ----------
        sigma : Number
            σ in lattice steps, from 2^-50 to 2^500.

        Returns
        -------
        DiscreteGaussian
            The law with `variance` σ².
        """
        exact = lattice_scale(sigma, "sigma")
        if not _SMALLEST_VARIANCE <= exact**2 <= _LARGEST_VARIANCE:
            raise ParameterError(
                "sigma must lie between 2^-50 and 2^500 lattice steps. Use a lattice whose steps are closer to it."
            )
        return cls(exact**2)

    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] for x ≥ 0."""
        return tail_sum(self, x + 1) / self._whole()

    def _whole(self) -> Ball:
        """Σ e^{−x²/(2σ²)} over all integers, which is also σ√(2π) Σ e^{−2π²σ²x²} (Poisson): the faster of the two."""
        if self.variance < Fraction(1, 6):
            return _theta(self.weight(1))
        twice_pi_variance = 2 * Ball.pi() * ball(self.variance)
        return twice_pi_variance.sqrt() * _theta((-Ball.pi() * twice_pi_variance).exp())

    def _direct(self) -> DirectGaussian:
        return DirectGaussian(self.variance)

    def _vector_layout(self, count: int) -> Layout:
        """Blocks of one size, 32 to 64 to σ, or 8 to 16: a word has the offset in the same place for all of them."""
        bits = isqrt(int(self.variance)).bit_length() - (_MANY_BLOCKS if count > _SHORT else _FEW_BLOCKS)
        return replace(FINE, keep=COARSE.keep, largest_block_bits=max(bits, 0), tail_share=_TAIL_SHARE)

    @property
    def _fits_int64(self) -> bool:
        return self.variance < _INT64_VARIANCE

    # ------------------------------------------------------ shape (both sides)

    def weight(self, i: int) -> Ball:
        """Compute the weight g at a distance.

        Parameters
        ----------
        i : int
            The distance from the peak, at least 0.

        Returns
        -------
        Ball
            A ball that contains g(i) = e^{−i²/(2σ²)}.
        """
        # Dividing balls is much faster than dividing fractions.
        return (ball(-i * i * self.variance.denominator) / (2 * self.variance.numerator)).exp()

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
        Up to σ it is g(i) + ∫_i^∞ g, as g decreases. Beyond, n² ≥ i² + 2i(n − i) gives g(i)/(1 − e^{−i/σ²}).
        """
        if i * i < self.variance:
            return self.weight(i) + self.integral(i)
        return self.weight(i) / -ball(-i / self.variance).expm1()

    def ratio(self, near: Floats, offset: Floats) -> Floats:
        """Compute g(near + offset) / g(near) in double precision.

        Parameters
        ----------
        near : float or array
            A distance, rounded to double.
        offset : float or array
            What is added to it, rounded to double.

        Returns
        -------
        float or array
            The ratio, with an error below 2^-44 where it is at least ½.

        Notes
        -----
        It is e^{−y}, y = offset (offset + 2 near) / (2σ²) ≤ ln 2. 1/σ is off by 3 roundings (σ², of which the root
        halves the error, the root, the division), the arguments by one each, and there are 4 operations: y is off by
        less than 12 · 2^-53.
        """
        inverse = self._inverse_sigma
        return exp_minus((offset * inverse) * ((offset + 2 * near) * inverse) * 0.5)

    # ---------------------------------------------------------- smooth function

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
        It is σ√(π/2) erfc(i/(σ√2)). Far out flint's erfc is too wide, so there e^{y²} erfc(y) = U(½, ½, y²)/√π with y²
        = i²/(2σ²).
        """
        variance = ball(self.variance)
        if i < 0 or i * i < self.variance:
            return (variance * Ball.pi() / 2).sqrt() * (i / (2 * variance).sqrt()).erfc()
        half = ball(Fraction(1, 2))
        return (variance / 2).sqrt() * self.weight(i) * ball(i * i / (2 * self.variance)).hypgeom_u(half, half)

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
        g(i + h) = g(i) e^{−(i/σ²) h − h²/(2σ²)}.
        """
        exponent = [ball(0), ball(-i / self.variance), ball(-1 / (2 * self.variance))]
        series = arb_series(exponent, length).exp() * self.weight(i)
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
        The smaller of σ and σ²/i: on such a disc g grows by less than e².
        """
        variance = int(self.variance)
        return min(isqrt(variance), variance // max(i, 1))

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
        Re (x + δ)² ≥ x² − 2xρ − ρ² for |δ| ≤ ρ, so |g| ≤ e^{ρ²/σ²} e^{−(x−ρ)²/(2σ²)}, which has an integral.
        """
        return ball(radius * radius / self.variance).exp() * self.integral(i - radius)


def _theta(nome: Ball) -> Ball:
    """1 + 2 Σ_{k ≥ 1} q^{k²} for 0 ≤ q < 1/20: the terms from k on add up to less than 3 q^{k²}."""
    square = nome * nome
    total, power, step = ball(1), nome, square * nome  # q^{k²} and q^{2k+1}, for k = 1
    while not 3 * power <= ball(2) ** -ctx.prec:
        total += 2 * power
        power *= step
        step *= square
    return total + ball(0).union(3 * power)
