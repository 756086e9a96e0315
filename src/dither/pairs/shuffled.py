"""Many reports, each randomized by whom it is about, and shuffled before anyone sees them.

**The pair.** A randomizer R that is ε₀-DP has laws Q₀, Q₁ with R(x) = (eQ₀ + Q₁)/(e + 1) and R(x′) = (Q₀ + eQ₁)/(e +
1), e = e^{ε₀} (Kairouz, Oh and Viswanath 2015). So Q₀ + Q₁ = R(x) + R(x′), and any other R(y) ≥ max(R(x), R(x′))/e is
at least (Q₀ + Q₁)/2e: it is Q₀ or Q₁, each with probability β/2, and something else otherwise, where β = 1/e.
(`blanket` is a larger β where one is known: 2/(e + 1) for randomized response, whose R(y) ≥ (Q₀ + Q₁)/(e + 1).) The
shuffled reports are then a function of how many came from Q₀ and how many from Q₁, and of what does not depend on the
record that differs. With C ~ Bin(n − 1, β) others among them, A ~ Bin(C, ½) and D ~ Bernoulli(e/(e + 1)), the counts
are

    P: (A + D, C − A + 1 − D)    against    Q: (A + 1 − D, C − A + D)

(Feldman, McMillan and Talwar 2023, Theorem 3.1). The same holds if each randomizer is chosen after the reports before
it.

**Given C = c**, with B the law Bin(c, ½), P(a) = (e·B(a−1) + B(a))/(e + 1) and Q(a) = (B(a−1) + e·B(a))/(e + 1). As
B(a−1)/B(a) = a/(c + 1 − a) = t, the loss ln (et + 1)/(t + e) grows with a. The tests {a ≥ k} are the best ones.

**Many at once.** One more coin is a function of the counts, so (P_c, Q_c) dominates (P_{c+1}, Q_{c+1}). A run of
values of c is replaced by its first one from above, and by its last one from below; what is left out on the left by c
= 0 from above.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import ball, check, once, precision, upper
from dither.exact.binomial import LAW_ERROR, law
from dither.pairs.bounded import BoundedPair
from dither.pairs.pair import POSITION_ERROR, PROFILE_BITS, FloatArray, Tails

__all__ = ["ShuffledPair"]

_RUNS = 512
_LEAST = 1e-40
_BEYOND = 1e-43  # of each table
_AT_ONCE = 1 << 18
_LARGEST_LOSS = 20
_MOST_REPORTS = 10**12


@dataclass(frozen=True)
class ShuffledPair(BoundedPair):
    """n = `reports` shuffled reports of a randomizer that is ε₀-DP, ε₀ = `loss`; neighbours replace one record.

    >>> ShuffledPair(Fraction(1), 1000).delta_bracket(Fraction(1, 4))[1] < 1e-5
    True
    """

    loss: Fraction
    reports: int
    blanket: Fraction | None = None

    def __post_init__(self) -> None:
        check.positive(loss=self.loss)
        check.count(reports=self.reports)
        if not self.loss <= _LARGEST_LOSS:
            raise ParameterError(f"loss of one report must be at most {_LARGEST_LOSS}, got {float(self.loss):.3g}.")
        if not self.reports <= _MOST_REPORTS:
            raise ParameterError(f"reports must be at most {_MOST_REPORTS}, got {self.reports}.")
        if self.blanket is not None and not 0 < self.blanket <= 1:
            raise ParameterError(f"blanket must be in (0, 1], got {self.blanket}.")

    @once
    def _odds(self) -> float:
        """e."""
        return math.exp(self.loss)

    @once
    def _mixed(self) -> tuple[_Runs, _Runs]:
        """The laws from above and from below."""
        share = math.exp(-self.loss) if self.blanket is None else float(self.blanket)
        if share == 1:
            first, weights = self.reports - 1, np.ones(1)
        else:
            # 1/(e − 1) keeps its digits where e is near 1; an ulp of the share is one of its odds, times 1/(1 − share).
            odds = 1 / math.expm1(self.loss) if self.blanket is None else float(self.blanket / (1 - self.blanket))
            first, weights = law(self.reports - 1, odds, _LEAST)
        edges = np.unique(np.linspace(0, len(weights), min(_RUNS, len(weights)) + 1).astype(np.int64))
        shares = np.add.reduceat(weights, edges[:-1])
        # An ulp of a loss above 8 is more than one of its odds.
        error = LAW_ERROR * (len(weights) + 64) * max(1.0, float(self.loss) / 8)
        starts, ends = first + edges[:-1], first + edges[1:] - 1
        above = (np.append(starts, 0), np.append(shares * (1 + error), 2 * _LEAST))
        return self._runs(*above, error), self._runs(ends, shares * (1 - error), error)

    def _runs(self, counts: NDArrayInt, shares: FloatArray, error: float) -> _Runs:
        """Tables of P[B ≥ k] for each count: from where they begin, so many, padded with zeros."""
        firsts, tables = [], []
        for count in counts.tolist():
            first, weights = law(count, 1.0, _BEYOND)
            firsts.append(first)
            tables.append(np.cumsum(weights[::-1])[::-1])
        longest = max(map(len, tables))
        padded = np.zeros((len(tables), longest + 1))
        for row, table in zip(padded, tables, strict=True):
            row[: len(table)] = table
        return _Runs(counts, shares, np.array(firsts), padded, error + 2 * LAW_ERROR * longest)

    def _masses(self, runs: _Runs, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """P and Q of {L > ℓ}; {a ≥ k} for k where the loss is ℓ, whichever way it is rounded."""
        e, u = self._odds, np.exp(np.clip(losses, -float(self.loss), float(self.loss)))
        # et + 1 = u(t + e) at t = a/(c + 1 − a): a/(c + 1) = (eu − 1)/((e − 1)(u + 1)).
        place = (e * u - 1) / ((e - 1) * (u + 1))
        p, q = np.zeros(len(losses)), np.zeros(len(losses))
        size = max(_AT_ONCE // max(len(losses), 1), 1)
        for at in range(0, len(runs.counts), size):
            part = slice(at, at + size)
            counts, firsts, tables = runs.counts[part, None], runs.firsts[part, None], runs.tables[part]
            k = np.floor(place * (counts + 1)).astype(np.int64) + 1 - firsts
            last = tables.shape[1] - 1
            here, before = (np.take_along_axis(tables, np.clip(each, 0, last), axis=1) for each in (k, k - 1))
            here, before = np.where(k < 0, 1.0, here), np.where(k < 1, 1.0, before)
            p += runs.shares[part] @ ((e * before + here) / (e + 1))
            q += runs.shares[part] @ ((before + e * here) / (e + 1))
        return p, q

    def _tails(self, runs: _Runs, losses: FloatArray) -> Tails:
        p, q = self._masses(runs, losses)
        below = losses < -float(self.loss)
        scaled = np.where(below, np.exp(np.minimum(losses, 0.0)), np.exp(np.minimum(losses, self.support[1])) * q)
        above = losses >= self.support[1]
        p, scaled = np.where(above, 0.0, np.where(below, 1.0, p)), np.where(above, 0.0, scaled)
        return Tails(p, scaled, runs.error + POSITION_ERROR * (32 + 8 * self._odds / min(1.0, float(self.loss))))

    def tails(self, losses: FloatArray) -> Tails:
        """From below: what lies beyond the tables counts for Q, not for P."""
        p, scaled, error = self._tails(self._mixed[1], losses)
        return Tails(p, np.minimum(scaled + _LEAST, p), error)

    def dots(self, losses: FloatArray) -> FloatArray:
        """From above: it counts for P, and is less than what is added here."""
        p, scaled, error = self._tails(self._mixed[0], losses)
        slack = error + POSITION_ERROR * (1 + np.abs(losses))
        dots: FloatArray = np.maximum((p - scaled) + slack * (p + scaled), 0.0)
        return np.where(losses >= self.support[1], 0.0, np.minimum(dots + _LEAST, 1.0))

    @property
    def largest_loss(self) -> Fraction:
        return self.loss

    @property
    def support(self) -> tuple[float, float]:
        return self._support

    @once
    def _support(self) -> tuple[float, float]:
        with precision(PROFILE_BITS):
            largest = upper(ball(self.loss))
            return -largest, largest

    def swapped(self) -> ShuffledPair:
        return self


NDArrayInt = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Counts c with their weights; row by row P[Bin(c, ½) ≥ k] from k = first on; the relative error of sums."""

    counts: NDArrayInt
    shares: FloatArray
    firsts: NDArrayInt
    tables: FloatArray
    error: float
