"""Dominating pairs: two distributions (P, Q) that are at least as far apart as any two neighbours.

A mechanism is accounted for through one pair: for every ε its privacy profile is at most

    δ(ε) = sup_A P(A) − e^ε Q(A) = E_P[(1 − e^{ε−L})₊],   L = ln p/q the privacy loss (claim D3),

and composing mechanisms is multiplying pairs (Zhu, Dong and Wang 2022, Theorem 10). A pair answers twice:

* `profile` and what rests on it (`delta`, `epsilon`, `bracket`) in balls, certain to the last digit;
* `tails` on a whole grid of losses in floats, with a stated relative error, as input of `dither.accounting`.

`tails` gives the two masses of one and the same test region, {L > ℓ} up to rounding. Two facts make that safe.
For every region A the line u ↦ P(A) − u·Q(A) lies below u ↦ δ(ln u), so a badly rounded region still gives a
lower bound. And a region rounded by κ in its loss misses at most κ·P(A) of δ(ℓ), which `error` includes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Self, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.exact import Ball, ball, check, lower, once, precision, rational, upper
from dither.exact.inverse import root_bracket

__all__ = [
    "ERFCX_ERROR",
    "POSITION_ERROR",
    "Atoms",
    "BoundedRangePair",
    "FloatArray",
    "GaussianPair",
    "LaplacePair",
    "Mirrored",
    "Pair",
    "Tails",
    "TwoPointPair",
    "approximate",
    "pure",
    "response",
    "whole_steps",
]

FloatArray: TypeAlias = NDArray[np.float64]

POSITION_ERROR = 2.0**-50
"""What rounding a threshold, an exponential or a sum of a few terms may cost, relative to 1 + |loss|."""

ERFCX_ERROR = 2.0**-48
"""Assumed relative error of scipy's erfcx on [0, 40]; measured below 2^-50 against balls in the tests."""

_ROOT_TWO = math.sqrt(2)
_SMALL = 1e-6
_NEWTON_STEPS = 30
_LEAST_MU = 1e-140
_LEAST_ERFCX = -25.0  # e^{x²}erfc(x) overflows a little further left
_BITS = 128
_MOST_BITS = 1 << 13


class Tails(NamedTuple):
    """Masses of {L > ℓ} for each loss ℓ of a grid, within `error` relative to each of them.

    `p` is P[ℓ < L < ∞], `scaled_q` is e^ℓ·Q[L > ℓ], so that δ(ℓ) = p − scaled_q + P[L = ∞]. The scaling keeps
    the second one away from underflow: 0 ≤ scaled_q ≤ p. The difference is within error·(p + scaled_q) too.
    """

    p: FloatArray
    scaled_q: FloatArray
    error: FloatArray | float


class Atoms(NamedTuple):
    """Losses of positive probability lie on the lattice anchor + spacing·ℤ, or the largest and smallest of them do."""

    anchor: float
    spacing: float


class Pair(ABC):
    """A pair (P, Q). Subclasses are frozen; each says its profile in balls and its tails in floats."""

    __slots__ = ()

    @abstractmethod
    def profile(self, epsilon: Ball) -> Ball:
        """δ(ε) = sup_A P(A) − e^ε Q(A), for any real ε, as a ball at the working precision."""

    @abstractmethod
    def tails(self, losses: FloatArray) -> Tails:
        """The tails of the privacy loss at an increasing grid of `losses`."""

    def dots(self, losses: FloatArray) -> FloatArray:
        """Upper bounds on δ(ℓ) − P[L = ∞] at the grid of `losses`; more than the tails only where less is known."""
        p, scaled_q, error = self.tails(losses)
        slack = error + POSITION_ERROR * (1 + np.abs(losses))
        return np.maximum((p - scaled_q) + slack * (p + scaled_q), 0.0)

    @abstractmethod
    def swapped(self) -> Pair:
        """The pair (Q, P): the other direction."""

    @property
    def infinity(self) -> Fraction:
        """P[L = ∞], exactly."""
        return Fraction(0)

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest finite loss, rounded outwards; infinite if there is none."""
        return -math.inf, math.inf

    @property
    def largest_loss(self) -> Fraction | None:
        """The largest finite loss, exactly where it is rational, else rounded up; None if there is none."""
        top = self.support[1]
        return None if top == math.inf else Fraction(top)

    @property
    def atoms(self) -> Atoms | None:
        """Where losses have positive probability; None if nowhere, or on no lattice."""
        return None

    @property
    def is_exact(self) -> bool:
        """Whether the upper and the lower bounds are for the same pair, so that finer lattices close the gap."""
        return True

    @property
    def is_symmetric(self) -> bool:
        """Whether (Q, P) has the same profile as (P, Q): so it is for every pair that is its own `swapped`."""
        other = self.swapped()
        return other is self or other == self

    def shrunk(self, step: float) -> Pair:
        """A pair that this one dominates, whose atoms are whole steps apart; itself if there is none nearby."""
        return self

    def delta_bracket(self, epsilon: float | Fraction) -> tuple[float, float]:
        """Two floats around δ(ε): the first not above, the second not below the truth."""
        exact = rational(epsilon, "epsilon")
        check.nonnegative(epsilon=exact)
        bits = _BITS
        while True:
            with precision(bits):
                found = self.profile(ball(exact))
                if found.rel_accuracy_bits() >= 50 or bits >= _MOST_BITS or not self.is_exact:
                    return max(lower(found), 0.0), min(upper(found), 1.0)
            bits *= 4

    def delta(self, epsilon: float | Fraction) -> float:
        """δ(ε), never below the truth."""
        return self.delta_bracket(epsilon)[1]

    def bracket(self, delta: float | Fraction) -> tuple[float, float]:
        """Two floats around the smallest ε ≥ 0 with δ(ε) ≤ `delta`: not above and not below the truth."""
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        if self.infinity > exact:
            return math.inf, math.inf
        top = max(self.support[1], 0.0)
        if not exact and top == math.inf:  # without a largest loss no ε is enough
            return math.inf if self.is_exact else 0.0, math.inf
        with precision(_BITS):
            if self.is_exact:
                return root_bracket(self.profile, exact, top, self._near(exact))
            # Only bounds are known: each end of the bracket comes from its own.
            low, _ = root_bracket(lambda epsilon: self.profile(epsilon).lower().max(Ball(0)), exact, top)
            _, high = root_bracket(lambda epsilon: self.profile(epsilon).upper(), exact, top)
            return low, high

    def _near(self, delta: Fraction) -> float | None:
        """A guess in floats at the smallest ε with δ(ε) ≤ `delta`, if there is a quick one."""
        return None

    def epsilon(self, delta: float | Fraction) -> float:
        """The smallest ε ≥ 0 with δ(ε) ≤ `delta`, never below the truth."""
        return self.bracket(delta)[1]


class Mirrored(Pair):
    """A pair that is its own `swapped` and has a largest loss: the smallest one is minus that."""

    def swapped(self) -> Self:
        return self

    @abstractmethod
    def _largest_loss(self) -> Ball:
        """The largest finite loss, at the working precision."""

    @property
    def support(self) -> tuple[float, float]:
        return self._support

    @once
    def _support(self) -> tuple[float, float]:
        with precision(_BITS):
            largest = self._largest_loss()
            return -upper(largest), upper(largest)


@dataclass(frozen=True)
class GaussianPair(Pair):
    """N(μ, 1) against N(0, 1), μ² = `squared_mu`: noise N(0, σ²) on a value of sensitivity Δ has μ = Δ/σ.

    L is normal with mean μ²/2 and variance μ² under P, and δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
    (Balle and Wang 2018, Theorem 8). Products of such pairs are such pairs: the μ² add up.
    """

    squared_mu: Fraction

    def __post_init__(self) -> None:
        check.positive(squared_mu=self.squared_mu)

    def profile(self, epsilon: Ball) -> Ball:
        mu = ball(self.squared_mu).sqrt()
        root = Ball(2).sqrt()
        p = ((epsilon / mu - mu / 2) / root).erfc() / 2
        q = ((epsilon / mu + mu / 2) / root).erfc() / 2
        return p - epsilon.exp() * q

    def _near(self, delta: Fraction) -> float | None:
        """Newton's method for ln δ(ε) = ln δ. The left side is concave, so it comes down from where Φ(μ/2 − ε/μ) = δ.

        With a = (ε/μ − μ/2)/√2 and b = a + μ/√2: δ(ε) = ½e^{−a²}(erfcx(a) − erfcx(b)), −δ′(ε) = ½e^{−a²}erfcx(b).
        """
        mu, goal = self._mu, float(delta)
        if not (0 < goal < 1 and _SMALL < mu < 1 / _SMALL):
            return None
        log_goal = math.log(2 * goal)
        epsilon = mu * (mu / 2 - float(scipy.special.ndtri(goal)))
        for _ in range(_NEWTON_STEPS):
            a = (epsilon / mu - mu / 2) / _ROOT_TWO
            if not a > _LEAST_ERFCX:
                return None
            slope = float(scipy.special.erfcx(a + mu / _ROOT_TWO))
            value = float(scipy.special.erfcx(a)) - slope
            if not value > 0 < slope:
                return None
            stride = (math.log(value) - a * a - log_goal) * value / slope
            epsilon += stride
            if abs(stride) <= 1e-13 * abs(epsilon):
                break
        return epsilon

    @once
    def _mu(self) -> float:
        return math.sqrt(self.squared_mu)

    def tails(self, losses: FloatArray) -> Tails:
        if not self._mu > _LEAST_MU:
            raise OverflowError("the squares of losses over μ are beyond the floats")
        centre = losses / self._mu
        above_p, above_q = centre - self._mu / 2, centre + self._mu / 2
        density = np.exp(-above_p * above_p / 2)
        p = _upper_tail(above_p, density)
        # e^ℓ φ(z_Q) = φ(z_P): the scaled tail of Q needs no second exponential where z_Q ≥ 0.
        first = int(np.searchsorted(above_q, 0.0))
        scaled_q = 0.5 * density * scipy.special.erfcx(np.abs(above_q) / math.sqrt(2))
        scaled_q[:first] = np.exp(losses[:first]) - scaled_q[:first]
        squares = above_p * above_p + np.abs(losses) + 1
        return Tails(p, scaled_q, ERFCX_ERROR + POSITION_ERROR * squares)

    def swapped(self) -> GaussianPair:
        return self


def _upper_tail(z: FloatArray, density: FloatArray) -> FloatArray:
    """P[N(0, 1) > z] from e^{−z²/2}."""
    tail: FloatArray = 0.5 * density * scipy.special.erfcx(np.abs(z) / math.sqrt(2))
    return np.where(z < 0, 1 - tail, tail)


@dataclass(frozen=True)
class LaplacePair(Mirrored):
    """Laplace noise of scale b on a value of sensitivity Δ, ε₀ = Δ/b = `largest`.

    δ(ε) = 1 − e^{(ε−ε₀)/2} for |ε| ≤ ε₀: L has atoms at ±ε₀ and a density between them. A smaller ε₀ is
    dominated by a larger one: adding noise turns one Laplace law into a wider one.
    """

    largest: Fraction

    def __post_init__(self) -> None:
        check.positive(largest=self.largest)

    def profile(self, epsilon: Ball) -> Ball:
        top = ball(self.largest)
        if epsilon >= top:
            return Ball(0)
        inside = -((epsilon - top) / 2).expm1()
        return inside.max(-epsilon.expm1()).max(Ball(0))

    @property
    def largest_loss(self) -> Fraction:
        return self.largest

    @once
    def _top(self) -> float:
        return float(self.largest)

    def tails(self, losses: FloatArray) -> Tails:
        half = 0.5 * np.exp((np.clip(losses, -self._top, self._top) - self._top) / 2)
        below, above = losses < -self._top, losses >= self.support[1]
        p = np.where(below, 1.0, np.where(above, 0.0, 1 - half))
        scaled_q = np.where(below, np.exp(np.minimum(losses, 0.0)), np.where(above, 0.0, half))
        return Tails(p, scaled_q, POSITION_ERROR * (4 + self._top))

    def _largest_loss(self) -> Ball:
        return ball(self.largest)

    @property
    def atoms(self) -> Atoms:
        return Atoms(self._top, 2 * self._top)

    def shrunk(self, step: float) -> LaplacePair:
        steps = whole_steps(2 * self._top / step)
        return self if steps < 1 else LaplacePair(min(self.largest, Fraction(step) * steps / 2))


@dataclass(frozen=True)
class TwoPointPair(Mirrored):
    """Randomized response with odds e^{ε₀}, preceded with probability δ₀ by giving everything away.

    The worst pair that is (ε₀, δ₀)-indistinguishable (Kairouz, Oh and Viswanath 2015, Theorem 3.4): under P the
    loss is ∞, ε₀ or −ε₀ with probabilities δ₀, (1−δ₀)·e^{ε₀}/(1+e^{ε₀}) and (1−δ₀)/(1+e^{ε₀}).
    Either `loss` = ε₀ or `odds` = e^{ε₀} is given, whichever is rational. `leak` is δ₀.
    """

    loss: Fraction | None = None
    odds: Fraction | None = None
    leak: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.odds is not None:
            check.at_least(1, odds=self.odds)
        else:
            check.nonnegative(loss=self.loss)
        check.probability(leak=self.leak)

    @property
    def largest(self) -> Ball:
        """ε₀ as a ball."""
        return ball(self.odds).log() if self.odds is not None else ball(self.loss or Fraction(0))

    def profile(self, epsilon: Ball) -> Ball:
        odds = ball(self.odds) if self.odds is not None else self.largest.exp()
        kept = ((odds - epsilon.exp()) / (1 + odds)).max(-epsilon.expm1()).max(Ball(0))
        return ball(self.leak) + ball(1 - self.leak) * kept

    @once
    def _numbers(self) -> tuple[float, float, float]:
        """ε₀ and the probabilities of the true answer and of the other, each to a few ulp."""
        top = math.log(self.odds) if self.odds is not None else float(self.loss or 0)
        false = math.exp(-top) / (1 + math.exp(-top))
        rest = float(1 - self.leak)
        return top, rest / (1 + math.exp(-top)), rest * false

    def tails(self, losses: FloatArray) -> Tails:
        top, true, false = self._numbers
        below, above = losses < -top, losses >= self.support[1]
        p = np.where(below, true + false, np.where(above, 0.0, true))
        # e^ℓ·Q: below −ε₀ the factor is small; between, e^ℓ·false = true·e^{ℓ−ε₀}.
        scale = np.exp(np.minimum(losses, top) - top)
        whole = (true + false) * np.exp(np.minimum(losses, 0))
        scaled_q = np.where(below, whole, np.where(above, 0.0, true * scale))
        return Tails(p, scaled_q, POSITION_ERROR * (4 + 2 * top))

    def _largest_loss(self) -> Ball:
        return self.largest

    @property
    def largest_loss(self) -> Fraction | None:
        return super().largest_loss if self.loss is None else self.loss

    @property
    def infinity(self) -> Fraction:
        return self.leak

    @property
    def atoms(self) -> Atoms | None:
        top = self._numbers[0]
        return Atoms(top, 2 * top) if top > 0 else None

    def shrunk(self, step: float) -> TwoPointPair:
        steps = whole_steps(2 * self._numbers[0] / step)
        smaller = Fraction(step) * steps / 2
        with precision(_BITS):
            is_smaller = steps >= 1 and ball(smaller) < self.largest
        return TwoPointPair(loss=smaller, leak=self.leak) if is_smaller else self


@dataclass(frozen=True)
class BoundedRangePair(Mirrored):
    """Everything whose losses lie in some interval [t − η, t], η = `width`: the exponential mechanism (claim C12).

    The worst such pair has the losses t and t − η; over all t the profile is
    δ(ε) = (1 − e^{(ε−η)/2})²/(1 − e^{−η}) for |ε| ≤ η, at t = (ε+η)/2 (Durfee and Rogers 2019; Dong, Durfee and
    Rogers 2020, who take t after each answer). It is convex in e^ε, so one pair has it: that one costs less than
    randomized response with ε₀ = η.
    """

    width: Fraction

    def __post_init__(self) -> None:
        check.positive(width=self.width)

    def profile(self, epsilon: Ball) -> Ball:
        eta = ball(self.width)
        if epsilon >= eta:
            return Ball(0)
        everything = (-epsilon.expm1()).max(Ball(0))
        if epsilon <= -eta:
            return everything
        inside = ((epsilon - eta) / 2).expm1() ** 2 / -(-eta).expm1()
        return inside.max(everything)

    @property
    def largest_loss(self) -> Fraction:
        return self.width

    @once
    def _eta(self) -> float:
        return float(self.width)

    def tails(self, losses: FloatArray) -> Tails:
        eta = self._eta
        half = (np.clip(losses, -eta, eta) - eta) / 2
        p = np.expm1(half) / math.expm1(-eta)
        below = losses < -eta
        p = np.where(below, 1.0, p)
        scaled_q = np.where(below, np.exp(np.minimum(losses, 0.0)), np.exp(half) * p)
        return Tails(p, scaled_q, POSITION_ERROR * (8 + 2 * eta))

    def _largest_loss(self) -> Ball:
        return ball(self.width)


def whole_steps(ratio: float) -> int:
    """The ratio rounded down, unless it is a whole number up to rounding."""
    return math.floor(ratio * (1 + 2.0**-45))


def pure(epsilon: Fraction) -> TwoPointPair:
    """The pair that dominates every ε-DP mechanism: randomized response."""
    return TwoPointPair(loss=epsilon)


def approximate(epsilon: Fraction, delta: Fraction) -> TwoPointPair:
    """The pair that dominates every (ε, δ)-DP mechanism."""
    return TwoPointPair(loss=epsilon, leak=delta)


def response(truth: Fraction) -> TwoPointPair:
    """Two answers, of which the true one is given with probability `truth` in [1/2, 1)."""
    check.between(0, 1, truth=truth)
    check.at_least(Fraction(1, 2), truth=truth)
    return TwoPointPair(odds=truth / (1 - truth))
