"""Pairs of mechanisms that saw a random part of the data, and other mixtures of pairs.

All rest on one identity. With u = e^ε and the hockey stick H_u(P‖Q) = sup_A P(A) − u·Q(A):

    H_{1−γ+γu}((1−γ)Q + γP ‖ Q) = γ·H_u(P‖Q),
    H_w(P ‖ (1−γ)P + γQ) = (1 − w(1−γ))·H_u(P‖Q),   u = γw/(1 − w(1−γ)), for w < 1/(1−γ), else 0.

Of some bases only bounds are known (`is_exact` is false): their `tails` belong to an example and bound the cost from
below, their `dots` bound it from above. The same identities then carry the dots, and all rounding goes upwards: a
profile decreases, so its value at a slightly smaller loss is an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, ball, check, once
from dither.pairs.pair import POSITION_ERROR, Atoms, FloatArray, Pair, Tails

__all__ = [
    "FixedSizePair",
    "MixturePair",
    "PoissonAddPair",
    "PoissonRemovePair",
    "WorstPair",
    "either",
    "fixed_size",
    "poisson",
]

_SMALLEST_EXPONENT = -700.0
_LEAST = 1e-300  # what an underflow to 0 may hide
_UP = 1 + 4 * POSITION_ERROR


@dataclass(frozen=True)
class _Sampled(Pair):
    """What a mechanism on a sample has: its `base` on all data, and the share γ = `rate` that is sampled."""

    base: Pair
    rate: Fraction

    def __post_init__(self) -> None:
        check.between(0, 1, rate=self.rate)

    @property
    def is_exact(self) -> bool:
        return self.base.is_exact

    @property
    def atoms(self) -> Atoms | None:
        """Sampling keeps no even lattice, but the largest and the smallest loss of what has atoms there."""
        atoms, (low, high) = self.base.atoms, self.base.support
        if atoms is None or not math.isfinite(high - low):
            return None
        low, high = self.support
        return Atoms(high, high - low)

    @once
    def _rates(self) -> tuple[float, float]:
        """γ and 1 − γ."""
        return float(self.rate), float(1 - self.rate)


@dataclass(frozen=True)
class PoissonRemovePair(_Sampled):
    """((1−γ)Q + γP, Q): a record is there or not, and if it is, it is sampled with probability γ = `rate`.

    (P, Q) = `base` is the pair of the mechanism when the record is removed. This dominates the mechanism on a
    Poisson sample (Zhu, Dong and Wang 2022, Theorem 11). The largest loss is ln(1 − γ + γe^{ε₀}).
    """

    def profile(self, epsilon: Ball) -> Ball:
        gamma = ball(self.rate)
        u = 1 + epsilon.expm1() / gamma
        everything = -epsilon.expm1()
        if not u > 0:  # where u > 0, δ lies between 1 − e^ε and γ, which is the value of 1 − e^ε at u = 0
            return everything
        return (gamma * self.base.profile(u.log())).max(everything)

    def tails(self, losses: FloatArray) -> Tails:
        gamma, rest = self._rates
        inner = _inner_of_remove(losses, gamma, rest)
        first = int(np.searchsorted(inner, _SMALLEST_EXPONENT, side="right"))
        p = np.full(len(losses), float(1 - self.infinity))
        scaled_q = np.exp(np.minimum(losses, 0.0))
        base = self.base.tails(inner[first:])
        q = np.exp(-inner[first:]) * base.scaled_q
        p[first:] = rest * q + gamma * base.p
        scaled_q[first:] = np.exp(losses[first:] - inner[first:]) * base.scaled_q
        error = POSITION_ERROR * (16 + 4 * np.abs(losses))
        error[first:] += base.error + POSITION_ERROR * np.abs(inner[first:])
        return Tails(p, scaled_q, error)

    def dots(self, losses: FloatArray) -> FloatArray:
        """γ·(δ(ln u) − P[L = ∞]) of the base; where u is not positive or tiny, at most max(γ, 1 − e^ℓ)."""
        if self.is_exact:
            return super().dots(losses)
        gamma, rest = self._rates
        before = _before(losses, gamma, rest)
        inner = _inner_of_remove(before, gamma, rest)
        first = int(np.searchsorted(inner, _SMALLEST_EXPONENT, side="right"))
        dots = np.maximum(gamma, -np.expm1(np.minimum(before, 0.0))) * _UP - float(self.infinity) / _UP
        dots[first:] = np.minimum(dots[first:], gamma * self.base.dots(inner[first:]) * _UP)
        return dots

    def swapped(self) -> Pair:
        return PoissonAddPair(self.base.swapped(), self.rate)

    def inner(self, losses: FloatArray) -> FloatArray:
        """The losses of the base that these come from, −∞ where there are none."""
        return _inner_of_remove(losses, *self._rates)

    def outer(self, losses: FloatArray) -> FloatArray:
        """What these losses of the base become on the sample."""
        return np.array([_outer_of_remove(loss, *self._rates) for loss in losses.tolist()])

    @property
    def is_symmetric(self) -> bool:
        return False

    @property
    def infinity(self) -> Fraction:
        return self.rate * self.base.infinity

    @property
    def support(self) -> tuple[float, float]:
        gamma, rest = self._rates
        low, high = (_outer_of_remove(loss, gamma, rest) for loss in self.base.support)
        return _widened(low, high)


@dataclass(frozen=True)
class PoissonAddPair(_Sampled):
    """(P, (1−γ)P + γQ), γ = `rate`: the other direction of `PoissonRemove`, for a `base` (P, Q) where one is added.

    The largest loss is at most −ln(1−γ), whatever the base.
    """

    def profile(self, epsilon: Ball) -> Ball:
        gamma, w = ball(self.rate), epsilon.exp()
        left = 1 - w * (1 - gamma)
        if left <= 0:
            return Ball(0)
        if not left > 0:
            return Ball(0).union(left.abs_upper())
        return left * self.base.profile((gamma * w / left).log())

    def tails(self, losses: FloatArray) -> Tails:
        gamma, rest = self._rates
        inner = _inner_of_add(losses, gamma, rest)
        last = int(np.searchsorted(inner, -_SMALLEST_EXPONENT, side="left"))
        p, scaled_q = np.zeros(len(losses)), np.zeros(len(losses))
        base = self.base.tails(inner[:last])
        # An infinite loss of the base is the largest finite one here: Q has (1−γ) of that mass.
        whole = base.p + float(self.base.infinity)
        p[:last] = whole
        scaled_q[:last] = np.exp(losses[:last]) * rest * whole
        scaled_q[:last] += gamma * np.exp(losses[:last] - inner[:last]) * base.scaled_q
        error = POSITION_ERROR * (16 + 4 * np.abs(losses))
        error[:last] += base.error + POSITION_ERROR * np.abs(inner[:last])
        return Tails(p, scaled_q, error)

    def dots(self, losses: FloatArray) -> FloatArray:
        """(1 − w(1−γ))·δ(ln u) of the base, infinite losses included: here they are finite."""
        inside = losses < self.support[1]
        if self.is_exact:
            return np.where(inside, np.maximum(super().dots(losses), _LEAST), 0.0)
        gamma, rest = self._rates
        before = _before(losses, gamma, rest)
        left = np.maximum(-np.expm1(np.minimum(before + math.log(rest), 0.0)), 0.0)
        inner = np.minimum(_inner_of_add(before, gamma, rest), -_SMALLEST_EXPONENT)
        whole = np.minimum(self.base.dots(inner) + float(self.base.infinity), 1.0)
        return np.where(inside, np.maximum(left * whole * _UP, _LEAST), 0.0)

    def swapped(self) -> Pair:
        return PoissonRemovePair(self.base.swapped(), self.rate)

    def inner(self, losses: FloatArray) -> FloatArray:
        """The losses of the base that these come from, ∞ where there are none."""
        return _inner_of_add(losses, *self._rates)

    def outer(self, losses: FloatArray) -> FloatArray:
        """What these losses of the base become on the sample."""
        return np.array([_outer_of_add(loss, *self._rates) for loss in losses.tolist()])

    @property
    def is_symmetric(self) -> bool:
        return False

    @property
    def support(self) -> tuple[float, float]:
        gamma, rest = self._rates
        low, high = self.base.support
        top = math.inf if self.base.infinity else high
        return _widened(_outer_of_add(low, gamma, rest), _outer_of_add(top, gamma, rest))


@dataclass(frozen=True)
class FixedSizePair(_Sampled):
    """A sample of fixed size without replacement, γ = `rate` its share, when one record is replaced.

    For a `base` that dominates the mechanism in both directions, the profile is that of
    ((1−γ)Q + γP, Q) for ε ≥ 0 and of (P, (1−γ)P + γQ) for ε < 0 (Zhu, Dong and Wang 2022, Theorem 11).
    Both are γ·TV at 0, and the slopes there grow, so the joined profile is convex.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.base.is_symmetric:
            raise ParameterError("base must be the same in both directions. Give either(pair) instead.")

    @once
    def _sides(self) -> tuple[PoissonAddPair, PoissonRemovePair]:
        return PoissonAddPair(self.base, self.rate), PoissonRemovePair(self.base, self.rate)

    def profile(self, epsilon: Ball) -> Ball:
        negative, positive = self._sides
        if epsilon >= 0:
            return positive.profile(epsilon)
        if epsilon < 0:
            return negative.profile(epsilon)
        return positive.profile(epsilon).union(negative.profile(epsilon))

    def tails(self, losses: FloatArray) -> Tails:
        first = int(np.searchsorted(losses, 0.0))
        below, above = self._sides[0].tails(losses[:first]), self._sides[1].tails(losses[first:])
        p = below.p
        if self.infinity:
            # P[ℓ < L < ∞] of the base and the (1−γ) of its infinite losses that is finite here: a sum, no difference.
            inner = _inner_of_add(losses[:first], *self._rates)
            p = self.base.tails(inner).p + float((1 - self.rate) * self.base.infinity)
        return Tails(
            np.concatenate([p, above.p]),
            np.concatenate([below.scaled_q, above.scaled_q]),
            np.concatenate([np.asarray(below.error), np.asarray(above.error)]),
        )

    def dots(self, losses: FloatArray) -> FloatArray:
        if self.is_exact:
            return super().dots(losses)
        first = int(np.searchsorted(losses, 0.0))
        below, above = self._sides[0].dots(losses[:first]), self._sides[1].dots(losses[first:])
        return np.concatenate([_without(below, self.infinity), above])

    def swapped(self) -> FixedSizePair:
        return self

    @property
    def infinity(self) -> Fraction:
        return self.rate * self.base.infinity

    @property
    def support(self) -> tuple[float, float]:
        return self._sides[0].support[0], self._sides[1].support[1]

    @property
    def atoms(self) -> Atoms | None:
        """The slope of the profile jumps at 0: an atom of mass (1−γ)·TV sits there, half way between the ends."""
        ends = super().atoms
        return None if ends is None else Atoms(ends.anchor, ends.spacing / 2)


@dataclass(frozen=True)
class MixturePair(Pair):
    """One of several pairs, chosen with public probabilities `weights` before it is run: δ(ε) = Σ wᵢ δᵢ(ε)."""

    weights: tuple[Fraction, ...]
    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        if not self.pairs or len(self.weights) != len(self.pairs):
            raise ParameterError(f"give one weight for each pair, got {len(self.weights)} and {len(self.pairs)}.")
        check.positive(smallest_weight=min(self.weights))
        if sum(self.weights) != 1:
            raise ParameterError(f"weights must add up to 1, got {sum(self.weights)}.")

    def profile(self, epsilon: Ball) -> Ball:
        parts = (ball(weight) * pair.profile(epsilon) for weight, pair in zip(self.weights, self.pairs, strict=True))
        return sum(parts, Ball(0))

    def tails(self, losses: FloatArray) -> Tails:
        parts = [pair.tails(losses) for pair in self.pairs]
        shares = [float(weight) for weight in self.weights]
        p = sum((share * part.p for share, part in zip(shares, parts, strict=True)), np.zeros(len(losses)))
        q = sum((share * part.scaled_q for share, part in zip(shares, parts, strict=True)), np.zeros(len(losses)))
        error = np.max([np.broadcast_to(part.error, losses.shape) for part in parts], axis=0)
        return Tails(p, q, error + POSITION_ERROR * len(parts))

    def dots(self, losses: FloatArray) -> FloatArray:
        if self.is_exact:
            return super().dots(losses)
        dots = np.zeros(len(losses))
        for weight, pair in zip(self.weights, self.pairs, strict=True):
            dots += float(weight) * pair.dots(losses)
        return dots * (1 + POSITION_ERROR * (4 + len(self.pairs)))

    def swapped(self) -> MixturePair:
        return MixturePair(self.weights, tuple(pair.swapped() for pair in self.pairs))

    @property
    def is_exact(self) -> bool:
        return all(pair.is_exact for pair in self.pairs)

    @property
    def infinity(self) -> Fraction:
        return sum((w * pair.infinity for w, pair in zip(self.weights, self.pairs, strict=True)), Fraction(0))

    @property
    def support(self) -> tuple[float, float]:
        return min(pair.support[0] for pair in self.pairs), max(pair.support[1] for pair in self.pairs)


@dataclass(frozen=True)
class WorstPair(Pair):
    """The pair whose profile is the larger of two: it dominates both.

    The larger of two profiles is convex in e^ε, so one pair has it; its P[L = ∞] is the larger of theirs.
    """

    first: Pair
    second: Pair

    def profile(self, epsilon: Ball) -> Ball:
        return self.first.profile(epsilon).max(self.second.profile(epsilon))

    def tails(self, losses: FloatArray) -> Tails:
        a, b = (_tails_without(pair.tails(losses), self.infinity - pair.infinity) for pair in (self.first, self.second))
        better = a.p - a.scaled_q >= b.p - b.scaled_q
        error = np.maximum(a.error, b.error) if self._is_even else np.where(better, a.error, b.error)
        return Tails(np.where(better, a.p, b.p), np.where(better, a.scaled_q, b.scaled_q), error)

    @property
    def _is_even(self) -> bool:
        return self.first.infinity == self.second.infinity

    def dots(self, losses: FloatArray) -> FloatArray:
        a, b = (_without(pair.dots(losses), self.infinity - pair.infinity) for pair in (self.first, self.second))
        return np.maximum(a, b)

    def swapped(self) -> WorstPair:
        return WorstPair(self.first.swapped(), self.second.swapped())

    @property
    def is_exact(self) -> bool:
        return self.first.is_exact and self.second.is_exact

    @property
    def is_symmetric(self) -> bool:
        return self.first.swapped() == self.second or (self.first.is_symmetric and self.second.is_symmetric)

    @property
    def infinity(self) -> Fraction:
        return max(self.first.infinity, self.second.infinity)

    @property
    def support(self) -> tuple[float, float]:
        (a, b), (c, d) = self.first.support, self.second.support
        return min(a, c), max(b, d)


def either(pair: Pair) -> Pair:
    """A pair that dominates `pair` in both directions."""
    return pair if pair.is_symmetric else WorstPair(pair, pair.swapped())


def poisson(base: Pair, rate: Fraction) -> Pair:
    """`base` on a Poisson sample; neighbours add or remove a record. The other direction is its `swapped`."""
    check.probability(rate=rate)
    return base if rate == 1 else PoissonRemovePair(base, rate)


def fixed_size(base: Pair, rate: Fraction) -> Pair:
    """`base` on a sample of fixed size without replacement; neighbours replace a record."""
    check.probability(rate=rate)
    return base if rate == 1 else FixedSizePair(either(base), rate)


def _before(losses: FloatArray, gamma: float, rest: float) -> FloatArray:
    """Losses so little smaller that no rounding of the inner loss gets past the ones given."""
    largest = 16 - math.log(gamma) - math.log(rest)
    before: FloatArray = losses - POSITION_ERROR * (largest + 4 * np.abs(losses))
    return before


def _without(dots: FloatArray, infinity: Fraction) -> FloatArray:
    """Dots that count another P[L = ∞], larger by `infinity`: they are lower by that, rounded up."""
    if not infinity:
        return dots
    return np.maximum(dots * _UP - float(infinity) / _UP, 0.0)


def _tails_without(tails: Tails, infinity: Fraction) -> Tails:
    """The same tests beside a P[L = ∞] that is larger by `infinity`; the error is scaled to what is left of p.

    Where nothing certain is left, the test is {L = ∞} alone: a lower bound all the same.
    """
    if not infinity:
        return tails
    p = tails.p - float(infinity)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (tails.error * tails.p + POSITION_ERROR * (tails.p + float(infinity))) / p
    good = (p > 0) & (error < 1)
    error = np.where(good, np.maximum(error, tails.error), 1.0)
    return Tails(np.where(good, p, 0.0), np.where(good, tails.scaled_q, 0.0), error)


def _inner_of_remove(losses: FloatArray, gamma: float, rest: float) -> FloatArray:
    """The loss ln u of the base with 1 − γ + γu = e^ℓ; −∞ where that u is not positive."""
    with np.errstate(divide="ignore", over="ignore"):
        # For ℓ > 1, factor out e^ℓ/γ; near 0 keep the digits of e^ℓ − 1; far below, those of e^ℓ − (1−γ).
        near = np.log1p(np.maximum(np.expm1(np.clip(losses, -1.0, 1.0)) / gamma, -1.0))
        above = np.maximum(losses, 1.0)
        far = above - math.log(gamma) + np.log1p(-rest * np.exp(-above))
        deep = np.log(np.maximum(np.exp(np.minimum(losses, -0.5)) - rest, 0.0) / gamma)
    return np.where(losses > 1.0, far, np.where(losses < -0.5, deep, near))


def _outer_of_remove(loss: float, gamma: float, rest: float) -> float:
    """ln(1 − γ + γe^loss)."""
    if loss > 1:
        return loss + math.log(gamma + rest * math.exp(-loss))
    return math.log1p(gamma * math.expm1(loss)) if loss > -1 else math.log(rest + gamma * math.exp(loss))


def _inner_of_add(losses: FloatArray, gamma: float, rest: float) -> FloatArray:
    """The loss ln u of the base with u = γw/(1 − w(1−γ)), w = e^ℓ; +∞ where w ≥ 1/(1−γ)."""
    # The mirror image: −ln u = ln(1 + (e^{−ℓ} − 1)/γ).
    return -_inner_of_remove(-losses, gamma, rest)


def _outer_of_add(loss: float, gamma: float, rest: float) -> float:
    """−ln(1 − γ + γe^{−loss})."""
    return -_outer_of_remove(-loss, gamma, rest)


def _widened(low: float, high: float) -> tuple[float, float]:
    """Both ends moved outwards by more than their rounding."""
    slack = 8 * POSITION_ERROR
    return low - slack * (1 + abs(low)) if math.isfinite(low) else low, (
        high + slack * (1 + abs(high)) if math.isfinite(high) else high
    )
