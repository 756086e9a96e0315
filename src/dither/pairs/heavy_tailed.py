"""Pairs of integer noise whose probabilities fall like a power: the noise that smooth sensitivity asks for.

P[X = x] ∝ g(|x|), g(i) = (1 + (i/c)^α)^{−β}, α > 1, against its shift by a whole number Δ. Seen from y = −x, P has the
weight g(|y|) and Q has g(|y + Δ|), and with h = −ln g the loss is L(y) = h(|y + Δ|) − h(|y|).

* *Mirror.* L(−Δ − y) = −L(y), and the pair is symmetric: δ(−ε) = 1 − e^{−ε} + e^{−ε}δ(ε). So let ε ≥ 0 and y ≥ −Δ/2.
* *One peak.* h′(y) = αβ y^{α−1}/(c^α + y^α) is 0 at 0, rises up to y* = c(α − 1)^{1/α} and falls after it. On [−Δ/2, 0]
  the loss h(y + Δ) − h(−y) rises. On [0, ∞) its slope D = h′(y + Δ) − h′(y) is positive while y + Δ ≤ y*, falls until
  y ≥ y*, and is negative from there on: L rises, then falls towards 0. So {L > ε} is one run of integers for ε ≥ 0.
* *Smaller changes.* For ε ≥ 0 only y > −Δ/2 adds to δ(ε) = Σ (g(|y|) − e^ε g(|y + Δ|))₊/Σ g, and there g(|y + Δ|) falls
  as Δ grows: a change of Δ dominates every smaller one.

Both ends of the run are found by halving. Every comparison is between balls. An integer whose loss cannot be
distinguished from ε is left out of the run and adds between 0 and P[y]·(1 − e^{ε−L}) to δ(ε): the ball that is returned
contains both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy
from flint import ctx

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, once, precision
from dither.exact.powers import PowerDecay, PowerLawDecay, StudentTDecay
from dither.exact.search import first_integer
from dither.exact.sums import tail_sum
from dither.pairs.pair import POSITION_ERROR, FloatArray, Mirrored, Tails

__all__ = ["BETAINC_ERROR", "HeavyTailedPair", "PowerLawPair", "StudentTPair"]

BETAINC_ERROR = 2.0**-45
"""Assumed error of scipy's incomplete beta functions, relative to 1 + αβ; the tests measure it against balls."""

_SMALLEST_LOSS = Ball(2) ** -1100
_FEW = 16
_MOST_KEPT = 1 << 16
_LONGEST_TABLE = 1 << 20
_SMOOTH = 4500
_KNOTS = 2048
_FARTHEST = 1e300


class HeavyTailedPair(PowerDecay, Mirrored):
    """P[X = x] ∝ g(|x|) on ℤ against its shift by Δ = `sensitivity`; subclasses say g."""

    sensitivity: int

    # ------------------------------------------------------------------- balls

    def profile(self, epsilon: Ball) -> Ball:
        if epsilon > _SMALLEST_LOSS:
            return self._positive(epsilon)
        if epsilon < -_SMALLEST_LOSS:
            return -epsilon.expm1() + epsilon.exp() * self._positive(-epsilon)
        # |δ′| ≤ 1 around 0, where δ is the total variation distance P[−Δ/2 ≤ X < Δ/2].
        half = self.sensitivity // 2
        distance = self._mass(-half, self.sensitivity - half - 1) / self._whole()
        return distance + Ball(0, epsilon.abs_upper().expm1().upper())

    def _positive(self, epsilon: Ball) -> Ball:
        """δ(ε) for ε > 0: the run of integers whose losses surely exceed ε, and what the undecided ones may add."""
        first, (before, after) = -(self.sensitivity // 2), _peak(self, ctx.prec)
        start = first_integer(lambda y: not self.loss(y) <= epsilon, first, before + 1)
        sure = first_integer(lambda y: self.loss(y) > epsilon, start, before + 1)
        far = after + 1
        while not self.loss(far) <= epsilon:
            far *= 2
        end = first_integer(lambda y: not self.loss(y) > epsilon, after, far)
        last = first_integer(lambda y: self.loss(y) <= epsilon, end, far)
        runs, undecided = [(sure, end - 1)], []
        if start < sure:
            undecided.append((start, sure - 1, self.loss(sure - 1)))
        if end < last:
            undecided.append((end, last - 1, self.loss(end)))
        if before + 1 < after and not self._log_ratio(before + 1, after - 1) > epsilon:
            # The top is too flat to see where it is, and too near to ε.
            runs = [(sure, before), (after, end - 1)]
            undecided.append((before + 1, after - 1, self._log_ratio(after - 1, before + 1)))
        total, odds = Ball(0), epsilon.exp()
        for low, high in runs:
            total += self._mass(low, high) - odds * self._mass(low + self.sensitivity, high + self.sensitivity)
        for low, high, largest in undecided:
            excess = -(epsilon - largest).expm1()
            total += Ball(0).union((self._mass(low, high) * excess.max(Ball(0))).upper())
        return (total / self._whole()).max(Ball(0))

    def loss(self, y: int) -> Ball:
        """L(y) for y ≥ −Δ/2."""
        return self._log_ratio(abs(y), abs(y), self.sensitivity + y - abs(y))

    def _log_ratio(self, inner: int, outer: int, gap: int | None = None) -> Ball:
        """h(i + gap) − h(i) = β ln(1 + v·((1 + gap/i)^α − 1)), v = (i/c)^α/(1 + (i/c)^α): nothing cancels.

        v is taken at `inner` and the rest at `outer`. v rises with i and the rest falls, so for inner > outer this
        bounds L(i) from above for all i between, and for inner < outer from below.
        """
        gap = self.sensitivity if gap is None else gap
        if not outer:
            return ball(self._beta) * self._power(gap).log1p()
        power = self._power(inner)
        growth = (ball(self._alpha) * ball(Fraction(gap, outer)).log1p()).expm1()
        return ball(self._beta) * (power / (1 + power) * growth).log1p()

    def _rises(self, y: int) -> Ball:
        """Something of the sign of D at y ≥ 1: (1 − (1 + Δ/y)^{1−α})·y/Δ − (y/c)^α, D over positive factors."""
        slope = -(ball(1 - self._alpha) * ball(Fraction(self.sensitivity, y)).log1p()).expm1()
        return slope * ball(Fraction(y, self.sensitivity)) - self._power(y)

    def _mass(self, low: int, high: int) -> Ball:
        """Σ g(|y|) for low ≤ y ≤ high."""
        if high - low < _FEW:
            return sum((self.weight(abs(y)) for y in range(low, high + 1)), Ball(0))
        return self._from(low) - self._from(high + 1)

    def _from(self, y: int) -> Ball:
        """Σ g(|i|) over all i ≥ y."""
        return self._tail(y) if y > 0 else self._whole() - self._tail(1 - y)

    def _whole(self) -> Ball:
        return 1 + 2 * self._tail(1)

    def _tail(self, n: int) -> Ball:
        """Σ_{i ≥ n} g(i) for n ≥ 1; where Euler and Maclaurin would need many single terms, from a table."""
        kept = _kept_sums(self, ctx.prec)
        return kept[n] if n < len(kept) else tail_sum(self, n)

    # ------------------------------------------------------------------ floats

    def tails(self, losses: FloatArray) -> Tails:
        """Those of |ℓ|, mirrored for ℓ < 0: P[L > −t] = 1 − Q[L ≥ t] and Q[L > −t] = 1 − P[L ≥ t]."""
        size = np.abs(losses)
        is_below = losses < 0
        start, end = self._run(np.minimum(size, self.support[1]))
        (p, p_error), (q, q_error) = (
            self._share(start, end),
            self._share(start + self.sensitivity, end + self.sensitivity),
        )
        none = size >= self.support[1]
        p, p_error, q, q_error = (np.where(none, 0.0, x) for x in (p, p_error, q, q_error))
        p, q = np.where(is_below, 1 - q, p), np.where(is_below, 1 - p, q)
        p_error, q_error = np.where(is_below, q_error, p_error), np.where(is_below, p_error, q_error)
        # What is smaller than its own error is replaced by that error, which is then wrong by at most itself.
        p, q = np.maximum(p, p_error), np.maximum(q, q_error)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.maximum(np.where(p > 0, p_error / p, 0.0), np.where(q > 0, q_error / q, 0.0))
        position = POSITION_ERROR * (8 + 4 * float(self._alpha)) * (1 + size)
        return Tails(p, np.minimum(np.exp(np.minimum(losses, 700.0)) * q, p), np.minimum(error + position, 1.0))

    @once
    def _shape(self) -> tuple[float, float, float]:
        """α, β and c."""
        with precision(128):
            return float(self._alpha), float(self._beta), float(self._core())

    def _losses(self, y: FloatArray) -> FloatArray:
        """L(y) as in `loss`."""
        alpha, beta, core = self._shape
        near = np.abs(y)
        gap = float(self.sensitivity) + y - near
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            ratio = np.expm1(alpha * np.log1p(gap / near)) / (1 + (core / near) ** alpha)
            ratio = np.where(near == 0, (gap / core) ** alpha, ratio)
        losses: FloatArray = beta * np.log1p(ratio)
        return losses

    @once
    def _sides(self) -> tuple[FloatArray, FloatArray, float]:
        """Whole numbers from −Δ/2 up to the peak, others from there on, and the peak."""
        with precision(128):
            before, after = _peak(self, 128)
        near = np.array([float(before), float((before + after) // 2), float(after)])
        peak = float(near[np.argmax(self._losses(near))])
        rising = np.unique(np.rint(np.linspace(-float(self.sensitivity // 2), peak, _KNOTS)))
        distances = np.append(np.arange(_KNOTS), np.geomspace(1.0, _FARTHEST, _KNOTS))
        falling = np.unique(np.rint(peak + distances))
        return rising, falling, peak

    def _run(self, losses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The first y with L(y) > ℓ, and the first one after it without; the peak is always inside."""
        rising, falling, peak = self._sides
        at = np.searchsorted(self._losses(rising), losses, side="right")
        low, high = rising[np.maximum(at - 1, 0)], rising[np.minimum(at, len(rising) - 1)]
        start = np.where(at == 0, rising[0], self._halved(low, high, losses, rising=True))
        at = np.searchsorted(-self._losses(falling), -losses, side="left")
        low, high = falling[np.maximum(at - 1, 0)], falling[np.minimum(at, len(falling) - 1)]
        end = np.where(at == len(falling), np.inf, self._halved(low, high, losses, rising=False))
        return np.minimum(start, peak), np.maximum(end, peak + 1)

    def _halved(self, low: FloatArray, high: FloatArray, losses: FloatArray, *, rising: bool) -> FloatArray:
        """The first whole number up to `high` on the far side of ℓ: above it if `rising`, else not above it."""
        low, high = low.copy(), high.copy()
        left = np.flatnonzero(high - low > 1)
        while len(left):
            middle = np.floor((low[left] + high[left]) / 2)
            is_between = (low[left] < middle) & (middle < high[left])  # beyond 2^53 floats may have nothing between
            left, middle = left[is_between], middle[is_between]
            is_past = (self._losses(middle) > losses[left]) == rising
            high[left[is_past]], low[left[~is_past]] = middle[is_past], middle[~is_past]
            left = left[high[left] - low[left] > 1]
        return high

    def _share(self, start: FloatArray, end: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Σ g(|y|)/Σ g over start ≤ y < end, and a bound on its error."""
        whole = 1 + 2 * float(self._sums(np.array([1.0]))[0])
        found, size = np.zeros_like(start), np.zeros_like(start)
        for y, sign in ((start, 1), (end, -1)):
            tail = self._sums(np.where(y > 0, y, 1 - y)) / whole
            found += sign * np.where(y > 0, tail, 1 - tail)
            size += np.where(y > 0, tail, 1 + tail)
        return found, self._table[1] * (size + np.abs(found))

    def _sums(self, n: FloatArray) -> FloatArray:
        """Σ_{i ≥ n} g(i) for n ≥ 1."""
        table, _ = self._table
        is_kept = n < len(table)
        found = np.empty_like(n)
        found[is_kept] = table[n[is_kept].astype(np.int64)]
        found[~is_kept] = self._smooth_sums(n[~is_kept])
        return found

    @once
    def _table(self) -> tuple[FloatArray, float]:
        """The sums from 0, 1, 2, … on, as far as no midpoint rule can be trusted; and the relative error of all sums.

        The rule ∫_{n−½}^∞ g + g′(n − ½)/24 is off by at most 0.0026·∫|g⁗|, hence by 0.375/ρ⁴ relative where discs of
        radius ρ = 0.6·max(n, c)/(α·max(β, 1)) fit (power_law.md; max |g| on them is at most 6 times g).
        """
        alpha, beta, core = self._shape
        steepness = alpha * max(beta, 1.0)
        is_short = core >= _SMOOTH * steepness and self._alpha.denominator == 1
        length = 1 if is_short else min(math.ceil(_SMOOTH * steepness), _LONGEST_TABLE)
        radius = 0.6 * max(length - 1, core if self._alpha.denominator == 1 else 1.0) / steepness
        i = np.arange(1, length, dtype=np.longdouble)
        weights = np.exp(-beta * np.log1p((i / core) ** alpha))
        sums = np.cumsum(np.append(self._smooth_sums(np.array([float(length)])), weights[::-1]))[::-1]
        table: FloatArray = np.append(1 + sums[0], sums).astype(np.float64)
        return table, BETAINC_ERROR * (1 + alpha * beta) + min(0.375 / radius**4, 1.0)

    def _smooth_sums(self, n: FloatArray) -> FloatArray:
        """∫_i^∞ g + g′(i)/24 at i = n − ½, the integral as in `PowerDecay.integral`."""
        alpha, beta, core = self._shape
        i = n - 0.5
        far, near = float(self._beta - 1 / self._alpha), 1 / alpha
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            power, inverse = (i / core) ** alpha, (core / i) ** alpha
            outside, inside = inverse / (1 + inverse), power / (1 + power)  # NaN only where the other one is taken
        share = np.where(
            beta * power > 1, scipy.special.betainc(far, near, outside), 1 - scipy.special.betainc(near, far, inside)
        )
        slope = -alpha * beta / i / (1 + inverse) * np.exp(-beta * np.log1p(power))
        found: FloatArray = core / alpha * scipy.special.beta(far, near) * share + slope / 24
        return found

    # ----------------------------------------------------------------- contract

    def _largest_loss(self) -> Ball:
        before, after = _peak(self, ctx.prec)
        top = self.loss(before).max(self.loss(after))
        if after - before > 1:
            top = top.max(self._log_ratio(after - 1, before + 1))
        return top


@dataclass(frozen=True)
class PowerLawPair(PowerLawDecay, HeavyTailedPair):
    """P[X = x] ∝ 1/(1 + |x/s|^γ) on ℤ, s = `scale`, γ = `gamma` > 1, against its shift by Δ = `sensitivity`.

    >>> pair = PowerLawPair(Fraction(10), Fraction(4))
    >>> pair.delta(0), pair.epsilon(0)
    (0.04501581580785..., 0.22758893458991...)
    """

    scale: Fraction
    gamma: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _check(self, self.gamma - 1, "gamma must be greater than 1")


@dataclass(frozen=True)
class StudentTPair(StudentTDecay, HeavyTailedPair):
    """P[X = x] ∝ (1 + (x/s)²/ν)^{−(ν+1)/2} on ℤ, s = `scale`, ν = `degrees`, against its shift by Δ = `sensitivity`.

    >>> StudentTPair(Fraction(10), Fraction(3)).epsilon(0)
    0.11544836943568...
    """

    scale: Fraction
    degrees: Fraction
    sensitivity: int = 1

    def __post_init__(self) -> None:
        _check(self, self.degrees, "degrees must be greater than 0")


_LEAST_EXCESS = Fraction(1, 100)
_STEEPEST = 10**4
_SCALES = Fraction(1, 2**200), Fraction(2**200)


def _check(pair: PowerLawPair | StudentTPair, excess: Fraction, rule: str) -> None:
    """The law exists, and its sums can be computed."""
    check.positive(scale=pair.scale)
    check.count(sensitivity=pair.sensitivity)
    if not excess > 0:
        raise ParameterError(f"{rule}, or there is no such law; got one that exceeds the limit by {excess}.")
    if not _LEAST_EXCESS <= excess <= _STEEPEST:
        raise ParameterError(f"{rule} by 0.01 to {_STEEPEST}, got {excess} more than the limit.")
    if not _SCALES[0] <= pair.scale <= _SCALES[1]:
        raise ParameterError("scale must lie between 2^-200 and 2^200 lattice steps. Use another lattice.")


@lru_cache(maxsize=64)
def _peak(pair: HeavyTailedPair, bits: int) -> tuple[int, int]:
    """Two whole numbers around the peak of the loss: up to the first it surely rises, from the second on it falls."""
    high = 1
    while not pair._rises(high) < 0:
        high *= 2
    after = first_integer(lambda y: pair._rises(y) < 0, 1, high)
    return first_integer(lambda y: not pair._rises(y) > 0, 1, after) - 1, after


@lru_cache(maxsize=16)
def _kept_sums(pair: HeavyTailedPair, bits: int) -> list[Ball]:
    """Σ_{i ≥ n} g(i) for n = 0, 1, …, as far as the discs of Euler and Maclaurin are small for this precision."""
    length = 64
    while length < _MOST_KEPT and pair.radius(length) < bits // 4:
        length *= 2
    sums = [tail_sum(pair, length)]
    for n in reversed(range(length)):
        sums.append(sums[-1] + pair.weight(n))
    return sums[:0:-1]
