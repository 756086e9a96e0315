"""One statistical query: the mean over the rows of values in [0, 1], with noise on an exact lattice."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import REPLACE_ONE, Adjacency
from dither.errors import ParameterError
from dither.events import Event, Stated
from dither.exact import Number, check, once, rational
from dither.exact.certified import above, exactly_above, exactly_below, sqrt
from dither.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP
from dither.mechanisms import Gaussian, Laplace, Mechanism, Release
from dither.mechanisms.lattice_gaussian import dominating_mu_squared
from dither.mechanisms.released import Interval

__all__ = ["MOST_ROWS", "ROUNDING", "QueryMean", "clamped", "numerators", "within_unit"]

_ONE: Final = 1 << 30
"""Values are rounded to whole parts of this, so that their sum is an exact integer."""
MOST_ROWS: Final = 1 << 32
ROUNDING: Final = Fraction(1, 1 << 29)
"""More than all that is rounded: each value by 2^-31, the answer to a float, a step of the lattice (transfer.md)."""


def numerators(values: Any, rows: int) -> NDArray[np.int64]:
    """The values in whole parts of 2^-30; or `ParameterError`, if they are not `rows` numbers between 0 and 1."""
    array = _numbers(values, rows)
    if not ((array >= 0) & (array <= 1)).all():  # NaN fails both
        raise ParameterError("a query must give values between 0 and 1 on every row. Clip or rescale them first.")
    return _parts_of(array)


def clamped(values: Any, rows: int) -> NDArray[np.int64]:
    """The same for any numbers: what is not above 0 (NaN is not) becomes 0, what is above 1 becomes 1."""
    array = _numbers(values, rows)
    return _parts_of(np.where(array > 0, np.minimum(array, 1), 0))


def _parts_of(array: NDArray[np.float64]) -> NDArray[np.int64]:
    parts: NDArray[np.int64] = np.rint(array * _ONE).astype(np.int64)
    return parts


def _numbers(values: Any, rows: int) -> NDArray[np.float64]:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ParameterError(
            "a query must give truth values, integers or floats of at most 64 bits. Convert them first."
        )
    if array.shape != (rows,):
        raise ParameterError(f"a query must give one value for each of the {rows} rows, in an array of one dimension.")
    return array.astype(np.float64)


@dataclass(frozen=True)
class QueryMean(Mechanism):
    """The mean of `rows` values in [0, 1], with `noise` on their sum in parts of 2^-30; cut to [0, 1] when it is shown.

    Replacing one row moves the sum by at most 2^30 parts, which is the sensitivity that the noise is made for. Without
    noise the mean is exact, and the guarantee says that nothing is hidden: δ = 1.

    `error` and `interval` are about the mean over the sample. What is known about the population is stated by the
    `Answer` of an oracle.

    >>> QueryMean.gaussian(1000, sigma="0.01").guarantee.tv()  # claim C22: 2Φ(1/(2·1000·0.01)) − 1
    0.03987...
    """

    rows: int
    noise: Gaussian | Laplace | None
    adjacency: Adjacency = REPLACE_ONE

    def __post_init__(self) -> None:
        _parts(self.rows)
        squared = isinstance(self.noise, Gaussian)
        made_for = getattr(self.noise, "sensitivity_squared" if squared else "sensitivity", None)
        if self.noise is not None and made_for != _ONE ** (2 if squared else 1):
            raise ParameterError("noise must be made for a sensitivity of 2^30. Use QueryMean.gaussian or .laplace.")

    @classmethod
    def gaussian(cls, rows: int, sigma: Number) -> Self:
        """Noise of standard deviation `sigma` on the mean."""
        parts = rational(sigma, "sigma") * _parts(rows)
        return cls(int(rows), Gaussian(sensitivity=_ONE, sigma=parts, adjacency=REPLACE_ONE))

    @classmethod
    def laplace(cls, rows: int, scale: Number) -> Self:
        """Noise of density ∝ e^{−|x|/scale} on the mean."""
        parts = rational(scale, "scale") * _parts(rows)
        return cls(int(rows), Laplace(sensitivity=_ONE, scale=parts, adjacency=REPLACE_ONE))

    @classmethod
    def exact(cls, rows: int) -> Self:
        """No noise."""
        _parts(rows)
        return cls(int(rows), None)

    @once
    def scale(self) -> Fraction:
        """σ or b of the noise on the mean, rounded up; 0 without noise."""
        if self.noise is None:
            return Fraction(0)
        if isinstance(self.noise, Laplace):
            return self.noise.scale / _parts(self.rows)
        return Fraction(above(lambda: sqrt(self.noise.variance))) / _parts(self.rows)  # type: ignore[union-attr]

    @once
    def guarantee(self) -> Guarantee:
        """What one answer costs."""
        if self.noise is None:
            return ApproxDP(0, 1, adjacency=self.adjacency)
        assert self.noise.for_integers is not None
        return self.noise.for_integers.guarantee

    @once
    def event(self) -> Event:
        """Integer noise on an integer sum."""
        return (
            Stated("ApproxDP", (Fraction(0), Fraction(1)), self.adjacency)
            if self.noise is None
            else self.noise.event_for(0)
        )

    def composed(self, times: int) -> GaussianDP | PureDP | ApproxDP:
        """What `times` answers cost, to questions that may depend on the answers before; never less than the truth.

        Gaussian noise on the lattice is dominated by continuous noise (mechanisms/lattice_gaussian.md), whose μ² add up
        under adaptive composition (Dong, Roth and Su 2022, Corollary 3.3); so do the ε of Laplace noise (claim C3).
        """
        if self.noise is None:
            return ApproxDP(0, int(times > 0), adjacency=self.adjacency)
        if isinstance(self.noise, Laplace):
            return PureDP(times * Fraction(_ONE) / self.noise.scale, adjacency=self.adjacency)
        squared = dominating_mu_squared(self.noise.variance, Fraction(_ONE) ** 2, 1)
        if squared is None:
            raise ParameterError("sigma must be far above 2^-30 of a row: the lattice is too coarse for less noise.")
        return GaussianDP.from_square(times * squared, adjacency=self.adjacency)

    def release(self, value: Any) -> Release:
        """The mean of an array of `rows` values with noise, as a float between 0 and 1."""
        return Release(self.shown(self.drawn(numerators(value, self.rows))), self.event, self.guarantee, self)

    def drawn(self, parts: NDArray[np.int64]) -> Fraction:
        """The mean of checked values with noise; it may lie outside [0, 1]."""
        total = int(parts.sum())
        noisy = total if self.noise is None else self.noise.release(total).value
        return Fraction(noisy, _parts(self.rows))

    @staticmethod
    def shown(mean: Fraction) -> float:
        """Cut to [0, 1], where every mean lies, and rounded to a float."""
        return float(min(max(mean, Fraction(0)), Fraction(1)))

    @property
    def expected_error(self) -> float:
        """E|answer − mean over the sample|, rounded up; cutting to [0, 1] makes it smaller."""
        noise = Fraction(0) if self.noise is None else Fraction(self.noise.expected_error_of(self.noise.for_integers))  # type: ignore[arg-type]
        return exactly_above(noise / _parts(self.rows) + ROUNDING)

    def _error(self, beta: Fraction) -> float:
        return exactly_above(self._reach(beta))

    def _reach(self, miss: Fraction) -> Fraction:
        if self.noise is None:
            return ROUNDING
        assert self.noise.for_integers is not None
        return self.noise.for_integers.reach(miss) / _parts(self.rows) + ROUNDING

    def _interval(self, value: float, level: Fraction) -> Interval:
        return within_unit(Fraction(value), self._reach(1 - level))


def within_unit(middle: Fraction, reach: Fraction) -> tuple[float, float]:
    """middle ± reach, rounded outwards, as far as it lies in [0, 1]."""
    return max(0.0, exactly_below(middle - reach)), min(1.0, exactly_above(middle + reach))


def _parts(rows: int) -> int:
    """The parts of all rows together."""
    check.count(rows=rows)
    if rows > MOST_ROWS:
        raise ParameterError(f"rows must be at most 2^32, got rows={rows}.")
    return int(rows) * _ONE
