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

**From below** an example: all others have the input x′, and each report is only seen through a test A, with p = R(x)(A)
and q = R(x′)(A), p > q. How many pass is Bin(n − 1, q) and one more coin, of p or of q; with B the law Bin(n − 1, q)
and t = B(a−1)/B(a) = a(1 − q)/((n − a)q), which grows with a, the loss ln (pt + 1 − p)/(qt + 1 − q) grows as well. A
smaller p or a larger q only loses.

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
from dither.pairs.bounded import BoundedPair, nothing_known, on_fewer
from dither.pairs.pair import POSITION_ERROR, PROFILE_BITS, FloatArray, Pair, Tails

__all__ = ["ShuffledPair", "best_half"]

_RUNS = 512
_MOST_ENTRIES = 1 << 24  # of all tables: what they may take of memory, and long ones need few runs
_MOST_LOSSES = 1 << 14
_DEVIATIONS = 28.0  # how many a table holds, both sides together: e^{−14²/2} < 1e-42
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
    test: tuple[Fraction, Fraction] | None = None
    """p and q of a test on one report of two inputs that differ, for the example from below."""

    def __post_init__(self) -> None:
        check.positive(loss=self.loss)
        check.count(reports=self.reports)
        if not self.loss <= _LARGEST_LOSS:
            raise ParameterError(f"loss of one report must be at most {_LARGEST_LOSS}, got {float(self.loss):.3g}.")
        if not self.reports <= _MOST_REPORTS:
            raise ParameterError(f"reports must be at most {_MOST_REPORTS}, got {self.reports}.")
        if self.blanket is not None and not 0 < self.blanket <= 1:
            raise ParameterError(f"blanket must be in (0, 1], got {self.blanket}.")
        if self.test is not None and not 0 < self.test[1] < self.test[0] < 1:
            raise ParameterError(f"a test must have 0 < q < p < 1, got p, q = {self.test}.")

    @once
    def _odds(self) -> float:
        """e."""
        return math.exp(self.loss)

    @once
    def _mixed(self) -> _Runs:
        """The laws from above."""
        share = math.exp(-self.loss) if self.blanket is None else float(self.blanket)
        if share == 1:
            first, weights = self.reports - 1, np.ones(1)
        else:
            # 1/(e − 1) keeps its digits where e is near 1; an ulp of the share is one of its odds, times 1/(1 − share).
            odds = 1 / math.expm1(self.loss) if self.blanket is None else float(self.blanket / (1 - self.blanket))
            first, weights = law(self.reports - 1, odds, _LEAST)
        longest = _DEVIATIONS * math.sqrt(first + len(weights)) / 2 + 2 * _DEVIATIONS**2
        runs = max(min(_RUNS, int(_MOST_ENTRIES / longest), len(weights)), 1)
        edges = np.unique(np.linspace(0, len(weights), runs + 1).astype(np.int64))
        shares = np.add.reduceat(weights, edges[:-1])
        # An ulp of a loss above 8 is more than one of its odds.
        error = LAW_ERROR * (len(weights) + 64) * max(1.0, float(self.loss) / 8)
        return self._runs(np.append(first + edges[:-1], 0), np.append(shares, 2 * _LEAST), error)

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

    def tails(self, losses: FloatArray) -> Tails:
        """Of the example: what lies beyond its table counts for Q, not for P."""
        if self.test is None:
            return nothing_known(losses)
        p, q = map(float, self.test)
        first, table = self._passed
        u = np.exp(np.clip(losses, -float(self.loss) - 1, float(self.loss) + 1))
        # pt + 1 − p = u(qt + 1 − q) at t, and a = tnq/(1 − q + tq): whichever way it is rounded, it is a test.
        above, below = u * (1 - q) - (1 - p), p - u * q
        with np.errstate(divide="ignore", invalid="ignore"):
            place = self.reports * q * above / ((1 - q) * below + q * above)
        place = np.where(below <= 0, math.inf, np.where(above <= 0, -1.0, place))
        k = np.floor(np.clip(place, -1.0, self.reports)).astype(np.int64) + 1 - first
        here, before = (np.where(at < 0, 1.0, table[np.clip(at, 0, len(table) - 1)]) for at in (k, k - 1))
        found = p * before + (1 - p) * here
        scaled = np.exp(np.minimum(losses, self.support[1])) * (q * before + (1 - q) * here + _LEAST)
        is_none = (below <= 0) | (losses >= self.support[1])
        found, scaled = np.where(is_none, 0.0, found), np.where(is_none, 0.0, scaled)
        error = LAW_ERROR * (2 * len(table) + 64) + POSITION_ERROR * (16 + np.abs(losses))
        return Tails(found, np.minimum(scaled, found), error)

    @once
    def _passed(self) -> tuple[int, FloatArray]:
        """P[Bin(n − 1, q) ≥ k] from where it begins on, with a 0 at the end."""
        assert self.test is not None
        q = self.test[1]
        first, weights = law(self.reports - 1, float(q / (1 - q)), _BEYOND)
        return first, np.append(np.cumsum(weights[::-1])[::-1], 0.0)

    def dots(self, losses: FloatArray) -> FloatArray:
        """From above: what lies beyond the tables counts for P, and is less than what is added here."""
        return on_fewer(losses, _MOST_LOSSES, self._dots)

    def _dots(self, losses: FloatArray) -> FloatArray:
        p, q = self._masses(self._mixed, losses)
        below = losses < -float(self.loss)
        scaled = np.where(below, np.exp(np.minimum(losses, 0.0)), np.exp(np.minimum(losses, self.support[1])) * q)
        p = np.where(below, 1.0, p)
        error = self._mixed.error + POSITION_ERROR * (32 + 8 * self._odds / min(1.0, float(self.loss)))
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


def best_half(report: Pair) -> tuple[Fraction, Fraction] | None:
    """p, rounded down, and q, rounded up, of the test {L > 0} on one report; None if it tells nothing."""
    tails = report.tails(np.zeros(1))
    error = float(np.broadcast_to(tails.error, 1)[0])
    p, q = Fraction(float(tails.p[0]) * (1 - error)), Fraction(float(tails.scaled_q[0]) * (1 + error))
    return (p, q) if 0 < q < p < 1 else None


NDArrayInt = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """Counts c with their weights; row by row P[Bin(c, ½) ≥ k] from k = first on; the relative error of sums."""

    counts: NDArrayInt
    shares: FloatArray
    firsts: NDArrayInt
    tables: FloatArray
    error: float
