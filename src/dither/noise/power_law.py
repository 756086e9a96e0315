"""Heavy-tailed noise on the integers, whose probabilities fall like a power of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, Number, once, precision, rational, set_fields
from dither.exact.powers import PowerDecay, PowerLawDecay
from dither.exact.sums import tail_sum
from dither.noise.blocks import Floats
from dither.noise.law import WORKING_BITS, lattice_scale
from dither.noise.rejection import TwoSidedLaw

__all__ = ["PowerDecayLaw", "PowerLaw", "tail_exponent", "whole_power"]

_LEAST_EXCESS = Fraction(1, 100)  # of the tail's exponent over 1; less would put most of the law beyond 2^1000
_LARGEST_EXPONENT = 10**6


def tail_exponent(value: Number, name: str, least: int) -> Fraction:
    """A parameter on which the tail's exponent rests: clearly above `least`, where the law ceases to exist."""
    exponent = rational(value, name)
    if not exponent > least:
        raise ParameterError(f"{name} must be greater than {least}, got {name}={exponent}. There is no such law.")
    if not least + _LEAST_EXCESS <= exponent <= _LARGEST_EXPONENT:
        raise ParameterError(
            f"{name} must lie between {least}.01 and {_LARGEST_EXPONENT}, got {name}={exponent}. "
            "Nearer to the limit, draws would have thousands of digits."
        )
    return exponent


class PowerDecayLaw(PowerDecay, TwoSidedLaw):
    """A law P[X = x] ∝ g(|x|), g(i) = (1 + (i/c)^α)^{−β} with αβ > 1; the letters are those of power_law.md."""

    def _upper_tail(self, x: int) -> Ball:
        """P[X > x] for x ≥ 0."""
        return tail_sum(self, x + 1) / self._whole()

    def _whole(self) -> Ball:
        """Σ g(|x|) over all integers."""
        return 1 + 2 * tail_sum(self, 1)

    # ---------------------------------------------------------------- sampling

    def ratio(self, near: Floats, offset: Floats) -> Floats | None:
        """Compute g(near + offset) / g(near) in double precision.

        Parameters
        ----------
        near : float or array
            A distance, rounded to double.
        offset : float or array
            What is added to it, rounded to double.

        Returns
        -------
        float or array or None
            The ratio, with an error below 2^-44 where it is at least ½; None if that is not proved for these
            parameters.

        Notes
        -----
        It is ((m^{−α} + (u/m)^α) / (m^{−α} + (v/m)^α))^β, u = near/c, v = (near + offset)/c, m = max(1, u). Only for
        whole α and 2β that are not too large: noise/power_law.md counts the roundings.
        """
        if self._whole_exponents is None:
            return None
        alpha, twice_beta = self._whole_exponents
        u, v = near * self._inverse_core, (near + offset) * self._inverse_core
        m: Floats = _at_least_one(u)
        floor = whole_power(1 / m, alpha)
        quotient: Floats = (floor + whole_power(u / m, alpha)) / (floor + whole_power(v / m, alpha))
        if twice_beta % 2 == 0:
            return whole_power(quotient, twice_beta // 2)
        root: Floats = _root(quotient)
        return whole_power(root, twice_beta)

    @once
    def _whole_exponents(self) -> tuple[int, int] | None:
        """α and 2β, if they are whole and `ratio` makes fewer than 2^9 roundings with them."""
        roundings = (13 * self._alpha + 5) * self._beta
        if self._alpha.denominator > 1 or self._beta.denominator > 2 or roundings > 500:
            return None
        return int(self._alpha), int(2 * self._beta)

    @once
    def _inverse_core(self) -> float:
        """1/c, with the rounding to double as its only error that counts."""
        with precision(WORKING_BITS):
            return float(1 / self._core())


def whole_power(x: Floats, exponent: int) -> Floats:
    """x^exponent by exponent − 1 multiplications or fewer, for exponent ≥ 1."""
    if exponent == 1:
        return x
    root = whole_power(x * x, exponent // 2)
    return root * x if exponent % 2 else root


def _at_least_one(x: Any) -> Any:
    return max(x, 1.0) if isinstance(x, float) else np.maximum(x, 1.0)


def _root(x: Any) -> Any:
    return sqrt(x) if isinstance(x, float) else np.sqrt(x)


@dataclass(frozen=True, init=False)
class PowerLaw(PowerLawDecay, PowerDecayLaw):
    """Heavy-tailed noise on the integers: P[X = x] ∝ 1/(1 + |x/s|^γ).

    Parameters
    ----------
    scale : Number
        s, in lattice steps, between 2^-200 and 2^900.
    gamma : Number
        γ, from 1.01 to 10^6. There is a mean for γ > 2 and a variance for γ > 3.

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Notes
    -----
    Noise for smooth sensitivity with pure privacy (claim C19; Nissim, Raskhodnikova and Smith 2007). Sampled exactly:
    noise/power_law.md and noise/rejection.md have the proof.

    Examples
    --------
    >>> PowerLaw(10, 4).quantile(0.975)
    18
    """

    scale: Fraction
    gamma: Fraction

    def __init__(self, scale: Number, gamma: Number) -> None:
        set_fields(self, scale=lattice_scale(scale), gamma=tail_exponent(gamma, "gamma", least=1))
