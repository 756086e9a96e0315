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
from fractions import Fraction
from typing import NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.exact import Ball, ball, check, lower, once, precision, rational, upper
from dither.exact.inverse import root_bracket

__all__ = [
    "POSITION_ERROR",
    "PROFILE_BITS",
    "Atoms",
    "FloatArray",
    "Mirrored",
    "Pair",
    "Tails",
    "whole_steps",
]

FloatArray: TypeAlias = NDArray[np.float64]

POSITION_ERROR = 2.0**-50
"""What rounding a threshold, an exponential or a sum of a few terms may cost, relative to 1 + |loss|."""

PROFILE_BITS = 128
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
        bits = PROFILE_BITS
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
        with precision(PROFILE_BITS):
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
        with precision(PROFILE_BITS):
            largest = self._largest_loss()
            return -upper(largest), upper(largest)


def whole_steps(ratio: float) -> int:
    """The ratio rounded down, unless it is a whole number up to rounding."""
    return math.floor(ratio * (1 + 2.0**-45))
