"""How far sums of Laplace noise reach: c·Y for the rows c of a matrix, Y independent and of scale 1.

P[|c·Y| > t] ≤ 2e^{K(θ) − θt}/max(1, θσ) for every 0 < θ < 1/max|c_i|, with K(θ) = −Σ ln(1 − θ²c_i²) and σ² = K″(θ):
Chernoff's bound, with the factor that it leaves out for log-concave laws. Noise on the lattice has half the factor.
matrix.md has the proofs. In floats: whoever uses it rounds outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy

from dither.exact.search import farthest
from dither.workloads.strategies.strategy import Floats, Strategy

__all__ = ["LaplaceSums", "from_lengths", "from_rows", "sums_of"]

_TILTS = tuple(np.geomspace(0.02, 0.98, 40))
"""θ·max|c_i|."""
_HALVINGS = 16
_NOTHING = 1e-100
"""Less than any entry of a row that has one."""


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceSums:
    """θ, ln 2 + K(θ) and θσ, for each tilt and row."""

    tilts: Floats
    growths: Floats
    spreads: Floats

    def reaches(self, miss: Fraction, factor: float) -> Floats:
        """Of each row: t with P[|c·Y| > t] ≤ `miss`, from max(1, `factor`·θσ)."""
        safety = math.log(miss.denominator) - math.log(miss.numerator)
        found: Floats = np.maximum((self._logs(factor) + safety) / self.tilts, 0).min(axis=0)
        return found

    def reach_of_all(self, miss: Fraction, factor: float) -> float:
        """t with Σ P[|c·Y| > t] ≤ `miss`: rows with less noise hardly count.

        So it is at the upper end, where no row exceeds its share of `miss`; halving keeps that.
        """
        logs, wanted = self._logs(factor), math.log(miss.numerator) - math.log(miss.denominator)
        rows = logs.shape[1]
        low, high = (float(self.reaches(part, factor).max()) for part in (miss, miss / rows))

        def is_enough(reach: float) -> bool:
            tails = np.minimum((logs - self.tilts * reach).min(axis=0), 0)
            return bool(scipy.special.logsumexp(tails) <= wanted)

        return farthest(is_enough, high, low, _HALVINGS)

    def _logs(self, factor: float) -> Floats:
        found: Floats = self.growths - np.log(np.maximum(1, factor * self.spreads))
        return found


@lru_cache(maxsize=16)
def sums_of(strategy: Strategy) -> LaplaceSums:
    """The rows of C, in units of the strategy; where C is too large to write, what peaks and lengths say of them."""
    rule = strategy.rule()
    return from_lengths(strategy.row_squares(), strategy.row_peaks()) if rule is None else from_rows(rule)


def from_rows(rows: Floats) -> LaplaceSums:
    """σ² = Σ 2c²(1 + θ²c²)/(1 − θ²c²)².

    >>> alone, two = from_rows(np.array([[1.0, 0.0], [1.0, 1.0]])).reaches(Fraction(1, 10**4), 1)
    >>> round(float(alone), 1), round(math.log(10**4), 1)  # the bound, and the truth
    (9.4, 9.2)
    """
    squares = rows**2
    peaks = _peaks(np.abs(rows).max(axis=1))
    shares = squares / peaks[:, None] ** 2
    growths, variances = [], []
    for tilt in _TILTS:
        parts = tilt**2 * shares
        growths.append(-np.log1p(-parts).sum(axis=1))
        variances.append((2 * squares * (1 + parts) / (1 - parts) ** 2).sum(axis=1))
    return _sums(peaks, growths, variances)


def from_lengths(squares: Floats, peaks: Floats) -> LaplaceSums:
    """From ‖c‖² and p ≥ |c_i| alone: K ≤ −(‖c‖²/p²) ln(1 − θ²p²) and σ² ≥ 2‖c‖²."""
    peaks = _peaks(peaks)
    growths = [-(squares / peaks**2) * math.log1p(-(tilt**2)) for tilt in _TILTS]
    return _sums(peaks, growths, [2 * squares] * len(_TILTS))


def _sums(peaks: Floats, growths: list[Floats], variances: list[Floats]) -> LaplaceSums:
    tilts = np.array(_TILTS)[:, None] / peaks
    return LaplaceSums(tilts, math.log(2) + np.array(growths), tilts * np.sqrt(variances))


def _peaks(found: Floats) -> Floats:
    peaks: Floats = np.maximum(found, _NOTHING)
    return peaks
